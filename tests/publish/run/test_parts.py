"""A release whose table is a folder of parts appears, is replaced, recovered, packed, reported and assessed like any other."""

from __future__ import annotations

import json
import shutil
import stat
import zipfile

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.publish.folder import is_own_release
from shoal.publish.run.recover import recover_target
from shoal.publish.share import pack
from shoal.publish.verify.release import require, verify
from tests.publish.clinic import publish
from tests.publish.parts import divided, part_files, parts_of
from tests.publish.release_folder import account, certificate
from tests.publish.run.killed import kill

pytestmark = pytest.mark.slow

PARQUET: dict[str, object] = {"release.output": "parquet"}


def release(place, **options):
    with parts_of(50):
        return publish(place, PARQUET, **options)


def test_a_large_table_is_a_folder_of_parts_and_every_part_has_its_hash(tmp_path):
    made = release(tmp_path, report=True)
    parts = part_files(made.folder)
    assert [path.name for path in parts] == [f"part-{number:05d}.parquet" for number in range(len(parts))]
    assert sum(pq.read_metadata(path).num_rows for path in parts) == made.rows_published > 100
    listed = [name for name in certificate(made.folder)["files"] if name.startswith("table")]
    assert listed == [f"table.parquet/{path.name}" for path in parts]
    assert made.certificate["tables"][0]["file"] == "table.parquet"
    report = json.loads((made.custodian_folder / "report.json").read_text())
    assert report["rows"]["published"] == made.rows_published
    assert f"table.parquet/{parts[-1].name}" in (made.folder / "certificate.html").read_text()


def test_times_and_permissions_of_parts_tell_nothing(tmp_path):
    made = release(tmp_path)
    every = (made.folder, *made.folder.rglob("*"))
    assert len({path.stat().st_mtime for path in every}) == 1
    modes = {path.is_dir(): stat.S_IMODE(path.stat().st_mode) for path in every}
    assert all(stat.S_IMODE(path.stat().st_mode) == modes[path.is_dir()] for path in every)


def test_a_release_with_parts_is_replaced_and_recovered_as_a_whole(tmp_path):
    old = release(tmp_path).certificate["seal"]
    assert is_own_release(tmp_path / "out")
    with parts_of(50):
        kill(tmp_path, "place", changes=PARQUET, force=True)
    assert certificate(tmp_path / "out")["seal"] == old
    (said,) = recover_target(tmp_path / "out")
    assert "was finished" in said
    assert certificate(tmp_path / "out")["seal"] != old
    require(verify(tmp_path / "out"))
    assert part_files(tmp_path / "out")
    assert account(tmp_path).releases == 2
    publish(tmp_path, PARQUET, force=True)  # a file takes the place of parts
    assert (tmp_path / "out" / "table.parquet").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.sqlite", "out", "table.csv"]


@pytest.mark.parametrize("change", ["added", "removed", "changed"])
def test_a_folder_whose_parts_were_changed_is_none_of_ours(tmp_path, change):
    folder = release(tmp_path).folder
    first, second = part_files(folder)[:2]
    if change == "added":
        shutil.copy(second, first.with_name("part-99999.parquet"))
    elif change == "removed":
        second.unlink()
    else:
        shutil.copy(first, second)
    assert not is_own_release(folder)


def test_what_is_packed_has_every_part_and_verifies(tmp_path):
    folder = release(tmp_path).folder
    packed = pack(folder)
    with zipfile.ZipFile(packed) as archive:
        held = {name for name in archive.namelist() if "part-" in name}
    assert held == {f"out/table.parquet/{path.name}" for path in part_files(folder)}
    require(verify(packed))
    assert shoal.load(packed).count({}).value == pytest.approx(shoal.load(folder).count({}).value)


def test_an_assessment_is_that_of_the_same_rows_in_one_file(tmp_path):
    one = publish(tmp_path, PARQUET, rows=900).folder
    several = divided(one, tmp_path / "parts", 50)
    found = [shoal.assess(folder, tmp_path / "table.csv", full=False).to_json() for folder in (one, several)]
    # In another order of addition the last digits differ.
    first, second = (json.loads(json.dumps(each), parse_float=lambda text: round(float(text), 9)) for each in found)
    assert first == second
