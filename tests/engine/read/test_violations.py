"""Errors about values say what probably helps, by how the values are written; they say no value."""

from __future__ import annotations

import datetime as dt
import re

import pyarrow as pa
import pytest

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.schema import STANDARD, Attribute, FileFormat, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DataError
from tests.engine.oracle import OracleEngine

UNREADABLE = [
    (Type.INTEGER, "1.0", r"1\.0 for 1"),
    (Type.INTEGER, "7,0", r"1\.0 for 1"),
    (Type.INTEGER, "3.7", "some have a fraction: declare type: decimal"),
    (Type.INTEGER, "1.234", "thousands separators"),
    (Type.INTEGER, "12'345'678", "thousands separators"),
    (Type.INTEGER, "17 €", "currency or percent sign"),
    (Type.INTEGER, "NA", r"`file: {missing: \[NA\]}`"),
    (Type.INTEGER, " n/a ", r"`file: {missing: \[NA\]}`"),
    (Type.DATE, "NULL", r"`file: {missing: \[NA\]}`"),
    (Type.DECIMAL, "-", r"`file: {missing: \[NA\]}`"),
    (Type.INTEGER, "   ", "nothing but blanks"),
    (Type.DECIMAL, "1,5", "decimal comma: say so in the policy, `file: {decimal: ','}`"),
    (Type.DECIMAL, "1.234,56", "thousands separators"),
    (Type.DATE, "31.12.2024", r"31\.12\.2024\): write them as 2024-12-31"),
    (Type.DATE, "12/31/2024", "dates with slashes"),
    (Type.DATE, "20241231", "without hyphens"),
    (Type.DATE, "2024-12-31 10:00", "declare type: datetime"),
    (Type.DATETIME, "31.12.2024 10:00", "the day first"),
    (Type.DATETIME, "2024-12-31T10:00+02:00", "offset from UTC"),
    (Type.BOOLEAN, "ja", "other words for true and false"),
    (Type.INTEGER, "qqqq", None),
]
DOMAINS = [
    (Values(("Bern", "Zürich", "1")), "bern", "upper and lower case alone"),
    (Values(("Bern", "Zürich", "1")), " Bern", "blanks around them alone"),
    (Values(("Bern", "Zürich", "1")), "1.0", r"1\.0 or 01 for 1"),
    (Values(("Bern", "Zürich", "1")), "01", r"1\.0 or 01 for 1"),
    (Values(("Bern", "Zürich", "1")), "Zu\u0308rich", "how accents are composed"),
    (Values(("Bern", "Zürich", "1")), "ZÃ¼rich", "wrong encoding"),
    (Values(("Bern", "Zürich", "1")), "N/A", r"`file: {missing: \[NA\]}`"),
    (Pattern("[0-9]{5}"), "12345 ", "blanks around them alone"),
    (Pattern("[0-9]{5}"), "NULL", r"`file: {missing: \[NA\]}`"),
    (Values(("Bern",)), "Basel", None),
]
HINTS = "some "


@pytest.fixture(params=[DuckDB(threads=1), OracleEngine()], ids=lambda one: one.name)
def engine(request):
    return request.param


def said(engine, stored, kind, domain=None, form=STANDARD):
    schema = Schema((Attribute("x", Role.QUASI, kind, domain),), form)
    with pytest.raises(DataError) as caught:
        engine.scan(pa.table({"x": stored}), schema)
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "text", "match"), UNREADABLE, ids=lambda v: getattr(v, "value", str(v)))
def test_values_that_do_not_read_as_their_type(engine, kind, text, match):
    hinted(said(engine, [None, text], kind), match)


@pytest.mark.parametrize(("domain", "text", "match"), DOMAINS, ids=lambda v: v if isinstance(v, str) else "")
def test_values_outside_a_list_or_pattern(engine, domain, text, match):
    kind = Type.CATEGORY if isinstance(domain, Values) else Type.TEXT
    hinted(said(engine, [None, text], kind, domain), match)


def hinted(error, match):
    assert "got 'x' in 1 row (2), counted from 1; allowed: 'x' " in str(error)
    assert error.rows == {"x": (2,)}
    if match is None:
        assert error.fix.startswith("correct the file")
    else:
        assert re.search(match, error.fix)
        assert error.fix.count(HINTS) == 1


def test_numbers_that_often_stand_for_nothing(engine):
    error = said(engine, [5, -9, 999], Type.INTEGER, Interval(0, 120))
    assert "got 'x' in 2 rows (2, 3)" in str(error)
    assert "`file: {missing: ['-9']}`" in error.fix
    assert "-9" not in said(engine, [5, 130], Type.INTEGER, Interval(0, 120)).fix


def test_stored_numbers_and_times(engine):
    assert "declare type: decimal" in said(engine, [1.5], Type.INTEGER).fix
    assert "declare type: datetime" in said(engine, [dt.datetime(2020, 1, 1, 5)], Type.DATE).fix
    assert "decimal point" in said(engine, ["1.5"], Type.DECIMAL, form=FileFormat(decimal=",")).fix


def test_the_first_rows_are_named_in_order(engine):
    values = ["1"] * 10 + ["x"] * 300 + ["2"]
    error = said(engine, values, Type.INTEGER)
    assert "got 'x' in 300 rows (11, 12, 13, 14, 15, …), counted from 1" in str(error)
    assert error.rows["x"] == tuple(range(11, 111))
