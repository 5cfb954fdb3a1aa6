"""The certificate of rows inside boxes: what was promised, what each step costs, and how much noise it has.

But for the number of rows, which is noisy, it holds nothing derived from the data: everything in it follows from the policy.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoal.anonymize.cluster.lattice import NumberLattice
from shoal.guarantee.rounding import certificate_text, exact, exact_text, text_up
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.model import (
    BoxAttributeEntry,
    BoxesCertificate,
    BoxesEntry,
    BoxesPromiseEntry,
    BoxMeansEntry,
    BoxTreeEntry,
    BoxValuesEntry,
    CentroidTableEntry,
    PartEntry,
    UnitEntry,
)
from shoal.publish.certificate.safe_k import DIGITS, LOCKED, ledger_entry, words_of_tuning
from shoal.publish.certificate.seal import (
    by_construction,
    by_custodian,
    by_program,
    opening_fields,
    seal_certificate,
    treatment_answers,
)
from shoal.publish.plan.boxes import BoxesPlan

_NOT_PROMISED = (
    "It does not say that nobody can learn anything about a person: what is true of many people can be learned from their data.",
    "It does not say that a row is somebody's, or that its values were ever seen together: rows are spread inside boxes.",
    "It does not show how many records there are: the number of rows is noisy, and boxes that seem empty have none.",
    "It does not hold against somebody who sees counts before the noise, the program's memory, or its key while it runs.",
    "It does not cover other publications about the same people, unless they are in the list of charges below.",
    "It does not say that nobody looked at results on the real data while the plan was made: only the custodian can know that.",
    "It does not cover what a failed run shows: a table that does not fit its policy is refused, and the custodian sees why.",
    "It does not promise that a value is accurate: counts and means are noisy, and inside a box attributes are independent.",
)


def not_promised(plan: BoxesPlan) -> tuple[str, ...]:  # noqa: ARG001 - the same for every plan
    """What a reader of such a release might think and should not."""
    return _NOT_PROMISED


def certificate(
    plan: BoxesPlan, files: Mapping[str, str], account: Account, date: str, *, rows: int = 1
) -> BoxesCertificate:
    """The certificate of a release that has been charged and written; `account` includes its charge, `rows` is a noisy number."""
    plan = plan.after_looks(account.count_looks(plan.confirmed_lock.sha256))
    setting = plan.setting
    draft = BoxesCertificate(
        **opening_fields(plan, files, date, box_answers(plan), not_promised(plan)),
        guarantee=BoxesPromiseEntry(
            kind="pure-dp",
            epsilon=exact_text(plan.total.epsilon),
            delta="0",
            neighbours=plan.unit.neighbours,
            unit=UnitEntry.read(plan.unit.to_saved()),
            status=plan.claims[0].status.value,
        ),
        method="box-microaggregation",
        boxes=boxes_entry(plan),
        attributes=tuple(
            BoxAttributeEntry(
                name=each.name,
                kind=each.kind,
                points=each.points,
                step=exact_text(own.step) if isinstance(own, NumberLattice) else None,
                weight=exact_text(each.weight),
            )
            for own, each in zip(plan.method.lattices, setting.attributes, strict=True)
        ),
        parts=tuple(PartEntry.read({"guarantee": part.to_saved(), "times": times}) for part, times in plan.parts),
        epsilon_composed=exact_text(min(exact(text_up(plan.epsilon_composed, DIGITS)), plan.total.epsilon)),
        tables=(CentroidTableEntry(file=plan.files[0], columns=plan.method.columns, rows=rows, shows=plan.shows),),
        ledger=ledger_entry(account, plan.confirmed_lock.sha256),
    )
    return seal_certificate(draft)


def boxes_entry(plan: BoxesPlan) -> BoxesEntry:
    """The noise of every step."""
    setting = plan.setting
    values = (
        None
        if setting.value_epsilon is None
        else BoxValuesEntry(
            epsilon=exact_text(setting.value_epsilon), attributes=tuple(each.name for each in setting.counted)
        )
    )
    return BoxesEntry(
        row_epsilon=exact_text(setting.row_epsilon),
        tree=BoxTreeEntry(
            epsilon=exact_text(setting.tree_epsilon),
            scale=exact_text(setting.scale),
            bias=setting.bias,
            threshold=setting.threshold,
        ),
        values=values,
        means=BoxMeansEntry(
            epsilon=exact_text(setting.mean_epsilon),
            numbers=setting.numbers,
            side=setting.side,
            inner=setting.inner,
            half_width=certificate_text(exact(setting.half_width), DIGITS),
        ),
    )


def box_answers(plan: BoxesPlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    unseen = words_of_tuning(plan.tuning)
    rows = (
        by_construction("the unit of privacy is a row, and is promised no more")
        if plan.unit.column is None
        else by_construction(f"of each {plan.unit.name} at most {plan.unit.max_rows:,} took part, drawn at random")
    )
    fixed = by_custodian(f"domains and weights are {LOCKED}, and the order of divisions follows from them; {unseen}")
    return {
        "tree-noise": by_program("the scale of the tree's noise, when planning, and by every verifier"),
        "tree-bias": by_program("when planning, and by every verifier"),
        "divisions-fixed": fixed,
        "box-epsilons": by_program("what all steps add up to, when planning, and by every verifier"),
        "box-attributes": by_program("before the table was read"),
        "box-rows": rows,
        "box-domains": fixed,
        "sides": by_construction("a record adds one count to its box, and to each sum at most as many steps"),
        "inner-box": by_program("when the noise was drawn"),
        "positive-epsilon": by_program("when planning"),
        "sensitivity-declared": fixed,
        "rows-of-unit": by_program("when planning"),
        "epsilon": by_program("when planning"),
        **treatment_answers(plan, unseen),
    }
