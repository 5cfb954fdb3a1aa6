"""Linkability: copies link, tables of other people and one large class do not; record linkage beside guessing."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.assess.distortion.linkage import linkage
from shoal.assess.risk.attack import ReleasedAttribute
from shoal.assess.risk.linkability import linkability, record_linkage
from shoal.chance.source import Source
from shoal.errors import ParameterError
from tests.assess.risk.released_tables import copied, generalized, people

HALVES = {"left": ["age", "ill"], "right": ["town", "job"]}


def test_a_copy_links_those_who_took_part_and_a_table_of_others_does_not():
    took_part, others = people(1, 60), people(2, 60)
    copy = linkability(copied(took_part), took_part, control=others, source=Source.seeded(1), **HALVES)
    assert copy.success.value > 0.5
    assert copy.risk.low > 0.3
    impostor = linkability(copied(people(3, 60)), took_part, control=others, source=Source.seeded(1), **HALVES)
    assert impostor.risk.low < 0 < impostor.risk.high
    assert impostor.baseline.value == pytest.approx(1 / 60)
    assert impostor.baseline.kind == "exact"


def test_ties_are_drawn_evenly():
    """Of four records that are all nearest, two draws agree in one of four cases."""
    one = ReleasedAttribute([0] * 4, np.eye(1))
    targets = {"a": np.zeros(4000, dtype=int), "b": np.zeros(4000, dtype=int)}
    found = linkability({"a": one, "b": one}, targets, left=["a"], right=["b"], source=Source.seeded(2))
    assert found.success.low < 0.25 < found.success.high
    assert not found.success.low < 0.3 < found.success.high


def test_intervals_lower_the_risk():
    took_part = people(1, 60)
    risks = [
        linkability(generalized(took_part, width), took_part, source=Source.seeded(1), **HALVES).risk.value
        for width in (1, 30)
    ]
    assert risks[0] > risks[1] + 0.3


def test_halves_that_share_an_attribute_are_refused():
    records = people(1, 5)
    with pytest.raises(ParameterError, match="both halves"):
        linkability(copied(records), records, left=["age"], right=["age"], source=Source.seeded(1))


def test_record_linkage_is_that_of_the_masked_table_beside_guessing():
    original, masked = {"x": [1.0, 2.0, 9.0, 12.0]}, {"x": [1.5, 1.5, 9.1, 11.0]}
    found = record_linkage(original, masked)
    assert found.success.value == pytest.approx(linkage(original, masked).rate / 100)
    assert found.baseline.value == 0.25
    assert found.risk.value == pytest.approx((found.success.value - 0.25) / 0.75)
    assert (found.risk.kind, found.control) == ("exact", None)
