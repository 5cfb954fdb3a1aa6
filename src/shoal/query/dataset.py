"""A registered dataset: its policy, its table, the description that analysts may see, and what the ledger knows of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.chance.source import Source
from shoal.data.domain import Domain, Interval, Values
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type, spell
from shoal.engine.base import Engine, Table, bound_contributions
from shoal.engine.digest import Contents, file_digest
from shoal.engine.read.foreign.address import file_of_address, is_address, refuse_secret
from shoal.errors import BudgetError, DataError, PolicyError, ShoalError, UsageError
from shoal.guarantee.rounding import Number, exact, text_near
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget
from shoal.ledger.ledger import Ledger
from shoal.ledger.state import Registration
from shoal.policy.policy import Policy, lock_of
from shoal.policy.schema import BOOLEAN

_COIN = Fraction(1, 2)


@dataclass(frozen=True)
class Dataset:
    """A registered dataset: the policy that questions are resolved against, and where its table lies.

    Pricing a question needs the policy alone; the table is opened when a question is answered.
    """

    policy: Policy
    entry: Registration
    data: object
    """The table: a path, the address of a database, or a frame."""
    seen: tuple[Table, Contents] | None = field(default=None, repr=False, compare=False)
    """The table and its fingerprints, where it was opened to be registered."""

    def __repr__(self) -> str:
        """The dataset without its rows, which a frame would print."""
        return f"<Dataset '{self.name}': {len(self.policy.schema.attributes)} attributes, {self.unit.words()}>"

    @property
    def name(self) -> str:
        """The name of the dataset in the ledger."""
        return self.entry.dataset

    @property
    def unit(self) -> Unit:
        """The unit of privacy."""
        return self.entry.unit

    @cached_property
    def schema(self) -> Schema:
        """The schema of the policy; where the unit is a person, the column that identifies persons is read exactly."""
        return self.policy.schema.with_names(self.policy.unit.column)

    @cached_property
    def attributes(self) -> tuple[AttributeDescription, ...]:
        """A description of each attribute that questions may name, from the policy alone."""
        return describe_attributes(self.schema)

    @cached_property
    def identity(self) -> str:
        """The hash of the table and the policy, by which a recorded answer is found again."""
        return hashlib.sha256(f"{self.entry.table}\n{self.entry.lock}".encode()).hexdigest()

    @property
    def is_tuned(self) -> bool:
        """Whether a domain or hierarchy was drafted from the data and nobody has confirmed it."""
        return bool(self.policy.profiled_keys())

    def open(self, engine: Engine, ledger: Ledger) -> tuple[Table, Contents]:
        """The table, checked to be the one that was registered, and its fingerprints.

        What is wrong with it is not said here: that is for the custodian to find out.
        """
        if self.seen is not None:
            return self.seen
        try:
            table = engine.scan(self.data, self.schema)
            contents = table.contents()
        except ShoalError:
            raise DataError(
                f"the table of dataset '{self.name}' cannot be opened as it was registered",
                fix="its custodian finds out why with `shoal dataset register`; nothing was charged",
            ) from None
        if ledger.fingerprint(contents.whole) != self.entry.table:
            raise DataError(
                f"the table of dataset '{self.name}' is not the one that was registered",
                fix="its custodian registers it again, under the same name and budget; nothing was charged",
            )
        return table, contents


def register(
    policy: Policy,
    data: object,
    *,
    ledger: Ledger,
    engine: Engine,
    sampled: Number | None = None,
    budget: Budget | None = None,
) -> Dataset:
    """Register a table for questions: every row is checked against the policy, and the ledger notes where both lie.

    Registering again after the table or the policy has changed is a new event under the same name and the same budget.
    `sampled` says that the table was drawn from a population by keeping each unit independently with at most this
    probability; the policy's `release.sampling.already` says the same.
    """
    refuse_treatments(policy)
    entry = Registration(
        policy.dataset,
        _policy_path(policy),
        policy_hash(policy),
        _place_of(data),
        policy.unit,
        _rate(policy, sampled),
    )
    named = policy.budget
    wanted = budget if named is None else Budget.of(named.epsilon, named.delta, named.accounting)
    if budget is not None and wanted != budget:
        raise BudgetError(
            "the budget differs from the policy's", came=budget.words(), allowed=wanted.words() if wanted else None,
            fix="leave it out, or name the analyst whose share it is",
        )  # fmt: skip
    table = engine.scan(data, policy.schema.with_names(policy.unit.column))
    contents = table.contents()
    made = ledger.register(entry, budget=wanted, table=contents.whole, columns=contents.columns, file=file_digest(data))
    return Dataset(policy, made, data, (table, contents))


def refuse_treatments(policy: Policy) -> None:
    """Raise for a policy whose values are to be treated: a step that draws would be drawn anew for every answer."""
    if policy.model.treatments:
        raise PolicyError(
            "treatments: questions are answered about the table as it is, and treatments are steps of a release",
            came=", ".join(dict.fromkeys(each.kind for each in policy.model.treatments)),
            fix="register a policy without them; its dataset may have the same name",
        )


def find(name: str, ledger: Ledger) -> Dataset:
    """A dataset by its name; the policy is read from where it was registered, the table is not."""
    entry = ledger.registration(name)
    if entry is None:
        raise UsageError(
            "no dataset of this name is registered",
            came=name,
            fix="its custodian registers it with `shoal dataset register POLICY DATA`",
        )
    if entry.policy is None or entry.data is None:
        raise UsageError(
            f"dataset '{name}' was registered from memory, so it cannot be found by its name",
            fix="open the session with the policy and the table",
        )
    policy = Policy.load(entry.policy)
    if policy.dataset != name or policy_hash(policy) != entry.lock:
        raise PolicyError(
            f"the policy of dataset '{name}' has changed since it was registered",
            came=entry.policy,
            fix="its custodian registers it again with `shoal dataset register`",
        )
    return Dataset(policy, entry, entry.data if is_address(entry.data) else Path(entry.data))


def policy_hash(policy: Policy) -> str:
    """The hash of the parts of a policy that questions depend on: attributes, unit, neighbours; not its release."""
    asked = policy.model.model_copy(update={"release": None, "budget": None})
    return lock_of(asked, policy.schema, policy.hashes).sha256


def bound_rows(table: Table, unit: Unit, source: Source) -> Table:
    """Contribution bounding for a session: at most `max_rows` rows of each person, chosen at random."""
    if unit.column is None:
        return table
    return bound_contributions(table, unit, source.row_mask(_COIN).words, "answer-sensitivity")


def _rate(policy: Policy, sampled: Number | None) -> Fraction | None:
    asked = policy.model.release
    already = asked.sampling.already if asked is not None and asked.sampling is not None else None
    if sampled is None:
        return already
    rate = exact(sampled, "the rate of the sample")
    if already is not None and already != rate:
        raise UsageError(
            "two different sampling rates for one table",
            came=f"{text_near(rate)}",
            allowed=f"{text_near(already)}, as the policy says",
        )
    return rate


def _place_of(data: object) -> str | None:
    """Where the table is found again: an absolute path, or the address of a database as it was given.

    Raises  UsageError where the address holds a password: the ledger stores none
    """
    if isinstance(data, str) and is_address(data):
        file = file_of_address(data)
        if file is None:
            refuse_secret(data)
            return data
        data = file
    return str(Path(data).absolute()) if isinstance(data, str | Path) else None


def _policy_path(policy: Policy) -> str | None:
    where = Path(policy.file)
    return str(where.absolute()) if policy.folder is not None and where.is_file() else None


@dataclass(frozen=True)
class AttributeDescription:
    """The description of one attribute that an analyst may see, from the policy alone."""

    name: str
    type: str
    domain: Domain | None
    levels: tuple[tuple[int, int], ...]
    """Levels of the hierarchy that a histogram can name, each with its number of labels."""

    def words(self) -> str:
        """The domain of the attribute in words."""
        return self.domain.words() if self.domain else "no domain: not for questions"

    def levels_words(self) -> str:
        """The levels of the hierarchy as they are typed, each with its number of labels."""
        return ", ".join(f"@{level} {labels:,}" for level, labels in self.levels)

    def to_json(self) -> dict[str, Any]:
        """The description as plain values."""
        levels = [{"level": level, "labels": labels} for level, labels in self.levels]
        return {"name": self.name, "type": self.type, "domain": _domain(self.domain), "levels": levels}


def describe_attributes(schema: Schema) -> tuple[AttributeDescription, ...]:
    """The description of every attribute that questions may name."""
    return tuple(_describe(each) for each in schema.published)


def _describe(attribute: Attribute) -> AttributeDescription:
    domain = BOOLEAN if attribute.type is Type.BOOLEAN else attribute.domain
    return AttributeDescription(attribute.name, attribute.type.value, domain, _levels(attribute))


def _levels(attribute: Attribute) -> tuple[tuple[int, int], ...]:
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return ()
    found = [(index, hierarchy.labels(index)) for index in range(len(hierarchy))]
    return tuple((index, len(labels)) for index, labels in found if labels is not None)


def _domain(domain: Domain | None) -> dict[str, Any] | None:
    if domain is None:
        return None
    if isinstance(domain, Interval):
        return {"low": spell(domain.low), "high": spell(domain.high)}
    return {"values": list(domain.values)} if isinstance(domain, Values) else {"pattern": domain.words()}
