"""Where each label of a hierarchy lies along the domain, as shares from 0 to 1, for a picture of its levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby, pairwise, product
from math import prod
from typing import NamedTuple

from shoal.data.domain import Line, Pattern
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import GroupLevel, IntervalLevel, Level, MaskLevel, TopLevel, ValueLevel
from shoal.data.type import Type, point

MOST = 400
"""More labels than this are not told apart in a picture."""

Cell = tuple[float, float, str]


class Band(NamedTuple):
    """One level of a picture: its number of labels in words, its loss, and the share of the domain that each label covers.

    `cells` is empty where there are too many labels to draw.
    """

    words: str
    loss: float
    cells: tuple[Cell, ...]


def spans(hierarchy: Hierarchy) -> list[Band]:
    """The levels of a hierarchy from finest to coarsest, values in an order that leaves every group in one piece."""
    order = _order(hierarchy)
    bands = []
    for level, loss in zip(hierarchy.levels, hierarchy.losses, strict=True):
        count, cells = _cells(hierarchy, level, order)
        words = "every value" if count is None else "one label" if isinstance(level, TopLevel) else f"{count:,} labels"
        if isinstance(level, ValueLevel) and count is not None:
            words = f"{count:,} values"
        bands.append(Band(words, loss, cells))
    return bands


def _order(hierarchy: Hierarchy) -> list[int]:
    """The listed values so that groups are in one piece at every level, first come first."""
    groups = [level.codes for level in reversed(hierarchy.levels) if isinstance(level, GroupLevel)]
    count = len(groups[0]) if groups else len(hierarchy.values or ())
    return sorted(range(count), key=lambda i: [codes[i] for codes in groups])


def _cells(hierarchy: Hierarchy, level: Level, order: Sequence[int]) -> tuple[int | None, tuple[Cell, ...]]:
    """How many labels a level has (None: no end to them), and where each lies if they are few."""
    if isinstance(level, TopLevel):
        return 1, ((0.0, 1.0, level.label),)
    if isinstance(level, IntervalLevel):
        return len(level.labels), _of_cuts(hierarchy, level) if len(level.labels) <= MOST else ()
    if isinstance(level, GroupLevel):
        return len(level.labels), _of_sizes((level.labels[level.codes[i]] for i in order), len(level.labels))
    domain = hierarchy.domain
    if isinstance(domain, Pattern) and domain.places is not None:
        places = domain.places
        if isinstance(level, MaskLevel):
            places = places[: level.kept] if level.side == "right" else places[-level.kept :]
        return prod(map(len, places)), _of_places(level, places, len(domain.places))
    if hierarchy.values is None:
        return None, ()
    shown = [hierarchy.values[i] for i in order]
    if isinstance(level, MaskLevel):
        shown = sorted(map(level.mask, shown), key=lambda label: label if level.side == "right" else label[::-1])
    return len(set(shown)), _of_sizes(shown, len(set(shown)))


def _of_cuts(hierarchy: Hierarchy, level: IntervalLevel) -> tuple[Cell, ...]:
    line = Line.of(hierarchy.type or Type.DECIMAL, hierarchy.domain)
    ends: list[Fraction | None] = [None, *(point(line.type, at) for at in level.edges), None]
    sizes = [line.size(a, b) for a, b in pairwise(ends)]
    return _lay_out(zip(sizes, level.labels, strict=True), sum(sizes, Fraction(0)))


def _of_places(level: Level, places: Sequence[str], length: int) -> tuple[Cell, ...]:
    count = prod(map(len, places))
    if count > MOST:
        return ()
    hidden = "*" * (length - len(places)) if not isinstance(level, MaskLevel) or level.letter else ""
    left = isinstance(level, MaskLevel) and level.side == "left"
    labels = ["".join(letters) for letters in product(*places)]
    return _lay_out([(Fraction(1), hidden + label if left else label + hidden) for label in labels], Fraction(count))


def _of_sizes(labels: Iterable[str], count: int) -> tuple[Cell, ...]:
    if count > MOST:
        return ()
    runs = [(Fraction(len(list(run))), label) for label, run in groupby(labels)]
    return _lay_out(runs, sum((size for size, _ in runs), Fraction(0)))


def _lay_out(sizes: Iterable[tuple[Fraction, str]], total: Fraction) -> tuple[Cell, ...]:
    at, cells = Fraction(0), []
    for size, label in sizes:
        cells.append((float(at / total), float((at + size) / total), label))
        at += size
    return tuple(cells)
