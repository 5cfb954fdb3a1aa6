"""The distribution of two views, enumerated through the real pipeline: two samples keep the composed claim, one breaks it."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa

from shoal.anonymize.method.views import draw_all
from shoal.chance.source import Source
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import SafeKSampling
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from tests.engine.oracle import engine_named

TINY = """
version: 1
dataset: d
unit: row
neighbours: add_remove
attributes:
  x: {role: quasi, type: category, domain: [a, b], missing: refuse}
  y: {role: quasi, type: category, domain: [c, d], missing: refuse}
release:
  method: safe-k
  epsilon: 3
  delta: 0.06
  recoding: {levels: {}}
  views: {workload: [[x], [x, y]]}
  k: 3
  sampling: {beta: 0.3}
"""


class Given:
    """A mask that is given, for enumerating all samples."""

    def __init__(self, mask):
        self.mask = np.array(mask, dtype=bool)

    def row_mask(self, _):
        mask = self.mask
        return type("Mask", (), {"keep": staticmethod(lambda start, count: mask[start : start + count])})


def laws(rows, made):
    """The exact distributions of two views, by releasing every sample: each from its own, and (the impostor) both from one."""
    schema = made.policy.schema
    columns = {"x": pa.array([r[0] for r in rows]), "y": pa.array([r[1] for r in rows])}
    table = engine_named("oracle").scan(pa.table(columns), schema)
    methods = [view.method for view in made.views]
    recodings = [method.partition.settle(table, Source.seeded(1)) for method in methods]
    beta = float(made.promise.beta)
    alone, shared = [defaultdict(float), defaultdict(float)], defaultdict(float)
    for mask in itertools.product((0, 1), repeat=len(rows)):
        mass = beta ** sum(mask) * (1 - beta) ** (len(mask) - sum(mask))
        outcomes = []
        for method, recoding in zip(methods, recodings, strict=True):
            (shown,) = draw_all(table, [method], [recoding], Given(mask))
            counts = shown.count_by(shown.columns)
            outcomes.append(
                tuple(zip(*(column.tolist() for column in counts.tuples), counts.counts.tolist(), strict=True))
            )
        for law, outcome in zip(alone, outcomes, strict=True):
            law[outcome] += mass
        shared[tuple(outcomes)] += mass
    fresh = {(p, q): a * b for p, a in alone[0].items() for q, b in alone[1].items()}
    return fresh, shared


def divergence(p, q, epsilon):
    return sum(max(0.0, mass - math.exp(epsilon) * q.get(x, 0.0)) for x, mass in p.items())


def test_the_exact_law_of_two_views_keeps_the_composed_claim_and_one_sample_breaks_it():
    made = plan(Policy.parse(TINY))
    composed, single = compose(made.parts), compose([(SafeKSampling(3, Fraction("0.3")), 1)])
    others = [("a", "c")] * 7
    (fresh_with, shared_with), (fresh_without, shared_without) = (
        laws(rows, made) for rows in ([*others, ("a", "d")], others)
    )
    for epsilon in (0.1, 0.3, 0.7, 1.0, 1.5, 2.5):
        delta = composed.delta_at(epsilon)
        assert divergence(fresh_with, fresh_without, epsilon) <= delta + 1e-9
        assert divergence(fresh_without, fresh_with, epsilon) <= delta + 1e-9
        # From one sample the narrow view counts a record that the wide one dropped: their difference shows it.
        assert divergence(shared_with, shared_without, epsilon) > 1.5 * delta or epsilon < 1
    same = [("a", "c")] * 3
    (more, _), (less, _) = (laws(rows, made) for rows in (same, same[1:]))
    assert divergence(more, less, 1.0) > single.delta_at(1.0)  # two views cost more than one: composing is needed
    assert divergence(more, less, 1.0) <= composed.delta_at(1.0)
