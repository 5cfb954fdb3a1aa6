"""Every score is what it says, in whole numbers, and one row moves it by no more than it claims."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb, isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.anonymize.generalize.lattice import GRID, Lattice
from shoal.anonymize.generalize.scores import SCORES, Discernibility, Ramp, Records, Target
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.theorem import THEOREMS
from tests.anonymize.generalize.tiny import attribute, counted, recoded
from tests.anonymize.kernel.twin import one_by_one

CITY, SEX, AGE = (
    attribute("city", "abcd", "xxyy"),
    attribute("sex", "fm"),
    attribute("age", "123456", "111222", "777788"),
)
NESTED_AGE = attribute("age", "123456", "112233", "ppppqq")
LATTICE = Lattice.of([CITY, NESTED_AGE, SEX], weights={"city": 2})
WITH_TARGET = Lattice.of([CITY, NESTED_AGE, SEX], coarsest={"sex": 0})
SETTINGS = [(1, Fraction(1, 2)), (2, Fraction(2, 5)), (3, Fraction(9, 10)), (3, Fraction(3, 10))]

rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "d", None]),
        st.sampled_from(["1", "2", "3", "4", "5", "6"]),
        st.sampled_from(["f", "m", None]),
    ),
    max_size=40,
)
settings_of_scores = st.sampled_from(SETTINGS)


def scores_of(k, beta):
    return [Ramp(k, beta), Records(k, beta), Discernibility(k, beta), Target(k, beta, "sex")]


def lattice_of(score):
    return WITH_TARGET if isinstance(score, Target) else LATTICE


# --- by hand ----------------------------------------------------------------------------------------------------


def at_least(k, n, beta):
    return sum((comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(max(k, 0), n + 1)), Fraction(0))


def ramp(n, crowd):
    return min(n, max(0, 2 * n - crowd))


def worth(score, table, scheme_rows):
    """The sum over classes, from the definitions in the docstrings, with fractions and dictionaries."""
    if isinstance(score, Target):
        cells: dict = {}
        for row, n in Counter(scheme_rows).items():
            cells.setdefault(row[:2], []).append(ramp(n, score.publishable_size))
        return sum(max(values) for values in cells.values())
    return sum(table[n] for n in Counter(scheme_rows).values())


def table_of(score, top):
    if isinstance(score, Ramp):
        return [ramp(n, score.publishable_size) for n in range(top)]
    if isinstance(score, Discernibility):
        return [ramp(n, score.publishable_size) * max(0, 8 * score.publishable_size - n) for n in range(top)]
    if isinstance(score, Records):
        return [int(1000 * n * at_least(score.k - 1, n - 1, score.beta)) if n else 0 for n in range(top)]
    return []


@pytest.mark.slow
@settings(max_examples=25)
@given(rows, settings_of_scores)
def test_scores_are_what_they_say(table, setting):
    for score in scores_of(*setting):
        lattice = lattice_of(score)
        found = score.of_all(lattice, counted(lattice.names, table))
        by_size = table_of(score, 41)
        for index in range(len(lattice)):
            expected = worth(score, by_size, recoded(lattice, index, table))
            assert found[index] == expected * (int(lattice.detail[index]) if score.weighted else 1)
        assert found.dtype == np.int64


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 5, 20])
@pytest.mark.parametrize("beta", ["0.05", "0.3", "0.85"])
def test_expected_records_are_exact_in_the_table(k, beta):
    score = Records(k, Fraction(beta))
    table = score.table.tolist()
    assert table[:60] == table_of(score, 61)[: len(table[:60])]
    for n in (len(table) - 1, len(table), len(table) + 40):
        exact = 1000 * n * at_least(k - 1, n - 1, score.beta)
        assert -0.01 <= exact - int(score.of_classes(np.array([n]))[0]) < 1.01


def test_expected_records_have_the_steps_of_the_proof():
    beta = Fraction(3, 10)
    h = [n * beta * at_least(3, n - 1, beta) if n else Fraction(0) for n in range(41)]  # k = 4
    for n in range(40):
        mass = comb(n, 3) * beta**3 * (1 - beta) ** (n - 3) if n >= 3 else 0
        assert h[n + 1] - h[n] == beta * (at_least(4, n, beta) + 4 * mass)


# --- sensitivity ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "beta"), [*SETTINGS, (1, Fraction(99, 100)), (7, Fraction(1, 3)), (20, Fraction(17, 20))]
)
def test_no_step_is_larger_than_claimed_and_the_claim_is_reached(k, beta):
    for score in scores_of(k, beta):
        top = 10 * score.publishable_size + 200
        steps = np.diff(score.of_classes(np.arange(top, dtype=np.int64)))
        assert steps.min() >= -score.fall
        assert steps.max() <= score.rise
        if score.publishable_size > 2:
            assert steps.max() == score.rise
            assert max(-steps.min(), 0) == score.fall
        assert score.monotone == (score.name != "discernibility")


@pytest.mark.slow
@settings(max_examples=30)
@given(rows, st.data(), settings_of_scores)
def test_neighbours_differ_by_at_most_the_spread(table, data, setting):
    extra = (
        data.draw(st.sampled_from("abcd")), data.draw(st.sampled_from("123456")), data.draw(st.sampled_from("fm")),
    )  # fmt: skip
    for score in scores_of(*setting):
        lattice = lattice_of(score)
        with_it = score.of_all(lattice, counted(lattice.names, [*table, extra]))
        moved = with_it - score.of_all(lattice, counted(lattice.names, table))
        assert abs(moved).max() <= score.sensitivity(lattice)
        assert moved.max() - min(moved.min(), 0) <= score.spread(lattice) <= 2 * score.sensitivity(lattice)
        if score.monotone:
            assert moved.min() >= 0
            assert score.spread(lattice) == score.sensitivity(lattice)


def test_the_known_sensitivities():
    assert Ramp(107, Fraction(17, 20)).sensitivity(LATTICE) == 2 * GRID
    assert Target(107, Fraction(17, 20), "sex").sensitivity(WITH_TARGET) == 2
    finest_forbidden = Lattice.of([CITY, SEX], finest={"city": 1})
    assert Ramp(5, Fraction(1, 2)).sensitivity(finest_forbidden) == 2 * int(finest_forbidden.detail.max()) < 2 * GRID
    records = Records(107, Fraction(17, 20))
    # theory 1.3: max over n of beta (Pr[Bin(n - 1) >= k] + k Pr[Bin(n - 1) = k - 1]), over beta, in thousandths
    beta = records.beta
    steps = [
        (at_least(107, n, beta) + 107 * comb(n, 106) * beta**106 * (1 - beta) ** (n - 106)) for n in range(106, 160)
    ]
    assert abs(records.rise - 1000 * max(steps)) <= 1
    assert records.rise < 1000 * (3 + isqrt(107))
    discernibility = Discernibility(107, Fraction(17, 20))
    assert discernibility.rise + discernibility.fall < 3 * discernibility.cap


# --- the four together ------------------------------------------------------------------------------------------


def test_scores_are_listed_and_cite_a_theorem():
    assert list(SCORES) == ["ramp", "records", "discernibility", "target"]
    assert all(name == score.name and score.theorem in THEOREMS for name, score in SCORES.items())


@pytest.mark.slow
@given(rows)
@settings(max_examples=15)
def test_the_roll_up_equals_its_twin_for_every_score(table):
    for score in scores_of(2, Fraction(2, 5)):
        lattice = lattice_of(score)
        counts = counted(lattice.names, table)
        twin = one_by_one(lattice.columns(counts), counts.counts, score.of_scheme, within=score.within(lattice))
        assert np.array_equal(score.of_all(lattice, counts), twin * (lattice.detail if score.weighted else 1))


def test_an_empty_table_is_worth_nothing():
    for score in scores_of(3, Fraction(1, 2)):
        lattice = lattice_of(score)
        assert not score.of_all(lattice, counted(lattice.names, [])).any()


def test_levels_that_do_not_nest_are_refused():
    with pytest.raises(UsageError, match="do not nest"):
        Ramp(2, Fraction(1, 2)).of_all(Lattice.of([AGE]), counted(("age",), [(letter,) for letter in "123456"]))


def test_a_target_has_one_level():
    with pytest.raises(UsageError, match="the target 'sex' may have several levels; got 0, 1; allowed: one level"):
        Target(2, Fraction(1, 2), "sex").of_all(LATTICE, counted(LATTICE.names, []))
    with pytest.raises(UsageError, match="no such target; got height"):
        Target(2, Fraction(1, 2), "height").of_all(LATTICE, counted(LATTICE.names, []))


def test_crowds_beyond_a_table_are_refused_and_the_ramp_takes_them():
    huge = Fraction(1, 10**12)
    for refused in (Records, Discernibility):
        with pytest.raises(ParameterError, match="use the score 'ramp'"):
            refused(10**6, huge)
    assert Ramp(10**6, huge).of_classes(np.array([10**18])).tolist() == [10**18]
    for bad in ({"k": 0, "beta": Fraction(1, 2)}, {"k": 3, "beta": Fraction(3, 2)}):
        with pytest.raises(ParameterError):
            Ramp(**bad)


@pytest.mark.parametrize(("k", "beta"), [*SETTINGS, (20, Fraction(3, 10)), (107, Fraction(85, 100))])
def test_a_class_is_worth_nothing_exactly_up_to_void(k, beta):
    for score in scores_of(k, beta):
        sizes = np.arange(score.void + 2, dtype=np.int64)
        worth_of_sizes = score.of_classes(sizes)
        assert not worth_of_sizes[:-1].any()
        assert worth_of_sizes[-1] > 0
