"""Counts of groups: feasible exactly where a search over all counts finds some, and then filled within the bounds."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.bucket.counts import (
    balanced,
    bounds,
    divide,
    group_sizes,
    nearest_k,
    smallest_t,
)
from shoal.anonymize.cluster.bucket.distance import ratio_distance
from shoal.errors import ParameterError

TOTALS = st.lists(st.integers(1, 7), min_size=2, max_size=3)
RATIOS = st.fractions(1, 4, max_denominator=6)
SEVERAL = st.lists(st.integers(1, 90), min_size=2, max_size=6)


def sizes_of(records, k):
    """SC13 §7.2.2, group by group."""
    groups = records // k
    ends = [ceil(Fraction(i * records, groups)) for i in range(groups + 1)]
    return [b - a for a, b in pairwise(ends)]


def exists(totals, k, t):
    """Whether some counts keep every group within t: all of them are tried, by the distance alone."""
    sizes = sizes_of(sum(totals), k)

    @cache
    def fill(place, left):
        if place == len(sizes):
            return not any(left)
        return any(
            sum(own) == sizes[place]
            and all(own)
            and ratio_distance(totals, own) <= t
            and fill(place + 1, tuple(a - b for a, b in zip(left, own, strict=True)))
            for own in product(*(range(1, a + 1) for a in left))
        )

    return fill(0, tuple(totals))


@given(st.integers(1, 300), st.data())
def test_the_sizes_are_those_of_the_thesis(records, data):
    k = data.draw(st.integers(1, records))
    found = [size for size, many in group_sizes(records, k) for _ in range(many)]
    assert sorted(found) == sorted(sizes_of(records, k))
    assert min(found) >= k


@pytest.mark.slow
@given(TOTALS, st.integers(1, 6), RATIOS)
def test_counts_are_found_exactly_where_some_exist(totals, k, t):
    if k <= sum(totals):
        assert (divide(totals, k, t) is not None) == exists(totals, k, t)


@given(SEVERAL, st.integers(1, 40), st.fractions(1, 6, max_denominator=9), st.data())
def test_groups_can_take_whatever_lies_between_their_bounds(totals, k, t, data):
    records = sum(totals)
    kinds = divide(totals, k, t) if k <= records else None
    if kinds is None:
        return
    left = list(totals)
    for kind in kinds:
        rest = kind
        while rest.many:
            least, most = rest.take()
            own = list(least)
            while sum(own) < rest.size:  # any way to fill it will do
                own[data.draw(st.sampled_from([j for j in range(len(own)) if own[j] < most[j]]))] += 1
            assert ratio_distance(totals, own) <= t
            left = [a - b for a, b in zip(left, own, strict=True)]
            rest = rest.after(own)
    assert not any(left)


@given(SEVERAL, st.integers(1, 60), st.fractions(1, 6, max_denominator=9))
def test_balanced_counts_fill_every_group_and_use_every_record(totals, k, t):
    kinds = divide(totals, k, t) if k <= sum(totals) else None
    if kinds is None:
        return
    rows = [(kind.size, own) for kind in kinds for own in balanced(kind)]
    assert len(rows) == sum(totals) // k
    assert [sum(own[j] for _, own in rows) for j in range(len(totals))] == totals
    assert all(sum(own) == size >= k for size, own in rows)
    assert max(ratio_distance(totals, own) for own in {own for _, own in rows}) <= t
    for size in {size for size, _ in rows}:
        same = [own for other, own in rows if other == size]
        assert all(max(column) - min(column) <= 1 for column in zip(*same, strict=True))


def test_bounds_are_rounded_towards_each_other_without_floats():
    assert bounds(4, [4, 4, 4], Fraction(3, 2)) == ((1, 1, 1), (2, 2, 2))
    assert bounds(3, [6, 6], Fraction(6, 5)) == ((2, 2), (1, 1))
    large = 10**18
    low, high = bounds(3 * large, [large] * 3, Fraction(1))
    assert low == high == (large,) * 3


@given(SEVERAL, st.integers(2, 12), st.fractions(1, 5, max_denominator=7))
def test_bounds_are_those_of_the_definition(totals, size, t):
    low, high = bounds(size, totals, t)
    for total, a, b in zip(totals, low, high, strict=True):
        share = Fraction(size * total, sum(totals))
        assert (a, b) == (ceil(share / t), floor(share * t))


@given(st.lists(st.integers(1, 60), min_size=2, max_size=4), st.integers(1, 12))
def test_the_smallest_t_is_feasible_and_nothing_below_it_is(totals, k):
    if k > sum(totals):
        return
    t = smallest_t(totals, k)
    if t is None:
        assert divide(totals, k, Fraction(10**6)) is None
        return
    assert divide(totals, k, t) is not None
    if t > 1:
        assert divide(totals, k, max(Fraction(1), t - Fraction(1, 10**9))) is None


@given(st.lists(st.integers(1, 40), min_size=2, max_size=3), st.integers(2, 12), RATIOS)
def test_the_nearest_k_is_the_next_above_or_else_the_next_below(totals, k, t):
    records = sum(totals)
    if k > records:
        return
    feasible = [other for other in range(2, records // 2 + 1) if divide(totals, other, t) is not None]
    above, below = [other for other in feasible if other > k], [other for other in feasible if other < k]
    assert nearest_k(totals, k, t) == (min(above) if above else max(below, default=None))


def test_what_the_theory_says_is_infeasible_is_so_and_what_is_near_is_named():
    assert divide([50, 50], 3, Fraction(1)) is None
    assert divide([45, 45], 3, Fraction(6, 5)) is None
    assert divide([50, 50], 5, Fraction(6, 5)) is None
    assert nearest_k([48, 48], 3, Fraction(6, 5)) == 4
    assert smallest_t([45, 45], 3) == Fraction(3, 2)


@pytest.mark.parametrize("b", [3, 4, 5, 8])
def test_equal_buckets_always_have_counts_from_t_two_up(b):
    for t in (Fraction(b - 1), Fraction(2 * b - 1, 2)):
        assert all(divide([k * b] * b, k, t) is not None for k in range(b, 4 * b))


def test_a_size_beyond_the_records_is_refused():
    with pytest.raises(ParameterError):
        group_sizes(3, 4)
