"""How long ten million generated visits take, and how much memory: the target is 30 seconds."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from shoal.datasets.visits import chunks, write_visits

FOLDER = Path(__file__).resolve().parent.parent / "build" / "bench"


def timed(words, work):
    """Print CPU and wall seconds of one piece of work."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    print(f"{words:40}{time.process_time() - cpu:10.2f}{time.perf_counter() - wall:10.2f}")


def main():
    """Rows from the command line, ten million by default."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_visits(FOLDER / "first.parquet", 1000, 0, force=True)  # loads what is loaded once
    print(f"{f'{rows:,} visits':40}{'CPU s':>10}{'wall s':>10}")
    timed("drawn", lambda: sum(1 for _ in chunks(rows, 2026)))
    for name in ("visits.parquet", "visits.csv"):
        timed(f"drawn and written to {name}", lambda name=name: write_visits(FOLDER / name, rows, 2026, force=True))
        (FOLDER / name).unlink()
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
