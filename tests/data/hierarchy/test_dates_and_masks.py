"""Date parts and masks: labels by hand, laws on random domains, refusals."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.hierarchy.intervals import CALENDAR_PARTS
from shoal.data.schema import Type
from shoal.errors import PolicyError
from tests.data.hierarchy.laws import check, loss_by_hand

YEARS = Interval(dt.date(2024, 1, 1), dt.date(2026, 12, 31))
ZIP = Pattern("[0-9]{5}")


def test_months_quarters_years():
    built = hierarchy({"date": ["month", "quarter", "year"]}, Type.DATE, YEARS)
    days = np.array(["2024-02-29", "2025-07-01", "2026-12-31"], dtype="M8[D]")
    assert [level.apply(days).tolist() for level in built.levels[1:]] == [
        ["2024-02", "2025-07", "2026-12"],
        ["2024-Q1", "2025-Q3", "2026-Q4"],
        ["2024", "2025", "2026"],
        ["*", "*", "*"],
    ]
    # By hand: years of 366, 365 and 365 of 1,096 days.
    assert built.losses[3] == pytest.approx((366 * 365 + 2 * 365 * 364) / (1096 * 1095), abs=1e-15)


def test_weeks_are_iso_weeks():
    built = hierarchy({"date": ["week"]}, Type.DATE, Interval("2024-12-25", "2025-02-20"))
    days = np.array(["2024-12-29", "2024-12-30", "2025-01-05", "2025-02-16"], dtype="M8[D]")
    assert built.levels[1].apply(days).tolist() == ["2024-W52", "2025-W01", "2025-W01", "2025-W07"]


def test_times():
    built = hierarchy({"date": ["hour", "day", "decade"]}, Type.DATETIME, Interval("2019-12-31", "2020-01-02"))
    times = np.array(["2019-12-31T23:59:59.999999", "2020-01-01T00:00"], dtype="M8[us]")
    assert [level.apply(times).tolist() for level in built.levels[1:4]] == [
        ["2019-12-31 23h", "2020-01-01 00h"],
        ["2019-12-31", "2020-01-01"],
        ["2010s", "2020s"],
    ]
    assert built.losses[3] == pytest.approx(0.5)


def test_the_calendar_has_an_end_and_a_beginning():
    for ends in (("9999-11-01", "9999-12-31"), ("0001-01-01", "0001-03-01")):
        for part in ("week", "month", "quarter", "year", "decade"):
            hierarchy({"date": [part]}, Type.DATE, Interval(*ends))


@pytest.mark.slow
@given(
    st.dates(dt.date(1890, 1, 1), dt.date(2100, 1, 1)),
    st.integers(0, 3000),
    st.sets(st.sampled_from(list(CALENDAR_PARTS)[3:])),
)
def test_random_domains_of_dates(start, span, parts):
    domain = Interval(start, start + dt.timedelta(days=span))
    built = hierarchy({"date": sorted(parts, key=list(CALENDAR_PARTS).index)}, Type.DATE, domain)
    days = np.arange(np.datetime64(start), np.datetime64(start) + span + 1)
    check(built, days)
    for part, level in zip(sorted(parts, key=list(CALENDAR_PARTS).index), built.levels[1:], strict=False):
        if level.labels != ("*",):
            moments = [dt.datetime.combine(day, dt.time()) for day in days.tolist()]
            assert level.apply(days).tolist() == [
                CALENDAR_PARTS[part].label(CALENDAR_PARTS[part].start(moment)) for moment in moments
            ]


@pytest.mark.slow
@given(st.dates(dt.date(1890, 1, 1), dt.date(2100, 1, 1)), st.integers(0, 400))
def test_random_weeks(start, span):
    days = np.arange(np.datetime64(start), np.datetime64(start) + span + 1)
    built = hierarchy({"date": ["week"]}, Type.DATE, Interval(start, start + dt.timedelta(days=span)))
    check(built, days)
    if len(built) == 3:
        assert built.levels[1].apply(days).tolist() == [
            f"{d.isocalendar()[0]}-W{d.isocalendar()[1]:02}" for d in days.tolist()
        ]


@pytest.mark.parametrize(
    ("parts", "kind", "message"),
    [
        (
            ["week", "month"],
            Type.DATE,
            "a week can lie in two months and in two years; got week, month; let week be the last",
        ),
        (["year", "month"], Type.DATE, "do not go from fine to coarse; got year, month"),
        (["hour"], Type.DATE, "no part of a date; got hour; allowed: week, month, quarter, year, decade"),
        (["fortnight"], Type.DATETIME, "no part of a datetime; got fortnight; allowed: hour, day"),
        (["month"], Type.INTEGER, "another type; got integer; allowed: date, datetime"),
    ],
)
def test_refused_parts(parts, kind, message):
    with pytest.raises(PolicyError, match=message):
        hierarchy({"date": parts}, kind, YEARS)


@pytest.mark.slow
def test_too_many_hours():
    with pytest.raises(PolicyError, match="more than 100,000 labels; got hour"):
        hierarchy({"date": ["hour"]}, Type.DATETIME, Interval("1990-01-01", "2020-01-01"))


# --- masks --------------------------------------------------------------------------------------------------------


def test_masks_hide_one_letter_after_the_other():
    built = hierarchy({"mask": "right"}, Type.TEXT, ZIP)
    codes = np.array(["08034", "94305"], dtype=object)
    assert [level.apply(codes).tolist()[0] for level in built.levels] == [
        "08034",
        "0803*",
        "080**",
        "08***",
        "0****",
        "*",
    ]
    # By hand: 10, 100, 1,000 and 10,000 of 100,000 texts share a label.
    assert built.losses[1:5] == tuple((10**hidden - 1) / 99_999 for hidden in (1, 2, 3, 4))
    left = hierarchy({"mask": "left"}, Type.TEXT, ZIP)
    assert [level.apply(codes).tolist()[0] for level in left.levels] == [
        "08034",
        "*8034",
        "**034",
        "***34",
        "****4",
        "*",
    ]


def test_masks_with_chosen_lengths_and_bare_prefixes():
    built = hierarchy({"mask": {"side": "right", "keep": [3]}}, Type.TEXT, ZIP)
    assert [level.mask("08034") for level in built.levels[1:-1]] == ["080**"]
    prefix = hierarchy({"mask": {"prefix": ["3", 1]}}, Type.TEXT, ZIP)
    assert [level.mask("08034") for level in prefix.levels[1:-1]] == ["080", "0"]
    unknown = hierarchy({"mask": {"side": "right", "length": 4}}, Type.TEXT, Pattern(".*"))
    assert unknown.losses == (0, 0.25, 0.5, 0.75, 1)


def test_masks_count_the_letters_of_each_place():
    built = hierarchy({"mask": {"side": "left", "keep": [3, 2]}}, Type.TEXT, Pattern("[A-Z]{2}[0-9]{2}"))
    assert built.losses[1:3] == ((26 - 1) / (26 * 26 * 100 - 1), (26 * 26 - 1) / (26 * 26 * 100 - 1))


@pytest.mark.slow
@given(st.sets(st.text("ab1", min_size=1, max_size=5), min_size=2, max_size=20), st.sampled_from(["left", "right"]))
def test_masks_of_listed_texts(texts, side):
    values = tuple(sorted(texts))
    built = hierarchy({"mask": side}, Type.CATEGORY, Values(values))
    array = np.array(values, dtype=object)
    check(built, array)
    for level, loss in zip(built.levels[1:], built.losses[1:], strict=True):
        assert loss == pytest.approx(loss_by_hand(level.apply(array).tolist()), abs=1e-12)


@pytest.mark.parametrize(
    ("mask", "domain", "message"),
    [
        (
            "right",
            Pattern("[0-9]+"),
            r"the length of the texts is not known; got texts that match \[0-9\]\+; add `length`",
        ),
        ("middle", ZIP, "unknown form of mask; got middle; allowed: mask: right"),
        ({"side": "up"}, ZIP, "hides letters on one side; got up"),
        (
            {"side": "right", "keep": [2, 3]},
            ZIP,
            "the numbers of letters kept are not in falling order; got 2, 3; allowed: below 5, above 0",
        ),
        ({"side": "right", "keep": [9]}, ZIP, "not in falling order; got 9"),
        ({"side": "right", "keep": ["x"]}, ZIP, "no whole number; got x"),
        ({"side": "right", "length": 4}, ZIP, "texts have another length; got 4; allowed: 5"),
        ({"side": "right", "prefix": [2]}, ZIP, "unknown form of mask; got side, prefix"),
        ({"keep": [2]}, ZIP, "unknown form of mask; got keep"),
    ],
)
def test_refused_masks(mask, domain, message):
    with pytest.raises(PolicyError, match=message):
        hierarchy({"mask": mask}, Type.TEXT, domain)
