"""Each thing that can be wrong: the key's path, its line, what came, what is allowed, what to do."""

from __future__ import annotations

import pytest

from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from tests.policy.written import BASE, base, edited, problems, the_problem

AGE = "age: {role: quasi, type: integer, domain: [0, 110], hierarchy: {intervals: [5, 10, 20, 40]}}"
ANSWER = "{role: confidential, type: category, domain: [no, yes], hierarchy: auto}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "path", "line", "words"),
    [
        # keys
        ("dataset: visits", "datset: visits", "datset", 2, "did you mean 'dataset'?"),
        ("epsilon: 1.0", "epsilon: 1.0\n  Epsilon: 2", "release.Epsilon", 14, "did you mean 'epsilon'?"),
        ("{tree: {epsilon: 0.2}}", "{tree: {epsilno: 0.2}}", "release.recoding.tree.epsilno", 15, "mean 'epsilon'?"),
        ("domain: [0, 110]", "domaine: [0, 110]", "attributes.age.domaine", 7, "did you mean 'domain'?"),
        ("{mask: right}", "{mask: {sid: right}}", "attributes.zip.hierarchy.mask.sid", 8, "did you mean 'side'?"),
        ("unit: row", "unit: person", "unit", 3, "row, or {column: ..., max_rows: ...}"),
        ("unit: row", "unit: {column: id}", "unit", 3, "both a column and a number of rows"),
        ("unit: row", "unit: {}", "unit", 3, "both a column and a number of rows"),
        ("unit: row", "unit:", "unit", 3, "no value"),
        ("unit: row", "unit: {column: id, max_rows: 0}", "unit.max_rows", 3, "a whole number from 1 up"),
        ("neighbours: add_remove", "neighbours: add-remove", "neighbours", 4, "did you mean 'add_remove'?"),
        ("dataset: visits", "dataset: ' visits'", "dataset", 2, "blanks around it"),
        ("dataset: visits", "dataset: [a]", "dataset", 2, "a list where one value belongs"),
        # attributes
        ("role: identifier", "role: id", "attributes.id.role", 6, "identifier, quasi, confidential"),
        ("role: identifier", "type: text", "attributes.id", 6, "the key 'role' is missing"),
        ("type: integer, ", "", "attributes.age", 7, "the key 'type' is missing"),
        ("type: integer", "type: int", "attributes.age.type", 7, "did you mean 'integer'?"),
        (AGE, "age: quasi", "attributes.age", 7, "a mapping, such as"),
        (AGE, "age:", "attributes.age", 7, "no value"),
        (AGE, "'': {role: drop}", "attributes.''", 7, "a name"),
        # domains
        ("[0, 110]", "[110, 0]", "attributes.age.domain", 7, "low <= high"),
        ("[0, 110]", "[0, 1.5]", "attributes.age.domain", 7, "not a value of type integer"),
        ("[0, 110]", "[0, 99999999999999999999]", "attributes.age.domain", 7, "not a value of type integer"),
        ("[0, 110]", "[0]", "attributes.age.domain", 7, "an interval has two ends"),
        ("[0, 110]", "[0, 1, 2]", "attributes.age.domain", 7, "{values: [...]}"),
        ("[0, 110]", "[0, [1]]", "attributes.age.domain[1]", 7, "one value"),
        ("[0, 110]", "0..110", "attributes.age.domain", 7, "[low, high], a list of values"),
        ("[0, 110]", "{pattern: a}", "attributes.age.domain", 7, "patterns are for type: text"),
        ("[0, 110]", "{interval: [0, 1], values: [1]}", "attributes.age.domain", 7, "exactly one of these"),
        ("[0, 110]", "{length: 5}", "attributes.age.domain", 7, "one of these keys is needed"),
        ("[0, 110]", "{values: [1], length: 5}", "attributes.age.domain", 7, "a length without a pattern"),
        ("[2024-01-01, 2026-12-31]", "[2024-02-30, 2026-12-31]", "attributes.visit.domain", 9, "2025-03-01"),
        ("[2024-01-01, 2026-12-31]", "[01.01.2024, 31.12.2026]", "attributes.visit.domain", 9, "2025-03-01"),
        ("[2024-01-01, 2026-12-31]", "[20240101, 20261231]", "attributes.visit.domain", 9, "2025-03-01"),
        ('{pattern: "[0-9]{5}"}', '{pattern: "[0-9"}', "attributes.zip.domain", 8, "no regular expression"),
        ('{pattern: "[0-9]{5}"}', '{pattern: "a{99999}"}', "attributes.zip.domain", 8, "too often"),
        ('{pattern: "[0-9]{5}"}', '{pattern: "a", length: 2000}', "attributes.zip.domain.length", 8, "to 1000"),
        ('{pattern: "[0-9]{5}"}', "{interval: [a, b]}", "attributes.zip.domain", 8, "an interval for type text"),
        ("[no, yes]", "[no, yes, no]", "attributes.answer.domain", 10, "list each value once"),
        ("[no, yes]", "[]", "attributes.answer.domain", 10, "list at least one value"),
        ("[no, yes]", "[no, '']", "attributes.answer.domain[1]", 10, "an empty value"),
        ("category, domain: [no, yes]", "boolean, domain: [no, yes]", "attributes.answer.domain", 10, "leave the domain"),
        ("category, domain: [no, yes]", "decimal, domain: {values: [1]}", "attributes.answer.domain", 10, "[low, high]"),
        # hierarchies
        ("{intervals: [5, 10, 20, 40]}", "{intervals: [5, 12]}", "attributes.age.hierarchy", 7, "do not nest"),
        ("{intervals: [5, 10, 20, 40]}", "{intervals: [5, x]}", "attributes.age.hierarchy.intervals[1]", 7, "not a num"),
        ("{intervals: [5, 10, 20, 40]}", "{intervals: 0}", "attributes.age.hierarchy.intervals", 7, "out of range"),
        ("{intervals: [5, 10, 20, 40]}", "{intervals: 5, mask: right}", "attributes.age.hierarchy", 7, "exactly one"),
        ("{intervals: [5, 10, 20, 40]}", "{intervals: 5, labels: [a]}", "attributes.age.hierarchy", 7, "beside cuts"),
        ("{intervals: [5, 10, 20, 40]}", "{intervals: {a: 5}}", "attributes.age.hierarchy.intervals", 7, "a list, such"),
        ("{intervals: [5, 10, 20, 40]}", "{cuts: [x]}", "attributes.age.hierarchy", 7, "not a value of type integer"),
        ("{intervals: [5, 10, 20, 40]}", "{cuts: {a: 5}}", "attributes.age.hierarchy", 7, "not a list of values"),
        ("{intervals: [5, 10, 20, 40]}", "{cuts: [50], above: 1e9}", "attributes.age.hierarchy", 7, "not a value"),
        ("{intervals: [5, 10, 20, 40]}", "{mask: right}", "attributes.age.hierarchy", 7, "another type"),
        ("{intervals: [5, 10, 20, 40]}", "{}", "attributes.age.hierarchy", 7, "one of these keys is needed"),
        ("{intervals: [5, 10, 20, 40]}", "none", "attributes.age.hierarchy", 7, "or auto"),
        ("{intervals: [5, 10, 20, 40]}", "{file: gone.csv}", "attributes.age.hierarchy", 7, "cannot be read"),
        ("{intervals: [5, 10, 20, 40]}", "{taxonomy: ''}", "attributes.age.hierarchy.taxonomy", 7, "no value"),
        ("{mask: right}", "{mask: middle}", "attributes.zip.hierarchy.mask", 8, "left or right"),
        ("{mask: right}", "{mask: {side: left, prefix: 2}}", "attributes.zip.hierarchy.mask", 8, "side or prefix"),
        ("{mask: right}", "{mask: {keep: 2, prefix: 2}}", "attributes.zip.hierarchy.mask", 8, "one of the two"),
        ("[month, quarter, year]", "[month, yaer]", "attributes.visit.hierarchy.date[1]", 9, "did you mean 'year'?"),
        ("[month, quarter, year]", "[year, month]", "attributes.visit.hierarchy", 9, "from fine to coarse"),
        ('"[0-9]{5}"}, hierarchy: {mask: right}', "a+}, hierarchy: auto", "attributes.zip.hierarchy", 8, "near what"),
        # the rest of an attribute
        (ANSWER, ANSWER[:-1] + ", outside: clamp}", "attributes.answer.outside", 10, "outside: error or suppress"),
        (ANSWER, ANSWER[:-1] + ", missing: drop}", "attributes.answer.missing", 10, "value or refuse"),
        (ANSWER, ANSWER[:-1] + ", weight: 0}", "attributes.answer.weight", 10, "a number above 0"),
        (ANSWER, ANSWER[:-1] + ", provenance: guessed}", "attributes.answer.provenance", 10, "declared or profiled"),
        (ANSWER, ANSWER[:-1] + ", provenance: {domain: x}}", "attributes.answer.provenance.domain", 10, "declared or"),
        (ANSWER, "{role: weight, type: category, domain: [a]}", "attributes.answer.type", 10, "integer or decimal"),
        # releases
        ("method: safe-k", "method: safe_k", "release.method", 12, "did you mean 'safe-k'?"),
        ("recoding: {tree: {epsilon: 0.2}}", "recoding: trees", "release.recoding", 15, "mean 'tree'?"),
        ("recoding: {tree: {epsilon: 0.2}}", "recoding: {}", "release.recoding", 15, "levels, choose, tree or search"),
        ("recoding: {tree: {epsilon: 0.2}}", "recoding: {levels: 3}", "release.recoding.levels", 15, "a mapping, such"),
        ("recoding: {tree: {epsilon: 0.2}}", "views: pair", "release.views", 15, "did you mean 'pairs'?"),
        ("recoding: {tree: {epsilon: 0.2}}", "views: {groups: [age]}", "release.views.groups[0]", 15, "a list, such"),
        ("{beta: auto}", "{beta: 0.1, already: 0.1}", "release.sampling", 16, "one of the two"),
        ("{beta: auto}", "{beta: 0.1, prefer: rows}", "release.sampling", 16, "prefer beside beta: auto"),
        ("{beta: auto}", "{prefer: more}", "release.sampling.prefer", 16, "rows, balance or detail"),
        ("{beta: auto}", "0.5", "release.sampling", 16, "{beta: a number}"),
        ("sampling: {beta: auto}", "bound: loose", "release.bound", 16, "tight or published"),
        ("sampling: {beta: auto}", "output: {format: xls}", "release.output.format", 16, "parquet or csv"),
        ("sampling: {beta: auto}", "repeat: 0", "release.repeat", 16, "a whole number from 1 up"),
        ("budget: {epsilon: 3, delta: 1e-5}", "budget: {epsilon: 3}", "budget", 17, "the key 'delta' is missing"),
    ],
)  # fmt: skip
def test_one_thing_is_wrong(old, new, path, line, words):
    problem = the_problem(edited((old, new)), path, line)
    assert words in problem.words("policy.yaml")


def test_what_is_missing_altogether():
    found = {p.wrong for p in problems("release: {}\n")}
    names = ("version", "dataset", "unit", "neighbours", "attributes", "method")
    assert found == {f"the key '{name}' is missing" for name in names}
    assert problems("version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes: {}\n")[0].line == 5


def test_sound_parts_are_checked_although_others_are_not():
    text = edited(("version: 1", "version: one"), ("epsilon: 3", "epsilon: 0.5"), ("[2024-01-01", "[2024-13-01"))
    assert [p.line for p in problems(text)] == [1, 9, 17]


def test_paths_with_odd_names():
    text = edited((AGE, "'my. age': {role: none}"))
    with pytest.raises(PolicyError, match=r"attributes\.'my\. age'\.role"):
        Policy.parse(text)


def test_a_message_does_not_repeat_a_long_value():
    (problem,) = problems(edited(("epsilon: 1.0", "epsilon: " + "x" * 500)))
    assert len(problem.came) == 80


def test_a_policy_file_error_is_a_usage_error():
    with pytest.raises(PolicyError) as caught:
        Policy.parse(BASE.replace("version: 1", "version: 9"))
    assert caught.value.exit_code == 2
    assert caught.value.kind == "PolicyError"
    assert str(caught.value) == (
        "version (policy, line 1): a version of the policy file that is not known; got 9; allowed: 1; "
        "this Shoal reads version 1"
    )


def test_plain_values_that_a_policy_cannot_hold():
    with pytest.raises(PolicyError, match="a value that a policy cannot hold"):
        Policy.parse(base()).with_changes({"release.k": object()})
