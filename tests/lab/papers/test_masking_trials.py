"""Tables masked as SC13 chapter 6 does it: measured as the general measures do, with noise of the stated size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.anonymize.method.dp_microaggregation import DPMicroaggregation, centroid_attributes
from shoal.assess.distortion.information_loss import distortion
from shoal.assess.distortion.linkage import linkage
from shoal.chance.source import Source
from shoal.errors import DataError
from shoal.guarantee.centroids import solve_centroids
from shoal.guarantee.unit import Unit
from shoal.lab.papers.adult_taxonomies import NATIVE_COUNTRY, OCCUPATION
from shoal.lab.papers.masking_trials import ADULT, AdultTrial, Draws, NumericTrial

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


def test_it_is_the_noise_of_the_setting_that_releases_use(numbers):
    """`calibration: whole` with all corners: the scale of each sum is N·m·width/epsilon in steps."""
    setting = solve_centroids(
        2, rows=numbers.rows, attributes=centroid_attributes(numbers.schema()), unit=Unit.row("replace_one"), k=8,
        noise="laplace", corners=16,
    )  # fmt: skip
    assert {entry.scale for entry in setting.entries} == {Fraction(30 * 4 * 1500, 2)}
    codes = numbers.codes()
    method = DPMicroaggregation.of(setting, numbers.schema())
    assert (method.clusters(codes) == numbers.clusters(8)).all()


def test_mdav_of_counts_makes_groups_of_k(names):
    masked = names.masked_by_mdav(6)
    assert len(masked) == names.rows
    assert names.quality(masked).sse < names.quality(names.aggregated(6)).sse


def test_every_record_is_in_one_box_and_has_its_mean(numbers):
    (masked,) = numbers.masked_by_boxes(Fraction(400), Source.seeded(5), 1)
    assert masked.shape == numbers.table.shape
    assert numbers.quality(masked).sse < numbers.quality(numbers.aggregated(30)).sse
    (rows,) = numbers.rows_of_boxes(Fraction(400), Source.seeded(5), 1)
    assert abs(rows.mean(axis=0) / numbers.table.mean(axis=0) - 1).max() < 0.05


def test_names_by_boxes_are_rows_that_are_published(names):
    (sure,), (unsure,) = (names.masked_by_boxes(Fraction(epsilon), Source.seeded(6), 1) for epsilon in (300, "0.001"))
    assert names.quality(sure).sse < names.quality(unsure).sse
    for masked in (sure, unsure):
        for column, tree in zip(masked.T, ADULT.values(), strict=True):
            assert {tree.nodes[node] for node in set(column.tolist())} <= set(tree.values)


@pytest.mark.parametrize("content", ["age;occupation\n1;Sales\n", "occupation;native-country\nSales;Peru\n"])
def test_another_table_is_refused(tmp_path, content):
    path = tmp_path / "adult.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"adult\.csv is not the table of the thesis"):
        AdultTrial.read(path)
