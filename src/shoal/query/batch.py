"""A batch: questions fixed in advance and charged together, at their composed total.

Questions about disjoint groups of people, by their conditions alone, cost as much as the dearest of them. Also here: reading
a batch file, YAML in which every value is the text that was typed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

from shoal.data.plain_file import LARGEST_YAML, read_plain_file
from shoal.errors import ParameterError, ShoalError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.noise import MOST_CHOICES, ConcentratedDP, NoisyTablesDP
from shoal.guarantee.rounding import Number, exact, text_near, text_up
from shoal.guarantee.safe_k.curve import check_delta
from shoal.guarantee.unit import Unit
from shoal.language.condition.predicate import Atom, Predicate
from shoal.language.condition.sets import RankSet, Span, TextSet, ValueSet
from shoal.ledger.event import Cost
from shoal.ledger.filter import EventCost, sum_events
from shoal.policy.text.problem import RefusedPolicyError, excerpt
from shoal.policy.text.reading import Tree, read_yaml
from shoal.query.questions.base import Query, VectorQuery
from shoal.query.questions.workload import read_question
from shoal.query.spend import PricedQuestion

__all__ = ["MOST", "BatchFile", "are_disjoint", "cost", "load"]

MOST = 10_000
"""Questions of one batch."""
_DIGITS = 6
_SAVED = Fraction(99, 100)
"""A composed total has to be below this part of the sum to be worth a delta."""
_OPTIONS = ("epsilon", "delta", "mechanism", "prior", "share", "within")
_KEYS = ("version", "epsilon", "delta", "mechanism", "questions")


@dataclass(frozen=True)
class BatchFile:
    """The questions of a batch file; `delta` is what the composition of all of them may use."""

    questions: tuple[PricedQuestion, ...]
    delta: Fraction | None = None


def load(path: str | Path, epsilon: Number | None = None) -> BatchFile:
    """Read a batch file; `epsilon` is for questions without their own where the file names none."""
    where = Path(path)
    tree = plain_values(where, "the batch")
    if not isinstance(tree, dict) or tree.get("version") != "1" or not isinstance(tree.get("questions"), list):
        raise UsageError(
            "a file that is not a batch of questions", came=where, allowed="`version: 1`, then a list `questions:`"
        )
    strange = [key for key in tree if key not in _KEYS]
    if strange:
        raise UsageError("an unknown key in a batch", came=excerpt(strange[0]), allowed=", ".join(_KEYS))
    common = {"epsilon": tree.get("epsilon", epsilon), "mechanism": tree.get("mechanism", "auto")}
    questions = []
    for place, each in enumerate(tree["questions"], 1):
        with number_errors(place):
            questions.append(_priced_question(each, common))
    total = tree.get("delta")
    return BatchFile(tuple(questions), None if total is None else check_delta(total))


def _priced_question(given: Any, common: Mapping[str, Any]) -> PricedQuestion:
    """`{mean: age, where: ..., epsilon: .2}`: the word first, its options beside it or below it."""
    if not isinstance(given, dict) or not given:
        raise UsageError("a question of a batch is not a mapping", allowed='such as {count: "age >= 65", epsilon: 0.1}')
    options = {key: value for key, value in given.items() if key in _OPTIONS}
    rest = _numbers({key: value for key, value in given.items() if key not in _OPTIONS})
    if not rest:
        raise UsageError("a question of a batch has options but no question", came=", ".join(options))
    made = read_question(rest)
    worth = [options.get(name) for name in ("share", "within")]
    epsilon = options.get("epsilon", common["epsilon"] if worth == [None, None] else None)
    if epsilon is None and worth == [None, None]:
        raise UsageError(
            "a question of a batch has no epsilon", came=made.word, fix="give each its own, or one for all"
        )
    how = options.get("mechanism", common["mechanism"]), options.get("prior"), options.get("delta", 0)
    return PricedQuestion(made, epsilon, *how, *worth)


@contextmanager
def number_errors(place: int) -> Iterator[None]:
    """Errors raised inside name the number of the question in the batch; the first has number 1."""
    try:
        yield
    except ShoalError as error:
        error.wrong = f"question {place}: {error.wrong}"
        error.args = (str(error),)
        raise


def _numbers(value: Any) -> Any:
    """The options with levels and bins as numbers; everything else stays the text that was typed."""
    if isinstance(value, dict):
        return {key: _level(each) if key in ("level", "bins") else _numbers(each) for key, each in value.items()}
    return [_numbers(each) for each in value] if isinstance(value, list) else value


def _level(text: Any) -> Any:
    return int(text) if isinstance(text, str) and len(text) <= 9 and text.isascii() and text.isdigit() else text


# --- what a batch costs --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchPart:
    """One question of a batch as its cost depends on it: what it asks, its guarantee, its curve, its cost in a filter."""

    query: Query
    guarantee: DifferentialPrivacy
    curve: DifferentialPrivacy
    event: EventCost

    @classmethod
    def of(cls, offered: Offered) -> BatchPart:
        """The part of an offer, or of a query with the guarantee of its answer."""
        if isinstance(offered, tuple):
            query, guarantee = offered
            return cls(query, guarantee, guarantee, EventCost.pair(*(guarantee.own or (Fraction(0), Fraction(1)))))
        return offered


Offered = BatchPart | tuple[Query, DifferentialPrivacy]


@dataclass
class _Group:
    """Questions of which each person can take part in one alone, with the largest guarantee among them."""

    members: DisjointGroup
    parts: list[BatchPart]

    @property
    def guarantee(self) -> DifferentialPrivacy:
        return self.parts[0].guarantee

    @property
    def curve(self) -> DifferentialPrivacy:
        """A curve that none of the parts exceeds; the first part's pair where their curves cannot be compared."""
        curves = {part.curve for part in self.parts}
        if len(curves) == 1:
            return self.parts[0].curve
        if all(isinstance(curve, NoisyTablesDP) for curve in curves):
            choices = {choice for curve in curves if isinstance(curve, NoisyTablesDP) for choice in curve.choices}
            return NoisyTablesDP(choices) if len(choices) <= MOST_CHOICES else self.guarantee
        if all(isinstance(curve, ConcentratedDP) for curve in curves):
            return ConcentratedDP(max(curve.rho for curve in curves if isinstance(curve, ConcentratedDP)))
        return self.guarantee


def cost(queries: Sequence[Offered], unit: Unit, delta: Number | None = None) -> Cost:
    """The cost of questions that were fixed in advance, as one charge.

    Without a `delta` beyond what the questions need by themselves: the sum of all epsilons, or where there is Gaussian noise
    what its curves compose to. With one: the composed privacy-loss distribution at that delta (theorem `pld-composition`), if
    it saves a hundredth or more. Questions about disjoint groups of people count as the largest of them (theorem
    `parallel-composition`).
    """
    if len(queries) > MOST:
        raise UsageError("a batch with too many questions", came=len(queries), allowed=f"{MOST:,}")
    groups = _groups([BatchPart.of(each) for each in queries], unit)
    counted = Counter(part for group in groups for part in _charged_guarantees(group, unit))
    curves = Counter(curve for group in groups for curve in [group.curve] * len(_charged_guarantees(group, unit)))
    event = sum_events([_event(group, unit) for group in groups])
    parts: list[tuple[Guarantee, int]] = list(counted.items())
    owned = [(part.own, n) for part, n in counted.items() if part.own is not None]
    basic = sum((own[0] * n for own, n in owned), Fraction(0))
    needed = sum((own[1] * n for own, n in owned), Fraction(0))
    total = needed if delta is None else check_delta(delta)
    if total < needed:
        raise ParameterError(
            "the batch's delta is less than its questions need",
            came=text_near(total),
            allowed=f"{text_near(needed)} or more",
        )
    added = Cost(basic, needed, tuple(parts), event.charged_as(basic, needed))
    if total == needed and curves == counted:
        return added
    composed = exact(text_up(compose(curves.items()).epsilon_at(total), _DIGITS))
    if composed > basic * _SAVED:
        return added
    return Cost(composed, total, tuple(curves.items()), event.charged_as(composed, total))


def _event(group: _Group, unit: Unit) -> EventCost:
    """What a group costs in a privacy filter: each number is the largest of its parts; twice that where a person is replaced."""
    largest = reduce(EventCost.largest, (part.event for part in group.parts))
    return largest if len(_charged_guarantees(group, unit)) == 1 else largest + largest


def _charged_guarantees(group: _Group, unit: Unit) -> list[DifferentialPrivacy]:
    """The guarantees of a group that are charged: the largest; under replace_one the two largest.

    A person who is replaced leaves the rows of one query and enters those of another.
    """
    most = 1 if unit.neighbours == "add_remove" else 2
    return [part.guarantee for part in group.parts[:most]]


def _groups(queries: Sequence[BatchPart], unit: Unit) -> list[_Group]:
    """Each query in the first group from all of whose members it is disjoint; queries with the largest epsilon come first.

    They are sorted by exact fractions, because two that are equal as floats may differ, and the first of a group is its cost.
    """
    groups: list[_Group] = []
    work = WorkLimit()
    for each in sorted(queries, key=lambda part: -_own(part.guarantee)):
        one = ConditionRanges.of(each.query)
        for group in groups if unit.max_rows == 1 and work.left else ():
            alike = type(group.guarantee) is type(each.guarantee) and _delta(group.guarantee) == _delta(each.guarantee)
            if alike and group.members.admit(one, work):
                group.parts.append(each)
                break
        else:
            group = _Group(DisjointGroup(), [each])
            group.members.admit(one, work)
            groups.append(group)
    return groups


def _own(guarantee: DifferentialPrivacy) -> Fraction:
    return guarantee.own[0] if guarantee.own is not None else Fraction(0)


def _delta(guarantee: DifferentialPrivacy) -> Fraction:
    return guarantee.own[1] if guarantee.own is not None else Fraction(0)


MOST_STEPS = 300_000
"""Steps of comparing in one batch. Conditions that are not compared count as not disjoint, which is safe and costs more."""


@dataclass
class WorkLimit:
    """A bound on the work of comparing conditions."""

    left: int = MOST_STEPS

    def allows(self, steps: int) -> bool:
        """Whether so many steps are left, which are then taken off; a refusal takes off one step, too."""
        enough = steps <= self.left
        self.left -= steps if enough else min(1, self.left)
        return enough


def are_disjoint(first: Query, second: Query) -> bool:
    """Whether the conditions alone prove that no row takes part in both queries."""
    return all(one.is_disjoint_from(other) for one in _conditions(first) for other in _conditions(second))


@dataclass(frozen=True)
class ConditionRanges:
    """What the condition of a query says about single attributes: all its rows lie in each of these sets."""

    query: Query
    declared_values: Mapping[str, ValueSet]
    size: int
    """The size of its conditions: comparing two queries takes no more steps than the product of their sizes."""

    @classmethod
    def of(cls, query: Query) -> ConditionRanges:
        """The sets that follow from the conditions of a query."""
        conditions = _conditions(query)
        declared_values = _restrictions(conditions[0]) if len(conditions) == 1 else {}
        return cls(query, declared_values, sum(_size(condition) for condition in conditions))


@dataclass
class DisjointGroup:
    """Queries of which no two share a row.

    `covered` has, for attributes that the conditions of all of them restrict, the values that any of them allows: a
    query that allows none of these shares no row with any of them.
    """

    members: list[ConditionRanges] = field(default_factory=list)
    covered: dict[str, CoveredValues] = field(default_factory=dict)

    def admit(self, one: ConditionRanges, work: WorkLimit) -> bool:
        """Add a query, if it shares no row with the members, and if enough work is left to find that out."""
        if self.members and not self._is_disjoint(one, work):
            return False
        if not self.members:
            self.covered = {name: CoveredValues() for name in one.declared_values}
        self.members.append(one)
        self.covered = {
            name: values for name, values in self.covered.items() if values.add(one.declared_values.get(name))
        }
        return True

    def _is_disjoint(self, one: ConditionRanges, work: WorkLimit) -> bool:
        if not work.allows(one.size):
            return False
        if any(
            values.misses(one.declared_values[name])
            for name, values in self.covered.items()
            if name in one.declared_values
        ):
            return True
        return all(
            work.allows(one.size * other.size) and are_disjoint(one.query, other.query) for other in self.members
        )


class CoveredValues:
    """The values of one attribute that the members of a group allow, no two of them the same."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._texts: set[str] = set()
        self._missing = False

    def misses(self, value_set: ValueSet) -> bool:
        """Whether a set has none of the covered values."""
        if value_set.missing and self._missing:
            return False
        if isinstance(value_set, RankSet):
            return not any(self._meets(span) for span in value_set.spans)
        return isinstance(value_set, TextSet) and value_set.inside and self._texts.isdisjoint(value_set.texts)

    def _meets(self, span: Span) -> bool:
        at = bisect_left(self._spans, span)
        before, after = self._spans[at - 1 : at], self._spans[at : at + 1]
        return any(low <= span[1] and span[0] <= high for low, high in (*before, *after))

    def add(self, value_set: ValueSet | None) -> bool:
        """Add the values of a set; False if there is none, or if it cannot be kept in order with the others."""
        if isinstance(value_set, RankSet):
            if any(self._meets(span) for span in value_set.spans):
                return False
            for span in value_set.spans:
                insort(self._spans, span)
        elif isinstance(value_set, TextSet) and value_set.inside:
            self._texts |= value_set.texts
        else:
            return False
        self._missing = self._missing or value_set.missing
        return True


def _conditions(query: Query) -> list[Predicate]:
    if isinstance(query, VectorQuery):
        return [part.where for part in query.parts]
    where = getattr(query, "where", None)
    return [where if isinstance(where, Predicate) else Predicate.everything()]


def _restrictions(condition: Predicate) -> dict[str, ValueSet]:
    """The value sets of a condition that is one comparison, or of the comparisons that all have to hold."""
    root = condition.root
    if isinstance(root, Atom):
        return {root.name: root.value_set}
    atoms: Iterable[Atom] = (part for part in root.parts if isinstance(part, Atom)) if root.every else ()
    return {atom.name: atom.value_set for atom in atoms}


def _size(condition: Predicate) -> int:
    """How many spans and texts its comparisons list, each of which counts as one at least."""
    return max(1, sum(_length(atom.value_set) for atom in condition.atoms))


def _length(value_set: ValueSet) -> int:
    listed = (
        value_set.spans if isinstance(value_set, RankSet) else value_set.texts if isinstance(value_set, TextSet) else ()
    )
    return max(1, len(listed))


_EMPTY = "the policy is empty"


def plain_values(path: str | Path, what: str, allowed: str | None = None) -> Tree:
    """The plain values of a YAML file; `what` names the file in error messages."""
    where = Path(path)
    try:
        text = read_plain_file(where, LARGEST_YAML, UsageError).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8 text", came=where, fix="save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        raise UsageError(f"{what} cannot be read", came=f"{where} ({reason})", allowed=allowed) from None
    try:
        return read_yaml(text, str(where)).tree
    except RefusedPolicyError as error:
        first = error.problems[0]
        if first.wrong == _EMPTY:
            raise UsageError(f"{what} is empty", came=where, allowed=allowed) from None
        wrong = first.wrong.replace("a policy", "one")
        raise UsageError(
            f"{what}: {first.location(str(where))}: {wrong}", came=first.came, allowed=first.allowed, fix=first.fix
        ) from None
