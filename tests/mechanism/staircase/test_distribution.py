"""The box law: the thesis' numbers, any dimension against exact sums, the lattice against enumeration, the choice of z."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.errors import PreconditionError, ShoalError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.staircase.distribution import (
    BoxDistribution,
    LatticeDistribution,
    ShellDistribution,
    _mixture,
    compare_with_laplace,
    draw_numbers,
    laplace_log_region_volume,
    least_index,
)
from shoal.mechanism.staircase.inner import best_inner
from shoal.mechanism.staircase.mechanism import Staircase
from tests.statistical.fit import fits

ROW = Unit.row("add_remove")
THESIS = BoxDistribution(1.0, (1.0, 10.0), (0.1, 1.0))


def test_golden_variances_and_regions():
    """SC13 section 4.4; the thesis prints 1790.2, 916.6 and 611.2 for the regions."""
    assert [f"{v:.5g}" for v in THESIS.variance] == ["4.0338", "403.38"]
    assert [round(THESIS.region_volume(c), 1) for c in (0.99, 0.95, 0.90)] == [1789.5, 916.9, 611.0]


def test_golden_laplace_beside_it():
    """Scale 11 in both components: variance 2 · 121."""
    assert [round(exp(laplace_log_region_volume(11, 2, c))) for c in (0.99, 0.95, 0.90)] == [10664, 5446, 3661]
    compared = compare_with_laplace(THESIS)
    assert exp(compared.log_volume) == pytest.approx(916.89, abs=0.01)
    assert exp(compared.log_volume_laplace) == pytest.approx(5446.03, abs=0.01)
    assert exp(compared.log_volume_even) == pytest.approx(5446.03 * 4 * 10 / 121, rel=1e-5)
    assert compared.expected_error_laplace == pytest.approx((11 + 1.1) / 2)
    assert compared.expected_error_even == 2


def exact_sums(epsilon, ratios, last):
    """Σ q^i ∏ (i + r), and with i and i², in 60 digits."""
    from mpmath import exp as mp_exp
    from mpmath import fsum, mp, mpf

    mp.dps = 60
    weights = [mp_exp(-i * mpf(epsilon)) * prod((i + mpf(r) for r in ratios), start=mpf(1)) for i in range(last)]
    total = fsum(weights)
    moments = [fsum(w * i**n for i, w in enumerate(weights)) / total for n in (1, 2)]
    return weights, total, moments


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize("epsilon", [0.25, 1, 5])
def test_the_box_number_in_any_dimension(dimension, epsilon):
    ratios = tuple((j % 5) / 4 for j in range(dimension))
    number = ShellDistribution(float(epsilon), ratios)
    weights, total, moments = exact_sums(epsilon, ratios, int((dimension * 4 + 200) / epsilon))
    from mpmath import log as mp_log

    assert number.log_total == pytest.approx(float(mp_log(total)), rel=1e-13)
    assert number.moments == pytest.approx([float(m) for m in moments], rel=1e-12)
    for i in (0, 1, 5, int(dimension / epsilon), int(2 * dimension / epsilon) + 3):
        assert number.up_to(i) == pytest.approx(float(sum(weights[: i + 1]) / total), abs=1e-13)
        assert number.beyond(i) == pytest.approx(float(sum(weights[i + 1 :]) / total), rel=1e-9)


def test_a_tiny_epsilon_needs_no_long_sums():
    law = BoxDistribution(1e-9, (1.0,) * 64, (0.5,) * 64)
    assert law.variance[0] == pytest.approx(65 * 66 / 3 * 1e18, rel=1e-6)
    assert 0 < law.interval(0.95).high < np.inf
    assert np.isfinite(law.log_region_volume(0.95))


@pytest.mark.parametrize("dimension", [1, 3, 8])
def test_a_region_is_a_box_with_its_probability(dimension):
    law = BoxDistribution(0.7, tuple(1.0 + j for j in range(dimension)), tuple(0.3 + 0.2 * j for j in range(dimension)))
    lattice = LatticeDistribution(Fraction(7, 10), tuple(500 * (1 + j) for j in range(dimension)),
                         tuple(150 + 100 * j for j in range(dimension)))  # fmt: skip
    drawn = lattice.draw(Source.seeded(8), 40_000) / 500
    for confidence in (0.2, 0.5, 0.95):
        half = law.region(confidence)
        assert np.log(2 * half).sum() == pytest.approx(law.log_region_volume(confidence))
        assert (np.abs(drawn) <= half).all(axis=1).mean() == pytest.approx(confidence, abs=0.012)
        for j in range(dimension):
            assert (np.abs(drawn[:, j]) <= law.interval(confidence, j).high).mean() == pytest.approx(
                confidence, abs=0.012
            )


@pytest.mark.slow
def test_density_integrates_to_one_and_falls_by_shells():
    grid = np.stack(np.meshgrid(np.arange(-30, 30, 0.05), np.arange(-300, 300, 0.5)), axis=-1) + np.array([0.025, 0.25])
    assert THESIS.density(grid).sum() * 0.05 * 0.5 == pytest.approx(1, abs=2e-3)
    assert THESIS.density([0, 0]) / THESIS.density([0.2, 0]) == pytest.approx(np.e)
    assert THESIS.density([0.2, 0]) == THESIS.density([0, 10.9])


# --- the lattice --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(4)])
@pytest.mark.parametrize(("sides", "starts"), [((2,), (1,)), ((2, 6), (3, 1)), ((4,) * 5, (1, 3, 5, 1, 1))])
def test_box_numbers_are_drawn_with_their_law(epsilon, sides, starts):
    drawn = draw_numbers(Source.seeded(5), epsilon, sides, starts, 40_000)
    i = np.arange(int(60 / epsilon) + 60 * len(sides))

    def law(e):
        logs = sum(np.log(a * i + b) for a, b in zip(sides, starts, strict=True)) - i * float(e)
        return np.exp(logs - np.logaddexp.reduce(logs))

    assert fits(drawn, law(epsilon))
    assert not fits(drawn, law(epsilon * Fraction(7, 10)))
    assert not fits(drawn, law(epsilon * Fraction(13, 10)))


def test_the_largest_epsilon_stays_inside():
    assert not draw_numbers(Source.seeded(5), Fraction(700), (2, 6), (3, 1), 1000).any()


@pytest.mark.parametrize("dimension", [1, 2, 4, 16, 64])
def test_noise_in_any_dimension(dimension):
    noise = Staircase.for_target(
        PureDP(1), sensitivity=Sensitivity([1 + j % 3 for j in range(dimension)], ROW), grid="0.1", inner="0.5"
    )
    drawn = noise.noise(Source.seeded(6), 4_000) * 0.1
    assert drawn.shape == (4_000, dimension)
    np.testing.assert_allclose((drawn**2).mean(axis=0), noise.variance, rtol=0.25)
    shells = noise.distribution.shell((drawn * 10).round().astype(np.int64))
    assert shells.min() >= 0
    inside = noise.distribution.number.inside(int(dimension))
    assert (shells <= dimension).mean() == pytest.approx(inside, abs=0.04)


@pytest.mark.parametrize(
    ("sides", "starts"),
    [
        ((2,), (1,)),
        ((2, 6), (3, 1)),
        ((4,) * 5, (1, 3, 5, 1, 1)),
        ((30,) * 24, (15,) * 24),
        ((30, 9) * 9, (14, 6) * 9),
    ],
)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 3), Fraction(20)])
def test_cuts_have_every_bit_right(epsilon, sides, starts):
    """a_k from values of the polynomial by finite differences, then the shares in 80 digits."""
    from mpmath import exp as mp_exp
    from mpmath import floor as mp_floor
    from mpmath import fsum, mp, mpf

    mp.dps = 80
    degree = len(sides)
    values = [prod(a * i + b for a, b in zip(sides, starts, strict=True)) for i in range(degree + 1)]
    coefficients = [sum((-1) ** (k - i) * comb(k, i) * values[i] for i in range(k + 1)) for k in range(degree + 1)]
    q = mp_exp(-mpf(epsilon.numerator) / epsilon.denominator)
    terms = [a * q**k * (1 - q) ** (degree - k) for k, a in enumerate(coefficients)]
    ordinals, cuts = _mixture(epsilon, sides, starts)
    assert ordinals.tolist() == list(range(degree + 1))
    expected = [int(mp_floor(fsum(terms[: k + 1]) / fsum(terms) * 2**64)) for k in range(degree)]
    assert cuts._last.tolist() == expected[: len(cuts._last)]


@pytest.mark.slow
@given(st.data(), st.integers(1, 4))
def test_a_move_within_the_sides_changes_the_shell_by_one_at_most(data, dimension):
    sides = tuple(data.draw(st.lists(st.integers(1, 9), min_size=dimension, max_size=dimension)))
    inner = tuple(data.draw(st.integers(0, side)) for side in sides)
    offsets = np.array(data.draw(st.lists(st.integers(-200, 200), min_size=dimension, max_size=dimension)))
    move = np.array([data.draw(st.integers(-side, side)) for side in sides])
    law = LatticeDistribution(Fraction(1), sides, inner)
    assert abs(int(law.shell(offsets)) - int(law.shell(offsets + move))) <= 1


def test_shells_are_what_the_theorem_says():
    law = LatticeDistribution(Fraction(1), (2, 3), (0, 2))
    for x in range(-9, 10):
        for y in range(-9, 10):
            i = least_index(lambda i, x=x, y=y: abs(x) <= 2 * i and abs(y) <= 2 + 3 * i)
            assert law.shell(np.array([x, y])) == i


def test_steps_shorter_than_the_sensitivity_are_refused():
    law = LatticeDistribution(Fraction(1), (2,), (1,))
    with pytest.raises(PreconditionError, match="staircase-box"):
        Staircase(Sensitivity(3, ROW), (Fraction(1),), PureDP(1), law)
    with pytest.raises(PreconditionError, match="staircase-box"):
        Staircase(Sensitivity(2, ROW), (Fraction(1),), PureDP("0.5"), law)


@pytest.mark.parametrize(("sides", "inner"), [((1,), (2,)), ((0,), (0,)), ((1, 1), (0,)), ((), ()), ((1 << 41,), (0,))])
def test_a_bad_lattice_is_refused(sides, inner):
    with pytest.raises(ShoalError):
        LatticeDistribution(Fraction(1), sides, inner)
    with pytest.raises(ShoalError):
        LatticeDistribution(Fraction(1, 1 << 60), (1,), (0,))
    with pytest.raises(PreconditionError):
        BoxDistribution(1.0, (1.0, 1.0), (0.5, 1.5))


# --- the inner box ------------------------------------------------------------------------------------------------

SIDES = (Fraction(1), Fraction(3), Fraction(10))


def loss(criterion, z):
    law = BoxDistribution(1.0, tuple(map(float, SIDES)), tuple(float(v) for v in z))
    if criterion == "total_variance":
        return law.variance.sum()
    if criterion == "worst_component":
        return (law.variance / np.array([1, 9, 100])).max()
    return law.log_region_volume(0.95)


@pytest.mark.parametrize("criterion", ["total_variance", "worst_component", "region_volume"])
def test_no_inner_box_nearby_or_far_is_better(criterion):
    sides = np.array([1.0, 3.0, 10.0])
    best = np.array(best_inner(Fraction(1), SIDES, criterion))
    assert ((best >= 0) & (best <= sides)).all()
    here = loss(criterion, best)
    rng = np.random.default_rng(1)
    tries = [rng.random(3) * sides for _ in range(150)] + [best + rng.normal(0, 0.02, 3) * sides for _ in range(150)]
    for z in tries:
        assert loss(criterion, np.clip(z, 0, sides)) >= here - 1e-6 * abs(here)


def test_weights_say_which_component_matters():
    heavy = best_inner(Fraction(1), SIDES, "total_variance", weights=(Fraction(1000), Fraction(1), Fraction(1)))
    plain = best_inner(Fraction(1), SIDES, "total_variance")
    law = [BoxDistribution(1.0, tuple(map(float, SIDES)), z).variance[0] for z in (heavy, plain)]
    assert law[0] < law[1]
    even = best_inner(Fraction(1), SIDES, "worst_component", weights=(Fraction(1),) * 3)
    assert BoxDistribution(1.0, (1.0, 3.0, 10.0), even).variance.max() <= loss("worst_component", plain) * 100


def test_sums_with_unequal_ranges_gain_more_the_more_there_are():
    gains = []
    for dimension in (2, 4, 8, 16):
        sides = tuple(Fraction(2) ** j for j in range(dimension))
        z = best_inner(Fraction(1), sides, "region_volume")
        compared = compare_with_laplace(BoxDistribution(1.0, tuple(map(float, sides)), z))
        gains.append(compared.log_volume_even - compared.log_volume)
        assert compared.expected_error < compared.expected_error_even < compared.expected_error_laplace
    assert gains == sorted(gains)
    assert gains[0] > 0.5
