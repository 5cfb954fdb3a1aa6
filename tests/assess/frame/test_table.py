"""Frames of a loaded release: the same as those of the folder's own reader, which shares no code with them."""

from __future__ import annotations

import math

import pandas as pd
import polars as pl
import pytest

from shoal.assess.frame.table import end_values
from shoal.assess.release.load import load
from shoal.errors import UsageError
from shoal.publish.handbook.read_release import open_release
from tests.publish.handbook.survey import released

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["rows", "parquet", "trees", "values", "mixed", "counts-declared"])
def test_both_readers_give_the_same_frames(kind):
    loaded, read = load(released(kind)), open_release(released(kind))
    assert list(loaded.names) == read.names
    for table in loaded.tables:
        for intervals in ("text", "columns", "struct"):
            for sets in ("text", "codes"):
                own = table.to_arrow(intervals=intervals, sets=sets)
                other = read.to_arrow(table.name, intervals=intervals, sets=sets)
                assert own.schema.equals(other.schema), (own.schema, other.schema)
                assert own.to_pylist() == other.to_pylist()
                frame, told = (
                    table.to_pandas(intervals=intervals, sets=sets),
                    read.to_pandas(table.name, intervals=intervals, sets=sets),
                )
                pd.testing.assert_frame_equal(frame, told)


def test_ends_and_codes_reach_polars():
    table = load(released("trees")).tables[0]
    frame = table.to_polars(intervals="struct", sets="codes")
    assert frame.schema["age"] == pl.Struct({"low": pl.Int64, "high": pl.Int64})
    codes = {label.code for label in table.describe("job|held").sets}
    assert set(frame["job|held"].cast(pl.String)) & codes


def test_an_interval_that_a_value_lies_in_holds_it():
    column = load(released("rows")).published().describe("income")
    low, high = end_values(column, next(label for label in column.labels if label.text == ">= 700"))
    assert (low, high) == (700.0, math.nextafter(1000.0, math.inf))
    assert 1000.0 in pd.Interval(low, high, closed="left")


@pytest.mark.parametrize(("option", "value"), [("intervals", "pairs"), ("sets", "numbers")])
def test_an_option_that_is_none_is_refused(option, value):
    with pytest.raises(UsageError, match=f"{option} is none of its options"):
        load(released("rows")).published().to_pandas(**{option: value})
