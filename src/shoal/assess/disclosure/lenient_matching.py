"""The lenient convention: a missing or suppressed cell matches anything, as in sdcMicro's frequency counts.

Two tuples match when in every quasi-identifier they are equal or one of them hides its value. Matching is not
transitive, so there are no classes; each distinct tuple is measured by the set of all rows that match it. The numbers are
too favourable: an intruder who meets a hidden cell need not take everybody for a candidate. Strict is the default.

Tuples fall into patterns by which cells are hidden. Two patterns are joined on the columns that neither hides, so with
P patterns and D tuples the work is P² joins of at most D tuples, plus the size of the distributions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.assess.disclosure.classes import Array, ClassDistributions, Ints, gather, row_numbers, total
from shoal.errors import InfeasibleError

MOST_PATTERNS = 256
BLOCK = 4_000_000
"""Entries of distributions that are held at a time."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MatchingRows:
    """Which tuples match: distinct tuples as codes, which of their cells are hidden, and how many rows each has."""

    codes: Ints  # tuples × quasi-identifiers
    hidden: Mask  # the same shape
    rows: Ints

    @cached_property
    def patterns(self) -> list[tuple[Mask, Ints]]:
        """Each pattern of hidden cells with the tuples that have it."""
        bits = self.hidden @ (1 << np.arange(self.hidden.shape[1], dtype=np.int64))
        found, members = np.unique(bits, return_inverse=True)
        if len(found) > MOST_PATTERNS:
            raise InfeasibleError(
                "the lenient convention compares every pattern of hidden cells with every other",
                came=f"{len(found)} patterns",
                allowed=f"at most {MOST_PATTERNS}",
                fix="leave out --lenient, or recode the attributes with most missing cells",
            )
        groups = [np.flatnonzero(members == i) for i in range(len(found))]
        return [(self.hidden[group[0]], group) for group in groups]

    @cached_property
    def sizes(self) -> Ints:
        """How many rows match each tuple, itself included."""
        return self.sums(self.rows)

    def sums(self, numbers: Array) -> Array:
        """Add one number of each tuple up over all tuples that match each, itself included."""
        sums = np.zeros(len(numbers), dtype=numbers.dtype)
        for _, mine in self.patterns:
            for join in self._joins(mine):
                running = np.append(0, np.cumsum(total(numbers[join.order], join.starts)))
                sums[mine] += np.where(join.found, running[join.place + 1] - running[join.place], 0)
        return sums

    def blocks(self, shares: ClassDistributions) -> Iterator[tuple[Ints, ClassDistributions]]:
        """Give the tuples in blocks, each with the distribution over the rows that match; `shares` has that of each tuple."""
        for _, mine in self.patterns:
            joins = [(join, join.holds(shares)) for join in self._joins(mine)]
            load = sum(np.where(join.found, held.width[join.place], 0) for join, held in joins)
            cuts = np.flatnonzero(np.diff(np.cumsum(load) // BLOCK)) + 1
            for part in np.split(np.arange(len(mine)), cuts):
                entries = [_expand(join, held, part) for join, held in joins]
                owner, values, counts = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
                yield mine[part], gather(owner, values, counts, shares.overall)

    def _joins(self, mine: Ints) -> list[_Join]:
        """Join the tuples of one pattern with those of each pattern."""
        own = self.hidden[mine[0]]
        return [_join(self.codes[:, ~(own | other)], mine, theirs) for other, theirs in self.patterns]


@dataclass(frozen=True)
class _Join:
    """Tuples of one pattern (`order`, in groups from `starts`) and, for each tuple of another, its group if it has one."""

    order: Ints
    starts: Ints
    place: Ints
    found: Mask

    def holds(self, shares: ClassDistributions) -> ClassDistributions:
        """The distribution of values over each group."""
        width = np.diff(np.append(self.starts, len(self.order)))
        entries = ranges(shares.starts[self.order], shares.width[self.order])
        owner = np.repeat(np.repeat(np.arange(len(self.starts)), width), shares.width[self.order])
        return gather(owner, shares.values[entries], shares.counts[entries], shares.overall)


def _join(shown: Ints, mine: Ints, theirs: Ints) -> _Join:
    """Join on the columns that both show."""
    both = np.concatenate([theirs, mine])
    key = row_numbers(shown[both])
    their_keys, my_keys = key[: len(theirs)], key[len(theirs) :]
    sort = np.argsort(their_keys, kind="stable")
    ordered = their_keys[sort]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    place = np.minimum(np.searchsorted(ordered[starts], my_keys), len(starts) - 1)
    return _Join(theirs[sort], starts, place, ordered[starts][place] == my_keys)


def _expand(join: _Join, held: ClassDistributions, part: Ints) -> tuple[Ints, Ints, Ints]:
    """Entries (tuple, value, count) that the tuples of a part get from one pattern."""
    at = part[join.found[part]]
    groups = join.place[at]
    entries = ranges(held.starts[groups], held.width[groups])
    return np.repeat(at - part[0], held.width[groups]), held.values[entries], held.counts[entries]


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers start, start + 1, … of many ranges, one after the other."""
    ends = np.cumsum(lengths)
    return np.asarray(np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths))
