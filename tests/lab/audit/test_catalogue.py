"""Every broken mechanism of the catalogue is refuted within its number of runs, and no sound one is."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from shoal.errors import UsageError
from shoal.guarantee.differential import ApproxDP
from shoal.lab.audit.catalogue import CATALOGUE, ENTRIES, find_audit, worst_class_size
from shoal.lab.audit.run import audit

SLOW = {"thesis-centroids", "noisy-counts-20-less", "best-scheme-visited", "gaussian-20-less", "exponential-20-less"}
FEW = {"safe-k": 4_000, "views": 2_000, "safe-k-chosen": 100, "safe-k-tree": 30, "noisy-counts": 200, "noisy-counts-chosen": 16,
       "noisy-counts-rounds": 8, "centroids": 60, "centroids-ranking": 100, "boxes": 60, "session": 20}  # fmt: skip
"""Fewer runs than the command has, so that the tests stay short; `make slow` has twenty times as many."""
TOO_FEW = {"safe-k-tree", "noisy-counts-chosen", "noisy-counts-rounds", "session"}
"""Sound mechanisms whose runs take so long that those of `make test` could refute nothing: they show that the code runs, and
those of `make slow` put the claim to the test."""
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
    runs = FEW[entry.name] * effort if entry.name in FEW else entry.runs
    case = entry.case()
    found = case.run(runs, trials=min(runs, entry.trials or 1_000), seed=6)
    assert not found.refuted
    assert found.could_refute == (entry.name not in TOO_FEW or effort > 1)
    assert case.space is None or case.space.holds(case.pair)


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
