"""The flat scan, the tree and NumPy find the same records, whatever the ties; the slow definition agrees."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.anonymize.cluster.mdav import mdav, vmdav
from shoal.anonymize.kernel import remaining_points as clouds
from shoal.anonymize.kernel.remaining_points import FlatPoints, PlainPoints, TreePoints, remaining_points
from tests.anonymize.cluster.clouds import tables, tables_and_k

KINDS = [
    PlainPoints,
    pytest.param(FlatPoints, marks=pytest.mark.slow),
    pytest.param(TreePoints, marks=pytest.mark.slow),
]  # compiled


def squares(table, point):
    total = np.zeros(len(table))
    for j in range(table.shape[1]):
        total = total + (table[:, j] - point[j]) ** 2
    return total


def written_out(table, k):
    """Alg 2.1 as it stands in the thesis, with the tie rule, and nothing clever."""
    left, labels, group = list(range(len(table))), np.full(len(table), -1), 0
    exact = [[Fraction(v) for v in row] for row in table.tolist()]

    def farthest(point):
        distances = squares(table[left], point)
        return left[int(np.argmax(distances))]

    def form(seed):
        nonlocal group
        distances = dict(zip(left, squares(table[left], table[seed]), strict=True))
        members = sorted(left, key=lambda row: (row != seed, distances[row], row))[:k]
        labels[members] = group
        left[:] = [row for row in left if row not in members]
        group += 1

    while len(left) >= 2 * k:
        both = len(left) >= 3 * k
        total = [sum(exact[row][j] for row in left) for j in range(table.shape[1])]
        first = farthest([float(t) / len(left) for t in total])
        form(first)
        if both:
            form(farthest(table[first]))
    labels[left] = group
    return labels


@pytest.mark.slow
@given(tables_and_k())
def test_plain_mdav_is_the_written_one(given_):
    table, k = given_
    assert mdav(table, k, among=PlainPoints(table)).tolist() == written_out(table, k).tolist()


@pytest.mark.slow
@settings(max_examples=60)
@given(tables_and_k(300, 7), st.sampled_from([1, 2, 5, 32]))
def test_flat_and_tree_equal_their_twin(given_, leaf):
    table, k = given_
    before, clouds.LEAF = clouds.LEAF, leaf
    try:
        expected = mdav(table, k, among=PlainPoints(table)).tolist()
        assert mdav(table, k, among=FlatPoints(table)).tolist() == expected
        assert mdav(table, k, among=TreePoints(table)).tolist() == expected
        expected = vmdav(table, k, gain=0.5, among=PlainPoints(table)).tolist()
        assert vmdav(table, k, gain=0.5, among=FlatPoints(table)).tolist() == expected
        assert vmdav(table, k, gain=0.5, among=TreePoints(table)).tolist() == expected
    finally:
        clouds.LEAF = before


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 4, 5, 13])
def test_twins_agree_on_thousands(width):
    rng = np.random.default_rng(width)
    for table in (rng.normal(size=(3000, width)), rng.integers(0, 4, (3000, width)).astype(float)):
        expected = mdav(table, 7, among=PlainPoints(table))
        assert np.array_equal(mdav(table, 7, among=FlatPoints(table)), expected)
        assert np.array_equal(mdav(table, 7, among=TreePoints(table)), expected)


@pytest.mark.slow
@given(tables(3, 40), st.data())
@settings(max_examples=40)
def test_near_and_far_by_definition_also_from_a_record_that_is_gone(table, data):
    gone = data.draw(st.sets(st.integers(0, len(table) - 1), max_size=len(table) - 2))
    row = data.draw(st.integers(0, len(table) - 1))
    stay = [i for i in range(len(table)) if i not in gone]
    count = data.draw(st.integers(0, len(stay) - 1))
    distances = squares(table, table[row])
    near = sorted((i for i in stay if i != row), key=lambda i: (distances[i], i))[:count]
    far = min(stay, key=lambda i: (-distances[i], i))
    for kind in (PlainPoints, FlatPoints, TreePoints):
        left = kind(table)
        left.drop(np.array(sorted(gone), dtype=np.int64))
        found = left.near(row, count)
        assert found.rows.tolist() == near
        assert found.squares.tolist() == distances[near].tolist()
        assert found.far in {-1, far}
        assert left.far(table[row]) == far
        assert left.left == len(stay)


@pytest.mark.parametrize("kind", KINDS)
def test_the_average_forgets_what_is_gone(kind):
    rng = np.random.default_rng(3)
    table = rng.normal(size=(500, 2)) * [1e-3, 1e12] + [1e8, -1e13]
    left = kind(table)
    for start in range(0, 480, 6):
        left.drop(np.arange(start, start + 6))
    for j in range(2):
        exact = sum(map(Fraction, table[480:, j].tolist())) / 20
        assert left.centre[j] == pytest.approx(float(exact), rel=3e-16)


@pytest.mark.slow
def test_small_inputs_compile_nothing_and_trees_are_for_few_independent_columns():
    rng = np.random.default_rng(5)
    wide = rng.normal(size=(30_000, 13))
    assert isinstance(remaining_points(wide[:1000], 3), PlainPoints)
    assert isinstance(remaining_points(wide[:, :5], 3), TreePoints)
    assert isinstance(remaining_points(wide, 3), FlatPoints)
    assert isinstance(remaining_points(wide[:, :3] @ rng.normal(size=(3, 13)), 3), TreePoints)
    assert isinstance(remaining_points(np.zeros((30_000, 13)), 3), TreePoints)
