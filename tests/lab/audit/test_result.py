"""The bound on epsilon holds with its stated probability, and the words never say that anything is proved."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from shoal.assess.quantity import rate_bounds
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.lab.audit.result import AuditResult, epsilons_at_least, fewest_runs, most_epsilon

NONE = Fraction(0)


def result(hits, runs=1000, delta=NONE, alpha=1e-6, claim=None):
    return AuditResult(runs, hits, delta, alpha, claim or PureDP(1), "the output is at least 3", 1, 250)


def test_a_sound_mechanism_is_refuted_with_probability_alpha_at_most():
    """At a large alpha, on the event of the largest ratio, as often as binomial chance allows."""
    chance, alpha, runs, rare = np.random.default_rng(5), 0.2, 200, 0.2
    hits = chance.binomial(runs, [exp(1) * rare, rare], size=(1500, 2))
    bounds = epsilons_at_least(hits[:, 0], hits[:, 1], runs, NONE, alpha)
    assert np.count_nonzero(bounds > 1) <= 1500 * alpha
    assert np.count_nonzero(bounds > 0.5) > 400


@pytest.mark.parametrize("hits", [(1000, 0), (1000, 900), (0, 0), (1000, 1000), (500, 400), (1, 0), (3, 700)])
@pytest.mark.parametrize("delta", [NONE, Fraction(1, 20)])
def test_the_bound_is_that_of_clopper_and_pearson(hits, delta):
    """Both the event and its complement count, with the bounds of `rate_bounds`."""
    likely, rare = rate_bounds(hits[0], 1000, 0.025)[0], rate_bounds(hits[1], 1000, 0.025)[1]
    pairs = [(likely - float(delta), rare), (1 - rare - float(delta), 1 - likely)]
    expected = max([0.0, *(log(a / b) for a, b in pairs if a > 0)])
    assert result(hits, delta=delta, alpha=0.05).epsilon_at_least == pytest.approx(expected)


def test_the_ceiling_is_reached_by_what_is_told_apart_always_and_by_nothing_else():
    assert result((1000, 0)).power_ceiling == result((1000, 0)).epsilon_at_least == most_epsilon(1000, NONE, 1e-6)
    assert result((999, 0)).epsilon_at_least < result((999, 0)).power_ceiling


@pytest.mark.parametrize("epsilon", [0.1, 1, 3, 6])
@pytest.mark.parametrize("delta", [NONE, Fraction(1, 1000)])
def test_the_fewest_runs_are_those_at_which_the_ceiling_passes_the_claim(epsilon, delta):
    runs = fewest_runs(epsilon, delta, 1e-6)
    assert most_epsilon(runs, delta, 1e-6) > epsilon >= most_epsilon(runs - 1, delta, 1e-6)
    assert fewest_runs(float("inf"), delta, 1e-6) is None


def test_words_say_what_was_found_and_never_that_it_is_proved():
    broken, sound = result((900, 20)), result((500, 400))
    assert broken.refuted
    assert broken.words()[0].startswith("Refuted: at delta 0 the claim is epsilon 1, ")
    assert "900 of 1,000 runs on table 1" in broken.words()[1]
    assert not sound.refuted
    assert sound.words()[0].startswith("Not refuted")
    assert sound.words()[-1].startswith("Not refuted is not proved")
    assert broken.to_json()["proved"] is sound.to_json()["proved"] is False


def test_runs_that_could_not_have_refuted_the_claim_are_owned_up_to():
    weak = result((40, 0), runs=40)
    assert not weak.could_refute
    assert "it takes 47 runs or more" in weak.words()[-2]
    silent = result((40, 0), runs=40, claim=ApproxDP(1, "0.1"))  # says nothing at delta 0
    assert silent.claimed_epsilon == float("inf")
    assert "no number of runs would do" in silent.words()[-2]
    assert silent.to_json()["claimed_epsilon"] is None
