"""Rows of maximum entropy: they have the tables that are wanted, and say nothing else."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.compilation import compile_kernel
from shoal.model import draw
from shoal.model.evidence import rake
from shoal.model.fit import fit
from shoal.model.gibbs import MaximumEntropy, chains_for, resample, resample_plain
from shoal.model.layout import layout_of, with_triples
from tests.model.tables import axes, chain, counted, distance, measured, pairs
from tests.model.test_descent import problem

PARITY = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
"""Three attributes of two values: any two are independent, and the third is their parity."""


def layout_and_wanted(joint, groups, rows):
    """The layout of some tables of a joint one, and what so many rows should have."""
    width = range(joint.ndim)
    tables = {group: joint.sum(tuple(axis for axis in width if axis not in group)) for group in groups}
    model = SimpleNamespace(
        axes=tuple(width),
        atoms=[SimpleNamespace(many=size) for size in joint.shape],
        settled=tables,
        total=float(joint.sum()),
        table_of_atoms=tables.__getitem__,
    )
    layout = layout_of(model, [])
    return layout, layout.wanted(model, rows)


def rows_of(joint, rows, seed=1):
    """Rows of a joint table."""
    places = np.random.default_rng(seed).choice(joint.size, rows, p=(joint / joint.sum()).ravel())
    return np.stack(np.unravel_index(places, joint.shape), axis=1).astype(np.int64)


@pytest.mark.slow
@pytest.mark.parametrize("wider", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_compiled_and_plain_do_the_same(seed, wider):
    chance, found = np.random.default_rng(seed), []
    weights = turns = None
    for loop in (compile_kernel(resample), resample_plain):
        codes, layout, *_ = problem(seed, wider=wider)
        if weights is None:
            weights, turns = chance.normal(0, 1, layout.entries), chance.random(codes.shape)
        loop(codes, turns, layout.sizes, layout.where, weights, layout.first, layout.closed, *layout.wider)
        found.append(codes)
    assert np.array_equal(*found)


@pytest.mark.parametrize("loop", [resample, resample_plain])
def test_no_row_enters_a_box(loop):
    codes, layout, *_ = problem(1, rows=300)
    weights = np.zeros(layout.entries)
    loop(codes, np.random.default_rng(1).random(codes.shape), layout.sizes, layout.where, weights, layout.first,
         layout.closed, *layout.wider)  # fmt: skip
    assert not ((codes[:, 0] == 0) & (codes[:, 1] < 2)).any()
    assert (codes[:, 0] == 0).any()


@pytest.mark.parametrize("loop", [resample, resample_plain])
def test_a_value_is_drawn_in_proportion_to_its_factors(loop):
    """One attribute of two, given the other: the exact conditional distribution of the factors."""
    layout, _ = layout_and_wanted(np.ones((3, 2)), [(0, 1)], 1)
    chance = np.random.default_rng(1)
    table, rows = chance.normal(0, 1, (3, 2)), 6_000
    weights = np.empty(layout.entries)
    weights[layout.where[1, 0] :][:6], weights[layout.where[0, 1] :][:6] = table.ravel(), table.T.ravel()
    codes = np.zeros((rows, 2), dtype=np.int64)
    codes[:, 1] = 1
    turns = np.stack([(np.arange(rows) + 0.5) / rows, np.zeros(rows)], axis=1)
    loop(codes, turns, layout.sizes, layout.where, weights, layout.first, layout.closed, *layout.wider)
    expected = np.exp(table[:, 1]) / np.exp(table[:, 1]).sum()
    assert np.abs(np.bincount(codes[:, 0], minlength=3) / rows - expected).max() <= 1 / rows


@pytest.mark.slow
def test_what_only_three_attributes_say_is_forgotten_unless_it_was_measured():
    rows, groups = 4_000, pairs(3)
    begin = rows_of(PARITY, rows)
    for told, expected in ((groups, np.ones((2, 2, 2))), ([*groups, (0, 1, 2)], PARITY)):
        layout, wanted = layout_and_wanted(PARITY, told, rows)
        found = MaximumEntropy(layout, wanted, begin, Source.seeded(3)).draw(rows)
        assert distance(counted(found, (2, 2, 2)), expected) < 0.03
    assert distance(counted(begin, (2, 2, 2)), np.ones((2, 2, 2))) == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
def test_rows_are_those_of_iterative_proportional_fitting():
    """Darroch and Ratcliff (1972): raking an even table to its pairs gives the same maximum of entropy, exactly."""
    joint = np.random.default_rng(5).dirichlet(np.full(24, 0.7)).reshape(3, 4, 2) * 20_000
    aims = [(pair, joint.sum(3 - sum(pair))) for pair in pairs(3)]
    exact = rake(np.ones((3, 4, 2)), aims, steps=2_000)
    layout, wanted = layout_and_wanted(joint, pairs(3), 20_000)
    found = counted(MaximumEntropy(layout, wanted, rows_of(joint, 20_000), Source.seeded(3)).draw(20_000), (3, 4, 2))
    assert distance(found, exact) < 0.02 < distance(joint, exact)


@pytest.mark.slow
def test_pairs_of_a_chain_give_its_triples():
    """In a chain of attributes the pairs say it all: rows are nearer in triples than a sample; rows of the mixture are not."""
    joint = chain((3, 4, 2, 5, 3, 4), total=20_000.0, seed=3)
    model = fit(axes(joint.shape), measured(joint, *pairs(6)), source=Source.seeded(1))
    drawn, mixed = model.draw(20_000, Source.seeded(2)), draw._from_mixture(model, 20_000, Source.seeded(2))

    def far(rows):
        found = counted(rows, joint.shape)
        rests = [tuple(axis for axis in range(6) if axis not in group) for group in combinations(range(6), 3)]
        return np.mean([distance(found.sum(rest), joint.sum(rest)) for rest in rests])

    assert far(drawn) < far(rows_of(joint, 20_000)) < far(mixed)


@pytest.mark.slow
def test_rows_come_nearer_to_the_triples_that_are_expected_and_keep_their_pairs(monkeypatch):
    joint = chain((3, 4, 2, 5, 3, 4), total=5_000.0, seed=3)
    model = fit(axes(joint.shape), measured(joint, *pairs(6)), source=Source.seeded(1))

    def far(rows, width):
        found = counted(rows, joint.shape)
        rests = [tuple(axis for axis in range(6) if axis not in group) for group in combinations(range(6), width)]
        return np.mean([distance(found.sum(rest), joint.sum(rest)) for rest in rests])

    drawn = model.draw(5_000, Source.seeded(2))
    monkeypatch.setattr(draw, "WORK_OF_TRIPLES", 0)
    without = model.draw(5_000, Source.seeded(2))
    assert far(drawn, 3) < 0.7 * far(without, 3)
    assert far(drawn, 2) < far(without, 2) + 0.001


def test_expected_counts_are_those_of_the_distribution():
    """The pairs of parity do not say it: every entry of the triple is equally likely."""
    layout, wanted = layout_and_wanted(PARITY, pairs(3), 400)
    entropy = MaximumEntropy(layout, wanted, rows_of(PARITY, 400), Source.seeded(3))
    finer = with_triples(layout)
    found = entropy.expected(finer, 800)
    assert found[finer.values_of((0, 1, 2))] == pytest.approx(np.full(8, 100.0), abs=12)
    assert found[finer.pairs] == pytest.approx(2 * wanted, abs=20)


def test_triples_of_many_attributes_or_atoms_are_not_laid_out(monkeypatch):
    layout, _ = layout_and_wanted(np.ones((3, 4, 2)), pairs(3), 1)
    assert with_triples(layout).groups == ((0, 1, 2),)
    monkeypatch.setattr("shoal.model.layout.MOST_OF_TRIPLES", layout.entries + 23)
    assert with_triples(layout) is None
    monkeypatch.setattr("shoal.model.layout.MOST_OF_TRIPLES", layout.entries + 24)
    assert with_triples(layout) is not None
    monkeypatch.setattr("shoal.model.layout.MOST_TRIPLES", 0)
    assert with_triples(layout) is None


def test_chains_are_as_many_as_rows_within_limits():
    layout, _ = layout_and_wanted(np.ones((3, 4, 2)), pairs(3), 1)
    assert chains_for(layout, 5) == 1_000
    assert chains_for(layout, 7_000) == 7_000
    assert chains_for(layout, 10**9) == 40_000
