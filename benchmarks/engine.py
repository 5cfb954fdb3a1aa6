"""How long the engine takes on a large Parquet file, beside DuckDB reading it, and reading and writing it, once.

    python benchmarks/engine.py [ROWS]

Each job runs in a process of its own: CPU seconds without imports, and the most memory the process ever held.
"""

from __future__ import annotations

import datetime as dt
import json
import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

MILLION = 1_000_000
SIZES = {"region": (20, 5), "job": (100, 5), "town": (1000, 8), "diagnosis": (400, 6)}
CUTS = {
    "age": (25, 50, 75),
    "visits": (3, 8),
    "income": (12_000, 25_000, 50_000),
    "visit": (dt.date(2021, 1, 1), dt.date(2023, 1, 1)),
}
JOBS = (
    ("read", "DuckDB: read every value"),
    ("copy", "DuckDB: read and write the file"),
    ("scan", "ours: open and check"),
    ("count", "ours: open, recode, count"),
    ("digest", "ours: open, digest"),
    ("release", "ours: open, keep half, recode, k = 20, write"),
)


def make(path, rows):
    """Four text, three integer and one date column with skewed values, in one zstd Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(1)
    writer = None
    for start in range(0, rows, MILLION):
        count = min(MILLION, rows - start)
        table = pa.table(
            {name: texts(rng, name, size, count) for name, (size, _) in SIZES.items()}
            | {
                "age": rng.normal(45, 20, count).clip(0, 110).astype(np.int32),
                "visits": rng.geometric(0.2, count).clip(1, 60).astype(np.int32),
                "income": rng.lognormal(10, 0.6, count).clip(0, 500_000).astype(np.int32),
                "visit": np.datetime64("2020-01-01") + rng.integers(0, 2000, count),
            }
        )
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def texts(rng, name, size, count):
    """Texts that follow a power law, as plain strings."""
    import pyarrow as pa

    share = 1 / np.arange(1, size + 1) ** 0.8
    codes = rng.choice(size, count, p=share / share.sum()).astype(np.int32)
    return pa.DictionaryArray.from_arrays(codes, pa.array(values(name, size))).cast(pa.string())


def values(name, size):
    """The declared values of a text column."""
    return [f"{name} number {place:04d}" for place in range(size)]


def meaning():
    """The schema of the file, and one level for each column."""
    from shoal.data.domain import Interval, Values
    from shoal.data.hierarchy.level import GroupLevel, IntervalLevel
    from shoal.data.schema import Attribute, Role, Schema
    from shoal.data.type import Type

    attributes, levels = [], {}
    for name, (size, groups) in SIZES.items():
        leaves = tuple(values(name, size))
        attributes.append(Attribute(name, Role.QUASI, Type.CATEGORY, Values(leaves)))
        codes = tuple(place * groups // size for place in range(size))
        levels[name] = GroupLevel(leaves, codes, tuple(f"{name} group {place}" for place in range(groups)))
    ends = {
        "age": (0, 110),
        "visits": (0, 100),
        "income": (0, MILLION),
        "visit": (dt.date(2020, 1, 1), dt.date(2026, 1, 1)),
    }
    for name, (low, high) in ends.items():
        kind = Type.DATE if name == "visit" else Type.INTEGER
        attributes.append(Attribute(name, Role.QUASI, kind, Interval(low, high)))
        edges = CUTS[name]
        levels[name] = IntervalLevel(edges, tuple(f"from {edge}" for edge in (low, *edges)))
    return Schema(tuple(attributes)), levels


def work(job, path):
    """One job, from the file to its result."""
    import duckdb

    from shoal.chance.source import Source
    from shoal.engine.duckdb.engine import DuckDB

    out = path.with_name(f"{job}.parquet")
    start = time.process_time(), time.perf_counter()
    if job in ("read", "copy"):
        with duckdb.connect() as connection:
            if job == "read":
                connection.execute(f"SELECT max(hash(COLUMNS(*))) FROM '{path}'").fetchall()  # noqa: S608
            else:
                connection.execute(f"COPY (FROM '{path}') TO '{out}' (FORMAT parquet, COMPRESSION zstd)").fetchall()
    else:
        schema, levels = meaning()
        table = DuckDB().scan(path, schema)
        if job == "count":
            table.recode(levels).count_by(list(levels))
        if job == "digest":
            table.digest()
        if job == "release":
            with Source.secure() as source:
                kept = table.keep(source.row_mask(Fraction(1, 2)).keep)
                kept.recode(levels).suppress_below(list(levels), 20).write(out)
    seconds = time.process_time() - start[0], time.perf_counter() - start[1]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    out.unlink(missing_ok=True)
    print(json.dumps([*seconds, most]))


def measured(job, path):
    """CPU seconds, wall seconds and gigabytes of the faster of two runs."""
    runs = []
    for _ in range(2):
        command = [sys.executable, __file__, job, str(path)]
        runs.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))  # noqa: S603
    return min(runs)


def main():
    """Make the file, run the jobs, print a table."""
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10 * MILLION
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        # In a process of its own: a child's peak begins at what its parent held when it was started.
        subprocess.run([sys.executable, __file__, str(rows), str(path)], check=True)  # noqa: S603
        print(f"{f'{rows:,} rows, {path.stat().st_size / 1e6:.0f} MB':48}{'CPU s':>8}{'wall s':>8}{'GB':>7}")
        cpu = {}
        for job, words in JOBS:
            cpu[job], wall, memory = measured(job, path)
            print(f"{words:48}{cpu[job]:8.2f}{wall:8.2f}{memory:7.2f}")
    print(f"{'open, recode and count / read':48}{cpu['count'] / cpu['read']:8.2f}")
    print(f"{'release / read and write (to beat: 1.5)':48}{cpu['release'] / cpu['copy']:8.2f}")
    charged = cpu["release"] + cpu["digest"] - cpu["scan"]
    print(f"{'the same with the digest for the ledger':48}{charged / cpu['copy']:8.2f}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        make(Path(sys.argv[2]), int(sys.argv[1]))
    elif len(sys.argv) == 3:
        work(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
