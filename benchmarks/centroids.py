"""DP microaggregation of a million records with five numbers: CPU seconds against the aim of 20, and memory against the rows.

    python benchmarks/centroids.py [ROWS] [--release]

Every way runs in a process of its own at a quarter, a half and all of the rows: CPU seconds from a table on disk to rows that may
be published, without imports and without opening the table, and the most memory above what the process held before. Records are
generated incomes, taxes, ages, hours and debts with their declared domains; epsilon is 1. `--release` walks the whole way
instead, from the policy to a verified folder, without the holder's report.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

AIM = 20
"""CPU seconds for a million records."""
DOMAINS = {
    "income": (0, 1_000_000),
    "tax": (0, 400_000),
    "age": (16, 100),
    "hours": (0, 100),
    "debt": (0, 2_000_000),
}
WAYS = {
    "insensitive, one order": {"grouping": "insensitive"},
    "insensitive, Laplace, k = 10": {"grouping": "insensitive", "noise": "laplace", "k": 10},
    "insensitive, 32 corners": {"grouping": "insensitive", "corners": 32},
    "insensitive, 32 corners, k = 10": {"grouping": "insensitive", "corners": 32, "noise": "laplace", "k": 10},
    "insensitive, Gaussian": {"grouping": "insensitive", "noise": "gaussian", "delta": "1e-6"},
    "ranking": {"grouping": "ranking"},
    "boxes": {"grouping": "boxes"},
}


def make(path, rows):
    """Five columns that depend on each other, inside their domains."""
    chance = np.random.default_rng(1)
    age = chance.integers(16, 101, rows)
    income = np.exp(chance.normal(10.2 + 0.01 * (age - 16), 0.9, rows))
    hours = chance.binomial(100, 0.38, rows)
    drawn = {
        "income": income,
        "tax": income * chance.beta(2, 6, rows),
        "age": age,
        "hours": hours,
        "debt": income * chance.exponential(1.5, rows),
    }
    columns = {name: np.clip(np.rint(drawn[name]), *DOMAINS[name]).astype(np.int64) for name in DOMAINS}
    parquet.write_table(pa.table(columns), path)


def policy(way, rows):
    """The policy of one way, with every domain declared."""
    from shoal.policy.policy import Policy

    asked = {"method": "dp-microaggregation", "epsilon": 1, **WAYS[way]}
    by_boxes = asked["grouping"] == "boxes"
    told = {"role": "confidential", "type": "integer", "missing": "refuse"}
    return Policy.of(
        {
            "version": 1,
            "dataset": "incomes",
            "unit": "row",
            "neighbours": "add_remove" if by_boxes else "replace_one",
            "attributes": {name: {**told, "domain": list(domain)} for name, domain in DOMAINS.items()},
            "release": asked if by_boxes else {**asked, "rows": rows},
        }
    )


def method_of(way, rows):
    """The method of one way, and the schema of the table."""
    from shoal.anonymize.method.box_microaggregation import BoxMicroaggregation, box_attributes
    from shoal.anonymize.method.dp_microaggregation import DPMicroaggregation, centroid_attributes
    from shoal.data.domain import Interval
    from shoal.data.schema import Attribute, Missing, Role, Schema, Type
    from shoal.guarantee.centroids import solve_centroids
    from shoal.guarantee.unit import Unit
    from shoal.mechanism.boxes import solve_boxes

    kind = (Role.CONFIDENTIAL, Type.INTEGER)
    schema = Schema(
        tuple(Attribute(name, *kind, Interval(*domain), missing=Missing.REFUSE) for name, domain in DOMAINS.items())
    )
    asked = dict(WAYS[way])
    if asked["grouping"] == "boxes":
        unit = Unit.row("add_remove")
        setting = solve_boxes(1, attributes=box_attributes(schema), unit=unit)
        return BoxMicroaggregation.of(setting, schema), schema
    delta = asked.pop("delta", 0)
    unit = Unit.row("replace_one")
    setting = solve_centroids(1, delta, rows=rows, attributes=centroid_attributes(schema), unit=unit, **asked)
    return DPMicroaggregation.of(setting, schema), schema


def run(way, path, rows):
    """One way in this process, up to rows that may be published."""
    from shoal.chance.source import Source
    from shoal.engine.duckdb.engine import DuckDB

    method, schema = method_of(way, rows)
    method.load_kernels(schema, rows)
    table = DuckDB(threads=1).scan(path, schema)
    table.rows()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    made = method.run(table, Source.secure())
    shown = sum(len(next(iter(each.rows.values()))) for each in made.tables)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([seconds, memory / 1024, shown, getattr(made.setting, "k", None)]))


def walk(way, path, rows):
    """One way from its policy to a verified folder, stage by stage."""
    from shoal.engine.base import open_engine
    from shoal.errors import PolicyError
    from shoal.ledger.ledger import Ledger
    from shoal.publish.plan.methods import plan
    from shoal.publish.run.release import release

    stages = []

    def stage(name):
        name = name.split(" (")[0].split(" x")[0]
        if not stages or stages[-1][0] != name:
            stages.append((name, time.process_time()))

    try:
        planned = plan(policy(way, rows))
    except PolicyError as error:
        print(json.dumps([None, str(error), []]))
        return
    with tempfile.TemporaryDirectory() as place, Ledger(str(Path(place) / "ledger.sqlite")) as ledger:
        start = time.process_time()
        release(
            planned,
            path,
            Path(place) / "out",
            ledger=ledger,
            engine=open_engine("duckdb"),
            report=False,
            stage=stage,
        )
        end = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = [(name, after - before) for (name, before), (_, after) in pairwise([*stages, ("", end)])]
    print(json.dumps([end - start, memory, took]))


def measured(job, way, path, rows):
    """What one process found."""
    command = [sys.executable, __file__, str(rows), "--job", job, "--way", way, "--table", str(path)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)  # noqa: S603


def compare(paths):
    """Every way at every size: seconds, their share of the aim, and memory against the smallest table's."""
    most = max(paths)
    print(f"{'':36}{'rows':>10}{'k':>8}{'CPU s':>8}{'of aim':>8}{'MB':>8}{'B/row':>8}")
    slow = []
    for way in WAYS:
        for rows, path in sorted(paths.items()):
            seconds, memory, _, k = measured("run", way, path, rows)
            share = seconds / (AIM * rows / 1_000_000)
            size = "" if k is None else f"{k:,}"
            figures = f"{seconds:>8.2f}{share:>8.0%}{memory:>8.0f}{memory * 1024**2 / rows:>8.0f}"
            print(f"{way:36}{rows:>10,}{size:>8}{figures}", flush=True)
            if rows == most and share > 1:
                slow.append(way)
    print("slower than the aim: " + (", ".join(slow) or "none"))


def end_to_end(path, rows):
    """Every way as a release, with its three longest stages."""
    for way in WAYS:
        seconds, memory, stages = measured("walk", way, path, rows)
        if seconds is None:
            print(f"{way:36} not planned: {memory}")
            continue
        longest = sorted(stages, key=lambda one: -one[1])[:4]
        words = ", ".join(f"{name} {took:.1f}" for name, took in longest)
        print(f"{way:36}{rows:>10,}{seconds:>8.1f} s{memory:>8.0f} MB   {words}", flush=True)


def main():
    """Make the tables, run the ways, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="?", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--job", choices=("make", "run", "walk"), help=argparse.SUPPRESS)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job == "make":
        make(asked.table, asked.rows)
    elif asked.job is not None:
        {"run": run, "walk": walk}[asked.job](asked.way, asked.table, asked.rows)
    else:
        with tempfile.TemporaryDirectory() as place:
            sizes = [asked.rows] if asked.release else [asked.rows // 4, asked.rows // 2, asked.rows]
            paths = {rows: Path(place) / f"{rows}.parquet" for rows in sizes}
            for rows, path in paths.items():
                # In a process of its own: a child's peak begins at what its parent held when it was started.
                subprocess.run(  # noqa: S603
                    [sys.executable, __file__, str(rows), "--job", "make", "--table", str(path)], check=True
                )
            if asked.release:
                end_to_end(paths[asked.rows], asked.rows)
            else:
                compare(paths)


if __name__ == "__main__":
    main()
