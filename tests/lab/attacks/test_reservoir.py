"""Reservoir sampling: uniform at every time, and changed by an arrival in one record."""

from __future__ import annotations

from collections import Counter

import pytest

from shoal.chance.source import Source
from shoal.lab.attacks.outcome import AttackSetting
from shoal.lab.attacks.reservoir import arrive, fill_reservoir, new_record, watch


def test_every_pair_of_arrivals_is_as_likely():
    source = Source.seeded(2)
    drawn = Counter(tuple(sorted(fill_reservoir(range(4), 2, source))) for _ in range(1200))
    assert len(drawn) == 6
    assert min(drawn.values()) > 140  # 200 expected, standard deviation 13
    assert max(drawn.values()) < 260


def test_an_arrival_takes_one_place_or_none():
    source = Source.seeded(3)
    after = [arrive([10, 11], 12, 5, source) for _ in range(300)]
    assert all(held == [10, 11] or (12 in held and len(held) == 2) for held in after)
    assert sum(12 in held for held in after) in range(65, 136)  # 2 of 6: 100 expected


def test_the_new_record():
    old, same, other = (30, "A"), (40, "A"), (50, "B")
    assert new_record([old, other], [same, other]) == same  # of the same chapter as the one that it replaced
    assert new_record([old, old], [old, old]) is None
    assert new_record([old, old], [same, other]) is None


@pytest.mark.slow
def test_the_arrival_is_read_off_the_reservoir_and_not_off_safe_releases():
    found = watch(AttackSetting(200, 25, seed=1))
    seen = found.outcome("reservoir")
    assert seen.succeeds
    assert seen.success.low <= 100 / 201 <= seen.success.high
    assert not found.outcome("two safe-k").succeeds
