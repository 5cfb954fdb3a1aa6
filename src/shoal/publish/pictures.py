"""Pictures of a promise: its curve, and the frontier of other choices with the same promise."""

from __future__ import annotations

from shoal.guarantee import safe_k
from shoal.guarantee.outlook import Choice
from shoal.guarantee.promise import Promise, published
from shoal.guarantee.rounding import exact
from shoal.page.picture import Axis, Level, Mark, Picture, Region, Series


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
