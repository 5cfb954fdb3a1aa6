"""The certificate of a release that pays for differential privacy: what was promised, on what grounds, how a stranger checks it.

It holds nothing derived from the data that was not paid for: no counts, no hash of the input, no timings. Each premise of each
theorem that the plan cites has an answer of the plan, with no default: a certificate never says that something was checked
because nobody said otherwise. What only the custodian can know is said by the custodian, and the certificate says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from shoal.anonymize.generalize.base import Partition
from shoal.guarantee.claim import Tuning
from shoal.guarantee.compose import compose
from shoal.guarantee.rounding import certificate_text, exact, exact_text
from shoal.guarantee.safe_k.curve import delta_exactly
from shoal.guarantee.safe_k.frontier import ReleaseCurve
from shoal.guarantee.safe_k.setting import Setting
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.model import (
    ChargeEntry,
    CurvePointEntry,
    LedgerEntry,
    LookEntry,
    MeasurementEntry,
    NoisyTotalEntry,
    PromiseEntry,
    RecodingChoiceEntry,
    SafeKCertificate,
    SampleEntry,
    SchemeChoiceEntry,
    TableEntry,
    TotalEntry,
    TreeChoiceEntry,
    UnitEntry,
    ViewChoiceEntry,
    ViewsEntry,
)
from shoal.publish.certificate.seal import (
    by_construction,
    by_custodian,
    by_program,
    opening_fields,
    seal_certificate,
    treatment_answers,
)
from shoal.publish.plan.safe_k import SafeKPlan

DIGITS = 8
"""Significant digits of a printed delta, rounded up."""

NOT_PROMISED = (
    "It does not say that nobody can learn anything about a person: what is true of many people can be learned from their data.",
    "It does not hold against somebody who sees which rows were sampled, the program's memory, or its key while it runs.",
    "It does not cover other publications about the same people, unless they are in the list of charges below.",
    "It does not say that nobody looked at results on the real data while the plan was made: only the custodian can know that.",
    "It does not cover what a failed run shows: a table that does not fit its policy is refused, and the custodian sees why.",
    "It does not promise that the table is accurate: rows were left out at random, labels are coarse, and small groups are gone.",
)


def certificate(
    plan: SafeKPlan,
    files: Mapping[str, str],
    tables: Sequence[TableEntry],
    account: Account,
    date: str,
    records: int = 0,
) -> SafeKCertificate:
    """The certificate of a release that has been charged and written; `account` includes its charge.

    `records` is the number of records with its noise, or as it is, where the plan publishes it.
    """
    plan = plan.after_looks(account.count_looks(plan.confirmed_lock.sha256))
    paid_once = bool(plan.promise.epsilon_recoding) and not plan.views
    draft = SafeKCertificate(
        **opening_fields(plan, files, date, safe_k_answers(plan), NOT_PROMISED),
        guarantee=_promise(plan),
        method="safe-k",
        bound=plan.promise.bound,
        recoding_choice=recoding_choice(plan.method.partition) if paid_once else None,
        views=views_entry(plan) if plan.views else None,
        samples=tuple(sample_entry(promise, times) for promise, times in plan.distinct_settings),
        curve=curve_points(plan.curve),
        tables=tuple(tables),
        ledger=ledger_entry(account, plan.confirmed_lock.sha256),
        **_total_fields(plan, records),
    )
    return seal_certificate(draft)


def _total_fields(plan: SafeKPlan, records: int) -> dict[str, Any]:
    """The number of records, where the plan publishes it with noise or as it is; no key where it does not."""
    if plan.tells_exact_total:
        return {"noisy_total": NoisyTotalEntry(epsilon="0", rows_changed=0, scale="0", records=records)}
    noise = plan.total_noise
    if noise is None:
        return {}
    told = NoisyTotalEntry(
        epsilon=exact_text(plan.epsilon_total),
        rows_changed=plan.unit.max_rows,
        scale=exact_text(noise.scale),
        records=records,
    )
    return {"noisy_total": told}


def _promise(plan: SafeKPlan) -> PromiseEntry:
    return PromiseEntry(
        kind="approx-dp",
        epsilon=exact_text(plan.total.epsilon),
        delta=exact_text(plan.total.delta),
        epsilon_recoding=exact_text(plan.promise.epsilon_recoding),
        neighbours=plan.policy.neighbours,
        unit=UnitEntry.read(plan.method.unit.to_saved()),
        status=plan.claims[0].status.value,
    )


def recoding_choice(partition: Partition) -> RecodingChoiceEntry:
    """What a certificate says about a recoding that was chosen on the table: how, and at what price."""
    told = partition.to_json()
    kind, epsilon, rows = told["kind"], told["epsilon"], told["steps"]
    if kind == "choose":
        return SchemeChoiceEntry(
            kind="choose",
            epsilon=epsilon,
            rows_changed=rows,
            schemes=told["schemes"],
            score=told["score"],
            sensitivity=told["sensitivity"],
            restriction=told["restricted"],
        )
    measurements = tuple(
        MeasurementEntry(
            epsilon_count=each["count"], epsilon_histogram=each["histogram"], attributes=each["attributes"]
        )
        for each in told["surveys"]
    )
    return TreeChoiceEntry(
        kind="tree",
        epsilon=epsilon,
        rows_changed=rows,
        sample_rate=told.get("rate"),
        measurements=measurements,
    )


def views_entry(plan: SafeKPlan) -> ViewsEntry:
    """How many views there are, who chose them, and what they compose to beside the sum."""
    composed, chooser = compose(plan.parts), plan.chooser
    choice = None
    if chooser is not None:
        choice = ViewChoiceEntry(
            epsilon=exact_text(chooser.epsilon), candidates=len(chooser.candidates), rows_changed=chooser.steps
        )
    return ViewsEntry(
        index_file="views.json",
        count=len(plan.views),
        choice=choice,
        epsilon_composed=certificate_text(exact(composed.epsilon_at(plan.total.delta)), DIGITS),
        epsilon_added_up=certificate_text(exact(composed.basic_epsilon(plan.total.delta)), DIGITS),
    )


def curve_points(curve: ReleaseCurve) -> tuple[CurvePointEntry, ...]:
    """delta of everything that is published, at some epsilons, for the unit; each rounded up, but never above the promise."""
    return tuple(
        CurvePointEntry(
            epsilon=exact_text(point.epsilon),
            delta=exact_text(min(exact(certificate_text(point.delta, DIGITS)), _ceiling(curve, point.epsilon))),
            epsilon_split=tuple(exact_text(share) for share in point.split) or None,
        )
        for point in curve.points()
    )


def _ceiling(curve: ReleaseCurve, epsilon: Fraction) -> Fraction:
    return curve.total.delta if epsilon >= curve.total.epsilon else Fraction(1)


def sample_entry(numbers: Setting, times: int) -> SampleEntry:
    """The numbers of one sample, as a certificate states them."""
    tight = delta_exactly(numbers.k, numbers.beta, numbers.epsilon_release)
    chain = numbers.chain
    unit = tight if chain is None else exact(chain.delta)
    published = numbers.delta_published
    return SampleEntry(
        k=numbers.k,
        beta=exact_text(numbers.beta),
        epsilon=exact_text(numbers.epsilon_release),
        delta=exact_text(numbers.delta),
        delta_tight=certificate_text(tight, DIGITS),
        delta_published=None if published is None else certificate_text(numbers.delta_under("published"), DIGITS),
        delta_for_unit=certificate_text(unit, DIGITS),
        epsilon_split=None if chain is None else tuple(exact_text(share) for share in chain.split),
        times=times,
    )


def ledger_entry(account: Account, lock: str) -> LedgerEntry:
    """All charges of a dataset, and the looks before them, as a certificate of the plan of this lock states them."""
    composed = account.total()
    return LedgerEntry(
        entries=tuple(
            ChargeEntry.read({"number": number, **cost.to_saved()}) for number, cost in enumerate(account.costs, 1)
        ),
        total=TotalEntry(
            epsilon=exact_text(sum((cost.epsilon for cost in account.costs), start=exact(0))),
            delta=exact_text(sum((cost.delta for cost in account.costs), start=exact(0))),
        ),
        epsilon_composed=None if composed is None else certificate_text(composed, DIGITS),
        budget=TotalEntry.read(account.budget.to_saved()) if account.budget else None,
        unbounded_releases=account.unbounded,
        **look_fields(account, lock),
    )


def look_fields(account: Account, lock: str) -> dict[str, Any]:
    """The looks that are on record before a charge of the plan of this lock; no key where nothing is known of them."""
    counts = account.count_looks(lock)
    return {} if counts is None else {"looks": tuple(LookEntry.read(asdict(count)) for count in counts)}


# --- how each premise is met ---------------------------------------------------------------------------------------

LOCKED = "in the locked plan, which was charged before a row was drawn"
UNSEEN = "that they were fixed without a look at the data, only the custodian can know"
DRAFTED = "parts of the policy were drafted from the data and nobody has confirmed them: for those it is not met"
LOOKED = "results on the data were seen with another plan before, so the plan may have been chosen by them"
CONFIRMED = "a draft was made from the data, and that what it read is known without them, only the custodian can know"


def words_of_tuning(tuning: Tuning) -> str:
    """How it stands with what has to be fixed without the data."""
    said = [words for words, holds in ((DRAFTED, tuning.drafted), (LOOKED, tuning.looked)) if holds]
    return "; ".join(said) or (CONFIRMED if tuning.confirmed else UNSEEN)


CHECKED_WHEN_PLANNING = {
    "class-size": "k, when planning",
    "sampling-rate": "beta, when planning",
    "epsilon": "epsilon, when planning",
    "published-epsilon": "epsilon and beta, when planning",
    "smaller-rate": "the rate of the separate sample, when planning",
    "reliable-delta": "the promised delta, when planning; below that the parts are added up",
    "rows-of-unit": "the most rows of a unit, when planning; of each unit at most so many rows take part",
    "measurement-epsilons": "every share of epsilon, when planning",
    "measurement-shares": "the sum of all shares, when planning",
    "score-range": "k and beta, when planning",
    "discernibility-range": "k and beta, when planning",
    "target-level": "the levels of the target, when planning",
    "noise-size": "every sigma, when planning",
    "choice-epsilon": "the epsilon of a choice, when planning",
    "rho-range": "every rho and their sum, when planning",
    "listed-noise": "numbers of tables and their sigmas, when planning; another number is refused",
}
"""What a line of the program looked at for every plan."""

FIXED_WITHOUT_DATA = {
    "cells-fixed": "domains, hierarchies, weights, k and beta",
    "candidates-fixed": "the candidates and how many are chosen",
    "schemes-fixed": "domains, hierarchies, weights and the range of levels",
    "counts-fixed": "domains, hierarchies, the groups that may be counted and the numbers of tables",
}
"""What has to be fixed without the data: it is in the locked plan, and who fixed it how is known to the custodian alone."""


def safe_k_answers(plan: SafeKPlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    unseen = words_of_tuning(plan.tuning)
    return {
        **{key: by_program(detail) for key, detail in CHECKED_WHEN_PLANNING.items()},
        **{key: by_custodian(f"{what} are {LOCKED}; {unseen}") for key, what in FIXED_WITHOUT_DATA.items()},
        **_recoding(plan, unseen),
        **_samples(plan),
        "parts-fixed": by_construction(f"the number of releases or views is {LOCKED}"),
        **_noisy_total(plan),
        **treatment_answers(plan, unseen),
    }


def _noisy_total(plan: SafeKPlan) -> Mapping[str, PremiseAnswer]:
    """How the premises of the noise of the total are met, where there is one."""
    if not plan.epsilon_total:
        return {}
    return {
        "noise-scale": by_program("the scale of the noise of the total, when planning"),
        "multiples": by_construction("the number of records is a whole number"),
        "positive-epsilon": by_program("the epsilon of the total, when planning"),
        "sensitivity-declared": by_construction(
            "at most max_rows rows of each unit take part, so their number moves by at most so many"
        ),
    }


def _recoding(plan: SafeKPlan, unseen: str) -> Mapping[str, PremiseAnswer]:
    if not plan.promise.epsilon_recoding:
        fixed = by_custodian(f"the levels, the hierarchies and the domains are {LOCKED}; {unseen}")
        return {"recoding-fixed": fixed}
    rate = plan.method.partition.rate
    of = "the whole table" if rate == 1 else "a separate sample of the table"
    return {
        "recoding-fixed": by_construction(
            f"it was chosen on {of}, for its own epsilon, before the sample was drawn; once it is fixed, the published table "
            "depends on the data through the sample alone (theorem eps-safe-recoding)"
        ),
        "recoding-apart": by_construction(
            f"it was chosen on {of} with a key of its own, which was erased before the sample's key was made"
        ),
    }


def _samples(plan: SafeKPlan) -> Mapping[str, PremiseAnswer]:
    if plan.method.drawn_before:
        return {
            "own-sample": by_custodian(
                "the table itself is the sample; the ledger refuses every other use that it recognizes"
            ),
            "fresh-samples": by_custodian("the table itself is the sample"),
        }
    if plan.views:
        key = "a key of its own for each view, derived from a new one of the operating system and erased with it"
    else:
        key = "a new key from the operating system for each release, erased afterwards"
    return {"own-sample": by_construction(key), "fresh-samples": by_construction(key)}
