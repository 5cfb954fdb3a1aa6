"""The glossary is true: every place that it names is there, every word stands once, and every public class has a row."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import shoal

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| word |"))
]
PLACES = sorted({place for row in ROWS for place in re.findall(r"`(shoal[\w.]+)`", row[-1])})


def find(place: str) -> object:
    """The module, class or function at a dotted place."""
    parts = place.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"nothing is at {place}")


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_the_glossary_names_is_in_the_code_and_says_what_it_is(place):
    assert (inspect.getdoc(find(place)) or "").strip()


def test_a_place_that_is_not_in_the_code_is_noticed():
    with pytest.raises(AttributeError):
        find("shoal.guarantee.unit.Nobody")


def test_each_word_stands_once_with_a_meaning():
    assert all(len(row) == 5 for row in ROWS)
    words = [row[0] for row in ROWS]
    assert len(words) == len(set(words)) > 50
    assert all(row[1].endswith((".", ".)")) for row in ROWS)


def test_every_public_class_has_a_row():
    classes = {name for name in shoal.__all__ if inspect.isclass(getattr(shoal, name))}
    named = {place.rpartition(".")[2] for place in PLACES}
    assert not classes - named, "add these to docs/glossary.md"
