"""Ways of publishing compared on simulated tables: what each gave, what could not be planned, what is recommended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.data.schema import Attribute, Missing, Role
from shoal.data.type import Type
from shoal.errors import ParameterError, PolicyError
from shoal.publish.compare import MOST_PAIRS, WAYS, Grid, Way, WayOutcome, WaysComparison, compare, distance, ways
from shoal.publish.compare import _spread_pairs as spread_pairs
from shoal.publish.rehearse import Spread
from tests.publish import box_clinic, centroid_clinic
from tests.publish.clinic import policy


@pytest.fixture(scope="module")
def found():
    ticks = []
    of_workbook = policy().with_changes({"file": {"sheet": "visits"}})  # what is simulated lies in no workbook
    made = compare(of_workbook, rows=400, runs=2, tick=lambda: ticks.append(1))
    assert len(ticks) == 2 * WAYS
    return made


@pytest.mark.slow
def test_every_way_goes_through_its_pipeline(found):
    assert [way.name for way in found.ways] == ["levels", "tree", "rows", "counts", "synthetic"]
    for way in found.ways:
        assert way.why_not is None, way
        assert 0 <= way.pairs.least <= way.pairs.mean <= way.pairs.most <= 1
        assert way.singles.mean <= way.pairs.mean + 1e-9  # adding cells up brings tables nearer
    assert {way.name for way in found.ways if way.real} == {"levels", "tree", "rows"}
    assert found.compared == 3
    assert next(way for way in found.ways if way.name == "synthetic").rows.mean > 300


@pytest.mark.slow
def test_what_is_recommended_is_the_nearest(found):
    nearest = min((way for way in found.ways if way.name != "synthetic"), key=lambda way: way.pairs.mean)
    said = found.recommended()
    assert said["tables, shares and their intervals"] == nearest.title
    assert found.best(real=True).title == said["rows of people who are in the table"]
    assert nearest.title in " ".join(found.words())
    told = found.to_json()
    assert (told["charged"], told["data_read"], told["recommended"]) == (False, False, said)


def test_a_way_that_showed_nobody_is_not_recommended_for_rows_of_people():
    def outcome(name, real, far, rows):
        return WayOutcome(name, f"the way {name}", real, *(Spread.of([value]) for value in (far, far, rows)))

    ways = (outcome("tree", True, 0.3, 0), outcome("counts", False, 0.2, 0), outcome("synthetic", False, 0.1, 9))
    found = WaysComparison("people", "1", "0.000001", 2, 1, 30, 2, 0, ways)
    assert found.recommended() == {
        "tables, shares and their intervals": "the way counts",
        "one file of full width, to try programs and models on": "the way synthetic",
    }
    assert "No way showed rows of people" in found.words()[1]
    shown = replace(found, ways=(*ways, outcome("rows", True, 0.4, 12)))
    assert shown.recommended()["rows of people who are in the table"] == "the way rows"


def test_a_way_that_cannot_be_planned_says_why(monkeypatch):
    keys = {"method": "safe-k", "epsilon": "0.1", "delta": "1e-9", "k": 2, "sampling": {"beta": "0.9"}}
    monkeypatch.setattr("shoal.publish.compare.ways", lambda *_: (Way("one", "a rate of .9", keys, real=True),))
    (way,) = compare(policy(), rows=30, runs=2).ways
    assert "do not reach the promise" in way.why_not
    assert way.pairs is None


def test_without_a_promise_there_is_nothing_to_compare():
    asked = policy({"release": {"method": "microaggregation", "k": 3}, "budget": None})
    with pytest.raises(PolicyError, match="no differential promise"):
        ways(asked, [("age", "sex")])


def test_a_pure_epsilon_has_no_other_ways_to_compare():
    with pytest.raises(PolicyError, match=r"promises a pure epsilon, .*; got delta: 0; give release.delta"):
        ways(centroid_clinic.policy(), [("pay", "rate")])
    with pytest.raises(PolicyError, match=r"leave out release.method: boxes have no delta"):
        ways(centroid_clinic.policy(box_clinic.BOXES), [("pay", "rate")])
    with pytest.raises(PolicyError, match="no pairs"):
        compare(policy({"attributes.sex.role": "drop", "attributes.diag.role": "drop", "release.recoding": None}))
    with pytest.raises(ParameterError, match="runs"):
        compare(policy(), runs=1)


def test_the_distance_is_the_total_variation():
    assert distance(np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])) == 0
    assert distance(np.array([1.0, 0.0]), np.array([-3.0, 1.0])) == 1
    assert distance(np.array([1.0, 1.0]), np.zeros(2)) == 1  # nothing is known


def test_a_column_is_divided_into_few_parts_and_missing_values():
    from shoal.data.domain import Interval

    age = Attribute("age", Role.QUASI, Type.INTEGER, Interval("0", "99"), missing=Missing.VALUE)
    grid = Grid.of(age)
    assert len(grid) == 9
    parts = grid.parts_of(np.ma.array(["0", "99", "x"], mask=[False, False, True]))
    assert parts.tolist() == [0, 7, 8]
    assert grid.labels[-1].missing


def test_of_many_columns_pairs_go_round():
    names = [f"c{i}" for i in range(60)]
    pairs = spread_pairs(names)
    assert len(set(map(frozenset, pairs))) == len(pairs) == MOST_PAIRS
    few = spread_pairs(names[:11])
    assert min(sum(name in pair for pair in few) for name in names[:11]) >= 8
