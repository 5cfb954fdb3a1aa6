"""The loop that brings rows nearer to tables: compiled and plain it does the same, and it only ever gains."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.compilation import compile_kernel
from shoal.model.descent import improve, improve_plain

SIZES = np.array([3, 4, 2], dtype=np.int64)


def problem(seed, rows=60, boxes=1):
    """Rows, wanted counts of each pair, and boxes."""
    chance = np.random.default_rng(seed)
    codes = np.stack([chance.integers(0, size, rows) for size in SIZES], axis=1).astype(np.int64)
    where, parts, end = np.zeros((3, 3), dtype=np.int64), {}, 0
    for j in range(3):
        for k in range(3):
            if j != k:
                where[j, k] = end
                end += int(SIZES[j] * SIZES[k])
    gaps = np.empty(end)
    for j, k in [(0, 1), (0, 2), (1, 2)]:
        wanted = chance.dirichlet(np.ones(SIZES[j] * SIZES[k])).reshape(SIZES[j], SIZES[k]) * rows
        found = np.zeros((SIZES[j], SIZES[k]))
        np.add.at(found, (codes[:, j], codes[:, k]), 1.0)
        parts[j, k] = wanted
        gaps[where[k, j] : where[k, j] + wanted.size] = (found - wanted).ravel()
        gaps[where[j, k] : where[j, k] + wanted.size] = (found - wanted).T.ravel()
    closed = np.zeros((boxes, int(SIZES.sum())), dtype=np.bool_)
    closed[:, [0, 3, 4, 7, 8]] = True  # atom 0 of the first, atoms 0 and 1 of the second, any of the third
    return codes, where, gaps, closed, parts


def run(loop, seed, sweeps=5, **other):
    codes, where, gaps, closed, parts = problem(seed, **other)
    inside = (codes[:, 0] == 0) & (codes[:, 1] < 2)
    codes[inside, 0] = 1  # no row begins in the box; the gaps below are those of the rows before, which is all the same
    chance = np.random.default_rng(seed + 1)
    costs, changes = [float(gaps @ gaps)], []
    for _ in range(sweeps):
        order = chance.permutation(len(codes)).astype(np.int64)
        changes.append(loop(codes, order, SIZES, where, gaps, np.array([0, 3, 7]), closed, 0.0))
        costs.append(float(gaps @ gaps))
    return codes, gaps, costs, changes, parts, where


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_compiled_and_plain_do_the_same(seed):
    one, other = run(compile_kernel(improve), seed), run(improve_plain, seed)
    assert np.array_equal(one[0], other[0])
    assert np.array_equal(one[1], other[1])
    assert one[3] == other[3]


@pytest.mark.parametrize("loop", [improve, improve_plain])
def test_every_sweep_gains_and_no_row_enters_a_box(loop):
    codes, _, costs, changes, *_ = run(loop, 4)
    assert all(later < before for before, later, many in zip(costs, costs[1:], changes, strict=False) if many)
    assert costs[-1] < costs[0] / 2
    assert not ((codes[:, 0] == 0) & (codes[:, 1] < 2)).any()


@pytest.mark.parametrize("loop", [improve, improve_plain])
def test_the_gaps_are_kept_up_to_date(loop):
    codes, where, gaps, closed, parts = problem(2, boxes=0)
    loop(codes, np.arange(len(codes)), SIZES, where, gaps, np.array([0, 3, 7]), closed, 0.0)
    for (j, k), wanted in parts.items():
        found = np.zeros(wanted.shape)
        np.add.at(found, (codes[:, j], codes[:, k]), 1.0)
        assert np.allclose(gaps[where[k, j] : where[k, j] + wanted.size], (found - wanted).ravel())
        assert np.allclose(gaps[where[j, k] : where[j, k] + wanted.size], (found - wanted).T.ravel())
