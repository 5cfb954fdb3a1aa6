"""A workload: several questions answered as one vector, with noise in many dimensions; and questions from plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import combinations
from typing import Any, ClassVar, Self

from shoal.data.schema import Schema
from shoal.errors import UsageError
from shoal.guarantee.unit import Unit
from shoal.language.cells import parse_level
from shoal.policy.text.problem import excerpt, nearest
from shoal.query.questions.base import MOST_CELLS, LinearQuery, Question, VectorQuery
from shoal.query.questions.count import Count

TOGETHER = ("count", "sum", "mean", "variance", "ratio", "histogram", "contingency")
"""The words of questions that can be parts of a workload."""
MOST_TOGETHER = 1000
"""Questions of one vector."""
MOST_COMPARED = 400
"""Comparisons that are held against each other, in conditions of one vector."""


@dataclass(frozen=True)
class Workload(Question):
    """A workload: several questions answered at once as one vector, with noise in as many dimensions as there are numbers.

    In a batch file it is the word `together`, or `workload`. Where one person can change several of the answers, one
    vector has less noise than the questions one by one at the same total cost.

    Arguments  questions: a list of counts, sums, means, variances, ratios, histograms and contingency tables, as questions or
    as mappings;
               each once, up to 1,000.
    Raises     UsageError where the list is empty or too long, or contains a quantile, bounds, a question about one person or
               another workload; when it is priced or asked, UsageError where a question is listed twice.

    >>> [each.word for each in Workload([Count(), {"sum": "stay"}]).questions]
    ['count', 'sum']
    """

    word: ClassVar[str] = "together"
    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        given: Any = self.questions
        if not isinstance(given, list | tuple) or not given:
            raise UsageError("together: not a list of questions", came=excerpt(given))
        if len(given) > MOST_TOGETHER:
            raise UsageError("together: too many questions", came=len(given), allowed=str(MOST_TOGETHER))
        read = tuple(each if isinstance(each, Question) else read_question(each) for each in given)
        for each in read:
            if each.word not in TOGETHER:
                raise UsageError(
                    f"together: '{each.word}' cannot be part of a workload",
                    allowed=", ".join(TOGETHER),
                    fix="write one flat list" if isinstance(each, Workload) else "ask it by itself",
                )
        object.__setattr__(self, "questions", read)

    def to_saved(self) -> dict[str, Any]:
        return {"kind": self.word, "questions": [each.to_saved() for each in self.questions]}

    @classmethod
    def from_options(cls, options: object) -> Self:
        return cls(tuple(options)) if isinstance(options, list | tuple) else super().from_options(options)

    def normalize(self, schema: Schema) -> Self:
        return replace(self, questions=tuple(each.normalize(schema) for each in self.questions))

    def resolve(self, schema: Schema, unit: Unit) -> VectorQuery:
        parts: list[LinearQuery] = []
        known: set[str] = set()
        for each in self.questions:
            planned = each.resolve(schema, unit)
            if planned.identity in known:
                raise UsageError(
                    "together: a question is listed twice", came=excerpt(planned.identity), fix="ask it once"
                )
            known.add(planned.identity)
            parts.extend(planned.parts if isinstance(planned, VectorQuery) else ())
        whole = VectorQuery(self.canonical(schema), unit, tuple(parts), disjoint_parts=_have_disjoint_conditions(parts))
        if whole.components > MOST_CELLS:
            raise UsageError("together: too many cells", came=f"{whole.components:,}", allowed=f"{MOST_CELLS:,}")
        return whole


def _have_disjoint_conditions(parts: Sequence[LinearQuery]) -> bool:
    """Whether each row satisfies one condition at most, by the conditions alone."""
    few = len(parts) > 1 and sum(part.where.comparisons for part in parts) <= MOST_COMPARED
    return few and all(a.where.is_disjoint_from(b.where) for a, b in combinations(parts, 2))


WORDS = (
    "count", "sum", "mean", "variance", "ratio", "quantile", "bounds", "histogram", "contingency", "value_of", "together",
)  # fmt: skip
"""The word of every kind of question."""
_OTHER_WORDS = {"table": "contingency", "workload": "together"}


def read_question(given: object) -> Question:
    """A question from plain values: saved, as {kind: count, where: …}, or as a batch file has it.

    There the word comes first, its options below it or beside it: {mean: {attribute: age, where: …}}, {mean: age, where: …}.

    >>> read_question({"mean": "age", "where": "sex = 'female'"})
    Mean(attribute='age', where="sex = 'female'", step=None, by=None, bounds=None)
    """
    if not isinstance(given, Mapping) or not given:
        raise UsageError(
            "a question is not a mapping", came=excerpt(given), allowed='such as {count: {where: "age >= 65"}}'
        )
    if "kind" in given:
        return _kind(given["kind"]).from_saved({key: value for key, value in given.items() if key != "kind"})
    (word, first), *rest = given.items()
    kind = _kind(word)
    own = {each.name for each in fields(kind)}
    if any(key not in own and (key in WORDS or key in _OTHER_WORDS) for key, _ in rest):
        raise UsageError("a question with more than one word", came=excerpt(list(given)), allowed=", ".join(WORDS))
    options: Any = first
    if rest:
        options = {**(first if isinstance(first, Mapping) else {fields(kind)[0].name: first}), **dict(rest)}
    return kind.from_options(_levels(kind, options))


def _levels(kind: type[Question], options: Any) -> Any:
    """`age@2` and `sex,age@2` in place of longer forms."""
    if kind.word not in ("histogram", "contingency") or options is None:
        return options
    key = fields(kind)[0].name
    given = dict(options) if isinstance(options, Mapping) else {key: options}
    named = given.get(key)
    if kind.word == "histogram" and isinstance(named, str):
        return {**given, **parse_level(named)}
    if kind.word == "contingency":
        listed = named.split(",") if isinstance(named, str) else named
        if isinstance(listed, list | tuple):
            given[key] = [parse_level(each) if isinstance(each, str) else each for each in listed]
    return given


def _kind(word: object) -> type[Question]:
    meant = _OTHER_WORDS.get(word, word) if isinstance(word, str) else word
    if not isinstance(meant, str) or meant not in WORDS:
        words = [*WORDS, *_OTHER_WORDS]
        raise UsageError(
            "unknown question", came=excerpt(word), allowed=", ".join(words), fix=nearest(str(word), words)
        )
    return Count if meant == Count.word else _other_kinds()[meant]


@cache
def _other_kinds() -> Mapping[str, type[Question]]:
    """Every kind but counts, by its word; a process that only counts loads none of them."""
    from shoal.query.questions.moments import Mean, Ratio, Sum, Variance
    from shoal.query.questions.person import ValueOf
    from shoal.query.questions.quantile import Bounds, Quantile
    from shoal.query.questions.tables import Contingency, Histogram

    kinds = (Sum, Mean, Variance, Ratio, Quantile, Bounds, Histogram, Contingency, ValueOf, Workload)
    return {kind.word: kind for kind in kinds}
