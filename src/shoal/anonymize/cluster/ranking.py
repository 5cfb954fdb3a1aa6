"""Clusters of one column: individual ranking, and the optimal univariate partition.

Individual ranking sorts each column by itself and cuts it into runs of k; the clusters of one column ignore the others.
The optimal partition has the least squared error of all partitions of one column, by a shortest path (Hansen and
Mukherjee 2003).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.mdav import Labels, check_points, check_size
from shoal.compilation import compile_kernel, takes
from shoal.engine.runs import Rows, sorted_rows
from shoal.errors import DataError, ParameterError


def runs(order: Rows, k: int) -> Labels:
    """Runs of k in this order; the rest joins the last, which so has k to 2k − 1."""
    groups = len(order) // k
    numbers = np.minimum(np.arange(len(order), dtype=np.int32) // np.int32(k), np.int32(groups - 1))
    labels = np.empty(len(order), dtype=np.int32)
    labels[order] = numbers
    return labels


def ranking(values: npt.ArrayLike, k: int | Sequence[int]) -> npt.NDArray[np.int32]:
    """The clusters of each column, one column of labels each: runs of k in rank, numbered from the smallest values up.

    `k` is one number, or one for each column. Equal values are ranked by row. Cost: one sort for each column.

    Promise   every cluster of a column has at least k records; no privacy by itself.
    Requires  finite numbers; at least k records.
    Reads     each column by itself, and the order of the rows where values are equal.

    >>> ranking([[3.0], [1.0], [2.0], [9.0]], 2).ravel().tolist()
    [1, 0, 0, 1]
    """
    table = check_points(values)
    sizes = list(k) if isinstance(k, Sequence) else [k] * table.shape[1]
    if len(sizes) != table.shape[1]:
        raise ParameterError(
            "another number of group sizes than columns", came=len(sizes), allowed=f"one, or {table.shape[1]}"
        )
    labels = np.empty(table.shape, dtype=np.int32, order="F")
    for j, size in enumerate(sizes):
        column = np.ascontiguousarray(table[:, j])
        labels[:, j] = runs(sorted_rows(column), check_size(size, len(table)))
    return labels


# --- the optimal partition of one column ------------------------------------------------------------------------------

MUCH = 2_000_000
"""More steps than this are compiled."""


def is_long(count: int, k: int) -> bool:
    """Whether the shortest path for so many values in clusters of k is worth compiling."""
    return count * 2 * k > MUCH


@takes("float64[::1], int64")
def shortest_path(values: Any, k: int) -> Any:
    """Where the last cluster of the best partition of the first i sorted values begins, for each i.

    A best partition has clusters of k to 2k − 1 neighbours, so the arcs from i go to i + k, …, i + 2k − 1; the length of
    an arc is the squared error of its cluster, updated value by value around the running mean, which no offset disturbs.
    Of equally short paths the one with the larger last cluster is taken.
    """
    count = len(values)
    cost = np.full(count + 1, np.inf)
    came = np.zeros(count + 1, np.int64)
    cost[0] = 0.0
    for start in range(count - k + 1):
        if cost[start] == np.inf:
            continue
        mean, error = 0.0, 0.0
        base = values[start]
        for size in range(1, min(2 * k - 1, count - start) + 1):
            value = values[start + size - 1] - base
            step = value - mean
            mean += step / size
            error += step * (value - mean)
            if size >= k and cost[start] + error < cost[start + size]:
                cost[start + size] = cost[start] + error
                came[start + size] = start
    return came


def optimal(values: npt.ArrayLike, k: int) -> Labels:
    """The partition of one numeric column with the least squared error of all whose clusters have at least k records.

    Clusters are neighbours in rank, numbered from the smallest values up, each with k to 2k − 1 records; equal values are
    ranked by row. Cost: sorting, and 2k steps for each record.

    Promise   every cluster has at least k records; no privacy by itself.
    Requires  one column of finite numbers; at least k records.
    Reads     the column, and the order of the rows where values are equal.

    >>> optimal([1.0, 2.0, 3.0, 90.0, 91.0], 2).tolist()
    [0, 0, 0, 1, 1]
    """
    table = check_points(values)
    if table.shape[1] != 1:
        raise DataError(
            "the optimal partition is of one column",
            came=f"{table.shape[1]} columns",
            allowed="one",
            fix="use 'mdav' for records of several columns, or take each column by itself",
        )
    k = check_size(k, len(table))
    order = sorted_rows(table[:, 0])
    ranked = table[order, 0]
    search: Callable[..., Any] = compile_kernel(shortest_path) if is_long(len(ranked), k) else shortest_path
    came = search(ranked, k)
    ends = [len(ranked)]
    while ends[-1] > 0:
        ends.append(int(came[ends[-1]]))
    sizes = -np.diff(ends)[::-1]
    labels = np.empty(len(ranked), dtype=np.int32)
    labels[order] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return labels
