"""The certificate of a release with noisy counts: what was promised, with how much noise, and what else is in the folder.

It holds nothing derived from the data but what is published with noise, or computed from that: numbers of cells, of tables and of
synthetic rows. Each premise of each theorem that the plan cites has an answer of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.guarantee.rounding import exact, exact_text, text_up
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.model import (
    CountsPromiseEntry,
    CountsTableEntry,
    NoiseEntry,
    NoisyCountsCertificate,
    PartEntry,
    SyntheticEntry,
    TableEntry,
    UnitEntry,
)
from shoal.publish.certificate.safe_k import (
    CHECKED_WHEN_PLANNING,
    DIGITS,
    FIXED_WITHOUT_DATA,
    LOCKED,
    ledger_entry,
    recoding_choice,
    safe_k_answers,
    sample_entry,
    views_entry,
    words_of_tuning,
)
from shoal.publish.certificate.seal import (
    by_construction,
    by_custodian,
    by_program,
    opening_fields,
    seal_certificate,
    treatment_answers,
)
from shoal.publish.plan.noisy_counts import NoisyCountsPlan

_ACCURACY = (
    "It does not promise that a count is accurate: each has noise, may be negative, and lies outside its interval in up to 5 of "
    "100 cases; where many are read together, some do."
)
_AGREEMENT = (
    "It does not promise that tables agree: two of them that share an attribute have noise of their own, until somebody makes "
    "them consistent."
)
_ALWAYS = (
    "It does not say that nobody can learn anything about a person: what is true of many people can be learned from their data.",
    "It does not hold against somebody who sees the counts before the noise, the program's memory, or its key while it runs.",
    "It does not cover other publications about the same people, unless they are in the list of charges below.",
    "It does not say that nobody looked at results on the real data while the plan was made: only the custodian can know that.",
    "It does not cover what a failed run shows: a table that does not fit its policy is refused, and the custodian sees why.",
    _ACCURACY,
    _AGREEMENT,
)
_OF_ROWS = (
    "It does not promise that the rows beside the counts are complete: rows were left out at random, labels are coarse, and "
    "small groups are gone."
)
_SYNTHETIC = (
    "It does not say that a synthetic row is anybody's: none is, even one that looks like somebody. Nothing that is read off "
    "these rows has an interval, and what the noisy counts do not hold is not in them."
)


def not_promised(plan: NoisyCountsPlan) -> tuple[str, ...]:
    """What a reader of such a release might think and should not."""
    beside = (_OF_ROWS,) if plan.rows is not None else ()
    return (*_ALWAYS, *beside, *((_SYNTHETIC,) if plan.synthetic is not None else ()))


def certificate(
    plan: NoisyCountsPlan,
    files: Mapping[str, str],
    counts: Sequence[CountsTableEntry],
    tables: Sequence[TableEntry],
    synthetic: SyntheticEntry | None,
    account: Account,
    date: str,
) -> NoisyCountsCertificate:
    """The certificate of a release that has been charged and written; `account` includes its charge."""
    plan = plan.after_looks(account.count_looks(plan.confirmed_lock.sha256))
    rows = plan.rows
    paid_once = rows is not None and bool(rows.promise.epsilon_recoding) and not rows.views
    draft = NoisyCountsCertificate(
        **opening_fields(plan, files, date, noisy_counts_answers(plan), not_promised(plan)),
        guarantee=CountsPromiseEntry(
            kind="approx-dp",
            epsilon=exact_text(plan.total.epsilon),
            delta=exact_text(plan.total.delta),
            neighbours=plan.policy.neighbours,
            unit=UnitEntry.read(plan.unit.to_saved()),
            status=plan.claims[0].status.value,
        ),
        method="noisy-counts" if plan.synthetic is None else "synthetic",
        noise=NoiseEntry.read({**plan.setting.to_saved(), "merged": plan.method.merged}),
        parts=tuple(PartEntry.read({"guarantee": part.to_saved(), "times": times}) for part, times in plan.parts),
        epsilon_composed=exact_text(min(exact(text_up(plan.epsilon_composed, DIGITS)), plan.total.epsilon)),
        counts_file="counts.json",
        counts=tuple(counts),
        synthetic=synthetic,
        bound=None if rows is None else rows.promise.bound,
        epsilon_recoding=exact_text(exact(0) if rows is None else rows.promise.epsilon_recoding),
        recoding_choice=recoding_choice(rows.method.partition) if rows is not None and paid_once else None,
        views=views_entry(rows) if rows is not None and rows.views else None,
        samples=tuple(sample_entry(promise, times) for promise, times in rows.distinct_settings) if rows else (),
        tables=tuple(tables),
        ledger=ledger_entry(account, plan.confirmed_lock.sha256),
    )
    return seal_certificate(draft)


def noisy_counts_answers(plan: NoisyCountsPlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    unseen = words_of_tuning(plan.tuning)
    own = {
        **{key: by_program(detail) for key, detail in CHECKED_WHEN_PLANNING.items()},
        **{key: by_custodian(f"{what} are {LOCKED}; {unseen}") for key, what in FIXED_WITHOUT_DATA.items()},
        "parts-fixed": by_construction(
            f"how many tables there are, and with how much noise, follows from what is {LOCKED}"
        ),
        "rho-range": by_program("every rho and their sum, when planning"),
        "noise-size": by_program("every sigma, when planning"),
        "choice-epsilon": by_program("the epsilon of each choice, when planning"),
        "listed-noise": by_program(
            "the number of tables, before they are counted: its noise is in the list under `noise`"
        ),
        "counts-fixed": by_custodian(f"domains, hierarchies, tables and their number are {LOCKED}; {unseen}"),
        **treatment_answers(plan, unseen),
    }
    if plan.rows is not None:
        return {**safe_k_answers(plan.rows), **own}
    return {
        **own,
        "fresh-samples": by_construction("no sample is drawn: every count has noise that is drawn for it alone"),
    }
