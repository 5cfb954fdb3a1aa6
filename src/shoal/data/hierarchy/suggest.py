"""A suggested hierarchy, from the type and the declared domain alone: no data are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from shoal.data.domain import Domain, Interval, Line, Pattern, Values
from shoal.data.type import Type, decimal_text

MOST_GROUPS = 25
"""The finest suggested level has at most about so many labels."""
_DAY = 24 * 60 * 60 * 10**6


def suggest(type: Type, domain: Domain | None) -> dict[str, Any] | None:  # noqa: A002 - the word of the policy
    """A specification for `build.hierarchy`, or None where type and domain do not say which values are near each other.

    `{groups: []}` is the hierarchy of two levels: the value, or one label for all.

    >>> suggest(Type.INTEGER, Interval(0, 110))
    {'intervals': [5, 10, 20, 40]}
    """
    if isinstance(domain, Interval) and type.numeric:
        line = Line.of(type, domain)
        return _dates(line) if type in (Type.DATE, Type.DATETIME) else _widths(line)
    if isinstance(domain, Pattern):
        return None if domain.letters is None else {"mask": "right"}
    if isinstance(domain, Values):
        if type is Type.ORDINAL:
            return {"groups": neighbours(domain.values)}
        if type is Type.TEXT and len({len(value) for value in domain.values}) == 1 and len(domain.values[0]) > 1:
            return {"mask": "right"}
        return {"groups": []}
    return {"groups": []} if type is Type.BOOLEAN else None


def _widths(line: Line) -> dict[str, Any]:
    """A round width (1, 2 or 5 times a power of ten) and its doubles, while at least three labels remain."""
    span = line.size(None, None)
    if not span:
        return {"intervals": []}
    width = round_number(span / MOST_GROUPS)
    if line.type is Type.INTEGER:
        width = max(width, Fraction(2))
    widths = []
    while span / width > 2:
        widths.append(int(width) if width.denominator == 1 else float(decimal_text(width)))
        width *= 2
    return {"intervals": widths}


def round_number(least: Fraction) -> Fraction:
    """The smallest of 1, 2, 5, 10, 20, 50, ... and their tenths that is at least `least`."""
    power = Fraction(1)
    while power > least:
        power /= 10
    while power * 10 <= least:
        power *= 10
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least)


def _dates(line: Line) -> dict[str, Any]:
    """Parts of the calendar, chosen by the length of the domain."""
    days = line.size(None, None) / (1 if line.type is Type.DATE else _DAY)
    fine: list[str] = [] if line.type is Type.DATE else ["hour", "day"] if days <= 366 else ["day"]
    if days <= 7:
        return {"date": fine[:1]} if line.type is Type.DATETIME else {"date": []}
    if days <= 62:
        return {"date": [*fine, "week"]}
    if days <= 366:
        return {"date": [*fine, "month", "quarter"]}
    if days <= 366 * 20:
        return {"date": [*fine, "month", "quarter", "year"]}
    return {"date": [*fine[1:], "month", "year", "decade"]}


def neighbours(values: Sequence[str]) -> list[dict[str, list[str]]]:
    """Groups of two neighbours, then of four, eight, ..., where each level lists labels of the level before."""
    levels: list[dict[str, list[str]]] = []
    spans = [(value, value) for value in values]
    while len(spans) > 2:
        below = [_span(*span) for span in spans]
        merged = [(spans[at][0], spans[min(at + 1, len(spans) - 1)][1]) for at in range(0, len(spans), 2)]
        labels = [_span(*span) for span in merged]
        if len(set(labels)) != len(labels):
            break
        levels.append({label: below[2 * i : 2 * i + 2] for i, label in enumerate(labels)})
        spans = merged
    return levels


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
