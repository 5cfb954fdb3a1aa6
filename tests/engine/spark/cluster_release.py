"""A release on a cluster of real processes, one of whose executors is killed in the middle; run by test_engine_cluster.py.

    python cluster_release.py FOLDER VICTIM

FOLDER holds policy.yaml, a folder of Parquet files `people`, and takes ledger, logs and release. With VICTIM = "kill" an executor
is killed as soon as tasks of the sampling job run. What happened is printed as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil

import shoal.chance.source
from shoal.chance.row_mask import RowMask
from shoal.chance.source import Source
from shoal.engine.spark.engine import Spark
from shoal.engine.spark.session import start
from shoal.ledger.ledger import open_ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release

SEED = 11
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
"""Three Java processes live for seconds: none has the time to win back what it spends on compiling well."""


def executors() -> list[psutil.Process]:
    """The Java processes of the cluster that run tasks."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it may end meanwhile
            if "CoarseGrainedExecutorBackend" in " ".join(each.cmdline()):
                found.append(each)
    return found


def kill_one(session, done: threading.Event, killed: list[int]) -> None:
    """Kill an executor as soon as tasks of a job with several run."""
    tracker = session.sparkContext.statusTracker()
    while not done.wait(0.002):
        for number in tracker.getActiveStageIds():
            found = tracker.getStageInfo(number)
            if found is not None and found.numTasks > 2 and found.numActiveTasks > 0:
                victim = executors()[0]
                os.kill(victim.pid, signal.SIGKILL)
                killed.append(victim.pid)
                return


def main(folder: Path, victim: str) -> None:
    """Make the release, and print what became of it."""
    keys: list[bytes] = []
    made_portable = RowMask.portable

    def remember(mask: RowMask) -> RowMask:
        keys.append(bytes(mask._key.secret()))
        return made_portable(mask)

    RowMask.portable = remember  # type: ignore[method-assign]
    shoal.chance.source.Source.carries_guarantee = True  # type: ignore[assignment] # a seeded release is refused
    (folder / "events").mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.log.level": "INFO",
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.ui.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "512m",
        "spark.task.maxFailures": "8",
        "spark.sql.files.maxPartitionBytes": "16384",
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.driver.extraJavaOptions": JAVA,
        "spark.executor.extraJavaOptions": JAVA,
    }
    master = os.environ.get("SHOAL_TEST_MASTER", "local-cluster[2,1,512]")
    session = start(master, settings)
    done, killed = threading.Event(), []
    watcher = threading.Thread(target=kill_one, args=(session, done, killed))

    def stage(name: str) -> None:
        if name == "sampling" and victim == "kill" and not watcher.is_alive() and not killed:
            watcher.start()

    planned = plan(Policy.load(folder / "policy.yaml"))
    with open_ledger(str(folder / f"ledger-{victim}.sqlite"), new=True) as book:
        made = release(
            planned,
            folder / "people",
            folder / f"release-{victim}",
            ledger=book,
            engine=Spark(master=master, settings=settings),
            source=Source.seeded(SEED),
            report=False,
            stage=stage,
        )
        charges = sum(event.kind == "charge" for event in book.events(planned.policy.dataset))
    done.set()
    page = session.sparkContext.uiWebUrl
    shown = []
    for path in ("api/v1/applications", f"api/v1/applications/{session.sparkContext.applicationId}/sql?details=true&length=500",
                 f"api/v1/applications/{session.sparkContext.applicationId}/environment"):  # fmt: skip
        with urllib.request.urlopen(f"{page}/{path}") as answer:  # noqa: S310 - our own page on loopback
            shown.append(answer.read().decode())
    (folder / "page.txt").write_text("\n".join(shown))
    print(  # noqa: T201 - what the test reads
        json.dumps(
            {
                "rows": made.rows_published,
                "charges": charges,
                "killed": killed,
                "keys": [key.hex() for key in keys],
                "pid": os.getpid(),
            }
        )
    )
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
