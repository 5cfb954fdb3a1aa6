"""Microaggregation: every group at least k, every face one, everything else untouched, the same on every engine."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.cluster.clustering import Clustering
from shoal.anonymize.cluster.diversify import DiversityRequirement
from shoal.anonymize.method.microaggregation import ALL, Microaggregation
from shoal.chance.source import Source
from shoal.errors import InfeasibleError, PreconditionError
from shoal.guarantee.syntactic import KAnonymity, LDiversity, TCloseness
from shoal.guarantee.unit import Unit
from tests.anonymize.method.people import opened, rows, schema

ROW = Unit.row("add_remove")
QUASI = ("age", "sex", "seen")
DROP = {"seen": "drop", "sex": "drop"}


def run(frame, clustering, show="centroid", name="duckdb", unit=ROW, **roles):
    with Source.seeded(1) as source:
        return Microaggregation(clustering, show, unit).run(opened(frame, name, **roles), source)


def listed(table, *names):
    found = table.collect(list(names))
    return list(zip(*(found[name].tolist() for name in names), strict=True))  # None where one is missing


@pytest.mark.slow
@pytest.mark.parametrize("grouping", ["mdav", "vmdav", "approx", "insensitive", "mondrian", "strict_mondrian"])
@pytest.mark.parametrize("show", ["centroid", "median", "label"])
def test_every_face_is_shared_by_k(grouping, show):
    frame = rows(203)
    made = run(frame, Clustering(7, grouping), show)
    assert min(Counter(listed(made.table, *QUASI)).values()) >= 7
    assert np.bincount(made.groups[ALL]).min() >= 7
    untouched = listed(opened(frame), "pay", "grade", "note")
    assert listed(made.table, "pay", "grade", "note") == untouched
    assert made.table.columns == ("age", "sex", "seen", "pay", "grade", "note")


@pytest.mark.parametrize("grouping", ["ranking", "optimal"])
def test_one_quasi_identifier_may_be_ranked(grouping):
    frame = rows(100, gaps=0)
    made = run(frame, Clustering(9, grouping), **DROP)
    ages = np.asarray(made.table.collect(["age"])["age"])
    assert min(Counter(ages.tolist()).values()) >= 9
    assert ages.mean() == pytest.approx(np.mean(frame["age"].to_pylist()), rel=1e-12)
    order = np.lexsort((ages, frame["age"].to_pylist()))  # who of equals stands in which run is drawn
    assert (np.diff(ages[order]) >= 0).all()


@pytest.mark.parametrize(
    "clustering",
    [Clustering(5), Clustering(5, "vmdav", Fraction(1)), Clustering(4, "insensitive"), Clustering(4, "mondrian")],
)
def test_engines_agree_to_the_last_bit(clustering):
    frame = rows(120)
    one, other = (run(frame, clustering, name=name) for name in ("duckdb", "oracle"))
    assert (one.groups[ALL] == other.groups[ALL]).all()
    assert listed(one.table, *QUASI) == listed(other.table, *QUASI)


def test_l_and_t_hold_in_every_class():
    frame = rows(300, gaps=0)
    made = run(frame, Clustering(5, requirement=DiversityRequirement(3, Fraction(3, 10))), grade="confidential")
    held: dict[object, set[object]] = {}
    for *face, grade in listed(made.table, *QUASI, "grade"):
        held.setdefault(tuple(face), set()).add(grade)
    assert min(map(len, held.values())) >= 3
    kinds = [
        type(claim.guarantee)
        for claim in Microaggregation(
            Clustering(5, requirement=DiversityRequirement(3, Fraction(3, 10))), "centroid", ROW
        ).claims()
    ]
    assert kinds == [KAnonymity, LDiversity, TCloseness]


def test_a_group_that_came_out_too_small_is_never_published(monkeypatch):
    monkeypatch.setattr(Clustering, "clusters", lambda *_, **__: np.array([0] * 2 + [1] * 38, dtype=np.int32))
    with pytest.raises(PreconditionError, match=r"microaggregation-k.*smaller than k"):
        run(rows(40), Clustering(3))


def test_persons_have_one_row_each():
    frame = rows(200).set_column(0, "who", pa.array([f"p{i % 60}" for i in range(200)]))
    made = run(frame, Clustering(5), unit=Unit.person("who", 1, "add_remove"))
    assert made.table.rows() == 60
    with pytest.raises(PreconditionError, match="max_rows: 2"):
        run(frame, Clustering(5), unit=Unit.person("who", 2, "add_remove"))


@pytest.mark.slow
def test_what_is_refused():
    frame = rows(30)
    with pytest.raises(InfeasibleError, match="30 records and k = 16"):
        run(frame, Clustering(16))
    with pytest.raises(InfeasibleError, match="30 records and k = 40"):
        run(frame, Clustering(40))
    with pytest.raises(PreconditionError, match="one quasi-identifier"):
        run(frame, Clustering(3, "ranking"))
    with pytest.raises(PreconditionError, match="names no quasi-identifier"):
        Microaggregation(Clustering(3), "centroid", ROW).check(schema(age="other", sex="other", seen="other"))
    with pytest.raises(InfeasibleError, match="best that any groups reach is l = 3"):
        run(rows(60, gaps=0), Clustering(5, requirement=DiversityRequirement(4, None)), pay="other")
    same = frame.set_column(1, "age", pa.array([40] * 30))
    with pytest.raises(InfeasibleError, match="every record has the same 'age'"):
        run(same, Clustering(5), **DROP)
    for grouping in ("ranking", "optimal"):
        with pytest.raises(InfeasibleError, match="has no order"):
            run(frame, Clustering(5, grouping), age="drop", seen="drop")
    with pytest.raises(InfeasibleError, match=r"missing values.*grouping: ranking"):
        run(rows(30, gaps=0.3), Clustering(5, "optimal"), **DROP)
