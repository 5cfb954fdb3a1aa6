"""The ledger: charges before anything random happens, refuses what would overrun, and can prove its own history.

Basic composition enforces the budget (a valid filter for budgets spent as one goes along); the composed
privacy-loss distribution informs. A charge stands once made: a run that fails afterwards has been looked at.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Self

from shoal.errors import BudgetError, LedgerError, PreconditionError, VerificationError
from shoal.guarantee.compose import compose
from shoal.guarantee.rounding import Number, text_down, text_up
from shoal.guarantee.unit import Neighbours, Unit
from shoal.ledger.entry import GENESIS, Budget, Cost, Event
from shoal.ledger.store import Appender, Store, default_url

SPENDING = ("charge", "answer")
"""The kinds of event that cost something."""


@dataclass(frozen=True)
class Account:
    """Where one dataset stands."""

    dataset: str
    budget: Budget | None
    neighbours: Neighbours | None
    unit: dict[str, Any] | None
    costs: tuple[Cost, ...]
    releases: int
    unbounded: int
    looks: int
    sample_used: bool

    @property
    def spent(self) -> Budget:
        """The sum of all charges: what enforces."""
        return Budget(
            sum((cost.epsilon for cost in self.costs), start=Fraction(0)),
            min(Fraction(999_999, 1_000_000), sum((cost.delta for cost in self.costs), start=Fraction(0))),
        )

    @property
    def left(self) -> Budget | None:
        """What the budget still allows; None before the first charge."""
        if self.budget is None:
            return None
        zero = Fraction(0)
        return Budget(
            max(zero, self.budget.epsilon - self.spent.epsilon), max(zero, self.budget.delta - self.spent.delta)
        )

    def total(self, delta: Number | None = None) -> float | None:
        """The composed epsilon of all charges at delta (default: the deltas' sum), for information. None if there is none."""
        if not self.costs:
            return None
        parts = [part for cost in self.costs for part in cost.parts]
        return compose(parts).epsilon_at(self.spent.delta if delta is None else delta)

    def forecast(self, cost: Cost) -> int | None:
        """How many more entries of this cost fit; None where no budget is set yet."""
        if self.left is None:
            return None
        fits = [
            left // price for left, price in ((self.left.epsilon, cost.epsilon), (self.left.delta, cost.delta)) if price
        ]
        return int(min(fits)) if fits else None


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

    @property
    def url(self) -> str:
        """Where it is kept."""
        return self._store.url

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
        file: bytes | None = None,
        unit: Unit | None = None,
        uses_sample: bool = False,
    ) -> Receipt:
        """Charge an entry, durably, before the first random draw; or refuse and change nothing.

        `plan` is the hash of the locked plan, `table` a digest of the table's content, which is stored only under the
        ledger's key, and so is `file`, a digest of the file it came from. Charges for different units do not add up, so
        the first `unit` is kept to. `uses_sample` marks a table that is itself the random sample, from which nothing else
        may ever be computed. The first charge fixes the budget.
        """
        with self._store.exclusive() as book:
            _refuse_broken(book.events)
            account = _account(dataset, book.events)
            fingerprints = [self._fingerprint(content) for content in (table, file) if content is not None]
            _refuse_renamed(dataset, fingerprints, book.events)
            _refuse_used(account, uses_sample)
            _refuse_other_unit(account, unit)
            if account.neighbours is not None and account.neighbours != neighbours:
                raise BudgetError(
                    f"dataset '{dataset}' has been charged under another neighbouring relation",
                    came=neighbours,
                    allowed=account.neighbours,
                    fix="costs under different relations do not add up; keep to the first",
                )
            ceiling = self._budget(book, account, budget)
            _refuse_overrun(account, cost, ceiling)
            payload: dict[str, Any] = {
                "cost": cost.to_saved(),
                "neighbours": neighbours,
                "plan": plan,
                "unit": None if unit is None else unit.to_saved(),
                "fingerprints": fingerprints,
            }
            event = book.append(self._now(), dataset, "charge", payload)
            if uses_sample:
                book.append(self._now(), dataset, "sample_used", {"charge": event.number})
        return Receipt(event.number, event.hash)

    def set_budget(self, dataset: str, budget: Budget, reason: str) -> None:
        """Change a budget: an event of its own, with its reason, for all to see."""
        with self._store.exclusive() as book:
            before = _account(dataset, book.events).budget
            payload = {"budget": budget.to_saved(), "reason": reason, "before": before.to_saved() if before else None}
            book.append(self._now(), dataset, "budget", payload)

    def released(self, dataset: str, receipt: Receipt, certificate: str) -> None:
        """Note that a charged release was written, by the hash of its certificate."""
        self._note(dataset, "release", {"charge": receipt.number, "certificate": certificate})

    def unbounded(self, dataset: str, what: str, plan: str, table: bytes) -> None:
        """Note a release whose guarantee does not compose; every later certificate of the dataset says so."""
        with self._store.exclusive() as book:
            fingerprints = [self._fingerprint(table)]
            _refuse_renamed(dataset, fingerprints, book.events)
            _refuse_used(_account(dataset, book.events), uses_sample=False)
            payload = {"what": what, "plan": plan, "fingerprints": fingerprints}
            book.append(self._now(), dataset, "unbounded", payload)

    def look(self, dataset: str, what: str) -> None:
        """Note that somebody looked at results on the real data before the plan was locked."""
        self._note(dataset, "look", {"what": what})

    def account(self, dataset: str, upto: Receipt | None = None) -> Account:
        """Where a dataset stands, now or as of the charge of a receipt."""
        return _account(dataset, [e for e in self._store.events() if upto is None or e.number <= upto.number])

    def datasets(self) -> list[str]:
        """All names, in order of their first event."""
        return list(dict.fromkeys(event.dataset for event in self._store.events()))

    def events(self, dataset: str | None = None) -> list[Event]:
        """What happened, to one dataset or to all."""
        return [event for event in self._store.events() if dataset in (None, event.dataset)]

    def verify(self) -> int:
        """Recompute the whole chain; the number of events, or a VerificationError that names the first broken one."""
        events = self._store.events()
        broken = _first_broken(events)
        if broken is not None:
            raise VerificationError(
                f"event {broken} of the ledger does not fit the chain: it was changed, removed or put in later",
                fix="restore the ledger from a backup; totals after this event cannot be trusted",
            )
        return len(events)

    def _fingerprint(self, table: bytes) -> str:
        return hmac.new(self._secret, table, hashlib.sha256).hexdigest()

    def _budget(self, book: Appender, account: Account, wanted: Budget | None) -> Budget | None:
        if account.budget is None and wanted is not None:
            payload = {"budget": wanted.to_saved(), "reason": "first charge", "before": None}
            book.append(self._now(), account.dataset, "budget", payload)
            return wanted
        if account.budget is not None and wanted is not None and wanted != account.budget:
            raise BudgetError(
                f"the policy's budget differs from the one fixed for dataset '{account.dataset}'",
                came=wanted.words(),
                allowed=account.budget.words(),
                fix="keep to the fixed budget, or change it openly with `shoal ledger budget`",
            )
        return account.budget

    def _note(self, dataset: str, kind: str, payload: dict[str, Any]) -> None:
        with self._store.exclusive() as book:
            book.append(self._now(), dataset, kind, payload)

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")


def _first_broken(events: list[Event]) -> int | None:
    """The place of the first event that does not follow from the one before."""
    previous = GENESIS
    for number, event in enumerate(events, 1):
        if event.number != number or event.previous != previous or not event.intact:
            return number
        previous = event.hash
    return None


def _refuse_broken(events: list[Event]) -> None:
    if (broken := _first_broken(events)) is not None:
        raise LedgerError(
            f"event {broken} of the ledger does not fit the chain, so its sums cannot be trusted",
            fix="restore the ledger from a backup; nothing was charged",
        )


def _account(dataset: str, events: list[Event]) -> Account:
    try:
        return _summed(dataset, events)
    except (KeyError, TypeError, AttributeError):
        raise LedgerError("an event of the ledger cannot be read", fix="restore the ledger from a backup") from None


def _summed(dataset: str, events: list[Event]) -> Account:
    own = [event for event in events if event.dataset == dataset]
    budgets = [Budget.from_saved(event.payload["budget"]) for event in own if event.kind == "budget"]
    charges = [event.payload for event in own if event.kind in SPENDING]
    return Account(
        dataset=dataset,
        budget=budgets[-1] if budgets else None,
        neighbours=charges[-1]["neighbours"] if charges else None,
        unit=charges[0].get("unit") if charges else None,
        costs=tuple(Cost.from_saved(payload["cost"]) for payload in charges),
        releases=sum(event.kind == "release" for event in own),
        unbounded=sum(event.kind == "unbounded" for event in own),
        looks=sum(event.kind == "look" for event in own),
        sample_used=any(event.kind == "sample_used" for event in own),
    )


def _refuse_other_unit(account: Account, unit: Unit | None) -> None:
    if unit is not None and account.costs and account.unit != unit.to_saved():
        raise BudgetError(
            f"dataset '{account.dataset}' has been charged for another unit",
            came=unit.words(),
            allowed="the unit of its first charge",
            fix="costs for different units do not add up; keep to the first",
        )


def _refuse_renamed(dataset: str, fingerprints: list[str], events: list[Event]) -> None:
    for event in events:
        if event.dataset != dataset and set(event.payload.get("fingerprints", ())) & set(fingerprints):
            raise BudgetError(
                f"this table has been charged under the name '{event.dataset}'",
                came=dataset,
                allowed="one name, so one budget, for one table",
                fix=f"set `dataset: {event.dataset}` in the policy",
            )


def _refuse_used(account: Account, uses_sample: bool) -> None:
    spent = bool(account.costs) or account.unbounded > 0
    if account.sample_used or (uses_sample and spent):
        raise PreconditionError(
            "dps-does-not-compose",
            f"dataset '{account.dataset}' is itself a random sample, and such a sample may be used once and for nothing else",
            came="a second use",
            fix="draw a new sample from the population and give it its own name",
        )


def _refuse_overrun(account: Account, cost: Cost, budget: Budget | None) -> None:
    if budget is None:
        return
    spent = account.spent
    if spent.epsilon + cost.epsilon > budget.epsilon or spent.delta + cost.delta > budget.delta:
        raise BudgetError(
            f"dataset '{account.dataset}' would overrun its budget",
            came=f"({text_up(spent.epsilon)}, {text_up(spent.delta)}) spent and {cost.words()} asked for",
            allowed=f"{budget.words()} in all",
            fix=f"({text_down(budget.epsilon - spent.epsilon)}, {text_down(budget.delta - spent.delta)}) is left; "
            "nothing was charged",
        )
