"""Laplace and geometric noise on a grid: how wide it is, for which sensitivity, and that it is drawn fast."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity, to_steps, to_values
from shoal.mechanism.laplace import Laplace

ROW = Unit.row("add_remove")
REPLACED = Unit.row("replace_one")
fractions = st.fractions(-50, 50, max_denominator=60)
steps = st.fractions(Fraction(1, 20), 5, max_denominator=20)


def test_the_scale_is_exact():
    noise = Laplace.for_target(PureDP("0.3"), sensitivity=Sensitivity("0.7", ROW), grid="0.1")
    assert noise.scale == Fraction("0.7") / Fraction("0.3")
    assert noise.guarantee == PureDP("0.3")


def test_a_sensitivity_off_the_grid_is_rounded_up():
    noise = Laplace.for_target(PureDP(1), sensitivity=Sensitivity("0.7", ROW), grid="0.5")
    assert noise.scale == 1


def test_an_approximate_target_is_kept_by_its_epsilon():
    noise = Laplace.for_target(ApproxDP(1, "1e-6"), sensitivity=Sensitivity(1, ROW), grid=1)
    assert noise.guarantee == PureDP(1)


def test_on_a_fine_grid_the_figures_are_those_of_laplace():
    noise = Laplace.for_target(PureDP("0.5"), sensitivity=Sensitivity(3, ROW), grid="0.001")
    assert noise.variance == pytest.approx([72], rel=1e-6)
    assert noise.expected_error == pytest.approx([6], rel=1e-6)
    assert noise.interval("0.95")[0, 1] == pytest.approx(6 * np.log(20), abs=0.001)


def test_on_the_whole_numbers_it_is_the_geometric_mechanism():
    noise = Laplace.for_target(PureDP(1), sensitivity=Sensitivity(1, ROW), grid=1)
    assert noise.pmf([[0]])[0] == pytest.approx(np.tanh(0.5))
    assert noise.draw([7], Source.seeded(1)).dtype == np.int64


def test_a_scale_below_what_is_needed_is_refused():
    with pytest.raises(PreconditionError, match="laplace-grid"):
        Laplace(Sensitivity(2, ROW), (Fraction(1),), PureDP(1), Fraction(199, 100))


def test_a_million_cells_at_once():
    cells = Sensitivity.cells(1_000_000, ROW)
    noise = Laplace.for_target(PureDP(1), sensitivity=cells, grid=1)
    answer = noise.draw(np.full(1_000_000, 5), Source.seeded(2))
    assert answer.shape == (1_000_000,)
    assert answer.mean() == pytest.approx(5, abs=0.01)
    assert noise.variance.shape == (1_000_000,)


# --- sensitivity --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "scale"), [(ROW, 1), (REPLACED, 2), (Unit.person("id", 3, "add_remove"), 3),
                                             (Unit.person("id", 3, "replace_one"), 6)])  # fmt: skip
def test_disjoint_cells_cost_what_one_unit_moves(unit, scale):
    assert Laplace.for_target(PureDP(1), sensitivity=Sensitivity.cells(10, unit), grid=1).scale == scale


def test_declared_multiples_are_not_rounded_away_and_are_checked():
    sums = Sensitivity((5, 5, 5), ROW, l1=7, multiples_of=Fraction(1, 2))
    assert sums.l1_on((Fraction(1, 4),)) == 7
    assert sums.l1_on((Fraction(1, 3),)) > 7
    two = Sensitivity((5, 5), ROW, l1=7, multiples_of=(1, 2))
    assert two.l1_on((Fraction(1), Fraction(2))) == 7
    assert two.l1_on((Fraction(2), Fraction(1))) > 7
    noise = Laplace.for_target(PureDP(1), sensitivity=sums, grid="0.5")
    assert noise.draw([1, Fraction(3, 2), 2.5], Source.seeded(1)).shape == (3,)
    with pytest.raises(PreconditionError, match="laplace-grid"):
        noise.draw([1, 0.3, 2], Source.seeded(1))


def test_a_total_may_be_smaller_than_the_sum_and_is_never_larger():
    assert Sensitivity((1, 2), ROW).l1 == 3
    assert Sensitivity((1, 2), ROW, l1=2).l1 == 2
    assert Sensitivity((1, 2), ROW, l1=9).l1 == 3
    assert Sensitivity((1, 2, 5), ROW, l0=2).l1 == 7


def test_a_bad_sensitivity_is_refused():
    for wrong in ({"l0": 0}, {"l0": 3}, {"l1": 0}, {"components": 3}, {"l1": "nan"},
                  {"multiples_of": 0}, {"multiples_of": (1, 1, 1)}):  # fmt: skip
        with pytest.raises(ParameterError):
            Sensitivity((1, 2), ROW, **wrong)
    with pytest.raises(UsageError):
        Sensitivity(1, "row")


@pytest.mark.slow
@given(fractions, fractions, steps)
def test_rounding_moves_an_answer_by_no_more_than_the_steps(x, y, g):
    one, other = (int(to_steps([v], (g,), 1)[0]) for v in (x, y))
    if x != y:
        assert abs(one - other) <= Sensitivity(abs(x - y), ROW).linf_steps((g,))[0]
    assert abs(one * g - x) <= g / 2


@pytest.mark.slow
@given(st.data(), st.integers(1, 4))
def test_the_total_on_the_grid_bounds_every_move(data, count):
    grid = tuple(data.draw(st.lists(steps, min_size=count, max_size=count)))
    before = data.draw(st.lists(fractions, min_size=count, max_size=count))
    moves = data.draw(st.lists(st.fractions(-3, 3, max_denominator=20), min_size=count, max_size=count))
    if not any(moves):
        return
    after = [b + m for b, m in zip(before, moves, strict=True)]
    sensitivity = Sensitivity(
        [max(abs(m), Fraction(1, 100)) for m in moves],
        ROW,
        l0=sum(map(bool, moves)),
        l1=sum(abs(m) for m in moves),
    )
    apart = [abs(int(a) - int(b)) * g for a, b, g in
             zip(to_steps(after, grid, count), to_steps(before, grid, count), grid, strict=True)]  # fmt: skip
    assert sum(apart) <= sensitivity.l1_on(grid)
    assert sum(a**2 for a in apart) <= sensitivity.l2_squared_on(grid)
    assert all(a <= side for a, side in zip(apart, sensitivity.linf_on(grid), strict=True))


# --- the grid -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.lists(st.one_of(st.integers(-(2**70), 2**70), st.floats(-1e18, 1e18)), min_size=1, max_size=6), steps)
def test_rounding_is_exact_for_every_kind_of_number(values, g):
    expected = [(Fraction(v) / g + Fraction(1, 2)).__floor__() for v in values]
    assert [int(s) for s in to_steps(np.array(values, dtype=object), (g,), len(values))] == expected
    assert [int(s) for s in to_steps(np.array(values, dtype=object), (g,) * len(values), len(values))] == expected


@pytest.mark.slow
@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6), steps)
def test_whole_numbers_take_the_fast_way_to_the_same_steps(values, g):
    expected = [(Fraction(v) / g + Fraction(1, 2)).__floor__() for v in values]
    for kind in (np.int64, np.float64):
        assert to_steps(np.array(values, dtype=kind), (g,), len(values)).tolist() == expected


def test_answers_beyond_64_bits_stay_exact():
    noise = Laplace.for_target(PureDP(1), sensitivity=Sensitivity(1, ROW), grid=1)
    answer = noise.draw([10**30], Source.seeded(1))[0]
    assert abs(int(answer) - 10**30) < 100
    assert to_steps([0, 0], (Fraction(1, 10**30),), 2).tolist() == [0, 0]
    assert to_values(np.array([3, 4]), (Fraction(1, 3),)).tolist() == [1, Fraction(4, 3)]
    assert to_values(np.array([2**61]), (Fraction(5),)).tolist() == [5 * 2**61]
