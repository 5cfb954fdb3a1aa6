"""Runs of rows in an order add up to the same on every engine, however rows are cut into files and whatever they share."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.runs import OrderedCodes, run_shares
from shoal.errors import DataError, UsageError
from tests.engine.oracle import OracleEngine
from tests.spark import SPARK, require_spark

SCHEMA = Schema(
    (
        Attribute("pay", Role.OTHER, Type.INTEGER, Interval(-1000, 1000)),
        Attribute("town", Role.OTHER, Type.CATEGORY, Values(("a", "b", "c"))),
    )
)
COUNTED = [None, 3]


def by_pay(values):
    """Pay, then town, with keys that differ in their last bit and zeros of both signs."""
    pay, town = values
    codes = np.searchsorted(["a", "b", "c"], town.astype(str)).astype(np.int64)
    key = np.where(pay == 1, np.nextafter(0.1, 1), np.where(pay == 2, 0.1, pay * 0.5))
    return OrderedCodes([np.where((pay == 0) & (codes == 1), -0.0, key), codes.astype(np.float64)], [pay, codes])


def table_of(pay, seed=1):
    towns = np.random.default_rng(seed).choice(["a", "b", "c"], len(pay))
    return pa.table({"pay": pa.array(pay, pa.int64()), "town": pa.array(towns)})


def said(found):
    return [[None if each is None else each.tolist() for each in part] for part in (found.sums, found.counts)]


@pytest.fixture(params=[DuckDB(), pytest.param(SPARK, marks=pytest.mark.slow, id="spark")], ids=lambda one: one.name)
def engine(request):
    if request.param is SPARK:
        require_spark()
    return request.param


TABLES = {
    "ties that fill many runs": [*range(-40, 40), *[7] * 90, *[0] * 25, *[1, 2] * 5],
    "one value": [3] * 50,
    "all different": list(range(-60, 60)),
}


@pytest.mark.parametrize("pay", TABLES.values(), ids=TABLES)
def test_runs_add_up_as_they_do_one_row_after_the_other(engine, pay, tmp_path):
    mixed = table_of(np.random.default_rng(2).permutation(pay))
    cuts = [0, 1, len(pay) // 3, len(pay)]
    for number, (start, end) in enumerate(pairwise(cuts)):
        parquet.write_table(mixed.slice(start, end - start), tmp_path / f"part-{number}.parquet")
    ours, slow = engine.scan(tmp_path, SCHEMA), OracleEngine().scan(mixed, SCHEMA)
    for size in (7, len(pay) + 1):
        wanted = said(slow.total_runs(["pay", "town"], by_pay, size, COUNTED))
        assert said(ours.total_runs(["pay", "town"], by_pay, size, COUNTED)) == wanted
    assert sum(wanted[0][0]) == sum(pay)
    counted = ours.suppress_below(ours.columns, 1)  # rows with counts
    assert said(counted.total_runs(["pay", "town"], by_pay, 7, COUNTED)) == said(
        slow.total_runs(["pay", "town"], by_pay, 7, COUNTED)
    )


def test_no_rows_have_no_runs_and_errors_of_an_order_arrive_in_their_words(engine):
    table = engine.scan(table_of([1, 2, 3]), SCHEMA)
    none = table.keep(lambda _, count: np.zeros(count, dtype=bool))
    assert said(none.total_runs(["pay", "town"], by_pay, 2, COUNTED)) == [[[], None], [None, []]]
    with pytest.raises(UsageError, match="a run has at least one row"):
        table.total_runs(["pay", "town"], by_pay, 0, COUNTED)

    def refuse(values):
        if len(values[0]):
            raise DataError("attribute 'pay': values outside its domain")
        return by_pay(values)

    with pytest.raises(DataError, match="values outside its domain"):
        table.total_runs(["pay", "town"], refuse, 2, COUNTED)


def test_shares_of_counted_rows_are_those_of_rows_one_by_one():
    rng = np.random.default_rng(5)
    for size in (1, 3, 10, 100):
        counts = rng.integers(1, 25, 12)
        rows = int(counts.sum())
        runs = max(rows // size, 1)
        expected = np.zeros((runs, len(counts)), dtype=np.int64)
        for row, place in enumerate(np.repeat(np.arange(len(counts)), counts)):
            expected[min(row // size, runs - 1), place] += 1
        found = np.zeros_like(expected)
        shares = run_shares(np.cumsum(counts) - counts, counts, size, rows)
        for place, run, times, often in zip(shares.place, shares.run, shares.times, shares.rows, strict=True):
            found[run : run + times, place] += often
        assert (found == expected).all()
