"""Levels of intervals: nested widths, given cut points, rounding; with open ends for what is rare.

An interval holds its lower end and not its upper one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.request import MOST, Bins, Request
from shoal.data.line import Line, number, plain, point
from shoal.data.type import Type, spelled


def intervals(request: Request) -> Hierarchy:
    """Intervals of equal width, each level's width a multiple of the one before."""
    line = Line.of(request.type, request.domain)
    origin = request.option("origin")
    start = (line.low if request.type is Type.DATE else Fraction(0)) if origin is None else point(line.type, origin)
    ends = _open_ends(request, line)
    return request.of_bins(line, [_regular(request, line, width, start, ends) for width in _widths(request)])


def cuts(request: Request) -> Hierarchy:
    """Given cut points; each level's are among those of the one before."""
    line = Line.of(request.type, request.domain)
    raw = request.many(request.argument)
    lists = raw if all(isinstance(item, Sequence) and not isinstance(item, str) for item in raw) else [raw]
    names = _names(request, lists)
    ends = _open_ends(request, line)
    levels: list[Bins] = []
    finer: set[Fraction] | None = None
    for raw_cuts, labels in zip(lists, names, strict=True):
        edges = [point(line.type, at) for at in raw_cuts]
        if any(not a < b for a, b in pairwise(edges)):
            raise request.wrong("cut points do not rise", came=_list(line, edges))
        beyond = [at for at in edges if not line.low < at <= line.high]
        if beyond:
            raise request.wrong(
                "cut points outside the domain leave an interval empty",
                came=_list(line, beyond),
                allowed=f"above {line.text(line.low)}, at most {line.text(line.high)}",
            )
        edges = sorted({at for at in edges if _within(at, ends)} | {at for at in ends if at is not None})
        stray = sorted(set(edges) - finer) if finer is not None else []
        if stray:
            raise request.wrong(
                "the levels do not nest: a coarser level has cut points that the finer one lacks",
                came=_list(line, stray),
                fix="leave out cut points from one level to the next, and add none",
            )
        finer = set(edges)
        own = [line.between(a, b) for a, b in pairwise(edges)]
        shown = [f"< {line.text(edges[0])}", *own, f">= {line.text(edges[-1])}"] if edges else ["*"]
        if labels is not None and len(labels) != len(shown):
            raise request.wrong(f"{len(labels)} labels for {len(shown)} intervals", came=", ".join(labels))
        levels.append(Bins(edges, shown if labels is None else labels))
    return request.of_bins(line, levels)


def rounding(request: Request) -> Hierarchy:
    """Rounded numbers, halves away from zero; each level rounds the label of the one before, so that levels nest."""
    line = Line.of(request.type, request.domain)
    ends = _open_ends(request, line)
    levels: list[Bins] = []
    edges: list[Fraction] = []
    labels: list[Fraction] = []
    for step in _widths(request):
        if not labels:
            first, last = (round_half_away(at / step) for at in (line.low, line.high))
            _refuse_too_many(request, last - first + 1, plain(step))
            labels = [j * step for j in range(first, last + 1)]
            edges = [_half(line, (a + b) / 2) for a, b in pairwise(labels)]
        rounded = [round_half_away(at / step) * step for at in labels]
        kept = [i for i, (a, b) in enumerate(pairwise(rounded)) if a != b]
        labels = [rounded[0], *(rounded[i + 1] for i in kept)]
        edges = [edges[i] for i in kept]
        levels.append(_coded(line, edges, [plain(at) for at in labels], ends))
    return request.of_bins(line, levels)


def round_half_away(at: Fraction) -> int:
    """The nearest whole number; of two, the one farther from zero."""
    return int(math.copysign(math.floor(abs(at) + Fraction(1, 2)), at)) if at else 0


def _half(line: Line, middle: Fraction) -> Fraction:
    """Where the upper of two rounded numbers begins: at the middle, or right above it for negative numbers."""
    if middle > 0:
        return Fraction(math.ceil(middle)) if line.type is Type.INTEGER else middle
    if line.type is Type.INTEGER:
        return Fraction(math.floor(middle) + 1)
    return Fraction(math.nextafter(float(middle), math.inf))


Ends = tuple[Fraction | None, Fraction | None]


def _open_ends(request: Request, line: Line) -> Ends:
    """Where bottom and top coding begin, checked against the domain."""
    below, above = (
        None if request.option(name) is None else point(line.type, request.option(name)) for name in ("below", "above")
    )
    for name, at in (("below", below), ("above", above)):
        if at is not None and not line.low < at <= line.high:
            raise request.wrong(
                f"`{name}` lies outside the domain",
                came=line.text(at),
                allowed=f"above {line.text(line.low)}, at most {line.text(line.high)}",
            )
    if below is not None and above is not None and not below < above:
        raise request.wrong("`below` does not lie below `above`", came=f"{line.text(below)}, {line.text(above)}")
    return below, above


def _within(at: Fraction, ends: Ends) -> bool:
    return (ends[0] is None or ends[0] < at) and (ends[1] is None or at < ends[1])


def _regular(request: Request, line: Line, width: Fraction, start: Fraction, ends: Ends) -> Bins:
    first, last = (math.floor((at - start) / width) for at in (line.low, line.high))
    _refuse_too_many(request, last - first + 1, plain(width))
    steps = [start + j * width for j in range(first, last + 2)]
    inner = [at for at in steps[1:-1] if _within(at, ends)]
    edges = [*([ends[0]] if ends[0] is not None else []), *inner, *([ends[1]] if ends[1] is not None else [])]
    bounds = [steps[0], *edges, steps[-1]]
    return _named(line, edges, [line.between(a, b) for a, b in pairwise(bounds)], ends)


def _coded(line: Line, edges: Sequence[Fraction], labels: Sequence[str], ends: Ends) -> Bins:
    """Intervals with what lies beyond the open ends put together."""
    below, above = ends
    first = 0 if below is None else sum(at <= below for at in edges)
    last = len(edges) if above is None else sum(at < above for at in edges)
    kept = [*([below] if below is not None else []), *edges[first:last], *([above] if above is not None else [])]
    names = list(labels[first : last + 1])
    return _named(
        line, kept, [*([""] if below is not None else []), *names, *([""] if above is not None else [])], ends
    )


def _named(line: Line, edges: list[Fraction], labels: list[str], ends: Ends) -> Bins:
    below, above = ends
    if below is not None:
        labels[0] = f"< {line.text(below)}"
    if above is not None:
        labels[-1] = f">= {line.text(above)}"
    return Bins(edges, labels)


def _widths(request: Request) -> list[Fraction]:
    widths: list[Fraction] = []
    for raw in request.many(request.argument):
        try:
            width = number(raw)
        except (ArithmeticError, TypeError, ValueError):
            raise request.wrong("a width is no number", came=spelled(raw)) from None
        if width <= 0:
            raise request.wrong("a width is not above zero", came=spelled(raw))
        if request.type is not Type.DECIMAL and width.denominator != 1:
            raise request.wrong(f"type {request.type.value} needs whole widths", came=spelled(raw))
        if widths and (width <= widths[-1] or (width / widths[-1]).denominator != 1):
            raise request.wrong(
                "the levels do not nest: a width is no multiple of the one before",
                came=f"{plain(widths[-1])}, {plain(width)}",
                fix="let each width be a multiple of the one before, as in [5, 10, 20, 40]",
            )
        widths.append(width)
    return widths


def _names(request: Request, lists: Sequence[object]) -> list[list[str] | None]:
    """The labels given for each level, if any."""
    raw = request.option("labels")
    if raw is None:
        return [None] * len(lists)
    raw = request.many(raw)
    levels = raw if raw and isinstance(raw[0], Sequence) and not isinstance(raw[0], str) else [raw]
    if len(levels) != len(lists):
        raise request.wrong("labels are given for another number of levels", came=len(levels), allowed=str(len(lists)))
    return [[spelled(label) for label in request.many(level)] for level in levels]


def _list(line: Line, points: Sequence[Fraction]) -> str:
    return ", ".join(line.text(at) for at in points[:8]) + (", …" if len(points) > 8 else "")


def _refuse_too_many(request: Request, count: int, width: str) -> None:
    if count > MOST:
        raise request.wrong(
            f"a level would have {count:,} labels",
            came=width,
            allowed=f"{MOST:,} labels",
            fix="begin with a wider level",
        )
