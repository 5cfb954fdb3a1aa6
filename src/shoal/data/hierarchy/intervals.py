"""Levels of intervals: nested widths, given cut points, rounding, and the parts of the calendar; with open ends for what is rare.

An interval holds its lower end and not its upper one.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from shoal.data.domain import Line
from shoal.data.hierarchy.base import MOST_LABELS, Hierarchy, HierarchyRequest, IntervalEdges
from shoal.data.type import Type, decimal_text, number, point, spell, time_at


def intervals(request: HierarchyRequest) -> Hierarchy:
    """The hierarchy of intervals of equal width, where each width is a multiple of the one before."""
    line = Line.of(request.type, request.domain)
    origin = request.option("origin")
    start = (line.low if request.type is Type.DATE else Fraction(0)) if origin is None else point(line.type, origin)
    ends = _open_ends(request, line)
    return request.build_intervals(line, [_regular(request, line, width, start, ends) for width in _widths(request)])


def cuts(request: HierarchyRequest) -> Hierarchy:
    """The hierarchy of given cut points, where those of each level are among those of the level before."""
    line = Line.of(request.type, request.domain)
    raw = request.as_list(request.argument)
    lists = raw if all(isinstance(item, Sequence) and not isinstance(item, str) for item in raw) else [raw]
    names = _names(request, lists)
    ends = _open_ends(request, line)
    levels: list[IntervalEdges] = []
    finer: set[Fraction] | None = None
    for raw_cuts, labels in zip(lists, names, strict=True):
        edges = [point(line.type, at) for at in raw_cuts]
        if any(not a < b for a, b in pairwise(edges)):
            raise request.error(
                "cut points are not in rising order",
                came=_list(line, edges),
                fix="list each cut point once, the smallest first",
            )
        beyond = [at for at in edges if not line.low < at <= line.high]
        if beyond:
            raise request.error(
                "cut points outside the domain leave an interval empty",
                came=_list(line, beyond),
                allowed=f"above {line.text(line.low)}, at most {line.text(line.high)}",
            )
        edges = sorted({at for at in edges if _within(at, ends)} | {at for at in ends if at is not None})
        extra = sorted(set(edges) - finer) if finer is not None else []
        if extra:
            raise request.error(
                "the levels do not nest: a coarser level has cut points that the finer one lacks",
                came=_list(line, extra),
                fix="leave out cut points from one level to the next, and add none",
            )
        finer = set(edges)
        own = [line.between(a, b) for a, b in pairwise(edges)]
        shown = [f"< {line.text(edges[0])}", *own, f">= {line.text(edges[-1])}"] if edges else ["*"]
        if labels is not None and len(labels) != len(shown):
            raise request.error(f"{len(labels)} labels for {len(shown)} intervals", came=", ".join(labels))
        levels.append(IntervalEdges(edges, shown if labels is None else labels, labels is None, labels is None))
    return request.build_intervals(line, levels)


def rounding(request: HierarchyRequest) -> Hierarchy:
    """The hierarchy of rounded numbers, halves away from zero; each level rounds the labels before it, so that levels nest."""
    line = Line.of(request.type, request.domain)
    ends = _open_ends(request, line)
    levels: list[IntervalEdges] = []
    edges: list[Fraction] = []
    labels: list[Fraction] = []
    for step in _widths(request):
        if not labels:
            first, last = (round_half_away(at / step) for at in (line.low, line.high))
            _refuse_too_many(request, last - first + 1, decimal_text(step))
            labels = [j * step for j in range(first, last + 1)]
            edges = [_half(line, (a + b) / 2) for a, b in pairwise(labels)]
        rounded = [round_half_away(at / step) * step for at in labels]
        kept = [i for i, (a, b) in enumerate(pairwise(rounded)) if a != b]
        labels = [rounded[0], *(rounded[i + 1] for i in kept)]
        edges = [edges[i] for i in kept]
        levels.append(_code_ends(line, edges, [decimal_text(at) for at in labels], ends))
    return request.build_intervals(line, levels)


def round_half_away(at: Fraction) -> int:
    """The whole number nearest to a number; of two equally near ones, the one farther from zero."""
    return int(math.copysign(math.floor(abs(at) + Fraction(1, 2)), at)) if at else 0


def _half(line: Line, middle: Fraction) -> Fraction:
    """The least number that is rounded to the upper of two numbers: their middle, or right above it for negative numbers."""
    if middle > 0:
        return Fraction(math.ceil(middle)) if line.type is Type.INTEGER else middle
    if line.type is Type.INTEGER:
        return Fraction(math.floor(middle) + 1)
    return Fraction(math.nextafter(float(middle), math.inf))


Ends = tuple[Fraction | None, Fraction | None]


def _open_ends(request: HierarchyRequest, line: Line) -> Ends:
    """The ends of bottom and top coding, checked against the domain."""
    below, above = (
        None if request.option(name) is None else point(line.type, request.option(name)) for name in ("below", "above")
    )
    for name, at in (("below", below), ("above", above)):
        if at is not None and not line.low < at <= line.high:
            raise request.error(
                f"`{name}` lies outside the domain",
                came=line.text(at),
                allowed=f"above {line.text(line.low)}, at most {line.text(line.high)}",
            )
    if below is not None and above is not None and not below < above:
        raise request.error("`below` does not lie below `above`", came=f"{line.text(below)}, {line.text(above)}")
    return below, above


def _within(at: Fraction, ends: Ends) -> bool:
    return (ends[0] is None or ends[0] < at) and (ends[1] is None or at < ends[1])


def _regular(request: HierarchyRequest, line: Line, width: Fraction, start: Fraction, ends: Ends) -> IntervalEdges:
    first, last = (math.floor((at - start) / width) for at in (line.low, line.high))
    _refuse_too_many(request, last - first + 1, decimal_text(width))
    # Of edges beyond the open ends none is made: there may be thousands.
    below, above = ends
    lowest = first + 1 if below is None else max(first + 1, math.floor((below - start) / width) + 1)
    highest = last if above is None else min(last, math.ceil((above - start) / width) - 1)
    inner = [start + j * width for j in range(lowest, highest + 1)]
    edges = [*([below] if below is not None else []), *inner, *([above] if above is not None else [])]
    bounds = [start + first * width, *edges, start + (last + 1) * width]
    return _label_ends(line, edges, [line.between(a, b) for a, b in pairwise(bounds)], ends)


def _code_ends(line: Line, edges: Sequence[Fraction], labels: Sequence[str], ends: Ends) -> IntervalEdges:
    """The intervals with what lies beyond the open ends put together: bottom and top coding."""
    below, above = ends
    first = 0 if below is None else sum(at <= below for at in edges)
    last = len(edges) if above is None else sum(at < above for at in edges)
    kept = [*([below] if below is not None else []), *edges[first:last], *([above] if above is not None else [])]
    names = list(labels[first : last + 1])
    return _label_ends(
        line, kept, [*([""] if below is not None else []), *names, *([""] if above is not None else [])], ends
    )


def _label_ends(line: Line, edges: list[Fraction], labels: list[str], ends: Ends) -> IntervalEdges:
    below, above = ends
    if below is not None:
        labels[0] = f"< {line.text(below)}"
    if above is not None:
        labels[-1] = f">= {line.text(above)}"
    return IntervalEdges(edges, labels, below is not None, above is not None)


def _widths(request: HierarchyRequest) -> list[Fraction]:
    widths: list[Fraction] = []
    for raw in request.as_list(request.argument):
        try:
            width = number(raw)
        except (ArithmeticError, TypeError, ValueError):
            raise request.error("a width is no number", came=spell(raw)) from None
        if width <= 0:
            raise request.error("a width is not above zero", came=spell(raw))
        if request.type is not Type.DECIMAL and width.denominator != 1:
            raise request.error(f"type {request.type.value} needs whole widths", came=spell(raw))
        if widths and (width <= widths[-1] or (width / widths[-1]).denominator != 1):
            raise request.error(
                "the levels do not nest: a width is no multiple of the one before",
                came=f"{decimal_text(widths[-1])}, {decimal_text(width)}",
                fix="let each width be a multiple of the one before, as in [5, 10, 20, 40]",
            )
        widths.append(width)
    return widths


def _names(request: HierarchyRequest, lists: Sequence[object]) -> list[list[str] | None]:
    """The labels that the policy gives for each level, None where it gives none."""
    raw = request.option("labels")
    if raw is None:
        return [None] * len(lists)
    raw = request.as_list(raw)
    levels = raw if raw and isinstance(raw[0], Sequence) and not isinstance(raw[0], str) else [raw]
    if len(levels) != len(lists):
        raise request.error("labels are given for another number of levels", came=len(levels), allowed=str(len(lists)))
    return [[spell(label) for label in request.as_list(level)] for level in levels]


def _list(line: Line, points: Sequence[Fraction]) -> str:
    return ", ".join(line.text(at) for at in points[:8]) + (", …" if len(points) > 8 else "")


def _refuse_too_many(request: HierarchyRequest, count: int, width: str) -> None:
    if count > MOST_LABELS:
        raise request.error(
            f"a level would have {count:,} labels",
            came=width,
            allowed=f"{MOST_LABELS:,} labels",
            fix="begin with a wider level",
        )


# --- parts of the calendar ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CalendarPart:
    """A part of the calendar as three functions of a time: the start of the part around it, the next start, and the label."""

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


CALENDAR_PARTS: dict[str, CalendarPart] = {
    "hour": CalendarPart(
        lambda t: t.replace(minute=0, second=0, microsecond=0),
        lambda t: t + dt.timedelta(hours=1),
        lambda t: f"{t:%Y-%m-%d %H}h",
    ),
    "day": CalendarPart(_day, lambda t: t + dt.timedelta(days=1), lambda t: t.date().isoformat()),
    "week": CalendarPart(lambda t: _day(t) - dt.timedelta(days=t.weekday()), lambda t: t + dt.timedelta(days=7), _week),
    "month": CalendarPart(_month, lambda t: _later(t, 1), lambda t: f"{t.year:04}-{t.month:02}"),
    "quarter": CalendarPart(
        lambda t: _month(t, 3), lambda t: _later(t, 3), lambda t: f"{t.year:04}-Q{(t.month + 2) // 3}"
    ),
    "year": CalendarPart(lambda t: _month(t, 12), lambda t: _later(t, 12), lambda t: f"{t.year:04}"),
    "decade": CalendarPart(
        _decade, lambda t: t.replace(year=t.year // 10 * 10 + 10), lambda t: f"{t.year // 10 * 10:04}s"
    ),
}
"""The parts of the calendar from fine to coarse. Weeks are ISO weeks, from Monday, and nest in no coarser part."""


_LONGEST = {
    name: dt.timedelta(hours=hours)
    for name, hours in zip(CALENDAR_PARTS, (1, 24, 168, 744, 2208, 8784, 87_672), strict=True)
}
"""How long a part may be at most."""


def date(request: HierarchyRequest) -> Hierarchy:
    """The hierarchy of parts of the calendar, from fine to coarse."""
    line = Line.of(request.type, request.domain)
    names = [spell(name) for name in request.as_list(request.argument)]
    order = list(CALENDAR_PARTS)
    allowed = order[2:] if request.type is Type.DATE else order
    strange = [name for name in names if name not in allowed]
    if strange:
        raise request.error(f"no part of a {request.type.value}", came=", ".join(strange), allowed=", ".join(allowed))
    if any(order.index(a) >= order.index(b) for a, b in pairwise(names)):
        raise request.error("parts do not go from fine to coarse", came=", ".join(names), allowed=", ".join(allowed))
    if "week" in names[:-1]:
        raise request.error(
            "the levels do not nest: a week can lie in two months and in two years",
            came=", ".join(names),
            fix="let week be the last part, or leave it out",
        )
    return request.build_intervals(line, [_bins(request, line, name) for name in names])


def _bins(request: HierarchyRequest, line: Line, name: str) -> IntervalEdges:
    part = CALENDAR_PARTS[name]
    first, last = time_at(line.type, line.low), time_at(line.type, line.high)
    too_many = request.error(
        f"a level would have more than {MOST_LABELS:,} labels", came=name, fix="leave this part out"
    )
    if (last - first) / _LONGEST[name] > MOST_LABELS:
        raise too_many
    starts: list[dt.datetime] = []
    labels: list[str] = []
    try:
        here = part.start(first)
        while here <= last:
            starts.append(here)
            labels.append(part.label(here))
            if len(starts) > MOST_LABELS:
                raise too_many
            here = part.following(here)
    except (ValueError, OverflowError):  # the calendar ends with the year 9999
        pass
    edges: list[Fraction] = [point(line.type, start) for start in starts[1:]]
    return IntervalEdges(edges, labels)
