"""Individual ranking: runs of k in rank, a k for each column, ties by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.clustering import microaggregate
from shoal.anonymize.cluster.columns import NominalColumn, OrdinalColumn
from shoal.anonymize.cluster.ranking import ranking, runs
from shoal.data.taxonomy import Taxonomy
from shoal.engine.runs import MANY, sorted_rows
from shoal.errors import InfeasibleError, ParameterError, UsageError
from tests.anonymize.cluster.clouds import tables_and_k


@given(tables_and_k())
def test_each_column_is_cut_into_runs(given_):
    table, k = given_
    labels = ranking(table, k)
    assert labels.shape == table.shape
    assert labels.dtype == np.int32
    for j in range(table.shape[1]):
        counts = np.bincount(labels[:, j])
        assert (counts[:-1] == k).all()
        assert k <= counts[-1] < 2 * k
        in_rank = sorted(range(len(table)), key=lambda row, j=j: (table[row, j], row))
        assert (np.diff(labels[in_rank, j]) >= 0).all()


@pytest.mark.slow
@given(st.lists(st.integers(0, 3), max_size=200), st.lists(st.integers(0, 1), min_size=200, max_size=200))
def test_rows_are_sorted_by_value_then_ties_then_row(values, second):
    values, second = np.array(values, dtype=float), np.array(second[: len(values)])
    assert sorted_rows(values).tolist() == sorted(range(len(values)), key=lambda row: (values[row], row))
    by_both = sorted(range(len(values)), key=lambda row: (values[row], -second[row], row))
    assert sorted_rows(values, -second).tolist() == by_both


def test_packed_numbers_sort_as_the_values_do():
    rng = np.random.default_rng(4)
    normal = rng.normal(size=MANY + 3)
    second = rng.integers(0, 3, len(normal))
    columns = [
        *(normal.round(digits) for digits in (9, 3, 1, 0)),
        *(normal * factor + offset for factor, offset in ((1, 0), (1e-7, 1e8), (1e-300, 0), (1e300, 0))),
        np.exp(20 * normal),
        np.where(normal > 0, 0.0, -0.0),
        np.where(normal > 0, -1.7e308, 1.7e308),
        np.sort(normal)[::-1].copy(),
    ]
    for values in columns:
        assert np.array_equal(sorted_rows(values), np.argsort(values, kind="stable"))
        assert np.array_equal(sorted_rows(values, second), np.lexsort((second, values)))


def test_a_k_for_each_column():
    table = np.arange(24.0).reshape(12, 2)
    labels = ranking(table, [2, 5])
    assert np.bincount(labels[:, 0]).tolist() == [2] * 6
    assert np.bincount(labels[:, 1]).tolist() == [5, 7]
    with pytest.raises(ParameterError, match="another number of group sizes than columns; got 3; allowed: one, or 2"):
        ranking(table, [2, 3, 4])
    with pytest.raises(InfeasibleError, match="12 records and k = 13"):
        ranking(table, [2, 13])


def test_ordinal_columns_have_ranks_and_nominal_ones_do_not():
    values = np.array(["low", "high", "mid", "low", "high", "mid"], dtype=object)
    ordered = [OrdinalColumn(values, "grade", levels=("low", "mid", "high"))]
    assert microaggregate(ordered, 2, "ranking").ravel().tolist() == [0, 2, 1, 0, 2, 1]
    flat = [NominalColumn(values, "grade", taxonomy=Taxonomy.of({"any": ["low", "mid", "high"]}))]
    with pytest.raises(UsageError, match="nominal column has no ranks"):
        microaggregate(flat, 2, "ranking")


def test_the_rest_joins_the_last_run():
    assert runs(np.arange(8), 3).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
