"""Suggestions: from type and domain alone, and always a hierarchy that holds."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.hierarchy.suggest import round_number, suggest
from shoal.data.schema import Type
from tests.data.hierarchy.laws import check


@pytest.mark.parametrize(
    ("kind", "domain", "spec"),
    [
        (Type.INTEGER, Interval(0, 110), {"intervals": [5, 10, 20, 40]}),
        (Type.INTEGER, Interval(0, 9), {"intervals": [2, 4]}),
        (Type.INTEGER, Interval(0, 1), {"intervals": []}),
        (Type.DECIMAL, Interval(0, 1), {"intervals": [0.05, 0.1, 0.2, 0.4]}),
        (Type.DECIMAL, Interval(2, 2), {"intervals": []}),
        (Type.DATE, Interval("2024-01-01", "2026-12-31"), {"date": ["month", "quarter", "year"]}),
        (Type.DATE, Interval("1920-01-01", "2026-12-31"), {"date": ["month", "year", "decade"]}),
        (Type.DATE, Interval("2024-01-01", "2024-12-31"), {"date": ["month", "quarter"]}),
        (Type.DATE, Interval("2024-01-01", "2024-02-15"), {"date": ["week"]}),
        (Type.DATE, Interval("2024-01-01", "2024-01-03"), {"date": []}),
        (Type.DATETIME, Interval("2024-01-01", "2024-01-03"), {"date": ["hour"]}),
        (Type.DATETIME, Interval("2024-01-01", "2024-12-31"), {"date": ["hour", "day", "month", "quarter"]}),
        (Type.TEXT, Pattern("[0-9]{5}"), {"mask": "right"}),
        (Type.TEXT, Pattern("[0-9]+"), None),
        (Type.TEXT, Values(("08001", "94305")), {"mask": "right"}),
        (Type.TEXT, Values(("a", "bc")), {"groups": []}),
        (Type.CATEGORY, Values(("a", "b")), {"groups": []}),
        (Type.CATEGORY, None, None),
        (Type.BOOLEAN, None, {"groups": []}),
        (
            Type.ORDINAL,
            Values(("never", "rarely", "often", "daily", "always")),
            {
                "groups": [
                    {
                        "never to rarely": ["never", "rarely"],
                        "often to daily": ["often", "daily"],
                        "always": ["always"],
                    },
                    {"never to daily": ["never to rarely", "often to daily"], "always": ["always"]},
                ]
            },
        ),
    ],
)
def test_suggestions(kind, domain, spec):
    assert suggest(kind, domain) == spec


@pytest.mark.parametrize(
    ("least", "found"), [(1, 1), (1.1, 2), (3, 5), (6, 10), (0.03, 0.05), (0.01, 0.01), (4440, 5000)]
)
def test_round_numbers(least, found):
    assert round_number(Fraction(str(least))) == Fraction(str(found))


@pytest.mark.slow
@given(st.integers(-(10**6), 10**6), st.integers(0, 10**5), st.booleans())
def test_numbers_get_a_few_levels_that_hold(low, span, whole):
    kind = Type.INTEGER if whole else Type.DECIMAL
    built = hierarchy(suggest(kind, Interval(low, low + span)), kind, Interval(low, low + span))
    assert len(built) <= 7
    assert all(len(level.labels) <= 27 for level in built.levels[1:])
    check(built, np.linspace(low, low + span, 300).astype("int64" if whole else "float64"))


@pytest.mark.slow
@given(
    st.dates(dt.date(1900, 1, 1), dt.date(2050, 1, 1)),
    st.integers(0, 50_000),
    st.sampled_from([Type.DATE, Type.DATETIME]),
)
def test_dates_get_levels_that_hold(start, span, kind):
    domain = Interval(start, start + dt.timedelta(days=span))
    built = hierarchy(suggest(kind, domain), kind, domain)
    days = np.datetime64(start) + np.linspace(0, span, 200).astype("m8[D]")
    check(built, days.astype("M8[D]" if kind is Type.DATE else "M8[us]"))


@pytest.mark.slow
@given(st.lists(st.text("abc ", min_size=1, max_size=4), min_size=1, max_size=20, unique=True))
def test_ordered_values_get_neighbours(values):
    domain = Values(tuple(values))
    built = hierarchy(suggest(Type.ORDINAL, domain), Type.ORDINAL, domain)
    check(built, np.array(values, dtype=object))
