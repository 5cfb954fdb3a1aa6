"""Gaussian noise on a grid: the delta that is proved is never below the true one, and close to it."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.errors import PreconditionError
from shoal.guarantee.differential import ApproxDP, GaussianDP
from shoal.guarantee.noise import concentrated_delta
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.gaussian import Gaussian, summed_delta

ROW = Unit.row("add_remove")


def hockey(sigma, shift, epsilon):
    from mpmath import exp as mp_exp
    from mpmath import fsum, mp, mpf

    mp.dps = 40
    last = int(12 * sigma) + shift + 30
    weight = {x: mp_exp(-(mpf(x) ** 2) / (2 * mpf(sigma) ** 2)) for x in range(-last - shift, last + 1)}
    total = fsum(weight.values())
    grow = mp_exp(mpf(epsilon))
    return float(fsum(max(mpf(0), weight[x - shift] - grow * weight[x]) for x in range(-last, last + 1)) / total)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.3, 12), st.integers(1, 6), st.floats(0, 3))
def test_the_sum_is_the_divergence(sigma, shift, epsilon):
    true = hockey(sigma, shift, epsilon)
    assert true <= summed_delta(sigma, shift, epsilon) <= true * (1 + 1e-7) + 1e-30
    assert concentrated_delta(shift**2 / (2 * sigma**2), epsilon) >= true


def test_a_smaller_shift_is_no_worse():
    values = [summed_delta(3.0, shift, 0.8) for shift in range(1, 12)]
    assert values == sorted(values)


def test_in_two_dimensions_the_bound_covers_every_move():
    noise = Gaussian.for_target(ApproxDP(1, "0.01"), sensitivity=Sensitivity((1, 1), ROW, l1="1.5"), grid="0.5")
    offsets = np.stack(np.meshgrid(*[np.arange(-60, 61)] * 2), axis=-1).reshape(-1, 2)
    law = noise.pmf(offsets)
    for move in ((2, 2), (2, 1), (1, 2), (2, 0)):
        other = noise.pmf(offsets - np.array(move))
        assert np.maximum(0, law - exp(1) * other).sum() <= 0.01


def test_on_a_fine_grid_the_scale_is_that_of_balle_and_wang():
    noise = Gaussian.for_target(ApproxDP(1, "1e-6"), sensitivity=Sensitivity(1, ROW), grid="0.01")
    assert GaussianDP(Fraction(1) / Fraction(noise.scale * 1.001)).delta_at(1) <= 1e-6
    assert GaussianDP(Fraction(1) / Fraction(noise.scale / 1.001)).delta_at(1) > 1e-6
    assert noise.scale == pytest.approx(4.2247, abs=1e-3)


def test_a_grid_too_fine_to_sum_over_falls_back_on_concentrated_privacy():
    noise = Gaussian.for_target(ApproxDP(1, "1e-6"), sensitivity=Sensitivity(1, ROW), grid="1e-6")
    assert 4.2247 < noise.scale < 4.2247 * 1.1
    assert noise.variance == pytest.approx([noise.scale**2], rel=1e-6)
    assert noise.interval(0.95)[0, 1] == pytest.approx(1.959964 * noise.scale, rel=1e-5)


@pytest.mark.slow
def test_one_cell_of_a_histogram_is_calibrated_like_one_number():
    one = Gaussian.for_target(ApproxDP(1, "1e-6"), sensitivity=Sensitivity(1, ROW), grid=1)
    cells = Gaussian.for_target(ApproxDP(1, "1e-6"), sensitivity=Sensitivity.cells(50, ROW), grid=1)
    assert cells.scale == one.scale
    assert cells.draw(np.zeros(50, dtype=int), Source.secure()).shape == (50,)


def test_opendp_agrees_on_concentrated_privacy():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    noise = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float), scale=3.7)
    assert noise.map(2.0) == pytest.approx(4 / (2 * 3.7**2))
    # OpenDP's own conversion of zCDP to (epsilon, delta) is the same bound.
    approximate = dp.c.make_zCDP_to_approxDP(noise).map(2.0)
    epsilon = approximate.epsilon(delta=1e-6)
    assert concentrated_delta(4 / (2 * 3.7**2), epsilon) == pytest.approx(1e-6, rel=0.02)


def test_too_little_noise_is_refused():
    good = Gaussian.for_target(ApproxDP(1, "1e-6"), sensitivity=Sensitivity(1, ROW), grid=1)
    with pytest.raises(PreconditionError, match="gaussian"):
        Gaussian(good.sensitivity, good.grid, good.target, good.scale * 0.99)
    assert good.guarantee.epsilon_at(0) == inf


@pytest.mark.parametrize(("epsilon", "delta"), [(0, "0.001"), (20, "1e-300"), ("0.001", "1e-12"), (5, "0.3")])
def test_far_corners(epsilon, delta):
    noise = Gaussian.for_target(ApproxDP(epsilon, delta), sensitivity=Sensitivity(1, ROW), grid=1)
    assert np.isfinite(noise.variance).all()
