"""What `shoal share` packs is read as it is, and no archive of a stranger writes where it should not."""

from __future__ import annotations

import stat
import tempfile
import zipfile
from pathlib import Path

import pytest

import shoal
from shoal.data import archive
from shoal.errors import UsageError, VerificationError
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
