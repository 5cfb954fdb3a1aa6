"""What workers compute by row numbers is what the mask says of ranges, for any numbers in any order."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="cannot run here: no pyspark")

from shoal.chance.source import Source
from shoal.engine.spark import workers

MASK = Source.seeded(3).row_mask(Fraction(1, 3))
numbers = st.lists(st.integers(0, 200) | st.integers(0, 10**12), max_size=60)


@given(rows=numbers)
def test_a_mask_and_words_at_numbers_are_those_of_ranges(rows):
    at = np.array(rows, dtype=np.int64)
    kept = workers.at_numbers(workers.portable(MASK.keep), at)
    words = workers.at_numbers(workers.portable(MASK.words), at)
    assert kept.tolist() == [bool(MASK.keep(row, 1)[0]) for row in rows]
    assert words.tolist() == [int(MASK.words(row, 1)[0]) for row in rows]


@given(rows=st.lists(st.integers(0, 500), max_size=40))
def test_any_function_of_a_range_is_asked_for_ranges(rows):
    def third(start, count):
        return np.arange(start, start + count) % 3 == 0

    found = workers.at_numbers(third, np.array(rows, dtype=np.int64) * 1000)
    assert found.tolist() == [row * 1000 % 3 == 0 for row in rows]


def test_only_a_portable_mask_can_be_sent():
    with pytest.raises(Exception, match="never copied, pickled or saved"):
        pickle.dumps(MASK)
    sent = workers.portable(MASK.keep)
    again = pickle.loads(pickle.dumps(sent))  # noqa: S301 - our own
    assert again(0, 100).tolist() == MASK.keep(0, 100).tolist()
    assert len(pickle.dumps(sent)) < workers.MOST_SENT


def test_signed_words_keep_the_order_of_unsigned_ones():
    words = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    signed = (words ^ workers.SIGN).view(np.int64)
    assert (np.diff(signed.astype(object)) > 0).all()
