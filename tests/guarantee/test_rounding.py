"""Numbers: read exactly, and rounded against us."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.guarantee import rounding

NUMBERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=30, min_value=-(10**6), max_value=10**6),
    st.fractions(),
    st.floats(allow_nan=False, allow_infinity=False),
)


@pytest.mark.slow
@given(NUMBERS)
def test_rounding_goes_the_right_way_by_one_step_at_most(value):
    above, below = rounding.up(value), rounding.down(value)
    exact = Fraction(value)
    assert Fraction(below) <= exact <= Fraction(above)
    assert above == below or math.nextafter(below, math.inf) == above


@given(st.floats(1e-300, 1e300), st.integers(1, 12))
def test_printing_rounds_against_us(value, digits):
    assert (
        Decimal(rounding.text_up(value, digits)) >= Decimal(repr(value)) >= Decimal(rounding.text_down(value, digits))
    )


@pytest.mark.parametrize(
    ("number", "written", "certified"),
    [
        ("1e-6", "0.000001", "1e-06"),
        ("2.56e-6", "0.00000256", "2.56e-06"),
        ("1e-4", "0.0001", "0.0001"),
        ("8.674e-7", "8.674e-7", "8.674e-07"),
        ("0.4", "0.4", "0.4"),
        ("12345", "12350", "12350"),
        ("1e15", "1000000000000000", "1e+15"),
        ("1e20", "1e20", "1e+20"),
        ("0", "0", "0"),
    ],
)
def test_numbers_are_written_in_one_way_and_those_of_certificates_as_ever(number, written, certified):
    assert rounding.text_up(rounding.exact(number)) == written
    assert rounding.certificate_text(rounding.exact(number)) == certified
    if number != "12345":
        texts = {rounding.exact_text, rounding.text_near, rounding.text_down}
        assert {text(rounding.exact(number)) for text in texts} == {written}


def test_what_was_typed_is_printed_to_six_digits():
    assert rounding.text_near(Fraction(1, 3)) == "0.333333"
    assert rounding.text_near(2 / 3e6) == "6.66667e-7"


@pytest.mark.slow
@given(st.fractions(min_value=-1000, max_value=1000))
def test_exact_text_is_exact(value):
    assert Fraction(rounding.exact_text(value)) == value


def test_exact_reads_text_and_shortest_decimals():
    assert rounding.exact("1e-6") == Fraction(1, 10**6)
    assert rounding.exact(0.1) == Fraction(1, 10) == rounding.exact(np.float64(0.1))
    assert rounding.exact(Decimal("0.3")) == Fraction(3, 10)
    assert rounding.exact("1/3") == Fraction(1, 3)
    for wrong in ("", "abc", "nan", float("inf"), None, True, [1], "1/0", "1e9999999", Decimal("1e-999999")):
        with pytest.raises(ParameterError):
            rounding.exact(wrong)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", Fraction(1)),
        (" .2 ", Fraction(1, 5)),
        ("1_000", Fraction(1000)),
        ("-1e-3", Fraction(-1, 1000)),
        ("1/3", Fraction(1, 3)),
    ],
)
def test_a_number_is_read_as_it_was_typed(text, number):
    assert rounding.read_number(text) == number


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("inf", "epsilon is not finite"),
        ("-NaN", "epsilon is not finite"),
        ("one", "epsilon is not a number"),
        ("", "epsilon is not a number"),
        ("1__0", "epsilon is not a number"),
        ("1e1000", "epsilon is not a number"),
        ("9" * 201, "epsilon is not a number"),
        ("1/0", "epsilon is not a finite number"),
        ("٣", "epsilon is not a number"),
    ],
)
def test_what_is_no_number_is_refused_by_its_name(text, wrong):
    with pytest.raises(ParameterError, match=wrong):
        rounding.read_number(text, "epsilon")
