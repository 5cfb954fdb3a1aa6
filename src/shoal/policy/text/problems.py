"""What pydantic says, in our grammar: the key that the person typed, what came, what is allowed, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from shoal.policy.text.keys import known_at
from shoal.policy.text.problem import Path, Problem, close_to, nearest, shown
from shoal.policy.text.reading import Document

_NATIVE = {
    "tuple_type": ("one value where a list belongs", "a list, such as [a, b]"),
    "dict_type": ("no mapping", "a mapping, such as {name: value}"),
    "too_short": ("nothing is listed", "at least one"),
}
"""Errors that pydantic finds by itself, in our words."""


def problems_of(error: ValidationError, document: Document) -> list[Problem]:
    """Each error of pydantic as a problem at a key of the document."""
    details = error.errors(include_url=False)
    meant = {
        (*detail["loc"][:-1], close)
        for detail in details
        if detail["type"] == "extra_forbidden"
        and (close := close_to(str(detail["loc"][-1]), tuple(known_at(detail["loc"][:-1])))) is not None
    }
    return [
        _problem(detail, document)
        for detail in details
        if detail["type"] != "missing" or detail["loc"] not in meant  # a misspelt key is one problem, not two
    ]


def _problem(detail: ErrorDetails, document: Document) -> Problem:
    context: Mapping[str, Any] = detail.get("ctx", {})
    *around, last = detail["loc"] or ("",)
    if detail["type"] == "missing":
        field = known_at(around).get(str(last))
        meaning = field.description if field is not None else None
        return Problem(typed(around, document), f"the key '{last}' is missing", fix=f"add it: {meaning}")
    if detail["type"] == "extra_forbidden":
        known = tuple(known_at(around))
        path = (*typed(around, document), last)
        return Problem(path, "an unknown key", shown(last), ", ".join(known), nearest(str(last), known))
    path = typed(detail["loc"], document)
    came = around[-1] if last == "[key]" else document.at(path)
    if detail["type"] == "shoal":
        wrong, allowed, fix = context["wrong"], context["allowed"], context["fix"]
    else:
        (wrong, allowed), fix = _NATIVE.get(detail["type"], ("not in the form that belongs here", None)), None
    if not path and came is document.tree:  # perhaps a table, whose rows are nobody's to print
        kind = "a list" if isinstance(came, list) else "a text without keys" if isinstance(came, str) else "a mapping"
        return Problem(
            path, wrong, kind, allowed, fix or "name the policy where a policy belongs, the table where data do"
        )
    return Problem(path, wrong, None if came is None else shown(came), allowed, fix)


def typed(location: Iterable[str | int], document: Document) -> Path:
    """The path that the person typed: steps that only the long form has are left out."""
    path: Path = ()
    for step in location:
        if document.at((*path, step)) is not None:
            path = (*path, step)
    return path
