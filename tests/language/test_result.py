"""A result says what it is, rounds outwards, escapes what it shows, and comes as any frame and as a picture."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.language.result import MOST_SHOWN, NO_BOUND, Result, ResultRow, frame_kind, interval_texts

ROWS = (
    ResultRow(("female",), 41234.567, 40112.2, 42301.9),
    ResultRow(("male",), 45234.5, 44112.2, 46301.9),
    ResultRow(("other",), None, None, None, "too few records"),
)
GROUPED = Result(
    "mean of income, by sex", ("sex",), ROWS, 0.95, "a noisy sum", "charge 7", (), Fraction(1, 10), free=False
)
SINGLE = Result("share of women", (), (ResultRow((), 0.12345, 0.1101, 0.1399),), 0.9, "counts", "'table'")


def test_a_single_value_and_groups():
    assert (SINGLE.value, SINGLE.low, SINGLE.high, SINGLE.note, float(SINGLE)) == (
        0.12345,
        0.1101,
        0.1399,
        None,
        0.12345,
    )
    assert [row.labels for row in GROUPED] == [("female",), ("male",), ("other",)]
    assert GROUPED["male"].value == GROUPED[("male",)].value == 45234.5
    assert len(GROUPED) == 3


def test_what_a_result_does_not_have_is_refused():
    with pytest.raises(UsageError, match="no single value; got 3 groups of sex"):
        _ = GROUPED.value
    with pytest.raises(UsageError, match="no group of these labels; got child; allowed: female; male; other"):
        _ = GROUPED["child"]
    empty = replace(SINGLE, rows=(ResultRow((), None, None, None, "too few records"),))
    with pytest.raises(UsageError, match="no number; got too few records"):
        float(empty)
    assert "too few records" in repr(empty)


def test_its_words_name_level_source_method_and_price():
    assert repr(SINGLE) == "<Result share of women: 0.123, 0.9 interval 0.110 to 0.140, from 'table'>"
    assert "3 groups of sex, 0.95 intervals, from charge 7, for (0.1, 0)" in repr(GROUPED)
    assert "for (0.1, 0) paid before" in repr(replace(GROUPED, free=True))
    said = GROUPED.words().splitlines()
    assert said[0] == "female: 41,235 (0.95 interval 40,112 to 42,302)"
    assert said[2] == "other: too few records"
    assert said[3] == "mean of income, by sex; from charge 7: a noisy sum, for (0.1, 0)"


@given(st.floats(-1e9, 1e9), st.floats(0, 1e6), st.floats(0, 1e6))
def test_ends_are_rounded_outwards(value, below, above):
    row = ResultRow((), value, value - below, value + above)
    _, low, high = (float(text.replace(",", "")) for text in interval_texts(row))
    assert low <= row.low
    assert high >= row.high


def test_ends_without_a_bound_and_whole_numbers():
    assert interval_texts(ResultRow((), 12, 3.0, math.inf)) == ("12", "3", NO_BOUND)
    assert interval_texts(ResultRow((), "2024-05-01", "2024-04-01", "2024-06-01"))[1] == "2024-04-01"
    assert replace(SINGLE, rows=(ResultRow((), 12, 3.0, math.inf),)).to_json()["rows"][0]["high"] is None


def test_a_level_is_never_rounded_up():
    found = Result("count", (), (ResultRow((), 1, 0, 2),), 0.9999999, "m", "s")
    assert "0.9999999 interval" in repr(found)
    assert "0.9999999 interval" in found.words()
    assert "0.9999999 intervals" in found._repr_html_()


def test_html_escapes_every_text_and_shortens_many_groups():
    hostile = "<script>alert('x')</script>"
    rows = tuple(ResultRow((f"{hostile}{i}",), i, i - 1, i + 1, hostile) for i in range(MOST_SHOWN + 5))
    page = Result(hostile, (hostile,), rows, 0.95, hostile, hostile, (hostile,))._repr_html_()
    assert "<script" not in page
    assert page.count("<tr>") == MOST_SHOWN + 1
    assert "and 5 more groups" in page


def test_frames_of_every_kind():
    table = GROUPED.to_arrow()
    assert table.column_names == ["sex", "value", "low", "high", "note"]
    assert table["value"].to_pylist() == [41234.567, 45234.5, None]
    assert table.schema.metadata[b"level"] == b"0.95"
    named = replace(GROUPED, by=("value",))
    assert named.to_arrow().column_names == ["value", "value (result)", "low", "high", "note"]
    assert replace(GROUPED, frames="arrow").frame.equals(table)
    assert frame_kind(table) == "arrow"
    assert frame_kind("table.csv") is None
    assert SINGLE.to_arrow().num_rows == 1


def test_frames_of_the_kind_that_was_handed_over():
    pd = pytest.importorskip("pandas", reason="cannot run here: pandas is not installed")
    assert frame_kind(pd.DataFrame()) == "pandas"
    assert list(GROUPED.with_frames("pandas").frame["sex"]) == ["female", "male", "other"]
    pl = pytest.importorskip("polars", reason="cannot run here: polars is not installed")
    assert frame_kind(pl.DataFrame()) == "polars"
    assert GROUPED.with_frames("polars").frame.shape == (3, 5)
    assert isinstance(GROUPED.frame, pd.DataFrame)
    assert pa.table(GROUPED.to_arrow()).num_rows == 3


@pytest.mark.slow
def test_a_picture_has_a_line_for_each_group():
    axes = GROUPED.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["female", "male", "other"]
    assert [text.get_text() for text in axes.texts] == ["no value"]
    dates = replace(SINGLE, rows=(ResultRow((), "2024-05-01", "2024-04-01", "2024-06-01"),)).plot()
    assert dates.xaxis.get_major_formatter()(19844, 0) == "2024-05-01"
    with pytest.raises(UsageError, match="neither numbers nor dates"):
        replace(SINGLE, rows=(ResultRow((), "high", "low", "high"),)).plot()
