"""What is wrong with a table is said clearly, by attribute and count; no cell's value is ever said."""

from __future__ import annotations

import datetime as dt
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.schema import Attribute, FileFormat, Missing, Outside, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DataError, DomainError, PolicyError, ShoalError, UsageError
from tests.engine.oracle import OracleEngine

SECRET = "Sentinel7391"  # noqa: S105 - it stands in cells that no message may quote
AGE = Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 120))
TOWN = Attribute("town", Role.QUASI, Type.TEXT)
TWO = Schema((AGE, TOWN))


@pytest.fixture(params=[DuckDB(), OracleEngine()], ids=lambda one: one.name)
def engine(request):
    return request.param


def everything_said(error):
    """The message, the arguments, and those of every exception that a traceback would show or hold."""
    said = []
    while error is not None:
        said += [str(error), repr(error), repr(error.args)]
        said += [] if not isinstance(error, ShoalError) else [repr(error.to_json())]
        error = error.__cause__ or error.__context__
    return " ".join(said)


def refused(engine, source, schema, match, kind=DataError):
    with pytest.raises(kind, match=match) as caught:
        engine.scan(source, schema)
    assert SECRET not in everything_said(caught.value)
    assert caught.value.exit_code in (2, 5)
    return caught.value


def of(*attributes):
    return Schema(attributes)


def attribute(kind, domain=None, **more):
    return Attribute("x", Role.QUASI, kind, domain, **more)


CSV = {
    "an empty file": (b"", "the file is empty; got t.csv"),
    "blanks alone": (b"\n \n,,\n", "the first line is empty"),
    "a mark alone": (b"\xef\xbb\xbf", "the file is empty"),
    "an empty first line": (b"\nage,town\n1,x\n", "the first line is empty"),
    "two columns of one name": (b"age,town,town\n1,x,y\n", r"name of an earlier column; got t.csv, column 3"),
    "a column without a name": (b"age,town,\n1,x,y\n", r"columns without a name; got t.csv, column 3"),
    "a short row": (f"age,town\n1,x\n{SECRET}\n2,y\n".encode(), r"another number of cells.*in row 2, .* the header"),
    "a long row": (f"age,town\n1,x,{SECRET}\n".encode(), r"another number of cells.*row 1, .*; allowed: 2 cells"),
    "a quote in a field": (f'age,town\n1,{SECRET}"x"\n'.encode(), "a quote stands inside a cell.*in row 1, counted"),
    "text after a quote": (f'age,town\n1,"x"{SECRET}\n'.encode(), "a quote stands inside a cell.*in row 1, counted"),
    "a quote left open": (f'age,town\n1,"{SECRET}\n2,y\n'.encode(), "a quote is never closed.*in row 1, "),
    "another table": (f"height,{SECRET}\n1,x\n".encode(), "lacks columns that the policy names; got t.csv without .age., "),
    "no header": (f"17,{SECRET}\n18,y\n".encode(), "check that this is the policy.*and that the file has a header"),
    "NUL bytes": (b"age,town\n1,a\x00b\n", "holds NUL bytes"),
    "two encodings": ("age,town\n1,é".encode() + b"\n2,\xe9\n", "the file is not in utf-8.*`file: {encoding: windows-1252}`"),
    "no encoding": (b"age,town\n1,\x81\x8d\n", "the file is not in utf-8"),
    "UTF-32": ("age,town\n1,x\n".encode("utf-32"), "UTF-32"),
    "UTF-16": ("age,town\n1,x\n".encode("utf-16"), r"byte order mark of utf-16-le; .*`file: {encoding: utf-16-le}`"),
    "UTF-16 without a mark": ("age,town\n1,x\n".encode("utf-16-le"), "holds NUL bytes"),
    "a name on two lines": (b'age,"town\n(all)"\n1,x\n', "the header line does not read as CSV"),
    "quotes in the header": (b'age,to"wn"\n1,x\n', "a quote stands inside.*in the header line"),
    "text for numbers": (f"age,town\n1,x\n{SECRET},y\n".encode(), r"got .age. in 1 row \(2\), .*; allowed: .age. integer"),
    "a fraction": (b"age,town\n1.5,x\n1.0,y\n", r"'age' in 2 rows \(1, 2\).*1\.0 for 1.*some have a fraction"),
    "too large": (b"age,town\n9223372036854775808,x\n", r"'age' in 1 row \(1\)"),
    "underscores and hex": (b"age,town\n1_000,x\n0x10,y\n1e2,z\n", r"'age' in 3 rows \(1, 2, 3\)"),
    "outside": (b"age,town\n121,x\n-1,y\n7,z\n", r"got 'age' in 2 rows \(1, 2\), .* the header; allowed: 'age' 0\.\.120; "),
}  # fmt: skip


@pytest.mark.parametrize("case", CSV)
def test_a_bad_csv_file(engine, tmp_path, case):
    content, match = CSV[case]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    refused(engine, path, TWO, match)


def test_values_outside_are_a_domain_error_and_list_every_attribute(engine):
    schema = of(AGE, Attribute("town", Role.QUASI, Type.CATEGORY, Values(("a", "b"))))
    frame = pa.table({"age": [1, 500, 600], "town": ["a", SECRET, None]})
    error = refused(engine, frame, schema, "outside", DomainError)
    assert (
        "got 'age' in 2 rows (2, 3), 'town' in 1 row (2), counted from 1; allowed: 'age' 0..120, 'town' a, b;"
        in str(error)
    )
    assert error.rows == {"age": (2, 3), "town": (2,)}
    assert error.values is None
    assert "widen the domain, or set outside: clamp or suppress" in str(error)


@pytest.mark.parametrize(
    ("kind", "values", "rows"),
    [
        (Type.INTEGER, pa.array([1.5, 2.0, None, float("nan")]), 1),
        (Type.INTEGER, pa.array([2**63, 1], pa.uint64()), 1),
        (Type.INTEGER, pa.array([float("inf"), 1e300, 2.0**53 + 2]), 3),
        (Type.DECIMAL, pa.array(["1,5", "", "1e", SECRET, "0x1p3", "1_0"]), 6),
        (Type.BOOLEAN, pa.array(["maybe", "YES", "No", "t"]), 2),
        (Type.BOOLEAN, pa.array([0, 1, 2]), 1),
        (Type.DATE, pa.array(["2020-02-30", "2020-1-1", "20200101", "2020-01-01T00:00", "0000-01-01"]), 5),
        (Type.DATE, pa.array([dt.datetime(2020, 1, 1, 1), dt.datetime(2020, 1, 1)]), 1),
        (Type.DATETIME, pa.array(["2020-01-01 24:00", "2020-01-01T10:00+02:00", "10:00", "2020-02-30 10:00"]), 4),
        (Type.DATETIME, pa.array([1, 1000], pa.timestamp("ns")), 1),
    ],
    ids=str,
)  # fmt: skip
def test_values_that_do_not_read_as_the_type(engine, kind, values, rows):
    refused(
        engine, pa.table({"x": values}), of(attribute(kind)), rf"'x' in {rows} rows? \(.*allowed: 'x' {kind.value} "
    )


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Type.INTEGER, pa.array([True])),
        (Type.TEXT, pa.array([1.5])),
        (Type.TEXT, pa.array([SECRET.encode()])),
        (Type.TEXT, pa.array([[SECRET]])),
        (Type.DATE, pa.array([20200101])),
        (Type.DATETIME, pa.array([dt.time(1, 2)])),
        (Type.BOOLEAN, pa.array([1.0])),
    ],
    ids=str,
)
def test_columns_that_cannot_be_the_type(engine, kind, values):
    refused(engine, pa.table({"x": values}), of(attribute(kind)), rf"'x': the column cannot be read as {kind.value}")


def test_infinite_decimals_lie_outside_every_domain(engine):
    values = pa.array([1.0, float("inf"), float("-inf"), float("nan"), None])
    refused(
        engine,
        pa.table({"x": values}),
        of(attribute(Type.DECIMAL)),
        r"'x' in 2 rows \(2, 3\).*'x' every finite number",
        DomainError,
    )
    inside = attribute(Type.DECIMAL, Interval(0, 10), outside=Outside.CLAMP)
    assert engine.scan(pa.table({"x": values}), of(inside)).collect(["x"])["x"].tolist() == [1, 10, 0, None, None]
    endless = attribute(Type.DECIMAL, Interval(0.0, float("inf")))
    refused(engine, pa.table({"x": values.slice(0, 2)}), of(endless), r"'x' in 1 row .*'x' 0\.0\.\.inf", DomainError)
    dropped = attribute(Type.DECIMAL, outside=Outside.SUPPRESS)
    assert engine.scan(pa.table({"x": values}), of(dropped)).collect(["x"])["x"].tolist() == [1, None, None, None, None]


@pytest.mark.slow
def test_what_lies_outside_can_be_clamped_or_suppressed(engine):
    days = [dt.date(2019, 1, 1), dt.date(2020, 6, 1), dt.date(2030, 1, 1), None]
    ends = Interval(dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    clamped = engine.scan(pa.table({"x": days}), of(attribute(Type.DATE, ends, outside=Outside.CLAMP)))
    assert clamped.collect(["x"])["x"].tolist() == [ends.low, days[1], ends.high, None]
    for kind, domain, values, expected in (
        (Type.CATEGORY, Values(("a",)), ["a", SECRET, None], ["a", None, None]),
        (Type.TEXT, Pattern("[a-z]+"), ["a", SECRET, "a\n", ""], ["a", None, None, None]),
        (Type.INTEGER, Values(("1", "2")), [1, 3, None], [1, None, None]),
        (Type.BOOLEAN, Values(("true",)), [True, False, None], [True, None, None]),
        (
            Type.DATE,
            Values(("2020-01-01",)),
            [dt.date(2020, 1, 1), dt.date(2020, 1, 2), None],
            [dt.date(2020, 1, 1), None, None],
        ),
    ):
        table = pa.table({"x": values})
        suppressed = engine.scan(table, of(attribute(kind, domain, outside=Outside.SUPPRESS)))
        assert suppressed.collect(["x"])["x"].tolist() == expected
        refused(engine, table, of(attribute(kind, domain)), "outside their declared domain", DomainError)
        both = attribute(kind, domain, outside=Outside.SUPPRESS, missing=Missing.REFUSE)
        refused(engine, table, of(both), "missing where the policy refuses")


def test_missing_values_can_be_refused(engine):
    schema = of(attribute(Type.DECIMAL, missing=Missing.REFUSE))
    refused(
        engine,
        pa.table({"x": [1.0, None, float("nan")]}),
        schema,
        r"refuses missing values; got 'x' in 2 rows \(2, 3\)",
    )
    assert engine.scan(pa.table({"x": [1.0]}), schema).rows() == 1


@pytest.mark.slow
def test_columns_of_missing_values_alone(engine):
    for kind in Type:
        table = engine.scan(pa.table({"x": pa.nulls(3)}), of(attribute(kind)))
        assert table.collect(["x"])["x"].tolist() == [None] * 3
        assert table.count_by(["x"]).counts.tolist() == [3]


def test_a_domain_that_cannot_be_held_against_the_type(engine):
    table = pa.table({"x": [1.5]})
    refused(engine, table, of(attribute(Type.DECIMAL, Values(("1.5",)))), "no list or pattern", PolicyError)
    refused(engine, pa.table({"x": ["a"]}), of(attribute(Type.TEXT, Interval(0, 1))), "needs numbers", PolicyError)


def test_frames_that_are_no_tables(engine):
    twice = pd.DataFrame([[1, SECRET]], columns=["age", "age"])
    refused(engine, twice, TWO, "the frame cannot be read|name of an earlier column")
    refused(engine, pd.DataFrame({"age": [1, SECRET, object()], "town": "x"}), TWO, "the frame cannot be read")
    refused(engine, [1, 2, 3], TWO, "this kind of input is not known; got list")
    refused(engine, pl.DataFrame({"age": [1]}), TWO, "without 'town'")
    assert engine.scan(pd.DataFrame({"age": [], "town": []}), TWO).rows() == 0
    assert engine.scan(pd.DataFrame({"age": [1.0, np.nan], "town": ["x", None]}), TWO).collect(["age"])[
        "age"
    ].tolist() == [1, None]


def test_files_that_are_not_what_their_name_says(engine, tmp_path):
    for name in ("t.parquet", "t.arrow", "t.xyz", "t"):
        (tmp_path / name).write_text(f"{SECRET},1\n")
        refused(engine, tmp_path / name, TWO, "cannot be read|not known")
    for name in ("none.csv", "none.xslx", "none"):
        refused(engine, tmp_path / name, TWO, "no such file")
    (tmp_path / "empty").mkdir()
    refused(engine, tmp_path / "empty", TWO, "no Parquet files")
    parts = tmp_path / "parts"
    parts.mkdir()
    parquet.write_table(pa.table({"age": [1], "town": ["x"]}), parts / "a.parquet")
    parquet.write_table(pa.table({"age": ["1"], "town": ["x"]}), parts / "b.parquet")
    refused(engine, parts, TWO, "do not have the same columns")


def test_a_broken_page_inside_a_parquet_file(engine, tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"age": np.arange(5000) % 100, "town": [SECRET] * 5000}), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[40:400] = bytes(360)
    path.write_bytes(content)
    refused(engine, path, TWO, "cannot be read")


def test_text_that_is_no_utf_8_is_refused_and_not_quoted(engine, tmp_path):
    broken = pa.array([b"x", SECRET.encode() + b"\xff"], pa.binary()).view(pa.string())
    frame = pa.table({"age": [1, 2], "town": broken})
    parquet.write_table(frame, tmp_path / "t.parquet")
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), broken)
    for source in (frame, tmp_path / "t.parquet", pa.table({"age": [1, 2], "town": coded})):
        refused(engine, source, TWO, r"cannot be read")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_that_changes_while_it_is_read(engine, tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    engine.scan(pa.table({"age": [1, 2], "town": ["x", SECRET]}), TWO).write(path)
    table = engine.scan(path, TWO)
    status = path.stat()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"x", b"y"))
    os.utime(
        path, ns=(status.st_atime_ns, status.st_mtime_ns)
    )  # the same size and time: small files are compared whole
    for verb in (table.rows, lambda: table.collect(["age"]), lambda: table.write(tmp_path / "out.csv")):
        with pytest.raises(DataError, match="the file changed while it was read; got t") as caught:
            verb()
        assert SECRET not in everything_said(caught.value)
    path.unlink()
    with pytest.raises(DataError, match="the file changed while it was read"):
        table.count_by(["age"])
    assert not (tmp_path / "out.csv").exists()


def test_what_duckdb_says_is_not_repeated():
    import duckdb

    connection = DuckDB().scan(pa.table({"age": [1], "town": ["x"]}), TWO).connection

    def failing(error):
        raise error

    for error in (duckdb.ConversionException(SECRET), pa.ArrowInvalid(SECRET), OSError(SECRET)):
        with pytest.raises(DataError, match="the table cannot be read") as caught:
            connection._attempt(lambda error=error: failing(error))
        assert SECRET not in everything_said(caught.value)


def test_long_cells_and_odd_names_are_read(engine, tmp_path):
    name = "ה\"\u200f🦀 '; DROP TABLE x; --"
    long = "ü🦀" * 5_000
    path = tmp_path / "t[1]*?.csv"
    path.write_text(f'age,"{name.replace(chr(34), chr(34) * 2)}"\n1,{long}\n', encoding="utf-8")
    schema = of(AGE, Attribute(name, Role.OTHER, Type.TEXT))
    table = engine.scan(path, schema)
    assert table.collect([name])[name].tolist() == [long]
    table.write(tmp_path / "t[1]*?.parquet")
    assert engine.scan(tmp_path / "t[1]*?.parquet", schema).distinct(name).tolist() == [long]


def test_a_path_is_no_pattern(engine, tmp_path):
    for name, age in (("a*.parquet", 1), ("ab.parquet", 2), ("a[b].parquet", 3)):
        parquet.write_table(pa.table({"age": [age], "town": ["x"]}), tmp_path / name)
    for name, age in (("a*.parquet", 1), ("a[b].parquet", 3)):
        assert engine.scan(tmp_path / name, TWO).collect(["age"])["age"].tolist() == [age]


def test_names_that_differ_in_case_alone(engine, tmp_path):
    schema = of(attribute(Type.INTEGER), Attribute("X", Role.OTHER, Type.TEXT))
    parquet.write_table(pa.table({"X": ["a"], "x": [1]}), tmp_path / "t.parquet")
    table = engine.scan(tmp_path / "t.parquet", schema)
    assert [table.collect([name])[name].tolist() for name in ("x", "X")] == [[1], ["a"]]


def test_columns_that_the_policy_does_not_name_are_noted(engine):
    table = engine.scan(pa.table({"age": [1], "more": [2], "town": ["x"]}), TWO)
    assert table.notes == ("the frame: 1 column not read, which the policy does not name: more",)


def test_a_csv_file_can_be_described(engine, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("age:town\n1:é\nNA:'a:b'\n".encode("latin-1"))
    form = FileFormat("iso-8859-1", ":", "'", missing=("NA",))
    table = engine.scan(path, Schema(TWO.attributes, form))
    assert {name: table.collect([name])[name].tolist() for name in ("age", "town")} == {
        "age": [1, None],
        "town": ["é", "a:b"],
    }
    for wrong, match in (
        ({"delimiter": "::"}, "one ASCII sign"),
        ({"quote": "a"}, "one ASCII sign"),
        ({"delimiter": "'", "quote": "'"}, "the same sign"),
        ({"encoding": "ebcdic"}, "no such encoding"),
        ({"decimal": "'"}, "no such decimal mark"),
        ({"missing": ("a", "a")}, "listed once"),
    ):
        with pytest.raises(UsageError, match=match):
            FileFormat(**wrong)
