"""Stored values as their declared types: the spellings that are read, the same in both engines."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.data.schema import Attribute, Missing, Outside, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import ShoalError
from tests.engine.oracle import OracleEngine

ENGINES = (DuckDB(threads=1), OracleEngine())


def said(engine, source, kind, **more):
    """The values that an engine reads, or what it says is wrong."""
    try:
        table = engine.scan(source, Schema((Attribute("x", Role.OTHER, kind, **more),)))
        return repr(table.collect(["x"])["x"].tolist())
    except ShoalError as error:
        return str(error)


def values(source, kind, **more):
    """What both engines read."""
    first, second = (said(engine, source, kind, **more) for engine in ENGINES)
    assert first == second
    return first


EPOCH = dt.datetime(1970, 1, 1)
TICK = dt.timedelta(microseconds=1)
READ = [
    (Type.INTEGER, ["7", " 7 ", "+7", "-7", "007", None], [7, 7, 7, -7, 7, None]),
    (Type.INTEGER, ["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
    (Type.DECIMAL, ["1", ".5", "5.", "-1.5e3", "+1E-2", "NaN", "-0"], [1.0, 0.5, 5.0, -1500.0, 0.01, None, 0.0]),
    (Type.DECIMAL, ["0.1", "1e22", "2.2250738585072014e-308", "1e-400"], [0.1, 1e22, 2.2250738585072014e-308, 0.0]),
    (Type.BOOLEAN, ["true", "FALSE", "Yes", "no", "1", " 0 "], [True, False, True, False, True, False]),
    (
        Type.DATE,
        ["2020-02-29", " 0001-01-01 ", "9999-12-31"],
        [dt.date(2020, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    ),
    (Type.TEXT, [" a ", "", "null", "ÿ"], [" a ", "", "null", "ÿ"]),
    (
        Type.DATETIME,
        [
            "2020-01-02",
            "2020-01-02 03:04",
            "2020-01-02T03:04:05",
            "2020-01-02t03:04:05.6z",
            "1066-10-14 12:00:00.000001",
        ],
        [
            dt.datetime(2020, 1, 2),
            dt.datetime(2020, 1, 2, 3, 4),
            dt.datetime(2020, 1, 2, 3, 4, 5),
            dt.datetime(2020, 1, 2, 3, 4, 5, 600_000),
            dt.datetime(1066, 10, 14, 12, 0, 0, 1),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "texts", "expected"), READ, ids=lambda value: getattr(value, "value", ""))
def test_text_is_read_by_the_declared_type(kind, texts, expected):
    assert values(pa.table({"x": texts}), kind) == repr(expected)


STORED = [
    (Type.INTEGER, pa.array([1.0, None, float("nan"), -(2.0**53 - 1)]), [1, None, None, -(2**53 - 1)]),
    (Type.INTEGER, pa.array([5, 250], pa.uint8()), [5, 250]),
    (Type.INTEGER, pa.array([5, 2**62], pa.uint64()), [5, 2**62]),
    (Type.INTEGER, pa.array([decimal.Decimal(10**18 + 1), None], pa.decimal128(20, 0)), [10**18 + 1, None]),
    (Type.DECIMAL, pa.array([decimal.Decimal("1.25"), None], pa.decimal128(20, 2)), [1.25, None]),
    (Type.INTEGER, pa.array([decimal.Decimal(10**18 + 1), None], pa.decimal128(30, 9)), [10**18 + 1, None]),
    (Type.DECIMAL, pa.array([decimal.Decimal("1.23"), decimal.Decimal(0)], pa.decimal128(30, 15)), [1.23, 0.0]),
    (Type.DECIMAL, pa.array([1, 2**53 + 1]), [1.0, float(2**53 + 1)]),
    (Type.DECIMAL, pa.array([0.5, None], pa.float32()), [0.5, None]),
    (Type.DECIMAL, pa.array([0.5, None], pa.float16()), [0.5, None]),
    (Type.TEXT, pa.array([1, -20, None]), ["1", "-20", None]),
    (Type.CATEGORY, pa.array([True, False, None]), ["true", "false", None]),
    (Type.CATEGORY, pa.array(["b", "a", None, "b"]).dictionary_encode(), ["b", "a", None, "b"]),
    (Type.ORDINAL, pa.array([2, 1, 2], pa.int8()).dictionary_encode(), ["2", "1", "2"]),
    (Type.TEXT, pa.array(["x", None], pa.large_string()), ["x", None]),
    (Type.BOOLEAN, pa.array([0, 1, None], pa.int8()), [False, True, None]),
    (Type.DATE, pa.array([dt.datetime(2020, 1, 2), None]), [dt.date(2020, 1, 2), None]),
    (Type.DATE, pa.array([0, 86_400_000, None], pa.date64()), [dt.date(1970, 1, 1), dt.date(1970, 1, 2), None]),
    (Type.DATETIME, pa.array([dt.date(2020, 1, 2), None]), [dt.datetime(2020, 1, 2), None]),
    (Type.DATETIME, pa.array([0, 3600], pa.timestamp("s", "Europe/Zurich")), [EPOCH, dt.datetime(1970, 1, 1, 1)]),
    (Type.DATETIME, pa.array([1000, -1000], pa.timestamp("ns")), [EPOCH + TICK, EPOCH - TICK]),
    (Type.DATETIME, pa.array([1, None], pa.timestamp("ms", "UTC")), [dt.datetime(1970, 1, 1, 0, 0, 0, 1000), None]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "stored", "expected"), STORED, ids=lambda value: str(getattr(value, "type", ""))[:30])
def test_stored_values_are_read_by_the_declared_type(tmp_path, kind, stored, expected):
    table = pa.table({"x": stored})
    assert values(table, kind) == repr(expected)
    if stored.type != pa.float16():
        parquet.write_table(table, tmp_path / "t.parquet")
        assert values(tmp_path / "t.parquet", kind) == repr(expected)


near_number = st.lists(st.sampled_from([*"0123456789+-.eE _x", "inf", "NaN", "infinity", "é"]), max_size=7).map("".join)
near_time = st.lists(
    st.sampled_from(
        ["2020", "0000", "-", "01", "02", "30", "29", "T", " ", ":", "23", "24", "59", ".5", "Z", "z", "+01:00"]
    ),
    max_size=12,
).map("".join)
whole_time = st.datetimes().map(str) | st.datetimes().map(lambda moment: moment.isoformat()[:16]) | st.dates().map(str)
near_truth = st.sampled_from(["yes", "no", "YES ", "0", "1", "t", "true", "ﬁ", "ſ", "01", "nope", ""])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (Type.INTEGER, near_number | st.integers(-(2**64), 2**64).map(str)),
        (Type.DECIMAL, near_number | st.floats().map(repr)),
        (Type.BOOLEAN, near_truth),
        (Type.DATE, near_time | whole_time),
        (Type.DATETIME, near_time | whole_time),
    ],
    ids=lambda value: getattr(value, "value", ""),
)
@given(data=st.data())
@settings(max_examples=20)
def test_both_engines_read_any_text_alike(kind, texts, data):
    drawn = data.draw(st.lists(st.none() | texts, min_size=1, max_size=30))
    table = pa.table({"x": pa.array(drawn, pa.string())})
    values(table, kind, outside=Outside.SUPPRESS)
    readable = [
        text
        for text in drawn
        if "do not read" not in said(ENGINES[1], pa.table({"x": pa.array([text], pa.string())}), kind)
    ]
    if readable:
        values(pa.table({"x": pa.array(readable, pa.string())}), kind, outside=Outside.SUPPRESS)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_not_a_number_in_a_parquet_file_is_missing_whatever_its_statistics_say(tmp_path, kind):
    """The smallest and largest values of a Parquet file leave NaN out; an optimizer may conclude that there is none."""
    held = pa.array([float("nan"), 1.0, 2.0, float("nan"), 3.0], kind, from_pandas=False)
    parquet.write_table(pa.table({"x": held}), tmp_path / "t.parquet")
    assert values(tmp_path / "t.parquet", Type.DECIMAL) == "[None, 1.0, 2.0, None, 3.0]"
    refused = values(tmp_path / "t.parquet", Type.DECIMAL, missing=Missing.REFUSE)
    assert "missing" in refused
    assert "2" in refused
