"""Changes of correlations: against NumPy, by hand, for what is missing or constant."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.distortion.correlation import correlation_change, correlations
from shoal.errors import DataError, UsageError


@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.integers(2, 5), st.sampled_from([0.0, 1e8]))
def test_correlations_are_numpys(seed, rows, width, offset):
    table = np.random.default_rng(seed).normal(size=(rows, width))
    assert correlations(table + offset) == pytest.approx(np.corrcoef(table.T), abs=1e-6)


def test_pairs_to_the_confidential_attributes_count_once():
    random = np.random.default_rng(1)
    before, after = random.normal(size=(30, 4)), random.normal(size=(30, 4))
    found = correlation_change(before, after, confidential=["3", "4"])
    gaps = np.abs(np.corrcoef(after.T) - np.corrcoef(before.T))
    expected = [gaps[i, j] for i, j in [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]]
    assert found.mean == pytest.approx(np.mean(expected))
    assert found.deviation == pytest.approx(np.std(expected))
    assert found.largest == pytest.approx(max(expected))
    assert (len(found.differences), found.undefined_pairs) == (5, 0)
    assert len(correlation_change(before, after).differences) == 6


def test_the_order_of_rows_is_nothing_to_it():
    table = np.random.default_rng(2).normal(size=(20, 3))
    assert correlation_change(table, table[::-1]).largest < 1e-12


def test_a_column_that_does_not_vary_has_none():
    found = correlation_change({"a": [1, 2, 3], "b": [2, 1, 5]}, {"a": [2, 2, 2], "b": [2, 1, 5]})
    assert (found.mean, found.deviation, found.largest, found.undefined_pairs) == (None, None, None, 1)
    assert found.to_json()["after"] == [[None, None], [None, pytest.approx(1.0)]]
    assert "No pair" in found.words()


def test_missing_cells_leave_out_their_record_in_their_pairs():
    table = np.array([[1.0, 2.0, np.nan], [2.0, 1.0, 4.0], [4.0, 6.0, 1.0], [np.nan, 9.0, 2.0], [3.0, 3.0, 3.0]])
    found = correlations(table)
    assert found[0, 1] == pytest.approx(np.corrcoef(table[[0, 1, 2, 4], 0], table[[0, 1, 2, 4], 1])[0, 1])
    assert found[0, 2] == pytest.approx(np.corrcoef(table[[1, 2, 4], 0], table[[1, 2, 4], 2])[0, 1])
    assert np.isnan(correlations(np.array([[1.0, np.nan], [np.nan, 2.0]]))).all()


def test_names_are_left_out_and_refused_as_confidential():
    table = {"a": [1, 2, 3], "s": ["x", "y", "x"], "b": [3, 1, 2]}
    assert correlation_change(table, table).attributes == ("a", "b")
    with pytest.raises(UsageError, match="names have no correlation; got s"):
        correlation_change(table, table, ["s"])
    with pytest.raises(UsageError, match="no such columns; got z"):
        correlation_change(table, table, ["z"])
    with pytest.raises(DataError, match="two columns"):
        correlation_change([1, 2], [1, 2])


def test_json_is_plain_and_says_exact():
    table = np.random.default_rng(3).normal(size=(9, 3))
    found = correlation_change(table, table + 1).to_json()
    assert json.loads(json.dumps(found)) == found
    assert found["exact"] is True
