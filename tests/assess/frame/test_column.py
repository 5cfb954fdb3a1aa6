"""What labels stand for, from rules that are written by hand."""

from __future__ import annotations

import pytest

from shoal.assess.frame.column import EVERY, GONE, INTERVAL, SET, VALUE, PublishedLabel, describe_column
from shoal.errors import VerificationError

JOBS = {"role": "quasi", "type": "category", "domain": {"values": ["clerk", "cook", "nurse", "smith", "tutor"]}}
KEEP = {"kind": "keep", "attribute": "job", "type": "category", "labels": ["nurse", "cook", "smith", "tutor", "clerk"]}


def boxes(labels: dict[str, list[list[int]]]) -> dict[str, object]:
    cells = [*KEEP["labels"], "(missing)"]
    return {
        "kind": "boxes", "attribute": "job", "type": "category", "cells": cells, "level": KEEP,
        "labels": list(labels), "members": list(labels.values()),
    }  # fmt: skip


def test_a_set_has_one_code_in_all_tables_and_an_ambiguous_text_two():
    first = boxes({"nurse": [[0, 0]], "cook or smith or tutor or 1 more": [[1, 4]], "(missing)": [[5, 5]]})
    second = boxes({"nurse or cook": [[0, 1]], "smith or 2 more": [[2, 4]], "*": [[0, 5]]})
    third = boxes({"smith or 2 more": [[1, 1], [2, 3]], "all but nurse": [[1, 4]]})
    column = describe_column("job", JOBS, [("1", first), ("2", second), ("3", third)])
    kinds = [(label.text, label.kind, label.code, label.rules) for label in column.labels]
    assert kinds == [
        ("nurse", VALUE, None, ()),
        ("nurse or cook", SET, "job-01", ()),
        ("smith or 2 more", SET, "job-02", ("3",)),
        ("all but nurse", SET, "job-03", ()),
        ("cook or smith or tutor or 1 more", SET, "job-03", ()),
        ("smith or 2 more", SET, "job-04", ("2",)),
        ("*", EVERY, None, ()),
        ("(missing)", GONE, None, ()),
    ]
    assert [label.values for label in column.sets] == [
        ("nurse", "cook"), ("cook", "smith", "tutor"), ("cook", "smith", "tutor", "clerk"), ("smith", "tutor", "clerk"),
    ]  # fmt: skip
    assert [label.text for label in column.labels_of("3")] == ["smith or 2 more", "all but nurse"]


def test_a_code_is_never_a_value():
    listed = {**JOBS, "domain": {"values": [*JOBS["domain"]["values"], "job-01"]}}
    column = describe_column("job", listed, [("1", boxes({"nurse or cook": [[0, 1]], "x": [[2, 5]]}))])
    assert [label.code for label in column.sets] == ["job--01", "job--02"]


def test_ends_of_numbers_days_and_times():
    age = {"role": "quasi", "type": "integer", "domain": ["0", "99"]}
    cuts = {"kind": "cuts", "attribute": "age", "type": "integer", "edges": ["18"], "labels": ["young", "adult"]}
    found = describe_column("age", age, [("1", {**cuts, "domain": "0..99"})])
    assert [(label.text, label.kind, found.end_texts(label)) for label in found.labels] == [
        ("young", INTERVAL, ("0", "18", False)),
        ("adult", INTERVAL, ("18", "100", False)),
        ("(missing)", GONE, None),
    ]
    income = {"role": "quasi", "type": "decimal", "domain": ["0", "10"], "missing": "error"}
    rule = {**cuts, "attribute": "income", "type": "decimal", "edges": ["2.5"], "domain": "0..10"}
    found = describe_column("income", income, [("1", rule)])
    assert [found.end_texts(label) for label in found.labels] == [("0", "2.5", False), ("2.5", "10", True)]
    day = {"role": "quasi", "type": "date", "domain": ["2020-01-01", "2020-12-31"], "missing": "error"}
    rule = {**cuts, "attribute": "day", "type": "date", "edges": ["2020-07-01"], "domain": "2020-01-01..2020-12-31"}
    found = describe_column("day", day, [("1", rule)])
    assert [found.end_texts(label) for label in found.labels] == [
        ("2020-01-01", "2020-07-01", False),
        ("2020-07-01", "2021-01-01", False),
    ]


def test_numbers_in_groups_are_pieces_of_a_line():
    parts = {"role": "quasi", "type": "integer", "domain": {"values": ["1", "2", "3", "7"]}, "missing": "error"}
    table = {"1": "low", "2": "low", "3": "odd", "7": "odd"}
    rule = {"kind": "groups", "attribute": "n", "type": "integer", "labels": ["low", "odd"], "table": table}
    column = describe_column("n", parts, [("1", rule)])
    assert [(label.text, label.kind, label.code, column.end_texts(label)) for label in column.labels] == [
        ("low", INTERVAL, None, ("1", "3", False)),
        ("odd", SET, "n-01", ("3", "8", False)),
    ]


def test_the_words_of_the_custodian_come_along():
    declared = {**JOBS, "label": "What they did", "value_labels": {"cook": "in a kitchen"}}
    column = describe_column("job", declared, [("1", KEEP)])
    assert (column.title, column.value_labels) == ("What they did", {"cook": "in a kitchen"})
    assert [label.text for label in column.labels] == [*KEEP["labels"], "(missing)"]


def test_a_rule_that_makes_no_sense_is_refused():
    with pytest.raises(VerificationError, match="makes no sense"):
        describe_column("job", JOBS, [("1", boxes({"nurse": [[0, 9]]}))])


@pytest.mark.parametrize(
    ("text", "values", "words"),
    [
        ("0**", tuple(f"0{ten}*" for ten in range(10)), "every value that begins with 0"),
        ("0**", tuple(f"0{ten}*" for ten in range(1, 10)), None),  # a rest: its values are to be listed
        ("**7", (), "every value that ends with 7"),
        ("1*7", (), "every value with any letter in the place of each *"),
        ("0** or 11*", (), None),
        ("123", (), None),
    ],
)
def test_a_mask_is_described_by_what_it_shows_where_it_hides_all_the_rest(text, values, words):
    zip_code = {"role": "quasi", "type": "text", "domain": {"pattern": "[0-9]{3}"}}
    column = describe_column("zip", zip_code, [])
    assert column.mask_words(PublishedLabel(text, SET, (), values)) == words
