"""Anatomy: every eligible table is divided, no value twice in a group; runs of neighbours; what an intruder believes."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.anatomy import anatomize, confidential_runs, join_groups, join_runs, refuse_ineligible
from shoal.chance.source import Source
from shoal.errors import InfeasibleError

COUNTS = st.lists(st.integers(1, 12), min_size=2, max_size=8)


def shares(labels, values):
    """The largest share of a value in a group."""
    return max(
        Fraction(int(np.bincount(values[labels == one]).max()), int((labels == one).sum()))
        for one in set(labels.tolist())
    )


@given(COUNTS, st.integers(2, 6), st.integers(0, 9))
def test_an_eligible_table_is_divided_into_groups_of_different_values_and_no_other_is(counts, least, seed):
    values = np.repeat(np.arange(len(counts)), counts)
    if max(counts) * least > len(values):
        with pytest.raises(InfeasibleError, match=f"l up to {len(values) // max(counts)}"):
            anatomize(values, least, Source.seeded(seed))
        return
    labels = anatomize(values, least, Source.seeded(seed))
    sizes = np.bincount(labels)
    assert len(sizes) == len(values) // least
    assert least <= sizes.min()
    assert sizes.sum() == len(values)
    assert all(len(set(values[labels == one])) == size for one, size in enumerate(sizes))


@given(COUNTS, st.integers(2, 4), st.integers(1, 4), st.integers(0, 9))
def test_joined_groups_keep_the_share(counts, least, each, seed):
    values = np.repeat(np.arange(len(counts)), counts)
    if max(counts) * least > len(values) or len(values) // least < each:
        return
    labels = join_groups(anatomize(values, least, Source.seeded(seed)), each, Source.seeded(seed + 1))
    assert np.bincount(labels).min() >= each * least
    assert shares(labels, values) <= Fraction(1, least)


def test_the_value_that_just_fits_fits_and_one_more_does_not():
    refuse_ineligible(np.array([0] * 5 + [1, 2, 3, 4, 5]), 2)
    with pytest.raises(InfeasibleError, match="l = 2, and 6 of 11 records have one value"):
        refuse_ineligible(np.array([0] * 6 + [1, 2, 3, 4, 5]), 2)


class Drawn:
    """A source whose draws are given, so that all of them can be listed."""

    def __init__(self, ties, place):
        self.ties, self.place = ties, place

    def stream(self, _name):
        return self

    def permutation(self, count):
        return np.array(self.ties[:count])

    def integers(self, bound, size):
        return np.array([self.place * bound // 2] * size)


def plain(values, draw):
    return anatomize(values, 2, Drawn(*draw))


def neighbours(values, _draw):
    return confidential_runs(np.argsort(values, kind="stable"), 2)


ORDERS = list(permutations(range(5)))
DRAWS = [((2, 0, 1), 0), ((2, 0, 1), 1)]


def beliefs_are_shares(group, values, orders, draws):
    """Whether, by Bayes' rule over all assignments of values to five people, every belief is the share in the group."""
    total, held = Counter(), defaultdict(Counter)
    for assigned in set(permutations(values)):
        for order in orders:
            own = np.array([assigned[who] for who in order])
            for draw in draws:
                labels = group(own, draw)
                groups = [np.flatnonzero(labels == one).tolist() for one in set(labels.tolist())]
                shown = frozenset(
                    (frozenset(order[i] for i in rows), tuple(sorted(own[rows].tolist()))) for rows in groups
                )
                total[shown] += 1
                held[shown].update(enumerate(assigned))
    return all(
        Fraction(held[shown][who, value], often) == Fraction(entries.count(value), len(entries))
        for shown, often in total.items()
        for people, entries in shown
        for who in people
        for value in entries
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "values", "draws"), [(plain, (0, 0, 1, 1, 2), DRAWS), (neighbours, (0, 0, 0, 1, 1), [None])]
)
def test_whoever_knows_how_groups_are_made_believes_the_shares_and_no_more(group, values, draws):
    assert beliefs_are_shares(group, values, ORDERS, draws)
    assert not beliefs_are_shares(group, values, ORDERS[:1], draws)  # the impostor takes the file's order


# --- Algorithm 7.1 ---------------------------------------------------------------------------------------------------------


def literal(order, k):
    """SC13 Algorithm 7.1, line by line."""
    left, found = list(order), []
    while len(left) >= 3 * k:
        found.append(left[:k])
        left = left[k:]
        found.append(left[-k:])
        left = left[:-k]
    if len(left) >= 2 * k:
        found.append(left[:k])
        left = left[k:]
    found.append(left)
    return {frozenset(group) for group in found}


@given(st.integers(2, 60), st.integers(2, 7), st.integers(0, 9))
def test_runs_are_those_of_the_algorithm_line_by_line(records, k, seed):
    if records < k:
        return
    order = np.random.default_rng(seed).permutation(records)
    labels = confidential_runs(order, k)
    assert {frozenset(np.flatnonzero(labels == one).tolist()) for one in set(labels.tolist())} == literal(order, k)
    assert (np.diff(labels[order]) >= 0).all()
    assert np.bincount(labels).min() >= k


@given(st.lists(st.integers(0, 5), min_size=8, max_size=60), st.integers(2, 4), st.integers(2, 3))
def test_joined_runs_have_the_share_or_are_refused(values, k, least):
    held = np.array(values)
    labels = confidential_runs(np.argsort(held, kind="stable"), k)
    try:
        joined = join_runs(labels, held, least)
    except InfeasibleError:
        return
    assert shares(joined, held) <= Fraction(1, least)
    assert len(set(joined.tolist())) >= 2
    for one in set(labels.tolist()):
        assert len(set(joined[labels == one].tolist())) == 1
    order = np.argsort(labels, kind="stable")
    assert (np.diff(joined[order]) >= 0).all()


def test_runs_that_cannot_be_joined_are_refused():
    with pytest.raises(InfeasibleError, match="until one was left"):
        join_runs(np.array([0, 0, 1, 1]), np.array([1, 1, 2, 2]), 2)
