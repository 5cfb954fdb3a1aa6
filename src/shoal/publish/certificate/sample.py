"""The certificate of a plain sample: what holds for the table that it was drawn from, and what it does not promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from shoal.guarantee.rounding import exact_text
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.counted import note_entry
from shoal.publish.certificate.model import (
    PlainSampleEntry,
    SampleCertificate,
    SamplePromiseEntry,
    TableEntry,
    UnitEntry,
)
from shoal.publish.certificate.safe_k import LOCKED, words_of_tuning
from shoal.publish.certificate.seal import by_construction, by_custodian, by_program, opening_fields, seal_certificate
from shoal.publish.plan.sample import SamplePlan


def sample_answers(plan: SamplePlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    asked = plan.method
    found = (
        "found on the table"
        if asked.rate is None
        else "declared, and compared with the safe one, which was found on the table"
    )
    levels = (
        f"at the levels that are {LOCKED.replace('charged', 'noted')}, or coarser ones that the table asked for"
        if asked.rare == "generalize"
        else f"at the levels that are {LOCKED.replace('charged', 'noted')}"
    )
    return {
        "counts": by_program("every value of the table was counted before the rate was found"),
        "cm06-half": by_program("when the rate was found"),
        "cm06-half-c": by_program("when the rate was found"),
        "cm06-rate": by_program("when the rate was found"),
        "own-sample": by_construction(
            "a new key from the operating system, erased afterwards; no sample is drawn twice"
        ),
        "rows-of-unit-c": by_custodian(
            "the policy makes each row a unit of its own; whose rows they are, only the custodian can know"
        )
        if plan.unit.column is None
        else by_construction(f"of each {plan.unit.name} at most {asked.c} rows took part"),
        "table-given": by_custodian(
            f"the rate was {found}, {levels}; that nobody learns anything from this is the condition; "
            f"{words_of_tuning(plan.tuning)}"
        ),
    }


def certificate(
    plan: SamplePlan,
    rate: Fraction,
    files: Mapping[str, str],
    tables: Sequence[TableEntry],
    account: Account,
    date: str,
) -> SampleCertificate:
    """The certificate of a sample that has been written; `account` is the dataset's before this release."""
    lock = plan.confirmed_lock.sha256
    plan = plan.after_looks(account.count_looks(lock))
    asked = plan.method
    draft = SampleCertificate(
        **opening_fields(plan, files, date, sample_answers(plan), tuple(plan.not_promised)),
        guarantee=SamplePromiseEntry(
            kind="sample-privacy",
            c=asked.c,
            epsilon=exact_text(asked.epsilon),
            delta=exact_text(asked.delta),
            unit=UnitEntry.read(plan.unit.to_saved()),
            status="proved with condition",
        ),
        method="sample",
        bound=asked.bound,
        samples=(
            PlainSampleEntry(
                k=1,
                beta=exact_text(rate),
                declared=asked.rate is not None,
                rare=asked.rare,
                rare_below=asked.below,
            ),
        ),
        tables=tuple(tables),
        ledger=note_entry(account, lock),
    )
    return seal_certificate(draft)
