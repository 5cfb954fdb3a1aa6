"""DuckDB files: declared types, opened to read alone, nothing else in reach."""

from __future__ import annotations

import datetime as dt

import duckdb
import pytest

from shoal.data.schema import FileFormat
from shoal.engine.read.foreign.database import open_database
from shoal.engine.read.storage import plain
from shoal.errors import DataError, PolicyError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("duckdb") / "clinic.duckdb"
    connection = duckdb.connect(str(made))
    connection.execute(
        "CREATE TABLE visits AS SELECT n::INTEGER AS id, 1.50::DECIMAL(5, 2) AS cost, 'Zoë' AS name, "
        "DATE '2020-01-02' + n::INTEGER AS day, TIME '09:30:00' AS begun, "
        "('x')::ENUM('x', 'y') AS kind, n % 2 = 0 AS even FROM range(100000) AS r(n)"
    )
    connection.execute("CREATE SCHEMA other")
    connection.execute('CREATE VIEW other."a ""view""" AS SELECT 1 AS one')
    connection.close()
    return made


def read(path, **form):
    found = open_database(path, FileFormat(**form))
    parts = [[plain(each).to_pylist() for each in batch.columns] for batch in found.opener(range(len(found.names)))]
    return found, {name: [cell for part in parts for cell in part[place]] for place, name in enumerate(found.names)}


def test_columns_have_their_declared_types(path):
    found, rows = read(path, table="visits")
    assert found.rows == len(rows["id"]) == 100_000
    first = {name: column[0] for name, column in rows.items()}
    assert first == {
        "id": 0, "cost": "1.5", "name": "Zoë", "day": dt.date(2020, 1, 2), "begun": "09:30:00", "kind": "x", "even": True,
    }  # fmt: skip
    assert rows["id"] == list(range(100_000))


def test_a_view_of_another_schema_is_named_with_it(path):
    assert read(path, table='other.a "view"')[1] == {"one": [1]}


def test_the_address_of_a_file_is_its_path(path):
    assert open_database(f"duckdb:///{path}", FileFormat(query="SELECT count(*) AS n FROM visits")).rows == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "COPY visits TO '/tmp/stolen.csv'",
        "DELETE FROM visits RETURNING *",
        "SELECT 1) AS x; DROP TABLE visits; SELECT * FROM (SELECT 1",
        "ATTACH 'other.duckdb'",
        "SELECT nope FROM visits",
    ],
)
def test_a_query_that_does_more_than_read_this_file_is_refused(path, query):
    before = path.read_bytes()
    with pytest.raises((DataError, PolicyError)):
        read(path, query=query)
    assert path.read_bytes() == before


def test_a_broken_file_is_refused(path, tmp_path):
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError):
        read(broken, table="visits")
