"""How the cells of one attribute are drawn: from its declared domain and hierarchy, or from what is publicly known of it.

A distribution takes numbers between 0 and 1, one for each row, and gives values. Numbers next to each other give values next
to each other, on a line as in a hierarchy; so rows whose numbers lie together have something in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.chance.source import Source
from shoal.data.domain import Interval, Line, Pattern, Values
from shoal.data.hierarchy.level import GroupLevel, IntervalLevel, MaskLevel
from shoal.data.schema import Attribute, Type
from shoal.data.type import DTYPES, point
from shoal.datasets.marginals import PublicMarginal
from shoal.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FIRST_DAY = 719_163
"""The ordinal of 1970-01-01, from which Arrow counts days."""
FEWEST_STEPS = 24
"""A range is drawn in at least so many steps, where it has as many values."""
EVEN = 0.05
"""The part of a hill that is spread evenly, so that no value is impossible."""
CALENDAR = 0.25
"""How much of the usual skew dates and times have: a calendar fills more evenly than a scale."""
LONG = 3.0
"""A first or last interval so many times longer than the middle one is a tail, fuller where it begins."""
DIGITS = 2.0**30
"""How finely a number is read before fresh random bits take over."""

BOOLEAN = ("false", "true")


def uniform(chance: Source, size: int) -> Floats:
    """Numbers from 0 to below 1."""
    return (chance.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


class Distribution(ABC):
    """The distribution of the values of one attribute."""

    @abstractmethod
    def draw(self, at: Floats, gone: Mask, chance: Source) -> pa.Array:
        """The value at each number between 0 and 1, missing where `gone` says so."""


def distribution_of(attribute: Attribute, chance: Source, skew: float, known: PublicMarginal | None) -> Distribution:
    """The distribution of an attribute in one simulated table: as publicly known, or drawn at random over the declared domain.

    `skew` 0 makes every value as likely as the next. Otherwise each attribute has a skew of its own, from half of it to
    four times as much: some columns hold nearly one value, and others spread. (Two times, before a look at Adult.)
    """
    usual = skew * float(2.0 ** (3 * uniform(chance, 1)[0] - 1))
    domain = attribute.domain
    if isinstance(domain, Values) or attribute.type is Type.BOOLEAN:
        return _over_values(attribute, chance, usual, known)
    if isinstance(domain, Interval):
        return _over_range(attribute, domain, chance, usual, known)
    if isinstance(domain, Pattern):
        return _over_pattern(attribute, domain, chance, usual, known)
    raise UsageError(
        f"attribute '{attribute.name}': no domain is declared, so nothing can be drawn in its place",
        fix="declare what may occur, or give the attribute the role drop",
    )


# --- listed values ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ValueDistribution(Distribution):
    """Values of a list; `order` says how they lie beside each other, `weights` go with that order."""

    type: Type
    values: tuple[str, ...]
    order: Ints
    weights: Floats

    def draw(self, at: Floats, gone: Mask, chance: Source) -> pa.Array:  # noqa: ARG002
        import pyarrow as pa

        cell, _ = locate(self.weights, at)
        used, place = np.unique(self.order[cell], return_inverse=True)
        texts = [self.values[code] for code in used.tolist()]
        if self.type in (Type.CATEGORY, Type.ORDINAL, Type.TEXT):
            return pa.DictionaryArray.from_arrays(pa.array(place.astype(np.int32), mask=gone), pa.array(texts))
        if self.type is Type.BOOLEAN:
            return pa.array(np.array([text == "true" for text in texts])[place], mask=gone)
        return pa.array(np.array(texts, dtype=object).astype(DTYPES[self.type])[place], mask=gone)


def _over_values(attribute: Attribute, chance: Source, skew: float, known: PublicMarginal | None) -> ValueDistribution:
    values = attribute.domain.values if isinstance(attribute.domain, Values) else BOOLEAN
    place = {value: i for i, value in enumerate(values)}
    groups = [] if attribute.hierarchy is None else attribute.hierarchy.levels
    # From coarse to fine, in the order of the domain; a file may list values in an order of its own, and more of them.
    paths = [_codes(level, values) for level in reversed(groups) if isinstance(level, GroupLevel)]
    if attribute.type.numeric or attribute.type is Type.ORDINAL:
        order = np.arange(len(values))
        if attribute.type.numeric:
            order = np.array(sorted(range(len(values)), key=lambda i: point(attribute.type, values[i])))
        weights = _hill(len(values), chance, skew)
    else:
        order, weights = _branches([*paths, np.arange(len(values))], chance, skew)
    if known is not None and known.texts:
        level = None if attribute.hierarchy is None else attribute.hierarchy.level(known.level)
        if known.level and isinstance(level, GroupLevel):
            label = {text: i for i, text in enumerate(level.labels)}
            group = _codes(level, values)[order]
            wanted = np.bincount([label[t] for t in known.texts], known.shares, len(level.labels))
            held = np.bincount(group, weights, len(level.labels))
            weights = weights * wanted[group] / np.where(held > 0, held, 1.0)[group]
        else:
            weights = np.zeros(len(values))
            weights[[place[text] for text in known.texts]] = known.shares
            weights = weights[order]
    return ValueDistribution(attribute.type, values, order, _positive(weights))


def _codes(level: GroupLevel, values: tuple[str, ...]) -> Ints:
    code = dict(zip(level.leaves, level.codes, strict=True))
    return np.fromiter((code.get(value, 0) for value in values), dtype=np.int64, count=len(values))


def _branches(paths: list[Ints], chance: Source, skew: float) -> tuple[Ints, Floats]:
    """Shares from the root of a tree to its leaves, and an order in which the members of every branch lie together.

    In each branch the members are ranked at random and share it by rank^-skew, times the root of their leaves: larger
    parts of a hierarchy tend to hold more, though not in proportion.
    """
    leaves = len(paths[-1])
    node, weights, keys = np.zeros(leaves, dtype=np.int64), np.ones(leaves), []
    for codes in paths:
        _, first, child = np.unique(node * (int(codes.max()) + 1) + codes, return_index=True, return_inverse=True)
        parent = node[first]
        ranked = np.lexsort((uniform(chance, len(first)), parent))
        begins = np.searchsorted(parent[ranked], parent[ranked])
        rank = np.empty(len(first))
        rank[ranked] = 1 + np.arange(len(first)) - begins
        raw = np.bincount(child) ** (1 - min(1.0, skew) / 2) * rank**-skew
        weights *= (raw / np.bincount(parent, raw)[parent])[child]
        keys.append(uniform(chance, len(first))[child])
        node = child
    order = np.lexsort(keys[::-1])
    return order, weights[order]


def _hill(steps: int, chance: Source, skew: float) -> Floats:
    """One hump somewhere over so many steps, and a little everywhere."""
    x = (np.arange(steps) + 0.5) / steps
    mode, height = 0.1 + 0.8 * uniform(chance, 1)[0], skew * (1 + 4 * uniform(chance, 1)[0])
    hump = np.exp(height * (mode * np.log(x / mode) + (1 - mode) * np.log((1 - x) / (1 - mode))))
    return np.asarray((1 - EVEN) * hump / hump.sum() + EVEN / steps)


def _positive(weights: Floats) -> Floats:
    """Weights that are all zero leave nothing to draw from: a range of no width, or a marginal of missing values alone."""
    return weights if weights.sum() > 0 else np.ones_like(weights)


def locate(weights: Floats, at: Floats) -> tuple[Ints, Floats]:
    """The cell that each place falls into, and how far into it."""
    running = np.cumsum(weights)
    running /= running[-1]
    cell = np.searchsorted(running, at, side="right")
    before = np.concatenate([[0.0], running[:-1]])[cell]
    return cell, np.clip((at - before) / (running[cell] - before), 0.0, 1 - 2.0**-53)


# --- ranges -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RangeDistribution(Distribution):
    """Numbers, dates or times in steps along a line; `starts` and `sizes` count from its lower end."""

    line: Line
    starts: Floats
    sizes: Floats
    weights: Floats
    bend: Floats
    """Above 1 where a step is fuller at its beginning, below 0 where it is so at its end."""

    def draw(self, at: Floats, gone: Mask, chance: Source) -> pa.Array:  # noqa: ARG002
        import pyarrow as pa

        cell, part = locate(self.weights, at)
        bend = self.bend[cell]
        part = np.where(bend > 0, part ** np.abs(bend), 1 - (1 - part) ** np.abs(bend))
        offset = self.starts[cell] + part * self.sizes[cell]
        kind, low = self.line.type, self.line.low
        if kind is Type.DECIMAL:
            return pa.array(np.clip(float(low) + offset, float(low), float(self.line.high)), mask=gone)
        whole = int(self.line.high - low) + 1
        offset = np.floor(np.clip(offset, 0.0, np.nextafter(float(whole), 0.0)))
        if kind is Type.DATE:
            days = int(low) - FIRST_DAY + offset.astype(np.int64)
            return pa.array(days.view("datetime64[D]"), mask=gone)
        # Modulo 2^64, so that a range from one end of the numbers to the other does not overflow.
        value = (np.uint64(int(low) % 2**64) + offset.astype(np.uint64)).view(np.int64)
        return pa.array(value.view("datetime64[us]") if kind is Type.DATETIME else value, mask=gone)


def _over_range(
    attribute: Attribute, domain: Interval, chance: Source, skew: float, known: PublicMarginal | None
) -> RangeDistribution:
    line = Line.of(attribute.type, domain)
    step = 1 if line.type is not Type.DECIMAL else 0
    if known is not None:
        ends = known.ranges or ((line.low, line.high),)
        starts = np.array([float(low - line.low) for low, _ in ends])
        sizes = np.array([float(high - low + step) for low, high in ends])
        shares = _positive(known.shares) if known.ranges else np.ones(1)
        return RangeDistribution(line, starts, sizes, shares, np.ones(len(ends)))
    edges, declared = _ruler(attribute, line, step)
    starts, sizes = edges[:-1], np.diff(edges)
    calm = CALENDAR if line.type in (Type.DATE, Type.DATETIME) else 1.0
    weights = _positive(_hill(len(sizes), chance, skew * calm) * sizes ** max(0.0, 1 - 2 * skew))
    bend = np.ones(len(sizes))
    middle = LONG * float(np.median(sizes))
    if declared and sizes[0] > middle:
        bend[0] = -LONG
    if declared and sizes[-1] > middle:
        bend[-1] = LONG
    return RangeDistribution(line, starts, sizes, weights, bend)


def _ruler(attribute: Attribute, line: Line, step: int) -> tuple[Floats, bool]:
    """Edges of steps from 0 to the length of the line: the finest intervals that a person declared, split if few.

    Whoever declared intervals of 10,000 up to 120,000 on a line of ten million has said where the values are.
    """
    levels = () if attribute.hierarchy is None else attribute.hierarchy.levels
    cuts = next((level for level in levels if isinstance(level, IntervalLevel)), None)
    length = line.high + step - line.low
    inner = [point(line.type, edge) - line.low for edge in cuts.edges] if cuts is not None else []
    own = [Fraction(0), *(at for at in inner if 0 < at < length), length]
    pieces = -(-FEWEST_STEPS // (len(own) - 1))
    edges = [low + (high - low) * i / pieces for low, high in pairwise(own) for i in range(pieces)] + [length]
    found = np.array([float(round(edge)) if step else float(edge) for edge in edges])
    return (np.unique(found) if length else np.array([0.0, 0.0])), cuts is not None


# --- texts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PatternDistribution(Distribution):
    """Texts of a pattern, letter by letter: what comes before decides which letters are common in the next place."""

    places: tuple[str, ...]
    skew: float
    backwards: bool

    def draw(self, at: Floats, gone: Mask, chance: Source) -> pa.Array:
        import pyarrow as pa
        from pyarrow import compute

        node, read = np.zeros(len(at), dtype=np.int64), 1.0
        drawn: list[Any] = []
        for letters in reversed(self.places) if self.backwards else self.places:
            count = len(letters)
            weights = np.arange(1, count + 1, dtype=np.float64) ** -self.skew
            cell, at = locate(weights, at)
            turned = (cell + chance.integers(count, int(node.max(initial=0)) + 1)[node]) % count
            drawn.append(np.array(list(letters), dtype=object)[turned])
            if count > 1:
                node = np.unique(node * count + turned, return_inverse=True)[1]
            if (read := read * count) > DIGITS:
                at, read = uniform(chance, len(at)), 1.0
        columns = [pa.array(part, pa.string()) for part in (reversed(drawn) if self.backwards else drawn)]
        joined = columns[0] if len(columns) == 1 else compute.binary_join_element_wise(*columns, "")
        return compute.if_else(pa.array(gone), pa.scalar(None, pa.string()), joined)


def _over_pattern(
    attribute: Attribute, domain: Pattern, chance: Source, skew: float, known: PublicMarginal | None
) -> Distribution:
    if known is not None:
        order = chance.permutation(len(known.texts))
        values, weights = (known.texts, known.shares[order]) if known.texts else (("",), np.ones(1))
        return ValueDistribution(
            attribute.type, values, order if known.texts else np.zeros(1, np.int64), _positive(weights)
        )
    if domain.places is None or not prod(map(len, domain.places)):
        raise UsageError(
            f"attribute '{attribute.name}': texts cannot be made from its pattern",
            came=domain.pattern,
            allowed="letters and classes of letters, each perhaps with {n}, such as [0-9]{5}",
            fix="declare a simpler pattern, or name texts and their shares as public marginals",
        )
    levels = () if attribute.hierarchy is None else attribute.hierarchy.levels
    mask = next((level for level in levels if isinstance(level, MaskLevel)), None)
    return PatternDistribution(domain.places, 0.7 * skew, mask is not None and mask.side == "left")
