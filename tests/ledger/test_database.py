"""A ledger on a real PostgreSQL server: charged, refused, locked and checked as one in a file is."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from shoal.errors import BudgetError, LedgerError, VerificationError
from shoal.guarantee.differential import PureDP
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger, open_ledger
from shoal.ledger.store import Store

WRITERS = 6


@pytest.fixture(scope="module")
def server(postgresql):
    engine = sa.create_engine(postgresql, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE ledgers"))
        yield postgresql.replace("/postgres?", "/ledgers?")
        connection.execute(sa.text("DROP DATABASE ledgers"))


@pytest.fixture
def address(server):
    """The address of a database without tables."""
    yield server
    run(server, "DROP TABLE IF EXISTS meta, events, answers, runs")


def run(address, *statements):
    engine = sa.create_engine(address, poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def price(epsilon):
    return Cost.of(epsilon, 0, [(PureDP(epsilon), 1)])


def charge(ledger, epsilon="1", plan="p"):
    return ledger.charge(
        "visits", price(epsilon), budget=Budget.of(3, 0), neighbours="add_remove", plan=plan, table=b"t"
    )


def test_charges_are_kept_and_an_overrun_is_refused(address):
    with Ledger(address, new=True) as ledger:
        assert ledger.is_new
        receipt = charge(ledger, "2")
        ledger.record_answers("visits", receipt, [("how many", price("2"), b"\x00 12")], table="t")
    with Ledger(address) as ledger:
        assert not ledger.is_new
        with pytest.raises(BudgetError, match="overrun"):
            charge(ledger, "2")
        (recorded,) = ledger.recorded_answers("visits", "how many", "t")
        assert (ledger.content(recorded), ledger.account("visits").left.epsilon) == (b"\x00 12", 1)
        assert ledger.verify() == 3


def test_writers_at_the_same_moment_do_not_overspend(address):
    """Each has a ledger of its own, as processes have; whoever comes too late is refused by the budget, and not by chance."""
    together = threading.Barrier(WRITERS)

    def spend(number):
        with Ledger(address, new=True) as ledger:  # they begin it at the same moment, too
            together.wait()
            try:
                charge(ledger, plan=str(number))
            except BudgetError:
                return "refused"
        return "charged"

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sorted(pool.map(spend, range(WRITERS))) == ["charged"] * 3 + ["refused"] * (WRITERS - 3)
    with Ledger(address) as ledger:
        assert ledger.account("visits").left.epsilon == 0
        assert ledger.verify() == 1 + 3


def test_a_writer_that_waits_too_long_is_told_so_and_a_reader_does_not_wait(address, monkeypatch):
    monkeypatch.setattr("shoal.ledger.database.PATIENCE", 0.05)
    with Ledger(address, new=True) as ledger:
        charge(ledger)
        with Store(address).exclusive():
            with pytest.raises(LedgerError, match=r"locked by another process.*nothing was charged"):
                charge(ledger, plan="q")
            assert ledger.account("visits").left.epsilon == 2
        charge(ledger, plan="q")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            "UPDATE events SET payload = replace(payload, 'add_remove', 'replace_one')",
            "event 2 of the ledger does not fit the chain",
        ),
        (
            "DELETE FROM events WHERE number = (SELECT max(number) FROM events)",
            "it ends with event 2 and should end with event 3",
        ),
    ],
    ids=["altered", "cut off"],
)
def test_what_was_altered_on_the_server_is_found(address, statement, words):
    with Ledger(address, new=True) as ledger:
        charge(ledger)
        charge(ledger, plan="q")
    run(address, statement)
    with Ledger(address) as ledger, pytest.raises((LedgerError, VerificationError), match=words):
        ledger.verify()


def test_a_database_without_a_ledger_is_refused_unless_a_new_one_was_asked_for(address):
    """Else a ledger whose tables were dropped would begin anew, with nothing spent."""
    for look in (lambda: open_ledger(address), lambda: Ledger(address)):
        with pytest.raises(LedgerError, match=r"the database holds no ledger.*--new-ledger"):
            look()
    with open_ledger(address, new=True) as ledger:
        charge(ledger, "3")
    with pytest.raises(LedgerError, match="the ledger is not new"):
        open_ledger(address, new=True)
    run(address, "DROP TABLE meta, events, answers, runs")
    with pytest.raises(LedgerError, match="the database holds no ledger"):
        open_ledger(address)


@pytest.mark.parametrize("table", ["events", "answers", "runs", "meta"])
def test_a_dropped_table_is_missed(address, table):
    with Ledger(address, new=True) as ledger:
        charge(ledger)
    run(address, f"DROP TABLE {table}")
    with pytest.raises(LedgerError, match=r"a part of the ledger is missing|is not one of ours|other tables"):
        open_ledger(address)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mysql+pymysql://localhost/x", "no ledger is kept in a database of this kind; got mysql"),
        ("postgresql://ann:geheim@localhost/x", "holds a password"),
        ("postgresql://localhost/x?password=geheim", "holds a password"),
    ],
)
def test_other_databases_and_passwords_are_refused(address, words):
    with pytest.raises(LedgerError, match=words) as caught:
        Ledger(address)
    assert "geheim" not in str(caught.value)
