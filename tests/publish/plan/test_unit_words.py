"""What is promised is said of the unit that the policy names: a row is not a person, and neither is a household."""

from __future__ import annotations

import json

import pytest

from shoal.guarantee.sentences import growth, plain
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from tests.publish.made import ATTRIBUTES, page_of, planned, sealed
from tests.publish.reading import Page

ABOUT_THE_PROMISE = ("sentence", "explanation", "claims", "guarantee")


def households(release: str, rows: int = 2, neighbours: str = "add_remove"):
    return plan(
        Policy.parse(
            f"version: 1\ndataset: made\nunit: {{column: household, max_rows: {rows}}}\nneighbours: {neighbours}\n"
            f"attributes:\n  household: {{role: identifier}}{ATTRIBUTES}release:\n  {release}\n"
        )
    )


def safe(**more):
    fields = {
        "method": "safe-k",
        "epsilon": "2",
        "delta": "1e-6",
        "sampling": "{beta: 0.1}",
        "recoding": "{levels: {age: 1}}",
    }
    return "\n  ".join(f"{key}: {value}" for key, value in (fields | more).items())


@pytest.mark.parametrize("kind", ["row", "published", "repeat", "sample", "replace"])
def test_a_row_is_called_a_row(kind):
    made = planned(kind)
    certificate = sealed(made)
    said = json.dumps([certificate[name] for name in ABOUT_THE_PROMISE])
    assert "person" not in said
    assert "with one row in the table" in certificate["explanation"][0]
    assert "one row" in certificate["sentence"]
    assert "unit of privacyone row" in Page(page_of(certificate)).text


@pytest.mark.parametrize("rows", [1, 2])
def test_a_household_is_called_by_its_column(rows):
    made = households(safe(), rows)
    whose = "the row" if rows == 1 else "all rows (at most 2)"
    certificate = sealed(made)
    said = json.dumps({**{name: certificate[name] for name in ABOUT_THE_PROMISE}, "unit": None, "guarantee": None})
    assert f"{whose} of one 'household'" in certificate["sentence"]
    assert f"with {whose} of one 'household' in the table" in certificate["explanation"][0]
    assert "person" not in said.replace('"whose": "person"', "")


def test_a_sample_of_households_was_drawn_by_households():
    made = households(safe(sampling="{already: 0.01}"), 1)
    assert "keeping each 'household' independently" in made.claims[0].conditions[0]
    assert "keeping each 'household' independently" in made.sentences()[2]


@pytest.mark.parametrize(
    "release",
    [
        "method: microaggregation\n  k: 5",
        "method: probabilistic-k\n  k: 5",
        "method: probabilistic-k\n  k: 5\n  grouping: ranking",
    ],
)
def test_groups_are_of_rows_or_of_the_units_that_are_named(release):
    confidential = ATTRIBUTES.replace("place: {role: quasi", "place: {role: confidential")
    text = (
        "version: 1\ndataset: made\nunit: {unit}\nneighbours: replace_one\n"
        f"attributes:\n  household: {{role: identifier}}{confidential}release:\n  {release}\n"
    )
    for unit, named in (("row", "row"), ("{column: household, max_rows: 1}", "'household'")):
        made = plan(Policy.parse(text.replace("{unit}", unit, 1)))
        first, second, _ = made.sentences()
        assert named in first
        assert "person" not in first + second
        assert "people" not in (first + second).lower()


@pytest.mark.parametrize("more", [{}, {"repeat": 2}, {"views": "pairs"}], ids=["one table", "repeats", "views"])
def test_the_first_sentence_gives_the_numbers_of_everything_that_is_published(more):
    made = households(safe(**more), rows=1)
    first = made.sentences()[0]
    assert f"at most {growth(made.total.epsilon)} times what it is without it, plus {plain(made.total.delta)};" in first


def test_the_rows_that_are_set_aside_are_said_and_views_share_the_choice():
    one, views = households(safe(), rows=1).sentences()[2], households(safe(views="pairs"), rows=2).sentences()[2]
    assert "one row of each 'household' is drawn at random and the others are set aside; each row that is left" in one
    assert (
        "at most 2 rows of each 'household' are drawn at random, once for all tables, and the others are set" in views
    )
    assert "set aside" not in planned("row").sentences()[2]
