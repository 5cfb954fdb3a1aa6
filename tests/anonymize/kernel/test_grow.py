"""The loops of a tree: the twin with lists corrects masses to the last bit as the one with arrays does."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.anonymize.kernel.grow import refine, refine_lists

STARTS = np.array([9, 0, 0, 2, 0, 1, 2, 3, 5, 4, 5], dtype=np.int32)
STOPS = np.array([9, 6, 2, 6, 1, 2, 3, 5, 6, 5, 6], dtype=np.int32)
"""A node of another attribute, then six cells: two parts, of which the second has three, one of them in two again."""
KIDS = np.full((11, 3), -1, dtype=np.int32)
KIDS[1, :2], KIDS[2, :2], KIDS[3], KIDS[7, :2] = (2, 3), (4, 5), (6, 7, 8), (9, 10)
STARTS[9:], STOPS[9:] = (3, 4), (4, 5)


@pytest.mark.parametrize("seed", range(20))
def test_lists_and_arrays_agree_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.ones(11)) * rng.choice([0.0, 1.0, 1.0], 11)
    noisy = rng.normal(3, 20, 6)
    terms = (float(rng.uniform(0, 50)), float(rng.uniform(0.1, 900)), float(rng.uniform(1e-6, 0.5)))
    plain, lists = (
        loop(masses.copy(), 0, 1, 11, KIDS, STARTS, STOPS, noisy, *terms) for loop in (refine, refine_lists)
    )
    assert plain.tobytes() == lists.tobytes()
    assert lists[0] == masses[0]  # another attribute's
    assert lists[1:].min() > 0
    assert lists[1] == 1.0
    assert lists[[4, 5, 6, 9, 10, 8]].sum() == pytest.approx(1)
