"""An audit refutes mechanisms that break their claim, and sound ones no oftener than it says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import DataError, ParameterError, UsageError
from shoal.guarantee.differential import ApproxDP, PureDP, SafeKSampling
from shoal.lab.audit.run import audit, parts_of, ticks_of


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


def unit_count(count, source, runs):
    """At the top of a module, so that other processes can load it."""
    return noisy_count(1)(count, source, runs)


def test_a_sound_mechanism_is_not_refuted():
    found = audit(noisy_count(1), (10, 11), PureDP(1), seed=1, runs=20_000)
    assert 0.8 < found.epsilon_at_least <= 1.0  # near what it claims, and not above
    assert not found.refuted
    assert found.could_refute


def test_too_little_noise_is_refuted():
    found = audit(noisy_count(Fraction(1, 2)), (10, 11), PureDP(1), seed=2, runs=20_000)
    assert found.refuted
    assert found.epsilon_at_least <= 2.0


def test_noise_for_one_component_of_many_is_refuted():
    pair = [0] * 30, [1] * 30
    assert audit(noisy_vector(1), pair, PureDP(1), seed=3, runs=400).refuted
    assert not audit(noisy_vector(30), pair, PureDP(1), seed=3, runs=400).refuted


def test_the_likelier_side_is_found_whichever_table_comes_first():
    for pair in ((0, 5), (5, 0)):
        found = audit(noisy_count(1), pair, PureDP(1), seed=4, runs=2000)
        assert found.hits[0] > found.hits[1]
        assert found.epsilon_at_least > 2


def test_delta_excuses_a_rare_breach():
    def mechanism(data, source, runs):
        return (data * source.bernoulli(Fraction(1, 10), runs)).astype(np.float64)[:, None]

    assert not audit(mechanism, (1, 0), ApproxDP("0.01", "0.1"), seed=6, runs=3000).refuted
    assert audit(mechanism, (1, 0), ApproxDP(1, "0.01"), seed=6, runs=3000).refuted


def test_a_function_of_one_run_will_do():
    def once(count, source):
        return count + source.discrete_laplace(Fraction(1, 4), 1)[0]

    found = audit(once, (0, 1), PureDP(1), seed=7, runs=500)
    assert found.refuted
    assert "the output" in found.event


def test_the_event_is_chosen_without_the_runs_that_count_it():
    """Noise alone: an event that was counted on the runs that chose it would look far likelier than it is."""
    chance = np.random.default_rng(7)
    found = audit(lambda _, __, runs: chance.normal(size=(runs, 60)), (0, 0), PureDP(1), runs=40, alpha=0.01)
    assert found.epsilon_at_least == 0


def test_a_seed_repeats_an_audit_and_the_number_of_workers_plays_no_part():
    def hits(**options):
        return audit(unit_count, (0, 1), PureDP(1), runs=200, trials=100, **options).hits

    assert hits(seed=1) == hits(seed=1) != hits(seed=2)


@pytest.mark.slow
def test_several_processes_give_what_one_gives():
    one, two = (audit(unit_count, (0, 1), PureDP(1), runs=200, trials=100, seed=1, workers=n) for n in (1, 2))
    assert one == two


def test_what_cannot_be_pickled_is_not_sent_to_other_processes():
    with pytest.raises(UsageError, match="cannot be sent to another process"):
        audit(noisy_count(1), (0, 1), PureDP(1), runs=20, trials=20, workers=2)


def test_every_part_ticks():
    done = []
    audit(unit_count, (0, 1), PureDP(1), runs=1000, seed=1, tick=lambda: done.append(1))
    assert len(done) == ticks_of(1000)
    assert sum(parts_of(1000)) == 1000
    assert parts_of(4) == [4]


@pytest.mark.parametrize(
    "wrong",
    [{"runs": 3}, {"runs": 10, "trials": 1}, {"alpha": 0.0}, {"delta": "1"}, {"workers": 0}],
)
def test_bad_settings(wrong):
    with pytest.raises(ParameterError):
        audit(noisy_count(1), (0, 1), PureDP(1), seed=1, **{"runs": 10, **wrong})


def test_a_curve_needs_a_delta():
    with pytest.raises(ParameterError, match="no delta of its own"):
        audit(unit_count, (0, 1), SafeKSampling(3, "0.3"), seed=1, runs=20)
    assert audit(unit_count, (0, 1), SafeKSampling(3, "0.3"), seed=1, runs=20, delta="0.1").delta == Fraction(1, 10)


@pytest.mark.parametrize("shape", [lambda: 0, lambda a: a, lambda a, b, c, d: 0])
def test_a_mechanism_of_another_shape(shape):
    with pytest.raises(UsageError, match="another shape"):
        audit(shape, (0, 1), PureDP(1))


@pytest.mark.parametrize("outputs", [np.zeros(4), np.zeros((3, 1)), np.full((4, 1), np.nan), np.zeros((4, 0))])
def test_outputs_must_be_a_table(outputs):
    with pytest.raises(DataError, match="no table of finite numbers"):
        audit(lambda _, __, ___: outputs, (0, 1), PureDP(1), seed=1, runs=4, trials=4)


def test_outputs_must_have_one_width():
    with pytest.raises(DataError, match="different numbers of components"):
        audit(lambda width, _, runs: np.zeros((runs, width)), (1, 2), PureDP(1), seed=1, runs=4, trials=4)
