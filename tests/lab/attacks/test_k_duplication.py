"""k-duplication: k-anonymous in all columns, and every row is somebody's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.lab.attacks.k_duplication import duplicate_rows, duplicated, point_at_records
from shoal.lab.attacks.outcome import AttackSetting
from shoal.lab.attacks.population import people


def test_one_of_each_cluster_is_taken_k_times_and_each_as_often():
    labels, source = np.array([0, 0, 1, 1, 1]), Source.seeded(4)
    drawn = [tuple(duplicate_rows(labels, 3, source).tolist()) for _ in range(300)]
    assert all(len(rows) == 6 and len({*rows[:3]}) == len({*rows[3:]}) == 1 for rows in drawn)
    counts = Counter(rows[3] for rows in drawn)
    assert set(counts) == {2, 3, 4}
    assert min(counts.values()) > 60  # 100 expected, standard deviation 8


def test_what_is_published_are_records_as_they_are():
    own = people(60, 5)
    shown = duplicated(own, 5, Source.seeded(1))
    records = set(zip(own["age"], own["income"], own["stay"], own["chapter"], strict=True))
    rows = Counter(zip(shown["age"], shown["income"], shown["stay"], shown["chapter"], strict=True))
    assert set(rows) <= records
    assert set(rows.values()) == {5}


@pytest.mark.slow
def test_the_record_is_its_persons():
    found = point_at_records(AttackSetting(1000, 100, seed=1))
    assert found.outcome("k-duplication").success.value == 1.0
    assert found.outcome("k-duplication").succeeds
    assert not found.outcome("safe-k").succeeds
    assert found.facts[0][1].value == 5.0
