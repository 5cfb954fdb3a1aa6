"""The ledger: charges before anything random happens, refuses what would overrun, and can prove its own history.

Basic composition enforces the budget (a valid filter for budgets spent as one goes along); the composed
privacy-loss distribution informs. A charge stands once made: a run that fails afterwards has been looked at.

Every process reads and checks each event once: at its first look the whole chain, afterwards what has been added since,
and each time that the last event it knows is still there. `verify` recomputes everything.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from shoal.errors import BudgetError, VerificationError
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import Neighbours, Unit
from shoal.ledger import refusals
from shoal.ledger.account import Account, Share, ceiling, difference, total
from shoal.ledger.event import Budget, Cost, Event, genesis
from shoal.ledger.registration import Registered
from shoal.ledger.state import SPENDING, Book, Recorded, Shelf, account_of, first_broken, summed
from shoal.ledger.store import Appender, Store, default_url

__all__ = ["SPENDING", "Account", "Ledger", "Receipt", "Recorded", "Registered", "Share"]


@dataclass(frozen=True)
class Receipt:
    """Proof that an entry was charged: its number and hash."""

    number: int
    hash: str


class Ledger:
    """An append-only record, one for all datasets of a holder."""

    def __init__(self, url: str | None = None, clock: Callable[[], datetime] | None = None) -> None:
        self._store = Store(url or default_url())
        self._secret = self._store.secret
        self._clock = clock or (lambda: datetime.now(UTC))
        self._book = Book(self._store.genesis)
        self._turn = threading.RLock()

    @property
    def url(self) -> str:
        """Where it is kept."""
        return self._store.url

    @property
    def made(self) -> bool:
        """Whether it was new when it was opened: nothing had been spent."""
        return self._store.made

    def close(self) -> None:
        """Let go of it."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def charge(
        self,
        dataset: str,
        cost: Cost,
        *,
        budget: Budget | None,
        neighbours: Neighbours,
        plan: str,
        table: bytes,
        columns: Sequence[tuple[bytes, int]] = (),
        file: bytes | None = None,
        unit: Unit | None = None,
        uses_sample: bool = False,
        questions: Sequence[str] = (),
        session: str | None = None,
    ) -> Receipt:
        """Charge an entry, durably, before the first random draw; or refuse and change nothing.

        `plan` is the hash of the locked plan, `table` a digest of the table's content, which is stored only under the
        ledger's key, and so are `columns` (a digest of each, and the bits it is worth) and `file`, a digest of the file it
        came from. Charges for different units do not add up, so the first `unit` is kept to. `uses_sample` marks a table that
        is itself the random sample, from which nothing else may ever be computed. The first charge fixes the budget.

        `questions` says what is asked, in the words of the question; there has to be a budget then. `session` names the
        analyst whose share is charged beside the dataset's budget.
        """
        with self._exclusive() as (book, writer):
            refusals.broken(book)
            shelf = book.shelf(dataset)
            fingerprints = [self.fingerprint(content) for content in (table, file) if content is not None]
            known = self._columns(columns)
            refusals.renamed(dataset, fingerprints, known, book)
            refusals.used(shelf, uses_sample)
            refusals.other_unit(shelf, unit)
            refusals.other_neighbours(shelf, neighbours)
            fixed = self._budget(writer, shelf, budget)
            _refuse_overrun(shelf, cost, fixed, session, asked=bool(questions), sample=shelf.on_sample(fingerprints))
            payload: dict[str, Any] = {
                "cost": cost.to_saved(),
                "neighbours": neighbours,
                "plan": plan,
                "unit": None if unit is None else unit.to_saved(),
                "fingerprints": fingerprints,
                "columns": book.news(dataset, known),
            }
            if questions:
                payload |= {"questions": list(questions), "session": session}
            event = writer.append(self._now(), dataset, "charge", payload)
            if uses_sample:
                writer.append(self._now(), dataset, "sample_used", {"charge": event.number})
        return Receipt(event.number, event.hash)

    def same_plan(self, dataset: str, plan: str) -> list[Event]:
        """The charges, and notes of releases without bound, of this very plan."""
        return [
            event
            for event in self.events(dataset)
            if event.kind in ("charge", "unbounded") and event.payload.get("plan") == plan
        ]

    def same_release(self, dataset: str, plan: str, table: bytes, file: bytes | None = None) -> list[Event]:
        """Those of this very plan for this very table: to charge it again would be a repeat."""
        own = {self.fingerprint(content) for content in (table, file) if content is not None}
        return [
            event for event in self.same_plan(dataset, plan) if own.intersection(event.payload.get("fingerprints", ()))
        ]

    def set_budget(self, dataset: str, budget: Budget, reason: str) -> None:
        """Change a budget: an event of its own, with its reason, for all to see."""
        with self._exclusive() as (book, writer):
            before = book.shelf(dataset).budget
            payload = {"budget": budget.to_saved(), "reason": reason, "before": before.to_saved() if before else None}
            writer.append(self._now(), dataset, "budget", payload)

    def set_share(self, dataset: str, name: str, budget: Budget, reason: str) -> None:
        """Fix or change what one analyst may spend of a dataset: an event of its own, with its reason."""
        with self._exclusive() as (book, writer):
            purse = book.shelf(dataset).purses.get(name)
            before = None if purse is None else purse.budget.to_saved()
            payload = {"name": name, "budget": budget.to_saved(), "reason": reason, "before": before}
            writer.append(self._now(), dataset, "session", payload)

    def open_share(self, dataset: str, name: str, budget: Budget | None) -> Share:
        """The share of an analyst, fixed at the first opening; BudgetError if it is another one, or if there is none.

        A share is a part of the dataset's budget, which has to be there: else every new name would open a new one.
        """
        with self._exclusive() as (book, writer):
            refusals.broken(book)
            shelf = book.shelf(dataset)
            if shelf.budget is None:
                raise refusals.without_ceiling(dataset)
            purse = shelf.purses.get(name)
            if purse is not None:
                if budget is not None and budget != purse.budget:
                    raise BudgetError(
                        f"the share of '{name}' in dataset '{dataset}' is fixed",
                        came=budget.words(),
                        allowed=purse.budget.words(),
                        fix="keep to it, or let the holder change it openly",
                    )
                return Share(name, purse.budget, total([purse.epsilon], [purse.delta]))
            if budget is None:
                raise BudgetError(
                    f"'{name}' has no share in dataset '{dataset}' yet", fix="open the first session with a budget"
                )
            payload = {"name": name, "budget": budget.to_saved(), "reason": "first session", "before": None}
            writer.append(self._now(), dataset, "session", payload)
        return Share(name, budget, total([], []))

    def register(
        self,
        entry: Registered,
        *,
        budget: Budget | None,
        table: bytes,
        columns: Sequence[tuple[bytes, int]] = (),
        file: bytes | None = None,
    ) -> Registered:
        """Note where a dataset's policy and table lie, for questions; the same again changes nothing.

        The table is known by its fingerprints, as for a charge. Another table, place or policy under the same name is a
        new event; the unit, the neighbours and the rate stay what they were once something was charged.
        """
        with self._exclusive() as (book, writer):
            refusals.broken(book)
            fingerprints = tuple(self.fingerprint(content) for content in (table, file) if content is not None)
            known = self._columns(columns)
            refusals.renamed(entry.dataset, fingerprints, known, book)
            shelf = book.shelf(entry.dataset)
            refusals.other_registration(shelf, entry.unit.to_saved(), entry.unit.neighbours)
            refusals.used(shelf, uses_sample=False)
            refusals.other_rate(shelf, entry.sampled)
            self._budget(writer, shelf, budget, "registered")
            made = entry.with_fingerprints(fingerprints, tuple(known.items()))
            if shelf.registered is None or Registered.from_saved(entry.dataset, shelf.registered) != made:
                writer.append(self._now(), entry.dataset, "registered", made.to_saved())
        return made

    def registered(self, dataset: str) -> Registered | None:
        """What was last registered under this name."""
        saved = self._trusted().shelf(dataset).registered
        return None if saved is None else Registered.from_saved(dataset, saved)

    def answered(
        self, dataset: str, receipt: Receipt, question: str, *, table: str, cost: Cost, content: bytes
    ) -> None:
        """Record an answer to a charged question, for whoever asks the same again; `table` is the table's fingerprint."""
        self.answered_all(dataset, receipt, [(question, cost, content)], table=table)

    def answered_all(
        self, dataset: str, receipt: Receipt, given: Sequence[tuple[str, Cost, bytes]], *, table: str
    ) -> None:
        """Record the answers to all questions of one charge, each with what it alone would cost."""
        with self._store.exclusive() as writer:
            for question, cost, content in given:
                payload = {
                    "charge": receipt.number,
                    "question": question,
                    "table": table,
                    "epsilon": exact_text(cost.epsilon),
                    "delta": exact_text(cost.delta),
                    "content": writer.put(content),
                }
                writer.append(self._now(), dataset, "answer", payload)

    def recorded(self, dataset: str, question: str, table: str) -> list[Recorded]:
        """The answers that were given to a question about this very table, the oldest first."""
        return list(self._trusted().shelf(dataset).answers.get((table, question), ()))

    def content(self, recorded: Recorded) -> bytes | None:
        """What a recorded answer says; None if it is lost or is not what it was."""
        self._trusted()
        return self._store.content(recorded.content)

    def released(self, dataset: str, receipt: Receipt, certificate: str) -> None:
        """Note that a charged release was written, by the hash of its certificate."""
        self._note(dataset, "release", {"charge": receipt.number, "certificate": certificate})

    def unbounded(
        self,
        dataset: str,
        what: str,
        plan: str,
        table: bytes,
        *,
        columns: Sequence[tuple[bytes, int]] = (),
        file: bytes | None = None,
    ) -> None:
        """Note a release whose guarantee does not compose; every later certificate of the dataset says so."""
        with self._exclusive() as (book, writer):
            refusals.broken(book)
            fingerprints = [self.fingerprint(content) for content in (table, file) if content is not None]
            known = self._columns(columns)
            refusals.renamed(dataset, fingerprints, known, book)
            refusals.used(book.shelf(dataset), uses_sample=False)
            found = book.news(dataset, known)
            payload = {"what": what, "plan": plan, "fingerprints": fingerprints, "columns": found}
            writer.append(self._now(), dataset, "unbounded", payload)

    def look(self, dataset: str, what: str) -> None:
        """Note that somebody looked at results on the real data before the plan was locked."""
        self._note(dataset, "look", {"what": what})

    def account(self, dataset: str, upto: Receipt | None = None) -> Account:
        """Where a dataset stands, now or as of the charge of a receipt."""
        if upto is None:
            return account_of(self._caught_up(), dataset)
        events = [event for event in self._store.events() if event.number <= upto.number]
        return summed(dataset, events, self._store.genesis)

    def left(self, dataset: str, session: str | None = None) -> Budget | None:
        """What questions may still cost, in all or within an analyst's share; None where nothing limits them."""
        shelf = self._trusted().shelf(dataset)
        ceilings = [(ceiling(shelf.budget, shelf.rate), shelf.spent)]
        if session is not None and session in shelf.purses:
            purse = shelf.purses[session]
            ceilings.append((purse.budget, total([purse.epsilon], [purse.delta])))
        lefts = [difference(most, spent) for most, spent in ceilings if most is not None]
        return Budget(min(b.epsilon for b in lefts), min(b.delta for b in lefts)) if lefts else None

    def datasets(self) -> list[str]:
        """All names, in order of their first event."""
        return list(dict.fromkeys(event.dataset for event in self._store.events()))

    def events(self, dataset: str | None = None) -> list[Event]:
        """What happened, to one dataset or to all."""
        return [event for event in self._store.events() if dataset in (None, event.dataset)]

    def verify(self) -> int:
        """Recompute the whole chain; the number of events, or a VerificationError that names the first broken one."""
        events = self._store.events()
        begun = genesis(self._store.secret)
        if events and events[0].intact and events[0].previous != begun:
            raise VerificationError(
                "the key of the ledger's fingerprints is not the one that it was begun with, or its first events are gone",
                fix="restore the ledger from a backup; tables would no longer be known again",
            )
        broken = first_broken(events, begun)
        if broken is not None:
            raise VerificationError(
                f"event {broken} of the ledger does not fit the chain: it was changed, removed or put in later",
                fix="restore the ledger from a backup; totals after this event cannot be trusted",
            )
        for event in events:
            if event.kind == "answer" and self._store.content(event.payload["content"]) is None:
                raise VerificationError(
                    f"the answer of event {event.number} of the ledger is not the one that was recorded",
                    fix="restore the ledger from a backup; sums are not affected",
                )
        return len(events)

    def fingerprint(self, content: bytes) -> str:
        """How a table is known here: a digest under a key that never leaves the ledger."""
        return hmac.new(self._secret, content, hashlib.sha256).hexdigest()

    def _columns(self, columns: Sequence[tuple[bytes, int]]) -> dict[str, int]:
        """How columns are known here, in an order that says nothing about the table."""
        return dict(sorted((self.fingerprint(b"column" + content)[:32], bits) for content, bits in columns))

    @contextmanager
    def _exclusive(self) -> Iterator[tuple[Book, Appender]]:
        """The book as it stands, and the right to add to it; what is added is taken into the book once it is durable."""
        with self._turn, self._store.exclusive() as writer:
            self._book.extend(writer.events(self._book.since))
            yield self._book, writer

    def _caught_up(self) -> Book:
        """The book as it stands."""
        with self._turn:
            self._book.extend(self._store.events(self._book.since))
            return self._book

    def _trusted(self) -> Book:
        """The same, unless an event does not fit the chain: then nothing is given from it."""
        book = self._caught_up()
        refusals.broken(book)
        return book

    def _budget(
        self, writer: Appender, shelf: Shelf, wanted: Budget | None, reason: str = "first charge"
    ) -> Budget | None:
        if shelf.budget is None and wanted is not None:
            payload = {"budget": wanted.to_saved(), "reason": reason, "before": None}
            writer.append(self._now(), shelf.dataset, "budget", payload)
            return wanted
        if shelf.budget is not None and wanted is not None and wanted != shelf.budget:
            raise BudgetError(
                f"the policy's budget differs from the one fixed for dataset '{shelf.dataset}'",
                came=wanted.words(),
                allowed=shelf.budget.words(),
                fix="keep to the fixed budget, or change it openly with `shoal ledger budget`",
            )
        return shelf.budget

    def _note(self, dataset: str, kind: str, payload: dict[str, Any]) -> None:
        with self._store.exclusive() as writer:
            writer.append(self._now(), dataset, kind, payload)

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")


def _refuse_overrun(
    shelf: Shelf, cost: Cost, fixed: Budget | None, session: str | None, *, asked: bool, sample: bool
) -> None:
    """A release is held to the budget as it was promised; a question about a sample to what that allows on the sample.

    So at any time either everything charged was on samples of one rate, and its sum is within the ceiling; or the sum of
    everything, amplified by nothing, is within the budget.
    """
    whose = f"dataset '{shelf.dataset}'"
    if asked and fixed is None:
        raise refusals.without_ceiling(shelf.dataset)
    sums = [(shelf.epsilon, shelf.delta)]
    if session is not None:
        purse = shelf.purses.get(session)
        if purse is None:
            raise BudgetError(f"'{session}' has no share in {whose} yet", fix="open a session first")
        refusals.overrun(f"'{session}' in {whose}", total([purse.epsilon], [purse.delta]), cost, purse.budget)
        sums.append((purse.epsilon, purse.delta))
    refusals.overrun(whose, shelf.spent, cost, ceiling(fixed, shelf.rate) if asked and sample else fixed)
    if asked:
        refusals.unwritable(sums, cost)
