"""Pages say what the glossary says: words that were given up for the field's do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "SECURITY.md")),
    *sorted(
        path for part in ("guide", "tutorial", "proofs", "reference") for path in (ROOT / "docs" / part).glob("*.md")
    ),
    *sorted((ROOT / "src" / "shoal" / "page" / "templates").glob("*.html")),
]
GIVEN_UP = {
    r"crowds?": "class, cluster",
    r"stand-ins?": "simulated table",
    r"(?<!data )(?<![.])holders?('s)?": "custodian",
    r"ladders?|rungs?": "ranks",
    r"purses?|shel(f|ves)": "budget, account",
    r"habits?": "parameters",
}
CODE = re.compile(r"```.*?```|`[^`]*`|<[^>]*>|\{\{.*?\}\}", re.DOTALL)


def prose(text: str) -> str:
    """A page without code, which may name keys of files that users have."""
    return CODE.sub(" ", text)


def found(text: str) -> list[str]:
    """The words of a text that were given up, each with what to say instead."""
    return [
        f"{match[0]!r}: say {instead}"
        for word, instead in GIVEN_UP.items()
        for match in re.finditer(rf"\b(?:{word})\b", prose(text), re.IGNORECASE)
    ]


def test_a_word_that_was_given_up_is_found_in_prose_and_not_in_code():
    assert found("The holder's report on a crowd.") == ["'crowd': say class, cluster", '"holder\'s": say custodian']
    assert found("`crowds: {pay: 12}` and `visits.holder`; a data holder") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_says_the_field_s_words(page):
    assert found(page.read_text("utf-8")) == []
