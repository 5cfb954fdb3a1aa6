"""Compare a certificate with the one that the locked plan makes: structure and numbers, then sentences.

Some numbers must be *equal*: what the locked plan says, what was charged, sums. Formulas (the exact delta of a sample, the
published bound) must be equal up to the last digits that are printed. Others must *suffice*: k and beta are taken from the
certificate, and what follows from them must be no more than what is printed, so that a better solver or a tighter accountant
never makes a folder fail. How far above the truth a printed number may lie is checked by the one-file verifier.

Sentences are compared letter by letter when the certificate's wording is the present one. Those of another wording are not
compared, and that is said: rewording never makes a folder fail either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.guarantee.rounding import certificate_text, exact, exact_text
from shoal.publish.certificate.model import (
    WORDING,
    AnyModel,
    BoxesCertificate,
    BucketizedCertificate,
    CentroidsCertificate,
    CountedCertificate,
    NoisyCountsCertificate,
    SafeKCertificate,
)
from shoal.publish.certificate.page import certificate_page
from shoal.publish.certificate.safe_k import DIGITS
from shoal.publish.verify.standalone import Check, sentences_of

DECIDED_ELSEWHERE = ("date", "software", "files", "plan_sha256", "seal", "wording", "format", "theorems")
"""Entries that the locked plan does not decide, or that have checks of their own."""
SUFFICIENT = frozenset(
    {
        "curve.delta",
        "samples.delta_for_unit",
        "views.epsilon_composed",
        "views.epsilon_added_up",
        "epsilon_composed",
        "ledger.epsilon_composed",
    }
)
"""Costs that must be at least what is computed here."""
FORMULAS = frozenset(
    {"samples.delta_tight", "samples.delta_published", "attributes.half_width", "boxes.means.half_width"}
)
"""Costs, and errors, that must be what is computed here, up to the last digits."""
SPLITS = frozenset({"curve.epsilon_split", "samples.epsilon_split"})
"""How epsilon was split: any split that adds up proves its delta, which the one-file verifier adds up."""
NOISE = frozenset({"measurements"})
"""How the price of a tree was divided: any division that adds up is as good, and the one-file verifier adds it up."""
LATTICE = frozenset({"schemes", "sensitivity"})
"""What a private choice of a scheme had to choose from; it has a check of its own."""
LAST_DIGITS = exact("1e-6")
"""How much printed digits may differ from one machine to another, relative to the number."""


def compare(told: AnyModel, wanted: AnyModel) -> Iterator[Check]:
    """Every entry of a certificate against the one that the locked plan makes with the numbers of the certificate."""
    ours, theirs = _without_sentences(wanted), _without_sentences(told)
    for name in {**ours, **theirs}:
        if name not in DECIDED_ELSEWHERE:
            fits = name in ours and name in theirs and _fits(ours[name], theirs[name], name)
            yield Check("rebuilt", fits, "as the locked plan makes it", promise=True, about=name)
    if isinstance(wanted, SafeKCertificate | NoisyCountsCertificate):
        lattices = [_lattices(content) for content in (ours, theirs)]
        if lattices[0] or lattices[1]:
            yield Check("recoding-lattice", lattices[0] == lattices[1], "schemes and sensitivity of the locked plan")
    elif isinstance(wanted, CountedCertificate | BucketizedCertificate | CentroidsCertificate | BoxesCertificate):
        shows = [[table["shows"] for table in content["tables"]] for content in (ours, theirs)]
        yield Check("display", shows[0] == shows[1], "as the locked plan makes it")
    yield _premise_check(told, wanted)
    yield from _wording_checks(told, wanted)


def _without_sentences(certificate: AnyModel) -> dict[str, Any]:
    """A certificate as plain values, with nothing in the place of its sentences."""
    content = certificate.to_json()
    for place in ("sentence", "explanation", "not_promised", "how_to_verify"):
        del content[place]
    for claim in content["claims"]:
        claim["conditions"] = len(claim["conditions"])
    for choice in [content.get("recoding_choice"), *(table.get("recoding_choice") for table in content["tables"])]:
        if choice is not None and "restriction" in choice:
            choice["restriction"] = choice["restriction"] is not None
    return content


def _lattices(content: dict[str, Any]) -> list[Any]:
    choices = [content["recoding_choice"], *(table["recoding_choice"] for table in content["tables"])]
    return [
        [choice["schemes"], choice["sensitivity"], choice["restriction"]]
        for choice in choices
        if choice is not None and choice["kind"] == "choose"
    ]


def _fits(ours: Any, told: Any, place: str) -> bool:
    """Whether what is told has the structure of ours, and numbers that are equal or suffice."""
    if place in SPLITS:
        return (ours is None) == (told is None) and (ours is None or len(ours) == len(told))
    if type(ours) is not type(told):
        return False
    if isinstance(ours, dict):
        if ours.keys() != told.keys():
            return False
        skipped = NOISE | LATTICE if place.endswith("recoding_choice") else frozenset({"shows"})
        return all(_fits(ours[key], told[key], f"{place}.{key}") for key in ours if key not in skipped)
    if isinstance(ours, list):
        return len(ours) == len(told) and all(_fits(*pair, place) for pair in zip(ours, told, strict=True))
    if ours != told and isinstance(ours, str) and place in SUFFICIENT | FORMULAS:
        return _is_enough(ours, told) and (place in SUFFICIENT or _is_enough(told, ours))
    return bool(ours == told)


def _is_enough(ours: str, told: str) -> bool:
    """Whether a printed cost is written as we write costs, and is at least ours up to the last digits."""
    found, said = exact(ours), exact(told)
    written = (
        told in (certificate_text(said, DIGITS), exact_text(said)) and exact(certificate_text(said, DIGITS)) == said
    )
    return written and said >= found * (1 - LAST_DIGITS)


def _premise_check(told: AnyModel, wanted: AnyModel) -> Check:
    """How each premise of each theorem is said to be met.

    Under the present wording the premises must be ours. Another version may have divided a theorem into other premises; those
    that both know must be met in the same way.
    """
    own = {(theorem.name, each.id): each.how for theorem in wanted.theorems for each in theorem.premises}
    said = {(theorem.name, each.id): each.how for theorem in told.theorems for each in theorem.premises}
    if told.wording.version == WORDING:
        fits = list(own.items()) == list(said.items())
    else:
        listed = sum(len(theorem.premises) for theorem in told.theorems)
        fits = bool(said) and listed == len(said) and all(said.get(place, how) == how for place, how in own.items())
        if fits and said.keys() != own.keys():
            return Check("premises", None, "premises that this version does not know: how they are met is not compared")
    return Check("premises", fits, "every premise is met as the locked plan meets it", promise=True)


def _wording_checks(told: AnyModel, wanted: AnyModel) -> Iterator[Check]:
    """Every sentence of the certificate and its page, if its wording is the one of this version."""
    version = told.wording.version
    if version != WORDING:
        detail = (
            f"wording of another version ({version}; this one has {WORDING}): not compared. In the words of this version: "
            f"{wanted.sentence}"
        )
        yield Check("wording", None, detail)
        return
    ours, theirs = sentences_of(wanted.to_json()), sentences_of(told.to_json())
    for place in {**ours, **theirs}:
        if ours.get(place) != theirs.get(place):
            yield Check("wording", False, "another sentence than this version has for this plan", about=place)
    if ours == theirs:
        yield Check("wording", True, f"all {len(ours)} places say what this version says")


def page_check(text: str, certificate: AnyModel) -> Check:
    """Whether the page is the one that this version draws; of another wording, only its hash is compared."""
    if certificate.wording.version != WORDING:
        return Check("page", None, "of another wording: its hash is compared, its text is not")
    return Check("page", text == certificate_page(certificate), "as this version draws it")
