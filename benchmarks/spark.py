"""What a release takes on Spark beside DuckDB: CPU, memory, stages, shuffled bytes, against rows and numbers of partitions.

    python benchmarks/spark.py [--rows 1,10,50] [--partitions 8,64,512] [--recoding fixed,tree]      rows in millions

Each release runs in a process of its own on the table of `engine.py`, with the policy of `release.py`: both engines on two
cores, half of the rows sampled, no report. CPU is that of the whole tree of processes (Java, and Python's workers), without
starting Spark; memory is the most that all of them held, executors included. Stages come from Spark's event log.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import psutil
import release as releases

import engine

LIMIT = 8.0
"""The figure to beat: Spark's CPU in times of DuckDB's for the same release."""
HEAD = ("engine", "recoding", "rows", "partitions", "CPU s", "us/row", "GB", "wall s")


def levels():
    """The recoding of fixed levels, as the policy of `release.py` writes it."""
    return "{levels: {" + ", ".join(f"{name}: {level}" for name, level in releases.LEVELS.items()) + "}}"


RECODINGS = {"fixed": levels(), "tree": "{tree: {epsilon: 0.15}}"}


# --- one release, in a process of its own ------------------------------------------------------------------------------


def one(name, data, policy, folder, partitions):
    """Make a release, and print what its stages took."""
    from shoal.engine.duckdb.engine import DuckDB
    from shoal.ledger.ledger import open_ledger
    from shoal.policy.policy import Policy
    from shoal.publish.plan.methods import plan
    from shoal.publish.run.release import release

    planned = plan(Policy.load(policy))
    chosen = DuckDB(threads=2)
    events = folder / "events"
    if name == "spark":
        from shoal.engine.spark.engine import Spark
        from shoal.engine.spark.session import start

        events.mkdir()
        settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.driver.memory": "4g",
            "spark.local.dir": str(folder),
            "spark.sql.shuffle.partitions": str(partitions),
            "spark.sql.files.maxPartitionBytes": str(max(1 << 16, data.stat().st_size // partitions)),
        }
        session = start("local[2]", settings)
        session.range(1).count()  # what Spark does once at its first job
        chosen = Spark("local[2]", settings)
    print(json.dumps({"ready": used(os.getpid())}), flush=True)
    marks = []
    began = time.perf_counter()
    with open_ledger(str(folder / "ledger.sqlite"), new=True) as book:
        made = release(
            planned, data, folder / "release", ledger=book, engine=chosen, report=False,
            stage=lambda each: marks.append((str(each).split(" (")[0], used(os.getpid()))),
        )  # fmt: skip
    wall, end = time.perf_counter() - began, used(os.getpid())
    stages = defaultdict(float)
    for (words, at), (_, then) in zip(marks, [*marks[1:], ("", end)], strict=True):
        stages[words.split(",")[0]] += then - at
    if name == "spark":
        session.stop()
    print(
        json.dumps(
            {"rows": made.rows_published, "wall": wall, "end": end, "stages": stages, "spark": read_events(events)}
        )
    )


def used(root):
    """CPU seconds of a process and of all that it started, ended ones included."""
    total = 0.0
    for each in (psutil.Process(root), *psutil.Process(root).children(recursive=True)):
        try:
            times = each.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def read_events(folder):
    """What the event log says: shuffled bytes, and of each stage its tasks, CPU and the most rows that one task read."""
    shuffled, stages = 0, defaultdict(lambda: [0, 0.0, 0])
    for file in folder.rglob("*") if folder.is_dir() else ():
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("Event") == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                told = event["Task Metrics"]
                own = stages[event["Stage ID"]]
                shuffled += told["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                rows = told["Input Metrics"]["Records Read"] + told["Shuffle Read Metrics"]["Total Records Read"]
                own[0] += 1
                own[1] += told["Executor CPU Time"] / 1e9
                own[2] = max(own[2], rows)
    return {"shuffled": shuffled, "stages": sorted(stages.values(), key=lambda each: -each[1])[:6]}


# --- all of them -------------------------------------------------------------------------------------------------------


def measure(name, data, recoding, partitions):
    """Run one release, and watch the memory of its processes."""
    with tempfile.TemporaryDirectory(dir=data.parent) as scratch:
        folder = Path(scratch)
        policy = folder / "policy.yaml"
        policy.write_text(releases.policy(RECODINGS[recoding]), encoding="utf-8")
        command = [sys.executable, __file__, "--one", name, str(data), str(policy), str(folder), str(partitions)]
        made = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
        peak, ended = [0.0], threading.Event()
        watcher = threading.Thread(target=watch, args=(made.pid, peak, ended))
        watcher.start()
        said = [json.loads(line) for line in made.communicate()[0].splitlines() if line.startswith("{")]
        ended.set()
        watcher.join()
        if made.returncode:
            raise SystemExit(f"failed: {' '.join(command)}")
    return {**said[1], "cpu": said[1]["end"] - said[0]["ready"], "peak": peak[0]}


def watch(root, peak, ended):
    """Note the most memory that a tree of processes holds."""
    while not ended.wait(0.2):
        held = 0
        try:
            for each in (psutil.Process(root), *psutil.Process(root).children(recursive=True)):
                held += each.memory_info().rss
        except psutil.Error:
            continue
        peak[0] = max(peak[0], held / 1024**3)


def show(name, recoding, rows, partitions, found):
    """Print one line, and the stages of the release below it."""
    cells = (name, recoding, f"{rows:,}", partitions, f"{found['cpu']:.1f}", f"{found['cpu'] / rows * 1e6:.2f}",
             f"{found['peak']:.2f}", f"{found['wall']:.1f}")  # fmt: skip
    print("".join(f"{cell!s:>12}" for cell in cells))
    print("    " + ", ".join(f"{words} {cpu:.1f}" for words, cpu in found["stages"].items() if cpu > 0.5))
    if name == "spark":
        per = found["spark"]["shuffled"] / rows
        print(f"    shuffled {per:.1f} bytes a row; largest stages (tasks, Java's CPU s, most rows of a task): "
              + "; ".join(f"{tasks}, {cpu:.1f}, {most:,}" for tasks, cpu, most in found["spark"]["stages"]))  # fmt: skip
    sys.stdout.flush()


def main():
    """Make the tables, run the releases, print a table."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--rows", default="1,10")
    asked.add_argument("--partitions", default="8")
    asked.add_argument("--recoding", default="fixed")
    given = asked.parse_args()
    print("".join(f"{each:>12}" for each in HEAD))
    for millions in given.rows.split(","):
        rows = int(float(millions) * engine.MILLION)
        with tempfile.TemporaryDirectory() as scratch:
            data = Path(scratch) / "table.parquet"
            subprocess.run([sys.executable, engine.__file__, str(rows), str(data)], check=True)  # noqa: S603
            for recoding in given.recoding.split(","):
                ours = measure("duckdb", data, recoding, 1)
                show("duckdb", recoding, rows, "-", ours)
                for partitions in map(int, given.partitions.split(",")):
                    theirs = measure("spark", data, recoding, partitions)
                    show("spark", recoding, rows, partitions, theirs)
                    if theirs["rows"] < 0.9 * ours["rows"]:
                        raise SystemExit("the two engines publish different tables")
                    print(
                        f"    {theirs['cpu'] / ours['cpu']:.1f} times DuckDB's CPU; to beat: {LIMIT} at 50 million rows"
                    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5]), int(sys.argv[6]))
    else:
        main()
