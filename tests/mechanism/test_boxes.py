"""The setting of box means: the cost of a halving tree, enumerated and attained, and settings that keep what they promise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError, PreconditionError, ShoalError, UsageError
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.boxes import BoxAttribute, BoxSetting, halving_cost, solve_boxes

ROW = Unit.row("add_remove")
PAY, TAX = BoxAttribute("pay", "ordered", 1001), BoxAttribute("tax", "ordered", 501)
WORK, SEX = BoxAttribute("work", "nominal", 7), BoxAttribute("sex", "nominal", 2)


def solve(epsilon="1", attributes=(PAY, TAX), unit=ROW) -> BoxSetting:
    return solve_boxes(epsilon, attributes=attributes, unit=unit)


# --- the cost of a tree ---------------------------------------------------------------------------------------------------


def divided(score: int, scale: float) -> float:
    """The probability that a box with this score is divided."""
    p = math.exp(-1 / scale)
    return p ** (1 - score) / (1 + p) if score <= 0 else 1 - p**score / (1 + p)


def log_probabilities(records: tuple[int, ...], scale: float, bias: int, threshold: int) -> dict[tuple, float]:
    """The logarithm of the probability of every tree that halves the points 0, …, 7, for records at some of them."""

    @cache
    def below(low: int, high: int, depth: int) -> dict[tuple, float]:
        if high - low == 1:
            return {(): 0.0}
        count = sum(low <= each < high for each in records)
        chance = divided(max(count - depth * bias - threshold, -bias), scale)
        middle = (low + high) // 2
        found = {(): math.log1p(-chance)}
        for left, first in below(low, middle, depth + 1).items():
            for right, second in below(middle, high, depth + 1).items():
                found[left, right] = math.log(chance) + first + second
        return found

    return below(0, 8, 0)


@pytest.mark.parametrize(
    ("scale", "bias", "threshold"), [(2.0, 1, 0), (3.0, 2, 1), (1.3, 1, 0), (5.0, 4, 2), (0.4, 1, 1)]
)
def test_no_tree_is_more_likely_by_more_than_the_cost(scale, bias, threshold):
    most, cost = 0.0, float(halving_cost(str(scale), bias))
    tables = [
        (),
        (0,),
        (7,),
        *(tuple([at] * times) for at in (0, 5) for times in range(1, 9)),
        (0, 0, 3, 5),
        (1, 1, 1, 6),
    ]
    for records in tables:
        before = log_probabilities(records, scale, bias, threshold)
        assert math.isclose(sum(map(math.exp, before.values())), 1)
        for more in (0, 3, 5):
            after = log_probabilities((*records, more), scale, bias, threshold)
            assert before.keys() == after.keys()
            most = max(most, *(abs(after[tree] - before[tree]) for tree in before))
    assert 0.9 / scale < most <= cost


def test_the_cost_is_attained_by_equal_records_in_deep_trees():
    scale, bias, levels = 3.0, 2, 40
    path = [max((levels - 1 - depth) * bias, -bias) for depth in range(levels + 1)]
    ratio = sum(math.log(divided(score + 1, scale) / divided(score, scale)) for score in path)
    cost = float(halving_cost(3, bias))
    assert cost * (1 - 1e-9) < ratio <= cost


def test_the_cost_is_below_that_of_the_paper():
    """PrivTree: 3 / lambda at a bias of lambda ln 2; exactly it is 2.607 / lambda."""
    assert float(halving_cost(10_000, 6931)) * 10_000 == pytest.approx(2.6067, abs=2e-3)


@given(st.fractions(Fraction(1, 20), 2000), st.integers(1, 3000))
def test_the_cost_is_the_sum_that_is_stated(scale, bias):
    p = math.exp(-1 / scale)
    terms = (math.log1p(p ** (i * bias) * -math.expm1(-1 / scale) / (1 + p - p ** (i * bias))) for i in range(1, 4000))
    least = 2 / float(scale) + math.fsum(terms)
    cost = float(halving_cost(scale, bias))
    rest = p ** (4000 * bias)
    assert least * (1 - 1e-11) <= cost <= (least + rest / (1 + p - rest)) * (1 + 1e-9)


@pytest.mark.parametrize(("scale", "bias"), [(0, 1), (-1, 1), (1, 0), (1, -1), (1, 1.5), (1, True)])
def test_noise_that_is_none_has_no_cost(scale, bias):
    with pytest.raises(ShoalError):
        halving_cost(scale, bias)


# --- settings -------------------------------------------------------------------------------------------------------------


@given(
    st.fractions(Fraction(1, 10**4), 200),
    st.sampled_from([(PAY,), (PAY, TAX), (PAY, WORK), (WORK, SEX), (SEX,)]),
    st.sampled_from(
        [ROW, Unit.row("replace_one"), Unit.person("who", 3, "add_remove"), Unit.person("who", 2, "replace_one")]
    ),
)
def test_a_setting_costs_what_was_asked_for(epsilon, attributes, unit):
    setting = solve(epsilon, attributes, unit)
    assert setting.cost == setting.row_epsilon == epsilon / unit.steps
    assert halving_cost(setting.scale, setting.bias) <= setting.tree_epsilon
    assert compose(setting.parts).epsilon_at(0) == pytest.approx(float(epsilon))
    assert setting.claimed == PureDP(epsilon)
    # Little is left over: a hundredth less noise would cost more than the tree may.
    assert halving_cost(setting.scale * Fraction(99, 100), setting.bias) > setting.tree_epsilon


def test_what_a_setting_saves():
    saved = solve("1", (PAY, WORK, SEX)).to_saved()
    assert saved["row_epsilon"] == "1"
    assert saved["tree"] == {"epsilon": "0.2", "scale": "13.0578", "bias": 9, "threshold": 5}
    assert saved["values"] == {"epsilon": "0.1", "attributes": ["work"]}
    assert saved["means"] == {"epsilon": "0.7", "numbers": 4, "side": 1024, "inner": 512}
    assert [each["kind"] for each in saved["attributes"]] == ["ordered", "nominal", "nominal"]
    assert solve().to_saved()["values"] is None


def test_theorems_lead_to_the_unit():
    assert solve().theorems == ("halving-tree", "box-means", "staircase-box")
    assert solve(unit=Unit.person("who", 2, "replace_one")).theorems[3:] == ("group-privacy", "replace-one")


def test_errors_that_are_expected():
    setting = solve()
    # About sqrt((d + 1)(d + 2) / 3) / epsilon for d = 3 numbers at 0.8.
    assert setting.deviation == pytest.approx(math.sqrt(20 / 3) / 0.8, rel=0.01)
    assert setting.deviation < setting.half_width < 3 * setting.deviation
    chance = divided(int(setting.scores(setting.records_to_divide(3), 3)), float(setting.scale))
    assert 0.95 <= chance < 0.98


@pytest.mark.parametrize(
    "changed",
    [
        {"scale": Fraction(12)},
        {"bias": 8},
        {"tree_epsilon": Fraction(1, 10)},
        {"mean_epsilon": Fraction(9, 10)},
        {"mean_epsilon": Fraction(0)},
        {"value_epsilon": Fraction(1, 100)},
        {"epsilon": Fraction(99, 100)},
        {"unit": Unit.row("replace_one")},
    ],
)
def test_a_setting_with_less_noise_is_refused(changed):
    with pytest.raises(PreconditionError):
        replace(solve(), **changed)


def test_values_are_counted_with_an_epsilon_or_not_at_all():
    with pytest.raises(PreconditionError, match="box-means"):
        replace(solve(attributes=(PAY, WORK)), value_epsilon=None)


@pytest.mark.parametrize("epsilon", [0, "1e-7", 600, -1])
def test_epsilon_has_a_range(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        solve(epsilon)


def test_attributes_have_names_values_and_weights():
    with pytest.raises(UsageError, match="twice"):
        solve(attributes=(PAY, PAY))
    with pytest.raises(UsageError, match="no attribute"):
        solve(attributes=())
    with pytest.raises(ParameterError, match="number of its values"):
        BoxAttribute("one", "ordered", 1)
    with pytest.raises(ParameterError, match="weight"):
        BoxAttribute("light", "ordered", 5, Fraction(0))
    with pytest.raises(ParameterError, match="weight"):
        BoxAttribute("heavy", "ordered", 5, Fraction(10**400))
    with pytest.raises(ParameterError, match="too many attributes"):
        solve(attributes=[BoxAttribute(f"a{i}", "ordered", 2) for i in range(1024)])
