"""Declared domains: the values an attribute may take, from a person or a codebook, never from the data.

A domain of numbers, dates or times is also a line of points (`Line`); a domain with few enough values can be listed.
"""

from __future__ import annotations

import bisect
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.pattern import LONGEST_TEXT, check_pattern
from shoal.data.type import Type, point, text_at, texts, value_at
from shoal.errors import ParameterError, PolicyError, UsageError

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
MOST_LISTED = 200_000
"""More values than this are not listed."""


def shorten(values: Sequence[str], most: int = 6) -> str:
    """The first few of many declared values, and how many there are."""
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown}, … ({len(values)} values)"


class Domain(ABC):
    """A set of values that an attribute may take: an `Interval`, a list of `Values`, or the texts of a `Pattern`.

    >>> import numpy as np
    >>> Interval(0, 110).inside(np.array([7, 111])).tolist()
    [True, False]
    """

    @abstractmethod
    def inside(self, values: Array) -> Mask:
        """Which of these values belong to the domain; the caller leaves missing values out."""

    @abstractmethod
    def words(self) -> str:
        """The domain in a few words, for messages and certificates; it names no record."""


@dataclass(frozen=True)
class Interval(Domain):
    """All numbers, dates or times from low to high, both included.

    Raises     ParameterError where low is above high.
    """

    low: Any
    high: Any

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ParameterError(
                "a domain's lower end lies above its upper end", came=self.words(), allowed="low <= high"
            )

    def inside(self, values: Array) -> Mask:
        low, high = np.asarray(self.low).astype(values.dtype), np.asarray(self.high).astype(values.dtype)
        return np.asarray((values >= low) & (values <= high))

    def words(self) -> str:
        return f"{self.low}..{self.high}"


@dataclass(frozen=True)
class Values(Domain):
    """A list of values, in their order where they have one.

    Raises     UsageError where the list is empty or names a value twice.
    """

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise UsageError("a domain without values", fix="list at least one value")
        if len(set(self.values)) != len(self.values):
            raise UsageError("a domain lists a value twice", fix="list each value once")

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each value in the list."""
        return {value: i for i, value in enumerate(self.values)}

    def inside(self, values: Array) -> Mask:
        return np.fromiter((value in self.index for value in texts(values)), dtype=np.bool_, count=len(values))

    def words(self) -> str:
        return shorten(self.values)


@dataclass(frozen=True)
class Pattern(Domain):
    """All texts that match a regular expression as a whole; `length` where all have the same.

    A simple pattern says its length itself:

    >>> Pattern("[0-9]{5}").letters
    5
    """

    pattern: str
    length: int | None = None

    def __post_init__(self) -> None:
        check_pattern(self.pattern)
        if self.places is not None and self.length not in (None, len(self.places)):
            raise UsageError("a domain's pattern has another length", came=self.length, allowed=str(len(self.places)))

    @cached_property
    def places(self) -> tuple[str, ...] | None:
        """The letters that may stand at each place of a text; None where the pattern is not simple enough to tell."""
        return letters_by_place(self.pattern)

    @property
    def letters(self) -> int | None:
        """The number of letters of every text, as declared or as the pattern says."""
        return self.length if self.places is None else len(self.places)

    def inside(self, values: Array) -> Mask:
        # Where the letters of each place are listed, \d means the ten digits of that list and no others.
        matches = re.compile(self.pattern, re.ASCII if self.places is not None else 0).fullmatch
        found = (len(value) <= LONGEST_TEXT and matches(value) is not None for value in values.tolist())
        return np.fromiter(found, dtype=np.bool_, count=len(values))

    def words(self) -> str:
        return f"texts that match {self.pattern}"


def list_values(kind: Type | None, domain: Domain) -> tuple[str, ...] | None:
    """All values of a domain in order, as text; None where they are endless or more than `MOST_LISTED`.

    >>> list_values(Type.INTEGER, Interval(1, 3))
    ('1', '2', '3')
    """
    if isinstance(domain, Values):
        return domain.values
    if isinstance(domain, Pattern):
        places = domain.places
        if places is None or prod(map(len, places)) > MOST_LISTED:
            return None
        return tuple("".join(letters) for letters in product(*places))
    if isinstance(domain, Interval) and kind is not None and kind.discrete:
        low, high = int(point(kind, domain.low)), int(point(kind, domain.high))
        if high - low >= MOST_LISTED:
            return None
        return tuple(str(value_at(kind, Fraction(at))) for at in range(low, high + 1))
    return None


# --- simple patterns: letters, escaped letters, \d, and classes of letters and ranges, each perhaps with {n} -------------

_ATOM = re.compile(
    r"(?:(?P<digit>\\d)|\\(?P<escaped>[^\w\s])|\[(?P<letters>(?:\\.|[^\]\\^])(?:\\.|[^\]\\])*)\]"
    r"|(?P<plain>[^\\\[\](){}.*+?|^$]))"
    r"(?:\{(?P<times>[0-9]+)\})?"
)
_MEMBER = re.compile(r"(?P<first>\\.|[^\\])(?:-(?P<last>\\.|[^\\]))?", re.DOTALL)
_LONGEST = 1000


def letters_by_place(pattern: str) -> tuple[str, ...] | None:
    """The letters that a simple pattern allows at each place, in order; None where the pattern is not simple.

    >>> letters_by_place("[A-C][0-1]")
    ('ABC', '01')
    """
    found: list[str] = []
    pattern = pattern.removeprefix("^").removesuffix("$") if not pattern.endswith("\\$") else pattern.removeprefix("^")
    at = 0
    while at < len(pattern):
        atom = _ATOM.match(pattern, at)
        if atom is None:
            return None
        letters = _letters(atom)
        if letters is None:
            return None
        found += [letters] * int(atom["times"] or 1)
        if len(found) > _LONGEST:
            return None
        at = atom.end()
    return tuple(found) if found else None


def _letters(atom: re.Match[str]) -> str | None:
    if atom["digit"]:
        return "0123456789"
    if atom["letters"] is None:
        return atom["escaped"] or atom["plain"]
    members: set[str] = set()
    for member in _MEMBER.finditer(atom["letters"]):
        if member["first"] == r"\d" and member["last"] is None:
            members.update("0123456789")
            continue
        ends = [_single(member["first"]), _single(member["last"] or member["first"])]
        if ends[0] is None or ends[1] is None or ends[0] > ends[1]:
            return None
        members.update(map(chr, range(ord(ends[0]), ord(ends[1]) + 1)))
    return "".join(sorted(members))


def _single(text: str) -> str | None:
    """The one letter that a member of a class stands for; None where it stands for several."""
    if not text.startswith("\\"):
        return text
    return None if text[1].isalnum() else text[1]


# --- lines -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A declared domain of numbers, dates or times as points: its two ends, and the points that are listed, if they are.

    >>> Line.of(Type.INTEGER, Interval(0, 9)).between(Fraction(0), Fraction(5))
    '[0, 5)'
    """

    type: Type
    low: Fraction
    high: Fraction
    listed: tuple[Fraction, ...] | None = None

    @classmethod
    def of(cls, kind: Type, domain: Domain) -> Line:
        """The line of a domain.

        Raises     PolicyError where the domain is a pattern, which has no ends.
        """
        if isinstance(domain, Interval):
            return cls(kind, point(kind, domain.low), point(kind, domain.high))
        if isinstance(domain, Values):
            listed = tuple(sorted(point(kind, value) for value in domain.values))
            return cls(kind, listed[0], listed[-1], listed)
        raise PolicyError(
            "intervals need a domain with two ends", came=domain.words(), fix="declare it as domain: [low, high]"
        )

    @property
    def end(self) -> Fraction:
        """The point right after the domain: one beyond the last value where values can be counted, else the last value."""
        return self.high + 1 if self.type.discrete else self.high

    @property
    def countable(self) -> bool:
        """Whether sizes are numbers of values, and not widths."""
        return self.type.discrete or self.listed is not None

    def size(self, start: Fraction | None, end: Fraction | None) -> Fraction:
        """The size of the part of the domain in [start, end): values where they can be counted, else width."""
        if self.listed is not None:
            first = 0 if start is None else bisect.bisect_left(self.listed, start)
            last = len(self.listed) if end is None else bisect.bisect_left(self.listed, end)
            return Fraction(max(0, last - first))
        low = self.low if start is None else max(start, self.low)
        high = self.end if end is None else min(end, self.end)
        return max(Fraction(0), high - low)

    def sizes(self, edges: Sequence[Fraction]) -> list[Fraction]:
        """The sizes of the parts that inner edges, in rising order, divide the domain into."""
        if self.listed is None and edges and self.low <= edges[0] and edges[-1] <= self.end:
            return [b - a for a, b in pairwise([self.low, *edges, self.end])]
        return [self.size(*ends) for ends in zip([None, *edges], [*edges, None], strict=True)]

    def edge(self, at: Fraction) -> Any:
        """The value at a point, as levels carry it."""
        return value_at(self.type, at)

    def text(self, at: Fraction) -> str:
        """The value at a point as people write it."""
        return text_at(self.type, at)

    def between(self, start: Fraction, end: Fraction) -> str:
        """The label of [start, end); a single whole number or day is written as itself."""
        if self.type.discrete and end - start == 1:
            return self.text(start)
        return f"[{self.text(start)}, {self.text(end)})"
