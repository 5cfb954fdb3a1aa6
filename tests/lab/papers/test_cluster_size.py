"""The error of noisy centroids against k: noise as printed, noise that holds, and the size below which it drowns the data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.lab.papers.cluster_size import HIGHEST, WAYS, SizeTrial, incomes, rule


@pytest.fixture(scope="module")
def trial():
    return SizeTrial(incomes(400))


def test_incomes_are_the_same_each_time_and_inside_their_domain():
    first, second = incomes(300), incomes(300)
    assert (first == second).all()
    assert first.min() >= 0
    assert first.max() <= HIGHEST
    assert 0.2 < np.corrcoef(np.log(first + 1.0).T)[0, 1] < 0.8


def test_the_rule_is_where_noise_is_as_wide_as_the_domain(trial):
    """N·m/(k·epsilon) = 1 at k = √(n·m/epsilon)."""
    assert rule("1", 400, 2) == pytest.approx(28.28, abs=0.01)
    k = 20
    found = [trial.held_error(WAYS[0], k, epsilon, Source.seeded(1))[1] for epsilon in ("0.01", "2", "600")]
    assert found[0] > found[1] > found[2]


def test_noise_for_one_centroid_loses_less_than_noise_for_all(trial):
    source = Source.seeded(2)
    for k in (10, 40):
        assert trial.printed_error(k, "1", source) < trial.held_error(WAYS[0], k, "1", source)[1]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.words)
def test_every_way_is_near_its_clusters_without_noise_at_a_huge_epsilon(trial, way):
    _, found = trial.held_error(way, 20, "500", Source.seeded(3))
    plain = trial.error(trial.trial.aggregated(20))
    assert found < (plain if way.grouping == "ranking" else 1.6 * plain) + 0.05


def test_k_is_found_by_the_rule_of_the_setting(trial):
    k, _ = trial.held_error(WAYS[4], None, "1", Source.seeded(4))
    assert k == 40  # ranks of m attributes, epsilon/m each: √(2n·m/epsilon)


def test_boxes_lose_less_than_clusters_of_any_size(trial):
    source = Source.seeded(5)
    boxes = np.mean([trial.error(one) for one in trial.trial.masked_by_boxes(Fraction(1), source, 3)])
    assert boxes < min(trial.held_error(WAYS[0], k, "1", source)[1] for k in (20, 50, 100, 200))
