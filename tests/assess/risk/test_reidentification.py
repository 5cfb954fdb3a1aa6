"""The three attackers: by hand, as ARX defines them, and the order that must hold between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.risk.reidentification import journalist, marketer, population_uniques, prosecutor, sample_uniques
from shoal.errors import ParameterError
from tests.assess.risk.guideline import HIDDEN_CELLS, KEYS
from tests.assess.risk.test_class_sizes import tables


def test_the_prosecutor_by_the_definitions_of_arx():
    """ARX: highest risk 1 / smallest class; success rate classes / records; records at risk: those with 1/f above the threshold.

    The practice guide's ten records fall into 7 classes, 4 of them of one record.
    """
    found = prosecutor(KEYS, threshold=0.5)
    assert (found.largest.value, found.mean.value, found.at_risk.value) == (1.0, pytest.approx(0.7), 0.4)
    assert found.expected.value == pytest.approx(7)
    assert prosecutor(KEYS).at_risk.value == 1
    assert {one.kind for one in (found.largest, found.mean, found.at_risk, found.expected)} == {"exact"}
    assert "4 records" not in found.words()
    assert "strict" in found.words()
    assert found.to_json()["mean"]["value"] == found.mean.value


def test_the_journalist_by_the_definitions_of_arx():
    """Classes of 2 and 1 records in a population of 10 and 4: largest 1/4, mean (2/10 + 1/4) / 3."""
    found = journalist([[0], [0], [1]], [[0], [1], [2]], counts=[10, 4, 99])
    assert found.largest.value == 0.25
    assert found.mean.value == pytest.approx(0.15)
    assert found.at_risk.value == pytest.approx(1 / 3)
    assert marketer([[0], [0], [1]], [[0], [1], [2]], counts=[10, 4, 99]).value == found.mean.value


def test_lenient_matching_lowers_the_risk_and_is_named():
    strict, lenient = prosecutor(HIDDEN_CELLS), prosecutor(HIDDEN_CELLS, matching="lenient")
    assert strict.expected.value == pytest.approx(8)
    assert lenient.expected.value == pytest.approx(1 + 1 + 1 / 3 + 1 + 1 / 2 + 1 + 1 / 2 + 1)
    assert "matches anything" in lenient.mean.method
    assert sample_uniques(HIDDEN_CELLS).value == 6
    assert sample_uniques(HIDDEN_CELLS, matching="lenient").value == 3


def test_uniques_of_the_table_and_of_the_population():
    assert sample_uniques(KEYS).value == 4
    everybody = np.concatenate([KEYS, KEYS[[2, 4]]])
    assert population_uniques(KEYS, everybody).value == 2


@pytest.mark.slow
@given(tables(), tables(), st.sampled_from([0.1, 0.34, 1.0]))
def test_a_marketer_achieves_no_more_than_a_prosecutor_on_average_and_that_no_more_than_at_most(
    keys, others, threshold
):
    found = prosecutor(keys, threshold=threshold)
    outside = journalist(keys, np.concatenate([keys, others]), threshold=threshold)
    assert marketer(keys).value <= found.mean.value <= found.largest.value <= 1
    assert outside.mean.value <= found.mean.value + 1e-12
    assert outside.largest.value <= found.largest.value
    assert 0 <= outside.at_risk.value <= found.at_risk.value <= 1
    assert found.expected.value == pytest.approx(len(np.unique(keys, axis=0)))
    assert population_uniques(keys, keys).value == sample_uniques(keys).value


@pytest.mark.parametrize("threshold", [0, -1, 1.5, float("nan")])
def test_a_threshold_that_is_no_probability_is_refused(threshold):
    with pytest.raises(ParameterError):
        prosecutor([[0]], threshold=threshold)
