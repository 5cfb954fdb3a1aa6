"""Measured numbers: their intervals hold as often as they say, and their words tell facts from estimates."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from shoal.assess.quantity import Quantity, rate_bounds
from shoal.errors import ParameterError


def test_clopper_and_pearson():
    """Clopper and Pearson 1934: 0 of 20 at 95 % two-sided is at most .1684; 10 of 20 lies in .2720 to .7280."""
    assert rate_bounds(0, 20, 0.025) == (0.0, pytest.approx(0.1684, abs=5e-5))
    assert rate_bounds(10, 20, 0.025) == (pytest.approx(0.2720, abs=5e-5), pytest.approx(0.7280, abs=5e-5))
    assert rate_bounds(20, 20, 0.025) == (pytest.approx(0.8316, abs=5e-5), 1.0)


@pytest.mark.parametrize("true", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_an_interval_of_a_rate_holds_as_often_as_it_says_counted_over_every_outcome(true):
    trials = 60
    held = sum(
        float(binom.pmf(hits, trials, true))
        for hits in range(trials + 1)
        if (found := Quantity.of_rate(hits, trials, "m")).low <= true <= found.high
    )
    assert held >= 0.95


@pytest.mark.parametrize(("attack", "control"), [(0.3, 0.3), (0.6, 0.2), (0.05, 0.1), (0.9, 0.99), (0.99, 0.97)])
def test_an_excess_over_a_control_holds_at_its_level_counted_over_every_outcome(attack, control):
    trials, true, held = 30, max(-1.0, (attack - control) / (1 - control)), 0.0
    for own in range(trials + 1):
        for other in range(trials + 1):
            found = Quantity.of_rate(own, trials, "m").excess_over(Quantity.of_rate(other, trials, "m"), "excess")
            assert found.low <= found.value <= found.high
            if found.low <= true <= found.high:
                held += float(binom.pmf(own, trials, attack) * binom.pmf(other, trials, control))
    assert found.level == pytest.approx(0.9)
    assert held >= 0.9


def test_an_excess_over_a_control_that_always_succeeds_is_none():
    assert Quantity.fact(1.0, "m").excess_over(Quantity.fact(1.0, "m"), "excess").value == 0


def test_words_tell_facts_from_estimates_and_models():
    assert Quantity.fact(0.25, "largest 1/f").words() == "0.25 (exact: largest 1/f)"
    assert "0.95 interval" in Quantity.of_rate(1, 10, "m").words()
    assert "if the model holds" in Quantity(0.1, 0.0, 0.2, "model", "Pitman").words()
    assert "without an interval" in Quantity(0.1, None, None, "model", "Zayatz").words()
    assert Quantity(float("inf"), None, None, "model", "m").to_json()["value"] is None


@pytest.mark.parametrize(
    ("hits", "trials", "level"), [(3, 2, 0.95), (-1, 5, 0.95), (0, 0, 0.95), (1, 5, 1.0), (1, 5, 0)]
)
def test_rates_that_are_none_are_refused(hits, trials, level):
    with pytest.raises(ParameterError):
        Quantity.of_rate(hits, trials, "m", level)


def test_a_kind_that_is_none_is_refused():
    with pytest.raises(ParameterError, match="kind"):
        Quantity(0.1, 0.0, 0.2, "guess", "m")
