"""The sections on risk and utility in the custodian's report, from an assessment as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.page.number_text import NO_NUMBER, number_text
from shoal.page.section import DataTable, Section, Words, heads

TITLES = {"risk": "Risk", "utility": "Utility"}
KINDS = {
    "exact": "counted",
    "estimate": "estimated",
    "model": "by a model",
}
ABOUT = (
    "Counted: a fact of the tables at hand. Estimated: with an interval that holds as often as it says. By a model: it holds as "
    "far as the model does. None of these numbers is a proof; what is proved stands at the top."
)


def assessment_sections(assessment: Mapping[str, Any] | None) -> list[Section]:
    """What an assessment measured, after the rows and before the columns; nothing where a release was not assessed.

    The values are measurements as JSON by their names, under `risk` and `utility`.
    """
    if assessment is None:
        return []
    head = heads(["measure"], ["number", "interval"], ["how it is known"])
    return [
        Section(
            title,
            [DataTable(head, [_line(name, one) for name, one in assessment[key].items()]), Words(ABOUT, quiet=True)],
        )
        for key, title in TITLES.items()
        if assessment.get(key)
    ]


def _line(name: str, one: Mapping[str, Any]) -> tuple[str, str, str | tuple[str, str], tuple[str, str]]:
    ends = NO_NUMBER
    if one["kind"] != "exact" and one["low"] is not None and one["high"] is not None:
        ends = f"{number_text(one['low'])} to {number_text(one['high'])}"
    level = f"{100 * one['level']:g}\u00a0%" if ends != NO_NUMBER else ""
    return name, number_text(one["value"]), (ends, level), (KINDS[one["kind"]], one["method"])
