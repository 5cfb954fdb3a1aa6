"""A synthetic table from views: how well the salary class is predicted from it, against training on the originals.

python benchmarks/recombined.py [runs]     5 runs when left out; needs ../shared/data/adult beside the project

Two thirds of Adult are released as all pairs of 9 attributes; the views are made consistent and recombined. A logistic
regression on one-hot cells is trained on the synthetic table and on the two thirds themselves, and tested on the last
third, which nobody saw.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import shoal
from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release

ROOT = Path(__file__).resolve().parents[1]
ADULT = ROOT.parent / "shared" / "data" / "adult"
TARGET = "salary-class"


def policy(epsilon: int) -> Policy:
    """All pairs of all nine attributes, ages in 5-year bins."""
    keys = {
        "method": "safe-k",
        "epsilon": str(epsilon),
        "delta": "1e-6",
        "views": "pairs",
        "recoding": {"levels": {"age": 1}},
    }
    found = Policy.load(ROOT / "examples" / "adult" / "policy.yaml")
    return found.with_changes({"release": keys, "budget": None})


def encoded(columns: dict[str, list[str]], known: dict[str, list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """One-hot rows and the target; a label that is not known is no label."""
    blocks = []
    for name, labels in known.items():
        if name == TARGET:
            continue
        place = {label: i for i, label in enumerate(labels)}
        block = np.zeros((len(columns[name]), len(labels)))
        for row, value in enumerate(columns[name]):
            if value in place:
                block[row, place[value]] = 1.0
        blocks.append(block)
    target = np.array([value == known[TARGET][0] for value in columns[TARGET]], dtype=float)
    return np.hstack([*blocks, np.ones((len(target), 1))]), target


def trained(x: np.ndarray, y: np.ndarray, rounds: int = 15, ridge: float = 1.0) -> np.ndarray:
    """Logistic regression by Newton's method, with a ridge."""
    weights = np.zeros(x.shape[1])
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (p - y) + ridge * weights
        curve = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(x.shape[1])
        weights -= np.linalg.solve(curve, slope)
    return weights


def accuracy(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """The share of rows that are predicted right."""
    return float(((x @ weights > 0) == (y > 0.5)).mean())


def main(runs: int) -> None:
    """Print a table, and one line of JSON."""
    if not ADULT.is_dir():
        sys.exit("cannot run here: ../shared/data/adult is not there")
    whole = csv.read_csv(ADULT / "adult.csv", parse_options=csv.ParseOptions(delimiter=";"))
    schema = policy(1).schema
    levels = {a.name: a.hierarchy.level(1 if a.name == "age" else 0) for a in schema.published}
    known = {a.name: list(a.hierarchy.labels(1 if a.name == "age" else 0)) for a in schema.published}

    def columns(table: pa.Table) -> dict[str, list[str]]:
        return {
            name: [
                str(label)
                for label in levels[name].apply(
                    np.array(table.column(name).to_pylist(), dtype=object if name != "age" else np.int64)
                )
            ]
            for name in known
        }

    results = []
    for epsilon in (1, 2):
        made = plan(policy(epsilon))
        scores = []
        for run in range(runs):
            order = np.random.default_rng(run).permutation(whole.num_rows)
            train, test = (
                whole.take(pa.array(order[: 2 * len(order) // 3])),
                whole.take(pa.array(order[2 * len(order) // 3 :])),
            )
            x_test, y_test = encoded(columns(test), known)
            own = accuracy(trained(*encoded(columns(train), known)), x_test, y_test)
            with tempfile.TemporaryDirectory() as folder:
                with Ledger(str(Path(folder) / "ledger.sqlite")) as book:
                    release(made, train, Path(folder) / "out", ledger=book, engine=open_engine(), report=False)
                synthetic = shoal.load(Path(folder) / "out").synthetic(rows=train.num_rows).to_arrow()
            drawn = {
                name.removeprefix("synthetic "): [str(v) for v in synthetic.column(name).to_pylist()]
                for name in synthetic.column_names
            }
            theirs = accuracy(trained(*encoded(drawn, known)), x_test, y_test)
            scores.append((own, theirs, max(y_test.mean(), 1 - y_test.mean())))
        own, theirs, guess = np.mean(scores, axis=0)
        print(
            f"epsilon {epsilon}: trained on originals {own:.4f}, on the synthetic table {theirs:.4f}, "
            f"always the larger class {guess:.4f} (means of {runs} runs)",
            flush=True,
        )
        results.append({"epsilon": epsilon, "originals": own, "synthetic": theirs, "guess": guess})
    print(json.dumps({"benchmark": "recombined", "runs": runs, "results": results}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
