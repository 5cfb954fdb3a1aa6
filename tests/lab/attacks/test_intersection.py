"""Intersection: two k-anonymous tables tell what neither does alone."""

from __future__ import annotations

import pytest

from shoal.lab.attacks.intersection import intersect
from shoal.lab.attacks.outcome import AttackSetting


@pytest.mark.slow
def test_two_tables_tell_more_than_one_and_two_safe_ones_do_not():
    found = intersect(AttackSetting(1000, 150, seed=1))
    pair = found.outcome("two Mondrian tables")
    assert pair.succeeds
    assert pair.success.low > pair.baseline.high  # the first table alone
    assert not found.outcome("two safe-k tables").succeeds
