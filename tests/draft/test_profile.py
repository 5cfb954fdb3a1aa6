"""A profile says what is in a column, exactly as long as that is little, and about right when it is much."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from shoal.draft import profile as profiles
from shoal.draft.opening import open_table
from shoal.draft.profile import profile_table


def profile_of(values, **options):
    found = profile_table(open_table(pa.table({"x": values})).stored, **options)
    return found.columns[0]


def test_few_values_are_counted_exactly():
    found = profile_of(["a", "b", "a", None])
    assert found.counts == {"a": 2, "b": 1}
    assert (found.rows, found.missing, found.distinct, found.most_rows) == (4, 1, 2, 2)


def test_many_values_are_estimated_and_their_rows_are_not(monkeypatch):
    monkeypatch.setattr(profiles, "MOST_DISTINCT", 1000)
    people = 30_000
    found = profile_of([f"P{number}" for number in range(people)] * 3)
    assert found.counts is None
    assert abs(found.distinct - people) < 0.1 * people
    assert (found.most_rows, found.typical_rows) == (3, 3.0)
    numbers = profile_of(np.repeat(np.arange(people) * 17.5, 2))
    assert abs(numbers.distinct - people) < 0.1 * people
    assert numbers.most_rows == 2


@pytest.mark.parametrize(
    ("values", "readings"),
    [
        (["1", "-2", " 3 "], {"integer", "decimal", "decimal comma"}),
        (["1.5", "2"], {"decimal"}),
        (["1,5", "2"], {"decimal comma"}),
        (["yes", "No", "1"], {"boolean"}),
        (["2024-01-31", "1999-12-01"], {"date", "datetime"}),
        (["2024-01-31 10:00", "1999-12-01"], {"datetime"}),
        (["31.12.2024", "1.2.2023"], {"%d.%m.%Y"}),
        (["12/31/2024", "01/02/2023"], {"%m/%d/%Y"}),
        (["01/02/2024", "02/03/2023"], {"%d/%m/%Y", "%m/%d/%Y"}),
        (["31Jan2024", "01feb2023"], {"%d%b%Y"}),
        (["blue", "1"], set()),
    ],
)
def test_texts_read_as_what_all_of_them_are(values, readings):
    assert profile_of(values).readings == readings


def test_words_for_missing_values_do_not_hide_a_type_and_are_listed():
    found = profile_of(["1", "NA", "3", "?", "?"])
    assert "integer" in found.readings
    assert found.gaps == {"NA": 1, "?": 2}
    assert (found.lowest, found.highest) == (1.0, 3.0)


def test_codes_that_are_known_to_be_missing_count_as_missing():
    found = profile_of([1, 2, -9, 99], missing={"x": ["-9", "99"]})
    assert (found.lowest, found.highest, found.missing) == (1.0, 2.0, 2)
    floats = profile_of([1.0, 2.5, -9.0], missing={"x": ["-9"]})
    assert (floats.lowest, floats.missing) == (1.0, 1)


@pytest.mark.parametrize(
    ("values", "years"),
    [
        ([dt.date(1990, 1, 1), dt.date(2020, 5, 5)], (1990, 2020)),
        (["1990-01-01", "2020-05-05"], (1990, 2020)),
        (["01.02.69", "01.02.68"], (1969, 2068)),
        (["03/04/1990", "03/04/2020"], (1990, 2020)),
    ],
)
def test_the_years_of_dates_are_followed(values, years):
    assert profile_of(values).years == years


def test_times_at_midnight_are_days():
    assert profile_of([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]).midnight  # noqa: DTZ001
    assert not profile_of([dt.datetime(2024, 1, 1, 3)]).midnight  # noqa: DTZ001


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        (["01234", "99999"], "[0-9]{5}"),
        (["AB-12", "CD-34"], r"[A-Z]{2}\-[0-9]{2}"),
        (["A1", "11"], "[0-9A-Z][0-9]"),
        (["a", "bb"], None),
        (["ä1", "b2"], None),
    ],
)
def test_codes_of_one_length_have_a_form(values, pattern):
    assert profile_of(values).pattern == pattern


def test_numbers_that_count_the_rows_are_noticed():
    assert profile_of(list(range(5, 105))).counting
    assert not profile_of([1, 2, 4]).counting


def test_a_batch_ends_anywhere_and_nothing_changes():
    rows = [str(number % 97) for number in range(5000)]
    whole = profile_table(open_table(pa.table({"x": rows})).stored).columns[0]
    chunked = pa.chunked_array([pa.array(rows[at : at + 7]) for at in range(0, 5000, 7)])
    pieces = profile_table(open_table(pa.table({"x": chunked})).stored).columns[0]
    assert whole.counts == pieces.counts
    assert (whole.lows, whole.highs, whole.readings) == (pieces.lows, pieces.highs, pieces.readings)


def test_infinite_and_absent_numbers_are_missing():
    found = profile_of(pa.array([1.0, float("nan"), float("inf"), None]))
    assert (found.missing, found.distinct, found.highest) == (3, 1, 1.0)


def test_with_the_schema_alone_nothing_is_known_but_the_storage():
    found = profile_of(["secret"], schema_only=True)
    assert not found.looked_at
    assert found.counts == {}


def test_a_column_of_lists_is_described_and_not_read():
    found = profile_table(open_table(pa.table({"x": [[1], [2]]})).stored).columns[0]
    assert found.storage is profiles.Storage.OTHER


def test_progress_is_told_until_all_rows_were_read():
    told: list[tuple[int, int]] = []
    chunks = pa.chunked_array([pa.array(["a"] * 10), pa.array(["b"] * 15)])
    profile_table(open_table(pa.table({"x": chunks})).stored, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (25, 25)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
