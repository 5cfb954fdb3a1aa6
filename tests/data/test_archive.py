"""What `shoal share` packs is read as it is, and no archive of a stranger writes where it should not."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

import shoal
from shoal.data import archive
from shoal.errors import UsageError, VerificationError
from shoal.files.work_folder import sweep_temporary
from shoal.publish.share import pack
from tests.publish.clinic import publish


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    made = publish(folder, name="clinic-2026", report=False)
    return pack(made.folder), made.folder


def temporary() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob("shoal-release-*")}


@pytest.mark.slow
def test_a_zip_is_verified_and_loaded_like_its_folder(packed):
    zipped, folder = packed
    before = temporary()
    in_folder, in_zip = shoal.verify(folder), shoal.verify(zipped)
    assert in_zip[: len(in_folder)] == in_folder
    assert {check.name for check in in_zip[len(in_folder) :]} == {"enclosure (verifier.py)", "enclosure (README.txt)"}
    assert temporary() <= before
    loaded, same = shoal.load(zipped), shoal.load(folder)
    assert loaded.count({"sex": "f"}) == same.count({"sex": "f"})
    place = loaded.folder
    assert place.is_dir()
    del loaded
    assert not place.exists()


def test_what_a_killed_process_had_unpacked_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    zipped = written(tmp_path / "small.zip")
    code = (
        "import os, sys; from pathlib import Path; from shoal.data.archive import UnpackedRelease\n"
        "unpacked = UnpackedRelease(Path(sys.argv[1])); print(unpacked.release); sys.stdout.flush(); os._exit(9)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(zipped)],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 9, told.stderr
    left = Path(told.stdout.strip())
    assert (left / "certificate.json").is_file()
    with archive.open_release(zipped) as living:
        assert [said.count("removed") for said in sweep_temporary()] == [1]
        assert living.is_dir()
    assert not left.exists()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_no_folder_to_unpack_into(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(UsageError, match=r"no folder to unpack this archive into.*TMPDIR"):
        archive.UnpackedRelease(written(tmp_path / "small.zip"))


def written(path: Path, *entries: tuple[str, str], kind: int = stat.S_IFREG, top: str = "clinic/") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{top}certificate.json", "{}")
        for name, text in entries:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (kind | 0o644) << 16
            file.writestr(entry, text)
    return path


@pytest.mark.parametrize(
    "name", ["../evil", "clinic/../../evil", "/evil", "clinic//evil", "C:/evil", "clinic/./evil", "evil"]
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    with pytest.raises(VerificationError, match="leads out"):
        shoal.verify(written(tmp_path / "a.zip", (name, "x")))
    assert not list(tmp_path.parent.glob("evil"))


def test_links_and_names_said_twice_are_refused(tmp_path):
    with pytest.raises(VerificationError, match="no plain file"):
        shoal.verify(written(tmp_path / "a.zip", ("clinic/link", "/etc/passwd"), kind=stat.S_IFLNK))
    with pytest.raises(VerificationError, match="occurs twice"):
        shoal.verify(written(tmp_path / "b.zip", ("clinic/Table.csv", "x"), ("clinic/table.csv", "y")))


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    before = temporary()
    with pytest.raises(VerificationError, match="more than is allowed"):
        shoal.verify(written(tmp_path / "a.zip", ("clinic/table.csv", "x" * 2000)))
    monkeypatch.setattr(archive, "MOST_FILES", 1)
    with pytest.raises(VerificationError, match="more than is allowed"):
        shoal.load(written(tmp_path / "b.zip", ("clinic/table.csv", "x")))
    assert temporary() <= before


def test_other_archives_and_broken_ones_are_refused(tmp_path):
    with pytest.raises(UsageError, match="no release"):
        shoal.verify(written(tmp_path / "a.zip", ("other/file", "x")))
    whole = written(tmp_path / "b.zip", ("clinic/table.csv", "abc" * 400)).read_bytes()
    (tmp_path / "b.zip").write_bytes(whole[:60] + b"\0" * 8 + whole[68:])
    with pytest.raises(VerificationError):
        shoal.verify(tmp_path / "b.zip")


def raw(path: Path, *entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """An archive with entries as they are given."""
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("clinic/certificate.json", "{}")
        for name, content in entries:
            file.writestr(zipfile.ZipInfo(name), content)
    return path


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([("clinic/a\\b", b"x")], "leads out"),
        ([("clinic/a\nall agree", b"x")], "leads out"),
        ([("clinic/" + "x" * 300, b"x")], "leads out"),
        ([("clinic/\u212b.csv", b"x"), ("clinic/\u00e5.csv", b"y")], "occurs twice"),
        ([("clinic/a", b"x"), ("clinic/a/b", b"y")], "of a file and of a folder"),
        ([("clinic/epsilon is 0.01/", b"")], "empty folder"),
        ([("readme.TXT", b"x"), ("README.txt", b"x")], "occurs twice"),
    ],
)
def test_what_share_does_not_write_is_refused_before_anything_is_written(tmp_path, entries, words):
    with pytest.raises(VerificationError, match=words):
        shoal.verify(raw(tmp_path / "a.zip", *entries))


def test_other_packings_long_lists_and_files_beside_that_are_too_long_are_refused(tmp_path, monkeypatch):
    with pytest.raises(VerificationError, match="than by deflating"):
        shoal.verify(raw(tmp_path / "a.zip", method=zipfile.ZIP_LZMA))
    with monkeypatch.context() as patch:
        patch.setattr(archive, "MOST_BESIDE", 10)
        with pytest.raises(VerificationError, match="more than is allowed"):
            shoal.verify(raw(tmp_path / "b.zip", ("verifier.py", b"x" * 11)))
    monkeypatch.setattr(archive, "LARGEST_LIST", 60)
    with pytest.raises(VerificationError, match="list of files"):
        shoal.verify(raw(tmp_path / "c.zip", ("clinic/a", b"x")))


def test_an_archive_needs_the_space_that_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(UsageError, match="too little space"):
        shoal.verify(raw(tmp_path / "a.zip", ("clinic/a", b"x")))
