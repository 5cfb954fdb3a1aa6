"""The plan of k-anonymity by levels: what it says, what it asks the method for, and where labels would mean two things."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.errors import PreconditionError
from shoal.policy.policy import Policy
from shoal.publish.certificate.k_anonymity import heights_of, level_rules
from shoal.publish.plan.k_anonymity import refuse_two_meanings
from tests.publish.level_clinic import METHODS, planned

ROUGH = {"intervals": [2, 4, 8, 16, 32, 64, 128, 256, 512]}


@pytest.mark.parametrize("which", METHODS)
def test_the_plan_says_what_is_asked_and_that_it_is_no_differential_privacy(tmp_path, which):
    found = planned(tmp_path, which)
    said = " ".join(found.sentences())
    assert f"at least {METHODS[which]['k']} rows" in said
    assert "no differential privacy" in said
    assert found.cost is None
    assert found.claims[0].status.value == "checked"
    assert found.to_json()["k"] == METHODS[which]["k"]
    assert {fact[0] for fact in found.facts()} >= {"k", "search", "suppression", "ledger"}
    assert ("minimality" in " ".join(found.not_promised)) == (which != "fixed")
    assert any("left out" in said for said in found.not_promised)
    assert found.page()
    about = {name: words for name, _, words in found.facts()}
    assert ("need not be the best" in about["search"]) == (found.method.local and found.search_kind == "exact")


@pytest.mark.parametrize(("limit", "words"), [("0", "No such row is left out"), ("0.1", "at most 10 % of all these")])
def test_rows_of_a_person_beyond_the_first_are_said_to_be_left_out(tmp_path, limit, words):
    changes = {"unit": {"column": "patient", "max_rows": 1}, "release.suppression": limit}
    said = " ".join(planned(tmp_path, "searched", changes).sentences())
    assert "One row of each" in said
    assert words in said
    assert "One row of each" not in " ".join(planned(tmp_path, "searched").sentences())


def test_homogeneous_classes_are_said_where_no_criterion_bounds_values(tmp_path):
    assert "one confidential value" in planned(tmp_path, "searched").not_promised[0]
    assert "one confidential value" not in planned(tmp_path, "every").not_promised[0]


def test_people_of_a_population_rest_on_a_theorem_of_their_own(tmp_path):
    found = planned(tmp_path, "every")
    assert found.theorems == ("full-domain-k", "population-k")
    assert "population-k" in found.page()
    assert found.to_json()["theorems"] == ["full-domain-k", "population-k"]
    assert planned(tmp_path, "searched").theorems == ("full-domain-k",)


def test_criteria_reach_the_method_exactly(tmp_path):
    wanted = planned(tmp_path, "every").requirement
    assert (wanted.k, wanted.l, wanted.t) == (5, 2, Fraction(3, 10))
    assert wanted.recursive == (Fraction(3), 2)
    assert (wanted.beta, wanted.beta_form, wanted.k_map) == (Fraction(2), "enhanced", 20)
    assert planned(tmp_path, "every").distances() == {"diag": "hierarchical"}
    assert planned(tmp_path, "delta").distances() == {"diag": "equal"}


def test_levels_that_the_policy_fixes_are_not_searched(tmp_path):
    fixed = planned(tmp_path, "fixed")
    assert fixed.search_kind == "fixed"
    assert len(fixed.method.lattice(fixed.policy.schema)) == 1
    assert planned(tmp_path, "searched").search_kind == "exact"


def test_the_declared_lattice_decides_whether_the_search_is_exact(tmp_path):
    wide = {
        f"attributes.a{i}": {"role": "quasi", "type": "integer", "domain": [0, 1023], "hierarchy": ROUGH}
        for i in range(6)
    }
    found = planned(tmp_path, "searched", wide)
    assert len(found.method.lattice(found.policy.schema)) > 2_000_000
    assert found.search_kind == "heuristic"
    assert "need not find the best" in " ".join(found.sentences())
    bounded = planned(
        tmp_path, "searched", wide | {"release.recoding": {"search": {"coarsest": {f"a{i}": 1 for i in range(6)}}}}
    )
    assert bounded.search_kind == "exact"


def test_rules_are_written_for_every_column_level_and_height(tmp_path):
    made = planned(tmp_path, "every")
    rules = level_rules(made, {"age": (2, 0), "sex": (1,)})
    assert rules.levels == {"age": (0, 2), "sex": (1,), "diag": (0,)}
    assert [len(files) for files in rules.recoding.values()] == [2, 1, 1]
    assert len(rules.heights["diag"]) == len(heights_of(made.policy.schema["diag"])) == 2
    assert len(rules.texts) == 6


def attribute(words: str):
    text = f"version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n  it: {{role: quasi, {words}}}\n"
    return Policy.parse(text).schema["it"]


@pytest.mark.parametrize(
    "words",
    [
        "type: integer, domain: [0, 99], hierarchy: {intervals: [10, 50]}",
        "type: date, domain: [2024-01-01, 2025-12-31], hierarchy: {date: [month, year]}",
        'type: text, domain: {pattern: "[0-9]{5}"}, hierarchy: {mask: right}',
        "type: category, domain: [a, b, c], hierarchy: {groups: {ab: [a, b], rest: [c]}}",
        "type: category, domain: [a, b, c], hierarchy: {groups: {ab: [a, b], c: [c]}}",
        "type: category, domain: [a, b]",
    ],
)
def test_labels_that_tell_levels_apart_may_stand_side_by_side(words):
    refuse_two_meanings(attribute(words))


@pytest.mark.parametrize(
    "words",
    [
        "type: category, domain: [a, b, c], hierarchy: {groups: {a: [a, b], c: [c]}}",
        'type: text, domain: {pattern: "[0-9*]{5}"}, hierarchy: {mask: right}',
        'type: text, domain: {pattern: "[0-9]+"}, hierarchy: {mask: {side: right, keep: [2], length: 5}}',
    ],
)
def test_labels_that_mean_two_things_are_refused_for_local_recoding(words):
    with pytest.raises(PreconditionError, match="local"):
        refuse_two_meanings(attribute(words))
