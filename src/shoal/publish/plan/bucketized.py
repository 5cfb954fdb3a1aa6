"""The plan of a release by groups of records: confidential values in buckets, or in a table of their own.

Who stands in which group is decided so that every group holds what the whole table holds (t-closeness), so that no confidential
value is frequent in a group (Anatomy), or so that a group's confidential values are alike.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.anonymize.method.anatomy import Anatomy, AnatomyGrouping
from shoal.anonymize.method.t_closeness import CHOICES, Bucketization, ShownValue
from shoal.data.schema import Attribute, Role, Schema
from shoal.errors import PolicyError
from shoal.guarantee.claim import Claim
from shoal.guarantee.rounding import exact_text
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan, Verification, counted_headline, noted_before
from shoal.publish.plan.counted import NO_DIFFERENTIAL

if TYPE_CHECKING:
    from fractions import Fraction

    from shoal.ledger.ledger import RunState
    from shoal.publish.run.bucketized import GroupJob

GROUPING_WORDS = {
    "near": "records near in their quasi-identifiers, of every bucket some",
    "random": "records drawn at random, by their confidential values alone",
    "confidential": "records with like confidential values",
}

FORM_WORDS = {
    "linked": "two tables: the records, and what each group holds",
    "permuted": "one table, in which what is confidential changed places inside groups that it does not show",
}

EVERYBODY = "It does not hide who is in the table: all but the confidential attributes are there as they were."
OTHERS = "It does not hold against somebody who knows what others of the group have: who knows all the others knows the last."
DEPENDENCE = (
    "It does not cover what attributes that stay with a record say of the confidential ones by themselves, such as a treatment "
    "that one diagnosis alone has."
)
TWO_RELEASES = "It does not hold for two releases together: the groups of both can be compared, and then hide fewer."
EDGES = "It does not hide where the buckets end: their ends were read off the table, and they are published."
REPEATING = (
    "It does not hide how groups came about: which records were near enough to be grouped depends on their buckets, and who "
    "repeats the grouping may become certain of somebody's."
)
HIDDEN = "It cannot be seen in the table: the groups are not published, so the claim rests on the program that made it."
VALUES = "It does not promise t-closeness: values are shown as they are, and groups that lack one rule it out."
ALIKE = "It does not say that a value stays unknown: the values of a group are alike by design, and may all be equal."
FREQUENT = "It does not limit what is learned beyond the share 1/l: a value that is rare in the table may make up 1/l of a group."


@dataclass(frozen=True)
class GroupPlan(Plan):
    """A release of records in groups, with what each group holds of the confidential attributes. It has no price.

    Each method is a class below: what a group is, what is shown of it, and what that does and does not promise.
    """

    method: Bucketization | Anatomy
    format: str

    def __repr__(self) -> str:
        return f"<GroupPlan of '{self.policy.dataset}': {self.method.name}, k {self.k}, no differential privacy>"

    @classmethod
    def verification(cls) -> Verification:
        from shoal.publish.certificate.model import BucketizedCertificate
        from shoal.publish.verify.bucketized import group_checks

        return Verification(BucketizedCertificate, group_checks)

    @property
    def one_memory(self) -> str | None:
        """The search needs all records."""
        return "a group takes records from every bucket by comparing all that are left"

    def job(self) -> GroupJob:
        from shoal.publish.run.bucketized import GroupJob

        return GroupJob(self)

    def check(self, schema: Schema) -> None:
        self.method.check(schema)

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.method.claims(self.policy.schema)

    @property
    @abstractmethod
    def k(self) -> int:
        """The size of the smallest group."""

    @property
    def t(self) -> Fraction | None:
        """The largest ratio between the share of a bucket in a group and in the table; None where none is promised."""
        return None

    @property
    def l(self) -> int | None:  # noqa: E743 - the literature's letter
        """One over the largest share of a confidential value in a group; None where none is promised."""
        return None

    @property
    def form(self) -> str:
        """`linked`: two tables with the numbers of groups; `permuted`: one table without."""
        return self.method.form

    @property
    def show(self) -> str:
        """What stands for a confidential value: its `bucket`, or the `value`."""
        return "value"

    @property
    @abstractmethod
    def grouping(self) -> str:
        """How records find each other: `near`, `random` or `confidential`."""

    @property
    def headline(self) -> str:
        return counted_headline(self.claims)

    @property
    def not_promised(self) -> Sequence[str]:
        hidden = [HIDDEN] if self.form == "permuted" else []
        first = (EVERYBODY, OTHERS, DEPENDENCE)
        return (*first, *self._limits(), *hidden, TWO_RELEASES, "It is no differential privacy.")

    @abstractmethod
    def _limits(self) -> list[str]:
        """What this method does not promise, beyond what none of them does."""

    def repeat_words(self, when: str, state: RunState) -> str | None:
        return f"{noted_before(when, state)}; with each one more, groups of k hide fewer"

    def sentences(self) -> list[str]:
        own = [self._relation_words(), *self._share_words(), self._grounds(), NO_DIFFERENTIAL]
        return [*own, *self.treatment_words()]

    def _relation_words(self) -> str:
        """What the groups hide of whose values are whose."""
        secret = names_of(self.policy.schema.confidential)
        what = f"buckets of {secret}" if self.show == "bucket" else f"values of {secret}"
        if self.form == "permuted":
            return (
                f"Inside groups of at least {self.k} records, which are not shown, the {what} changed places at random. What "
                f"stands beside a {self.unit.name} was taken from its own record with probability at most 1/{self.k}, as long as "
                "one knows nothing of the others in the group and of no dependence on what stayed."
            )
        return (
            f"Every {self.unit.name} stands in a group of at least {self.k} records. The release says how many records of a "
            f"group have which {what}, and not which records."
        )

    def _share_words(self) -> list[str]:
        """What holds of the shares in every group."""
        said, secret = [], names_of(self.policy.schema.confidential)
        if self.l is not None:
            said.append(f"No value of {secret} makes up more than 1/{self.l} of a group.")
        if self.t is not None:
            t = exact_text(self.t)
            seen = "" if self.form == "linked" else ", as was counted before the groups were hidden"
            several = " (of all of them together)" if len(self.policy.schema.confidential) > 1 else ""
            why = ", and who does not reason from who was near whom" if self.grouping == "near" else ""
            said.append(
                f"In every group each bucket of {secret}{several} has at most {t} times the share that it has in the whole "
                f"table, and at least that share divided by {t}{seen}. Somebody who knows of a {self.unit.name} what its record "
                f"shows, of {secret} nothing but the shares in the whole table, and of others in the group nothing{why}, finds "
                f"no bucket more than {t} times as likely as before, nor less than {exact_text(1 / self.t)} times."
            )
        return said

    @abstractmethod
    def _grounds(self) -> str:
        """What is done to the records, in a sentence."""

    def facts(self) -> list[tuple[str, str, str]]:
        first = self.claims[0]
        found = [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("method", self.method.name, "no differential privacy"),
            ("k", str(self.k), "the smallest group"),
        ]
        if self.l is not None:
            found.append(("l", str(self.l), "no confidential value has more than 1/l of a group"))
        if self.t is not None:
            found.append(
                ("t", exact_text(self.t), "ratio of the shares of a bucket in a group and in the table, at most")
            )
        return [
            *found,
            ("grouping", self.grouping, GROUPING_WORDS[self.grouping]),
            ("form", self.form, FORM_WORDS[self.form]),
            ("status", first.status.value, ", ".join(self.theorems)),
            ("ledger", "unbounded", "it has no price; later certificates of the dataset mention it"),
        ]

    def recoding_words(self) -> str:
        shows = self.method.rules(self.policy.schema)
        return "What each attribute shows: " + "; ".join(f"{name}: {rule}" for name, rule in shows.items()) + "."

    def to_json(self) -> dict[str, Any]:
        first = self.claims[0]
        return {
            "dataset": self.policy.dataset,
            "method": self.method.name,
            "epsilon": None,
            "delta": None,
            "k": self.k,
            "l": self.l,
            "t": None if self.t is None else exact_text(self.t),
            "grouping": self.grouping,
            "form": self.form,
            "show": self.show,
            "shows": self.method.rules(self.policy.schema),
            "unit": self.unit.to_saved(),
            "status": first.status.value,
            "theorems": list(self.theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
            **self.treatment_fields(),
        }

    def is_secret(self, name: str) -> bool:
        """Whether an attribute is confidential."""
        return self.policy.schema[name].role is Role.CONFIDENTIAL

    # --- the tables -----------------------------------------------------------------------------------------------

    def table_columns(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The name of each published table with its attributes, in the order of the policy."""
        published = [one.name for one in self.policy.schema.published]
        secret = {one.name for one in self.policy.schema.confidential}
        if self.form == "permuted":
            return (("table", tuple(published)),)
        rest = tuple(name for name in published if name not in secret)
        return (("records", rest), ("confidential", tuple(name for name in published if name in secret)))


@dataclass(frozen=True, repr=False)
class TClosenessPlan(GroupPlan):
    """Confidential values in buckets, and groups that hold every bucket about as often as the whole table does.

    Promise   a k-anonymous relation and t-closeness by the ratio distance, counted; on a condition, a knowledge gain up to t.
    Requires  quasi-identifiers, confidential attributes; at least 2k records, and counts that keep every group within t.
    Reads     nothing: the policy alone.
    """

    method: Bucketization

    methods = ("t-closeness",)

    @classmethod
    def of(cls, policy: Policy) -> TClosenessPlan:
        asked = cls.release_of(policy)
        if asked.t is None or asked.k is None:
            raise PolicyError("release: t-closeness needs t and k")
        choice = next((each for each in CHOICES if each == asked.grouping), CHOICES[0])
        show: ShownValue = "value" if asked.show == "value" else "bucket"
        method = Bucketization(asked.t, asked.k, asked.form or "linked", show, policy.unit, choice)
        found = cls(policy, method, asked.output.format)
        found.check(policy.schema)
        return found

    @property
    def k(self) -> int:
        return self.method.k

    @property
    def t(self) -> Fraction | None:
        return self.method.t if self.show == "bucket" else None

    @property
    def show(self) -> str:
        return self.method.show

    @property
    def grouping(self) -> str:
        return self.method.choice

    def _limits(self) -> list[str]:
        return [EDGES if self.show == "bucket" else VALUES, *([REPEATING] if self.grouping == "near" else [])]

    def _grounds(self) -> str:
        quasi, secret = names_of(self.policy.schema.quasi), names_of(self.policy.schema.confidential)
        how = f"near ones in {quasi} together" if self.grouping == "near" else "drawn at random"
        each = " each" if len(self.policy.schema.confidential) > 1 else ""
        return (
            f"The values of {secret} are cut into at most {self.method.buckets_at_most} buckets{each}, as even in numbers "
            "of records as equal values allow, and one more of missing values if there are any. Records are put into groups, "
            f"{how}, that take of every bucket as many as t allows."
        )


@dataclass(frozen=True, repr=False)
class AnatomyPlan(GroupPlan):
    """Confidential values in a table of their own, linked by groups in which none is frequent, or in which they are alike.

    Promise   a k-anonymous relation and, with l, shares of at most 1/l, counted on the two tables.
    Requires  confidential attributes, with l one of which no value has more than 1/l of the records; at least two groups.
    Reads     nothing: the policy alone.
    """

    method: Anatomy

    methods = ("anatomy",)

    @classmethod
    def of(cls, policy: Policy) -> AnatomyPlan:
        asked = cls.release_of(policy)
        grouping: AnatomyGrouping = "confidential" if asked.grouping == "confidential" else "random"
        method = Anatomy(asked.l, asked.k, policy.unit, grouping, asked.form or "linked")
        found = cls(policy, method, asked.output.format)
        found.check(policy.schema)
        return found

    @property
    def k(self) -> int:
        return self.method.least

    @property
    def l(self) -> int | None:  # noqa: E743 - the literature's letter
        return self.method.l if self.form == "linked" else None

    @property
    def grouping(self) -> str:
        return self.method.grouping

    def _limits(self) -> list[str]:
        alike = [ALIKE] if self.grouping == "confidential" else []
        return [*alike, *([FREQUENT] if self.l is not None else [])]

    def _grounds(self) -> str:
        secret = names_of(self.policy.schema.confidential)
        if self.grouping == "confidential":
            joined = " and groups that lack l are joined with the next" * (self.method.l is not None)
            return f"Records with like values of {secret} are put into groups of at least {self.k}{joined}."
        return f"Records with different values of {secret} are drawn into groups, from the most frequent values first."


def names_of(attributes: Iterable[Attribute]) -> str:
    """The names of some attributes in the order of the alphabet, which is the order of a lock."""
    return ", ".join(sorted(one.name for one in attributes))
