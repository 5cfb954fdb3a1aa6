"""Sets of values of one attribute, the missing one among them: joined, met, turned round, and written down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Attribute
from shoal.query.condition.parse import quoted_name, quoted_text
from shoal.query.condition.ranks import Array, Ladder, may_miss

Mask = npt.NDArray[np.bool_]
Span = tuple[int, int]


@dataclass(frozen=True)
class Region(ABC):
    """Some values of an attribute; `missing` where rows without a value belong to it."""

    attribute: Attribute
    missing: bool

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether no row can lie in it."""

    @property
    @abstractmethod
    def full(self) -> bool:
        """Whether every row lies in it."""

    @abstractmethod
    def joined(self, other: Any) -> Region:
        """Either."""

    @abstractmethod
    def met(self, other: Any) -> Region:
        """Both."""

    @abstractmethod
    def turned(self) -> Region:
        """All other values, and missing ones if they were outside."""

    @abstractmethod
    def holds(self, values: Array) -> Mask:
        """Which values lie in it; missing ones are not asked about."""

    @abstractmethod
    def _alternatives(self) -> list[str]:
        """Comparisons of which one holds where a value lies in it."""

    def alternatives(self) -> list[str]:
        """The same with what is missing."""
        missing = [f"{quoted_name(self.attribute.name)} is missing"] if self.missing else []
        return [*self._alternatives(), *missing]

    def _turned_missing(self) -> bool:
        return may_miss(self.attribute) and not self.missing


@dataclass(frozen=True)
class Spans(Region):
    """Runs of rungs, rising, with gaps between them."""

    ladder: Ladder
    spans: tuple[Span, ...]

    @property
    def empty(self) -> bool:
        return not self.spans and not self.missing

    @property
    def full(self) -> bool:
        return self.spans == ((self.ladder.low, self.ladder.high),) and self.missing == may_miss(self.attribute)

    def joined(self, other: Spans) -> Spans:
        return self._with(merged((*self.spans, *other.spans)), self.missing or other.missing)

    def met(self, other: Spans) -> Spans:
        common: list[Span] = []
        i = j = 0
        while i < len(self.spans) and j < len(other.spans):
            low = max(self.spans[i][0], other.spans[j][0])
            high = min(self.spans[i][1], other.spans[j][1])
            if low <= high:
                common.append((low, high))
            if self.spans[i][1] < other.spans[j][1]:
                i += 1
            else:
                j += 1
        return self._with(tuple(common), self.missing and other.missing)

    def turned(self) -> Spans:
        return self._with(self.gaps, self._turned_missing())

    @property
    def gaps(self) -> tuple[Span, ...]:
        """What the spans leave out."""
        starts = [self.ladder.low, *(high + 1 for _, high in self.spans)]
        ends = [*(low - 1 for low, _ in self.spans), self.ladder.high]
        return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)

    def holds(self, values: Array) -> Mask:
        if not self.spans:
            return np.zeros(len(values), dtype=np.bool_)
        rungs = self.ladder.rungs(values)
        lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*self.spans, strict=True))
        place = np.searchsorted(lows, rungs, side="right") - 1
        return np.asarray((place >= 0) & (rungs <= highs[np.maximum(place, 0)]))

    def _with(self, spans: tuple[Span, ...], missing: bool) -> Spans:
        return Spans(self.attribute, missing, self.ladder, spans)

    # --- written down --------------------------------------------------------------------------------------------

    def _alternatives(self) -> list[str]:
        name = quoted_name(self.attribute.name)
        if self.spans == ((self.ladder.low, self.ladder.high),):
            return [f"{name} is not missing"]
        if not self.ladder.ordered:
            inside = [rung for low, high in self.spans for rung in range(low, high + 1)]
            left_out = [rung for low, high in self.gaps for rung in range(low, high + 1)]
            few = len(left_out) < len(inside)
            return self._list(name, left_out if few else inside, negated=few)
        if all(low == high for low, high in self.gaps) and len(self.gaps) < len(self.spans):
            return self._list(name, [low for low, _ in self.gaps], negated=True)
        points = [low for low, high in self.spans if low == high]
        wide = [self._span(name, low, high) for low, high in self.spans if low < high]
        return [*self._list(name, points, negated=False), *wide]

    def _list(self, name: str, rungs: list[int], *, negated: bool) -> list[str]:
        listed = [self.ladder.text(rung) for rung in rungs]
        return in_list(name, listed, negated=negated)

    def _span(self, name: str, low: int, high: int) -> str:
        below, above = self._end(low, -1), self._end(high, +1)
        if low == self.ladder.low:
            return f"{name} {above}"
        if high == self.ladder.high:
            return f"{name} {below}"
        if below.startswith(">=") and above.startswith("<="):
            return f"{name} between {self.ladder.text(low)} and {self.ladder.text(high)}"
        return f"({name} {below} and {name} {above})"

    def _end(self, rung: int, away: int) -> str:
        """One end of a span, with or without the value itself: whichever is the shorter to write."""
        sign = ">" if away < 0 else "<"
        closed = f"{sign}= {self.ladder.text(rung)}"
        if not self.ladder.fine or not self.ladder.low <= rung + away <= self.ladder.high:
            return closed
        opened = f"{sign} {self.ladder.text(rung + away)}"
        return opened if len(opened) < len(closed) else closed


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in order, those that touch made one."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


@dataclass(frozen=True)
class Names(Region):
    """Texts of a pattern: these, or (`inside` false) all but these."""

    texts: frozenset[str]
    inside: bool

    @property
    def empty(self) -> bool:
        return self.inside and not self.texts and not self.missing

    @property
    def full(self) -> bool:
        return not self.inside and not self.texts and self.missing == may_miss(self.attribute)

    def joined(self, other: Names) -> Names:
        both = self.turned().met(other.turned())  # what neither has
        return Names(self.attribute, self.missing or other.missing, both.texts, not both.inside)

    def met(self, other: Names) -> Names:
        if self.inside and other.inside:
            texts = self.texts & other.texts
        elif self.inside or other.inside:
            texts = self.texts - other.texts if self.inside else other.texts - self.texts
        else:
            texts = self.texts | other.texts
        return Names(self.attribute, self.missing and other.missing, texts, self.inside or other.inside)

    def turned(self) -> Names:
        return Names(self.attribute, self._turned_missing(), self.texts, not self.inside)

    def holds(self, values: Array) -> Mask:
        found = np.fromiter((value in self.texts for value in values.tolist()), dtype=np.bool_, count=len(values))
        return found if self.inside else ~found

    def _alternatives(self) -> list[str]:
        name = quoted_name(self.attribute.name)
        if not self.texts and not self.inside:
            return [f"{name} is not missing"]
        return in_list(name, [quoted_text(text) for text in sorted(self.texts)], negated=not self.inside)


def in_list(name: str, listed: list[str], *, negated: bool) -> list[str]:
    """`= a` or `in (a, b)`, or their opposite; nothing for an empty list."""
    if len(listed) == 1:
        return [f"{name} {'!=' if negated else '='} {listed[0]}"]
    return [f"{name} {'not in' if negated else 'in'} ({', '.join(listed)})"] if listed else []
