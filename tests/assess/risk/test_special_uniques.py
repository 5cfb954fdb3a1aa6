"""Special uniques: sdcMicro's printed numbers, and every minimal sample unique of small tables by brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.risk.special_uniques import special_uniques
from shoal.errors import InfeasibleError, ParameterError
from tests.assess.risk.guideline import KEYS
from tests.assess.risk.test_class_sizes import matching, tables


def test_the_practice_guides_scores():
    """Table 4.5 has the SUDA scores 6, 12, 6 and 10; record 5 has four MSUs, one of size 1 and three of size 2."""
    found = special_uniques(KEYS)
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    own = found.sets[found.records == 4]
    assert sorted(own.tolist()) == [0b0001, 0b0110, 0b1010, 0b1100]
    assert (found.found.value, found.special.value) == (4, 4)
    assert found.by_size == {1: 4, 2: 5, 3: 0, 4: 0}
    assert "4 of 10 records" in found.words()


def test_the_practice_guides_dis_scores():
    """Code 4.7: scores 1.75, 3.25, 1.75, 2.75 and DIS-SUDA .005120313, .010702061, .005120313, .008775093."""
    found = special_uniques(KEYS, fraction=0.01, scoring="ihsn")
    assert found.scores[[2, 4, 6, 7]] == pytest.approx([1.75, 3.25, 1.75, 2.75])
    assert found.dis_scores[[2, 4, 6, 7]] == pytest.approx(
        [0.005120313, 0.010702061, 0.005120313, 0.008775093], abs=1e-9
    )
    assert found.dis.value == pytest.approx(4 * 0.01 / (4 * 0.01 + 6 * 0.99))
    assert found.dis.kind == "model"
    assert found.to_json()["by_size"]["1"] == 4


def test_without_a_sampling_fraction_there_is_no_dis():
    found = special_uniques(KEYS)
    assert (found.dis, found.dis_scores, found.largest_dis_score) == (None, None, None)
    assert found.to_json()["dis"] is None
    assert "simple random sample" not in found.words()
    assert "simple random sample" in special_uniques(KEYS, fraction=0.1).words()


def test_francdat_of_sdcmicro():
    """The guidelines of sdcMicro, table of SUDA and DIS-SUDA scores."""
    keys = [
        [1, 2, 2, 1],
        [1, 2, 1, 1],
        [1, 2, 1, 1],
        [3, 3, 1, 5],
        [4, 3, 1, 4],
        [4, 3, 1, 1],
        [6, 2, 1, 5],
        [1, 2, 2, 1],
    ]
    found = special_uniques(keys, fraction=0.01, scoring="ihsn")
    assert found.scores.round(2).tolist() == [0, 0, 0, 2.25, 1.75, 1, 2.25, 0]
    assert found.dis_scores.round(4).tolist() == [0, 0, 0, 0.0149, 0.0111, 0.0057, 0.0149, 0]


def test_the_tests_of_sdcmicro():
    """tests/testthat/test_suda2.R: the book example has 4, 2, 6, 8 for records 5 to 8; contributions 50, 37.5, 37.5 %."""
    age, gender = [0] * 7 + [1], [0] * 4 + [1] * 3 + [0]
    income, education = [0, 0] + [1] * 6, [0, 0, 0, 0, 1, 0, 2, 1]
    found = special_uniques(np.column_stack([age, gender, income, education]))
    assert found.scores[4:].tolist() == [4, 2, 6, 8]
    assert special_uniques([[2, 0, 0], [1, 3, 6], [1, 0, 0]]).contributions == (0.5, 0.375, 0.375)


def test_a_smaller_largest_size_changes_the_scores_as_elliot_and_others_say():
    """With 4 attributes and sets of at most 2: (4 − 1)(4 − 2) for one attribute, 4 − 2 for two."""
    found = special_uniques(KEYS, largest_size=2)
    assert found.scores[4] == 3 * 2 + 3 * 2
    assert special_uniques(KEYS, largest_size=1).scores[4] == 3


@pytest.mark.slow
@given(tables(codes=2, width=4, rows=10), st.sampled_from(["strict", "lenient"]), st.integers(1, 4))
def test_the_sets_are_those_of_brute_force(keys, how, largest):
    found = special_uniques(keys, largest_size=largest, matching=how, fraction=0.3)
    expected = set()
    for row in range(len(keys)):
        unique = []
        for size in range(1, largest + 1):
            for chosen in combinations(range(4), size):
                part = keys[:, chosen]
                if matching(part, part, how == "lenient")[row].sum() == 1 and not any(s <= {*chosen} for s in unique):
                    unique.append({*chosen})
        expected |= {(row, sum(1 << i for i in chosen)) for chosen in unique}
    assert {*zip(found.records.tolist(), found.sets.tolist(), strict=True)} == expected
    assert len(found.records) == len(expected)
    assert ((found.dis_scores >= 0) & (found.dis_scores <= 1)).all()


def test_counting_by_sorting_and_in_a_table_agree():
    spread = np.array([0, 7_000_000_000, 13])
    assert special_uniques(spread[KEYS.clip(0, 2)]).scores.tolist() == special_uniques(KEYS.clip(0, 2)).scores.tolist()


def test_a_table_without_uniques_says_so():
    found = special_uniques([[0, 1], [0, 1]], fraction=0.1)
    assert found.words().startswith("No record is unique")
    assert (found.dis.value, found.dis_scores.tolist(), found.contributions) == (0, [0, 0], (0, 0))


@pytest.mark.parametrize("wrong", [{"largest_size": 0}, {"largest_size": 5}, {"fraction": 0}, {"scoring": "other"}])
def test_other_arguments_are_refused(wrong):
    with pytest.raises(ParameterError):
        special_uniques(KEYS, **wrong)


def test_too_many_sets_are_refused():
    with pytest.raises(InfeasibleError):
        special_uniques(np.zeros((2, 28), dtype=int), largest_size=1)
    with pytest.raises(InfeasibleError):
        special_uniques(np.zeros((2, 25), dtype=int))
