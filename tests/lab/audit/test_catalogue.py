"""Every broken mechanism of the catalogue is refuted within its number of runs, and no sound one is."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import UsageError
from shoal.guarantee.differential import ApproxDP
from shoal.lab.audit.catalogue import CATALOGUE, ENTRIES, find_audit, worst_class_size
from shoal.lab.audit.run import audit

SLOW = {"thesis-centroids", "noisy-counts-20-less", "best-scheme-visited", "gaussian-20-less", "exponential-20-less"}
FEW = {
    "safe-k": (1_000, 500),
    "views": (1_000, 500),
    "safe-k-chosen": (1_000, 300),
    "safe-k-tree": (300, 120),
    "noisy-counts": (200, 100),
    "noisy-counts-chosen": (600, 200),
    "noisy-counts-rounds": (600, 200),
    "centroids": (400, 200),
    "centroids-ranking": (200, 100),
    "boxes": (600, 200),
    "session": (400, 200),
}
"""Runs and trials: fewer than the command has, so that tests stay short, and enough to refute an impostor; `make slow` has twenty
times as many."""
SLOWEST = {"noisy-counts-rounds": (100, 50)}
"""Of the sound mechanism fewer still, where one run takes milliseconds: these could refute its claim, and no more."""
BROKEN = [
    pytest.param(entry, marks=pytest.mark.slow) if entry.name in SLOW else entry for entry in ENTRIES if entry.is_broken
]
SOUND = [
    pytest.param(entry, marks=pytest.mark.slow) if entry.name in FEW else entry
    for entry in ENTRIES
    if not entry.is_broken
]


@pytest.mark.parametrize("entry", BROKEN, ids=lambda entry: entry.name)
def test_a_broken_mechanism_is_refuted_within_its_runs(entry):
    found = entry.case().run(entry.runs, trials=entry.trials, seed=5)
    assert found.refuted
    assert found.could_refute


@pytest.mark.parametrize("entry", SOUND, ids=lambda entry: entry.name)
def test_a_sound_mechanism_is_not_refuted(entry, effort):
    few = SLOWEST.get(entry.name, FEW.get(entry.name, (entry.runs, 1_000)))
    runs, trials = (effort * each for each in few) if entry.name in FEW else few
    case = entry.case()
    found = case.run(runs, trials=trials, seed=6)
    assert not found.refuted
    assert found.could_refute
    assert case.space is None or case.space.holds(case.pair)


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_the_same_mechanism_with_a_quarter_of_its_noise_is_refuted_within_these_runs(name):
    """What the audit of a method would notice: noise for four times the epsilon, or four fifths sampled in place of half."""
    runs, trials = FEW[name]
    impostor = find_audit(name).impostor()
    assert impostor.claim == find_audit(name).case().claim
    assert impostor.run(runs, trials=trials, seed=7).refuted


def test_a_broken_mechanism_has_no_impostor():
    with pytest.raises(UsageError, match="no impostor; got mondrian"):
        find_audit("mondrian").impostor()


@pytest.mark.slow
def test_cells_of_a_histogram_have_the_distribution_of_counts_one_by_one():
    """Copies of a session in two histograms, and each by two counts of its own: the same means and spread, within five errors."""
    from shoal.chance.source import Source
    from shoal.lab.audit.answers import SessionAnswers

    many, few = (
        SessionAnswers(Fraction(1), one_by_one=alone)((1, 0), Source.seeded(1), runs)
        for alone, runs in ((False, 2_000), (True, 100))
    )
    assert many.shape == (2_000, 2)
    for outputs in (many, few):
        error = 8**0.5 / len(outputs) ** 0.5  # Laplace noise of scale 2 has variance 8
        assert outputs.mean(axis=0) == pytest.approx([2, 1], abs=5 * error)
        assert outputs.var(axis=0) == pytest.approx([8, 8], abs=5 * 8 * (5 / len(outputs)) ** 0.5)


@pytest.mark.slow
def test_safe_k_shows_nearly_what_it_claims_and_a_smaller_delta_is_refuted():
    """The power of the audit of our own method: with the delta of the theorem it stands, with two thirds of it it falls."""
    case = find_audit("safe-k").case()
    claim = case.claim
    assert claim == ApproxDP("0.25", "0.0864")
    assert not audit(case.mechanism, case.pair, claim, runs=20_000, seed=1).refuted
    assert audit(case.mechanism, case.pair, ApproxDP("0.25", "0.05"), runs=20_000, seed=1).refuted


def test_the_worst_class_is_that_of_the_closed_form():
    assert worst_class_size(5, "0.5", "0.25") == len(find_audit("safe-k").case().pair[0]) == 7
    assert worst_class_size(20, "0.1", 1) == 29  # (k - 1)/gamma = 19/0.6689


def test_the_search_leads_to_fresh_runs_on_another_pair():
    case = find_audit("no-sampling").case()
    other, found = case.searched(seed=1, steps=3, runs=64)
    assert other.space is not None
    assert other.space.holds(other.pair)
    assert f"a search of {found.tried} pairs" in other.tables
    with pytest.raises(UsageError, match="no other neighbours"):
        find_audit("mondrian").case().searched()


def test_names_are_known_once_and_said():
    assert len(CATALOGUE) == len(ENTRIES)
    assert all(entry.title and len(entry.title) <= 110 for entry in ENTRIES)
    with pytest.raises(UsageError, match="no such audit"):
        find_audit("nothing")


@pytest.mark.parametrize("name", ["safe-k", "centroids", "session", "laplace", "one-sample-twice"])
def test_cases_can_be_sent_to_other_processes(name):
    case = find_audit(name).case()
    again = pickle.loads(pickle.dumps((case.mechanism, case.pair)))  # noqa: S301 - our own
    assert again[1] == case.pair


@pytest.mark.slow
def test_one_draw_for_many_runs_has_the_distribution_of_one_by_one():
    """Fast path against the job of a release: the same mean number of published rows, within five standard errors."""
    case = find_audit("safe-k").case()
    from dataclasses import replace

    from shoal.chance.source import Source

    fast = case.mechanism(case.pair[0], Source.seeded(1), 4_000)[:, 0]
    slow = replace(case.mechanism, one_by_one=True)(case.pair[0], Source.seeded(2), 40)[:, 0]
    error = np.hypot(fast.std() / 4_000**0.5, fast.std() / 40**0.5)
    assert abs(fast.mean() - slow.mean()) < 5 * error
    assert set(slow) <= {0.0, 5.0, 6.0, 7.0}
    assert set(fast) == {0.0, 5.0, 6.0, 7.0}
    chances = [np.mean(fast == n) for n in (5, 6, 7)]
    assert chances == pytest.approx([21 / 128, 7 / 128, 1 / 128], abs=0.03)
