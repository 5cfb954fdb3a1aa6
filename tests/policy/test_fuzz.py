"""Whatever is in the file: a policy comes out, or a PolicyError; never anything else."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from shoal.policy.text.keys import every_key
from tests.policy.written import BASE

PIECES = [
    *"{}[]:,#&*!|>'\"%@`-?\n\t ~\\", "\n  ", "\n    ", "- ", ": ", "---\n", "...\n", "<<: ", "&a ", "*a", "!!int ", "%YAML 1.1\n",
    "no", "01234", "1e-6", "0x1F", ".inf", ".nan", "1e999999999", "2024-02-30", "12:30:45", "null", "~", "auto", "\x00", "\ufeff",
    "\u2028", "é", "9" * 400, *(key.path.rpartition(".")[2] for key in every_key()),
]  # fmt: skip
SCALARS = st.sampled_from(PIECES) | st.text(max_size=12) | st.integers().map(str) | st.floats().map(repr)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCALARS, inner, max_size=4),
    max_leaves=8,
)


def survives(text: str) -> None:
    """Read it; nothing but a PolicyError may come of it, and its message can be printed."""
    refused: PolicyError | None = None
    try:
        policy = Policy.parse(text)
    except PolicyError as error:
        refused = error
    if refused is None:
        assert Policy.parse(policy.dump()).lock() == policy.lock()
        with contextlib.suppress(PolicyError):
            assert policy.with_changes({"dataset": "another"}).dataset == "another"
    else:
        assert all(line.isprintable() for line in str(refused).split("\n"))
        assert refused.to_json()["exit_code"] == 2


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_text(text):
    survives(text)


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example("{[a]: b}")
@example("? {a: b}\n: c")
@example("%TAG ! tag:x,2000:\n--- !a b")
@example("[" * 1000)
@example("a: " * 1000)
@example("- " * 1000)
@example("!<")
@example("a: >5\n b")
def test_text_that_looks_like_yaml(text):
    survives(text)


@pytest.mark.slow
@given(st.data())
def test_a_policy_with_letters_changed(data):
    """Cut, double or replace a stretch of a good policy."""
    text = BASE
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        piece = data.draw(st.sampled_from(PIECES) | st.just(text[start:end] * 2) | st.text(max_size=3))
        text = text[:start] + piece + text[end:]
    survives(text)


PATHS = [
    *(("release", key) for key in ("method", "epsilon", "delta", "k", "recoding", "views", "sampling", "repeat")),
    *(("attributes", name) for name in ("age", "zip", "answer", "new")),
    *(("attributes", name, key) for name in ("age", "zip", "visit") for key in ("type", "domain", "hierarchy", "role")),
    ("version",), ("unit",), ("neighbours",), ("attributes",), ("release",), ("budget",), ("surprise",),
]  # fmt: skip


def put(tree: dict[str, object], path: tuple[str, ...], value: object) -> dict[str, object]:
    """The tree with another value at a path."""
    if len(path) == 1:
        return {**tree, path[0]: value}
    below = tree.get(path[0])
    return {**tree, path[0]: put(below if isinstance(below, dict) else {}, path[1:], value)}


HIERARCHIES = st.sampled_from(
    ["intervals", "cuts", "rounding", "mask", "date", "groups", "file", "taxonomy", "origin", "below", "above", "rest"]
)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(PATHS), TREES | st.dictionaries(HIERARCHIES, TREES, max_size=2)),
        min_size=1,
        max_size=3,
    )
)
def test_a_policy_with_values_changed(changes):
    """Any tree of texts in the place of any value."""
    from shoal.policy.text.reading import read_yaml

    tree = read_yaml(BASE).tree
    assert isinstance(tree, dict)
    for path, value in changes:
        tree = put(tree, path, value)
    with contextlib.suppress(PolicyError):
        Policy.of(tree).lock()


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"version: \xe9", b"\x00\x01"])
def test_bytes_that_are_no_text(raw, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_bytes(raw)
    with pytest.raises(PolicyError):
        Policy.load(file)
