"""Schemes near the best are found without scoring all: the same as by scoring all, and a bound that is too low is noticed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.anonymize.generalize.scores import Ramp, Records
from shoal.anonymize.kernel.branch_and_bound import climb, scores_near_best
from shoal.anonymize.kernel.rollup import GeneralizedColumn
from tests.anonymize.kernel.twin import one_by_one

WHOLE = 100


def tables(seed, rows, attributes):
    """Columns that hang together, with missing values; tuples that may be equal, with counts; and costs of levels."""
    rng = np.random.default_rng(seed)
    kind, columns, costs = rng.integers(0, 3, rows), [], []
    for _ in range(attributes):
        values = int(rng.integers(2, 7))
        codes = np.where(rng.random(rows) < 0.7, (kind * 2) % values, rng.integers(-1, values, rows))
        finest = np.arange(values + 1)
        levels = [finest, finest // 2, np.zeros(values + 1, dtype=np.int64)]
        levels = levels if rng.random() < 0.6 else levels[:: int(rng.integers(1, 3))][: int(rng.integers(1, 4))]
        columns.append(GeneralizedColumn(codes.astype(np.int32), tuple(levels)))
        costs.append(np.sort(rng.integers(0, 2 * WHOLE // attributes, len(levels))).tolist())
    return columns, rng.integers(1, 4, rows), costs


def scored(columns, counts, costs, score):
    detail = np.zeros(1, dtype=np.int64)
    for cost in costs:
        detail = np.add.outer(detail, np.array(cost)).ravel()
    return one_by_one(columns, counts, score.of_scheme) * np.maximum(WHOLE - detail, 0)


def found(columns, counts, costs, score, slack, *, best=0, bound=None):
    def worth(sizes):
        return score.of_scheme(sizes, None)

    return scores_near_best(
        columns, counts, costs, WHOLE, worth, bound or score.bound, slack, best=best, void=score.void
    )


SCORES = [Ramp(2, Fraction(1, 2)), Ramp(5, Fraction(1, 3)), Records(2, Fraction(1, 2)), Records(4, Fraction(9, 10))]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(0, 60),
    st.integers(1, 4),
    st.sampled_from(SCORES),
    st.sampled_from([0, 50, 5000]),
)
def test_the_schemes_near_the_best_are_those_that_all_scores_give(seed, rows, attributes, score, slack):
    columns, counts, costs = tables(seed, rows, attributes)
    scores = scored(columns, counts, costs, score)
    for best in (0, climb(columns, counts, costs, WHOLE, lambda sizes: score.of_scheme(sizes, None))[1]):
        assert best <= scores.max()
        near = found(columns, counts, costs, score, slack, best=best)
        want = np.flatnonzero(scores >= scores.max() - slack)
        assert near.indices.tolist() == want.tolist()
        assert near.scores.tolist() == scores[want].tolist()
        assert (near.others, near.floor) == (len(scores) - len(want), scores.max() - slack)


@pytest.mark.slow
def test_a_bound_that_is_too_low_is_noticed():
    # the negative control: half the bound leaves out schemes that reach the floor
    missed = 0
    for seed in range(40):
        columns, counts, costs = tables(seed, 40, 4)
        scores = scored(columns, counts, costs, SCORES[0])
        near = found(columns, counts, costs, SCORES[0], 50, bound=lambda sizes: SCORES[0].bound(sizes) // 2)
        missed += near.indices.tolist() != np.flatnonzero(scores >= scores.max() - 50).tolist()
    assert missed > 10


@pytest.mark.parametrize("score", SCORES, ids=lambda score: f"{score.name}-{score.k}")
def test_no_division_of_a_class_is_worth_more_than_its_bound(score):
    top = 3 * len(score.table) // 2 if isinstance(score, Records) else 80
    worth = score.of_classes(np.arange(2 * top))
    for whole in range(1, top):
        bound = score.bound(np.array([whole]))
        part = np.arange(whole + 1)
        assert bound >= worth[whole]
        assert bound >= (worth[part] + worth[whole - part]).max()
        # so also for more parts: the bound of two classes is at most that of both together
        halves = score.bound(np.array([whole // 2])) + score.bound(np.array([whole - whole // 2]))
        assert halves <= bound


def test_classes_that_are_worth_nothing_are_bounded_by_nothing():
    for score in SCORES:
        assert score.bound(np.arange(score.void + 1)) == 0
