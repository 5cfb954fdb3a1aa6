"""The centre of each group: mean, median, mode, or the least marginal concept of a taxonomy; one value for each record.

`labels` is a partition: the group of each record, groups numbered 0, 1, 2, … without gaps. Every function gives an array as long
as the column, in which the records of a group show the same value.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.taxonomy import Taxonomy
from shoal.errors import DataError, UsageError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.signedinteger[Any]]
LARGE = 1e280
"""Sums of larger numbers may be beyond a float."""


def sizes(values: Array, labels: Labels) -> npt.NDArray[np.int64]:
    """The size of each group, after a look at whether labels and values fit together."""
    if labels.ndim != 1 or labels.shape != values.shape:
        raise UsageError(
            "labels and values do not fit together",
            came=f"shapes {labels.shape} and {values.shape}",
            allowed="one label for each value of a column",
        )
    counts = np.bincount(labels) if not len(labels) or labels.min() >= 0 else np.zeros(1, dtype=np.int64)
    if not counts.all():
        raise UsageError("groups are not numbered 0, 1, 2, … without gaps", fix="number them as they are formed")
    return counts


def mean(values: Array, labels: Labels) -> Floats:
    """The mean of each group, from an exact sum that is rounded once, and then from the sum of what is left over.

    Preserves the column's mean, up to the rounding of a float. Exact sums have no order, so the order of the rows does not
    show in the last digit.
    """
    counts = sizes(values, labels)
    numbers = _numbers(values)
    if not len(numbers):
        return numbers
    down = 64 if np.abs(numbers).max() > LARGE else 0  # so that no sum is infinite
    small, order, ends = np.ldexp(numbers, -down), np.argsort(labels, kind="stable"), np.cumsum(counts).tolist()

    def means(column: Floats) -> Floats:
        held = column[order].tolist()
        return np.array([fsum(held[start:end]) for start, end in pairwise([0, *ends])]) / counts

    first = means(small)
    return np.asarray(np.ldexp(first + means(small - first[labels]), down)[labels])


def median(values: Array, labels: Labels) -> Floats:
    """The median of each group; between two middle values, halfway."""
    counts = sizes(values, labels)
    numbers = _numbers(values)
    ranked = numbers[np.lexsort((numbers, labels))]
    first = np.cumsum(counts) - counts
    lower, upper = ranked[first + (counts - 1) // 2], ranked[first + counts // 2]
    return np.asarray((lower + (upper - lower) / 2)[labels])


def mode(values: Array, labels: Labels) -> Array:
    """The most frequent value of each group; of equally frequent ones the smallest."""
    counts = sizes(values, labels)
    if not len(values):
        return values
    known, codes = np.unique(values, return_inverse=True)
    pairs, often = np.unique(labels.astype(np.int64) * len(known) + codes, return_counts=True)
    order = np.lexsort((pairs % len(known), -often, pairs // len(known)))
    groups = pairs[order] // len(known)
    best = order[np.searchsorted(groups, np.arange(len(counts)))]
    return np.asarray(known[(pairs[best] % len(known))[labels]])


def concept(values: Array, labels: Labels, taxonomy: Taxonomy) -> Array:
    """The least marginal concept of each group (SC13 Eq 6.4), of its values and what lies between them in the taxonomy.

    It reads the group, so it promises nothing by itself. The alphabet breaks ties.
    """
    counts = sizes(values, labels)
    held: list[Counter[str]] = [Counter() for _ in counts]
    for label, value in zip(labels.tolist(), values.tolist(), strict=True):
        held[label][value] += 1
    known: dict[tuple[tuple[str, int], ...], str] = {}
    shown = np.empty(len(counts), dtype=object)
    for group, sample in enumerate(held):
        content = tuple(sorted(sample.items()))
        if content not in known:
            known[content] = taxonomy.centroid(dict(content))
        shown[group] = known[content]
    return np.asarray(shown[labels])


def _numbers(values: Array) -> Floats:
    """A column of finite numbers."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the values are not numbers", allowed="numbers", fix="use the mode, or a taxonomy") from None
    if not np.isfinite(numbers).all():
        raise DataError("values are missing or infinite", allowed="finite numbers", fix="leave those records out")
    return numbers
