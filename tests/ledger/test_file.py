"""The file of a ledger: it appears whole, for its owner; what is emptied, cut, foreign or no file is not taken for a new one."""

import errno
import multiprocessing
import os
import sqlite3
import stat
from pathlib import Path

import pytest

from shoal.errors import BudgetError, LedgerError, VerificationError
from shoal.guarantee.differential import PureDP
from shoal.ledger import file as ledger_file
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger, is_ledger_missing, open_ledger
from shoal.ledger.store import APPLICATION
from tests.cli.run import shoal
from tests.racing import outcomes_of


def charge(ledger, epsilon="0.4"):
    price = Cost.of(epsilon, 0, [(PureDP(epsilon), 1)])
    return ledger.charge("visits", price, budget=Budget.of(1, 0), neighbours="add_remove", plan="p", table=b"t")


@pytest.fixture
def path(tmp_path):
    """A ledger on which 0.8 of 1 is spent."""
    made = tmp_path / "ledger.sqlite"
    with Ledger(str(made)) as ledger:
        charge(ledger)
        charge(ledger)
    return made


def alter(path, *statements):
    raw = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        raw.execute(statement)
    raw.close()


def uses(path):
    """Every way to look at a ledger or to charge it, each on its own."""

    def opened(step):
        with Ledger(str(path)) as ledger:
            return step(ledger)

    steps = (
        charge,
        lambda ledger: ledger.account("visits"),
        lambda ledger: ledger.left("visits"),
        Ledger.datasets,
        Ledger.events,
        lambda ledger: ledger.record_look("visits", "a histogram"),
        lambda ledger: ledger.set_budget("visits", Budget.of(9, 0), "more"),
    )
    return [lambda step=step: opened(step) for step in steps]


# --- what is gone is not new --------------------------------------------------------------------------------------------


def test_an_emptied_file_is_no_new_ledger(path, monkeypatch):
    """Before, it was one, with nothing spent: a fresh budget for whoever empties a file."""
    path.write_bytes(b"")
    for use in uses(path):
        with pytest.raises(
            LedgerError, match=r"is empty.*what was spent is not known.*--new-ledger of `shoal release`"
        ):
            use()
    monkeypatch.setenv("XDG_DATA_HOME", str(path.parent))
    monkeypatch.delenv("SHOAL_LEDGER", raising=False)
    usual = path.parent / "shoal" / "ledger.sqlite"
    usual.parent.mkdir()
    usual.touch()
    with pytest.raises(LedgerError, match="is empty"):
        open_ledger()
    assert usual.stat().st_size == path.stat().st_size == 0
    assert not is_ledger_missing()
    assert is_ledger_missing(new=True)
    with open_ledger(new=True) as begun:
        assert begun.is_new
        charge(begun)


def test_an_empty_file_becomes_a_ledger_where_that_is_said(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.touch(mode=0o640)
    with open_ledger(str(path), new=True) as ledger:
        assert ledger.is_new
        charge(ledger)
        assert ledger.verify() == 2
    with pytest.raises(LedgerError, match="something is in it already"):
        open_ledger(str(path), new=True)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM events"],
        ["DELETE FROM events WHERE number = 3"],
        ["DELETE FROM events WHERE number > 1"],
        ["DELETE FROM events", "UPDATE meta SET value = hex(zeroblob(32)) WHERE name = 'secret'"],
        ["UPDATE meta SET value = '2 ' || substr(value, 3) WHERE name = 'head'"],
    ],
)
def test_an_end_that_is_cut_off_is_found(path, statements):
    alter(path, *statements)
    for use in uses(path):
        with pytest.raises(LedgerError, match="is not the one that was written last"):
            use()
    with Ledger(str(path)) as ledger, pytest.raises(VerificationError, match="is not the one that was written last"):
        ledger.verify()


def test_a_cut_end_does_not_heal_by_a_later_entry(path):
    with Ledger(str(path)) as ledger:
        alter(path, "DELETE FROM events WHERE number = 3")
        for note in (
            lambda: ledger.record_look("visits", "x"),
            lambda: ledger.set_budget("visits", Budget.of(9, 0), "x"),
        ):
            with pytest.raises(LedgerError, match="written last"):
                note()


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE events"],
        ["DROP TABLE answers"],
        ["DROP TABLE meta"],
        ["DROP TABLE runs"],
        ["DELETE FROM meta"],
        ["DELETE FROM meta WHERE name = 'version'"],
        ["DELETE FROM meta WHERE name = 'secret'"],
        ["DELETE FROM meta WHERE name = 'head'"],
        ["UPDATE meta SET value = 'zero' WHERE name = 'head'"],
        ["UPDATE meta SET value = '²' WHERE name = 'version'"],
        ["DROP TABLE events", "DROP TABLE answers", "DROP TABLE meta", "DROP TABLE runs"],
        ["DROP TABLE events", "CREATE TABLE events (number INTEGER PRIMARY KEY)"],
        ["ALTER TABLE events RENAME TO kept", "CREATE VIEW events AS SELECT * FROM kept WHERE number < 3"],
        ["ALTER TABLE meta RENAME TO kept", "CREATE VIEW meta AS SELECT * FROM kept"],
        ["CREATE TRIGGER forget AFTER INSERT ON events BEGIN DELETE FROM events WHERE kind = 'charge'; END"],
        ["CREATE INDEX own ON events (kind)"],
        ["CREATE TABLE notes (words TEXT)"],
        ["PRAGMA application_id = 17"],
    ],
)
def test_a_ledger_with_a_part_missing_altered_or_added_is_refused(path, statements):
    alter(path, *statements)
    before = path.read_bytes()
    for new in (False, True):
        with pytest.raises(LedgerError) as refused:
            Ledger(str(path), new=new)
        assert refused.value.fix is not None
        assert "backup" in refused.value.fix
    assert path.read_bytes() == before


def test_a_ledger_from_before_gets_its_head_with_the_next_entry(path):
    old = ("DELETE FROM meta WHERE name = 'head'", "DROP TABLE runs", "PRAGMA application_id = 0")
    alter(path, *old)
    before = path.read_bytes()
    with Ledger(str(path)) as ledger:
        assert ledger.verify() == 3
        assert path.read_bytes() == before
        ledger.record_look("visits", "a histogram")
        assert ledger.verify() == 4
    alter(path, "DELETE FROM events WHERE number = 4")
    with Ledger(str(path)) as ledger, pytest.raises(LedgerError, match="should end with event 4"):
        ledger.account("visits")
    assert int.from_bytes(path.read_bytes()[68:72]) == APPLICATION


def test_a_ledger_without_a_head_says_that_a_cut_off_end_would_not_show(path):
    with Ledger(str(path)) as ledger:
        assert ledger.warnings == ()
    old = ("DELETE FROM meta WHERE name = 'head'", "DROP TABLE runs", "PRAGMA application_id = 0")
    alter(path, "DELETE FROM events WHERE number = 3", *old)
    for command in ("show", "verify"):
        said = shoal("ledger", command, "--ledger", path)
        assert said.exit_code == 0
        assert "this ledger has no head: it was written by an earlier version, or somebody removed it" in " ".join(
            said.stderr.split()
        )
    with Ledger(str(path)) as ledger:
        assert len(ledger.warnings) == 1
        ledger.record_look("visits", "a histogram")
        assert ledger.warnings == ()


def test_a_head_that_was_removed_beside_the_list_of_runs_is_missed(path):
    cut = ("DELETE FROM events WHERE number = 3", "DELETE FROM meta WHERE name = 'head'")
    alter(path, *cut, "PRAGMA application_id = 0")
    for use in uses(path):
        with pytest.raises(LedgerError, match=r"a part of the ledger is missing.*no head"):
            use()


def test_an_old_ledger_is_brought_up_to_date_by_the_first_of_two_that_opened_it(path):
    alter(path, "DELETE FROM meta WHERE name = 'head'", "DROP TABLE runs", "PRAGMA application_id = 0")
    with Ledger(str(path)) as one, Ledger(str(path)) as other:
        one.record_look("visits", "a")
        other.record_look("visits", "b")
        one.record_look("visits", "c")
        assert other.verify() == 6


# --- a new one appears whole ----------------------------------------------------------------------------------------------


def test_a_new_ledger_is_for_its_owner_and_so_is_its_journal(tmp_path):
    before = os.umask(0)
    try:
        with Ledger(str(tmp_path / "deep" / "ledger.sqlite")) as ledger, ledger._store.exclusive() as writer:
            writer.append("t", "d", "look", {"what": "x"})
            found = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "deep").iterdir()}
    finally:
        os.umask(before)
    assert found == {"ledger.sqlite": 0o600, "ledger.sqlite-journal": 0o600}


def test_a_new_ledger_has_no_name_before_it_is_whole(tmp_path, monkeypatch):
    try:
        os.close(os.open(tmp_path, getattr(os, "O_TMPFILE", os.O_CREAT) | os.O_RDWR))
    except OSError:
        pytest.skip("cannot run here: no files without a name")

    def link_named(path, content):
        raise AssertionError("a kill would leave this file")

    monkeypatch.setattr(ledger_file, "_link_named", link_named)
    assert ledger_file.create(tmp_path / "ledger.sqlite", b"new")
    assert (tmp_path / "ledger.sqlite").read_bytes() == b"new"


@pytest.mark.parametrize("missing", ["unnamed", "procfs"])
def test_a_file_system_without_nameless_files_makes_a_whole_ledger_too(tmp_path, monkeypatch, missing):
    if missing == "unnamed":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    else:
        plain = os.link

        def link(source, target, **more):
            if str(source).startswith("/proc"):
                raise OSError(errno.ENOENT, "no /proc here")
            plain(source, target, **more)

        monkeypatch.setattr(os, "link", link)
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.is_new
        charge(ledger)
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.sqlite"]
    assert stat.S_IMODE((tmp_path / "ledger.sqlite").stat().st_mode) == 0o600


def test_what_is_there_is_not_replaced_by_a_new_ledger(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_text("mine")
    assert not ledger_file.create(path, b"new")
    assert path.read_text() == "mine"


def test_a_ledger_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch):
    def full(handle, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    for flags in (True, False):
        if not flags:
            monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        with pytest.raises(
            LedgerError, match=r"No space left on device; the disk is full.*: make room there; nothing was entered$"
        ):
            Ledger(str(tmp_path / "ledger.sqlite"))
        assert list(tmp_path.iterdir()) == []


def _begin(url, barrier, results):
    barrier.wait()
    with Ledger(url) as ledger:
        try:
            charge(ledger)
        except BudgetError:
            results.put((ledger.is_new, "refused"))
        else:
            results.put((ledger.is_new, "charged"))


@pytest.mark.slow
def test_of_processes_that_begin_one_ledger_together_one_makes_it(tmp_path):
    url = str(tmp_path / "ledger.sqlite")
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(4), context.Queue()
    racers = [context.Process(target=_begin, args=(url, barrier, results)) for _ in range(4)]
    outcomes = outcomes_of(racers, results)
    assert sum(new for new, _ in outcomes) == 1
    assert sorted(what for _, what in outcomes) == ["charged", "charged", "refused", "refused"]
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.sqlite"]


# --- what is no file ---------------------------------------------------------------------------------------------------


def test_folders_pipes_devices_and_links_to_nothing_are_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in (tmp_path / "folder", tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(LedgerError, match="the ledger is no file"):
            Ledger(str(place))
    with pytest.raises(LedgerError, match="cannot be read or written"):
        Ledger(str(tmp_path / "link"))
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_a_pipe_beside_the_ledger_is_not_waited_for(path, ending):
    beside = path.with_name(path.name + ending)
    os.mkfifo(beside)
    with pytest.raises(LedgerError, match="what lies beside the ledger is no file"):
        Ledger(str(path))
    beside.unlink()
    beside.mkdir()
    with pytest.raises(LedgerError, match="what lies beside"):
        Ledger(str(path))


def test_a_file_that_goes_away_is_not_made_again(path):
    with Ledger(str(path)) as ledger:
        ledger.close()
        path.unlink()
        with pytest.raises(LedgerError, match="cannot be read or written"):
            charge(ledger)
    assert not path.exists()


def test_a_ledger_that_everybody_can_read_is_warned_of(path):
    for mode, words in ((0o600, None), (0o660, None), (0o644, "can read the"), (0o666, "can read and change the")):
        path.chmod(mode)
        with Ledger(str(path)) as ledger:
            assert (words is None and ledger.warnings == ()) or words in ledger.warnings[0]
    with Ledger("sqlite://") as ledger:
        assert ledger.warnings == ()
