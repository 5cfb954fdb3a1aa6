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
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, ShoalError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import Number, exact, text_up
from shoal.guarantee.safe_k.curve import check_delta
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Cost
from shoal.policy.text.problem import RefusedPolicyError
from shoal.policy.text.reading import Tree, read_yaml
from shoal.query.condition.predicate import Atom, Predicate
from shoal.query.condition.sets import Names, Region, Span, Spans
from shoal.query.questions.base import Added, Asked, Question
from shoal.query.questions.workload import question as question_of

__all__ = ["MOST", "Ask", "BatchFile", "cost", "disjoint", "load"]

MOST = 10_000
"""Questions of one batch."""
_DIGITS = 6
_SAVED = Fraction(99, 100)
"""A composed total has to be below this part of the sum to be worth a delta."""
_OPTIONS = ("epsilon", "delta", "mechanism", "prior")
_KEYS = ("version", "epsilon", "delta", "mechanism", "questions")


@dataclass(frozen=True)
class Ask:
    """One question with its price and how it is to be answered."""

    question: Question
    epsilon: Number
    mechanism: str = "auto"
    prior: Any = None
    delta: Number = 0


@dataclass(frozen=True)
class BatchFile:
    """What a batch file asks for; `delta` is what the composition of all questions may use."""

    asks: tuple[Ask, ...]
    delta: Fraction | None = None


def load(path: str | Path, epsilon: Number | None = None) -> BatchFile:
    """Read a batch file; `epsilon` is for questions without their own where the file names none."""
    where = Path(path)
    tree = plain_values(where, "the batch")
    if not isinstance(tree, dict) or tree.get("version") != "1" or not isinstance(tree.get("questions"), list):
        raise UsageError("this is no batch of questions", came=where, allowed="`version: 1`, then a list `questions:`")
    strange = [key for key in tree if key not in _KEYS]
    if strange:
        raise UsageError("a batch has no such key", came=strange[0], allowed=", ".join(_KEYS))
    common = {"epsilon": tree.get("epsilon", epsilon), "mechanism": tree.get("mechanism", "auto")}
    asks = []
    for place, each in enumerate(tree["questions"], 1):
        with numbered(place):
            asks.append(_ask(each, common))
    total = tree.get("delta")
    return BatchFile(tuple(asks), None if total is None else check_delta(total))


def _ask(given: Any, common: Mapping[str, Any]) -> Ask:
    """`{mean: age, where: ..., epsilon: .2}`: the word first, its options beside it or below it."""
    if not isinstance(given, dict) or not given:
        raise UsageError("a question of a batch is a mapping", allowed='such as {count: "age >= 65", epsilon: 0.1}')
    options = {key: value for key, value in given.items() if key in _OPTIONS}
    rest = _numbers({key: value for key, value in given.items() if key not in _OPTIONS})
    if not rest:
        raise UsageError("a question of a batch asks nothing", came=", ".join(options))
    made = question_of(rest)
    epsilon = options.get("epsilon", common["epsilon"])
    if epsilon is None:
        raise UsageError(
            "a question of a batch has no epsilon", came=made.word, fix="give each its own, or one for all"
        )
    return Ask(
        made, epsilon, options.get("mechanism", common["mechanism"]), options.get("prior"), options.get("delta", 0)
    )


@contextmanager
def numbered(place: int) -> Iterator[None]:
    """Errors within say which question of a batch is meant; the first has number 1."""
    try:
        yield
    except ShoalError as error:
        error.wrong = f"question {place}: {error.wrong}"
        error.args = (str(error),)
        raise


def _numbers(value: Any) -> Any:
    """A level is a number; everything else stays the text that was typed."""
    if isinstance(value, dict):
        return {key: _level(each) if key == "level" else _numbers(each) for key, each in value.items()}
    return [_numbers(each) for each in value] if isinstance(value, list) else value


def _level(text: Any) -> Any:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else text


# --- what a batch costs --------------------------------------------------------------------------------------------


@dataclass
class _Group:
    """Questions of which one person can take part in one alone, and the dearest of them."""

    crowd: Crowd
    guarantee: DifferentialPrivacy
    rest: list[DifferentialPrivacy] = field(default_factory=list)


def cost(asked: Sequence[tuple[Asked, DifferentialPrivacy]], unit: Unit, delta: Number | None = None) -> Cost:
    """The price of questions that were fixed in advance, as one entry.

    Without a `delta` beyond what the questions need by themselves: the sum of all epsilons. With one: the composed
    privacy-loss distribution at that delta (theorem `pld-composition`), if it saves a hundredth or more. Questions about
    disjoint groups of people count as the largest of them (theorem `parallel-composition`).
    """
    if len(asked) > MOST:
        raise UsageError("a batch with too many questions", came=len(asked), allowed=f"{MOST:,}")
    counted = Counter(part for group in _groups(asked, unit) for part in _charged(group, unit))
    parts: list[tuple[Guarantee, int]] = list(counted.items())
    owned = [(part.own, n) for part, n in counted.items() if part.own is not None]
    basic = sum((own[0] * n for own, n in owned), Fraction(0))
    needed = sum((own[1] * n for own, n in owned), Fraction(0))
    total = needed if delta is None else check_delta(delta)
    if total < needed:
        raise ParameterError(
            "the batch's delta is less than its questions need", came=float(total), allowed=f"{float(needed):g} or more"
        )
    if total == needed:
        return Cost(basic, needed, tuple(parts))
    composed = exact(text_up(compose(parts).epsilon_at(total), _DIGITS))
    worth = composed <= basic * _SAVED
    return Cost(composed, total, tuple(parts)) if worth else Cost(basic, needed, tuple(parts))


def _charged(group: _Group, unit: Unit) -> list[DifferentialPrivacy]:
    """add_remove: the largest. replace_one: a person leaves one group and enters another, so the two largest."""
    return [group.guarantee] if unit.neighbours == "add_remove" else [group.guarantee, *group.rest[:1]]


def _groups(asked: Sequence[tuple[Asked, DifferentialPrivacy]], unit: Unit) -> list[_Group]:
    """Each question with the first group from all of whose members it is disjoint; the dearest questions come first.

    Dearest in exact fractions: two that look the same as floats are not, and the first of a group is its price.
    """
    groups: list[_Group] = []
    work = Work()
    for each, guarantee in sorted(asked, key=lambda pair: -_own(pair[1])):
        one = Sides.of(each)
        for group in groups if unit.max_rows == 1 and work.left else ():
            alike = type(group.guarantee) is type(guarantee) and _delta(group.guarantee) == _delta(guarantee)
            if alike and group.crowd.joined_by(one, work):
                group.rest.append(guarantee)
                break
        else:
            group = _Group(Crowd(), guarantee)
            group.crowd.joined_by(one, work)
            groups.append(group)
    return groups


def _own(guarantee: DifferentialPrivacy) -> Fraction:
    return guarantee.own[0] if guarantee.own is not None else Fraction(0)


def _delta(guarantee: DifferentialPrivacy) -> Fraction:
    return guarantee.own[1] if guarantee.own is not None else Fraction(0)


MOST_STEPS = 300_000
"""Steps of comparing in one batch. What is not compared any more counts as not disjoint: that is safe, and only dearer."""


@dataclass
class Work:
    """How much may still be compared."""

    left: int = MOST_STEPS

    def allows(self, steps: int) -> bool:
        """Whether so many steps are left; they are taken off. To have asked for too many is a step too."""
        enough = steps <= self.left
        self.left -= steps if enough else min(1, self.left)
        return enough


def disjoint(first: Asked, second: Asked) -> bool:
    """Whether the conditions alone prove that no row takes part in both questions."""
    return all(one.apart(other) for one in _conditions(first) for other in _conditions(second))


@dataclass(frozen=True)
class Sides:
    """What a question's condition says about single attributes: all its rows lie in each of these regions."""

    asked: Asked
    regions: Mapping[str, Region]
    size: int
    """Steps of its conditions: comparing two of them takes no more than the product of their sizes."""

    @classmethod
    def of(cls, asked: Asked) -> Sides:
        """Read off the condition."""
        conditions = _conditions(asked)
        regions = _sides(conditions[0]) if len(conditions) == 1 else {}
        return cls(asked, regions, sum(_size(condition) for condition in conditions))


@dataclass
class Crowd:
    """Questions of which no two share a row.

    `taken` holds, for attributes that the conditions of all of them restrict, the values that any of them allows: a
    question that allows none of these shares no row with any, and one look tells.
    """

    members: list[Sides] = field(default_factory=list)
    taken: dict[str, Taken] = field(default_factory=dict)

    def joined_by(self, one: Sides, work: Work) -> bool:
        """Take a question in, if it shares no row with those who are there, and if there is work left to find out."""
        if self.members and not self._apart(one, work):
            return False
        if not self.members:
            self.taken = {name: Taken() for name in one.regions}
        self.members.append(one)
        self.taken = {name: taken for name, taken in self.taken.items() if taken.add(one.regions.get(name))}
        return True

    def _apart(self, one: Sides, work: Work) -> bool:
        if not work.allows(one.size):
            return False
        if any(taken.misses(one.regions[name]) for name, taken in self.taken.items() if name in one.regions):
            return True
        return all(work.allows(one.size * other.size) and disjoint(one.asked, other.asked) for other in self.members)


class Taken:
    """Values of one attribute that some questions allow, no two of them the same."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._texts: set[str] = set()
        self._missing = False

    def misses(self, region: Region) -> bool:
        """Whether a region has none of them."""
        if region.missing and self._missing:
            return False
        if isinstance(region, Spans):
            return not any(self._meets(span) for span in region.spans)
        return isinstance(region, Names) and region.inside and self._texts.isdisjoint(region.texts)

    def _meets(self, span: Span) -> bool:
        at = bisect_left(self._spans, span)
        before, after = self._spans[at - 1 : at], self._spans[at : at + 1]
        return any(low <= span[1] and span[0] <= high for low, high in (*before, *after))

    def add(self, region: Region | None) -> bool:
        """Take the values of a region in; False if there is none, or if it cannot be kept in order with the others."""
        if isinstance(region, Spans):
            if any(self._meets(span) for span in region.spans):
                return False
            for span in region.spans:
                insort(self._spans, span)
        elif isinstance(region, Names) and region.inside:
            self._texts |= region.texts
        else:
            return False
        self._missing = self._missing or region.missing
        return True


def _conditions(asked: Asked) -> list[Predicate]:
    if isinstance(asked, Added):
        return [part.where for part in asked.parts]
    where = getattr(asked, "where", None)
    return [where if isinstance(where, Predicate) else Predicate.everything()]


def _sides(condition: Predicate) -> dict[str, Region]:
    """The regions of a condition that is one comparison, or of the comparisons that all have to hold."""
    root = condition.root
    if isinstance(root, Atom):
        return {root.name: root.region}
    atoms: Iterable[Atom] = (part for part in root.parts if isinstance(part, Atom)) if root.every else ()
    return {atom.name: atom.region for atom in atoms}


def _size(condition: Predicate) -> int:
    """How many spans and texts its comparisons list, each of which counts as one at least."""
    return max(1, sum(_length(atom.region) for atom in condition.atoms))


def _length(region: Region) -> int:
    listed = region.spans if isinstance(region, Spans) else region.texts if isinstance(region, Names) else ()
    return max(1, len(listed))


_EMPTY = "the policy is empty"


def plain_values(path: str | Path, what: str, allowed: str | None = None) -> Tree:
    """What a file holds; `what` names it in messages, since it is no policy."""
    where = Path(path)
    try:
        text = where.read_bytes().decode("utf-8-sig")
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
