"""How DuckDB is set up: it opens no file, nothing can be set, what spills is unreadable, and what fails says why."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.duckdb import engine
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DataError
from shoal.files.work_folder import is_abandoned

ONE = Schema((Attribute("x", Role.OTHER, Type.TEXT),))


@pytest.fixture
def connection():
    return DuckDB(threads=1).scan(pa.table({"x": ["a", "b"]}), ONE).connection


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_parquet('{}/t.parquet')",
        "SELECT * FROM glob('/*')",
        "COPY (SELECT 1) TO '{}/out.csv'",
        "ATTACH '{}/other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '99GB'",
        "SET temp_file_encryption = false",
    ],
)
def test_a_query_opens_no_file_and_sets_nothing(connection, tmp_path, query):
    parquet.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    with pytest.raises(duckdb.Error):
        connection._connection.execute(query.format(tmp_path)).fetchall()
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def long_texts():
    """Different texts of 50 MB together, in no order."""
    return pa.array([f"Sentinel{number * 7919 % 1_000_003:07d}" + str(number) * 15 for number in range(500_000)])


@pytest.mark.slow
def test_what_spills_is_not_written_as_plain_text(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table = DuckDB(memory="16MB", threads=1).scan(pa.table({"x": long_texts()}), ONE)
    table.connection.store(table.query)
    folder = Path(table.connection.folder)
    spilled = [path for path in folder.iterdir() if path.name.startswith("duckdb_temp") and path.stat().st_size]
    assert sum(path.stat().st_size for path in spilled) > 1 << 20
    assert not any(b"Sentinel" in path.read_bytes() for path in spilled)
    assert folder.stat().st_mode & 0o077 == 0
    assert not is_abandoned(folder)


def test_a_stream_that_fails_ends_and_says_why_afterwards(tmp_path):
    """Raised inside DuckDB, it would be raised in a thread that is being stopped."""
    broken = pa.array([b"x", b"Sentinel\xff"], pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"x": broken}), tmp_path / "t.parquet")
    for _ in range(20):
        with pytest.raises(DataError, match=r"the file cannot be read; got t\.parquet"):
            DuckDB(threads=1).scan(tmp_path / "t.parquet", ONE)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "Sentinel"), "needs more disk space for what does not fit in memory; got .*, which is full"),
        (OSError(errno.EDQUOT, "Sentinel"), "needs more disk space.*make room there, or set TMPDIR to a folder with more room$"),
        (duckdb.IOException("IO Error: Could not write Sentinel: No space left on device"), "needs more disk space"),
        (duckdb.OutOfMemoryException("failed to offload; max_temp_directory_size Sentinel"), "needs more disk space"),
        (duckdb.OutOfMemoryException("Sentinel"), "needs more memory than the engine may use; got 1GB; allow the engine more"),
        (MemoryError("Sentinel"), "needs more memory than the engine may use"),
        (RuntimeError("Sentinel"), "the table cannot be read; got the frame"),
    ],
)  # fmt: skip
def test_what_fails_says_why_and_quotes_nothing(connection, error, words):
    def failing():
        raise error

    with pytest.raises(DataError, match=words) as caught:
        connection._attempt(failing)
    assert "Sentinel" not in f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"


def test_a_connection_that_cannot_be_opened_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def failing(settings):
        raise duckdb.OutOfMemoryException("Sentinel")

    monkeypatch.setattr(engine, "_connect", failing)
    with pytest.raises(DataError, match="needs more memory"):
        DuckDB(threads=1).scan(pa.table({"x": ["a"]}), ONE)
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_folder_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(DataError, match=r"folder for temporary files cannot be written; got .*none; set TMPDIR"):
        DuckDB(threads=1).scan(pa.table({"x": ["a"]}), ONE)


@pytest.mark.slow
def test_a_disk_that_is_full_while_rows_spill():
    """The limit stands in for a full disk, of which DuckDB takes it: a lack of space is said, and not a bad file."""
    table = DuckDB(memory="16MB", threads=1).scan(pa.table({"x": long_texts()}), ONE)
    small = table.connection
    small._connection.close()
    small._connection = engine._connect(small._settings(1))
    small._connection.execute("SET max_temp_directory_size = '3MB'")
    small._set_up()
    with pytest.raises(
        DataError, match=r"needs more disk space for what does not fit in memory; got .*make room there"
    ):
        small.store(table.query)
