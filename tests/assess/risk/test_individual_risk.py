"""The individual risk: sdcMicro's printed numbers, formulas by hand, integration, and the law of large numbers of a sample."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.risk.individual_risk import individual_risk, individual_risks, inverse_expectation
from shoal.errors import DataError
from tests.assess.risk.guideline import HIDDEN_CELLS, KEYS, WEIGHTS


def test_the_practice_guides_numbers():
    """Code 4.3: sdcInitial@risk$individual."""
    two, other = 0.005424520, 0.012563425
    printed = [two, two, 0.025096439, other, 0.028247279, other, 0.029010932, 0.025096439, 0.007403834, 0.007403834]
    assert individual_risks(KEYS, WEIGHTS) == pytest.approx(printed, abs=6e-10)
    found = individual_risk(KEYS, WEIGHTS, threshold=0.02)
    assert found.expected.value == pytest.approx(sum(printed), abs=1e-8)
    assert (found.largest.kind, found.at_risk.value) == ("model", 0.4)
    assert "Benedetti" in found.words()
    assert found.to_json()["expected"]["low"] is None


def test_francdat_of_sdcmicro():
    """The guidelines of sdcMicro, table of sample and population frequencies: risk to three digits."""
    keys = [
        [1, 2, 5, 1],
        [1, 2, 1, 1],
        [1, 2, 1, 1],
        [3, 3, 1, 5],
        [4, 3, 1, 4],
        [4, 3, 1, 1],
        [6, 2, 1, 5],
        [1, 2, 5, 1],
    ]
    weights = [18, 45.5, 39, 17, 541, 8, 5, 92]
    printed = [0.017, 0.022, 0.022, 0.177, 0.012, 0.297, 0.402, 0.017]
    assert individual_risks(keys, weights) == pytest.approx(printed, abs=6e-4)


def test_the_formulas_for_one_and_two_records():
    """Franconi and Polettini 2004: −p ln p / (1 − p), and p (1 − p + p ln p) / (1 − p)² for two."""
    for people in (2.0, 17.0, 1e6):
        p = 1 / people
        assert inverse_expectation(1, people) == pytest.approx(-p * math.log(p) / (1 - p), rel=1e-12)
        p = 2 / (2 * people)
        assert inverse_expectation(2, 2 * people) == pytest.approx(
            p * (1 - p + p * math.log(p)) / (1 - p) ** 2, rel=1e-9
        )


@pytest.mark.slow
@given(st.integers(1, 10**6), st.floats(1, 1e7))
def test_it_lies_between_the_naive_estimate_and_the_prosecutors(f, ratio):
    found = float(inverse_expectation(f, f * ratio)[0])
    assert 1 / (f * ratio) <= found * (1 + 1e-12)
    assert found <= 1 / f * (1 + 1e-12)


@pytest.mark.parametrize("ratio", [1.0, 1.5, 1.999, 2.001, 9.0, 1e3, 1e7])
@pytest.mark.parametrize("f", [1, 2, 7, 30, 31, 200])
def test_it_is_the_hypergeometric_function_to_twelve_digits(f, ratio):
    exact = float(mpmath.hyp2f1(1, 1, f + 1, 1 - mpmath.mpf(1) / ratio) / ratio / f)
    assert float(inverse_expectation(f, f * ratio)[0]) == pytest.approx(exact, rel=1e-12)


def test_it_is_the_mean_of_one_over_a_negative_binomial():
    draws = 3 + np.random.default_rng(5).negative_binomial(3, 0.1, 200_000)
    assert float(inverse_expectation(3, 30)[0]) == pytest.approx((1 / draws).mean(), rel=0.01)
    assert float(inverse_expectation(3, 27)[0]) != pytest.approx((1 / draws).mean(), rel=0.03)


def test_hidden_cells_that_match_anything_add_weights():
    found = individual_risks(HIDDEN_CELLS, WEIGHTS, matching="lenient")
    assert found[3] == pytest.approx(float(inverse_expectation(3, 76 + 76 + 215)[0]))


@pytest.mark.parametrize("weights", [[1], [1, 0.5], [[1, 1]], ["a", "b"], [1, float("nan")]])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(DataError):
        individual_risk([[0], [0]], weights)


def test_fewer_people_than_records_are_refused():
    with pytest.raises(DataError):
        inverse_expectation([3], [2])
