"""The page of a plan, to be printed, reviewed and signed before the data are touched, and the pictures of a promise.

The pictures are the curve of delta against epsilon, and the frontier of other choices of k and beta with the same promise.
"""

from __future__ import annotations

import math
import shlex
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shoal import __version__
from shoal.guarantee.rounding import exact, text_down, text_near, text_up
from shoal.guarantee.safe_k import curve as safe_k
from shoal.guarantee.safe_k.frontier import FrontierPoint, ReleaseCurve, frontier
from shoal.guarantee.safe_k.setting import Setting, published_delta
from shoal.guarantee.theorem import theorem
from shoal.page import html
from shoal.page.picture import Mark, Picture, PlotAxis, ReferenceLine, Series, ShadedRegion
from shoal.publish.plan.base import Plan

if TYPE_CHECKING:
    from shoal.publish.plan.safe_k import SafeKPlan

ELSEWHERE = (
    "It does not cover other publications about the same people; the ledger adds up those that were charged to it."
)
"""Instead of the certificate's sentence, which points to a list of charges that a plan does not have."""


SMALLEST = 1e-300
"""A delta below this is not drawn: it is next to nothing, and numbers of a picture end there."""
LARGE_K = 5000
"""From this k on a point of the curve takes a tenth of a second, and fewer are drawn."""


def plan_page(
    plan: Plan, *, data: str = "DATA", policy: str | None = None, choices: list[FrontierPoint] | None = None
) -> str:
    """A plan as a page of HTML without scripts; `data` and `policy` are the files that its last line names.

    `choices` are those of `frontier`, where somebody has solved for them already.
    """
    name = policy or plan.policy.file
    fields: dict[str, Any] = {
        "title": "A promise made before any row is read",
        "dataset": plan.policy.dataset,
        "lead": f"Dataset {plan.policy.dataset}, plan {plan.lock.sha256[:16]}: what will be published, and what is promised.",
        "sentences": plan.sentences(),
        "numbers": plan.facts(),
        "recoding": plan.recoding_words(),
        "theorems": [_theorem(each) for each in plan.theorems],
        "cautions": list(plan.not_promised),
        "command": f"shoal release {shlex.quote(str(name))} {shlex.quote(str(data))} --out FOLDER",
        "footer": f"Written by Shoal {__version__}. Costs are rounded up and allowances down, so no number here flatters.",
        "views": [],
        "view_kind": "views",
        "view_head": ("columns", "k", "beta"),
        "curve": None,
        "frontier": None,
        **plan.page_fields(choices),
    }
    return html.page("plan", fields)


def curve_fields(plan: SafeKPlan) -> dict[str, Any]:
    """The curve of everything that is published, and what it does not say."""
    curve, unit = curve_picture(plan.curve), plan.unit
    limited = (
        f"At most {unit.max_rows} row{'s' * (unit.max_rows > 1)} of each {unit.name}, drawn at random, take part: the promise "
        "is to all of them together, not to a row."
    )
    said = [ELSEWHERE if "other publications" in text else text for text in plan.not_promised]
    return {
        "cautions": [*([limited] if unit.whose == "person" else []), *said],
        "curve": html.inline_once(curve, "curve"),
        "curve_caption": curve.caption,
        "about_curve": "A release does not have one epsilon. For every epsilon there is the delta that goes with it, and all of "
        f"them hold at once, for everything that is published and for {plan.unit.words()}.",
    }


def frontier_fields(promise: Setting, choices: list[FrontierPoint] | None) -> dict[str, Any]:
    """Other choices of k and beta that keep the promise of one table."""
    choices = frontier(promise, lambda: None) if choices is None else choices
    picture = frontier_picture(promise, choices)
    return {
        "frontier": html.inline_once(picture, "frontier"),
        "frontier_caption": picture.caption,
        "about_frontier": "Each line keeps the same epsilon and delta. A larger sample needs larger classes; k / beta is about "
        "how many rows of the whole table must share a description before it is shown.",
        "frontier_head": ("k", "beta at most", "k / beta", "means"),
        "frontier_rows": [(str(c.k), text_down(c.beta), f"{c.class_size:.0f}", c.meaning) for c in choices],
        "chosen": str(promise.k),
    }


def _theorem(name: str) -> dict[str, Any]:
    known = theorem(name)
    return {
        "name": known.name,
        "statement": known.statement,
        "source": known.citation,
        "premises": [premise.text for premise in known.premises],
    }


# --- pictures -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def curve_picture(curve: ReleaseCurve) -> Picture:
    """delta of a whole release against epsilon, for its unit: what is promised lies on the curve or above it.

    For one sample the published bound stands beside it where it speaks; for a unit of several steps, one row's curve.
    """
    own, sample = curve.total.epsilon, curve.samples[0]
    top = max(3.0, 2 * float(own))
    one, step = curve.is_one_sample, sample.unit.is_one_step
    fine = _grid(top, (360 if sample.k < LARGE_K else 24) if one and step else 120 if not one else 24)
    whole = [(float(e), float(d)) for e in sorted({*fine, own}) if SMALLEST <= (d := curve.delta_at(e)) < 1]
    series = [Series("this release", [e for e, _ in whole], [d for _, d in whole], colour=0)]
    spoken: list[tuple[float, float]] = []
    if one and step:
        shifted = [(e, published_delta(sample.k, sample.beta, e - curve.paid)) for e in fine if e >= curve.paid]
        spoken = [(float(e), d) for e, d in shifted if d is not None and d >= SMALLEST]
    elif one:
        tight = [(float(e), safe_k.delta_tight(sample.k, sample.beta, e - curve.paid)) for e in fine if e >= curve.paid]
        alone = [(e, d) for e, d in tight if d >= SMALLEST]
        series.append(Series("one row alone", [e for e, _ in alone], [d for _, d in alone], colour=2, dashed=True))
    if spoken:
        series.append(Series("published bound", [e for e, _ in spoken], [d for _, d in spoken], colour=1))
    silent = spoken[0][0] if spoken else 0.0
    log_floor = sample.k * math.log(sample.beta)
    floor = float(sample.floor) if log_floor > math.log(SMALLEST) else None
    low = min(y for line in series for y in [*line.y, *([] if floor is None or not one else [floor]), 1.0])
    return Picture(
        title=_title(curve),
        x=PlotAxis("epsilon of the whole release (log of the largest ratio)", limits=(0, top)),
        y=PlotAxis("delta (what is added after the ratio)", log=True, limits=(low / 30, 1.5)),
        series=series,
        marks=[Mark(float(own), float(curve.total.delta), "promised", right=not step, above=not step)],
        levels=[ReferenceLine(floor, "floor: beta to the power k")] if one and floor is not None else [],
        regions=[ShadedRegion(0, silent, "published theorem silent")] if silent > 0.06 * top else [],
        caption=_caption(curve, spoken=bool(spoken)),
    )


def _grid(top: float, steps: int) -> list[Fraction]:
    return [exact(round(top * i / steps, 6)) for i in range(steps + 1)]


def _title(curve: ReleaseCurve) -> str:
    sample, count = curve.samples[0], len(curve.samples)
    if count > 1:
        return f"What all {count:,} tables together promise"
    return f"What k = {sample.k} and a sampling rate of {text_near(sample.beta, 4)} promise"


def _caption(curve: ReleaseCurve, *, spoken: bool) -> str:
    """The caption of a curve: which tables it is of, for which unit, and whether it is exact."""
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
    """The largest sampling rate that keeps the promise, for each k; the plan's own k is marked."""
    chosen = min(choices, key=lambda choice: abs(choice.k - plan.k))
    finest = next(choice for choice in choices if choice.meaning == "finest detail")
    marks = [Mark(chosen.k, float(plan.beta), f"this plan: k = {plan.k}")]
    if finest.k != plan.k:
        marks.append(Mark(finest.k, float(finest.beta), f"finest detail: k = {finest.k}"))
    return Picture(
        title="The same promise, other choices",
        x=PlotAxis("k, the smallest class that is shown", log=True),
        y=PlotAxis("beta, the share of rows sampled (at most)", limits=(0, 1)),
        series=[Series("", [c.k for c in choices], [float(c.beta) for c in choices], dots=True, named=False)],
        marks=marks,
        caption="Every point keeps the epsilon and delta of this table. To the right: more rows, in larger classes. Detail is "
        f"finest where k / beta is smallest (k = {finest.k}); a smaller k than that costs rows and wins nothing.",
    )
