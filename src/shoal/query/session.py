"""A session: questions about one dataset, each charged before it is answered, until the budget is spent (SC13 protocols 1, 2).

    refuse what the policy does not allow -> look for the answer on record -> open the table -> charge the ledger -> draw
    -> record -> give

Up to the charge everything depends on the question, the policy and the ledger alone, and a refusal costs nothing. From the
charge on, whatever fails stays charged and is told in one sentence that is always the same: failing is an output too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Self

from shoal.chance.source import Source
from shoal.engine.base import Engine, Table
from shoal.engine.digest import Contents
from shoal.errors import BudgetError, DataError, LedgerError, UsageError
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.rounding import Number
from shoal.ledger import refusals
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger, open_ledger
from shoal.ledger.state import Account
from shoal.policy.policy import Policy
from shoal.policy.text.problem import excerpt
from shoal.query import batch as batches
from shoal.query import dataset as datasets
from shoal.query.answer import Answer, Price
from shoal.query.batch import Ask
from shoal.query.dataset import Dataset
from shoal.query.price import Offer, offer
from shoal.query.prior import known
from shoal.query.questions.base import Asked, Question
from shoal.query.questions.workload import question as question_of

_LONGEST_NAME = 100


@dataclass(frozen=True)
class Prepared:
    """A question with its meaning, its mechanism and the text by which its answer is found again."""

    asked: Asked
    offer: Offer
    key: str | None

    @property
    def told(self) -> str:
        """What the ledger notes as asked."""
        return self.key or self.asked.identity


class Session:
    """Questions about one dataset within a budget that lives in the ledger.

    The budget survives restarts and is shared by all processes. Where persons are hidden, at most `max_rows` rows of each
    are chosen at random when the table is opened, and kept for as long as the session lives; the next session
    chooses anew, and the key of the choice is never stored.
    """

    def __init__(
        self,
        dataset: Dataset,
        ledger: Ledger,
        engine: Engine,
        *,
        budget: Budget | None = None,
        analyst: str | None = None,
        owns_ledger: bool = False,
    ) -> None:
        self.dataset = dataset
        self.analyst = analyst
        self._ledger = ledger
        self._engine = engine
        self._budget = budget if analyst is None else None
        self._owns = owns_ledger
        self._opened: tuple[Table, Contents] | None = None
        self._given: set[tuple[int, bytes]] = set()
        if analyst is not None:
            if not 0 < len(analyst) <= _LONGEST_NAME or not analyst.isprintable():
                raise UsageError("an analyst has a name", came=repr(analyst), allowed=f"1 to {_LONGEST_NAME} letters")
            _refuse_no_share(ledger.account(dataset.name), analyst, budget)
            ledger.open_analyst_budget(dataset.name, analyst, budget)
        elif budget is None and ledger.left(dataset.name) is None:
            raise refusals.no_budget(dataset.name)
        elif budget is not None:
            _refuse_other(dataset.name, budget, ledger.account(dataset.name).budget)

    def close(self) -> None:
        """Let go of the table, and of the ledger if the session opened it."""
        self._opened = None
        if self._owns:
            self._ledger.close()

    def __repr__(self) -> str:
        whose = "" if self.analyst is None else f", analyst={self.analyst!r}"
        left = self.left
        return f"Session({self.dataset.name!r}{whose}, left={'all' if left is None else left.words()})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- where it stands -----------------------------------------------------------------------------------------

    @property
    def account(self) -> Account:
        """Where the dataset stands, all analysts together."""
        return self._ledger.account(self.dataset.name)

    @property
    def ledger(self) -> str:
        """Where spending is kept."""
        return self._ledger.url

    @property
    def spent(self) -> Budget:
        """What was spent: by the analyst, or on the dataset where none is named."""
        account = self.account
        return next((share.spent for share in account.analysts if share.name == self.analyst), account.spent)

    @property
    def left(self) -> Budget | None:
        """What questions may still cost; None before a first charge fixes the session's budget."""
        return self._ledger.left(self.dataset.name, self.analyst) or self._budget

    # --- asking --------------------------------------------------------------------------------------------------

    def price(
        self, question: object, epsilon: Number, mechanism: str = "auto", prior: object = None, delta: Number = 0
    ) -> Price:
        """Price and expected error before running: nothing is charged, no row is read."""
        prepared = self._prepared(Ask(_question(question), epsilon, mechanism, prior, delta))
        found = self._on_record(prepared)
        cost = None if found else prepared.offer.cost
        return Price((prepared.asked.identity,), (found or prepared.offer,), cost, self.left)

    def answered_at(
        self, question: object, epsilon: Number, mechanism: str = "auto", prior: object = None, delta: Number = 0
    ) -> Fraction | None:
        """The largest epsilon below this one at which the very question was answered; None where it is new or would be free.

        That answer is given again for nothing; asking for a better one costs its full price.
        """
        prepared = self._prepared(Ask(_question(question), epsilon, mechanism, prior, delta))
        if prepared.key is None or self._on_record(prepared) is not None:
            return None
        found = self._ledger.recorded_answers(self.dataset.name, prepared.key, self.dataset.identity)
        return max((each.epsilon for each in found), default=None)

    def ask(
        self, question: object, epsilon: Number, mechanism: str = "auto", prior: object = None, delta: Number = 0
    ) -> Answer:
        """One answer, charged before it is drawn; free if the same question was answered before at this epsilon or more.

        `mechanism` is laplace, optimal, gaussian (with a delta), refinement (with a prior) or auto: the one with the
        smallest expected error, which depends on question, epsilon and prior alone.
        """
        prepared = self._prepared(Ask(_question(question), epsilon, mechanism, prior, delta))
        found = self._on_record(prepared)
        return found or self._answers([prepared], prepared.offer.cost)[0]

    def batch_price(self, asks: Sequence[object], epsilon: Number | None = None, delta: Number | None = None) -> Price:
        """What a batch would cost; nothing is charged, no row is read."""
        prepared = self._batch(asks, epsilon)
        found = [self._on_record(each) for each in prepared]
        missing = [each for each, old in zip(prepared, found, strict=True) if old is None]
        cost = self._cost(missing, delta) if missing else None
        offers = tuple(old or each.offer for each, old in zip(prepared, found, strict=True))
        return Price(tuple(each.asked.identity for each in prepared), offers, cost, self.left)

    def batch(self, asks: Sequence[object], epsilon: Number | None = None, delta: Number | None = None) -> list[Answer]:
        """Answers to questions that are fixed in advance, charged as one entry at their composed total.

        Each is an `Ask`, or a question asked at `epsilon`. A `delta` beyond what the questions need by themselves
        pays for a composed total that is below the sum. Those that are on record are free and count for nothing.
        """
        prepared = self._batch(asks, epsilon)
        found = [self._on_record(each) for each in prepared]
        missing = [each for each, old in zip(prepared, found, strict=True) if old is None]
        made = iter(self._answers(missing, self._cost(missing, delta)) if missing else ())
        return [old or next(made) for old in found]

    def claim(self, answer: Answer) -> Claim:
        """What holds for an answer by itself: one that this session gave, as it gave it."""
        from shoal.guarantee.differential import ApproxDP, PureDP

        if (answer.charge, answer.content()) not in self._given:
            raise UsageError(
                "nothing is claimed for an answer that this session did not give",
                came=f"an answer of charge {answer.charge}",
                fix="ask the question here: an answer that is on record is free",
            )
        guarantee = ApproxDP(answer.epsilon, answer.delta) if answer.delta else PureDP(answer.epsilon)
        status = Status.TUNED if self.dataset.tuned else Status.PROVED
        return make_claim(guarantee, self.dataset.unit, status, answer.theorems)

    # --- behind it -----------------------------------------------------------------------------------------------

    def _prepared(self, ask: Ask) -> Prepared:
        """The question under the policy; every refusal that the question alone decides comes from here."""
        asked = ask.question.plan(self.dataset.schema, self.dataset.unit)
        _refuse_unwritable(asked.identity)
        prior = known(ask.prior, asked)
        chosen = offer(asked, ask.epsilon, ask.delta, ask.mechanism, prior)
        if chosen.mechanism != "refinement" or prior is None:
            return Prepared(asked, chosen, asked.identity)
        key = None if prior.text is None else f"{asked.identity} given {prior.text}"
        _refuse_unwritable(key or "")
        return Prepared(asked, chosen, key)

    def _batch(self, asks: Sequence[object], epsilon: Number | None) -> list[Prepared]:
        if not asks:
            raise UsageError("a batch without questions")
        prepared = []
        for place, each in enumerate(asks, 1):
            with batches.numbered(place):
                prepared.append(self._prepared(_ask(each, epsilon)))
        first: dict[str, int] = {}
        for place, each in enumerate(prepared, 1):
            if each.key is not None and first.setdefault(each.key, place) != place:
                raise UsageError(
                    "a question of the batch comes twice",
                    came=f"question {first[each.key]}, and again as question {place}",
                    fix="ask it once; the answer is yours to use again",
                )
        return prepared

    def _cost(self, prepared: Sequence[Prepared], delta: Number | None) -> Cost:
        pairs = [(each.asked, each.offer.guarantee) for each in prepared]
        return batches.cost(pairs, self.dataset.unit, delta)

    def _on_record(self, prepared: Prepared) -> Answer | None:
        """The best answer that was given to this question about this table, at this epsilon or more."""
        if prepared.key is None:
            return None
        found = self._ledger.recorded_answers(self.dataset.name, prepared.key, self.dataset.identity)
        for each in sorted(found, key=lambda one: (-one.epsilon, one.number)):
            if each.epsilon >= prepared.offer.cost.epsilon and (content := self._ledger.content(each)) is not None:
                answer = Answer.from_content(content, each.charge)
                if (answer.question, answer.epsilon) != (prepared.asked.identity, each.epsilon):
                    raise LedgerError(
                        f"the answer of event {each.number} of the ledger is to another question",
                        fix="restore the ledger from a backup; nothing was charged",
                    )
                known = answer if answer.scope else replace(answer, scope=prepared.offer.scope)
                self._given.add((known.charge, known.content()))
                return known
        return None

    def _answers(self, prepared: Sequence[Prepared], cost: Cost) -> list[Answer]:
        table, contents = self._table()
        told = [each.told for each in prepared]
        receipt = self._ledger.charge(
            self.dataset.name,
            cost,
            budget=self._budget,
            neighbours=self.dataset.unit.neighbours,
            plan=hashlib.sha256("\n".join(told).encode()).hexdigest(),
            table=contents.whole,
            columns=contents.columns,
            unit=self.dataset.unit,
            questions=told,
            session=self.analyst,
        )
        with _charged():
            made = []
            for each in prepared:
                with Source.secure() as source:
                    drawn = each.offer.draw(table, source)
                made.append(Answer.made(each.asked.identity, each.offer, drawn, receipt.number))
            record = [
                (each.told, each.offer.cost, answer.content())
                for each, answer in zip(prepared, made, strict=True)
                if each.key is not None
            ]
            self._ledger.record_answers(self.dataset.name, receipt, record, table=self.dataset.identity)
        self._given.update((answer.charge, answer.content()) for answer in made)
        return made

    def _table(self) -> tuple[Table, Contents]:
        """The table as registered, with at most so many rows of each person as the policy says."""
        if self._opened is None:
            table, contents = self.dataset.open(self._engine, self._ledger)
            with Source.secure() as source:
                self._opened = datasets.at_most(table, self.dataset.unit, source), contents
        return self._opened


def session(
    dataset: str | Policy,
    data: object = None,
    *,
    budget: Budget | Number | tuple[Number, Number] | None = None,
    analyst: str | None = None,
    sampled: Number | None = None,
    ledger: str | Ledger | None = None,
    new_ledger: bool = False,
    engine: str | Engine = "duckdb",
) -> Session:
    """Open a session on a registered dataset by its name, or on a policy with its table, which registers them.

    `budget` is epsilon, or (epsilon, delta). It is the dataset's, fixed once for all; with an `analyst` it is that
    analyst's share, which is held beside the dataset's. `ledger` is a path or URL; a path must be there, unless
    `new_ledger` says that it is to be made.
    """
    from shoal.engine.base import open_engine

    wanted, engines = ceiling_of(budget), open_engine(engine)
    own = None if analyst is not None else wanted
    if isinstance(ledger, Ledger):
        found = _dataset(dataset, data, ledger, engines, sampled, own)
        return Session(found, ledger, engines, budget=wanted, analyst=analyst)
    book = open_ledger(ledger, new=new_ledger)
    try:
        found = _dataset(dataset, data, book, engines, sampled, own)
        return Session(found, book, engines, budget=wanted, analyst=analyst, owns_ledger=True)
    except BaseException:
        book.close()
        raise


def _dataset(
    dataset: str | Policy, data: object, ledger: Ledger, engine: Engine, sampled: Number | None, budget: Budget | None
) -> Dataset:
    """By its name; or from a policy and a table, which are registered."""
    if isinstance(dataset, Policy):
        if data is None:
            raise UsageError("a policy without its table", fix="give the table, or the name of a registered dataset")
        return datasets.register(dataset, data, ledger=ledger, engine=engine, sampled=sampled, budget=budget)
    if data is not None or sampled is not None:
        raise UsageError("a registered dataset has its table already", fix="give a policy with a new table")
    return datasets.find(dataset, ledger)


def register(
    policy: Policy | str | Path,
    data: object,
    *,
    sampled: Number | None = None,
    ledger: str | Ledger | None = None,
    new_ledger: bool = False,
    engine: str | Engine = "duckdb",
) -> Dataset:
    """Let a table be asked under its policy's name: checks every row, and notes in the ledger where both lie.

    A ledger that is named by its path must be there, unless `new_ledger` says that it is to be made.
    """
    from shoal.engine.base import open_engine

    meant = policy if isinstance(policy, Policy) else Policy.load(policy)
    if isinstance(ledger, Ledger):
        return datasets.register(meant, data, ledger=ledger, engine=open_engine(engine), sampled=sampled)
    with open_ledger(ledger, new=new_ledger) as book:
        return datasets.register(meant, data, ledger=book, engine=open_engine(engine), sampled=sampled)


def ceiling_of(budget: Budget | Number | tuple[Number, Number] | None) -> Budget | None:
    """A budget from epsilon, or from epsilon and delta; a ceiling of nothing is refused."""
    if budget is None or isinstance(budget, Budget):
        return budget
    found = Budget.of(*budget) if isinstance(budget, tuple) else Budget.of(budget, 0)
    if not found.epsilon:
        raise BudgetError("a budget of nothing allows no question", came=found.words(), allowed="epsilon above 0")
    return found


def _refuse_other(dataset: str, budget: Budget, fixed: Budget | None) -> None:
    if fixed is not None and fixed != budget:
        raise BudgetError(
            f"dataset '{dataset}' has another budget",
            came=budget.words(),
            allowed=fixed.words(),
            fix="leave it out, or name the analyst whose share it is",
        )


def _refuse_no_share(account: Account, analyst: str, budget: Budget | None) -> None:
    if account.budget is None or budget is not None or analyst in {share.name for share in account.analysts}:
        return
    raise BudgetError(
        f"'{analyst}' has no share in dataset '{account.dataset}' yet",
        fix=f"open the first session in Python with a budget, or let the custodian fix one with "
        f"`shoal ledger budget {account.dataset} --analyst {analyst}`",
    )


def _question(given: object) -> Question:
    return given if isinstance(given, Question) else question_of(given)


def _ask(given: object, epsilon: Number | None) -> Ask:
    if isinstance(given, Ask):
        return given
    if epsilon is None:
        raise UsageError("a question of the batch has no epsilon", fix="give one for all, or each its own by `Ask`")
    return Ask(_question(given), epsilon)


def _refuse_unwritable(text: str) -> None:
    """A half of a letter, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("a question has a character that cannot be written", came=excerpt(text)) from None


@contextmanager
def _charged() -> Iterator[None]:
    """Whatever goes wrong after the charge is told in one sentence, which tells nothing about rows."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, its words might tell about rows
        raise DataError(
            "the question could not be answered", fix="the charge stands: what failed may have been seen"
        ) from (error if os.environ.get("SHOAL_DEBUG") == "1" else None)
