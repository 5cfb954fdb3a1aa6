"""Top and bottom coding of numbers, dates and values in an order."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from shoal.anonymize.treatment.coding import ExtremeCoding
from tests.anonymize.treatment.attributes import AGE, DAY, GRADE, PAY, masked


def coded(attribute, code, kind, values):
    return ExtremeCoding(attribute, code, kind).apply({attribute.name: values}, None)[attribute.name]


def test_numbers():
    ages = masked([3, 85, 86, 113], 0)
    assert coded(AGE, "85", "top", ages).tolist() == [None, 85, 85, 85]
    assert coded(AGE, "86", "bottom", ages).tolist() == [None, 86, 86, 113]
    assert coded(PAY, "0.1", "top", np.array([0.1, 0.1000001, -1])).tolist() == [0.1, 0.1, -1]


def test_dates():
    days = np.array(["2020-02-29", "2020-03-01", "2020-12-31"], dtype="datetime64[D]")
    first = dt.date(2020, 3, 1)
    assert coded(DAY, "2020-03-01", "top", days).tolist() == [dt.date(2020, 2, 29), first, first]
    assert coded(DAY, "2020-03-01", "bottom", days).tolist() == [first, first, dt.date(2020, 12, 31)]


def test_values_in_an_order():
    grades = masked(np.array(["low", "middle", "high", None], dtype=object), 3)
    assert coded(GRADE, "middle", "top", grades).tolist() == ["low", "middle", "middle", None]
    assert coded(GRADE, "middle", "bottom", grades).tolist() == ["middle", "middle", "high", None]


@pytest.mark.parametrize(
    ("attribute", "code", "kind", "words"),
    [
        (AGE, "85", "top", "Values of age above 85 become 85 (top coding)."),
        (AGE, "16", "bottom", "Values of age below 16 become 16 (bottom coding)."),
        (DAY, "2020-03-01", "top", "Values of day after 2020-03-01 become 2020-03-01 (top coding)."),
    ],
)
def test_its_words(attribute, code, kind, words):
    assert ExtremeCoding(attribute, code, kind).words() == words
