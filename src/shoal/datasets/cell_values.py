"""Values for cells: a table of values drawn from the number of a cell in each row and attribute, inside the declared domain.

A cell that is one value gives that value, the cell of missing values gives nothing, and a cell that holds several (an interval,
a group, a masked text) gives one of them. Inside a cell every value is as likely as the next, and draws are spread evenly: of
the rows in a cell, a part of it with the share s of its values gets s of the rows, up to one row at each of its ends.
What is drawn depends on the declared domain and the given numbers alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, ulp
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.chance.source import Source
from shoal.data.cells import AttributeCells
from shoal.data.domain import Interval, Line, Pattern, list_values
from shoal.data.hierarchy.level import GroupLevel, IntervalLevel, MaskLevel, TopLevel, ValueLevel
from shoal.data.pattern import START, pattern_graph
from shoal.data.type import DTYPES, Type, point
from shoal.datasets.distributions import FIRST_DAY, Floats, Ints, uniform
from shoal.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

FEWEST_DECIMALS = 10
"""A decimal has as many places as the declared ends and edges; more where the narrowest cell would hold fewer values."""
SECOND = 1_000_000
"""The microseconds of a second, to which times are drawn where every cell is at least a minute long."""
POOL = 4096
"""So many texts are made of a pattern whose letters cannot be listed place by place; rows draw from them."""
LONGEST_WALK = 200
"""The most letters of a text that is made of such a pattern, before it takes the shortest way to its end."""


def synthetic_columns(cells: Sequence[AttributeCells], codes: npt.NDArray[Any], source: Source) -> pa.Table:
    """A table with a value for every number of a cell, the columns in the order of `cells`; the same for the same seed.

    Arguments  `codes` has a row for each row of the table and a column for each attribute: the number of the cell.
    Raises     UsageError where the shape of `codes` does not fit, or a number is that of no cell.

    >>> from shoal.data.cells import cells_of
    >>> from shoal.data.domain import Values
    >>> from shoal.data.schema import Attribute, Role
    >>> size = cells_of(Attribute("size", Role.QUASI, Type.ORDINAL, Values(("S", "M", "L"))))
    >>> synthetic_columns([size], np.array([[2], [0], [3]]), Source.seeded(1)).column("size").to_pylist()
    ['L', 'S', None]
    """
    import pyarrow as pa

    given = np.asarray(codes)
    if given.ndim != 2 or given.shape[1] != len(cells) or given.dtype.kind not in "iu":
        raise UsageError(
            "the numbers of cells are no table with a column for each attribute",
            came=f"{given.dtype}, {' x '.join(map(str, given.shape))}",
            allowed=f"whole numbers, rows x {len(cells)}",
        )
    columns = {}
    for place, own in enumerate(cells):
        code = given[:, place].astype(np.int64)
        if len(code) and not 0 <= int(code.min()) <= int(code.max()) < len(own):
            raise UsageError(
                f"attribute '{own.name}': the number of no cell",
                came=int(code.min() if code.min() < 0 else code.max()),
                allowed=f"0..{len(own) - 1}",
            )
        with source.stream(f"values of {own.name}") as chance:
            columns[own.name] = _column(own, code, chance)
    return pa.table(columns)


def _column(own: AttributeCells, code: Ints, chance: Source) -> pa.Array:
    import pyarrow as pa

    values = _cell_values(own, chance)
    gone = code == own.missing
    if own.missing is None or not gone.any():
        return values.draw(code, chance)
    # Missing values are the rows that take their value from nowhere.
    place = np.cumsum(~gone) - 1
    return values.draw(code[~gone], chance).take(pa.array(place, mask=gone))


class _CellValues(ABC):
    """The values that each cell of an attribute holds."""

    @abstractmethod
    def draw(self, code: Ints, chance: Source) -> pa.Array:
        """A value of each row's cell."""


def _cell_values(own: AttributeCells, chance: Source) -> _CellValues:
    """The values that each cell of an attribute holds; chance is needed for texts of patterns that cannot be listed."""
    attribute, level = own.attribute, own.level
    domain = attribute.domain
    if domain is None:
        raise UsageError(f"attribute '{own.name}': no domain is declared, so nothing can be drawn in its place")
    if isinstance(domain, Interval) and isinstance(level, IntervalLevel | TopLevel):
        return _grid(own, Line.of(attribute.type, domain), level)
    if isinstance(domain, Pattern) and not isinstance(level, ValueLevel | GroupLevel):
        if isinstance(level, MaskLevel) and (attribute.hierarchy is None or attribute.hierarchy.values is None):
            return _places(own, domain, level)
        if isinstance(level, TopLevel) and list_values(attribute.type, domain) is None:
            texts = _texts(domain, chance)
            return _ListedValues(attribute.type, texts, np.zeros(1, dtype=np.int64), np.array([len(texts)]))
    return _listed(own)


# --- listed values ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ListedValues(_CellValues):
    """Values of a list: cell i holds `values[first[i]]` and the `size[i] - 1` after it."""

    type: Type
    values: tuple[str, ...]
    first: Ints
    size: Ints

    def draw(self, code: Ints, chance: Source) -> pa.Array:
        import pyarrow as pa

        at = self.first[code]
        several = self.size[code] > 1
        if several.any():
            part = _spread(code[several], chance)
            at[several] += _steps(part, self.size[code][several])
        used, place = np.unique(at, return_inverse=True)
        texts = [self.values[each] for each in used.tolist()]
        if self.type in (Type.CATEGORY, Type.ORDINAL, Type.TEXT):
            return pa.DictionaryArray.from_arrays(pa.array(place.astype(np.int32)), pa.array(texts, pa.string()))
        if self.type is Type.BOOLEAN:
            return pa.array(np.array([text == "true" for text in texts], dtype=np.bool_)[place])
        return pa.array(np.array(texts, dtype=object).astype(DTYPES[self.type])[place])


def _listed(own: AttributeCells) -> _ListedValues:
    """The values of cells whose domain can be listed."""
    attribute, level = own.attribute, own.level
    if isinstance(level, ValueLevel):
        count = len(own) - (own.missing is not None)
        return _ListedValues(attribute.type, own.labels, np.arange(count), np.ones(count, dtype=np.int64))
    hierarchy = attribute.hierarchy
    values = None if hierarchy is None else hierarchy.values
    if values is None and attribute.domain is not None:
        values = list_values(attribute.type, attribute.domain)
    if values is None:
        raise UsageError(f"attribute '{own.name}': the values of its cells cannot be listed")
    code = {label: i for i, label in enumerate(own.labels)}
    place = np.array([code[label] for label in _labels(own, values)], dtype=np.int64)
    order = np.argsort(place, kind="stable")
    size = np.bincount(place, minlength=len(own))
    return _ListedValues(attribute.type, tuple(values[i] for i in order), np.cumsum(size) - size, size)


def _labels(own: AttributeCells, values: Sequence[str]) -> Sequence[str]:
    """The label of each listed value at the level of the cells."""
    level, kind = own.level, own.attribute.type
    if isinstance(level, IntervalLevel):
        return list(level.apply(np.array(values, dtype=object).astype(DTYPES[kind])).tolist())
    return list(level.apply(np.array(values, dtype=object)).tolist())


# --- intervals ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _GridValues(_CellValues):
    """Numbers, dates or times in equal steps: cell i holds the points (first[i] + j) · step for j = 0, …, size[i] − 1."""

    type: Type
    first: tuple[int, ...]
    size: tuple[int, ...]
    step: Fraction
    """A whole number of microseconds for times, one for whole numbers and days, one by a power of ten for decimals."""

    def draw(self, code: Ints, chance: Source) -> pa.Array:
        import pyarrow as pa

        part = _spread(code, chance)
        size = np.array([float(each) for each in self.size])[code]
        offset = np.floor(part * size).astype(np.uint64)
        offset = np.minimum(offset, np.array([each - 1 for each in self.size], dtype=np.uint64)[code])
        # Modulo 2^64, so that a range from one end of the numbers to the other does not overflow.
        first = np.array([each % 2**64 for each in self.first], dtype=np.uint64)[code]
        value = (first + offset).view(np.int64)
        if self.type is Type.DECIMAL:
            return pa.array(value / float(self.step.denominator))
        if self.type is Type.DATE:
            return pa.array((value - FIRST_DAY).view("datetime64[D]"))
        if self.type is Type.DATETIME:
            return pa.array((value * self.step.numerator).view("datetime64[us]"))
        return pa.array(value)


@dataclass(frozen=True)
class _FloatValues(_CellValues):
    """Decimals between two ends that lie too near, or too far from zero, for decimal places: floats as they come."""

    low: Floats
    high: Floats
    """The last float of each cell."""

    def draw(self, code: Ints, chance: Source) -> pa.Array:
        import pyarrow as pa

        part = _spread(code, chance)
        low, high = self.low[code], self.high[code]
        # As a mixture, because the difference of the ends may be too large for a float.
        return pa.array(np.clip((1 - part) * low + part * high, low, high))


def _grid(own: AttributeCells, line: Line, level: IntervalLevel | TopLevel) -> _CellValues:
    """The points of each interval of a line, cut at its two ends."""
    edges = [point(line.type, at) for at in level.edges] if isinstance(level, IntervalLevel) else []
    starts = [line.low, *edges]
    hierarchy = own.attribute.hierarchy
    declared = [line.low, line.high] if hierarchy is None or level not in hierarchy.levels else [*starts, line.high]
    step = _step(line, min((b - a for a, b in pairwise([*starts, line.high]) if b > a), default=Fraction(0)), declared)
    if step is not None:
        first = [ceil(at / step) for at in starts]
        size = tuple(b - a for a, b in pairwise([*first, floor(line.high / step) + 1]))
        if min(size) > 0:
            return _GridValues(line.type, tuple(first), size, step)
    if line.type is not Type.DECIMAL:
        raise UsageError(f"attribute '{own.name}': a cell holds no value of its domain")
    low = np.array([float(at) for at in starts])
    last = np.append(np.nextafter(low[1:], -np.inf), float(line.high))
    return _FloatValues(low, np.maximum(low, last))


def _step(line: Line, width: Fraction, declared: Sequence[Fraction]) -> Fraction | None:
    """How far apart the drawn values of a line lie, whose narrowest cell is so wide; None where floats are drawn as they come."""
    if line.type.discrete:
        return Fraction(1)
    if line.type is Type.DATETIME:
        return Fraction(SECOND if width >= 60 * SECOND else 1)
    most = max(abs(line.low), abs(line.high))
    places = max(map(_decimals, declared))
    if width:
        while Fraction(1, 10**places) * FEWEST_DECIMALS > width and places <= 300:
            places += 1
    # A decimal number stands for one float, and the next decimal number for another: 16 floats lie between them.
    if places > 300 or 10**places * most >= 2**52 or Fraction(1, 10**places) < 16 * Fraction(ulp(float(most))):
        return None
    return Fraction(1, 10**places)


def _decimals(at: Fraction) -> int:
    """The decimal places of a number as a person writes it, at most six."""
    return next((places for places in range(6) if (at * 10**places).denominator == 1), 6)


# --- texts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PlaceValues(_CellValues):
    """Masked texts: what each cell shows, and the letters that may stand at each hidden place."""

    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    right: bool
    """Whether the hidden letters are the last ones."""

    def draw(self, code: Ints, chance: Source) -> pa.Array:
        import pyarrow as pa
        from pyarrow import compute

        parts = [pa.array(self.shown, pa.string()).take(pa.array(code))]
        letters = [
            pa.array(list(each), pa.string()).take(pa.array(chance.integers(len(each), len(code)).astype(np.int64)))
            for each in self.hidden
        ]
        return compute.binary_join_element_wise(*(parts + letters if self.right else letters + parts), "")


def _places(own: AttributeCells, domain: Pattern, level: MaskLevel) -> _PlaceValues:
    """The letters behind the mask of texts that are known place by place."""
    places = domain.places
    if places is None:
        raise UsageError(f"attribute '{own.name}': the letters of its texts are not known place by place")
    right = level.side == "right"
    hidden = places[level.kept :] if right else places[: -level.kept]
    covered = len(level.letter) * len(hidden)
    labels = own.labels if own.missing is None else own.labels[: own.missing]
    shown = tuple(label[: len(label) - covered] if right else label[covered:] for label in labels)
    return _PlaceValues(shown, hidden, right)


def _texts(domain: Pattern, chance: Source) -> tuple[str, ...]:
    """Texts that match a pattern, made by walking through it: each next letter is one that the pattern allows there."""
    if domain.places is not None:
        columns = [np.array(list(each))[chance.integers(len(each), POOL).astype(np.int64)] for each in domain.places]
        return tuple(sorted({"".join(letters) for letters in zip(*columns, strict=True)}))
    graph = pattern_graph(domain.pattern)
    found: set[str] = set()
    for _ in range(POOL):
        at, text = START, ""
        for turn, pick in uniform(chance, 2 * LONGEST_WALK).reshape(-1, 2).tolist():
            ways = graph.after[at]
            chosen = int(turn * (len(ways) + graph.ends[at]))
            if chosen == len(ways):
                break
            at = ways[chosen]
            text += graph.letters[at][int(pick * len(graph.letters[at]))]
        else:
            while not graph.ends[at]:
                at = min(graph.after[at], key=lambda place: graph.distance[place])
                text += graph.letters[at][0]
        found.add(text)
    texts = np.array(sorted(found), dtype=object)
    return tuple(texts[domain.inside(texts)].tolist())


# --- drawing ------------------------------------------------------------------------------------------------------


def _spread(code: Ints, chance: Source) -> Floats:
    """A number from 0 to below 1 for each row, those of each cell spread evenly and in random order."""
    many = np.bincount(code)
    mixed = chance.permutation(len(code))
    order = mixed[np.argsort(code[mixed], kind="stable")]
    rank = np.empty(len(code))
    rank[order] = np.arange(len(code)) - (np.cumsum(many) - many)[code[order]]
    return np.minimum((rank + uniform(chance, len(code))) / many[code], 1 - 2.0**-53)


def _steps(part: Floats, size: Ints) -> Ints:
    return np.minimum((part * size).astype(np.int64), size - 1)
