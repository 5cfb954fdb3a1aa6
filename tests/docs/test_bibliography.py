"""Every work that a theorem, a docstring or a page cites has its full entry on the bibliography page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal.guarantee.theorem import THEOREMS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "bibliography.md").read_text("utf-8")
SHORT = re.compile(r"\b(?:LQS|CM|SC)\d\d\b")
NAME = r"[A-Z][\w-]+"
AUTHORS = re.compile(rf"{NAME}(?:(?:, {NAME})* and (?:{NAME}|others))? (?:19|20)\d\d")
"""Authors and year as we write them: "Geng and Viswanath 2014", "McSherry 2009", "Doroshenko and others 2022"."""
HEADINGS = set(re.findall(r"^### (\S+)$", PAGE, re.MULTILINE)) | set(re.findall(r"^(.*\d{4})\n: ", PAGE, re.MULTILINE))


def citations(text: str) -> set[str]:
    """The short names and the authors with years that a text cites."""
    return {*SHORT.findall(text), *AUTHORS.findall(text)}


def test_a_citation_is_recognized_and_an_unknown_one_is_missed():
    text = "LQS11 Theorem 5; Geng and Viswanath 2014; Nobody and Noone 1999"
    assert citations(text) == {"LQS11", "Geng and Viswanath 2014", "Nobody and Noone 1999"}
    assert citations(text) - HEADINGS == {"Nobody and Noone 1999"}


@pytest.mark.parametrize("theorem", THEOREMS.values(), ids=lambda theorem: theorem.name)
def test_the_sources_of_a_theorem_have_entries(theorem):
    assert citations(theorem.citation) <= HEADINGS
    assert citations(theorem.citation) or "Shoal" in theorem.citation


def test_short_names_in_the_tree_have_entries_with_anchors():
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    used = {name for file in files for name in SHORT.findall(file.read_text("utf-8"))}
    assert used >= {"LQS10", "LQS11", "CM06", "SC13"}
    assert used <= HEADINGS
    assert all(f"({name.lower()})=" in PAGE for name in used)


def test_entries_are_in_alphabetical_order():
    entries = re.findall(r"^(.*\d{4})\n: ", PAGE, re.MULTILINE)
    assert entries == sorted(entries, key=lambda entry: entry.replace(" and ", ", ").casefold())
