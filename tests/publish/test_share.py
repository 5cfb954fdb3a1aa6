"""Packing: plain files of the release alone, with the bytes that were verified; the file appears whole, in place of nothing."""

from __future__ import annotations

import os
import shutil
import zipfile

import pytest

from shoal.errors import UsageError, VerificationError
from shoal.files.write import hidden_name
from shoal.publish import share
from shoal.publish.share import pack
from shoal.publish.verify.release import require, verify
from tests.publish.clinic import publish


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("share")).folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "out")


@pytest.fixture
def unverified(monkeypatch):
    """What happens if a release changes after it was verified."""
    monkeypatch.setattr(share, "verify", lambda *_: [])


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[0] for name in archive.namelist()}, archive.namelist()


@pytest.mark.slow
def test_the_same_bytes_each_time_and_nothing_else_is_left(folder, tmp_path):
    first, second = pack(folder), pack(folder, tmp_path / "b.zip")
    assert first == tmp_path / "out.zip"
    assert first.read_bytes() == second.read_bytes()
    require(verify(first))
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.zip", "b.zip"}


@pytest.mark.parametrize(("name", "inside"), [(".", "out"), ("..", "out/recoding"), ("out/recoding/..", ".")])
def test_however_the_folder_is_named_entries_have_its_own_name(folder, tmp_path, monkeypatch, unverified, name, inside):
    monkeypatch.chdir(tmp_path / inside)
    packed = pack(name)
    assert packed == tmp_path / "out.zip"
    assert entries(packed)[0] == {"out", "README.txt", "verifier.py"}


def test_a_name_that_archives_cannot_hold_is_replaced(folder, tmp_path, unverified):
    odd = folder.rename(tmp_path / "a:b\\c\n")
    assert entries(pack(odd, tmp_path / "odd.zip"))[0] == {"release", "README.txt", "verifier.py"}


def test_links_are_not_followed(folder, tmp_path, unverified):
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(UsageError, match="is a link"):
        pack(tmp_path / "link")
    (tmp_path / "secret").write_text("secret")
    for name in ("table.csv", "certificate.html", "recoding/01-age.json", "certificate.json"):
        (folder / name).rename(tmp_path / "kept")
        (folder / name).symlink_to(tmp_path / "kept")
        with pytest.raises(VerificationError, match="no plain file"):
            pack(folder)
        (folder / name).unlink()
        (tmp_path / "kept").rename(folder / name)
    (folder / "recoding").rename(tmp_path / "rules")
    (folder / "recoding").symlink_to(tmp_path / "rules")
    with pytest.raises(VerificationError, match="no plain file"):
        pack(folder)
    assert {path.name for path in tmp_path.iterdir()} == {"out", "link", "secret", "rules"}


def test_a_pipe_is_not_waited_for(folder, unverified):
    (folder / "table.csv").unlink()
    os.mkfifo(folder / "table.csv")
    with pytest.raises(VerificationError, match="no plain file"):
        pack(folder)


@pytest.mark.parametrize("name", ["table.csv", "certificate.html", "policy.lock.yaml"])
def test_what_changed_after_it_was_verified_is_not_packed(folder, tmp_path, monkeypatch, name):
    def change(where, _stage):
        (where / name).write_bytes((where / name).read_bytes() + b" ")
        return []

    monkeypatch.setattr(share, "verify", change)
    with pytest.raises(VerificationError, match="changed while it was packed"):
        pack(folder)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "recoding/../../secret"])
def test_names_that_lead_out_of_the_folder_are_refused(folder, tmp_path, name):
    (tmp_path / "secret").write_text("secret")
    text = (folder / "certificate.json").read_text()
    (folder / "certificate.json").write_text(text.replace('"table.csv"', f'"{name}"'))
    with pytest.raises(VerificationError):
        pack(folder)
    assert {path.name for path in tmp_path.iterdir()} == {"out", "secret"}


def test_a_file_that_appeared_meanwhile_is_not_replaced(folder, tmp_path, monkeypatch):
    def appear(where, _stage):
        (tmp_path / "out.zip").write_text("mine")
        return []

    monkeypatch.setattr(share, "verify", appear)
    with pytest.raises(UsageError, match="the file exists"):
        pack(folder)
    assert (tmp_path / "out.zip").read_text() == "mine"
    assert pack(folder, force=True) == tmp_path / "out.zip"
    assert zipfile.is_zipfile(tmp_path / "out.zip")


def test_what_a_killed_share_left_is_removed_by_the_next(folder, tmp_path, unverified):
    hidden = hidden_name(tmp_path / "out.zip")
    hidden.write_bytes(b"half an archive")
    pack(folder)
    assert not hidden.exists()
    hidden.write_bytes(b"half an archive")
    with pytest.raises(UsageError, match="the file exists"):
        pack(folder)
    assert not hidden.exists()


def test_the_file_is_not_written_into_the_release(folder):
    with pytest.raises(UsageError, match="would lie in the release itself"):
        pack(folder, folder / "recoding" / "a.zip")


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nothing"):
        with pytest.raises(UsageError, match="no release folder"):
            pack(tmp_path / name)
    (tmp_path / "empty" / "report.json").write_text("{}")
    with pytest.raises(UsageError, match="custodian's folder"):
        pack(tmp_path / "empty")
