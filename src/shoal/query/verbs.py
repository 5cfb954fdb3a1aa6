"""Questions of the common language to a session: each verb is one question, charged once, with one result for all its groups."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.data.schema import Schema
from shoal.errors import UsageError
from shoal.language.condition.plain import Where, condition_text
from shoal.language.condition.predicate import Predicate
from shoal.language.interface import PriceTerms, question_words
from shoal.language.result import Result, ResultRow
from shoal.query.answer import Answer
from shoal.query.price import NO_USABLE_ANSWER
from shoal.query.questions.base import CellEstimate, Question
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Ratio, Sum, Variance
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.workload import read_question

if TYPE_CHECKING:
    from shoal.query.session import Session

METHODS = {
    "laplace": "discrete Laplace noise; bounds of the exact noise; pointwise",
    "gaussian": "discrete Gaussian noise; bounds of the exact noise; pointwise",
    "optimal": "staircase noise; bounds of the exact noise; pointwise",
    "exponential": "the exponential mechanism, for the value and for both ends of its interval; pointwise",
    "refinement": "a draw from the prior, refined near the truth; nothing limits how far it is off",
}
"""How an answer of each mechanism and its interval are made."""
_COMPARES = ("=", "<", ">", " in ", " in(", " is ", " between ")


def answer(session: Session, kind: str, options: Mapping[str, Any], level: float, price: PriceTerms) -> Result:
    """The result of a question; it is charged, unless it was answered before at this price or more."""
    schema = session.dataset.schema
    words = {name: _in_words(name, given, schema) for name, given in options.items()}
    found = session.ask(make_question(kind, options, schema), **session.terms(price))
    return result_of(session, found, question_words(kind, words), level)


def _in_words(name: str, given: Any, schema: Schema) -> Any:
    if name == "where" or (isinstance(given, Mapping | list) and name in ("numerator", "denominator")):
        return condition_text(given, schema)
    return given


def make_question(kind: str, options: Mapping[str, Any], schema: Schema) -> Question:
    """The question that a verb asks; UsageError for what the policy does not allow."""
    asked = {name: given for name, given in options.items() if given is not None}
    where = condition_text(asked.pop("where", None), schema)
    rest: dict[str, Any] = {**asked, "where": where}
    if kind == "ratio":
        above, below = rest.pop("numerator"), rest.pop("denominator", None)
        return Ratio(_side(above, schema), Count() if below is None else _side(below, schema), **rest)
    kinds: dict[str, type[Question]] = {
        "count": Count, "sum": Sum, "mean": Mean, "variance": Variance, "quantile": Quantile
    }  # fmt: skip
    return kinds[kind](**rest)


def _side(given: Where, schema: Schema) -> Sum | Count:
    """One side of a ratio: a condition, whose rows are counted, or a column or arithmetic, whose values are added up."""
    if not isinstance(given, str):
        return Count(condition_text(given, schema))
    if given in schema.by_name:
        return Sum(given)
    try:
        return Count(Predicate.parse(given, schema).canonical())
    except UsageError:
        if any(sign in given for sign in _COMPARES):
            raise
        return Sum(given)


def result_of(
    session: Session, found: Answer, question: str, level: float, names: Sequence[str] | None = None
) -> Result:
    """The result that an answer gives at a level; for an answer to several questions, that of them all, under their `names`."""
    return Result(
        question,
        *_rows(found.estimates(level), found, names),
        level,
        METHODS.get(found.mechanism, found.mechanism),
        f"entry {found.charge} of the ledger",
        found.scope,
        found.epsilon,
        found.delta,
        found.free,
        session.frames,
    )


def _rows(
    estimates: Sequence[CellEstimate], found: Answer, called: Sequence[str] | None = None
) -> tuple[tuple[str, ...], tuple[ResultRow, ...]]:
    """The names of the groups, and a row for each of them; several statistics of one answer are told apart by a first label."""
    several = len({(each.part, each.statistic) for each in estimates}) > 1
    names = tuple(name for name, _ in estimates[0].labels)
    note = None if len(estimates) > 1 else found.note
    rows = tuple(
        ResultRow(
            ((_name(each, called),) if several else ()) + tuple(label for _, label in each.labels),
            each.value if each.usable else None,
            each.low,
            each.high,
            note if each.usable else NO_USABLE_ANSWER,
        )
        for each in estimates
    )
    return (("answer", *names) if several else names), rows


def _name(each: CellEstimate, called: Sequence[str] | None) -> str:
    """The name of one of several numbers of an answer: as it was called, or by its place."""
    return called[each.part] if called is not None else f"{each.part + 1}. {each.statistic}"


def recorded(session: Session, contents: Iterable[Answer], level: float) -> list[Result]:
    """The results of answers that are on record; nothing is charged."""
    return [_recorded(session, each, level) for each in contents]


def _recorded(session: Session, found: Answer, level: float) -> Result:
    saved, words = json.loads(found.question), saved_words(found.question)
    if found.mechanism == "refinement":
        row = ResultRow((), found.value, None, None, found.note)
        source, method = f"entry {found.charge} of the ledger", METHODS["refinement"]
        return Result(words, (), (row,), level, method, source, found.scope, found.epsilon, found.delta)
    return result_of(session, session.with_offer(read_question(saved), found), words, level)


def saved_words(question: str) -> str:
    """A question as the ledger keeps it, in words."""
    return _saved_words(json.loads(question))


def _saved_words(saved: Mapping[str, Any]) -> str:
    """A recorded question in words: its kind, its columns, its condition, its groups."""
    kind = saved["kind"]
    if kind == "together":
        return "; ".join(_saved_words(each) for each in saved["questions"])
    sides = [_saved_words(saved[name]) for name in ("numerator", "denominator") if isinstance(saved.get(name), Mapping)]
    cells = saved.get("attributes") or saved.get("by") or ()
    named = [each["attribute"] + (f"@{each['level']}" if each.get("level") is not None else "") for each in cells]
    return " ".join(
        part
        for part in (
            kind,
            " to ".join(sides) or (f"of {saved['attribute']}" if "attribute" in saved else ""),
            f"at {saved['q']}" if "q" in saved else "",
            f"where {saved['where']}" if saved.get("where") is not None else "",
            f"by {' and '.join(named)}" if named else "",
        )
        if part
    )
