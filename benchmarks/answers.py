"""Answers of sessions beside OpenDP, diffprivlib and SmartNoise: mean absolute error and coverage, on the same bounds.

    python benchmarks/answers.py                 1,000 draws of each question at epsilon .1 and 1, peers included
    python benchmarks/answers.py --ours          ours alone; --peers diffprivlib for one of them
    python benchmarks/answers.py --releases      coverage of what releases answer: rows, rows with a total, noisy counts
    python benchmarks/answers.py --releases --kinds "rows and total" --questions quantile

A table of 20,000 generated visits, one row a person, added or removed; every question gets all of epsilon. Ours are drawn by the
mechanism that `auto` takes, through the code of a session without its ledger; rows are read once. The error of several numbers is
the mean of theirs. Coverage is the share of intervals at the level .95 that contain the true value, over all draws and groups; in
brackets that of the group that is covered least often. A peer runs in an environment of its own under build/peers/, made on
first use.

Of a release, what is drawn anew each time is what chance decides: the sample of each view and what is suppressed of it, the noise
of the counts and of the total. Labels are fixed by the policy; the true counts of labels are those of the same 20,000 visits.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import shoal
from shoal.assess.release.answers.noisy_total import NoisyTotal
from shoal.chance.source import Source
from shoal.datasets.visits import visits
from shoal.engine.base import open_engine
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from shoal.query.price import NoiseOffer, exact_steps, offer
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Ratio, Sum, Variance
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
    "variance": Variance("age"),
    "ratio": Ratio("stay", "age"),
    "share": Ratio(Count("age >= 65")),
    "quantile": Quantile("income", "0.5", interval=False),
    "quantile, interval": Quantile("income", "0.5"),
    "histogram": Histogram("department"),
    "group means": Mean("income", by=["department"]),
    "group quantiles": Quantile("stay", "0.5", by=["department"]),
}
REPLACED = "mean, rows replaced"
"""The mean under replace_one, the relation of diffprivlib, whose number of rows is public; ours makes no use of that."""


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
    median = float(_median(income))
    groups = [department == group for group in range(GROUPS)]
    return {
        "count": float((age >= 65).sum()),
        "sum": float(stay.sum()),
        "mean": float(income.mean()),
        REPLACED: float(income.mean()),
        "variance": float(age.var()),
        "ratio": float(stay.sum() / age.sum()),
        "share": float((age >= 65).mean()),
        "quantile": median,
        "quantile, interval": median,
        "histogram": np.bincount(department, minlength=GROUPS).astype(float),
        "group means": np.array([income[own].mean() for own in groups]),
        "group quantiles": np.array([_median(stay[own]) for own in groups], dtype=float),
    }


def _median(values):
    return np.sort(values)[(len(values) + 1) // 2 - 1]


def drawn(chosen, scanned, draws, source):
    """So many answers of one offer; the rows are read once."""
    if isinstance(chosen, NoiseOffer):
        exact = exact_steps(chosen.query, scanned, chosen.noise.theorem)
        for noise in chosen.noise.noise(source, draws):
            yield chosen.outcome(exact + noise)
    else:
        runs = chosen.query.runs(scanned)
        for _ in range(draws):
            yield chosen.outcome(chosen.choose(runs, source))


def ours(rows, epsilon, draws, known):
    """The mean absolute error of each question, the share of intervals that hold, and the mechanism."""
    policy = Policy.parse(POLICY)
    scanned = open_engine("duckdb").scan(rows, policy.schema)
    asked = {name: (question, policy.unit) for name, question in QUESTIONS.items()}
    asked[REPLACED] = Mean("income"), Unit.row("replace_one")
    found = {}
    with Source.secure() as source:
        for name, (question, unit) in asked.items():
            chosen = offer(question.resolve(policy.schema, unit), epsilon)
            errors, held = [], []
            for outcome in drawn(chosen, scanned, draws, source):
                cells = list(chosen.estimates(outcome, 0.95))
                errors.append(float(np.abs(np.array([float(each.value) for each in cells]) - known[name]).mean()))
                if cells[0].low is not None:
                    true = np.atleast_1d(known[name])
                    held.append([each.low <= at <= each.high for each, at in zip(cells, true, strict=True)])
            covers = f"{np.mean(held):.3f}{_least(held)}" if held else ""
            found[name] = (float(np.mean(errors)), float(np.std(errors) / len(errors) ** 0.5), covers, chosen.mechanism)
    return found


def _least(held):
    """The coverage of the group that is covered least often, where there are groups."""
    each = np.mean(held, axis=0)
    return f" ({each.min():.3f})" if len(each) > 1 else ""


# --- releases ---------------------------------------------------------------------------------------------------------

RELEASE = """
version: 1
dataset: visits
unit: row
neighbours: add_remove
attributes:
  age: {role: quasi, type: integer, domain: [0, 110], missing: refuse, hierarchy: {intervals: [10]}}
  stay: {role: quasi, type: integer, domain: [0, 365], missing: refuse, hierarchy: {intervals: [2, 8], above: 32}}
  department: {role: quasi, type: integer, domain: [0, 9], missing: refuse, hierarchy: auto}
release: {method: METHOD, epsilon: 1, delta: 1e-6, REST}
"""
RELEASES = {
    "rows": ("safe-k", "recoding: {levels: {age: 1, stay: 1}}, views: pairs"),
    "rows and total": ("safe-k", "recoding: {levels: {age: 1, stay: 1}}, views: pairs, total: {epsilon: 0.01}"),
    "noisy counts": ("safe-k", "views: {show: counts, every: pairs}"),
}
ASKED = {
    "count": lambda one: one.count("age >= 65"),
    "total": lambda one: one.count(),
    "sum": lambda one: one.sum("stay"),
    "mean": lambda one: one.mean("age"),
    "variance": lambda one: one.variance("age"),
    "ratio": lambda one: one.ratio("stay", "age"),
    "share": lambda one: one.share("age >= 65"),
    "quantile": lambda one: one.quantile("age"),
    "histogram": lambda one: one.histogram("department"),
    "group means": lambda one: one.mean("age", by="department"),
}


def release_truths(rows):
    """The true answers of what a release is asked."""
    age, stay, _, department = (rows[name].to_numpy() for name in rows.column_names)
    known = truths(rows)
    return known | {
        "total": float(len(age)),
        "sum": float(stay.sum()),
        "mean": float(age.mean()),
        "quantile": float(_median(age)),
        "group means": np.array([age[department == group].mean() for group in range(GROUPS)]),
    }


def counts_of_labels(table, rows):
    """How many rows each tuple of labels of a published table has, with an axis for each column."""
    shape = tuple(len(table.meanings[name].labels) for name in table.columns)
    codes = []
    for name in table.columns:
        values, place = np.unique(rows[name].to_numpy(), return_inverse=True)
        held = [_label_of(table.meanings[name].labels, at) for at in values.tolist()]
        codes.append(np.array(held)[place])
    return np.bincount(np.ravel_multi_index(codes, shape), minlength=int(np.prod(shape))).reshape(shape)


def _label_of(labels, at):
    """The number of the label that holds a whole number."""
    return next(
        place
        for place, label in enumerate(labels)
        if any((low is None or low <= at) and (high is None or at < high) for low, high in label.spans)
    )


def redrawn(loaded, truth, chance, records):
    """The release as another run would have published it: fresh samples, suppression and noise."""
    views, tables = [], []
    for view in loaded.views:
        fresh, sampled = replace(view), chance.binomial(truth[view.name], float(view.beta))
        at = np.nonzero(sampled >= view.k)
        fresh.__dict__.update(meanings=view.meanings, tuples=(np.stack(at, axis=1).astype(np.int64), sampled[at]))
        views.append(fresh)
    for table in loaded.counts:
        fresh, sigma = replace(table), float(table.sigma)
        offsets = np.arange(-int(12 * sigma), int(12 * sigma) + 1)
        law = np.exp(-((offsets / sigma) ** 2) / 2)
        noise = chance.choice(offsets, size=truth[table.name].shape, p=law / law.sum())
        fresh.__dict__.update(meanings=table.meanings, shape=table.shape, values=truth[table.name] + noise)
        tables.append(fresh)
    total = loaded.noisy_total
    if total is not None:
        away = 1 - np.exp(-1 / float(total.scale))
        total = NoisyTotal(records + int(chance.geometric(away) - chance.geometric(away)), Fraction(total.scale))
    return replace(loaded, views=tuple(views), counts=tuple(tables), noisy_total=total)


def releases(rows, draws, folder, kinds, questions):
    """Print the share of intervals that hold, for each kind of release and question."""
    known = release_truths(rows)
    for name in kinds:
        method, rest = RELEASES[name]
        policy = Policy.parse(RELEASE.replace("METHOD", method).replace("REST", rest))
        made = Path(folder) / name.replace(" ", "-")
        shoal.release(policy, rows, out=made, ledger=Path(folder) / f"{made.name}.sqlite", new_ledger=True)
        loaded, chance = shoal.load(made), np.random.default_rng(20)
        truth = {table.name: counts_of_labels(table, rows) for table in loaded.tables}
        held = {question: [] for question in questions}
        for _ in range(draws):
            one = redrawn(loaded, truth, chance, rows.num_rows)
            for question in questions:
                true = np.atleast_1d(known[question])
                held[question].append(
                    [each.low <= at <= each.high for each, at in zip(ASKED[question](one).rows, true, strict=True)]
                )
        print(f"{name}, {draws} draws: coverage of intervals at .95")
        for question, each in held.items():
            print(f"  {question:20}{np.mean(each):.3f}{_least(each)}", flush=True)


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
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--releases", action="store_true")
    parser.add_argument("--kinds", default=",".join(RELEASES))
    parser.add_argument("--questions", default=",".join(ASKED))
    parser.add_argument("--epsilons", default="0.1,1")
    given = parser.parse_args()
    rows = table()
    known = truths(rows)
    with tempfile.TemporaryDirectory() as folder:
        if given.releases:
            releases(rows, given.draws, folder, given.kinds.split(","), given.questions.split(","))
            return
        path = Path(folder) / "table.csv"
        csv.write_csv(rows, path)
        for epsilon in given.epsilons.split(","):
            mine = ours(rows, epsilon, given.draws, known)
            others = (
                {}
                if given.ours
                else {name: peer(name, path, epsilon, given.draws, known) for name in given.peers.split(",")}
            )
            print(f"\nepsilon {epsilon}, {given.draws} draws: mean absolute error (coverage of ours at .95)")
            print(f"{'':22}{'Shoal':>12}{'±':>9}{'covers':>15}{'by':>13}" + "".join(f"{name:>14}" for name in others))
            for name, (error, off, covers, mechanism) in mine.items():
                values = [other.get(name.partition(",")[0]) for other in others.values()]
                beside = "".join(f"{'–' if value is None else format(value, ',.4g'):>14}" for value in values)
                print(f"{name:22}{error:>12,.4g}{off:>9,.2g}{covers:>15}{mechanism:>13}{beside}", flush=True)


if __name__ == "__main__":
    main()
