"""What a release folder holds, by the one place that says so: every file of a release of each kind is named there."""

from __future__ import annotations

import os
import re
import shutil
import stat

import pytest

from shoal.errors import UsageError
from shoal.publish import folder
from shoal.publish.verify.standalone import HANDBOOK
from tests.publish import clinic, counted_clinic

PLACES = (
    r"table(-\d+)?\.(csv|parquet)",
    r"recoding/\d\d-[\w-]+\.json",
    r"recoding/boxes\.csv",
    r"recoding/boxes/[\w-]+\.csv",
    r"views/[\w-]+\.(csv|parquet)",
    *(re.escape(name) for name in (folder.CERTIFICATE, folder.PAGE, folder.LOCK, folder.VIEWS, *HANDBOOK)),
)
KINDS = {
    "levels": lambda place: clinic.publish(place, report=True),
    "repeat": lambda place: clinic.publish(place, {"release.repeat": 2}),
    "tree": lambda place: clinic.publish(place, {"release.recoding": "tree"}),
    "views": lambda place: clinic.publish(place, {"release.views": "pairs"}),
    "views of trees": lambda place: clinic.publish(place, {"release.views": "pairs", "release.recoding": "tree"}),
    "microaggregation": lambda place: counted_clinic.publish(place, "microaggregation"),
    "swap": lambda place: counted_clinic.publish(place, "swap"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_holds_the_files_that_are_listed_and_no_others(tmp_path, kind):
    made = KINDS[kind](tmp_path)
    files = [path.relative_to(made.folder).as_posix() for path in made.folder.rglob("*") if path.is_file()]
    assert [name for name in files if not any(re.fullmatch(place, name) for place in PLACES)] == []
    assert {folder.CERTIFICATE, folder.PAGE, folder.LOCK, *HANDBOOK} <= set(files)
    private = made.custodian_folder
    if private is None:  # reports are made where they are looked at
        return
    assert private == folder.custodian_folder(made.folder)
    assert {path.name for path in private.iterdir()} == {folder.REPORT, folder.REPORT_PAGE}
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in private.iterdir()} == {0o600}


def test_the_list_names_every_constant_and_every_kind_of_file():
    listed = folder.__doc__ or ""
    for name in (folder.CERTIFICATE, folder.PAGE, folder.LOCK, folder.VIEWS, folder.REPORT, folder.REPORT_PAGE):
        assert name in listed
    for name in (folder.table_file("csv"), folder.table_file("csv", 1), folder.box_file(None)):
        assert name in listed
    assert folder.view_file("01-age", "csv").startswith("views/")
    assert folder.box_file("01-age").startswith("recoding/boxes/")
    assert folder.rule_file(3, "marital status") == "recoding/03-marital_status.json"


def test_both_pages_of_the_custodian_begin_with_the_mark(tmp_path):
    folder.write_report(tmp_path, {"for_the_holder_only": folder.MARK, "rows": 1}, "<p>lost</p>")
    for path in tmp_path.iterdir():
        assert folder.MARK in path.read_text("utf-8").splitlines()[0]


# --- where it goes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", ".", "..", "/", "//", "a/..", "../..", "./"])
def test_what_names_no_new_folder_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    with pytest.raises(UsageError, match="names no new folder"):
        folder.refuse_target(name, force=True)


@pytest.mark.parametrize("name", ["a" * 256, "a" * 244, "ü" * 122, "/".join(["b" * 200] * 30)])
def test_a_name_that_is_too_long_for_what_stands_beside_it_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="too long"):
        folder.refuse_target(tmp_path / name, force=False)


def test_a_name_that_just_fits_is_taken(tmp_path):
    place = folder.refuse_target(tmp_path / ("a" * 243), force=False)
    folder.work_folder(place).mkdir()
    folder.custodian_folder(place).mkdir()


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_what_can_be_no_name_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="name of no folder"):
        folder.refuse_target(str(tmp_path / name), force=False)


@pytest.mark.parametrize("force", [False, True])
def test_files_and_links_in_the_way_are_refused(tmp_path, force):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "other.holder").write_text("mine")
    for name, said in (
        ("file", "a file stands"),
        ("file/", "a file stands"),
        ("file/below", "a file stands"),
        ("link", "is a link"),
        ("other", "a file stands"),
        ("no/such", "does not exist"),
    ):
        with pytest.raises(UsageError, match=said):
            folder.refuse_target(f"{tmp_path}/{name}", force=force)


# --- what is ours ------------------------------------------------------------------------------------------------------

CHANGES = {
    "a file more": lambda place: (place / "thesis.txt").write_text("years of work"),
    "a hidden file": lambda place: (place / "recoding" / ".thesis").write_text("years of work"),
    "an empty folder": lambda place: (place / "empty").mkdir(),
    "a file less": lambda place: (place / "table.csv").unlink(),
    "another table": lambda place: (place / "table.csv").write_text("age\n"),
    "another page": lambda place: (place / "certificate.html").write_text("<p>notes</p>"),
    "a link": lambda place: (
        (place / "table.csv").rename(place.with_name("t")) and (place / "table.csv").symlink_to("../t")
    ),
    "a pipe": lambda place: os.mkfifo(place / "pipe"),
    "another certificate": lambda place: (place / "certificate.json").write_text("{}"),
    "a seal": lambda place: (place / "certificate.json").write_text(
        (place / "certificate.json").read_text().replace('"dataset": "clinic"', '"dataset": "clinics"')
    ),
    "no certificate": lambda place: (place / "certificate.json").unlink(),
    "deep JSON": lambda place: (place / "certificate.json").write_text("[" * 100_000),
}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return clinic.publish(tmp_path_factory.mktemp("own")).folder


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_that_is_not_as_it_was_released_is_not_replaced(release, tmp_path, change):
    """--force deleted any folder that held a certificate.json, with everything else in it."""
    place = shutil.copytree(release, tmp_path / "out")
    assert folder.is_own_release(place)
    CHANGES[change](place)
    assert not folder.is_own_release(place)
    with pytest.raises(UsageError, match="none of ours, or was changed"):
        folder.refuse_target(place, force=True)


def test_a_release_is_not_made_inside_another(release):
    for place in (release / "new", release / "recoding" / "new"):
        with pytest.raises(UsageError, match="would lie in another release"):
            folder.refuse_target(place, force=False)


@pytest.mark.parametrize("change", ["none", "file", "folder", "mark", "less", "link"])
def test_a_folder_is_the_custodians_with_both_pages_and_nothing_else(tmp_path, change):
    place = tmp_path / "out.holder"
    place.mkdir()
    folder.write_report(place, {"for_the_holder_only": folder.MARK}, "<p>lost</p>")
    if change == "file":
        (place / "notes.txt").write_text("mine")
    elif change == "folder":
        (place / "notes").mkdir()
    elif change == "mark":
        (place / "report.json").write_text("{}")
    elif change == "less":
        (place / "report.html").unlink()
    elif change == "link":
        (place / "report.html").rename(tmp_path / "page")
        (place / "report.html").symlink_to(tmp_path / "page")
    assert folder.is_own_report(place) is (change == "none")
