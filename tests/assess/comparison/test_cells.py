"""Cells of other tools' tables: what each spelling stands for, and that nothing is dropped."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.assess.comparison.cells import CellReader
from shoal.assess.release.labels import GRAIN
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Role
from shoal.data.type import Type

AGE = CellReader(Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 99)))
PAY = CellReader(Attribute("pay", Role.QUASI, Type.DECIMAL, Interval(0, 1000)))
SIZE = Values(("S", "M", "L", "XL"))
TOWN = Values(("Bath", "Leeds", "York"))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("20", 20, 21),
        ("[20, 30)", 20, 30),
        ("[20, 30]", 20, 31),
        ("(20, 30]", 21, 31),
        ("[20, 30[", 20, 30),
        ("20-29", 20, 30),
        ("20..29", 20, 30),
        ("20 to 29", 20, 30),
        ("<= 20", None, 21),
        ("< 20", None, 20),
        (">= 20", 20, None),
        ("> 20", 21, None),
        ("[20, inf)", 20, None),
    ],
)
def test_intervals_of_whole_numbers(text, low, high):
    label, fine = AGE.read(text)
    assert fine
    assert label.spans == ((None if low is None else Fraction(low), None if high is None else Fraction(high)),)


def test_a_mean_of_whole_numbers_is_a_number():
    label, fine = AGE.read("20.5")
    assert fine
    assert label.spans == ((Fraction(41, 2), Fraction(41, 2) + GRAIN),)
    assert PAY.read("-3.5")[0].spans[0][0] == Fraction(-7, 2)


@pytest.mark.parametrize("text", ["", None, "NA", "(missing)", "NaN"])
def test_missing_cells(text):
    label, fine = AGE.read(text)
    assert fine
    assert label.missing


@pytest.mark.parametrize("text", ["*", "***"])
def test_stars_stand_for_everything(text):
    label, fine = AGE.read(text)
    assert fine
    assert label.everything


def test_what_cannot_be_read_stands_for_everything_and_says_so():
    label, fine = AGE.read("about forty")
    assert label.everything
    assert not fine


def test_labels_of_a_hierarchy_sets_and_masks():
    groups = hierarchy({"groups": [{"North": ["Leeds", "York"], "South": ["Bath"]}]}, Type.CATEGORY, TOWN)
    town = CellReader(Attribute("town", Role.QUASI, Type.CATEGORY, TOWN, groups))
    assert town.read("North")[0].values == {"Leeds", "York"}
    assert town.read("York")[0].values == {"York"}
    assert town.read("{Bath, York}")[0].values == {"Bath", "York"}
    assert town.read("Bath or Leeds")[0].values == {"Bath", "Leeds"}
    assert town.read("Y***")[0].values == {"York"}
    size = CellReader(Attribute("size", Role.QUASI, Type.ORDINAL, SIZE))
    assert size.read("[M, XL]")[0].values == {"M", "L", "XL"}


def test_a_value_that_looks_like_a_missing_one_is_a_value_where_it_is_declared():
    country = CellReader(Attribute("country", Role.QUASI, Type.CATEGORY, Values(("NA", "ZA"))))
    assert country.read("NA")[0].values == {"NA"}
