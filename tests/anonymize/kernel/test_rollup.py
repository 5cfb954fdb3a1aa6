"""The roll-up gives each scheme the classes it has, whatever the order of rows, the threads and the width of the keys."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.kernel.rollup import GeneralizedColumn, score_all
from shoal.errors import UsageError
from tests.anonymize.kernel.twin import one_by_one


def fingerprint(sizes, runs):
    """Depends on the multiset of sizes, and on how they are parted into runs."""
    whole = int((sizes * sizes * 7919 + sizes * 31 + 1).sum())
    return whole if runs is None else whole + int((np.maximum.reduceat(sizes, runs) ** 3).sum() if len(sizes) else 0)


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 30))
    columns = []
    for _ in range(draw(st.integers(1, 4))):
        values = draw(st.integers(1, 6))
        level = np.array(draw(st.permutations(range(values + 1))), dtype=np.int64)
        levels = [level]
        for _ in range(draw(st.integers(0, 2))):
            coarser = np.array(draw(st.lists(st.integers(0, 2), min_size=7, max_size=7)))
            level = coarser[level]
            levels.append(level)
        codes = draw(st.lists(st.integers(-1, values - 1), min_size=rows, max_size=rows))
        columns.append(GeneralizedColumn(np.array(codes, dtype=np.int32), tuple(levels)))
    counts = np.array(draw(st.lists(st.integers(1, 9), min_size=rows, max_size=rows)), dtype=np.int64)
    return columns, counts


@pytest.mark.slow
@given(tables(), st.data())
def test_the_roll_up_equals_its_twin(table, data):
    columns, counts = table
    assert score_all(columns, counts, fingerprint).tolist() == one_by_one(columns, counts, fingerprint).tolist()
    within = data.draw(st.sampled_from(range(len(columns))))
    single = [*columns]
    single[within] = GeneralizedColumn(columns[within].codes, columns[within].levels[:1])
    ours = score_all(single, counts, fingerprint, within=within)
    assert ours.tolist() == one_by_one(single, counts, fingerprint, within=within).tolist()


@pytest.mark.slow
@given(tables(), st.integers(0, 30), st.booleans(), st.data())
def test_dropping_what_is_worth_nothing_changes_no_score(table, void, told_apart, data):
    columns, counts = table

    def worth(sizes, runs):
        each = np.where(sizes > void, sizes * sizes - void, 0)
        return int(each.sum()) if runs is None else int(np.maximum.reduceat(each, runs).sum() if len(sizes) else 0)

    within = data.draw(st.sampled_from(range(len(columns)))) if told_apart else None
    if within is not None:
        columns[within] = GeneralizedColumn(columns[within].codes, columns[within].levels[:1])
    ours = score_all(columns, counts, worth, within=within, void=void)
    assert ours.tolist() == one_by_one(columns, counts, worth, within=within).tolist()


def test_classes_that_are_worth_nothing_are_not_walked_through():
    # 3^6 schemes of which nearly all have only small classes: by the number of calls, not by the clock
    rng, calls = np.random.default_rng(11), []
    columns, counts = random_columns(rng, 500, (3,) * 6), np.ones(500, dtype=np.int64)

    def worth(sizes, runs):
        calls.append(len(sizes))
        return int(np.where(sizes > 60, sizes, 0).sum())

    dropping = score_all(columns, counts, worth, void=60)
    few, tuples = len(calls), sum(calls)
    calls.clear()
    assert np.array_equal(score_all(columns, counts, worth), dropping)
    assert few < len(calls) / 4
    assert tuples < sum(calls) / 20


def random_columns(rng, rows, shape, values=40):
    columns = []
    for size in shape:
        level = rng.permutation(values)
        levels = [level]
        for _ in range(size - 1):
            level = level // 3
            levels.append(level)
        columns.append(GeneralizedColumn(rng.integers(0, values, rows).astype(np.int32), tuple(levels)))
    return columns


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_and_the_order_of_rows_change_nothing(threads):
    rng = np.random.default_rng(3)
    columns, counts = random_columns(rng, 2000, (3, 2, 4, 1, 3)), rng.integers(1, 5, 2000)
    expected = score_all(columns, counts, fingerprint, threads=1)
    order = rng.permutation(2000)
    mixed = [GeneralizedColumn(column.codes[order], column.levels) for column in columns]
    assert np.array_equal(score_all(mixed, counts[order], fingerprint, threads=threads), expected)


@pytest.mark.slow
def test_wide_keys_do_not_overflow():
    # 70 attributes of 100,000 values: 1,190 bits if they were packed; more than NumPy has axes
    rng = np.random.default_rng(5)
    rows, columns = 300, []
    for at in range(70):
        finest = np.arange(100_000)
        levels = (finest, finest // 50_000) if at % 23 == 0 else (finest // 50_000,)
        columns.append(GeneralizedColumn(rng.integers(0, 100_000, rows), levels))
    counts = np.ones(rows, dtype=np.int64)
    assert np.array_equal(score_all(columns, counts, fingerprint), one_by_one(columns, counts, fingerprint))


def test_progress_counts_every_scheme_once():
    rng = np.random.default_rng(7)
    columns, seen = random_columns(rng, 50, (3, 2, 2)), []
    for threads in (1, 2):
        seen.clear()
        score_all(columns, np.ones(50), fingerprint, threads=threads, progress=lambda *told: seen.append(told))
        assert seen == [(done, prod((3, 2, 2))) for done in range(1, 13)]


def test_an_empty_table_has_no_classes():
    columns = [
        GeneralizedColumn(np.array([], dtype=np.int32), (np.arange(3), np.zeros(3, dtype=np.int64))) for _ in range(2)
    ]
    assert score_all(columns, np.array([], dtype=np.int64), lambda sizes, _: len(sizes)).tolist() == [0] * 4


def test_levels_that_do_not_nest_are_refused():
    column = GeneralizedColumn(np.array([0, 1, 2]), (np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])))
    with pytest.raises(UsageError, match="do not nest"):
        score_all([column], np.ones(3), fingerprint)


def test_what_fails_in_a_thread_is_raised():
    def broken(sizes, runs):
        raise ZeroDivisionError

    columns = random_columns(np.random.default_rng(1), 20, (2, 2))
    with pytest.raises(ZeroDivisionError):
        score_all(columns, np.ones(20), broken, threads=2)
