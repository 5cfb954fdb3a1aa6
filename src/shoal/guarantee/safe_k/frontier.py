"""What a planner looks at around a promise: its curve, the frontier of other choices, and a choice by preference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import InfeasibleError, PreconditionError, UsageError
from shoal.guarantee.safe_k import curve as safe_k
from shoal.guarantee.safe_k.promise import Promise, Whose, promise, published

EPSILONS = tuple(Fraction(text) for text in ("0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4"))
CROWDS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500)
FEW_CROWDS = (5, 10, 15, 20, 30, 50, 100, 200)
"""For units whose delta takes a hundred evaluations instead of one."""

Tick = Callable[[], None]


@dataclass(frozen=True)
class Point:
    """One row of the curve."""

    epsilon: Fraction
    tight: float
    published: float | None
    unit: float


@dataclass(frozen=True)
class Choice:
    """One row of the frontier: a crowd, the largest rate that keeps the promise, and what it is good for."""

    k: int
    beta: Fraction
    meaning: str

    @property
    def crowd(self) -> float:
        """How many records of the whole table a group needs to be shown about half of the time: k / beta."""
        return float(self.k / self.beta)


def curve(plan: Promise, tick: Tick) -> list[Point]:
    """delta at round epsilons and at the plan's own."""
    points = []
    for epsilon in sorted({*EPSILONS, plan.epsilon_release}):
        tight = safe_k.delta_tight(plan.k, plan.beta, epsilon)
        unit = tight if plan.whose.is_one_step else plan.whose.delta(plan.k, plan.beta, epsilon)
        points.append(Point(epsilon, tight, published(plan.k, plan.beta, epsilon), unit))
        tick()
    return points


def crowds(whose: Whose) -> tuple[int, ...]:
    """The crowd sizes that a frontier tries."""
    return CROWDS if whose.is_one_step else FEW_CROWDS


def frontier(plan: Promise, tick: Tick) -> list[Choice]:
    """For each crowd size the largest rate at the plan's epsilon and delta, as long as it still grows."""
    found: list[tuple[int, Fraction]] = []
    for k in sorted({*crowds(plan.whose), plan.k}):
        try:
            setting = promise(
                epsilon=plan.epsilon, delta=plan.delta, k=k, beta=None,
                bound=plan.bound, recoding=plan.epsilon_recoding, whose=plan.whose,
            )  # fmt: skip
        except (InfeasibleError, PreconditionError):
            continue
        finally:
            tick()
        if not found or setting.beta > found[-1][1]:
            found.append((k, setting.beta))
    if not found:
        return []
    finest = min(found, key=lambda pair: pair[0] / pair[1])[0]
    return [Choice(k, beta, _meaning(k, finest, found[-1][0])) for k, beta in found]


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
SLACK = {"detail": Fraction(1), "balance": Fraction(5, 4), "rows": Fraction(2)}
"""How much larger than the finest a group may have to be, for the sake of a larger sample."""


def pick(*, epsilon: Fraction, delta: Fraction, recoding: Fraction, whose: Whose, bound: str, prefer: str) -> Promise:
    """k and beta for a promise, by preference and without data.

    A group of the whole table is shown about half of the time when it has k / beta members. `detail` takes the rate at
    which that is smallest; `balance` and `rows` take the largest rate at which it is at most 1.25 and 2 times that.
    """
    if prefer not in SLACK:
        raise UsageError("unknown preference", came=prefer, allowed=", ".join(SLACK))
    found, refusal = [], None
    for rate in RATES if whose.is_one_step else FEW_RATES:
        try:
            found.append(
                promise(epsilon=epsilon, delta=delta, k=None, beta=rate, bound=bound, recoding=recoding, whose=whose)
            )
        except (InfeasibleError, PreconditionError) as error:
            refusal = error
    if not found:
        raise refusal or InfeasibleError("no rate keeps this promise")
    least = min(plan.k / plan.beta for plan in found)
    return max((plan for plan in found if plan.k / plan.beta <= SLACK[prefer] * least), key=lambda plan: plan.beta)
