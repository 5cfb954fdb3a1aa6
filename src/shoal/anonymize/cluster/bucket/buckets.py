"""Buckets of a confidential attribute: runs of neighbouring values that are published as one label, of nearly equal mass.

Values stand in an order: numbers, dates and times in their own, ordinal values in the declared one, all others as the leaves of
their hierarchy are met when it is walked depth first, its nodes in the order of the declared values. So a bucket of a nominal
attribute is a run of neighbouring leaves, and holds whole branches where their sizes allow; without a hierarchy the declared
order is taken, and without one the alphabet. That is our rule: SC13 leaves the nominal attribute open (§8.3).

With b buckets the i-th cut lies at the boundary between two different values that is nearest to i/b of the records, the lower
of two equally near ones; cuts that fall together are one. Equal values never lie in two buckets, so a label is a function of the
value, and a frequent value makes buckets fewer and unequal. A missing value is a bucket of its own, published as missing.

A label says no more than the cuts: the first and the last bucket of numbers are open, so that the smallest and the largest value
of the table are not in it, and a bucket of names has all declared values of its run, whether they occur or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.columns import MOST_CONCEPTS
from shoal.data.domain import Values, list_values
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute
from shoal.data.type import Type, point, text_at, texts
from shoal.errors import DataError

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Buckets:
    """The buckets of one attribute, lowest first: what each is called, and where the cuts are or which values it has.

    `edges` has the least value of each bucket but the first, for numbers, dates and times; `values` the values of each bucket,
    for all others. `missing` says whether one more bucket, the last, is that of the missing values, which has no label.
    """

    attribute: str
    labels: tuple[str, ...]
    edges: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    missing: bool = False

    @property
    def count(self) -> int:
        """The number of buckets, with that of the missing values."""
        return len(self.labels) + self.missing

    def shown(self, codes: Codes) -> Array:
        """The label of each record, by its bucket; masked where it is that of the missing values."""
        names = np.empty(self.count, dtype=object)
        names[:] = [*self.labels, *([""] * self.missing)]
        found = names[codes]
        return np.ma.masked_array(found, codes == len(self.labels)) if self.missing else found


@dataclass(frozen=True, eq=False)
class RankedColumn:
    """One confidential attribute: the rank of each record's value among those that occur, in the order of the top of this module.

    A missing value has the rank −1. `known` are the values that occur, in order.
    """

    attribute: Attribute
    ranks: Codes
    known: Array

    @classmethod
    def of(cls, attribute: Attribute, values: Array) -> RankedColumn:
        """From the values of all records, missing ones masked."""
        gone, data = np.ma.getmaskarray(values), np.ma.getdata(values)
        ranks = np.full(len(values), -1, dtype=np.int64)
        present = data[~gone]
        if attribute.type.numeric or attribute.type is Type.BOOLEAN:
            known, ranks[~gone] = np.unique(present, return_inverse=True)
            return cls(attribute, ranks, known)
        spelled = texts(np.array(present, dtype=object))
        occurring = set(spelled)
        known = np.array([value for value in order_values(attribute, occurring) if value in occurring], dtype=object)
        place = {value: rank for rank, value in enumerate(known.tolist())}
        ranks[~gone] = np.fromiter((place[value] for value in spelled), np.int64, len(spelled))
        return cls(attribute, ranks, known)

    @property
    def different(self) -> int:
        """How many values occur, a missing one among them."""
        return len(self.known) + bool((self.ranks < 0).any())

    def cuts(self, count: int) -> list[int]:
        """The ranks at which buckets begin, but the first: at most count − 1 of them."""
        present = self.ranks[self.ranks >= 0]
        below = np.cumsum(np.bincount(present, minlength=len(self.known)))[:-1]  # records below each boundary
        if not len(below):
            return []
        # Whole numbers, so that a boundary halfway is halfway.
        far = [np.abs(count * below - number * len(present)) for number in range(1, count)]
        return sorted({int(np.argmin(one)) + 1 for one in far})

    def bucketize(self, count: int) -> tuple[Buckets, Codes]:
        """At most so many buckets of values, one more of missing ones if there are any, and the bucket of each record."""
        cuts, gone = self.cuts(count), self.ranks < 0
        codes = np.searchsorted(np.array(cuts, dtype=np.int64), self.ranks, side="right").astype(np.int64)
        codes[gone] = len(cuts) + 1 if len(self.known) else 0
        name, missing = self.attribute.name, bool(gone.any())
        if self.attribute.type.numeric:
            edges = tuple(_number_text(self.attribute.type, self.known[cut]) for cut in cuts)
            return Buckets(name, _interval_labels(edges, len(self.known)), edges, missing=missing), codes
        runs = self._runs(cuts)
        labels = _range_labels(runs) if _is_ordered(self.attribute) else tuple(_set_label(run) for run in runs)
        if len(set(labels)) != len(labels):
            raise DataError(
                f"attribute '{name}': two buckets would have one label, since a value is spelled like a list of values",
                fix="spell values without braces and brackets",
            )
        return Buckets(name, labels, values=runs, missing=missing), codes

    def _runs(self, cuts: list[int]) -> tuple[tuple[str, ...], ...]:
        """The values of each bucket: all declared ones of its run."""
        if not len(self.known):
            return ()
        occurring = texts(self.known)
        listed = order_values(self.attribute, set(occurring))
        if len(listed) > MOST_CONCEPTS:
            raise DataError(
                f"attribute '{self.attribute.name}': too many different values to list in labels",
                came=f"{len(listed):,}",
                allowed=f"at most {MOST_CONCEPTS:,} for a column without numbers",
                fix="recode it first, or take method: anatomy, which shows values",
            )
        starts = [0, *(listed.index(occurring[cut]) for cut in cuts), len(listed)]
        return tuple(tuple(listed[a:b]) for a, b in pairwise(starts))


def order_values(attribute: Attribute, occurring: set[str]) -> list[str]:
    """The declared values of an attribute without numbers, and those that occur where none are declared, in their order.

    Raises     DataError where a hierarchy lacks a value that occurs.
    """
    declared = None if attribute.domain is None else list_values(attribute.type, attribute.domain)
    if declared is None and attribute.hierarchy is not None:
        declared = attribute.hierarchy.values
    listed = list(declared) if declared is not None and occurring <= set(declared) else sorted(occurring)
    if attribute.hierarchy is None or _is_ordered(attribute):
        return listed
    return _leaves_in_order(attribute, listed)


def _leaves_in_order(attribute: Attribute, listed: list[str]) -> list[str]:
    """Values as a walk over their hierarchy meets them, depth first: by the first value of each branch, from the top down."""
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return listed
    levels = [level for level in hierarchy.levels if not isinstance(level, ValueLevel)]
    array = np.array(listed, dtype=object)
    keys: list[list[int]] = [[] for _ in listed]
    for number, level in reversed(list(enumerate(levels, 1))):
        first: dict[Any, int] = {}
        for place, label in enumerate(level.apply(array).tolist()):
            if label is None:
                raise DataError(
                    f"attribute '{attribute.name}': its hierarchy lacks a value of the table",
                    came=f"level {number}",
                    fix="add every value of the domain to the hierarchy",
                )
            keys[place].append(first.setdefault(label, place))
    return [listed[place] for place in sorted(range(len(listed)), key=lambda place: (keys[place], place))]


def _is_ordered(attribute: Attribute) -> bool:
    return attribute.type is Type.ORDINAL and isinstance(attribute.domain, Values)


# --- labels -----------------------------------------------------------------------------------------------------------


def _number_text(kind: Type, value: Any) -> str:
    """A number, date or time as people write it."""
    return text_at(kind, point(kind, value.item() if kind in (Type.INTEGER, Type.DECIMAL) else value))


def _interval_labels(edges: tuple[str, ...], different: int) -> tuple[str, ...]:
    """`< a`, `[a, b)`, `>= b`; `*` where there is no cut, and nothing where there is no value."""
    if not different:
        return ()
    if not edges:
        return ("*",)
    inner = [f"[{low}, {high})" for low, high in pairwise(edges)]
    return (f"< {edges[0]}", *inner, f">= {edges[-1]}")


def _range_labels(runs: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """`[lowest, highest]` of ordered values, or the value itself where there is one."""
    return tuple(run[0] if len(run) == 1 else f"[{run[0]}, {run[-1]}]" for run in runs)


def _set_label(run: tuple[str, ...]) -> str:
    """`{a, b}`, or the value itself where there is one."""
    return run[0] if len(run) == 1 else "{" + ", ".join(run) + "}"
