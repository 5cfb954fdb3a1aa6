"""The cells of an attribute: the finest pieces of its declared domain that a box may end in, and how they nest.

AttributeCells come from the domain and its hierarchy alone. They are the values themselves where there are few enough; else the
finest level of the hierarchy that can be listed; else equal steps of the declared interval. A missing value is a cell of
its own, the last one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise, product
from math import ceil, prod

from shoal.data.domain import Interval, Line, Pattern, list_values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import (
    MISSING,
    SUPPRESSED,
    GroupLevel,
    IntervalLevel,
    Level,
    MaskLevel,
    TopLevel,
    ValueLevel,
)
from shoal.data.schema import Attribute, Missing
from shoal.data.type import Type, point
from shoal.errors import PolicyError, UsageError

MOST = 4096
"""The most cells that an attribute may have in boxes."""
MOST_COUNTED = 1 << 14
"""The most cells that an attribute may have where only counts are published, which takes less memory than boxes."""
STEPS = 1024
"""The number of equal steps of an interval that has too many values to list and no hierarchy."""


@dataclass(frozen=True)
class Group:
    """A label of the hierarchy above the cells, and the cells it holds."""

    label: str
    cells: tuple[int, ...]


@dataclass(frozen=True)
class AttributeCells:
    """The cells of one attribute in order, with the groups of every coarser level of its hierarchy.

    `level` maps a value to the label of its cell; `sizes[i]` is the number of values in cell i. Where values cannot be counted
    each cell counts as one value, because the finest declared intervals are what somebody wants to tell apart. `bounds` are
    the ends of the cells of a line, one more than there are cells. `missing` is the number of the missing value's cell.
    """

    attribute: Attribute
    level: Level
    labels: tuple[str, ...]
    sizes: tuple[Fraction, ...]
    ordered: bool
    groups: tuple[tuple[Group, ...], ...]
    bounds: tuple[Fraction, ...] | None = None
    missing: int | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self.attribute.name

    def loss(self, cells: Sequence[int]) -> float:
        """The loss of a label that stands for these cells; the cell of a missing value adds nothing."""
        total = self._total
        size = self.sizes[cells[0]] if len(cells) == 1 else sum((self.sizes[cell] for cell in cells), Fraction(0))
        return float((size - 1) / (total - 1)) if total > 1 and size > 1 else 0.0

    @cached_property
    def _total(self) -> Fraction:
        return sum(self.sizes, Fraction(0))

    def span(self, first: int, last: int) -> str:
        """The label of the cells first, …, last − 1 of an ordered attribute."""
        if self.bounds is not None:
            ends = self.level if isinstance(self.level, IntervalLevel) else None
            if ends is not None and ends.open_above and last == len(self.bounds) - 1:
                return f">= {self.line.text(self.bounds[first])}"
            if ends is not None and ends.open_below and first == 0:
                return f"< {self.line.text(self.bounds[last])}"
            return self.line.between(self.bounds[first], self.bounds[last])
        return f"{self.labels[first]} to {self.labels[last - 1]}"

    @property
    def line(self) -> Line:
        """The domain as a line, for numbers, dates and times."""
        if self.attribute.domain is None:
            raise UsageError("an attribute without a domain has no line", came=self.name)
        return Line.of(self.attribute.type, self.attribute.domain)


def cells_of(attribute: Attribute, finest: int = 0, most: int = MOST) -> AttributeCells:
    """The cells of an attribute, not finer than level `finest` of its hierarchy, and no more than `most`.

    Raises     PolicyError where no domain is declared, or it has too many values to list and no hierarchy.

    >>> from shoal.data.domain import Values
    >>> from shoal.data.schema import Role
    >>> size = Attribute("size", Role.QUASI, Type.ORDINAL, Values(("S", "M", "L")), missing=Missing.REFUSE)
    >>> cells_of(size).span(0, 2)
    'S to M'
    """
    key = ("cells", finest, most)
    if key not in attribute.derived:
        made = _cells_of_like(_Declaration(attribute), finest, most)
        attribute.derived[key] = made if made.attribute is attribute else replace(made, attribute=attribute)
    found: AttributeCells = attribute.derived[key]
    return found


class _Declaration:
    """What the cells of an attribute follow from. A policy that is read again declares the same, in other objects."""

    def __init__(self, attribute: Attribute) -> None:
        above = attribute.hierarchy
        self.attribute = attribute
        self.content = (
            attribute.type,
            attribute.domain,
            attribute.missing,
            None if above is None else (above.type, above.domain, above.levels),
        )

    def __hash__(self) -> int:
        return hash(self.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Declaration) and self.content == other.content


@lru_cache(maxsize=32)
def _cells_of_like(declared: _Declaration, finest: int, most: int) -> AttributeCells:
    """The cells of one of the attributes that are declared alike; a release reads its policy some eight times."""
    return _cells(declared.attribute, finest, most)


def _cells(attribute: Attribute, finest: int, most: int) -> AttributeCells:
    if attribute.domain is None:
        raise PolicyError(
            f"attribute '{attribute.name}': boxes are pieces of a declared domain, and it has none",
            fix=f"declare attributes.{attribute.name}.domain",
        )
    hierarchy = attribute.hierarchy
    found = _plain(attribute, most) if hierarchy is None else _of_hierarchy(attribute, hierarchy, finest, most)
    if attribute.missing is not Missing.VALUE or isinstance(found.level, TopLevel):
        return found
    return AttributeCells(
        attribute,
        found.level,
        (*found.labels, MISSING),
        (*found.sizes, Fraction(0)),
        found.ordered,
        found.groups,
        found.bounds,
        len(found.labels),
    )


def _plain(attribute: Attribute, most: int) -> AttributeCells:
    """AttributeCells of a domain without a hierarchy."""
    domain = attribute.domain
    values = list_values(attribute.type, domain) if domain is not None else None
    if values is not None and len(values) <= most:
        return _of_values(attribute, ValueLevel(), values, [])
    if isinstance(domain, Interval) and attribute.type.numeric:
        return _steps(attribute, Line.of(attribute.type, domain))
    raise PolicyError(
        f"attribute '{attribute.name}': too many values for boxes",
        came=f"{len(values):,}" if values is not None else "no end of them",
        allowed=f"{most:,} values, or a hierarchy with a level of that many labels",
        fix=f"declare attributes.{attribute.name}.hierarchy, or fix its level in the policy",
    )


def _steps(attribute: Attribute, line: Line) -> AttributeCells:
    """Equal steps of an interval; whole numbers and days stay whole."""
    width = line.size(None, None)
    step = Fraction(ceil(width / STEPS)) if line.type is not Type.DECIMAL else width / STEPS
    count = ceil(width / step) if step else 1
    bounds = [line.low + i * step for i in range(count)] + [line.low + width]
    labels = tuple(line.between(a, b) for a, b in pairwise(bounds))
    level = IntervalLevel(tuple(line.edge(at) for at in bounds[1:-1]), labels)
    sizes = tuple(b - a if line.countable else Fraction(1) for a, b in pairwise(bounds))
    return AttributeCells(attribute, level, labels, sizes, ordered=True, groups=(), bounds=tuple(bounds))


def _of_hierarchy(attribute: Attribute, hierarchy: Hierarchy, finest: int, most: int) -> AttributeCells:
    """AttributeCells of the finest level that can be listed, from `finest` up."""
    for index in range(finest, len(hierarchy)):
        level = hierarchy.level(index)
        above = hierarchy.levels[index + 1 :]
        if isinstance(level, TopLevel):
            break
        if hierarchy.values is not None and len(hierarchy.values) <= 50 * most:
            labels = hierarchy.labels(index)
            if labels is not None and len(labels) <= most:
                return _of_values(attribute, level, hierarchy.values, list(above))
        elif isinstance(level, IntervalLevel) and len(level.labels) <= most:
            return _of_cuts(attribute, level, [each for each in above if isinstance(each, IntervalLevel)])
        elif isinstance(level, MaskLevel) and (found := _of_places(attribute, level, above, most)) is not None:
            return found
        elif (
            isinstance(level, ValueLevel)
            and attribute.type is Type.DECIMAL
            and not any(isinstance(e, IntervalLevel) for e in above)
        ):
            return _steps(attribute, Line.of(attribute.type, hierarchy.domain))
    return AttributeCells(attribute, TopLevel(), (SUPPRESSED,), (Fraction(1),), ordered=False, groups=())


def _of_values(attribute: Attribute, level: Level, values: Sequence[str], above: list[Level]) -> AttributeCells:
    """AttributeCells made of listed values: one for each label of the level, in order of the values."""
    line = Line.of(attribute.type, attribute.domain) if attribute.type.numeric and attribute.domain else None
    at: Sequence[Fraction | int] | None = None
    if line is not None:  # the points are found once for all levels: a domain may have half a million
        found = dict(zip(values, _points(line.type, values), strict=True))
        values = sorted(values, key=found.__getitem__)
        at = [found[value] for value in values]
    own = label_values(attribute, level, values, at)
    labels = tuple(dict.fromkeys(own))
    code = {label: i for i, label in enumerate(labels)}
    codes = [code[label] for label in own]
    sizes = Counter(codes)
    whole = all(b in (a, a + 1) for a, b in pairwise(codes))
    groups = []
    for coarser in above:
        if isinstance(coarser, TopLevel):
            continue
        members: dict[str, dict[int, None]] = {}
        for cell, label in zip(codes, label_values(attribute, coarser, values, at), strict=True):
            members.setdefault(label, {})[cell] = None
        groups.append(tuple(Group(label, tuple(held)) for label, held in members.items()))
        whole = whole and all(_run(each.cells) for each in groups[-1])
    ordered = whole and (line is not None or attribute.type is Type.ORDINAL)
    bounds = None
    if ordered and line is not None:
        first = dict(zip(reversed(codes), reversed(values), strict=True))
        starts = [point(line.type, first[cell]) for cell in range(len(labels))]
        bounds = (*starts, line.end)
    return AttributeCells(
        attribute, level, labels, tuple(Fraction(sizes[i]) for i in range(len(labels))), ordered, tuple(groups),
        bounds=bounds,
    )  # fmt: skip


def _points(kind: Type, values: Sequence[str]) -> Sequence[Fraction | int]:
    """The point of each value; whole numbers, which are compared ten times as fast as fractions, where the type is discrete."""
    if kind is Type.INTEGER:
        return [int(value) if value.isascii() and value.isdecimal() else int(point(kind, value)) for value in values]
    return [int(point(kind, value)) if kind.discrete else point(kind, value) for value in values]


def label_values(
    attribute: Attribute, level: Level, values: Sequence[str], at: Sequence[Fraction | int] | None = None
) -> list[str]:
    """The label that a level gives each of some listed values, of which `at` are the points where they are known."""
    if isinstance(level, ValueLevel):
        return list(values)
    if isinstance(level, GroupLevel):
        return [level.table[value] for value in values]
    if isinstance(level, MaskLevel):
        return level.mask_all(values)
    if isinstance(level, IntervalLevel):
        edges: list[Fraction | int] = [point(attribute.type, edge) for edge in level.edges]
        if attribute.type.discrete:
            edges = [ceil(edge) for edge in edges]
        return [level.labels[bisect_right(edges, each)] for each in at or _points(attribute.type, values)]
    return [SUPPRESSED] * len(values)


def _of_cuts(attribute: Attribute, level: IntervalLevel, above: list[IntervalLevel]) -> AttributeCells:
    """AttributeCells that are intervals of a line with too many values to list."""
    domain = attribute.domain
    line = Line.of(attribute.type, domain) if domain is not None else Line(attribute.type, Fraction(0), Fraction(1))
    edges = [point(line.type, at) for at in level.edges]
    bounds = (line.low, *edges, line.end)
    sizes = tuple(line.size(a, b) if line.countable else Fraction(1) for a, b in pairwise([None, *edges, None]))
    groups = []
    number = {edge: place for place, edge in enumerate(edges, 1)}
    for coarser in above:
        inner = [number[point(line.type, at)] for at in coarser.edges]
        spans = pairwise([0, *inner, len(level.labels)])
        groups.append(
            tuple(
                Group(label, tuple(range(first, last)))
                for label, (first, last) in zip(coarser.labels, spans, strict=True)
            )
        )
    return AttributeCells(attribute, level, level.labels, sizes, ordered=True, groups=tuple(groups), bounds=bounds)


def _of_places(attribute: Attribute, level: MaskLevel, above: Sequence[Level], most: int) -> AttributeCells | None:
    """AttributeCells of masked texts whose letters are known place by place; None where there are too many or they are not."""
    places = attribute.domain.places if isinstance(attribute.domain, Pattern) else None
    if places is None:
        return None
    right = level.side == "right"
    shown, hidden = (
        (places[: level.kept], places[level.kept :]) if right else (places[-level.kept :], places[: -level.kept])
    )
    if prod(map(len, shown)) > most:
        return None
    tail = level.letter * len(hidden)
    bare = ["".join(letters) for letters in product(*shown)]
    labels = tuple(text + tail if right else tail + text for text in bare)
    groups = []
    for coarser in above:
        if not isinstance(coarser, MaskLevel) or coarser.side != level.side or coarser.kept == 0:
            continue
        held: dict[str, list[int]] = {}
        for i, text in enumerate(bare):
            part = text[: coarser.kept] if right else text[-coarser.kept :]
            rest = coarser.letter * (len(places) - coarser.kept)
            held.setdefault(part + rest if right else rest + part, []).append(i)
        groups.append(tuple(Group(label, tuple(cells)) for label, cells in held.items()))
    size = Fraction(prod(map(len, hidden)))
    return AttributeCells(attribute, level, labels, (size,) * len(labels), ordered=False, groups=tuple(groups))


def _run(numbers: Sequence[int]) -> bool:
    return all(b == a + 1 for a, b in pairwise(sorted(numbers)))
