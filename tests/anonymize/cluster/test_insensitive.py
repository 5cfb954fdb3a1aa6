"""Insensitive groups: one replaced record moves every group by at most one record; the corners come in SC13's order."""

from __future__ import annotations

from collections import Counter
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.anonymize.cluster.clustering import microaggregate
from shoal.anonymize.cluster.columns import NominalColumn, NumericColumn, OrdinalColumn
from shoal.anonymize.cluster.insensitive import _joint_rank, _rank, corners, in_turns, insensitive
from shoal.data.schema import Missing
from shoal.data.taxonomy import Taxonomy
from shoal.errors import DomainError, ParameterError, UsageError

TREE = Taxonomy.of({"any": {"warm": ["red", "orange"], "cold": ["blue", "green", "violet"]}})
GRADES = ("low", "mid", "high")
RECORD = st.tuples(
    st.integers(0, 4) | st.none(), st.sampled_from(GRADES), st.sampled_from(TREE.leaves) | st.none()
)  # fmt: skip


def columns(records):
    """A numeric, an ordinal and a nominal column; two of them with missing values."""
    numbers, grades, colours = zip(*records, strict=True)
    return [
        NumericColumn(
            np.array([np.nan if v is None else v for v in numbers], float), "n", Missing.VALUE, low=0, high=4
        ),
        OrdinalColumn(np.array(grades, dtype=object), "g", levels=GRADES),
        NominalColumn(np.array(colours, dtype=object), "c", Missing.VALUE, taxonomy=TREE),
    ]


def contents(records, labels):
    """Each group as a multiset of records."""
    groups = [Counter() for _ in range(labels.max() + 1)]
    for record, label in zip(records, labels.tolist(), strict=True):
        groups[label][record] += 1
    return groups


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(RECORD, min_size=2, max_size=40), RECORD, st.data())
def test_one_record_moves_every_group_by_at_most_one(records, other, data):
    k = data.draw(st.integers(2, min(6, len(records))))
    turns = data.draw(st.sampled_from([1, 2, 3, 8, None]))
    at = data.draw(st.integers(0, len(records) - 1))
    changed = [*records[:at], other, *records[at + 1 :]]
    first = contents(records, insensitive(columns(records), k, turns=turns))
    second = contents(changed, insensitive(columns(changed), k, turns=turns))
    assert len(first) == len(second) == len(records) // k
    for ours, theirs in zip(first, second, strict=True):
        assert sum((ours - theirs).values()) <= 1
        assert sum((theirs - ours).values()) <= 1


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=60), st.data())
def test_groups_by_definition(records, data):
    k = data.draw(st.integers(2, min(8, len(records))))
    turns = data.draw(st.sampled_from([1, 2, 4]))
    table = np.array(records, dtype=float)
    labels = microaggregate(table, k, "insensitive", domain=[(0, 9), (0, 9)], turns=turns)
    left, reference = list(range(len(records))), list(islice(corners(2), turns))
    for group in range(len(records) // k - 1):
        corner = reference[group % turns]

        def reach(row, corner=corner):
            parts = [((9 - v) if up else v) / 9 for v, up in zip(records[row], corner, strict=True)]
            return parts[0] ** 2 + parts[1] ** 2, records[row], row

        left.sort(key=reach)
        assert sorted(np.flatnonzero(labels == group).tolist()) == sorted(left[:k])
        left = left[k:]
    assert sorted(np.flatnonzero(labels == len(records) // k - 1).tolist()) == sorted(left)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_corners_are_those_of_the_thesis(width):
    """Greedy, as §6.3.3 says it: most different from the last one, then from the one before, and so on."""
    taken = [(False,) * width]
    while len(taken) < 2**width:
        free = [corner for corner in product([False, True], repeat=width) if corner not in taken]

        def differs(corner):
            return [sum(a != b for a, b in zip(corner, old, strict=True)) for old in reversed(taken)]

        top = max(differs(corner) for corner in free)
        best = [corner for corner in free if differs(corner) == top]
        ours = list(islice(corners(width), len(taken) + 1))[-1]
        assert ours in best
        taken.append(ours)
    assert list(corners(width)) == taken


def test_many_columns_need_no_search():
    assert len(set(islice(corners(40), 64))) == 64
    table = np.random.default_rng(1).random((200, 40))
    labels = microaggregate(table, 3, "insensitive", domain=[(0, 1)] * 40)
    assert np.bincount(labels).tolist() == [3] * 65 + [5]


def test_alternating_corners_group_better_than_one_order():
    table = np.random.default_rng(2).random((2000, 2))

    def spread(labels):
        return sum(((table[labels == g] - table[labels == g].mean(axis=0)) ** 2).sum() for g in range(labels.max() + 1))

    one, four = (
        microaggregate(table, 10, "insensitive", domain=[(0, 1)] * 2, turns=turns) for turns in (1, 4)
    )  # fmt: skip
    assert spread(four) < spread(one)


def test_turns_skip_long_stretches_that_are_taken():
    order = np.arange(4000)
    labels = in_turns([order, order], 2)
    assert labels.tolist() == (order // 2).tolist()


def test_bad_input():
    with pytest.raises(ParameterError, match="attribute '0': the domain is not declared"):
        microaggregate([1.0, 2.0], 2, "insensitive")
    with pytest.raises(ParameterError, match=r"domain is not declared; got 3\.\.3"):
        microaggregate([1.0, 2.0], 2, "insensitive", domain=[(3, 3)])
    with pytest.raises(DomainError, match=r"attribute '0': values outside its domain 0..1; widen the domain"):
        microaggregate([1.0, 2.0], 2, "insensitive", domain=[(0, 1)])
    for turns in (0, 3, True):
        with pytest.raises(ParameterError, match="number of corners is wrong"):
            microaggregate([1.0, 2.0], 2, "insensitive", domain=[(0, 2)], turns=turns)
    with pytest.raises(UsageError, match="without columns"):
        insensitive([], 2)


@given(st.lists(RECORD, min_size=2, max_size=40))
def test_ties_by_one_joint_rank_are_ties_by_all_columns(records):
    own = columns(records)
    ties = [column.order() for column in own]
    for corner in islice(corners(3), 4):
        assert _rank(own, corner, ties).tolist() == _rank(own, corner, [_joint_rank(ties)]).tolist()
