"""The ratio distance between two distributions (SC13 Definition 15), exactly: the largest factor between two shares of one value.

It is a maximum over sets in the definition, and a maximum over single values here, which is the same (Proposition 10): the share
of a set is a sum, and a ratio of sums is at most the largest ratio of their terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError

Counts = npt.NDArray[np.signedinteger[Any]]


def ratio_distance(first: Sequence[int], second: Sequence[int]) -> Fraction | float:
    """The ratio distance of two distributions, given as how often each value occurs; infinite where one of them lacks a value.

    A value that occurs in neither counts for nothing, and two equal distributions are 1 apart.

    Raises     UsageError where they are not of the same values, a count is negative, or one of them has no records.

    >>> ratio_distance([4, 4, 4], [2, 1, 1])
    Fraction(3, 2)
    """
    one, other = [int(count) for count in first], [int(count) for count in second]
    if len(one) != len(other) or min([*one, *other], default=-1) < 0 or not sum(one) or not sum(other):
        raise UsageError("two lists that are not counts of the same values", allowed="as many counts, none negative")
    worst = Fraction(1)
    for here, there in zip(one, other, strict=True):
        if (here == 0) != (there == 0):
            return inf
        if here:
            share = Fraction(here * sum(other), there * sum(one))
            worst = max(worst, share, 1 / share)
    return worst


def closeness(labels: Counts, buckets: Counts) -> Fraction | float:
    """The largest ratio distance between the buckets of a group and those of all records: the t that the groups have reached.

    `labels` has the group of each record and `buckets` its bucket, both numbered 0, 1, 2, … without gaps.
    """
    groups, wide = int(labels.max()) + 1, int(buckets.max()) + 1
    pairs, counts = np.unique(labels.astype(np.int64) * wide + buckets, return_counts=True)
    if len(pairs) < groups * wide:  # told from what occurs, before a place is made for what could
        return inf
    totals = np.bincount(buckets).tolist()
    return max(ratio_distance(totals, row) for row in np.unique(counts.reshape(groups, wide), axis=0).tolist())
