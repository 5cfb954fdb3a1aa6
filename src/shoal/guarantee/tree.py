"""What a tree of boxes costs when it is grown privately: by noisy measurements, or by noisy tests.

A measurement counts the records of each box, and of each cell of each attribute within its box, with two-sided geometric
noise on the whole numbers. A record stands in one box, and in one cell of each attribute: adding it moves one count by one
and, for each attribute, one cell by one (theorem `surveyed-tree`).

A node with count c, above which t nodes were tested, is split if max(c, T_t − clamp) + X > T_t, where X is a whole number
with Pr[X = x] proportional to exp(−|x|/scale), and the thresholds T_0 ≤ T_1 ≤ … never fall (theorem `privtree-geometric`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor

from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.rounding import decimal, precise


@dataclass(frozen=True)
class MeasurementBudget:
    """The epsilons of one noisy measurement: of the boxes' counts, and of each attribute's histogram."""

    count: Fraction
    histogram: Fraction
    attributes: int

    def __post_init__(self) -> None:
        if self.count <= 0 or self.histogram <= 0 or self.attributes < 1:
            raise PreconditionError(
                "surveyed-tree",
                "a measurement without noise has no finite epsilon",
                came=f"{float(self.count):g} for counts, {float(self.histogram):g} for each of {self.attributes} histograms",
                allowed="every epsilon above 0",
            )

    @property
    def epsilon(self) -> Fraction:
        """What the measurement costs when one record is added or removed."""
        return self.count + self.attributes * self.histogram


def measurement_budgets(
    epsilon: Fraction, attributes: int, shares: Sequence[Fraction], counts: Fraction | Sequence[Fraction]
) -> tuple[MeasurementBudget, ...]:
    """Divide epsilon between measurements by `shares`, and each between its counts and its histograms.

    `counts` is the part of a measurement that its counts take: one for all, or one for each.
    """
    parts = (counts,) * len(shares) if isinstance(counts, Fraction) else tuple(counts)
    if sum(shares, Fraction(0)) > 1 or any(share <= 0 for share in shares):
        raise PreconditionError(
            "surveyed-tree", "the measurements' shares exceed the whole", came=", ".join(str(float(s)) for s in shares)
        )
    if len(parts) != len(shares) or any(not 0 < part < 1 for part in parts):
        raise PreconditionError(
            "surveyed-tree",
            "a measurement's share is divided between its counts and its histograms",
            came=", ".join(str(float(part)) for part in parts),
            allowed="a part above 0 and below 1 for each measurement",
        )
    return tuple(
        MeasurementBudget(epsilon * share * part, epsilon * share * (1 - part) / attributes, attributes)
        for share, part in zip(shares, parts, strict=True)
    )


def epsilon_of_measurements(measurements: Sequence[MeasurementBudget]) -> Fraction:
    """What all measurements cost together, each of a partition that the answers before it may have shaped."""
    return sum((one.epsilon for one in measurements), Fraction(0))


NAME = "privtree-geometric"
GRID = 1000
"""Scales are looked for among whole thousandths, so that the noise has a short name and is drawn quickly."""
NEARBY = 16
"""So many smaller clamps are tried."""
PLACES = 12
"""A loss is rounded up to so many decimal places."""
_SLACK = Decimal(10) ** -40
"""Covers every intermediate rounding: 70 digits, numbers below 10^7, and some thousand sums."""


@dataclass(frozen=True)
class SplitTest:
    """The test at the nodes of a tree: its noise, how much the threshold rises with each test, the clamp, how many tests."""

    scale: Fraction
    rise: int
    clamp: int
    depth: int

    def __post_init__(self) -> None:
        _check(self.scale, self.clamp)
        if self.rise < 0 or self.depth < 1:
            raise ParameterError(
                "a tree's thresholds",
                came=f"a rise of {self.rise}, {self.depth} tests",
                allowed="a rise from 0 up, a test or more",
            )

    def thresholds(self, theta: int) -> tuple[int, ...]:
        """The threshold of the first test, the second, …: theta, and `rise` more each time."""
        return tuple(theta + t * self.rise for t in range(self.depth))

    @property
    def loss(self) -> Fraction:
        """The worst loss along a path, whatever theta is; from theta = clamp on no less will do."""
        return path_loss(self.scale, self.thresholds(self.clamp), self.clamp)

    def check_empty(self, theta: int, fan_out: int) -> None:
        """Refuse a test with which the tree would grow where nobody is."""
        with precise():
            chance = decimal_chance(-min(self.clamp, theta), self.scale)
            if fan_out * chance >= 1:
                raise PreconditionError(
                    NAME,
                    f"a box that holds nobody is split with probability {chance:.3f} into {fan_out} parts, so the tree "
                    "grows without records",
                    came=f"a clamp of {min(self.clamp, theta)} at a scale of {float(self.scale):g}",
                    allowed="a clamp at which an empty box has less than one part on average",
                    fix="raise release.recoding.tree.epsilon, or use grow: surveys",
                )


def decimal_chance(excess: int, scale: Fraction) -> Decimal:
    """Pr[excess + X > 0], in the current context's digits."""
    q = (-1 / decimal(scale)).exp()
    return q ** (1 - excess) / (1 + q) if excess <= 0 else 1 - q**excess / (1 + q)


def path_loss(scale: Fraction, thresholds: Sequence[int], clamp: int) -> Fraction:
    """The largest log-ratio of the probabilities of any tree when one record is added or removed; rounded up.

    Along a path counts do not grow and thresholds do not fall, and a test's loss falls with the excess of the count over
    the threshold down to the clamp and is 0 below it. So the worst path has one count throughout, at the clamp of its last
    test: one candidate for each threshold.
    """
    _check(scale, clamp)
    if any(later < earlier for earlier, later in pairwise(thresholds)):
        raise PreconditionError(NAME, "a threshold falls with the depth", allowed="thresholds that never fall")
    if not thresholds:
        return Fraction(0)
    with precise():
        gains: dict[int, Decimal] = {}
        worst = 1 / decimal(scale)  # a box that is not split, when the record is taken away
        for count in {max(0, threshold - clamp) for threshold in thresholds}:
            total = Decimal(0)
            for threshold in thresholds:
                if (excess := count - threshold) < -clamp:
                    break
                if excess not in gains:
                    gains[excess] = gain(excess, scale)
                total += gains[excess]
            worst = max(worst, total)
        return Fraction(ceil(Fraction(worst + _SLACK) * 10**PLACES), 10**PLACES)


def gain(excess: int, scale: Fraction) -> Decimal:
    """ln Pr[excess + 1 + X > 0] / Pr[excess + X > 0], for an excess that is not clamped."""
    step = 1 / decimal(scale)
    if excess <= 0:
        return step
    q = (-step).exp()
    power = q**excess
    return ((1 + q - q * power) / (1 + q - power)).ln()


@lru_cache(maxsize=256)
def calibrate_split_test(epsilon: Fraction, y: Fraction, depth: int, clamp: Fraction | None = None) -> SplitTest:
    """The test with the least noise whose worst path loss is at most epsilon.

    The threshold rises by `y` scales with each test and the clamp lies `clamp` scales below it (without a word: `y`, as
    published), both rounded up. The scale is found by bisection on thousandths. Rounding the clamp up makes the loss jump,
    so scales of the next smaller clamps are tried too. That the loss of the test returned is at most epsilon is computed.
    """
    if epsilon <= 0 or y < 0 or depth < 1 or (clamp is not None and clamp < 0):
        raise ParameterError(
            "the tests of a tree cannot be set",
            came=f"epsilon {float(epsilon):g}, y {float(y):g}, depth {depth}",
            allowed="epsilon above 0, y and clamp from 0 up, a depth of 1 or more",
        )

    below = y if clamp is None else clamp

    def test(steps: int) -> SplitTest:
        scale = Fraction(steps, GRID)
        return SplitTest(scale, ceil(y * scale), ceil(below * scale), depth)

    def least(low: int, high: int) -> int:
        """The least scale above `low` that keeps epsilon, if the loss falls from there to `high`, which keeps it."""
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if test(middle).loss <= epsilon else (middle, high)
        return high

    # One test loses 1/scale, and none loses more: the answer lies between 1/epsilon and depth/epsilon.
    floor_, high = ceil(GRID / epsilon) - 1, ceil(GRID * depth / epsilon)
    while test(high).loss > epsilon:  # the loss is rounded up, which may cost one thousandth
        high += 1
    high = least(floor_, high)
    first = test(high).clamp
    for smaller in range(first - 1, max(0, first - NEARBY), -1):
        top = floor(GRID * smaller / below)
        if floor_ < top < high and test(top).loss <= epsilon:
            high = least(max(floor_, floor(GRID * (smaller - 1) / below)), top)
    return test(high)


def published_split_test(epsilon: Fraction, y: Fraction, depth: int) -> SplitTest:
    """The test as PrivTree sets it: scale (2e^y − 1)/((e^y − 1) epsilon), rise and clamp y scales, both rounded up."""
    if epsilon <= 0 or y <= 0:
        raise ParameterError(
            "PrivTree's scale", came=f"epsilon {float(epsilon):g}, y {float(y):g}", allowed="both above 0"
        )
    with precise():
        e = decimal(y).exp()
        exact = (2 * e - 1) / ((e - 1) * decimal(epsilon))
        scale = Fraction(ceil(exact * GRID), GRID)
    return SplitTest(scale, ceil(y * scale), ceil(y * scale), depth)


def _check(scale: Fraction, clamp: int) -> None:
    if scale <= 0:
        raise PreconditionError(NAME, "a test without noise has no price", came=scale, allowed="a scale above 0")
    if clamp < 0:
        raise PreconditionError(NAME, "the clamp lies above the threshold", came=clamp, allowed="0 or more")
