"""The setting of box means: how much noise a tree of halved boxes, and the numbers measured in each box, need for epsilon.

    values      for each attribute without an order one noisy histogram of its declared values     epsilon_v each
    tree        a box is halved while its count, less a bias that grows with depth, looks large    `halving_cost`
    means       in each box, in one draw: its count and a sum for each attribute                   epsilon_m

The boxes are disjoint, so one record is in one of them: however many boxes there are, their means are paid once (theorems
`halving-tree` and `box-means`). Nothing here is about a public number of rows, a cluster size or a delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.centroids import check_weight
from shoal.guarantee.differential import PureDP
from shoal.guarantee.rounding import GUARD, Number, decimal, exact, exact_text, precise, text_near, whole
from shoal.guarantee.safe_k.curve import check_epsilon
from shoal.guarantee.unit import Unit
from shoal.mechanism.staircase.distribution import LARGEST_DIMENSION, LatticeDistribution

BoxKind = Literal["ordered", "nominal"]

TREE_SHARE = Fraction(1, 5)
"""The part of epsilon that the tree takes; what was measured is flat between an eighth and a third (decision 0013)."""
VALUES_SHARE = Fraction(1, 10)
"""The part that the histograms of all attributes without an order take together, where there are any."""
THRESHOLD = 5
"""A box of so many records over epsilon, and fewer, is better not divided."""
BIAS = Fraction(9, 5)
"""The bias of the tree in units of one over its epsilon: then it is about ln 2 of the scale, and empty boxes stay."""
SIDE = 1024
"""Steps from the middle of a box to its end, and to one record of its count: the lattice on which noise is drawn."""
FEWEST_VALUES = 3
"""An attribute without an order that has so many values is counted first, so that common ones are parted from rare ones."""
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**6), Fraction(500)
"""The epsilons of one row that noise is made for."""
DIGITS = 6
"""Significant digits of the scale of the tree's noise, rounded up."""
CONFIDENCE = 0.95
"""Of half-widths."""

_MOST_TERMS = 4096


@dataclass(frozen=True)
class BoxAttribute:
    """One attribute of the boxes, as far as the setting depends on it; declared, never read from rows."""

    name: str
    kind: BoxKind
    """`ordered`: numbers, dates, times, ordered values; `nominal`: values without an order."""
    points: int
    """How many values are told apart: whole steps of the declared domain, or listed values; from 2 up."""
    weight: Fraction = Fraction(1)
    """How much its detail counts: of two sides that are equally long the one of more weight is halved first."""

    def __post_init__(self) -> None:
        whole(self.points, f"attribute '{self.name}': the number of its values", 2)
        check_weight(self.name, self.weight)

    @property
    def is_counted(self) -> bool:
        """Whether its values are counted with noise before boxes are made."""
        return self.kind == "nominal" and self.points >= FEWEST_VALUES


@dataclass(frozen=True)
class BoxSetting:
    """The noise of every step of a release of box means; it follows from the policy alone.

    >>> pay, tax = BoxAttribute("pay", "ordered", 100_001), BoxAttribute("tax", "ordered", 40_001)
    >>> setting = solve_boxes(1, attributes=[pay, tax], unit=Unit.row("add_remove"))
    >>> setting.tree_epsilon, setting.bias, setting.threshold, float(setting.scale)
    (Fraction(1, 5), 9, 5, 13.0578)
    """

    unit: Unit
    epsilon: Fraction
    """What was asked for, for the unit."""
    attributes: tuple[BoxAttribute, ...]
    scale: Fraction
    """The scale of the two-sided geometric noise on the count of each box that may be divided."""
    bias: int
    """Records that are taken off a box's count for each division that led to it."""
    threshold: int
    """Records that are taken off every box's count."""
    tree_epsilon: Fraction
    """What the tree costs at most, for one row."""
    value_epsilon: Fraction | None
    """What each histogram of values costs, for one row; None where no attribute is counted."""
    mean_epsilon: Fraction
    """What the counts and sums of all boxes cost, for one row."""

    def __post_init__(self) -> None:
        names = [each.name for each in self.attributes]
        if not names or len(set(names)) != len(names):
            raise UsageError("boxes of no attribute, or of one twice", came=", ".join(names) or "none")
        if self.numbers > LARGEST_DIMENSION:
            raise ParameterError("too many attributes", came=len(names), allowed=f"at most {LARGEST_DIMENSION - 1:,}")
        whole(self.bias, "the bias of the tree")
        whole(self.threshold, "the threshold of the tree", 0)
        if min(self.tree_epsilon, self.mean_epsilon) <= 0 or (self.value_epsilon or 1) <= 0 or self.scale <= 0:
            raise PreconditionError("box-means", "a step without noise has no finite epsilon", allowed="all above 0")
        if bool(self.counted) != (self.value_epsilon is not None):
            raise PreconditionError(
                "box-means",
                "values are counted without an epsilon, or an epsilon is left for none",
                fix="make settings with `solve_boxes`",
            )
        if halving_cost(self.scale, self.bias) > self.tree_epsilon:
            raise PreconditionError(
                "halving-tree",
                "the noise of the tree is smaller than its epsilon asks for",
                came=f"scale {text_near(self.scale)}, bias {self.bias}, epsilon {text_near(self.tree_epsilon)}",
                fix="make settings with `solve_boxes`",
            )
        if self.cost > self.row_epsilon:
            raise PreconditionError(
                "box-means",
                "the steps cost more than the promise",
                came=f"{text_near(self.cost)} of {text_near(self.row_epsilon)} for one row",
                fix="make settings with `solve_boxes`",
            )

    @property
    def row_epsilon(self) -> Fraction:
        """The epsilon of one row added or removed: the unit's, divided by the rows that come or go between neighbours."""
        return self.epsilon / self.unit.steps

    @property
    def counted(self) -> tuple[BoxAttribute, ...]:
        """The attributes whose values are counted first."""
        return tuple(each for each in self.attributes if each.is_counted)

    @property
    def cost(self) -> Fraction:
        """What all steps cost together for one row, exactly."""
        return self.tree_epsilon + self.mean_epsilon + len(self.counted) * (self.value_epsilon or 0)

    @property
    def numbers(self) -> int:
        """How many numbers are measured of each box: its count, and a sum for each attribute."""
        return 1 + len(self.attributes)

    @property
    def side(self) -> int:
        """The half-side of the box that holds every change of a box's numbers, in steps; the same for each number."""
        return SIDE

    @property
    def inner(self) -> int:
        """The half-side of the inner box of the noise, in steps."""
        return SIDE // 2

    @property
    def claimed(self) -> PureDP:
        """What is promised for the unit."""
        return PureDP(self.epsilon)

    @property
    def parts(self) -> tuple[tuple[Guarantee, int], ...]:
        """What everything costs together for the unit, for the ledger and for composition."""
        steps = self.unit.steps
        values = [] if self.value_epsilon is None else [(PureDP(self.value_epsilon * steps), len(self.counted))]
        return (*values, (PureDP(self.tree_epsilon * steps), 1), (PureDP(self.mean_epsilon * steps), 1))

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorems that the claim rests on, with those that lead from one row to the unit."""
        return ("halving-tree", "box-means", "staircase-box", *self.unit.theorems)

    # --- how large the error is -------------------------------------------------------------------------------------------

    def scores(self, counts: npt.NDArray[np.int64], depth: int) -> npt.NDArray[np.int64]:
        """What decides, with noise of the scale added, whether boxes at one depth are divided: where it is above 0."""
        return np.maximum(counts - depth * self.bias - self.threshold, -self.bias)

    @cached_property
    def noise(self) -> LatticeDistribution:
        """The noise on the numbers of one box, in steps."""
        return LatticeDistribution(self.mean_epsilon, (self.side,) * self.numbers, (self.inner,) * self.numbers)

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the noise on a box's count, in records; on a sum, in half-lengths of the box's side."""
        return float(np.sqrt(self.noise.variance[0])) / self.side

    @cached_property
    def half_width(self) -> float:
        """How far noise moves the count of a box with a probability of 95 % at most, in records."""
        return float(self.noise.tails(CONFIDENCE)[0]) / self.side

    def records_to_divide(self, depth: int = 0) -> int:
        """A box at this depth that holds so many records, or more, is divided with a probability of 95 % at least."""
        above = float(self.scale) * math.log(1 / (1 - CONFIDENCE))
        return self.threshold + depth * self.bias + max(1, math.ceil(above))

    def to_saved(self) -> dict[str, Any]:
        """The setting as plain values with exact text for numbers."""
        return {
            "grouping": "boxes",
            "epsilon": exact_text(self.epsilon),
            "row_epsilon": exact_text(self.row_epsilon),
            "tree": {
                "epsilon": exact_text(self.tree_epsilon),
                "scale": exact_text(self.scale),
                "bias": self.bias,
                "threshold": self.threshold,
            },
            "values": None
            if self.value_epsilon is None
            else {"epsilon": exact_text(self.value_epsilon), "attributes": [each.name for each in self.counted]},
            "means": {
                "epsilon": exact_text(self.mean_epsilon),
                "numbers": self.numbers,
                "side": self.side,
                "inner": self.inner,
            },
            "attributes": [
                {"name": each.name, "kind": each.kind, "points": each.points, "weight": exact_text(each.weight)}
                for each in self.attributes
            ],
        }


def solve_boxes(epsilon: Number, *, attributes: Sequence[BoxAttribute], unit: Unit) -> BoxSetting:
    """The setting with which boxes and their means together keep epsilon for the unit.

    Arguments  `epsilon` of the whole release for the unit; `attributes` in the order of the schema; `unit`, whose rows are
               added, removed or replaced
    Raises     ParameterError where epsilon is out of range; UsageError where there is no attribute, or one twice
    """
    wanted = check_epsilon(epsilon)
    row = wanted / unit.steps
    if not LEAST_EPSILON <= row <= LARGEST_EPSILON:
        raise ParameterError(
            "epsilon is out of range for box means",
            came=f"{text_near(wanted)}, which is {text_near(row)} for each row of a unit",
            allowed=f"{text_near(LEAST_EPSILON)} to {text_near(LARGEST_EPSILON)} for each row",
        )
    own = tuple(attributes)
    counted = sum(each.is_counted for each in own)
    tree = row * TREE_SHARE
    value = row * VALUES_SHARE / counted if counted else None
    mean = row - tree - (row * VALUES_SHARE if counted else 0)
    scale, bias = _tree_noise(tree)
    threshold = round(THRESHOLD / row)
    return BoxSetting(unit, wanted, own, scale, bias, threshold, tree, value, mean)


@lru_cache(maxsize=256)
def halving_cost(scale: Number, bias: int) -> Fraction:
    """What a tree costs whose nodes have noise of this scale and whose counts lose `bias` with each division, rounded up.

    With p = e^(−1/scale) and B the bias it is 2/scale + Σ_{i ≥ 1} ln((1 + p − p^(iB+1)) / (1 + p − p^(iB))) (theorem
    `halving-tree`), one row added or removed; the depth and the number of boxes play no part.

    >>> float(halving_cost(13, 9))
    0.200...
    """
    wide = exact(scale, "the scale of the tree's noise")
    if wide <= 0:
        raise PreconditionError("halving-tree", "counts without noise", came=text_near(wide), allowed="a scale above 0")
    whole(bias, "the bias of the tree")
    with precise():
        rate = 1 / decimal(wide)
        p = (-rate).exp()
        step, total, power = p**bias, 2 * rate, p**bias
        for _ in range(_MOST_TERMS):
            if power < GUARD * rate:
                break
            total += ((1 + p - p * power) / (1 + p - power)).ln()
            power *= step
        # What is left: each term is at most p^(iB) (1 − p) / (1 + p − p^(iB)), and 1 − p is at most 1 − p^B.
        total += power / (1 + p - power)
        return Fraction(Context(prec=12, rounding=ROUND_CEILING).plus(total * (1 + GUARD)))


@lru_cache(maxsize=16)
def _tree_noise(epsilon: Fraction) -> tuple[Fraction, int]:
    """The bias, about ln 2 of the scale, and the least short scale at which a tree costs no more than epsilon."""
    bias = max(1, round(BIAS / epsilon))
    low, high = 1 / float(epsilon), 8 / float(epsilon)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _approximate_cost(middle, bias) <= epsilon else (middle, high)
    scale = _short(high)
    while halving_cost(scale, bias) > epsilon:  # floats decide where to look, and nothing else
        scale = _short(float(scale) * (1 + 10.0 ** (1 - DIGITS)))
    return scale, bias


def _approximate_cost(scale: float, bias: int) -> float:
    p, total = math.exp(-1 / scale), 2 / scale
    for i in range(1, _MOST_TERMS):
        power = math.exp(-i * bias / scale)
        term = math.log1p(power * -math.expm1(-1 / scale) / (1 + p - power))
        total += term
        if term < 1e-16 * total:
            break
    return total


def _short(scale: float) -> Fraction:
    return Fraction(Context(prec=DIGITS, rounding=ROUND_CEILING).create_decimal_from_float(scale))
