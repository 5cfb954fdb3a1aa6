"""Centres: one value for each group, by definition; means of columns are preserved, offsets cost no digits."""

from __future__ import annotations

import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize import aggregate
from shoal.data.taxonomy import Taxonomy
from shoal.errors import DataError, UsageError
from tests.anonymize.groups import grouped

TREE = Taxonomy.of({"any": {"warm": ["red", "orange"], "cold": ["blue", "green", "violet"]}})
NUMBERS = st.integers(-1000, 1000) | st.floats(-1e6, 1e6)


def by_group(values, labels):
    return [
        [v for v, g in zip(values, labels.tolist(), strict=True) if g == group] for group in range(labels.max() + 1)
    ]


@pytest.mark.slow
@given(grouped(NUMBERS))
def test_means_are_those_of_the_groups_and_keep_the_mean(given_):
    values, labels = given_
    column = np.array(values, dtype=float)
    shown = aggregate.mean(column, labels)
    for group, members in enumerate(by_group(values, labels)):
        exact = float(sum(map(Fraction, members)) / len(members))
        assert set(shown[labels == group].tolist()) == {shown[labels == group][0]}
        assert shown[labels == group][0] == pytest.approx(exact, rel=1e-12, abs=1e-8)
    assert shown.mean() == pytest.approx(column.mean(), rel=1e-12, abs=1e-8)


@pytest.mark.slow
@given(grouped(st.integers(-100, 100)))
def test_offsets_move_means_and_medians_and_nothing_else(given_):
    values, labels = given_
    column = np.array(values, dtype=float)
    for centre in (aggregate.mean, aggregate.median):
        assert centre(column + 1e8, labels) - 1e8 == pytest.approx(centre(column, labels), abs=2e-8)


@pytest.mark.slow
@given(grouped(NUMBERS))
def test_medians(given_):
    values, labels = given_
    shown = aggregate.median(np.array(values, dtype=float), labels)
    for group, members in enumerate(by_group(values, labels)):
        assert shown[labels == group][0] == pytest.approx(statistics.median(map(float, members)), abs=1e-9)


@pytest.mark.slow
@given(grouped(st.sampled_from("abc")), st.sampled_from([object, str]))
def test_modes_and_the_smallest_of_equals(given_, kind):
    values, labels = given_
    shown = aggregate.mode(np.array(values, dtype=kind), labels)
    for group, members in enumerate(by_group(values, labels)):
        most = max(map(members.count, members))
        assert set(shown[labels == group].tolist()) == {min(v for v in members if members.count(v) == most)}


@pytest.mark.slow
@given(grouped(st.sampled_from(TREE.leaves)))
def test_concepts_are_the_least_marginal(given_):
    values, labels = given_
    shown = aggregate.concept(np.array(values, dtype=object), labels, TREE)
    for group, members in enumerate(by_group(values, labels)):
        candidates = TREE.subtree(members)
        costs = {node: sum(TREE.distance(node, v) for v in members) for node in candidates}
        assert costs[shown[labels == group][0]] == pytest.approx(min(costs.values()))


def test_what_is_refused():
    labels = np.array([0, 0], dtype=np.int32)
    with pytest.raises(UsageError, match=r"labels and values do not fit together; got shapes \(2,\) and \(3,\)"):
        aggregate.mean(np.zeros(3), labels)
    for wrong in ([0, 2], [-1, 0]):
        with pytest.raises(UsageError, match="without gaps"):
            aggregate.mode(np.zeros(2), np.array(wrong))
    with pytest.raises(DataError, match="missing or infinite"):
        aggregate.mean(np.array([1, np.nan]), labels)
    with pytest.raises(DataError, match="not numbers; allowed: numbers; use the mode"):
        aggregate.median(np.array(["a", "b"]), labels)
    with pytest.raises(UsageError, match="1 names are not in the taxonomy"):
        aggregate.concept(np.array(["red", "grey"], dtype=object), labels, TREE)


def test_nobody_is_shown_as_nothing():
    none = np.zeros(0, dtype=np.int32)
    assert len(aggregate.mean(np.zeros(0), none)) == len(aggregate.mode(np.zeros(0), none)) == 0
    assert len(aggregate.median(np.zeros(0), none)) == 0
