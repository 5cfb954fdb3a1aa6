"""The shape of a rule file, checked before its meaning is read: the texts of its labels, and what they are said to stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from shoal.data.type import Type, point, spell
from shoal.errors import PolicyError, VerificationError

MOST_LABELS = 1_000_000
_LONGEST = 400
"""Letters of a number, a date or a time."""
_EXPONENT = re.compile(r"[eE][+-]?[0-9]{4,}")
_FARTHEST = 10**300
"""Numbers beyond have no float."""


def check_rule(rule: Mapping[str, Any], *, inside: bool = False) -> None:
    """Raise VerificationError for a rule that is none; `inside` another rule, boxes are not allowed."""
    if not isinstance(rule, dict) or not isinstance(rule.get("attribute"), str):
        raise VerificationError("a rule is not about an attribute")
    name, kind = rule["attribute"], rule.get("kind")
    try:
        of = Type(rule.get("type"))
    except ValueError:
        raise _refusal(name, "its type is none") from None
    if kind not in _KINDS or (inside and kind == "boxes"):
        raise _refusal(name, "its kind is none")
    _check_ends(name, of, rule)
    _KINDS[kind](name, of, rule)


def _refusal(name: str, why: str) -> VerificationError:
    return VerificationError(
        f"the rule of column '{name}' makes no sense: {why}", fix="run `shoal verify` on the folder"
    )


def _check_labels(name: str, labels: object) -> list[str]:
    """Check that labels are different texts, at least one."""
    if not isinstance(labels, list) or not 1 <= len(labels) <= MOST_LABELS:
        raise _refusal(name, "it has no list of labels")
    if any(not isinstance(each, str) for each in labels) or len(set(labels)) != len(labels):
        raise _refusal(name, "its labels are not different texts")
    return labels


def _check_values(name: str, of: Type, values: Iterable[object]) -> None:
    """Check that values of a number, a date or a time are such, and small enough to be computed with."""
    if not of.numeric:
        return
    for value in values:
        text = spell(value)
        if len(text) > _LONGEST or _EXPONENT.search(text):
            raise _refusal(name, "a number is too long")
        try:
            at = point(of, value)
        except PolicyError as error:
            raise _refusal(name, f"a value is {error.wrong}") from None
        if abs(at) > _FARTHEST:
            raise _refusal(name, "a number is too large")


def _check_ends(name: str, of: Type, rule: Mapping[str, Any]) -> None:
    low, high, domain = rule.get("low"), rule.get("high"), rule.get("domain")
    if not isinstance(domain, str | None) or (low is None) != (high is None):
        raise _refusal(name, "its domain is none")
    if low is not None:
        _check_values(name, of, (low, high))
        if of.numeric and point(of, low) > point(of, high):
            raise _refusal(name, "its domain ends before it begins")
    elif of.numeric and domain is not None and ".." in domain:
        ends = domain.split("..")
        if len(ends) != 2:
            raise _refusal(name, "its domain is none")
        _check_values(name, of, ends)
        if point(of, ends[0]) > point(of, ends[1]):
            raise _refusal(name, "its domain ends before it begins")


def _check_keep(name: str, of: Type, rule: Mapping[str, Any]) -> None:
    labels = rule.get("labels")
    if labels is None:
        return
    if not isinstance(labels, list) or any(not isinstance(each, str | int | float) for each in labels):
        raise _refusal(name, "its labels are not values")
    spelled = _check_labels(name, [spell(each) for each in labels])
    _check_values(name, of, spelled)


def _check_whole(name: str, _: Type, rule: Mapping[str, Any]) -> None:
    if len(_check_labels(name, rule.get("labels"))) != 1:
        raise _refusal(name, "every value has one label, and it has several")


def _check_groups(name: str, of: Type, rule: Mapping[str, Any]) -> None:
    labels, table = set(_check_labels(name, rule.get("labels"))), rule.get("table")
    if not isinstance(table, dict) or len(table) > MOST_LABELS:
        raise _refusal(name, "it has no table of values")
    if any(not isinstance(label, str) or label not in labels for label in table.values()):
        raise _refusal(name, "a value has a label that is not listed")
    if len(set(table.values())) != len(labels):
        raise _refusal(name, "a label stands for no value")
    _check_values(name, of, table)


def _check_cuts(name: str, of: Type, rule: Mapping[str, Any]) -> None:
    labels, edges = _check_labels(name, rule.get("labels")), rule.get("edges")
    if not of.numeric or not isinstance(edges, list) or len(labels) != len(edges) + 1:
        raise _refusal(name, "its edges do not fit its labels")
    if any(not isinstance(edge, str) for edge in edges):
        raise _refusal(name, "an edge is no text")
    _check_values(name, of, edges)
    if any(point(of, low) >= point(of, high) for low, high in pairwise(edges)):
        raise _refusal(name, "its edges do not rise")


def _check_masked(name: str, of: Type, rule: Mapping[str, Any]) -> None:
    kept, letter, labels = rule.get("kept"), rule.get("letter"), rule.get("labels")
    if of.numeric or type(kept) is not int or kept < 0 or rule.get("side") not in ("left", "right"):
        raise _refusal(name, "its mask is none")
    if not isinstance(letter, str) or len(letter) > 1:
        raise _refusal(name, "its mask is none")
    if labels is not None:
        _check_labels(name, labels)


def _check_boxes(name: str, of: Type, rule: Mapping[str, Any]) -> None:
    labels, members, level = _check_labels(name, rule.get("labels")), rule.get("members"), rule.get("level")
    cells = _check_labels(name, rule.get("cells"))
    if not isinstance(members, list) or len(members) != len(labels):
        raise _refusal(name, "its labels and their cells do not fit")
    many = 0
    for runs in members:
        if not isinstance(runs, list) or not runs:
            raise _refusal(name, "a label stands for no cell")
        for run in runs:
            if not isinstance(run, list) or [type(each) for each in run] != [int, int]:
                raise _refusal(name, "a run of cells is none")
            if not 0 <= run[0] <= run[1] < len(cells):
                raise _refusal(name, "a run of cells is none")
            many += run[1] - run[0] + 1
    if many > 100 * MOST_LABELS:
        raise _refusal(name, "its labels stand for too many cells")
    if not isinstance(level, dict):
        raise _refusal(name, "it does not say what its cells are")
    check_rule(level, inside=True)
    if (level["attribute"], Type(level["type"])) != (name, of):
        raise _refusal(name, "its cells are those of another attribute")


_KINDS = {
    "keep": _check_keep,
    "whole": _check_whole,
    "groups": _check_groups,
    "cuts": _check_cuts,
    "masked": _check_masked,
    "boxes": _check_boxes,
}
