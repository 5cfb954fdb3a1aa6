"""The safe tree: a privately grown partition of the declared domain into boxes, fine where records are dense.

    measure the whole table -> build each attribute's sides -> grow to a frontier -> measure the histograms of its boxes
      -> grow to the end -> count the boxes -> put back what was divided too far, and grow on where there are more

A measurement adds noise to the counts of boxes that do not overlap, so it is paid once however many boxes there are. Which
box is split, and where growing stops, is computed from the noisy counts: a model expects how many records a box holds, and
boxes are split while the expected detail of published records rises.

With a target the boxes divide the other attributes alone, and are grown so large that each label of the target is likely to be
shown; at the end every box is divided by the target. So all labels of the target have the same boxes, and what tells them
apart is how many records of each a box holds, never the shape of the boxes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.base import Partition
from shoal.anonymize.generalize.tree import model
from shoal.anonymize.generalize.tree.boxes import BoxRecoding, BoxTree, SideLayout
from shoal.anonymize.generalize.tree.model import CellCounts, CellRecords, CellTable
from shoal.anonymize.generalize.tree.sides import SideTree, build_sides
from shoal.anonymize.kernel import grow
from shoal.chance.source import Source
from shoal.compilation import load_kernels
from shoal.data.cells import AttributeCells, cells_of
from shoal.data.hierarchy.level import Level
from shoal.data.schema import Schema
from shoal.engine.base import Counts, Table
from shoal.errors import ParameterError
from shoal.guarantee.compose import MeasurementBudget, epsilon_of_measurements, measurement_budgets
from shoal.guarantee.differential import allowance
from shoal.guarantee.rounding import exact, exact_text, text_down
from shoal.progress import Stage

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


MOST_LABELS = 64
"""Labels that a target may have: a box is so many times as large as without one."""


@dataclass(frozen=True)
class TreeParameters:
    """The parameters of the growth of a tree; fixed without the user's data, by simulation (decision 0002).

    Decision 0002 has earlier names for the six numbers from `expected_count_error` on: doubt, stray, surprise, trust, slack
    and thrift, in this order.
    """

    measurement_shares: tuple[Fraction, ...] = (Fraction(2, 3), Fraction(1, 3))
    """The shares of epsilon for the measurement of the whole table and for those of later frontiers."""
    count_shares: tuple[Fraction, ...] = (Fraction(1, 20), Fraction(3, 4))
    """The share of each measurement that counts the table, or the boxes that grew; the rest goes to histograms."""
    frontier_factor: int = 10
    """The boxes of a frontier are expected to hold so many times fewer records than those of the one before."""
    expected_count_error: float = 0.2
    """The relative error that is assumed of an expected count while boxes are divided."""
    prior_count_error: float = 0.7
    """The relative standard deviation of an expected count when a noisy count corrects it."""
    domain_share_variance: float = 5.0
    """The prior variance of a cell's share around its share of the domain, in units of p(1 − p), at the first measurement."""
    box_share_variance: float = 0.1
    """The prior variance of a share in a box around the share in the box above it, in units of p(1 − p)."""
    bits_offset: float = 0.1
    """The number of bits that is added to what a split uses up."""
    bits_power: float = 1.5
    """The power of these bits that the gain of a split is divided by."""
    max_depth: int = 64
    """The largest number of splits on the way to a box."""


@dataclass(frozen=True)
class SafeTree(Partition):
    """A tree of boxes that is grown on noisy counts.

    Promise   the boxes are epsilon-DP for the unit (theorem `measured-tree`), whatever is computed from the noisy counts.
    Requires  a declared domain for every published attribute; k, beta, weights and parameters fixed without the data.
    Reads     the published columns of the table, once; its cells are counted three times.
    """

    schema: Schema
    paid: Fraction
    k: int
    beta: Fraction
    steps: int = 1
    """The number of rows by which neighbouring tables differ; each pays its share, and the price of the unit is the sum."""
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    finest: Mapping[str, int] = field(default_factory=dict)
    coarsest: Mapping[str, int] = field(default_factory=dict)
    parameters: TreeParameters = TreeParameters()
    sample: Fraction = Fraction(1)
    """The rate of the separate sample on which the tree grows; 1 for the whole table."""
    target: str | None = None
    """The attribute that is to be predicted from the others: every box shows one label of it, at its finest level."""

    def __post_init__(self) -> None:
        if self.parameters.max_depth < 1:
            raise ParameterError(
                "release.recoding.tree.depth: no box could be split",
                came=self.parameters.max_depth,
                allowed="1 or more",
            )
        if not any(self._weight(name) for name in self.columns):
            raise ParameterError(
                "every published attribute has the weight zero", fix="give one of them a weight above zero"
            )
        if self.target is None:
            return
        if self.target not in self.columns or len(self.columns) == 1:
            raise ParameterError(
                "release.recoding.tree.target: no published attribute beside others",
                came=self.target,
                allowed=", ".join(self.columns),
            )
        if self.target_labels > MOST_LABELS:
            raise ParameterError(
                "release.recoding.tree.target: too many labels to predict",
                came=f"{self.target_labels:,} labels of '{self.target}'",
                allowed=f"at most {MOST_LABELS}",
                fix="set its `finest` level to a coarser one",
            )

    def _weight(self, name: str) -> Fraction:
        return self.weights.get(name, Fraction(1))

    @property
    def target_labels(self) -> int:
        """How many labels the target has, without that of missing values; 1 without a target."""
        if self.target is None:
            return 1
        own = self.pieces[self.columns.index(self.target)]
        return len(own) - (own.missing is not None)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.schema.published)

    @property
    def measurements(self) -> tuple[MeasurementBudget, ...]:
        """The noisy measurements, with the noise that one row's share of epsilon buys."""
        return measurement_budgets(
            self.inner, len(self.columns), self.parameters.measurement_shares, self.parameters.count_shares
        )

    @property
    def rate(self) -> Fraction:
        return self.sample

    @property
    def inner(self) -> Fraction:
        """The epsilon of the measurements on the rows that they read: more than the share of a row where those are a sample."""
        share = self.paid / self.steps
        return share if self.sample == 1 else exact(text_down(allowance(share, 0, self.sample).epsilon, 12))

    @property
    def epsilon(self) -> Fraction:
        return self.steps * epsilon_of_measurements(self.measurements) if self.sample == 1 else self.paid

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("measured-tree",) if self.sample == 1 else ("measured-tree", "amplification")

    def words(self) -> str:
        return (
            f"A tree of boxes is grown on {self._table_words} for epsilon {exact_text(self.epsilon)}: fine labels where "
            f"records are dense, coarse ones elsewhere{self._target_words}."
        )

    @property
    def _target_words(self) -> str:
        return (
            "" if self.target is None else f"; every box shows one label of '{self.target}', which is to be predicted"
        )

    @property
    def _table_words(self) -> str:
        return "the table" if self.sample == 1 else f"a separate sample of {exact_text(self.sample)} of the table"

    def to_json(self) -> dict[str, Any]:
        rate = {} if self.sample == 1 else {"rate": exact_text(self.sample)}
        return {
            "kind": "tree",
            **rate,
            "epsilon": exact_text(self.epsilon),
            "steps": self.steps,
            "surveys": [
                {"count": exact_text(s.count), "histogram": exact_text(s.histogram), "attributes": s.attributes}
                for s in self.measurements
            ],
        }

    def load_kernels(self, rows: int) -> tuple[str, ...]:
        boxes = rows * float(self.beta) / self.k
        nodes = 2 * sum(len(each) for each in self.pieces)
        return load_kernels(grow.kernels_for(rows, len(self.columns), boxes, nodes))

    @cached_property
    def pieces(self) -> tuple[AttributeCells, ...]:
        """The cells of every attribute."""
        return tuple(cells_of(attribute, self.finest.get(attribute.name, 0)) for attribute in self.schema.published)

    @property
    def levels(self) -> Mapping[str, Level]:
        return {each.name: each.level for each in self.pieces}

    def settle(self, table: Table, source: Source, stage: Stage = lambda _: None) -> BoxRecoding:  # noqa: ARG002
        return BoxRecoding(self.grow(CellTable(self.pieces, table.recode(self.levels)), source))

    def decide(self, counts: Counts, source: Source, stage: Stage = lambda _: None) -> BoxRecoding:  # noqa: ARG002
        return BoxRecoding(self.grow(CellCounts.of(counts, self.pieces), source))

    def grow(self, records: CellRecords, source: Source) -> BoxTree:
        """The tree of a table."""
        first, *later = self.measurements
        layout, masses, count = measure_table(
            self.pieces, records, first, source, self.parameters.domain_share_variance
        )
        growth = _Growth(self, layout, masses, count)
        limits = [count / self.parameters.frontier_factor**i for i in range(1, len(self.measurements))] + [0.0]
        for measurement, limit, following in zip(later, limits, limits[1:], strict=False):
            growth.extend(limit)
            growth.measure_histograms(records, measurement, source)
            growth.extend(following)
            growth.measure_counts(records, measurement, source)
        growth.extend(0.0)
        growth.divide_by_target()
        return growth.tree


def add_noise(counts: npt.NDArray[np.int64], epsilon: Fraction, source: Source) -> npt.NDArray[np.int64]:
    """Counts with two-sided geometric noise: the only place where a tree reads true counts."""
    return counts + source.discrete_laplace(1 / epsilon, len(counts))


def measure_table(
    pieces: Sequence[AttributeCells],
    records: CellRecords,
    measurement: MeasurementBudget,
    source: Source,
    share_variance: float,
) -> tuple[SideLayout, Floats, float]:
    """The first measurement, of the whole table as one box: the sides of every attribute, their masses, the noisy count."""
    found = records.count_table()
    count = max(1.0, float(add_noise(found.rows, measurement.count, source)[0]))
    built: list[SideTree] = []
    masses: list[Floats] = []
    for each, table in zip(pieces, found.labels, strict=True):
        noisy = add_noise(table[0], measurement.histogram, source)
        shares = model.smooth(each, noisy, count, measurement.histogram, share_variance)
        built.append(build_sides(each, shares))
        masses.append(built[-1].sums(shares))
    layout = SideLayout(tuple(built))
    return layout, np.concatenate(masses), count


class _Growth:
    """A tree while it grows: arrays that are replaced as a whole at each step."""

    def __init__(self, plan: SafeTree, layout: SideLayout, masses: Floats, count: float) -> None:
        self.plan, self.layout = plan, layout
        # In records of what the measurements read: a sample has its share of every class.
        seen = float(plan.sample)
        # A box is divided by the target at the end, so that it has to hold as many records for each of its labels.
        self.publishable_size = seen * plan.k / float(plan.beta) * plan.target_labels
        self.spread = max(seen * (plan.k * (1 - float(plan.beta))) ** 0.5 / float(plan.beta), 1e-9)
        self.losses = layout.losses([float(plan._weight(name)) for name in plan.columns])  # noqa: SLF001
        self.forced = np.concatenate([side.too_coarse(plan.coarsest.get(side.cells.name)) for side in layout.sides])
        self.kids = layout.kids
        if plan.target is not None:
            self.kids = layout.kids.copy()
            self.kids[self._target_nodes] = -1
        self.masses = masses[np.newaxis, :].copy()
        self.faces = np.array([layout.offsets[:-1]], dtype=np.int32)
        self.counts = np.array([count])
        self.homes, self.depths = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
        self.splits = np.full(1, -1, dtype=np.int32)
        self.below = np.full((1, 3), -1, dtype=np.int32)

    @property
    def _target_nodes(self) -> slice:
        """The sides of the target among those of all attributes."""
        place = self.plan.columns.index(self.plan.target or "")
        return slice(self.layout.offsets[place], self.layout.offsets[place + 1])

    def divide_by_target(self) -> None:
        """Divide every box by the labels of the target, whatever it holds; the domain alone decides it."""
        if self.plan.target is None:
            return
        self.kids = self.layout.kids
        self.forced = np.zeros(len(self.forced), dtype=np.bool_)
        self.forced[self._target_nodes] = self.layout.kids[self._target_nodes, 0] >= 0
        self.extend(math.inf, depth=self.plan.parameters.max_depth + self.plan.target_labels + 1)

    @property
    def tree(self) -> BoxTree:
        return BoxTree(self.layout, self.faces, self.splits, self.below)

    def extend(self, limit: float, depth: int | None = None) -> None:
        """Split boxes that are expected to hold more than `limit` records, while expected detail rises."""
        leaves, own = self.tree.leaves, self.plan.parameters
        work = len(self.layout.sides) * float(self.counts[leaves].sum()) / max(self.publishable_size, limit)
        faces, counts, homes, depths, splits, below = grow.expander(work)(
            self.faces[leaves], self.counts[leaves], self.homes[leaves], self.kids, self.losses, self.masses,
            self.forced, limit, self.publishable_size, self.spread, own.expected_count_error, own.bits_offset, own.bits_power,
            own.max_depth if depth is None else depth, self.depths[leaves],
        )  # fmt: skip
        # The new arrays begin with the leaves: put those back in their places and append the others.
        old, new = len(self.splits), len(leaves)
        where = np.concatenate([leaves, old + np.arange(len(splits) - new, dtype=np.int32)]).astype(np.int32)
        moved = np.where(below >= 0, where[below], -1).astype(np.int32)
        self.splits[leaves], self.below[leaves] = splits[:new], moved[:new]
        self.faces = np.concatenate([self.faces, faces[new:]])
        self.counts = np.concatenate([self.counts, counts[new:]])
        self.homes = np.concatenate([self.homes, homes[new:]])
        self.depths = np.concatenate([self.depths, depths[new:]])
        self.splits = np.concatenate([self.splits, splits[new:]])
        self.below = np.concatenate([self.below, moved[new:]])

    def measure_histograms(self, records: CellRecords, measurement: MeasurementBudget, source: Source) -> None:
        """Measure the histograms of every box, and correct the model by them, each weighed by its noise."""
        leaves, layout = self.tree.leaves, self.layout
        counted = records.count_boxes(self.tree, histograms=True).labels
        noisy = [self._histograms(j, table, leaves, measurement, source) for j, table in enumerate(counted)]
        self._correct_counts(leaves, noisy, measurement.histogram)
        self.masses = model.update_masses(
            layout, self.masses[self.homes[leaves]], self.faces[leaves], self.counts[leaves], noisy, measurement.histogram,
            self.plan.parameters.box_share_variance,
        )  # fmt: skip
        self.homes[leaves] = np.arange(len(leaves), dtype=np.int32)

    def _correct_counts(self, leaves: Codes, noisy: Sequence[Sequence[Floats]], epsilon: Fraction) -> None:
        """Correct the counts of boxes by the sums of their histograms, each weighed by the noise of its cells."""
        sizes = [np.array([len(own) for own in column]) for column in noisy]
        starts = [np.concatenate([[0], np.cumsum(own)[:-1]]) for own in sizes]
        sums = np.array([np.add.reduceat(np.concatenate(column), at) for column, at in zip(noisy, starts, strict=True)])
        precision = float(epsilon) ** 2 / (2.0 * np.array(sizes))
        weight = precision.sum(axis=0)
        estimates = (sums * precision).sum(axis=0) / weight
        self.counts[leaves], _ = model.correct(
            self.counts[leaves], estimates, 1.0 / weight, self.plan.parameters.prior_count_error
        )

    def measure_counts(self, records: CellRecords, measurement: MeasurementBudget, source: Source) -> None:
        """Measure the counts of the boxes, and put together again those that are better shown as one."""
        leaves = self.tree.leaves
        noisy = add_noise(records.count_boxes(self.tree).rows, measurement.count, source)
        rest = np.zeros(len(self.splits))
        self.counts[leaves], rest[leaves] = model.correct(
            self.counts[leaves],
            noisy.astype(np.float64),
            2.0 / float(measurement.count) ** 2,
            self.plan.parameters.prior_count_error,
        )
        details = 1.0 - self.losses[self.faces].sum(axis=1)
        along = np.maximum(self.splits, 0)
        bound = (self.splits >= 0) & self.forced[self.faces[np.arange(len(along)), along]]
        kept = np.zeros(len(self.splits), dtype=np.bool_)
        grow.regrouper(len(self.splits))(
            self.splits, self.below, self.counts, rest, details, bound, self.publishable_size, self.spread, kept
        )
        number = (np.cumsum(kept) - 1).astype(np.int32)
        self.below = np.where(self.below >= 0, number[self.below], -1).astype(np.int32)[kept]
        self.faces, self.counts, self.homes = self.faces[kept], self.counts[kept], self.homes[kept]
        self.depths, self.splits = self.depths[kept], self.splits[kept]

    def _histograms(
        self,
        j: int,
        table: npt.NDArray[np.int64],
        leaves: Codes,
        measurement: MeasurementBudget,
        source: Source,
    ) -> list[Floats]:
        """The noisy counts of the cells of each box's side along one attribute, in the order of the sides.

        `table` has the true counts, a row for each box and a column for each cell in declared order.
        """
        side, nodes = self.layout.sides[j], self.faces[leaves, j]
        starts, stops = self.layout.starts[nodes], self.layout.stops[nodes]
        counts = table[:, side.order]
        # A box has no cells beyond its side, so nothing is measured there.
        inside = np.concatenate([counts[i, starts[i] : stops[i]] for i in range(len(leaves))])
        ends = np.cumsum(stops - starts)[:-1]
        return list(np.split(add_noise(inside, measurement.histogram, source).astype(np.float64), ends))
