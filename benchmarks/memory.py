"""How much memory the commands take on a large table, each in a process of its own, beside what they take on a small one.

    python benchmarks/memory.py [ROWS] [csv|parquet]

The tables are generated visits with the policy of the demonstration: one row of each patient, a tree, the report included.
The last column is what the command takes beyond what it takes on a small table, in bytes for each cell of the table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from shoal.datasets.visits import write_policy, write_visits

SMALL = 1000
COLUMNS = 11
LIMIT = 1000
"""The figure to beat, in MB."""


def run(*arguments):
    """CPU seconds and MB of one process at its peak."""
    made = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own commands
    _, status, used = os.wait4(made.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {' '.join(map(str, arguments))}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def jobs(folder, data, policy):
    """(name, arguments) of each command, in the order in which they need each other."""
    public, shoal = folder / f"public-{data.suffix[1:]}", "shoal"
    ledger = ["--ledger", str(folder / f"ledger-{data.suffix[1:]}.db")]
    name = "hospital-visits"
    load = "import sys, shoal; print(shoal.load(sys.argv[1]).count({'age': (65, 110)}))"
    standalone = Path(sys.modules["shoal"].__file__).parent / "publish" / "verify" / "standalone.py"
    yield "release", [shoal, "release", policy, data, "--out", public, *ledger, "--new-ledger"]
    yield "verify", [shoal, "verify", public]
    yield "verify, one file", [sys.executable, standalone, public]
    yield "load, count", [sys.executable, "-c", load, public]
    yield "check", [shoal, "check", data, "--policy", policy]
    yield "dataset register", [shoal, "dataset", "register", policy, data, *ledger]
    yield "ask", [shoal, "ask", name, "count", "age >= 65", "--epsilon", "0.1", *ledger]


def main():
    """Rows and format from the command line: five million, and both, by default."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    print(f"{f'{rows:,} rows, {COLUMNS} columns':30}{'CPU s':>8}{'MB':>8}{'to beat':>9}{'ratio':>7}{'bytes/cell':>12}")
    with tempfile.TemporaryDirectory() as scratch:
        for kind in sys.argv[2:] or ("csv", "parquet"):
            found = {}
            for size in (SMALL, rows):
                folder = Path(scratch) / f"{kind}-{size}"
                folder.mkdir()
                policy = write_policy(folder)
                data = write_visits(folder / f"visits.{kind}", size, 2026)
                for name, arguments in jobs(folder, data, policy):
                    found[name, size] = run(*map(str, arguments))
            for name, (seconds, most) in ((name, used) for (name, size), used in found.items() if size == rows):
                each = (most - found[name, SMALL][1]) * 1024**2 / (rows * COLUMNS)
                row = f"{f'{kind}: {name}':30}{seconds:8.1f}{most:8.0f}{LIMIT:9}{most / LIMIT:7.2f}"
                print(f"{row}{each:12.1f}", flush=True)


if __name__ == "__main__":
    main()
