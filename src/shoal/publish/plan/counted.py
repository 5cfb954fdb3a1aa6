"""The plan of a release by near neighbours: which crowds, what they show, and what that does and does not promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.anonymize.cluster.diversify import Wanted
from shoal.anonymize.method.clusters import GAIN, Crowd
from shoal.anonymize.method.microaggregation import Microaggregation
from shoal.anonymize.method.probabilistic_k import Swap
from shoal.data.schema import Schema
from shoal.errors import PolicyError
from shoal.guarantee.claim import Claim
from shoal.guarantee.rounding import exact_text
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan

METHODS = ("microaggregation", "probabilistic-k")
"""The methods that are planned here."""

GROUPED = {
    "mdav": "the farthest record and its nearest, again and again (MDAV)",
    "vmdav": "like MDAV, but a group takes in records that lie close to it (V-MDAV)",
    "approx": "trees of near records, cut into groups (mu-Approx)",
    "ranking": "runs of k in rank",
    "optimal": "the cuts of the ranked values with the least loss",
    "insensitive": "turns at the corners of the declared domain, in fixed orders",
}

NO_DIFFERENTIAL = (
    "This is no differential privacy: it does not limit what is learned by combining the table with others."
)
NOT_PROMISED = {
    "microaggregation": (
        "It does not say that nothing is learned: if everybody in a group has one confidential value, all of them have it.",
        "It does not cover attributes that an intruder knows and the policy does not call quasi-identifiers.",
        "It does not hold for two releases together: k-anonymous tables about the same people can identify someone.",
        "It does not hide why groups were joined: where l or t is asked for, who repeats the grouping sees which lacked it.",
        "It does not hide who is in the table, and it is no differential privacy.",
        "It does not promise that the table is accurate: a group's records all show its centre.",
    ),
    "probabilistic-k": (
        "It does not hide who is in the table, nor any value: every quasi-identifier and every confidential value is there.",
        "It does not cover what an intruder knows of attributes that stayed together: they still tell of each other.",
        "It does not hold against somebody who knows others in the group, or how what stayed depends on what moved.",
        (
            "It does not say that a value stays unknown: it is one of the group's, which may be equal or close to each other, "
            "and in groups by rank they are close by design."
        ),
        "It does not hide why groups were joined: where l or t is asked for, who repeats the grouping sees which lacked it.",
        "It does not hold for two releases together: the true pairs are those that both show.",
        "It cannot be seen in the table: the groups are not published, so the claim rests on the program that made it.",
        "It is no differential privacy.",
    ),
}


@dataclass(frozen=True)
class SyntacticPlan(Plan):
    """What will happen: the method, its crowds, and what is counted afterwards. It costs no epsilon and has no price."""

    method: Microaggregation | Swap
    format: str

    def __repr__(self) -> str:
        return f"<SyntacticPlan of '{self.policy.dataset}': {self.method.name}, k {self.k}, no differential privacy>"

    def check(self, schema: Schema) -> None:
        """What the theorems ask of the columns."""
        self.method.check(schema)

    @property
    def k(self) -> int:
        """The least crowd of all."""
        method = self.method
        return method.smallest(self.policy.schema) if isinstance(method, Swap) else method.crowd.k

    @property
    def claims(self) -> tuple[Claim, ...]:
        method = self.method
        return method.claims(self.policy.schema) if isinstance(method, Swap) else method.claims()

    def crowds(self) -> dict[str, int]:
        """The k of each confidential attribute, where they are treated one by one."""
        method = self.method
        if not isinstance(method, Swap) or not method.alone:
            return {}
        return {one.name: method.k(one.name) for one in self.policy.schema.confidential}

    def sentences(self) -> list[str]:
        return [self._promised(), self._grounds(), NO_DIFFERENTIAL]

    def _promised(self) -> str:
        wanted, method = self.method.crowd.wanted, self.method
        also = [f"shows at least {wanted.l} different values of each confidential attribute"] if wanted.l else []
        also += [f"has confidential values within {exact_text(wanted.t)} of the whole table's"] if wanted.t else []
        more = f" Every group also {' and '.join(also)}." if also else ""
        if isinstance(method, Microaggregation):
            many = "rows" if self.unit.whose == "row" else "such units"
            return (
                f"Whoever looks for a {self.unit.name} by what they know of it finds at least {self.k} {many} that look the "
                f"same, or none.{more}"
            )
        names = ", ".join(sorted(one.name for one in self.policy.schema.confidential))
        if method.alone:
            return (
                f"What a {self.unit.name} shows of {names} was taken from its own record with probability at most 1/{self.k}, "
                "for each of them alone, as long as one knows nothing of the others in the group and of no dependence on what "
                f"stayed. It comes from records of like rank, so it is near the truth by design.{more}"
            )
        quasi = ", ".join(sorted(one.name for one in self.policy.schema.quasi))
        return (
            f"Whoever finds a {self.unit.name} by {quasi} sees beside it the other values of a record that is its own with "
            f"probability at most 1/{self.k}, as long as they know nothing else of it, nothing of the others in the "
            f"group, and of no dependence between the two.{more}"
        )

    def _grounds(self) -> str:
        quasi = ", ".join(sorted(one.name for one in self.policy.schema.quasi))  # a lock has another order
        names = ", ".join(sorted(one.name for one in self.policy.schema.confidential))
        if isinstance(self.method, Microaggregation):
            return (
                f"Records are grouped by {quasi}; all of a group show the same, and the published table is counted. "
                "All other published attributes are as they were."
            )
        if self.method.alone:
            return f"Exchanged at random, each by itself, among records of like rank: {names}. Everything else is as it was."
        return (
            f"Records are grouped by {quasi}, and inside a group these change places at random, all together; everything else "
            "is as it was. Every column keeps its values, so each column's counts, mean and variance are exact."
        )

    def facts(self) -> list[tuple[str, str, str]]:
        crowd = self.method.crowd
        each = self.crowds()
        own = ", ".join(f"{name} {k}" for name, k in each.items()) if len(set(each.values())) > 1 else str(self.k)
        return [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("method", self.method.name, "no differential privacy"),
            ("k", own, "the smallest group"),
            ("grouping", crowd.grouping, GROUPED[crowd.grouping]),
            *([("l", str(crowd.wanted.l), "different values in each group")] if crowd.wanted.l else []),
            *([("t", exact_text(crowd.wanted.t), "earth mover's distance, at most")] if crowd.wanted.t else []),
            ("status", self.claims[0].status.value, ", ".join(self.claims[0].theorems)),
            ("ledger", "unbounded", "it has no price; later certificates of the dataset mention it"),
        ]

    def recoding_words(self) -> str:
        shows = self.method.rules(self.policy.schema)
        return "What each attribute shows: " + ", ".join(f"{name}: {rule}" for name, rule in shows.items()) + "."

    def to_json(self) -> dict[str, Any]:
        crowd, first = self.method.crowd, self.claims[0]
        return {
            "dataset": self.policy.dataset,
            "method": self.method.name,
            "epsilon": None,
            "delta": None,
            "k": self.k,
            "crowds": self.crowds(),
            "l": crowd.wanted.l,
            "t": None if crowd.wanted.t is None else float(crowd.wanted.t),
            "grouping": crowd.grouping,
            "shows": self.method.rules(self.policy.schema),
            "unit": self.unit.to_saved(),
            "status": first.status.value,
            "theorems": list(first.theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
        }


def syntactic_plan(policy: Policy) -> SyntacticPlan:
    """Resolve a policy whose method groups near records."""
    asked = policy.release
    if asked is None or asked.method not in METHODS or asked.k is None:
        raise PolicyError("no method of near neighbours", allowed=", ".join(METHODS))
    gain = GAIN if asked.gain is None else asked.gain
    crowd = Crowd(asked.k, asked.grouping or "mdav", gain, Wanted(asked.l, asked.t))
    method: Microaggregation | Swap
    if asked.method == "microaggregation":
        method = Microaggregation(crowd, asked.show or "centroid", policy.unit)
    else:
        method = Swap(crowd, policy.unit, dict(asked.crowds or {}))
    found = SyntacticPlan(policy, method, asked.output.format)
    found.check(policy.schema)
    return found
