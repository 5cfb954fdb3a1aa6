"""Permutations: always permutations, inside groups only, and drawn again when two words are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.chance.permutation import permutation
from shoal.chance.source import Source
from shoal.errors import ParameterError


@given(st.integers(0, 200), st.integers())
def test_a_permutation_has_everything_once(count, seed):
    assert sorted(Source.seeded(seed).permutation(count).tolist()) == list(range(count))


@given(st.lists(st.integers(-3, 3) | st.integers(), max_size=60), st.integers())
def test_a_shuffle_stays_inside_its_groups(groups, seed):
    labels = np.array(groups, dtype=object if any(abs(label) > 1 << 62 for label in groups) else np.int64)
    order = Source.seeded(seed).shuffle_within(labels)
    assert sorted(order.tolist()) == list(range(len(groups)))
    assert labels[order].tolist() == groups


def test_labels_may_be_text():
    labels = np.array(["b", "a", "b", "a"])
    assert labels[Source.seeded(1).shuffle_within(labels)].tolist() == ["b", "a", "b", "a"]


def test_one_group_is_a_permutation_and_many_are_none():
    assert Source.seeded(2).shuffle_within(np.zeros(50)).tolist() != list(range(50))
    assert Source.seeded(2).shuffle_within(np.arange(50)).tolist() == list(range(50))


def test_equal_words_are_thrown_away():
    class Tied:
        drawn = 0

        def words(self, count):
            self.drawn += 1
            return np.array([5, 9, 5] if self.drawn < 3 else [7, 9, 5], dtype=np.uint64)

    source = Tied()
    assert permutation(source, 3).tolist() == [2, 0, 1]  # type: ignore[arg-type]
    assert source.drawn == 3


def test_wrong_requests_are_refused():
    with pytest.raises(ParameterError, match="the number of places is out of range; got -1; allowed"):
        Source.seeded(1).permutation(-1)
    with pytest.raises(ParameterError, match=r"groups are not a list; got shape \(1, 2\); allowed"):
        Source.seeded(1).shuffle_within([[1, 2]])
