"""Answers of sessions beside OpenDP, diffprivlib and SmartNoise: mean absolute error and coverage, on the same bounds.

    python benchmarks/answers.py                 200 draws of each question at epsilon .1 and 1, peers included
    python benchmarks/answers.py --draws 1000 --ours

A table of 20,000 generated visits, one row a person, added or removed; every question gets all of epsilon. Ours are drawn by the
mechanism that `auto` takes, through the code of a session without its ledger. The error of several numbers is the mean of theirs.
Coverage is the share of intervals at the level .95 that contain the true value, over all draws (and groups). A peer runs in an
environment of its own under build/peers/, made on first use.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from shoal.chance.source import Source
from shoal.datasets.visits import visits
from shoal.engine.base import open_engine
from shoal.policy.policy import Policy
from shoal.query.price import Outcome, offer
from shoal.query.questions.moments import Count, Mean, Sum
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Histogram

ROOT = Path(__file__).resolve().parents[1]
PEERS = {
    "opendp": ["opendp==0.16.0", "polars", "numpy"],
    "diffprivlib": ["diffprivlib==0.6.6", "scikit-learn<1.6"],
    "smartnoise": ["smartnoise-sql==1.0.10"],
}
ROWS, GROUPS = 20_000, 10
POLICY = """
version: 1
dataset: visits
unit: row
neighbours: add_remove
attributes:
  age: {role: quasi, type: integer, domain: [0, 110], missing: refuse}
  stay: {role: quasi, type: integer, domain: [0, 365], missing: refuse}
  income: {role: quasi, type: integer, domain: [0, 500000], missing: refuse}
  department: {role: quasi, type: integer, domain: [0, 9], missing: refuse}
"""
QUESTIONS = {
    "count": Count("age >= 65"),
    "sum": Sum("stay"),
    "mean": Mean("income"),
    "quantile": Quantile("income", "0.5", interval=False),
    "quantile, interval": Quantile("income", "0.5"),
    "histogram": Histogram("department"),
    "group means": Mean("income", by=["department"]),
}


def table():
    """Whole numbers: age, stay, income up to 500,000, and one of ten departments."""
    found = visits(2 * ROWS, seed=1).drop_null().slice(0, ROWS)
    _, department = np.unique(np.array(found["department"].to_pylist(), dtype=str), return_inverse=True)
    income = np.minimum(found["income"].to_numpy(), 500_000).astype(np.int64)
    columns = {"age": found["age"].to_numpy(), "stay": found["stay"].to_numpy(), "income": income}
    return pa.table({**columns, "department": department.astype(np.int64)})


def truths(rows):
    """The true answers."""
    age, stay, income, department = (rows[name].to_numpy() for name in rows.column_names)
    median = float(np.sort(income)[(len(income) + 1) // 2 - 1])
    return {
        "count": float((age >= 65).sum()),
        "sum": float(stay.sum()),
        "mean": float(income.mean()),
        "quantile": median,
        "quantile, interval": median,
        "histogram": np.bincount(department, minlength=GROUPS).astype(float),
        "group means": np.array([income[department == group].mean() for group in range(GROUPS)]),
    }


def ours(rows, epsilon, draws, known):
    """The mean absolute error of each question, the share of intervals that hold, and the mechanism."""
    policy = Policy.parse(POLICY)
    scanned = open_engine("duckdb").scan(rows, policy.schema)
    found = {}
    with Source.secure() as source:
        for name, question in QUESTIONS.items():
            chosen = offer(question.resolve(policy.schema, policy.unit), epsilon)
            errors, held = [], []
            for _ in range(draws):
                drawn = chosen.draw(scanned, source)
                cells = list(
                    chosen.estimates(Outcome(drawn.value, drawn.errors, drawn.parts, drawn.note, drawn.noisy), 0.95)
                )
                values = np.array([float(each.value) for each in cells])
                errors.append(float(np.abs(values - known[name]).mean()))
                ends = [(each.low, each.high) for each in cells]
                if ends[0][0] is not None:
                    held += [
                        low <= true <= high for (low, high), true in zip(ends, np.atleast_1d(known[name]), strict=True)
                    ]
            found[name] = (float(np.mean(errors)), float(np.mean(held)) if held else None, chosen.mechanism)
    return found


def peer(name, path, epsilon, draws, known):
    """The mean absolute error of each question that a peer answers; None where it cannot be had."""
    home = ROOT / "build" / "peers" / f"answers-{name}"
    python = home / "bin" / "python"
    if not python.exists():
        print(f"making {home.relative_to(ROOT)}", file=sys.stderr)
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PEERS[name]], check=True)  # noqa: S603 - our own words
    program = ROOT / "benchmarks" / "peers" / "answers.py"
    asked = [python, "-W", "ignore", program, name, path, str(epsilon), str(draws)]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        print(done.stderr[-400:], file=sys.stderr)
        return {}
    answers = json.loads(done.stdout.splitlines()[-1])
    return {
        key: float(np.mean([np.abs(np.array(each) - known[key]).mean() for each in given]))
        for key, given in answers.items()
    }


def main():
    """Print one table for each epsilon."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--epsilons", default="0.1,1")
    given = parser.parse_args()
    rows = table()
    known = truths(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        csv.write_csv(rows, path)
        for epsilon in given.epsilons.split(","):
            mine = ours(rows, epsilon, given.draws, known)
            others = {} if given.ours else {name: peer(name, path, epsilon, given.draws, known) for name in PEERS}
            print(f"\nepsilon {epsilon}, {given.draws} draws: mean absolute error (coverage of ours at .95)")
            print(f"{'':22}{'Shoal':>12}{'covers':>8}{'by':>13}" + "".join(f"{name:>14}" for name in others))
            for name, (error, covers, mechanism) in mine.items():
                shown = "" if covers is None else f"{covers:.3f}"
                values = [other.get(name.partition(",")[0]) for other in others.values()]
                beside = "".join(f"{'–' if value is None else format(value, ',.4g'):>14}" for value in values)
                print(f"{name:22}{error:>12,.4g}{shown:>8}{mechanism:>13}{beside}")


if __name__ == "__main__":
    main()
