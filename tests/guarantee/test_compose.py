"""Composition: goldens, an exact oracle on small cases, agreement with the exact curve, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import CompositionError, ParameterError, UsageError
from shoal.guarantee.compose import chosen_with_probability, compose, people_at_risk
from shoal.guarantee.differential import ApproxDP, GaussianDP, LaplaceDP, PureDP, SafeKSampling, SampledDP
from shoal.guarantee.noise import NoisyTablesDP
from shoal.guarantee.plain_sample import SamplePrivacy
from shoal.guarantee.safe_k.curve import delta_add, delta_remove, privacy_losses
from shoal.guarantee.syntactic import KAnonymity
from tests.guarantee import oracle

# times, k, beta, remove, add at delta 1e-6: theory.md section 1.7
GOLDEN = [
    (1, 20, ".3", 0.777, 0.190),
    (7, 30, ".3", 0.951, 0.604),
    (28, 20, ".15", 0.987, 0.741),
    (28, 30, ".2", 1.059, 0.845),
]


@pytest.mark.parametrize(("times", "k", "beta", "remove", "add"), GOLDEN)
def test_golden_views(times, k, beta, remove, add):
    total = compose([(SafeKSampling(k, beta), times)])
    assert total.pld_epsilon("1e-6", "remove") == pytest.approx(remove, abs=1e-3)
    assert total.pld_epsilon("1e-6", "add") == pytest.approx(add, abs=1e-3)
    if times > 1:
        assert total.epsilon_at("1e-6") < 0.3 * total.basic_epsilon("1e-6")


@pytest.mark.parametrize(("k", "beta"), [(20, ".3"), (100, ".001"), (2000, ".5"), (3, ".1"), (1, ".01"), (200, ".95")])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_the_grid_is_never_below_the_exact_curve_and_close_to_it(k, beta, direction):
    crowd = SafeKSampling(k, beta)
    exact = {"remove": delta_remove, "add": delta_add}[direction]
    distribution = dict(zip(("remove", "add"), crowd.distributions(1e-5), strict=True))[direction]
    for epsilon in (0.0, 0.01, 0.1, 0.5, 1.0, 2.0):
        truth = exact(k, beta, epsilon)
        found = float(distribution.get_delta_for_epsilon(epsilon))
        assert found >= truth * (1 - 1e-9) - 1e-15
        assert found <= truth * 1.001 + 1e-7


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_the_pair_is_the_curve(direction):
    """Theorem safe-k-dominating-pair, at finite atoms: the divergence of M and M + 1 is the supremum over classes."""
    exact = {"remove": delta_remove, "add": delta_add}[direction]
    for k, beta in [(5, "0.2"), (20, "0.3"), (2, "0.7")]:
        atoms = privacy_losses(k, SafeKSampling(k, beta).beta, direction)
        for epsilon in (-0.3, -0.05, 0.0, 0.1, 0.5, 1.5):
            terms = atoms.masses * -np.expm1(epsilon - atoms.losses)
            found = float(terms[terms > 0].sum()) + atoms.infinite
            assert found == pytest.approx(exact(k, beta, epsilon), rel=1e-9, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("k", "beta", "times"), [(3, "0.25", 2), (2, "0.4", 3)])
def test_against_the_product_of_the_pairs(k, beta, times, direction):
    total = compose([(SafeKSampling(k, beta), times)])
    index = ("remove", "add").index(direction)
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        truth = oracle.composed_delta(k, float(beta), times, epsilon, direction)
        found = float(total._totals[index].get_delta_for_epsilon(epsilon))
        assert truth - 1e-9 <= found <= truth + 1e-6


def test_one_is_itself():
    for part in (SafeKSampling(20, ".2"), PureDP(1), GaussianDP(".5"), LaplaceDP(1), ApproxDP(1, "1e-7")):
        total = compose([part])
        assert total.epsilon_at("1e-6") == part.epsilon_at("1e-6")
        assert total.delta_at("0.3") == part.delta_at("0.3")


@settings(max_examples=15)
@given(st.integers(1, 6), st.integers(1, 6))
def test_repeating_is_listing(first, second):
    crowd = SafeKSampling(12, ".2")
    assert compose([(crowd, first), (crowd, second)]) == compose([crowd] * (first + second))


@pytest.mark.slow
def test_more_releases_cost_more():
    costs = [compose([(SafeKSampling(20, ".15"), n)]).epsilon_at("1e-6") for n in (1, 2, 5, 10, 30)]
    assert costs == sorted(costs)


def test_basic_is_exact_for_text_numbers():
    """LQS11 section 2.7: fifty releases of .02 make 1."""
    assert compose([(PureDP("0.02"), 50)]).basic_epsilon(0) == 1.0
    assert compose([(ApproxDP("0.1", "1e-7"), 10)]).basic_epsilon("1e-6") == 1.0
    assert math.isinf(compose([(ApproxDP("0.1", "1e-7"), 11)]).basic_epsilon("1e-6"))
    assert compose([(PureDP("0.02"), 50)]).delta_at(1) == 0.0
    assert (
        compose([PureDP("0.1"), PureDP("0.2")]).basic_epsilon(0) == 0.30000000000000004
    )  # the float above three tenths


def test_advanced_beats_basic_for_many_small_ones_and_never_loses():
    many = compose([(PureDP("0.01"), 1000)])
    assert many.advanced_epsilon("1e-6") < many.basic_epsilon("1e-6")
    few = compose([(PureDP(1), 2)])
    assert few.advanced_epsilon("1e-6") == few.basic_epsilon("1e-6") == 2.0
    assert many.pld_epsilon("1e-6") < many.advanced_epsilon("1e-6")


@pytest.mark.slow
def test_mixed_parts():
    total = compose(
        [PureDP(".5"), (SafeKSampling(20, ".2"), 3), GaussianDP(".3"), LaplaceDP(".2"), ApproxDP(".1", "1e-8")]
    )
    assert total.count == 7
    assert total.epsilon_at("1e-6") == total.pld_epsilon("1e-6") < total.basic_epsilon("1e-6")
    assert total.delta_at(total.epsilon_at("1e-6")) == pytest.approx(1e-6, rel=1e-3)


def test_below_the_reliable_delta_only_basic_and_advanced_speak():
    total = compose([(SafeKSampling(60, ".1"), 4)])
    assert math.isinf(total.pld_epsilon("1e-13"))
    assert total.epsilon_at("1e-13") == total.basic_epsilon("1e-13")


@pytest.mark.parametrize(
    ("part", "theorem"),
    [
        (SampledDP(".1", 1, "1e-6"), "dps-does-not-compose"),
        (KAnonymity(5), "syntactic-does-not-compose"),
        (SamplePrivacy(1, ".3", ".01", ".1"), "syntactic-does-not-compose"),
    ],
)
def test_what_does_not_compose_is_refused(part, theorem):
    with pytest.raises(CompositionError, match=theorem):
        compose([PureDP(1), part])


def test_a_fresh_sample_makes_privacy_under_sampling_compose():
    sampled = SampledDP(".2", "0.02", 0)
    assert compose([(sampled.on_fresh_sample(), 50)]).basic_epsilon(0) == 1.0
    with pytest.raises(CompositionError, match="one sample"):
        sampled.on_same_sample(PureDP(1))


def test_bad_input():
    with pytest.raises(UsageError, match="nothing"):
        compose([])
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ParameterError, match="times"):
            compose([(PureDP(1), wrong)])
    with pytest.raises(ParameterError, match="people"):
        people_at_risk(0, "1e-6")


def test_choice_and_people_at_risk():
    assert chosen_with_probability(ApproxDP(1, "1e-7"), ApproxDP(".5", "1e-6")) == ApproxDP(1, "1e-6")
    assert people_at_risk(50_000_000, "1e-7") == 1.0
    assert people_at_risk(1000, "1e-6") == pytest.approx(0.001)


@pytest.mark.slow
def test_a_narrow_part_does_not_make_a_wide_one_take_millions_of_points():
    counts, recodings = NoisyTablesDP([(36, 40)]), (PureDP("1/480"), 36)
    total = compose([counts, recodings])
    assert max(one._pmf_remove.size for one in total._totals) < 10**6
    alone = counts.epsilon_at("1e-6")
    # with a grid of 4 million points it is .61481
    assert alone < total.epsilon_at("1e-6") < 0.6154
