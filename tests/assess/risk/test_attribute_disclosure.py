"""Homogeneity: the practice guide's example by hand, and both treatments of suppressed cells against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.risk.attribute_disclosure import homogeneity
from shoal.errors import DataError
from tests.assess.risk.guideline import HEALTH, KEYS
from tests.assess.risk.test_class_sizes import matching, tables


def test_the_practice_guides_example():
    """Table 4.3: the distinct l-diversity is 2 for records 4, 6, 9 and 10 and 1 for the six others."""
    found = homogeneity(KEYS, HEALTH)
    assert found.homogeneous.value == 0.6
    assert found.dominated.value == 0.6
    assert homogeneity(KEYS, HEALTH, threshold=0.4).dominated.value == 1
    assert found.guessing.value == 0.8
    assert found.baseline.value == 0.7
    assert found.largest.value == 1
    assert "60.00%" in found.words()
    assert found.to_json()["homogeneous"]["kind"] == "exact"


@pytest.mark.slow
@given(tables(), st.data(), st.booleans())
def test_shares_are_those_of_comparing_all_pairs(keys, data, lenient):
    values = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=len(keys), max_size=len(keys))))
    found = homogeneity(keys, values, matching="lenient" if lenient else "strict", threshold=0.6)
    alike = [values[row] for row in matching(keys, keys, lenient)]
    most = np.array([np.unique(one, return_counts=True)[1].max() / len(one) for one in alike])
    assert found.homogeneous.value == pytest.approx(np.mean([len(set(one.tolist())) == 1 for one in alike]))
    assert found.dominated.value == pytest.approx((most > 0.6).mean())
    assert found.largest.value == pytest.approx(most.max())
    if not lenient:
        assert found.guessing.value == pytest.approx(most.mean())


@pytest.mark.parametrize("values", [[1], [[1, 1]], [0.5, 1.0], [-2, 0]])
def test_codes_that_do_not_fit_are_refused(values):
    with pytest.raises(DataError):
        homogeneity([[0], [0]], values)


def test_a_label_of_several_values_tells_none_of_them():
    """Two classes that show one label each: one of them a value, the other '*'."""
    keys, labels = [[0], [0], [1], [1], [1]], [-1, -1, 3, 3, 3]
    found = homogeneity(keys, labels, valued=[False, False, True, True, True])
    assert found.homogeneous.value == found.dominated.value == found.guessing.value == found.baseline.value == 0.6
    nothing = homogeneity(keys, labels, valued=[False] * 5)
    assert nothing.homogeneous.value == nothing.largest.value == nothing.guessing.value == nothing.baseline.value == 0
    with pytest.raises(DataError):
        homogeneity(keys, labels, valued=[True])
