"""Which method is meant where the policy names none: it follows from the number of columns; a key that says more is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal.policy.model.method import METHODS
from shoal.policy.policy import Policy
from tests.policy.written import BASE, the_problem

HEAD, _, _ = BASE.partition("release:")
FIVE = HEAD + "  one more: {role: quasi, type: boolean}\n"


def release(head: str, words: str):
    return Policy.parse(f"{head}release: {{{words}}}\n").release


def test_four_columns_are_one_wide_table():
    found = release(HEAD, "epsilon: 1, delta: 1e-6")
    assert found.method == "safe-k"
    assert found.views is None
    assert found.recoding.tree is not None


def test_more_columns_are_noisy_counts_of_all_pairs():
    found = release(FIVE, "epsilon: 1, delta: 1e-6")
    assert found.method == "safe-k"
    assert found.views.show == "counts"
    assert found.views.every == "pairs"


@pytest.mark.parametrize(
    "words", ["k: 20", "recoding: tree", "views: pairs", "sampling: {beta: 0.2}", "bound: tight", "repeat: 2"]
)
def test_a_key_that_says_what_is_published_is_kept_and_nothing_is_added(words):
    named = release(FIVE, f"method: safe-k, epsilon: 1, delta: 1e-6, {words}")
    assert release(FIVE, f"epsilon: 1, delta: 1e-6, {words}") == named


def test_a_synthetic_table_that_is_described_is_asked_for():
    assert release(FIVE, "epsilon: 1, delta: 1e-6, synthetic: {rows: 100}").method == "synthetic"


def test_the_lock_names_what_was_meant():
    text = f"{FIVE}release: {{epsilon: 1, delta: 1e-6}}\n"
    said = f"{FIVE}release: {{method: safe-k, epsilon: 1, delta: 1e-6, views: {{show: counts, every: pairs}}}}\n"
    assert Policy.parse(text).lock() == Policy.parse(said).lock()


def test_without_epsilon_a_method_has_to_be_named():
    found = the_problem(f"{HEAD}release: {{k: 5}}\n", "release")
    assert "'method' is missing" in found.wrong
    assert "epsilon and delta" in found.fix


def test_the_guide_lists_the_keys_of_every_method_that_it_lists():
    guide = (Path(__file__).parents[3] / "docs/guide/policy.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([\w-]+)` \| ((?:`\w+`(?:, )?)+) \| \{doc\}", guide, flags=re.MULTILINE))
    assert set(listed) == set(METHODS)
    for name, keys in listed.items():
        assert sorted(re.findall(r"\w+", keys)) == sorted(METHODS[name].keys), name


# --- noisy centroids ---------------------------------------------------------------------------------------------------

CENTROIDS = """\
version: 1
dataset: incomes
unit: row
neighbours: replace_one
attributes:
  income: {role: other, type: integer, domain: [0, 1000], missing: refuse}
  region: {role: other, type: category, domain: [north, south], missing: refuse}
release: {method: dp-microaggregation, epsilon: 1, rows: 100, grouping: insensitive}
"""


def centroids(**keys: object) -> str:
    """The policy with other keys of its release; None removes one."""
    asked = {"method": "dp-microaggregation", "epsilon": 1, "rows": 100, "grouping": "insensitive"} | keys
    words = ", ".join(f"{key}: {value}" for key, value in asked.items() if value is not None)
    return CENTROIDS.partition("release:")[0] + f"release: {{{words}}}\n"


def test_boxes_are_meant_where_no_grouping_is_named():
    plain = centroids(grouping=None, rows=None)
    assert Policy.parse(plain).lock() == Policy.parse(boxes()).lock()
    found = the_problem(centroids(grouping=None), "release.rows").words("policy.yaml")
    assert "not with grouping: boxes" in found
    assert "leave it out, or take grouping: insensitive or ranking" in found


def test_noisy_centroids_have_their_defaults():
    found = Policy.parse(CENTROIDS).release
    asked = (found.delta, found.k, found.rows, found.grouping, found.corners, found.noise, found.calibration)
    assert asked == (0, None, 100, "insensitive", 1, "auto", "whole")
    assert Policy.parse(centroids(corners=1)).lock() == Policy.parse(CENTROIDS).lock()
    assert Policy.parse(centroids(calibration="per_record", k=5)).release.corners == 4


def test_a_k_of_auto_is_one_that_is_left_out():
    assert Policy.parse(centroids(k="auto")).lock() == Policy.parse(centroids()).lock()
    assert Policy.parse(centroids(k=7)).release.k == 7
    needed = the_problem(f"{HEAD}release: {{method: microaggregation, k: auto}}\n", "release")
    assert (needed.wrong, needed.fix) == ("the key 'k' is missing", "method microaggregation needs it, as a number")


@pytest.mark.parametrize(
    ("keys", "path", "said"),
    [
        ({"epsilon": None}, "release", "'epsilon' is missing"),
        ({"epsilon": 0}, "release.epsilon", "above 0"),
        ({"epsilon": -1}, "release.epsilon", "above 0"),
        ({"rows": None}, "release", "'rows' is missing"),
        ({"rows": 0}, "release.rows", "from 1"),
        ({"rows": 3}, "release.rows", "two clusters of two"),
        ({"k": 1}, "release.k", "hides nobody"),
        ({"k": 51}, "release.k", "at most 50"),
        ({"k": "many"}, "release.k", "not a whole number"),
        ({"noise": "gaussian"}, "release.noise", "give a delta above 0"),
        ({"noise": "uniform"}, "release.noise", "laplace"),
        ({"corners": 0}, "release.corners", "from 1 to 64"),
        ({"corners": 65}, "release.corners", "from 1 to 64"),
        ({"corners": 8}, "release.corners", "at most 4"),
        ({"grouping": "mdav"}, "release.grouping", "boxes or insensitive or ranking"),
        ({"grouping": "ranking"}, "attributes.region.type", "declare it as ordinal"),
        ({"calibration": "per_record"}, "release", "per_record needs it"),
        ({"calibration": "per_record", "k": 5, "noise": "optimal"}, "release.noise", "laplace"),
        ({"calibration": "per_record", "k": 5, "delta": "1e-6"}, "release.delta", "leave the key out"),
        ({"recoding": "tree"}, "release.recoding", "has no use for it"),
        ({"repeat": 2}, "release.repeat", "cannot be repeated"),
    ],
    ids=str,
)
def test_noisy_centroids_that_cannot_be(keys, path, said):
    assert said in the_problem(centroids(**keys), path).words("policy.yaml")


@pytest.mark.parametrize(
    ("old", "new", "path", "said"),
    [
        (", domain: [0, 1000]", "", "attributes.income", "declare what may occur"),
        (", domain: [north, south]", "", "attributes.region", "declare what may occur"),
        ("category, domain: [north, south]", "text, domain: {pattern: '[a-z]'}", "attributes.region.domain", "list its"),
        ("domain: [0, 1000], missing: refuse", "domain: [0, 1000]", "attributes.income.missing", "set missing: refuse"),
        ("domain: [0, 1000]", "domain: [0, 1000], outside: suppress", "attributes.income.outside", "outside: clamp"),
        ("replace_one", "add_remove", "neighbours", "move the last one whole"),
        (
            "unit: row\nneighbours: replace_one\nattributes:",
            "unit: {column: id, max_rows: 2}\nneighbours: replace_one\nattributes:\n  id: {role: identifier}",
            "unit.max_rows",
            "needs one row each",
        ),
    ],
)  # fmt: skip
def test_tables_that_have_no_noisy_centroids(old, new, path, said):
    assert CENTROIDS.count(old) == 1
    assert said in the_problem(CENTROIDS.replace(old, new), path).words("policy.yaml")


def test_corners_and_the_delta_of_ranking():
    ordered = centroids(grouping="ranking", delta="1e-6").replace("category", "ordinal")
    assert Policy.parse(ordered).release.delta > 0
    assert (
        "grouping: insensitive" in the_problem(ordered.replace("delta: 1e-6", "corners: 1"), "release.corners").allowed
    )


# --- boxes ---------------------------------------------------------------------------------------------------------------


def boxes(**keys: object) -> str:
    """The policy of boxes: an epsilon alone."""
    return centroids(**{"grouping": "boxes", "rows": None} | keys)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("unit", ["row", "{column: id, max_rows: 7}"])
def test_boxes_are_about_any_unit_and_need_nothing_but_epsilon(neighbours, unit):
    text = boxes().replace("replace_one", neighbours).replace("unit: row", f"unit: {unit}")
    text = text.replace("attributes:", "attributes:\n  id: {role: identifier}")
    found = Policy.parse(text).release
    assert (found.grouping, found.delta) == ("boxes", 0)
    assert found.noise is found.calibration is found.corners is found.rows is found.k is None


@pytest.mark.parametrize(
    ("keys", "path", "said"),
    [
        ({"epsilon": None}, "release", "'epsilon' is missing"),
        ({"epsilon": 0}, "release.epsilon", "above 0"),
        ({"delta": "1e-6"}, "release.delta", "the promise is a pure epsilon"),
        ({"rows": 100}, "release.rows", "is published with noise"),
        ({"k": 5}, "release.k", "how many rows are in one is noisy"),
        ({"corners": 1}, "release.corners", "no order of records"),
        ({"noise": "laplace"}, "release.noise", "least expected size"),
        ({"calibration": "per_record"}, "release.calibration", "for the whole data set"),
        ({"recoding": "tree"}, "release.recoding", "has no use for it"),
        ({"repeat": 2}, "release.repeat", "cannot be repeated"),
    ],
    ids=str,
)
def test_boxes_that_cannot_be(keys, path, said):
    found = the_problem(boxes(**keys), path)
    assert said in found.words("policy.yaml")
    if path.removeprefix("release.") in ("rows", "k", "corners", "noise", "calibration"):
        assert "leave it out, or take grouping: insensitive or ranking" in found.fix


@pytest.mark.parametrize(
    ("old", "new", "path", "said"),
    [
        (", domain: [0, 1000]", "", "attributes.income", "declare what may occur"),
        ("category, domain: [north, south]", "text, domain: {pattern: '[a-z]'}", "attributes.region.domain", "list its"),
        ("domain: [0, 1000], missing: refuse", "domain: [0, 1000]", "attributes.income.missing", "set missing: refuse"),
        ("domain: [0, 1000]", "domain: [0, 1000], outside: suppress", "attributes.income.outside", "outside: clamp"),
    ],
)  # fmt: skip
def test_tables_that_have_no_boxes(old, new, path, said):
    assert said in the_problem(boxes().replace(old, new), path).words("policy.yaml")
