"""Criteria on classes: what the independent measures say, on both sides of every threshold, and exact where floats cannot say."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.generalize.search.criteria import Classes, ClassValues, emd, failing, has_entropy, is_recursive
from shoal.anonymize.generalize.search.records import ConfidentialValues
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.assess.disclosure import measures
from shoal.assess.disclosure.classes import gather
from tests.anonymize.generalize.search.twin import emd as twin_emd

HEIGHTS = (np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1]))
STEP = Fraction(1, 10**6)


def held(table, distance="equal", heights=None):
    """Classes from counts, a row for each class and a column for each value."""
    table = np.array(table, dtype=np.int64)
    owner, value = np.nonzero(table)
    values = ConfidentialValues(
        "ill", np.arange(table.shape[1]), table.shape[1], -1, distance, heights or (np.arange(table.shape[1]),)
    )
    own = ClassValues(values, owner.astype(np.int64), value.astype(np.int64), table[owner, value])
    return Classes(table.sum(axis=1), None, (own,))


tables = st.lists(
    st.lists(st.integers(0, 6), min_size=6, max_size=6).filter(lambda row: sum(row) >= 2), min_size=1, max_size=5
).filter(lambda table: all(map(any, zip(*table, strict=True))))

MEASURES = {
    "t equal": (measures.t_equal, lambda v: Requirement(2, t=v), "equal", None),
    "t ordered": (measures.t_ordered, lambda v: Requirement(2, t=v), "ordered", None),
    "t tree": (lambda s: measures.t_hierarchical(s, HEIGHTS), lambda v: Requirement(2, t=v), "hierarchical", HEIGHTS),
    "alpha": (measures.alpha, lambda v: Requirement(2, alpha=min(v, Fraction(1))), "equal", None),
    "basic": (measures.basic_beta, lambda v: Requirement(2, beta=v), "equal", None),
    "delta": (measures.delta_disclosure, lambda v: Requirement(2, delta=v), "equal", None),
}


@pytest.mark.parametrize("name", MEASURES)
def test_a_class_passes_just_above_what_is_measured_and_fails_just_below(name):
    measure, asked, distance, heights = MEASURES[name]

    @given(tables)
    def check(table):
        classes = held(table, distance, heights)
        own = classes.held[0]
        overall = np.array(table).sum(axis=0)
        found = measure(gather(own.owner, own.value, own.count, overall))
        for at, value in enumerate(found.tolist()):
            if np.isinf(value):
                assert failing(classes, asked(Fraction(100)), [overall])[at]
                continue
            assert not failing(classes, asked(Fraction(value) + STEP), [overall])[at]
            if value > 2 * STEP:
                assert failing(classes, asked(Fraction(value) - STEP), [overall])[at]

    check()


@given(tables)
def test_enhanced_beta_is_what_is_measured(table):
    classes = held(table)
    own, overall = classes.held[0], np.array(table).sum(axis=0)
    found = measures.enhanced_beta(gather(own.owner, own.value, own.count, overall))
    wide = failing(classes, Requirement(2, beta=Fraction(1000), beta_form="enhanced"), [overall])
    assert (wide == np.isinf(found)).all()
    for at, value in enumerate(found.tolist()):
        if not np.isinf(value):
            above = Requirement(2, beta=Fraction(value) + STEP, beta_form="enhanced")
            assert not failing(classes, above, [overall])[at]


@given(tables, st.fractions(Fraction(1, 4), 4, max_denominator=8))
def test_diversity_is_what_is_measured(table, c):
    classes = held(table)
    own, overall = classes.held[0], np.array(table).sum(axis=0)
    shares = gather(own.owner, own.value, own.count, overall)
    distinct, recursive = measures.distinct_l(shares), measures.recursive_l(shares, float(c))
    for l in range(1, 8):  # noqa: E741
        assert (failing(classes, Requirement(2, l=l)) == (distinct < l)).all()
        assert (is_recursive(own, len(classes), c, l) == (recursive >= l)).all()
    for at, value in enumerate(measures.entropy_l(shares).tolist()):
        assert has_entropy(own, classes.sizes, Fraction(value) - STEP)[at]
        assert not has_entropy(own, classes.sizes, Fraction(value) + STEP)[at]


def test_equal_entropies_are_equal():
    for rows in ([1, 1, 1], [7, 7, 7], [10**6] * 3):
        classes = held([rows])
        assert has_entropy(classes.held[0], classes.sizes, Fraction(3))[0]
        assert not has_entropy(classes.held[0], classes.sizes, 3 + Fraction(1, 10**30))[0]


@given(
    st.lists(st.lists(st.integers(0, 10**9), min_size=4, max_size=4).filter(any), min_size=1, max_size=4),
    st.sampled_from(["equal", "ordered"]),
)
def test_distances_are_exact_for_numbers_that_do_not_fit(table, distance):
    classes = held(table, distance)
    overall = np.array(table).sum(axis=0)
    found, parts = emd(classes.held[0], classes.sizes, overall)
    every = Counter({value: int(count) for value, count in enumerate(overall) if count})
    for row, size, far in zip(table, classes.sizes.tolist(), found.tolist(), strict=True):
        wanted = twin_emd(distance, Counter(dict(enumerate(row))), every, range(4), ({v: v for v in range(4)},))
        assert Fraction(far, size * int(overall.sum()) * parts) == wanted


def test_delta_and_enhanced_beta_near_a_threshold_are_decided_by_digits():
    """Shares whose logarithm floats cannot tell from the threshold: the exact one is on the side that 70 digits say."""
    table = [[2, 1, 1], [1, 1, 2], [1, 2, 1]]
    ratio = Fraction(1, 2) / Fraction(1, 3)
    near = Fraction(np.log(float(ratio)))  # the float that is nearest to ln 3/2, and not equal to it
    above = failing(held(table), Requirement(2, delta=near + Fraction(1, 10**12)))
    below = failing(held(table), Requirement(2, delta=near - Fraction(1, 10**12)))
    assert not above.any()
    assert below.all()


def test_classes_that_are_unlike_the_rest_go_and_the_table_is_taken_again():
    table = [[50, 50], [49, 51], [10, 0]]
    # Beside all three the second lies 0.029 off, beside the first two 0.005; what fails at once goes at once.
    assert failing(held(table), Requirement(2, t=Fraction(3, 100))).tolist() == [False, False, True]
    assert failing(held(table), Requirement(2, t=Fraction(1, 50))).tolist() == [False, True, True]
    # The third class holds the table together: without it, the others lie apart.
    joined = [[30, 10], [10, 30], [0, 2]]
    assert failing(held(joined), Requirement(2, t=Fraction(27, 100))).tolist() == [False, False, True]
    assert failing(held([[5, 0], [0, 5]]), Requirement(2, t=Fraction(1, 50))).all()
