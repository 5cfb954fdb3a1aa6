"""What a release folder holds, by the one place that says so: every file of a release of each kind is named there."""

from __future__ import annotations

import re
import stat

import pytest

from shoal.publish import folder
from tests.publish import clinic, counted_clinic

PLACES = (
    r"table(-\d+)?\.(csv|parquet)",
    r"recoding/\d\d-[\w-]+\.json",
    r"recoding/boxes\.csv",
    r"recoding/boxes/[\w-]+\.csv",
    r"views/[\w-]+\.(csv|parquet)",
    *(re.escape(name) for name in (folder.CERTIFICATE, folder.PAGE, folder.LOCK, folder.VIEWS)),
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
    assert {folder.CERTIFICATE, folder.PAGE, folder.LOCK} <= set(files)
    private = made.custodian_folder
    if private is None:  # reports are made where they are looked at
        return
    assert private == folder.custodian_folder(made.folder)
    assert {path.name for path in private.iterdir()} == {folder.REPORT, folder.REPORT_PAGE}
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


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
