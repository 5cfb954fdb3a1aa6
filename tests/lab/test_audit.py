"""An audit contradicts mechanisms that break their claim, and sound ones no oftener than it says."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from shoal.assess.quantity import rate_bounds
from shoal.chance.source import Source
from shoal.errors import DataError, ParameterError
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.lab.audit import AuditResult, audit, choose_event, likelihood_score


def noisy_count(scale):
    """Discrete Laplace noise on a count: epsilon is 1/scale for one record more."""

    def mechanism(count, source, runs):
        return (count + source.discrete_laplace(Fraction(scale), runs)).astype(np.float64)[:, None]

    return mechanism


def noisy_vector(scale):
    """A vector whose components one record may change by 1 each; the noise is for one of them."""

    def mechanism(values, source, runs):
        noise = source.discrete_laplace(Fraction(scale), runs * len(values)).reshape(runs, -1)
        return noise + np.array(values, dtype=np.float64)

    return mechanism


def test_a_sound_mechanism_is_not_contradicted():
    found = audit(noisy_count(1), 10, 11, source=Source.seeded(1), runs=20_000)
    assert 0.8 < found.epsilon_at_least <= 1.0  # near what it claims, and not above
    assert not found.contradicts(PureDP(1))


def test_too_little_noise_is_contradicted():
    found = audit(noisy_count(Fraction(1, 2)), 10, 11, source=Source.seeded(2), runs=20_000)
    assert found.contradicts(PureDP(1))
    assert found.epsilon_at_least <= 2.0


def test_noise_for_one_component_of_many_is_contradicted():
    pair = [0] * 30, [1] * 30
    found = audit(noisy_vector(1), *pair, source=Source.seeded(3), runs=400)
    assert found.contradicts(PureDP(1))
    assert not audit(noisy_vector(30), *pair, source=Source.seeded(3), runs=400).contradicts(PureDP(1))


def test_the_likelier_side_is_found_whichever_table_comes_first():
    for pair in ((0, 5), (5, 0)):
        found = audit(noisy_count(1), *pair, source=Source.seeded(4), runs=2000)
        assert found.hits[0] > found.hits[1]
        assert found.epsilon_at_least > 2


def test_a_sound_mechanism_is_contradicted_with_probability_alpha_at_most():
    """At a large alpha, on the event of the largest ratio, as often as binomial chance allows."""
    chance, alpha, runs = np.random.default_rng(5), 0.2, 200
    rare = 0.2
    hits = chance.binomial(runs, [exp(1) * rare, rare], size=(1500, 2))
    wrong = sum(AuditResult(runs, (a, b), Fraction(0), alpha).contradicts(PureDP(1)) for a, b in hits.tolist())
    assert wrong <= 1500 * alpha
    assert sum(AuditResult(runs, (a, b), Fraction(0), alpha).contradicts(PureDP("0.5")) for a, b in hits.tolist()) > 400


def test_delta_excuses_a_rare_breach():
    def mechanism(data, source, runs):
        return (data * source.bernoulli(Fraction(1, 10), runs)).astype(np.float64)[:, None]

    found = audit(mechanism, 1, 0, source=Source.seeded(6), runs=3000, delta="0.1")
    assert not found.contradicts(ApproxDP("0.01", "0.1"))
    assert audit(mechanism, 1, 0, source=Source.seeded(6), runs=3000, delta="0.01").contradicts(ApproxDP(1, "0.01"))


def test_the_complement_of_an_event_counts_too():
    assert AuditResult(1000, (1000, 900), Fraction(0), 0.05).epsilon_at_least == pytest.approx(
        log((1 - rate_bounds(900, 1000, 0.025)[1]) / (1 - rate_bounds(1000, 1000, 0.025)[0]))
    )


def test_the_event_is_chosen_without_the_runs_that_count_it():
    """Noise alone: an event that was counted on the runs that chose it would look far likelier than it is."""
    chance = np.random.default_rng(7)
    first, second = chance.normal(size=(2, 40, 60))
    score = likelihood_score(first, second)
    event, swapped = choose_event(first, second, 40, Fraction(0), 0.01, score)
    own = sorted((event.hits(first), event.hits(second)), reverse=True)
    assert AuditResult(40, (own[0], own[1]), Fraction(0), 0.01).epsilon_at_least > 1  # the mistake
    found = audit(
        lambda _, __, runs: chance.normal(size=(runs, 60)), 0, 0, source=Source.seeded(1), runs=40, alpha=0.01
    )
    assert found.epsilon_at_least == 0
    assert isinstance(swapped, bool)


@pytest.mark.parametrize(
    "wrong", [{"runs": 1}, {"runs": 10, "trials": 1}, {"runs": 10, "alpha": 0.0}, {"runs": 10, "delta": "1"}]
)
def test_bad_settings(wrong):
    with pytest.raises(ParameterError):
        audit(noisy_count(1), 0, 1, source=Source.seeded(1), **wrong)


@pytest.mark.parametrize("outputs", [np.zeros(4), np.zeros((3, 1)), np.full((4, 1), np.nan)])
def test_outputs_must_be_a_table(outputs):
    with pytest.raises(DataError, match="no table of finite numbers"):
        audit(lambda *_: outputs, 0, 1, source=Source.seeded(1), runs=4, trials=4)
