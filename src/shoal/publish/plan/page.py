"""The page of a plan: what a policy promises, its curve, other choices with the same promise, and what it rests on.

No row has been read for it, so it can be printed, reviewed and signed before the data are touched.
"""

from __future__ import annotations

from typing import Any

from shoal import __version__
from shoal.guarantee.rounding import text_down
from shoal.guarantee.safe_k.frontier import FrontierPoint, frontier
from shoal.guarantee.theorem import theorem
from shoal.page import html
from shoal.publish.certificate.safe_k import NOT_PROMISED
from shoal.publish.plan.base import Plan
from shoal.publish.plan.counted import NOT_PROMISED as COUNTED_NOT_PROMISED
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.report.pictures import curve_picture, frontier_picture

ELSEWHERE = (
    "It does not cover other publications about the same people; the ledger adds up those that were charged to it."
)
"""Instead of the certificate's sentence, which points to a list of charges that a plan does not have."""
MOST_VIEWS = 300
"""Views that the page lists."""


def plan_page(
    plan: Plan, *, data: str = "DATA", policy: str | None = None, choices: list[FrontierPoint] | None = None
) -> str:
    """The page as script-free HTML; `data` and `policy` are the files that its last line names.

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
        "theorems": [_theorem(each) for each in plan.claims[0].theorems],
        "cautions": _not_said(plan),
        "command": f"shoal release {name} {data} --out FOLDER",
        "footer": f"Written by Shoal {__version__}. Costs are rounded up and allowances down, so no number here flatters.",
        "views": [],
        "curve": None,
        "frontier": None,
        **(_of_paid(plan, choices) if isinstance(plan, SafeKPlan) else {}),
    }
    return html.page("plan", fields)


def _of_paid(plan: SafeKPlan, choices: list[FrontierPoint] | None) -> dict[str, Any]:
    """The curve of the whole release; for one table also other choices of k and beta."""
    curve = curve_picture(plan.curve)
    found: dict[str, Any] = {
        "curve": html.inline(curve, "curve"),
        "curve_caption": curve.caption,
        "about_curve": "A release does not have one epsilon. For every epsilon there is the delta that goes with it, and all of "
        f"them hold at once, for everything that is published and for {plan.unit.words()}.",
    }
    if plan.views:
        listed = plan.views[:MOST_VIEWS] if plan.chooser is None else ()
        rows = [(" × ".join(view.columns), view.method.promise) for view in listed]
        return {**found, "views": [(columns, str(own.k), text_down(own.beta)) for columns, own in rows]}
    if plan.method.drawn_before or plan.repeat > 1:
        return found  # other choices of one sample would not be other choices of this release
    choices = frontier(plan.promise, lambda: None) if choices is None else choices
    picture = frontier_picture(plan.promise, choices)
    return {
        **found,
        "frontier": html.inline(picture, "frontier"),
        "frontier_caption": picture.caption,
        "about_frontier": "Each line keeps the same epsilon and delta. A larger sample needs larger groups; k / beta is about "
        "how many rows of the whole table must share a description before it is shown.",
        "frontier_head": ("k", "beta at most", "k / beta", "means"),
        "frontier_rows": [(str(c.k), text_down(c.beta), f"{c.class_size:.0f}", c.meaning) for c in choices],
        "chosen": str(plan.promise.k),
    }


def _not_said(plan: Plan) -> list[str]:
    if isinstance(plan, SyntacticPlan):
        return list(COUNTED_NOT_PROMISED[plan.method.name])
    unit = plan.unit
    limited = (
        f"At most {unit.max_rows} row{'s' * (unit.max_rows > 1)} of each {unit.name}, drawn at random, take part: the promise "
        "is to all of them together, not to a row."
    )
    said = [ELSEWHERE if "other publications" in text else text for text in NOT_PROMISED]
    return [*([limited] if unit.whose == "person" else []), *said]


def _theorem(name: str) -> dict[str, Any]:
    known = theorem(name)
    return {
        "name": known.name,
        "statement": known.statement,
        "source": known.source,
        "premises": [premise.text for premise in known.premises],
    }
