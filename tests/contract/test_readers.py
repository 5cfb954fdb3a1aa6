"""Every reader gives the same table: the same columns, the same rows, the same digest and the same bytes of a release."""

from __future__ import annotations

import pytest
import sqlalchemy

from shoal.chance.source import Source
from shoal.data.schema import FileFormat
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read.foreign.address import parse_address
from shoal.engine.read.input import recognize
from shoal.engine.write_foreign import write_database
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from tests.contract.reader_cases import CASES, NAMES, POLICY, PUBLISHED, ROWS, ReaderCase, arrow_table
from tests.engine.oracle import OracleEngine


def policy_of(case: ReaderCase) -> Policy:
    """The policy of the table, with what it says of this form."""
    changes = dict(case.told)
    usual = FileFormat()
    for key in ("encoding", "delimiter", "sheet", "table", "query"):
        if getattr(case.form, key) != getattr(usual, key):
            changes[f"file.{key}"] = getattr(case.form, key)
    return Policy.parse(POLICY).with_changes(changes)


@pytest.fixture(scope="module")
def expected():
    """The rows as the oracle engine reads them from a table with declared types, and their digest."""
    table = OracleEngine().scan(arrow_table(), Policy.parse(POLICY).schema)
    return {name: values.tolist() for name, values in table.collect(NAMES).items()}, table.digest()


def test_the_table_has_every_type_and_gaps_in_all_columns(expected):
    found, _ = expected
    assert all(None in found[name] for name in NAMES[1:])
    ages = [None if row[1] in (None, -9) else row[1] for row in ROWS]
    assert found["age"] == ages
    assert -9 in {row[1] for row in ROWS}


@pytest.mark.parametrize("name", CASES)
def test_every_reader_gives_the_same_rows_in_the_same_order(tmp_path, name, expected):
    case = CASES[name]
    schema = policy_of(case).schema
    table = DuckDB(threads=1).scan(case.write(tmp_path), schema)
    rows, digest = expected
    assert {column: values.tolist() for column, values in table.collect(NAMES).items()} == rows
    assert table.digest() == digest


@pytest.mark.parametrize("name", CASES)
def test_every_reader_tells_columns_and_rows_without_a_schema(tmp_path, name):
    case = CASES[name]
    found = recognize(case.write(tmp_path), case.form)
    assert found.names == NAMES
    assert found.rows == len(ROWS)
    batches = list(found.opener([3, 0]))
    for place, column in enumerate((3, 0)):
        assert [value for batch in batches for value in batch.column(place).to_pylist()] == [
            row[column] for row in ROWS
        ]


@pytest.fixture
def server(postgresql):
    """The address of a real server that has the table, and nothing of it afterwards."""
    write_database(postgresql, "visits", arrow_table())
    yield postgresql
    engine = sqlalchemy.create_engine(parse_address(postgresql), poolclass=sqlalchemy.pool.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("SET lock_timeout = '10s'")
        connection.exec_driver_sql("DROP TABLE visits")


@pytest.mark.slow
def test_a_server_gives_the_same_rows_in_the_same_order(server, expected):
    schema = policy_of(ReaderCase(lambda _: server, FileFormat(table="visits"))).schema
    table = DuckDB(threads=1).scan(server, schema)
    rows, digest = expected
    assert {column: values.tolist() for column, values in table.collect(NAMES).items()} == rows
    assert table.digest() == digest
    assert recognize(server, FileFormat(query="SELECT * FROM visits")).names == NAMES


@pytest.mark.slow
def test_releases_of_every_family_of_readers_have_the_same_bytes(tmp_path, monkeypatch, server):
    """The lock says how a table is written, so folders differ in that; the published rows do not."""
    monkeypatch.setattr("shoal.chance.source.Source.carries_guarantee", True)
    made = set()
    on_server = ReaderCase(lambda _: server, FileFormat(table="visits"))
    for name, case in {"server": on_server, **{name: CASES[name] for name in PUBLISHED}}.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        with Ledger(str(folder / "ledger.sqlite")) as ledger:
            out = release(
                plan(policy_of(case)),
                case.write(folder),
                folder / "out",
                ledger=ledger,
                engine=DuckDB(threads=1),
                source=Source.seeded(7),
                report=False,
            )
        made.add((out.folder / "table.parquet").read_bytes())
    assert len(made) == 1
