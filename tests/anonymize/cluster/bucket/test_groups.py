"""Records in groups: everybody in one, counts within their bounds, near records together, and what an intruder can conclude."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.bucket.counts import divide
from shoal.anonymize.cluster.bucket.distance import closeness
from shoal.anonymize.cluster.bucket.groups import near_groups, random_groups
from shoal.anonymize.kernel import remaining_points
from shoal.anonymize.kernel.remaining_points import FlatPoints, TreePoints


@given(
    st.integers(8, 60),
    st.integers(2, 6),
    st.sampled_from([Fraction(2), Fraction(3), Fraction(3, 2)]),
    st.integers(0, 99),
)
def test_everybody_stands_in_one_group_that_is_large_and_close_enough(records, k, t, seed):
    chance = np.random.default_rng(seed)
    buckets = np.unique(chance.integers(0, 3, records), return_inverse=True)[1].astype(np.int64)
    kinds = divide(np.bincount(buckets).tolist(), k, t)
    if kinds is None:
        return
    places = chance.integers(0, 4, (records, 2)).astype(float)  # many ties
    for labels in (near_groups(places, buckets, kinds), random_groups(buckets, kinds)):
        sizes = np.bincount(labels)
        assert sizes.min() >= k
        assert len(sizes) == records // k
        assert closeness(labels, buckets) <= t


def test_groups_are_alike_in_their_quasi_identifiers():
    chance = np.random.default_rng(5)
    places, buckets = chance.normal(size=(600, 3)), np.arange(600, dtype=np.int64) % 3
    kinds = divide([200, 200, 200], 6, Fraction(2))

    def spread(labels):
        means = np.stack([np.bincount(labels, column) / np.bincount(labels) for column in places.T], axis=1)
        return np.square(places - means[labels]).sum()

    assert spread(near_groups(places, buckets, kinds)) < 0.5 * spread(random_groups(buckets, kinds))


@pytest.mark.parametrize("kind", [FlatPoints, TreePoints])
def test_compiled_loops_give_the_same_groups(kind, monkeypatch):
    chance = np.random.default_rng(2)
    places, buckets = chance.integers(0, 6, (150, 3)).astype(float), chance.integers(0, 3, 150)
    kinds = divide(np.bincount(buckets).tolist(), 5, Fraction(5, 2))
    plain = near_groups(places, buckets, kinds)
    monkeypatch.setattr(remaining_points, "compile_kernel", lambda loop: loop)
    monkeypatch.setattr("shoal.anonymize.cluster.mdav.remaining_points", lambda points, _: kind(points))
    assert near_groups(places, buckets, kinds).tolist() == plain.tolist()


# --- what an intruder who repeats the grouping concludes -----------------------------------------------------------------

ORDERS = list(permutations(range(6)))
AGES = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])


def beliefs(group_by, orders):
    """For each published outcome, the belief that each person is in bucket 1: two of six are, all pairs and orders as likely."""
    kinds = divide([4, 2], 3, Fraction(1))
    total: Counter = Counter()
    held: dict[frozenset, Counter] = defaultdict(Counter)
    for pair in combinations(range(6), 2):
        buckets = np.array([who in pair for who in range(6)], dtype=np.int64)
        for order in orders:
            labels = group_by(AGES[list(order)], buckets[list(order)], kinds)
            groups = defaultdict(set)
            for who, label in zip(order, labels.tolist(), strict=True):
                groups[label].add(who)
            shown = frozenset(map(frozenset, groups.values()))  # each has one record of bucket 1
            total[shown] += 1
            held[shown].update(pair)
    return {shown: [Fraction(held[shown][who], total[shown]) for who in range(6)] for shown in total}


@pytest.mark.slow
def test_random_groups_tell_nothing_but_the_share_to_whoever_repeats_the_grouping():
    assert all(
        set(found) == {Fraction(1, 3)} for found in beliefs(lambda _, *rest: random_groups(*rest), ORDERS).values()
    )


@pytest.mark.slow
def test_near_groups_can_tell_everything_to_whoever_repeats_the_grouping():
    """The reason for the condition NOT_REPEATED, and the example of the proof page."""
    found = beliefs(near_groups, ORDERS[::24])
    assert 1 in found[frozenset({frozenset({0, 2, 3}), frozenset({1, 4, 5})})]
