"""Pages: HTML without scripts, from templates and plain values, with pictures inside."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from shoal.page.plots import PAGE_SIZE

if TYPE_CHECKING:
    from jinja2 import Environment

    from shoal.page.picture import Picture
    from shoal.page.section import Section


MOST_DRAWN = 32
_DRAWN: dict[bytes, str] = {}
"""Pictures of plans that were drawn for pages, by what is in them."""


def page(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template of `page/templates`; a value that the template names and that is not given is an error."""
    return _environment().get_template(f"{template}.html").render(values)


def section_page(opening: Mapping[str, Any], sections: Sequence[Section]) -> str:
    """A page of sections; `opening` has the fields that stand before them, from the mark to the cautions, and the footer."""
    return page("report", {**opening, "sections": sections})


def inline(picture: Picture, name: str) -> str:
    """Give a picture as SVG for the inside of a page: no declarations, ids of its own; the page prints the caption."""
    from markupsafe import Markup, escape

    from shoal.page.plots import render, side_by_side

    text = render(side_by_side([replace(picture, caption="")], PAGE_SIZE), "svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'(?<= id=")', f"{name}-", text)
    text = re.sub(r'(?<=url\(#)|(?<=href="#)', f"{name}-", text)
    text = re.sub(r' (?:width|height)="[^"]*pt"', "", text, count=2)
    words = escape(f"{picture.title}. {picture.caption}")
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{words}"', 1))  # noqa: S704 - our own drawing


def inline_once(picture: Picture, name: str) -> str:
    """The same for pictures of a plan: its page, its report and those of its repeats show one that is drawn once.

    What is drawn is kept, so it is not for pictures that were computed from a table.
    """
    key = pickle.dumps((picture, name))
    if key not in _DRAWN:
        if len(_DRAWN) >= MOST_DRAWN:
            _DRAWN.clear()
        _DRAWN[key] = inline(picture, name)
    return _DRAWN[key]


@cache
def load_pages() -> None:
    """Load everything that pages and their pictures need, and draw one picture: what is missing is missed here."""
    from shoal.page.picture import Picture, PlotAxis, Series

    for name in _environment().list_templates(["html"]):
        _environment().get_template(name)
    inline(Picture("Squares", PlotAxis("x"), PlotAxis("x²"), [Series("x²", [0, 1, 2], [0, 1, 4])]), "trial")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("shoal.page", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
