"""The loop that brings rows nearer to tables: compiled and plain it does the same, and it only ever gains."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from shoal.compilation import compile_kernel
from shoal.model.descent import improve, improve_plain
from shoal.model.layout import layout_of

SIZES = (3, 4, 2)
BOX = (np.array([True, False, False]), np.array([True, True, False, False]), np.array([True, True]))


def problem(seed, rows=60, boxes=1, wider=True):
    """Rows, the layout of all pairs and of the three attributes together, their gaps, and what is wanted."""
    chance = np.random.default_rng(seed)
    codes = np.stack([chance.integers(0, size, rows) for size in SIZES], axis=1).astype(np.int64)
    inside = (codes[:, 0] == 0) & (codes[:, 1] < 2)
    codes[inside, 0] = 1  # no row begins in the box
    joint = chance.dirichlet(np.ones(24)).reshape(SIZES) * rows
    tables = {(0, 1): joint.sum(2), (0, 2): joint.sum(1), (1, 2): joint.sum(0), (0, 1, 2): joint}
    model = SimpleNamespace(
        axes=SIZES,
        atoms=[SimpleNamespace(many=size) for size in SIZES],
        settled={group: table for group, table in tables.items() if wider or len(group) < 3},
        total=float(rows),
        table_of_atoms=tables.__getitem__,
    )
    layout = layout_of(model, [BOX] * boxes)
    wanted = layout.wanted(model, rows)
    return codes, layout, layout.count(codes) - wanted, wanted


def call(loop, codes, layout, gaps, order):
    return loop(codes, order, layout.sizes, layout.where, gaps, layout.first, layout.closed, *layout.wider)


def run(loop, seed, sweeps=5, **other):
    codes, layout, gaps, wanted = problem(seed, **other)
    chance = np.random.default_rng(seed + 1)
    costs, changes = [float(gaps @ gaps)], []
    for _ in range(sweeps):
        changes.append(call(loop, codes, layout, gaps, chance.permutation(len(codes)).astype(np.int64)))
        costs.append(float(gaps @ gaps))
    return codes, gaps, costs, changes, layout, wanted


@pytest.mark.slow
@pytest.mark.parametrize("wider", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_compiled_and_plain_do_the_same(seed, wider):
    one, other = run(compile_kernel(improve), seed, wider=wider), run(improve_plain, seed, wider=wider)
    assert np.array_equal(one[0], other[0])
    assert np.array_equal(one[1], other[1])
    assert one[3] == other[3]


@pytest.mark.parametrize("loop", [improve, improve_plain])
@pytest.mark.parametrize("wider", [True, False])
def test_every_sweep_gains_and_no_row_enters_a_box(loop, wider):
    codes, _, costs, changes, *_ = run(loop, 4, wider=wider)
    if not wider:  # every pair stands there twice, so the sum of squares is what the loop makes less
        assert all(later < before for before, later, many in zip(costs, costs[1:], changes, strict=False) if many)
    assert costs[-1] < costs[0] / 2
    assert not ((codes[:, 0] == 0) & (codes[:, 1] < 2)).any()


@pytest.mark.parametrize("loop", [improve, improve_plain])
def test_the_gaps_are_kept_up_to_date(loop):
    codes, gaps, _, changes, layout, wanted = run(loop, 2, sweeps=1, boxes=0)
    assert changes[0]
    assert np.allclose(gaps, layout.count(codes) - wanted)


def test_a_layout_counts_rows_as_a_table_does():
    codes, layout, *_ = problem(3)
    found, joint = layout.count(codes), np.zeros(SIZES)
    np.add.at(joint, tuple(codes.T), 1.0)
    for j, k in ((0, 1), (0, 2), (1, 2)):
        pair = joint.sum(3 - j - k)
        assert np.array_equal(found[layout.where[k, j] :][: pair.size], pair.ravel())
        assert np.array_equal(found[layout.where[j, k] :][: pair.size], pair.T.ravel())
    assert np.array_equal(found[layout.wider.start[0] :], joint.ravel())
    assert len(found) == layout.entries


def test_tables_that_are_too_large_have_no_layout():
    model = SimpleNamespace(axes=(0, 1), atoms=[SimpleNamespace(many=6_000)] * 2, settled={})
    assert layout_of(model, []) is None
