"""What a question adds up is what plain Python adds up, to the last digit, on every engine."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from fractions import Fraction
from math import floor
from statistics import mean, pvariance

import numpy as np
import pytest
from hypothesis import Phase, given, settings

from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.level import MISSING
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import UsageError
from shoal.guarantee.unit import Unit
from shoal.language.cells import OTHER, CellSpec
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.person import ValueOf
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.questions.workload import Workload
from tests.engine import tables as every
from tests.engine.oracle import OracleEngine
from tests.query.people import NAMES, ROW, SCHEMA, arrow, column, tables
from tests.query.ranks import best

UNIT = ROW["add_remove"]
WHERE = "x >= 2 and c in ('a', 'b')"


def inside(row):
    return row[1] is not None and row[1] >= 2 and row[4] in ("a", "b")


def rounded(value, step):
    return floor(Fraction(value) / step + Fraction(1, 2))


def cells(listed, name, where=lambda row: True):
    at = NAMES.index(name)
    return Counter(MISSING if row[at] is None else str(row[at]) for row in listed if where(row))


def sums_are_exact(engine, listed):
    table = engine.scan(arrow(listed), SCHEMA)

    def truth(question):
        return question.resolve(SCHEMA, UNIT).truth(table).tolist()

    assert truth(Count()) == [len(listed)]
    assert truth(Count(WHERE)) == [sum(map(inside, listed))]
    assert truth(Sum("x", WHERE)) == [sum(column(listed, "x", inside))]
    xs = column(listed, "x")
    middle = 3  # of -3..10
    assert truth(Mean("x")) == [sum(x + 3 for x in xs), sum(10 - x for x in xs)]
    assert truth(Variance("x")) == [len(xs), sum(x - middle for x in xs), sum((x - middle) ** 2 - 24 for x in xs)]
    days = column(listed, "day")
    for asked, many in ((Mean("day"), len(days)), (Mean("big", step=str(10**12)), len(column(listed, "big")))):
        assert sum(truth(asked)) == many * asked.resolve(SCHEMA, UNIT).parts[0].width
    step = Sum("w").resolve(SCHEMA, UNIT).grid[0]
    assert step == Fraction(1, 10**5)  # 20.5 spans 2^20 of them, and not 2^20 tenths
    doubt = len(column(listed, "w"))  # halves of a step, in doubles
    assert abs(truth(Sum("w"))[0] - sum(rounded(w, step) for w in column(listed, "w"))) <= doubt
    big = Sum("big").resolve(SCHEMA, UNIT)
    assert truth(Sum("big")) == [sum(rounded(value, big.grid[0]) for value in column(listed, "big"))]
    vector = Workload((Count(WHERE), Mean("x"), Histogram("c")))
    assert truth(vector) == [*truth(Count(WHERE)), *truth(Mean("x")), *truth(Histogram("c"))]


def every_row_lies_in_one_cell(engine, listed):
    table = engine.scan(arrow(listed), SCHEMA)

    def found(question):
        asked = question.resolve(SCHEMA, UNIT)
        answer = asked.finish(asked.truth(table))
        return dict(zip(answer["labels"], answer["counts"], strict=True))

    def same(counted, wanted):
        return {label: n for label, n in counted.items() if n} == {label: n for label, n in wanted.items() if n}

    assert list(found(Histogram("c"))) == ["a", "b", "d", MISSING]
    assert list(found(Histogram("o"))) == ["mild", "grave", "critical", MISSING]
    assert list(found(Histogram("must"))) == [str(value) for value in range(10, 21)]
    for name in ("c", "o", "x", "must", "day"):
        assert same(found(Histogram(name)), cells(listed, name))
        assert same(found(Histogram(name, where=WHERE)), cells(listed, name, inside))
    by_level = Counter(
        MISSING
        if row[1] is None
        else "[-5, 0)"
        if row[1] < 0
        else "[0, 5)"
        if row[1] < 5
        else "[5, 10)"
        if row[1] < 10
        else "[10, 15)"
        for row in listed
    )
    assert same(found(Histogram("x", level=1)), by_level)
    by_edge = Counter(
        MISSING if row[1] is None else "< 0" if row[1] < 0 else "[0, 5)" if row[1] < 5 else "[5, 10]" for row in listed
    )
    assert list(found(Histogram("x", edges=[0, 5, 10]))) == ["< 0", "[0, 5)", "[5, 10]", MISSING]
    assert same(found(Histogram("x", edges=[0, 5, 10])), by_edge)
    by_name = Counter(MISSING if row[8] is None else row[8] if row[8] == "n" else OTHER for row in listed)
    assert same(found(Histogram("note", values=["n"])), by_name)
    assert found(Histogram("x", level=3)) == {"*": len(listed)}
    asked = Contingency((CellSpec("c"), CellSpec("x", edges=("0", "5")), CellSpec("o"))).resolve(SCHEMA, UNIT)
    truth = asked.truth(table)
    assert asked.components == 4 * 4 * 4 == len(truth)
    place = {"a": 0, "b": 1, "d": 2, None: 3, "mild": 0, "grave": 1, "critical": 2}
    wanted = np.zeros((4, 4, 4), dtype=int)
    for row in listed:
        wanted[place[row[4]], 3 if row[1] is None else 0 if row[1] < 0 else 1 if row[1] < 5 else 2, place[row[5]]] += 1
    assert truth.tolist() == wanted.ravel().tolist()
    assert asked.names[1] == "a, < 0, grave"


def scores_are_rank_errors(engine, listed):
    table = engine.scan(arrow(listed), SCHEMA)
    for name, q in (("x", "0.5"), ("x", 1), ("w", "1/3"), ("day", 0), ("o", ".25")):
        asked = Quantile(name, q, "x >= 2").resolve(SCHEMA, UNIT)
        values = column(listed, name, lambda row: row[1] is not None and row[1] >= 2)
        if name == "o":
            values = [("mild", "grave", "critical").index(value) for value in values]
        if name == "day":
            values = [value.toordinal() for value in values]
        share = Fraction(q)
        a, b = share.numerator, share.denominator
        if name == "w":
            step = asked.candidates.grid.step
            values = [rounded(value, step) for value in values]
        runs = asked.runs(table)[0]
        scores, sizes, starts = asked.scores(runs, asked.targets[0], 0)
        assert sum(sizes) == asked.candidates.count
        for index in range(0, len(starts), 1 + len(starts) // 7):
            at = starts[index] + sizes[index] // 2
            below, above = sum(v < at for v in values), sum(v > at for v in values)
            low = (b - a) * below - a * (len(values) - below)
            high = a * above - (b - a) * (len(values) - above)
            assert scores[index] == -max(low, high, 0)
        if name != "w" and values:  # every value is a candidate, so some candidate is a quantile
            assert scores.max() == 0


CHECKS = [sums_are_exact, every_row_lies_in_one_cell, scores_are_rank_errors]


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@settings(max_examples=25)
@given(listed=tables)
def test_on_the_slow_engine(check, listed):
    check(OracleEngine(), listed)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@settings(max_examples=4, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # a scan takes long
@given(listed=tables)
def test_on_the_fast_engine(check, listed):
    check(DuckDB(threads=1), listed)


def test_answers_without_noise_are_the_statistics():
    listed = [
        ("p", 2, 10, 10.0, "a", "mild", dt.date(2024, 2, 1), 1, "n", 0.0, 7),
        ("q", 4, 15, 12.5, "a", "grave", dt.date(2024, 2, 2), 2, "n", 0.0, 7),
        ("r", 9, 20, 20.5, "b", "grave", dt.date(2024, 2, 4), 3, None, 0.0, 7),
        ("s", None, 12, None, None, None, None, None, None, None, 7),
    ]
    table = OracleEngine().scan(arrow(listed), SCHEMA)

    def answer(question):
        asked = question.resolve(SCHEMA, UNIT)
        return asked.finish(asked.truth(table))

    assert answer(Mean("x")) == mean([2, 4, 9])
    assert answer(Variance("x")) == pytest.approx(pvariance([2, 4, 9]))
    assert answer(Variance("w")) == pytest.approx(pvariance([10.0, 12.5, 20.5]), rel=1e-4)
    assert answer(Mean("w")) == pytest.approx(mean([10.0, 12.5, 20.5]))
    assert answer(Mean("day")) == "2024-02-02"
    assert answer(Sum("w")) == 43
    assert answer(Mean("x", "c = 'd'")) == 3.5  # nobody there: the middle of the domain
    assert answer(Workload((Count(), Sum("x")))) == [4, 15]
    asked = Mean("x").resolve(SCHEMA, UNIT)
    assert asked.finish([10**9, -5]) == 10.0  # whatever the noise, within the domain
    spread = Variance("x").resolve(SCHEMA, UNIT)
    assert [spread.finish(np.array(noisy)) for noisy in ([3, 0, -(10**6)], [3, 0, 10**6])] == [0.0, 6.5**2]
    median = Quantile("x", "0.5").resolve(SCHEMA, UNIT)
    assert best(median, table) == 4
    worst = Quantile("o", 1).resolve(SCHEMA, UNIT)
    assert best(worst, table) == "grave"
    last = Quantile("day", 1).resolve(SCHEMA, UNIT)
    assert best(last, table) == "2024-02-04"


@pytest.mark.parametrize("engine", [OracleEngine(), DuckDB(threads=1)], ids=["oracle", "duckdb"])
def test_the_value_of_one_person(engine):
    listed = [
        ("p", 2, 10, 10.0, "a", None, dt.date(2024, 2, 1), 1, "n", 0.0, 7),
        ("q", None, 15, 12.5, "b", "grave", None, 2, "n", 0.0, 7),
    ]
    unit = Unit.person("person", 1, "add_remove")
    table = engine.scan(arrow(listed), SCHEMA)

    def value(person, attribute):
        return ValueOf(person, attribute).resolve(SCHEMA, unit).truth(table)

    assert [value("p", name) for name in ("x", "w", "c", "o", "day")] == [2, 10.0, "a", None, "2024-02-01"]
    assert [value("q", "x"), value("nobody", "c")] == [None, None]
    asked = ValueOf("p", "c").resolve(SCHEMA, unit)
    assert (asked.values, asked.columns) == (("b", "a", "d"), ("c", "person"))


def test_people_named_by_numbers():
    schema = Schema(
        (
            Attribute("id", Role.IDENTIFIER, Type.INTEGER),
            Attribute("smokes", Role.CONFIDENTIAL, Type.BOOLEAN),
            Attribute("x", Role.OTHER, Type.INTEGER, Interval(0, 5)),
            Attribute("c", Role.OTHER, Type.CATEGORY, Values(("a",))),
        )
    )
    import pandas as pd

    table = OracleEngine().scan(
        pd.DataFrame({"id": [7, 8], "smokes": [True, False], "x": [1, 2], "c": ["a", "a"]}), schema
    )
    unit = Unit.person("id", 1, "add_remove")
    assert ValueOf(8, "smokes").resolve(schema, unit).truth(table) == "false"
    assert ValueOf("7", "x").resolve(schema, unit).truth(table) == 1
    assert ValueOf(9, "x").resolve(schema, unit).truth(table) is None
    assert ValueOf("8", "x").resolve(schema, unit).identity == ValueOf(8, "x").resolve(schema, unit).identity
    for other in (" 8", "08", "+8", "8.0", "eight"):
        with pytest.raises(UsageError, match="whole number in digits"):
            ValueOf(other, "x").resolve(schema, unit)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [OracleEngine(), DuckDB(threads=1)], ids=["oracle", "duckdb"])
def test_times_truths_and_texts_of_a_pattern(engine):
    table = engine.scan(every.arrow(every.ROWS), every.SCHEMA)

    def answer(question):
        asked = question.resolve(every.SCHEMA, UNIT)
        return asked.finish(asked.truth(table))

    seen = [row[5] for row in every.ROWS if row[5] is not None]
    middle = dt.datetime.fromisoformat(answer(Mean("seen")))
    wanted = seen[0] + sum((time - seen[0] for time in seen), dt.timedelta()) / len(seen)
    assert abs(middle - wanted) <= dt.timedelta(seconds=100)  # a step: the domain spans five years
    by_year = Histogram("seen", edges=["2021-01-01", "2023-01-01 00:00"])
    labels = ["< 2021-01-01", "[2021-01-01, 2023-01-01)", ">= 2023-01-01", MISSING]
    assert answer(by_year) == {"attribute": "seen", "labels": labels, "counts": [1, 2, 2, 2]}
    assert answer(Histogram("smoker")) == {
        "attribute": "smoker",
        "labels": ["false", "true", MISSING],
        "counts": [2, 3, 2],
    }
    assert answer(Histogram("smoker", values=[True])) == {
        "attribute": "smoker",
        "labels": ["true", OTHER, MISSING],
        "counts": [3, 2, 2],
    }
    zips = answer(Histogram("zip", values=["123", "999"]))
    assert zips == {"attribute": "zip", "labels": ["123", "999", OTHER, MISSING], "counts": [2, 1, 3, 1]}
    assert len(answer(Histogram("zip"))["labels"]) == 1001
    last = Quantile("seen", 1).resolve(every.SCHEMA, UNIT)
    scores, _, starts = last.scores(last.runs(table)[0], last.targets[0], 0)
    found = dt.datetime.fromisoformat(last.candidates.value(starts[int(scores.argmax())]))
    assert abs(found - max(seen)) <= dt.timedelta(minutes=2)  # a step of 100 seconds, in five years
