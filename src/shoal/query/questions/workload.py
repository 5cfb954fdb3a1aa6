"""Several questions as one vector, so that noise in many dimensions pays; and questions from plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any, ClassVar, Self

from shoal.data.schema import Schema
from shoal.errors import UsageError
from shoal.guarantee.unit import Unit
from shoal.policy.text.problem import excerpt, nearest
from shoal.query.questions.base import Added, Part, Question
from shoal.query.questions.moments import Count, Mean, Sum, Variance
from shoal.query.questions.person import ValueOf
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import MOST_CELLS, Contingency, Histogram, at_level

MOST_TOGETHER = 1000
"""Questions of one vector."""
MOST_COMPARED = 400
"""Comparisons that are held against each other, in conditions of one vector."""


@dataclass(frozen=True)
class Together(Question):
    """Questions that are answered at once: counts, sums, means, variances and tables, each once."""

    word: ClassVar[str] = "together"
    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        given: Any = self.questions
        if not isinstance(given, list | tuple) or not given:
            raise UsageError("together: a list of questions", came=excerpt(given))
        if len(given) > MOST_TOGETHER:
            raise UsageError("together: too many questions", came=len(given), allowed=str(MOST_TOGETHER))
        read = tuple(each if isinstance(each, Question) else question(each) for each in given)
        for each in read:
            if isinstance(each, Together | Quantile | ValueOf):
                raise UsageError(
                    f"together: '{each.word}' is no part of a vector",
                    allowed="count, sum, mean, variance, histogram, contingency",
                    fix="write one flat list" if isinstance(each, Together) else "ask it by itself",
                )
        object.__setattr__(self, "questions", read)

    def to_saved(self) -> dict[str, Any]:
        return {"kind": self.word, "questions": [each.to_saved() for each in self.questions]}

    @classmethod
    def from_options(cls, options: object) -> Self:
        return cls(tuple(options)) if isinstance(options, list | tuple) else super().from_options(options)

    def meant(self, schema: Schema) -> Self:
        return replace(self, questions=tuple(each.meant(schema) for each in self.questions))

    def plan(self, schema: Schema, unit: Unit) -> Added:
        parts: list[Part] = []
        known: set[str] = set()
        for each in self.questions:
            planned = each.plan(schema, unit)
            if planned.identity in known:
                raise UsageError("together: a question comes twice", came=excerpt(planned.identity), fix="ask it once")
            known.add(planned.identity)
            parts.extend(planned.parts if isinstance(planned, Added) else ())
        whole = Added(self.canonical(schema), unit, tuple(parts), apart=_apart(parts))
        if whole.components > MOST_CELLS:
            raise UsageError("together: too many cells", came=f"{whole.components:,}", allowed=f"{MOST_CELLS:,}")
        return whole


def _apart(parts: Sequence[Part]) -> bool:
    """Whether each row satisfies one condition at most, by the conditions alone."""
    few = len(parts) > 1 and sum(part.where.comparisons for part in parts) <= MOST_COMPARED
    return few and all(a.where.apart(b.where) for a, b in combinations(parts, 2))


KINDS: Mapping[str, type[Question]] = {
    kind.word: kind for kind in (Count, Sum, Mean, Variance, Quantile, Histogram, Contingency, ValueOf, Together)
}
"""Every question by its word."""
_OTHER_WORDS = {"table": "contingency"}


def question(given: object) -> Question:
    """A question from plain values: saved, as {kind: count, where: …}, or as a batch file has it.

    There the word comes first, its options below it or beside it: {mean: {attribute: age, where: …}}, {mean: age, where: …}.
    """
    if not isinstance(given, Mapping) or not given:
        raise UsageError(
            "a question is a mapping", came=excerpt(given), allowed='such as {count: {where: "age >= 65"}}'
        )
    if "kind" in given:
        return _kind(given["kind"]).from_options({key: value for key, value in given.items() if key != "kind"})
    (word, first), *rest = given.items()
    kind = _kind(word)
    if any(key in KINDS or key in _OTHER_WORDS for key, _ in rest):
        raise UsageError("one question has one word", came=excerpt(list(given)), allowed=", ".join(KINDS))
    options: Any = first
    if rest:
        options = {**(first if isinstance(first, Mapping) else {fields(kind)[0].name: first}), **dict(rest)}
    return kind.from_options(_levels(kind, options))


def _levels(kind: type[Question], options: Any) -> Any:
    """`age@2` and `sex,age@2` in place of longer forms."""
    if kind not in (Histogram, Contingency) or options is None:
        return options
    key = fields(kind)[0].name
    given = dict(options) if isinstance(options, Mapping) else {key: options}
    named = given.get(key)
    if kind is Histogram and isinstance(named, str):
        return {**given, **at_level(named)}
    if kind is Contingency:
        listed = named.split(",") if isinstance(named, str) else named
        if isinstance(listed, list | tuple):
            given[key] = [at_level(each) if isinstance(each, str) else each for each in listed]
    return given


def _kind(word: object) -> type[Question]:
    meant = _OTHER_WORDS.get(word, word) if isinstance(word, str) else word
    if not isinstance(meant, str) or meant not in KINDS:
        words = [*KINDS, *_OTHER_WORDS]
        raise UsageError(
            "no such question", came=excerpt(word), allowed=", ".join(words), fix=nearest(str(word), words)
        )
    return KINDS[meant]
