"""Changes of correlations: against NumPy, by hand, for what is missing or constant; averages over runs have intervals."""

from __future__ import annotations

import json
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.distortion.average import Average
from shoal.assess.distortion.correlation import correlation_change, correlations
from shoal.errors import DataError, ParameterError, UsageError


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


def test_an_average_has_students_interval():
    found = Average.of([1.0, 2.0, 3.0])
    assert (found.value, found.error) == (2.0, pytest.approx(1 / sqrt(3)))
    assert found.high - found.value == pytest.approx(4.302653 / sqrt(3), rel=1e-6)  # t at 0.975 with 2 degrees
    assert found.value - found.low == pytest.approx(found.high - found.value)
    one = Average.of([5.0])
    assert (one.low, one.high) == (-inf, inf)
    assert one.to_json()["high"] is None
    sure = Average.of([5.0], exact=True)
    assert (sure.low, sure.high, sure.method) == (5.0, 5.0, "exact")


def test_its_interval_covers_as_often_as_it_says():
    runs = np.random.default_rng(7).normal(3.0, 2.0, size=(2000, 5))
    found = [Average.of(row) for row in runs]
    covered = sum(one.low <= 3.0 <= one.high for one in found)
    assert 1850 < covered < 1950  # 1900 expected, 5 deviations are 49
    for factor in (0.7, 1.3):  # narrower and wider intervals are noticed
        share = sum(abs(one.value - 3.0) <= factor * (one.high - one.value) for one in found)
        assert not 1850 < share < 1950


def test_an_average_of_nothing():
    for numbers in ([], [1.0, inf]):
        with pytest.raises(DataError, match="no number of every run"):
            Average.of(numbers)
    with pytest.raises(ParameterError):
        Average.of([1.0, 2.0], level=1.0)
