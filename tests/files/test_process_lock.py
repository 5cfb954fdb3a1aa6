"""Locks that last as long as their process, on plain files of this user's alone."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from shoal.files import process_lock
from shoal.files.process_lock import Held, is_same_file, open_plain, try_lock

OPEN = os.O_RDWR | os.O_CREAT


def test_a_lock_is_held_by_one(tmp_path):
    first, second = open_plain(tmp_path / "lock", OPEN), open_plain(tmp_path / "lock", OPEN)
    assert (try_lock(first), try_lock(second)) == (Held.OURS, Held.ANOTHER)
    os.close(first)
    assert try_lock(second) is Held.OURS
    os.close(second)


@pytest.mark.slow
def test_a_process_that_is_killed_lets_go(tmp_path):
    hold = (
        "import os, sys; from pathlib import Path; from shoal.files.process_lock import open_plain, try_lock;"
        "print(try_lock(open_plain(Path(sys.argv[1]), os.O_RDWR | os.O_CREAT)), flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"Held.OURS\n"
        handle = open_plain(tmp_path / "lock", OPEN)
        assert try_lock(handle) is Held.ANOTHER
        holder.kill()
    assert try_lock(handle) is Held.OURS
    os.close(handle)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(process_lock.fcntl, "flock", refuse)
    handle = open_plain(tmp_path / "lock", OPEN)
    assert try_lock(handle) is Held.UNKNOWN
    os.close(handle)


def test_links_pipes_and_folders_are_not_opened(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder"):
        with pytest.raises(PermissionError):
            open_plain(tmp_path / name, os.O_RDWR)


def test_a_file_that_was_made_since_is_another(tmp_path):
    handle = open_plain(tmp_path / "lock", OPEN)
    assert is_same_file(handle, tmp_path / "lock")
    (tmp_path / "lock").unlink()
    assert not is_same_file(handle, tmp_path / "lock")
    (tmp_path / "lock").touch()
    assert not is_same_file(handle, tmp_path / "lock")
    os.close(handle)
