"""Box microaggregation: the declared domain is halved where records are, and every box shows a noisy count and noisy means.

    noisy histograms of values without an order -> halve boxes while they hold many records -> measure each box
      -> counts that stand out of the noise, means drawn towards those of boxes with the same side -> rows spread inside each box

The first three steps see the table and are paid for (theorems `halving-tree` and `box-means`); the others are computed from what
they published. A box is one side along each attribute: a run of whole steps, or of values in the order of their noisy counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.lattice import AttributeLattice, ConceptLattice, NumberLattice, lattices_of
from shoal.anonymize.method.dp_microaggregation import CentroidTable
from shoal.anonymize.method.safe_k import bound_rows
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.engine.base import Table
from shoal.errors import ParameterError, PreconditionError
from shoal.mechanism.boxes import BoxAttribute, BoxSetting
from shoal.progress import Stage

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NOTICEABLE = 2.0
"""A box whose count is below so many standard deviations of its noise is taken to be empty."""
MEAN_VARIANCE = 1 / 3
"""How far a box's mean is from its middle before anything is measured: the variance of even values, in half-lengths."""
FARTHEST = 0.995
"""Means are no farther from the middle, in half-lengths, when rows are spread."""


@dataclass(frozen=True)
class BoxSides:
    """How the sides of one attribute are measured and cut, from what is declared and what its noisy histogram said."""

    nominal: bool
    points: int
    weight: float
    order: Codes
    """Nominal: the values by their noisy counts, most common first; a side is a run of them."""
    masses: Floats
    """Nominal: running sums of the values' masses in that order, from 0."""
    squares: Floats
    """Nominal: running sums of squared masses."""

    @classmethod
    def ordered(cls, attribute: BoxAttribute) -> BoxSides:
        """The sides of an attribute with an order: runs of steps, cut in the middle."""
        none = np.zeros(0)
        return cls(False, attribute.points, float(attribute.weight), np.zeros(0, np.int64), none, none)

    @classmethod
    def of_masses(cls, attribute: BoxAttribute, masses: Floats) -> BoxSides:
        """The sides of an attribute without an order: runs of its values by mass, cut where the masses are most even."""
        order = np.argsort(-masses, kind="stable").astype(np.int64)
        sorted_masses = masses[order] / masses.sum()
        sums, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (sorted_masses, sorted_masses**2))
        return cls(True, attribute.points, float(attribute.weight), order, sums, squares)

    def lengths(self, low: Codes, high: Codes) -> Floats:
        """How long each side is, as a share of the whole; 0 for a side of one value."""
        if not self.nominal:
            return np.asarray(self.weight * (high - low - 1) / (self.points - 1))
        whole = 1 - self.squares[-1] / self.masses[-1] ** 2
        mass = self.masses[high] - self.masses[low]
        own = 1 - (self.squares[high] - self.squares[low]) / mass**2
        return np.asarray(np.where(high - low > 1, self.weight * np.maximum(own / whole, 1e-12), 0.0))

    def cuts(self, low: Codes, high: Codes) -> Codes:
        """Where each side is divided: the first value of its second part."""
        if not self.nominal:
            return np.asarray((low + high) // 2)
        even = (self.masses[low] + self.masses[high]) / 2
        after = np.searchsorted(self.masses, even)
        nearer = np.where(
            even - self.masses[after - 1] < self.masses[np.minimum(after, self.points)] - even, after - 1, after
        )
        return np.asarray(np.clip(nearer, low + 1, np.maximum(high - 1, low + 1)), dtype=np.int64)


@dataclass(frozen=True)
class Boxes:
    """The boxes of a tree: side j of box i holds the places low[i, j] to high[i, j] − 1 along attribute j."""

    low: Codes
    high: Codes

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True)
class MeasuredBoxes:
    """What was published about the table: boxes, and for each a noisy count and a noisy sum for each attribute, in steps."""

    sides: tuple[BoxSides, ...]
    boxes: Boxes
    numbers: Codes


@dataclass(frozen=True)
class BoxRows:
    """The outcome: one table of rows that are spread inside the boxes, and the boxes that they come from."""

    tables: tuple[CentroidTable, ...]
    measured: MeasuredBoxes
    setting: BoxSetting


@dataclass(frozen=True)
class BoxMicroaggregation:
    """Halve the declared domain where records are, measure each box with noise, and publish rows with the boxes' means.

    Promise   PureDP(setting.epsilon) for the unit (`theorems`), for records added or removed or replaced; it covers how many
              there are: the number of rows that is published is noisy.
    Requires  a declared domain for every published attribute; no missing values.
    Reads     the published columns, once.
    """

    setting: BoxSetting
    lattices: tuple[AttributeLattice, ...]
    """The published attributes in whole steps, in the order of the setting's attributes."""

    name = "dp-microaggregation"

    def __post_init__(self) -> None:
        weights = [each.weight for each in self.setting.attributes]
        declared = [box_attribute(each, weight) for each, weight in zip(self.lattices, weights, strict=False)]
        if declared != list(self.setting.attributes) or len(self.lattices) != len(weights):
            raise PreconditionError(
                "box-means",
                "the noise was solved for other attributes or domains than these",
                fix="solve the setting for `box_attributes` of the same schema",
            )

    @classmethod
    def of(cls, setting: BoxSetting, schema: Schema) -> BoxMicroaggregation:
        """The method for the published attributes of a schema."""
        return cls(setting, lattices_of(schema))

    @property
    def theorems(self) -> tuple[str, ...]:
        """The names of the theorems on which the claim rests."""
        return self.setting.theorems

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes that are published, in order."""
        return tuple(each.name for each in self.lattices)

    def check(self, schema: Schema) -> None:
        """Refuse a schema whose published attributes are not those that the noise was solved for, before any row is read."""
        BoxMicroaggregation.of(self.setting, schema)

    def load_kernels(self, schema: Schema, rows: int) -> tuple[str, ...]:  # noqa: ARG002 - the shape of every method
        """Compile what a table of so many rows takes; nothing is compiled here."""
        return ()

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> BoxRows:
        """The rows of one release. The table is seen here and nowhere else."""
        self.check(table.schema)
        table = bound_rows(table, self.setting.unit, source.row_mask(1).words, "box-means", stage)
        held = table.collect(list(self.columns))
        codes = [each.codes(held.pop(each.name)) for each in self.lattices]
        return self.rows(self.measure(codes, source, stage), source, stage)

    # --- what sees records --------------------------------------------------------------------------------------------------

    def measure(self, codes: Sequence[Codes], source: Source, stage: Stage = lambda _: None) -> MeasuredBoxes:
        """All noisy numbers of one release, from records given in codes, one array for each attribute."""
        if len(codes) != len(self.lattices) or len({len(column) for column in codes}) != 1:
            raise ParameterError("a column of codes for each attribute, all of one length, is needed", came=len(codes))
        stage("counting")
        sides = self._sides(codes, source.stream("values"))
        places = np.stack([_places(each, column) for each, column in zip(sides, codes, strict=True)])
        stage("dividing boxes")
        boxes, home = self._halve(places, sides, source.stream("tree"))
        stage("adding noise")
        exact = self._numbers(places, sides, boxes, home)
        return MeasuredBoxes(sides, boxes, exact + self.setting.noise.draw(source.stream("means"), len(boxes)))

    def _sides(self, codes: Sequence[Codes], source: Source) -> tuple[BoxSides, ...]:
        """The sides of every attribute; values without an order are counted with noise where they are three or more."""
        found = []
        for attribute, column in zip(self.setting.attributes, codes, strict=True):
            if attribute.kind == "ordered":
                found.append(BoxSides.ordered(attribute))
            elif not attribute.is_counted or self.setting.value_epsilon is None:
                found.append(BoxSides.of_masses(attribute, np.ones(attribute.points)))
            else:
                exact = np.bincount(column, minlength=attribute.points)
                noisy = exact + source.discrete_laplace(1 / self.setting.value_epsilon, attribute.points)
                found.append(BoxSides.of_masses(attribute, np.maximum(noisy, 0) + 0.5))
        return tuple(found)

    def _halve(self, places: Codes, sides: Sequence[BoxSides], source: Source) -> tuple[Boxes, Codes]:
        """The boxes, level by level, and the box of each record: the only place where a count decides on a division."""
        setting, width, count = self.setting, len(sides), places.shape[1]
        low = np.zeros((1, width), dtype=np.int64)
        high = np.array([[each.points for each in sides]], dtype=np.int64)
        home, live, own = np.zeros(count, dtype=np.int64), np.arange(count), np.zeros(count, dtype=np.int64)
        done: list[tuple[Codes, Codes]] = []
        number, depth = 0, 0
        while len(low):
            lengths = np.stack([each.lengths(low[:, j], high[:, j]) for j, each in enumerate(sides)], axis=1)
            along, divisible = lengths.argmax(axis=1), lengths.max(axis=1) > 0
            scores = setting.scores(np.bincount(own, minlength=len(low)), depth)
            large = np.zeros(len(low), dtype=np.bool_)
            noise = source.discrete_laplace(setting.scale, int(divisible.sum()))
            large[divisible] = scores[divisible] + noise > 0
            # A box that stays is numbered; its records are at home.
            stays = np.flatnonzero(~large)
            done.append((low[stays], high[stays]))
            numbers = np.full(len(low), -1, dtype=np.int64)
            numbers[stays] = number + np.arange(len(stays))
            number += len(stays)
            home[live] = numbers[own]
            moving = np.flatnonzero(large[own])
            live, own = live[moving], own[moving]
            # The others are cut, and each record goes to the part that it lies in.
            split = np.flatnonzero(large)
            cuts = np.empty(len(low), dtype=np.int64)
            for j, each in enumerate(sides):
                mine = split[along[split] == j]
                cuts[mine] = each.cuts(low[mine, j], high[mine, j])
            upper = places[along[own], live] >= cuts[own]
            rank = np.empty(len(low), dtype=np.int64)
            rank[split] = np.arange(len(split))
            own = 2 * rank[own] + upper
            low, high = np.repeat(low[split], 2, axis=0), np.repeat(high[split], 2, axis=0)
            first, axis = np.arange(0, len(low), 2), along[split]
            high[first, axis] = cuts[split]
            low[first + 1, axis] = cuts[split]
            depth += 1
        return Boxes(*(np.concatenate(parts) for parts in zip(*done, strict=True))), home

    def _numbers(self, places: Codes, sides: Sequence[BoxSides], boxes: Boxes, home: Codes) -> Codes:
        """The exact numbers of every box, in steps: each record adds a whole count, and at most as much to each sum."""
        side = self.setting.side
        found = np.zeros((len(boxes), self.setting.numbers), dtype=np.int64)
        found[:, 0] = np.bincount(home, minlength=len(boxes)) * side
        for j, each in enumerate(sides):
            steps = offsets(places[j], boxes.low[home, j], boxes.high[home, j], each, side)
            # Sums below 2^53 are exact in the floats that bincount adds in: a record adds at most 2^10.
            found[:, 1 + j] = np.bincount(home, weights=steps, minlength=len(boxes)).astype(np.int64)
        return found

    # --- what published numbers decide ----------------------------------------------------------------------------------

    def rows(self, measured: MeasuredBoxes, source: Source, stage: Stage = lambda _: None) -> BoxRows:
        """Rows with the boxes' noisy counts and means, spread inside the boxes with the greatest entropy."""
        stage("spreading rows")
        counts, means = estimate(measured.numbers, measured.boxes, self.setting)
        sizes = whole_counts(counts)
        kept = np.flatnonzero(sizes)
        home = np.repeat(kept, sizes[kept])
        starts = np.cumsum(sizes) - sizes
        shares = (np.arange(len(home)) - starts[home] + 0.5) / sizes[home]
        chance, shown = source.stream("spread"), {}
        for j, (lattice, each) in enumerate(zip(self.lattices, measured.sides, strict=True)):
            low, high = measured.boxes.low[:, j], measured.boxes.high[:, j]
            spread = spread_nominal if each.nominal else spread_ordered
            found = spread(home, shares, low, high, means[:, j], each)
            # Attributes are independent inside a box: each has an order of its own.
            shown[lattice.name] = _shown(lattice, each, found if j == 0 else found[chance.shuffle_within(home)])
        return BoxRows((CentroidTable(shown, np.ones(len(home), dtype=np.int64)),), measured, self.setting)


def offsets(places: Codes, low: Codes, high: Codes, sides: BoxSides, side: int) -> Codes:
    """How far each place is from the middle of its side, in whole steps from −side to side; nominal: which part it is in."""
    if sides.nominal:
        return np.where(high - low == 1, 0, np.where(places < sides.cuts(low, high), -side, side))
    length = np.maximum(high - low - 1, 1)
    return np.where(high - low == 1, 0, (2 * side * (2 * places - low - high + 1) + length) // (2 * length))


def estimate(numbers: Codes, boxes: Boxes, setting: BoxSetting) -> tuple[Floats, Floats]:
    """The counts of boxes and their means in half-lengths, from noisy numbers.

    Counts that do not stand out of the noise are zero, and the others are scaled to the noisy total, so that the noise of many
    empty boxes does not become people. A mean is drawn, by how noisy it is, to the mean of all boxes with the same side, which
    has far less noise. Then the means of such boxes are moved together, until they have that mean.
    """
    noisy, noise = numbers[:, 0] / setting.side, setting.deviation
    total = max(1.0, float(noisy.sum()))
    kept = np.where(noisy > NOTICEABLE * noise, noisy, 0.0)
    if not kept.any():
        kept = (noisy == noisy.max()).astype(np.float64)
    counts = kept * total / kept.sum()
    own = np.maximum(noisy, 1.0)
    means = np.empty((len(boxes), numbers.shape[1] - 1))
    for j in range(means.shape[1]):
        sums = numbers[:, 1 + j] / setting.side
        ends, group = np.unique(np.stack([boxes.low[:, j], boxes.high[:, j]]), axis=1, return_inverse=True)
        group = group.reshape(-1)
        held = np.maximum(np.bincount(group, noisy), 1.0)
        together = np.bincount(group, sums) / held
        together *= MEAN_VARIANCE / (MEAN_VARIANCE + noise**2 * np.bincount(group) / held**2)
        together = np.clip(together, -FARTHEST, FARTHEST)
        spread = MEAN_VARIANCE * (1 - together[group] ** 2)
        found = together[group] + spread / (spread + (noise / own) ** 2) * (sums / own - together[group])
        means[:, j] = moved_to(together, found, counts, group, ends.shape[1])
    return counts, means


def moved_to(wanted: Floats, means: Floats, counts: Floats, group: Codes, groups: int) -> Floats:
    """Means of which all in a group are moved by one number, and clipped, so that together they have the mean wanted."""
    farthest = 1 + float(np.abs(means).max(initial=0.0))  # moved so far, every mean is at an end of its box
    low, high = np.full(groups, -farthest), np.full(groups, farthest)
    weight = np.maximum(np.bincount(group, counts, groups), 1e-300)
    for _ in range(40):
        middle = (low + high) / 2
        found = np.bincount(group, counts * np.clip(means + middle[group], -1.0, 1.0), groups) / weight
        below = found < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.clip(means + ((low + high) / 2)[group], -1.0, 1.0))


def whole_counts(counts: Floats) -> Codes:
    """Whole counts whose running sums are those of the counts, rounded; at least one row in all."""
    sums = np.floor(np.cumsum(counts) + 0.5).astype(np.int64)
    sums[-1] = max(1, sums[-1])
    return np.diff(np.concatenate([[0], sums]))


def spread_ordered(
    home: Codes,
    shares: Floats,
    low: Codes,
    high: Codes,
    means: Floats,
    sides: BoxSides,  # noqa: ARG001 - one shape for both
) -> Codes:
    """The places of rows along a side: quantiles of the distribution of greatest entropy with the box's mean."""
    last = high - low - 1
    rates = entropy_rates(np.abs(means), last)
    rate, end, turned = rates[home], last[home], means[home] < 0
    upward = np.where(turned, 1 - shares, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        tilted = end + 1 + np.log(upward + (1 - upward) * np.exp(-(end + 1) * rate)) / rate
    place = np.floor(np.where(rate > 0, tilted, upward * (end + 1)))
    place = np.clip(place, 0, end).astype(np.int64)
    return np.asarray(low[home] + np.where(turned, end - place, place))


def entropy_rates(means: Floats, last: Codes) -> Floats:
    """For each side of the places 0 to `last` the t ≥ 0 at which Pr[i] ∝ e^(t i) has this mean, from 0 in the middle to 1."""
    wanted = np.minimum(means, FARTHEST) * last / 2 + last / 2
    low, high = np.full(len(means), -14.0), np.full(len(means), 7.0)  # ln of t (last + 1)
    for _ in range(50):
        middle = (low + high) / 2
        t = np.exp(middle) / (last + 1)
        mean = (last + 1) / -np.expm1(-(last + 1) * t) - 1 / -np.expm1(-t)
        low, high = np.where(mean < wanted, middle, low), np.where(mean < wanted, high, middle)
    return np.where((means < 1e-4) | (last == 0), 0.0, np.exp(high) / (last + 1))


def spread_nominal(home: Codes, shares: Floats, low: Codes, high: Codes, means: Floats, sides: BoxSides) -> Codes:
    """The places of rows along a side of values: its two parts by the box's mean, the values of a part by their masses."""
    cut = sides.cuts(low, high)  # the end of a side of one value
    first = np.where(high - low == 1, 1.0, (1 - means) / 2)[home]
    ends = sides.masses[low[home]], sides.masses[cut[home]], sides.masses[high[home]]
    with np.errstate(divide="ignore", invalid="ignore"):
        below = ends[0] + shares / first * (ends[1] - ends[0])
        above = ends[1] + (shares - first) / (1 - first) * (ends[2] - ends[1])
    inside = shares < first
    place = np.searchsorted(sides.masses, np.where(inside, below, above), side="right") - 1
    return np.clip(place, np.where(inside, low[home], cut[home]), np.where(inside, cut[home], high[home]) - 1)


def _places(sides: BoxSides, codes: Codes) -> Codes:
    """The place of each code along its sides."""
    if not sides.nominal:
        return codes
    rank = np.empty(sides.points, dtype=np.int64)
    rank[sides.order] = np.arange(sides.points)
    return rank[codes]


def _shown(lattice: AttributeLattice, sides: BoxSides, places: Codes) -> Array:
    """What is published for each place."""
    if isinstance(lattice, ConceptLattice):
        names: Array = np.array(lattice.taxonomy.values, dtype=object)
        if lattice.attribute.type is Type.BOOLEAN:
            names = np.array([name == "true" for name in lattice.taxonomy.values])
        return np.asarray(names[sides.order[places]])
    return lattice.shown(places)


def box_attribute(lattice: AttributeLattice, weight: Fraction = Fraction(1)) -> BoxAttribute:
    """What the boxes depend on, for one attribute."""
    if isinstance(lattice, NumberLattice):
        return BoxAttribute(lattice.name, "ordered", lattice.steps + 1, weight)
    if isinstance(lattice, ConceptLattice):
        return BoxAttribute(lattice.name, "nominal", len(lattice.taxonomy.values), weight)
    raise ParameterError(f"attribute '{lattice.name}': boxes cannot be made of it", came=type(lattice).__name__)


def box_attributes(schema: Schema, weights: dict[str, Fraction] | None = None) -> tuple[BoxAttribute, ...]:
    """What the boxes depend on, for every published attribute of a schema: what `solve_boxes` is given."""
    return tuple(box_attribute(each, (weights or {}).get(each.name, Fraction(1))) for each in lattices_of(schema))
