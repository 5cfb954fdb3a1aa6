"""Sets of values that a rule names, and the cells that lie in them."""

from __future__ import annotations

import pytest

from shoal.data.cells import cells_of
from shoal.data.declared_values import DeclaredValues
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Missing, Role
from shoal.data.type import Type
from shoal.errors import PolicyError
from shoal.policy.policy import Policy

TEXT = """
version: 1
dataset: drivers
unit: row
neighbours: add_remove
attributes:
  age: {role: quasi, type: integer, domain: [0, 19], hierarchy: {intervals: [5, 10]}, missing: value}
  income: {role: quasi, type: decimal, domain: [0, 1], missing: refuse}
  day: {role: quasi, type: date, domain: [2024-01-01, 2024-01-04], missing: refuse}
  licence: {role: quasi, type: category, domain: [no, yes], missing: refuse}
  code: {role: quasi, type: text, domain: {pattern: "[A-Z]{9}"}, hierarchy: {mask: {side: right, keep: [2, 1]}}, missing: refuse}
"""
GRADE = Attribute("grade", Role.QUASI, Type.DECIMAL, Values(("1", "1.5", "2", "4")), missing=Missing.REFUSE)
SCHEMA = {**Policy.parse(TEXT).schema.by_name, "grade": GRADE}


def cells(name: str, *values: str, level: int = 0) -> list[str]:
    """The labels of the cells that lie in the set."""
    own = cells_of(SCHEMA[name], level)
    inside = DeclaredValues.of(SCHEMA[name], values).cells(own)
    assert len(inside) == len(own)
    return [label for label, held in zip(own.labels, inside, strict=True) if held]


@pytest.mark.parametrize(
    ("name", "values", "level", "labels"),
    [
        ("age", ("3", "5"), 0, ["3", "4", "5"]),
        ("age", ("7",), 0, ["7"]),
        ("age", ("5", "14"), 1, ["[5, 10)", "[10, 15)"]),
        ("age", ("0", "1", "2", "3", "4"), 1, ["[0, 5)"]),
        ("age", ("0", "19"), 2, ["[0, 10)", "[10, 20)"]),
        ("grade", ("1.0", "2"), 0, ["1", "1.5", "2"]),
        ("day", ("2024-01-02", "2024-01-03"), 0, ["2024-01-02", "2024-01-03"]),
        ("licence", ("yes",), 0, ["yes"]),
        ("licence", ("yes", "no"), 0, ["no", "yes"]),
    ],
)
def test_the_cells_of_a_set(name, values, level, labels):
    assert cells(name, *values, level=level) == labels


def test_a_range_of_decimals_ends_before_its_upper_end():
    own = cells_of(SCHEMA["income"])
    inside = DeclaredValues.of(SCHEMA["income"], ("0", "0.5")).cells(own)
    assert sum(inside) == len(own) / 2
    assert all(DeclaredValues.of(SCHEMA["income"], ("0", "1")).cells(own))


@pytest.mark.parametrize(
    ("name", "values", "level", "said"),
    [
        ("age", ("3", "7"), 1, r"\[0, 5\)"),
        ("age", ("3",), 1, r"\[0, 5\)"),
        ("income", ("0", "0.3"), 0, "partly in a cell"),
        ("income", ("0.25",), 0, "cannot be listed"),
        ("code", ("ABCDEFGHI",), 0, "cannot be listed"),
        ("age", ("20",), 0, "not in the domain"),
        ("grade", ("3",), 0, "not in the domain"),
        ("licence", ("maybe",), 0, "not in the domain"),
        ("code", ("abc",), 0, "not in the domain"),
        ("day", ("2024-01-03", "2024-01-02"), 0, "before it begins"),
        ("age", ("old",), 0, "old"),
    ],
)
def test_what_a_set_cannot_be(name, values, level, said):
    with pytest.raises(PolicyError, match=said):
        cells(name, *values, level=level)


def test_a_set_has_one_spelling():
    same = (("3", "5"), ("3", "5", "5"), ("3.0", "5"))
    assert {tuple(DeclaredValues.of(SCHEMA["age"], values).words()) for values in same} == {("3", "5")}
    assert DeclaredValues.of(SCHEMA["grade"], ("1.00", "2")).words() == ["1", "1.5", "2"]
    assert DeclaredValues.of(SCHEMA["licence"], ("yes", "no")).words() == ["no", "yes"]
    assert DeclaredValues.of(SCHEMA["income"], ("0.5", "1")).words() == ["0.5", "1"]
