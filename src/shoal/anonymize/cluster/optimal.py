"""The best groups of one column: least squared error of all partitions, by a shortest path (Hansen, Mukherjee 2003)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.mdav import Labels, checked, crowd
from shoal.anonymize.cluster.ranking import sorted_rows
from shoal.anonymize.kernel.mdav import compiled
from shoal.errors import DataError

MUCH = 2_000_000
"""More steps than this are compiled."""


def shortest(values: Any, k: int) -> Any:
    """Where the last group of the best partition of the first i sorted values begins, for each i.

    A best partition has groups of k to 2k − 1 neighbours, so the arcs from i go to i + k, …, i + 2k − 1; the length of
    an arc is the squared error of its group, updated value by value around the running mean, which no offset disturbs.
    Of equally short paths the one with the larger last group is taken.
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
    """The partition of one numeric column with the least squared error of all whose groups have at least k records.

    Groups are neighbours in rank, numbered from the smallest values up, each with k to 2k − 1 records; equal values are
    ranked by row. Cost: sorting, and 2k steps for each record.
    """
    table = checked(values)
    if table.shape[1] != 1:
        raise DataError(
            "the optimal partition is of one column",
            came=f"{table.shape[1]} columns",
            allowed="one",
            fix="use 'mdav' for records of several columns, or take each column by itself",
        )
    k = crowd(k, len(table))
    order = sorted_rows(table[:, 0])
    ranked = table[order, 0]
    search: Callable[..., Any] = compiled(shortest) if len(ranked) * 2 * k > MUCH else shortest
    came = search(ranked, k)
    ends = [len(ranked)]
    while ends[-1] > 0:
        ends.append(int(came[ends[-1]]))
    sizes = -np.diff(ends)[::-1]
    labels = np.empty(len(ranked), dtype=np.int32)
    labels[order] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return labels
