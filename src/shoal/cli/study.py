"""What a planner looks at around a promise: its curve, and the frontier of other choices with the same promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from shoal.cli.promise import Promise, Whose, promise, published
from shoal.errors import InfeasibleError, PreconditionError
from shoal.guarantee import safe_k
from shoal.guarantee.rounding import exact
from shoal.page.picture import Axis, Level, Mark, Picture, Region, Series

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


def curve_picture(plan: Promise) -> Picture:
    """delta against epsilon: the tight curve, the published bound where it speaks, and the plan."""
    top = max(3.0, 2 * float(plan.epsilon_release))
    grid = [exact(round(top * i / 360, 6)) for i in range(361)]
    tight = [safe_k.delta_tight(plan.k, plan.beta, e) for e in grid]
    spoken = [(float(e), d) for e in grid if (d := published(plan.k, plan.beta, e)) is not None]
    floor = float(plan.floor)
    series = [Series("tight", [float(e) for e in grid], tight, colour=0)]
    if spoken:
        series.append(Series("published", [e for e, _ in spoken], [d for _, d in spoken], colour=1))
    if not plan.whose.is_one_step:
        coarse = [exact(round(top * i / 24, 6)) for i in range(25)]
        unit = [plan.whose.delta(plan.k, plan.beta, e) for e in coarse]
        series.append(Series("this unit", [float(e) for e in coarse], unit, colour=2))
    alone = plan.whose.is_one_step
    silent = float(spoken[0][0]) if spoken else top
    low = min([floor, float(plan.delta), *tight])
    return Picture(
        title=f"What a crowd of {plan.k} behind a sample of {float(plan.beta):.4g} promises",
        x=Axis("epsilon of the release (log of the largest ratio)", limits=(0, top)),
        y=Axis("delta (what is added after the ratio)", log=True, limits=(low / 30, 1.5)),
        series=series,
        marks=[Mark(float(plan.epsilon_release), float(plan.delta), "this plan", right=not alone, above=not alone)],
        levels=[Level(floor, "floor: beta to the power k")],
        regions=[Region(0, silent, "published theorem silent")] if silent > 0.06 * top else [],
        caption="Lower is better. The tight curve is exact for one row added or removed: no smaller delta holds. The published "
        "bound (LQS11 Theorem 5) bounds the probability of a bad outcome, which is more than the promise needs.",
    )


def frontier_picture(plan: Promise, choices: list[Choice]) -> Picture:
    """The largest rate for each crowd size, and which of them is the plan's."""
    chosen = min(choices, key=lambda choice: abs(choice.k - plan.k))
    finest = next(choice for choice in choices if choice.meaning == "finest detail")
    marks = [Mark(chosen.k, float(plan.beta), f"this plan: k = {plan.k}")]
    if finest.k != plan.k:
        marks.append(Mark(finest.k, float(finest.beta), f"finest detail: k = {finest.k}"))
    return Picture(
        title="The same promise, other choices",
        x=Axis("k, the smallest group that is shown", log=True),
        y=Axis("beta, the share of rows sampled (at most)", limits=(0, 1)),
        series=[Series("", [c.k for c in choices], [float(c.beta) for c in choices], dots=True, named=False)],
        marks=marks,
        caption="Every point keeps the plan's epsilon and delta. To the right: more rows, in larger groups. Detail is finest "
        f"where k / beta is smallest (k = {finest.k}); smaller crowds than that cost rows and win nothing.",
    )
