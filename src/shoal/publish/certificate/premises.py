"""How a plan that pays for differential privacy meets each premise of each theorem that it cites.

A premise that no plan answers for is an error, not a default: a certificate never says that something was checked because
nobody said otherwise. What only the custodian can know is said by the custodian, and the certificate says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoal.guarantee.theorem import PremiseAnswer, PremiseStatus
from shoal.publish.plan.safe_k import SafeKPlan

LOCKED = "in the locked plan, which was charged before a row was drawn"
UNSEEN = "that they were fixed without a look at the data, only the custodian can know"
DRAFTED = "parts of the policy were drafted from the data and nobody has confirmed them: for those it is not met"


def checked(detail: str) -> PremiseAnswer:
    """A line of the program raises where it is not met, and that line ran."""
    return PremiseAnswer(PremiseStatus.CHECKED, detail)


def built(detail: str) -> PremiseAnswer:
    """The program makes it so."""
    return PremiseAnswer(PremiseStatus.BUILT, detail)


def stated(detail: str) -> PremiseAnswer:
    """Only the custodian can know."""
    return PremiseAnswer(PremiseStatus.STATED, detail)


CHECKED_WHEN_PLANNING = {
    "crowd-size": "k, when planning",
    "sampling-rate": "beta, when planning",
    "epsilon": "epsilon, when planning",
    "published-epsilon": "epsilon and beta, when planning",
    "smaller-rate": "the rate of the separate sample, when planning",
    "reliable-delta": "the promised delta, when planning; below that the parts are added up",
    "rows-of-unit": "the most rows of a unit, when planning; of each unit at most so many rows take part",
    "survey-epsilons": "every share of epsilon, when planning",
    "survey-shares": "the sum of all shares, when planning",
    "score-range": "k and beta, when planning",
    "discernibility-range": "k and beta, when planning",
    "target-level": "the levels of the target, when planning",
}
"""What a line of the program looked at for every plan."""

FIXED_WITHOUT_DATA = {
    "cells-fixed": "domains, hierarchies, weights, k and beta",
    "candidates-fixed": "the candidates and how many are chosen",
    "schemes-fixed": "domains, hierarchies, weights and the range of levels",
}
"""What has to be fixed without the data: it is in the locked plan, and who fixed it how is known to the custodian alone."""


def safe_k_answers(plan: SafeKPlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    unseen = DRAFTED if plan.is_tuned else UNSEEN
    return {
        **{key: checked(detail) for key, detail in CHECKED_WHEN_PLANNING.items()},
        **{key: stated(f"{what} are {LOCKED}; {unseen}") for key, what in FIXED_WITHOUT_DATA.items()},
        **_recoding(plan, unseen),
        **_samples(plan),
        "parts-fixed": built(f"the number of releases or views is {LOCKED}"),
    }


def _recoding(plan: SafeKPlan, unseen: str) -> Mapping[str, PremiseAnswer]:
    if not plan.promise.epsilon_recoding:
        fixed = stated(f"the levels, the hierarchies and the domains are {LOCKED}; {unseen}")
        return {"recoding-fixed": fixed}
    rate = plan.method.partition.rate
    of = "the whole table" if rate == 1 else "a separate sample of the table"
    return {
        "recoding-fixed": built(
            f"it was settled on {of} for its own epsilon before the sample was drawn; given the recoding, the sample decides "
            "alone (theorem eps-safe-recoding)"
        ),
        "recoding-apart": built(
            f"it was settled on {of} with a key of its own, which was destroyed before the sample's key was made"
        ),
    }


def _samples(plan: SafeKPlan) -> Mapping[str, PremiseAnswer]:
    if plan.method.drawn_before:
        return {
            "own-sample": stated(
                "the table itself is the sample; the ledger refuses every other use that it recognizes"
            ),
            "fresh-samples": stated("the table itself is the sample"),
        }
    if plan.views:
        key = "a key of its own for each view, derived from a new one of the operating system and destroyed with it"
    else:
        key = "a new key from the operating system for each release, destroyed afterwards"
    return {"own-sample": built(key), "fresh-samples": built(key)}
