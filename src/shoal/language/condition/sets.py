"""Sets of values of one attribute, the missing value among them: union, intersection, complement, and their text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Attribute
from shoal.language.condition.parse import quoted_name, quoted_text
from shoal.language.condition.ranks import Array, RankedDomain, may_be_missing

Mask = npt.NDArray[np.bool_]
Span = tuple[int, int]


@dataclass(frozen=True)
class ValueSet(ABC):
    """A set of values of an attribute; `missing` where rows without a value belong to it."""

    attribute: Attribute
    missing: bool

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether the set has no value, so that no row lies in it."""

    @property
    @abstractmethod
    def full(self) -> bool:
        """Whether the set has every value, so that every row lies in it."""

    @abstractmethod
    def union(self, other: Any) -> ValueSet:
        """The values that are in either set."""

    @abstractmethod
    def intersection(self, other: Any) -> ValueSet:
        """The values that are in both sets."""

    @abstractmethod
    def complement(self) -> ValueSet:
        """The values that are not in the set, and the missing value if it is not."""

    @abstractmethod
    def contains(self, values: Array) -> Mask:
        """Which of these values are in the set; none of them is missing."""

    @abstractmethod
    def _alternatives(self) -> list[str]:
        """Comparisons of which one is true for every value in the set."""

    def alternatives(self) -> list[str]:
        """Comparisons of which one is true for every row in the set, missing values among them."""
        missing = [f"{quoted_name(self.attribute.name)} is missing"] if self.missing else []
        return [*self._alternatives(), *missing]

    def _complement_missing(self) -> bool:
        return may_be_missing(self.attribute) and not self.missing


@dataclass(frozen=True)
class RankSet(ValueSet):
    """Values whose ranks lie in intervals (spans), in increasing order with gaps between them."""

    domain: RankedDomain
    spans: tuple[Span, ...]

    @property
    def empty(self) -> bool:
        return not self.spans and not self.missing

    @property
    def full(self) -> bool:
        return self.spans == ((self.domain.low, self.domain.high),) and self.missing == may_be_missing(self.attribute)

    def union(self, other: RankSet) -> RankSet:
        return self._with(merge_spans((*self.spans, *other.spans)), self.missing or other.missing)

    def intersection(self, other: RankSet) -> RankSet:
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

    def complement(self) -> RankSet:
        return self._with(self.gaps, self._complement_missing())

    @property
    def gaps(self) -> tuple[Span, ...]:
        """The spans of ranks between the spans of the set."""
        starts = [self.domain.low, *(high + 1 for _, high in self.spans)]
        ends = [*(low - 1 for low, _ in self.spans), self.domain.high]
        return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)

    def contains(self, values: Array) -> Mask:
        if not self.spans:
            return np.zeros(len(values), dtype=np.bool_)
        ranks = self.domain.ranks_of(values)
        lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*self.spans, strict=True))
        place = np.searchsorted(lows, ranks, side="right") - 1
        return np.asarray((place >= 0) & (ranks <= highs[np.maximum(place, 0)]))

    def _with(self, spans: tuple[Span, ...], missing: bool) -> RankSet:
        return RankSet(self.attribute, missing, self.domain, spans)

    # --- written down --------------------------------------------------------------------------------------------

    def _alternatives(self) -> list[str]:
        name = quoted_name(self.attribute.name)
        if self.spans == ((self.domain.low, self.domain.high),):
            return [f"{name} is not missing"]
        if not self.domain.is_ordered:
            inside = [rank for low, high in self.spans for rank in range(low, high + 1)]
            left_out = [rank for low, high in self.gaps for rank in range(low, high + 1)]
            few = len(left_out) < len(inside)
            return self._list(name, left_out if few else inside, negated=few)
        if all(low == high for low, high in self.gaps) and len(self.gaps) < len(self.spans):
            return self._list(name, [low for low, _ in self.gaps], negated=True)
        points = [low for low, high in self.spans if low == high]
        wide = [self._span(name, low, high) for low, high in self.spans if low < high]
        return [*self._list(name, points, negated=False), *wide]

    def _list(self, name: str, ranks: list[int], *, negated: bool) -> list[str]:
        listed = [self.domain.text(rank) for rank in ranks]
        return in_list(name, listed, negated=negated)

    def _span(self, name: str, low: int, high: int) -> str:
        below, above = self._end(low, -1), self._end(high, +1)
        if low == self.domain.low:
            return f"{name} {above}"
        if high == self.domain.high:
            return f"{name} {below}"
        if below.startswith(">=") and above.startswith("<="):
            return f"{name} between {self.domain.text(low)} and {self.domain.text(high)}"
        return f"({name} {below} and {name} {above})"

    def _end(self, rank: int, away: int) -> str:
        """One end of a span, written as closed or open, whichever is shorter."""
        sign = ">" if away < 0 else "<"
        closed = f"{sign}= {self.domain.text(rank)}"
        if not self.domain.fine or not self.domain.low <= rank + away <= self.domain.high:
            return closed
        opened = f"{sign} {self.domain.text(rank + away)}"
        return opened if len(opened) < len(closed) else closed


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in increasing order, those that touch made one."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


@dataclass(frozen=True)
class TextSet(ValueSet):
    """Texts of a pattern: the listed ones, or (`inside` false) all but these."""

    texts: frozenset[str]
    inside: bool

    @property
    def empty(self) -> bool:
        return self.inside and not self.texts and not self.missing

    @property
    def full(self) -> bool:
        return not self.inside and not self.texts and self.missing == may_be_missing(self.attribute)

    def union(self, other: TextSet) -> TextSet:
        both = self.complement().intersection(other.complement())  # what neither has
        return TextSet(self.attribute, self.missing or other.missing, both.texts, not both.inside)

    def intersection(self, other: TextSet) -> TextSet:
        if self.inside and other.inside:
            texts = self.texts & other.texts
        elif self.inside or other.inside:
            texts = self.texts - other.texts if self.inside else other.texts - self.texts
        else:
            texts = self.texts | other.texts
        return TextSet(self.attribute, self.missing and other.missing, texts, self.inside or other.inside)

    def complement(self) -> TextSet:
        return TextSet(self.attribute, self._complement_missing(), self.texts, not self.inside)

    def contains(self, values: Array) -> Mask:
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
