"""How near published views come to the truth: raw counts, made consistent, recombined; and how often intervals cover.

    python benchmarks/estimates.py [RUNS]

All 28 pairs of eight attributes, k = 20, beta = .15, each pair from its own sample: (.987, 1e-6) in all. Figures are
mean total variation over all pairs, means over runs. Rules were chosen on the generated tables; Adult only confirms.
`raw, unscaled` leaves published counts / beta as they are; `raw` divides them by their sum.

Below them, what `count` and `share` answer: 200 conditions on two attributes (a random half of the values of each) and every
value of every attribute, once from the narrowest view alone, as published and with the quotient of two intervals for a share, and
once as they are answered: all views pooled, the estimate of the model, and with a noisy total for epsilon .01.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from shoal.assess.release import consistency as consistent
from shoal.assess.release.answers.noisy_total import NoisyTotal
from shoal.assess.release.answers.rows import EVERYTHING, split_view
from shoal.assess.release.condition import Overlap, condition, condition_axes
from shoal.assess.release.estimate import lower_bound, upper_bound
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


RISK = 0.05


def narrowest(loaded, where, share=False):
    """The published count of one view with its interval, or the quotient of two of them: what was answered before pooling."""
    wanted = condition(loaded, where)
    axes = condition_axes(loaded, wanted)
    views = loaded.covering(tuple(axes))
    view = min(views, key=lambda own: (Overlap(own, wanted, axes).blur, own.cells, own.name))
    least = min(loaded.views, key=lambda own: (own.cells, own.name))
    risk = RISK / 2 if share else RISK
    part, every = split_view(view, wanted, axes), split_view(least, EVERYTHING, {})
    codes, counts = view.tuples
    value = float((Overlap(view, wanted, axes).of(codes)[0] * counts).sum()) * view.weight
    low, high = (
        float(of(t, view.beta, risk / 2)) for of, t in ((lower_bound, part.part_least), (upper_bound, part.part_most))
    )
    if share:
        total = float(least.tuples[1].sum()) * least.weight
        ends = (
            float(lower_bound(every.part_least, least.beta, risk / 2)),
            float(upper_bound(every.part_most, least.beta, risk / 2)),
        )
        return value / total, low / ends[1], min(1.0, high / ends[0])
    everybody = float(upper_bound(every.part_most, least.beta, risk / 16))
    high = min(high, everybody - float(lower_bound(part.rest_least, view.beta, risk / 16)))
    return value, low, max(high, value)


def answers(loaded, columns, sizes, rng):
    """Errors, lengths and coverage of counts and shares, from the narrowest view alone and pooled."""
    records = len(columns[0])
    noise = int(rng.geometric(1 - np.exp(-0.01)) - rng.geometric(1 - np.exp(-0.01)))
    told = replace(loaded, noisy_total=NoisyTotal(records + noise, Fraction(100)))
    found = {}

    def note(name, triples):
        errors, lengths, hits = zip(*[(abs(v - t), h - lo, lo <= t <= h) for t, (v, lo, h) in triples], strict=True)
        found[f"{name}: mean error"] = np.mean(errors)
        found[f"{name}: mean length of intervals"] = np.mean(lengths)
        found[f"{name}: intervals that cover (stated .95)"] = np.mean(hits)

    def of(estimate):
        return estimate.value, estimate.low, estimate.high

    two, one = [], []
    for _ in range(200):
        i, j = sorted(rng.choice(len(sizes), 2, replace=False))
        halves = {at: rng.choice(sizes[at], max(1, sizes[at] // 2), replace=False) for at in (i, j)}
        truth = int(np.logical_and(np.isin(columns[i], halves[i]), np.isin(columns[j], halves[j])).sum())
        two.append((truth, {f"a{at}": {f"v{value:02d}" for value in half} for at, half in halves.items()}))
    for j, size in enumerate(sizes):
        one += [(float((columns[j] == value).mean()), {f"a{j}": f"v{value:02d}"}) for value in range(size)]
    note("two-way counts, narrowest view", [(truth, narrowest(loaded, where)) for truth, where in two])
    note("two-way counts, pooled", [(truth, of(loaded.count(where))) for truth, where in two])
    note("two-way counts, pooled, with a noisy total", [(truth, of(told.count(where))) for truth, where in two])
    note("one-way shares, narrowest view", [(truth, narrowest(loaded, where, share=True)) for truth, where in one])
    note("one-way shares, pooled", [(truth, of(loaded.share(where))) for truth, where in one])
    note("one-way shares, pooled, with a noisy total", [(truth, of(told.share(where))) for truth, where in one])
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
            several = []
            for run in range(runs):
                several.append(one_run(Path(place) / str(run), sizes, truth, len(columns[0]), rng))
                several[-1] |= answers(load(Path(place) / str(run)), columns, sizes, rng)
        results[name] = {key: np.mean([each[key] for each in several]) for key in several[0]}
    print(f"28 pairs, k = {K}, beta = {BETA}; means of {runs} runs (aim on Adult: .055)")
    print(f"{'':62}" + "".join(f"{name:>12}" for name in results))
    for key in next(iter(results.values())):
        print(f"{key:62}" + "".join(f"{own[key]:12.4f}" for own in results.values()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
