"""What the events say, summed up as they come: every event is read and checked once by each process, not once a charge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from shoal.errors import LedgerError
from shoal.guarantee.rounding import exact
from shoal.ledger.account import Account, Share, total
from shoal.ledger.event import Budget, Cost, Event

SPENDING = ("charge",)
"""The kinds of event that cost something. An answer costs nothing: its question was charged before."""


@dataclass(frozen=True)
class Recorded:
    """An answer that was given: to which question, about which table, at what epsilon, and where its content lies."""

    number: int
    charge: int
    question: str
    table: str
    epsilon: Fraction
    delta: Fraction
    content: str


@dataclass
class Purse:
    """What one analyst may spend, and the running sum of what was spent."""

    budget: Budget
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)


@dataclass
class Shelf:
    """One dataset, with running sums."""

    dataset: str
    budget: Budget | None = None
    charges: list[dict[str, Any]] = field(default_factory=list)
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    questions: int = 0
    releases: int = 0
    unbounded: int = 0
    looks: int = 0
    sample_used: bool = False
    registered: dict[str, Any] | None = None
    samples: set[str] = field(default_factory=set)
    """The fingerprints of all tables that were registered as drawn at the rate of today."""
    beyond: bool = False
    """Whether something was charged that is not on record as a sample."""
    purses: dict[str, Purse] = field(default_factory=dict)
    answers: dict[tuple[str, str], list[Recorded]] = field(default_factory=dict)

    @property
    def spent(self) -> Budget:
        """The running sum as a budget."""
        return total([self.epsilon], [self.delta])

    @property
    def rate(self) -> Fraction | None:
        """The rate at which everything that was charged was drawn: what the sum of the charges is amplified by.

        None as soon as one charge is of another table, the population's say: its cost is the population's own, and
        then all costs are added up as if they were. That is more than they are (basic composition, whoever was sampled).
        """
        return None if self.beyond else self.said

    @property
    def said(self) -> Fraction | None:
        """The rate that the table was last registered with."""
        text = None if self.registered is None else self.registered["sampled"]
        return None if text is None else exact(text)

    def on_sample(self, fingerprints: Iterable[str]) -> bool:
        """Whether a table with one of these fingerprints is on record as a sample."""
        return not self.samples.isdisjoint(fingerprints)

    def account(self) -> Account:
        """As a value that nobody can change."""
        return Account(
            dataset=self.dataset,
            budget=self.budget,
            neighbours=self.charges[-1]["neighbours"] if self.charges else None,
            unit=self.charges[0].get("unit") if self.charges else None,
            costs=tuple(Cost.from_saved(payload["cost"]) for payload in self.charges),
            releases=self.releases,
            unbounded=self.unbounded,
            looks=self.looks,
            sample_used=self.sample_used,
            questions=self.questions,
            rate=self.rate,
            shares=tuple(
                Share(name, purse.budget, total([purse.epsilon], [purse.delta])) for name, purse in self.purses.items()
            ),
        )

    def add(self, event: Event) -> None:
        """Take one more event in."""
        payload = event.payload
        if event.kind == "charge":
            self._charge(payload)
        elif event.kind == "budget":
            self.budget = Budget.from_saved(payload["budget"])
        elif event.kind == "session":
            self._purse(payload)
        elif event.kind == "answer":
            given = _recorded(event)
            self.answers.setdefault((given.table, given.question), []).append(given)
        elif event.kind == "registered":
            self._register(payload)
        self.releases += event.kind == "release"
        self.unbounded += event.kind == "unbounded"
        self.looks += event.kind == "look"
        self.sample_used = self.sample_used or event.kind == "sample_used"

    def _charge(self, payload: dict[str, Any]) -> None:
        epsilon, delta = exact(payload["cost"]["epsilon"]), exact(payload["cost"]["delta"])
        self.charges.append(payload)
        self.epsilon += epsilon
        self.delta += delta
        self.beyond = self.beyond or not self.on_sample(payload.get("fingerprints", ()))
        self.questions += len(payload.get("questions", ()))
        name = payload.get("session")
        if name is not None:
            purse = self.purses[name]
            purse.epsilon += epsilon
            purse.delta += delta

    def _register(self, payload: dict[str, Any]) -> None:
        before, self.registered = self.said, {"sampled": payload["sampled"], **payload}
        if self.said != before:
            self.samples = set()
        if self.said is not None:
            self.samples.update(payload["fingerprints"])

    def _purse(self, payload: dict[str, Any]) -> None:
        budget = Budget.from_saved(payload["budget"])
        if payload["name"] in self.purses:
            self.purses[payload["name"]].budget = budget
        else:
            self.purses[payload["name"]] = Purse(budget)


class Book:
    """All datasets up to the last event that was taken in, and the first event that did not fit the chain."""

    def __init__(self, genesis: str) -> None:
        self.genesis = genesis
        self.last: Event | None = None
        self.broken: int | None = None
        self.owners: dict[str, str] = {}
        """The dataset under whose name a fingerprint was first seen."""
        self.columns: dict[str, dict[frozenset[str], dict[str, int]]] = {}
        """The columns of all tables of each dataset: by fingerprint, with the bits that each is worth."""
        self._shelves: dict[str, Shelf] = {}

    @property
    def since(self) -> int:
        """The number from which on to read: the last event known, which must still be there, and all after it."""
        return 0 if self.last is None else self.last.number

    def shelf(self, dataset: str) -> Shelf:
        """One dataset; an empty one if nothing has happened to it."""
        return self._shelves.get(dataset) or Shelf(dataset)

    def news(self, dataset: str, columns: dict[str, int]) -> list[list[str | int]]:
        """Columns as an event notes them; none where an earlier event of the dataset has the same."""
        known = frozenset(columns) in self.columns.get(dataset, {})
        return [] if known else [list(each) for each in columns.items()]

    def extend(self, events: list[Event]) -> None:
        """Take in what `since` asked for; LedgerError if the last event known is gone, or one cannot be read."""
        if self.last is not None:
            if not events or events[0].hash != self.last.hash or not events[0].intact:
                raise LedgerError(
                    f"event {self.last.number} of the ledger is no longer what it was a moment ago",
                    fix="restore the ledger from a backup; nothing was charged",
                )
            events = events[1:]
        for event in events:
            try:
                self._take(event)
            except (KeyError, TypeError, AttributeError, ValueError):
                raise LedgerError(
                    "an event of the ledger cannot be read", fix="restore the ledger from a backup"
                ) from None

    def _take(self, event: Event) -> None:
        if self.broken is None and not follows(self.last or self.genesis, event):
            self.broken = self.since + 1
        self._shelves.setdefault(event.dataset, Shelf(event.dataset)).add(event)
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


def summed(dataset: str, events: list[Event], genesis: str) -> Account:
    """Where a dataset stands after these events."""
    book = Book(genesis)
    book.extend(events)
    return account_of(book, dataset)


def account_of(book: Book, dataset: str) -> Account:
    """Where a dataset stands in a book; LedgerError when a cost in it cannot be read."""
    try:
        return book.shelf(dataset).account()
    except (KeyError, TypeError, AttributeError):
        raise LedgerError("an event of the ledger cannot be read", fix="restore the ledger from a backup") from None


def _recorded(event: Event) -> Recorded:
    payload = event.payload
    return Recorded(
        event.number,
        payload["charge"],
        payload["question"],
        payload["table"],
        exact(payload["epsilon"]),
        exact(payload["delta"]),
        payload["content"],
    )
