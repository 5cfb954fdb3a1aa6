"""Pages: escaped, complete, with pictures that keep their ids to themselves."""

from __future__ import annotations

import re

import jinja2
import pytest

from shoal.page import html
from shoal.page.picture import Picture, PlotAxis, Series

PICTURE = Picture(
    "A <picture>", PlotAxis("x"), PlotAxis("y"), [Series("line", [0, 1], [0, 1])], caption='Words & "more".'
)


@pytest.mark.slow
def test_an_inline_picture_has_its_own_ids_and_words():
    first, second = html.inline(PICTURE, "one"), html.inline(PICTURE, "two")
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) <= own
        assert text.startswith('<svg role="img" aria-label="A &lt;picture&gt;. Words &amp; &#34;more&#34;."')
        assert "<?xml" not in text
        assert "<metadata" not in text


def test_a_forgotten_value_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        html.page("plan", {"title": "A page"})


def test_values_are_escaped():
    assert "&lt;b&gt;" in html.page("page", {"title": "<b>", "footer": "end"})
