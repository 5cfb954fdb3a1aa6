"""Random rounding: its exact law by every draw there is, and what an impostor of it gets wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.treatment.random_rounding import RandomRounding
from shoal.chance.source import Source
from shoal.data.domain import Interval
from shoal.data.schema import Attribute
from shoal.errors import UsageError
from tests.anonymize.treatment.attributes import AGE, PAY, ScriptedSource, masked

LOW, HIGH = -7, 113


def law(step, value, width):
    """The mean and the variance over all draws, each with the same probability; and the values that come out."""
    shown = [int(step.apply({"age": np.array([value])}, ScriptedSource([number]))["age"][0]) for number in range(width)]
    mean = Fraction(sum(shown), width)
    return mean, Fraction(sum(each**2 for each in shown), width) - mean**2, set(shown)


def neighbours(value, base):
    low = max(value // base * base, LOW)
    return low, min(value // base * base + base, HIGH)


@given(st.integers(LOW, HIGH), st.integers(2, 40))
def test_it_is_unbiased_and_stays_in_the_domain(value, base):
    low, high = neighbours(value, base)
    step = RandomRounding(AGE, base)
    mean, variance, shown = law(step, value, max(high - low, 1))
    assert mean == value
    assert variance == (value - low) * (high - value) <= step.variance
    assert shown <= {low, high, value}
    assert all(LOW <= each <= HIGH and (each % base == 0 or each in (LOW, HIGH)) for each in shown)


class Nearest(RandomRounding):
    """An impostor: it goes to the nearer of the two, so it is biased."""

    def _drawn(self, values, source):
        return np.round(values / self.base).astype(np.int64) * self.base


def test_an_impostor_is_told_apart():
    assert law(RandomRounding(AGE, 5), 11, 5)[0] == 11
    assert law(Nearest(AGE, 5), 11, 5)[0] != 11


def test_missing_stays_missing_and_every_value_draws_by_itself():
    step = RandomRounding(AGE, 10)
    made = step.apply({"age": masked([1, 9, 5, 5], 1)}, ScriptedSource([0, 5, 4]))["age"]
    assert made.tolist() == [10, None, 0, 10]


FIRST, LAST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("value", "base"), [(LAST, 10), (LAST - 3, 10), (FIRST + 3, 10), (FIRST, 7), (LAST - 1, 2**61)]
)
def test_the_last_numbers_of_64_bits_stay_in_the_domain(value, base):
    step = RandomRounding(Attribute("age", AGE.role, AGE.type, Interval(FIRST, LAST)), base)
    low, high = max(value // base * base, FIRST), min(value // base * base + base, LAST)
    with Source.seeded(1) as source:
        made = step.apply({"age": np.full(200, value)}, source)["age"]
    assert made.dtype == np.int64
    assert set(made.tolist()) <= {low, high, *([value] if value == FIRST else [])}
    if base == 10:
        assert abs((made == high).mean() - (value - low) / (high - low)) < 0.2


def test_a_seeded_run_has_the_right_mean():
    with Source.seeded(3) as source:
        made = RandomRounding(AGE, 10).apply({"age": np.full(20_000, 17)}, source)["age"]
    assert set(made.tolist()) == {10, 20}
    assert abs(made.mean() - 17) < 5 * (21 / 20_000) ** 0.5


def test_it_needs_whole_numbers_between_two_ends():
    assert RandomRounding(AGE, 5).parameters == {"base": "5", "variance": "6"}
    with pytest.raises(UsageError, match="two ends"):
        RandomRounding(PAY.__class__("n", AGE.role, AGE.type), 5)
