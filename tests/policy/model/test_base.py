"""Numbers are read from their text: exact, and only what is a number."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from shoal.guarantee.rounding import exact_text
from shoal.policy.model.base import WholeNumber, exact_number, whole_number
from shoal.policy.policy import Policy
from tests.policy.written import base, edited, the_problem


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("1e-6", Fraction(1, 10**6)),
        ("1E-6", Fraction(1, 10**6)),
        ("1.0e-06", Fraction(1, 10**6)),
        ("0.000001", Fraction(1, 10**6)),
        (".5", Fraction(1, 2)),
        ("0.1", Fraction(1, 10)),
        ("'0.1'", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("0.3000000000000000000000001", Fraction(3, 10) + Fraction(1, 10**25)),
    ],
)
def test_delta_is_exactly_what_was_typed(typed, number):
    text = edited(("delta: 1e-6", f"delta: {typed}"), ("sampling: {beta: auto}", "sampling: {beta: 0.9}"))
    text = text.replace("budget: {epsilon: 3, delta: 1e-5}\n", "")
    assert Policy.parse(text).release.delta == number


def test_large_numbers():
    assert exact_number("1_000") == 1000
    assert exact_number("+2.") == 2
    assert exact_number("-1e3") == -1000
    assert exact_number("1e999").denominator == 1


@pytest.mark.parametrize(
    "typed",
    [
        "one", "1,0", "1 0", "1e", "e5", ".", "inf", ".inf", "nan", "-.inf", "0x10", "0b1", "1e1000", "1e999999999999",
        "1__0", "1/0", "1/-3", "1:30", "١", "½", "1²", "--1", "9" * 300, "[1]", "{a: 1}", "''", "true", "~",
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused(typed):
    problem = the_problem(edited(("epsilon: 1.0", f"epsilon: {typed}")), "release.epsilon", line=13)
    assert problem.allowed == "a number above 0"


@pytest.mark.parametrize(
    ("key", "old", "typed", "allowed"),
    [
        ("release.epsilon", "epsilon: 1.0", "0", "a number above 0"),
        ("release.epsilon", "epsilon: 1.0", "-1", "a number above 0"),
        ("release.delta", "delta: 1e-6", "1", "a number from 0 to below 1"),
        ("release.delta", "delta: 1e-6", "-1e-9", "a number from 0 to below 1"),
        ("release.recoding.tree.epsilon", "epsilon: 0.2", "0", "a number above 0"),
        ("release.sampling.beta", "beta: auto", "0", "auto, or a number between 0 and 1"),
        ("release.sampling.beta", "beta: auto", "1", "auto, or a number between 0 and 1"),
        ("release.sampling.beta", "beta: auto", "Auto", "auto, or a number between 0 and 1"),
        ("release.sampling.already", "beta: auto", "1.5", "a number between 0 and 1"),
        ("budget.epsilon", "epsilon: 3", "nothing", "a number above 0"),
    ],
)
def test_ranges(key, old, typed, allowed):
    new = f"{key.rpartition('.')[2]}: {typed}"
    assert the_problem(edited((old, new)), key).allowed == allowed


@pytest.mark.parametrize("typed", ["5.0", "5e0", "0x5", "five", "1_", "_1", "", "1e3"])
def test_what_is_no_whole_number_is_refused(typed):
    problem = the_problem(edited(("method: safe-k", f"method: safe-k\n  k: {typed or chr(39) * 2}")), "release.k", 13)
    assert problem.allowed == "a whole number from 1 up"


def test_a_leading_zero_could_be_octal():
    problem = the_problem(edited(("method: safe-k", "method: safe-k\n  k: 010")), "release.k", line=13)
    assert "begins with a zero" in problem.wrong


def test_whole_numbers():
    assert whole_number("1_000") == 1000
    assert whole_number("-5") == -5
    assert whole_number("0") == 0
    with pytest.raises(PydanticCustomError):
        WholeNumber(1)(str(2**63))


@pytest.mark.slow
@given(st.fractions(min_value=0, max_value=10).filter(bool))
def test_the_text_of_an_exact_number_is_read_as_the_same_number(number):
    if len(exact_text(number)) <= 200:
        assert exact_number(exact_text(number)) == number


def test_plain_python_numbers_come_in_as_the_decimal_they_show():
    policy = Policy.parse(base(epsilon=0.3, delta=1e-9, sampling={"beta": Fraction(1, 3)}))
    assert policy.release.epsilon == Fraction(3, 10)
    assert policy.release.delta == Fraction(1, 10**9)
    assert policy.release.sampling.beta == Fraction(1, 3)
