"""The keys of `method: k-anonymity`: criteria, the search, levels and the population file, and what is refused of them."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import pytest

from shoal.policy.policy import Policy
from shoal.policy.text.problem import dotted_path
from tests.policy.written import problems

TEXT = """\
version: 1
dataset: visits
unit: row
neighbours: add_remove
attributes:
  age: {role: quasi, type: integer, domain: [0, 110], hierarchy: {intervals: [5, 10, 20]}}
  sex: {role: quasi, type: category, domain: [f, m]}
  ill: {role: confidential, type: category, domain: [cold, flu, gout], hierarchy: {groups: {viral: [cold, flu], other: [gout]}}}
  height: {role: other, type: integer}
release:
  method: k-anonymity
  k: 5
"""
POPULATION = "age,sex,people\n30,f,40\n31,m,50\n"


def with_release(words: str) -> str:
    """The policy with more keys of `release`."""
    return TEXT + "".join(f"  {line}\n" for line in words.split("; "))


def asked(words: str, folder: object = None):
    """The release of a policy with these keys, every default written out."""
    return Policy.parse(with_release(words), folder).release  # type: ignore[arg-type]


def test_a_search_is_what_is_meant_where_nothing_is_said():
    release = Policy.parse(TEXT).release
    assert release.recoding.key == "search"
    assert release.recoding.search.loss == "granularity"
    assert release.recoding.search.local is False
    assert release.suppression == 0
    assert asked("recoding: search") == release
    assert asked("recoding: {search: {loss: granularity, local: false}}; suppression: 0") == release


def test_every_criterion_is_read_exactly(tmp_path):
    (tmp_path / "people.csv").write_text(POPULATION)
    criteria = asked(
        "l: 2; t: 0.2; criteria: {entropy_l: 1.5, recursive: {c: 2.5, l: 2}, distance: hierarchical, alpha: 0.6, "
        "beta: {enhanced: 2}, delta: 1.5, k_map: {k: 20, population: people.csv, count: people, public: true}}",
        tmp_path,
    ).criteria
    assert criteria.entropy_l == Fraction(3, 2)
    assert (criteria.recursive.c, criteria.recursive.l) == (Fraction(5, 2), 2)
    assert (criteria.alpha, criteria.beta.enhanced, criteria.beta.basic) == (Fraction(3, 5), 2, None)
    assert (criteria.delta, criteria.k_map.k, criteria.k_map.public) == (Fraction(3, 2), 20, True)
    assert criteria.of_values == ("entropy_l", "recursive", "distance", "alpha", "beta", "delta")


def test_the_lock_names_the_population_by_its_hash(tmp_path):
    (tmp_path / "people.csv").write_text(POPULATION)
    (tmp_path / "same.csv").write_text(POPULATION)
    text = with_release("criteria: {k_map: {k: 20, population: people.csv}}")
    locked = Policy.parse(text, tmp_path).lock()
    assert hashlib.sha256(POPULATION.encode()).hexdigest() in locked.text
    assert "people.csv" not in locked.text
    assert Policy.parse(text.replace("people.csv", "same.csv"), tmp_path).lock() == locked
    (tmp_path / "same.csv").write_text(POPULATION + "32,f,1\n")
    assert Policy.parse(text.replace("people.csv", "same.csv"), tmp_path).lock() != locked


def test_a_lock_has_levels_in_the_order_of_the_alphabet():
    one = Policy.parse(with_release("recoding: {search: {finest: {sex: 0, age: 1}}}")).lock()
    other = Policy.parse(with_release("recoding: {search: {finest: {age: 1, sex: 0}}}")).lock()
    assert one == other
    assert "    search:\n      loss: " in one.text


@pytest.mark.parametrize(
    ("words", "path", "said"),
    [
        ("t: 1.5", "release.t", "below 1"),
        ("criteria: {distance: equal}", "release.criteria.distance", "without t"),
        ("t: 0.2; criteria: {distance: ordered}", "release.criteria.distance", "no order"),
        ("criteria: {entropy_l: 1}", "release.criteria.entropy_l", "above 1"),
        ("criteria: {recursive: {c: 2, l: 1}}", "release.criteria.recursive.l", "from 2 up"),
        ("criteria: {alpha: 1}", "release.criteria.alpha", "between 0 and 1"),
        ("criteria: {beta: {basic: 1, enhanced: 1}}", "release.criteria.beta", "exactly one"),
        ("criteria: {k_map: {k: 20, population: nobody.csv}}", "release.criteria.k_map.population", "cannot be read"),
        ("criteria: {k_map: {k: 20, population: people.csv, public: yes}}", "release.criteria.k_map.public", "true or false"),
        ("recoding: tree", "release.recoding", "nothing pays for"),
        ("recoding: {search: {levels: {age: 9}}}", "release.recoding.search.levels.age", "no such level"),
        ("recoding: {search: {levels: {ill: 1}}}", "release.recoding.search.levels.ill", "only quasi"),
        ("recoding: {levels: {ill: 1}}", "release.recoding.levels.ill", "only quasi"),
        ("recoding: {search: {levels: {age: 1}, finest: {age: 1}}}", "release.recoding.search.finest.age", "fixed already"),
        ("recoding: {search: {finest: {age: 2}, coarsest: {age: 1}}}", "release.recoding.search.finest.age", "at once"),
        ("recoding: {search: {loss: entropy}}", "release.recoding.search.loss", "discernibility"),
        ("epsilon: 1", "release.epsilon", "no differential promise"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_its_key(tmp_path, words, path, said):
    (tmp_path / "people.csv").write_text(POPULATION)
    found = problems(with_release(words), tmp_path)
    assert [dotted_path(one.path) for one in found] == [path]
    assert said in str(found[0])


def test_criteria_on_values_need_a_confidential_attribute():
    text = with_release("l: 2; criteria: {alpha: 0.5, delta: 2}").replace("role: confidential", "role: other")
    assert [dotted_path(one.path) for one in problems(text)] == [
        "release.l",
        "release.criteria.alpha",
        "release.criteria.delta",
    ]


def test_a_hierarchical_distance_needs_a_hierarchy():
    text = with_release("t: 0.2; criteria: {distance: hierarchical}")
    assert Policy.parse(text).release.criteria.distance == "hierarchical"
    bare = text.replace(", hierarchy: {groups: {viral: [cold, flu], other: [gout]}}", "")
    (found,) = problems(bare)
    assert "no hierarchy" in str(found)


def test_without_a_quasi_identifier_there_is_nothing_to_do():
    found = problems(TEXT.replace("role: quasi", "role: other"))
    assert "no quasi-identifier" in str(found[0])


def test_several_rows_of_a_person_are_refused():
    text = TEXT.replace("unit: row", "unit: {column: id, max_rows: 2}").replace(
        "attributes:\n", "attributes:\n  id: {role: identifier}\n"
    )
    (found,) = problems(text)
    assert dotted_path(found.path) == "unit.max_rows"


def test_other_methods_do_not_search():
    text = TEXT.replace(
        "method: k-anonymity\n  k: 5", "method: safe-k\n  epsilon: 1\n  delta: 1e-6\n  recoding: search"
    )
    text = text.replace("  height: {role: other, type: integer}\n", "")
    assert "does not search" in " ".join(map(str, problems(text)))
