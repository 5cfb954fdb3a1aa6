"""Work folders: one process at a time, a dead one told from a living one, and nothing removed that is not ours."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile

import pytest

from shoal.errors import UsageError
from shoal.files import process_lock, work_folder
from shoal.files.work_folder import JOURNAL, LOCK, WorkFolder, is_abandoned, sweep_temporary, temporary_folder


@pytest.fixture
def place(tmp_path):
    return tmp_path / ".out.shoal-work"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files that nobody else uses."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def leave(path, **facts):
    """What a run that was killed leaves: the folder, with nobody who holds its lock."""
    folder = WorkFolder.claim(path, {"state": "working"} | facts)
    (path / "public").mkdir()
    (path / "public" / "table.csv").write_text("a")
    folder.close()


def test_a_claimed_folder_is_its_owners_alone_and_keeps_notes(place):
    folder = WorkFolder.claim(place, {"state": "working"})
    folder.note(state="publishing", seal="abc")
    assert folder.facts == {"state": "publishing", "seal": "abc"}
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {0o600}
    folder.remove()
    assert not place.exists()


def test_a_living_process_has_it(place):
    folder = WorkFolder.claim(place, {})
    assert not is_abandoned(place)
    for attempt in (lambda: WorkFolder.claim(place, {}), lambda: WorkFolder.take_over(place)):
        with pytest.raises(UsageError, match="another run is working there"):
            attempt()
    folder.remove()
    WorkFolder.claim(place, {}).remove()


def test_a_lock_file_that_somebody_deleted_frees_nothing(place):
    folder = WorkFolder.claim(place, {})
    (place / LOCK).unlink()
    assert not is_abandoned(place)
    with pytest.raises(UsageError):
        WorkFolder.claim(place, {})
    folder.remove()
    assert not place.exists()


def test_a_dead_run_is_taken_over_with_what_it_noted(place):
    leave(place, seal="abc")
    assert is_abandoned(place)
    with pytest.raises(UsageError, match="a run that died left a work folder"):
        WorkFolder.claim(place, {})
    folder = WorkFolder.take_over(place)
    assert folder.facts == {"state": "working", "seal": "abc"}
    assert not is_abandoned(place)
    with pytest.raises(UsageError, match="another run"):
        WorkFolder.take_over(place)
    folder.remove()
    assert not place.exists()


@pytest.mark.parametrize("step", ["folder", "empty lock", "half a mark", "mark", "unfinished journal"])
def test_a_kill_before_the_journal_leaves_what_the_next_claim_takes(place, step):
    place.mkdir(mode=0o700)
    if step != "folder":
        mark = {"empty lock": 0, "half a mark": 7}.get(step)
        (place / LOCK).write_bytes(work_folder._MARK[:mark])
    if step == "unfinished journal":
        (place / f"{JOURNAL}.next").write_text('{"ver')
    assert is_abandoned(place)
    folder = WorkFolder.claim(place, {"state": "working"})
    assert folder.facts == {"state": "working"}
    folder.remove()
    assert not place.exists()


@pytest.mark.parametrize("kind", ["file", "link", "other folder", "lock is a link", "lock is a pipe", "other mark"])
def test_what_is_none_of_ours_is_neither_taken_nor_removed(place, kind):
    if kind == "file":
        place.write_text("mine")
    elif kind == "link":
        leave(place.with_name("elsewhere"))
        place.symlink_to("elsewhere")
    else:
        place.mkdir()
        (place / "letters").write_text("mine")
        if kind == "lock is a link":
            (place / LOCK).symlink_to("letters")
        elif kind == "lock is a pipe":
            os.mkfifo(place / LOCK)
        elif kind == "other mark":
            (place / LOCK).write_text("mine")
    before = sorted(place.parent.rglob("*"))
    assert not is_abandoned(place)
    for attempt in (lambda: WorkFolder.claim(place, {}), lambda: WorkFolder.take_over(place)):
        with pytest.raises(UsageError):
            attempt()
    assert sorted(place.parent.rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="cannot run here: needs a second user")
def test_the_folder_of_another_user_is_left_alone(place):
    leave(place)
    os.chown(place, 65534, 65534)
    assert not is_abandoned(place)
    with pytest.raises(UsageError, match="another user"):
        WorkFolder.take_over(place)
    assert (place / "public" / "table.csv").exists()


@pytest.mark.parametrize("journal", ["", "[]", '{"version": 2}', "[" * 100_000])
def test_a_journal_that_cannot_be_read_stops_everything(place, journal):
    leave(place)
    (place / JOURNAL).write_text(journal)
    with pytest.raises(UsageError, match="cannot be read"):
        WorkFolder.take_over(place)
    assert (place / "public" / "table.csv").exists()


def test_a_removal_that_was_interrupted_can_be_taken_up(place, monkeypatch):
    leave(place)
    folder = WorkFolder.take_over(place)

    def killed(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(work_folder.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.remove()
    monkeypatch.undo()
    assert is_abandoned(place)
    WorkFolder.take_over(place).remove()
    assert not place.exists()


def test_links_in_a_folder_are_removed_and_not_followed(place, tmp_path):
    leave(place)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letters").write_text("mine")
    (place / "link").symlink_to(tmp_path / "mine")
    (place / "public" / "link").symlink_to(tmp_path / "mine")
    WorkFolder.take_over(place).remove()
    assert (tmp_path / "mine" / "letters").read_text() == "mine"


def test_a_folder_that_cannot_be_locked_is_not_left(place, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(work_folder.os, "write", full)
    with pytest.raises(OSError, match="full"):
        WorkFolder.claim(place, {})
    assert not place.exists()


def test_a_folder_whose_journal_cannot_be_written_is_not_left(place, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(work_folder.os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        WorkFolder.claim(place, {})
    assert not place.exists()


def test_without_locks_a_folder_is_claimed_and_never_taken_over(place, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(process_lock.fcntl, "flock", refuse)
    leave(place)
    assert not is_abandoned(place)
    with pytest.raises(UsageError, match="cannot be told"):
        WorkFolder.take_over(place)
    assert place.exists()


@pytest.mark.parametrize("seen", [[b""], [None], [None, b""]])
def test_a_run_that_begins_while_its_folder_is_looked_at_is_no_stranger(place, monkeypatch, seen):
    """The lock was missing or empty at the first look, and the journal was there at the second: 'none of ours' was said."""
    own, real = WorkFolder.claim(place, {}), work_folder._read

    def read(path, most):
        if not seen:
            return real(path, most)
        first = seen.pop(0)
        if first is None:
            raise FileNotFoundError
        return first

    monkeypatch.setattr(work_folder, "_read", read)
    with pytest.raises(UsageError, match="another run is working there at this moment"):
        WorkFolder.take_over(place)
    own.remove()


CLAIM = """
import sys
from pathlib import Path
from shoal.errors import UsageError
from shoal.files.work_folder import WorkFolder
sys.stdin.readline()
try:
    folder = getattr(WorkFolder, sys.argv[1])(Path(sys.argv[2]), *([{}] if sys.argv[1] == "claim" else []))
    print("won", flush=True)
    sys.stdin.readline()
    folder.remove()
except UsageError as error:
    print(error.wrong, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["claim", "take_over"])
def test_of_processes_that_come_at_once_one_wins(place, how):
    if how == "take_over":
        leave(place)
    command = [sys.executable, "-c", CLAIM, how, str(place)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = sorted(racer.stdout.readline().strip() for racer in racers)
    assert said == ["another run is working there at this moment"] * 3 + ["won"]
    for racer in racers:
        racer.communicate("end\n")
    assert not place.exists()


def test_temporary_folders_are_private_and_gone_afterwards(temporary):
    with temporary_folder("spill") as folder:
        assert folder.parent == temporary
        assert folder.name.startswith("shoal-spill-")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "rows").write_text("postcodes")
        assert sweep_temporary() == []
        assert (folder / "rows").exists()
    assert list(temporary.iterdir()) == []


def test_temporary_folders_of_dead_runs_are_swept_and_no_others(temporary):
    dead, other, mine = WorkFolder.temporary("spill"), temporary / "shoal-spill-abc", temporary / "shoal-letters"
    (dead.path / "rows").write_text("postcodes")
    dead.close()
    other.mkdir()
    (other / "letters").write_text("mine")
    mine.mkdir()
    (temporary / "shoal-spill-link").symlink_to(other)
    (temporary / "shoal-spill-early").mkdir(mode=0o700)  # a kill right after the folder was made
    (said, also) = sweep_temporary()
    assert "shoal-spill-" in said + also
    assert {path.name for path in temporary.iterdir()} == {"shoal-spill-abc", "shoal-letters", "shoal-spill-link"}
    assert sweep_temporary() == []


def test_a_new_folder_has_no_journal_to_be_read(place, temporary, monkeypatch):
    """Where files cannot be opened for want of handles, nothing may be taken for the journal of a dead run."""

    def unreadable(path):
        raise AssertionError("read")

    monkeypatch.setattr("shoal.files.work_folder._read_journal", unreadable)
    WorkFolder.claim(place, {}).remove()
    WorkFolder.temporary("spill").remove()
    assert not place.exists()


def test_a_folder_is_not_left_where_handles_run_out(place, temporary, monkeypatch):
    def no_handle(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(WorkFolder, "note", no_handle)
    monkeypatch.setattr("shoal.files.work_folder._empty", no_handle)
    for make in (lambda: WorkFolder.claim(place, {}), lambda: WorkFolder.temporary("spill")):
        with pytest.raises(OSError, match="Too many open files"):
            make()
    assert not place.exists()
    assert list(temporary.iterdir()) == []
