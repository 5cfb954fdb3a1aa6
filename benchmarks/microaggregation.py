"""Microaggregation: information loss against the goldens, and CPU seconds against the aims.

    python benchmarks/microaggregation.py [--quick]

IL = 100·SSE/SST on z-scores; the goldens are those of two independent implementations (theory.md §3). Speed is on normal
columns that do not depend on each other, the hardest case for a tree; compiled once before the clock starts, and what
compiling costs is printed first. sdcMicro's MDAV was noted at 46 CPU s for 100,000 × 5; it is not run here.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
from pathlib import Path

import numpy as np

from shoal.anonymize import aggregate
from shoal.anonymize.cluster.clustering import microaggregate
from shoal.anonymize.cluster.mdav import mdav
from shoal.anonymize.kernel.remaining_points import FlatPoints, PlainPoints, TreePoints

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
LEFT_OUT = ("UTILNAME", "STATE", "YEAR", "MONTH")
GOLDEN = {
    "casc_census/census.csv": (5.6922, 9.0884, 14.1559),
    "tarragona/tarragona.csv": (16.9326, 22.4619, 33.1929),
    "casc_eia/eia.csv": (0.4829, 1.6667, 3.8397),
}
AIMS = (
    ("mdav", 100_000, 5, 5, 4),
    ("mdav", 100_000, 13, 10, 6),
    ("mdav", 1_000_000, 5, 10, 60),
    ("vmdav", 100_000, 5, 5, None),
    ("approx", 100_000, 5, 5, None),
    ("mondrian", 100_000, 5, 5, 4),
    ("strict_mondrian", 100_000, 5, 5, 4),
    ("mondrian", 1_000_000, 5, 10, 60),
    ("optimal", 1_000_000, 1, 10, None),
    ("ranking", 10_000_000, 5, 10, 6),
    ("insensitive", 10_000_000, 5, 10, 6),
)


def read(path):
    """A shared table without the columns that the goldens leave out."""
    with (DATA / path).open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    kept = [j for j, name in enumerate(names) if name not in LEFT_OUT]
    return np.array([[float(row[j]) for j in kept] for row in rows])


def loss(table, labels):
    """IL of a partition; individual ranking has one for each column."""
    scores = (table - table.mean(axis=0)) / table.std(axis=0)
    labels = np.broadcast_to(labels[:, None], table.shape) if labels.ndim == 1 else labels
    error = sum(((scores[:, j] - aggregate.mean(scores[:, j], labels[:, j])) ** 2).sum() for j in range(table.shape[1]))
    return 100 * error / (scores**2).sum()


def losses():
    """Every method on the papers' tables."""
    if not DATA.is_dir():
        print(f"not run: no data folder at {DATA}")
        return
    print(
        f"{'table':<26}{'k':>3}{'golden':>9}{'mdav':>9}{'vmdav':>9}{'approx':>9}{'ranking':>9}{'insens.':>9}{'mondrian':>10}"
    )
    for path, goldens in GOLDEN.items():
        table = read(path)
        for k, golden in zip((3, 5, 10), goldens, strict=True):
            found = [loss(table, microaggregate(table, k, method)) for method in ("mdav", "vmdav", "approx", "ranking")]
            bounds = [(column.min() - 1, 1.5 * column.max() + 1) for column in table.T]
            found.append(loss(table, microaggregate(table, k, "insensitive", domain=bounds)))
            cut = loss(table, microaggregate(table, k, "mondrian"))
            print(f"{path:<26}{k:>3}{golden:>9.4f}" + "".join(f"{value:>9.4f}" for value in found) + f"{cut:>10.4f}")


def clock(work):
    """CPU seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def compiling():
    """What the first call costs in this process, and whether the three clouds agree."""
    table = np.random.default_rng(0).normal(size=(2000, 5))
    expected = mdav(table, 5, among=PlainPoints(table))
    for kind in (FlatPoints, TreePoints):
        seconds = clock(lambda kind=kind: mdav(table, 5, among=kind(table)))
        same = np.array_equal(mdav(table, 5, among=kind(table)), expected)
        print(f"compiling or loading {kind.__name__}: {seconds:.2f} CPU s; same groups as NumPy: {same}")


def speeds(largest):
    """CPU seconds against the aims."""
    print(f"{'method':<16}{'rows':>11}{'columns':>9}{'k':>4}{'CPU s':>8}{'aim':>6}{'peak GB':>9}")
    for method, rows, columns, k, aim in AIMS:
        if rows > largest:
            continue
        table = np.asfortranarray(np.random.default_rng(1).normal(size=(rows, columns)))
        options = {"domain": [(-10, 10)] * columns, "turns": 1} if method == "insensitive" else {}
        seconds = clock(
            lambda table=table, k=k, method=method, options=options: microaggregate(table, k, method, **options)
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{method:<16}{rows:>11,}{columns:>9}{k:>4}{seconds:>8.2f}{aim or '-':>6}{peak:>9.2f}", flush=True)


def main():
    """Compilation first, while nothing is loaded; then losses and speeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="nothing above 100,000 rows")
    quick = parser.parse_args().quick
    compiling()
    losses()
    speeds(100_000 if quick else 10_000_000)


if __name__ == "__main__":
    main()
