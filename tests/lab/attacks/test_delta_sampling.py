"""Delta-sampling: each person is out with probability delta, and somebody is out nearly always."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.chance.source import Source
from shoal.lab.attacks.delta_sampling import publish_by_delta, sample_by_delta
from shoal.lab.attacks.outcome import AttackSetting


def test_each_record_is_published_with_probability_delta():
    source, rows, delta = Source.seeded(9), 2000, Fraction(1, 100)
    sizes = [len(publish_by_delta(rows, delta, source)) for _ in range(200)]
    mean = sum(sizes) / len(sizes)
    assert mean == pytest.approx(20, abs=1.6)  # five standard errors of 0.31


@pytest.mark.slow
def test_somebody_is_published_and_the_named_person_hardly_ever():
    found = sample_by_delta(AttackSetting(500, 60, seed=1))
    raw, safe = found.outcome("delta-sampling"), found.outcome("safe-k")
    exact = dict(found.facts)["probability that somebody is published"].value
    assert exact == pytest.approx(1 - 0.99**500)
    assert raw.success.low <= exact <= raw.success.high
    assert raw.control.low <= 0.01 <= raw.control.high  # delta = 5/500
    assert raw.succeeds
    assert safe.success.value == 0.0
