"""Tables that are folders of parts: both verifiers read them as one table, and a forgery of parts fails the check it is about."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.engine.write import encode_part, part_name
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish import box_clinic, centroid_clinic, noisy_clinic, sample_clinic
from tests.publish.clinic import TREATED, publish
from tests.publish.counted_clinic import publish as publish_counted
from tests.publish.grouped_clinic import publish as publish_grouped
from tests.publish.level_clinic import publish as publish_levels
from tests.publish.parts import part_files, parts_of
from tests.publish.release_folder import certificate
from tests.publish.verify.forgery import write

pytestmark = pytest.mark.slow

PARQUET: dict[str, object] = {"release.output": "parquet"}
TREE = PARQUET | {"release.recoding": {"tree": {"epsilon": "0.3"}}}
VIEWS = PARQUET | {"release.views": "pairs", "release.delta": "1e-4"}
EVERY: dict[str, Callable[[Path], Any]] = {
    "levels": lambda place: publish(place, PARQUET, rows=900),
    "tree": lambda place: publish(place, TREE, rows=900, report=False),
    "views": lambda place: publish(place, VIEWS, rows=1500),
    "repeat": lambda place: publish(place, PARQUET | {"release.repeat": 2, "release.delta": "1e-2"}, report=False),
    "treated": lambda place: publish(place, PARQUET | TREATED, rows=900, report=False),
    "sample": lambda place: sample_clinic.publish(place, changes=PARQUET),
    "microaggregation": lambda place: publish_counted(place, "microaggregation", PARQUET),
    "probabilistic-k": lambda place: publish_counted(place, "swap", PARQUET, report=False),
    "k-anonymity": lambda place: publish_levels(place, "every", PARQUET, report=True),
    "t-closeness": lambda place: publish_grouped(place, "linked", PARQUET, rows=160, report=True),
    "centroids": lambda place: centroid_clinic.publish(place, centroid_clinic.KINDS["ranking"] | PARQUET, report=True),
    "boxes": lambda place: box_clinic.publish(place, PARQUET, report=True),
    "synthetic": lambda place: noisy_clinic.publish(place, "synthetic-parquet", report=True),
}
"""Releases with parts of every method that publishes rows."""


def failed(folder: Path) -> set[str]:
    return {check.id for check in verify(folder) if check.agrees is False}


def failed_alone(folder: Path) -> set[str]:
    return {check.id for check in verifier.verify(folder) if check.agrees is False}


@pytest.mark.parametrize("kind", EVERY)
def test_a_release_with_parts_of_every_method_is_verified_by_both(tmp_path, kind):
    with parts_of(50):
        folder = EVERY[kind](tmp_path).folder
    parts = [name for name in certificate(folder)["files"] if ".parquet/" in name]
    assert len(parts) > 1
    assert all((folder / name).is_file() for name in parts)
    assert failed(folder) == set()
    lines, code = verifier.report(verifier.verify(folder))
    assert code == 0, lines
    assert any("table-parts" in line for line in lines)


def test_where_there_is_no_pyarrow_a_table_of_parts_is_not_verified(honest, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    checks = verifier.verify(honest)
    assert [check.id for check in checks if check.agrees is False] == []
    assert {"table-parts", "class-size"} <= {check.id for check in checks if check.agrees is None and check.promise}
    assert verifier.report(checks)[1] == 3


def test_the_one_file_verifier_needs_nothing_of_ours(honest):
    command = [sys.executable, "-I", verifier.__file__, str(honest)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, "table-parts (table.parquet): " in done.stdout) == (0, True)


def test_of_a_sorted_sample_no_rows_are_kept(honest, monkeypatch):
    def refuse(*_):
        raise AssertionError("rows of a sorted table are counted as they pass")

    monkeypatch.setattr(verifier, "read_rows", refuse)
    assert failed_alone(honest) == set()


def test_classes_of_a_table_that_is_not_sorted_are_counted_wherever_their_rows_stand(tmp_path, honest):
    folder = Path(shutil.copytree(honest, tmp_path / "out"))
    exchange(folder)
    write(folder, certificate(folder))
    found = {check.id: check for check in verifier.verify(folder)}
    before = {check.id: check for check in verifier.verify(honest)}
    assert found["row-order"].agrees is False
    assert found["class-size"] == before["class-size"]


# --- forgeries ----------------------------------------------------------------------------------------------------------

FIRST, SECOND, THIRD = (f"table.parquet/{part_name(number)}" for number in range(3))


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in parts, each of several classes; nobody changes it."""
    with parts_of(120):
        folder = publish(tmp_path_factory.mktemp("parts"), PARQUET, rows=900, report=False).folder
    assert len(part_files(folder)) > 3
    assert failed(folder) == set()
    return folder


def relist(folder: Path, content: dict[str, Any]) -> None:
    """List what is in the folder of the table, as a forger would who makes all hashes anew."""
    kept = {name: own for name, own in content["files"].items() if not name.startswith("table.parquet")}
    place = folder / "table.parquet"
    found = place.iterdir() if place.is_dir() and not place.is_symlink() else [place]
    content["files"] = kept | {path.relative_to(folder).as_posix(): "0" * 64 for path in found}


def rewrite(path: Path, table: pa.Table) -> None:
    path.write_bytes(encode_part(table.schema, table.to_batches()))


def change_rows(name: str, change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], object]:
    return lambda folder: rewrite(folder / name, change(pq.read_table(folder / name)))


def exchange(folder: Path) -> None:
    (folder / FIRST).rename(folder / "aside")
    (folder / SECOND).rename(folder / FIRST)
    (folder / "aside").rename(folder / SECOND)


def double(folder: Path) -> None:
    last = part_files(folder)[-2]
    shutil.copy(last, folder / "table.parquet" / part_name(len(part_files(folder))))


def move_row(folder: Path) -> None:
    first, third = pq.read_table(folder / FIRST), pq.read_table(folder / THIRD)
    rewrite(folder / THIRD, pa.concat_tables([first.slice(0, 1), third]))
    rewrite(folder / FIRST, first.slice(1))


def cut(folder: Path) -> None:
    content = (folder / SECOND).read_bytes()
    (folder / SECOND).write_bytes(content[: len(content) // 2])


def link(folder: Path) -> None:
    (folder / SECOND).rename(folder.parent / "elsewhere.parquet")
    (folder / SECOND).symlink_to(folder.parent / "elsewhere.parquet")


def link_folder(folder: Path) -> None:
    (folder / "table.parquet").rename(folder.parent / "elsewhere")
    (folder / "table.parquet").symlink_to(folder.parent / "elsewhere")


def fold(folder: Path) -> None:
    """One file where the parts were."""
    whole = pa.concat_tables([pq.read_table(file) for file in part_files(folder)])
    shutil.rmtree(folder / "table.parquet")
    rewrite(folder / "table.parquet", whole)


def nest(folder: Path) -> None:
    (folder / SECOND).unlink()
    (folder / SECOND).mkdir()
    shutil.copy(folder / FIRST, folder / SECOND / part_name(0))


def widen(table: pa.Table) -> pa.Table:
    return table.append_column("name", pa.array(["John"] * len(table)))


FORGERIES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "removed": (lambda folder: (folder / SECOND).unlink(), "file-hash", "table-parts"),
    "added": (double, "no-other-files", "row-order"),
    "something else added": (
        lambda folder: (folder / "table.parquet" / "notes.txt").write_text("x"), "no-other-files", "table-parts"
    ),
    "renamed": (
        lambda folder: (folder / SECOND).rename(folder / "table.parquet" / "part-1.parquet"), "file-hash", "table-parts"
    ),
    "numbered otherwise": (
        lambda folder: (folder / FIRST).rename(folder / "table.parquet" / "part-000000.parquet"), "file-hash", "table-parts"
    ),
    "exchanged": (exchange, "file-hash", "row-order"),
    "doubled": (lambda folder: shutil.copy(folder / FIRST, folder / SECOND), "file-hash", "row-order"),
    "cut": (cut, "file-hash", "table-parts"),
    "no Parquet": (lambda folder: (folder / SECOND).write_text("age,sex\n"), "file-hash", "table-parts"),
    "empty": (change_rows(SECOND, lambda table: table.slice(0, 0)), "file-hash", "table-parts"),
    "of other types": (
        change_rows(SECOND, lambda table: table.set_column(1, "sex", pa.array([1] * len(table)))), "file-hash", "table-parts"
    ),
    "of more columns": (change_rows(SECOND, widen), "file-hash", "table-parts"),
    "of other names": (
        change_rows(SECOND, lambda table: table.rename_columns([*table.column_names[:-1], "x"])), "file-hash", "table-parts"
    ),
    "with a note": (
        lambda folder: pq.write_table(
            pq.read_table(folder / SECOND).replace_schema_metadata({"who": "John"}), folder / SECOND
        ),
        "file-hash",
        "table-notes",
    ),
    "a row moved": (move_row, "file-hash", "row-order"),
    "a row taken": (change_rows(SECOND, lambda table: table.slice(1)), "file-hash", ""),
    "a link": (link, "plain-files", "plain-files"),
    "a folder that is a link": (link_folder, "plain-files", "plain-files"),
    "a folder in a part's place": (nest, "file-hash", "file-hash"),
    "one file in the place of parts": (fold, "file-hash", ""),
}  # fmt: skip
"""What is done to the parts, the check that must fail for it, and the one that must fail if list, hashes and seal are made anew.

Where a forger who makes everything anew has made an honest folder of other rows, there is none.
"""


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_part_fails_by_name(tmp_path, honest, forgery):
    change, check, _ = FORGERIES[forgery]
    folder = Path(shutil.copytree(honest, tmp_path / "out"))
    change(folder)
    assert check in failed(folder)
    assert check in failed_alone(folder)


@pytest.mark.parametrize("forgery", [name for name, (*_, check) in FORGERIES.items() if check])
def test_a_forged_part_fails_by_name_though_all_hashes_are_made_anew(tmp_path, honest, forgery):
    change, _, check = FORGERIES[forgery]
    folder = Path(shutil.copytree(honest, tmp_path / "out"))
    change(folder)
    content = certificate(folder)
    relist(folder, content)
    write(folder, content)
    assert check in failed(folder)
    assert check in failed_alone(folder)


def test_a_folder_where_the_certificate_says_a_file(tmp_path, honest):
    folder = Path(shutil.copytree(honest, tmp_path / "out"))
    content = certificate(folder)
    content["files"] = {name: own for name, own in content["files"].items() if not name.startswith("table.parquet/")}
    write(folder, content | {"files": content["files"] | {"table.parquet": "0" * 64}})
    for found in (failed(folder), failed_alone(folder)):
        assert {"file-hash", "no-other-files"} <= found


def test_a_table_that_is_listed_as_a_file_and_as_parts(tmp_path, honest):
    folder = Path(shutil.copytree(honest, tmp_path / "out"))
    content = certificate(folder)
    write(folder, content | {"files": content["files"] | {"table.parquet": "0" * 64}})
    assert "file-hash" in failed(folder)
    assert "file-hash" in failed_alone(folder)


def test_parts_of_a_csv_table_are_no_table(tmp_path):
    folder = publish(tmp_path, report=False).folder
    content = (folder / "table.csv").read_bytes()
    (folder / "table.csv").unlink()
    (folder / "table.csv").mkdir()
    (folder / "table.csv" / part_name(0)).write_bytes(content)
    told = certificate(folder)
    del told["files"]["table.csv"]
    write(folder, told | {"files": told["files"] | {f"table.csv/{part_name(0)}": "0" * 64}})
    for found in (failed(folder), failed_alone(folder)):
        assert {"table-text", "no-idle-files"} <= found


@pytest.mark.parametrize("kind", ["microaggregation", "k-anonymity", "t-closeness", "centroids", "boxes"])
def test_parts_in_another_order_are_caught_by_both_for_every_counted_method(tmp_path, kind):
    with parts_of(50):
        folder = EVERY[kind](tmp_path).folder
    table = next(folder.rglob("*.parquet"))
    first, second = (table / part_name(number) for number in range(2))
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    write(folder, certificate(folder))
    assert "row-order" in failed_alone(folder)
    assert {"row-order", "table-rewritten"} <= failed(folder)


def test_more_rows_than_the_limit_in_all_parts_together(tmp_path, honest, monkeypatch):
    monkeypatch.setattr(verifier, "MOST_ROWS", 150)
    assert "bounds" in failed_alone(honest)
