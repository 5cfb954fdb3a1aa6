"""What DP microaggregation leaves of tables of numbers: every grouping beside what it was compared with (decision 0013).

    python benchmarks/centroids_utility.py [--runs 10] [--tables census-4,incomes-1000x2] [--epsilons 0.1,1,10] [--markdown]

Nothing said: Census (4 attributes) and 1,000 generated incomes, 5 runs. The methods that ship run as they are, on codes; what
was dropped (curve, grid) runs as plain NumPy with floating-point noise. Bounds are 0 to 1.5 times the maximum, declared as such.
`synthetic` has delta 1e-6 beside its epsilon, `insensitive, gaussian` too; `per_record` is the thesis' noise at the epsilon that
it claims and does not keep. All others are pure.

Measures, means over runs: relative error of means and variances (mean over attributes), absolute error of correlations (mean over
pairs), Wasserstein distance of each attribute in its standard deviations, Kolmogorov-Smirnov distance, total variation of pairs
in 8 quantile bins, and how many times larger than those of `boxes` these six are (geometric mean). One-way tables have no pairs.
"""

import argparse
import csv
import math
import os
import shutil
import tempfile
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from shoal.anonymize.method.box_microaggregation import BoxMicroaggregation, box_attributes
from shoal.anonymize.method.dp_microaggregation import DPMicroaggregation, centroid_attributes
from shoal.chance.source import Source
from shoal.guarantee.centroids import solve_centroids
from shoal.guarantee.differential import GaussianDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.boxes import solve_boxes
from shoal.mechanism.staircase.distribution import LatticeDistribution
from shoal.policy.policy import Policy

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
FOUR = ("FICA", "FEDTAX", "INTVAL", "POTHVAL")
EIA_LEFT_OUT = ("UTILITYID", "UTILNAME", "STATE", "YEAR", "MONTH")
SCHOOLING = [
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
]
DELTA = "1e-6"
KEYS = ("mean", "variance", "correlation", "wasserstein", "ks", "pairs")
REPLACED, ADDED = Unit.row("replace_one"), Unit.row("add_remove")
MOST_SORTED = 50_000
"""Clusters by corners and curves are left out of larger tables: sorted lists and best k take minutes there."""


# --- tables --------------------------------------------------------------------------------------------------------------


def read(path, names=None, left_out=(), delimiter=","):
    """Columns of a shared table as numbers."""
    with (DATA / path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter))
    kept = names or [name for name in rows[0] if name not in left_out]
    return np.array([[float(row[name]) for name in kept] for row in rows])


def adult():
    """Adult's numbers: age, and schooling by rank."""
    with (DATA / "adult" / "adult.csv").open(encoding="utf-8", newline="") as file:
        return np.array(
            [[int(r["age"]), SCHOOLING.index(r["education"])] for r in csv.DictReader(file, delimiter=";")], dtype=float
        )


def incomes(rows, width):
    """Generated incomes: lognormal, correlated, declared from 0 to a million."""
    chance = np.random.default_rng(5)
    normal = chance.multivariate_normal(np.zeros(width), np.full((width, width), 0.5) + 0.5 * np.eye(width), size=rows)
    return np.minimum(np.round(np.exp(10 + 0.8 * normal)), 1e6)


def scaled(values):
    """Values with the bounds of the thesis."""
    return values, np.floor(np.minimum(0, 1.5 * values.min(axis=0))), np.ceil(1.5 * values.max(axis=0))


TABLES = {
    "census-4": lambda: scaled(read("casc_census/census.csv", FOUR)),
    "census-13": lambda: scaled(read("casc_census/census.csv")),
    "eia": lambda: scaled(read("casc_eia/eia.csv", left_out=EIA_LEFT_OUT)),
    "adult": lambda: (adult(), np.zeros(2), np.array([120.0, 15.0])),
} | {
    f"incomes-{rows}x{width}": lambda rows=rows, width=width: (
        incomes(rows, width),
        np.zeros(width),
        np.full(width, 1e6),
    )
    for rows, width in ((1000, 2), (1000, 5), (30_000, 3), (300_000, 5))
}


class Numbers:
    """A table of whole numbers with its declared bounds, its policy and its codes."""

    def __init__(self, name):
        self.name = name
        self.values, self.low, self.high = TABLES[name]()
        self.rows, self.width = self.values.shape
        self.codes = [(self.values[:, j] - self.low[j]).astype(np.int64) for j in range(self.width)]
        self.steps = (self.high - self.low).astype(np.int64)
        self.schema = Policy.of(self.policy({"method": "synthetic", "epsilon": "1", "delta": DELTA})).schema
        self.truth = Measured(self.values)

    @property
    def names(self):
        """The attributes' names."""
        return [f"x{j}" for j in range(self.width)]

    @property
    def unit_cube(self):
        """The values as shares of the declared widths."""
        return (self.values - self.low) / (self.high - self.low)

    def policy(self, release, **more):
        """A policy for this table; `more` is declared of each attribute."""
        attributes = {
            name: {"role": "quasi", "type": "integer", "domain": [int(low), int(high)], "missing": "refuse", **more}
            for name, low, high in zip(self.names, self.low, self.high, strict=True)
        }
        head = {"version": 1, "dataset": "numbers", "unit": "row", "neighbours": "add_remove"}
        return {**head, "attributes": attributes, "release": release}

    def columns(self, shown):
        """Published columns as one array."""
        return np.stack([np.asarray(shown[name], dtype=float) for name in self.names], axis=1)


# --- methods: (table, epsilon, seed) -> rows ----------------------------------------------------------------------------


def boxes(table, epsilon, seed):
    """Box means, as shipped."""
    setting = solve_boxes(epsilon, attributes=box_attributes(table.schema), unit=ADDED)
    method, source = BoxMicroaggregation.of(setting, table.schema), Source.seeded(seed)
    return table.columns(method.rows(method.measure(table.codes, source), source).tables[0].rows)


def centroids(table, epsilon, seed, **keys):
    """Noisy centroids, as shipped; one-way tables are put side by side in random order."""
    setting = solve_centroids(
        epsilon, rows=table.rows, attributes=centroid_attributes(table.schema), unit=REPLACED, **keys
    )
    found = DPMicroaggregation.of(setting, table.schema).centroids(table.codes, Source.seeded(seed)).tables
    if len(found) == 1:
        return table.columns(found[0].rows)
    chance = np.random.default_rng(seed)
    return table.columns({name: chance.permutation(values) for one in found for name, values in one.rows.items()})


def sizes(table):
    """Cluster sizes that are tried where the best is asked for; nobody may do so with a real table for nothing."""
    return sorted({max(2, table.rows // parts) for parts in (2, 4, 8, 16, 32, 64)})


def plain_records(table, epsilon, seed):
    """Every record with box noise of its own: parallel composition holds, and nothing is averaged."""
    sides = tuple(table.steps.tolist())
    noise = LatticeDistribution(Fraction(epsilon), sides, tuple(side // 2 for side in sides))
    noisy = table.values + noise.draw(Source.seeded(seed), table.rows)
    return np.clip(noisy, table.low, table.high)


def synthetic(table, epsilon, seed, **more):  # noqa: ARG001 - a release has no seed
    """`method: synthetic` with all pairs, through the real pipeline; cells are equal steps, or those of a hierarchy."""
    import pyarrow.csv
    import pyarrow.parquet

    import shoal

    folder = Path(tempfile.mkdtemp())
    try:
        header = ",".join(table.names)
        np.savetxt(folder / "data.csv", table.values, fmt="%d", delimiter=",", header=header, comments="")
        release = {"method": "synthetic", "views": {"every": "pairs"}, "epsilon": epsilon, "delta": DELTA}
        policy = Policy.of(table.policy(release, **more))
        ledger = folder / "ledger.sqlite"
        shoal.release(policy, folder / "data.csv", folder / "out", ledger=ledger, new_ledger=True, report=False)
        (file,) = (folder / "out").glob("synthetic.*")
        readers = {".parquet": pyarrow.parquet.read_table, ".csv": pyarrow.csv.read_csv}
        return table.columns(readers[file.suffix](file).to_pydict())
    finally:
        shutil.rmtree(folder)


def grid(table, epsilon, seed, cells):
    """A data-independent grid of cells^width boxes with counts and sums: NumPy, box noise in floating point."""
    chance, cube, eps = np.random.default_rng(seed), table.unit_cube, float(epsilon)
    places = np.minimum((cube * cells).astype(int), cells - 1)
    home = np.ravel_multi_index(tuple(places.T), (cells,) * table.width)
    offset = 2 * (cube * cells - places) - 1
    count = np.bincount(home, minlength=cells**table.width).astype(float)
    sums = np.stack([np.bincount(home, weights=column, minlength=len(count)) for column in offset.T], axis=1)
    dimension = 1 + table.width
    noise = chance.gamma(dimension + 1, 1 / eps, (len(count), 1)) * chance.uniform(-1, 1, (len(count), dimension))
    spread = math.sqrt((dimension + 1) * (dimension + 2) / 3) / eps
    noisy = count + noise[:, 0]
    kept = np.where(noisy > 2 * spread, noisy, 0.0)
    kept = kept if kept.any() else (noisy == noisy.max()).astype(float)
    kept *= max(1.0, noisy.sum()) / kept.sum()
    held = np.maximum(kept, 1)[:, None]
    means = np.clip((sums + noise[:, 1:]) / held / (1 + 3 * (spread / held) ** 2), -0.98, 0.98)
    times = np.diff(np.concatenate([[0], np.floor(np.cumsum(kept) + 0.5)])).astype(int)
    home = np.repeat(np.arange(len(count)), times)
    # A linear density with the mean m has the quantile function below for |m| up to 1/3; beyond it is narrowed to the end.
    corner = np.stack(np.unravel_index(home, (cells,) * table.width), axis=1)
    rows = (corner + (chance.uniform(-1, 1, means[home].shape) * (1 - abs(means[home])) + means[home] + 1) / 2) / cells
    return table.low + np.clip(rows, 0, 1) * (table.high - table.low)


def hilbert(cube, bits):
    """The place of each point along a Hilbert curve through the unit cube (Skilling 2004)."""
    planes = [np.minimum((column * (1 << bits)).astype(np.int64), (1 << bits) - 1) for column in cube.T]
    bit = 1 << (bits - 1)
    while bit > 1:
        for i in range(len(planes)):
            hit, mixed = (planes[i] & bit) > 0, (planes[0] ^ planes[i]) & (bit - 1)
            planes[0], swapped = np.where(hit, planes[0] ^ (bit - 1), planes[0] ^ mixed), planes[i] ^ mixed
            if i:
                planes[i] = np.where(hit, planes[i], swapped)
        bit >>= 1
    for i in range(1, len(planes)):
        planes[i] = planes[i] ^ planes[i - 1]
    turn, bit = np.zeros(len(cube), np.int64), 1 << (bits - 1)
    while bit > 1:
        turn = np.where((planes[-1] & bit) > 0, turn ^ (bit - 1), turn)
        bit >>= 1
    place = np.zeros(len(cube), np.int64)
    for level in range(bits - 1, -1, -1):
        for plane in planes:
            place = (place << 1) | (((plane ^ turn) >> level) & 1)
    return place


def curve(table, epsilon, seed, k, delta=0.0):
    """Clusters along a Hilbert curve, with the bounds L1 2(d+1)N^(1−1/d) and L2² 4(d+3)N^(1−2/d), or those of any order."""
    chance, cube, d = np.random.default_rng(seed), table.unit_cube, table.width
    order, clusters = np.argsort(hilbert(cube, min(20, 62 // d)), kind="stable"), table.rows // k
    starts = np.arange(clusters) * k
    sums, counts = np.add.reduceat(cube[order], starts, axis=0), np.diff(np.append(starts, table.rows))
    if delta:
        square = min(d * clusters, 4 * (d + 3) * clusters ** (1 - 2 / d))
        noise = chance.normal(size=sums.shape) * math.sqrt(square) / gaussian_mu(float(epsilon), delta)
    else:
        along = 2 * (d + 1) * clusters ** (1 - 1 / d)
        laplace, box = math.sqrt(2) * min(d * clusters, along), d * clusters / math.sqrt(3)
        noise = chance.laplace(size=sums.shape) * along / float(epsilon)
        if box <= laplace:
            noise = chance.gamma(sums.size + 1, 1 / float(epsilon)) * chance.uniform(-1, 1, sums.shape)
    rows = np.repeat(np.clip((sums + noise) / counts[:, None], 0, 1), counts, axis=0)
    return table.low + rows * (table.high - table.low)


def gaussian_mu(epsilon, delta):
    """The largest mu of a Gaussian mechanism within (epsilon, delta)."""
    low, high = 1e-4, 40.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if GaussianDP(middle).delta_at(epsilon) <= delta else (low, middle)
    return low


def methods(table):
    """What is run on a table: the name, whether rows are whole records, and for each choice of k (one if there is none) a run."""
    small, every = table.rows <= MOST_SORTED, [{"k": k} for k in sizes(table)]
    found = [
        ("boxes", True, [boxes]),
        ("plain noisy records", True, [plain_records]),
    ]
    if small:
        found += [
            ("insensitive, k: auto", True, [centroids]),
            ("insensitive, best k", True, [lambda t, e, s, own=own: centroids(t, e, s, **own) for own in every]),
            (
                "insensitive, gaussian, best k",
                True,
                [lambda t, e, s, own=own: centroids(t, e, s, delta=DELTA, noise="gaussian", **own) for own in every],
            ),
            ("curve, best k (dropped)", True, [lambda t, e, s, own=own: curve(t, e, s, **own) for own in every]),
            (
                "curve, gaussian, best k (dropped)",
                True,
                [lambda t, e, s, own=own: curve(t, e, s, delta=float(DELTA), **own) for own in every],
            ),
            (
                "per_record, k = sqrt n (the thesis' claim)",
                True,
                [lambda t, e, s: centroids(t, e, s, calibration="per_record", k=math.isqrt(t.rows))],
            ),
        ]
    found.append(("ranking, k: auto", False, [lambda t, e, s: centroids(t, e, s, grouping="ranking")]))
    grids = [cells for cells in (2, 3, 4, 6, 8, 16, 32) if cells**table.width <= 1 << 14]
    found.append(("grid, best size (dropped)", True, [lambda t, e, s, c=c: grid(t, e, s, c) for c in grids]))
    levels = [lambda t, e, s: synthetic(t, e, s, hierarchy="auto")]
    return [*found, ("synthetic, all pairs", True, [synthetic]), ("synthetic, hierarchy: auto", True, levels)]


# --- measures ------------------------------------------------------------------------------------------------------------


class Measured:
    """The true table's statistics, and how far rows are from them."""

    def __init__(self, values):
        self.values, self.sorted = values, np.sort(values, axis=0)
        self.means, self.variances, self.correlations = values.mean(0), values.var(0), np.corrcoef(values.T)
        self.edges = [np.unique(np.quantile(column, np.arange(1, 8) / 8)) for column in values.T]
        self.pairs = list(combinations(range(values.shape[1]), 2))
        self.tables = self._tables(values)

    def _tables(self, rows):
        codes = [np.searchsorted(edges, column) for edges, column in zip(self.edges, rows.T, strict=True)]
        return [np.bincount(8 * codes[i] + codes[j], minlength=64) / len(rows) for i, j in self.pairs]

    def distances(self, rows):
        """Every measure of some rows; a correlation of a constant counts as 0."""
        if len(rows) < 2:  # next to nothing was published
            rows = np.repeat(rows, 2, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            correlations = np.nan_to_num(np.corrcoef(rows.T))
        share = (np.arange(2000) + 0.5) / 2000
        wasserstein, ks = [], []
        for true, column in zip(self.sorted.T, np.sort(rows, axis=0).T, strict=True):
            wasserstein.append(np.mean(np.abs(np.quantile(true, share) - np.quantile(column, share))) / true.std())
            at = np.concatenate([true, column])
            below = [np.searchsorted(own, at, side="right") / len(own) for own in (true, column)]
            ks.append(np.abs(below[0] - below[1]).max())
        tables = self._tables(rows)
        return {
            "mean": np.mean(np.abs(rows.mean(0) - self.means) / np.abs(self.means)),
            "variance": np.mean(np.abs(rows.var(0) / self.variances - 1)),
            "correlation": np.mean([abs(correlations[pair] - self.correlations[pair]) for pair in self.pairs]),
            "wasserstein": np.mean(wasserstein),
            "ks": np.mean(ks),
            "pairs": np.mean([np.abs(a - b).sum() / 2 for a, b in zip(self.tables, tables, strict=True)]),
        }


def measure(table, choices, epsilon, runs):
    """The means of every measure; of several choices of k those of the least Wasserstein distance, as an oracle would choose."""
    found = []
    for choice in choices:
        began = time.process_time()
        try:
            every = [table.truth.distances(choice(table, epsilon, seed)) for seed in range(runs)]
        except ValueError as refused:  # such as more clusters than the optimal noise can have
            print(f"    left out: {refused}")
            continue
        one = {key: float(np.mean([run[key] for run in every])) for key in KEYS}
        found.append(one | {"seconds": (time.process_time() - began) / runs})
    return min(found, key=lambda one: one["wasserstein"]) if found else None


def main():
    """Print a block for each table and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--tables", default="census-4,incomes-1000x2", help=f"of {', '.join(TABLES)}; all for every one"
    )
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--methods", default="", help="parts of names; all when nothing is said")
    parser.add_argument("--markdown", action="store_true", help="print tables for a page")
    asked = parser.parse_args()
    names = list(TABLES) if asked.tables == "all" else asked.tables.split(",")
    if not (DATA / "casc_census").exists():
        names = [name for name in names if name.startswith("incomes")]
        print(f"cannot run on the papers' tables here: {DATA} is not there")
    if asked.markdown:
        print(f"| table | epsilon | method | {' | '.join(KEYS)} | times boxes |\n|{' --- |' * (len(KEYS) + 4)}")
    for name in names:
        table = Numbers(name)
        for epsilon in asked.epsilons.split(","):
            if not asked.markdown:
                print(f"\n{name} ({table.rows:,} x {table.width}), epsilon {epsilon}, {asked.runs} runs")
            base = None
            for title, joint, choices in methods(table):
                if asked.methods and not any(part in title for part in ("boxes", *asked.methods.split(","))):
                    continue
                one = measure(table, choices, epsilon, 2 if title.startswith("synthetic") else asked.runs)
                if one is None:
                    continue
                base = base or one
                own = [key for key in KEYS if joint or key not in ("correlation", "pairs")]
                ratio = math.exp(np.mean([math.log(max(one[key], 1e-9) / max(base[key], 1e-9)) for key in own]))
                shown = [f"{one[key]:.3g}" if key in own else "" for key in KEYS]
                if asked.markdown:
                    print(f"| {name} | {epsilon} | {title} | {' | '.join(shown)} | {ratio:.1f} |", flush=True)
                else:
                    pairs = "  ".join(f"{key} {value:>6}" for key, value in zip(KEYS, shown, strict=True))
                    print(f"  {title:44s}{pairs}  {ratio:5.1f} times boxes  {one['seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    main()
