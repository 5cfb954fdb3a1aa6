"""Class sizes: the practice guide's numbers, both treatments of suppressed cells by brute force, populations that fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.disclosure.classes import row_numbers
from shoal.assess.risk.class_sizes import KeyClasses
from shoal.errors import DataError, ParameterError
from tests.assess.risk.guideline import HIDDEN_CELLS, KEYS, WEIGHTS


def tables(codes: int = 2, width: int = 3, rows: int = 9):
    cell = st.integers(-1, codes)
    return st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=rows).map(np.array)


def matching(keys, other, lenient):
    """How many rows of `other` match each row of `keys`, by comparing all pairs."""
    equal = keys[:, None, :] == other[None, :, :]
    if lenient:
        equal |= (keys[:, None, :] == -1) | (other[None, :, :] == -1)
    return equal.all(axis=2)


def test_the_frequencies_of_the_practice_guide():
    """Code 4.2: freq(sdcInitial, 'fk') and freq(sdcInitial, 'Fk')."""
    classes = KeyClasses.of(KEYS)
    assert classes.sizes.tolist() == [2, 2, 1, 2, 1, 2, 1, 1, 2, 2]
    assert classes.sums(WEIGHTS).tolist() == [360, 360, 215, 152, 186, 152, 180, 215, 262, 262]


def test_missing_cells_match_anything_as_in_the_practice_guide():
    """Table 4.6: fk is 3 for record 4 and 2 for record 8. Strict: record 4 is alone, and so is record 6."""
    assert KeyClasses.of(HIDDEN_CELLS, "lenient").sizes.tolist() == [2, 2, 1, 3, 1, 2, 1, 2, 2, 2]
    assert KeyClasses.of(HIDDEN_CELLS).sizes.tolist() == [2, 2, 1, 1, 1, 1, 1, 1, 2, 2]


@pytest.mark.slow
@given(tables(), st.booleans())
def test_sizes_and_sums_are_those_of_comparing_all_pairs(keys, lenient):
    numbers = np.arange(1, len(keys) + 1)
    found = KeyClasses.of(keys, "lenient" if lenient else "strict")
    pairs = matching(keys, keys, lenient)
    assert found.sizes.tolist() == pairs.sum(axis=1).tolist()
    assert found.sums(numbers).tolist() == (pairs @ numbers).tolist()
    assert (KeyClasses.of(keys, "lenient").sizes >= KeyClasses.of(keys).sizes).all()


@pytest.mark.slow
@given(tables(), tables(), st.booleans())
def test_population_sizes_are_those_of_comparing_all_pairs(keys, others, lenient):
    everybody = np.concatenate([keys, others])
    counts = np.concatenate([np.ones(len(keys), dtype=int), np.arange(1, len(others) + 1)])
    found = KeyClasses.of(keys, "lenient" if lenient else "strict").population_sizes(everybody, counts)
    assert found.tolist() == (matching(keys, everybody, lenient) @ counts).tolist()


def test_row_numbers_beyond_64_bits_still_tell_rows_apart():
    wide = np.array([[2**40, 1, 2**40], [2**40, 0, 2**40], [0, 1, 0], [2**40, 1, 2**40]])
    found = row_numbers(wide)
    assert found[0] == found[3]
    assert len(set(found.tolist())) == 3


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([], "no table"),
        ([1, 2], "no table"),
        ([[0.5]], "no codes"),
        ([[-2]], "below"),
        (np.zeros((0, 2), int), "no table"),
    ],
)
def test_keys_that_are_none_are_refused(keys, words):
    with pytest.raises(DataError, match=words):
        KeyClasses.of(keys)


def test_a_matching_that_is_none_is_refused():
    with pytest.raises(ParameterError):
        KeyClasses.of([[0]], "fuzzy")


@pytest.mark.parametrize(
    ("population", "counts", "words"),
    [
        ([[0, 0]], None, "other quasi-identifiers"),
        ([[0]], None, "lacks classes"),
        ([[0], [1]], None, "fewer people"),
        ([[0], [1]], [5, 0], "do not fit"),
        ([[0], [1]], [5], "do not fit"),
    ],
)
def test_populations_that_do_not_fit_are_refused(population, counts, words):
    with pytest.raises(DataError, match=words):
        KeyClasses.of([[0], [0], [1]]).population_sizes(population, counts)


def test_classes_are_keys_too_and_change_their_matching():
    strict = KeyClasses.of(HIDDEN_CELLS)
    assert KeyClasses.of(strict) is strict
    assert KeyClasses.of(strict, "lenient").sizes.tolist() == KeyClasses.of(HIDDEN_CELLS, "lenient").sizes.tolist()
