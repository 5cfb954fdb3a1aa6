"""The plan of a release by clusters of near records: which clusters, what they show, what that does and does not promise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.anonymize.aggregate import SHOWS, Show
from shoal.anonymize.cluster.clustering import GAIN, Clustering, Grouping
from shoal.anonymize.cluster.diversify import DiversityRequirement
from shoal.anonymize.method.microaggregation import Microaggregation
from shoal.anonymize.method.probabilistic_k import Swap
from shoal.data.schema import Attribute, Schema
from shoal.errors import PolicyError
from shoal.guarantee.claim import Claim
from shoal.guarantee.rounding import exact_text
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan, Verification, noted_before

if TYPE_CHECKING:
    from shoal.ledger.ledger import RunState
    from shoal.publish.run.counted import SyntacticJob

CLUSTERING_WORDS: dict[Grouping, str] = {
    "mdav": "the farthest record and its nearest, again and again (MDAV)",
    "vmdav": "like MDAV, but a cluster takes in records that lie close to it (V-MDAV)",
    "approx": "trees of near records, cut into clusters (mu-Approx)",
    "ranking": "runs of k in rank",
    "optimal": "the cuts of the ranked values with the least loss",
    "insensitive": "turns at the corners of the declared domain, in fixed orders",
    "mondrian": "cut in half across the widest attribute, again and again (relaxed Mondrian)",
    "strict_mondrian": "cut between values of the widest attribute, again and again (strict Mondrian)",
}

NO_DIFFERENTIAL = (
    "This is no differential privacy: it does not limit what is learned by combining the table with others."
)
NOT_PROMISED = {
    "microaggregation": (
        "It does not say that nothing is learned: if everybody in a cluster has one confidential value, all of them have it.",
        "It does not cover attributes that an intruder knows and the policy does not call quasi-identifiers.",
        "It does not hold for two releases together: k-anonymous tables about the same people can identify someone.",
        "It does not hide why clusters were merged: where l or t is asked for, who repeats the clustering sees which lacked it.",
        "It does not hide who is in the table, and it is no differential privacy.",
        "It does not promise that the table is accurate: a cluster's records all show its centre.",
    ),
    "probabilistic-k": (
        "It does not hide who is in the table, nor any value: every quasi-identifier and every confidential value is there.",
        "It does not cover what an intruder knows of attributes that stayed together: they still tell of each other.",
        "It does not hold against somebody who knows others in the cluster, or how what stayed depends on what moved.",
        (
            "It does not say that a value stays unknown: it is one of the cluster's, which may be equal or close to each other, "
            "and in clusters by rank they are close by design."
        ),
        "It does not hide why clusters were merged: where l or t is asked for, who repeats the clustering sees which lacked it.",
        "It does not hold for two releases together: the true pairs are those that both show.",
        "It cannot be seen in the table: the clusters are not published, so the claim rests on the program that made it.",
        "It is no differential privacy.",
    ),
}
EXTREME_VALUES = (
    "It does not hide extreme values: the ends of a range and the members of a set are values of the cluster's own records, so "
    "whoever knows who has the largest value of all reads it off, whatever k is (the extreme-value attack, LQS10 section 3)."
)


@dataclass(frozen=True)
class SyntacticPlan(Plan):
    """A release whose guarantee is counted on clusters of near records. It costs no epsilon and has no price.

    Each method is a class below: which clusters, what becomes of the records in one, and what that does and does not promise.
    """

    method: Microaggregation | Swap
    format: str

    def __repr__(self) -> str:
        return f"<SyntacticPlan of '{self.policy.dataset}': {self.method.name}, k {self.k}, no differential privacy>"

    @classmethod
    def clusters(cls, policy: Policy) -> Clustering:
        """The clustering that a policy asks for: k, the algorithm, and the l and t of every cluster."""
        asked = cls.release_of(policy)
        if asked.k is None:
            raise PolicyError(f"release: {asked.method} needs k")
        grouping = next((each for each in CLUSTERING_WORDS if each == (asked.grouping or "mdav")), None)
        if grouping is None:
            raise PolicyError(f"release.grouping: not a grouping of method {asked.method}", came=asked.grouping)
        gain = GAIN if asked.gain is None else asked.gain
        return Clustering(asked.k, grouping, gain, DiversityRequirement(asked.l, asked.t))

    @classmethod
    def verification(cls) -> Verification:
        from shoal.publish.certificate.model import CountedCertificate
        from shoal.publish.verify.counted import counted_checks

        return Verification(CountedCertificate, counted_checks)

    def job(self) -> SyntacticJob:
        from shoal.publish.run.counted import SyntacticJob

        return SyntacticJob(self)

    def check(self, schema: Schema) -> None:
        self.method.check(schema)

    @property
    @abstractmethod
    def k(self) -> int:
        """The size of the smallest cluster of all."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What becomes of a cluster's records: `faces` (all show one value), `together` or `alone` (values change places)."""

    @property
    def one_memory(self) -> str | None:
        """Distances, and cuts that are chosen by the records, need all records; so does a permutation of them."""
        if self.method.clustering.grouping == "ranking":
            return (
                "equal values are ranked, and values change places, by permutations of all records that are drawn in one memory "
                "(method: dp-microaggregation with grouping: ranking runs there)"
            )
        return "a cluster is chosen by comparing each record with all that are left"

    def k_by_attribute(self) -> dict[str, int]:
        """The k of each confidential attribute, where they are treated one by one; else empty."""
        return {}

    @property
    def shows_classes(self) -> bool:
        """Whether the records of a cluster look alike in the published table, so that a stranger can count them."""
        return False

    @property
    def not_promised(self) -> Sequence[str]:
        return NOT_PROMISED[self.method.name]

    def repeat_words(self, when: str, state: RunState) -> str | None:
        return f"{noted_before(when, state)}; with each one more, clusters of k hide fewer"

    def sentences(self) -> list[str]:
        own = [f"{self._promise_words()}{self._diversity_words()}", self._grounds(), NO_DIFFERENTIAL]
        return [*own, *self.treatment_words()]

    @abstractmethod
    def _promise_words(self) -> str:
        """What holds for a unit, in a sentence."""

    @abstractmethod
    def _grounds(self) -> str:
        """What is done to the records, in a sentence."""

    def _diversity_words(self) -> str:
        """The l and t that every cluster has, where they are asked for."""
        wanted = self.method.clustering.requirement
        also = [f"shows at least {wanted.l} different values of each confidential attribute"] if wanted.l else []
        also += [f"has confidential values within {exact_text(wanted.t)} of the whole table's"] if wanted.t else []
        return f" Every cluster also {' and '.join(also)}." if also else ""

    def facts(self) -> list[tuple[str, str, str]]:
        clustering = self.method.clustering
        each = self.k_by_attribute()
        own = ", ".join(f"{name} {k}" for name, k in each.items()) if len(set(each.values())) > 1 else str(self.k)
        return [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("method", self.method.name, "no differential privacy"),
            ("k", own, "the smallest cluster"),
            ("grouping", clustering.grouping, CLUSTERING_WORDS[clustering.grouping]),
            *(
                [("l", str(clustering.requirement.l), "different values in each cluster")]
                if clustering.requirement.l
                else []
            ),
            *(
                [("t", exact_text(clustering.requirement.t), "earth mover's distance, at most")]
                if clustering.requirement.t
                else []
            ),
            ("status", self.claims[0].status.value, ", ".join(self.theorems)),
            ("ledger", "unbounded", "it has no price; later certificates of the dataset mention it"),
        ]

    def recoding_words(self) -> str:
        shows = self.method.rules(self.policy.schema)
        return "What each attribute shows: " + ", ".join(f"{name}: {rule}" for name, rule in shows.items()) + "."

    def to_json(self) -> dict[str, Any]:
        clustering, first = self.method.clustering, self.claims[0]
        return {
            "dataset": self.policy.dataset,
            "method": self.method.name,
            "epsilon": None,
            "delta": None,
            "k": self.k,
            "crowds": self.k_by_attribute(),
            "l": clustering.requirement.l,
            "t": None if clustering.requirement.t is None else float(clustering.requirement.t),
            "grouping": clustering.grouping,
            "shows": self.method.rules(self.policy.schema),
            "unit": self.unit.to_saved(),
            "status": first.status.value,
            "theorems": list(self.theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
            **self.treatment_fields(),
        }


@dataclass(frozen=True, repr=False)
class MicroaggregationPlan(SyntacticPlan):
    """The quasi-identifiers of a cluster's records are replaced by one value for all of them.

    Promise   k-anonymity, counted on the published table; l-diversity and t-closeness where asked for.
    Requires  quasi-identifiers; at least 2k records.
    Reads     nothing: the policy alone.
    """

    method: Microaggregation

    methods = ("microaggregation",)

    @classmethod
    def of(cls, policy: Policy) -> MicroaggregationPlan:
        asked, clusters = cls.release_of(policy), cls.clusters(policy)
        method = Microaggregation(clusters, _shown(asked.show), policy.unit)
        found = cls(policy, method, asked.output.format)
        found.check(policy.schema)
        return found

    @property
    def k(self) -> int:
        return self.method.clustering.k

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.method.claims()

    @property
    def kind(self) -> str:
        return "faces"

    @property
    def shows_classes(self) -> bool:
        return True

    @property
    def not_promised(self) -> Sequence[str]:
        by_cuts = self.method.clustering.grouping in ("mondrian", "strict_mondrian")
        if not by_cuts or self.method.show != "label":
            return super().not_promised
        shown = [EXTREME_VALUES] if self._exact_labels() else []
        return (
            *super().not_promised[:-1],
            *shown,
            "It does not promise that the table is accurate: a cluster's records all show one label, which covers their values.",
        )

    @property
    def warnings(self) -> list[str]:
        """Say of which attributes the published labels are made of values of real records."""
        names = self._exact_labels()
        said = (
            f"The labels of {', '.join(names)} are made of values of real records: the ends of a range, the members of a set. "
            "Whoever knows who has the largest value of all, or one that nobody else has, reads it off, whatever k is (the "
            "extreme-value attack, LQS10 section 3). Labels that are declared beforehand (method safe-k) do not show it."
        )
        return [*super().warnings, *([said] if names else [])]

    def _exact_labels(self) -> list[str]:
        """The attributes of which a cluster's label shows values of its records, in the order of the alphabet."""
        rules = self.method.rules(self.policy.schema)
        return sorted(name for name, rule in rules.items() if rule in ("interval", "set"))

    def _promise_words(self) -> str:
        many = "rows" if self.unit.whose == "row" else "such units"
        return (
            f"Whoever looks for a {self.unit.name} by what they know of it finds at least {self.k} {many} that look the "
            "same, or none."
        )

    def _grounds(self) -> str:
        quasi = names_of(self.policy.schema.quasi)
        return (
            f"Records are clustered by {quasi}; all of a cluster show the same, and the published table is counted. "
            "All other published attributes are as they were."
        )


@dataclass(frozen=True, repr=False)
class SwapPlan(SyntacticPlan):
    """Values change places at random among the records of a cluster: the quasi-identifiers, or each confidential attribute.

    Promise   probabilistic k-anonymity, on a condition about what an intruder knows, which the sentences state.
    Requires  confidential attributes; at least 2k records.
    Reads     nothing: the policy alone.
    """

    method: Swap

    methods = ("probabilistic-k",)

    @classmethod
    def of(cls, policy: Policy) -> SwapPlan:
        asked, clusters = cls.release_of(policy), cls.clusters(policy)
        found = cls(policy, Swap(clusters, policy.unit, dict(asked.crowds or {})), asked.output.format)
        found.check(policy.schema)
        return found

    @property
    def kind(self) -> str:
        return "alone" if self.method.alone else "together"

    @property
    def k(self) -> int:
        return self.method.smallest(self.policy.schema)

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.method.claims(self.policy.schema)

    def k_by_attribute(self) -> dict[str, int]:
        if not self.method.alone:
            return {}
        return {one.name: self.method.k(one.name) for one in self.policy.schema.confidential}

    def _promise_words(self) -> str:
        if self.method.alone:
            return (
                f"What a {self.unit.name} shows of {names_of(self.policy.schema.confidential)} was taken from its own record "
                f"with probability at most 1/{self.k}, "
                "for each of them alone, as long as one knows nothing of the others in the cluster and of no dependence on what "
                "stayed. It comes from records of like rank, so it is near the truth by design."
            )
        return (
            f"Whoever finds a {self.unit.name} by {names_of(self.policy.schema.quasi)} sees beside it the other values of a "
            f"record that is its own with probability at most 1/{self.k}, as long as they know nothing else of it, nothing of "
            "the others in the cluster, and of no dependence between the two."
        )

    def _grounds(self) -> str:
        if self.method.alone:
            names = names_of(self.policy.schema.confidential)
            return f"Exchanged at random, each by itself, among records of like rank: {names}. Everything else is as it was."
        return (
            f"Records are clustered by {names_of(self.policy.schema.quasi)}, and inside a cluster these change places at "
            "random, all together; everything else is as it was. Every column keeps its values, so each column's counts, mean "
            "and variance are exact."
        )


def _shown(asked: str | None) -> Show:
    """What a cluster shows; PolicyError for what is shown by other methods."""
    found = next((each for each in SHOWS if each == (asked or "centroid")), None)
    if found is None:
        raise PolicyError("release.show: microaggregation does not show it", came=asked, allowed=", ".join(SHOWS))
    return found


def names_of(attributes: Iterable[Attribute]) -> str:
    """The names of some attributes in the order of the alphabet, which is the order of a lock."""
    return ", ".join(sorted(one.name for one in attributes))
