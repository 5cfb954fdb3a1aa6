"""Tuples are counted right however many bits they need, and however often equal ones are counted together in between."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from shoal.engine.tuple_counts import TupleCounter

SIZES = {
    "one word": [3, 1, 300, 5],
    "one full word": [1, 1 << 31, 1 << 31, 4, 1],
    "little more than one word": [1 << 20, 1 << 20, 1 << 20, 1 << 20],
    "exactly one and a quarter": [1 << 16, 1 << 24, 1 << 24, 1 << 16],
    "two words and more": [1 << 30, 1 << 30, 1 << 10, 1 << 30, 1 << 30],
    "many words": [1 << 25] * 30,
    "nothing to tell apart": [1, 1],
}


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("weighted", [False, True, None])
@pytest.mark.parametrize("held", [1, 40, 1 << 24])
def test_counts_are_those_of_a_counter(sizes, weighted, held):
    rng = np.random.default_rng(len(sizes))
    for spread in (2, 1 << 31):
        tally, expected = TupleCounter(sizes, held), Counter()
        for batch in range(5):
            rows = 0 if batch == 3 else 50
            columns = [size - 1 - rng.integers(0, min(size, spread), rows) for size in sizes]
            counts = rng.integers(1, 9, rows) if weighted or (weighted is None and batch == 2) else None
            tally.add([column.astype(np.uint32) for column in columns], counts)
            for place, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
                expected[row] += 1 if counts is None else int(counts[place])
        found, often = tally.result(first=-1)
        rows = list(zip(*((column + 1).tolist() for column in found), strict=True))
        assert rows == sorted(expected)
        assert often.tolist() == [expected[row] for row in rows]
        assert often.dtype == np.int64


def test_nothing_is_counted():
    for sizes in SIZES.values():
        found, often = TupleCounter(sizes).result()
        assert [len(column) for column in found] == [0] * len(sizes)
        assert len(often) == 0
