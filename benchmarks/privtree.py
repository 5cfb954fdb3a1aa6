"""The tree of tests on Adult: what each idea brings to the detail of published records, beside the surveyed tree.

    python benchmarks/privtree.py [RUNS]

Total epsilon 2, delta 1e-6, eight attributes. Granularity: mean over all sampled records of 1 − the mean loss of the labels
if published, else 0. `epsilon` is what the tree costs, within what it was allowed; k is solved for the rest.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from shoal.anonymize.generalize.tree.privtree import Habits, PrivTree
from shoal.anonymize.generalize.tree.safe_tree import SurveyedTree
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.duckdb.engine import DuckDB
from shoal.guarantee.safe_k.solve import solve
from shoal.guarantee.tree import calibrate_split_test, published_split_test
from shoal.policy.policy import Policy

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data"))
TOTAL, DELTA, ALLOWED = Fraction(2), Fraction(1, 10**6), Fraction(3, 20)
Y = Habits().y
ALONE = Habits(survey=Fraction(0))
GUIDED = Habits(sure=None)


class Published(PrivTree):
    """With PrivTree's own noise, rounded up to whole steps."""

    @property
    def test(self):
        """The published scale."""
        return published_split_test(self.paid / self.steps * (1 - self.habits.survey), self.habits.y, self.habits.depth)


IDEAS = (
    ("published noise, no survey", Published, ALONE),
    ("  exact noise", PrivTree, ALONE),
    ("  exact, clamp half a scale", PrivTree, replace(ALONE, clamp=Fraction(1, 2))),
    ("  exact, theta 1", PrivTree, replace(ALONE, theta=Fraction(1))),
    ("  exact, theta 3", PrivTree, replace(ALONE, theta=Fraction(3))),
    ("  exact, theta 4", PrivTree, replace(ALONE, theta=Fraction(4))),
    ("published noise, survey for 1/2", Published, GUIDED),
    ("  exact noise", PrivTree, GUIDED),
    ("  exact, clamp half a scale", PrivTree, replace(GUIDED, clamp=Fraction(1, 2))),
    ("  exact, no test where sure (default)", PrivTree, Habits()),
    ("  default, clamp half a scale", PrivTree, Habits(clamp=Fraction(1, 2))),
    ("  default, theta 1", PrivTree, Habits(theta=Fraction(1))),
    ("  default, theta 3/2", PrivTree, Habits(theta=Fraction(3, 2))),
    ("  default, theta 3", PrivTree, Habits(theta=Fraction(3))),
    ("  default, y 3/10, clamp half a scale", PrivTree, Habits(y=Fraction(3, 10), clamp=Fraction(1, 2))),
    ("  default, y 1", PrivTree, Habits(y=Fraction(1))),
    ("  default, survey for 1/3", PrivTree, Habits(survey=Fraction(1, 3))),
    ("  default, survey for 2/3", PrivTree, Habits(survey=Fraction(2, 3))),
    ("surveyed tree", SurveyedTree, None),
)


def adult():
    """The table of the eight quasi-identifiers."""
    schema = Schema(Policy.load(ROOT / "examples" / "adult" / "policy.yaml").schema.quasi)
    return DuckDB().scan(DATA / "adult" / "adult.csv", schema), schema


def measured(boxes, table, beta, k, source):
    """Granularity, and the share of the sampled rows that is published."""
    sample = table.keep(source.row_mask(beta).keep)
    rows = sample.rows()
    made = boxes.apply(sample)
    shown = made.suppress_below(made.columns, k)
    counts = shown.count_by(shown.columns)
    lost = 0.0
    for name, values, codes in zip(shown.columns, counts.values, counts.codes, strict=True):
        losses = boxes.losses(name)
        lost += float((np.array([losses[label] for label in values.tolist()])[codes] * counts.counts).sum())
    held = int(counts.counts.sum())
    return (held - lost / len(shown.columns)) / rows, held / rows


def main():
    """Print a table for each rate."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    table, schema = adult()
    print(
        f"noise at epsilon {float(ALLOWED)}, y {float(Y)}: published {float(published_split_test(ALLOWED, Y, 64).scale):.2f}, ",
        end="",
    )
    print(f"exact {float(calibrate_split_test(ALLOWED, Y, 64).scale):.2f}, ", end="")
    print(f"with a clamp of half a scale {float(calibrate_split_test(ALLOWED, Y, 64, Fraction(1, 2)).scale):.2f}")
    for beta in (Fraction(3, 10), Fraction(85, 100)):
        k = solve(epsilon=TOTAL - ALLOWED, delta=DELTA, beta=beta).k
        print(f"\nbeta {float(beta)}, k {k}, means of {runs} runs (± of the mean)")
        print(f"{'':40}{'epsilon':>8}{'granularity':>18}{'published':>11}{'boxes':>8}")
        for words, kind, habits in IDEAS:
            plan = kind(schema, ALLOWED, k, beta, **({} if habits is None else {"habits": habits}))
            found = []
            for run in range(runs):
                source = Source.seeded(run)
                boxes = plan.settle(table, source.stream("recoding"))
                found.append((*measured(boxes, table, beta, k, source.stream("release")), len(boxes)))
            mean, error = np.mean(found, axis=0), np.std(found, axis=0) / max(1, runs - 1) ** 0.5
            print(
                f"{words:40}{float(plan.epsilon):8.4f}{mean[0]:11.4f} ±{error[0]:.4f}{mean[1]:11.3f}{mean[2]:8.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
