"""The safe tree: a privately grown partition of the declared domain into boxes, fine where records are dense.

    survey the whole table -> build each attribute's sides -> grow to a frontier -> hear histograms of its boxes
      -> grow to the end -> count the boxes -> put back what was divided too far, and grow on where there are more

A survey is noisy counts of boxes that do not overlap, so it is paid once however many boxes there are. What is split, and
where growing stops, is computed from what was heard: the model expects how many records a box holds, and splits while the
expected detail of published records rises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.base import Partition, Stage
from shoal.anonymize.generalize.tree import model
from shoal.anonymize.generalize.tree.boxes import Boxes, Tree
from shoal.anonymize.generalize.tree.coded import Coded
from shoal.anonymize.generalize.tree.model import Layout
from shoal.anonymize.generalize.tree.sides import Sides, sides
from shoal.anonymize.kernel import grow
from shoal.chance.source import Source
from shoal.data.cells import Cells, cells
from shoal.data.hierarchy.level import Level
from shoal.data.schema import Schema
from shoal.engine.base import Counts
from shoal.errors import ParameterError
from shoal.guarantee.differential import allowance
from shoal.guarantee.rounding import exact, exact_text, text_down
from shoal.guarantee.tree import MeasurementBudget, epsilon_of_measurements, measurement_budgets

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


SURPRISE = 5.0
"""How far a share in the table is expected to stray from the share of the domain, as a part of p(1 − p)."""


@dataclass(frozen=True)
class Habits:
    """How a tree grows; fixed without the user's data, by simulation on generated tables (docs/decisions)."""

    shares: tuple[Fraction, ...] = (Fraction(2, 3), Fraction(1, 3))
    """Of epsilon, for the survey of the whole table and for those of frontiers."""
    counts: tuple[Fraction, ...] = (Fraction(1, 20), Fraction(3, 4))
    """Of each survey, for counting the table, or the boxes that grew from a frontier; the rest goes to histograms."""
    frontier: int = 10
    """A frontier's boxes are expected to hold this part of the ones before."""
    doubt: float = 0.2
    """How far the model is expected to be off, as a part of a count, while boxes are divided."""
    stray: float = 0.7
    """The same when the boxes are counted: how easily the model gives way to what is heard."""
    surprise: float = SURPRISE
    """How far the first survey is believed against the domain."""
    trust: float = 0.1
    """How far a share in a box is expected to stray from the share in the box around it, as a part of p(1 − p)."""
    slack: float = 0.1
    """Bits added to what a split uses up."""
    thrift: float = 1.5
    """The power of these bits that a split's worth is divided by."""
    depth: int = 64
    """Splits on the way to a box, at most."""


@dataclass(frozen=True)
class SurveyedTree(Partition):
    """A tree grown on noisy counts.

    Promise   the boxes are epsilon-DP for the unit (theorem `surveyed-tree`), whatever is computed from what was heard.
    Requires  a declared domain for every published attribute; k, beta, weights and habits fixed without the data.
    Reads     the table once.
    """

    schema: Schema
    paid: Fraction
    k: int
    beta: Fraction
    steps: int = 1
    """Rows by which neighbours differ: each pays its share, and the unit's price is the sum."""
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    finest: Mapping[str, int] = field(default_factory=dict)
    coarsest: Mapping[str, int] = field(default_factory=dict)
    habits: Habits = Habits()
    sample: Fraction = Fraction(1)
    """The rate of the separate sample that it grows on."""

    def __post_init__(self) -> None:
        if self.habits.depth < 1:
            raise ParameterError(
                "release.recoding.tree.depth: no box could be split", came=self.habits.depth, allowed="1 or more"
            )
        if not any(self._weight(name) for name in self.columns):
            raise ParameterError(
                "every published attribute has the weight zero", fix="give one of them a weight above zero"
            )

    def _weight(self, name: str) -> Fraction:
        return self.weights.get(name, Fraction(1))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.schema.published)

    @property
    def asked(self) -> tuple[MeasurementBudget, ...]:
        """The measurements, with the noise that one row's share of epsilon buys."""
        return measurement_budgets(self.inner, len(self.columns), self.habits.shares, self.habits.counts)

    @property
    def rate(self) -> Fraction:
        return self.sample

    @property
    def inner(self) -> Fraction:
        """What the measurements may cost on what they see: more than the share of a row where that is a sample."""
        share = self.paid / self.steps
        return share if self.sample == 1 else exact(text_down(allowance(share, 0, self.sample).epsilon, 12))

    @property
    def epsilon(self) -> Fraction:
        return self.steps * epsilon_of_measurements(self.asked) if self.sample == 1 else self.paid

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("surveyed-tree",) if self.sample == 1 else ("surveyed-tree", "amplification")

    def words(self) -> str:
        return (
            f"A tree of boxes is grown on {self._seen} for epsilon {exact_text(self.epsilon)}: fine labels where records are "
            "dense, coarse ones elsewhere."
        )

    @property
    def _seen(self) -> str:
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
                for s in self.asked
            ],
        }

    @cached_property
    def pieces(self) -> tuple[Cells, ...]:
        """The cells of every attribute."""
        return tuple(cells(attribute, self.finest.get(attribute.name, 0)) for attribute in self.schema.published)

    @property
    def levels(self) -> Mapping[str, Level]:
        return {each.name: each.level for each in self.pieces}

    def decide(self, counts: Counts, source: Source, stage: Stage = lambda _: None) -> Boxes:  # noqa: ARG002
        return Boxes(self.grow(Coded.of(counts, self.pieces), source))

    def grow(self, coded: Coded, source: Source) -> Tree:
        """The tree of a table whose tuples were counted."""
        first, *later = self.asked
        layout, masses, count = whole_table(coded.pieces, coded, first, source, self.habits.surprise)
        growth = _Growth(self, layout, masses, count)
        limits = [count / self.habits.frontier**i for i in range(1, len(self.asked))] + [0.0]
        for survey, limit, following in zip(later, limits, limits[1:], strict=False):
            growth.extend(limit)
            growth.listen(coded, survey, source)
            growth.extend(following)
            growth.recount(coded, survey, source)
        growth.extend(0.0)
        return growth.tree


def heard(counts: npt.NDArray[np.int64], epsilon: Fraction, source: Source) -> npt.NDArray[np.int64]:
    """Counts through noise: the only place where a tree touches the table's numbers."""
    return counts + source.discrete_laplace(1 / epsilon, len(counts))


def whole_table(
    pieces: Sequence[Cells], coded: Coded, survey: MeasurementBudget, source: Source, surprise: float = SURPRISE
) -> tuple[Layout, Floats, float]:
    """The first survey: the whole table as one box; the sides of every attribute come out of it."""
    count = max(1.0, float(heard(np.array([coded.rows]), survey.count, source)[0]))
    built: list[Sides] = []
    masses: list[Floats] = []
    for j, each in enumerate(pieces):
        told = heard(coded.histogram(j), survey.histogram, source)
        shares = model.smoothed(each, told, count, survey.histogram, surprise)
        built.append(sides(each, shares))
        masses.append(built[-1].sums(shares))
    layout = Layout(tuple(built))
    return layout, np.concatenate(masses), count


class _Growth:
    """A tree while it grows: arrays that are replaced as a whole at each step."""

    def __init__(self, plan: SurveyedTree, layout: Layout, masses: Floats, count: float) -> None:
        self.plan, self.layout = plan, layout
        # In records of what the measurements see: a sample has its share of every crowd.
        seen = float(plan.sample)
        self.crowd = seen * plan.k / float(plan.beta)
        self.spread = max(seen * (plan.k * (1 - float(plan.beta))) ** 0.5 / float(plan.beta), 1e-9)
        self.losses = layout.losses([float(plan._weight(name)) for name in plan.columns])  # noqa: SLF001
        self.forced = np.concatenate([side.too_coarse(plan.coarsest.get(side.cells.name)) for side in layout.sides])
        self.masses = masses[np.newaxis, :].copy()
        self.faces = np.array([layout.offsets[:-1]], dtype=np.int32)
        self.counts = np.array([count])
        self.homes, self.depths = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
        self.splits = np.full(1, -1, dtype=np.int32)
        self.below = np.full((1, 3), -1, dtype=np.int32)
        self.places: Codes | None = None

    @property
    def tree(self) -> Tree:
        return Tree(self.layout, self.faces, self.splits, self.below)

    def extend(self, limit: float) -> None:
        """Split boxes that are expected to hold more than `limit`, while that is expected to pay."""
        leaves, habits = self.tree.leaves, self.plan.habits
        work = len(self.layout.sides) * float(self.counts[leaves].sum()) / max(self.crowd, limit)
        faces, counts, homes, depths, splits, below = grow.expander(work)(
            self.faces[leaves], self.counts[leaves], self.homes[leaves], self.layout.kids, self.losses, self.masses,
            self.forced, limit, self.crowd, self.spread, habits.doubt, habits.slack, habits.thrift,
            habits.depth, self.depths[leaves],
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

    def listen(self, coded: Coded, survey: MeasurementBudget, source: Source) -> None:
        """Hear histograms of every box through noise, and believe them as far as they deserve."""
        leaves, layout = self.tree.leaves, self.layout
        home = self._home(coded, leaves)
        told = [self._histograms(coded, j, home, leaves, survey, source) for j in range(len(layout.sides))]
        self._sum_up(leaves, told, survey.histogram)
        self.masses = model.listen(
            layout, self.masses[self.homes[leaves]], self.faces[leaves], self.counts[leaves], told, survey.histogram,
            self.plan.habits.trust,
        )  # fmt: skip
        self.homes[leaves] = np.arange(len(leaves), dtype=np.int32)

    def _home(self, coded: Coded, leaves: Codes) -> npt.NDArray[np.int64]:
        """The box of each tuple, by its place among the leaves."""
        number = np.full(len(self.splits), -1, dtype=np.int64)
        number[leaves] = np.arange(len(leaves))
        self.places = self.tree.place(coded.cells, self.places)
        return np.asarray(number[self.places])

    def _sum_up(self, leaves: Codes, told: Sequence[Sequence[Floats]], epsilon: Fraction) -> None:
        """Correct the counts of boxes by the sums of their histograms, each weighed by the noise of its cells."""
        sizes = [np.array([len(own) for own in column]) for column in told]
        starts = [np.concatenate([[0], np.cumsum(own)[:-1]]) for own in sizes]
        sums = np.array([np.add.reduceat(np.concatenate(column), at) for column, at in zip(told, starts, strict=True)])
        sure = float(epsilon) ** 2 / (2.0 * np.array(sizes))
        weight = sure.sum(axis=0)
        heard_of = (sums * sure).sum(axis=0) / weight
        self.counts[leaves], _ = model.corrected(self.counts[leaves], heard_of, 1.0 / weight, self.plan.habits.stray)

    def recount(self, coded: Coded, survey: MeasurementBudget, source: Source) -> None:
        """Count the boxes through noise, and put together again those that are better shown as one."""
        leaves = self.tree.leaves
        told = heard(coded.totals(self._home(coded, leaves), len(leaves)), survey.count, source)
        rest = np.zeros(len(self.splits))
        self.counts[leaves], rest[leaves] = model.corrected(
            self.counts[leaves], told.astype(np.float64), 2.0 / float(survey.count) ** 2, self.plan.habits.stray
        )
        details = 1.0 - self.losses[self.faces].sum(axis=1)
        along = np.maximum(self.splits, 0)
        bound = (self.splits >= 0) & self.forced[self.faces[np.arange(len(along)), along]]
        kept = np.zeros(len(self.splits), dtype=np.bool_)
        grow.regrouper(len(self.splits))(
            self.splits, self.below, self.counts, rest, details, bound, self.crowd, self.spread, kept
        )
        place = (np.cumsum(kept) - 1).astype(np.int32)
        self.below = np.where(self.below >= 0, place[self.below], -1).astype(np.int32)[kept]
        self.faces, self.counts, self.homes = self.faces[kept], self.counts[kept], self.homes[kept]
        self.depths, self.splits, self.places = self.depths[kept], self.splits[kept], None

    def _histograms(
        self,
        coded: Coded,
        j: int,
        home: npt.NDArray[np.int64],
        leaves: Codes,
        survey: MeasurementBudget,
        source: Source,
    ) -> list[Floats]:
        """The noisy counts of the cells of each box's side along one attribute, in the order of the sides."""
        side, nodes = self.layout.sides[j], self.faces[leaves, j]
        starts, stops = self.layout.starts[nodes], self.layout.stops[nodes]
        counts = coded.table(j, side.rank, home, len(leaves))
        # A box has no cells beyond its side, so there is nothing to ask about them.
        asked = np.concatenate([counts[i, starts[i] : stops[i]] for i in range(len(leaves))])
        ends = np.cumsum(stops - starts)[:-1]
        return list(np.split(heard(asked, survey.histogram, source).astype(np.float64), ends))
