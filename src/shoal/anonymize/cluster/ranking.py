"""Individual ranking: each column sorted by itself and cut into runs of k; the groups of one column ignore the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.mdav import Labels, checked, crowd
from shoal.errors import ParameterError

Rows = npt.NDArray[np.int64]
MANY = 1 << 14
"""Fewer rows than this are sorted by NumPy's stable sort."""


def sorted_rows(values: npt.NDArray[Any], *ties: npt.NDArray[Any]) -> Rows:
    """The rows by value; equal values by the columns `ties`, the first one first, and then by row.

    Many rows are sorted as whole numbers of 64 bits, which is faster than sorting places: the row stands in the last bits
    and as much of the value as there is room for in the first. Values that look alike so far are sorted again.
    """
    bits = max(1, len(values) - 1).bit_length()
    if len(values) < MANY or values.dtype != np.float64:
        return _again(np.argsort(values, kind="stable"), values, ties) if ties else np.argsort(values, kind="stable")
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
    return _again(order, values, ties, alike) if alike.any() else order


def _again(order: Rows, values: npt.NDArray[Any], ties: Sequence[npt.NDArray[Any]], alike: Any = None) -> Rows:
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


def runs(order: Rows, k: int) -> Labels:
    """Runs of k in this order; the rest joins the last, which so has k to 2k − 1."""
    groups = len(order) // k
    numbers = np.minimum(np.arange(len(order), dtype=np.int32) // np.int32(k), np.int32(groups - 1))
    labels = np.empty(len(order), dtype=np.int32)
    labels[order] = numbers
    return labels


def ranking(values: npt.ArrayLike, k: int | Sequence[int]) -> npt.NDArray[np.int32]:
    """The groups of each column, one column of labels each: runs of k in rank, numbered from the smallest values up.

    `k` is one number, or one for each column. Equal values are ranked by row. Cost: one sort for each column.
    """
    table = checked(values)
    wanted = list(k) if isinstance(k, Sequence) else [k] * table.shape[1]
    if len(wanted) != table.shape[1]:
        raise ParameterError(
            "another number of group sizes than columns", came=len(wanted), allowed=f"one, or {table.shape[1]}"
        )
    labels = np.empty(table.shape, dtype=np.int32, order="F")
    for j, size in enumerate(wanted):
        column = np.ascontiguousarray(table[:, j])
        labels[:, j] = runs(sorted_rows(column), crowd(size, len(table)))
    return labels
