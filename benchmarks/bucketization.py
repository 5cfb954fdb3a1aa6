"""t-closeness by bucketization and Anatomy: CPU seconds against the aim, and how alike groups are in their quasi-identifiers.

    python benchmarks/bucketization.py [--quick]

The table has normal columns that do not depend on each other, the hardest case for a tree, and a confidential value that does
not depend on them, the hardest case for groups. Loops are compiled before the clock starts; what compiling costs is printed
first. IL = 100·SSE/SST of the quasi-identifiers inside groups, on z-scores: strangers have 100·(1 − 1/k). MDAV of the same k,
which knows no bucket, is what groups under a constraint cannot be expected to reach.

The last lines are what groups of near records give away: of twelve people with two quasi-identifiers, the share of those whose
bucket is certain to an intruder who repeats the grouping for every assignment of buckets to people.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa

from shoal.anonymize.cluster.bucket.counts import divide
from shoal.anonymize.cluster.bucket.groups import near_groups
from shoal.anonymize.cluster.mdav import mdav
from shoal.anonymize.kernel.remaining_points import loops
from shoal.anonymize.method.anatomy import Anatomy
from shoal.anonymize.method.t_closeness import Bucketization
from shoal.chance.source import Source
from shoal.compilation import load_kernels
from shoal.data.schema import Attribute, Role, Schema
from shoal.data.type import Type
from shoal.engine.base import open_engine
from shoal.guarantee.unit import Unit

ROW = Unit.row("add_remove")
AIM = 10.0
"""CPU seconds for 100,000 records of 5 quasi-identifiers."""


def table(records, width, secrets=1, skew=1.0, seed=1):
    """Quasi-identifiers and confidential values drawn at random; a skew above 1 makes small values frequent."""
    chance = np.random.default_rng(seed)
    held = {f"q{j}": chance.normal(size=records) for j in range(width)}
    held |= {f"c{j}": (1000 * chance.random(records) ** skew).astype(np.int64) for j in range(secrets)}
    kinds = [Attribute(f"q{j}", Role.QUASI, Type.DECIMAL) for j in range(width)]
    kinds += [Attribute(f"c{j}", Role.CONFIDENTIAL, Type.INTEGER) for j in range(secrets)]
    return open_engine().scan(pa.table(held), Schema(tuple(kinds)))


def loss(places, labels):
    """IL of the quasi-identifiers inside groups."""
    sizes = np.bincount(labels)
    error = sum(np.square(column - (np.bincount(labels, column) / sizes)[labels]).sum() for column in places.T)
    return 100 * error / np.square(places).sum()


def measure(name, method, data):
    """CPU seconds of a run from the opened table to what is published, and what came out."""
    start = time.process_time()
    with Source.secure() as source:
        made = method.run(data, source)
    spent = time.process_time() - start
    names = [attribute.name for attribute in data.schema.quasi]
    places = np.stack(list(data.collect(names).values()), axis=1)
    places = (places - places.mean(axis=0)) / places.std(axis=0)
    sizes = np.bincount(made.groups)
    reached = f"{float(made.achieved_t):.4g}"
    wide = " x ".join(str(one.count) for one in made.buckets) or "-"
    print(f"{name:<46}{spent:>8.2f}{len(sizes):>9,}{wide:>10}{reached:>9}{loss(places, made.groups):>8.1f}")
    return spent


def main():
    """Every method once, on tables that are drawn here."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10,000 records in place of 100,000")
    records = 10_000 if parser.parse_args().quick else 100_000
    start = time.process_time()
    load_kernels(loops())
    print(f"compiling, or loading what was compiled: {time.process_time() - start:.1f} CPU s\n")
    print(
        f"{'method, ' + format(records, ',') + ' records':<46}{'CPU s':>8}{'groups':>9}{'buckets':>10}{'t':>9}{'IL':>8}"
    )
    plain = table(records, 5)
    places = np.stack(list(plain.collect([f"q{j}" for j in range(5)]).values()), axis=1)
    start = time.process_time()
    alone = mdav((places - places.mean(axis=0)) / places.std(axis=0), 6)
    spent = time.process_time() - start
    bare = loss((places - places.mean(axis=0)) / places.std(axis=0), alone)
    print(f"{'MDAV, k = 6, no buckets':<46}{spent:>8.2f}{len(set(alone.tolist())):>9,}{'-':>10}{'-':>9}{bare:>8.1f}")
    main_run = measure("t = 2, k = 6, 5 quasi-identifiers", near(2, 6), plain)
    measure("t = 2, k = 6, permuted", Bucketization(Fraction(2), 6, "permuted", "bucket", ROW), plain)
    measure("t = 2, k = 6, drawn at random", Bucketization(Fraction(2), 6, "linked", "bucket", ROW, "random"), plain)
    measure("t = 3/2, k = 20", near("3/2", 20), plain)
    measure("t = 4, k = 10", near(4, 10), plain)
    measure("t = 2, k = 200", near(2, 200), plain)
    measure("t = 2, k = 6, small values frequent", near(2, 6), table(records, 5, skew=6))
    measure("t = 2, k = 20, two confidential attributes", near(2, 20), table(records, 5, secrets=2))
    measure("t = 2, k = 6, 13 quasi-identifiers", near(2, 6), table(records, 13))
    measure("Anatomy, l = 3", Anatomy(3, None, ROW), plain)
    measure("Anatomy, l = 3, k = 30", Anatomy(3, 30, ROW), plain)
    measure("Anatomy by the confidential value, k = 1,000", Anatomy(None, 1000, ROW, "confidential"), plain)
    print(
        "\ncertain to whoever repeats the grouping of twelve people, four of them in one bucket and eight in the other:"
    )
    for k, t in ((3, 1), (6, 1), (6, 2)):
        print(f"  k = {k}, t = {t}: {certain(12, 4, k, t):.1%}")
    if records == 100_000:
        met = "met" if main_run <= AIM else "NOT met"
        print(f"\naim: at most {AIM:.0f} CPU s for 100,000 x 5; {met} with {main_run:.1f}")


def certain(records, rare, k, t, tables=30):
    """The share of people whose bucket is certain to whoever tries all assignments; averaged over tables and assignments."""
    chance, found = np.random.default_rng(1), []
    kinds = divide([records - rare, rare], k, Fraction(t))
    for _ in range(tables):
        places, outcomes = chance.normal(size=(records, 2)), defaultdict(list)
        for chosen in combinations(range(records), rare):
            buckets = np.isin(np.arange(records), chosen).astype(np.int64)
            labels = near_groups(places, buckets, kinds)
            groups = [np.flatnonzero(labels == group) for group in range(labels.max() + 1)]
            shown = frozenset((tuple(own.tolist()), int(buckets[own].sum())) for own in groups)
            outcomes[shown].append(buckets)
        sure = [len(own) * np.mean(np.ptp(np.stack(own), axis=0) == 0) for own in outcomes.values()]
        found.append(sum(sure) / sum(map(len, outcomes.values())))
    return float(np.mean(found))


def near(t, k):
    """Groups of near records, published as two linked tables."""
    return Bucketization(Fraction(t), k, "linked", "bucket", ROW)


if __name__ == "__main__":
    main()
