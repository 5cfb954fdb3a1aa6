"""Tables of a real PostgreSQL server: types by what it declares, one state, nothing written, no secret told."""

from __future__ import annotations

import datetime as dt
import gc

import pytest
import sqlalchemy as sa

from shoal.data.schema import FileFormat
from shoal.engine.read.foreign.address import parse_address
from shoal.engine.read.foreign.database import open_database
from shoal.engine.read.storage import plain, plain_type
from shoal.errors import DataError, PolicyError, ShoalError, UsageError

pytestmark = pytest.mark.slow

HIDDEN = "kb7-Zq"
KINDS = """
    id bigint, sex smallint, weight double precision, cost numeric(10, 2), exactly numeric, name text, code character(5),
    born date, seen timestamp, noted timestamptz, smoker boolean, mood mood, token uuid, "odd ""name"" %" text, span interval
"""
FIRST = """
    1, 2, 1.5, 12.50, 12345678901234567890.123400, 'Zoë', 'ab', '2020-01-02', '2020-01-02 03:04:05.678',
    '2020-01-02 03:04:05+02', true, 'ok', '6ecd8c99-4036-403d-bf84-cf8400f67836', '5 % of ''x''', '1 day 2 hours'
"""


@pytest.fixture(scope="module")
def engine(postgresql):
    made = sa.create_engine(parse_address(postgresql), poolclass=sa.pool.NullPool)
    with made.begin() as connection:
        run = connection.exec_driver_sql
        run("CREATE SCHEMA clinic")
        run("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        run(f"CREATE TABLE clinic.visits ({KINDS.replace('%', '%%')})")
        run(f"INSERT INTO clinic.visits VALUES ({FIRST})".replace("%", "%%"))  # noqa: S608
        run("INSERT INTO clinic.visits (id, exactly) VALUES (2, 'NaN')")
        run(
            "CREATE TABLE people AS SELECT n AS id, n % 7 AS town FROM generate_series(1, 70000) AS n".replace(
                "%", "%%"
            )
        )
        run("CREATE VIEW few AS SELECT * FROM people WHERE id <= 10")
    return made


def read(address, places=None, **form):
    found = open_database(address, FileFormat(**form))
    every = range(len(found.names)) if places is None else places
    rows = [[plain(column).to_pylist() for column in batch.columns] for batch in found.opener(every)]
    return found, [[cell for part in rows for cell in part[place]] for place in range(len(every))]


def test_columns_have_the_types_that_the_server_declares(engine, postgresql):
    found, columns = read(postgresql, table="clinic.visits")
    assert found.rows == 2
    assert dict(zip(found.names, columns, strict=True)) == {
        "id": [1, 2],
        "sex": [2, None],
        "weight": [1.5, None],
        "cost": ["12.5", None],
        "exactly": ["12345678901234567890.1234", None],
        "name": ["Zoë", None],
        "code": ["ab", None],
        "born": [dt.date(2020, 1, 2), None],
        "seen": [dt.datetime(2020, 1, 2, 3, 4, 5, 678000), None],
        "noted": [dt.datetime(2020, 1, 2, 1, 4, 5), None],
        "smoker": [True, None],
        "mood": ["ok", None],
        "token": ["6ecd8c99-4036-403d-bf84-cf8400f67836", None],
        'odd "name" %': ["5 % of 'x'", None],
        "span": ["P1DT2H", None],
    }
    assert [str(plain_type(kind)) for kind in found.kinds[:6]] == [
        "int64", "int64", "double", "large_string", "large_string", "string",
    ]  # fmt: skip


def test_a_table_without_rows_has_the_same_types(engine, postgresql):
    whole, _ = read(postgresql, table="clinic.visits")
    empty, _ = read(postgresql, query="SELECT * FROM clinic.visits WHERE false")
    assert (empty.names, empty.kinds, empty.rows) == (whole.names, whole.kinds, 0)


def test_a_query_and_a_view_are_tables(engine, postgresql):
    found, columns = read(postgresql, query="SELECT id, 'a%b' AS sign FROM people WHERE id < 3 ORDER BY id DESC -- two")
    assert (found.names, columns) == (("id", "sign"), [[2, 1], ["a%b", "a%b"]])
    assert read(postgresql, table="few")[0].rows == 10


def test_columns_are_read_in_the_order_of_their_places(engine, postgresql):
    _, columns = read(postgresql, places=[1, 0], query="SELECT 1 AS a, 2 AS b")
    assert columns == [[2], [1]]


def test_the_state_at_the_opening_is_what_is_read(engine, postgresql):
    found = open_database(postgresql, FileFormat(table="people"))
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO people VALUES (0, 0)")
    try:
        batches = list(found.opener([0]))
        assert len(batches) > 1
        assert sum(batch.num_rows for batch in batches) == found.rows == 70_000
        with pytest.raises(DataError, match="changed between two readings"):
            next(found.opener([0]))
    finally:
        with engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM people WHERE id = 0")
    assert next(found.opener([0])).equals(batches[0])


def test_a_transaction_ends_with_the_reading_or_with_the_table(engine, postgresql):
    def sessions():
        with engine.connect() as connection:
            query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
            return connection.exec_driver_sql(query).scalar()

    found = open_database(postgresql, FileFormat(table="people"))
    assert sessions() == 1
    reader = found.opener([0])
    next(reader)
    assert sessions() == 1
    reader.close()
    assert sessions() == 0
    found = open_database(postgresql, FileFormat(table="few"))
    assert sessions() == 1
    del found
    gc.collect()
    assert sessions() == 0


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM people RETURNING *",
        "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
        "SELECT 1) AS x; COMMIT; DROP TABLE people; SELECT * FROM (SELECT 1",
        "SELECT nextval('counter')",
        "INSERT INTO people VALUES (1, 1) RETURNING *",
        "VACUUM",
    ],
)
def test_a_query_that_writes_is_refused(engine, postgresql, query):
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SEQUENCE IF NOT EXISTS counter")
    with pytest.raises((DataError, PolicyError)):
        read(postgresql, query=query)
    assert open_database(postgresql, FileFormat(table="people")).rows == 70_000


def test_several_statements_are_refused_by_the_server_too(engine, postgresql, monkeypatch):
    """The query is looked at for semicolons; where that failed, the server would refuse."""
    monkeypatch.setattr(
        "shoal.engine.read.foreign.database.choose_relation",
        lambda form, *_: f"({form.query}\n) AS given",
    )
    with pytest.raises(DataError, match="multiple commands"):
        read(postgresql, query="SELECT 1) AS x; COMMIT; DROP TABLE people; SELECT * FROM (SELECT 1")
    monkeypatch.undo()
    assert open_database(postgresql, FileFormat(table="people")).rows == 70_000


@pytest.mark.parametrize(
    "table", ['people"; DROP TABLE people; --', "clinic.nobody", "nobody", "clinic", "people.id", "%s"]
)
def test_a_table_that_is_not_there_is_named_and_others_are_listed(engine, postgresql, table):
    with pytest.raises(DataError, match="has no such table") as caught:
        read(postgresql, table=table)
    assert "'people'" in str(caught.value)


def test_the_policy_says_which_of_several_tables(engine, postgresql):
    with pytest.raises(DataError, match=r"does not say which table.*'few', 'people'"):
        read(postgresql)


def test_what_is_wrong_with_a_query_is_said(engine, postgresql):
    with pytest.raises(DataError, match='column "nope" does not exist'):
        read(postgresql, query="SELECT nope FROM people")


@pytest.mark.parametrize("value", ["'infinity'", "'0044-03-15 BC'", "'99999-01-01'"])
def test_a_value_that_no_date_is_refuses_the_table_and_is_not_quoted(engine, postgresql, value):
    with pytest.raises(DataError) as caught:
        read(postgresql, query=f"SELECT date {value} AS day")
    assert value.strip("'") not in str(caught.value)


def test_a_value_in_a_message_of_the_server_is_not_repeated(engine, postgresql):
    with pytest.raises(DataError) as caught:
        read(postgresql, query="SELECT name::integer AS number FROM clinic.visits")
    assert "Zoë" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_error_tells_no_secret(engine, postgresql):
    for address in (
        postgresql.replace("custodian@/postgres", f"custodian:{HIDDEN}@/nowhere"),
        postgresql.replace("custodian@", f"nobody:{HIDDEN}@"),
        f"postgresql://ann:{HIDDEN}@localhost:1/clinic",
        f"oracle://ann:{HIDDEN}@localhost/clinic",
    ):
        with pytest.raises(ShoalError) as caught:
            read(address)
        assert HIDDEN not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_driver_that_is_not_there_is_named():
    with pytest.raises(UsageError, match=r"driver of this database is not installed.*nosuch"):
        read("nosuch://localhost/clinic")


def test_a_database_in_memory_has_no_table():
    with pytest.raises(UsageError, match="in memory"):
        read("sqlite://")
