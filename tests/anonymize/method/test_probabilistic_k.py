"""Swaps: columns keep their values to the last bit, move only inside groups of k, and every partner is equally likely."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.cluster.clustering import Clustering
from shoal.anonymize.cluster.diversify import DiversityRequirement
from shoal.anonymize.method.microaggregation import ALL
from shoal.anonymize.method.probabilistic_k import Swap
from shoal.chance.source import Source
from shoal.errors import InfeasibleError, PreconditionError
from shoal.guarantee.claim import Status
from shoal.guarantee.syntactic import ProbabilisticK
from shoal.guarantee.unit import Unit
from tests.anonymize.method.people import opened, rows, schema
from tests.anonymize.method.test_microaggregation import listed

ROW = Unit.row("add_remove")
QUASI = ("age", "sex", "seen")


def run(frame, swap, name="duckdb", seed=1, **roles):
    with Source.seeded(seed) as source:
        return swap.run(opened(frame, name, **roles), source)


@pytest.mark.slow
@pytest.mark.parametrize("grouping", ["mdav", "vmdav", "approx", "insensitive"])
def test_quasi_identifiers_move_together_inside_their_groups(grouping):
    frame = rows(180)
    made = run(frame, Swap(Clustering(6, grouping), ROW))
    labels = made.groups[ALL]
    assert np.bincount(labels).min() >= 6
    before, after = listed(opened(frame), *QUASI), listed(made.table, *QUASI)
    assert before != after
    for group in range(labels.max() + 1):
        inside = np.flatnonzero(labels == group)
        assert Counter(before[i] for i in inside) == Counter(after[i] for i in inside)
    assert listed(made.table, "pay", "grade", "note") == listed(opened(frame), "pay", "grade", "note")


@pytest.mark.slow
def test_ranked_attributes_move_alone_each_in_its_own_groups():
    frame = rows(200)
    made = run(frame, Swap(Clustering(5, "ranking"), ROW, {"pay": 12}))
    assert np.bincount(made.groups["pay"]).min() >= 12
    assert 5 <= np.bincount(made.groups["grade"]).min() < 12
    for name in ("pay", "grade"):
        before, after = listed(opened(frame), name), listed(made.table, name)
        assert Counter(before) == Counter(after)
        labels = made.groups[name]
        for group in range(labels.max() + 1):
            inside = np.flatnonzero(labels == group)
            assert Counter(before[i] for i in inside) == Counter(after[i] for i in inside)
    assert listed(made.table, *QUASI) == listed(opened(frame), *QUASI)
    pays = [pay for (pay,) in listed(opened(frame), "pay")]
    known = np.array([-1.0 if pay is None else pay for pay in pays])
    runs = made.groups["pay"]
    assert (np.diff([known[runs == group].max() for group in range(runs.max() + 1)]) >= 0).all()


@pytest.mark.slow
def test_every_partner_is_equally_likely():
    """Two groups of three: whose quasi-identifiers record 0 shows, over many keys."""
    frame = pa.table(
        {
            "who": list("abcdef"),
            "age": [10, 11, 12, 80, 81, 82],
            "sex": ["f"] * 6,
            "seen": pa.array([np.datetime64("2024-01-01").item()] * 6, pa.date32()),
            "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            "grade": ["low"] * 6,
            "note": ["a"] * 6,
        }
    )
    swap, table = Swap(Clustering(3), ROW), opened(frame, "oracle")
    seen: Counter[int] = Counter()
    for seed in range(900):
        with Source.seeded(seed) as source:
            seen[int(swap.run(table, source).table.collect(["age"])["age"][0])] += 1
    assert set(seen) == {10, 11, 12}
    # 900 fair draws among three: 5 standard deviations are 71; an identity, or a rotation that never rests, is far off
    assert all(abs(count - 300) < 71 for count in seen.values())


@pytest.mark.slow
def test_who_of_equals_stands_at_the_end_of_a_run_is_drawn():
    """Five zeros and three ones in runs of four: one zero stands with the ones; by row it would always be the last."""
    frame = rows(8, gaps=0).set_column(4, "pay", pa.array([0.0] * 5 + [1.0] * 3))
    swap, table = Swap(Clustering(4, "ranking"), ROW), opened(frame, "oracle", grade="other")
    seen: Counter[int] = Counter()
    for seed in range(500):
        with Source.seeded(seed) as source:
            labels = swap.run(table, source).groups["pay"]
        (alone,) = np.flatnonzero(labels[:5] == labels[7])
        seen[int(alone)] += 1
    assert set(seen) == set(range(5))
    assert all(abs(count - 100) < 54 for count in seen.values())  # 6 standard deviations


@pytest.mark.parametrize(("grouping", "made"), [("mdav", "clusters"), ("ranking", "clusters_by_rank")])
def test_a_group_that_came_out_too_small_is_never_published(monkeypatch, grouping, made):
    short = np.array([0] * 2 + [1] * 38, dtype=np.int32)
    monkeypatch.setattr(Clustering, made, lambda *_, **__: short)
    with pytest.raises(PreconditionError, match=r"probabilistic-k.*smaller than k"):
        run(rows(40), Swap(Clustering(3, grouping), ROW))


@pytest.mark.slow
def test_engines_agree_under_one_key():
    frame = rows(150)
    for swap in (Swap(Clustering(5), ROW), Swap(Clustering(5, "ranking"), ROW)):
        one, other = (run(frame, swap, name) for name in ("duckdb", "oracle"))
        assert listed(one.table, *one.table.columns) == listed(other.table, *other.table.columns)


def test_the_claim_carries_its_limits():
    first, *_ = Swap(Clustering(5, "ranking"), ROW, {"pay": 3, "grade": 9}).claims(schema())
    assert first.guarantee == ProbabilisticK(3)
    assert first.status is Status.CONDITION
    assert "nothing of the others in the group" in first.words()
    assert "equal or near each other" in first.words()


@pytest.mark.slow
def test_l_and_t_hold_in_the_hidden_groups():
    frame = rows(300, gaps=0)
    made = run(frame, Swap(Clustering(5, requirement=DiversityRequirement(3, Fraction(2, 5))), ROW))
    grades = np.array([grade for (grade,) in listed(opened(frame), "grade")])
    labels = made.groups[ALL]
    assert min(len(set(grades[labels == group])) for group in range(labels.max() + 1)) >= 3
    runs = run(
        frame, Swap(Clustering(5, "ranking", requirement=DiversityRequirement(2, None)), ROW), pay="other"
    ).groups["grade"]
    assert min(len(set(grades[runs == group])) for group in range(runs.max() + 1)) >= 2


@pytest.mark.slow
def test_what_is_refused():
    frame = rows(40)
    with pytest.raises(PreconditionError, match="no confidential attribute"):
        Swap(Clustering(3), ROW).check(schema(pay="other", grade="other"))
    with pytest.raises(PreconditionError, match="names no quasi-identifier"):
        Swap(Clustering(3), ROW).check(schema(age="other", sex="other", seen="other"))
    with pytest.raises(InfeasibleError, match="40 records and k = 21"):
        run(frame, Swap(Clustering(3, "ranking"), ROW, {"pay": 21}))
    made = run(frame, Swap(Clustering(50, "ranking"), ROW, {"pay": 3, "grade": 3}))
    assert np.bincount(made.groups["pay"]).min() >= 3  # nobody is in a group of 50
    with pytest.raises(InfeasibleError, match="'sex' has no order"):
        run(frame, Swap(Clustering(3, "ranking"), ROW), sex="confidential")
    same = frame.set_column(4, "pay", pa.array([7.0] * 40))
    with pytest.raises(InfeasibleError, match="every record has the same 'pay'"):
        run(same, Swap(Clustering(3, "ranking"), ROW))
    with pytest.raises(InfeasibleError, match="every record has the same 'pay'"):
        run(same, Swap(Clustering(3), ROW), grade="other")
