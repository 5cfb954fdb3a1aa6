"""Domains: what lies inside, and the letters of simple patterns."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.domain import Interval, Pattern, Values, letters_by_place, list_values
from shoal.data.schema import Type
from shoal.errors import UsageError


def test_values_know_numbers_and_booleans_by_their_text():
    assert Values(("1", "9")).inside(np.array([1, 2, 9])).tolist() == [True, False, True]
    assert Values(("true",)).inside(np.array([True, False])).tolist() == [True, False]
    assert Values(("2024-02-29",)).inside(np.array(["2024-02-29", "2024-03-01"], dtype="M8[D]")).tolist() == [
        True,
        False,
    ]
    assert Values(("a", "b")).inside(np.array(["b", "c"], dtype=object)).tolist() == [True, False]


def test_long_lists_are_shortened_in_words():
    assert Values(tuple("abcdefgh")).words() == "a, b, c, d, e, f, … (8 values)"
    assert Values(("a", "b")).words() == "a, b"


@pytest.mark.parametrize(
    ("pattern", "sizes"),
    [
        ("[0-9]{5}", [10] * 5),
        (r"\d{3}", [10] * 3),
        ("^[A-Z]{2}[0-9]$", [26, 26, 10]),
        ("[0-9A-F]{2}", [16, 16]),
        ("AB-[01]", [1, 1, 1, 2]),
        (r"[0-9]\.[0-9]", [10, 1, 10]),
        (r"[a\-c]", [3]),
        (r"[\d_]", [11]),
        ("[a-]", [2]),
    ],
)
def test_letters_of_simple_patterns(pattern, sizes):
    assert [len(letters) for letters in letters_by_place(pattern)] == sizes
    assert Pattern(pattern).letters == len(sizes)
    example = "".join(letters[-1] for letters in letters_by_place(pattern))
    assert re.fullmatch(pattern, example)


@pytest.mark.parametrize(
    "pattern", ["[0-9]+", "a|b", "[^a]", ".", "(ab)", "[0-9]{1,3}", r"\w", "a?", "", "[0-9]{2000}"]
)
def test_other_patterns_are_not_guessed(pattern):
    assert letters_by_place(pattern) is None


@pytest.mark.slow
@given(st.lists(st.sampled_from(["[0-9]", "[a-c]", "x", r"\.", "[A-Z]{2}", r"\d"]), min_size=1, max_size=5))
def test_every_text_of_a_simple_pattern_matches_it(parts):
    pattern = "".join(parts)
    found = letters_by_place(pattern)
    assert re.fullmatch(pattern, "".join(letters[0] for letters in found))
    assert re.fullmatch(pattern, "".join(letters[-1] for letters in found))


def test_a_length_that_contradicts_the_pattern_is_refused():
    assert Pattern(".*", 4).letters == 4
    with pytest.raises(UsageError, match="has another length; got 4; allowed: 5"):
        Pattern("[0-9]{5}", 4)


def test_domains_are_listed_where_they_are_small():
    assert list_values(Type.INTEGER, Interval(3, 5)) == ("3", "4", "5")
    assert list_values(Type.DATE, Interval("2024-02-28", "2024-03-01")) == ("2024-02-28", "2024-02-29", "2024-03-01")
    assert list_values(Type.DECIMAL, Interval(0, 1)) is None
    assert list_values(Type.INTEGER, Interval(0, 10**9)) is None
    assert list_values(Type.TEXT, Pattern("[ab][01]")) == ("a0", "a1", "b0", "b1")
    assert list_values(Type.TEXT, Pattern("[0-9]{9}")) is None
