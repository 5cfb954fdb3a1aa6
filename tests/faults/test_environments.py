"""Service accounts, full disks, folders that cannot be written to: a command works, or says why before anything is charged."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.faults import check_said
from tests.faults.invariants import assert_no_trace_back, books, leftovers
from tests.faults.journeys import ASK, JOURNEYS, LEDGER, Place, release
from tests.faults.server import Done, Server

NOBODY = 65534
NO_HOME = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "MPLCONFIGDIR": None}
"""A home that cannot be written to by anybody, root included."""
HOMES: dict[str, dict[str, str | None]] = {
    "no home": {"HOME": None},
    "a home that is not there": {"HOME": "/nonexistent/home"},
    "a home that is a file": dict(NO_HOME),
}
TRIED = {
    "fixed levels": release("--no-report"),
    "grown tree": release("--no-report"),
    "microaggregation": release("--no-report"),
    "question": ASK,
}

SHORT = {("grown tree", "a home that is a file"), ("question", "no home")}
"""What `make test` tries."""


@pytest.fixture
def open_place(prepared: Callable[[str], Place]) -> Iterator[Callable[[str], Place]]:
    """A copy of a place that the user `nobody` owns, in a folder that everybody can enter."""
    top = Path(tempfile.mkdtemp(prefix="test-nobody-"))
    top.chmod(0o755)

    def make(name: str) -> Place:
        if os.geteuid() != 0:
            pytest.skip("cannot run here: only root can run a command as another user")
        first = prepared(name).copy(top / "first")  # so that the server has loaded all that the command needs
        assert first.run(*TRIED[name]).status == 0
        place = prepared(name).copy(top / "place")
        for path in (place.folder, *place.folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        return place

    yield make
    shutil.rmtree(top)


def as_nobody(place: Place, *command: str, **changes: str | None) -> Done:
    """Run a command as the user `nobody`."""
    return place.server.run(command, place.folder, uid=NOBODY, env=place.environment(**changes))


def close(path: Path, mode: int) -> None:
    """Give a file or folder to root, with a mode that keeps others from writing."""
    os.chown(path, 0, 0)
    path.chmod(mode)


def refused(place: Place, done: Done, *, code: tuple[int, ...] = (2, 4, 5)) -> None:
    """It was refused in words, nothing was charged, nothing was made."""
    assert_no_trace_back(done)
    assert done.status in code, done.said
    assert done.err.startswith(("error: ", "warning: ", "note: ")), done.err
    found = books(place)
    assert found is None or found.charges == 0, done.said
    assert not place.out.exists()
    assert leftovers(place) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "home"),
    [
        pytest.param(name, home, marks=[] if (name, home) in SHORT else [pytest.mark.long])
        for name in TRIED
        for home in HOMES
    ],
)
def test_a_service_account_without_a_home_is_served(place, name, home):
    there = place(name)
    old = books(there)
    done = there.server.run(TRIED[name], there.folder, env=there.environment(**HOMES[home]))
    assert done.status == 0, done.said
    check_said(JOURNEYS[name], there, done, old)


@pytest.mark.slow
def test_a_user_without_rights_elsewhere_is_served(open_place):
    there = open_place("fixed levels")
    old = books(there)
    close(there.folder / "home", 0o700)
    done = as_nobody(there, *release())
    assert done.status == 0, done.said
    assert {path.stat().st_uid for path in there.out.rglob("*")} == {NOBODY}
    assert books(there) != old
    assert leftovers(there) == []


@pytest.mark.slow
def test_a_target_that_cannot_be_written_to_costs_nothing(open_place):
    there = open_place("fixed levels")
    (there.folder / "shut").mkdir()
    close(there.folder / "shut", 0o555)
    done = as_nobody(there, *release(out="shut/out"))
    (there.folder / "shut").rmdir()
    refused(there, done)


@pytest.mark.slow
@pytest.mark.parametrize("out", ["/", "/proc/out", "/dev/null/out", "."])
def test_a_target_that_is_no_place_costs_nothing(place, out):
    there = place("fixed levels")
    done = there.run(*release(out=out))
    refused(there, done)


@pytest.mark.slow
def test_a_ledger_that_cannot_be_written_to_costs_nothing(open_place):
    there = open_place("fixed levels")
    close(there.folder / LEDGER, 0o444)
    close(there.folder, 0o555)
    done = as_nobody(there, *release(out="tmp/out"))
    os.chown(there.folder, NOBODY, NOBODY)
    there.folder.chmod(0o755)
    (there.folder / LEDGER).chmod(0o600)
    refused(there, done)


@pytest.mark.slow
def test_a_table_that_cannot_be_read_costs_nothing(open_place):
    there = open_place("fixed levels")
    close(there.folder / "table.csv", 0o600)
    refused(there, as_nobody(there, *release()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("fixed levels", "shut"),
        pytest.param("fixed levels", "/nonexistent", marks=pytest.mark.long),
        pytest.param("question", "shut", marks=pytest.mark.long),
        pytest.param("question", "/dev/null", marks=pytest.mark.long),
    ],
)
def test_without_a_folder_for_temporary_files_it_works_or_costs_nothing(open_place, name, folder):
    there = open_place(name)
    (there.folder / "shut").mkdir()
    close(there.folder / "shut", 0o555)
    old = books(there)
    where = str(there.folder / folder)  # an absolute path stays what it is
    done = as_nobody(there, *TRIED[name], TMPDIR=where)
    (there.folder / "shut").rmdir()
    assert_no_trace_back(done)
    if done.status == 0:
        assert leftovers(there) == []
    else:
        assert books(there) == old, done.said


@pytest.mark.slow
def test_the_default_ledger_where_there_is_no_home(place):
    there = place("fixed levels")
    (there.folder / LEDGER).unlink()
    command = [word for word in release() if word not in {"--ledger", LEDGER}]
    done = there.server.run(command, there.folder, env=there.environment(**NO_HOME, XDG_DATA_HOME=None))
    refused(there, done)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A file system of so many kilobytes, where one can be mounted."""
    mounted: list[Path] = []

    def mount(kilobytes: int) -> Path:
        where = tmp_path / "small"
        where.mkdir()
        options = ["-t", "tmpfs", "-o", f"size={kilobytes}k,mode=0700", "tmpfs", str(where)]
        program = shutil.which("mount")
        if program is None or subprocess.run([program, *options], check=False, capture_output=True).returncode:
            pytest.skip("cannot run here: no file system can be mounted")
        mounted.append(where)
        return where

    yield mount
    for where in mounted:
        subprocess.run([shutil.which("umount") or "umount", str(where)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kilobytes", [8, pytest.param(160, marks=pytest.mark.long), pytest.param(1000, marks=pytest.mark.long)]
)
def test_a_small_disk_is_noticed_before_the_charge(place, small_disk, kilobytes):
    there = place("fixed levels")
    small = small_disk(kilobytes)
    done = there.run(*release(out=str(small / "out")))
    assert_no_trace_back(done)
    found = books(there)
    assert found is not None
    if done.status:
        assert found.charges == 0, done.said
        assert list(small.iterdir()) == []
    else:
        assert found.seals


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [4, 40])
def test_a_full_disk_under_the_ledger_costs_nothing(place, small_disk, kilobytes):
    there = place("fixed levels")
    small = small_disk(kilobytes)
    shutil.copy2(there.folder / LEDGER, small) if kilobytes > 30 else None
    handle = os.open(small / "filler", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(handle, b"0" * 4096)
    os.close(handle)
    command = [str(small / LEDGER) if word == LEDGER else word for word in release()]
    done = there.run(*command, *(["--new-ledger"] if kilobytes <= 30 else []))
    refused(there, done)
    assert "full" in done.err or "space" in done.err, done.err


@pytest.mark.long
@pytest.mark.parametrize("name", ["fixed levels", "question"])
def test_a_ledger_that_another_process_holds_costs_nothing(place, name):
    there = place(name)
    held = sqlite3.connect(there.folder / LEDGER)
    held.isolation_level = None
    held.execute("BEGIN IMMEDIATE")
    done = there.run(*TRIED[name])
    held.execute("ROLLBACK")
    held.close()
    refused(there, done, code=(4,))
    assert "locked" in done.err


@pytest.fixture(scope="module")
def cold() -> Iterator[Server]:
    """A server that forks before anything of Shoal is loaded."""
    with Server(cold=True) as running:
        yield running


@pytest.mark.long
@pytest.mark.parametrize("home", ["a home that is a file", "no home"])
@pytest.mark.parametrize("name", list(TRIED))
def test_nothing_is_loaded_yet_and_there_is_no_cache(place, cold, name, home):
    there = place(name)
    old = books(there)
    done = cold.run(TRIED[name], there.folder, env=there.environment(**HOMES[home]))
    assert done.status == 0, done.said
    check_said(JOURNEYS[name], there, done, old)
