"""DATA may be the address of a database: drafted, released, asked and checked like a file, and no password is kept anywhere."""

from __future__ import annotations

from pathlib import Path

import click
import pyarrow as pa
import pytest
import sqlalchemy

from shoal.cli.terminal.table_source import TableSource
from shoal.engine.read.foreign.address import parse_address
from shoal.engine.write_foreign import write_database
from tests.cli.run import answer, refused, shoal

pytestmark = pytest.mark.slow

HIDDEN = "kb7-Zq"
POLICY = """\
version: 1
dataset: clinic
unit: row
neighbours: add_remove
file: {table: clinic visits}
attributes:
  age: {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [25]}}
  ill: {role: confidential, type: boolean}
release: {method: safe-k, epsilon: 1, delta: 1e-3, sampling: {beta: 0.5}, recoding: {levels: {age: 1}}}
budget: {epsilon: 5, delta: 0.1}
"""
VISITS = pa.table({"age": [20, 60, 90] * 200, "ill": [True, False, False] * 200})


def test_an_address_stays_as_it_was_typed_and_a_path_becomes_one():
    source = TableSource()
    context = click.Context(click.Command("x"))
    assert source.convert("postgresql://host//db", None, context) == "postgresql://host//db"
    assert source.convert("a//b.csv", None, context) == Path("a/b.csv")


@pytest.fixture
def server(postgresql):
    write_database(postgresql, "clinic visits", VISITS)
    yield postgresql
    engine = sqlalchemy.create_engine(parse_address(postgresql), poolclass=sqlalchemy.pool.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("SET lock_timeout = '10s'")
        connection.exec_driver_sql('DROP TABLE "clinic visits"')


@pytest.fixture
def place(tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def kept(folder):
    """All bytes that lie in a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def done(*arguments):
    found = shoal(*arguments)
    assert found.exit_code == 0, found.output
    return found


def test_a_table_of_a_server_from_check_to_an_answer(server, place):
    secret = server.replace("@", f":{HIDDEN}@", 1)
    policy, out, ledger = place / "policy.yaml", place / "out", ("--ledger", place / "ledger.sqlite")
    done("release", policy, secret, "--out", out, *ledger, "--new-ledger")
    assert "all agree" in done("verify", out).stdout
    assert answer("check", secret, "--policy", policy, "--published")["rows"] == 600
    told = refused("dataset", "register", policy, secret, *ledger, code=2)
    assert told["wrong"] == "an address that holds a password is not stored"
    assert HIDDEN not in str(told)
    done("dataset", "register", policy, server, *ledger)
    done("ask", "clinic", "count", "age >= 50", "--epsilon", "2", *ledger)
    assert HIDDEN.encode() not in kept(place)
    assert server.encode() in kept(place)  # the address without the password is in the ledger
    assert b"postgresql" not in kept(out)


def test_a_database_file_is_registered_by_its_path(place):
    write_database(f"sqlite:///{place / 'clinic.sqlite'}", "clinic visits", VISITS)
    ledger = ("--ledger", place / "ledger.sqlite")
    address = f"sqlite:///{place / 'clinic.sqlite'}"
    done("dataset", "register", place / "policy.yaml", address, *ledger, "--new-ledger")
    noted = (place / "ledger.sqlite").read_bytes()
    assert str(place / "clinic.sqlite").encode() in noted
    assert b"sqlite:///" not in noted
    done("ask", "clinic", "count", "age >= 50", "--epsilon", "1", *ledger)


def test_values_that_do_not_fit_are_shown_from_a_database_too(server, place):
    (place / "policy.yaml").write_text(POLICY.replace("[0, 99]", "[0, 80]"))
    ledger = ("--ledger", place / "ledger.sqlite", "--new-ledger")
    told = shoal("release", place / "policy.yaml", server, "--out", place / "out", "--show-values", *ledger)
    assert told.exit_code == 5
    assert "'age', row 3: 90" in told.stderr
    assert "host=" not in told.output
