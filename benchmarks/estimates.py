"""How near published views come to the truth: raw counts, made consistent, recombined; and how often intervals cover.

    python benchmarks/estimates.py [RUNS]

All 28 pairs of eight attributes, k = 20, beta = .15, each pair from its own sample: (.987, 1e-6) in all. Figures are
mean total variation over all pairs, means over runs. Rules were chosen on the generated tables; Adult only confirms.
`raw, unscaled` leaves published counts / beta as they are; `raw` divides them by their sum.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from shoal.assess.release import consistency as consistent
from shoal.assess.release.load import load
from shoal.assess.release.synthetic import synthetic
from shoal.chance.source import Source

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # so that the release folders of the tests can be made
ADULT = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data")) / "adult"
K, BETA = 20, "0.15"
RUNS = 10
OURS = consistent.shrink


def adult():
    """Eight attributes of Adult, leaf values, ages in bins of five years."""
    with (ADULT / "adult.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter=";")
    columns, sizes = [], []
    for j, name in enumerate(header):
        if name == "salary-class":
            continue
        path = ADULT / "hierarchies" / f"adult_hierarchy_{name}.csv"
        leaves = [line.split(";")[0] for line in path.read_text(encoding="utf-8").splitlines()]
        values = [row[j] for row in rows]
        if name == "age":
            leaves, values = ([int(value) // 5 for value in several] for several in (leaves, values))
        place = {value: i for i, value in enumerate(sorted(set(leaves)))}
        columns.append(np.array([place[value] for value in values]))
        sizes.append(len(place))
    return columns, sizes


def visits(rows=30_000, seed=1):
    """Eight attributes of generated hospital visits."""
    from shoal.datasets.visits import visits as made

    frame = made(rows, seed).to_pandas()
    steps = {
        "age": frame["age"].astype(float) // 5,
        "diagnosis": frame["diagnosis"].str[:2],
        "stay": np.log2(frame["stay"].astype(float) + 1).round(0),
        "income": (frame["income"].astype(float) // 10_000).clip(upper=12),
    }
    names = ("age", "sex", "region", "department", "insurance", "diagnosis", "stay", "income")
    columns = [np.unique(steps.get(name, frame[name]).map(str), return_inverse=True)[1] for name in names]
    return columns, [int(column.max()) + 1 for column in columns]


def stand_in(seed, rows=30_000):
    """A made-up world with as many values as Adult has."""
    from shoal.datasets.simulate import simulate as made
    from shoal.policy.policy import Policy

    sizes = [16, 2, 5, 7, 16, 41, 8, 14]
    lines = [
        f"  a{j}: {{role: quasi, type: category, domain: [{', '.join(f'v{i}' for i in range(size))}]}}"
        for j, size in enumerate(sizes)
    ]
    policy = Policy.parse(
        "version: 1\ndataset: stand-in\nunit: row\nneighbours: add_remove\nattributes:\n" + "\n".join(lines)
        + "\nrelease: {method: safe-k, epsilon: 1, delta: 1e-6, sampling: {beta: 0.2}}\n"
    )  # fmt: skip
    table = made(policy.schema, rows, Source.seeded(seed))
    columns = [
        np.array([int((value or "v0")[1:]) for value in table.column(f"a{j}").to_pylist()]) for j in range(len(sizes))
    ]
    return columns, sizes


def plain(counts, shown, expected, k, beta):  # noqa: ARG001
    """No shrinkage: counts as they are, and what is left over by independence."""
    return np.where(shown, counts, expected) / beta


def filled(counts, shown, expected, k, beta):
    """Empirical Bayes for unpublished cells alone."""
    return np.where(shown, counts / beta, OURS(counts, shown, expected, k, beta))


STEPS = {
    "common margins, left-over mass by independence (raking)": (plain, 0),
    "+ unpublished cells by empirical Bayes": (filled, 0),
    "+ published cells shrunk half way": (OURS, 0),
    "(go-betweens, published cells as they are)": (filled, consistent.BETWEEN),
    "+ go-betweens from other views (what we do)": (OURS, consistent.BETWEEN),
}


def distance(a, b):
    """Total variation."""
    return 0.5 * np.abs(a - b).sum()


def one_run(folder, sizes, truth, records, rng):
    """Every figure of one release."""
    from tests.assess.release.released import write_pairs

    loaded = load(write_pairs(folder, sizes, truth, K, BETA, rng))
    known = {name: counts / records for name, counts in truth.items()}
    marginals = {view.name: loaded.marginal(*view.columns) for view in loaded.views}
    found = {
        "raw, unscaled": np.mean([distance(own.value / records, known[name]) for name, own in marginals.items()]),
        "raw": np.mean([distance(own.shares, known[name]) for name, own in marginals.items()]),
    }
    for name, (shrink, between) in STEPS.items():
        consistent.shrink, consistent.BETWEEN = shrink, between
        start = time.process_time()
        fitted = consistent.fit(loaded)
        spent = time.process_time() - start
        found[name] = np.mean([distance(own / own.sum(), known[view]) for view, own in fitted.tables.items()])
    found["the total, relative to the truth"] = fitted.total / records
    made = synthetic(fitted, None, Source.secure())
    apart = []
    for view in loaded.views:
        i, j = (made.columns.index(name) for name in view.columns)
        cells = np.bincount(made.codes[:, i] * sizes[j] + made.codes[:, j], minlength=sizes[i] * sizes[j])
        apart.append(distance(cells.reshape(sizes[i], sizes[j]) / len(made), known[view.name]))
    found["synthetic table from the views"] = np.mean(apart)
    inside = [(own.low <= truth[name]) & (truth[name] <= own.high) for name, own in marginals.items()]
    shown = np.concatenate([own.published.ravel() for own in marginals.values()])
    covered = np.concatenate([each.ravel() for each in inside])
    found["intervals that cover (stated .95): published cells"] = covered[shown].mean()
    found["intervals that cover: unpublished cells"] = covered[~shown].mean()
    found["CPU seconds to make 28 views consistent"] = spent
    return found


def main(runs):
    """Print the table."""
    from tests.assess.release.released import all_pairs

    tables = {"visits": visits(), "stand-in 1": stand_in(1), "stand-in 2": stand_in(2)}
    if ADULT.is_dir():
        tables["Adult"] = adult()
    results = {}
    for name, (columns, sizes) in tables.items():
        truth, rng = all_pairs(sizes, columns), np.random.default_rng(11)
        with tempfile.TemporaryDirectory() as place:
            several = [one_run(Path(place) / str(run), sizes, truth, len(columns[0]), rng) for run in range(runs)]
        results[name] = {key: np.mean([each[key] for each in several]) for key in several[0]}
    print(f"28 pairs, k = {K}, beta = {BETA}; means of {runs} runs (aim on Adult: .055)")
    print(f"{'':62}" + "".join(f"{name:>12}" for name in results))
    for key in next(iter(results.values())):
        print(f"{key:62}" + "".join(f"{own[key]:12.4f}" for own in results.values()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
