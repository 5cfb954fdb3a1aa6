"""Files: whole or not at all, and never in place of another unasked."""

from __future__ import annotations

import pytest

from shoal.errors import UsageError
from shoal.files import write as files


def test_written_whole(tmp_path):
    path = files.write(tmp_path / "a.txt", "words", force=False)
    assert path.read_text() == "words"
    assert path.stat().st_mode & 0o600 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_not_replaced_unasked(tmp_path):
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"the file exists; got .*a\.txt; choose"):
        files.write(tmp_path / "a.txt", "yours", force=False)
    assert (tmp_path / "a.txt").read_text() == "mine"
    files.write(tmp_path / "a.txt", b"yours", force=True)
    assert (tmp_path / "a.txt").read_text() == "yours"


@pytest.mark.parametrize("force", [False, True])
def test_folders_are_neither_made_nor_replaced(tmp_path, force):
    with pytest.raises(UsageError, match="a folder stands"):
        files.write(tmp_path, "x", force=force)
    with pytest.raises(UsageError, match="does not exist"):
        files.write(tmp_path / "no" / "a.txt", "x", force=force)


@pytest.mark.parametrize("force", [False, True])
def test_a_failure_leaves_nothing(tmp_path, monkeypatch, force):
    def broken(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(files.os, "fsync", broken)
    with pytest.raises(OSError, match="full"):
        files.write(tmp_path / "a.txt", "words", force=force)
    assert list(tmp_path.iterdir()) == []


def test_what_appeared_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(UsageError, match="the file exists"), files.unfinished_file(path, force=False):
        path.write_text("theirs")
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_kill_left_is_overwritten_by_the_next_writer(tmp_path):
    path = tmp_path / "a.txt"
    files.hidden_name(path).write_text("half of what a process that was killed wanted to write")
    files.write(path, "words", force=False)
    assert path.read_text() == "words"
    assert list(tmp_path.iterdir()) == [path]


def test_one_process_writes_a_file_at_a_time(tmp_path):
    path = tmp_path / "a.txt"
    with files.unfinished_file(path, force=True) as file:
        file.write(b"first")
        with pytest.raises(UsageError, match="another process is writing"):
            files.write(path, "second", force=True)
    assert path.read_text() == "first"


def test_a_link_in_the_way_is_not_followed(tmp_path):
    path = tmp_path / "a.txt"
    (tmp_path / "mine").write_text("mine")
    files.hidden_name(path).symlink_to("mine")
    with pytest.raises(UsageError, match="cannot be written"):
        files.write(path, "words", force=False)
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_long_name_has_room_for_its_hidden_one(tmp_path):
    path = tmp_path / ("a" * 255)
    files.write(path, "words", force=False)
    assert path.read_text() == "words"
