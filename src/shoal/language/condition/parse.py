"""The syntax of conditions: tokens, and the expression that they form; nothing here knows which attributes there are.

condition   :=  conjunction, or conjunction, …
conjunction :=  factor, and factor, …
factor      :=  not factor | ( condition ) | everything | comparison
comparison  :=  column = != < <= > >= value | column [not] in (value, …) | column [not] between value and value
             |  column is [not] missing
column      :=  name | name@level, whose values are the labels of that level of the attribute's hierarchy
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from shoal.errors import UsageError
from shoal.policy.text.problem import excerpt

MOST_LETTERS = 1 << 16
"""A condition with more letters is refused unread."""
LONGEST_NUMBER = 60
"""Letters of one number: enough for every double, too few to stop the machine."""
KEYWORDS = frozenset({"and", "or", "not", "in", "between", "is", "missing", "true", "false", "everything"})


class TokenKind(Enum):
    """The kinds of tokens."""

    NAME = "an attribute"
    KEYWORD = "a word of the language"
    OPERATOR = "an operator"
    NUMBER = "a number"
    TIME = "a date or time"
    LEVEL = "a level"
    TEXT = "a text"
    TRUTH = "true or false"
    END = "the end"


@dataclass(frozen=True)
class Token:
    """One token, with the position of its first letter, counted from one."""

    kind: TokenKind
    text: str
    place: int


_PATTERN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?(?![\w.:-]))
    | (?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![\w.-]))
    | @(?P<level>[0-9]{1,3})(?![\w.])
    | (?P<operator><=|>=|!=|<>|==|=|<|>|\(|\)|,)
    | (?P<name>[^\W\d][\w.-]*)
    | '(?P<text>(?:[^']|'')*)'
    | "(?P<double>(?:[^"]|"")+)"
    | `(?P<backtick>(?:[^`]|``)+)`
    """,
    re.VERBOSE,
)
_BARE = re.compile(r"[^\W\d][\w.-]*")
_QUOTES = {"'": "a text", '"': "a name", "`": "a name"}
_SAME = {"==": "=", "<>": "!="}


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a condition in order, then the end; UsageError at the first letter that begins no token."""
    if len(text) > MOST_LETTERS:
        raise UsageError("a condition too long to read", came=f"{len(text):,} letters", allowed=f"{MOST_LETTERS:,}")
    place = 0
    while place < len(text):
        found = _PATTERN.match(text, place)
        if found is None:
            raise _unreadable(text, place)
        if found.lastgroup != "space":
            yield _token(found)
        place = found.end()
    yield Token(TokenKind.END, "", len(text) + 1)


def _token(found: re.Match[str]) -> Token:
    place, group = found.start() + 1, found.lastgroup or ""
    body = found[group]
    if group == "number":
        if len(body) > LONGEST_NUMBER:
            raise UsageError(f"a number with too many digits, at letter {place}", came=excerpt(body))
        return Token(TokenKind.NUMBER, body, place)
    if group == "level":
        return Token(TokenKind.LEVEL, body, place)
    if group == "time":
        return Token(TokenKind.TIME, body, place)
    if group == "operator":
        return Token(TokenKind.OPERATOR, _SAME.get(body, body), place)
    if group == "text":
        return Token(TokenKind.TEXT, body.replace("''", "'"), place)
    if group == "name":
        small = body.lower()
        if small in KEYWORDS:
            return Token(TokenKind.TRUTH if small in ("true", "false") else TokenKind.KEYWORD, small, place)
        return Token(TokenKind.NAME, body, place)
    quote = found[0][0]
    return Token(TokenKind.NAME, body.replace(quote * 2, quote), place)


def _unreadable(text: str, place: int) -> UsageError:
    letter = text[place]
    if letter in _QUOTES:
        return UsageError(
            f"{_QUOTES[letter]} is empty or not closed, at letter {place + 1}", came=excerpt(text[place:])
        )
    return UsageError(
        f"a condition cannot be read at letter {place + 1}",
        came=excerpt(text[place:]),
        allowed="names, name@level, numbers, dates, 'texts', = != < <= > >=, and, or, not, in (…), between … and …, is missing",
    )


def quoted_name(name: str) -> str:
    """A name as a condition writes it: bare where that is unambiguous, else in backticks."""
    if _BARE.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    """A text as a condition writes it."""
    return "'" + text.replace("'", "''") + "'"


DEEPEST = 50
"""Parentheses and `not`s inside each other."""
MOST_COMPARISONS = 2000
"""Comparisons of one condition, so that answering it takes a time known beforehand."""

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "in", "between", "missing"]
_OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")
_VALUES = (TokenKind.NUMBER, TokenKind.TIME, TokenKind.TEXT, TokenKind.TRUTH)


@dataclass(frozen=True)
class Comparison:
    """One attribute against values as they were typed; `negated` for `not in`, `not between` and `is not missing`.

    With a `level` the values are labels of that level of the attribute's hierarchy.
    """

    name: str
    operator: Operator
    values: tuple[Token, ...]
    negated: bool = False
    level: int | None = None


@dataclass(frozen=True)
class Negation:
    """The rows that do not satisfy the part."""

    part: Expression


@dataclass(frozen=True)
class Connective:
    """A conjunction (`every`) or a disjunction of parts; a conjunction of no parts is true for every row."""

    every: bool
    parts: tuple[Expression, ...]


Expression = Comparison | Negation | Connective


def parse_expression(text: str) -> Expression:
    """The expression that a condition forms; UsageError where it cannot be read.

    >>> parse_expression("not age in (17, 18)").part.operator
    'in'
    """
    return _Reader(text).whole()


class _Reader:
    """A recursive-descent parser that looks one token ahead."""

    def __init__(self, text: str) -> None:
        self._words = tokens(text)
        self._next = next(self._words)
        self._compared = 0

    def whole(self) -> Expression:
        if self._at(TokenKind.END):
            raise UsageError("an empty condition", fix="write a comparison such as age >= 65, or everything")
        found = self._condition(0)
        if not self._at(TokenKind.END):
            raise self._unexpected_token("and, or, or the end")
        return found

    def _condition(self, depth: int) -> Expression:
        return self._connect("or", lambda: self._connect("and", lambda: self._factor(depth)))

    def _connect(self, word: str, part: Callable[[], Expression]) -> Expression:
        parts = [part()]
        while self._accept(TokenKind.KEYWORD, word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Connective(word == "and", tuple(parts))

    def _factor(self, depth: int) -> Expression:
        if depth > DEEPEST:
            raise UsageError(
                "a condition nested too deep",
                came=f"more than {DEEPEST} levels of parentheses and not",
                allowed=f"{DEEPEST} levels",
                fix="write it flatter, or ask several questions",
            )
        if self._accept(TokenKind.KEYWORD, "not"):
            return Negation(self._factor(depth + 1))
        if self._accept(TokenKind.OPERATOR, "("):
            inner = self._condition(depth + 1)
            self._expect(TokenKind.OPERATOR, ")")
            return inner
        if self._accept(TokenKind.KEYWORD, "everything"):
            return Connective(every=True, parts=())
        return self._comparison()

    def _comparison(self) -> Comparison:
        if self._next.kind is not TokenKind.NAME:
            raise self._unexpected_token("an attribute's name, not, or (")
        self._compared += 1
        if self._compared > MOST_COMPARISONS:
            raise UsageError(
                "a condition with too many comparisons", came=f"over {MOST_COMPARISONS}", fix="use in (…) for lists"
            )
        name = self._step().text
        level = int(self._step().text) if self._at(TokenKind.LEVEL) else None
        for operator in _OPERATORS:
            if self._accept(TokenKind.OPERATOR, operator):
                return Comparison(name, operator, (self._value(),), level=level)
        if self._accept(TokenKind.KEYWORD, "is"):
            negated = self._accept(TokenKind.KEYWORD, "not")
            self._expect(TokenKind.KEYWORD, "missing")
            return Comparison(name, "missing", (), negated, level)
        negated = self._accept(TokenKind.KEYWORD, "not")
        if self._accept(TokenKind.KEYWORD, "in"):
            return Comparison(name, "in", self._list(), negated, level)
        if self._accept(TokenKind.KEYWORD, "between"):
            low = self._value()
            self._expect(TokenKind.KEYWORD, "and")
            return Comparison(name, "between", (low, self._value()), negated, level)
        raise self._unexpected_token("in or between" if negated else "= != < <= > >=, [not] in, [not] between, or is")

    def _list(self) -> tuple[Token, ...]:
        self._expect(TokenKind.OPERATOR, "(")
        values = [self._value()]
        while self._accept(TokenKind.OPERATOR, ","):
            values.append(self._value())
        self._expect(TokenKind.OPERATOR, ")")
        return tuple(values)

    def _value(self) -> Token:
        if self._next.kind in _VALUES:
            return self._step()
        error = self._unexpected_token("a number, a date, true or false, or a text in single quotes")
        if self._next.kind is TokenKind.NAME:
            error = UsageError(error.wrong, came=error.came, allowed=error.allowed, fix="write texts in single quotes")
        raise error

    # --- one word ------------------------------------------------------------------------------------------------

    def _step(self) -> Token:
        word = self._next
        self._next = next(self._words)
        return word

    def _at(self, kind: TokenKind) -> bool:
        return self._next.kind is kind

    def _accept(self, kind: TokenKind, text: str) -> bool:
        if self._next.kind is kind and self._next.text == text:
            self._step()
            return True
        return False

    def _expect(self, kind: TokenKind, text: str) -> None:
        if not self._accept(kind, text):
            raise self._unexpected_token(text)

    def _unexpected_token(self, allowed: str) -> UsageError:
        word = self._next
        came = "the end" if word.kind is TokenKind.END else excerpt(word.text)
        return UsageError(f"a condition cannot be read at letter {word.place}", came=came, allowed=allowed)
