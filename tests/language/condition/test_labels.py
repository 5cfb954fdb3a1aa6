"""Levels of hierarchies in conditions, and conditions as plain values: one meaning, one text, refused by the policy alone."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Missing, Role, Schema, Type
from shoal.engine.base import Counts
from shoal.errors import UsageError
from shoal.language.condition.plain import condition_text, read_condition
from shoal.language.condition.predicate import Predicate

AGE, DOSE = Interval(0, 99), Interval(0.0, 10.0)
REGION = Values(("Alder", "Birch", "Cedar", "North"))
GROUPS = {"groups": {"North": ["Alder", "North"], "South": ["Birch", "Cedar"]}}
DAYS = Interval(dt.date(2024, 1, 1), dt.date(2024, 12, 31))
SCHEMA = Schema(
    (
        Attribute("age", Role.QUASI, Type.INTEGER, AGE, hierarchy({"intervals": [10, 50]}, Type.INTEGER, AGE)),
        Attribute("dose", Role.QUASI, Type.DECIMAL, DOSE, hierarchy({"intervals": [2.5, 5]}, Type.DECIMAL, DOSE)),
        Attribute("region", Role.QUASI, Type.CATEGORY, REGION, hierarchy(GROUPS, Type.CATEGORY, REGION)),
        Attribute("day", Role.QUASI, Type.DATE, DAYS, hierarchy({"date": ["month", "year"]}, Type.DATE, DAYS)),
        Attribute("grade", Role.OTHER, Type.INTEGER, Values(("10", "2", "30"))),
        Attribute("smoker", Role.OTHER, Type.BOOLEAN),
        Attribute("sex", Role.OTHER, Type.CATEGORY, Values(("f", "m")), missing=Missing.REFUSE),
        Attribute("code", Role.OTHER, Type.TEXT, Pattern("[A-Z][0-9]{2}")),
    )
)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("age@1 = '[40, 50)'", "age between 40 and 49"),
        ("age@2 in ('[0, 50)')", "age < 50"),
        ("age@1 != '[40, 50)'", "age < 40 or age >= 50"),
        ("not age@1 = '[40, 50)'", "not age between 40 and 49"),
        ("age@1 not in ('[40, 50)', '[50, 60)')", "age < 40 or age > 59"),
        ("age@3 = '*'", "everything"),
        ("age@1 is missing", "age is missing"),
        ("age@0 >= 65", "age >= 65"),
        ("dose@1 = '[2.5, 5)'", "dose >= 2.5 and dose < 5"),
        ("region@1 = 'North' and sex = 'f'", "region in ('Alder', 'North') and sex = 'f'"),
        ("day@1 = '2024-02'", "day between 2024-02-01 and 2024-02-29"),
    ],
)
def test_a_label_means_the_values_under_it(text, same):
    found = Predicate.parse(text, SCHEMA)
    assert found == Predicate.parse(same, SCHEMA)
    assert Predicate.parse(found.canonical(), SCHEMA) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("region@1 = 'Nord'", "did you mean 'North'"),
        ("region@1 = '(missing)'", "write region is missing"),
        ("region@7 = 'North'", "has no such level"),
        ("grade@1 = '2'", "has no hierarchy"),
        ("age@1 < '[40, 50)'", "have no order"),
        ("age@1 = '[0, 7)'", "has no such label at level 1"),
        ("region@1 = 'North' and region = 'Birch'", "contradictory bounds"),
        ("age@ = 3", "cannot be read"),
    ],
)
def test_what_is_no_label_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        Predicate.parse(text, SCHEMA)


@given(age=st.integers(0, 99), level=st.integers(1, 2), wanted=st.integers(0, 9))
def test_a_row_satisfies_a_label_where_the_hierarchy_gives_it(age, level, wanted):
    own = SCHEMA["age"].hierarchy
    label = own.labels(level)[wanted % len(own.labels(level))]
    counts = Counts(("age",), (np.array([age]),), (np.array([0], dtype=np.int32),), np.array([1]))
    holds = bool(Predicate.parse(f"age@{level} = '{label}'", SCHEMA).mask(counts)[0])
    assert holds == (own.labels(level)[own.encode(level, np.array([age]))[0]] == label)


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        ({"age": (40, 65), "sex": "f"}, "age >= 40 and age < 65 and sex = 'f'"),
        ({"age": (39.5, 65)}, "age between 40 and 64"),
        ({"age": {17, 18}}, "age in (17, 18)"),
        ({"age": range(3, 6)}, "age between 3 and 5"),
        ({"age": (65, None)}, "age >= 65"),
        ({"age": (None, 65)}, "age < 65"),
        ({"age": None}, "age is missing"),
        ({"age": [None, 3]}, "age is missing or age = 3"),
        ({"age": "[40, 50)"}, "age between 40 and 49"),
        ({"age": "44"}, "age = 44"),
        ({"dose": (0.1, 0.3)}, "dose >= 0.1 and dose < 0.3"),
        ({"region": "South"}, "region in ('Birch', 'Cedar')"),
        ({"region": {"value": "North"}}, "region = 'North'"),
        ({"region": {"label": "North"}}, "region in ('Alder', 'North')"),
        ({"region@1": "North"}, "region in ('Alder', 'North')"),
        ({"region@0": ["North"]}, "region = 'North'"),
        ({"day": (dt.date(2024, 2, 1), "2024-03-01")}, "day@1 = '2024-02'"),
        ({"day": dt.date(2024, 2, 1)}, "day = 2024-02-01"),
        ({"grade": (3, 30)}, "grade = 10"),
        ({"smoker": True}, "smoker = true"),
        ({"code": {"A11", "B12"}}, "code in ('A11', 'B12')"),
        ([{"age": (65, None)}, {"sex": "f"}], "age >= 65 or sex = 'f'"),
        ("age >= 65", "age > 64"),
        ({}, "everything"),
        (None, "everything"),
    ],
)
def test_plain_values_and_text_are_one_condition(plain, text):
    wanted = Predicate.parse(text, SCHEMA)
    assert read_condition(plain, SCHEMA) == wanted
    assert condition_text(plain, SCHEMA) == (None if wanted.always else wanted.canonical())


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"region": "North"}, "a declared value, and also a label"),
        ({"region": "East"}, "a value outside its declared domain"),
        ({"region": {"label": "East"}}, "has no such label"),
        ({"region": {"text": "East"}}, "a condition of an unknown form"),
        ({"region@1": ("North", "South")}, "no label of level 1"),
        ({"nobody": 1}, "no attribute of that name"),
        ({"age": (50, 40)}, "an empty interval"),
        ({"age": (100, None)}, "outside its declared domain"),
        ({"age": ("a", "b")}, "not a value of type"),
        ({"age": (1, 2, 3)}, "has two ends"),
        ({"age": set()}, "the set of values is empty"),
        ({"age": "old"}, "not a value of that type"),
        ({"age": True}, "not a value of that type"),
        ({"sex": None}, "allows no missing values"),
        ({"sex": ("f", "m")}, "is for numbers"),
        ({"code": "a"}, "outside its declared domain"),
        ({3: 4}, "is named by a text"),
        ([], "the list of conditions is empty"),
        (7, "a condition of an unknown form"),
        ({"age": (40, 50), "age@1": "[60, 70)"}, "contradictory bounds"),
    ],
)
def test_plain_values_that_mean_nothing_are_refused(plain, words):
    with pytest.raises(UsageError, match=words):
        read_condition(plain, SCHEMA)


@pytest.mark.parametrize(
    ("text", "hull"),
    [
        ("everything", None),
        ("sex = 'f'", None),
        ("age < 50", (0, 49)),
        ("age < 50 and age != 3 and sex = 'f'", (0, 49)),
        ("age in (3, 90)", (3, 90)),
        ("age < 20 or age between 30 and 40", (0, 40)),
        ("age < 20 or sex = 'f'", None),
        ("(age < 20 or age > 90) and (sex = 'f' or age > 10)", (0, 99)),
        ("age between 10 and 20 or age is missing", (10, 20)),
        ("age > 10 and sex = 'f' or age < 5 and sex = 'm'", (0, 99)),
    ],
)
def test_the_hull_of_an_attribute_has_every_value_that_a_row_can_have(text, hull):
    assert Predicate.parse(text, SCHEMA).hull("age") == hull


def test_a_condition_under_which_no_value_is_left():
    with pytest.raises(UsageError, match="has a value of attribute 'age'"):
        Predicate.parse("age is missing", SCHEMA).hull("age")
