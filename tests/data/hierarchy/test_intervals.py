"""Intervals, cut points, rounding: labels by hand, laws on random ones, refusals."""

from __future__ import annotations

import datetime as dt
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Type
from shoal.errors import PolicyError
from tests.data.hierarchy.laws import check, loss_by_hand

AGES = Interval(0, 110)


def labels(spec, kind=Type.INTEGER, domain=AGES):
    return [level.labels for level in hierarchy(spec, kind, domain).levels[1:-1]]


def test_intervals_of_ages():
    built = hierarchy({"intervals": [5, 10, 20, 40]}, Type.INTEGER, AGES)
    assert len(built) == 6
    assert built.levels[3].labels == ("[0, 20)", "[20, 40)", "[40, 60)", "[60, 80)", "[80, 100)", "[100, 120)")
    assert built.level(2).apply(np.array([0, 9, 10, 39, 110])).tolist() == [
        "[0, 10)",
        "[0, 10)",
        "[10, 20)",
        "[30, 40)",
        "[110, 120)",
    ]
    # By hand: 40 + 40 + 31 values, so (2·40·39 + 31·30)/(111·110).
    assert built.losses[4] == pytest.approx((2 * 40 * 39 + 31 * 30) / (111 * 110), abs=1e-15)
    check(built, np.arange(0, 111))


def test_numbers_may_come_as_text():
    assert labels({"intervals": ["5", Decimal(10)]}) == labels({"intervals": [5, 10.0]})
    assert labels({"intervals": "10"}) == labels({"intervals": [10]})


def test_open_ends_and_single_numbers():
    (fine, coarse) = labels({"intervals": [1, 10], "below": 20, "above": 80})
    assert fine[:3] == ("< 20", "20", "21")
    assert fine[-2:] == ("79", ">= 80")
    assert coarse == ("< 20", "[20, 30)", "[30, 40)", "[40, 50)", "[50, 60)", "[60, 70)", "[70, 80)", ">= 80")
    (only,) = labels({"intervals": [40], "below": 18})
    assert only == ("< 18", "[18, 40)", "[40, 80)", "[80, 120)")


def test_an_origin_moves_the_grid():
    assert labels({"intervals": [20], "origin": 10}, domain=Interval(17, 60)) == [("[10, 30)", "[30, 50)", "[50, 70)")]


def test_cuts_have_open_ends_and_may_have_names():
    assert labels({"cuts": [[18, 65], [18]]}) == [("< 18", "[18, 65)", ">= 65"), ("< 18", ">= 18")]
    assert labels({"cuts": [18, 65]}) == [("< 18", "[18, 65)", ">= 65")]
    assert labels({"cuts": [18, 65], "labels": ["child", "adult", "senior"]}) == [("child", "adult", "senior")]
    assert labels({"cuts": [[40]], "below": 18}) == [("< 18", "[18, 40)", ">= 40")]


def test_cuts_of_dates_and_times():
    days = Interval(dt.date(2024, 1, 1), dt.date(2024, 12, 31))
    (level,) = hierarchy({"cuts": ["2024-07-01"]}, Type.DATE, days).levels[1:-1]
    assert level.labels == ("< 2024-07-01", ">= 2024-07-01")
    assert level.encode(np.array(["2024-06-30", "2024-07-01"], dtype="M8[D]")).tolist() == [0, 1]
    (level,) = hierarchy({"cuts": ["2024-07-01 12:30"]}, Type.DATETIME, Interval("2024-01-01", "2025-01-01")).levels[
        1:-1
    ]
    assert level.labels == ("< 2024-07-01 12:30", ">= 2024-07-01 12:30")
    assert level.encode(np.array(["2024-07-01T12:29:59", "2024-07-01T12:30"], dtype="M8[us]")).tolist() == [0, 1]


def test_intervals_of_days_begin_with_the_domain():
    assert labels({"intervals": [7]}, Type.DATE, Interval("2024-01-01", "2024-01-10")) == [
        ("[2024-01-01, 2024-01-08)", "[2024-01-08, 2024-01-15)")
    ]


def test_decimals_are_exact():
    (level,) = hierarchy({"intervals": ["0.1"]}, Type.DECIMAL, Interval(0, 1)).levels[1:-1]
    assert level.labels[3] == "[0.3, 0.4)"
    assert level.labels[level.encode(np.array([0.3]))[0]] == "[0.3, 0.4)"
    assert len(level.labels) == 11


def test_listed_numbers_are_counted_as_listed():
    built = hierarchy({"intervals": [10]}, Type.INTEGER, Values(("0", "1", "2", "99")))
    assert built.losses[1] == loss_by_hand(["a", "a", "a", "b"])
    check(built, np.array([0, 1, 2, 99]))


def test_a_level_with_one_interval_is_the_whole():
    built = hierarchy({"intervals": [50, 200, 400]}, Type.INTEGER, AGES)
    assert [len(level.labels or ()) for level in built.levels] == [0, 3, 1]
    assert built.levels[-1].labels == ("*",)
    assert len(hierarchy({"intervals": []}, Type.INTEGER, AGES)) == 2


def test_rounding_is_half_away_from_zero_and_rounds_the_label_again():
    built = hierarchy({"rounding": [10, 100]}, Type.INTEGER, Interval(-120, 260))
    shown = [
        level.apply(np.array([-15, -14, -5, -4, 0, 4, 5, 14, 15, 45, 54, 149])).tolist() for level in built.levels[1:3]
    ]
    assert shown[0] == ["-20", "-10", "-10", "0", "0", "0", "10", "10", "20", "50", "50", "150"]
    # 45 is 50 and 50 is 100: the second level rounds what the first one shows.
    assert shown[1] == ["0", "0", "0", "0", "0", "0", "0", "0", "0", "100", "100", "200"]
    check(built, np.arange(-120, 261))


def test_rounding_with_open_ends():
    assert labels({"rounding": [10], "below": 20, "above": 80}) == [
        ("< 20", "20", "30", "40", "50", "60", "70", "80", ">= 80")
    ]


@pytest.mark.slow
@given(st.integers(-200, 200), st.integers(0, 300), st.sampled_from([1, 2, 3, 5, 10, 7]), st.integers(1, 4))
def test_random_rounding(low, span, step, factor):
    values = np.arange(low, low + span + 1)
    built = hierarchy({"rounding": [step, step * factor * 2]}, Type.INTEGER, Interval(low, low + span))
    check(built, values)
    if built.levels[1].labels != ("*",):
        found = [int(label) for label in built.levels[1].apply(values)]
        exact = [int((Decimal(int(v)) / step).quantize(Decimal(1), ROUND_HALF_UP)) * step for v in values]
        assert found == exact


@pytest.mark.slow
@given(
    st.integers(-500, 500),
    st.integers(0, 400),
    st.integers(1, 30),
    st.lists(st.integers(2, 4), max_size=3),
    st.data(),
)
def test_random_intervals_are_total_nested_and_cost_what_they_hide(low, span, width, factors, data):
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    spec = {"intervals": widths, "origin": data.draw(st.integers(-50, 50))}
    if span > 2 and data.draw(st.booleans()):
        spec["below"] = data.draw(st.integers(low + 1, low + span - 1))
    if span > 2 and data.draw(st.booleans()):
        spec["above"] = data.draw(st.integers(spec.get("below", low) + 1, low + span))
    values = np.arange(low, low + span + 1)
    built = hierarchy(spec, Type.INTEGER, Interval(low, low + span))
    check(built, values)
    if span:
        for level, loss in zip(built.levels[1:], built.losses[1:], strict=True):
            assert loss == pytest.approx(loss_by_hand(level.apply(values).tolist()), abs=1e-12)


@pytest.mark.slow
@given(st.sets(st.integers(1, 100), min_size=1, max_size=12), st.data())
def test_random_cuts(cuts, data):
    fine = sorted(cuts)
    coarse = sorted(data.draw(st.sets(st.sampled_from(fine))))
    built = hierarchy({"cuts": [fine, coarse]}, Type.DECIMAL, Interval(0, 100))
    check(built, np.linspace(0, 100, 997))


@pytest.mark.parametrize(
    ("spec", "kind", "domain", "message"),
    [
        ({"intervals": [4, 10]}, Type.INTEGER, AGES, r"levels do not nest: a width is no multiple.*got 4, 10.*\[5, 10, 20, 40\]"),
        ({"intervals": [10, 5]}, Type.INTEGER, AGES, "do not nest"),
        ({"intervals": [0]}, Type.INTEGER, AGES, "not above zero; got 0"),
        ({"intervals": [2.5]}, Type.INTEGER, AGES, "type integer needs whole widths; got 2.5"),
        ({"intervals": ["x"]}, Type.INTEGER, AGES, "a width is no number; got x"),
        ({"intervals": [True]}, Type.INTEGER, AGES, "a width is no number; got true"),
        ({"intervals": {"a": 1}}, Type.INTEGER, AGES, "a list is needed"),
        ({"intervals": [1]}, Type.INTEGER, Interval(0, 10**7), "10,000,001 labels.*begin with a wider level"),
        ({"intervals": [5]}, Type.TEXT, Pattern("a"), "the attribute has another type; got text; allowed: integer"),
        ({"intervals": [5]}, Type.INTEGER, Pattern("a"), "need a domain with two ends"),
        ({"intervals": [5], "below": 0}, Type.INTEGER, AGES, "`below` lies outside the domain; got 0; allowed: above 0"),
        ({"intervals": [5], "below": 50, "above": 40}, Type.INTEGER, AGES, "`below` does not lie below `above`; got 50, 40"),
        ({"intervals": [5], "top": 3}, Type.INTEGER, AGES, "unknown options; got top; allowed: above, below, origin"),
        ({"cuts": [18, 18]}, Type.INTEGER, AGES, "not in rising order; got 18, 18"),
        ({"cuts": [18, 200]}, Type.INTEGER, AGES, "outside the domain leave an interval empty; got 200"),
        ({"cuts": [[18], [18, 65]]}, Type.INTEGER, AGES, "coarser level has cut points that the finer one lacks; got 65"),
        ({"cuts": [18.5]}, Type.INTEGER, AGES, "not a value of type integer; got 18.5"),
        ({"cuts": ["soon"]}, Type.DATE, Interval("2024-01-01", "2024-02-01"), "not a value of type date; got soon"),
        ({"cuts": [18], "labels": ["a"]}, Type.INTEGER, AGES, "1 labels for 2 intervals; got a"),
        ({"cuts": [18], "labels": [["a", "b"], ["c"]]}, Type.INTEGER, AGES, "another number of levels; got 2; allowed: 1"),
        ({"rounding": [10]}, Type.DATE, Interval("2024-01-01", "2024-02-01"), "another type; got date"),
        ({}, Type.INTEGER, AGES, "exactly one kind; got nothing; allowed: intervals, cuts"),
        ({"cuts": [1], "rounding": [1]}, Type.INTEGER, AGES, "exactly one kind; got cuts, rounding"),
        ({"widths": [1]}, Type.INTEGER, AGES, "exactly one kind; got widths"),
        ("auto", Type.INTEGER, AGES, "a hierarchy is no mapping; got auto"),
    ],
)  # fmt: skip
def test_refusals(spec, kind, domain, message):
    with pytest.raises(PolicyError, match=message):
        hierarchy(spec, kind, domain)


@pytest.mark.parametrize(
    ("below", "above"),
    [(None, 120_000), (30_000, 120_000), (25_001, 119_999), (30_000, None), (None, None), (10, 99_990)],
)
def test_edges_between_open_ends_are_those_of_all_edges_that_lie_there(below, above):
    """Edges beyond the open ends are not made at all: a domain up to ten millions has a thousand of them."""
    ends = {name: end for name, end in (("below", below), ("above", above)) if end is not None}
    built = hierarchy({"intervals": [10_000, 20_000], **ends}, Type.INTEGER, Interval(0, 199_999))
    for level, width in ((1, 10_000), (2, 20_000)):
        inner = [at for at in range(width, 200_000, width) if (below or 0) < at < (above or 200_000)]
        expected = [*([below] if below is not None else []), *inner, *([above] if above is not None else [])]
        assert [int(edge) for edge in built.level(level).edges] == expected
