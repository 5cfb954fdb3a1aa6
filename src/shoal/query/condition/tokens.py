"""The words of a condition: names, values, operators; anything else is refused at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from shoal.errors import UsageError
from shoal.policy.text.problem import shown

MOST_LETTERS = 1 << 16
"""A condition with more letters is refused unread."""
LONGEST_NUMBER = 60
"""Letters of one number: enough for every double, too few to stop the machine."""
KEYWORDS = frozenset({"and", "or", "not", "in", "between", "is", "missing", "true", "false", "everything"})


class Kind(Enum):
    """What a token is."""

    NAME = "an attribute"
    KEYWORD = "a word of the language"
    OPERATOR = "an operator"
    NUMBER = "a number"
    TIME = "a date or time"
    TEXT = "a text"
    TRUTH = "true or false"
    END = "the end"


@dataclass(frozen=True)
class Token:
    """One word, with the place of its first letter, counted from one."""

    kind: Kind
    text: str
    place: int


_PATTERN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?(?![\w.:-]))
    | (?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![\w.-]))
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
    """The words of a condition in order, then the end; UsageError at the first letter that begins none."""
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
    yield Token(Kind.END, "", len(text) + 1)


def _token(found: re.Match[str]) -> Token:
    place, group = found.start() + 1, found.lastgroup or ""
    body = found[group]
    if group == "number":
        if len(body) > LONGEST_NUMBER:
            raise UsageError(f"a number too long to mean anything, at letter {place}", came=shown(body))
        return Token(Kind.NUMBER, body, place)
    if group == "time":
        return Token(Kind.TIME, body, place)
    if group == "operator":
        return Token(Kind.OPERATOR, _SAME.get(body, body), place)
    if group == "text":
        return Token(Kind.TEXT, body.replace("''", "'"), place)
    if group == "name":
        small = body.lower()
        if small in KEYWORDS:
            return Token(Kind.TRUTH if small in ("true", "false") else Kind.KEYWORD, small, place)
        return Token(Kind.NAME, body, place)
    quote = found[0][0]
    return Token(Kind.NAME, body.replace(quote * 2, quote), place)


def _unreadable(text: str, place: int) -> UsageError:
    letter = text[place]
    if letter in _QUOTES:
        return UsageError(f"{_QUOTES[letter]} is empty or not closed, at letter {place + 1}", came=shown(text[place:]))
    return UsageError(
        f"a condition cannot be read at letter {place + 1}",
        came=shown(text[place:]),
        allowed="names, numbers, dates, 'texts', = != < <= > >=, and, or, not, in (…), between … and …, is missing",
    )


def quoted_name(name: str) -> str:
    """A name as a condition writes it: bare where that is unambiguous, else in backticks."""
    if _BARE.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    """A text as a condition writes it."""
    return "'" + text.replace("'", "''") + "'"
