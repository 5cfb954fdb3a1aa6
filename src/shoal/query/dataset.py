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
from shoal.errors import BudgetError, DataError, PolicyError, PreconditionError, ShoalError, UsageError
from shoal.guarantee.rounding import Number, exact
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget
from shoal.ledger.ledger import Ledger
from shoal.ledger.state import Registration
from shoal.policy.lock import lock
from shoal.policy.policy import Policy
from shoal.policy.schema import BOOLEAN

_COIN = Fraction(1, 2)


@dataclass(frozen=True)
class Dataset:
    """What a question is typed against (the policy), and where its rows lie (never looked at for a price)."""

    policy: Policy
    entry: Registration
    data: object
    """A path or a frame."""
    seen: tuple[Table, Contents] | None = field(default=None, repr=False, compare=False)
    """The table and what it holds, where it was opened to be registered."""

    def __repr__(self) -> str:
        """Without its rows: a frame would print them."""
        return f"<Dataset '{self.name}': {len(self.policy.schema.attributes)} attributes, {self.unit.words()}>"

    @property
    def name(self) -> str:
        """The name in the ledger."""
        return self.entry.dataset

    @property
    def unit(self) -> Unit:
        """Whose contribution is hidden."""
        return self.entry.unit

    @cached_property
    def schema(self) -> Schema:
        """The policy's schema; where persons are hidden, their names are read exactly."""
        return self.policy.schema.with_names(self.policy.unit.column)

    @cached_property
    def attributes(self) -> tuple[Described, ...]:
        """What may be asked about, from the policy alone."""
        return described(self.schema)

    @cached_property
    def identity(self) -> str:
        """What a recorded answer is about: this table, read by this policy."""
        return hashlib.sha256(f"{self.entry.table}\n{self.entry.lock}".encode()).hexdigest()

    @property
    def tuned(self) -> bool:
        """Whether a domain or hierarchy was drafted from the data and nobody has confirmed it."""
        return bool(self.policy.profiled_keys())

    def open(self, engine: Engine, ledger: Ledger) -> tuple[Table, Contents]:
        """The table, checked to be the one that was registered, and its contents; what is wrong with it is for the holder."""
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
    """Let a table be asked: every row is checked against the policy, and the ledger notes where both lie.

    Registering again after the table or the policy has changed is a new event under the same name and the same budget.
    `sampled` says that the table was drawn from a population by keeping each unit independently with at most this
    probability; the policy's `release.sampling.already` says the same.
    """
    path = _path_of(data)
    entry = Registration(
        policy.dataset,
        _policy_path(policy),
        meaning(policy),
        None if path is None else str(path),
        policy.unit,
        _rate(policy, sampled),
    )
    named = policy.budget
    wanted = budget if named is None else Budget.of(named.epsilon, named.delta)
    if budget is not None and wanted != budget:
        raise BudgetError(
            "the budget differs from the policy's", came=budget.words(), allowed=wanted.words() if wanted else None,
            fix="leave it out, or name the analyst whose share it is",
        )  # fmt: skip
    table = engine.scan(data, policy.schema.with_names(policy.unit.column))
    contents = table.contents()
    made = ledger.register(entry, budget=wanted, table=contents.whole, columns=contents.columns, file=file_digest(data))
    return Dataset(policy, made, data, (table, contents))


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
    if policy.dataset != name or meaning(policy) != entry.lock:
        raise PolicyError(
            f"the policy of dataset '{name}' has changed since it was registered",
            came=entry.policy,
            fix="its custodian registers it again with `shoal dataset register`",
        )
    return Dataset(policy, entry, Path(entry.data))


def meaning(policy: Policy) -> str:
    """The hash of what questions depend on: attributes, unit, neighbours; not of what a release asks for."""
    asked = policy.model.model_copy(update={"release": None, "budget": None})
    return lock(asked, policy.schema, policy.hashes).sha256


def at_most(table: Table, unit: Unit, source: Source) -> Table:
    """At most `max_rows` rows of each person, chosen at random; the table as it is where rows are hidden.

    Counted again afterwards: what one person moves was worked out for so many rows (theorem `answer-sensitivity`).
    """
    if unit.column is None:
        return table
    chosen = bound_contributions(table, unit, source.row_mask(_COIN).words, "answer-sensitivity")
    if chosen.suppress_below([unit.column], unit.max_rows + 1).rows():
        raise PreconditionError(
            "answer-sensitivity", "a person has more rows than the policy says", allowed=f"{unit.max_rows} at most"
        )
    return chosen


def _rate(policy: Policy, sampled: Number | None) -> Fraction | None:
    asked = policy.model.release
    already = asked.sampling.already if asked is not None and asked.sampling is not None else None
    if sampled is None:
        return already
    rate = exact(sampled, "the rate of the sample")
    if already is not None and already != rate:
        raise UsageError(
            "two rates for one sample", came=f"{float(rate):g}", allowed=f"{float(already):g}, as the policy says"
        )
    return rate


def _path_of(data: object) -> Path | None:
    return Path(data).absolute() if isinstance(data, str | Path) else None


def _policy_path(policy: Policy) -> str | None:
    where = Path(policy.file)
    return str(where.absolute()) if policy.folder is not None and where.is_file() else None


@dataclass(frozen=True)
class Described:
    """One attribute as an analyst may know it, from the policy alone."""

    name: str
    type: str
    domain: Domain | None
    levels: tuple[tuple[int, int], ...]
    """Levels of the hierarchy that a histogram can name, each with its number of labels."""

    def words(self) -> str:
        """The domain in words."""
        return self.domain.words() if self.domain else "no domain: not for questions"

    def levels_words(self) -> str:
        """The levels as they are typed, each with its number of labels."""
        return ", ".join(f"@{level} {labels:,}" for level, labels in self.levels)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        levels = [{"level": level, "labels": labels} for level, labels in self.levels]
        return {"name": self.name, "type": self.type, "domain": _domain(self.domain), "levels": levels}


def described(schema: Schema) -> tuple[Described, ...]:
    """Every attribute that questions may name."""
    return tuple(_described(each) for each in schema.published)


def _described(attribute: Attribute) -> Described:
    domain = BOOLEAN if attribute.type is Type.BOOLEAN else attribute.domain
    return Described(attribute.name, attribute.type.value, domain, _levels(attribute))


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
