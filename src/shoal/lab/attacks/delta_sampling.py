"""Delta-sampling: (0, delta)-DP is true of it, and it publishes records of people as they are.

LQS10 Algorithm 5: publish each record with probability delta, independently, and nothing else. No person is at a greater risk
than delta; but of n people n · delta are published raw, and if that is not far below 1, somebody's record is out.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal.assess.quantity import Quantity
from shoal.chance.source import Source
from shoal.guarantee.rounding import exact_text
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, choose_one, compare
from shoal.lab.attacks.population import (
    Array,
    People,
    describe,
    labels_of,
    people,
    safe_method,
    safe_setting,
    schema,
)

EXPECTED = 5
"""Records that are published on average: n · delta, as in LQS10, whose 50 million people at 1e-7 make 5 too."""
LEVELS = {"age": 4, "income": -1, "stay": -1, "chapter": 0}


def sample_by_delta(setting: AttackSetting) -> AttackResult:
    """Count the runs in which somebody's record is out, and those in which one person's is who was named beforehand."""
    own = people(setting.rows, setting.seed)
    delta = Fraction(EXPECTED, setting.rows)
    chance = setting.source("delta-sampling")
    named = [choose_one(chance, setting.rows) for _ in range(setting.runs)]
    runs = [publish_by_delta(setting.rows, delta, chance) for _ in range(setting.runs)]
    anybody, this_one = [len(rows) > 0 for rows in runs], [who in rows for who, rows in zip(named, runs, strict=True)]
    shown = [describe(own.take([int(row)]).select(("age", "income", "stay", "chapter"))) for row in runs[0][:3]]
    exact = 1 - (1 - float(delta)) ** setting.rows
    promise = safe_setting("1", exact_text(delta), "0.2")
    safe_anybody, safe_this = _safe_runs(own, setting, named)
    return AttackResult(
        "delta-sampling",
        "Delta-sampling: small for everyone, certain for someone",
        "LQS10 Algorithm 5",
        f"Each of {setting.rows:,} records is published with probability delta = {exact_text(delta)}. The intruder reads "
        "what is published. Success: some published row is one person's alone, so that its person is known to be in the "
        "table with everything it shows.",
        "Control: the row of a person who was named beforehand is among them; that is what delta bounds.",
        (
            compare("delta-sampling, raw rows", anybody, this_one),
            compare(f"safe-k rows (ours), k = {promise.k}", safe_anybody, safe_this),
        ),
        (
            (
                f"The claim (0, {exact_text(delta)}) is true: without the person the same outputs occur, but for a "
                f"probability of delta. It speaks of each person, and with {setting.rows:,} people the probability that "
                f"somebody is out is {exact:.4g}. So delta must be far below 1/n, and Shoal tells the custodian n · delta."
            ),
            (
                "Safe-k at the same delta fails more gently: whatever happens, a published row is shared by k sampled "
                "people, and larger and larger losses are less and less likely (f-smooth, LQS10 Definition 5). "
                "Delta-sampling loses everything at once."
            ),
        ),
        setting,
        tuple(f"delta-sampling: {words}" for words in shown),
        (("probability that somebody is published", Quantity.fact(exact, "1 - (1 - delta)^n")),),
    )


def publish_by_delta(rows: int, delta: Fraction, source: Source) -> Array:
    """The numbers of the records that delta-sampling publishes.

    Promise   (0, delta)-DP: without a record the same outputs occur with the same probabilities, but for delta.
    """
    return np.flatnonzero(source.row_mask(delta).keep(0, rows))


def _safe_runs(own: People, setting: AttackSetting, named: list[int]) -> tuple[list[bool], list[bool]]:
    """The same question to safe-k: whether some published row has the labels of one person alone."""
    method = safe_method(LEVELS, safe_setting("1", exact_text(Fraction(EXPECTED, setting.rows)), "0.2"))
    table = own.table(schema(tuple(LEVELS)))
    labels = labels_of(own, LEVELS)
    alone = {label for label in labels if labels.count(label) == 1}
    anybody, this_one = [], []
    for run, who in enumerate(named):
        source = setting.source(f"safe-k {run}")
        released = method.run(table, method.settle(table, source), source)
        shown = set(zip(*(map(str, column) for column in released.count_by(released.columns).tuples), strict=True))
        anybody.append(not alone.isdisjoint(shown))
        this_one.append(labels[who] in shown and labels[who] in alone)
    return anybody, this_one
