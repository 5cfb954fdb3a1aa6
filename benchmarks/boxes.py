"""How long it takes to count all tuples of a large table, and to put its rows into the boxes of a tree.

    python benchmarks/boxes.py [ROWS]

Each job runs in a process of its own: CPU seconds without imports and without opening the table, and the most memory
the process ever held. Nearly every tuple of the values is different; of the labels, some 150,000 are.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from engine import MILLION, make, meaning

WIDE = 60
BOXES = 4096
JOBS = (
    ("values", "count tuples of values (to beat: 6)"),
    ("kept", "count tuples of values kept as labels"),
    ("labels", "count tuples of labels"),
    ("boxes", "labels into boxes"),
    ("leaves", "values kept as labels into boxes"),
    ("grouped", "the same boxes from counted tuples of labels"),
    ("release", "labels into boxes, k = 20, write"),
)


def make_wide(path, rows):
    """Sixty columns: texts, integers, decimals and dates in turn."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(3)
    draws = {
        "text": lambda size: pa.array([f"value {place:03d}" for place in range(size)]).take(
            rng.integers(0, size, rows)
        ),
        "integer": lambda size: rng.integers(0, 100 * size, rows),
        "decimal": lambda size: np.round(rng.normal(0, size, rows), 2),
        "date": lambda size: np.datetime64("2020-01-01") + rng.integers(0, 30 * size, rows),
    }
    kinds = [*draws] * (WIDE // 4)
    parquet.write_table(pa.table({f"{kind} {i}": draws[kind](5 + i) for i, kind in enumerate(kinds)}), path)


def wide_schema(path):
    """Each column as what its name says."""
    from pyarrow import parquet

    from shoal.data.schema import Attribute, Role, Schema
    from shoal.data.type import Type

    names = parquet.read_schema(path).names
    return Schema(tuple(Attribute(name, Role.QUASI, Type(name.split()[0])) for name in names))


def boxed(table, known):
    """Boxes of a tree that halves some columns more than once."""
    halves = [len(listed) // 2 for listed in known]
    quarters = [len(listed) // 4 for listed in known]

    def place(indices):
        number = np.zeros(len(indices[0]), dtype=np.int32)
        for index, half in zip(indices, halves, strict=True):
            number = 2 * number + (index >= half)
        for index, quarter in zip(indices[:4], quarters, strict=False):
            number = 2 * number + (index >= quarter)
        return number

    labels = [[f"{name} {box % (3 + at)}" for box in range(BOXES)] for at, name in enumerate(table.columns)]
    return known, place, labels


def work(job, path):
    """One job, on a table that was opened."""
    from shoal.data.hierarchy.level import MISSING, ValueLevel
    from shoal.engine.duckdb.engine import DuckDB

    schema, levels = meaning() if job != "wide" else (wide_schema(path), {})
    table = DuckDB().scan(path, schema)
    out = path.with_name("released.parquet")
    if job in ("kept", "leaves"):
        levels = dict.fromkeys(table.columns, ValueLevel())
    if job not in ("values", "wide"):
        table = table.recode(levels)
    if job in ("boxes", "grouped", "release"):
        asked = boxed(table, [[*level.labels, MISSING] for level in levels.values()])
    if job == "leaves":
        asked = boxed(table, [[*map(str, table.distinct(name)), MISSING] for name in table.columns])
    start = time.process_time(), time.perf_counter()
    if job in ("values", "kept", "labels", "wide"):
        table.count_by(table.columns)
    elif job == "release":
        made = table.relabel(*asked)
        made.suppress_below(made.columns, 20).write(out)
    else:
        (table.suppress_below(table.columns, 1) if job == "grouped" else table).relabel(*asked)
    seconds = time.process_time() - start[0], time.perf_counter() - start[1]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    out.unlink(missing_ok=True)
    print(json.dumps([*seconds, most]))


def measured(words, job, path):
    """Print CPU seconds, wall seconds and gigabytes of the faster of two runs."""
    command = [sys.executable, __file__, job, str(path)]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
        for _ in range(2)
    ]
    cpu, wall, memory = min(runs)
    print(f"{words:48}{cpu:8.2f}{wall:8.2f}{memory:7.2f}", flush=True)


def main():
    """Make the files, run the jobs, print a table."""
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10 * MILLION
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("long.parquet", "wide.parquet")]
        for path, count in zip(paths, (rows, max(rows // 100, 1)), strict=True):
            # In a process of its own: a child's peak begins at what its parent held when it was started.
            subprocess.run([sys.executable, __file__, str(count), str(path)], check=True)  # noqa: S603
        print(f"{f'{rows:,} rows, 8 columns':48}{'CPU s':>8}{'wall s':>8}{'GB':>7}")
        for job, words in JOBS:
            measured(words, job, paths[0])
        print(f"{max(rows // 100, 1):,} rows, {WIDE} columns")
        measured("count tuples of values (to beat: 4)", "wide", paths[1])


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        (make_wide if sys.argv[2].endswith("wide.parquet") else make)(Path(sys.argv[2]), int(sys.argv[1]))
    elif len(sys.argv) == 3:
        work(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
