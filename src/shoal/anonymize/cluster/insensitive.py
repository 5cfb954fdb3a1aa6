"""Insensitive clusters: the k smallest of what is left, by total orders that are fixed in advance (SC13 §6.2–6.3).

The sequence of orders depends on the declared domains alone, and an order on a record's own values alone; so replacing one
record changes each cluster by at most one record (Prop 7). Orders are by the distance of Eq 6.7 to corners of the domain;
records equally far are ordered by their values, column after column, and equal records by row. Distances are rounded to floats,
which is part of the order's definition and depends on nothing but the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from shoal.anonymize.cluster.columns import Array, Floats, MetricColumn
from shoal.anonymize.cluster.mdav import Labels, check_size, no_progress
from shoal.anonymize.cluster.ranking import runs
from shoal.engine.runs import Rows, sorted_rows
from shoal.errors import ParameterError, UsageError
from shoal.progress import Progress

Corner = tuple[bool, ...]
MOST = 64
"""The most corners in turn: each costs one sorted list of all records."""


def corners(width: int) -> Iterator[Corner]:
    """The corners of the domain in their fixed sequence: True is the upper boundary of a column.

    SC13 §6.3.3: the first is the lower corner; the next is, of those not taken yet, the one that differs in the most columns from
    the last, then from the one before, and so on; here also then in the first columns. So every second corner is opposite
    to the one before, and between pairs one column changes: a Gray code, which needs no search among the 2^width.
    """
    for step in range(1 << max(0, width - 1)):
        gray = step ^ (step >> 1)
        corner = tuple(bool(gray >> j & 1) for j in range(width))
        yield corner
        yield tuple(not side for side in corner)


def insensitive(
    columns: Sequence[MetricColumn], k: int, *, turns: int | None = None, progress: Progress = no_progress
) -> Labels:
    """Insensitive microaggregation, SC13 Alg 6.1: cluster i is the k smallest of what is left by order i; the rest is last.

    `turns` is how many corners take turns: 1 is a single order (Prop 6), which sorts once; by default all corners, up to
    64. Every cluster has k records but the last, which has k to 2k − 1.

    Promise   replacing one record changes each cluster by at most one record (SC13 Prop 7); no privacy by itself.
    Requires  domains that were declared: bounds, lists of values, taxonomies.
    Reads     the values of the columns; of the order of rows only which of equal records comes first.
    Cost      one sort and one list of rows for each corner.
    """
    if not columns:
        raise UsageError("records without columns", fix="name at least one column")
    every = 1 << min(len(columns), 30)
    turns = min(every, MOST) if turns is None else turns
    if isinstance(turns, bool) or not 1 <= turns <= min(every, MOST):
        raise ParameterError(
            "the number of corners is wrong", came=turns, allowed=f"1 to {min(every, MOST)} for {len(columns)} columns"
        )
    k = check_size(k, len(columns[0].values))
    ties = [column.order() for column in columns]
    if turns > 1 and len(ties) > 1:
        ties = [_joint_rank(ties)]
    orders = [_rank(columns, corner, ties) for corner in islice(corners(len(columns)), turns)]
    return runs(orders[0], k) if turns == 1 else in_turns(orders, k, progress=progress)


def single_order(columns: Sequence[MetricColumn]) -> list[Floats]:
    """What records are sorted by, each by itself, where the lower corner alone is the order: its distance, then their values."""
    corner = next(corners(len(columns)))
    return [_distance(columns, corner), *(np.asarray(column.order(), dtype=np.float64) for column in columns)]


def _rank(columns: Sequence[MetricColumn], corner: Corner, ties: Sequence[Array]) -> Rows:
    """The rows by their distance to a corner, and by `ties` where that is the same."""
    return sorted_rows(_distance(columns, corner), *ties)


def _distance(columns: Sequence[MetricColumn], corner: Corner) -> Floats:
    """The square of the distance of each record from a corner."""
    total = np.zeros(len(columns[0].values))
    for column, upper in zip(columns, corner, strict=True):
        reach = column.end(upper)
        total += reach * reach
    return total


def _joint_rank(ties: Sequence[Array]) -> Array:
    """Numbers that order the rows as all these columns do, the first one first: equal where all of them are."""
    order = np.lexsort(tuple(reversed(ties)))
    rises = np.zeros(len(order), dtype=np.bool_)
    for column in ties:
        ranked = column[order]
        rises[1:] |= ranked[1:] != ranked[:-1]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.cumsum(rises)
    return ranks


def in_turns(orders: Sequence[Rows], k: int, *, progress: Progress = no_progress) -> Labels:
    """The next k records of each order in turn that no cluster has yet; fewer than 2k at the end are the last cluster."""
    count = len(orders[0])
    labels = np.full(count, -1, dtype=np.int32)
    starts = [0] * len(orders)
    groups = count // k
    for group in range(groups - 1):
        turn = group % len(orders)
        order, start, wide = orders[turn], starts[turn], 2 * k
        while True:
            free = np.flatnonzero(labels[order[start : start + wide]] < 0)
            if len(free) >= k:
                break
            if not len(free):
                start += wide
            else:
                wide *= 2
        labels[order[start + free[:k]]] = group
        starts[turn] = start + int(free[k - 1]) + 1
        if group % 1024 == 0:
            progress(group * k, count)
    labels[labels < 0] = groups - 1
    progress(count, count)
    return labels
