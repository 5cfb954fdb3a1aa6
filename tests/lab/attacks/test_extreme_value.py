"""The extreme value: ranges of records end at it, declared ends do not."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.lab.attacks.extreme_value import largest_end, read_extremes
from shoal.lab.attacks.outcome import AttackSetting


def test_the_largest_end_of_labels():
    assert largest_end(np.array(["[900000, 35000000]", "12"], dtype=object)) == 35_000_000
    assert largest_end(np.array(["*", "(missing)"], dtype=object)) is None


@pytest.mark.slow
def test_ranges_give_the_richest_away_and_declared_ends_do_not():
    found = read_extremes(AttackSetting(100, 8, seed=2))
    for name in ("Mondrian", "MDAV"):
        assert found.outcome(name).success.value == 1.0
        assert found.outcome(name).succeeds
    for name in ("declared levels", "safe-k"):
        assert not found.outcome(name).succeeds
        assert found.outcome(name).success.value <= 0.2  # incomes that happen to lie at a declared end
