"""A policy to change in tests, and what is said about a wrong one."""

from __future__ import annotations

import pytest

from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from shoal.policy.text.problem import Problem, RefusedPolicyError, dotted_path

BASE = """\
version: 1
dataset: visits
unit: row
neighbours: add_remove
attributes:
  id: {role: identifier}
  age: {role: quasi, type: integer, domain: [0, 110], hierarchy: {intervals: [5, 10, 20, 40]}}
  zip: {role: quasi, type: text, domain: {pattern: "[0-9]{5}"}, hierarchy: {mask: right}}
  visit: {role: quasi, type: date, domain: [2024-01-01, 2026-12-31], hierarchy: {date: [month, quarter, year]}}
  answer: {role: confidential, type: category, domain: [no, yes], hierarchy: auto}
release:
  method: safe-k
  epsilon: 1.0
  delta: 1e-6
  recoding: {tree: {epsilon: 0.2}}
  sampling: {beta: auto}
budget: {epsilon: 3, delta: 1e-5}
"""


def base(**keys: object) -> str:
    """The policy with some of the release's keys changed; None removes one."""
    changes = {("release", key): value for key, value in keys.items()}
    return Policy.parse(BASE).with_changes(changes).dump() if keys else BASE


def edited(*pairs: tuple[str, str]) -> str:
    """The text with parts replaced; each must be there exactly once."""
    text = BASE
    for old, new in pairs:
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    return text


def problems(text: str, folder: object = None) -> tuple[Problem, ...]:
    """Everything that is wrong."""
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text, folder)  # type: ignore[arg-type]
    assert isinstance(caught.value, RefusedPolicyError)
    assert str(caught.value)
    assert caught.value.to_json()["kind"] == "PolicyError"
    return caught.value.problems


def the_problem(text: str, path: str, line: int | None = None) -> Problem:
    """The only thing that is wrong, at this key."""
    (found,) = problems(text)
    assert dotted_path(found.path) == path, found
    if line is not None:
        assert found.line == line
    return found
