"""SQLite files: each value by its own kind, nothing written and nothing left beside the file."""

from __future__ import annotations

import sqlite3

import pytest

from shoal.data.schema import Attribute, FileFormat, Role, Schema, Type
from shoal.engine.read.foreign.database import open_database
from shoal.engine.read.foreign.sqlite_file import open_sqlite
from shoal.engine.read.input import open_input
from shoal.errors import DataError, PolicyError


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "clinic?%#.sqlite"
    connection = sqlite3.connect(made)
    connection.execute("CREATE TABLE visits (id INTEGER, value)")
    cells = (7, 7.0, 0.1, -0.0, 1e300, 2**60, "7", "", "Zoë", None)
    connection.executemany("INSERT INTO visits VALUES (?, ?)", enumerate(cells))
    connection.execute('CREATE VIEW "odd ""view""" AS SELECT id FROM visits WHERE id < 3')
    connection.commit()
    connection.close()
    return made


def read(path, **form):
    found = open_sqlite(path, FileFormat(**form))
    parts = [[column.to_pylist() for column in batch.columns] for batch in found.opener(range(len(found.names)))]
    return found, dict(zip(found.names, parts[0], strict=True)) if parts else {}


def test_each_value_is_spelled_by_its_own_kind(path):
    found, rows = read(path, table="visits")
    assert {str(kind) for kind in found.kinds} == {"string"}
    assert rows["value"] == ["7", "7", "0.1", "0", "1e+300", "1152921504606846976", "7", None, "Zoë", None]


def test_a_file_is_found_by_path_and_by_address(path):
    assert open_database(path, FileFormat(table="visits")).rows == 10
    other = path.with_name("plain.db")
    path.rename(other)
    assert open_database(f"sqlite:///{other}", FileFormat(table='odd "view"')).rows == 3
    assert [each.name for each in other.parent.iterdir()] == ["plain.db"]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM visits RETURNING *",
        "INSERT INTO visits VALUES (1, 1)",
        "PRAGMA user_version = 3",
        "SELECT 1) AS x; DROP TABLE visits; SELECT * FROM (SELECT 1",
        "SELECT * FROM pragma_table_info('visits')",
        "SELECT load_extension('x')",
        "ATTACH '/etc/passwd' AS x",
        "SELECT nope FROM visits",
    ],
)
def test_a_query_that_does_more_than_read_is_refused(path, query):
    before = path.read_bytes()
    with pytest.raises((DataError, PolicyError)):
        read(path, query=query)
    assert path.read_bytes() == before


def test_a_database_with_an_unfinished_log_is_read_whole(path):
    """What lies in the write-ahead log was committed, and is read."""
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO visits VALUES (10, 'late')")
    writer.commit()
    found, rows = read(path, table="visits")
    assert (found.rows, rows["value"][-1]) == (11, "late")
    writer.close()


def test_a_file_that_changes_meanwhile_is_noticed(path):
    found = open_sqlite(path, FileFormat(table="visits"))
    writer = sqlite3.connect(path)
    writer.execute("DELETE FROM visits")
    writer.commit()
    writer.close()
    with pytest.raises(DataError, match="changed while it was read"):
        found.stamp.verify()


def test_a_query_comes_with_a_note_on_what_the_promise_reaches(path):
    attributes = (Attribute("id", Role.QUASI, Type.INTEGER),)
    of_query = open_input(path, Schema(attributes, FileFormat(query="SELECT id FROM visits")))
    assert "the promise is about the rows that the query gives" in of_query.notes[-1]
    of_table = open_input(path, Schema(attributes, FileFormat(table="visits")))
    assert not any("the promise" in note for note in of_table.notes)


def test_bytes_have_no_spelling(path):
    with pytest.raises(DataError, match="bytes that are no text"):
        read(path, query="SELECT x'00ff' AS picture")


def test_letters_that_are_no_text_are_not_quoted(path):
    with pytest.raises(DataError) as caught:
        read(path, query="SELECT CAST(x'53656e74696e656cff' AS TEXT) AS name")
    assert "Sentinel" not in str(caught.value)


@pytest.mark.parametrize("place", [16, 28, 100, 4096, 5000, 8000])
def test_a_broken_file_is_refused_or_read(path, place):
    content = bytearray(path.read_bytes())
    content[place : place + 8] = b"\xff" * 8
    path.write_bytes(content)
    told = ""
    try:
        read(path, table="visits")
    except DataError as error:
        told = str(error)
    assert "Zoë" not in told


def test_a_file_of_something_else_is_refused(tmp_path):
    other = tmp_path / "visits.db"
    other.write_bytes(b"id,age\n1,2\n")
    with pytest.raises(DataError, match="no database of SQLite or DuckDB"):
        open_database(other)
