"""A fitted model: what was measured without noise is reproduced, and what it says agrees with itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from shoal.chance.source import Source
from shoal.datasets.visits import arrays
from shoal.errors import ShoalError, UsageError
from shoal.model import fit as module
from shoal.model.divisions import atoms_of
from shoal.model.evidence import Collection, settle_margins, settle_tables
from shoal.model.fit import PULL, _noise_followed, _perturbed, fit
from shoal.model.measurement import Axis, Measurement
from tests.model.tables import SIZES, axes, chain, distance, measured, pairs

JOINT = chain()
GOLDEN_TOTAL = 9997.12508886539
GOLDEN_ROW = (957.224, 2063.736)


def fitted(*groups, seed=1, sizes=SIZES, joint=JOINT, **other):
    return fit(axes(sizes), measured(joint, *groups, **other), source=Source.seeded(seed))


@pytest.fixture(scope="module")
def exact():
    """A fit to the neighbouring pairs of a chain, without noise."""
    return fitted((0, 1), (1, 2), (2, 3))


def test_noise_free_tables_are_reproduced(exact):
    assert exact.total == pytest.approx(10_000, rel=1e-9)
    for pair in [(0, 1), (1, 2), (2, 3)]:
        rest = tuple(axis for axis in range(4) if axis not in pair)
        assert distance(exact.table(pair), JOINT.sum(rest)) < 1e-4


def test_axes_in_any_order(exact):
    assert np.allclose(exact.table((1, 0)), exact.table((0, 1)).T)
    assert np.allclose(exact.table((2, 0, 1)), exact.table((0, 1, 2)).transpose(2, 0, 1))


def test_every_table_has_the_total_and_the_margins(exact):
    for width in (1, 2, 3, 4):
        for group in combinations(range(4), width):
            table = exact.table(group)
            assert table.min() >= 0
            assert table.sum() == pytest.approx(exact.total, rel=1e-6)
            for place, axis in enumerate(group):
                rest = tuple(other for other in range(width) if other != place)
                assert np.allclose(table.sum(rest), exact.table((axis,)), atol=1e-3 * exact.total)


def test_the_same_seed_gives_the_same_model():
    one, other = (fitted(*pairs(4), sigma=20.0, seed=5) for _ in range(2))
    assert all(np.array_equal(one.table(pair), other.table(pair)) for pair in pairs(4))


def test_singles_alone_are_independence():
    model = fitted((0,), (1,), (2,), (3,))
    expected = np.outer(JOINT.sum((1, 2, 3)), JOINT.sum((0, 2, 3))) / JOINT.sum()
    assert np.allclose(model.table((0, 1)), expected, rtol=1e-6)


def test_an_attribute_that_nobody_measured_is_even():
    model = fitted((0, 1))
    assert np.allclose(model.table((3,)), model.total / 5)


def test_bins():
    bins = {3: np.array([0, 0, 1, 1, 1])}
    model = fit(axes(), [*measured(JOINT, (3,)), *measured(JOINT, *pairs(4), bins=bins)], source=Source.seeded(1))
    assert distance(model.table((3,)), JOINT.sum((0, 1, 2))) < 1e-6
    assert model.table((0, 3)).shape == (3, 5)
    coarse = model.table((0, 3), (np.arange(3), bins[3]))
    wanted = np.stack([JOINT.sum((1, 2))[:, :2].sum(1), JOINT.sum((1, 2))[:, 2:].sum(1)], axis=1)
    assert distance(coarse, wanted) < 1e-4


def test_a_later_fit_starts_from_an_earlier_one():
    first = fitted((0, 1))
    second = fit(axes(), measured(JOINT, *pairs(4)), source=Source.seeded(1), start=first)
    assert distance(second.table((2, 3)), JOINT.sum((0, 1))) < 1e-3
    with pytest.raises(UsageError, match="other attributes"):
        fit(axes((3, 4)), measured(JOINT.sum((2, 3)), (0, 1)), source=Source.seeded(1), start=first)


def test_a_forbidden_box_is_empty_in_tables():
    box = (np.array([True, False, False]), np.array([True, True, False, False]), None, None)
    model = fit(axes(), measured(JOINT, *pairs(4), sigma=20.0), source=Source.seeded(1), forbidden=[box])
    assert model.table((0, 1))[0, :2].sum() == 0
    assert model.table((0, 1, 2))[0, :2].sum() == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: fit(axes(), [], source=Source.seeded(1)), "without measurements"),
        (lambda: fit((), measured(JOINT, (0, 1)), source=Source.seeded(1)), "without attributes"),
        (lambda: fit(axes((3, 4)), measured(JOINT, (0, 3)), source=Source.seeded(1)), "not there"),
        (lambda: fit(axes((3, 9, 2, 5)), measured(JOINT, (0, 1)), source=Source.seeded(1)), "otherwise"),
        (lambda: fitted((0, 1)).table((0, 0)), "come twice"),
        (lambda: fitted((0, 1)).table((7,)), "not there"),
        (lambda: fitted((0, 1)).table((0, 1), (np.arange(3),)), "bin of every cell"),
        (lambda: fitted((0, 1)).draw(-1, Source.seeded(1)), "number of rows"),
        (
            lambda: fit(axes(), measured(JOINT, (0, 1)), source=Source.seeded(1), forbidden=[(None,) * 4]),
            "whole domain",
        ),
        (lambda: fit(axes(), measured(JOINT, (0, 1)), source=Source.seeded(1), forbidden=[(None,)]), "another number"),
        (
            lambda: fit(
                axes(),
                measured(JOINT, (0, 1)),
                source=Source.seeded(1),
                forbidden=[(np.ones(9, bool), None, None, None)],
            ),
            "which cells",
        ),
        (lambda: Axis("a", 0, ordered=False), "no cells"),
        (lambda: Measurement((), (), np.zeros(()), 1.0), "needs attributes"),
        (lambda: Measurement((0, 0), (np.arange(2),) * 2, np.zeros((2, 2)), 1.0), "each once"),
        (lambda: Measurement((0,), (np.array([0, 2]),), np.zeros(3), 1.0), "without a gap"),
        (lambda: Measurement((0,), (np.array([0.0, 1.0]),), np.zeros(2), 1.0), "one whole number"),
        (lambda: Measurement((0,), (np.arange(2),), np.zeros(3), 1.0), "another shape than its bins"),
        (lambda: Measurement((0,), (np.arange(2),), np.zeros(2), np.ones(3)), "another shape than its values"),
        (lambda: Measurement((0,), (np.arange(2),), np.array([1.0, np.nan]), 1.0), "not a number"),
        (lambda: Measurement((0,), (np.arange(2),), np.zeros(2), -1.0), "not a number from 0"),
    ],
)
def test_what_is_refused(change, words):
    with pytest.raises(ShoalError, match=words):
        change()


@pytest.mark.slow
def test_a_fit_is_nearer_to_the_truth_than_clipped_counts():
    """Generated visits, all pairs at a noise that leaves something: plain clipping and scaling is the yardstick."""
    columns = arrays(4_000, seed=3)
    names = ("sex", "region", "department", "insurance", "stay")
    whole = [np.unique(np.ma.filled(columns[name], 0).astype(str), return_inverse=True)[1] for name in names]
    codes = np.minimum(np.stack(whole, axis=1), 29)
    sizes = tuple(int(own) + 1 for own in codes.max(0))
    chance = np.random.default_rng(1)
    sigma, true, noisy = 15.0, {}, []
    for a, b in pairs(len(sizes)):
        table = np.zeros((sizes[a], sizes[b]))
        np.add.at(table, (codes[:, a], codes[:, b]), 1.0)
        true[a, b] = table
        noise = np.rint(chance.normal(0, sigma, table.shape))
        noisy.append(Measurement((a, b), (np.arange(sizes[a]), np.arange(sizes[b])), table + noise, sigma**2))
    model = fit(axes(sizes), noisy, source=Source.seeded(1))
    rows = model.draw(len(codes), Source.seeded(2))
    clipped = np.mean([distance(np.maximum(each.values, 0), true[each.axes]) for each in noisy])
    tables = np.mean([distance(model.table(pair), own) for pair, own in true.items()])
    drawn = np.mean([distance(_counts(rows, pair, sizes), own) for pair, own in true.items()])
    assert tables < clipped / 2
    assert drawn < tables + 0.005


def _classes(strength):
    """Three classes of four attributes with six cells each, which differ this much: from not at all (0) up to 1."""
    chance = np.random.default_rng(3)
    alike = chance.dirichlet(np.full(6, 4.0), 4)
    found = np.zeros((6,) * 4)
    for _ in range(3):
        own = [(1 - strength) * each + strength * chance.dirichlet(np.full(6, 0.8)) for each in alike]
        found += np.einsum("a,b,c,d->abcd", *own) * 8_000 / 3
    return found


def _association(table):
    """Cramer's V."""
    share = table / table.sum()
    apart = np.outer(share.sum(1), share.sum(0))
    return float(np.sqrt(((share - apart) ** 2 / apart).sum() / (min(table.shape) - 1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strength", "pull", "good"),
    [(0.0, PULL, True), (0.8, PULL, True), (0.8, 1.0, False), (0.0, 0.0, False)],
    ids=["independent", "dependent", "lost when weighed in full", "made by noise when not weighed"],
)
def test_association_is_neither_lost_nor_made_by_noise(strength, pull, good, monkeypatch):
    """Noise of 40 on tables of 8,000 records in 36 entries; a full pull loses half of the association, and none makes some."""
    monkeypatch.setattr("shoal.model.fit.PULL", pull)
    joint = _classes(strength)
    model = fitted(*pairs(4), sizes=(6,) * 4, joint=joint, sigma=40.0)
    found = np.mean([_association(model.table(pair)) for pair in pairs(4)])
    true = np.mean([_association(joint.sum(tuple({0, 1, 2, 3} - {*pair}))) for pair in pairs(4)])
    assert (0.6 * true < found < true + 0.015) == good


def _counts(rows, pair, sizes):
    found = np.zeros([sizes[axis] for axis in pair])
    np.add.at(found, tuple(rows[:, axis] for axis in pair), 1.0)
    return found


def test_golden_numbers():
    """Computed once with this code (seeds 1 and 5); arithmetic in single precision may differ a little between machines."""
    model = fitted((0, 1), (1, 2), sigma=25.0, seed=5)
    assert model.total == pytest.approx(GOLDEN_TOTAL, abs=1e-6)
    assert model.table((0, 2))[0] == pytest.approx(GOLDEN_ROW, rel=1e-3)


def test_a_mixture_is_fitted_by_one_thread_and_others_are_left_as_they_were():
    def threads():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    def look(stage):
        if stage.startswith("fitting a model"):
            during.append(threads())

    during: list[set[int]] = []
    with threadpool_limits(2):
        before = threads()
        fit(axes(), measured(JOINT, (0, 1)), source=Source.seeded(1), stage=look)
        assert threads() == before
    assert during
    assert all(each == {1} for each in during)


# --- how much noise a mixture follows -----------------------------------------------------------------------------------


def twice(seed=1, sigma=5.0):
    """Counts of all pairs of a chain, and the same with the noise that is added to try a mixture."""
    joint = chain((8, 9, 7, 8), total=50_000.0)
    tables = measured(joint, *pairs(4), sigma=sigma, seed=seed)
    atoms = atoms_of(axes(joint.shape), tables, ())
    return joint, Collection(atoms, tables), Collection(atoms, _perturbed(tables, Source.seeded(seed)))


@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 1.0])
def test_the_part_of_the_noise_that_an_expectation_follows_is_found(part):
    """An expectation that is so far on the way from the truth to the counts that it was fitted to follows that part."""
    joint, own, other = twice()
    expect = {}
    for pair in pairs(4):
        truth = joint.sum(tuple(axis for axis in range(4) if axis not in pair))
        expect[pair] = truth + part * (other.tables[pair].values - truth)
    assert _noise_followed(own, other, expect) == pytest.approx(min(part, 0.95), abs=0.15)


def test_counts_weigh_more_where_the_expectation_followed_their_noise():
    joint, own, _ = twice()
    truth = {pair: joint.sum(tuple(axis for axis in range(4) if axis not in pair)) for pair in pairs(4)}
    margins = settle_margins(own, None)
    chance = np.random.default_rng(3)
    # Off by the noise that was followed, and by an error of its own: an expectation that looks nearer than it is.
    expect = {
        pair: truth[pair] + 0.6 * (own.tables[pair].values - truth[pair]) + chance.normal(0, 6.0, truth[pair].shape)
        for pair in truth
    }
    far = []
    for followed in (0.0, 0.6):
        settled, _ = settle_tables(own, margins, expect, {}, followed)
        far.append(np.mean([distance(settled[pair], truth[pair]) for pair in truth]))
    assert far[1] < 0.97 * far[0]


@pytest.mark.slow
def test_a_mixture_is_fitted_again_only_where_it_is_about_as_far_from_the_counts_as_their_noise(monkeypatch):
    tried = []
    monkeypatch.setattr(module, "_noise_followed", lambda *_: tried.append(1) or 0.5)
    joint = chain(total=50_000.0)
    for near, far in ((0.0, 1e9), (1e9, 1e9), (0.0, 1e-9)):
        monkeypatch.setattr(module, "NEAR", near)
        monkeypatch.setattr(module, "FAR", far)
        fit(axes(), measured(joint, *pairs(4), sigma=5.0), source=Source.seeded(1))
        tried.append(0)
    assert tried == [1, 0, 0, 0]
