"""A release on Spark that cannot end says why and publishes nothing; the ledger says what was charged. Real processes fail."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from shoal.ledger.ledger import Ledger
from tests.engine.spark.test_engine_cluster import make_input
from tests.spark import require_spark

pytestmark = pytest.mark.long
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.executor.memory": "512m",
}
MANY = 500_000
"""Rows that keep a small cluster busy for seconds after the charge, so that there is something to kill."""
MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'
"""Gives a folder little room, for one process and its children."""


def command(folder: Path, master: str, settings: dict[str, str]) -> list[str]:
    options = [part for name, value in {**SETTINGS, **settings}.items() for part in ("--spark-conf", f"{name}={value}")]
    return [
        sys.executable, "-W", "ignore", "-c", "from shoal.cli import main; main()", "release", str(folder / "policy.yaml"),
        str(folder / "people"),
        "--out", str(folder / "out"), "--ledger", str(folder / "ledger.sqlite"), "--new-ledger", "--json",
        "--engine", "spark", "--spark-master", master, *options,
    ]  # fmt: skip


def charges(path: Path) -> int:
    """How many charges a ledger holds that another process may be writing."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM events WHERE kind = 'charge'").fetchone()[0])
    return 0


def kill_executors(process: subprocess.Popen[str]) -> int:
    """Kill every Java process that runs tasks of a process, now and whenever one is started in its place."""
    killed = 0
    with suppress(psutil.Error):  # it may end meanwhile
        for each in psutil.Process(process.pid).children(recursive=True):
            if "CoarseGrainedExecutorBackend" in " ".join(each.cmdline()):
                os.kill(each.pid, signal.SIGKILL)
                killed += 1
    return killed


def check_failure(folder: Path, code: int, printed: str, wrong: str, charge: str, number: int) -> None:
    """The error says what happened and what was charged, as the ledger has it; nothing else is left."""
    assert code == 5, printed
    error = json.loads(printed)["error"]
    assert wrong in error["wrong"]
    assert charge in error["fix"]
    assert [path.name for path in folder.iterdir() if "out" in path.name] == []
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        ledger.verify()
    assert charges(folder / "ledger.sqlite") == number


def test_executors_that_are_lost_for_good_end_a_release_after_its_charge(tmp_path):
    require_spark()
    make_input(tmp_path, MANY)
    settings = {"spark.deploy.maxExecutorRetries": "1"}
    with subprocess.Popen(
        command(tmp_path, "local-cluster[1,1,512]", settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        killed = 0
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
            if charges(tmp_path / "ledger.sqlite"):
                killed += kill_executors(process)
        printed, complaints = process.communicate()
    assert killed, complaints[-4000:]
    check_failure(tmp_path, process.returncode, printed, "lost its workers", "the charge stands", 1)


def test_no_room_for_what_is_shuffled_ends_a_release(tmp_path):
    require_spark()
    make_input(tmp_path)
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    confined = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh", "64k", str(tiny)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*confined, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("cannot run here: a folder cannot be given a small file system of its own (unshare, mount)")
    asked = command(tmp_path, "local[2]", {"spark.local.dir": str(tiny)})
    run = subprocess.run([*confined, *asked], capture_output=True, text=True, check=False)
    check_failure(tmp_path, run.returncode, run.stdout, "more disk space", "nothing was charged", 0)
