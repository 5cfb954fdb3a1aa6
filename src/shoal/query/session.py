"""A session: questions about one dataset, each charged before it is answered, until the budget is spent (SC13 protocols 1, 2).

    refuse what the policy does not allow -> look for the answer on record -> open the table -> lock the question, look again
    -> charge the ledger -> draw -> record -> unlock -> give

Up to the charge everything depends on the question, the policy and the ledger alone, and a refusal costs nothing. From the
charge on, whatever fails stays charged and gives one error that is always the same, because a failure is an output, too. A
run that is killed between charge and record stays charged as well, and the question is charged again: its noise may have been
drawn and seen (in memory, in a dump, in pages of the ledger's file that were never committed), and a second draw for nothing
would be a second look.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from shoal.chance.source import Source
from shoal.engine.base import Engine, Table
from shoal.engine.digest import Contents
from shoal.errors import BudgetError, DataError, LedgerError, UsageError
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.rounding import Number, exact
from shoal.language.interface import LEVEL, PriceTerms, QueryInterface
from shoal.language.result import Result, frame_kind
from shoal.ledger import refusals
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger, open_ledger
from shoal.ledger.room import Room
from shoal.ledger.state import Account, filter_of
from shoal.policy.policy import Policy
from shoal.policy.text.problem import excerpt
from shoal.query import dataset as datasets
from shoal.query.answer import Answer, Price, recorded_offer
from shoal.query.dataset import Dataset
from shoal.query.price import NoiseOffer, Offer
from shoal.query.questions.base import Query, Question
from shoal.query.questions.workload import read_question
from shoal.query.spend import PricedQuestion, find_offer, largest_error

if TYPE_CHECKING:
    from shoal.query.prior import AnalystPrior

_LONGEST_NAME = 100


@dataclass(frozen=True)
class PreparedQuestion:
    """A question resolved to a query, with its mechanism and the text by which its answer is found again."""

    query: Query
    offer: Offer
    key: str | None
    prior: AnalystPrior | None = None
    within: Number | None = None
    """How far off the answer may be in 95 of 100 cases, where that was asked for."""

    @property
    def ledger_text(self) -> str:
        """The text of the question that the ledger keeps."""
        return self.key or self.query.identity


class Session(QueryInterface):
    """Questions about one dataset within a budget that is kept in the ledger; opened by `shoal.session`.

    Promise    each answer satisfies the guarantee that it was charged for, and the total never exceeds the budget.
    Requires   a policy that was not fitted to the data; a ledger that all who ask share.
    Reads      the table, when the first question is answered; a price reads no row.
    Arguments  dataset: a registered dataset; ledger: where spending is kept; engine: what reads the table;
               budget: the budget to fix, of the dataset, or of the analyst where one is named;
               analyst: whose share of the budget is spent; owns_ledger: whether closing the session closes the ledger;
               each: what a question may cost that does not say it.
    Raises     BudgetError where no budget is fixed, or another one is; UsageError where the analyst's name cannot be used.

    The budget survives restarts and is shared by all processes. Where the unit of privacy is a person, at most `max_rows` rows of
    each are chosen at random when the table is opened, and kept for as long as the session lives; the next session chooses
    anew, and the key of the choice is never stored.

    >>> import pyarrow as pa, shoal
    >>> age = "{role: quasi, type: integer, domain: [0, 99]}"
    >>> head = "{version: 1, dataset: clinic, unit: row, neighbours: add_remove"
    >>> policy = shoal.Policy.parse(head + ", attributes: {age: " + age + "}}")
    >>> asking = shoal.session(policy, pa.table({"age": [34, 70, 81]}), budget=1, ledger="my.sqlite", new_ledger=True)
    >>> price = asking.price(shoal.Count("age >= 65"), epsilon="0.5")
    >>> price.mechanism, price.cost.words(), price.fits
    ('laplace', '(0.5, 0)', True)
    >>> answer = asking.ask(shoal.Count("age >= 65"), epsilon="0.5")
    >>> isinstance(answer.value, int), asking.left.words()
    (True, '(0.5, 0)')
    >>> asking.close()
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
        each: PriceTerms | None = None,
    ) -> None:
        self.dataset = dataset
        self.frames = frame_kind(dataset.data)
        self._each: PriceTerms = {} if each is None else each
        self.analyst = analyst
        self._ledger = ledger
        self._engine = engine
        self._budget = budget if analyst is None else None
        self._owns = owns_ledger
        self._opened: tuple[Table, Contents] | None = None
        self._given: set[tuple[int, bytes]] = set()
        if analyst is not None:
            if not 0 < len(analyst) <= _LONGEST_NAME or not analyst.isprintable():
                raise UsageError(
                    "the name of an analyst is empty, too long or not printable",
                    came=repr(analyst),
                    allowed=f"1 to {_LONGEST_NAME} letters",
                )
            _refuse_no_share(ledger.account(dataset.name), analyst, budget)
            ledger.open_analyst_budget(dataset.name, analyst, budget)
        elif budget is None and ledger.left(dataset.name) is None:
            raise refusals.no_budget(dataset.name)
        elif budget is not None:
            _refuse_other(dataset.name, budget, ledger.account(dataset.name).budget)

    def close(self) -> None:
        """Close the table, and the ledger if the session opened it."""
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
        """The state of the dataset's account, all analysts together."""
        return self._ledger.account(self.dataset.name)

    @property
    def ledger(self) -> str:
        """The URL of the ledger that keeps the spending."""
        return self._ledger.url

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the custodian should know of the ledger's file."""
        return self._ledger.warnings

    @property
    def spent(self) -> Budget:
        """What the analyst has spent; or what was spent on the dataset, where no analyst is named."""
        account = self.account
        return next((share.spent for share in account.analysts if share.name == self.analyst), account.spent)

    @property
    def left(self) -> Budget | None:
        """What questions may still cost; None before a first charge fixes the session's budget."""
        return self._ledger.left(self.dataset.name, self.analyst) or self._budget

    @property
    def rooms(self) -> tuple[Room, ...]:
        """What is left under each way of adding up: of the dataset's budget, and of the analyst's share."""
        rooms = self._ledger.rooms(self.dataset.name, self.analyst)
        if rooms or self._budget is None:
            return rooms
        return (Room(self._budget, Budget.of(0, 0), filter_of(self._budget)),)

    # --- asking --------------------------------------------------------------------------------------------------

    def price(
        self,
        question: object,
        epsilon: Number | None = None,
        mechanism: str = "auto",
        prior: object = None,
        delta: Number = 0,
        *,
        share: Number | None = None,
        within: Number | None = None,
    ) -> Price:
        """Price and expected error before running: nothing is charged, no row is read.

        What the question may cost is said once: by `epsilon`, by the `share` of the budget ("1%"), or by how far off the
        answer may be in 95 of 100 cases (`within`).
        """
        prepared = self._prepare(PricedQuestion(_question(question), epsilon, mechanism, prior, delta, share, within))
        found = self._on_record(prepared)
        cost = None if found else prepared.offer.cost
        unanswered = () if found else self._unanswered([prepared])
        return Price((prepared.query.identity,), (found or prepared.offer,), cost, self.left, unanswered, self.rooms)

    def recorded_epsilon(
        self,
        question: object,
        epsilon: Number | None = None,
        mechanism: str = "auto",
        prior: object = None,
        delta: Number = 0,
        *,
        share: Number | None = None,
        within: Number | None = None,
    ) -> Fraction | None:
        """The largest epsilon at which the question was answered, less near; None where it is new or would be free.

        That answer is given again for nothing; asking for a better one costs its full price.
        """
        prepared = self._prepare(PricedQuestion(_question(question), epsilon, mechanism, prior, delta, share, within))
        if prepared.key is None or self._on_record(prepared) is not None:
            return None
        found = self._ledger.recorded_answers(self.dataset.name, prepared.key, self.dataset.identity)
        return max((each.epsilon for each in found), default=None)

    def ask(
        self,
        question: object,
        epsilon: Number | None = None,
        mechanism: str = "auto",
        prior: object = None,
        delta: Number = 0,
        *,
        share: Number | None = None,
        within: Number | None = None,
    ) -> Answer:
        """One answer, charged before it is drawn; free if one as near is on record.

        `mechanism` is laplace, optimal, gaussian (with a delta), refinement (with a prior) or auto: the one with the
        smallest expected error, by question, budget, epsilon and prior alone. In place of an `epsilon`, `share` says
        which part of the budget the answer is worth ("1%"), and `within` how far off it may be in 95 of 100 cases; `auto` then
        takes Gaussian noise, too, where the accounting of the budget is Gaussian.
        """
        prepared = self._prepare(PricedQuestion(_question(question), epsilon, mechanism, prior, delta, share, within))
        found = self._on_record(prepared)
        if found is not None:
            return found
        with self._alone([prepared]):
            return self._on_record(prepared) or self._answers([prepared], prepared.offer.cost)[0]

    def sql(self, text: str, *, level: float = LEVEL, **price: Unpack[PriceTerms]) -> Result:
        """The result of a question in SQL, such as SELECT region, AVG(income) FROM visits WHERE age >= 65 GROUP BY region.

        What SQL means a question, and what is refused, says `shoal.query.sql`. Several aggregates are answered as one workload.
        """
        from shoal.query.sql import read_sql

        found = read_sql(text)
        return self.result(self.ask(found.question, **self.terms(price)), level=level, names=found.names)

    def result(self, answer: Answer, *, level: float = LEVEL, names: Sequence[str] | None = None) -> Result:
        """An answer of this session as a result with intervals at a level; `names` are those of several aggregates."""
        from shoal.query.verbs import result_of, saved_words

        return result_of(self, answer, saved_words(answer.question), level, names)

    def batch_price(
        self, questions: Sequence[object], epsilon: Number | None = None, delta: Number | None = None
    ) -> Price:
        """What a batch would cost; nothing is charged, no row is read."""
        prepared = self._batch(questions, epsilon)
        found = [self._on_record(each) for each in prepared]
        missing = [each for each, old in zip(prepared, found, strict=True) if old is None]
        cost = self._cost(missing, delta) if missing else None
        offers = tuple(old or each.offer for each, old in zip(prepared, found, strict=True))
        identities = tuple(each.query.identity for each in prepared)
        return Price(identities, offers, cost, self.left, self._unanswered(missing), self.rooms)

    def batch(
        self, questions: Sequence[object], epsilon: Number | None = None, delta: Number | None = None
    ) -> list[Answer]:
        """Answers to questions that are fixed in advance, charged as one entry at their composed total.

        Each is a `PricedQuestion`, or a question asked at `epsilon`. A `delta` beyond what the questions need by themselves
        pays for a composed total that is below the sum. Those that are on record are free and count for nothing.
        """
        prepared = self._batch(questions, epsilon)
        missing = [each for each in prepared if self._on_record(each) is None]
        with self._alone(missing):
            found = [self._on_record(each) for each in prepared]
            missing = [each for each, old in zip(prepared, found, strict=True) if old is None]
            made = iter(self._answers(missing, self._cost(missing, delta)) if missing else ())
        return [old or next(made) for old in found]

    def charged(self, answers: Sequence[Answer]) -> Cost | None:
        """What was charged for answers that were given together; None where all of them were on record.

        It is less than the price was before, where somebody else asked one of the questions in the meantime.
        """
        numbers = {answer.charge for answer in answers if not answer.free}
        return self._ledger.charged(self.dataset.name, max(numbers)) if numbers else None

    def claim(self, answer: Answer) -> Claim:
        """The claim for one answer that this session gave, as it gave it."""
        from shoal.guarantee.differential import ApproxDP, PureDP

        if (answer.charge, answer.content()) not in self._given:
            raise UsageError(
                "nothing is claimed for an answer that this session did not give",
                came=f"an answer of charge {answer.charge}",
                fix="ask the question here: an answer that is on record is free",
            )
        guarantee = ApproxDP(answer.epsilon, answer.delta) if answer.delta else PureDP(answer.epsilon)
        status = Status.TUNED if self.dataset.is_tuned else Status.PROVED
        return make_claim(guarantee, self.dataset.unit, status, answer.theorems)

    def _answer(self, kind: str, options: dict[str, Any], level: float, price: PriceTerms) -> Result:
        from shoal.query.verbs import answer

        return answer(self, kind, options, level, price)

    def terms(self, price: PriceTerms) -> PriceTerms:
        """What a question may cost: what it says, or what the session was opened with."""
        known = {"epsilon", "delta", "share", "within"}
        return price if known & price.keys() else {**self._each, **price}

    def answers(self, *, level: float = LEVEL) -> list[Result]:
        """Every answer that is on record about this table, with its price and interval, the oldest first; nothing is charged."""
        from shoal.query.verbs import recorded

        found = []
        for each in self._ledger.answers(self.dataset.name, self.dataset.identity):
            content = self._ledger.content(each)
            if content is not None:
                found.append(Answer.from_content(content, each.charge))
        return recorded(self, found, level)

    def with_offer(self, question: Question, answer: Answer) -> Answer:
        """A recorded answer together with the mechanism that drew it, from which its intervals follow."""
        query = question.resolve(self.dataset.schema, self.dataset.unit)
        return replace(answer, offer=partial(recorded_offer, answer, query))

    # --- how it is done -----------------------------------------------------------------------------------------------

    def _prepare(self, ask: PricedQuestion) -> PreparedQuestion:
        """The question resolved under the policy; it is refused here where the question alone decides that."""
        query = ask.question.resolve(self.dataset.schema, self.dataset.unit)
        _refuse_unwritable(query.identity)
        prior = _resolve_prior(ask.prior, query)
        chosen = find_offer(query, ask, prior, self.rooms)
        if chosen.mechanism != "refinement" or prior is None:
            return PreparedQuestion(query, chosen, query.identity, prior, ask.within)
        key = None if prior.text is None else f"{query.identity} given {prior.text}"
        _refuse_unwritable(key or "")
        return PreparedQuestion(query, chosen, key, prior, ask.within)

    def _batch(self, questions: Sequence[object], epsilon: Number | None) -> list[PreparedQuestion]:
        from shoal.query.batch import number_errors

        if not questions:
            raise UsageError("a batch has no questions")
        prepared = []
        for place, each in enumerate(questions, 1):
            with number_errors(place):
                prepared.append(self._prepare(_priced_question(each, epsilon)))
        first: dict[str, int] = {}
        for place, each in enumerate(prepared, 1):
            if each.key is not None and first.setdefault(each.key, place) != place:
                raise UsageError(
                    "a question of the batch is listed twice",
                    came=f"question {first[each.key]}, and again as question {place}",
                    fix="ask it once; the answer is yours to use again",
                )
        return prepared

    def _cost(self, prepared: Sequence[PreparedQuestion], delta: Number | None) -> Cost:
        from shoal.query.batch import BatchPart, cost

        parts = [
            BatchPart(each.query, each.offer.guarantee, each.offer.curve, each.offer.cost.event) for each in prepared
        ]
        return cost(parts, self.dataset.unit, delta)

    def _on_record(self, prepared: PreparedQuestion) -> Answer | None:
        """The nearest answer that was given to this question about this table, if it is as near as the one asked for.

        Gaussian noise has a larger epsilon than Laplace noise that is as near, so epsilon alone does not tell.
        An answer that was recorded and is lost is refused: a second one would be charged and drawn in its place.
        """
        if prepared.key is None:
            return None
        found = self._ledger.recorded_answers(self.dataset.name, prepared.key, self.dataset.identity)
        near: list[Answer] = []
        for each in sorted(found, key=lambda one: (-one.epsilon, one.number)):
            content = self._ledger.content(each)
            if content is None:
                raise LedgerError(
                    f"the answer of event {each.number} of the ledger is lost, or is not the one that was recorded",
                    fix="restore the ledger from a backup; nothing was charged",
                )
            answer = Answer.from_content(content, each.charge)
            if (answer.question, answer.epsilon) != (prepared.query.identity, each.epsilon):
                raise LedgerError(
                    f"the answer of event {each.number} of the ledger is to another question",
                    fix="restore the ledger from a backup; nothing was charged",
                )
            drawn_by = partial(recorded_offer, answer, prepared.query, prepared.prior)
            if _is_as_near(answer, drawn_by, prepared):
                near.append(replace(answer, scope=answer.scope or prepared.offer.scope, offer=drawn_by))
        if not near:
            return None
        known = near[0] if len(near) == 1 else min(near, key=_expected_error)
        self._given.add((known.charge, known.content()))
        return known

    def _unanswered(self, prepared: Sequence[PreparedQuestion]) -> tuple[int, ...]:
        """The earlier charges of these questions to which no answer was recorded."""
        keys = [each.key for each in prepared if each.key is not None]
        found = {number for key in keys for number in self._ledger.unanswered_charges(self.dataset.name, key)}
        return tuple(sorted(found))

    @contextmanager
    def _alone(self, prepared: Sequence[PreparedQuestion]) -> Iterator[None]:
        """Nobody else asks these questions in the meantime: of two that ask at once, one pays and both get its answer.

        The table is opened first, so that nobody waits for that.
        """
        keys = [each.key for each in prepared if each.key is not None]
        if not keys:
            yield
            return
        self._table()
        with self._ledger.hold_questions(self.dataset.name, self.dataset.identity, keys):
            yield

    def _answers(self, prepared: Sequence[PreparedQuestion], cost: Cost) -> list[Answer]:
        table, contents = self._table()
        texts = [each.ledger_text for each in prepared]
        with _note_interrupts("if the ledger was charged, the charge stands (`shoal ledger show`)"):
            receipt = self._ledger.charge(
                self.dataset.name,
                cost,
                budget=self._budget,
                neighbours=self.dataset.unit.neighbours,
                plan=hashlib.sha256("\n".join(texts).encode()).hexdigest(),
                table=contents.whole,
                columns=contents.columns,
                unit=self.dataset.unit,
                questions=texts,
                session=self.analyst,
            )
        with _note_interrupts("the charge stands: an answer may have been drawn"), _hide_failures():
            made = []
            for each in prepared:
                with Source.secure() as source:
                    drawn = each.offer.draw(table, source)
                made.append(Answer.from_outcome(each.query.identity, each.offer, drawn, receipt.number))
            record = [
                (each.ledger_text, each.offer.cost, answer.content())
                for each, answer in zip(prepared, made, strict=True)
                if each.key is not None
            ]
            self._ledger.record_answers(self.dataset.name, receipt, record, table=self.dataset.identity)
        self._given.update((answer.charge, answer.content()) for answer in made)
        return made

    def _table(self) -> tuple[Table, Contents]:
        """The table as registered, with at most so many rows of each person as the policy says.

        Random bits are drawn on trial: what cannot be loaded is found here, and not when the question has been charged.
        """
        if self._opened is None:
            table, contents = self.dataset.open(self._engine, self._ledger)
            with Source.secure() as source:
                source.stream("trial").bytes(1)
                self._opened = datasets.bound_rows(table, self.dataset.unit, source), contents
        return self._opened


AS_NEAR = 1.1
"""Of the epsilon that is asked for or more, an answer on record is given whose expected error is larger by a tenth at most."""


def _is_as_near(answer: Answer, drawn_by: Callable[[], Offer], prepared: PreparedQuestion) -> bool:
    """Whether an answer on record is as near as what is asked for, by the question and both mechanisms alone."""
    if prepared.within is not None:
        return largest_error(drawn_by()) <= float(exact(prepared.within, "within"))
    asked = prepared.offer
    enough = answer.epsilon >= asked.cost.epsilon
    if not isinstance(asked, NoiseOffer) or (answer.mechanism == asked.mechanism and not answer.delta):
        return enough
    found = drawn_by()
    return isinstance(found, NoiseOffer) and found.score <= (AS_NEAR if enough else 1) * asked.score


def _expected_error(answer: Answer) -> float:
    """The expected error of an answer on record; that of priors and ranks falls with epsilon, and the first has the largest."""
    found = None if answer.offer is None else answer.offer()
    return found.score if isinstance(found, NoiseOffer) else 0.0


def _resolve_prior(given: object, query: Query) -> AnalystPrior | None:
    """The prior of a question. Most have none, and start sooner without the modules of priors."""
    if given is None:
        return None
    from shoal.query.prior import resolve_prior

    return resolve_prior(given, query)


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
    **each: Unpack[PriceTerms],
) -> Session:
    """Open a session on a registered dataset by its name, or on a policy with its table, which registers them.

    Arguments  dataset: the name of a registered dataset, or a Policy.
               data: with a Policy its table, a path or a frame.
               budget: epsilon, or (epsilon, delta). It is fixed once for the dataset; with an `analyst` it is that analyst's
               budget, which holds beside the dataset's.
               analyst: the name of the analyst who asks.
               sampled: where the table was drawn from a population by keeping each unit independently, the sampling rate.
               ledger: a path, a URL or a Ledger; a path must exist, unless `new_ledger` is true.
               engine: what reads the table.
               epsilon, delta, share, within, mechanism: what each question may cost that does not say it itself.
    Raises     UsageError where the dataset is not registered or data and policy do not go together; BudgetError where no budget
               is fixed or another one is; PolicyError where the policy has changed since it was registered; LedgerError where the
               ledger cannot be opened; DataError where the table does not agree with the policy.

    >>> import pyarrow as pa, shoal
    >>> age = "{role: quasi, type: integer, domain: [0, 99]}"
    >>> head = "{version: 1, dataset: clinic, unit: row, neighbours: add_remove"
    >>> policy = shoal.Policy.parse(head + ", attributes: {age: " + age + "}}")
    >>> with session(policy, pa.table({"age": [34, 70]}), budget=1, ledger="opened.sqlite", new_ledger=True) as asking:
    ...     asking.left.words()
    '(1, 0)'
    """
    from shoal.engine.base import open_engine

    wanted, engines = ceiling_of(budget), open_engine(engine, data=data)
    own = None if analyst is not None else wanted
    if isinstance(ledger, Ledger):
        found = _dataset(dataset, data, ledger, engines, sampled, own)
        return Session(found, ledger, engines, budget=wanted, analyst=analyst, each=each)
    book = open_ledger(ledger, new=new_ledger)
    try:
        found = _dataset(dataset, data, book, engines, sampled, own)
        return Session(found, book, engines, budget=wanted, analyst=analyst, owns_ledger=True, each=each)
    except BaseException:
        book.close()
        raise


def _dataset(
    dataset: str | Policy, data: object, ledger: Ledger, engine: Engine, sampled: Number | None, budget: Budget | None
) -> Dataset:
    """The dataset of this name; or a policy and a table, which are registered."""
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
    """Register a table, so that questions may be asked about it under the name of its policy.

    Every row is checked against the policy, and the ledger notes where both lie; no row is copied.

    Arguments  policy: a Policy, or the path of one.
               data: the table, a path or a frame.
               sampled: where the table was drawn from a population by keeping each unit independently, the sampling rate.
               ledger: a path, a URL or a Ledger; a path must exist, unless `new_ledger` is true.
               engine: what reads the table.
    Raises     PolicyError where the policy is not valid; DataError where a row does not agree with it; LedgerError where the
               ledger cannot be opened, or knows the table under another name.

    >>> import pyarrow as pa, shoal
    >>> age = "{role: quasi, type: integer, domain: [0, 99]}"
    >>> head = "{version: 1, dataset: clinic, unit: row, neighbours: add_remove"
    >>> policy = shoal.Policy.parse(head + ", attributes: {age: " + age + "}}")
    >>> register(policy, pa.table({"age": [34, 70]}), ledger="registered.sqlite", new_ledger=True).name
    'clinic'
    """
    from shoal.engine.base import open_engine

    meant = policy if isinstance(policy, Policy) else Policy.load(policy)
    datasets.refuse_treatments(meant)  # before a ledger is begun
    if isinstance(ledger, Ledger):
        return datasets.register(meant, data, ledger=ledger, engine=open_engine(engine, data=data), sampled=sampled)
    with open_ledger(ledger, new=new_ledger) as book:
        return datasets.register(meant, data, ledger=book, engine=open_engine(engine, data=data), sampled=sampled)


def ceiling_of(budget: Budget | Number | tuple[Number, Number] | None) -> Budget | None:
    """A budget from epsilon, or from epsilon and delta; a budget of zero is refused."""
    if budget is None or isinstance(budget, Budget):
        return budget
    found = Budget.of(*budget) if isinstance(budget, tuple) else Budget.of(budget, 0)
    if not found.epsilon:
        raise BudgetError("a budget of zero allows no question", came=found.words(), allowed="epsilon above 0")
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
        f"`shoal ledger budget {shlex.quote(account.dataset)} --analyst {shlex.quote(analyst)}`",
    )


def _question(given: object) -> Question:
    return given if isinstance(given, Question) else read_question(given)


def _priced_question(given: object, epsilon: Number | None) -> PricedQuestion:
    if isinstance(given, PricedQuestion):
        return given
    if epsilon is None:
        raise UsageError(
            "a question of the batch has no epsilon", fix="give one for all, or each its own by `PricedQuestion`"
        )
    return PricedQuestion(_question(given), epsilon)


def _refuse_unwritable(text: str) -> None:
    """Refuse half of a surrogate pair, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("a question contains a character that cannot be written", came=excerpt(text)) from None


@contextmanager
def _note_interrupts(words: str) -> Iterator[None]:
    """Say of an interrupt what is true of the charge at that moment."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as error:
        error.add_note(words)
        raise


@contextmanager
def _hide_failures() -> Iterator[None]:
    """Every failure after the charge gives the same error, which reveals nothing about rows."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, its words might tell about rows
        raise DataError(
            "the question could not be answered", fix="the charge stands: what failed may have been seen"
        ) from (error if os.environ.get("SHOAL_DEBUG") == "1" else None)
