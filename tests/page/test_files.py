"""Files: whole or not at all, and never in place of another unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.page import files


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


def test_a_failure_leaves_nothing(tmp_path, monkeypatch):
    def broken(self, target):
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="full"):
        files.write(tmp_path / "a.txt", "words", force=False)
    assert list(tmp_path.iterdir()) == []
