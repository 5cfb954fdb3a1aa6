"""Views that agree: one total, one margin for each attribute, nothing negative, and nearer to the truth than raw counts."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.assess.release.consistency import shrink
from shoal.assess.release.load import load
from shoal.errors import UsageError
from tests.assess.release.released import all_pairs, categories, cuts, drawn, keep, write_pairs, write_release

SIZES = [12, 2, 6, 20, 4]


def columns(rng, rows=20_000):
    """Attributes that hang together because rows fall into a few kinds."""
    kind = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    found = []
    for size in SIZES:
        law = rng.dirichlet(np.full(size, 0.5), 4)
        found.append((rng.random(rows)[:, None] > np.cumsum(law, 1)[kind]).sum(1).clip(0, size - 1))
    return found


def distance(a, b):
    return 0.5 * np.abs(a / a.sum() - b / b.sum()).sum()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    rng = np.random.default_rng(5)
    truth = all_pairs(SIZES, columns(rng))
    return truth, load(write_pairs(tmp_path_factory.mktemp("r") / "pairs", SIZES, truth, 20, "0.15", rng))


def test_margins_and_totals_agree_and_nothing_is_negative(pairs):
    _, loaded = pairs
    fitted = loaded.consistent()
    for view in loaded.views:
        table = fitted.tables[view.name]
        assert (table >= 0).all()
        assert table.sum() == pytest.approx(fitted.total, rel=1e-6)
        for j, name in enumerate(view.columns):
            assert table.sum(1 - j) == pytest.approx(fitted.margins[name], rel=1e-5, abs=1e-4 * fitted.total / 1000)


def test_it_is_nearer_to_the_truth_than_raw_counts(pairs):
    truth, loaded = pairs
    fitted = loaded.consistent()
    raw = np.mean([distance(loaded.marginal(*view.columns).value, truth[view.name]) for view in loaded.views])
    ours = np.mean([distance(fitted.tables[view.name], truth[view.name]) for view in loaded.views])
    assert ours < 0.75 * raw
    assert fitted.total == pytest.approx(20_000, rel=0.02)


def test_a_marginal_has_labels_values_and_an_interval_that_holds_them(pairs):
    truth, loaded = pairs
    fitted = loaded.consistent()
    marginal = fitted.marginal("a2", "a0")
    assert pytest.approx(fitted.tables["a0-a2"]) == marginal.value.T
    assert marginal.labels[0] == tuple(f"v{i:02d}" for i in range(6))
    assert ((marginal.low <= marginal.value) & (marginal.value <= marginal.high)).all()
    covered = (marginal.low <= truth["a0-a2"].T) & (marginal.high >= truth["a0-a2"].T)
    assert covered.mean() > 0.9
    assert fitted.marginal("a3").value == pytest.approx(fitted.margins["a3"], rel=1e-5, abs=1e-2)
    with pytest.raises(UsageError, match="together"):
        fitted.marginal("a0", "a1", "a2")


def test_it_is_exact_when_nothing_is_suppressed_and_nearly_everything_is_sampled(tmp_path):
    rng = np.random.default_rng(3)
    truth = all_pairs([3, 2, 4], [rng.integers(0, size, 5000) for size in (3, 2, 4)])
    loaded = load(write_pairs(tmp_path / "r", [3, 2, 4], truth, 1, "1", rng))
    fitted = loaded.consistent()
    assert fitted.total == pytest.approx(5000)
    for name, counts in truth.items():
        assert fitted.tables[name] == pytest.approx(counts, rel=1e-3)


def test_views_with_other_labels_for_one_attribute_meet_in_their_pieces(tmp_path):
    rng = np.random.default_rng(4)
    age, sex, place = rng.integers(0, 100, 20_000), rng.integers(0, 2, 20_000), rng.integers(0, 3, 20_000)
    tens, thirds = cuts("age", list(range(10, 100, 10)), 0, 99), cuts("age", [33, 66], 0, 99)
    one = np.histogram2d(age // 10, sex, bins=(10, 2), range=((0, 10), (0, 2)))[0].astype(int)
    two = np.histogram2d(np.searchsorted([33, 66], age, "right"), place, bins=(3, 3), range=((0, 3), (0, 3)))[0]
    views = {
        "one": ([tens, keep("sex", ["f", "m"])], drawn(one, 20, 0.15, rng)),
        "two": ([thirds, keep("place", ["n", "s", "e"])], drawn(two.astype(int), 20, 0.15, rng)),
    }
    loaded = load(write_release(tmp_path / "r", views))
    assert loaded.axis("age").names[3:6] == ("[30, 33)", "[33, 40)", "[40, 50)")
    fitted = loaded.consistent()
    assert fitted.tables["one"].shape == (12, 2)
    assert fitted.tables["one"].sum(1) == pytest.approx(fitted.tables["two"].sum(1), rel=1e-5)
    known = np.histogram(age, sorted([*range(0, 101, 10), 33, 66]))[0].astype(float)
    assert distance(fitted.margins["age"], known) < 0.05


def test_wider_views_single_views_and_repeats_agree_too(tmp_path):
    rng = np.random.default_rng(6)
    rules = categories([4, 3, 2])
    cube = rng.poisson(600 * rng.dirichlet(np.ones(4))[:, None, None] * np.ones((4, 3, 2)))
    own = [rules["a0"], rules["a1"], rules["a2"]]
    views = {
        "cube": (own, drawn(cube, 20, 0.3, rng)),
        "again": (own, drawn(cube, 20, 0.3, rng)),
        "one": (own[:1], drawn(cube.sum((1, 2)), 20, 0.3, rng)),
    }
    loaded = load(write_release(tmp_path / "r", views, beta="0.3"))
    fitted = loaded.consistent()
    assert fitted.tables["cube"].sum((1, 2)) == pytest.approx(fitted.tables["one"], rel=1e-6)
    assert fitted.tables["again"].sum((0, 2)) == pytest.approx(fitted.tables["cube"].sum((0, 2)), rel=1e-6)
    assert distance(fitted.marginal("a0", "a1", "a2").value, cube) < 0.1


def test_what_is_hidden_of_a_wide_ordered_domain_lies_near_what_is_shown(tmp_path):
    """Of stays up to a year few are longer than a fortnight: hidden ones spread over all days made the mean ten times as long."""
    rng = np.random.default_rng(8)
    stays, kinds = np.minimum(rng.geometric(0.2, 20_000) - 1, 365), rng.integers(0, 6, 20_000)
    sexes = rng.integers(0, 2, 20_000)
    days = cuts("stay", list(range(1, 366)), 0, 365)
    views = {
        f"stay-{name}": (
            [days, keep(name, [f"{name}{value}" for value in range(size)])],
            drawn(np.bincount(stays * size + own, minlength=366 * size).reshape(366, size), 20, 0.1, rng),
        )
        for name, own, size in (("kind", kinds, 6), ("sex", sexes, 2))
    }
    loaded = load(write_release(tmp_path / "r", views, k=20, beta="0.1"))
    assert loaded.marginal("stay").published.sum() < 20
    assert loaded.mean("stay").value == pytest.approx(stays.mean(), rel=0.25)
    assert loaded.count({"stay": (60, None)}).value < 0.01 * len(stays)
    assert loaded.quantile("stay", "0.95").value == pytest.approx(np.quantile(stays, 0.95), rel=0.35)


def test_cells_lie_between_their_count_and_what_is_expected():
    expected = np.array([5.0, 25.0, 60.0, 200.0, 12.0, 1.0])
    counts = np.array([0.0, 40.0, 50.0, 210.0, 0.0, 0.0])
    found = shrink(counts, counts > 0, expected, 20, 0.15) * 0.15
    assert 25 < found[1] < 40
    assert 50 < found[2] < 60
    assert 200 < found[3] < 210
    assert (found[[0, 4, 5]] > 0).all()
    assert (found[[0, 4, 5]] < 20).all()
    # A cell of which many were expected and fewer than k seen is pulled below k; one that is all sampled is what it is.
    assert shrink(np.array([0.0, 30.0]), np.array([False, True]), np.array([60.0, 30.0]), 20, 0.15)[0] * 0.15 < 30
    assert shrink(counts, counts > 0, expected, 20, 1.0)[1:4] == pytest.approx(counts[1:4])


def test_a_table_that_is_too_wide_or_empty_is_refused(tmp_path):
    rules = categories([60, 60, 60, 60])
    views = {"wide": (list(rules.values()), np.zeros((60,) * 4, dtype=np.int8))}
    with pytest.raises(UsageError, match="too wide"):
        load(write_release(tmp_path / "r", views)).consistent()
    small = categories([3, 2])
    with pytest.raises(UsageError, match="no view shows a row"):
        load(write_release(tmp_path / "s", {"v": (list(small.values()), np.zeros((3, 2), dtype=int))})).consistent()
