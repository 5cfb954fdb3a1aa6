"""The safe tree: a privately grown partition of the declared domain into boxes, fine where records are dense.

    survey the whole table -> build each attribute's sides -> grow to a first frontier -> survey its boxes -> … -> grow to the end

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

from shoal.anonymize.kernel import grow
from shoal.anonymize.partition import model
from shoal.anonymize.partition.base import Partition, Stage
from shoal.anonymize.partition.boxes import Boxes, Tree
from shoal.anonymize.partition.coded import Coded
from shoal.anonymize.partition.model import Layout
from shoal.anonymize.partition.sides import Sides, sides
from shoal.chance.source import Source
from shoal.data.cells import Cells, cells
from shoal.data.level import Level
from shoal.data.schema import Schema
from shoal.engine.base import Counts
from shoal.errors import ParameterError
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.surveys import Survey, epsilon_of, surveys

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Habits:
    """How a tree grows; fixed without the user's data, by simulation on generated tables (docs/decisions)."""

    shares: tuple[Fraction, ...] = (Fraction(1, 3), Fraction(2, 3))
    """Of epsilon, for the survey of the whole table and for those of frontiers."""
    counts: Fraction = Fraction(1, 4)
    """Of each survey, for the boxes' own counts; the rest goes to the histograms of the attributes."""
    frontier: int = 20
    """A frontier's boxes are expected to hold this part of the ones before."""
    doubt: float = 0.2
    """How far the model is expected to be off, as a part of a count."""
    slack: float = 0.1
    """Bits added to what a split uses up."""
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
    def asked(self) -> tuple[Survey, ...]:
        """The surveys, with the noise that one row's share of epsilon buys."""
        return surveys(self.paid / self.steps, len(self.columns), self.habits.shares, self.habits.counts)

    @property
    def epsilon(self) -> Fraction:
        return self.steps * epsilon_of(self.asked)

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("surveyed-tree",)

    def words(self) -> str:
        return (
            f"A tree of boxes is grown on the table for epsilon {exact_text(self.epsilon)}: fine labels where records are "
            "dense, coarse ones elsewhere."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "tree",
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
        pieces = self.pieces
        coded = Coded.of(counts, pieces)
        first, *later = self.asked
        layout, masses, count = _whole(pieces, coded, first, source)
        growth = _Growth(self, layout, masses, count)
        share = 1
        for survey in later:
            share *= self.habits.frontier
            growth.extend(count / share)
            growth.survey(coded, survey, source)
        growth.extend(0.0)
        return Boxes(growth.tree)


def heard(counts: npt.NDArray[np.int64], epsilon: Fraction, source: Source) -> npt.NDArray[np.int64]:
    """Counts through noise: the only place where a tree touches the table's numbers."""
    return counts + source.discrete_laplace(1 / epsilon, len(counts))


def _whole(pieces: Sequence[Cells], coded: Coded, survey: Survey, source: Source) -> tuple[Layout, Floats, float]:
    """The first survey: the whole table as one box; the sides of every attribute come out of it."""
    count = max(1.0, float(heard(np.array([coded.rows]), survey.count, source)[0]))
    built: list[Sides] = []
    masses: list[Floats] = []
    for j, each in enumerate(pieces):
        told = heard(coded.histogram(j), survey.histogram, source)
        shares = model.projected(told, count) + 0.5  # half a record, so that nothing is thought impossible
        shares /= shares.sum()
        built.append(sides(each, shares))
        masses.append(built[-1].sums(shares))
    layout = Layout(tuple(built))
    return layout, np.concatenate(masses), count


class _Growth:
    """A tree while it grows: arrays that are replaced as a whole at each step."""

    def __init__(self, plan: SurveyedTree, layout: Layout, masses: Floats, count: float) -> None:
        self.plan, self.layout = plan, layout
        self.crowd = plan.k / float(plan.beta)
        self.spread = max((plan.k * (1 - float(plan.beta))) ** 0.5 / float(plan.beta), 1e-9)
        self.losses = layout.losses([float(plan._weight(name)) for name in plan.columns])  # noqa: SLF001
        self.forced = np.concatenate([side.too_coarse(plan.coarsest.get(side.cells.name)) for side in layout.sides])
        self.masses = masses[np.newaxis, :].copy()
        self.faces = np.array([layout.offsets[:-1]], dtype=np.int32)
        self.counts = np.array([count])
        self.homes, self.depths = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
        self.splits = np.full(1, -1, dtype=np.int32)
        self.below = np.full((1, 3), -1, dtype=np.int32)

    @property
    def tree(self) -> Tree:
        return Tree(self.layout, self.faces, self.splits, self.below)

    def extend(self, limit: float) -> None:
        """Split boxes that are expected to hold more than `limit`, while that is expected to pay."""
        leaves, habits = self.tree.leaves, self.plan.habits
        work = len(self.layout.sides) * float(self.counts[leaves].sum()) / max(self.crowd, limit)
        faces, counts, homes, depths, splits, below = grow.expander(work)(
            self.faces[leaves], self.counts[leaves], self.homes[leaves], self.layout.kids, self.losses, self.masses,
            self.forced, limit, self.crowd, self.spread, habits.doubt, habits.slack, habits.depth, self.depths[leaves],
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

    def survey(self, coded: Coded, survey: Survey, source: Source) -> None:
        """Count every box and its histograms through noise, and believe what was heard as far as it deserves."""
        leaves, layout = self.tree.leaves, self.layout
        number = np.full(len(self.splits), -1, dtype=np.int64)
        number[leaves] = np.arange(len(leaves))
        home = number[self.tree.place(coded.cells)]
        counts = heard(coded.totals(home, len(leaves)), survey.count, source)
        told = [self._histograms(coded, j, home, leaves, survey, source) for j in range(len(layout.sides))]
        for i, leaf in enumerate(leaves.tolist()):
            self.counts[leaf] = model.corrected(float(self.counts[leaf]), int(counts[i]), survey.count)
        expected = self.masses[self.homes[leaves]]
        self.masses = model.listen(layout, expected, self.faces[leaves], self.counts[leaves], told, survey.histogram)
        self.homes[leaves] = np.arange(len(leaves), dtype=np.int32)

    def _histograms(
        self, coded: Coded, j: int, home: npt.NDArray[np.int64], leaves: Codes, survey: Survey, source: Source
    ) -> list[Floats]:
        """The noisy counts of the cells of each box's side along one attribute, in the order of the sides."""
        side, nodes = self.layout.sides[j], self.faces[leaves, j]
        starts, stops = self.layout.starts[nodes], self.layout.stops[nodes]
        counts = coded.table(j, side.rank, home, len(leaves))
        # A box has no cells beyond its side, so there is nothing to ask about them.
        asked = np.concatenate([counts[i, starts[i] : stops[i]] for i in range(len(leaves))])
        ends = np.cumsum(stops - starts)[:-1]
        return list(np.split(heard(asked, survey.histogram, source).astype(np.float64), ends))
