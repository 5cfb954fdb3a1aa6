"""How long it takes to make many narrow tables, each from its own sample, beside one wide table from one sample.

    python benchmarks/views_engine.py [ROWS]

Each job runs in a process of its own, on a table that was opened: CPU and wall seconds with everything written, and
the most memory the process ever held.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from boxes import make_wide, wide_schema

from engine import MILLION, make, meaning

BETA, K = Fraction(15, 100), 20
FEW = 30_000


def wide_levels(schema):
    """Labels for sixty columns: some twenty intervals of numbers and dates, the first letters of texts."""
    import datetime as dt

    from shoal.data.hierarchy.level import IntervalLevel, MaskLevel
    from shoal.data.type import Type

    edges = {
        Type.INTEGER: range(300, 6000, 300),
        Type.DECIMAL: range(-100, 100, 10),
        Type.DATE: [dt.date(2020 + place // 4, 1 + 3 * (place % 4), 1) for place in range(1, 20)],
    }
    return {
        each.name: IntervalLevel(
            tuple(edges[each.type]), tuple(f"from {edge}" for edge in ("the first", *edges[each.type]))
        )
        if each.type in edges
        else MaskLevel(8, "right")
        for each in schema.quasi
    }


def work(job, path):
    """One job, on a table that was opened."""
    from shoal.chance.source import Source
    from shoal.engine.base import RecodeRequest
    from shoal.engine.duckdb.engine import DuckDB

    schema, levels = (wide_schema(path), {}) if path.name == "wide.parquet" else meaning()
    levels = levels or wide_levels(schema)
    table = DuckDB().scan(path, schema)
    out = Path(tempfile.mkdtemp(dir=path.parent))
    marks = [time.process_time()]
    wall = time.perf_counter()
    published = 0
    with Source.secure() as source:
        if job == "single":
            made = [table.keep(source.row_mask(BETA).keep).recode(levels)]
        else:
            pairs = list(combinations(levels, 2))
            asks = [RecodeRequest({name: levels[name] for name in pair}, source.row_mask(BETA).keep) for pair in pairs]
            made = (
                table.recode_many(asks) if job == "views" else [table.keep(ask.mask).recode(ask.levels) for ask in asks]
            )
        marks.append(time.process_time())
        for place, each in enumerate(made):
            kept = each.suppress_below(each.columns, K)
            kept.write(out / f"{place}.parquet")
            published += kept.rows() if job != "apart" else 0
    marks.append(time.process_time())
    wall = time.perf_counter() - wall
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    shutil.rmtree(out)
    print(json.dumps([marks[2] - marks[0], marks[1] - marks[0], wall, most, published]))


def measured(words, job, path):
    """Print CPU seconds (and those before the first file), wall seconds and gigabytes of the faster of two runs."""
    command = [sys.executable, __file__, job, str(path)]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
        for _ in range(2)
    ]
    cpu, first, wall, memory, _ = min(runs)
    print(f"{words:52}{cpu:8.2f}{first:8.2f}{wall:8.2f}{memory:7.2f}", flush=True)
    return cpu


def main():
    """Make the files, run the jobs, print a table."""
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10 * MILLION
    sizes = {"long.parquet": rows, "wide.parquet": max(rows // 100, 1), "few.parquet": FEW}
    with tempfile.TemporaryDirectory() as folder:
        for name, count in sizes.items():
            # In a process of its own: a child's peak begins at what its parent held when it was started.
            subprocess.run([sys.executable, __file__, str(count), str(Path(folder) / name)], check=True)  # noqa: S603
        print(f"{'sample, recode, k = 20, write to Parquet':52}{'CPU s':>8}{'count':>8}{'wall s':>8}{'GB':>7}")
        for name, count, views in (("long", rows, 28), ("few", FEW, 28), ("wide", sizes["wide.parquet"], 1770)):
            path = Path(folder) / f"{name}.parquet"
            single = measured(f"{count:,} rows: one table of all columns", "single", path)
            many = measured(f"{count:,} rows: {views:,} pairs at once", "views", path)
            if name != "wide":
                measured(f"{count:,} rows: {views:,} pairs, one pass each", "apart", path)
            print(f"{'pairs at once / one table' + ' (to beat: 4)' * (name == 'long'):52}{many / single:8.2f}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        (make_wide if sys.argv[2].endswith("wide.parquet") else make)(Path(sys.argv[2]), int(sys.argv[1]))
    elif len(sys.argv) == 3:
        work(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
