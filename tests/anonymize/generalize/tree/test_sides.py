"""Sides: a binary tree over cells whose nodes are runs, with labels that nobody else has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.generalize.tree.sides import NONE, build_sides, hierarchy_over, label_fits
from shoal.data.cells import cells_of
from tests.data.test_cells import attribute

SPECS = (
    "type: integer, domain: [0, 30], hierarchy: {intervals: [2, 10]}",
    "type: integer, domain: [0, 30]",
    "type: category, domain: [a, b, c, d, e, f, g]",
    "type: category, domain: [a, b, c, d, e, f, g], hierarchy: {groups: {x: [a, d, g], y: [b, c], z: [e, f]}}",
    "type: ordinal, domain: [a, b, c, d, e]",
    "type: date, domain: [2025-01-01, 2025-03-31], hierarchy: {date: [month, quarter]}",
    'type: text, domain: {pattern: "[0-9]{3}"}, hierarchy: {mask: right}',
    "type: boolean",
    "type: category, domain: [a]",
)


@pytest.mark.slow
@given(st.sampled_from(SPECS), st.booleans(), st.randoms(use_true_random=False))
def test_every_node_is_a_run_and_divides_into_its_kids(spec, missing, chance):
    found = cells_of(attribute(spec, missing="value" if missing else "refuse"))
    masses = np.array([chance.choice([0.0, 0.1, 1.0, 50.0]) for _ in found.labels])
    tree = build_sides(found, masses)
    assert sorted(tree.order.tolist()) == list(range(len(found)))
    assert (tree.start[0], tree.stop[0]) == (0, len(found))
    assert len(set(tree.labels)) == len(tree)
    for node in range(len(tree)):
        kids = [kid for kid in tree.kids[node].tolist() if kid != NONE]
        assert not kids or (kids[0] == node + 1 and all(kid > node for kid in kids))
        ends = [tree.start[node], *(tree.stop[kid] for kid in kids)]
        starts = [*(tree.start[kid] for kid in kids), tree.stop[node]]
        assert ends == starts if kids else tree.stop[node] - tree.start[node] == 1
    assert tree.losses[0] == pytest.approx(1.0 if sum(found.sizes) > 1 else 0.0)
    assert all(
        tree.losses[kid] <= tree.losses[node] for node in range(len(tree)) for kid in tree.kids[node] if kid >= 0
    )
    assert tree.sums(masses)[0] == pytest.approx(masses.sum())


@pytest.mark.slow
def test_sides_follow_the_hierarchy():
    """Every group of every level is a node, so that boxes can end at each of its labels."""
    for spec in SPECS:
        found = cells_of(attribute(spec))
        tree = build_sides(found, np.ones(len(found)))
        members = {tree.members(node) for node in range(len(tree))}
        assert all(tuple(sorted(group.cells)) in members for groups in found.groups for group in groups)


def test_heavy_values_are_cut_off_first_and_the_missing_value_with_them():
    found = cells_of(attribute("type: category, domain: [a, b, c, d, e, f]", missing="value"))
    tree = build_sides(found, np.array([1.0, 1.0, 90.0, 1.0, 1.0, 1.0, 0.1]))
    assert [tree.labels[kid] for kid in tree.kids[0]] == ["c", "any but c", "(missing)"]


def test_labels_are_readable():
    age = build_sides(cells_of(attribute(SPECS[0])), np.ones(31))
    assert "[10, 20)" in age.labels
    assert "[0, 2)" in age.labels
    assert {"0", "30"} <= set(age.labels)
    groups = build_sides(cells_of(attribute(SPECS[3])), np.array([9.0, 1, 1, 9, 1, 1, 9]))
    assert "x" in groups.labels
    assert "y or z" in groups.labels


def test_what_is_too_coarse():
    tree = build_sides(cells_of(attribute(SPECS[0])), np.ones(31))
    forced = tree.too_coarse(2)
    assert {tree.labels[node] for node in np.flatnonzero(~forced)} >= {"[0, 10)", "[10, 20)", "[0, 2)", "7"}
    assert forced[0]
    assert not tree.too_coarse(None).any()
    assert not tree.too_coarse(3).any()  # the top of the hierarchy asks for nothing


@pytest.mark.slow
@given(st.sampled_from(SPECS), st.booleans(), st.randoms(use_true_random=False))
def test_a_stranger_can_tell_which_labels_fit(spec, missing, chance):
    found = cells_of(attribute(spec, missing="value" if missing else "refuse"))
    tree = build_sides(found, np.array([chance.choice([0.1, 1.0, 50.0]) for _ in found.labels]))
    over = hierarchy_over(found)
    for node in range(len(tree)):
        members = list(tree.members(node))
        assert label_fits(found, tree.labels[node], members, over)
        assert not label_fits(found, "John Smith, 35M", members, over)
        if len(members) < len(found):
            assert not label_fits(found, "*", members, over)
        other = [cell for cell in range(len(found)) if cell not in members]
        if len(members) > 1 and other:
            assert not label_fits(found, tree.labels[node], [*members[1:], other[0]], over)
