"""What a tree of measured pairs implies about the others."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.model.fit import fit
from shoal.model.paths import implied_pairs, information, strongest_tree
from tests.model.tables import axes, chain, distance, measured

JOINT = chain()
MARGINS = [JOINT.sum(tuple(axis for axis in range(4) if axis != own)) for own in range(4)]


def pair(a, b):
    return JOINT.sum(tuple(axis for axis in range(4) if axis not in {a, b}))


def test_a_chain_is_exact():
    known = {(0, 1): pair(0, 1), (1, 2): pair(1, 2), (2, 3): pair(2, 3)}
    found = implied_pairs(MARGINS, known, JOINT.sum())
    assert sorted(found) == [(0, 2), (0, 3), (1, 3)]
    for own, (mean, variance) in found.items():
        assert np.allclose(mean, pair(*own))
        assert (variance > 0).all()


def test_attributes_that_no_pair_joins_are_independent():
    found = implied_pairs(MARGINS, {(0, 1): pair(0, 1)}, JOINT.sum())
    assert np.allclose(found[2, 3][0], np.outer(MARGINS[2], MARGINS[3]) / JOINT.sum())
    assert implied_pairs(MARGINS, {}, JOINT.sum()) == {}


def test_the_tree_has_the_most_information():
    known = {(a, b): pair(a, b) for a in range(4) for b in range(a + 1, 4)}
    tree = strongest_tree(4, known)
    assert len(tree) == 3
    assert max(known, key=lambda own: information(known[own])) == tree[0]
    assert information(np.outer(MARGINS[0], MARGINS[1])) == pytest.approx(0, abs=1e-12)


def test_a_model_of_a_chain_knows_the_pairs_that_nobody_measured():
    model = fit(axes(), measured(JOINT, (0, 1), (1, 2), (2, 3)), source=Source.seeded(1))
    assert distance(model.table((0, 2)), pair(0, 2)) < 0.002
    assert distance(model.table((0, 3)), pair(0, 3)) < 0.002
    assert distance(model.table((0, 1, 2)), JOINT.sum(3)) < 0.03
