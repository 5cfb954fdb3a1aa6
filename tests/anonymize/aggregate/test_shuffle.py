"""Shuffles stay inside groups, keep every value, move the columns of a table together, and favour no arrangement."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.aggregate import shuffle
from shoal.chance.source import Source
from shoal.errors import UsageError
from tests.anonymize.groups import grouped


@pytest.mark.slow
@given(grouped(st.integers(0, 4)), st.integers())
def test_marginals_are_kept_exactly_in_every_group(given_, seed):
    values, labels = given_
    column = np.array(values)
    shown = shuffle(column, labels, Source.seeded(seed))
    for group in range(labels.max() + 1):
        assert Counter(shown[labels == group].tolist()) == Counter(column[labels == group].tolist())


def test_columns_of_a_table_move_together():
    table = np.column_stack([np.arange(50), np.arange(50) * 10])
    shown = shuffle(table, np.arange(50) // 5, Source.seeded(1))
    assert (shown[:, 1] == 10 * shown[:, 0]).all()
    assert shown.tolist() != table.tolist()


def test_each_call_uses_a_stream_of_its_own():
    source, labels = Source.seeded(1), np.zeros(50, dtype=np.int32)
    assert shuffle(np.arange(50), labels, source).tolist() != shuffle(np.arange(50), labels, source).tolist()
    again = Source.seeded(1)
    assert shuffle(np.arange(50), labels, again).tolist() == shuffle(np.arange(50), labels, Source.seeded(1)).tolist()


def test_every_arrangement_is_as_likely(effort):
    source, runs = Source.seeded(7), 1200 * effort
    groups = np.repeat(np.arange(runs), 3)
    shown = shuffle(np.tile(np.arange(3), runs), groups, source).reshape(runs, 3)
    seen = Counter(map(tuple, shown.tolist()))
    assert len(seen) == 6
    chi = sum((count - runs / 6) ** 2 / (runs / 6) for count in seen.values())
    assert chi < 60  # five degrees of freedom: p = 1e-11
    lazy = Counter(map(tuple, np.where(np.arange(runs)[:, None] % 2, shown, np.arange(3)).tolist()))
    assert sum((lazy[order] - runs / 6) ** 2 / (runs / 6) for order in seen) > 60


def test_labels_fit_the_rows():
    with pytest.raises(UsageError, match=r"do not fit together; got shapes \(2,\) and \(3,\)"):
        shuffle(np.zeros(3), np.zeros(2, dtype=np.int32), Source.seeded(1))
