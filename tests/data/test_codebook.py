"""A codebook holds each column and each value once, and ranges that begin before they end."""

from __future__ import annotations

import pytest

from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.data.type import Type
from shoal.errors import PolicyError, UsageError

MALE, FEMALE = CodedValue("1", "Male"), CodedValue("2", "Female")
UNKNOWN = CodedValue("-9", "Not stated")


def test_a_column_says_what_its_values_and_missing_codes_stand_for():
    sex = ColumnDescription("sex", values=(MALE, FEMALE), missing=(UNKNOWN,))
    assert [sex.label_of(value) for value in ("1", "-9", "01", "")] == ["Male", "Not stated", None, None]
    assert ColumnDescription("sex").label_of("1") is None


def test_a_value_without_a_label_is_its_own_words():
    assert (UNKNOWN.words, CodedValue("x").words) == ("-9 (Not stated)", "x")


@pytest.mark.parametrize(
    "given",
    [
        {"values": (MALE, FEMALE, CodedValue("1", "Man"))},
        {"values": (MALE,), "missing": (CodedValue("1"),)},
        {"missing": (UNKNOWN, UNKNOWN)},
    ],
)
def test_a_value_stands_once(given):
    with pytest.raises(UsageError, match="column 'sex': a value stands twice"):
        ColumnDescription("sex", **given)


@pytest.mark.parametrize(
    ("kind", "interval"),
    [(Type.INTEGER, ("10", "9")), (Type.DATE, ("2025-01-02", "2025-01-01")), (None, ("2", "1.5"))],
)
def test_a_range_begins_before_it_ends(kind, interval):
    with pytest.raises(UsageError, match="its range ends before it begins"):
        ColumnDescription("x", type=kind, interval=interval)


def test_a_range_is_compared_by_the_column_s_type():
    assert ColumnDescription("x", type=Type.INTEGER, interval=("9", "10")).interval == ("9", "10")
    assert ColumnDescription("x", type=Type.DATE, interval=("2024-12-31", "2025-01-01"))
    assert ColumnDescription("x", type=Type.INTEGER, interval=("7", "7"))


@pytest.mark.parametrize(
    ("kind", "interval"), [(Type.INTEGER, ("0", "1.5")), (None, ("a", "b")), (Type.DATE, ("1", "2"))]
)
def test_a_range_has_values_of_the_type(kind, interval):
    with pytest.raises(PolicyError, match="not a value of type"):
        ColumnDescription("x", type=kind, interval=interval)


def test_a_codebook_finds_columns_by_their_very_name():
    book = Codebook((ColumnDescription("age"), ColumnDescription("Age", "years")), "book.csv")
    assert (book.get("Age").label, book.get("age").label, book.get("AGE")) == ("years", None, None)
    assert [each.name for each in book] == ["age", "Age"]
    assert len(book) == 2
    assert not Codebook((), "nothing")


def test_a_codebook_describes_a_column_once():
    with pytest.raises(UsageError, match=r"describes a column twice; got 'age' in book\.csv"):
        Codebook((ColumnDescription("age"), ColumnDescription("sex"), ColumnDescription("age")), "book.csv")
