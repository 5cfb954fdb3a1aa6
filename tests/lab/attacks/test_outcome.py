"""Outcomes by hand: advantage, excess, what a claim allows, and when it is contradicted."""

from __future__ import annotations

import json
import math

import pytest

from shoal.assess.quantity import Quantity
from shoal.errors import ParameterError
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.lab.attacks.outcome import (
    AttackOutcome,
    AttackResult,
    AttackSetting,
    compare,
    largest_advantage,
    largest_success,
)
from shoal.page.plots import render
from shoal.page.rates import draw_rates


def test_advantage_and_excess_are_those_of_the_rates():
    found = compare("raw", [True] * 9 + [False], [True] + [False] * 9)
    assert found.advantage.value == pytest.approx(0.8)
    assert found.excess.value == pytest.approx((0.9 - 0.1) / (1 - 0.1))
    assert found.advantage.low == pytest.approx(found.success.low - found.control.high)
    assert found.advantage.high == pytest.approx(found.success.high - found.control.low)
    assert found.advantage.level == pytest.approx(0.9)
    assert (found.success.level, found.success.kind) == (0.95, "estimate")


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.01), (3.0, 1e-6)])
def test_the_largest_advantage_is_the_best_point_under_both_constraints(epsilon, delta):
    controls = [step / 20_000 for step in range(20_001)]
    best = max(largest_success(control, epsilon, delta) - control for control in controls)
    assert best == pytest.approx(largest_advantage(epsilon, delta), abs=2e-4)
    assert largest_advantage(epsilon, delta) == pytest.approx(
        (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1)
    )


def test_a_claim_is_contradicted_only_beyond_both_intervals():
    always, never = [True] * 100, [False] * 100
    assert compare("broken", always, never, claim=PureDP(1)).contradicts
    assert not compare("broken", always, never, claim=PureDP(10)).contradicts
    assert not compare("broken", always, never).contradicts
    half = [True, False] * 50
    within = compare("kept", half, [True] * 30 + [False] * 70, claim=ApproxDP(1, "1e-6"))
    assert not within.contradicts
    assert compare("even", half, half).verdict() == "no success shown"
    assert compare("raw", always, never).verdict() == "succeeds"
    assert compare("broken", always, never, claim=PureDP(1)).verdict() == "contradicts its claim"


def test_settings_out_of_range_are_refused():
    for wrong in ({"rows": 10}, {"runs": 1}, {"seed": -1}, {"rows": 100.0}):
        with pytest.raises(ParameterError):
            AttackSetting(**{"rows": 100, "runs": 10, **wrong})


@pytest.fixture
def result():
    outcomes = (
        compare("raw rows", [True] * 20, [False] * 20, Quantity.fact(0.1, "guess")),
        AttackOutcome("ours", Quantity.of_rate(2, 20, "a"), Quantity.of_rate(1, 20, "b"), claim=ApproxDP(1, "1e-6")),
    )
    setting = AttackSetting(100, 20)
    return AttackResult("toy", "A title", "Nobody", "A game.", "A control.", outcomes, ("Because.",), setting)


def test_the_result_in_json_words_and_a_picture(result):
    fields = json.loads(json.dumps(result.to_json()))
    assert [one["succeeds"] for one in fields["outcomes"]] == [True, False]
    assert fields["outcomes"][1]["claim"] == {"epsilon": 1.0, "delta": 1e-6, "false": False}
    assert fields["generated"] is True
    assert any("raw rows: success 100 % (83.2 to 100), control 0 % (0 to 16.8)" in line for line in result.words())
    picture = result.picture()
    assert picture.lines[0].baseline == 0.1
    assert picture.lines[1].allowed == pytest.approx(largest_success(result.outcomes[1].control.high, 1.0, 1e-6))
    with pytest.raises(ParameterError, match="no such method"):
        result.outcome("nothing")


@pytest.mark.slow
def test_equal_pictures_have_equal_bytes(result):
    first, second = (render(draw_rates(result.picture()), "svg") for _ in range(2))
    assert first == second
    assert first.startswith(b"<?xml")
