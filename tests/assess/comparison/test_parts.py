"""The parts of a domain: every value has one, and a label is spread over what it stands for."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.comparison.parts import OTHER, parts_of, read_column
from shoal.assess.release.labels import Label
from shoal.data.domain import Interval, Pattern, Values
from shoal.data.schema import Attribute, Role
from shoal.data.type import Type, point

HUNDRED = Interval(0, 99)


def integers(values):
    column = read_column(Type.INTEGER, np.array(values))
    return parts_of(Attribute("age", Role.QUASI, Type.INTEGER, HUNDRED), column), column


def names(values, domain=None):
    column = read_column(Type.CATEGORY, np.array(values, dtype=object))
    return parts_of(Attribute("town", Role.QUASI, Type.CATEGORY, domain), column), column


def test_runs_of_a_line_have_about_equally_many_records_and_a_common_value_has_its_own():
    parts, column = integers([*range(100), *[7] * 60])
    counts = np.bincount(parts.parts_of(column), minlength=len(parts))
    assert parts.labels[parts.parts_of(read_column(Type.INTEGER, np.array([7])))[0]] == "7 to < 8"
    assert counts.sum() == 160
    assert counts.max() == 61
    assert sorted(counts)[-2] <= 12


def test_few_different_numbers_are_parts_by_themselves():
    parts, column = integers([1, 1, 5, 9])
    assert parts.labels == ("< 5", "5 to < 9", ">= 9", "(missing)")
    assert parts.parts_of(column).tolist() == [0, 0, 1, 2]


@given(st.integers(0, 99), st.integers(1, 60))
def test_an_interval_of_whole_numbers_is_spread_as_its_numbers_are(low, width):
    high = min(100, low + width)
    parts, _ = integers(list(range(0, 100, 3)) + [50] * 40)
    label = Label("x", ((Fraction(low), Fraction(high)),))
    each = parts.parts_of(read_column(Type.INTEGER, np.arange(low, high)))
    assert parts.shares(label) == pytest.approx(np.bincount(each, minlength=len(parts)) / (high - low))
    mean, square = parts.moments(label)
    assert mean == pytest.approx(np.arange(low, high).mean())
    assert square == pytest.approx((np.arange(low, high) ** 2).mean())


def test_a_suppressed_cell_stands_for_the_whole_domain_and_leaves_all_of_it_open():
    parts, _ = integers(range(100))
    every = Label("*", everything=True)
    assert parts.shares(every).sum() == pytest.approx(1)
    assert parts.shares(every)[-1] == 0
    assert parts.coverage(every) == 1
    assert parts.coverage(Label("5", ((Fraction(5), Fraction(6)),))) == 0
    assert parts.coverage(Label("x", ((Fraction(0), Fraction(100)),))) == 1


def test_a_label_beside_the_domain_drops_no_record():
    town, _ = names(["a", "b"], Values(("a", "b")))
    assert town.shares(Label("nowhere", values=frozenset({"z"}))).sum() == pytest.approx(1)
    age, _ = integers(range(10))
    assert age.shares(Label("far", ((Fraction(1000), Fraction(1001)),))).sum() == pytest.approx(1)


def test_rare_names_are_one_part_and_unknown_ones_are_among_them():
    values = [f"v{i:03d}" for i in range(100)] + ["v000"] * 5
    parts, column = names(values)
    assert len(parts) == 41
    found = parts.parts_of(read_column(Type.TEXT, np.array(["v000", "never seen"], dtype=object)))
    assert [parts.labels[place] for place in found] == ["v000", OTHER]
    assert np.bincount(parts.parts_of(column)).sum() == 105


def test_a_text_with_hidden_letters_is_spread_over_those_of_the_original_that_it_may_be():
    pattern = Pattern("[0-9]{5}")
    column = read_column(Type.TEXT, np.array(["03101", "03101", "03102", "99000"], dtype=object))
    parts = parts_of(Attribute("zip", Role.QUASI, Type.TEXT, pattern), column)
    found = parts.shares(Label("031**", values=frozenset({"031**"})))
    assert dict(zip(parts.labels, found.tolist(), strict=True)) == {
        "03101": 0.5, "03102": 0.5, "99000": 0, OTHER: 0, "(missing)": 0,
    }  # fmt: skip
    several = parts.shares(Label("x", values=frozenset({"0310*", "990**"})))
    assert several[:3] == pytest.approx([1 / 3] * 3)
    assert parts.shares(Label("5****", values=frozenset({"5****"})))[3] == 1


def test_missing_cells_have_the_last_part_whatever_their_type():
    parts, _ = names(["a", "b"])
    gone = np.ma.masked_array(np.array(["a", "x"], dtype=object), [False, True])
    assert parts.parts_of(read_column(Type.TEXT, gone)).tolist() == [0, len(parts) - 1]
    assert parts.shares(Label("(missing)", missing=True))[-1] == 1


def test_days_lie_where_the_policy_has_them():
    column = read_column(Type.DATE, np.array(["2024-01-01"], dtype="datetime64[D]"))
    assert column.points is not None
    assert column.points[0] == float(point(Type.DATE, dt.date(2024, 1, 1)))
