"""Pages: escaped, complete, with pictures that keep their ids to themselves."""

from __future__ import annotations

import re
from dataclasses import replace

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


@pytest.mark.slow
def test_a_picture_of_a_plan_is_drawn_once_and_is_the_same():
    other = replace(PICTURE, title="Another")
    first, kept, changed = (html.inline_once(each, "one") for each in (PICTURE, PICTURE, other))
    assert kept is first
    assert first == html.inline(PICTURE, "one")
    assert changed == html.inline(other, "one") != first
    assert html.inline_once(PICTURE, "two") == html.inline(PICTURE, "two") != first


def test_a_forgotten_value_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        html.page("plan", {"title": "A page"})


def test_values_are_escaped():
    assert "&lt;b&gt;" in html.page("page", {"title": "<b>", "footer": "end"})
