"""What every plan answers, whatever its method: its promise, its price, its run, its page, and how it is verified.

A method of publishing is one class that extends `Plan`, listed in `publish/plan/methods.py`. It has

    plan/<method>.py          the numbers, resolved from the policy
    run/<method>.py           the job: what is charged, drawn and written
    certificate/<method>.py   what the release states about itself
    report/<method>.py        what the custodian sees

and nothing else in the program asks which method it is: it asks the plan.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from shoal.data.domain import Values, shorten
from shoal.data.schema import Attribute, Schema
from shoal.data.type import is_formula
from shoal.errors import PolicyError
from shoal.guarantee.claim import Claim, Status, Tuning, add_theorem
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget, Cost
from shoal.ledger.look import LookCount, other_plan_words
from shoal.policy.model.method import MOST_COLUMNS
from shoal.policy.model.release import ReleaseModel
from shoal.policy.policy import Lock, Policy

if TYPE_CHECKING:
    from shoal.anonymize.treatment.base import Treatment
    from shoal.guarantee.safe_k.frontier import FrontierPoint
    from shoal.ledger.ledger import RunState
    from shoal.publish.certificate.model import Certificate
    from shoal.publish.counts_rehearsal import CountsRehearsal
    from shoal.publish.rehearse import Rehearsal
    from shoal.publish.run.release import Job
    from shoal.publish.verify.standalone import Check


RECORD_WISE = "record-wise-treatment"
"""The theorem by which a differential promise holds for the table before steps that look at one record alone."""
RECORD_WISE_WORDS = (
    "Each of these steps looks at one record at a time, with parameters that were fixed in advance, so the promise is about the "
    "table before them (theorem record-wise-treatment). What is estimated from the release is about the table after them."
)
TREATED_WORDS = (
    "Everything that is claimed, counted or estimated here is about the table after these steps, not before them."
)


@dataclass(frozen=True)
class Verification:
    """How a certificate of one method is verified, beyond what the one-file verifier does."""

    model: type[Certificate]
    """The model of the certificate."""
    against_lock: Callable[[Path, Policy, Any], list[Check]]
    """The checks of a release folder and its certificate against the locked policy."""


def charged_before(when: str, state: RunState) -> str:
    """What the ledger knows of the same plan on the same table: the entry, and what became of its run."""
    return {
        "appeared": f"this very release was charged before ({when})",
        "running": f"another run is making this very release now ({when})",
        "unknown": f"this very release was charged before ({when}), and the ledger has not noted whether it appeared",
        "ended": f"this very release was charged before ({when}) and never appeared",
    }[state]


def noted_before(when: str, state: RunState) -> str:
    """What the ledger knows of the same plan without a price on the same table."""
    if state == "running":
        return f"another run is making this very release now ({when})"
    return f"this very release was noted before ({when}), whether or not it appeared"


def _listed(attribute: Attribute) -> Iterator[str]:
    """The name of an attribute, and its declared values and labels as far as they are listed."""
    yield attribute.name
    if isinstance(attribute.domain, Values):
        yield from attribute.domain.values
    for level in attribute.hierarchy.levels if attribute.hierarchy is not None else ():
        yield from level.labels or ()


def counted_headline(claims: Sequence[Claim]) -> str:
    """The sentence that a certificate opens with where several properties are counted on the table: all of them."""
    counted = [claim.guarantee.words() for claim in claims if claim.status is Status.CHECKED]
    first = claims[0]
    return f"Checked: {'; '.join(counted)}." if first.status is Status.CHECKED else first.words()


@dataclass(frozen=True)
class NoiseBeside:
    """Whether noise outweighs the average cell, None where the size of the table is not known, and so in one sentence."""

    outweighs: bool | None
    words: str


@dataclass(frozen=True)
class Plan(ABC):
    """Everything that will happen, resolved from the policy alone; no row has been read."""

    policy: Policy
    looks: tuple[LookCount, ...] = field(default=(), kw_only=True)
    """Looks at the real table that the ledger has on record; empty where they say nothing about how the plan came about."""

    methods: ClassVar[tuple[str, ...]]
    """The values of `release.method` that this class plans."""

    @classmethod
    @abstractmethod
    def of(cls, policy: Policy) -> Plan:
        """Resolve a policy that names one of the methods; InfeasibleError when what it asks for cannot be reached."""

    @classmethod
    @abstractmethod
    def verification(cls) -> Verification:
        """How a certificate of this method is verified."""

    @classmethod
    def release_of(cls, policy: Policy) -> ReleaseModel:
        """The policy's `release` block; PolicyError where there is none, or its method is another class's to plan."""
        asked = policy.release
        if asked is None:
            raise PolicyError(
                "the policy asks for no release",
                fix="add a `release:` block, such as `release: {epsilon: 1, delta: 1e-6}`, once its columns have domains",
            )
        if asked.method not in cls.methods:
            raise PolicyError(
                "release.method: another method than the one to plan", came=asked.method, allowed=", ".join(cls.methods)
            )
        return asked

    @abstractmethod
    def job(self) -> Job:
        """The run: what is charged, written and reported."""

    def rehearse(self, **options: Any) -> Rehearsal | CountsRehearsal:  # noqa: ARG002 - for methods that draw a sample
        """Run it on simulated tables, with the options of `shoal.rehearse`; PolicyError for a method that draws no sample."""
        raise PolicyError(
            "release.method: it draws no sample, so there is nothing to rehearse",
            came=", ".join(self.methods),
            allowed="safe-k",
            fix="plan it with `shoal plan`, run it with `shoal release`",
        )

    # --- what it promises ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def claims(self) -> tuple[Claim, ...]:
        """What will hold for everything that is published."""

    @property
    def theorems(self) -> tuple[str, ...]:
        """Every theorem that a claim rests on, each once."""
        return tuple(dict.fromkeys(name for claim in self.claims for name in claim.theorems))

    @property
    def headline(self) -> str:
        """The sentence that a certificate opens with: the first claim."""
        return self.claims[0].words()

    @property
    @abstractmethod
    def not_promised(self) -> Sequence[str]:
        """What a reader may take to be promised and is not, in sentences."""

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """Raise PreconditionError where the columns of a table do not meet a premise of the theorems."""

    @property
    def one_memory(self) -> str | None:
        """Why the method needs all records in the memory of one machine; None where operations of the engine do its work."""
        return None

    @property
    def cost(self) -> Cost | None:
        """What the ledger is charged; None for a method without a differential promise, which has no price."""
        return None

    @property
    def budget(self) -> Budget | None:
        """The ceiling that the policy names for the dataset; None where it names none or nothing is charged."""
        asked = self.policy.budget
        return None if asked is None or self.cost is None else Budget.of(asked.epsilon, asked.delta, asked.accounting)

    def price(self) -> Cost:
        """What the ledger is charged; PolicyError for a method that has no price."""
        if self.cost is None:
            raise PolicyError(
                "release.method: it makes no differential promise, so it has no price",
                came=self.policy.release.method if self.policy.release else "no release",
                allowed="safe-k",
                fix="plan it with `shoal plan`, run it with `shoal release`",
            )
        return self.cost

    @abstractmethod
    def repeat_words(self, when: str, state: RunState) -> str | None:
        """What to say before the same plan runs on the same table again; None where the ledger refuses that anyway.

        `when` names the earlier entry of the ledger; `state` says what became of its run.
        """

    # --- what is done before the method -------------------------------------------------------------------------

    @cached_property
    def treatments(self) -> tuple[Treatment, ...]:
        """The steps that change values before the method sees them, in their order."""
        asked = self.policy.model.treatments
        if not asked:
            return ()
        from shoal.anonymize.treatment.steps import treatments_of

        return treatments_of(asked, self.policy.schema)

    def after_treatments(self, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        """The claims of a differential method with the theorem by which they hold for the table before its treatments.

        Raises     PreconditionError where a step does not look at one record alone
        """
        if not self.treatments:
            return claims
        from shoal.anonymize.treatment.base import check_record_wise

        check_record_wise(self.treatments, self.unit)
        return (add_theorem(claims[0], RECORD_WISE), *claims[1:])

    def treatment_words(self) -> list[str]:
        """What is done to the values before the method sees them, and what that does to the claims, in sentences."""
        if not self.treatments:
            return []
        return [
            "Values are treated before the method sees them.",
            *(each.words() for each in self.treatments),
            RECORD_WISE_WORDS if self.cost is not None else TREATED_WORDS,
        ]

    def treatment_fields(self) -> dict[str, Any]:
        """The steps as plain values, under the key `treatments`; nothing where there are none."""
        return {"treatments": [each.to_json() for each in self.treatments]} if self.treatments else {}

    # --- the policy ---------------------------------------------------------------------------------------------

    @cached_property
    def lock(self) -> Lock:
        """The canonical text of the policy and its hash."""
        return self.policy.lock()

    @cached_property
    def confirmed_lock(self) -> Lock:
        """The lock as if everything were confirmed: by it a look with this plan is known, before and after a confirmation."""
        return self.policy.confirmed_lock()

    @property
    def unit(self) -> Unit:
        """The unit of privacy: whose data are hidden."""
        return self.policy.unit

    @cached_property
    def schema(self) -> Schema:
        """The policy's schema; where the unit is a person, names are read exactly and a row that names nobody is refused."""
        return self.policy.schema.with_names(self.unit.column)

    @property
    def tuning(self) -> Tuning:
        """What the plan may owe to the data: domains or hierarchies that nobody has confirmed, looks with another plan."""
        drafted = bool(self.policy.profiled_keys())
        return Tuning(
            drafted=drafted,
            looked=any(count.other_plan for count in self.looks),
            confirmed=not drafted and any(count.kind == "init" for count in self.looks),
        )

    @property
    def is_tuned(self) -> bool:
        """Whether the plan may have been chosen by the data, so that its promise does not cover that choice."""
        return bool(self.tuning)

    def after_looks(self, looks: Sequence[LookCount] | None) -> Self:
        """The plan as it is known once the ledger is: with the looks that say something about how it came about.

        `looks` tells those with this very plan from those with another (`Account.count_looks`); None where they are not known.
        """
        telling = tuple(count for count in looks or () if count.other_plan or count.kind == "init")
        return self if telling == self.looks else replace(self, looks=telling)

    # --- in words -----------------------------------------------------------------------------------------------

    @property
    def work(self) -> str | None:
        """What to expect of a run that takes long, from the policy alone; None for a run that does not."""
        return None

    @property
    def notes(self) -> list[str]:
        """What to know before the plan runs that is no part of its promise."""
        return [*self._default_words(), *self._formula_words()]

    @property
    def warnings(self) -> list[str]:
        """What may change the mind of whoever reads the plan, in sentences."""
        return []

    def noise_beside(self, rows: int | None) -> NoiseBeside | None:  # noqa: ARG002 - plans with noise look at it
        """How the noise compares with the average cell of a table of so many rows; None where there is no noise to compare."""
        return None

    def _default_words(self) -> list[str]:
        """What is published where the policy names no method."""
        if self.policy.model.release is None or self.policy.model.release.method is not None:
            return []
        columns, asked = len(self.schema.published), self.policy.release
        wide = asked is None or asked.has_rows
        what, verb = ("one table", "is") if wide else ("noisy counts of all pairs", "are")
        said = (
            f"The policy names no method: {what} of its {columns:,} columns {verb} published (one table of up to "
            f"{MOST_COLUMNS} columns, noisy counts of more). `shoal plan --compare` shows what other ways give."
        )
        return [said]

    def _formula_words(self) -> list[str]:
        """What a spreadsheet may take for a formula."""
        asked = self.policy.release
        if asked is None or asked.output.format != "csv":
            return []
        names = [each.name for each in self.schema.published if any(map(is_formula, _listed(each)))]
        if not names:
            return []
        said = (
            f"Values or labels of {shorten(names)} begin with =, +, - or @ and are no numbers: a spreadsheet that opens the CSV "
            "file may take them for formulas. They are published as they are; open the file as text, or publish Parquet."
        )
        return [said]

    @property
    def drafted_words(self) -> str:
        """Every key that was drafted from the data and that nobody has confirmed, as a certificate names them."""
        keys = ", ".join(self.policy.profiled_keys())
        return f"Parts of the policy were drafted from the data and nobody has confirmed them: {keys}."

    def _tuning_words(self) -> list[str]:
        """What was drafted from the data and not confirmed, and which results were seen with another plan."""
        found, tuning = [], self.tuning
        if tuning.drafted:
            found.append(self.drafted_words)
        if tuning.looked:
            found.append(other_plan_words(self.looks))
        return found

    @abstractmethod
    def sentences(self) -> list[str]:
        """The promise in sentences, for a person to read before any row is read."""

    @abstractmethod
    def facts(self) -> list[tuple[str, str, str]]:
        """The numbers of the plan: for each a name, a value, and what it means."""

    @abstractmethod
    def recoding_words(self) -> str:
        """How the published labels come about, in a sentence."""

    @property
    def view_head(self) -> tuple[str, str, str]:
        """What the three parts of a line of `view_rows` are."""
        return ("view", "k", "beta")

    def view_rows(self, most: int) -> list[tuple[str, str, str]]:  # noqa: ARG002 - for plans that have views
        """A line for each narrow table, or for each kind of them where there are more than `most`; empty for a plan without any.

        `view_head` says what stands in a line.
        """
        return []

    def counted_words(self, content: Mapping[str, Any]) -> str | None:  # noqa: ARG002 - for plans that publish counts
        """What a certificate says that was published, in a few words; None where that is rows and nothing else."""
        return None

    def page(self) -> str:
        """The plan as a page of HTML, to be printed, reviewed and signed before the data are touched."""
        from shoal.publish.plan.page import plan_page

        return plan_page(self)

    def page_fields(self, choices: list[FrontierPoint] | None) -> dict[str, Any]:  # noqa: ARG002 - for methods that have some
        """What the page of this method shows beyond its words: pictures, other choices, views.

        `choices` are those of `frontier`, where somebody has solved for them already.
        """
        return {}

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The plan as plain values, with the fields that `shoal plan --json` prints."""
