"""Record linkage: rows without names are matched, centroids less, safe-k rows not beyond the control."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.lab.attacks.linkage import link, nearest_of
from shoal.lab.attacks.outcome import AttackSetting
from shoal.lab.attacks.population import People


def test_the_nearest_record_is_named_and_ties_are_drawn():
    shown = {"age": [20, 60, 60], "income": [1.0, 9.0, 9.0], "stay": [0, 5, 5]}
    guess = nearest_of(shown, np.array(["A", "B", "C"], dtype=object))
    young, old = (
        People({"age": np.array([age]), "income": np.array([money]), "stay": np.array([nights])})
        for age, money, nights in ((22, 2.0, 1), (60, 9.0, 5))
    )
    source = Source.seeded(1)
    assert {guess(young, source) for _ in range(8)} == {"A"}
    assert {guess(old, source) for _ in range(40)} == {"B", "C"}


@pytest.mark.slow
def test_rows_without_names_are_matched_and_safe_rows_are_not():
    found = link(AttackSetting(1000, 150, seed=1))
    assert found.outcome("rows without names").success.value == 1.0
    assert found.outcome("rows without names").succeeds
    assert found.outcome("rounded values").succeeds
    assert not found.outcome("safe-k").succeeds
    matched = dict(found.facts)["records matched to their own in the first table, MDAV, percent"]
    assert 15 < matched.value < 25  # one of k = 5, and of those in larger clusters fewer
