"""Texts made to keep the reader busy, to fill memory or the screen: each ends in a short error that says where."""

from __future__ import annotations

import pytest

from shoal.policy.policy import Policy
from shoal.policy.text import reading
from shoal.policy.text.problem import MOST_PROBLEMS, RefusedPolicyError, excerpt
from shoal.policy.text.reading import read_yaml
from tests.policy.written import BASE

LAUGHS = "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(20))
TEXTS = {
    "billion laughs": (LAUGHS, "line 1, column 4: an anchor"),
    "tag": (BASE.replace("version: 1", "version: !!int 1"), "line 1, column 10: a tag"),
    "merge": ("<<: {a: b}\n" + BASE, "line 1, column 1.*: a merge key"),
    "deep list": ("a: " + "[" * 100_000, "nested too deeply"),
    "deep mapping": ("{a: " * 50_000, "nested too deeply"),
    "too long": (BASE + "x: " + "y" * 4_000_000, "too long to be a policy; got 4,000,6.. letters; allowed: at most 4,000,000"),
    "long key": ("k" * 2_000_000 + ": 1\n" + BASE, "not YAML"),
    "twice": ("a: 1\n" * 50_000, f"{MOST_PROBLEMS} things or more are wrong"),
    "NUL": (BASE + "\x00", "line 18, column 1: not YAML: a letter that cannot be seen"),
    "escape": (BASE + "x: \x1b[2J", "line 18, column 4: not YAML: a letter that cannot be seen"),
    "digits": (BASE.replace("epsilon: 1.0", "epsilon: " + "1" * 90_000), "release.epsilon .*line 13.*: not a number"),
    "scalar": (BASE + "x: " + "1" * 1_000_000, "line 18, column 4: a value that is too long"),
    "NUL in a value": (BASE + r'x: "\0"', "line 18, column 4: a letter that no file can hold"),
    "half a pair": (BASE + r'x: "\ud800"', "line 18, column 4: a letter that no file can hold"),
    "exponent": (BASE.replace("epsilon: 1.0", "epsilon: 1e999999999"), "release.epsilon .*line 13.*: not a number"),
    "infinity": (BASE.replace("epsilon: 1.0", "epsilon: .inf"), "release.epsilon .*line 13.*: not a number"),
    "sexagesimal": (BASE.replace("epsilon: 1.0", "epsilon: 12:30:45"), "release.epsilon .*line 13.*: not a number"),
    "date": (BASE.replace("epsilon: 1.0", "epsilon: 2024-01-01"), "release.epsilon .*line 13.*: not a number"),
    "unknown keys": (BASE + "".join(f"epsilo{i}: 1\n" for i in range(3000)), "more is wrong than is listed here"),
}  # fmt: skip


def many(kind: str, count: int) -> str:
    """A text with so many values in one list, or so many keys."""
    if kind == "values":
        return BASE.replace("[0, 110]", "{values: [" + "1," * count + "]}")
    return "".join(f"k{i}: 1\n" for i in range(count))


def refused(text: str, words: str) -> None:
    with pytest.raises(RefusedPolicyError, match=words) as caught:
        Policy.parse(text)
    message = str(caught.value)
    assert len(message) < 30_000
    assert all(line.isprintable() for line in message.split("\n"))


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_is_refused_in_a_few_words(name):
    refused(*TEXTS[name])


@pytest.mark.parametrize("kind", ["values", "keys"])
def test_a_text_with_more_parts_than_the_limit_is_refused_and_one_below_it_is_read(monkeypatch, kind):
    monkeypatch.setattr(reading, "_MOST_VALUES", 4000)
    refused(many(kind, 8000), "too many keys and values.*keep to 4,000")
    read_yaml(many(kind, 1500))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["values", "keys"])
def test_a_text_with_very_many_parts_is_refused(kind):
    """The real limit; reading up to it takes seconds."""
    refused(many(kind, 500_000), "too many keys and values.*keep to 250,000")


@pytest.mark.slow
def test_a_policy_with_very_many_wrong_attributes_is_refused():
    lines = "".join(f"  z{i}: {{rol: drop}}\n" for i in range(5000))
    refused(BASE.replace("attributes:", "attributes:\n" + lines), "more is wrong than is listed here")


def test_excerpts_of_long_values_are_made_from_their_beginning():
    assert excerpt("x" * 10_000_000) == "x" * 79 + "…"
    assert excerpt({"a\x1b" * 100: ["b"] * 10**6}).startswith("{a\\x1ba")
