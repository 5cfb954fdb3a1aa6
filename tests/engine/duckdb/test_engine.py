"""Many rows are stored some at a time and packed, and are the same rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.duckdb import engine
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DataError

ROWS = 60_000
SCHEMA = Schema(
    (
        Attribute("age", Role.QUASI, Type.INTEGER),
        Attribute("town", Role.QUASI, Type.TEXT),
        Attribute("income", Role.CONFIDENTIAL, Type.DECIMAL),
    )
)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.engine.read.csv_file.BLOCK", 1 << 16)  # so that a small file comes in many batches
    rng = np.random.default_rng(1)
    towns = np.array(["Aarau", "Bern", "Chur, the old town", ""])
    table = pa.table(
        {
            "age": rng.integers(0, 99, ROWS),
            "town": towns[rng.integers(0, 4, ROWS)],
            "income": rng.integers(0, 9_999_999, ROWS) / 100,
        }
    )
    csv.write_csv(table, tmp_path / "people.csv")
    return tmp_path / "people.csv"


def held(table):
    """How many bytes DuckDB holds in tables, packed or not."""
    return table.connection.one("SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'")


@pytest.mark.slow
@pytest.mark.parametrize("part", [1, 10_000, ROWS - 1])
def test_rows_that_are_stored_in_parts_are_the_same_rows(file, part, monkeypatch):
    whole = DuckDB(threads=1).scan(file, SCHEMA)
    monkeypatch.setattr(engine, "PART", part)
    parts = DuckDB(threads=1).scan(file, SCHEMA)
    assert parts.rows() == ROWS
    assert parts.contents() == whole.contents()
    for name in SCHEMA.by_name:
        assert np.array_equal(parts.collect([name])[name], whole.collect([name])[name])


@pytest.mark.slow
def test_packed_rows_take_a_fraction_of_the_memory(file, monkeypatch):
    plain = held(DuckDB(threads=1).scan(file, SCHEMA))
    monkeypatch.setattr(engine, "PART", 10_000)
    assert 2 * held(DuckDB(threads=1).scan(file, SCHEMA)) < plain


def test_a_bad_row_in_a_later_part_is_refused(file, monkeypatch):
    with file.open("a") as more:
        more.write("old,Bern,3.5\n")
    monkeypatch.setattr(engine, "PART", 10_000)
    with pytest.raises(DataError, match=r"'age' in 1 row \(60001\)"):
        DuckDB(threads=1).scan(file, SCHEMA)
