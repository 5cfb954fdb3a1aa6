"""Parquet files whose footer lies: every verb gives what it gives for the same rows in memory, or the file is refused."""

from __future__ import annotations

import datetime as dt
import io
import struct

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.level import IntervalLevel, MaskLevel, TopLevel
from shoal.data.schema import Attribute, Missing, Outside, Role, Schema, Type
from shoal.engine.base import RecodeRequest
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DataError, DomainError
from tests.engine.read import thrift

ROWS = 400
ENGINE = DuckDB(threads=1)
SCHEMA = Schema(
    (
        Attribute("i", Role.QUASI, Type.INTEGER),
        Attribute("d", Role.OTHER, Type.DECIMAL),
        Attribute("s", Role.QUASI, Type.TEXT),
        Attribute("day", Role.OTHER, Type.DATE),
        Attribute("b", Role.CONFIDENTIAL, Type.BOOLEAN),
    )
)


def frame():
    draw = np.random.default_rng(5)
    some = draw.random((5, ROWS)) < 0.2
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(value)) for value in draw.integers(0, 900, ROWS)]
    return pa.table(
        {
            "i": pa.array(draw.integers(0, 50, ROWS), mask=some[0]),
            "d": pa.array(draw.normal(size=ROWS), mask=some[1]),
            "s": pa.array([f"v{value}" for value in draw.integers(0, 30, ROWS)], mask=some[2]),
            "day": pa.array(days, mask=some[3]),
            "b": pa.array(draw.random(ROWS) < 0.5, mask=some[4]),
        }
    )


VALUES = {0: b"\1", 1: struct.pack("<i", 5), 2: struct.pack("<q", 5), 5: struct.pack("<d", 0.5), 6: b"v5"}
"""A value of each physical type."""


def lie_constant(chunk, rows):
    """All values are one value, and none is missing."""
    one = VALUES[thrift.get(chunk, 1)]
    ends = [[number, thrift.BINARY, one] for number in (1, 2, 5, 6)]
    counts = [[3, thrift.I64, 0], [4, thrift.I64, 1]]
    exact = [[7, thrift.TRUE, True], [8, thrift.TRUE, True]]
    thrift.put(chunk, 12, thrift.STRUCT, sorted([*ends, *counts]) + exact)


def lie_missing(chunk, rows):
    """All values are missing: DuckDB then reads none of them."""
    thrift.put(chunk, 12, thrift.STRUCT, [[3, thrift.I64, rows]])


def lie_none_missing(chunk, rows):
    thrift.put(chunk, 12, thrift.STRUCT, [[3, thrift.I64, 0]])


def lie_index(chunk, rows):
    """The Bloom filter lies where there is none."""
    thrift.put(chunk, 14, thrift.I64, 4)
    thrift.put(chunk, 15, thrift.I32, 32)


LIES = {one.__name__: one for one in (lie_constant, lie_missing, lie_none_missing, lie_index)}


def forged(table, lie, **options):
    """A Parquet file of which the footer says what `lie` makes of it."""
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=150, **options)
    pages, footer = thrift.split_parquet(file.getvalue())
    for group in thrift.get(footer, 4)[1]:
        for column in thrift.get(group, 1)[1]:
            lie(thrift.get(column, 3), thrift.get(group, 3))
    return thrift.join_parquet(pages, footer)


def every_verb(table, folder):
    """What all verbs say of a table."""
    said = {"rows": table.rows(), "contents": table.contents()}
    for name in table.columns:
        counts = table.count_by([name])
        said["count", name] = [values.tolist() for values in counts.tuples], counts.counts.tolist()
        said["distinct", name] = table.distinct(name).tolist()
        said["suppress", name] = table.suppress_below([name], 9).digest()
        said["collect", name] = table.collect([name])[name].tolist()
    said["pairs"] = table.count_by(["i", "b"]).counts.tolist()
    said["quantiles"] = table.quantiles("i", [0, 0.5, 1]).tolist(), table.quantiles("day", [0.1, 0.9]).tolist()
    said["means"] = table.chunk(["d", "i"], 7, "g").means_by("g", ["d"])["d"][-9:].tolist()
    kept = table.keep(lambda start, count: np.arange(start, start + count) % 3 == 0)
    said["keep"] = kept.digest()
    said["limit"] = table.limit_per(
        "i", 2, lambda start, count: np.arange(start, start + count, dtype=np.uint64)
    ).digest()
    levels = {"i": IntervalLevel((10, 30), ("a", "b", "c")), "s": MaskLevel(1, "right"), "b": TopLevel()}
    said["recode"] = kept.recode(levels).digest()
    said["many"] = [each.digest() for each in table.recode_many([RecodeRequest(levels, None)])]
    for suffix in (".csv", ".parquet"):
        table.write(folder / f"out{suffix}")
        said[suffix] = (folder / f"out{suffix}").read_bytes()
    return said


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_no_verb_believes_the_footer(tmp_path, lie):
    table = frame()
    (tmp_path / "t.parquet").write_bytes(forged(table, LIES[lie], write_page_index=lie == "lie_constant"))
    expected = every_verb(ENGINE.scan(table, SCHEMA), tmp_path)
    assert every_verb(ENGINE.scan(tmp_path / "t.parquet", SCHEMA), tmp_path) == expected


@pytest.mark.parametrize(
    ("kind", "domain", "values"),
    [
        (Type.INTEGER, Interval(0, 300), pa.array([5, 10**9])),
        (Type.DECIMAL, Interval(0, 1), pa.array([0.5, 9e9])),
        (Type.TEXT, Pattern("v[0-9]"), pa.array(["v5", "Sentinel"])),
        (Type.CATEGORY, Values(("v5",)), pa.array(["v5", "Sentinel"])),
    ],
)
@pytest.mark.parametrize("lie", LIES)
def test_every_value_is_compared_with_its_domain(tmp_path, kind, domain, values, lie):
    (tmp_path / "t.parquet").write_bytes(forged(pa.table({"x": values}), LIES[lie]))
    attribute = Attribute("x", Role.QUASI, kind, domain)
    with pytest.raises(DomainError, match=r"'x' in 1 row \(2\)"):
        ENGINE.scan(tmp_path / "t.parquet", Schema((attribute,)))
    suppressed = Attribute("x", Role.QUASI, kind, domain, outside=Outside.SUPPRESS)
    table = ENGINE.scan(tmp_path / "t.parquet", Schema((suppressed,)))
    assert table.collect(["x"])["x"].tolist() == [values[0].as_py(), None]


@pytest.mark.parametrize("lie", LIES)
def test_missing_values_are_counted_and_not_believed(tmp_path, lie):
    (tmp_path / "t.parquet").write_bytes(forged(pa.table({"x": [1, None, 3]}), LIES[lie]))
    refusing = Schema((Attribute("x", Role.QUASI, Type.INTEGER, missing=Missing.REFUSE),))
    with pytest.raises(DataError, match=r"'x' in 1 row \(2\)"):
        ENGINE.scan(tmp_path / "t.parquet", refusing)


ONE = Schema((Attribute("x", Role.QUASI, Type.INTEGER),))
TWO = Schema((Attribute("x", Role.QUASI, Type.INTEGER), Attribute("y", Role.QUASI, Type.INTEGER)))


def altered(tmp_path, change, **options):
    """A file of two columns in three row groups, with pages that are not packed, and a footer that `change` changes."""
    file = io.BytesIO()
    given = {"compression": "none", "use_dictionary": False, **options}
    parquet.write_table(pa.table({"x": range(30), "y": range(100, 130)}), file, row_group_size=10, **given)
    pages, footer = thrift.split_parquet(file.getvalue())
    pages = change(pages, footer) or pages
    (tmp_path / "t.parquet").write_bytes(thrift.join_parquet(pages, footer))
    return tmp_path / "t.parquet"


def chunk(footer, group, column):
    return thrift.get(footer, 4, group, 1, column, 3)


def test_the_file_is_read_where_nothing_is_altered(tmp_path):
    table = ENGINE.scan(altered(tmp_path, lambda pages, footer: None), TWO)
    assert table.collect(["x", "y"])["y"].tolist() == list(range(100, 130))


def test_a_page_that_claims_one_value_more_shifts_no_row(tmp_path):
    """Read in one run, the column took a value of the next row group, and every later row was paired with another one."""

    def change(pages, footer):
        at = thrift.get(chunk(footer, 1, 0), 9)
        reader = thrift.Reader(pages, at)
        header = reader.struct()
        thrift.put(thrift.get(header, 5), 1, thrift.I32, 11)
        written = thrift.write_struct(header)
        assert len(written) == reader.at - at
        return pages[:at] + written + pages[reader.at :]

    with pytest.raises(DataError, match=r"the pages of a column do not hold what it says; got t\.parquet"):
        ENGINE.scan(altered(tmp_path, change), TWO)


@pytest.mark.parametrize("rows", [-1, 0, 29, 31, 2**32 + 1, 2**63 - 1])
def test_a_footer_that_claims_another_number_of_rows(tmp_path, rows):
    path = altered(tmp_path, lambda pages, footer: thrift.put(footer, 3, thrift.I64, rows))
    with pytest.raises(DataError, match="number of rows"):
        ENGINE.scan(path, TWO)


@pytest.mark.parametrize("rows", [0, 9, 11, 2**40])
def test_a_row_group_that_claims_another_number_of_rows(tmp_path, rows):
    def change(pages, footer):
        thrift.put(thrift.get(footer, 4, 1), 3, thrift.I64, rows)
        thrift.put(footer, 3, thrift.I64, 20 + rows)

    with pytest.raises(DataError, match="number of rows"):
        ENGINE.scan(altered(tmp_path, change), TWO)

    def change_more(pages, footer):
        change(pages, footer)
        for column in (0, 1):
            thrift.put(chunk(footer, 1, column), 5, thrift.I64, rows)

    if rows:  # a group of no rows is one
        with pytest.raises(DataError, match=r"number of rows|pages of a column do not hold"):
            ENGINE.scan(altered(tmp_path, change_more), TWO)


def test_columns_that_change_places_in_a_row_group(tmp_path):
    """Some readers find a column by its position, others by its path."""

    def change(pages, footer):
        thrift.get(footer, 4, 1, 1)[1].reverse()

    with pytest.raises(DataError, match="cannot be read as Parquet"):
        ENGINE.scan(altered(tmp_path, change), TWO)


def test_pages_that_lie_in_another_file(tmp_path):
    parquet.write_table(pa.table({"x": range(30), "y": range(30)}), tmp_path / "other.parquet")

    def change(pages, footer):
        thrift.put(thrift.get(footer, 4, 0, 1, 0), 1, thrift.BINARY, b"other.parquet")

    with pytest.raises(DataError, match="cannot be read as Parquet"):
        ENGINE.scan(altered(tmp_path, change), TWO)


@pytest.mark.parametrize("schema", [TWO, Schema(TWO.attributes[1:])])
@pytest.mark.parametrize("group", [0, 1])
def test_pages_that_another_column_has_too(tmp_path, schema, group):
    """The numbers of one column were read as the values of another, also where that other one is not read."""

    def change(pages, footer):
        thrift.put(chunk(footer, 2, 1), 9, thrift.I64, thrift.get(chunk(footer, group, 0), 9))

    with pytest.raises(DataError, match="two of its columns have the same pages"):
        ENGINE.scan(altered(tmp_path, change), schema)


def test_a_dictionary_behind_the_values_that_use_it(tmp_path):
    """Some readers begin with the dictionary, others with what is said to be the first page of values."""

    def change(pages, footer):
        thrift.put(chunk(footer, 0, 1), 11, thrift.I64, thrift.get(chunk(footer, 0, 1), 9) + 1)

    with pytest.raises(DataError, match="cannot be read as Parquet"):
        ENGINE.scan(altered(tmp_path, change), TWO)


def test_a_row_group_without_rows_has_no_pages_that_could_be_those_of_another(tmp_path):
    none = pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.int64())})
    with parquet.ParquetWriter(tmp_path / "t.parquet", none.schema) as writer:
        for table in (none, pa.table({"x": range(3), "y": range(3)}), none):
            writer.write_table(table)
    assert ENGINE.scan(tmp_path / "t.parquet", TWO).rows() == 3


def test_a_page_that_claims_to_unpack_to_gigabytes(tmp_path):
    def change(pages, footer):
        at = thrift.get(chunk(footer, 0, 0), 9)
        reader = thrift.Reader(pages, at)
        header = reader.struct()
        thrift.put(header, 2, thrift.I32, 2**31 - 1)
        written = thrift.write_struct(header)
        moved = len(written) - (reader.at - at)
        for group in range(3):
            for column in (0, 1):
                fields = chunk(footer, group, column)
                thrift.put(fields, 9, thrift.I64, thrift.get(fields, 9) + (moved if group or column else 0))
        return pages[:at] + written + pages[reader.at :]

    with pytest.raises(DataError, match="pages that unpack to 1,073,741,824 bytes at most"):
        ENGINE.scan(altered(tmp_path, change), TWO)


def test_a_page_is_compared_with_its_checksum(tmp_path):
    def change(pages, footer):
        at = pages.index(struct.pack("<q", 17))
        return pages[:at] + struct.pack("<q", 18) + pages[at + 8 :]

    assert ENGINE.scan(altered(tmp_path, change), ONE).collect(["x"])["x"].tolist()[17] == 18  # nobody can notice
    with pytest.raises(DataError, match="cannot be read"):
        ENGINE.scan(altered(tmp_path, change, write_page_checksum=True), ONE)


def test_old_times_are_read_or_refused_and_never_wrapped(tmp_path):
    """In nanoseconds the end of the year 9999 is a day of 1816."""
    moments = [dt.datetime(2020, 1, 1, 1, 2, 3, 4), None, dt.datetime(1700, 1, 1)]
    schema = Schema((Attribute("x", Role.OTHER, Type.DATETIME),))
    for late, ends in (
        ([], None),
        ([dt.datetime(9999, 12, 31)], "beyond what the old kind of times"),
        ([dt.datetime(1500, 1, 1)], "beyond"),
    ):
        held = pa.table({"x": pa.array([*moments, *late], pa.timestamp("us"))})
        parquet.write_table(held, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
        if ends is None:
            assert ENGINE.scan(tmp_path / "t.parquet", schema).collect(["x"])["x"].tolist() == moments
        else:
            with pytest.raises(DataError, match=ends):
                ENGINE.scan(tmp_path / "t.parquet", schema)


def test_a_footer_that_makes_the_bindings_of_arrow_end_the_process_is_refused(tmp_path):
    """Arrow raises there what its Python layer does not expect (a level histogram of a wrong length)."""

    def change(pages, footer):
        thrift.put(chunk(footer, 0, 0), 16, thrift.STRUCT, [[3, thrift.LIST, [thrift.I64, [1, 2, 3]]]])

    with pytest.raises(DataError, match="cannot be read"):
        ENGINE.scan(altered(tmp_path, change), TWO)
