"""The database under faults: what was not entered is said not to be, what was is said to be, what is not known is said."""

import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoal.errors import LedgerError
from shoal.guarantee.differential import PureDP
from shoal.ledger.database import SqliteTransaction
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger, open_ledger
from shoal.ledger.store import ENVIRONMENT, Store


def charge(ledger, plan="p"):
    price = Cost.of("0.1", 0, [(PureDP("0.1"), 1)])
    return ledger.charge("visits", price, budget=Budget.of(9, 0), neighbours="add_remove", plan=plan, table=b"t")


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "ledger.sqlite"
    with Ledger(str(made)) as ledger:
        charge(ledger)
    return made


@contextmanager
def a_full_disk(path):
    """No file may grow beyond the size that the ledger has."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_on_a_full_disk_nothing_is_charged_and_nothing_is_damaged(path):
    with Ledger(str(path)) as ledger:
        with a_full_disk(path), pytest.raises(LedgerError, match=r"cannot be read or written.*; nothing was charged$"):
            charge(ledger, plan="p" * 20_000)
        held = len(ledger.account("visits").costs)
        assert ledger.verify() == held + 1
        charge(ledger)
        assert len(ledger.account("visits").costs) == held + 1


def failing_commit(monkeypatch, *, after):
    plain = SqliteTransaction.commit

    def commit(self):
        if after:
            plain(self)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(SqliteTransaction, "commit", commit)


def test_a_commit_that_failed_is_looked_up(path, monkeypatch):
    with Ledger(str(path)) as ledger:
        with monkeypatch.context() as broken:
            failing_commit(broken, after=False)
            with pytest.raises(LedgerError, match=r"disk I/O error.*; nothing was charged$"):
                charge(ledger)
        assert len(ledger.account("visits").costs) == 1
        with monkeypatch.context() as broken:
            failing_commit(broken, after=True)
            with pytest.raises(
                LedgerError, match=r"holds the entry all the same.*event 3 \(charge of dataset 'visits'\) stands"
            ) as told:
                charge(ledger)
        assert "nothing was" not in str(told.value)
        assert len(ledger.account("visits").costs) == 2
        assert ledger.verify() == 3


def test_a_commit_that_failed_and_cannot_be_looked_up_is_not_known(path, monkeypatch):
    with Ledger(str(path)) as ledger:
        failing_commit(monkeypatch, after=False)
        monkeypatch.setattr(Store, "_holds", lambda *_: None)
        with pytest.raises(
            LedgerError, match=r"event 3 \(charge of dataset 'visits'\) was entered is not known"
        ) as told:
            charge(ledger)
        assert "nothing was" not in str(told.value)


def test_what_is_no_charge_does_not_speak_of_charges(path, monkeypatch):
    """The note of a release came after its charge: that nothing was charged would be false."""
    with Ledger(str(path)) as ledger:
        receipt = charge(ledger)
        failing_commit(monkeypatch, after=False)
        with pytest.raises(LedgerError, match=r"disk I/O error.*; nothing was entered$"):
            ledger.record_release("visits", receipt, "c" * 64)


def test_what_is_not_known_of_the_end_of_a_run_is_no_matter(path, monkeypatch):
    with Ledger(str(path)) as ledger:
        failing_commit(monkeypatch, after=False)
        with pytest.raises(LedgerError, match="nothing was entered"):
            ledger.end_run("/data/.out.shoal-work")


@pytest.mark.parametrize("statement", ["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"])
def test_a_ledger_that_stays_locked_is_told_and_not_charged(path, monkeypatch, statement):
    monkeypatch.setattr("shoal.ledger.database.PATIENCE", 0.05)
    with Ledger(str(path)) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute(statement)
        with pytest.raises(LedgerError, match=r"locked by another process.*; nothing was charged$"):
            charge(ledger)
        other.execute("ROLLBACK")
        other.close()
        charge(ledger)


def test_a_reader_at_the_wrong_moment_undoes_the_charge_and_that_is_said(path, monkeypatch):
    """A reader lets the writer write, and not commit."""
    monkeypatch.setattr("shoal.ledger.database.PATIENCE", 0.05)
    with Ledger(str(path)) as ledger:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchall()
        with pytest.raises(LedgerError, match=r"locked by another process.*; nothing was charged$"):
            charge(ledger)
        reader.execute("ROLLBACK")
        reader.close()
        assert len(ledger.account("visits").costs) == 1
        charge(ledger)
        assert ledger.verify() == 3


TRY = """
import os, sys
from tests.ledger.test_store import charge
from shoal.errors import LedgerError
from shoal.ledger.ledger import Ledger, open_ledger
with Ledger("sqlite://") as ledger:
    charge(ledger)  # so that everything is imported
if os.geteuid() == 0:  # whom no permission stops
    os.setgid(65534)
    os.setuid(65534)
with Ledger(sys.argv[1]) as ledger:
    print(ledger.account("visits").spent.words(), ledger.verify(), ledger.runs())
    try:
        charge(ledger)
    except LedgerError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_ledger_that_may_only_be_read_is_shown_and_not_charged():
    """A backup on a read-only disk could not even be looked at before."""
    with tempfile.TemporaryDirectory() as name:  # not below a folder of pytest's, which is for its owner alone
        folder = Path(name)
        path = folder / "ledger.sqlite"
        with Ledger(str(path)) as ledger:
            charge(ledger)
        path.chmod(0o444)
        folder.chmod(0o555)
        try:
            done = subprocess.run([sys.executable, "-c", TRY, str(path)], capture_output=True, text=True, check=False)
        finally:
            folder.chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(0.1, 0) 2 []\n")
    assert "the ledger cannot be read or written" in done.stdout
    assert done.stdout.endswith("; nothing was charged\n")


KILLED = """
import os, signal, sys
from tests.ledger.test_store import charge
from shoal.ledger.ledger import Ledger, open_ledger
from shoal.ledger.store import Appender
Appender.write_head = lambda self: os.kill(os.getpid(), signal.SIGKILL)
with Ledger(sys.argv[1]) as ledger:
    charge(ledger)
"""


@pytest.mark.slow
def test_a_kill_before_the_commit_charges_nothing(path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    with Ledger(str(path)) as ledger:
        assert len(ledger.account("visits").costs) == 1
        charge(ledger)
        assert ledger.verify() == 3
    assert [each.name for each in path.parent.iterdir()] == ["ledger.sqlite"]


def test_a_database_that_says_the_disk_is_full_is_believed(path):
    with Ledger(str(path)) as ledger:
        error = ledger._store._failed("database or disk is full", "nothing was charged")
    assert str(error).endswith("disk is full; make room on the disk that the ledger is on; nothing was charged")


def test_a_home_that_is_missing_is_not_made(monkeypatch, tmp_path):
    """An administrator can make any folder, so a ledger was begun in a home that nobody has."""
    monkeypatch.setenv("HOME", str(tmp_path / "missing"))
    for name in (ENVIRONMENT, "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LedgerError, match=r"home of this user is not there.*--ledger"):
        open_ledger()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    open_ledger().close()
    assert (tmp_path / "data" / "shoal" / "ledger.sqlite").is_file()
