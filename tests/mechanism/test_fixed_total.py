"""Noise that leaves a total as it is: its law, its promise on enumerated neighbours, and the means that are drawn with it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pyarrow as pa
import pytest

from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.errors import PreconditionError, UsageError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.fixed_total import FixedTotalNoise
from shoal.policy.policy import Policy
from shoal.query.price import Outcome, offer
from shoal.query.questions.moments import Mean
from shoal.query.questions.workload import Workload
from tests.statistical.fit import fits, least_hits

REPLACED = Unit.row("replace_one")
POLICY = Policy.of(
    {
        "version": 1,
        "dataset": "d",
        "unit": "row",
        "neighbours": "replace_one",
        "attributes": {
            "x": {"role": "quasi", "type": "integer", "domain": [0, 3], "missing": "refuse"},
            "y": {"role": "quasi", "type": "integer", "domain": [0, 1000]},
            "g": {"role": "quasi", "type": "category", "domain": ["a", "b"], "missing": "refuse"},
        },
    }
)
SCHEMA = POLICY.schema


def made(epsilon="0.5", width=3):
    both = Sensitivity(1, REPLACED, components=2, multiples_of=Fraction(1, width))
    return FixedTotalNoise.for_target(PureDP(epsilon), sensitivity=both, grid=Fraction(1, width))


def asked(question, unit=REPLACED, epsilon="0.5", mechanism="auto"):
    return offer(question.resolve(SCHEMA, unit), epsilon, 0, mechanism)


def test_the_law_is_that_of_one_laplace_noise_and_its_opposite():
    noise = made()
    with Source.seeded(3) as source:
        drawn = noise.noise(source, 20_000)
    assert (drawn.sum(axis=1) == 0).all()
    steps = np.arange(-60, 61)
    law = noise.pmf(np.stack([steps, -steps], axis=1))
    assert fits(drawn[:, 0], law, first=-60)
    assert not fits(drawn[:, 0], made("0.6").pmf(np.stack([steps, -steps], axis=1)), first=-60)
    assert noise.pmf([[1, 1]]) == 0
    assert law.sum() == pytest.approx(1, abs=1e-3)
    assert noise.variance.tolist() == [noise.inner.variance[0]] * 2
    assert noise.scale == Fraction(2)


def test_all_neighbours_of_small_tables_keep_the_promise_and_another_relation_does_not():
    """Tables of up to three values 0..3: the exact law of both noisy sums, one row replaced; and one row more, as an impostor."""
    noise, epsilon, width = made(), 0.5, 3

    def law(values):
        sums = np.array([sum(values), sum(width - value for value in values)])
        return {(int(sums[0]) + x, int(sums[1]) - x): float(noise.pmf([[x, -x]])[0]) for x in range(-40, 41)}

    def ratio(one, other):
        return max(
            p / other.get(key, 0.0) if other.get(key) else math.inf for key, p in one.items() if abs(key[0]) < 30
        )

    for rows in combinations_with_replacement(range(4), 2):
        for old in range(4):
            for new in range(4):
                found = ratio(law([*rows, old]), law([*rows, new]))
                assert found <= math.exp(epsilon) * (1 + 1e-9)
        assert ratio(law([*rows, 1]), law(rows)) == math.inf  # the total tells how many rows there are
    assert ratio(law([0]), law([3])) == pytest.approx(math.exp(epsilon))  # and the promise is used up


def test_the_premises_are_refused_one_by_one():
    both = {"components": 2, "multiples_of": 1}
    with pytest.raises(PreconditionError, match="same number of rows"):
        FixedTotalNoise.for_target(PureDP(1), sensitivity=Sensitivity(1, Unit.row("add_remove"), **both), grid=1)
    person = Unit.person("who", 1, "replace_one")
    with pytest.raises(PreconditionError, match="same number of rows"):
        FixedTotalNoise.for_target(PureDP(1), sensitivity=Sensitivity(1, person, **both), grid=1)
    with pytest.raises(PreconditionError, match="two sums"):
        FixedTotalNoise.for_target(PureDP(1), sensitivity=Sensitivity(1, REPLACED, components=3), grid=1)
    with pytest.raises(PreconditionError, match="two sums"):
        FixedTotalNoise.for_target(PureDP(1), sensitivity=Sensitivity([1, 2], REPLACED), grid=1)


def test_only_a_mean_over_all_rows_that_are_replaced_has_it():
    assert asked(Mean("x")).mechanism == "fixed-total"
    assert asked(Mean("x")).score == pytest.approx(asked(Mean("x"), mechanism="laplace").score / 2, rel=0.05)
    for question in (Mean("y"), Mean("x", "g = 'a'"), Mean("x", by="g"), Workload([Mean("x"), Mean("x", "g = 'a'")])):
        assert asked(question).mechanism != "fixed-total"
        with pytest.raises(UsageError, match="cannot answer"):
            asked(question, mechanism="fixed-total")
    assert asked(Mean("x"), Unit.row("add_remove")).mechanism != "fixed-total"


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_hold_and_narrower_ones_are_caught(level, effort):
    draws, values = 1_000 * effort, np.random.default_rng(1).integers(0, 4, 400)
    table = pa.table({"x": values, "y": values, "g": ["a"] * len(values)})
    given, truth = asked(Mean("x")), float(values.mean())
    exact = given.query.truth(open_engine("duckdb").scan(table, SCHEMA))
    hits = np.zeros(2)
    with Source.seeded(8) as source:
        for noise in given.noise.noise(source, draws):
            drawn = Outcome(None, (), noisy=tuple((exact + noise).tolist()))
            for place, own in enumerate((level, level * 0.5)):
                (row,) = given.estimates(drawn, own)
                hits[place] += row.low - 1e-12 <= truth <= row.high + 1e-12
    assert hits[0] >= least_hits(draws, level)
    assert hits[1] < least_hits(draws, level)
