"""Tables for the tests of engines: one schema with every type, rows drawn at random, and every form they come in."""

from __future__ import annotations

import csv
import datetime as dt
import io
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import feather, parquet

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.level import GroupLevel, IntervalLevel, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Attribute, Role, Schema, Type

TOWNS = ("Ürgüp", "Zug", "ab;c", 'q"uote', "line\nbreak", "عمان", "🦀 bay", "null", "NA")
SCHEMA = Schema(
    (
        Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 120)),
        Attribute("weight", Role.OTHER, Type.DECIMAL, Interval(-1000.0, 1000.0)),
        Attribute("town", Role.QUASI, Type.CATEGORY, Values(TOWNS)),
        Attribute("zip", Role.QUASI, Type.TEXT, Pattern("[0-9]{3}")),
        Attribute("visit", Role.QUASI, Type.DATE, Interval(dt.date(2020, 1, 1), dt.date(2024, 12, 31))),
        Attribute("seen", Role.OTHER, Type.DATETIME, Interval(dt.datetime(2020, 1, 1), dt.datetime(2024, 12, 31))),
        Attribute("smoker", Role.CONFIDENTIAL, Type.BOOLEAN),
        Attribute("Name, \"odd\" = 'ø'", Role.IDENTIFIER, Type.TEXT),
        Attribute("gone", Role.DROP, Type.TEXT),
    )
)
ODD = SCHEMA.names[7]
NAMES = SCHEMA.names[:8]
LEVELS = {
    "town": GroupLevel(TOWNS, (0, 1, 0, 1, 2, 2, 2, 0, 1), ("west", "east", "Ägypten")),
    "age": IntervalLevel((10, 17.5, 65), ("0-9", "10-17", "18-64", "65+")),
    "zip": MaskLevel(1, "right"),
    "visit": IntervalLevel((dt.date(2021, 1, 1), dt.date(2023, 7, 1)), ("early", "middle", "late")),
    "seen": TopLevel(),
    "smoker": GroupLevel(("true", "false"), (0, 1), ("yes", "no")),
    "weight": ValueLevel(),
    ODD: ValueLevel(),
}
ARROW = pa.schema(
    [
        ("age", pa.int32()),
        ("weight", pa.float64()),
        ("town", pa.string()),
        ("zip", pa.string()),
        ("visit", pa.date32()),
        ("seen", pa.timestamp("us")),
        ("smoker", pa.bool_()),
        (ODD, pa.string()),
    ]
)

letters = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=5)
row = st.tuples(
    st.none() | st.sampled_from([0, 9, 10, 17, 18, 65, 120]) | st.integers(0, 120),
    st.none() | st.sampled_from([-0.0, 0.0, 0.1, 1e-9, 3.5]) | st.floats(-1000, 1000),
    st.none() | st.sampled_from(TOWNS),
    st.none() | st.from_regex(r"[0-9]{3}", fullmatch=True),
    st.none() | st.dates(dt.date(2020, 1, 1), dt.date(2024, 12, 31)),
    st.none() | st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2024, 12, 31)),
    st.none() | st.booleans(),
    st.none() | st.sampled_from(["x", "Y", "y", "é", "zz"]) | letters,
)
tables = st.lists(row, min_size=1, max_size=30)
few = st.tuples(
    st.none() | st.sampled_from([5, 70]),
    st.none() | st.sampled_from([0.5, 1.0]),
    st.none() | st.sampled_from(TOWNS[:2]),
    st.just("123"),
    st.just(dt.date(2021, 1, 1)),
    st.none(),
    st.none() | st.booleans(),
    st.none() | st.just("x"),
)
crowded = st.lists(few, min_size=1, max_size=60)


def d(text):
    """A date."""
    return dt.date.fromisoformat(text)


ROWS = [
    (30, 1.5, "Zug", "123", d("2020-05-01"), dt.datetime(2020, 1, 2, 3, 4, 5, 6), True, "b"),
    (5, None, "Ürgüp", "199", d("2023-07-01"), None, False, "B"),
    (None, -0.0, None, None, None, None, None, None),
    (30, 2.5, "Zug", "123", d("2020-06-01"), dt.datetime(2021, 1, 1), True, "é"),
    (70, 0.0, "🦀 bay", "999", d("2022-01-01"), dt.datetime(2022, 1, 1), None, "z"),
    (10, 1e-9, "Zug", "120", d("2021-01-01"), dt.datetime(2023, 1, 1), False, "b"),
    (17, 7.25, "عمان", "121", d("2023-06-30"), dt.datetime(2024, 1, 1), True, "a"),
]


def arrow(rows):
    """Rows as an Arrow table."""
    columns = list(zip(*rows, strict=True))
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, ARROW.types, strict=True)], schema=ARROW)


def as_csv(rows, path: Path, delimiter=",", encoding="utf-8", end="\r\n", names=NAMES, quoting=csv.QUOTE_MINIMAL):
    """Rows as a CSV file by Python's own writer."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(names)
    for values in rows:
        writer.writerow(["" if v is None else repr(v) if isinstance(v, float) else v for v in values])
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def as_parquet(rows, path: Path):
    """Rows as one Parquet file of small row groups."""
    parquet.write_table(arrow(rows), path, row_group_size=7)
    return path


def as_folder(rows, folder: Path, cuts):
    """Rows cut into Parquet files whose names sort as the rows do, and are written in another order."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.parquet"):
        old.unlink()
    table = arrow(rows)
    ends = sorted({min(cut, len(rows)) for cut in cuts} | {0, len(rows)})
    parts = list(itertools.pairwise(ends))
    for number, (start, stop) in reversed(list(enumerate(parts))):
        parquet.write_table(table.slice(start, stop - start), folder / f"part-{number:03d}.parquet")
    (folder / "_SUCCESS").write_bytes(b"")
    return folder


def every_form(rows, folder: Path):
    """The same rows in every form that a source can have."""
    table = arrow(rows)
    feather.write_feather(table, folder / "t.feather", compression="lz4", chunksize=5)
    return {
        "csv": as_csv(rows, folder / "t.csv"),
        "tabs": as_csv(rows, folder / "t.tsv", delimiter="\t", end="\n", quoting=csv.QUOTE_ALL),
        "utf-16": as_csv(rows, folder / "16.csv", delimiter="|", encoding="utf-16"),
        "mark": as_csv(rows, folder / "mark.csv", delimiter=";", encoding="utf-8-sig", quoting=csv.QUOTE_ALL),
        "parquet": as_parquet(rows, folder / "t.parquet"),
        "folder": as_folder(rows, folder / "parts", (3, 4, 11)),
        "feather": folder / "t.feather",
        "pyarrow": table,
        "pandas": table.to_pandas(),
        "pandas-arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),
    }


def plain(values):
    """An array as a list, None where it is masked."""
    return values.tolist()


def every_third(start, count):
    """A mask."""
    return np.arange(start, start + count) % 3 == 0


def scattered(start, count):
    """A mask without a pattern that a mistake could share."""
    return (np.arange(start, start + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(63) == 1
