"""Mondrian: clusters by cutting the records in two, again and again, across the attribute in which they lie widest apart.

LeFevre, DeWitt and Ramakrishnan 2006. Every attribute is a line: numbers as they are, ordinal values by rank, nominal ones by
the order of their hierarchy's leaves (`columns.leaf_order`). Widths are shares of the attribute's width in the whole table; of
equal widths the first attribute is cut. A missing value lies one whole width below the others.

    relaxed   half of the records on each side; records that are equal to the median may stand on either
    strict    between two different values, nearest to the middle that leaves k on each side; equal values stay together

All clusters of one depth are cut at once, by one sort of the records, so the time is that of log2(n/k) sorts.

A cluster that shows the range of its records shows the least and the largest of real values. Whoever knows who has the largest
of all reads it off: the extreme-value attack of LQS10 §3, whatever k is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.columns import MetricColumn
from shoal.anonymize.cluster.mdav import Labels, check_size, no_progress
from shoal.engine.runs import Rows, sorted_rows
from shoal.errors import UsageError
from shoal.progress import Progress

Array = npt.NDArray[Any]
Cuts = Callable[["_Lines", Rows, Rows, Rows, int], Rows]
"""From lines, rows, where clusters begin, their sizes and k: how many records a cut leaves below, 0 where there is none."""


def mondrian(columns: Sequence[MetricColumn], k: int, *, progress: Progress = no_progress) -> Labels:
    """Relaxed Mondrian: clusters of k to 2k − 1 records, larger only where all records of a cluster are equal.

    Promise   every cluster has at least k records; no privacy by itself.
    Requires  values with an order or a declared one; at least k records.
    Reads     the values of the columns, and the order of the rows where values are equal.
    Ties      equal values are cut by row, the lowest below; of equally wide columns the first is cut.

    >>> from shoal.anonymize.cluster.columns import NumericColumn
    >>> mondrian([NumericColumn(np.array([7, 1, 2, 9]))], 2).tolist()
    [1, 0, 0, 1]
    """
    return _partition(columns, k, _halves, progress)


def strict_mondrian(columns: Sequence[MetricColumn], k: int, *, progress: Progress = no_progress) -> Labels:
    """Strict Mondrian: clusters of at least k records that no cut between two values could part; equal records stay together.

    Promise   every cluster has at least k records; no privacy by itself.
    Requires  values with an order or a declared one; at least k records.
    Reads     the values of the columns; of the order of the rows nothing but the numbers of the clusters.
    Ties      of two cuts as near to the middle the upper one; of equally wide columns the first is cut.

    >>> from shoal.anonymize.cluster.columns import NumericColumn
    >>> strict_mondrian([NumericColumn(np.array([7, 7, 7, 7, 1, 2]))], 2).tolist()
    [1, 1, 1, 1, 0, 0]
    """
    return _partition(columns, k, _between_values, progress)


class _Lines:
    """The columns as lines: for each column and row the code of its value, its rank among all rows, and its place from 0 to 1."""

    def __init__(self, columns: Sequence[MetricColumn]) -> None:
        count = len(columns[0].values)
        self.codes = np.zeros((len(columns), count), dtype=np.int64)
        self.ranks = np.zeros((len(columns), count), dtype=np.int64)
        self.places = np.zeros((len(columns), count))
        for j, column in enumerate(columns):
            there = ~column.absent
            known, found = np.unique(column.positions(), return_inverse=True)
            half = known.astype(np.float64) / 2  # so that no difference is infinite
            span = half[-1] - half[0] if len(half) else 0.0
            self.codes[j, there] = found + 1
            self.places[j, there] = ((half - half[0]) / span if span else np.zeros(len(half)))[found]
            self.places[j, ~there] = -1.0
            self.ranks[j, sorted_rows(self.codes[j])] = np.arange(count)

    def widths(self, rows: Rows, starts: Rows) -> Array:
        """How wide each cluster is in each column; −1 where all its records are equal."""

        def across(held: Array) -> Array:
            taken = held[:, rows]
            return np.asarray(np.maximum.reduceat(taken, starts, axis=1) - np.minimum.reduceat(taken, starts, axis=1))

        return np.where(across(self.codes) > 0, across(self.places), -1.0)


def _partition(columns: Sequence[MetricColumn], k: int, cuts: Cuts, progress: Progress) -> Labels:
    """Cut until nothing can be cut: `rows` holds the records of one cluster after the other, which begin at `starts`."""
    if not columns:
        raise UsageError("records without columns", fix="name at least one column")
    count = len(columns[0].values)
    k = check_size(k, count)
    lines = _Lines(columns)
    labels = np.empty(count, dtype=np.int32)
    rows, starts, formed = np.arange(count), np.zeros(1, dtype=np.int64), 0
    while len(rows):
        sizes = np.diff(np.append(starts, len(rows)))
        lower = cuts(lines, rows, starts, sizes, k)
        widths = np.where(lower > 0, lines.widths(rows, starts), -1.0)
        across = widths.argmax(axis=0)
        cut = widths.max(axis=0) >= 0
        done = np.repeat(~cut, sizes)
        whole = np.cumsum(~cut) - 1 + formed
        labels[rows[done]] = np.repeat(whole, sizes)[done]
        formed += int(np.count_nonzero(~cut))
        below, above = lower[across, np.arange(len(across))][cut], sizes[cut]
        rows, cluster = rows[~done], np.repeat(np.arange(len(above)), above)
        rows = rows[np.argsort(cluster * count + lines.ranks[across[cut][cluster], rows])]
        starts = np.cumsum(np.stack([below, above - below], axis=1).ravel())
        starts = np.append(0, starts[:-1]) if len(starts) else starts
        progress(count - len(rows), count)
    return labels


def _halves(lines: _Lines, rows: Rows, starts: Rows, sizes: Rows, k: int) -> Rows:
    """Half of each cluster, the larger half below, in every column, where both have k."""
    del rows, starts
    return np.broadcast_to(np.where(sizes >= 2 * k, sizes - sizes // 2, 0), (len(lines.codes), len(sizes)))


def _between_values(lines: _Lines, rows: Rows, starts: Rows, sizes: Rows, k: int) -> Rows:
    """The cut nearest to the middle that parts no equal values and leaves k on each side, in each column."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    below = np.arange(1, len(rows) + 1) - starts[cluster]
    above = sizes[cluster] - below
    farness = 2 * np.abs(below - above) + (below < above)
    found = np.zeros((len(lines.codes), len(sizes)), dtype=np.int64)
    for j, codes in enumerate(lines.codes):
        ordered = codes[rows[np.argsort(cluster * codes.size + lines.ranks[j, rows])]]
        parted = np.append(ordered[1:] != ordered[:-1], False)
        far = np.where(parted & (below >= k) & (above >= k), farness, np.iinfo(np.int64).max)
        nearest = np.minimum.reduceat(far, starts)
        best = np.flatnonzero((far == nearest[cluster]) & (far < np.iinfo(np.int64).max))
        found[j, cluster[best]] = below[best]
    return found
