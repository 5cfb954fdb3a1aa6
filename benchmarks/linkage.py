"""Record linkage RL (SC13 §6.4.2) at n = 20,000: CPU seconds and peak memory against the aims, 10 s and 1 GB.

    python benchmarks/linkage.py [--rows N]

Three masked versions of tables of normal columns: centroids of MDAV with k = 5, which has few different records; every
column permuted in runs of 5, and noise on every cell, in which all records differ. A fourth has names and missing cells.
Memory is the peak of the whole process above what it held before. sdcMicro was noted at about 19 GB; it is not run here.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from shoal.anonymize import aggregate
from shoal.anonymize.aggregate import shuffle
from shoal.anonymize.cluster.clustering import microaggregate
from shoal.anonymize.cluster.ranking import ranking
from shoal.assess.distortion.linkage import linkage
from shoal.chance.source import Source

AIM_SECONDS, AIM_GB = 10, 1.0


def peak():
    """The most memory that this process ever held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def versions(table):
    """Three ways of masking."""
    groups = microaggregate(table, 5)
    yield "centroids", np.column_stack([aggregate.mean(column, groups) for column in np.asfortranarray(table).T])
    ranks, source = ranking(table, 5), Source.seeded(1)
    yield "permuted", np.column_stack([shuffle(table[:, j], ranks[:, j], source) for j in range(table.shape[1])])
    yield "noise", table + np.random.default_rng(2).normal(scale=0.3, size=table.shape)


def mixed(table):
    """Two of the columns as names, and one with missing cells."""
    columns = {str(j): column.copy() for j, column in enumerate(table.T)}
    for j in ("0", "1"):
        columns[j] = np.char.add("v", np.floor(2 * columns[j]).astype(int).astype(str))
    columns["2"][::50] = np.nan
    return columns


def line(name, rows, columns, original, masked):
    """Time one call."""
    start = time.process_time()
    found = linkage(original, masked)
    seconds = time.process_time() - start
    print(
        f"{name:<12}{rows:>8,}{columns:>9}{found.rate:>9.3f}{100 / rows:>10.4f}{seconds:>8.2f}{AIM_SECONDS:>6}"
        f"{peak():>9.2f}{AIM_GB:>6}",
        flush=True,
    )


def main():
    """Every version, in 5 and in 13 columns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    rows = parser.parse_args().rows
    print(f"before: {peak():.2f} GB")
    print(
        f"{'masked by':<12}{'rows':>8}{'columns':>9}{'RL %':>9}{'guessing':>10}{'CPU s':>8}{'aim':>6}{'peak GB':>9}{'aim':>6}"
    )
    for columns in (5, 13):
        table = np.random.default_rng(1).normal(size=(rows, columns))
        for name, masked in versions(table):
            line(name, rows, columns, table, masked)
        line("with names", rows, columns, mixed(table), mixed(masked))


if __name__ == "__main__":
    main()
