"""The state of the ledger: what its events say, summed up as they come, for each dataset and each analyst.

Every event is read and checked once by each process, not once a charge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from shoal.errors import LedgerError, PreconditionError, ShoalError
from shoal.guarantee.compose import GRID, Composition, compose
from shoal.guarantee.differential import GaussianDP, allowance
from shoal.guarantee.rounding import Number, exact, exact_text, up
from shoal.guarantee.safe_k.curve import check_beta
from shoal.guarantee.unit import Neighbours, Unit
from shoal.ledger.event import Budget, Cost, Event, Excerpt, Head
from shoal.ledger.filter import NOTHING_ADDED, FilterBudget, FilterState
from shoal.ledger.look import OTHER, Look, LookCount, count_looks
from shoal.ledger.payload import check_payload
from shoal.ledger.room import Room

_MOST_CELLS = 2e7
"""Cells of a composed distribution that fit into the memory of a small machine."""
_FINEST, _RARE = 1e-7, Fraction(1, 10**6)
_ALMOST_ONE = Fraction(999_999, 1_000_000)
"""The largest delta at which a composed epsilon is looked up; sums are never cut."""


@dataclass(frozen=True)
class AnalystBudget:
    """What one analyst may spend of a dataset, and the sum of what the analyst has spent."""

    name: str
    budget: Budget
    spent: Budget
    filter: FilterBudget | None = None
    """The privacy filter that holds the share, where its accounting is Gaussian."""
    state: FilterState = NOTHING_ADDED

    @property
    def left(self) -> Budget:
        """What the budget still allows, by the sum of costs."""
        return self.room.left

    @property
    def room(self) -> Room:
        """What is left of the share, and whether a cost fits into it."""
        return Room(self.budget, self.spent, self.filter, self.state)


@dataclass(frozen=True)
class Account:
    """The account of one dataset: its budget, its costs, and what is left. A value; `AccountState` is what changes."""

    dataset: str
    budget: Budget | None
    neighbours: Neighbours | None
    unit: dict[str, Any] | None
    costs: tuple[Cost, ...]
    releases: int
    unbounded: int
    looks: int
    sample_used: bool
    questions: int = 0
    """How many questions were charged; those of a batch count one each."""
    rate: Fraction | None = None
    """The rate at which all that was charged was drawn from a population, where the custodian knows it."""
    analysts: tuple[AnalystBudget, ...] = ()
    budget_event: Event | None = None
    """The event that the budget is from: its time, its reason, and what it was before."""
    looks_on_record: tuple[tuple[Look, int], ...] | None = None
    """The looks at results on the real table, and how often each was made; None where nothing is known of them."""
    filter: FilterBudget | None = None
    """The privacy filter that holds the budget, where its accounting is Gaussian."""
    state: FilterState = NOTHING_ADDED

    def count_looks(self, lock: str) -> tuple[LookCount, ...] | None:
        """How many looks of each kind are on record, told from the plan of this lock; None where nothing is known of them."""
        return None if self.looks_on_record is None else count_looks(self.looks_on_record, lock)

    @property
    def spent(self) -> Budget:
        """The sum of all charges; the budget is enforced against it."""
        return total((cost.epsilon for cost in self.costs), (cost.delta for cost in self.costs))

    @property
    def left(self) -> Budget | None:
        """What the budget still allows, by the sum of costs; None before the first charge."""
        return None if self.room is None else self.room.left

    @property
    def room(self) -> Room | None:
        """What is left of the budget for releases, and whether a cost fits into it; None before the first charge."""
        return None if self.budget is None else Room(self.budget, self.spent, self.filter, self.state)

    @property
    def room_for_questions(self) -> Room | None:
        """What is left of the budget for questions: for a sample more than for releases."""
        most = self.ceiling
        return None if most is None else Room(most, self.spent, self.filter, self.state)

    @property
    def ceiling(self) -> Budget | None:
        """What all questions may cost together, counted on the table itself: for a sample more than the budget."""
        return ceiling(self.budget, self.rate)

    def total(self, delta: Number | None = None) -> float | None:
        """The composed epsilon of all charges at delta (default: the deltas' sum), for information. None if there is none."""
        if not self.costs:
            return None
        found = compose(part for cost in self.costs for part in cost.parts)
        at = min(_ALMOST_ONE, self.spent.delta) if delta is None else exact(delta)
        if _cells(found) > _MOST_CELLS:  # the sum, which needs no distribution, is a bound as well
            return up(self.spent.epsilon) if at >= min(_ALMOST_ONE, self.spent.delta) else math.inf
        return found.epsilon_at(at)

    def forecast(self, cost: Cost) -> int | None:
        """How many more releases of this cost fit; None where no budget is set yet."""
        return None if self.room is None else self.room.more(cost, basic=True)

    def forecast_questions(self, cost: Cost) -> int | None:
        """How many more questions of this cost fit, each chosen by the answers before it; None where no budget is set yet."""
        return None if self.room_for_questions is None else self.room_for_questions.more(cost)


def _cells(found: Composition) -> float:
    """How many cells the composed distribution would have, roughly; infinity where a part is beyond all measure."""
    most = 0.0
    try:
        for part, times in found.parts:
            curve = part.epsilon_at(_RARE) if isinstance(part, GaussianDP) else part.reach or part.spread
            most += float((part.own[0] if part.own else Fraction(curve)) * times)
        return most / min(GRID, max(_FINEST, min(part.spread for part, _ in found.parts) / 200))
    except (ArithmeticError, ValueError):
        return math.inf


def ceiling(budget: Budget | None, rate: Fraction | None) -> Budget | None:
    """The budget of a population as a ceiling for all samples at a rate (theorem `dependent-samples`), rounded down.

    Costs on samples are added up first and amplified once, as a whole. Adding up costs that were amplified one by
    one would be less than the truth: ln(1 + beta (e^x - 1)) of a sum is more than the sum of its values.

    A table that is registered again may be another sample, and may depend on the first, so delta is not amplified: what
    one sample does not show of a person, another may.

    >>> float(ceiling(Budget.of(1, "1e-6"), Fraction(1, 10)).epsilon)
    2.90...
    """
    if budget is None or rate is None:
        return budget
    return Budget(Fraction(allowance(budget.epsilon, 0, rate).epsilon), budget.delta)


def total(epsilons: Sequence[Fraction] | Any, deltas: Sequence[Fraction] | Any) -> Budget:
    """The budget that is the sum of epsilons and the sum of deltas."""
    return Budget(sum(epsilons, start=Fraction(0)), sum(deltas, start=Fraction(0)))


@dataclass(frozen=True)
class Registration:
    """What the `registered` event of a dataset holds; `policy` and `data` are paths, or None for what had no file."""

    dataset: str
    policy: str | None
    lock: str
    """The hash of the policy: a policy that means something else has to be registered anew."""
    data: str | None
    unit: Unit
    sampled: Fraction | None = None
    fingerprints: tuple[str, ...] = ()
    columns: tuple[tuple[str, int], ...] = ()
    """The fingerprint of each column, and the bits that it is worth."""

    def __post_init__(self) -> None:
        if self.sampled is None:
            return
        check_beta(self.sampled)
        if self.unit.neighbours != "add_remove":
            raise PreconditionError(
                "dependent-samples",
                "a sample is worth a larger budget when a unit is added or removed, not when one is replaced",
                came=self.unit.neighbours,
                allowed="add_remove",
                fix="leave the rate out, or set `neighbours: add_remove`",
            )

    @property
    def table(self) -> str:
        """The fingerprint of the table's content."""
        return self.fingerprints[0]

    def with_fingerprints(self, fingerprints: tuple[str, ...], columns: tuple[tuple[str, int], ...]) -> Registration:
        """The registration with the fingerprints of its table and of each column."""
        return replace(self, fingerprints=fingerprints, columns=columns)

    def to_saved(self) -> dict[str, Any]:
        """The registration as plain values with exact text."""
        return {
            "policy": self.policy,
            "lock": self.lock,
            "data": self.data,
            "unit": self.unit.to_saved(),
            "sampled": None if self.sampled is None else exact_text(self.sampled),
            "fingerprints": list(self.fingerprints),
            "columns": [list(each) for each in self.columns],
        }

    @classmethod
    def from_saved(cls, dataset: str, saved: dict[str, Any]) -> Registration:
        """The registration that `to_saved` wrote into an event."""
        sampled = None if saved["sampled"] is None else exact(saved["sampled"])
        unit = Unit.from_saved(saved["unit"])
        fingerprints, columns = tuple(saved["fingerprints"]), tuple((name, bits) for name, bits in saved["columns"])
        return cls(dataset, saved["policy"], saved["lock"], saved["data"], unit, sampled, fingerprints, columns)


SPENDING = ("charge",)
"""The kinds of event that cost something. An answer costs nothing: its question was charged before."""


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer that was given: to which question, about which table, at what epsilon, and where its content lies."""

    number: int
    charge: int
    question: str
    table: str
    epsilon: Fraction
    delta: Fraction
    content: str


@dataclass(frozen=True)
class ChargedEvent:
    """A charge as a privacy filter sees it: its cost, the rate of the sample that was asked, and whose share it came from."""

    cost: Cost
    rate: Fraction | None
    analyst: str | None


def filter_of(budget: Budget) -> FilterBudget | None:
    """The privacy filter that a budget asks for; None where its accounting is basic."""
    if budget.accounting != "gaussian":
        return None
    return FilterBudget.of(budget.epsilon, budget.delta, aside=budget.aside or (0, 0))


def _saved_filter(payload: dict[str, Any]) -> FilterBudget | None:
    saved = payload.get("accounting")
    if saved is None:
        return None
    found, budget = FilterBudget.from_saved(saved), Budget.from_saved(payload["budget"])
    if found.epsilon != budget.epsilon or found.pairs + found.gaussian + found.aside_delta > budget.delta:
        raise PreconditionError("adaptive-filter", "the shares of delta are more than the budget's delta")
    return found


def _replay(
    held: FilterBudget | None, events: Iterable[ChargedEvent], state: FilterState = NOTHING_ADDED
) -> FilterState:
    """The state of a filter after these charges; one that a budget of today does not allow ends both ways."""
    if held is None:
        return state
    for each in events:
        most = held.epsilon
        if each.rate is not None:
            most = Fraction(allowance(held.epsilon, 0, each.rate).epsilon)
        event = each.cost.event
        state = state.after(event, held, most) or state.overrun(event)
    return state


@dataclass
class AccountState:
    """The running sums of one dataset, from its events."""

    dataset: str
    budget: Budget | None = None
    budget_event: Event | None = None
    charges: list[dict[str, Any]] = field(default_factory=list)
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    questions: int = 0
    releases: int = 0
    unbounded: int = 0
    looks: dict[Look, int] = field(default_factory=dict)
    """How often each look was made at results on the real table."""
    sample_used: bool = False
    registration: dict[str, Any] | None = None
    samples: set[str] = field(default_factory=set)
    """The fingerprints of all tables that were registered as drawn at the rate of today."""
    beyond_samples: bool = False
    """Whether something was charged that is not on record as a sample."""
    plans: dict[str, list[Event]] = field(default_factory=dict)
    """The charges, and notes of releases without bound, of each plan."""
    charged: dict[int, Cost] = field(default_factory=dict)
    """What was charged, by the number of the charge."""
    released: set[int] = field(default_factory=set)
    """The numbers of the charges whose release was recorded."""
    asked: dict[str, list[int]] = field(default_factory=dict)
    """The numbers of the charges of each question."""
    answered: dict[str, set[int]] = field(default_factory=dict)
    """Of those, the ones to which an answer was recorded."""
    analysts: dict[str, AnalystBudget] = field(default_factory=dict)
    filter: FilterBudget | None = None
    """The privacy filter that holds the budget, where its accounting is Gaussian."""
    state: FilterState = NOTHING_ADDED
    history: list[ChargedEvent] = field(default_factory=list)
    """All charges in their order, for a filter that is fixed later."""
    answers: dict[tuple[str, str], list[RecordedAnswer]] = field(default_factory=dict)

    @property
    def spent(self) -> Budget:
        """The sum of all charges so far."""
        return total([self.epsilon], [self.delta])

    @property
    def rate(self) -> Fraction | None:
        """The rate at which everything that was charged was drawn: what the sum of the charges is amplified by.

        None as soon as one charge is of another table, the population's say: its cost is the population's own, and
        then all costs are added up as if they were. That is more than they are (basic composition, whoever was sampled).
        """
        return None if self.beyond_samples else self.stated_rate

    @property
    def stated_rate(self) -> Fraction | None:
        """The rate that the table was last registered with."""
        text = None if self.registration is None else self.registration["sampled"]
        return None if text is None else exact(text)

    def on_sample(self, fingerprints: Iterable[str]) -> bool:
        """Whether a table with one of these fingerprints is on record as a sample."""
        return not self.samples.isdisjoint(fingerprints)

    def unanswered(self, question: str) -> list[int]:
        """The numbers of the charges of a question to which no answer was recorded."""
        answered = self.answered.get(question, set())
        return [number for number in self.asked.get(question, ()) if number not in answered]

    def repeats(self, plan: str, fingerprints: Iterable[str]) -> list[Event]:
        """The charges and notes of a plan for a table with one of these fingerprints."""
        own = set(fingerprints)
        return [event for event in self.plans.get(plan, ()) if own.intersection(event.payload.get("fingerprints", ()))]

    def snapshot(self) -> Account:
        """The account as a value that nobody can change."""
        return Account(
            dataset=self.dataset,
            budget=self.budget,
            neighbours=self.charges[-1]["neighbours"] if self.charges else None,
            unit=self.charges[0].get("unit") if self.charges else None,
            costs=tuple(self.charged.values()),
            releases=self.releases,
            unbounded=self.unbounded,
            looks=sum(self.looks.values()),
            sample_used=self.sample_used,
            questions=self.questions,
            rate=self.rate,
            analysts=tuple(self.analysts.values()),
            budget_event=self.budget_event,
            looks_on_record=tuple(self.looks.items()),
            filter=self.filter,
            state=self.state,
        )

    def room(self, *, sample: bool, first: Budget | None = None) -> Room | None:
        """What is left of the budget, for a release or for a question about a sample; None where there is no budget.

        `first` is the budget that is about to be fixed, where there is none yet.
        """
        budget, held, state = self.budget, self.filter, self.state
        if budget is None and first is not None:
            budget, held = first, filter_of(first)
            state = _replay(held, self.history)
        most = ceiling(budget, self.rate) if sample else budget
        return None if most is None else Room(most, self.spent, held, state)

    def apply(self, event: Event) -> None:
        """Take one more event in."""
        payload = event.payload
        if event.kind in ("charge", "unbounded"):
            self.plans.setdefault(payload["plan"], []).append(event)
        if event.kind == "charge":
            self._charge(event.number, payload)
            for question in payload.get("questions", ()):
                self.asked.setdefault(question, []).append(event.number)
        elif event.kind == "budget":
            self.budget, self.budget_event = Budget.from_saved(payload["budget"]), event
            self.filter = _saved_filter(payload)
            self.state = _replay(self.filter, self.history)
        elif event.kind == "session":
            self._set_analyst(payload)
        elif event.kind == "answer":
            given = _recorded_answer(event)
            self.answers.setdefault((given.table, given.question), []).append(given)
            self.answered.setdefault(given.question, set()).add(given.charge)
        elif event.kind == "registered":
            self._register(payload)
        elif event.kind == "look":
            look = Look(payload.get("kind", OTHER), payload.get("lock"))
            self.looks[look] = self.looks.get(look, 0) + 1
        elif event.kind == "release":
            self.released.add(payload["charge"])
        self.releases += event.kind == "release"
        self.unbounded += event.kind == "unbounded"
        self.sample_used = self.sample_used or event.kind == "sample_used"

    def _charge(self, number: int, payload: dict[str, Any]) -> None:
        cost = Cost.from_saved(payload["cost"], payload.get("filter"))
        self.charges.append(payload)
        self.charged[number] = cost
        self.epsilon += cost.epsilon
        self.delta += cost.delta
        sampled = self.on_sample(payload.get("fingerprints", ()))
        amplified = self.rate if sampled and payload.get("questions") else None
        self.beyond_samples = self.beyond_samples or not sampled
        self.questions += len(payload.get("questions", ()))
        name = payload.get("session")
        made = ChargedEvent(cost, amplified, name)
        self.history.append(made)
        if self.filter is not None:
            self.state = _replay(self.filter, [made], self.state)
        if name is not None:
            analyst = self.analysts[name]
            spent = Budget(analyst.spent.epsilon + cost.epsilon, analyst.spent.delta + cost.delta)
            state = _replay(analyst.filter, [replace(made, rate=None)], analyst.state)
            self.analysts[name] = replace(analyst, spent=spent, state=state)

    def _register(self, payload: dict[str, Any]) -> None:
        before, self.registration = self.stated_rate, {"sampled": payload["sampled"], **payload}
        if self.stated_rate != before:
            self.samples = set()
        if self.stated_rate is not None:
            self.samples.update(payload["fingerprints"])

    def _set_analyst(self, payload: dict[str, Any]) -> None:
        budget = Budget.from_saved(payload["budget"])
        name = payload["name"]
        before = self.analysts.get(name)
        nothing = Budget(Fraction(0), Fraction(0))
        spent = nothing if before is None else before.spent
        held = _saved_filter(payload)
        own = [replace(each, rate=None) for each in self.history if each.analyst == name]
        self.analysts[name] = AnalystBudget(name, budget, spent, held, _replay(held, own))


class LedgerState:
    """All datasets up to the last event that was taken in, and the first event that did not fit the chain."""

    def __init__(self, genesis: str) -> None:
        self.genesis = genesis
        self.last: Event | None = None
        self.broken_at: int | None = None
        self.owners: dict[str, str] = {}
        """The dataset under whose name a fingerprint was first seen."""
        self.columns: dict[str, dict[frozenset[str], dict[str, int]]] = {}
        """The columns of all tables of each dataset: by fingerprint, with the bits that each is worth."""
        self._accounts: dict[str, AccountState] = {}

    @property
    def since(self) -> int:
        """The number from which on to read: the last event known, which must still be there, and all after it."""
        return 0 if self.last is None else self.last.number

    def account(self, dataset: str) -> AccountState:
        """One dataset; an empty one if nothing has happened to it."""
        return self._accounts.get(dataset) or AccountState(dataset)

    def new_columns(self, dataset: str, columns: dict[str, int]) -> list[list[str | int]]:
        """Columns as an event notes them; none where an earlier event of the dataset has the same."""
        known = frozenset(columns) in self.columns.get(dataset, {})
        return [] if known else [list(each) for each in columns.items()]

    def extend(self, read: Excerpt) -> None:
        """Take in what `since` asked for; LedgerError if the last event known or the end is gone, or one cannot be read.

        Once an event did not fit the chain, nothing more is taken in.
        """
        if self.broken_at is not None:
            return
        events = read.events
        if self.last is not None:
            if not events or events[0].hash != self.last.hash or not events[0].intact:
                raise LedgerError(
                    f"event {self.last.number} of the ledger is no longer what it was a moment ago",
                    fix="restore the ledger from a backup",
                )
            events = events[1:]
        for event in events:
            fits = follows(self.last or self.genesis, event)
            with reading(event, fits=fits, broken_at=self.broken_at):
                self._apply(event, fits=fits)
        if self.broken_at is None:
            refuse_cut_end(self.last or self.genesis, read.head)

    def _apply(self, event: Event, *, fits: bool) -> None:
        if self.broken_at is None and not fits:
            self.broken_at = self.since + 1
        check_payload(event.kind, event.payload)
        self._accounts.setdefault(event.dataset, AccountState(event.dataset)).apply(event)
        for fingerprint in event.payload.get("fingerprints", ()):
            self.owners.setdefault(fingerprint, event.dataset)
        columns = dict(event.payload.get("columns", ()))
        if columns:
            self.columns.setdefault(event.dataset, {}).setdefault(frozenset(columns), columns)
        self.last = event


def follows(last: Event | str, event: Event) -> bool:
    """Whether an event is intact and is the one after `last`, or the first after a genesis."""
    number, previous = (0, last) if isinstance(last, str) else (last.number, last.hash)
    return event.number == number + 1 and event.previous == previous and event.intact


def first_broken(events: list[Event], genesis: str) -> int | None:
    """The place of the first event that does not follow from the one before."""
    last: Event | str = genesis
    for place, event in enumerate(events, 1):
        if not follows(last, event):
            return place
        last = event
    return None


def refuse_cut_end(last: Event | str, head: Head | None) -> None:
    """Refuse a chain that does not end with the event that was written last; the first is chained to a genesis."""
    end = Head(0, last) if isinstance(last, str) else Head(last.number, last.hash)
    if head is not None and end != head:
        raise LedgerError(
            f"the last event of the ledger is not the one that was written last: {words_of_end(end, head)}",
            fix="restore the ledger from a backup; what was spent is not known",
        )


def words_of_end(end: Head, head: Head) -> str:
    """Where a chain ends, and where it should."""
    if end.number == head.number:
        return f"event {end.number} was written anew" if end.number else "its key was changed while it was empty"
    return f"it ends with event {end.number} and should end with event {head.number}"


def broken_words(number: int) -> str:
    """What is said of the first event that does not fit the chain."""
    return f"event {number} of the ledger does not fit the chain: it was changed, removed or put in later"


@contextmanager
def reading(event: Event, *, fits: bool, broken_at: int | None = None) -> Iterator[None]:
    """Turn whatever a payload of another shape causes into one LedgerError.

    `fits` says whether the event fits the chain; `broken_at` is the first one that did not, which is named then.
    """
    try:
        yield
    except LedgerError:
        raise
    except (ShoalError, LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError):
        wrong = "cannot be read" if fits else "does not fit the chain and cannot be read, so its sums cannot be trusted"
        raise LedgerError(
            f"event {event.number} of the ledger {wrong}" if broken_at is None else broken_words(broken_at),
            fix="restore the ledger from a backup",
        ) from None


def account_after(dataset: str, events: list[Event], genesis: str) -> Account:
    """The account of a dataset after these events."""
    state = LedgerState(genesis)
    state.extend(Excerpt(events))
    return account_of(state, dataset)


def account_of(state: LedgerState, dataset: str) -> Account:
    """Where a dataset stands in a state."""
    return state.account(dataset).snapshot()


def _recorded_answer(event: Event) -> RecordedAnswer:
    payload = event.payload
    return RecordedAnswer(
        event.number,
        payload["charge"],
        payload["question"],
        payload["table"],
        exact(payload["epsilon"]),
        exact(payload["delta"]),
        payload["content"],
    )
