"""Pictures of a promise: its curve, and the frontier of other choices with the same promise."""

from __future__ import annotations

from fractions import Fraction

from shoal.guarantee.rounding import exact, text_up
from shoal.guarantee.safe_k import curve as safe_k
from shoal.guarantee.safe_k.frontier import FrontierPoint, ReleaseCurve
from shoal.guarantee.safe_k.setting import Setting, published_delta
from shoal.page.picture import Axis, Level, Mark, Picture, Region, Series


def curve_picture(curve: ReleaseCurve) -> Picture:
    """delta of a whole release against epsilon, for its unit: what is promised lies on the curve or above it.

    For one sample the published bound stands beside it where it speaks; for a unit of several steps, one row's curve.
    """
    own, sample = curve.total.epsilon, curve.samples[0]
    top = max(3.0, 2 * float(own))
    one, step = curve.is_one_sample, sample.unit.is_one_step
    fine = _grid(top, 360 if one and step else 120 if not one else 24)
    whole = [(float(e), float(d)) for e in sorted({*fine, own}) if (d := curve.delta_at(e)) < 1]
    series = [Series("this release", [e for e, _ in whole], [d for _, d in whole], colour=0)]
    spoken: list[tuple[float, float]] = []
    if one and step:
        shifted = [(e, published_delta(sample.k, sample.beta, e - curve.paid)) for e in fine if e >= curve.paid]
        spoken = [(float(e), d) for e, d in shifted if d is not None]
    elif one:
        alone = [(float(e), safe_k.delta_tight(sample.k, sample.beta, e - curve.paid)) for e in fine if e >= curve.paid]
        series.append(Series("one row alone", [e for e, _ in alone], [d for _, d in alone], colour=2, dashed=True))
    if spoken:
        series.append(Series("published bound", [e for e, _ in spoken], [d for _, d in spoken], colour=1))
    silent = spoken[0][0] if spoken else 0.0
    floor = float(sample.floor)
    low = min(y for line in series for y in line.y)
    return Picture(
        title=_title(curve),
        x=Axis("epsilon of the whole release (log of the largest ratio)", limits=(0, top)),
        y=Axis(
            "delta (what is added after the ratio)", log=True, limits=(min(low, floor) / 30 if one else low / 30, 1.5)
        ),
        series=series,
        marks=[Mark(float(own), float(curve.total.delta), "promised", right=not step, above=not step)],
        levels=[Level(floor, "floor: beta to the power k")] if one else [],
        regions=[Region(0, silent, "published theorem silent")] if silent > 0.06 * top else [],
        caption=_caption(curve, spoken=bool(spoken)),
    )


def _grid(top: float, steps: int) -> list[Fraction]:
    return [exact(round(top * i / steps, 6)) for i in range(steps + 1)]


def _title(curve: ReleaseCurve) -> str:
    sample, count = curve.samples[0], len(curve.samples)
    if count > 1:
        return f"What all {count:,} tables together promise"
    return f"What a crowd of {sample.k} behind a sample of {float(sample.beta):.4g} promises"


def _caption(curve: ReleaseCurve, *, spoken: bool) -> str:
    """What the curve is of, for whom, and how sharp it is."""
    sample, count = curve.samples[0], len(curve.samples)
    of = "the table" if count == 1 else f"all {count:,} tables together"
    share = (
        f", with the {text_up(curve.paid)} that were spent on choices before a sample was drawn," if curve.paid else ""
    )
    found = [f"Lower is better. delta of {of}{share} for {sample.unit.words()}."]
    if count == 1 and sample.unit.is_one_step and not curve.paid:
        found.append("The curve is exact: no smaller delta holds.")
    if spoken:
        found.append(
            "The published bound (LQS11 Theorem 5) bounds the probability of a bad outcome, which is more than the promise "
            "needs."
        )
    if count == 1 and not sample.unit.is_one_step:
        found.append("The dashed curve is of one row added or removed, and promises nothing to the unit.")
    return " ".join(found)


def frontier_picture(plan: Setting, choices: list[FrontierPoint]) -> Picture:
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
        caption="Every point keeps the epsilon and delta of this table. To the right: more rows, in larger groups. Detail is "
        f"finest where k / beta is smallest (k = {finest.k}); smaller crowds than that cost rows and win nothing.",
    )
