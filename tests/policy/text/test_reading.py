"""Every scalar stays the text that was typed, and what is not plain YAML is refused with its line."""

from __future__ import annotations

import pytest

from shoal.data.domain import Values
from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from shoal.policy.text.problem import RefusedPolicyError
from shoal.policy.text.reading import read_yaml
from tests.policy.written import BASE, edited, problems

TRAPS = [
    "no", "yes", "on", "off", "y", "n", "true", "FALSE", "null", "~", "01234", "0o17", "0x1F", "1_000", "1e-6", "1e6",
    ".5", "5.", ".inf", ".nan", "+1", "-0", "12:30:45", "190:20:30", "2024-01-01", "2024-01-01T10:00:00Z", "=", "é",
    "<=50K", ">50K", "a b", "1.0", "1.00", "0b1010", "NULL", "None",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("style", ["{}", "'{}'", '"{}"'])
def test_a_value_is_the_text_that_was_typed(trap, style):
    typed = style.format(trap)
    if typed == ">50K":
        typed = f'"{typed}"'  # YAML itself takes it for a folded text
    policy = Policy.parse(edited(("domain: [no, yes]", f"domain: [{typed}, other]")))
    assert policy.schema["answer"].domain == Values((trap, "other"))


def test_names_are_texts_too():
    policy = Policy.parse(edited(("  answer:", "  no:")))
    assert "no" in policy.schema.names
    assert "2024" in Policy.parse(edited(("  answer:", "  2024:"))).schema.names


def test_values_over_several_lines_and_in_blocks():
    flow = "{role: confidential, type: category, domain: [no, yes], hierarchy: auto}"
    block = "\n    role: confidential\n    type: category\n    hierarchy: auto\n    domain:\n"
    values = "      - no\n      - yes # both\n      - |-\n        maybe"
    text = edited((flow, block + values))
    assert Policy.parse(text).schema["answer"].domain == Values(("no", "yes", "maybe"))


def test_json_is_yaml():
    head = '{"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove", '
    policy = Policy.parse(head + '"attributes": {"a": {"role": "drop"}}}')
    assert policy.release is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: [1, 2\nb: 3", 2, "not YAML"),
        ("a: b: c", 1, "not YAML"),
        ("a: 1\n\tb: 2", 2, "not YAML"),
        ("a: 'open", 1, "not YAML"),
        ("a: 1\na: 2", 2, "written twice"),
        ("a:\n  b: 1\n  c: 2\n  b: 3", 4, "written twice"),
        ("a: &x 1\nb: *x", 1, "an anchor"),
        ("a: &x 1\nb: *x", 2, "an alias"),
        ("a: !!int 1", 1, "a tag"),
        ("a: {<<: {b: 1}}", 1, "a merge key"),
        ("a: 1\n---\nb: 2", 2, "a second document"),
        ("a: 1\n? [b]\n: 2", 2, "a key that is not a text"),
        ("\n\na: " + "[" * 50, 3, "nested too deeply"),
        ("a: \x07", 1, "not YAML"),
    ],
)
def test_what_is_not_plain_is_refused(text, line, words):
    with pytest.raises(RefusedPolicyError) as caught:
        read_yaml(text)
    assert [p for p in caught.value.problems if words in p.wrong and p.line == line], caught.value


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\n\n", "{}", "[]", "text", "[1, 2]", "~"])
def test_a_file_without_a_policy(text):
    with pytest.raises(PolicyError):
        Policy.parse(text)


@pytest.mark.parametrize(
    "table",
    [
        "name,pay\nSecretAnn,31\nSecretBob,27\n",
        "- SecretAnn\n- SecretBob\n",
        '[{"name": "SecretAnn", "pay": 31}]',
        "&SecretAnn,31\n",
        "*SecretAnn,31\n",
        "!SecretAnn 31\n",
        '"SecretAnn","31"\n',
        "name\tpay\nSecretAnn\t31\n",
    ],
)
def test_a_table_given_for_a_policy_is_never_quoted(table):
    with pytest.raises(PolicyError) as caught:
        Policy.parse(table)
    assert "Secret" not in str(caught.value)
    assert "31" not in str(caught.value)


def test_a_file_that_is_far_too_long():
    with pytest.raises(PolicyError, match="too long"):
        read_yaml("a" * 20_000_000)


def test_files_that_cannot_be_read(tmp_path):
    for path, words in [
        (tmp_path / "absent.yaml", "No such file"),
        (tmp_path, "cannot be read"),
        ("a\0b", "cannot be read"),
    ]:
        with pytest.raises(PolicyError, match=words):
            Policy.load(path)
    (tmp_path / "latin.yaml").write_bytes(b"dataset: caf\xe9")
    with pytest.raises(PolicyError, match="UTF-8"):
        Policy.load(tmp_path / "latin.yaml")


def test_a_byte_order_mark_and_windows_line_ends(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert Policy.load(file).lock() == Policy.parse(BASE).lock()


def test_the_file_is_named_in_its_errors(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("version: 1\n")
    with pytest.raises(RefusedPolicyError, match=r"mine\.yaml") as caught:
        Policy.load(file)
    assert caught.value.file == str(file)


def test_many_problems_are_one_message_in_the_order_of_the_file():
    text = edited(
        ("version: 1", "version: 7"), ("add_remove", "both"), ("epsilon: 1.0", "epsilon: one"), ("[0, 110]", "[9, 1]")
    )
    found = problems(text)
    assert [p.line for p in found] == [1, 4, 7, 13]
    with pytest.raises(RefusedPolicyError) as caught:
        Policy.parse(text, file="policy.yaml")
    lines = str(caught.value).splitlines()
    assert lines[0] == "policy.yaml: 4 things are wrong"
    assert len(lines) == 5
    listed = caught.value.to_json()["problems"]
    assert listed[2] == {
        "path": "attributes.age.domain",
        "wrong": "a domain's lower end lies above its upper end",
        "came": "9..1",
        "allowed": "low <= high",
        "fix": None,
        "line": 7,
    }


def test_control_letters_do_not_reach_the_terminal():
    (problem,) = problems(edited(("epsilon: 1.0", 'epsilon: "\\e[31m1"')))
    assert problem.came == "\\x1b[31m1"


def test_a_text_is_read_once_and_what_was_read_is_nobody_elses():
    text = "version: 1\nlisted: [a, b]\n"
    first = read_yaml(text)
    first.tree["listed"].append("c")
    first.lines.clear()
    assert read_yaml(text).tree == {"version": "1", "listed": ["a", "b"]}
    assert read_yaml(text).lines[("listed", 1)] == 2
    for name in ("one", "two"):
        with pytest.raises(PolicyError, match=f"{name}"):
            read_yaml("a: [", name)
