"""What an engine imports, leaves on the disk, and writes to files; and how DuckDB is set up."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.column import Column
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.write import expand, rebatch, write_file
from shoal.errors import DataError
from tests.engine.oracle import OracleEngine
from tests.engine.tables import LEVELS, ROWS, SCHEMA, arrow


@pytest.mark.slow
def test_slow_libraries_are_imported_when_a_table_is_opened():
    script = (
        "import sys, shoal.engine.duckdb.engine, shoal.engine.duckdb.table\n"
        "print([name for name in ('duckdb', 'narwhals', 'pandas', 'polars', 'pyarrow') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.slow
def test_a_session_leaves_nothing_behind_and_is_silent(tmp_path):
    script = (
        "import pyarrow as pa\n"
        "from shoal.engine.duckdb.engine import DuckDB\n"
        "from shoal.data.schema import *\n"
        "table = DuckDB().scan(pa.table({'x': [1, 2]}), Schema((Attribute('x', Role.OTHER, Type.INTEGER),)))\n"
        "print(table.rows(), next(iter(table.batches())).num_rows)"
    )
    environment = {"TMPDIR": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("2 2\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_temporary_folder_lives_as_long_as_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table = DuckDB().scan(arrow(ROWS), SCHEMA).recode(LEVELS)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    assert table.rows() == len(ROWS)
    del table
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_early_leaves_a_working_table():
    table = DuckDB().scan(arrow(ROWS), SCHEMA)
    batches = table.batches()
    next(batches)
    batches.close()
    assert table.rows() == len(ROWS)


@pytest.mark.slow
def test_too_little_memory_is_said(tmp_path):
    parquet.write_table(pa.table({"x": np.arange(3_000_000) * 7919 % 3_000_017}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="more memory than the engine may use; got 1MB"):
        DuckDB(memory="1MB").scan(tmp_path / "t.parquet", Schema((Attribute("x", Role.OTHER, Type.INTEGER),))).count_by(
            ["x"]
        )


@pytest.mark.slow
def test_a_long_stream_needs_little_memory(tmp_path):
    rows = 600_000
    long = (
        arrow(ROWS)
        .take(np.arange(rows) % len(ROWS))
        .set_column(7, "Name, \"odd\" = 'ø'", pa.array(map(str, range(rows))))
    )
    table = DuckDB(memory="48MB", threads=2).scan(long, SCHEMA).keep(lambda start, count: np.ones(count, dtype=bool))
    coarse = table.recode({name: level for name, level in LEVELS.items() if name != SCHEMA.names[7]})
    coarse.suppress_below(coarse.columns, 2).write(tmp_path / "t.parquet")
    assert parquet.read_metadata(tmp_path / "t.parquet").num_rows == rows


def test_csv_cells_are_quoted_where_they_must_be(tmp_path):
    texts = ["plain", "a,b", 'a"b', "a\nb", "a\rb", "", None, " x "]
    shape = pa.schema([("x,y", pa.string()), ("n", pa.int64())])
    batch = pa.RecordBatch.from_arrays([pa.array(texts), pa.array(range(8))], schema=shape)
    write_file(tmp_path / "t.csv", shape, iter([batch]), lambda: None)
    expected = '"x,y",n\nplain,0\n"a,b",1\n"a""b",2\n"a\nb",3\n"a\rb",4\n"",5\n,6\n x ,7\n'
    assert (tmp_path / "t.csv").read_bytes() == expected.encode()
    write_file(tmp_path / "one.csv", shape.remove(1), iter([batch.select([0]).slice(6)]), lambda: None)
    assert (tmp_path / "one.csv").read_bytes() == b'"x,y"\n""\n x \n'


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    shape = pa.schema([("x", pa.int64())])
    path = tmp_path / "t.parquet"
    path.write_text("old")

    def broken():
        yield pa.RecordBatch.from_arrays([pa.array([1])], schema=shape)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, shape, broken(), lambda: None)
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]
    assert path.read_text() == "old"


def test_an_empty_table_is_written_with_its_columns(tmp_path):
    table = OracleEngine().scan(arrow(ROWS), SCHEMA).recode(LEVELS)
    for suffix in (".csv", ".parquet"):
        table.suppress_below(table.columns, 99).write(tmp_path / f"t{suffix}")
    assert (tmp_path / "t.csv").read_text("utf-8").count("\n") == 1
    assert parquet.read_table(tmp_path / "t.parquet").num_rows == 0


def test_labels_that_do_not_occur_are_not_written():
    column = Column("x", Type.TEXT, ("a", "b", "c"))
    shown = column.dictionary_array(np.array([2, 0, 2], dtype=np.uint8), np.array([False, False, True]))
    assert shown.dictionary.to_pylist() == ["a", "c"]
    assert shown.to_pylist() == ["c", "a", None]


@pytest.mark.slow
@given(counts=st.lists(st.integers(1, 9), max_size=12), size=st.integers(1, 7))
def test_expanded_and_evened_rows(counts, size):
    batch = pa.RecordBatch.from_arrays([pa.array(range(len(counts)), pa.int64())], names=["x"])
    pieces = list(expand(batch, np.array(counts, dtype=np.int64), size))
    assert all(piece.num_rows <= size for piece in pieces)
    even = list(rebatch(pieces, size))
    assert [piece.num_rows for piece in even[:-1]] == [size] * (len(even) - 1)
    flat = [value for piece in even for value in piece["x"].to_pylist()]
    assert flat == [place for place, count in enumerate(counts) for _ in range(count)]


def test_no_bar_is_drawn_on_standard_output():
    table = DuckDB().scan(pa.table({"x": pa.array([1, 2])}), Schema((Attribute("x", Role.QUASI, Type.INTEGER),)))
    assert table.connection.one("SELECT current_setting('enable_progress_bar')") is False
