"""Questions fixed in advance, charged together: at their composed total, and once where they ask about different people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from shoal.query.condition.disjoint import Crowd, Sides, Work, disjoint
from shoal.query.question_file import plain_values
from shoal.query.questions.base import Question
from shoal.query.questions.meaning import Asked
from shoal.query.questions.vector import question as question_of

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
