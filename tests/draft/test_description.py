"""What is said beside a table is declared, comes before what was read off it, and never hides a value that occurs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.data.schema import Role
from shoal.data.type import Type
from shoal.draft.description import describe
from shoal.draft.draft import Beside, draft_table
from shoal.draft.opening import open_table


def drafted(values, *said, name="x", **beside):
    book = Codebook(tuple(said), "codebook.csv")
    opened = open_table(pa.table({name: values, "age": [30] * len(values)}))
    found = draft_table(opened, beside=Beside((book,), **beside))
    assert found.policy.attributes[name].role is found[name].role
    return found[name]


def coded(**labels):
    return tuple(CodedValue(value.removeprefix("_"), label) for value, label in labels.items())


def test_codes_with_meanings_are_a_declared_category():
    column = drafted(
        [1, 2, 1, 2] * 10, ColumnDescription("x", "Smoking", values=coded(_1="yes", _2="no", _3="formerly"))
    )
    assert (column.type, column.domain, column.provenance) == (Type.CATEGORY, ["1", "2", "3"], "declared")
    assert column.label == "Smoking"
    assert column.value_labels == {"1": "yes", "2": "no", "3": "formerly"}
    assert column.role is Role.CONFIDENTIAL  # its label says what its name does not


def test_values_that_a_codebook_lacks_are_added_and_said():
    column = drafted(["a", "b", "z"] * 10, ColumnDescription("x", values=coded(a=None, b=None)))
    assert (column.domain, column.domain_provenance) == (["a", "b", "z"], "profiled")
    assert "1 value of the table is not in codebook.csv" in column.notes[0]


def test_meanings_that_are_a_scale_give_the_order():
    labels = coded(_3="high", _1="low", _2="medium")
    assert drafted([1, 2, 3] * 10, ColumnDescription("x", values=labels)).domain == ["1", "2", "3"]
    assert drafted([1, 2, 3] * 10, ColumnDescription("x", values=labels)).type is Type.ORDINAL


def test_missing_codes_of_a_codebook_are_applied():
    said = ColumnDescription("x", type=Type.INTEGER, missing=coded(_97="refused", _99="unknown"))
    column = drafted([1, 5, 97, 99] * 10, said)
    assert column.missing_values == ("97", "99")
    assert column.domain == [0, 6]
    assert column.candidates == ()


def test_values_whose_label_says_that_an_answer_is_missing_may_be_missing_codes():
    labels = coded(_0="none", _1="one", _2="several", _8="Don't know", _9="refused")
    column = drafted([0, 1, 2, 8, 9] * 10, ColumnDescription("x", values=labels))
    assert column.candidates == ("8", "9")
    assert (column.domain, column.provenance) == (["0", "1", "2", "8", "9"], "declared")


def test_a_range_of_a_codebook_is_declared_unless_a_value_lies_outside():
    said = ColumnDescription("x", type=Type.INTEGER, interval=("0", "50"))
    inside, outside = drafted([1, 7, 33], said), drafted([1, 7, 70], said)
    assert (inside.domain, inside.provenance) == (["0", "50"], "declared")
    assert (outside.domain, outside.provenance) == ([0, 80], "profiled")


def test_numbers_of_which_only_some_have_a_meaning_stay_numbers():
    said = ColumnDescription("x", values=coded(_0="none"))
    column = drafted([number % 20 for number in range(60)], said)
    assert column.type is Type.INTEGER
    assert column.value_labels == {"0": "none"}


def test_levels_of_education_that_are_only_labels_are_grouped():
    said = ColumnDescription("x", values=coded(_1="Primary", _2="High school", _3="Bachelor", _4="Master"))
    column = drafted([1, 2, 3, 4] * 10, said)
    assert (column.type, column.provenance) == (Type.ORDINAL, "declared")
    assert column.hierarchy["groups"][-1]["beyond upper secondary"] == ["bachelor or more"]


def test_what_is_assumed_to_be_missing_is_told_apart_from_what_a_codebook_says():
    said = ColumnDescription("x", "Number of rooms", missing=coded(_99="unknown"))
    column = drafted(["1", "5", "99", "NA"] * 10, said)
    assert column.missing_values == ("99", "NA")
    assert column.assumed == ("NA",)
    assert column.reason.startswith("by its label")


def test_what_does_not_fit_a_column_is_left_aside():
    dates = drafted(["01.02.2024", "03.04.2024"] * 10, ColumnDescription("x", type=Type.INTEGER), name="visit_date")
    assert (dates.type, dates.format) == (Type.DATE, "%d.%m.%Y")
    rows = (("a", "b", "*"),)
    assert drafted([0.5, 1.5] * 10, hierarchies={"x": (rows, "x.csv")}).type is Type.DECIMAL


def test_a_hierarchy_file_is_taken_if_it_has_every_value():
    rows = (("a", "vowel", "*"), ("b", "other", "*"), ("e", "vowel", "*"))
    taken = drafted(["a", "b"] * 10, hierarchies={"x": (rows, "x.csv")})
    assert taken.provenance == "declared"
    assert taken.rows == (("a", "vowel"), ("b", "other"), ("e", "vowel"))
    refused = drafted(["a", "q"] * 10, hierarchies={"x": (rows, "x.csv")})
    assert refused.rows is None
    assert "x.csv was not taken" in refused.notes[0]


@pytest.mark.parametrize("role", [Role.OTHER, Role.DROP, Role.IDENTIFIER, Role.CONFIDENTIAL])
def test_a_role_that_somebody_gave_stands(role):
    column = drafted(["a", "b"] * 10, name="sex", roles={"sex": role})
    assert column.role is role
    assert column.reason.startswith("its role was taken over")


def test_a_unit_that_somebody_named_stands():
    opened = open_table(pa.table({"house": ["h1", "h1", "h2"], "age": [30, 31, 32]}))
    assert draft_table(opened, beside=Beside(unit="house")).unit.column == "house"


def test_codebooks_are_asked_in_their_order():
    first = Codebook((ColumnDescription("x", "first"),), "one")
    second = Codebook((ColumnDescription("x", "second", Type.DATE, format="%d.%m.%Y"),), "two")
    found = describe("x", (first, None, second))
    assert found is not None
    assert (found.column.label, found.column.format, found.source) == ("first", "%d.%m.%Y", "one")
    assert describe("y", (first, second)) is None
