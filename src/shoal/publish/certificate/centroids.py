"""The certificate of noisy centroids: what was promised, how records were clustered, and how much noise each attribute has.

It holds nothing derived from the data: everything in it follows from the policy. Each premise of each theorem that the plan cites
has an answer of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from shoal.anonymize.cluster.lattice import NumberLattice
from shoal.guarantee.centroids import CentroidEntry
from shoal.guarantee.rounding import certificate_text, exact, exact_text, text_up
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.model import (
    CentroidNoiseEntry,
    CentroidsCertificate,
    CentroidsPromiseEntry,
    CentroidTableEntry,
    ClustersEntry,
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
from shoal.publish.plan.centroids import CentroidsPlan

_ALWAYS = (
    "It does not say that nobody can learn anything about a person: what is true of many people can be learned from their data.",
    "It does not hide how many records there are: neighbours replace a record, so their number is public.",
    "It does not hold against somebody who sees sums before the noise, the program's memory, or its key while it runs.",
    "It does not cover other publications about the same people, unless they are in the list of charges below.",
    "It does not say that nobody looked at results on the real data while the plan was made: only the custodian can know that.",
    "It does not cover what a failed run shows: a table that does not fit its policy is refused, and the custodian sees why.",
    "It does not promise that a value is accurate: it is a noisy average of a group, and no record's own.",
    "It does not say that k records look alike for any reason but noise and averaging: k is no guarantee here, epsilon is.",
)
_RANKED = (
    "It does not say which value of one table belongs to which of another: every attribute was sorted by itself, and relations "
    "between attributes are not published."
)
_CONCEPTS = (
    "It does not say that a drawn concept is the nearest one to its cluster: near ones are likelier, all are possible."
)
_PER_RECORD = (
    "It does not keep the epsilon that the policy names: that is for one attribute of one cluster, as if a record could change "
    "no other. It can change all of them."
)


def not_promised(plan: CentroidsPlan) -> tuple[str, ...]:
    """What a reader of such a release might think and should not."""
    setting = plan.setting
    kinds = {entry.attribute.kind for entry in setting.entries}
    return (
        *((_PER_RECORD,) if setting.calibration == "per_record" else ()),
        *_ALWAYS,
        *((_RANKED,) if len(plan.groups) > 1 else ()),
        *((_CONCEPTS,) if "categorical" in kinds else ()),
    )


def table_entries(plan: CentroidsPlan) -> tuple[CentroidTableEntry, ...]:
    """The tables as the certificate lists them."""
    return tuple(
        CentroidTableEntry(
            file=file, columns=columns, rows=plan.setting.rows, shows={name: plan.shows[name] for name in columns}
        )
        for file, columns in zip(plan.files, plan.groups, strict=True)
    )


def certificate(plan: CentroidsPlan, files: Mapping[str, str], account: Account, date: str) -> CentroidsCertificate:
    """The certificate of a release that has been charged and written; `account` includes its charge."""
    plan = plan.after_looks(account.count_looks(plan.confirmed_lock.sha256))
    setting = plan.setting
    draft = CentroidsCertificate(
        **opening_fields(plan, files, date, centroid_answers(plan), not_promised(plan)),
        guarantee=CentroidsPromiseEntry(
            kind="approx-dp" if setting.is_concentrated else "pure-dp",
            epsilon=exact_text(plan.total.epsilon),
            delta=exact_text(plan.delta),
            neighbours="replace_one",
            unit=UnitEntry.read(plan.unit.to_saved()),
            status=plan.claims[0].status.value,
        ),
        method="dp-microaggregation",
        clusters=ClustersEntry(
            rows=setting.rows,
            k=setting.k,
            k_found=setting.k_found,
            clusters=setting.clusters,
            last_size=setting.last_size,
            grouping=setting.grouping,
            corners=setting.corners,
            calibration=setting.calibration,
            noise=setting.noise,
            noise_found=setting.noise_found,
            epsilon=exact_text(setting.epsilon),
            delta=exact_text(setting.delta),
        ),
        attributes=tuple(_noise_entry(plan, entry) for entry in setting.entries),
        parts=tuple(PartEntry.read({"guarantee": part.to_saved(), "times": times}) for part, times in plan.parts),
        epsilon_composed=exact_text(min(exact(text_up(plan.epsilon_composed, DIGITS)), plan.total.epsilon)),
        tables=table_entries(plan),
        ledger=ledger_entry(account, plan.confirmed_lock.sha256),
    )
    return seal_certificate(draft)


def _noise_entry(plan: CentroidsPlan, entry: CentroidEntry) -> CentroidNoiseEntry:
    own = plan.lattice(entry.name)
    numeric = isinstance(own, NumberLattice)
    width = certificate_text(exact(plan.setting.half_width(entry.name)), DIGITS) if numeric else None
    return CentroidNoiseEntry(
        name=entry.name,
        kind=entry.attribute.kind,
        step=exact_text(own.step) if isinstance(own, NumberLattice) else None,
        steps=entry.attribute.steps,
        spread=entry.attribute.spread,
        concepts=entry.attribute.concepts,
        weight=exact_text(entry.attribute.weight),
        epsilon=_text(entry.epsilon),
        rho=_text(entry.rho),
        scale=_text(entry.scale),
        side=entry.side,
        sigma=_text(entry.sigma),
        choice_epsilon=_text(entry.choice_epsilon),
        half_width=width,
    )


def _text(value: Fraction | None) -> str | None:
    return None if value is None else exact_text(value)


def centroid_answers(plan: CentroidsPlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    unseen = words_of_tuning(plan.tuning)
    when_planning = by_program("when planning")
    one_each = (
        by_construction("the unit of privacy is a row, and is promised no more")
        if plan.unit.column is None
        else by_construction(f"of each {plan.unit.name} one row took part, drawn at random")
    )
    return {
        "public-number": by_program("neighbours, when planning; the number is stated above, and is not hidden"),
        "declared-number": by_program("the number of records, before the charge and again before they were clustered"),
        "one-record-each": one_each,
        "orders-fixed": by_construction(
            f"orders, steps and distances are computed from domains and hierarchies that are {LOCKED}"
        ),
        "domains-fixed": by_custodian(f"domains and hierarchies are {LOCKED}; {unseen}"),
        "centroid-noise": by_program("the noise of every attribute, when planning, and by every verifier"),
        "noise-scale": by_program("the scale of every sum, when planning"),
        "multiples": by_construction("sums are whole numbers of steps, because every record's value is"),
        "positive-epsilon": when_planning,
        "noise-delta": when_planning,
        "choice-epsilon": by_program("the epsilon of each choice, when planning"),
        "no-factor-two": by_construction("the factor stays: neighbours replace a record"),
        "sides": by_program("the box of every attribute, when planning"),
        "inner-box": by_program("when the noise was drawn"),
        "rho-range": by_program("every rho and their sum, when planning"),
        "reliable-delta": when_planning,
        "fresh-samples": by_construction(
            "no sample is drawn: the noise of every attribute is drawn for this release alone"
        ),
        "sensitivity-declared": by_custodian(f"domains and grids are {LOCKED}; {unseen}"),
        "options-fixed": by_custodian(f"hierarchies and domains are {LOCKED}; {unseen}"),
        "parts-fixed": by_construction(
            f"how many clusters there are, and with how much noise, follows from what is {LOCKED}"
        ),
        **treatment_answers(plan, unseen),
    }
