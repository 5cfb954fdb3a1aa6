"""What a draft read off the data is put to a person in plain words, and becomes declared by that person's word alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.policy.confirmation import confirm, find_profiled, profiled
from shoal.policy.policy import Policy

DRAFT = """\
# drafted by a program
version: 1
dataset: clinic
unit: row
neighbours: add_remove
attributes:
  age:  {role: quasi, type: integer, domain: [17, 90], hierarchy: {intervals: [10, 50]}, provenance: profiled}  # years
  sex:
    role: quasi
    type: category
    domain: [f, m]
    provenance: {domain: profiled, hierarchy: declared}   # two codes
  zip:  {role: quasi, type: text, domain: {pattern: "[0-9]{5}"}, provenance: profiled}
  diag: {role: confidential, type: category, hierarchy: {groups: {common: [flu, cold], other: [rare]}}, provenance: profiled}
  stay: {role: other, type: integer, domain: [0, 30]}
"""
POLICY = Policy.parse(DRAFT)
KEYS = [
    "attributes.age.domain",
    "attributes.age.hierarchy",
    "attributes.sex.domain",
    "attributes.zip.domain",
    "attributes.diag.hierarchy",
]


def test_each_thing_is_asked_once_in_the_order_of_the_policy():
    found = profiled(POLICY)
    assert [each.key for each in found] == KEYS
    assert sorted(key for each in found for key in each.keys) == sorted(POLICY.profiled_keys())


def test_the_question_says_what_would_be_declared():
    age, groups, sex, code, diag = profiled(POLICY)
    assert age.statement == "Every value of 'age' lies from 17 to 90."
    assert age.question == "Is it known independently of this table that every value of 'age' lies from 17 to 90?"
    assert "a codebook, a law, an instrument" in age.why
    assert "often one person's" in age.why
    assert groups.statement.startswith("The values of 'age' are grouped into [10, 20), [20, 30), ")
    assert groups.statement.endswith("; then [0, 50), [50, 100); then *.")
    assert groups.question == "Would you have written these groups for 'age' without this table?"
    assert sex.statement == "The values of 'sex' are f, m."
    comma = Policy.parse(DRAFT.replace("domain: [f, m]", 'domain: [f, "m, or none"]'))
    assert profiled(comma)[2].statement == "The values of 'sex' are f, 'm, or none'."
    assert "[0-9]{5}" in code.question
    assert diag.statement == "The values of 'diag' are flu, cold, rare, grouped into common, other; then *."
    assert diag.question == "Would you have written these values and groups for 'diag' without this table?"


def test_a_long_list_is_not_shown_whole():
    values = [f"v{number}" for number in range(40)]
    made = POLICY.with_changes({"attributes.sex.domain": values})
    assert profiled(made)[2].statement.endswith("v11 and 28 more, 40 in all.")


@pytest.mark.slow
@settings(max_examples=12)
@given(st.sets(st.sampled_from(KEYS)))
def test_what_is_confirmed_is_declared_and_nothing_else(chosen):
    made = confirm(POLICY, [each for each in profiled(POLICY) if each.key in chosen])
    assert [each.key for each in profiled(made)] == [key for key in KEYS if key not in chosen]
    assert made.dump().startswith("# drafted by a program\n")
    assert "# years" in made.dump()
    assert "# two codes" in made.dump()
    assert made.schema == POLICY.schema


def test_a_hierarchy_that_follows_from_its_domain_is_confirmed_with_it():
    auto = POLICY.with_changes({"attributes.sex.hierarchy": "auto", "attributes.sex.provenance": "profiled"})
    sex = find_profiled(auto, ["sex"])
    assert [each.keys for each in sex] == [("attributes.sex.hierarchy", "attributes.sex.domain")]
    assert sex == find_profiled(auto, ["sex.hierarchy"])
    assert "attributes.sex" not in " ".join(confirm(auto, sex).profiled_keys())
    declared = auto.with_changes({"attributes.sex.provenance": {"domain": "declared", "hierarchy": "profiled"}})
    assert [each.key for each in find_profiled(declared, ["sex"])] == ["attributes.sex.hierarchy"]


def test_nothing_is_changed_where_nothing_is_confirmed():
    assert confirm(POLICY, []).dump() == DRAFT


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        (["attributes.age.domain"], KEYS[:1]),
        (["age.hierarchy"], KEYS[1:2]),
        (["age"], KEYS[:2]),
        (["diag.domain"], KEYS[4:]),
        (["zip", "age.domain", "zip"], [KEYS[0], KEYS[3]]),
    ],
)
def test_a_person_names_a_key_or_a_column(named, meant):
    assert [each.key for each in find_profiled(POLICY, named)] == meant


@pytest.mark.parametrize("name", ["stay", "age.weight", "Age", "attributes", ""])
def test_a_name_of_nothing_that_is_profiled_is_refused(name):
    with pytest.raises(UsageError, match=r"nothing of this name is profiled.*attributes\.age\.domain"):
        find_profiled(POLICY, [name])
    declared = confirm(POLICY, profiled(POLICY))
    with pytest.raises(UsageError, match="everything is declared"):
        find_profiled(declared, ["age"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("age.domian", "age.domain"),
        ("attributes.zip.doman", "attributes.zip.domain"),
        ("diga.domain", "diag.domain"),
        ("stay.domain", None),
        ("height.domain", None),
        ("sx", "sex"),
        ("ages.hierachy", "age.hierarchy"),
        ("attributes.ward.domain", None),
    ],
)
def test_a_misspelled_key_is_never_taken_for_one_of_another_column(typed, meant):
    with pytest.raises(UsageError) as refused:
        find_profiled(POLICY, [typed])
    offered = refused.value.step
    assert (None if offered is None else offered.replace) == (None if meant is None else (typed, meant))


def test_a_misspelled_key_that_is_declared_already_offers_none():
    declared = confirm(POLICY, [each for each in profiled(POLICY) if each.attribute == "age"])
    with pytest.raises(UsageError) as refused:
        find_profiled(declared, ["age.domian"])
    assert refused.value.step is None
