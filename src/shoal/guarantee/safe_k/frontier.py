"""What a planner looks at around a setting: its curve, the frontier of other settings, a choice by preference, and the curve
of a whole release.

The curve of a release that publishes one sample: what was paid in pure epsilon before it was drawn (the choice of views, of
the recoding) is taken off epsilon, and the sample's own delta for the unit at what is left is the delta of both together
(theorems `eps-safe-recoding`, `view-choice` and `basic-composition`; for several rows, or for replacing, with
`group-privacy` and `replace-one`). Of a release of several samples: what all parts compose to (theorem `pld-composition`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from shoal.errors import InfeasibleError, PreconditionError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.compose import Composition, compose
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.safe_k.curve import delta_exactly, delta_tight
from shoal.guarantee.safe_k.setting import (
    CLASS_SIZES,
    Setting,
    chain_for_unit,
    delta_for_unit,
    published_delta,
    solve,
)
from shoal.guarantee.unit import Unit

EPSILONS = tuple(Fraction(text) for text in ("0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4"))
"""The round epsilons of a setting's curve."""
FEW_CLASS_SIZES = (5, 10, 15, 20, 30, 50, 100, 200)
"""For units whose delta takes a hundred evaluations instead of one."""

Tick = Callable[[], None]


@dataclass(frozen=True)
class CurveRow:
    """delta at one epsilon: of the tight and the published bound for one row added or removed, and for the unit."""

    epsilon: Fraction
    tight: float
    published: float | None
    unit: float


@dataclass(frozen=True)
class FrontierPoint:
    """A minimum class size k, the largest sampling rate beta that keeps the promise with it, and what it is good for."""

    k: int
    beta: Fraction
    meaning: str

    @property
    def class_size(self) -> float:
        """k / beta: a class with so many records of the whole table, or more, is published with probability 1/2 or more.

        The median of the number of its sampled records is then at least k.
        """
        return float(self.k / self.beta)


def curve(setting: Setting, tick: Tick) -> list[CurveRow]:
    """delta at round epsilons and at the setting's own; `tick` is called after each."""
    rows = []
    for epsilon in sorted({*EPSILONS, setting.epsilon_release}):
        tight = delta_tight(setting.k, setting.beta, epsilon)
        unit = delta_for_unit(setting.unit, setting.k, setting.beta, epsilon)
        rows.append(CurveRow(epsilon, tight, published_delta(setting.k, setting.beta, epsilon), unit))
        tick()
    return rows


def class_sizes(unit: Unit) -> tuple[int, ...]:
    """The minimum class sizes that a frontier tries for a unit."""
    return CLASS_SIZES if unit.is_one_step else FEW_CLASS_SIZES


def frontier(setting: Setting, tick: Tick) -> list[FrontierPoint]:
    """For each class size the largest rate at the setting's epsilon and delta, as long as it still grows.

    >>> setting = solve(epsilon=1, delta="1e-6", beta="0.2")
    >>> [(point.k, point.meaning) for point in frontier(setting, lambda: None)][7:9]
    [(12, 'k = 15 is better in both'), (15, 'finest detail')]
    """
    found: list[tuple[int, Fraction]] = []
    for k in sorted({*class_sizes(setting.unit), setting.k}):
        beta = _largest_rate(setting, k)
        tick()
        if beta is not None and (not found or beta > found[-1][1]):
            found.append((k, beta))
    if not found:
        return []
    finest = min(found, key=lambda pair: pair[0] / pair[1])[0]
    return [FrontierPoint(k, beta, _meaning(k, finest, found[-1][0])) for k, beta in found]


@lru_cache(maxsize=1024)
def _largest_rate(setting: Setting, k: int) -> Fraction | None:
    """The largest rate at the setting's epsilon and delta for another class size; None where there is none."""
    try:
        found = solve(
            epsilon=setting.epsilon, delta=setting.delta, k=k,
            bound=setting.bound, epsilon_recoding=setting.epsilon_recoding, unit=setting.unit,
        )  # fmt: skip
    except (InfeasibleError, PreconditionError):
        return None
    return found.beta


def _meaning(k: int, finest: int, most: int) -> str:
    if k == finest:
        return "finest detail"
    if k < finest:
        return f"k = {finest} is better in both"
    return "most rows, coarsest detail" if k == most else "more rows, coarser detail"


RATES = tuple(
    Fraction(text) for text in ("0.02", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8")
)
FEW_RATES = tuple(Fraction(text) for text in ("0.05", "0.1", "0.2", "0.3", "0.5"))
COARSER = {"detail": Fraction(1), "balance": Fraction(5, 4), "rows": Fraction(2)}
"""How many times as large as the smallest possible k / beta may be, for the sake of a larger sample."""


def setting_by_preference(
    *, epsilon: Fraction, delta: Fraction, epsilon_recoding: Fraction, unit: Unit, bound: str, prefer: str
) -> Setting:
    """k and beta for a promise, by preference and without data.

    A class of k / beta records or more of the whole table is published with probability at least 1/2. `detail` takes the
    rate at which k / beta is smallest; `balance` and `rows` take the largest rate at which it is at most 1.25 and 2 times
    that.
    """
    if prefer not in COARSER:
        raise UsageError("unknown preference", came=prefer, allowed=", ".join(COARSER))
    found, refusal = [], None
    for rate in RATES if unit.is_one_step else FEW_RATES:
        try:
            found.append(
                solve(
                    epsilon=epsilon, delta=delta, beta=rate, bound=bound, epsilon_recoding=epsilon_recoding, unit=unit
                )
            )
        except (InfeasibleError, PreconditionError) as error:
            refusal = error
    if not found:
        raise refusal or InfeasibleError("no rate keeps this promise")
    least = min(one.k / one.beta for one in found)
    return max((one for one in found if one.k / one.beta <= COARSER[prefer] * least), key=lambda one: one.beta)


# --- the curve of a whole release ------------------------------------------------------------------------------------

RELEASE_EPSILONS = tuple(
    Fraction(text)
    for text in ("0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4", "6", "8", "10", "12", "16", "20")
)
"""The round epsilons at which a curve is printed, as far as they are not far above what is promised."""
FAR = 4
"""Epsilons above this, and above twice the promised one, are left out."""
SMALLEST_COMPOSED = Fraction(1, 10**10)
"""A composed delta below this is not printed: the arithmetic of distributions is not relied on there."""


@dataclass(frozen=True)
class CurvePoint:
    """One epsilon and its delta; for a unit of several steps, how epsilon is split over them (what was paid before left out)."""

    epsilon: Fraction
    delta: Fraction
    split: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class ReleaseCurve:
    """delta of a whole release at any epsilon, never below the truth.

    `samples` are the numbers of every table that is published, `paid` is the pure epsilon spent before they were drawn,
    `parts` is what the release was charged for, and `total` is what it promises.
    """

    samples: tuple[Setting, ...]
    paid: Fraction
    parts: tuple[tuple[Guarantee, int], ...]
    total: ApproxDP

    def __post_init__(self) -> None:
        if not self.samples:
            raise UsageError("a release publishes at least one table")

    @property
    def is_one_sample(self) -> bool:
        """Whether one table is published, so that nothing has to be composed but what was paid before it."""
        return len(self.samples) == 1

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """The smallest delta that is proved at epsilon; 1 where nothing is."""
        return self.point_at(epsilon).delta

    def point_at(self, epsilon: Fraction) -> CurvePoint:
        """The smallest delta that is proved at epsilon, with the split of epsilon that shows it."""
        found = self._one_sample_at(epsilon) if self.is_one_sample else self._all_samples_at(epsilon)
        if epsilon >= self.total.epsilon and found.delta > self.total.delta:
            return CurvePoint(epsilon, self.total.delta, found.split)  # what is promised holds from its own epsilon on
        return found

    def points(self) -> list[CurvePoint]:
        """Round epsilons and the promised one with their deltas, where there is something to say."""
        own = self.total.epsilon
        far = max(Fraction(FAR), 2 * own)
        found = [self.point_at(epsilon) for epsilon in sorted({*(e for e in RELEASE_EPSILONS if e <= far), own})]
        least = Fraction(0) if self.is_one_sample else SMALLEST_COMPOSED
        return [point for point in found if point.epsilon == own or least <= point.delta < 1]

    def _one_sample_at(self, epsilon: Fraction) -> CurvePoint:
        sample, left = self.samples[0], epsilon - self.paid
        if left < 0:
            return CurvePoint(epsilon, Fraction(1))
        if sample.unit.is_one_step:
            return CurvePoint(epsilon, delta_exactly(sample.k, sample.beta, left))
        chain = chain_for_unit(sample.unit, sample.k, sample.beta, left)
        return CurvePoint(epsilon, Fraction(chain.delta), chain.split)

    def _all_samples_at(self, epsilon: Fraction) -> CurvePoint:
        return CurvePoint(epsilon, min(Fraction(1), Fraction(self._composition.delta_at(epsilon))))

    @cached_property
    def _composition(self) -> Composition:
        return compose(self.parts)


def curve_of_setting(setting: Setting) -> ReleaseCurve:
    """The curve of a release of one table with these numbers."""
    total = ApproxDP(setting.epsilon, setting.delta)
    return ReleaseCurve((setting,), setting.epsilon_recoding, ((total, 1),), total)


def release_curve(
    samples: Sequence[Setting], paid: Fraction, parts: Sequence[tuple[Guarantee, int]], total: ApproxDP
) -> ReleaseCurve:
    """The curve of a release that publishes these samples after paying so much for what was chosen on the table."""
    return ReleaseCurve(tuple(samples), paid, tuple(parts), total)
