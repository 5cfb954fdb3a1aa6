"""Labels cover their groups: every value lies in the interval, the set, or below the concept, and nothing smaller would do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize import aggregate
from shoal.data.taxonomy import Taxonomy
from shoal.errors import DataError
from tests.anonymize.groups import grouped

TREE = Taxonomy.of({"any": {"warm": ["red", "orange"], "cold": ["blue", "green", "violet"]}})


@pytest.mark.slow
@given(grouped(st.integers(-9, 9)))
def test_intervals(given_):
    values, labels = given_
    for column in (np.array(values), np.array(values, dtype=float)):
        shown = aggregate.interval(column, labels)
        for group in range(labels.max() + 1):
            low, high = column[labels == group].min(), column[labels == group].max()
            expected = f"[{int(low)}, {int(high)}]" if low < high else f"{int(low)}"
            assert set(shown[labels == group].tolist()) == {expected}


def test_fractions_keep_their_digits():
    assert aggregate.interval(np.array([0.1, 0.30000000000000004, 2.0]), np.array([0, 0, 1])).tolist() == [
        "[0.1, 0.30000000000000004]",
        "[0.1, 0.30000000000000004]",
        "2",
    ]


@pytest.mark.slow
@given(grouped(st.sampled_from(TREE.leaves)))
def test_sets_and_ancestors(given_):
    values, labels = given_
    column = np.array(values, dtype=object)
    sets, above = aggregate.members(column, labels), aggregate.ancestor(column, labels, TREE)
    for group in range(labels.max() + 1):
        held = sorted(set(column[labels == group].tolist()))
        assert set(sets[labels == group].tolist()) == {held[0] if len(held) == 1 else "{" + ", ".join(held) + "}"}
        concept = above[labels == group][0]
        assert all(concept in TREE.ancestors(value) for value in held)
        below = [node for node in TREE.nodes if TREE.parents[node] == concept]
        assert not any(all(node in TREE.ancestors(value) for value in held) for node in below)


def test_intervals_are_of_numbers():
    with pytest.raises(DataError, match="an interval is of finite numbers"):
        aggregate.interval(np.array(["a"]), np.array([0]))
    with pytest.raises(DataError, match="finite numbers"):
        aggregate.interval(np.array([np.nan]), np.array([0]))
