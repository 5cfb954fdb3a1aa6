"""The tree of tests: PrivTree on whole numbers, a box is divided while its count passes a noisy bar that rises with depth.

    [survey the whole table ->] the whole domain -> test every box of a depth -> divide those that pass -> test their parts -> …

A path of tests costs a fixed sum however long it gets, because the bar rises; the sum is computed exactly. Which attribute a
box is divided along is no secret: the one that still loses most, or the one that a survey, paid for, finds best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.base import Partition, Stage
from shoal.anonymize.generalize.tree.boxes import Boxes, Tree
from shoal.anonymize.generalize.tree.coded import Coded
from shoal.anonymize.generalize.tree.model import Layout
from shoal.anonymize.generalize.tree.safe_tree import whole_table
from shoal.anonymize.generalize.tree.sides import sides
from shoal.anonymize.kernel import grow
from shoal.chance.source import Source
from shoal.data.cells import Cells, cells
from shoal.data.hierarchy.level import Level
from shoal.data.schema import Schema
from shoal.engine.base import Counts
from shoal.errors import ParameterError
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.tree import (
    MeasurementBudget,
    SplitTest,
    calibrate_split_test,
    epsilon_of_measurements,
    measurement_budgets,
    path_loss,
)

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

AT_ONCE = 1 << 22
"""So many numbers are held for choosing attributes at a time."""


@dataclass(frozen=True)
class Habits:
    """How a tree of tests grows; fixed without the user's data."""

    survey: Fraction = Fraction(1, 2)
    """Of epsilon, for a first survey of the whole table; 0 for none."""
    counts: Fraction = Fraction(1, 4)
    """Of the survey, for the number of records; the rest goes to the histograms of the attributes."""
    theta: Fraction = Fraction(2)
    """The first bar, as a multiple of k/beta."""
    y: Fraction = Fraction(7, 10)
    """How much the bar rises with each test, as a multiple of the noise's scale."""
    clamp: Fraction | None = None
    """How far below the bar a count is taken to be at most, as a multiple of the scale; None for y, as published."""
    sure: Fraction | None = Fraction(8)
    """A box that the survey expects to hold so many times the bar is divided without a test; None: all are tested."""
    doubt: float = 0.2
    """How far the survey is expected to be off, as a part of a count."""
    slack: float = 0.1
    """Bits added to what a split uses up."""
    depth: int = 64
    """Splits on the way to a box, at most."""


@dataclass(frozen=True)
class PrivTree(Partition):
    """A tree grown by noisy tests of its counts.

    Promise   the boxes are epsilon-DP for the unit (theorems `privtree-geometric` and, with a survey, `surveyed-tree`).
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
        if not 0 <= self.habits.survey < 1 or self.habits.theta <= 0:
            raise ParameterError(
                "the habits of a tree of tests",
                came=f"{float(self.habits.survey):g} of epsilon for the survey, theta {float(self.habits.theta):g}",
                allowed="a share from 0 to below 1, theta above 0",
            )
        if not any(self._weight(name) for name in self.columns):
            raise ParameterError(
                "every published attribute has the weight zero", fix="give one of them a weight above zero"
            )
        self.test.check_empty(self.theta, self.fan_out)

    def _weight(self, name: str) -> Fraction:
        return self.weights.get(name, Fraction(1))

    @cached_property
    def pieces(self) -> tuple[Cells, ...]:
        """The cells of every published attribute."""
        return tuple(cells(attribute, self.finest.get(attribute.name, 0)) for attribute in self.schema.published)

    @property
    def fan_out(self) -> int:
        """Parts of a box, at most: two, and a third where a missing value leaves its attribute's domain."""
        return 3 if any(each.missing is not None and len(each) > 2 for each in self.pieces) else 2

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.schema.published)

    @property
    def asked(self) -> tuple[MeasurementBudget, ...]:
        """The survey, if there is one, with the noise that one row's share of epsilon buys."""
        share = self.habits.survey
        if not share:
            return ()
        return measurement_budgets(self.paid / self.steps, len(self.columns), (share,), self.habits.counts)

    @property
    def theta(self) -> int:
        """The first bar."""
        return floor(self.habits.theta * self.k / self.beta)

    @property
    def test(self) -> SplitTest:
        """The test at every node: the least noise whose worst path loss one row's share of epsilon pays."""
        left = self.paid / self.steps * (1 - self.habits.survey)
        return calibrate_split_test(left, self.habits.y, self.habits.depth, self.habits.clamp)

    @property
    def epsilon(self) -> Fraction:
        test = self.test
        return self.steps * (
            epsilon_of_measurements(self.asked) + path_loss(test.scale, test.thresholds(self.theta), test.clamp)
        )

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("surveyed-tree", "privtree-geometric") if self.asked else ("privtree-geometric",)

    def words(self) -> str:
        return (
            f"A tree of boxes is grown by noisy tests for epsilon {exact_text(self.epsilon)}: a box is divided while its "
            f"count passes a bar that begins at {self.theta} and rises with each test."
        )

    def to_json(self) -> dict[str, Any]:
        test = self.test
        return {
            "kind": "privtree",
            "epsilon": exact_text(self.epsilon),
            "steps": self.steps,
            "measurement_budgets": [
                {"count": exact_text(s.count), "histogram": exact_text(s.histogram), "attributes": s.attributes}
                for s in self.asked
            ],
            "test": {
                "scale": exact_text(test.scale),
                "theta": self.theta,
                "rise": test.rise,
                "clamp": test.clamp,
                "depth": test.depth,
            },
        }

    @property
    def levels(self) -> Mapping[str, Level]:
        return {each.name: each.level for each in self.pieces}

    def decide(self, counts: Counts, source: Source, stage: Stage = lambda _: None) -> Boxes:  # noqa: ARG002
        coded = Coded.of(counts, self.pieces)
        if self.asked:
            layout, masses, count = whole_table(self.pieces, coded, self.asked[0], source)
            guide: _Guide = _Surveyed(self, layout, masses, count)
        else:
            guide = _Guide(self, _by_domain(self.pieces))
        growth = _Growth(self, guide, coded)
        while len(growth.open):
            growth.level(source)
        return Boxes(growth.tree)


def _by_domain(pieces: tuple[Cells, ...]) -> Layout:
    """Sides that look at the declared domain alone: parts of equal size."""
    return Layout(tuple(sides(each, np.array([float(size) for size in each.sizes])) for each in pieces))


class _Guide:
    """Along which attribute a box is divided, and whether a test is needed: from the domain, weights and minimum detail.

    Whatever it says depends on the tree above a box, the policy and what a survey said, never on a record.
    """

    def __init__(self, plan: PrivTree, layout: Layout) -> None:
        self.plan, self.layout = plan, layout
        self.losses = layout.losses([float(plan._weight(name)) for name in plan.columns])  # noqa: SLF001
        self.forced = np.concatenate([side.too_coarse(plan.coarsest.get(side.cells.name)) for side in layout.sides])
        self.forced &= layout.kids[:, 0] >= 0
        self.count = 0.0

    def must(self, faces: Codes) -> Codes:
        """The attribute that the minimum detail wants divided, −1 for none: the one that loses most."""
        return _largest(np.where(self.forced[faces], self.losses[faces], -1.0), least=0.0)

    def may(self, faces: Codes, expected: Floats) -> Codes:  # noqa: ARG002
        """The attribute that is divided if the box passes its test, −1 if there is none."""
        open_ = self.layout.kids[faces, 0] >= 0
        return _largest(np.where(open_ & (self.losses[faces] > 0), self.losses[faces], -1.0), least=0.0)

    def sure(self, expected: Floats, bars: Longs) -> Marks:  # noqa: ARG002
        """Which boxes need no test."""
        return np.zeros(len(bars), dtype=np.bool_)

    def parts(self, sides: Codes, kids: Codes) -> Floats:  # noqa: ARG002
        """The share of its box that each part is expected to hold."""
        return np.zeros(kids.shape)


class _Surveyed(_Guide):
    """The same, on what a survey of the whole table said about each attribute by itself."""

    def __init__(self, plan: PrivTree, layout: Layout, masses: Floats, count: float) -> None:
        super().__init__(plan, layout)
        self.masses, self.count = masses, count
        self.crowd = plan.k / float(plan.beta)
        self.spread = max((plan.k * (1 - float(plan.beta))) ** 0.5 / float(plan.beta), 1e-9)

    def may(self, faces: Codes, expected: Floats) -> Codes:
        """Where the expected detail of published records rises most for each bit of crowd; as in `grow.expand`."""
        chosen = np.empty(len(faces), dtype=np.int32)
        size = max(1, AT_ONCE // (3 * faces.shape[1]))
        for at in range(0, len(faces), size):
            chosen[at : at + size] = self._best(faces[at : at + size], expected[at : at + size])
        return chosen

    def _best(self, faces: Codes, expected: Floats) -> Codes:
        loss, kids = self.losses[faces], self.layout.kids[faces]
        shares, there = self.parts(faces, kids), kids >= 0
        held = expected[:, np.newaxis, np.newaxis] * shares
        whole = loss.sum(axis=1)
        own = expected * (1 - whole) * self._likely(expected)
        detail = 1 - whole[:, np.newaxis, np.newaxis] + loss[:, :, np.newaxis] - self.losses[kids]
        worth = np.where(there, held * detail * self._likely(held), 0.0).sum(axis=2) - own[:, np.newaxis]
        bits = -np.where(there, shares * np.log2(np.where(there, shares, 1.0)), 0.0).sum(axis=2)
        return _largest(np.where(there[:, :, 0], worth / (bits + self.plan.habits.slack), -1.0), least=1e-12)

    def _likely(self, held: Floats) -> Floats:
        """How likely a box that should hold so many is published."""
        from scipy.special import ndtr

        deviation = np.sqrt(self.spread**2 + (self.plan.habits.doubt * held) ** 2)
        return np.asarray(ndtr((held - self.crowd) / deviation))

    def sure(self, expected: Floats, bars: Longs) -> Marks:
        factor = self.plan.habits.sure
        return super().sure(expected, bars) if factor is None else np.asarray(expected >= float(factor) * bars)

    def parts(self, sides: Codes, kids: Codes) -> Floats:
        shares = self.masses[kids] / np.maximum(self.masses[sides], 1e-300)[..., np.newaxis]
        return np.where(kids >= 0, np.clip(shares, 1e-9, 1.0), 0.0)


def _largest(scores: Floats, least: float) -> Codes:
    """The place of the largest score of each row, the first of equals; −1 where none reaches `least`."""
    best = np.argmax(scores, axis=1)
    return np.where(scores[np.arange(len(scores)), best] >= least, best, -1).astype(np.int32)


class _Growth:
    """A tree while it grows, one depth at a time; `open` are the boxes that have not been tried yet."""

    def __init__(self, plan: PrivTree, guide: _Guide, coded: Coded) -> None:
        self.plan, self.guide, self.layout, self.coded = plan, guide, guide.layout, coded
        self.test = plan.test
        self.bars = np.array(self.test.thresholds(plan.theta), dtype=np.int64)
        self.faces = np.array([self.layout.offsets[:-1]], dtype=np.int32)
        self.splits = np.full(1, -1, dtype=np.int32)
        self.below = np.full((1, 3), -1, dtype=np.int32)
        self.tests = np.zeros(1, dtype=np.int64)  # how many of the boxes around a box were tested
        self.expected = np.array([guide.count])
        self.open = np.zeros(1, dtype=np.int32)
        self.depth = 0
        self.ranks = np.empty((len(coded.counts), len(self.layout.sides)), dtype=np.int32)
        for j, (side, codes) in enumerate(zip(self.layout.sides, coded.cells, strict=True)):
            self.ranks[:, j] = side.rank[codes]
        self.homes = np.zeros(len(coded.counts), dtype=np.int32)

    @property
    def tree(self) -> Tree:
        return Tree(self.layout, self.faces, self.splits, self.below)

    def level(self, source: Source) -> None:
        """Try every open box, and open the parts of those that are divided."""
        if self.depth == self.plan.habits.depth:
            self.open = self.open[:0]
            return
        self.depth += 1
        boxes, faces, bars = self.open, self.faces[self.open], self.bars[self.tests[self.open]]
        along = self.guide.must(faces)
        free = along < 0
        # What the box is thought to hold if it passes: what was expected, and not less than the bar.
        along[free] = self.guide.may(faces[free], np.maximum(self.expected[boxes], bars)[free])
        tested = free & (along >= 0) & ~self.guide.sure(self.expected[boxes], bars)
        failed = tested.copy()
        failed[tested] = ~self._pass(boxes[tested], bars[tested], source)
        along[failed] = -1
        self.tests[boxes] += tested
        self.expected[boxes] = np.where(tested, np.maximum(self.expected[boxes], bars), self.expected[boxes])
        self._divide(boxes[along >= 0], along[along >= 0])

    def _pass(self, boxes: Codes, bars: Longs, source: Source) -> Marks:
        """The tests of one depth, in whole numbers throughout."""
        counts = self.coded.totals(self.homes.astype(np.int64), len(self.splits))[boxes]
        noise = source.discrete_laplace(self.test.scale, len(boxes))
        return np.asarray(np.maximum(counts - bars, -self.test.clamp) + noise > 0)

    def _divide(self, boxes: Codes, along: Codes) -> None:
        sides = self.faces[boxes, along]
        kids = self.layout.kids[sides]
        parent, place = np.nonzero(kids >= 0)
        old, new = len(self.splits), len(parent)
        faces = self.faces[boxes[parent]]
        faces[np.arange(new), along[parent]] = kids[parent, place]
        shares = self.guide.parts(sides, kids)[parent, place]
        self.splits[boxes] = along
        self.below[boxes[parent], place] = old + np.arange(new, dtype=np.int32)
        self.faces = np.concatenate([self.faces, faces])
        self.splits = np.concatenate([self.splits, np.full(new, -1, dtype=np.int32)])
        self.below = np.concatenate([self.below, np.full((new, 3), -1, dtype=np.int32)])
        self.tests = np.concatenate([self.tests, self.tests[boxes[parent]]])
        self.expected = np.concatenate([self.expected, self.expected[boxes[parent]] * shares])
        self.open = np.arange(old, old + new, dtype=np.int32)
        if new:
            tree = Tree(self.layout, self.faces, self.splits, self.below)
            grow.router(self.ranks.size)(self.ranks, self.splits, self.below, tree.cuts, self.homes)
