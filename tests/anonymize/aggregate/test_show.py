"""What a group shows of every type of attribute, missing values included."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from shoal.anonymize.aggregate import SHOWS, aggregate, aggregation_rule
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Role, Type
from shoal.policy.policy import Policy

LABELS = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
GRADES = Attribute("grade", Role.QUASI, Type.ORDINAL, Values(("low", "middle", "high")))
TOWN = Policy.of(
    {
        "version": 1,
        "dataset": "d",
        "unit": "row",
        "neighbours": "add_remove",
        "attributes": {
            "town": {
                "role": "quasi",
                "type": "category",
                "domain": ["Ulm", "Bonn", "Nice", "Lyon"],
                "hierarchy": {"groups": {"Germany": ["Ulm", "Bonn"], "France": ["Nice", "Lyon"]}},
            }
        },
    }
).schema["town"]


def plain(name: str, of: Type) -> Attribute:
    return Attribute(name, Role.QUASI, of)


def days(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="datetime64[D]")


def objects(*texts: str) -> np.ndarray:
    return np.array(texts, dtype=object)


@pytest.mark.parametrize(
    ("attribute", "values", "show", "named", "first", "second"),
    [
        (plain("n", Type.INTEGER), np.array([1, 2, 6, 10, 10, 13]), "centroid", "mean", 3.0, 11.0),
        (plain("n", Type.INTEGER), np.array([1, 2, 6, 10, 10, 13]), "median", "median", 2.0, 10.0),
        (plain("n", Type.INTEGER), np.array([1, 2, 6, 10, 10, 10]), "label", "interval", "[1, 6]", "10"),
        (plain("x", Type.DECIMAL), np.array([0.5, 1.5, 1.0, 7.0, 7.0, 7.0]), "centroid", "mean", 1.0, 7.0),
        (plain("d", Type.DATE), days("2024-01-01", "2024-01-02", "2024-01-06", *["2025-01-01"] * 3), "centroid", "mean",
         dt.date(2024, 1, 3), dt.date(2025, 1, 1)),
        (plain("d", Type.DATE), days("2024-01-01", "2024-01-02", "2024-01-06", *["2025-01-01"] * 3), "median", "median",
         dt.date(2024, 1, 2), dt.date(2025, 1, 1)),
        (plain("d", Type.DATE), days("2024-01-01", "2024-01-02", "2024-01-06", *["2025-01-01"] * 3), "label", "interval",
         "[2024-01-01, 2024-01-06]", "2025-01-01"),
        (GRADES, objects("low", "high", "middle", "high", "high", "low"), "centroid", "median", "middle", "high"),
        (GRADES, objects("low", "high", "middle", "high", "high", "middle"), "label", "interval", "[low, high]",
         "[middle, high]"),
        (plain("b", Type.BOOLEAN), np.array([True, True, False, False, False, True]), "centroid", "mode", True, False),
        (plain("b", Type.BOOLEAN), np.array([True, True, False, False, False, False]), "label", "set", "{false, true}",
         "false"),
        (plain("c", Type.CATEGORY), objects("a", "b", "a", "c", "c", "d"), "centroid", "mode", "a", "c"),
        (plain("c", Type.CATEGORY), objects("a", "b", "a", "c", "c", "c"), "label", "set", "{a, b}", "c"),
        (TOWN, objects("Ulm", "Ulm", "Bonn", "Nice", "Nice", "Nice"), "centroid", "concept", "Ulm", "Nice"),
        (TOWN, objects("Ulm", "Ulm", "Bonn", "Nice", "Ulm", "Nice"), "label", "ancestor", "Germany", "*"),
    ],
)  # fmt: skip
def test_each_type_has_its_face(attribute, values, show, named, first, second):
    assert aggregation_rule(attribute, show) == named
    found = aggregate(attribute, values, LABELS, show)
    assert [found[0], found[3]] == [first, second]
    assert (found[:3] == found[0]).all()
    assert (found[3:] == found[3]).all()


def test_missing_values_are_left_out_and_a_group_mostly_without_shows_none():
    attribute = plain("n", Type.INTEGER)
    values = np.ma.masked_array([1, 0, 5, 0, 0, 9], [False, True, False, True, True, False])
    found = aggregate(attribute, values, LABELS, "centroid")
    assert np.ma.getdata(found)[:3].tolist() == [3.0, 3.0, 3.0]
    assert np.ma.getmaskarray(found).tolist() == [False] * 3 + [True] * 3
    gone = np.ma.masked_all(6, dtype=np.int64)
    assert np.ma.getmaskarray(aggregate(attribute, gone, LABELS, "median")).all()


@pytest.mark.parametrize("show", SHOWS)
def test_text_with_missing_values(show):
    values = np.ma.masked_array(objects("a", "", "a", "b", "b", "b"), [False, True, False, False, False, False])
    found = aggregate(plain("c", Type.TEXT), values, LABELS, show)
    assert found.tolist() == ["a"] * 3 + ["b"] * 3
