"""The same meaning has the same hash, and another meaning another."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.policy.policy import Policy
from shoal.policy.text.reading import read_yaml
from shoal.publish.verify.lock import policy_of_lock
from tests.policy.written import BASE, base, edited


def lock(text: str, folder=None):
    return Policy.parse(text, folder).lock()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version: 1\n", "# a comment\n\nversion:   1   # another\n"),
        ("dataset: visits", "dataset: 'visits'"),
        ("delta: 1e-6", "delta: 0.000001"),
        ("delta: 1e-6", "delta: 1.0E-06"),
        ("epsilon: 1.0", "epsilon: 1"),
        ("epsilon: 0.2", "epsilon: 1/5"),
        ("[0, 110]", "{interval: [0, +110]}"),
        ("[no, yes]", "[yes, no]"),
        ("[no, yes]", "{values: ['no', yes]}"),
        ("{mask: right}", "{mask: {side: right}}"),
        ("[5, 10, 20, 40]", "[5.0, 1e1, 20, 40]"),
        ("hierarchy: auto", "hierarchy: {groups: []}"),
        ("role: identifier", "role: identifier, type: text, missing: value, provenance: profiled"),
        ("type: integer,", "type: integer, weight: 1.0, outside: error, provenance: {domain: declared},"),
        ("sampling: {beta: auto}", "sampling: {prefer: balance}"),
        ("  sampling: {beta: auto}\n", ""),
        ("sampling: {beta: auto}", "sampling: {beta: auto}\n  bound: tight\n  repeat: 1\n  output: parquet"),
    ],
)
def test_the_same_meaning(old, new):
    assert edited((old, new)) != BASE
    assert lock(edited((old, new))) == lock(BASE)


def test_the_order_of_keys_does_not_count():
    lines = BASE.splitlines(keepends=True)
    head, attributes, release, budget = lines[:4], lines[5:10], lines[11:16], lines[16:]
    turned = [*budget, "release:\n", *release[::-1], "attributes:\n", *attributes[::-1], *head[::-1]]
    assert lock("".join(turned)) == lock(BASE)


@pytest.mark.slow
def test_fixed_levels_and_views_have_one_form():
    assert lock(base(recoding={"levels": {"age": 0}})) == lock(base(recoding={"levels": {"zip": 0}}))
    assert (
        lock(base(recoding={"tree": {"epsilon": "0.15"}})) == lock(base(recoding=None)) == lock(base(recoding="tree"))
    )
    one, other = [["age", "zip"], ["visit"]], [["visit"], ["zip", "age"]]
    assert lock(base(views={"workload": one})) == lock(base(views={"workload": other}))
    assert lock(base(views={"every": "pairs"})) == lock(base(views="pairs"))
    assert lock(base(views={"every": "pairs", "show": "rows"})) == lock(base(views="pairs"))
    groups = "{groups: {x: [no], y: [yes]}}", "{groups: {y: [yes], x: [no]}}"
    assert len({lock(edited(("hierarchy: auto", f"hierarchy: {each}"))).sha256 for each in groups}) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dataset: visits", "dataset: visit"),
        ("unit: row", "unit: {column: id, max_rows: 1}"),
        ("add_remove", "replace_one"),
        ("role: identifier", "role: drop"),
        ("[0, 110]", "[0, 111]"),
        ("[5, 10, 20, 40]", "[5, 10, 20]"),
        ("{mask: right}", "{mask: left}"),
        ("[no, yes]", "[no, Yes]"),
        ("type: category", "type: ordinal"),
        ("type: integer,", "type: integer, missing: refuse,"),
        ("type: integer,", "type: integer, outside: clamp,"),
        ("type: integer,", "type: integer, weight: 2,"),
        ("type: integer,", "type: integer, provenance: profiled,"),
        ("type: integer,", "type: integer, provenance: {domain: profiled},"),
        ("epsilon: 1.0", "epsilon: 1.0000000000000000000001"),
        ("delta: 1e-6", "delta: 1e-7"),
        ("{tree: {epsilon: 0.2}}", "{choose: {epsilon: 0.2}}"),
        ("{beta: auto}", "{beta: 0.5}"),
        ("{beta: auto}", "{prefer: rows}"),
        ("method: safe-k", "method: safe-k\n  k: 20"),
        ("method: safe-k", "method: safe-k\n  views: pairs"),
        ("method: safe-k", "method: safe-k\n  repeat: 2"),
        ("method: safe-k", "method: safe-k\n  output: csv"),
        ("budget: {epsilon: 3, delta: 1e-5}\n", ""),
        ("budget: {epsilon: 3,", "budget: {epsilon: 4,"),
    ],
)
def test_another_meaning(old, new):
    assert lock(edited((old, new))).sha256 != lock(BASE).sha256


def test_the_order_of_ordinal_values_counts():
    ordinal = edited(("type: category", "type: ordinal"))
    assert lock(ordinal) != lock(ordinal.replace("[no, yes]", "[yes, no]"))


def test_files_count_by_their_content(tmp_path):
    (tmp_path / "a.csv").write_text("no;*\nyes;*\n")
    (tmp_path / "b.csv").write_text("no;*\nyes;*\n")
    (tmp_path / "c.csv").write_text("no;all\nyes;all\n")
    locks = {}
    for name in "abc":
        text = edited(("domain: [no, yes], hierarchy: auto", f"hierarchy: {{file: {name}.csv}}"))
        locks[name] = lock(text, tmp_path)
        declared = text.replace("hierarchy: {file", "domain: [no, yes], hierarchy: {file")
        assert lock(declared, tmp_path) == locks[name], "the file lists the domain"
    assert locks["a"] == locks["b"]
    assert locks["a"] != locks["c"]
    assert hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest() in locks["a"].text


def test_a_lock_is_of_the_files_that_were_loaded(tmp_path):
    (tmp_path / "a.csv").write_text("no;*\nyes;*\n")
    policy = Policy.parse(edited(("domain: [no, yes], hierarchy: auto", "hierarchy: {file: a.csv}")), tmp_path)
    before = policy.lock()
    (tmp_path / "a.csv").write_text("no;all\nyes;all\n")
    assert policy.lock() == before
    (tmp_path / "a.csv").unlink()
    assert policy.lock() == before


def test_the_text_is_yaml_and_has_no_comments():
    locked = lock("# a comment\n" + BASE)
    assert locked.sha256 == hashlib.sha256(locked.text.encode()).hexdigest()
    assert "#" not in locked.text
    tree = read_yaml(locked.text).tree
    assert tree["release"]["delta"] == "0.000001"
    assert list(tree["attributes"]) == sorted(tree["attributes"])


def test_a_lock_without_files_is_itself_a_policy_with_the_same_lock():
    locked = lock(BASE)
    text = locked.text.replace("    domain: null\n    hierarchy: null\n", "")
    assert lock(text) == locked


@pytest.mark.slow
@given(st.permutations(range(5)), st.integers(0, 5))
@settings(max_examples=30)
def test_any_order_and_any_blanks(order, blanks):
    lines = BASE.splitlines(keepends=True)
    attributes = [lines[5 + i].replace(", ", "," + " " * (blanks + 1)) for i in order]
    assert lock("".join([*lines[:5], *attributes, "\n" * blanks, *lines[10:]])) == lock(BASE)


# --- noisy counts -------------------------------------------------------------------------------------------------

LATER = ("adapt", "cells", "counts", "never", "rounds", "rows", "share", "synthetic")


def test_a_name_like_a_key_that_came_later_is_in_quotes_as_it_was_before():
    """Locks that were written before these keys were known keep their text, whatever a person called a column."""
    for name in LATER:
        text = BASE.replace("answer", name)
        levels = text.replace("{tree: {epsilon: 0.2}}", f"{{levels: {{{name}: 1}}}}")
        assert f'  "{name}":\n    role: "confidential"' in Policy.parse(text).lock().text
        assert f'      "{name}": 1\n' in Policy.parse(levels).lock().text


def test_no_key_of_noisy_counts_is_in_the_lock_of_rows():
    for keys in ({}, {"views": "pairs"}, {"views": {"choose": {"epsilon": "0.1", "count": 3}}}):
        text = Policy.parse(base(**keys)).lock().text
        assert not any(f" {key}:" in text for key in (*LATER, "show"))


def test_noisy_counts_are_locked_with_their_defaults():
    head, _, _ = BASE.partition("release:")
    rules = "[{answer: [yes, no], age: [5, 15]}, {age: 3}]"
    made = f"{head}release: {{method: synthetic, epsilon: 1, delta: 1e-6, synthetic: {{never: {rules}}}}}\n"
    text = Policy.parse(made).lock().text
    assert '  views:\n    every: "pairs"\n    cells: "merged"\n    show: "counts"\n' in text
    assert '    rows: "noisy"\n    never: [{"age": ["3"]}, {"age": ["5", "15"], "answer": ["no", "yes"]}]\n' in text
    turned = made.replace(rules, "[{age: [3, 3]}, {age: [5, 15], answer: [no, yes]}]")
    assert Policy.parse(turned).lock() == Policy.parse(made).lock()
    assert policy_of_lock(text).lock().text == text
