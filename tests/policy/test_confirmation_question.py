"""Few questions put everything that a draft read off the data: each key once, shown in full where a screen can show it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.draft.draft import draft_table
from shoal.draft.opening import open_table
from shoal.policy.confirmation import profiled
from shoal.policy.confirmation_question import MOST_FINDINGS, confirmation_questions
from shoal.policy.policy import Policy
from tests.cli import clinic
from tests.draft.tables import HOSPITAL, STAFF, SURVEY, generate

HEAD = "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n"
COLUMNS = {
    "integer, domain: [0, 9], hierarchy: {intervals: [2, 4]}": "0 to 9, in steps of 2, 4",
    "integer, domain: [0, 90], hierarchy: {intervals: [10], below: 20, above: 70}": (
        "0 to 90, in steps of 10, below 20 together, above 70 together"
    ),
    "integer, domain: [0, 90], hierarchy: {rounding: [10]}": "0 to 90, rounded to 10",
    "decimal, domain: [0, 9], hierarchy: {cuts: [1, 2, 5]}": "0 to 9, cut at 1, 2, 5",
    "decimal, domain: [0, 9], hierarchy: {cuts: [[1, 2, 5], [2]]}": "0 to 9, cut at 1, 2, 5; then at 2",
    "date, domain: [2020-01-01, 2029-12-31], hierarchy: {date: [month, year]}": "2020-01-01 to 2029-12-31, by month, year",
    "category, domain: [a, b], hierarchy: auto": "a, b",
    "category, domain: [a, b]": "a, b",
    'text, domain: {pattern: "[0-9]{3}"}, hierarchy: {mask: right}': "texts that match [0-9]{3}, letters hidden from the right",
    'text, domain: {pattern: "[0-9]{3}"}, hierarchy: {mask: {side: left, keep: [2, 1]}}': (
        "texts that match [0-9]{3}, letters hidden from the left but 2, 1"
    ),
    "integer, domain: [0, 90], hierarchy: {intervals: [10], origin: 5}": "0 to 90, in steps of 10, beginning at 5",
    'text, domain: {pattern: "[0-9]{3}"}, hierarchy: {mask: {prefix: [2, 1]}}': (
        "texts that match [0-9]{3}, the first 2, 1 letters"
    ),
    "integer, domain: [1, 3], hierarchy: auto": "1 to 3",
}
"""Columns as a policy writes them, and what is shown of each."""


def policy_of(*columns, provenance="profiled"):
    lines = (
        f"  c{place}: {{role: quasi, type: {own}, provenance: {provenance}}}\n" for place, own in enumerate(columns)
    )
    return Policy.parse(HEAD + "".join(lines))


def questions_of(policy):
    return confirmation_questions(policy, profiled(policy))


@pytest.mark.parametrize("column", COLUMNS)
def test_a_finding_is_said_in_the_words_of_the_policy(column):
    (question,) = questions_of(policy_of(column))
    assert [each.finding for each in question.columns] == [COLUMNS[column]]
    assert question.subject == "c0"


def test_where_noisy_counts_are_published_a_finding_says_of_what():
    columns = (
        "integer, domain: [0, 9], hierarchy: {intervals: [2, 4]}",
        "decimal, domain: [0, 9], hierarchy: {cuts: [1, 2, 5]}",
    )
    counts = {
        "release": {"epsilon": 1, "delta": "1e-6", "method": "safe-k", "views": {"show": "counts", "every": "pairs"}}
    }
    (question,) = questions_of(policy_of(*columns).with_changes(counts))
    assert [each.finding for each in question.columns] == [
        "0 to 9, in steps of 2, 4; counted: 10 single values",
        "0 to 9, cut at 1, 2, 5; counted: 4 cells (< 1, [1, 2), …)",
    ]
    assert "noisy counts are published of 10 single values" in question.keys[1].statement
    rows = {"release": {"epsilon": 1, "delta": "1e-6", "method": "safe-k"}}
    assert "counted" not in questions_of(policy_of(*columns).with_changes(rows))[0].columns[0].finding


def test_only_what_is_profiled_is_asked():
    column = "integer, domain: [0, 9], hierarchy: {intervals: [2, 4]}"
    (steps,) = questions_of(policy_of(column, provenance="{domain: declared, hierarchy: profiled}"))
    assert steps.columns[0].finding == "in steps of 2, 4"
    assert steps.question == "Would you have written these steps without this table?"
    (bounds,) = questions_of(policy_of(column, provenance="{domain: profiled, hierarchy: declared}"))
    assert bounds.columns[0].finding == "0 to 9"
    assert bounds.question == "Would you have written these bounds without this table?"
    assert questions_of(policy_of(column, provenance="declared")) == ()


def test_groups_come_with_their_members():
    grouped = "category, hierarchy: {groups: [{common: [flu, cold], other: [rare]}, {any: [common, other]}]}"
    (question,) = questions_of(policy_of(grouped))
    assert question.columns[0].groups == (("common", "flu, cold"), ("other", "rare"))
    assert question.columns[0].finding == "then any"
    assert question.question == "Would you have written these values and groups without this table?"


def test_a_list_that_no_screen_shows_is_shortened_and_says_so():
    for many, shortened in ((40, False), (41, True)):
        (question,) = questions_of(policy_of(f"category, domain: [{', '.join(f'v{n}' for n in range(many))}]"))
        assert question.shortened is shortened
        assert ("v39" in question.columns[0].finding) is not shortened


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from([*COLUMNS, "integer, domain: [1, 5]", "category, hierarchy: {groups: {one: [x], two: [y]}}"])
    )
)
def test_every_key_is_asked_once_however_a_question_is_opened(columns):
    policy = policy_of(*columns) if columns else policy_of("boolean")
    waiting = profiled(policy)
    questions = confirmation_questions(policy, waiting)
    assert sorted(key.key for each in questions for key in each.keys) == sorted(each.key for each in waiting)
    for question in questions:
        assert len(question.columns) <= MOST_FINDINGS
        opened = [question]
        while any(each.open() for each in opened):
            opened = [part for each in opened for part in (each.open() or (each,))]
        assert tuple(key for each in opened for key in each.keys) == question.keys
        assert all(len(each.keys) == 1 for each in opened)
    place = {name: number for number, name in enumerate(policy.attributes)}
    firsts = [place[each.columns[0].names[0]] for each in questions]
    assert firsts == sorted(firsts)


def test_columns_that_are_alike_share_a_line_and_those_of_one_kind_a_question():
    alike = questions_of(policy_of(*["category, domain: [no, yes]"] * 12, *["integer, domain: [1, 5]"] * 10))
    assert [each.subject for each in alike] == ["12 columns with lists of values", "10 columns of numbers"]
    assert [len(each.columns) for each in alike] == [1, 1]
    differ = questions_of(policy_of(*[f"integer, domain: [0, {number}]" for number in range(10)]))
    assert [len(each.columns) for each in differ] == [5, 5]


@pytest.mark.slow
@pytest.mark.parametrize("table", [generate(HOSPITAL), generate(STAFF), generate(SURVEY), clinic.make(300)])
def test_forty_columns_take_at_most_twenty_questions(table):
    policy = draft_table(open_table(table)).policy
    assert len(questions_of(policy)) <= 20
