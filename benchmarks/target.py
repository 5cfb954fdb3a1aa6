"""What a target does to a tree: a classifier trained on published rows, tested on fresh originals, with and without it.

    python benchmarks/target.py [SEEDS]

Generated tables of 4, 8 and 12 numbers, of which three decide on a yes or no; k = 12, beta = .2, epsilon .15 for the tree. Rows
are sampled and small boxes dropped as a release does. Two classifiers, gradient boosting and logistic regression, are trained on
the published rows, each at the middle of its box, and their AUC is measured on 4,000 records that the tree never saw.
`originals` are the same classifiers trained on the table itself.
"""

import sys
from fractions import Fraction

import numpy as np
import pyarrow as pa
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shoal.anonymize.generalize.tree.model import CellCounts
from shoal.anonymize.generalize.tree.safe_tree import SafeTree
from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.policy.policy import Policy

SIZES = (110, 6, 12, 50, 4, 8, 20, 365, 5, 9, 30, 3)
K, BETA, PAID = 12, Fraction(1, 5), Fraction("0.15")
TESTED = 4_000


def world(columns, rows, seed):
    """A table in which three numbers decide on y, by a logistic curve."""
    chance = np.random.default_rng(seed)
    made = {f"a{j}": (chance.beta(1.2, 2.5, rows) * SIZES[j]).astype(int) for j in range(columns)}
    third = 7 if columns > 7 else 2
    odds = sum(own * (made[f"a{j}"] / SIZES[j] - 0.3) for own, j in ((6, 0), (4, 3), (3, third)))
    return pa.table({**made, "y": (chance.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)})


def policy(columns):
    """The domains of such a table."""
    lines = [
        f"  a{j}: {{role: quasi, type: integer, domain: [0, {SIZES[j] - 1}], missing: refuse}}" for j in range(columns)
    ]
    head = "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n"
    return Policy.parse(
        head + "\n".join([*lines, "  y: {role: quasi, type: integer, domain: [0, 1], missing: refuse}"])
    )


def auc(features, labels, tested):
    """The AUC of both classifiers on fresh records; one half where they saw one label alone."""
    if len(set(labels.tolist())) == 1:
        return [0.5, 0.5]
    models = (
        HistGradientBoostingClassifier(max_iter=25, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    )
    scores = [model.fit(features, labels).predict_proba(tested[:, :-1])[:, 1] for model in models]
    return [roc_auc_score(tested[:, -1], each) for each in scores]


def published(plan, tuples, seed):
    """The published rows, each at the middle of its box, and the share of the sampled rows that they are."""
    with Source.seeded(seed) as source:
        tree = plan.grow(tuples, source)
    nodes = tree.find_nodes(tuples.cells, None)
    sampled = np.random.default_rng(seed).binomial(tuples.counts, float(BETA))
    size = np.bincount(nodes, sampled, len(tree.splits))
    middles = np.stack(
        [
            np.array([np.mean(side.members(node)) for node in range(len(side))])[
                tree.faces[:, j] - tree.layout.offsets[j]
            ]
            for j, side in enumerate(tree.layout.sides)
        ],
        axis=1,
    )
    shown = np.flatnonzero((size >= K) & np.isin(middles[:, -1], (0, 1)))
    return np.repeat(middles[shown], size[shown].astype(int), axis=0), size[size >= K].sum() / sampled.sum()


def measure(columns, rows, seeds):
    """The mean AUC with and without a target and on the originals, and the share of sampled rows that is published."""
    schema, engine, found = policy(columns).schema, open_engine("duckdb"), []
    for seed in range(seeds):
        table, tested = (world(columns, many, own) for many, own in ((rows, seed), (TESTED, 1000 + seed)))
        fresh = np.stack([tested[name].to_numpy() for name in tested.column_names], axis=1)
        whole = np.stack([table[name].to_numpy() for name in table.column_names], axis=1)
        line = auc(whole[:, :-1], whole[:, -1], fresh)
        for target in (None, "y"):
            plan = SafeTree(schema, PAID, K, BETA, target=target)
            tuples = CellCounts.of(engine.scan(table, schema).recode(plan.levels).count_by(plan.columns), plan.pieces)
            shown, part = published(plan, tuples, seed)
            line += [*auc(shown[:, :-1], shown[:, -1], fresh), part]
        found.append(line)
    return np.mean(found, axis=0)


def main(seeds):
    """Print one line for each kind of table."""
    print(
        f"mean of {seeds} tables: AUC of boosting and of logistic regression, and the share of sampled rows published"
    )
    print(f"{'':14}{'originals':>14}{'no target':>21}{'target':>21}")
    for columns in (4, 8, 12):
        for rows in (5_000, 20_000, 50_000):
            numbers = [f"{each:.3f}" for each in measure(columns, rows, seeds)]
            print(f"{columns:>3} x {rows:>7,}", *(f"{each:>6}" for each in numbers), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
