"""Runs of rows in an order: how rows are sorted in memory, and what each run of k rows adds up to.

Runs are numbered from the first rows up. Every run has `size` rows but the last, which also has the rows that are left over;
fewer rows than `size` are one run. Equal rows are interchangeable, so a run is told by counts of rows: what a row with a count
adds to the runs that it reaches into is found without listing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int64]
MANY = 1 << 14
"""Fewer rows than this are sorted by NumPy's stable sort."""


@dataclass(frozen=True)
class OrderedCodes:
    """What the order and the sums of some rows are made of, column by column."""

    keys: Sequence[npt.NDArray[np.float64]]
    """What rows are sorted by, the first one first; without missing values. Rows whose keys are equal have equal codes."""
    codes: Sequence[Codes]
    """Whole numbers, which are added up, or counted where there are few of them."""


Ordering = Callable[[Sequence[Array]], OrderedCodes]
"""Gives keys and codes of each row by itself: called with columns as `Table.collect` gives them, for any part of the rows."""


@dataclass(frozen=True)
class RunTotals:
    """What each run adds up to; of equal rows it does not matter which run they are in."""

    sums: tuple[Codes | None, ...]
    """For each column of codes the sum of each run; None where codes were counted."""
    counts: tuple[Codes | None, ...]
    """For each column of codes that was counted a table with a row for each run and a column for each code; None for others."""


def run_count(rows: int, size: int) -> int:
    """How many runs so many rows have."""
    if isinstance(size, bool) or size < 1:
        raise UsageError("a run has at least one row", came=size, allowed="1 or more")
    return max(rows // size, 1) if rows else 0


def total_runs(found: OrderedCodes, size: int, counted: Sequence[int | None]) -> RunTotals:
    """The totals of runs of rows in memory; `counted` as in `Table.total_runs`."""
    runs = run_count(len(found.keys[0]), size)
    order = sorted_rows(found.keys[0], *found.keys[1:])
    starts = np.arange(runs) * size
    labels = np.minimum(np.arange(len(order)) // size, max(runs - 1, 0)) if any(counted) else order
    sums: list[Codes | None] = []
    counts: list[Codes | None] = []
    for codes, values in zip(found.codes, counted, strict=True):
        ranked = codes[order]
        if values is None:
            sums.append(np.add.reduceat(ranked, starts) if runs else ranked)
            counts.append(None)
        else:
            sums.append(None)
            table = np.bincount(labels * values + ranked, minlength=runs * values)
            counts.append(table.reshape(runs, values))
    return RunTotals(tuple(sums), tuple(counts))


@dataclass(frozen=True)
class RunShares:
    """Where counted rows lie: each line says that `times` runs from `run` on have `rows` rows of `place`."""

    place: Rows
    run: Codes
    times: Codes
    rows: Codes


def run_shares(before: Codes, counts: Codes, size: int, rows: int) -> RunShares:
    """Where counted rows lie that stand in order, `before` rows being before each: at most three lines for each of them.

    A row that reaches over several runs has a share of the first and of the last of them, and fills those between.
    """
    last = run_count(rows, size) - 1
    upto = before + counts
    first, final = np.minimum(before // size, last), np.minimum((upto - 1) // size, last)
    ends = np.where(first == last, rows, (first + 1) * size)
    place, one = np.arange(len(counts)), np.ones(len(counts), dtype=np.int64)
    more, between = np.flatnonzero(final > first), np.flatnonzero(final > first + 1)
    return RunShares(
        np.concatenate([place, more, between]),
        np.concatenate([first, final[more], first[between] + 1]),
        np.concatenate([one, one[more], (final - first - 1)[between]]),
        np.concatenate([np.minimum(upto, ends) - before, upto[more] - final[more] * size, np.full(len(between), size)]),
    )


def sorted_rows(values: npt.NDArray[Any], *ties: npt.NDArray[Any]) -> Rows:
    """The rows by value; equal values by the columns `ties`, the first one first, and then by row.

    Many rows are sorted as whole numbers of 64 bits, which is faster than sorting places: the row stands in the last bits
    and as much of the value as there is room for in the first. Values that look alike so far are sorted again.
    """
    bits = max(1, len(values) - 1).bit_length()
    if len(values) < MANY or values.dtype != np.float64:
        return (
            _sort_ties(np.argsort(values, kind="stable"), values, ties) if ties else np.argsort(values, kind="stable")
        )
    with np.errstate(over="ignore"):
        above = values - values.min()
    above += 0.0  # a negative zero has another sign bit
    packed = above.view(np.uint64)
    packed <<= np.uint64(1)  # the sign, which is plus
    packed >>= np.uint64(bits)
    packed <<= np.uint64(bits)
    packed |= np.arange(len(values), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64((1 << bits) - 1)).astype(np.int64)
    packed >>= np.uint64(bits)
    alike = packed[1:] == packed[:-1]
    return _sort_ties(order, values, ties, alike) if alike.any() else order


def _sort_ties(order: Rows, values: npt.NDArray[Any], ties: Sequence[npt.NDArray[Any]], alike: Any = None) -> Rows:
    """The order with every run of neighbours that look `alike` (by default: are equal) sorted by all that is known of them."""
    alike = values[order[1:]] == values[order[:-1]] if alike is None else alike
    within = np.zeros(len(order), dtype=np.bool_)
    within[1:] = alike
    within[:-1] |= alike
    rows = order[within]
    known = values[rows]
    if not ties and (known[1:] >= known[:-1]).all():  # truly equal, and already by row
        return order
    order[within] = rows[np.lexsort((rows, *(column[rows] for column in reversed(ties)), known))]
    return order
