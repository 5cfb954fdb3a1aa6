"""Views on Adult: how far the published pairs are from the original, beside plain noise (one wide table: recoding.py).

python benchmarks/views.py [runs]        10 runs when left out; needs ../shared/data/adult beside the project

The distance of a pair is the total variation between the original's joint distribution (leaf values, ages in 5-year
bins) and what is estimated from the release; the mean over all 28 pairs of 8 attributes is printed. Every view is
released through the real pipeline, with its ledger and its verification, and read back with `shoal.load`.
"""

import itertools
import json
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

import shoal
from shoal.engine.base import open_engine
from shoal.guarantee.differential import GaussianDP
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release

ROOT = Path(__file__).resolve().parents[1]
ADULT = ROOT.parent / "shared" / "data" / "adult"
DELTA = Fraction("1e-6")
BIN = 1
"""The level of the ages: 5-year bins."""


def policy(name: str, epsilon: object, release_keys: dict) -> Policy:
    """The example's policy without the salary class, with another release."""
    found = Policy.load(ROOT / "examples" / "adult" / "policy.yaml")
    keys = {"method": "safe-k", "epsilon": str(epsilon), "delta": "1e-6", **release_keys}
    return found.with_changes(
        {"dataset": name, "attributes.salary-class.role": "drop", "release": keys, "budget": None}
    )


def truth(schema) -> tuple[list[str], dict, dict]:
    """The labels of every attribute and the true joint counts of every pair."""
    table = open_engine().scan(ADULT / "adult.csv", schema)
    names = [attribute.name for attribute in schema.published]
    labels, levels = {}, {}
    for attribute in schema.published:
        index = BIN if attribute.name == "age" else 0
        levels[attribute.name] = attribute.hierarchy.level(index)
        labels[attribute.name] = [*attribute.hierarchy.labels(index), "(missing)"]
    recoded = table.recode(levels)
    joint = {}
    for pair in itertools.combinations(names, 2):
        counts = recoded.count_by(pair)
        cells = np.zeros([len(labels[name]) for name in pair])
        places = [
            np.array([labels[name].index(str(v)) for v in values])[codes]
            for name, values, codes in zip(pair, counts.values, counts.codes, strict=True)
        ]
        cells[tuple(places)] = counts.counts
        joint[pair] = cells
    return names, labels, joint


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Total variation between two tables of counts."""
    total = other.sum()
    return float(np.abs(one / one.sum() - (other / total if total > 0 else 0)).sum() / 2)


def raw(loaded, labels, joint) -> float:
    """Published counts, rescaled to one, nothing else done to them."""
    found = []
    for pair, cells in joint.items():
        view = next(v for v in (loaded.table(name) for name in loaded.names) if set(v.columns) == set(pair))
        rows = view.to_arrow().select(list(pair)).group_by(list(pair)).aggregate([([], "count_all")])
        own = np.zeros_like(cells)
        for first, second, count in zip(*(rows.column(name).to_pylist() for name in (*pair, "count_all")), strict=True):
            own[labels[pair[0]].index(str(first)), labels[pair[1]].index(str(second))] += count
        found.append(distance(cells, own))
    return float(np.mean(found))


def fitted(loaded, labels, joint) -> float:
    """Consistent estimates, each atom spread evenly over the benchmark's cells that it holds."""
    views = loaded.consistent()
    schema = policy("adult", 1, {}).schema
    bins = schema["age"].hierarchy.level(BIN).table  # the file's own bins: its label 0-4 holds the ages 1 to 5
    spread = {
        name: spread_of(loaded.axis(name), known, bins if name == "age" else {}) for name, known in labels.items()
    }
    found = []
    for pair, cells in joint.items():
        own = views.marginal(*pair).value
        found.append(distance(cells, spread[pair[0]].T @ own @ spread[pair[1]]))
    return float(np.mean(found))


def spread_of(axis, known, bins) -> np.ndarray:
    """How much of each atom of an attribute belongs to each of the benchmark's labels."""
    found = np.zeros((len(axis), len(known)))
    for i, (span, leaves) in enumerate(zip(axis.spans, axis.leaves, strict=True)):
        values = range(int(span[0]), int(span[1])) if span is not None else sorted(leaves)
        if i == axis.missing or not len(values):
            found[i, -1] = 1.0
            continue
        for value in values:
            found[i, known.index(bins.get(str(value), str(value)))] += 1 / len(values)
    return found


def gaussian(epsilon: float, joint: dict, chance: np.random.Generator) -> float:
    """A yardstick: Gaussian noise on all pairs for the same promise, projected to counts that add up."""
    low, high = len(joint) ** 0.5 / 5, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        fits = GaussianDP(Fraction(len(joint) ** 0.5 / middle)).epsilon_at(DELTA) <= epsilon
        low, high = (low, middle) if fits else (middle, high)
    found = []
    for cells in joint.values():
        noisy = (cells + chance.normal(0, high, cells.shape)).ravel()
        falling = np.sort(noisy)[::-1]
        excess = (np.cumsum(falling) - cells.sum()) / np.arange(1, len(falling) + 1)
        level = excess[np.flatnonzero(falling > excess)[-1]]
        found.append(distance(cells, np.maximum(noisy - level, 0).reshape(cells.shape)))
    return float(np.mean(found))


def main(runs: int) -> None:
    """Print a table, and one line of JSON."""
    if not ADULT.is_dir():
        sys.exit("cannot run here: ../shared/data/adult is not there")
    levels = {"levels": {"age": BIN}}
    settings = [
        ("pairs, k 20, beta .15", 1, {"views": "pairs", "recoding": levels, "sampling": {"beta": "0.15"}}),
        ("pairs, beta auto", 1, {"views": "pairs", "recoding": levels}),
        ("pairs, tree .1", 1, {"views": "pairs", "recoding": {"tree": {"epsilon": "0.1", "finest": {"age": BIN}}}}),
        ("pairs, beta auto", 2, {"views": "pairs", "recoding": levels}),
    ]
    names, labels, joint = truth(policy("adult", 1, {}).schema)
    chance = np.random.default_rng(1)
    print(
        f"{'mean 2-way total variation':36} {'epsilon':>7} {'k':>4} {'beta':>6} {'raw':>7} {'consistent':>10} {'s a run':>8}"
    )
    results = []
    for title, epsilon, keys in settings:
        made = plan(policy("adult", epsilon, keys))
        own = [one_run(made, labels, joint, grown="tree" in title) for _ in range(runs)]
        means = np.mean(own, axis=0)
        numbers = made.promise
        print(
            f"{title:36} {epsilon:>7} {numbers.k:>4} {float(numbers.beta):>6.3g} "
            f"{means[0]:>7.4f} {means[1]:>10.4f} {means[2]:>8.1f}",
            flush=True,
        )
        results.append({"what": title, "epsilon": epsilon, "raw": means[0], "consistent": means[1]})
    for epsilon in (1, 2):
        noise = float(np.mean([gaussian(epsilon, joint, chance) for _ in range(runs)]))
        print(f"{'Gaussian noise on all pairs (yardstick)':36} {epsilon:>7} {'':>4} {'':>6} {noise:>7.4f}")
        results.append({"what": "gaussian", "epsilon": epsilon, "raw": noise})
    print(json.dumps({"benchmark": "views", "runs": runs, "attributes": names, "results": results}))


def one_run(made, labels, joint, *, grown: bool) -> tuple[float, float, float]:
    """Release, verify, load; the distance of what was published and of what was made consistent."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with Ledger(str(Path(folder) / "ledger.sqlite")) as book:
            release(made, ADULT / "adult.csv", Path(folder) / "out", ledger=book, engine=open_engine(), report=False)
        took = time.perf_counter() - began
        loaded = shoal.load(Path(folder) / "out")
        return (float("nan") if grown else raw(loaded, labels, joint)), fitted(loaded, labels, joint), took


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
