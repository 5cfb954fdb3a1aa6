"""Geometric candidates: values are rounded down to them, intervals hold the true quantiles, and the rank error is smaller."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal.engine.base import open_engine
from shoal.errors import UsageError
from shoal.policy.policy import Policy
from shoal.query.price import offer
from shoal.query.questions.quantile import GeometricCandidates, Quantile
from shoal.query.questions.workload import read_question

POLICY = Policy.of(
    {
        "version": 1,
        "dataset": "d",
        "unit": "row",
        "neighbours": "add_remove",
        "attributes": {
            "pay": {"role": "quasi", "type": "integer", "domain": [0, 100000000], "missing": "refuse"},
            "rate": {"role": "quasi", "type": "decimal", "domain": ["0.01", 5000], "missing": "refuse"},
            "debt": {"role": "quasi", "type": "integer", "domain": [-5, 100], "missing": "refuse"},
            "day": {"role": "quasi", "type": "date", "domain": ["2024-01-01", "2024-12-31"], "missing": "refuse"},
            "grade": {"role": "quasi", "type": "ordinal", "domain": ["low", "high"], "missing": "refuse"},
        },
    }
)
SCHEMA = POLICY.schema


def geometric(attribute, q="0.5", **options):
    return Quantile(attribute, q, candidates="geometric", **options)


def offered(question, epsilon="1"):
    return offer(question.resolve(SCHEMA, POLICY.unit), epsilon)


def scanned(pay):
    rows = len(pay)
    columns = {"pay": pay, "rate": [1.5] * rows, "debt": [0] * rows, "grade": ["low"] * rows}
    days = pa.array([20000] * rows, pa.int32()).cast(pa.date32())
    return open_engine("duckdb").scan(pa.table({**columns, "day": days}), SCHEMA)


def coverage(made, table, quantile, *, rounded_up=True):
    """The probability that both ends hold the quantile, by their exact law."""
    (runs,) = made.query.runs(table)
    candidates, found = made.query.candidates, 1.0
    for target in made.query.targets[1:]:
        scores, sizes, starts = made.query.scores(runs, target, made.query.shift(target, made.epsilon))
        ranks = np.concatenate([np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)])
        law = made.choice(target).probabilities(np.repeat(scores, sizes))
        tell = candidates.last_value if target.side > 0 and rounded_up else candidates.value
        ends = np.array([tell(int(rank)) for rank in ranks])
        found *= law[ends <= quantile].sum() if target.side < 0 else law[ends >= quantile].sum()
    return found


def test_every_value_lies_between_its_candidate_and_the_next():
    made = geometric("rate").resolve(SCHEMA, POLICY.unit).candidates
    assert isinstance(made, GeometricCandidates)
    steps = np.array(made.steps)
    assert (np.diff(steps) >= 1).all()
    assert (steps[1:] <= np.maximum(steps[:-1] + 1, steps[:-1] * 1.01)).all()
    assert (made.value(0), made.value(made.high)) == (0.01, 5000.0)
    for rank in (0, 7, 800, made.high - 1):
        assert made.value(rank) <= made.last_value(rank) < made.value(rank + 1)
    assert made.last_value(made.high) == 5000.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "2"])
def test_intervals_hold_the_quantile_of_the_values_themselves(epsilon):
    pay = np.random.default_rng(5).lognormal(10, 1, 3000).astype(int)
    truth = int(np.sort(pay)[1499])
    assert coverage(offered(geometric("pay"), epsilon), scanned(pay), truth) >= 0.95
    # All rows at a value that is no candidate: ends that are told as candidates lie below it.
    same = np.full(3000, 123_456)
    made = offered(geometric("pay"), epsilon)
    assert coverage(made, scanned(same), 123_456) >= 0.95
    assert coverage(made, scanned(same), 123_456, rounded_up=False) < 0.1


def test_fewer_candidates_are_less_rank_error_and_the_scope_says_so():
    plain, made = offered(Quantile("pay", "0.5")), offered(geometric("pay"))
    assert plain.query.candidates.count > 10**8
    assert made.query.candidates.count < 2_000
    assert made.errors[0].within < 0.65 * plain.errors[0].within
    assert (
        made.scope[-1] == f"values of 'pay' are rounded down to {made.query.candidates.count:,} candidates, 1 % apart"
    )
    with pytest.raises(UsageError, match="no such candidates"):
        Quantile("pay", "0.5", candidates="prime")


@pytest.mark.parametrize("attribute", ["debt", "day", "grade"])
def test_what_has_no_geometric_candidates_is_refused(attribute):
    with pytest.raises(UsageError, match="has no geometric candidates"):
        offered(geometric(attribute))
    assert offered(geometric("debt", bounds=(1, 90))).query.candidates.value(0) == 1


def test_the_question_is_another_one_and_reads_back():
    one = geometric("pay").canonical(SCHEMA)
    assert one != Quantile("pay", "0.5").canonical(SCHEMA)
    assert read_question(
        {"kind": "quantile", "attribute": "pay", "q": "1/2", "candidates": "geometric", "interval": True}
    ) == (geometric("pay"))
