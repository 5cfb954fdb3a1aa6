"""Population models: formulas by hand, parameters that are recovered, refusals, and truth on simulated populations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from shoal.assess.risk import population_models as models
from shoal.assess.risk.population_models import (
    SampleClasses,
    class_size_frequencies,
    decision_rule,
    pitman,
    population_classes,
    slide_negative_binomial,
    zayatz,
)
from shoal.errors import DataError, InfeasibleError, ParameterError


def test_zayatz_by_hand():
    """4 classes of one and 3 of two in 10 of 100: 4 · .1 / (4 · .1 + 3 · H), H = 2 · 10 · 90 / (100 · 99); times 4 / .1."""
    alone, two = 0.1, 2 * 10 * 90 / (100 * 99)
    assert hypergeom.pmf(1, 100, 2, 10) == pytest.approx(two)
    found = zayatz({1: 4, 2: 3}, 0.1)
    assert found.value == pytest.approx(40 * 4 * alone / (4 * alone + 3 * two))
    assert (found.kind, found.low) == ("model", None)


def test_a_table_of_uniques_is_a_population_of_uniques_by_zayatz():
    assert zayatz({1: 50}, 0.2).value == pytest.approx(250)
    assert population_classes(SampleClasses.of({1: 50}, 0.2)) == pytest.approx(250)


def test_the_estimator_of_haas_and_stokes_by_hand():
    """D = 3 + 2 · (2 q² + 2 q² (1 − q²)) / (2 ((1 − q²) − (1 − q)) + (1 − q²)² − (1 − q)²) · (missed / once)², q = 1/2."""
    squared, both = 2 / 4 + 2 / 4 * 3 / 4, 2 * (3 / 4 - 1 / 2) + (9 / 16 - 1 / 4)
    missed, once = 2 * 1 / 2 + 1 / 4, 2 * 1 / 2 + 2 * 1 / 2 * 1 / 2
    by_hand = 3 + 2 * squared / both * (missed / once) ** 2
    assert population_classes(SampleClasses.of({1: 2, 2: 1}, 0.5)) == pytest.approx(by_hand)


def test_pitmans_likelihood_is_at_its_maximum_and_the_expected_uniques_are_those_of_seating_people():
    frequencies, fraction = {1: 60, 2: 20, 3: 10, 5: 4, 20: 2}, 0.05
    sample = SampleClasses.of(frequencies, fraction)
    theta, alpha = models._fit_pitman(sample)

    def likelihood(theta, alpha):
        """Hoshino 2001, as products."""
        grown = sum(math.log(theta + i * alpha) for i in range(1, 96))
        within = sum(count * math.log(i - alpha) for size, count in frequencies.items() for i in range(1, size))
        return grown + within - sum(math.log(theta + i) for i in range(1, sample.rows))

    best = likelihood(theta, alpha)
    assert all(
        likelihood(theta + a, alpha + b) < best for a, b in [(0.1, 0), (-0.1, 0), (0, 0.01), (0, -0.01), (0.1, -0.01)]
    )
    alone = math.prod((theta + i - 1 + alpha) / (theta + i) for i in range(1, sample.people))
    assert pitman(frequencies, fraction).value == pytest.approx(sample.people * alone, rel=1e-9)
    asymptotic = math.gamma(theta + 1) / math.gamma(theta + alpha) * sample.people**alpha
    assert pitman(frequencies, fraction).value == pytest.approx(asymptotic, rel=0.02)


@pytest.mark.parametrize(("first", "step"), [(0.3, 0.9), (50.0, 0.5), (99.0, 1e-4), (101.0, 1e-4), (5e7, 0.01)])
def test_the_sum_of_logarithms_has_nine_digits_on_both_sides_of_the_switch(first, step):
    direct = math.fsum(math.log(first + i * step) for i in range(2000))
    assert models._log_rising(first, step, 2000) == pytest.approx(direct, rel=1e-10, abs=1e-7)


def test_the_slide_model_repeats_its_parameters_from_expected_numbers():
    """With E f_1 and E f_2 of alpha = .5, beta = .2 and K = 5,000 for a fraction of .3, the fit finds alpha and beta again."""
    alpha, beta, classes, q = 0.5, 0.2, 5000.0, 0.3
    sizes = np.arange(1, 400)
    log_share = [
        math.lgamma(alpha + i - 1) - math.lgamma(i) - math.lgamma(alpha) + (i - 1) * math.log(1 - beta) for i in sizes
    ]
    share = np.exp(log_share) * beta**alpha
    assert share.sum() == pytest.approx(1)
    one = classes * (share * sizes * q * (1 - q) ** (sizes - 1)).sum()
    two = classes * (share * sizes * (sizes - 1) / 2 * q**2 * (1 - q) ** (sizes - 2.0)).sum()
    total = round(classes * (share * sizes).sum())

    class Expected(SampleClasses):
        people = total

        def count(self, size):
            return {1: one, 2: two}[size]

    sample = Expected(np.array([1]), np.array([1]), q)
    assert models._fit_slide(sample, classes) == (pytest.approx(alpha, rel=1e-4), pytest.approx(beta, rel=1e-4))


def seated(source, people: int) -> np.ndarray:
    """The classes of people who arrive one after the other as Pitman's formula says, theta 100 and alpha one half."""
    theta, alpha, sizes = 100.0, 0.5, []
    owner: list[int] = []
    for arrived, at in enumerate(source.random(people)):
        spot = at * (theta + arrived)
        if spot < theta + alpha * len(sizes):
            sizes.append(1)
            owner.append(len(sizes) - 1)
            continue
        while True:  # somebody who is there already, and with probability (size − alpha) / size joined
            other = owner[source.integers(arrived)]
            if source.random() < 1 - alpha / sizes[other]:
                break
        sizes[other] += 1
        owner.append(other)
    return np.array(owner)


def slid(source, people: int) -> np.ndarray:
    """The classes of a population with 1 + NB(.4, .05) people in each, about so many in all."""
    return np.repeat(np.arange(people // 9), 1 + source.negative_binomial(0.4, 0.05, people // 9))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "population", "fraction"), [(pitman, seated, 0.1), (slide_negative_binomial, slid, 0.2), (zayatz, seated, 0.6)]
)  # fmt: skip
def test_estimates_come_near_the_truth_on_simulated_populations_and_the_naive_estimate_does_not(
    model, population, fraction
):
    """Within a fifth in the mean of four; an impostor that takes every sample unique for a population unique fails."""
    truth, estimated, impostor = [], [], []
    for seed in range(4):
        source = np.random.default_rng(seed)
        people = population(source, 6000)
        sample = people[source.permutation(len(people))[: round(fraction * len(people))]]
        frequencies = class_size_frequencies(sample[:, None])
        truth.append(np.count_nonzero(np.bincount(people) == 1))
        estimated.append(model(frequencies, fraction).value)
        impostor.append(frequencies[1] / fraction)
    assert np.mean(estimated) == pytest.approx(np.mean(truth), rel=0.2)
    assert np.mean(impostor) != pytest.approx(np.mean(truth), rel=0.2)


@pytest.mark.slow
@settings(max_examples=10)
@given(
    st.dictionaries(st.integers(1, 40), st.integers(1, 30), min_size=1, max_size=6), st.sampled_from([0.01, 0.1, 0.3, 0.9])
)  # fmt: skip
def test_estimates_lie_between_none_and_everybody_or_are_refused(frequencies, fraction):
    people = SampleClasses.of(frequencies, fraction).people
    for name, model in models.MODELS.items():
        try:
            found = model(frequencies, fraction)
        except InfeasibleError:
            assert name in ("pitman", "slide_negative_binomial")
            continue
        assert 0 <= found.value <= people * (1 + 1e-9)
        assert found.kind == "model"
        assert found.low is None
        assert frequencies.get(1) or found.value == 0


@pytest.mark.slow
def test_a_likelihood_without_a_maximum_is_refused_and_the_rule_falls_back_and_says_so():
    with pytest.raises(InfeasibleError, match="no maximum"):
        pitman({1: 100}, 0.05)
    assert "in place of another model" in decision_rule({1: 100}, 0.05).method
    with pytest.raises(InfeasibleError, match="slide"):
        slide_negative_binomial({1: 100}, 0.3)
    assert decision_rule({1: 100}, 0.3).value == zayatz({1: 100}, 0.3).value


@pytest.mark.slow
def test_the_rule_takes_pitman_for_small_fractions_and_else_the_smaller_of_two():
    frequencies = {1: 60, 2: 20, 3: 10, 5: 4, 20: 2}
    assert decision_rule(frequencies, 0.1).value == pitman(frequencies, 0.1).value
    both = zayatz(frequencies, 0.2).value, slide_negative_binomial(frequencies, 0.2).value
    assert decision_rule(frequencies, 0.2).value == min(both)


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 2, float("nan")])
def test_other_fractions_are_refused(fraction):
    with pytest.raises(ParameterError):
        zayatz({1: 1}, fraction)


@pytest.mark.parametrize("frequencies", [{}, {0: 3}, {1: 0}, {2: -1}])
def test_numbers_that_are_no_frequencies_are_refused(frequencies):
    with pytest.raises(DataError):
        zayatz(frequencies, 0.1)
