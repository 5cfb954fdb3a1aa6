"""Tables masked as SC13 chapter 6 does it: measured as the general measures do, with noise of the stated size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.assess.distortion.information_loss import distortion
from shoal.assess.distortion.linkage import linkage
from shoal.chance.source import Source
from shoal.errors import DataError
from shoal.lab.papers.adult_taxonomies import NATIVE_COUNTRY, OCCUPATION
from shoal.lab.papers.insensitive_trials import ADULT, AdultTrial, Draws, NumericTrial

VERY_SURE = Fraction(10**9)


@pytest.fixture(scope="module")
def names():
    chance = np.random.default_rng(5)
    columns = {name: chance.choice(np.array(tree.values, dtype=object), 300) for name, tree in ADULT.items()}
    return AdultTrial(columns, ADULT)


@pytest.fixture(scope="module")
def numbers():
    return NumericTrial(np.random.default_rng(6).integers(0, 1000, (240, 4)).astype(np.float64), np.full(4, 1500.0))


def test_the_taxonomies_have_the_values_of_adult():
    assert len(OCCUPATION.values), len(NATIVE_COUNTRY.values) == (14, 41)
    for tree in (OCCUPATION, NATIVE_COUNTRY):
        assert tree.distance(*tree.boundaries) == tree.diameter  # the thesis' sensitivity is then enough for one choice


def test_names_are_measured_as_by_linkage_and_distortion(names):
    units = [tree.distance(*tree.boundaries) for tree in ADULT.values()]
    for masked in (
        names.aggregated(7),
        names.masked_by_mdav(4),
        *names.masked_whole(10, Fraction(5), Source.seeded(1), 2),
    ):
        shown = {
            name: np.array(tree.nodes, dtype=object)[masked[:, place]]
            for place, (name, tree) in enumerate(ADULT.items())
        }
        ours = names.quality(masked)
        assert ours.sse == pytest.approx(distortion(names.values, shown, taxonomies=ADULT).sse)
        assert ours.rl == pytest.approx(linkage(names.values, shown, taxonomies=ADULT, units=units).rate)


def test_noise_of_a_huge_epsilon_leaves_the_centroids(names, numbers):
    for trial, k, rel in ((names, 7, 0.02), (numbers, 8, 1e-3)):  # of equally marginal names either may be drawn
        (masked,) = trial.masked(k, VERY_SURE, Draws.RECORD, Source.seeded(2), 1)
        assert trial.quality(masked).sse == pytest.approx(trial.quality(trial.aggregated(k)).sse, rel=rel)


def test_records_of_a_cluster_have_one_centroid_and_their_own_noise_or_the_same(numbers):
    labels = numbers.clusters(8)
    (own,), (one,) = (
        numbers.masked(8, Fraction(5), draws, Source.seeded(3), 1) for draws in (Draws.RECORD, Draws.CLUSTER)
    )
    assert len(np.unique(one, axis=0)) == len(np.unique(labels)) == 30
    assert len(np.unique(own, axis=0)) == 240
    assert (own >= 0).all()
    assert (own <= numbers.widths).all()


def test_noise_that_holds_for_the_data_set_is_as_large_as_it_must_be(numbers):
    """A scale of N·m·width/(k·epsilon) on each centroid: at epsilon 10^4 no clamping hides it."""
    epsilon, k = Fraction(10**4), 8
    masked = np.array(numbers.masked_whole(k, epsilon, Source.seeded(4), 300))
    first = np.unique(numbers.clusters(k), return_index=True)[1]
    gaps = ((masked - numbers.aggregated(k)) / numbers.widths)[:, first]
    scale = 30 * 4 / (k * 10**4)
    inside = float(np.abs(gaps).mean())
    for factor, fits in ((1.0, True), (0.7, False), (1.3, False)):
        assert (abs(inside / (factor * scale) - 1) < 0.1) is fits


def test_mdav_of_counts_makes_groups_of_k(names):
    masked = names.masked_by_mdav(6)
    assert len(masked) == names.rows
    assert names.quality(masked).sse < names.quality(names.aggregated(6)).sse


@pytest.mark.parametrize("content", ["age;occupation\n1;Sales\n", "occupation;native-country\nSales;Peru\n"])
def test_another_table_is_refused(tmp_path, content):
    path = tmp_path / "adult.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"adult\.csv is not the table of the thesis"):
        AdultTrial.read(path)
