"""The certificate: what was promised, on what grounds, and how a stranger checks it.

It holds nothing derived from the data that was not paid for: no counts, no hash of the input, no timings.
Every number is exact text. The seal covers all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shoal.guarantee.compose import compose
from shoal.guarantee.rounding import exact, exact_text, text_up
from shoal.guarantee.safe_k.curve import delta_exactly
from shoal.guarantee.safe_k.frontier import ReleaseCurve
from shoal.guarantee.safe_k.setting import Setting
from shoal.ledger.state import Account
from shoal.publish.certificate.opening import opening, sealed, theorem_entry
from shoal.publish.certificate.premises import safe_k_answers
from shoal.publish.plan.safe_k import SafeKPlan

DIGITS = 8
"""Significant digits of a printed delta, rounded up."""

NOT_PROMISED = (
    "It does not say that nobody can learn anything about a person: what is true of many people can be learned from their data.",
    "It does not hold against somebody who sees which rows were sampled, the program's memory, or its key while it runs.",
    "It does not cover other publications about the same people, unless they are in the list of releases below.",
    "It does not say that nobody looked at results on the real data while the plan was made: only the holder can know that.",
    "It does not cover what a failed run shows: a table that does not fit its policy is refused, for its holder to see.",
    "It does not promise that the table is accurate: rows were left out at random, labels are coarse, and small groups are gone.",
)


def certificate(
    plan: SafeKPlan, files: Mapping[str, str], tables: list[dict[str, Any]], account: Account, date: str
) -> dict[str, Any]:
    """The certificate of a release that has been charged and written; `account` includes its charge."""
    first, answers = plan.claims[0], safe_k_answers(plan)
    content: dict[str, Any] = {
        **opening(plan, date),
        "guarantee": {
            "kind": first.guarantee.kind,
            "epsilon": exact_text(plan.total.epsilon),
            "delta": exact_text(plan.total.delta),
            "epsilon_recoding": exact_text(plan.promise.epsilon_recoding),
            "neighbours": plan.policy.neighbours,
            "unit": plan.method.unit.to_saved(),
            "status": first.status.value,
        },
        "method": "safe-k",
        "bound": plan.promise.bound,
        "basic": len(plan.promises) == 1,
        **({"choice": plan.method.partition.to_json()} if plan.promise.epsilon_recoding and not plan.views else {}),
        **({"views": _views(plan)} if plan.views else {}),
        "parts": [_part(promise, times) for promise, times in plan.distinct],
        "curve": curve_points(plan.curve),
        "theorems": [theorem_entry(name, answers) for name in first.theorems],
        "not_promised": list(NOT_PROMISED),
        "recoding": {
            table["columns"][i]: name for table in tables for i, name in enumerate(table["recoding"].values())
        },
        "tables": tables,
        "ledger": _ledger(account),
    }
    return sealed(content, plan, files)


def _views(plan: SafeKPlan) -> dict[str, Any]:
    """What only a release of views has: how many, who chose them, and what they compose to beside the sum."""
    composed = compose(plan.parts)
    chooser = plan.chooser
    return {
        "index": "views.json",
        "count": len(plan.views),
        "chosen": None
        if chooser is None
        else {"epsilon": exact_text(chooser.epsilon), "of": len(chooser.candidates), "steps": chooser.steps},
        "composed": text_up(exact(composed.epsilon_at(plan.total.delta)), DIGITS),
        "basic": text_up(exact(composed.basic_epsilon(plan.total.delta)), DIGITS),
    }


def curve_points(curve: ReleaseCurve) -> list[dict[str, Any]]:
    """delta of everything that is published, at some epsilons, for the unit; each rounded up, but never above the promise."""
    return [
        {
            "epsilon": exact_text(point.epsilon),
            "delta": exact_text(min(exact(text_up(point.delta, DIGITS)), _ceiling(curve, point.epsilon))),
            "split": [exact_text(share) for share in point.split] or None,
        }
        for point in curve.points()
    ]


def _ceiling(curve: ReleaseCurve, epsilon: Fraction) -> Fraction:
    return curve.total.delta if epsilon >= curve.total.epsilon else Fraction(1)


def _part(numbers: Setting, times: int) -> dict[str, Any]:
    tight = delta_exactly(numbers.k, numbers.beta, numbers.epsilon_release)
    chain = numbers.chain
    unit = tight if chain is None else exact(chain.delta)
    published = numbers.delta_published
    return {
        "k": numbers.k,
        "beta": exact_text(numbers.beta),
        "epsilon": exact_text(numbers.epsilon_release),
        "delta": exact_text(numbers.delta),
        "delta_tight": text_up(tight, DIGITS),
        "delta_published": None if published is None else text_up(numbers.delta_under("published"), DIGITS),
        "delta_unit": text_up(unit, DIGITS),
        "times": times,
        "split": None if chain is None else [exact_text(share) for share in chain.split],
    }


def _ledger(account: Account) -> dict[str, Any]:
    entries = [{**cost.to_saved(), "number": number} for number, cost in enumerate(account.costs, 1)]
    composed = account.total()
    return {
        "entries": entries,
        "total": {
            "epsilon": exact_text(sum((cost.epsilon for cost in account.costs), start=exact(0))),
            "delta": exact_text(sum((cost.delta for cost in account.costs), start=exact(0))),
        },
        "composed_epsilon": None if composed is None else text_up(composed, DIGITS),
        "budget": account.budget.to_saved() if account.budget else None,
        "unbounded_releases": account.unbounded,
    }
