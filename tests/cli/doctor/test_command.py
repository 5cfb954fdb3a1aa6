"""`shoal doctor` finds what is wrong, says what to do about each thing, and mends what it can."""

from __future__ import annotations

import os
import stat
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shoal.cli.doctor import ledger, leftovers, machine, software
from shoal.cli.doctor.command import PARTS
from shoal.cli.doctor.diagnosis import Health
from shoal.ledger.event import Budget
from shoal.ledger.ledger import Ledger
from tests.cli.run import answer, refused, shoal
from tests.cli.terminal.test_leftovers_of_commands import abandon
from tests.publish.run.killed import kill


@pytest.fixture(autouse=True)
def _light(monkeypatch):
    """Importing every module takes seconds; one test does it."""
    monkeypatch.setattr(software, "look", lambda: iter(()))


@pytest.fixture
def book(tmp_path):
    """The path of a ledger with one event."""
    path = tmp_path / "ledger.sqlite"
    with Ledger(str(path), new=True) as opened:
        opened.set_budget("clinic", Budget.of(1, 0), "agreed")
    return path


def wrong(findings):
    """What is to be done."""
    return [each for each in findings if each.state is Health.WRONG]


def test_where_nothing_is_wrong_it_is_exit_0(tmp_path, book):
    done = shoal("doctor", tmp_path, "--ledger", book)
    assert done.exit_code == 0, done.stdout
    assert done.stdout.endswith("\nnothing is to be done\n")
    fields = answer("doctor", tmp_path, "--ledger", book)
    assert (fields["fine"], fields["mended"]) == (True, [])
    assert {each["part"] for each in fields["findings"]} == set(PARTS) - {"software"}


def test_every_finding_that_is_not_fine_says_what_to_do(tmp_path, book):
    book.chmod(0o644)
    abandon(Path(tempfile.gettempdir()) / "shoal-spill-x")
    fields = answer("doctor", tmp_path, "--ledger", book, code=3)
    assert all(each["fix"] for each in fields["findings"] if each["state"] != "ok")
    assert sum(each["state"] == "to do" for each in fields["findings"]) == 2


def test_a_ledger_that_others_can_read_is_made_private(tmp_path, book):
    book.chmod(0o644)
    told = shoal("doctor", tmp_path, "--ledger", book)
    assert told.exit_code == 3
    assert "everybody on this machine can read the ledger" in " ".join(told.stdout.split())
    assert "chmod o-rwx" in told.stdout
    assert stat.S_IMODE(book.stat().st_mode) == 0o644  # looking changes nothing
    mended = answer("doctor", tmp_path, "--ledger", book, "--fix")
    assert mended["mended"] == [f"others than its owner and its group have no right to the ledger any more: {book}"]
    assert stat.S_IMODE(book.stat().st_mode) == 0o640
    shared = [each for each in ledger.look(str(book)) if each.state is Health.NOTE]
    assert ["members of its group can read the ledger" in each.words for each in shared] == [True]
    book.chmod(0o666)
    assert "everybody on this machine can read and change the ledger" in wrong(ledger.look(str(book)))[0].words


def test_a_ledger_that_is_missing_changed_or_no_ledger(tmp_path, book):
    assert "there is no ledger here" in wrong(ledger.look(str(tmp_path / "none")))[0].words
    assert not (tmp_path / "none").exists()
    (tmp_path / "text").write_text("no ledger")
    assert "cannot be relied on" in wrong(ledger.look(str(tmp_path / "text")))[-1].words
    import sqlite3

    with sqlite3.connect(book) as file:
        file.execute("UPDATE events SET payload = replace(payload, 'agreed', 'forged')")
    file.close()
    assert "cannot be relied on" in wrong(ledger.look(str(book)))[-1].words


def test_a_clock_that_stands_before_the_last_event_is_noticed(book):
    with Ledger(str(book), clock=lambda: datetime.now(UTC) + timedelta(days=3)) as opened:
        opened.set_budget("clinic", Budget.of(2, 0), "later")
    assert any("the clock stands before" in each.words for each in wrong(ledger.look(str(book))))


@pytest.mark.slow
def test_what_killed_runs_left_is_found_and_mended(tmp_path):
    kill(tmp_path, "_write")
    abandon(Path(tempfile.gettempdir()) / "shoal-spill-x")
    words = ("doctor", tmp_path, "--ledger", tmp_path / "ledger.sqlite")
    told = shoal(*words)
    assert told.exit_code == 3
    flat = " ".join(told.stdout.split())
    assert "a run on 'clinic' was charged (entry 2) and died before it ended" in flat
    assert "a run that was killed left a work folder" in flat
    assert "which may hold records" in flat
    assert (tmp_path / ".out.shoal-work").is_dir()
    mended = answer(*words, "--fix")
    assert mended["fine"]
    assert any("its release had not appeared" in sentence for sentence in mended["mended"])
    assert not (tmp_path / ".out.shoal-work").exists()
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    assert shoal(*words).exit_code == 0


@pytest.mark.slow
def test_a_finished_release_is_given_its_name_without_naming_the_ledger(tmp_path, monkeypatch):
    kill(tmp_path, "place")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHOAL_LEDGER", raising=False)
    mended = answer("doctor", "--fix")["mended"]
    assert any("the release of a killed run was finished" in sentence for sentence in mended)
    assert shoal("verify", "out").exit_code == 0


def test_a_living_run_is_left_alone(tmp_path):
    from shoal.files.work_folder import WorkFolder

    work = WorkFolder.claim(tmp_path / ".out.shoal-work", {})
    found = list(leftovers.look([tmp_path], None))
    assert wrong(found) == []
    assert any("a run is at work" in each.words for each in found)
    work.remove()


def test_folders_of_an_earlier_version_are_mentioned_and_left(tmp_path):
    old = Path(tempfile.gettempdir()) / "shoal-k3j5h2g1"
    old.mkdir()
    (old / "spill").write_text("p1,34\n")
    found = list(leftovers.look([tmp_path], None))
    assert wrong(found) == []
    assert any("1 temporary folder without a lock" in each.words for each in found)
    assert old.is_dir()


def test_a_folder_for_temporary_files_that_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert "TMPDIR" in wrong(machine.look())[0].fix
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(open_to_all))
    assert "anybody can remove or exchange" in wrong(machine.look())[0].words


def test_a_folder_for_temporary_files_that_another_would_take_the_place_of(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nope"))
    found = wrong(machine.look())
    assert found[0].words == f"TMPDIR names {tmp_path / 'nope'}, which is not there"
    assert "install" not in "".join(each.fix or "" for each in found)


def test_what_keeps_the_engine_from_reading_is_told_in_its_own_words(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shoal.files.work_folder.tempfile.mkdtemp", full)
    (found,) = (each for each in wrong(machine.look()) if "the engine" in each.words)
    assert "space" in found.words
    assert "install" not in (found.fix or "")


@pytest.mark.parametrize(("name", "words"), [("nosuch", "there is no folder"), ("file", "this is no folder")])
def test_what_is_no_folder_is_refused(tmp_path, name, words):
    (tmp_path / "file").write_text("a file")
    assert words in refused("doctor", tmp_path / name, code=2)["wrong"]


def test_a_named_folder_that_cannot_be_written_to_is_said(tmp_path, monkeypatch):
    genuine = os.access
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path and genuine(path, mode))
    assert any(each.words == f"this folder cannot be written to: {tmp_path}" for each in machine.look([tmp_path]))


def test_the_advice_is_a_whole_command(tmp_path, book):
    abandon(tmp_path / ".out.shoal-work")
    found = answer("doctor", tmp_path / "out", "--ledger", book, code=3)["findings"]
    (fix,) = (each["fix"] for each in found if each["can_be_fixed"])
    assert f"`shoal doctor {tmp_path / 'out'} --ledger {book} --fix`" in fix


def test_what_was_mended_is_listed_in_the_report(tmp_path, book):
    book.chmod(0o644)
    done = shoal("doctor", tmp_path, "--ledger", book, "--fix").stdout
    assert "others than its owner and its group" in " ".join(done.split("\nmended\n")[1].split())


def test_little_space_and_no_cache(monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    monkeypatch.setattr("shoal.compilation.cache.cache_folder", lambda: None)
    found = list(machine.look())
    assert ["little space" in each.words for each in wrong(found)] == [True]
    assert any("compiled loops cannot be kept" in each.words and "nothing need be done" in each.fix for each in found)


def test_no_random_bits_no_release(monkeypatch):
    monkeypatch.setattr("os.urandom", lambda n: b"0" * n)
    assert any("publish nothing on this machine" in each.fix for each in wrong(machine.look()))


def test_a_terminal_that_knows_ascii_alone(monkeypatch):
    class Plain:
        encoding = "ascii"

    monkeypatch.setattr("sys.stdout", Plain())
    assert any("written in ascii" in each.words for each in machine.look())
