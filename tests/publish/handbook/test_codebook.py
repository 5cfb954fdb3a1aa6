"""The codebook of a release: every label that a table shows is in it, and stands for what its rule says."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pytest

from shoal.assess.frame.column import PublishedColumn, PublishedLabel
from shoal.data.type import Type
from shoal.publish.handbook.codebook import FIELDS, shown_label, shown_labels
from shoal.publish.handbook.read_release import open_release
from tests.publish.handbook.survey import released

pytestmark = pytest.mark.slow


def lines_of(folder):
    with (folder / "codebook.csv").open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        assert tuple(reader.fieldnames) == FIELDS
        return list(reader)


def test_every_label_that_is_shown_is_listed(made):
    listed, unlisted = defaultdict(set), set()
    for line in lines_of(made):
        listed[line["column"]].add(line["label"])
        if line["kind"] == "values":
            unlisted.add(line["column"])
    release = open_release(made)
    for name in release.names:
        for row in release.rows(name):
            for column, cell in row.items():
                if column not in listed or column in unlisted or cell is None:
                    continue
                text = str(cell).lower() if isinstance(cell, bool) else str(cell)
                if made == released("labels"):
                    continue  # what groups show is read off the table, so it is in no codebook
                assert text in listed[column]


def test_intervals_and_sets_are_spelled_out():
    by_label = defaultdict(list)
    for line in lines_of(released("rows")):
        by_label[line["column"], line["label"]].append(line)
    (age,) = by_label["age", "[0, 50)"]
    assert (age["kind"], age["low"], age["high"], age["high_included"]) == ("interval", "0", "50", "false")
    (rich,) = by_label["income", ">= 700"]
    assert (rich["low"], rich["high"], rich["high_included"]) == ("700", "1000", "true")
    low = by_label["edu", "low"]
    assert [(line["code"], line["value"]) for line in low] == [("edu-01", "none"), ("edu-01", "school")]
    (high,) = by_label["edu", "high"]
    assert (high["kind"], high["value"], high["code"]) == ("value", "phd", "")
    (year,) = by_label["seen", "2020"]
    assert (year["low"], year["high"]) == ("2020-01-01", "2021-01-01")
    (gone,) = by_label["age", "(missing)"]
    assert gone["kind"] == "missing"


@pytest.mark.parametrize(
    ("pattern", "text", "hidden"),
    [("[0-9]{5}", "0310*", True), ("[0-9]{5}", "03101", False), ("[*0-9]{5}", "0310*", False), (None, "a*", False)],
)
def test_a_label_with_hidden_letters_does_not_stand_for_itself(pattern, text, hidden):
    column = PublishedColumn("zip", Type.TEXT, "quasi", pattern=pattern)
    assert column.hides_letters(text) is hidden
    words = shown_label(column, PublishedLabel(text, "value", values=(text,)))[2]
    assert words == ("any letter in the place of each *" if hidden else "")


def _number(low: int, **more: object) -> PublishedLabel:
    return PublishedLabel(str(low), "value", ((Fraction(low), Fraction(low + 1)),), **more)


def test_many_numbers_that_stand_for_themselves_have_one_line():
    wide = PublishedLabel("[0, 20)", "interval", ((Fraction(0), Fraction(20)),))
    ages = [_number(low) for low in range(30)]
    column = PublishedColumn("age", Type.INTEGER, "quasi", ends=("0", "29"), labels=(ages[0], wide, *ages[1:]))
    line, words = ("0 to 29", "", "itself, each of these 30"), ("[0, 20)", "", "from 0 up to but not including 20")
    assert shown_labels(column) == [line, words]
    few = replace(column, labels=tuple(ages[:5]))
    assert [text for text, _, _ in shown_labels(few)] == ["0", "1", "2", "3", "4"]
    gaps = replace(column, labels=tuple(ages[::2]), value_labels={"28": "28 or more"})
    assert shown_labels(gaps) == [("0, 2, …, 26", "", "itself, each of these 14"), ("28", "", "28 or more")]
