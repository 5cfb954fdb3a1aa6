"""The full-domain choice on Adult: CPU seconds for all schemes, and how fine the published records are for each score."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.scores import Discernibility, Ramp, Records, Target
from shoal.anonymize.kernel.rollup import GeneralizedColumn, score_all
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.duckdb.engine import DuckDB
from shoal.guarantee.safe_k.setting import solve
from shoal.policy.policy import Policy

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
TOTAL, DELTA, RUNS = Fraction(2), Fraction(1, 10**6), 20
ALONE = """
import sys, time
sys.path.insert(0, "benchmarks")
import lattice
table, tree = lattice.adult()
counts = table.count_by(tree.names)
score = lattice.Ramp(107, lattice.Fraction(85, 100))
start = time.process_time()
score.of_all(tree, counts)
print(time.process_time() - start)
"""


def log_weights(scores, epsilon, spread):
    """The exponents that `choose_scheme` draws by; all 0 where no row can move any score, so that the draw is uniform."""
    if spread == 0:
        return [Fraction(0)] * len(scores)
    different, codes = np.unique(scores, return_inverse=True)
    each = [epsilon * value / spread for value in different.tolist()]
    return [each[code] for code in codes.tolist()]


def adult(target=None):
    """The table of the eight quasi-identifiers and its lattice of 6,480 schemes; a target is a ninth, with one level."""
    schema = Policy.load(ROOT / "examples" / "adult" / "policy.yaml").schema
    attributes = schema.quasi if target is None else (*schema.quasi, schema[target])
    lattice = Lattice.of(attributes, coarsest={} if target is None else {target: 0})
    return DuckDB().scan(DATA / "adult" / "adult.csv", Schema(attributes)), lattice


def setting(share):
    """k and beta for what is left of the total when the choice takes its share: beta = 1 − e^−rest, the tight k."""
    rest = TOTAL - share
    beta = Fraction(1 - math.exp(-rest)).limit_denominator(10**6)
    return solve(epsilon=rest, delta=DELTA, beta=beta).k, beta


def label_losses(lattice, counts):
    """For each attribute and level, (leaves of the label − 1)/(leaves of the domain − 1) of each tuple's label."""
    found = []
    for attribute, levels, values, codes in zip(
        lattice.attributes, lattice.levels, counts.values, counts.codes, strict=True
    ):
        hierarchy, rows = attribute.hierarchy, attribute.hierarchy.rows
        at = {row[0]: i for i, row in enumerate(rows)}
        places = np.array([at[str(value)] for value in values.tolist()])[codes]
        each = []
        for level in levels:
            labels = [row[level] for row in rows]
            size = {label: labels.count(label) for label in set(labels)}
            each.append(np.array([(size[label] - 1) / (len(hierarchy.values) - 1) for label in labels])[places])
        found.append(each)
    return found


class Judge:
    """How fine a sample is published by a scheme, as the issue defines it."""

    def __init__(self, lattice, counts, k):
        self.lattice, self.counts, self.k = lattice, counts.counts, k
        self.losses = label_losses(lattice, counts)
        self.labels = [[level[column.codes] for level in column.levels] for column in lattice.columns(counts)]

    def classes(self, at, attributes):
        """A number for the class of each tuple, by the levels of the first attributes."""
        key = np.zeros(len(self.counts), dtype=np.int64)
        for labels, level in list(zip(self.labels, at, strict=True))[:attributes]:
            key = np.unique(key * (int(labels[level].max()) + 1) + labels[level], return_inverse=True)[1]
        return key

    def places(self, scheme):
        """The place of each attribute's level among those it may have."""
        return [
            levels.index(scheme[name]) for name, levels in zip(self.lattice.names, self.lattice.levels, strict=True)
        ]

    def predicted(self, scheme):
        """The share of the sampled rows whose last attribute is the most frequent published one of their class."""
        at = self.places(scheme)
        cell, outer = self.classes(at, None), self.classes(at, -1)
        sizes = np.bincount(cell, weights=self.counts)
        right = np.zeros(outer.max() + 1)
        np.maximum.at(right, outer, np.where(sizes >= self.k, sizes, 0)[cell])
        return float(right.sum() / self.counts.sum())

    def granularity(self, scheme):
        """(granularity, share of the sampled rows that are published)."""
        at = self.places(scheme)
        key = self.classes(at, None)
        kept = (np.bincount(key, weights=self.counts) >= self.k)[key]
        detail = 1 - np.mean([losses[level] for losses, level in zip(self.losses, at, strict=True)], axis=0)
        rows = self.counts.sum()
        return float((detail * kept * self.counts).sum() / rows), float((kept * self.counts).sum() / rows)


def runs(table, lattice, counts, score, share, k, beta):
    """Means over runs: the scheme drawn on the full table, the sample drawn and its small classes dropped."""
    scores = score.of_all(lattice, counts)
    source = Source.secure()
    drawn = source.choices(log_weights(scores, share, score.spread(lattice)), RUNS)
    judged = []
    for index in drawn.tolist():
        sample = table.keep(source.row_mask(beta).keep).count_by(lattice.names)
        judged.append(Judge(lattice, sample, k).granularity(lattice.scheme(index)))
    return np.array(judged)


def prediction(share):
    """Mean shares of rows whose salary class is predicted right, for the score made for it and for the ramp."""
    table, lattice = adult("salary-class")
    counts, (k, beta), found = table.count_by(lattice.names), setting(share), {}
    for score in (Target(k, beta, "salary-class"), Ramp(k, beta)):
        source = Source.secure()
        weights = log_weights(score.of_all(lattice, counts), share, score.spread(lattice))
        right = []
        for index in source.choices(weights, RUNS).tolist():
            sample = table.keep(source.row_mask(beta).keep).count_by(lattice.names)
            right.append(Judge(lattice, sample, k).predicted(lattice.scheme(index)))
        found[score.name] = float(np.mean(right))
    return found


def optimum(table, lattice, counts, k, beta):
    """The best scheme for a sample, chosen with open eyes: of the 400 best by expected records, the finest published."""
    best = np.argsort(Records(k, beta).of_all(lattice, counts))[-400:]
    judge = Judge(lattice, table.keep(Source.secure().row_mask(beta).keep).count_by(lattice.names), k)
    return max(judge.granularity(lattice.scheme(index)) for index in best.tolist())


def wide(columns=10, rows=30_000, kinds=30):
    """CPU seconds for all schemes over many attributes that hang together, with and without leaving small classes out."""
    rng, score, made = np.random.default_rng(1), Ramp(30, Fraction(3, 10)), []
    common = 1 / np.arange(1, kinds + 1)
    kind = rng.choice(kinds, rows, p=common / common.sum())
    for number in range(columns):
        values = 30 if number % 2 else 8
        chances = rng.dirichlet(np.full(values, 0.25), kinds).cumsum(axis=1)
        codes = np.minimum((rng.random(rows)[:, None] > chances[kind]).sum(axis=1), values - 1)
        finest, whole = np.arange(values + 1), np.zeros(values + 1, dtype=np.int64)
        made.append(GeneralizedColumn(codes, (finest, finest // 5, whole) if number % 2 else (finest, whole)))
    found = []
    for void in (score.void, 0):
        start = time.process_time()
        scores = score_all(made, np.ones(rows, dtype=np.int64), score.of_scheme, void=void)
        found.append((time.process_time() - start, scores))
    if not np.array_equal(found[0][1], found[1][1]):
        raise SystemExit("leaving small classes out changed a score")
    return len(scores), found[0][0], found[1][0]


def main():
    """One table of times, one of granularity, and both as JSON."""
    if not (DATA / "adult" / "adult.csv").exists():
        print("no data folder: nothing measured")
        return
    report = {"cpu_seconds": [], "granularity": []}
    table, lattice = adult()
    counts = table.count_by(lattice.names)
    print(f"{len(lattice):,} schemes, {len(counts):,} distinct tuples\n\n{'CPU seconds':34}{'ours':>8}{'to beat':>9}")
    cold = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603
    k, beta = setting(Fraction("0.1"))
    timed = [("ramp, new process", float(cold.stdout), 4.0)]
    for score in (Ramp(k, beta), Records(k, beta), Discernibility(k, beta)):
        start = time.process_time()
        scores = score.of_all(lattice, counts)
        timed.append((f"{score.name}, warm", time.process_time() - start, 1.5))
    start = time.process_time()
    Source.secure().choose(log_weights(scores, Fraction("0.1"), score.spread(lattice)))
    timed.append(("the draw", time.process_time() - start, None))
    table_9, lattice_9 = adult("salary-class")
    counts_9 = table_9.count_by(lattice_9.names)
    start = time.process_time()
    Target(k, beta, "salary-class").of_all(lattice_9, counts_9)
    timed.append(("target (9 attributes), warm", time.process_time() - start, None))
    schemes, short, long = wide()
    timed.append((f"{schemes:,} schemes, 10 attributes", short, round(long, 2)))
    for name, took, most in timed:
        print(f"{name:34}{took:8.2f}{most or '-':>9}")
        report["cpu_seconds"].append({"what": name, "seconds": round(took, 3), "to_beat": most})

    print(f"\n{'granularity, mean of 20 runs':34}{'choice':>8}{'k':>5}{'mean':>8}{'least':>8}{'rows':>8}{'to beat':>9}")
    for share in (Fraction("0.02"), Fraction("0.05"), Fraction("0.1"), Fraction("0.2"), Fraction("0.5")):
        k, beta = setting(share)
        for score in (Ramp(k, beta), Records(k, beta), Discernibility(k, beta)):
            found = runs(table, lattice, counts, score, share, k, beta)
            mean, least, rows = found[:, 0].mean(), found[:, 0].min(), found[:, 1].mean()
            most = 0.56 if score.name == "ramp" and share == Fraction("0.1") else None
            print(f"{score.name:34}{float(share):8}{k:5}{mean:8.3f}{least:8.3f}{rows:8.1%}{most or '-':>9}")
            entry = {"score": score.name, "epsilon": float(share), "k": k, "beta": float(beta), "to_beat": most}
            report["granularity"].append(entry | {"mean": mean, "least": least, "rows": rows})
    k, beta = setting(Fraction("0.1"))
    best, rows = optimum(table, lattice, counts, k, beta)
    print(f"{'the best scheme, seen unpaid':34}{'-':>8}{k:5}{best:8.3f}{'-':>8}{rows:8.1%}{'-':>9}")
    report["optimum"] = {"granularity": best, "rows": rows}
    report["predicted"] = prediction(Fraction("0.1"))
    print(f"\n{'salary class predicted right, choice .1':34}")
    for name, right in report["predicted"].items():
        print(f"{name:34}{right:8.1%}")
    print("\n" + json.dumps(report))


if __name__ == "__main__":
    main()
