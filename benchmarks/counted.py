"""Releases by near neighbours from file to verified folder: CPU seconds and memory, stage by stage.

    python benchmarks/counted.py [rows] [--report]

Five normal columns and one more that is confidential, k = 10. Ranking goes through the engine's sort; the others collect
the columns that they compare. The holder's report is left out unless asked for.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release

WAYS = (
    ("microaggregation", "mdav"),
    ("microaggregation", "insensitive"),
    ("probabilistic-k", "mdav"),
    ("probabilistic-k", "ranking"),
)


def asked(method, grouping):
    """Five columns to group by, or to permute one by one."""
    alone = (method, grouping) == ("probabilistic-k", "ranking")
    role = "confidential" if alone else "quasi"
    attributes = {f"x{i}": {"role": role, "type": "decimal", "domain": [-10, 10]} for i in range(5)}
    attributes["s"] = {"role": "confidential", "type": "decimal"}
    head = {"version": 1, "dataset": "normal", "unit": "row", "neighbours": "add_remove"}
    return Policy.of({**head, "attributes": attributes, "release": {"method": method, "k": 10, "grouping": grouping}})


def run(rows, method, grouping, report):
    """One release in this process."""
    chance, stages = np.random.default_rng(0), []

    def stage(name):
        name = name.split(" (")[0].split(" x")[0].removesuffix(" s")
        if not stages or stages[-1][0] != name:
            stages.append((name, time.process_time()))

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        columns = {name: chance.normal(size=rows) for name in ("x0", "x1", "x2", "x3", "x4", "s")}
        pq.write_table(pa.table(columns), folder / "table.parquet")
        began = time.process_time()
        with Ledger(str(folder / "ledger.sqlite")) as book:
            release(
                plan(asked(method, grouping)), folder / "table.parquet", folder / "out", ledger=book,
                engine=open_engine("duckdb"), report=report, stage=stage,
            )  # fmt: skip
        stages.append(("", time.process_time()))
    parts = ", ".join(f"{name} {after - at:.1f}" for (name, at), (_, after) in pairwise(stages))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{method:17} {grouping:12} {stages[-1][1] - began:7.1f} CPU s  {memory:5.2f} GB   ({parts})")


def main():
    """Each way in a process of its own, so that memory is its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run(given.rows, *given.one, given.report)
        return
    print(f"{given.rows:,} rows")
    for way in WAYS:
        command = [sys.executable, __file__, str(given.rows), *(["--report"] if given.report else [])]
        subprocess.run([*command, "--one", *way], check=True)  # noqa: S603 - this script itself


if __name__ == "__main__":
    main()
