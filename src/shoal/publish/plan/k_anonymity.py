"""The plan of k-anonymity by full-domain recoding: which criteria, how levels are found, what that does and does not promise."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.anonymize.generalize.lattice import LIMIT
from shoal.anonymize.generalize.search.requirement import Distance, Requirement
from shoal.anonymize.method.k_anonymity import FullDomain
from shoal.data.domain import Pattern, Values, letters_by_place, list_values
from shoal.data.hierarchy.level import IntervalLevel, Level, MaskLevel
from shoal.data.schema import Attribute, Schema, Type
from shoal.data.type import DTYPES, point, value_at
from shoal.errors import PolicyError, PreconditionError
from shoal.guarantee.claim import Claim
from shoal.guarantee.rounding import exact_text
from shoal.policy.model.criteria import CriteriaModel, KMapModel
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan, Verification, counted_headline, noted_before
from shoal.publish.plan.counted import NO_DIFFERENTIAL, names_of

if TYPE_CHECKING:
    from shoal.ledger.ledger import RunState
    from shoal.publish.run.k_anonymity import FullDomainJob

SearchKind = Literal["fixed", "exact", "heuristic"]

LOSS_WORDS = {
    "granularity": "the share of the domain that a label stands for, on average over rows and attributes",
    "discernibility": "records that cannot be told apart",
    "class_size": "rows for each published class",
}
SEARCH_WORDS = {
    "fixed": "the policy names every level",
    "exact": "no combination of levels that satisfies everything loses less",
    "heuristic": "there are too many combinations of levels to rule all out; the custodian's report says how far from the best "
    "the one found may be",
}
ROUNDS_WORDS = (
    "every round takes the levels that lose least for the rows that it has; all rounds together need not be the best"
)
DISTANCE_WORDS = {
    "equal": "any two values are 1 apart",
    "ordered": "along the order of values",
    "hierarchical": "by the height at which the hierarchy joins values",
}
HOMOGENEOUS = (
    "It does not say that nothing is learned: if everybody in a class has one confidential value, all of them have it."
)
DIVERSE = (
    "It does not say that nothing is learned: what is asked of confidential values bounds their shares in a class and nothing "
    "else, and not what an intruder learns who knows some of them."
)
NOT_PROMISED = (
    "It does not cover attributes that an intruder knows and the policy does not call quasi-identifiers.",
    "It does not hold for two releases together: k-anonymous tables about the same people can identify someone.",
    "It does not hide who is in the table, and it is no differential privacy.",
)
MINIMALITY = (
    "It does not hide why the levels are no finer: some records stood in the way of finer ones, and who knows the method and "
    "most of the table may infer which (the minimality attack)."
)
LEFT_OUT = "It does not hide how many rows were left out, to somebody who knows how many there were."
UNSEEN_POPULATION = (
    "That every class stands for enough people of the population cannot be counted here: the population file is not part of the "
    "release, so that claim rests on the program that made it."
)


@dataclass(frozen=True)
class FullDomainPlan(Plan):
    """One level for each quasi-identifier, the same for all rows; classes that fail a criterion are left out.

    Promise   k-anonymity and every criterion that the policy asks for, counted on the published table; k-map counted on a
              population file.
    Requires  quasi-identifiers; a confidential attribute for criteria on values; one row of each person.
    Reads     nothing: the policy alone.
    """

    method: FullDomain
    format: str

    methods = ("k-anonymity",)

    def __repr__(self) -> str:
        asked = self.requirement.words()
        return f"<FullDomainPlan of '{self.policy.dataset}': {asked}, no differential privacy>"

    @classmethod
    def of(cls, policy: Policy) -> FullDomainPlan:
        asked = cls.release_of(policy)
        if asked.k is None or asked.recoding is None:
            raise PolicyError("release: k-anonymity needs k")
        search, quasi = asked.recoding.search, {one.name for one in policy.schema.quasi}
        fixed = asked.recoding.levels if search is None else search.levels
        method = FullDomain(
            requirement_of(asked.k, asked.l, asked.t, asked.criteria),
            policy.unit,
            loss=(search.loss if search is not None else None) or "granularity",
            suppression=asked.suppression or Fraction(0),
            levels={name: level for name, level in (fixed or {}).items() if name in quasi},
            finest=dict((search.finest if search is not None else None) or {}),
            coarsest=dict((search.coarsest if search is not None else None) or {}),
            weights={name: policy.weight(name) for name in quasi},
            local=bool(search is not None and search.local),
        )
        found = cls(policy, method, asked.output.format)
        found.check(policy.schema)
        return found

    @classmethod
    def verification(cls) -> Verification:
        from shoal.publish.certificate.model import FullDomainCertificate
        from shoal.publish.verify.k_anonymity import full_domain_checks

        return Verification(FullDomainCertificate, full_domain_checks)

    @property
    def one_memory(self) -> str | None:
        """The search needs all records."""
        return "the levels of least loss are found by going through all records again and again"

    def job(self) -> FullDomainJob:
        from shoal.publish.run.k_anonymity import FullDomainJob

        return FullDomainJob(self)

    def check(self, schema: Schema) -> None:
        self.method.check(schema)
        if self.method.local:
            for attribute in schema.quasi:
                refuse_two_meanings(attribute)

    @property
    def requirement(self) -> Requirement:
        """What every class must have."""
        return self.method.requirement

    @property
    def k(self) -> int:
        """The size of the smallest class."""
        return self.requirement.k

    @property
    def k_map(self) -> KMapModel | None:
        """The population that k-map is counted on; None where it is not asked for."""
        asked = self.release_of(self.policy).criteria
        return None if asked is None else asked.k_map

    @property
    def search_kind(self) -> SearchKind:
        """How levels are found; the declared lattice alone decides it."""
        recoding = self.release_of(self.policy).recoding
        if recoding is not None and recoding.levels is not None:
            return "fixed"
        return "exact" if len(self.method.lattice(self.policy.schema)) <= LIMIT else "heuristic"

    def distances(self) -> dict[str, Distance]:
        """The ground distance of each confidential attribute, where t is asked for."""
        if self.requirement.t is None:
            return {}
        return {one.name: self.requirement.distance or _own_distance(one) for one in self.policy.schema.confidential}

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.method.claims(self.policy.schema)

    @property
    def headline(self) -> str:
        return counted_headline(self.claims)

    @property
    def not_promised(self) -> Sequence[str]:
        first = DIVERSE if self.requirement.is_confidential else HOMOGENEOUS
        found = [first, *NOT_PROMISED]
        found += [MINIMALITY] if self.search_kind != "fixed" else []
        found += [LEFT_OUT] if self.method.suppression else []
        return (*found, *([UNSEEN_POPULATION] if self.k_map is not None and not self.k_map.public else []))

    def repeat_words(self, when: str, state: RunState) -> str | None:
        return f"{noted_before(when, state)}; with each one more, classes of k hide fewer"

    # --- in words -----------------------------------------------------------------------------------------------

    def sentences(self) -> list[str]:
        many = "rows" if self.unit.whose == "row" else "such units"
        first = (
            f"Whoever looks for a {self.unit.name} by what they know of it finds at least {self.k} {many} that look the same, or "
            "none."
        )
        return [f"{first}{self._criteria_words()}", self._grounds(), NO_DIFFERENTIAL, *self.treatment_words()]

    def _criteria_words(self) -> str:
        """What every class has beside k, in a sentence for confidential values and one for the population."""
        wanted = [f"{name} = {value} ({about})" for name, value, about in self.criteria_facts()]
        said = f" For each confidential attribute, every class also has {', '.join(wanted)}." if wanted else ""
        if self.k_map is not None:
            said += f" Every class stands for at least {self.k_map.k:,} people of the population."
        return said

    def _grounds(self) -> str:
        quasi, limit = names_of(self.policy.schema.quasi), self.method.suppression
        how = {
            "fixed": "at levels that the policy fixes",
            "exact": "at levels that are searched for on the table",
            "heuristic": "at levels that are searched for on the table, by a search that need not find the best",
        }[self.search_kind]
        local = " Rows that these levels leave over may show coarser labels of their own." if self.method.local else ""
        bounded = self.unit.column is not None
        taken = f"One row of each {self.unit.name}, drawn at random, takes part. " if bounded else ""
        gone = (
            f"{taken}No {'such ' * bounded}row is left out"
            if not limit
            else f"{taken}Rows of other classes are left out, at most {exact_text(100 * limit)} % of all{' these' * bounded}"
        )
        return (
            f"{quasi}: labels in the place of values, {how}.{local} {gone}. What is promised is counted on the published table. "
            "All other published attributes are as they were."
        )

    def criteria_facts(self) -> list[tuple[str, str, str]]:
        """Each criterion on confidential values: its name, the value asked for, and what it means."""
        wanted, found = self.requirement, []
        if wanted.l is not None:
            found.append(("l", str(wanted.l), "at least so many different values"))
        if wanted.entropy_l is not None:
            found.append(
                ("entropy l", exact_text(wanted.entropy_l), "the entropy of a class is at least its logarithm")
            )
        if wanted.recursive is not None:
            c, l = wanted.recursive  # noqa: E741 - the literature's letter
            about = "the commonest value is rarer than c times all from the l-th commonest on"
            found.append(("recursive (c, l)", f"({exact_text(c)}, {l})", about))
        if wanted.t is not None:
            ways = sorted(set(self.distances().values()))
            about = "; ".join(DISTANCE_WORDS[way] for way in ways)
            found.append(("t", exact_text(wanted.t), f"at most this earth mover's distance from the table; {about}"))
        if wanted.alpha is not None:
            found.append(("alpha", exact_text(wanted.alpha), "the largest share of one value"))
        if wanted.beta is not None:
            about = "how much more frequent than in the table a value may be, as a share of its frequency there"
            found.append((f"{wanted.beta_form} beta", exact_text(wanted.beta), about))
        if wanted.delta is not None:
            about = "|ln(p / q)| of every value is smaller: p its share in the class, q in the table"
            found.append(("delta", exact_text(wanted.delta), about))
        return found

    def facts(self) -> list[tuple[str, str, str]]:
        kind, method = self.search_kind, self.method
        return [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("method", method.name, "no differential privacy"),
            ("k", str(self.k), "the smallest class"),
            *self.criteria_facts(),
            *([("k-map", str(self.k_map.k), "people of the population for every class")] if self.k_map else []),
            ("search", kind, search_words(kind, method.local)),
            *([("loss", method.loss, LOSS_WORDS[method.loss])] if kind != "fixed" else []),
            ("schemes", f"{len(method.lattice(self.policy.schema)):,}", "combinations of levels"),
            ("suppression", exact_text(method.suppression), "the largest share of rows that may be left out"),
            *(
                [("local", "true", "rows left over may show coarser labels of their own, found round by round")]
                if method.local
                else []
            ),
            ("status", self.claims[0].status.value, ", ".join(self.theorems)),
            ("ledger", "unbounded", "it has no price; later certificates of the dataset mention it"),
        ]

    def recoding_words(self) -> str:
        if self.search_kind == "fixed":
            levels = ", ".join(f"{name} {level}" for name, level in sorted(self.method.levels.items()))
            return f"Levels (0 is the value itself): {levels}."
        lattice = self.method.lattice(self.policy.schema)
        ranges = sorted(
            f"{name} {own[0]}" if len(own) == 1 else f"{name} {own[0]} to {own[-1]}"
            for name, own in zip(lattice.names, lattice.levels, strict=True)
        )
        return f"Levels that are searched (0 is the value itself): {', '.join(ranges)}."

    def to_json(self) -> dict[str, Any]:
        wanted, first = self.requirement, self.claims[0]
        return {
            "dataset": self.policy.dataset,
            "method": self.method.name,
            "epsilon": None,
            "delta": None,
            "k": self.k,
            "criteria": {
                "l": wanted.l,
                "entropy_l": _float(wanted.entropy_l),
                "recursive": None if wanted.recursive is None else [float(wanted.recursive[0]), wanted.recursive[1]],
                "t": _float(wanted.t),
                "distances": self.distances(),
                "alpha": _float(wanted.alpha),
                "beta": None if wanted.beta is None else {wanted.beta_form: float(wanted.beta)},
                "delta": _float(wanted.delta),
                "k_map": None if self.k_map is None else self.k_map.k,
            },
            "search": self.search_kind,
            "loss": None if self.search_kind == "fixed" else self.method.loss,
            "schemes": len(self.method.lattice(self.policy.schema)),
            "suppression": float(self.method.suppression),
            "local": self.method.local,
            "shows": self.method.rules(self.policy.schema),
            "unit": self.unit.to_saved(),
            "status": first.status.value,
            "theorems": list(self.theorems),
            "plan": self.lock.sha256,
            **self.treatment_fields(),
            "words": self.sentences(),
        }


def search_words(kind: SearchKind, is_local: bool) -> str:
    """What a search of this kind has found; with labels of their own for the rows left over, there is one for each round."""
    return ROUNDS_WORDS if is_local and kind == "exact" else SEARCH_WORDS[kind]


def requirement_of(k: int, l: int | None, t: Fraction | None, asked: CriteriaModel | None) -> Requirement:  # noqa: E741
    """What a policy asks of every class."""
    asked = asked or CriteriaModel()
    beta = asked.beta
    return Requirement(
        k,
        l=l,
        entropy_l=asked.entropy_l,
        recursive=None if asked.recursive is None else (asked.recursive.c, asked.recursive.l),
        t=t,
        distance=asked.distance,
        alpha=asked.alpha,
        beta=None if beta is None else beta.basic if beta.basic is not None else beta.enhanced,
        beta_form="enhanced" if beta is not None and beta.enhanced is not None else "basic",
        delta=asked.delta,
        k_map=None if asked.k_map is None else asked.k_map.k,
    )


def refuse_two_meanings(attribute: Attribute) -> None:
    """Refuse rows with labels of their own where a label of one level may be a label of another and stand for other values.

    Nobody could tell then what a cell stands for, and classes of different levels would look alike.
    """
    seen: dict[str, Hashable] = {}
    levels = attribute.hierarchy.levels if attribute.hierarchy is not None else ()
    masked = any(isinstance(level, MaskLevel) for level in levels)
    for number, level in enumerate(levels):
        held = _masked_meanings(attribute, level) if masked else _meanings(attribute, level)
        if held is None or any(seen.setdefault(label, own) != own for label, own in held.items()):
            raise PreconditionError(
                "full-domain-k",
                f"attribute '{attribute.name}': a label of level {number} may be one of a finer level that stands for less",
                came="recoding.search.local: true",
                allowed="labels that tell levels apart",
                fix="name the groups of its hierarchy differently, or leave `local` out",
            )


def _meanings(attribute: Attribute, level: Level) -> Mapping[str, Hashable] | None:
    """What each label of a level stands for, as far as labels can be listed; None where two levels may share a label."""
    domain = attribute.domain
    listed = None if domain is None else list_values(attribute.type, domain)
    if listed is not None:
        values = np.array(listed, dtype=object) if not attribute.type.numeric else _points(attribute, listed)
        shown: dict[str, list[str]] = {}
        for value, label in zip(listed, level.apply(values).tolist(), strict=True):
            shown.setdefault(str(label), []).append(value)
        return {label: frozenset(own) for label, own in shown.items()}
    if isinstance(level, IntervalLevel):
        return dict(zip(level.labels, pairwise([None, *level.edges, None]), strict=True))
    return {}


def _masked_meanings(attribute: Attribute, level: Level) -> Mapping[str, Hashable] | None:
    """Nothing where masks tell levels apart: texts of one length, none of which holds the letter that hides; else None."""
    domain = attribute.domain
    places = letters_by_place(domain.pattern) if isinstance(domain, Pattern) else None
    if isinstance(domain, Values) and len({len(value) for value in domain.values}) == 1:
        places = domain.values
    letter = level.letter if isinstance(level, MaskLevel) else ""
    return None if places is None or any(letter and letter in letters for letters in places) else {}


def _points(attribute: Attribute, listed: Sequence[str]) -> Any:
    """Listed numbers or dates as the values that they are."""
    values = [value_at(attribute.type, point(attribute.type, each)) for each in listed]
    return np.array(values, dtype=DTYPES[attribute.type])


def _own_distance(attribute: Attribute) -> Distance:
    """Along the order, where an attribute has one."""
    return "ordered" if attribute.type.numeric or attribute.type is Type.ORDINAL else "equal"


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
