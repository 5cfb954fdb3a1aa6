"""Shrunken counts: the association that they lose as a whole is found, and nothing is given back where nothing was lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.model import evidence
from shoal.model.divisions import atoms_of
from shoal.model.evidence import Collection, settle_margins, settle_tables
from shoal.model.fit import fit
from shoal.model.shrinkage import MOST_WIDENED, lost_spread, unknown_spread, with_chance
from tests.model.tables import axes, chain, distance, measured, pairs

SIGMA = 30.0


def dependent(seed):
    """Independent counts of 12 x 10 entries, and true ones that deviate from them by 30 on average."""
    chance = np.random.default_rng(seed)
    expected = 24_000 * np.outer(chance.dirichlet(np.full(12, 5.0)), chance.dirichlet(np.full(10, 5.0)))
    deviation = chance.normal(0, 30.0, expected.shape)
    return chance, expected, deviation


def factors(kept, variance=SIGMA**2, draws=60):
    """The factor where shrunken counts keep this part of every deviation."""
    found = []
    for seed in range(draws):
        chance, expected, deviation = dependent(seed)
        noisy = expected + deviation + chance.normal(0, SIGMA, expected.shape)
        found.append(lost_spread(noisy, variance, expected, expected + kept * deviation))
    return np.array(found)


@pytest.mark.parametrize(("kept", "part"), [(0.7, 0.6), (0.8, 0.6), (0.9, 0.3)])
def test_the_lost_spread_is_found(kept, part):
    """Less than was lost, the less the smaller it is beside the error of its estimate."""
    assert 1 + part * (1 / kept - 1) < factors(kept).mean() < 1 / kept + 0.02


def test_little_is_given_back_where_nothing_was_lost():
    assert factors(1.0).mean() < 1.04
    assert factors(1.3).max() < 1.1


def test_noise_that_is_not_taken_away_looks_like_association():
    """The impostor: squared deviations of noisy counts as they are."""
    assert factors(1.0, variance=0.0).mean() > 1.3


@pytest.mark.parametrize("kept", [0.01, 0.3])
def test_no_more_than_half_is_added(kept):
    assert (factors(kept, draws=10) == MOST_WIDENED).all()


def test_independent_counts_stay_as_they_are():
    _, expected, _ = dependent(1)
    assert lost_spread(expected + 5, SIGMA**2, expected, expected) == 1.0


@given(st.integers(0, 2**32), st.floats(0.0, 3.0), st.floats(0.0, 100.0), st.floats(0.0, 1e4))
def test_the_factor_lies_between_one_and_one_and_a_half(seed, kept, size, variance):
    chance = np.random.default_rng(seed)
    expected = chance.exponential(20.0, (4, 3))
    deviation = size * chance.normal(size=expected.shape)
    noisy = expected + deviation + variance**0.5 * chance.normal(size=expected.shape)
    assert 1.0 <= lost_spread(noisy, variance, expected, expected + kept * deviation) <= MOST_WIDENED


# --- in tables that are settled -----------------------------------------------------------------------------------------


def association(table):
    """Cramer's V."""
    share = table / table.sum()
    apart = np.outer(share.sum(1), share.sum(0))
    return float(np.sqrt(((share - apart) ** 2 / apart).sum() / (min(table.shape) - 1)))


def test_association_and_distance_are_nearer_with_it(monkeypatch):
    """A chain of four attributes, 10,000 records, noise of 40, drawn four times: V is understated without it."""
    joint = chain((8, 9, 7, 8))
    own, far = {}, {}
    for word, replaced in (("with", lost_spread), ("without", lambda *_: 1.0)):
        monkeypatch.setattr(evidence, "lost_spread", replaced)
        errors = []
        for seed in range(4):
            model = fit(axes(joint.shape), measured(joint, *pairs(4), sigma=40.0, seed=seed), source=Source.seeded(1))
            for pair in pairs(4):
                truth = joint.sum(tuple(axis for axis in range(4) if axis not in pair))
                table = model.table(pair)
                errors.append((association(table) - association(truth), distance(table, truth)))
        own[word], far[word] = np.mean(errors, axis=0)
    assert own["without"] < own["with"]
    assert abs(own["with"]) < abs(own["without"])
    assert far["with"] < 1.02 * far["without"]


def test_margins_and_forbidden_entries_stay(monkeypatch):
    monkeypatch.setattr(evidence, "lost_spread", lambda *_: 1.5)
    joint = chain((5, 6, 4, 5))
    tables = measured(joint, *pairs(4), sigma=10.0, seed=1)
    collection = Collection(atoms_of(axes(joint.shape), tables, ()), tables)
    margins = settle_margins(collection, None)
    zeros = np.ones((5, 6))
    zeros[1, 2] = 0.0
    expect = {pair: joint.sum(tuple(axis for axis in range(4) if axis not in pair)) for pair in pairs(4)}
    settled, _ = settle_tables(collection, margins, expect, {(0, 1): zeros})
    for pair in pairs(4):
        for place, axis in enumerate(pair):
            assert settled[pair].sum(1 - place) == pytest.approx(margins[axis], rel=1e-4, abs=1e-3)
        assert (settled[pair] >= 0).all()
    assert settled[0, 1][1, 2] == 0.0


# --- rows that favour associations --------------------------------------------------------------------------------------


def test_what_is_unknown_is_at_most_what_chance_adds():
    expected = np.array([[0.0, 0.5], [4.0, 100.0]])
    assert unknown_spread(np.full((2, 2), 2.0), expected) == pytest.approx(1 + 0.5 + 0.02)
    assert unknown_spread(np.zeros((2, 2)), expected) == 0.0


def test_a_table_that_is_known_stays_and_empty_entries_stay_empty():
    table = np.array([[30.0, 10.0], [0.0, 60.0]])
    assert with_chance(table, 0.0) == pytest.approx(table)
    wider = with_chance(table, 50.0)
    assert wider[1, 0] == 0.0
    assert wider[0, 0] > 30.0


def in_rows(model, rows, pair, sizes, **favour):
    """Cramer's V of a pair in rows that are drawn from a model."""
    codes = model.draw(rows, Source.seeded(5), **favour)
    found = np.zeros([sizes[axis] for axis in pair])
    np.add.at(found, tuple(codes[:, axis] for axis in pair), 1.0)
    return association(found + 1e-9)


@pytest.mark.slow
def test_rows_that_favour_associations_have_those_of_real_rows():
    """2,000 rows with noise of 25: three columns in a chain and one that is independent, whose V is chance alone."""
    chance, sizes = np.random.default_rng(4), (9, 8, 7, 10)
    share = chain(sizes[:3], total=1.0)
    flat = chance.choice(share.size, 2_000, p=share.ravel() / share.sum())
    rows = np.stack([*np.unravel_index(flat, share.shape), chance.integers(0, 10, 2_000)], axis=1)
    joint = np.zeros(sizes)
    np.add.at(joint, tuple(rows.T), 1.0)
    model = fit(axes(sizes), measured(joint, *pairs(4), sigma=25.0, seed=3), source=Source.seeded(1))
    far = {"counts": [], "associations": []}
    for pair in pairs(4):
        truth = joint.sum(tuple(axis for axis in range(4) if axis not in pair))
        for favour, errors in far.items():
            errors.append(in_rows(model, 2_000, pair, sizes, favour=favour) - association(truth + 1e-9))
    assert np.mean(far["counts"]) < -0.02  # too small
    assert np.abs(far["associations"]).mean() < 0.75 * np.abs(far["counts"]).mean()


def test_no_row_that_favours_associations_lies_in_a_forbidden_box():
    joint = chain((5, 6, 4))
    joint[1, 2] = 0.0
    box = (np.arange(5) == 1, np.arange(6) == 2, None)
    model = fit(
        axes(joint.shape), measured(joint, *pairs(3), (0, 1, 2), sigma=10.0), source=Source.seeded(1), forbidden=[box]
    )
    codes = model.draw(3_000, Source.seeded(2), favour="associations")
    assert len(codes) == 3_000
    assert not ((codes[:, 0] == 1) & (codes[:, 1] == 2)).any()
