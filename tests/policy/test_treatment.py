"""The treatments of a policy: read from the file or beside it, one form in the lock, and everything that is refused."""

from __future__ import annotations

import json

import pytest

from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from shoal.policy.text.reading import read_yaml
from shoal.publish.verify.lock import policy_of_lock

BASE = """version: 1
dataset: people
unit: {column: who, max_rows: 1}
neighbours: add_remove
attributes:
  who: {role: identifier}
  age: {role: quasi, type: integer, domain: [0, 110]}
  code: {role: quasi, type: integer, domain: {values: [1, 5, 9]}}
  pay: {role: other, type: decimal, domain: [0, 9.97]}
  day: {role: quasi, type: date, domain: [2020-01-01, 2020-12-31]}
  grade: {role: other, type: ordinal, domain: [low, middle, high]}
  town: {role: quasi, type: category, domain: [a, b, c, other]}
  sex: {role: quasi, type: category, domain: [f, m], missing: refuse}
  note: {role: other, type: text}
treatments:
- STEP
release: {method: RELEASE}
"""
SYNTACTIC = "microaggregation, k: 3"
DIFFERENTIAL = "safe-k, epsilon: 1, delta: 1e-6, recoding: {levels: {age: 0}}"


def policy(*steps, release=SYNTACTIC, folder=None):
    return Policy.parse(
        BASE.replace("- STEP", "\n".join(f"- {step}" for step in steps)).replace("RELEASE", release), folder
    )


def locked(*steps, folder=None):
    return read_yaml(policy(*steps, folder=folder).lock().text).tree["treatments"]


# --- the lock ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("{top: {age: 85, pay: 5}}", "{top: {pay: '5.0', age: +85}}"),
        ("{round: {pay: 0.1}}", "{round: {pay: 1/10}}"),
        ("{pram: {attribute: sex, keep: 0.8}}", "{pram: {attribute: sex, keep: 4/5, missing: stay}}"),
        (
            "{pram: {attribute: sex, matrix: {f: {f: 1}, m: {f: 0.5, m: 0.5}}}}",
            "{pram: {attribute: sex, matrix: {m: {m: 1/2, f: 1/2}, f: {f: 1.0, m: 0}}}}",
        ),
    ],
)
def test_one_form_for_one_meaning(one, other):
    assert policy(one).lock() == policy(other).lock()


def test_the_order_of_the_steps_counts():
    steps = "{top: {age: 85}}", "{round: {age: 10}}"
    assert policy(*steps).lock() != policy(*steps[::-1]).lock()


def test_a_policy_without_steps_has_no_key():
    none = Policy.parse(
        BASE.replace("- STEP", "[]").replace("treatments:\n[]", "treatments: []").replace("RELEASE", SYNTACTIC)
    )
    assert "treatments" not in none.lock().text


EVERY = (
    "{top: {age: 85, day: 2020-06-01, grade: middle}}",
    "{bottom: {age: 16, code: 5}}",
    "{round: {age: 5, pay: 0.3}}",
    "{random_round: {age: 3}}",
    "{population_threshold: {attribute: town, least: 10, counts: {a: 1, b: 20, c: 30, other: 0}, other: other}}",
    "{population_threshold: {attribute: town, least: 2}}",
    "{pram: {attribute: town, keep: 0.8, missing: draw}}",
    "{pram: {attribute: sex, matrix: {f: {f: 2/3, m: 1/3}, m: {m: 1}}}}",
    "{swap: {attributes: [town, grade], rate: 0.05, within: [sex]}}",
)


def test_a_lock_is_read_back():
    asked = policy(*EVERY)
    assert policy_of_lock(asked.lock().text).lock() == asked.lock()


# --- files -------------------------------------------------------------------------------------------------------------


def test_files_count_by_what_they_hold(tmp_path):
    (tmp_path / "people.csv").write_text("town;people\na;1\nc;30\nb;20\nother;0\nelsewhere;7\n")
    (tmp_path / "matrix.csv").write_text("from,f,m\nm,0,1\nf,2/3,1/3\n")
    steps = (
        "{population_threshold: {attribute: town, least: 10, counts: people.csv, other: other}}",
        "{pram: {attribute: sex, matrix: matrix.csv}}",
    )
    assert locked(*steps, folder=tmp_path) == locked(EVERY[4], EVERY[7])


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("town,people\na,1\n", "no population for 3 of the 4 declared values"),
        ("town,people\na,1\na,2\n", "each value once"),
        ("town,people\na,1,2\n", "two columns"),
        ("town,people\n", "a file without rows"),
        ("town,people\na,many\n", "not a whole number"),
        ("town,people\na,1\nb,1\nc,1\nother,1\n", "every value is below the threshold"),
        (None, "a file cannot be read"),
    ],
)
def test_a_population_file_that_is_none(tmp_path, text, wrong):
    if text is not None:
        (tmp_path / "people.csv").write_text(text)
    with pytest.raises(PolicyError, match=wrong):
        policy(
            "{population_threshold: {attribute: town, least: 10, counts: people.csv, other: other}}", folder=tmp_path
        )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("x,f,m\nf,1,0\nm,0.5,0.4\n", "the row of 'm' does not sum to 1; got 0.9"),
        ("x,f,m\nf,1,0\n", "no row for 1 of 2 values"),
        ("x,f,m\nf,1,0\nm,2,-1\n", "not a probability"),
        ("x,f\nf,1\nm,1,0\n", "each once"),
        ("x,f,m,d\nf,1,0,0\nm,0,1,0\n", "not in the domain; got d"),
        ("x,f,m\nf,1,0\nm,x,1\n", "not a number"),
    ],
)
def test_a_matrix_file_that_is_none(tmp_path, text, wrong):
    (tmp_path / "matrix.csv").write_text(text)
    with pytest.raises(PolicyError, match=wrong):
        policy("{pram: {attribute: sex, matrix: matrix.csv}}", folder=tmp_path)


def test_a_file_of_other_letters(tmp_path):
    (tmp_path / "matrix.csv").write_bytes(b"x,\xff\n")
    with pytest.raises(PolicyError, match="no UTF-8 text"):
        policy("{pram: {attribute: sex, matrix: matrix.csv}}", folder=tmp_path)


# --- what is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        ("{top: {age: 111}}", r"treatments\[0\]\.top\.age .*a code outside the domain; got 111; allowed: 0..110"),
        ("{top: {age: old}}", "not a value of type integer"),
        ("{top: {code: 6}}", "a code outside the domain"),
        ("{top: {grade: top}}", "a code outside the domain"),
        ("{top: {town: a}}", "not for values of this type; got category"),
        ("{top: {aeg: 85}}", "no such attribute; got aeg.*did you mean 'age'"),
        ("{bottom: {who: a}}", "attribute 'who' is never published; got identifier"),
        ("{top: {}}", "nothing is listed"),
        ("{top: {age: 20}, bottom: {age: 10}}", "exactly one of these keys"),
        ("{tpo: {age: 85}}", "an unknown key; got tpo.*did you mean 'top'"),
        ("top", "not in the form that belongs here"),
        ("{round: {age: 0.5}}", "a whole base"),
        ("{round: {age: 0}}", "out of range"),
        ("{round: {day: 7}}", "not for values of this type; got date.*hierarchy"),
        ("{round: {code: 2}}", "its domain lists single values"),
        ("{random_round: {pay: 2}}", "not for values of this type; got decimal.*whole units"),
        ("{random_round: {age: 1}}", "out of range"),
        ("{random_round: {code: 2}}", "its domain lists single values"),
        ("{population_threshold: {attribute: age, least: 5}}", "not for values of this type"),
        ("{population_threshold: {attribute: note, least: 5}}", "its values are not listed"),
        ("{population_threshold: {attribute: sex, least: 5}}", "become missing, which the policy refuses"),
        ("{population_threshold: {attribute: town, least: 5, other: x}}", "no declared value; got x"),
        ("{population_threshold: {attribute: town, least: 5, counts: {a: -1}}}", "out of range"),
        ("{population_threshold: {attribute: town, least: 5, counts: []}}", "neither a file nor a mapping"),
        ("{pram: {attribute: town}}", "one of these keys is needed"),
        ("{pram: {attribute: town, keep: 1}}", "out of range"),
        ("{pram: {attribute: sex, keep: 0.5, missing: draw}}", "no value is missing, so none can be drawn"),
        ("{pram: {attribute: sex, matrix: {f: {f: 1}, m: {m: 1}}, missing: draw}}", "the matrix says"),
        ("{pram: {attribute: town, matrix: {a: {a: 1}}}}", r"no row for 4 of 5 values.*\(missing\)"),
        ("{pram: {attribute: sex, matrix: {f: {f: 1.5}}}}", "out of range"),
        ("{pram: {attribute: age, keep: 0.5}}", "not for values of this type"),
        ("{swap: {attributes: [town, town], rate: 0.5}}", "an attribute is named twice"),
        ("{swap: {attributes: [town], rate: 0.5, within: [town]}}", "an attribute is named twice"),
        ("{swap: {attributes: [town], rate: 0.5, within: [who]}}", "is never published"),
        ("{swap: {attributes: [], rate: 0.5}}", "nothing is listed"),
        ("{swap: {attributes: [town], rate: 2}}", "out of range"),
    ],
)  # fmt: skip
def test_what_is_no_step(step, wrong):
    with pytest.raises(PolicyError, match=wrong):
        policy(step)


def test_no_multiple_in_the_domain():
    with pytest.raises(PolicyError, match=r"no multiple of the base lies in the domain"):
        Policy.parse(
            BASE.replace("- STEP", "- {round: {age: 1000}}")
            .replace("[0, 110]", "[7, 110]")
            .replace("RELEASE", SYNTACTIC)
        )


def test_a_bottom_code_above_the_top_code():
    with pytest.raises(PolicyError, match=r"treatments\[1\]\.bottom\.age .*not below the top code"):
        policy("{top: {age: 20}}", "{bottom: {age: 20}}")


def test_everything_that_is_wrong_is_said_at_once():
    with pytest.raises(PolicyError) as caught:
        policy("{top: {age: 111}}", "{round: {day: 7}}", "{swap: {attributes: [x], rate: 0.5}}")
    assert len(caught.value.problems) == 3
    assert json.dumps(caught.value.to_json())


def test_too_many_steps():
    with pytest.raises(PolicyError):
        policy(*["{top: {age: 85}}"] * 101)


@pytest.mark.parametrize("step", [EVERY[5], EVERY[8]])
def test_steps_that_look_at_other_records_are_refused_before_a_differential_method(step):
    policy(step)
    with pytest.raises(PolicyError, match=r"treatments\[1\].*record-wise-treatment"):
        policy("{top: {age: 85}}", step, release=DIFFERENTIAL)


def test_the_other_steps_are_not():
    steps = "\n".join(f"- {step}" for step in EVERY if step not in (EVERY[5], EVERY[8]))
    text = BASE.replace("- STEP", steps).replace("RELEASE", DIFFERENTIAL)
    Policy.parse(text.replace("note: {role: other", "note: {role: drop"))


def test_a_population_that_is_not_treated_counts_no_treated_classes(tmp_path):
    (tmp_path / "people.csv").write_text("age,code,day,town,sex\n20,1,2020-01-01,a,f\n")
    release = "k-anonymity, k: 3, criteria: {k_map: {k: 5, population: people.csv}}"
    with pytest.raises(PolicyError, match=r"not together with release.criteria.k_map.*got age"):
        policy("{top: {age: 85, pay: 5}}", release=release, folder=tmp_path)
    policy("{top: {pay: 5}}", release=release, folder=tmp_path)
