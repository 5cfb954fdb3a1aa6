"""The ledger: charges before anything random happens, refuses what would overrun, and can prove its own history.

Basic composition enforces the budget (a valid filter for budgets spent as one goes along), or, where the custodian says
so, basic or Gaussian composition (theorem `adaptive-filter`); the composed privacy-loss distribution informs. A charge
stands once made: a run that fails afterwards has been looked at.

Every process reads and checks each event once: at its first look the whole chain, afterwards what has been added since,
and each time that the last event it knows is still there. `verify` recomputes everything.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from shoal.data.plain_file import near_path
from shoal.errors import BudgetError, LedgerError, NextCommand, UsageError, VerificationError
from shoal.files.work_folder import is_alive
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import Neighbours, Unit
from shoal.ledger import file as ledger_file
from shoal.ledger import question_lock, refusals
from shoal.ledger.event import Accounting, Budget, Cost, Event, Head, genesis
from shoal.ledger.filter import FilterBudget
from shoal.ledger.look import KINDS_OF_LOOK
from shoal.ledger.payload import is_hash
from shoal.ledger.room import Room
from shoal.ledger.state import (
    SPENDING,
    Account,
    AccountState,
    AnalystBudget,
    LedgerState,
    RecordedAnswer,
    Registration,
    account_after,
    account_of,
    broken_words,
    filter_of,
    first_broken,
    refuse_cut_end,
    total,
    words_of_end,
)
from shoal.ledger.store import ENVIRONMENT, Appender, Run, Store, default_url, file_of

__all__ = ["SPENDING", "Account", "AnalystBudget", "Ledger", "Receipt", "RecordedAnswer", "Registration", "Run"]


@dataclass(frozen=True)
class Receipt:
    """Proof that an entry was charged: its number and hash."""

    number: int
    hash: str


RunState = Literal["appeared", "running", "unknown", "ended"]
"""What became of an earlier run: its release was recorded, its process is alive, the ledger cannot tell, or nothing appeared."""

RefuseRepeat = Callable[[Event, RunState], BudgetError]
"""The error for a repeat, made from the event of the earlier run and what became of it."""


class Ledger:
    """An append-only record, one for all datasets of a custodian.

    >>> with Ledger("sqlite://") as ledger:
    ...     ledger.set_budget("visits", Budget.of(3, "1e-5"), "agreed")
    ...     ledger.account("visits").left.words()
    '(3, 0.00001)'
    """

    def __init__(
        self, url: str | None = None, clock: Callable[[], datetime] | None = None, *, new: bool = False
    ) -> None:
        self._store = Store(url or default_url(), new=new)
        self._secret = self._store.secret
        self._clock = clock or (lambda: datetime.now(UTC))
        self._state = LedgerState(self._store.genesis)
        self._lock = threading.RLock()
        self._asking = threading.RLock()

    @property
    def url(self) -> str:
        """The path or address of the ledger."""
        return self._store.url

    @property
    def is_new(self) -> bool:
        """Whether there was no ledger before this one was opened, so that nothing had been spent."""
        return self._store.is_new

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the custodian should know of the ledger: that others can read or change its file, or that it has no head."""
        return self._store.warnings

    def close(self) -> None:
        """Close the ledger; its file is free for others."""
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
        work: str | None = None,
        repeat: RefuseRepeat | None = None,
    ) -> Receipt:
        """Charge an entry, durably, before the first random draw; or refuse and change nothing.

        `plan` is the hash of the locked plan, `table` a digest of the table's content, which is stored only under the
        ledger's key, and so are `columns` (a digest of each, and the bits it is worth) and `file`, a digest of the file it
        came from. Charges for different units do not add up, so the first `unit` is kept to. `uses_sample` marks a table that
        is itself the random sample, from which nothing else may ever be computed. The first charge fixes the budget.

        `questions` says what is asked, in the words of the question; there has to be a budget then. `session` names the
        analyst whose share is charged beside the dataset's budget. `work` is the path of the folder that the run works in; it
        is listed in `runs` until the release is recorded or the run is ended.

        `repeat` makes the error for a second charge of the same plan for the same table, from the latest that appeared, or
        else the latest; it is raised within the transaction, so of two that run at once only one is charged. Without
        it a repeat is charged like anything else.
        """
        with self._exclusive("nothing was charged") as (state, writer):
            account = state.account(dataset)
            fingerprints = [self.fingerprint(content) for content in (table, file) if content is not None]
            known = self._columns(columns)
            _refuse_repeat(account, plan, fingerprints, repeat, writer)
            refusals.refuse_renamed_table(dataset, fingerprints, known, state)
            refusals.refuse_used_sample(account, uses_sample)
            refusals.refuse_other_unit(account, unit)
            refusals.refuse_other_neighbours(account, neighbours)
            fixed = self._budget(writer, account, budget)
            _refuse_overrun(
                account, cost, fixed, session, asked=bool(questions), sample=account.on_sample(fingerprints)
            )
            payload: dict[str, Any] = {
                "cost": cost.to_saved(),
                "neighbours": neighbours,
                "plan": plan,
                "unit": None if unit is None else unit.to_saved(),
                "fingerprints": fingerprints,
                "columns": state.new_columns(dataset, known),
            }
            if questions:
                payload |= {"questions": list(questions), "session": session}
            if cost.filtered is not None:
                payload["filter"] = cost.filtered.to_saved()
            event = writer.append(self._now(), dataset, "charge", payload)
            if uses_sample:
                writer.append(self._now(), dataset, "sample_used", {"charge": event.number})
            if work is not None:
                writer.begin_run(event.number, dataset, work)
        return Receipt(event.number, event.hash)

    def same_plan(self, dataset: str, plan: str) -> list[Event]:
        """The charges, and notes of releases without bound, of this very plan."""
        return list(self._trusted_state().account(dataset).plans.get(plan, ()))

    def same_release(
        self, dataset: str, plan: str, table: bytes, file: bytes | None = None
    ) -> tuple[Event, RunState] | None:
        """The earlier run of this very plan on this very table, and what became of it; None where there is none.

        It is the latest whose release appeared; else one that is going on; else the latest.
        """
        own = [self.fingerprint(content) for content in (table, file) if content is not None]
        account = self._trusted_state().account(dataset)
        return _earlier_run(account, account.repeats(plan, own), self.runs())

    def set_budget(self, dataset: str, budget: Budget, reason: str) -> None:
        """Change a budget: an event of its own, with its reason, for all to see.

        Where the budget names no accounting, it stays what it was; at first it is basic.
        """
        with self._exclusive() as (state, writer):
            account = state.account(dataset)
            before, word = account.budget, budget.accounting or _accounting_of(account.filter, budget)
            payload = {"budget": budget.to_saved(), "reason": reason, "before": before.to_saved() if before else None}
            payload |= _shares(budget, word, account.filter)
            writer.append(self._now(), dataset, "budget", payload)

    def set_analyst_budget(self, dataset: str, name: str, budget: Budget, reason: str) -> None:
        """Fix or change what one analyst may spend of a dataset: an event of its own, with its reason."""
        with self._exclusive() as (state, writer):
            account = state.account(dataset)
            analyst = account.analysts.get(name)
            before = None if analyst is None else analyst.budget.to_saved()
            payload = {"name": name, "budget": budget.to_saved(), "reason": reason, "before": before}
            payload |= _shares(budget, budget.accounting or _accounting_of(account.filter, budget))
            writer.append(self._now(), dataset, "session", payload)

    def open_analyst_budget(self, dataset: str, name: str, budget: Budget | None) -> AnalystBudget:
        """The share of an analyst, fixed at the first opening; BudgetError if it is another one, or if there is none.

        A share is a part of the dataset's budget, which has to be there: else every new name would open a new one.
        """
        with self._exclusive() as (state, writer):
            account = state.account(dataset)
            if account.budget is None:
                raise refusals.no_budget(dataset)
            analyst = account.analysts.get(name)
            if analyst is not None:
                if budget is not None and budget != analyst.budget:
                    raise BudgetError(
                        f"the share of '{name}' in dataset '{dataset}' is fixed",
                        came=budget.words(),
                        allowed=analyst.budget.words(),
                        fix="keep to it, or let the custodian change it openly",
                    )
                return analyst
            if budget is None:
                raise BudgetError(
                    f"'{name}' has no share in dataset '{dataset}' yet", fix="open the first session with a budget"
                )
            payload = {"name": name, "budget": budget.to_saved(), "reason": "first session", "before": None}
            shares = _shares(budget, budget.accounting or _accounting_of(account.filter, budget))
            writer.append(self._now(), dataset, "session", {**payload, **shares})
        held = FilterBudget.from_saved(shares["accounting"]) if shares else None
        return AnalystBudget(name, budget, total([], []), held)

    def register(
        self,
        entry: Registration,
        *,
        budget: Budget | None,
        table: bytes,
        columns: Sequence[tuple[bytes, int]] = (),
        file: bytes | None = None,
    ) -> Registration:
        """Note where a dataset's policy and table lie, for questions; the same again changes nothing.

        The table is known by its fingerprints, as for a charge. Another table, place or policy under the same name is a
        new event; the unit, the neighbours and the rate stay what they were once something was charged.
        """
        with self._exclusive() as (state, writer):
            fingerprints = tuple(self.fingerprint(content) for content in (table, file) if content is not None)
            known = self._columns(columns)
            refusals.refuse_renamed_table(entry.dataset, fingerprints, known, state)
            account = state.account(entry.dataset)
            refusals.refuse_other_registration(account, entry.unit.to_saved(), entry.unit.neighbours)
            refusals.refuse_used_sample(account, uses_sample=False)
            refusals.refuse_other_rate(account, entry.sampled)
            self._budget(writer, account, budget, "registered")
            made = entry.with_fingerprints(fingerprints, tuple(known.items()))
            if account.registration is None or Registration.from_saved(entry.dataset, account.registration) != made:
                writer.append(self._now(), entry.dataset, "registered", made.to_saved())
        return made

    def registration(self, dataset: str) -> Registration | None:
        """The last registration of a dataset; None where there is none."""
        saved = self._trusted_state().account(dataset).registration
        return None if saved is None else Registration.from_saved(dataset, saved)

    def record_answers(
        self, dataset: str, receipt: Receipt, given: Sequence[tuple[str, Cost, bytes]], *, table: str
    ) -> None:
        """Record the answers to all questions of one charge, each with what it alone would cost."""
        with self._exclusive() as (_, writer):
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

    @contextmanager
    def hold_questions(self, dataset: str, table: str, questions: Iterable[str]) -> Iterator[None]:
        """Keep all others from asking the same questions about the same table, from the look at the record to the answer.

        All processes that share the ledger's file wait for each other. A ledger in another database keeps the threads
        of this process apart, and not those of others.
        """
        names = [f"{dataset}\n{table}\n{question}" for question in questions]
        path = self._store.path
        with self._asking if path is None else question_lock.hold(path, names):
            yield

    def recorded_answers(self, dataset: str, question: str, table: str) -> list[RecordedAnswer]:
        """The answers that were given to a question about this very table, the oldest first."""
        return list(self._trusted_state().account(dataset).answers.get((table, question), ()))

    def answers(self, dataset: str, table: str) -> list[RecordedAnswer]:
        """Every answer that was given about this very table, the oldest first."""
        known = self._trusted_state().account(dataset).answers
        found = [each for (about, _), given in known.items() if about == table for each in given]
        return sorted(found, key=lambda each: each.number)

    def charged(self, dataset: str, number: int) -> Cost | None:
        """What the charge of this number cost; None where it is no charge of the dataset."""
        return self._trusted_state().account(dataset).charged.get(number)

    def unanswered_charges(self, dataset: str, question: str) -> list[int]:
        """The numbers of the charges of a question without an answer: their run failed, was ended, or is under way."""
        return self._trusted_state().account(dataset).unanswered(question)

    def content(self, recorded: RecordedAnswer) -> bytes | None:
        """What a recorded answer says; None if it is lost or is not what it was."""
        self._trusted_state()
        return self._store.content(recorded.content)

    def record_release(self, dataset: str, receipt: Receipt, certificate: str, *, work: str | None = None) -> None:
        """Note that a charged release was written, by the hash of its certificate; once for each charge.

        With `work`, the path that the charge was made with, the run ends in the same transaction.
        """
        with self._exclusive() as (state, writer):
            account = state.account(dataset)
            if receipt.number not in account.charged:
                raise LedgerError(f"event {receipt.number} of the ledger is no charge of dataset '{dataset}'")
            if receipt.number not in account.released:
                payload = {"charge": receipt.number, "certificate": certificate}
                writer.append(self._now(), dataset, "release", payload)
            if work is not None:
                writer.end_run(work)

    def runs(self) -> list[Run]:
        """The runs that were charged, or noted as unbounded, with a work folder and have not ended, in order."""
        return self._store.runs()

    def end_run(self, work: str) -> None:
        """Forget the runs in a work folder: nothing of them is left to finish or to remove."""
        with self._store.exclusive() as writer:
            writer.end_run(work)

    def end_runs(self, ended: Sequence[Run]) -> None:
        """Forget all these runs in one step."""
        if ended:
            with self._store.exclusive() as writer:
                writer.end_runs(ended)

    def record_unbounded(
        self,
        dataset: str,
        what: str,
        plan: str,
        table: bytes,
        *,
        columns: Sequence[tuple[bytes, int]] = (),
        file: bytes | None = None,
        work: str | None = None,
        repeat: RefuseRepeat | None = None,
    ) -> Receipt:
        """Note a release whose guarantee does not compose; every later certificate of the dataset says so.

        `work` is the path of the folder that the run works in, as for a charge; `end_run` ends it. `repeat` is as for a charge.
        """
        with self._exclusive() as (state, writer):
            fingerprints = [self.fingerprint(content) for content in (table, file) if content is not None]
            known = self._columns(columns)
            _refuse_repeat(state.account(dataset), plan, fingerprints, repeat, writer)
            refusals.refuse_renamed_table(dataset, fingerprints, known, state)
            refusals.refuse_used_sample(state.account(dataset), uses_sample=False)
            found = state.new_columns(dataset, known)
            payload = {"what": what, "plan": plan, "fingerprints": fingerprints, "columns": found}
            event = writer.append(self._now(), dataset, "unbounded", payload)
            if work is not None:
                writer.begin_run(event.number, dataset, work)
        return Receipt(event.number, event.hash)

    def record_look(self, dataset: str, what: str, *, kind: str | None = None, lock: str | None = None) -> None:
        """Note that somebody looked at results on the real data before a charge.

        `kind` is one of `KINDS_OF_LOOK`, `lock` the hash of the policy's lock that the results were made with. A look without
        them counts as one with another plan than any that is charged later.
        """
        if kind is not None and kind not in KINDS_OF_LOOK:
            raise UsageError("unknown kind of look", came=kind, allowed=", ".join(KINDS_OF_LOOK))
        if lock is not None and not is_hash(lock):
            raise UsageError("a plan is named by the hash of its lock", came=lock, allowed="64 hexadecimal digits")
        payload: dict[str, Any] = {"what": what}
        if kind is not None:
            payload |= {"kind": kind, "lock": lock}
        self._note(dataset, "look", payload)

    def account(self, dataset: str, upto: Receipt | None = None) -> Account:
        """Where a dataset stands, now or as of the charge of a receipt; LedgerError where an event does not fit the chain."""
        if upto is None:
            return account_of(self._trusted_state(), dataset)
        events = [event for event in self._store.events().events if event.number <= upto.number]
        return account_after(dataset, events, self._store.genesis)

    def left(self, dataset: str, session: str | None = None) -> Budget | None:
        """What questions may still cost, in all or within an analyst's share; None where nothing limits them."""
        lefts = [room.left for room in self.rooms(dataset, session)]
        return Budget(min(b.epsilon for b in lefts), min(b.delta for b in lefts)) if lefts else None

    def rooms(self, dataset: str, session: str | None = None) -> tuple[Room, ...]:
        """What is left for questions: of the dataset's budget, and of an analyst's share; none where nothing limits them."""
        account = self._trusted_state().account(dataset)
        whole = account.room(sample=True)
        analyst = None if session is None else account.analysts.get(session)
        return (*([] if whole is None else [whole]), *([] if analyst is None else [analyst.room]))

    def datasets(self) -> list[str]:
        """The names of all datasets, in order of their first event."""
        return list(dict.fromkeys(event.dataset for event in self.events()))

    def events(self, dataset: str | None = None) -> list[Event]:
        """The events of one dataset, or of all."""
        read = self._store.events()
        refuse_cut_end(read.events[-1] if read.events else self._store.genesis, read.head)
        return [event for event in read.events if dataset in (None, event.dataset)]

    def verify(self) -> int:
        """Recompute the whole chain; the number of events, or a VerificationError that names the first broken one."""
        read = self._store.events()
        events, begun = read.events, genesis(self._store.secret)
        if events and events[0].intact and events[0].previous != begun:
            raise VerificationError(
                "the key of the ledger's fingerprints is not the one that it was begun with, or its first events are gone",
                fix="restore the ledger from a backup; tables would no longer be known again",
            )
        broken = first_broken(events, begun)
        if broken is not None:
            raise VerificationError(
                broken_words(broken),
                fix="restore the ledger from a backup; totals after this event cannot be trusted",
            )
        end = Head(events[-1].number, events[-1].hash) if events else Head(0, begun)
        if read.head is not None and end != read.head:
            raise VerificationError(
                f"the last event of the ledger is not the one that was written last: {words_of_end(end, read.head)}",
                fix="restore the ledger from a backup; what was spent is not known",
            )
        try:
            LedgerState(begun).extend(read)
            self._store.runs()
        except LedgerError as error:
            raise VerificationError(error.wrong, fix=error.fix) from None
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
    def _exclusive(self, undone: str = "nothing was entered") -> Iterator[tuple[LedgerState, Appender]]:
        """The state as it stands, and the right to add to it; what is added is taken into the state once it is durable."""
        with self._lock, self._store.exclusive(undone) as writer:
            self._state.extend(writer.events(self._state.since))
            refusals.refuse_broken_chain(self._state, undone)
            yield self._state, writer

    def _trusted_state(self) -> LedgerState:
        """The state of the ledger after its last event; LedgerError where an event does not fit the chain."""
        with self._lock:
            self._state.extend(self._store.events(self._state.since))
            refusals.refuse_broken_chain(self._state)
            return self._state

    def _budget(
        self, writer: Appender, account: AccountState, wanted: Budget | None, reason: str = "first charge"
    ) -> Budget | None:
        if account.budget is None and wanted is not None:
            payload = {"budget": wanted.to_saved(), "reason": reason, "before": None}
            payload |= _shares(wanted, wanted.accounting)
            writer.append(self._now(), account.dataset, "budget", payload)
            return wanted
        if account.budget is not None and wanted is not None:
            refusals.refuse_other_budget(account, wanted, account.budget)
        return account.budget

    def _note(self, dataset: str, kind: str, payload: dict[str, Any]) -> None:
        with self._exclusive() as (_, writer):
            writer.append(self._now(), dataset, kind, payload)

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")


def _refuse_repeat(
    account: AccountState, plan: str, fingerprints: Sequence[str], repeat: RefuseRepeat | None, writer: Appender
) -> None:
    if repeat is None:
        return
    found = account.repeats(plan, fingerprints)
    earlier = _earlier_run(account, found, writer.runs()) if found else None
    if earlier is not None:
        raise repeat(*earlier)


def _earlier_run(account: AccountState, found: Sequence[Event], runs: Iterable[Run]) -> tuple[Event, RunState] | None:
    """Of the runs of one plan on one table the one to name, and what became of it."""
    waiting = {run.number: Path(run.work) for run in runs}

    def state(event: Event) -> RunState:
        if event.number in account.released:
            return "appeared"
        if event.number in waiting:
            return "running" if is_alive(waiting[event.number]) else "unknown"
        return "ended" if event.number in account.charged else "unknown"  # a release without a price is not recorded

    states = [(event, state(event)) for event in found]
    for named in ("appeared", "running"):
        for each in reversed(states):
            if each[1] == named:
                return each
    return states[-1] if states else None


def _refuse_overrun(
    account: AccountState, cost: Cost, fixed: Budget | None, session: str | None, *, asked: bool, sample: bool
) -> None:
    """A release is held to the budget as it was promised; a question about a sample to what that allows on the sample.

    So at any time either everything charged was on samples of one rate, and its sum is within the ceiling; or the sum of
    everything, amplified by nothing, is within the budget.
    """
    whose = f"dataset '{account.dataset}'"
    if asked and fixed is None:
        raise refusals.no_budget(account.dataset)
    sums = [account.spent]
    if session is not None:
        analyst = account.analysts.get(session)
        if analyst is None:
            raise BudgetError(f"'{session}' has no share in {whose} yet", fix="open a session first")
        refusals.refuse_overrun(account, cost, analyst.room, session)
        sums.append(analyst.spent)
    room = account.room(sample=asked and sample, first=fixed)
    refusals.refuse_overrun(account, cost, room, asked=asked)
    if asked:
        refusals.refuse_unwritable_sum(sums, cost)


def _accounting_of(held: FilterBudget | None, budget: Budget) -> Accounting:
    """The accounting that a budget takes over from the one before; without a delta it is basic."""
    return "basic" if held is None or not budget.delta else "gaussian"


def _shares(budget: Budget, accounting: Accounting | None, before: FilterBudget | None = None) -> dict[str, Any]:
    """What the event of a budget says of its accounting; nothing where it is basic, as in ledgers from before.

    What was set aside of the budget before stays aside where the new one does not say.
    """
    aside = budget.aside
    if aside is None and before is not None and accounting == "gaussian":
        aside = before.aside, before.aside_delta
    held = filter_of(replace(budget, accounting=accounting, aside=aside))
    return {} if held is None else {"accounting": held.to_saved()}


def open_ledger(url: str | None = None, *, new: bool = False) -> Ledger:
    """Open the ledger at a path or URL, at SHOAL_LEDGER, or in the user's data folder.

    The one in the user's data folder is made when it is first needed. A path that was typed must be there, because a
    mistyped one would begin with nothing spent; `new` says that it is to be made, and that nothing may be in it. A file that
    is empty is refused wherever it is, because a ledger never is: only `new` makes it one. `Ledger.is_new` says whether it
    was made now. A database of PostgreSQL that holds no ledger is refused likewise: only `new` begins one in it.
    """
    path = file_of(url or default_url())
    if path is not None and is_ledger_named(url) and not new and not ledger_file.exists(path):
        near = near_path(path, (".sqlite", ".sqlite3", ".db"))
        begin = "say --new-ledger to begin a new one, with nothing spent"
        raise LedgerError(
            "there is no ledger here",
            came=path,
            allowed="the ledger that releases and questions are charged to",
            fix=f"check the path; {begin}" if near is None else f"did you mean {near}? Otherwise {begin}",
            step=NextCommand(add=("--new-ledger",), only=("init", "release"))
            if near is None
            else NextCommand(replace=(str(path), str(near))),
        )
    found = Ledger(url, new=new)
    if new and found.datasets():
        found.close()
        raise LedgerError(
            "the ledger is not new: something is in it already",
            came=path or found.url,
            fix="leave out --new-ledger, or name another place",
            step=NextCommand(without="--new-ledger"),
        )
    return found


def is_ledger_missing(url: str | None = None, *, new: bool = False) -> bool:
    """Whether there is no ledger yet at the place that is meant; with `new`, a file that is empty is none."""
    path = file_of(url or default_url())
    if path is None:
        return False
    return not ledger_file.exists(path) or (new and ledger_file.refuse_special(path) == 0)


def is_ledger_named(url: str | None) -> bool:
    """Whether a person named the ledger, on the command line or in the environment, so that it has to be there."""
    return url is not None or bool(os.environ.get(ENVIRONMENT))


def record_look(
    dataset: str,
    kind: str,
    *,
    lock: str | None = None,
    ledger: str | None = None,
    new: bool = False,
    begin: bool = False,
) -> str | None:
    """Note a look at results on the real table in the ledger that is meant; where it lies, or None where there is none.

    `kind` is one of `KINDS_OF_LOOK`, `lock` the hash of the policy's lock, where there is a policy. The ledger in the user's data
    folder is made for a look only where `begin` says so; `new` is as for `open_ledger`. What was seen is printed after this
    returns, so that nothing is seen that is not on record.
    """
    if not begin and not is_ledger_named(ledger) and is_ledger_missing(ledger):
        return None
    with open_ledger(ledger, new=new) as book:
        book.record_look(dataset, _WHAT.get(kind, kind), kind=kind, lock=lock)
        return book.url


def check_look(ledger: str | None = None) -> None:
    """Raise what `record_look` would for a ledger that is named and not there, before a long computation begins."""
    if is_ledger_named(ledger):
        with open_ledger(ledger):
            pass


_WHAT = {
    "init": "a draft of the policy, by `shoal init`",
    "check": "classes and disclosure, by `shoal check`",
    "dry-run": "a dry run of a release",
    "assess": "risks and utility of a release, by `shoal assess`",
}
"""What the record says of a look of each kind."""
