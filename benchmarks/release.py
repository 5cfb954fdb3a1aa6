"""What `shoal release` takes on a large Parquet file, with fixed levels and with a grown tree, beside DuckDB copying the file.

    python benchmarks/release.py [ROWS] [--report]

Each command runs in a process of its own, start included: CPU seconds of the faster of two runs, and the most memory that it
held. The table is that of `engine.py`; a release samples half of its rows and removes classes below k = 23. `--report` makes the
custodian's report as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import engine

LIMITS = {"tree": 3.0, "fixed": 1.5}
"""The figures to beat: the tree in times of fixed levels, fixed levels in times of reading and writing the file."""
LEVELS = {"region": 1, "job": 1, "town": 1, "diagnosis": 1, "age": 1, "visits": 1, "income": 2, "visit": 2}
HIERARCHIES = {
    "age": "domain: [0, 110], hierarchy: {intervals: [25]}",
    "visits": "domain: [0, 100], hierarchy: {cuts: [[3, 8]]}",
    "income": "domain: [0, 1000000], hierarchy: {intervals: [1000, 250000]}",
    "visit": "domain: [2020-01-01, 2026-01-01], hierarchy: {date: [month, year]}",
}
COPY = (
    "import duckdb, sys; duckdb.connect().execute(f\"COPY (FROM '{sys.argv[1]}') TO '{sys.argv[2]}' "
    '(FORMAT parquet, COMPRESSION zstd)").fetchall()'
)


def policy(recoding):
    """The policy of the file, with this recoding."""
    lines = ["version: 1", "dataset: large", "unit: row", "neighbours: add_remove", "attributes:"]
    for name, (size, groups) in engine.SIZES.items():
        held = {group: [] for group in range(groups)}
        for place, value in enumerate(engine.values(name, size)):
            held[place * groups // size].append(value)
        listed = ", ".join(f"{name} group {group}: [{', '.join(values)}]" for group, values in held.items())
        lines.append(f"  {name}: {{role: quasi, type: category, hierarchy: {{groups: {{{listed}}}}}}}")
    for name, rest in HIERARCHIES.items():
        kind = "date" if name == "visit" else "integer"
        lines.append(f"  {name}: {{role: quasi, type: {kind}, {rest}}}")
    lines += ["release:", "  method: safe-k", "  epsilon: 2", "  delta: 1e-6", f"  recoding: {recoding}"]
    return "\n".join([*lines, "  sampling: {beta: 0.5}", "  output: parquet", ""])


def run(command):
    """CPU seconds and GB at its peak of a process, the faster of two runs; `command` gives the arguments of each of them."""
    found = []
    for number in range(2):
        arguments = [str(each) for each in command(number)]
        made = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own commands
        _, status, used = os.wait4(made.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"failed: {' '.join(arguments)}")
        found.append((used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2))
    return min(found)


def jobs(folder, data, report):
    """(name, words, command) of each job."""
    yield (
        "copy",
        "DuckDB: read and write the file",
        lambda number: [sys.executable, "-c", COPY, data, folder / f"{number}.parquet"],
    )
    levels = "{levels: {" + ", ".join(f"{name}: {level}" for name, level in LEVELS.items()) + "}}"
    for kind, recoding in (("fixed", levels), ("tree", "{tree: {epsilon: 0.15}}")):
        path = folder / f"{kind}.yaml"
        path.write_text(policy(recoding), encoding="utf-8")

        def command(number, kind=kind, path=path):
            out = folder / f"{kind}-{number}"
            ledger = ["--ledger", f"{out}.db", "--new-ledger"]
            return ["shoal", "release", path, data, "--out", out, *ledger, *([] if report else ["--no-report"])]

        yield kind, f"shoal release, {kind}", command


def main():
    """Make the file and the policies, run the commands, print a table."""
    given = [each for each in sys.argv[1:] if each != "--report"]
    rows = int(float(given[0])) if given else 10 * engine.MILLION
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "table.parquet"
        subprocess.run([sys.executable, engine.__file__, str(rows), str(data)], check=True)  # noqa: S603
        print(f"{f'{rows:,} rows, {data.stat().st_size / 1e6:.0f} MB':44}{'CPU s':>8}{'GB':>7}", flush=True)
        for name, words, command in jobs(Path(scratch), data, "--report" in sys.argv):
            found[name], memory = run(command)
            print(f"{words:44}{found[name]:8.2f}{memory:7.2f}", flush=True)
    print(f"{'fixed / read and write':44}{found['fixed'] / found['copy']:8.2f}   to beat: {LIMITS['fixed']}")
    print(f"{'tree / fixed':44}{found['tree'] / found['fixed']:8.2f}   to beat: {LIMITS['tree']}")


if __name__ == "__main__":
    main()
