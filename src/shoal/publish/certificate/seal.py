"""What every certificate begins and ends with: the promise in words, theorems with their premises, the wording, the seal.

A certificate is first put together as a draft with zeros in the place of its hashes. `seal_certificate` then hashes its
sentences, draws its page, hashes that, and seals the whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

from shoal import __version__
from shoal.errors import PreconditionError
from shoal.guarantee.theorem import Premise, PremiseAnswer, PremiseStatus, theorem
from shoal.publish.certificate.model import (
    WORDING,
    ZEROS,
    AnyModel,
    BoxesCertificate,
    BucketizedCertificate,
    CentroidsCertificate,
    ClaimEntry,
    CountedCertificate,
    FullDomainCertificate,
    NoisyCountsCertificate,
    PremiseEntry,
    SafeKCertificate,
    SampleCertificate,
    SoftwareEntry,
    TheoremEntry,
    TreatmentEntry,
    WordingEntry,
)
from shoal.publish.certificate.page import certificate_page
from shoal.publish.plan.base import Plan
from shoal.publish.verify.standalone import FORMAT, seal, text_hash

HOW_TO_VERIFY = (
    "run `shoal verify FOLDER`, or the one-file verifier `python verifier.py FOLDER`, which `shoal share` packs beside the "
    "release and which needs Python alone (pyarrow too, where tables are Parquet). Verification shows that the numbers "
    "follow from the premises and that no file was changed after the seal. It cannot show that the program was run as "
    "described, or by whom: compare the seal with one that the custodian published elsewhere"
)

AnyCertificate = TypeVar(
    "AnyCertificate",
    SafeKCertificate,
    CountedCertificate,
    NoisyCountsCertificate,
    SampleCertificate,
    BucketizedCertificate,
    FullDomainCertificate,
    CentroidsCertificate,
    BoxesCertificate,
)


def opening_fields(
    plan: Plan,
    files: Mapping[str, str],
    date: str,
    answers: Mapping[str, PremiseAnswer],
    not_promised: tuple[str, ...],
    claim_entry: type[ClaimEntry] = ClaimEntry,
) -> dict[str, Any]:
    """The fields that every certificate has, from a plan and the hashes of the files that were written."""
    first = plan.claims[0]
    return {
        "format": FORMAT,
        "dataset": plan.policy.dataset,
        "date": date,
        "software": SoftwareEntry(shoal=__version__),
        "sentence": plan.headline,
        "explanation": tuple(plan.sentences()),
        "status": first.status.value,
        "claims": tuple(claim_entry.read(claim.to_saved()) for claim in plan.claims),
        "theorems": tuple(theorem_entry(name, answers) for name in plan.theorems),
        "not_promised": not_promised,
        **_treatment_entries(plan),
        "wording": WordingEntry(version=WORDING, text_sha256=ZEROS, page_sha256=ZEROS),
        "plan_sha256": plan.lock.sha256,
        "files": dict(sorted(files.items())),
        "how_to_verify": HOW_TO_VERIFY,
        "seal": ZEROS,
    }


def _treatment_entries(plan: Plan) -> dict[str, Any]:
    """The steps before the method as a certificate lists them; no key where there are none."""
    return {key: tuple(TreatmentEntry.read(each) for each in own) for key, own in plan.treatment_fields().items()}


def treatment_answers(plan: Plan, unseen: str) -> dict[str, PremiseAnswer]:
    """How a plan with treatments meets the premises of theorem `record-wise-treatment`; nothing for a plan without any."""
    if not plan.treatments:
        return {}
    return {
        "record-wise": by_program(
            "every step, when planning; the treated table is drawn once, and everything is made from it"
        ),
        "treatments-fixed": by_custodian(
            f"the steps and their parameters are in the locked plan, which was charged before a row was drawn; {unseen}"
        ),
    }


def seal_certificate(draft: AnyCertificate) -> AnyCertificate:
    """The certificate with the hash of its sentences, the hash of its page, and its seal."""
    wording = WordingEntry(
        version=draft.wording.version, text_sha256=text_hash(draft.to_json()), page_sha256=page_hash(draft)
    )
    worded = draft.model_copy(update={"wording": wording})
    return worded.model_copy(update={"seal": seal(worded.to_json())})


def page_hash(certificate: AnyModel) -> str:
    """The hash of a certificate's page, as this version draws it, with zeros in the place of the seal."""
    page = certificate_page(certificate.model_copy(update={"seal": ZEROS}))
    return hashlib.sha256(page.encode("utf-8")).hexdigest()


def by_program(detail: str) -> PremiseAnswer:
    """A premise is met because a line of the program looked at it, and raises where it is not met."""
    return PremiseAnswer(PremiseStatus.CHECKED, detail)


def by_construction(detail: str) -> PremiseAnswer:
    """A premise is met because the program makes it so."""
    return PremiseAnswer(PremiseStatus.BUILT, detail)


def by_custodian(detail: str) -> PremiseAnswer:
    """A premise is met because the custodian says so; nobody else can know it."""
    return PremiseAnswer(PremiseStatus.STATED, detail)


def theorem_entry(name: str, answers: Mapping[str, PremiseAnswer]) -> TheoremEntry:
    """A theorem as a certificate states it, each premise with how it is met.

    PreconditionError for a premise that the plan does not answer, and for one that the program is said to have checked although
    only the custodian can know it.
    """
    known = theorem(name)
    return TheoremEntry(
        name=name,
        title=known.title,
        citation=known.citation,
        statement=known.statement,
        premises=tuple(_premise(name, premise, answers) for premise in known.premises),
    )


def _premise(name: str, premise: Premise, answers: Mapping[str, PremiseAnswer]) -> PremiseEntry:
    answer = answers.get(premise.key)
    if answer is None or (answer.how is PremiseStatus.CHECKED and premise.enforced_by == "custodian"):
        raise PreconditionError(
            name,
            "the plan does not say how this premise is met",
            came=premise.text,
            allowed=", ".join(how.value for how in PremiseStatus),
            fix="this is a fault of ours: please report it",
        )
    return PremiseEntry.read(
        {"id": premise.key, "text": premise.text, "how": answer.how.value, "detail": answer.detail}
    )
