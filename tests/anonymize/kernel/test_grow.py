"""The loops of a tree and their twins: masses are corrected to the last bit alike, and records end in the same boxes."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.anonymize.kernel.grow import refine, refine_lists, route, route_levels

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


def walk(ranks, nodes, at):
    """The box of one record, one step after the other; a node whose parts are all itself is a box."""
    while set(nodes[at, 3:]) != {at}:
        place = ranks[nodes[at, 0]]
        at = nodes[at, 3] if place < nodes[at, 1] else nodes[at, 4] if place < nodes[at, 2] else nodes[at, 5]
    return at


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 50])
def test_records_side_by_side_end_where_each_ends_alone(count):
    """Seven nodes along two attributes: boxes at the depths 1, 2 and 3, and a node with three parts."""
    rng = np.random.default_rng(count)
    end = np.iinfo(np.int32).max
    nodes = np.array(
        [
            [0, 5, end, 1, 2, -1], [1, 2, 4, 3, 4, 5], [0, end, end, 2, 2, 2], [0, 2, end, 6, 7, -1],
            [0, end, end, 4, 4, 4], [0, end, end, 5, 5, 5], [0, end, end, 6, 6, 6], [0, end, end, 7, 7, 7],
        ],
        dtype=np.int32,
    )  # fmt: skip
    ranks = rng.integers(0, 7, (2, count)).astype(np.int32)
    start = rng.choice(np.array([0, 0, 1, 3, 7], dtype=np.int32), count)
    expected = [walk(ranks[:, i], nodes, start[i]) for i in range(count)]
    assert route(ranks, nodes, start.copy()).tolist() == expected
    assert route_levels(ranks, nodes, start.copy()).tolist() == expected
