"""Codes that a draft left open: found in its comments, and settled by a person's word alone."""

from __future__ import annotations

import pandas as pd
import pytest

import shoal
from shoal.draft.profile import ANSWERS, GAPS
from shoal.policy.missing_codes import open_codes, settle_codes
from shoal.policy.policy import Policy

FRAME = pd.DataFrame(
    {
        "hours": [8, 20, 35, 99] * 30,
        "children": [-9, 0, 1, 2] * 30,
        "illness": ["yes", "no", "refused", "no"] * 30,
        "age": [18, 40, 77, 99] * 30,
        "pay": ["1500,5", "-9", "900,25", "2100,75"] * 30,
    }
)


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    ledger = tmp_path_factory.mktemp("codes") / "ledger.sqlite"
    return shoal.draft(FRAME, dataset="staff", ledger=ledger, new_ledger=True).policy


def test_the_codes_of_a_draft_are_found_with_what_would_change(policy):
    found = {each.attribute: each for each in open_codes(policy)}
    assert {name: each.codes for name, each in found.items()} == {
        "hours": ("99",),
        "children": ("-9",),
        "illness": ("refused",),
        "age": ("99",),
        "pay": ("-9",),
    }
    assert found["hours"].changes["domain"] == ["0", "40"]
    assert found["illness"].changes["domain"] == ["no", "yes"]
    assert set(found["age"].changes) == {"missing_values"}  # its bounds follow from the name


def test_what_stands_for_a_missing_value_leaves_the_domain_and_its_comment_goes(policy):
    made = settle_codes(policy, open_codes(policy))
    assert open_codes(made) == ()
    assert "looks like a code" not in made.text
    assert {name: made.schema[name].missing_values for name in FRAME} == {
        "hours": ("99",),
        "children": ("-9",),
        "illness": ("refused",),
        "age": ("99",),
        "pay": ("-9",),
    }
    assert (made.schema["hours"].domain.low, made.schema["hours"].domain.high) == (0, 40)
    assert made.schema["pay"].domain.low == 0
    assert "99" not in made.text.split("hours:")[1].split("hierarchy:")[1].split("}")[0]
    after_hours = made.text.split("  hours:")[1].split("\n\n")[0]
    assert after_hours.rstrip().endswith("missing_values: [99]")  # and not below the comment of the next column
    assert made.profiled_keys() == policy.profiled_keys()  # the bounds are still those of the table


def test_every_word_for_a_missing_value_is_found_again_in_the_text_of_a_draft(tmp_path):
    words = sorted(GAPS - ANSWERS - {"*"})  # a label of releases: no draft asks
    frame = pd.DataFrame(
        {f"c{at}: x#'[{at}]": ["alpha", "beta", word, word.upper()] * 10 for at, word in enumerate(words)}
    )
    drafted = shoal.draft(frame, dataset="words", ledger=tmp_path / "ledger.sqlite", new_ledger=True).policy
    found = open_codes(drafted)
    assert [each.attribute for each in found] == list(frame)
    made = settle_codes(drafted, found)
    assert {made.schema[name].domain.values for name in frame} == {("alpha", "beta")}


def test_what_is_a_value_stays_and_is_not_asked_again(policy):
    made = settle_codes(policy, [], open_codes(policy))
    assert open_codes(made) == ()
    assert made.lock() == policy.lock()


def test_some_of_each(policy):
    hours, *others = open_codes(policy)
    made = settle_codes(policy, others, [hours])
    assert made.schema["hours"].missing_values == ()
    assert made.schema["age"].missing_values == ("99",)
    made = settle_codes(policy, [hours])
    assert [each.attribute for each in open_codes(made)] == [each.attribute for each in others]


HEAD = "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_a_person_wrote_is_taken_too_and_groups_go_without_the_code(end):
    text = HEAD + (
        "  job:\n    role: quasi\n    type: category\n    domain: [a, b, c, x]\n"
        "    hierarchy: {groups: [{ab: [a, b], cx: [c], none: [x]}, {all: [ab, cx], left: [none]}]}\n"
        "    # refused by some\n    # missing_values: [x]\n"
        "  age: {role: quasi, type: integer, domain: [0, 120]}\n"
    )
    policy = Policy.parse(text.replace("\n", end))
    (found,) = open_codes(policy)
    assert (found.attribute, found.codes) == ("job", ("x",))
    made = settle_codes(policy, [found])
    assert made.schema["job"].domain.values == ("a", "b", "c")
    assert made.schema["job"].hierarchy.labels(2) == ("all",)
    assert "# refused by some" in made.text


@pytest.mark.parametrize(
    "line",
    [
        "# missing_values: [-9",
        "# missing_values: []",
        "# missing_values: {a: b}",
        "# missing_values: [[1]]",
        "missing_values: [-9]  # missing_values: [-9]",
        "missing_values: [-9]\n    # missing_values: [-9]",
    ],
)
def test_lines_that_leave_nothing_open(line):
    text = f"{HEAD}  age:\n    role: quasi\n    type: integer\n    domain: [0, 120]\n    {line}\n"
    assert open_codes(Policy.parse(text)) == ()


def test_of_a_list_in_a_hierarchy_file_the_domain_names_what_is_left(tmp_path):
    town = (
        "  town:\n    role: quasi\n    type: category\n    hierarchy: {file: towns.csv}\n    # missing_values: ['?']\n"
    )
    (tmp_path / "towns.csv").write_text("Bern;west;*\nZug;east;*\n?;none;*\n")
    policy = Policy.parse(HEAD + town, tmp_path)
    made = settle_codes(policy, open_codes(policy)).schema["town"]
    assert (made.domain.values, made.missing_values) == (("Bern", "Zug"), ("?",))
    assert made.hierarchy.labels(1) == ("west", "east")
    rows = "".join(f"t{number};all;*\n" for number in range(2_000))
    (tmp_path / "towns.csv").write_text(f"{rows}?;none;*\n")
    assert open_codes(Policy.parse(HEAD + town, tmp_path)) == ()
    town = "  town:\n    role: quasi\n    type: integer\n    hierarchy: {file: towns.csv}\n    # missing_values: [99]\n"
    (tmp_path / "towns.csv").write_text("1;west;*\n2;east;*\n99;none;*\n")
    policy = Policy.parse(HEAD + town, tmp_path)
    assert settle_codes(policy, open_codes(policy)).schema["town"].domain.values == ("1", "2")


def test_a_list_of_nothing_but_codes_is_left_to_a_person():
    text = f"{HEAD}  job:\n    role: quasi\n    type: category\n    domain: [x]\n    # missing_values: [x]\n"
    assert open_codes(Policy.parse(text)) == ()
