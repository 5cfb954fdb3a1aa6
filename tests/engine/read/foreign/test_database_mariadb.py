"""Tables of a real MariaDB server, where one is installed: types by what it declares, one state, nothing written."""

from __future__ import annotations

import datetime as dt

import pytest
import sqlalchemy as sa

from shoal.data.schema import FileFormat
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read.foreign.address import parse_address
from shoal.engine.read.foreign.database import open_database
from shoal.engine.read.storage import plain
from shoal.engine.write_foreign import write_database
from shoal.errors import DataError
from shoal.policy.policy import Policy
from tests.contract.reader_cases import POLICY, arrow_table
from tests.engine.oracle import OracleEngine

pytestmark = pytest.mark.slow

KINDS = """
    id bigint, sex tinyint, weight double, cost decimal(20, 4), name varchar(20), code char(5), born date, seen datetime(3),
    begun time, year year, mood enum('sad', 'ok'), note text
"""
FIRST = """
    1, 2, 1.5, 12.5000, 'Zoë', 'ab', '2020-01-02', '2020-01-02 03:04:05.678', '09:30:00', 2020, 'ok', '5 %'
"""


@pytest.fixture(scope="module")
def address(mariadb):
    with connect(mariadb) as connection:
        connection.exec_driver_sql(f"CREATE TABLE visits ({KINDS}) ENGINE = InnoDB")
        connection.exec_driver_sql(f"INSERT INTO visits VALUES ({FIRST})".replace("%", "%%"))  # noqa: S608
        connection.exec_driver_sql("INSERT INTO visits (id) VALUES (2)")
    return mariadb


def connect(address):
    return sa.create_engine(parse_address(address), poolclass=sa.pool.NullPool).begin()


def read(address, **form):
    found = open_database(address, FileFormat(**form))
    parts = [[plain(each).to_pylist() for each in batch.columns] for batch in found.opener(range(len(found.names)))]
    return found, {name: [cell for part in parts for cell in part[place]] for place, name in enumerate(found.names)}


def test_columns_have_the_types_that_the_server_declares(address):
    found, columns = read(address, table="visits")
    assert {name: column[0] for name, column in columns.items()} == {
        "id": 1,
        "sex": 2,
        "weight": 1.5,
        "cost": "12.5",
        "name": "Zoë",
        "code": "ab",
        "born": dt.date(2020, 1, 2),
        "seen": dt.datetime(2020, 1, 2, 3, 4, 5, 678000),
        "begun": "09:30:00",
        "year": 2020,
        "mood": "ok",
        "note": "5 %",
    }
    assert {column[1] for column in list(columns.values())[1:]} == {None}
    assert found.rows == 2


def test_one_state_is_read(address):
    found = open_database(address, FileFormat(query="SELECT id FROM visits WHERE note LIKE '%' OR note IS NULL"))
    with connect(address) as connection:
        connection.exec_driver_sql("INSERT INTO visits (id) VALUES (3)")
    assert sum(batch.num_rows for batch in found.opener([0])) == 2
    with connect(address) as connection:
        connection.exec_driver_sql("DELETE FROM visits WHERE id = 3")


@pytest.mark.parametrize(
    "query", ["DELETE FROM visits RETURNING *", "SELECT 1 INTO OUTFILE 'x'", "SELECT nope FROM visits"]
)
def test_a_query_that_does_more_than_read_is_refused(address, query):
    with pytest.raises(DataError):
        read(address, query=query)


def test_the_server_is_one_more_reader_of_the_contract(address):
    write_database(address, "readers", arrow_table())
    policy = Policy.parse(POLICY)
    there = DuckDB(threads=1).scan(address, policy.with_changes({"file.table": "readers"}).schema)
    assert there.digest() == OracleEngine().scan(arrow_table(), policy.schema).digest()
