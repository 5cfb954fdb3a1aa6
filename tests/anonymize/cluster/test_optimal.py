"""The optimal partition of one column is optimal, against every partition there is."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster import ranking as univariate
from shoal.anonymize.cluster.mdav import mdav
from shoal.anonymize.cluster.ranking import optimal
from shoal.errors import DataError
from tests.anonymize.cluster.clouds import loss, paper_table


def error(values):
    """The squared error of one group, exactly."""
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    return sum((v - mean) ** 2 for v in exact)


def brute(values, k):
    """The least error over all partitions of the values into groups of at least k, neighbours or not, exactly."""
    values = tuple(values)

    @cache
    def best(left):
        if not left:
            return Fraction(0)
        first, others = left[0], left[1:]
        found = None
        for mask in range(1 << len(others)):
            group = (first, *(v for i, v in enumerate(others) if mask >> i & 1))
            rest = tuple(v for i, v in enumerate(others) if not mask >> i & 1)
            if len(group) < k or 0 < len(rest) < k:
                continue
            tail = best(rest)
            if tail is not None:
                total = error(group) + tail
                found = total if found is None else min(found, total)
        return found

    return best(values)


@pytest.mark.slow
@given(st.lists(st.integers(-9, 9) | st.integers(-1000, 1000), min_size=2, max_size=8), st.integers(2, 4))
def test_no_partition_is_better(values, k):
    k = min(k, len(values))
    labels = optimal(np.array(values, dtype=float), k)
    ours = sum(error([values[i] for i in np.flatnonzero(labels == g)]) for g in range(labels.max() + 1))
    assert ours == brute(values, k)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=80), st.integers(2, 9))
def test_sizes_order_and_offsets(values, k):
    k = min(k, len(values))
    column = np.array(values, dtype=float)
    labels = optimal(column, k)
    counts = np.bincount(labels)
    assert k <= counts.min() <= counts.max() <= 2 * k - 1
    in_rank = sorted(range(len(values)), key=lambda row: (values[row], row))
    assert (np.diff(labels[in_rank]) >= 0).all()
    assert optimal(column + 1e8, k).tolist() == labels.tolist()
    assert optimal(column[:, None] * 4, k).tolist() == labels.tolist()


@pytest.mark.slow
def test_the_compiled_search_is_the_plain_one(monkeypatch):
    column = np.random.default_rng(6).normal(size=3000).round(2)
    plain = optimal(column, 5).tolist()
    monkeypatch.setattr(univariate, "MUCH", 0)
    assert optimal(column, 5).tolist() == plain


@pytest.mark.slow
def test_better_than_mdav_on_every_census_column(shared_data):
    table = paper_table(shared_data, "census")
    for j in range(table.shape[1]):
        column = table[:, j : j + 1]
        assert loss(column, optimal(column, 5)) <= loss(column, mdav(column, 5)) + 1e-12


def test_one_column_only():
    with pytest.raises(DataError, match="optimal partition is of one column; got 2 columns; allowed: one; use 'mdav'"):
        optimal(np.zeros((4, 2)), 2)
