"""Levels of date parts: hours, days, weeks, months, quarters, years, decades."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.request import MOST, Bins, Request
from shoal.data.line import Line, moment, point
from shoal.data.type import Type, spelled


@dataclass(frozen=True)
class Part:
    """A part of the calendar: where the one around a time begins, where the next begins, and its name."""

    start: Callable[[dt.datetime], dt.datetime]
    following: Callable[[dt.datetime], dt.datetime]
    label: Callable[[dt.datetime], str]


def _day(time: dt.datetime) -> dt.datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)


def _month(time: dt.datetime, step: int = 1) -> dt.datetime:
    return _day(time).replace(month=(time.month - 1) // step * step + 1, day=1)


def _later(time: dt.datetime, months: int) -> dt.datetime:
    count = time.year * 12 + time.month - 1 + months
    return time.replace(year=count // 12, month=count % 12 + 1)


def _decade(time: dt.datetime) -> dt.datetime:
    return _month(time, 12).replace(year=max(1, time.year // 10 * 10))


def _week(time: dt.datetime) -> str:
    year, week, _ = time.isocalendar()
    return f"{year:04}-W{week:02}"


PARTS: dict[str, Part] = {
    "hour": Part(
        lambda t: t.replace(minute=0, second=0, microsecond=0),
        lambda t: t + dt.timedelta(hours=1),
        lambda t: f"{t:%Y-%m-%d %H}h",
    ),
    "day": Part(_day, lambda t: t + dt.timedelta(days=1), lambda t: t.date().isoformat()),
    "week": Part(lambda t: _day(t) - dt.timedelta(days=t.weekday()), lambda t: t + dt.timedelta(days=7), _week),
    "month": Part(_month, lambda t: _later(t, 1), lambda t: f"{t.year:04}-{t.month:02}"),
    "quarter": Part(lambda t: _month(t, 3), lambda t: _later(t, 3), lambda t: f"{t.year:04}-Q{(t.month + 2) // 3}"),
    "year": Part(lambda t: _month(t, 12), lambda t: _later(t, 12), lambda t: f"{t.year:04}"),
    "decade": Part(_decade, lambda t: t.replace(year=t.year // 10 * 10 + 10), lambda t: f"{t.year // 10 * 10:04}s"),
}
"""From fine to coarse. Weeks are ISO weeks, from Monday, and nest in nothing coarser."""


def date(request: Request) -> Hierarchy:
    """The parts of a date or time, from fine to coarse."""
    line = Line.of(request.type, request.domain)
    names = [spelled(name) for name in request.many(request.argument)]
    order = list(PARTS)
    allowed = order[2:] if request.type is Type.DATE else order
    strange = [name for name in names if name not in allowed]
    if strange:
        raise request.wrong(f"no part of a {request.type.value}", came=", ".join(strange), allowed=", ".join(allowed))
    if any(order.index(a) >= order.index(b) for a, b in pairwise(names)):
        raise request.wrong("parts do not go from fine to coarse", came=", ".join(names), allowed=", ".join(allowed))
    if "week" in names[:-1]:
        raise request.wrong(
            "the levels do not nest: a week can lie in two months and in two years",
            came=", ".join(names),
            fix="let week be the last part, or leave it out",
        )
    return request.of_bins(line, [_bins(request, line, name) for name in names])


def _bins(request: Request, line: Line, name: str) -> Bins:
    part = PARTS[name]
    last = moment(line.type, line.high)
    starts: list[dt.datetime] = []
    labels: list[str] = []
    try:
        here = part.start(moment(line.type, line.low))
        while here <= last:
            starts.append(here)
            labels.append(part.label(here))
            if len(starts) > MOST:
                raise request.wrong(
                    f"a level would have more than {MOST:,} labels", came=name, fix="leave this part out"
                )
            here = part.following(here)
    except (ValueError, OverflowError):  # the calendar ends with the year 9999
        pass
    edges: list[Fraction] = [point(line.type, start) for start in starts[1:]]
    return Bins(edges, labels)
