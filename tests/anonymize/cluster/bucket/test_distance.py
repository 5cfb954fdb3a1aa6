"""The ratio distance: what the definition says of sets, computed by single values; exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.bucket.distance import closeness, ratio_distance
from shoal.errors import UsageError

TWO = st.integers(1, 5).flatmap(
    lambda wide: st.tuples(*[st.lists(st.integers(0, 6), min_size=wide, max_size=wide)] * 2)
)


def of_sets(first, second):
    """Definition 15, set by set: zero where both are zero, infinite where one is."""
    worst = Fraction(0)
    for size in range(1, len(first) + 1):
        for chosen in combinations(range(len(first)), size):
            p, q = (Fraction(sum(own[i] for i in chosen), sum(own)) for own in (first, second))
            if (p == 0) != (q == 0):
                return inf
            worst = max(worst, p / q, q / p) if p else worst
    return worst


@given(TWO)
def test_single_values_suffice(pair):
    first, second = pair
    if sum(first) and sum(second):
        assert ratio_distance(first, second) == ratio_distance(second, first) == of_sets(first, second)
    else:
        with pytest.raises(UsageError):
            ratio_distance(first, second)


def test_the_thesis_example_is_exactly_one_and_a_half():
    assert ratio_distance([4, 4, 4], [2, 1, 1]) == Fraction(3, 2)
    assert ratio_distance([4, 4, 4], [1, 1, 1]) == 1
    assert ratio_distance([1] * 12, [1] * 4 + [0] * 8) == inf


@pytest.mark.parametrize(("first", "second"), [([1, 2], [1]), ([1, -1], [1, 1]), ([], [])])
def test_what_are_not_counts_of_the_same_values_is_refused(first, second):
    with pytest.raises(UsageError):
        ratio_distance(first, second)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30))
def test_the_closeness_of_groups_is_that_of_the_farthest(rows):
    labels, buckets = (np.unique([row[i] for row in rows], return_inverse=True)[1] for i in (0, 1))
    totals = np.bincount(buckets)
    each = [ratio_distance(totals, np.bincount(buckets[labels == one], minlength=len(totals))) for one in set(labels)]
    assert closeness(labels, buckets) == max(each)
