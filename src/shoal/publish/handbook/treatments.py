"""What a recipient has to know of the steps before the method: what a treated value stands for, and how to correct for chance.

Everything here follows from the certificate and the locked plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from shoal.data.hierarchy.level import MISSING
from shoal.guarantee.rounding import exact_text
from shoal.publish.handbook.content import Handbook

MOST_CATEGORIES = 12
"""Values of an attribute whose matrix of PRAM is shown on the first page; larger ones are in the locked plan alone."""


class TransitionMatrix(NamedTuple):
    """The matrix of one step of PRAM: for each true value the probability of every value that is shown."""

    attribute: str
    values: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def readings(handbook: Handbook, name: str) -> list[str]:
    """What each step did to a column, in its order, in words that say how to read it; none for a column as it was."""
    steps = [step for step in handbook.certificate.get("treatments", ()) if name in step["attributes"]]
    kind = handbook.lock["attributes"][name]["type"]
    alone = not any(step["kind"] in ("round", "random_round", "pram") for step in steps)
    return [_reading(step, name, kind, alone=alone) for step in steps]


def treated_columns(handbook: Handbook) -> list[str]:
    """The published columns that a step may have changed."""
    return [column.name for column in handbook.columns if readings(handbook, column.name)]


def _reading(step: Mapping[str, Any], name: str, kind: str, *, alone: bool) -> str:
    """One step; `alone` where none rounds or draws, so that a code means what it says of the original."""
    told = step["parameters"]
    if step["kind"] in ("top", "bottom"):
        more, less = ("later", "earlier") if kind in ("date", "datetime") else ("more", "less")
        code, side = told["code"], more if step["kind"] == "top" else less
        if not alone:
            return f"what was {code} or {side} at this step became {code} ({step['kind']} coding)"
        return f"{code} stands for {code} or {side} ({step['kind']} coding)"
    if step["kind"] == "round":
        return f"rounded to the nearest multiple of {told['base']}, a half away from 0"
    if step["kind"] == "random_round":
        return (
            f"rounded at random to a multiple of {told['base']} or an end of the domain, without bias: a sum over n values has "
            f"the right mean and a variance of at most {told['variance']} n from it"
        )
    if step["kind"] == "population_threshold":
        by = "population by declared counts" if told["by"] == "declared counts" else "number of rows in the table"
        shown = told.get("other", "a missing value")
        return f"{shown} may stand for a value whose {by} is below {told['least']} (population threshold)"
    if step["kind"] == "pram":
        how = f"the true value stays with probability {told['keep']}" if "keep" in told else "by a matrix"
        return f"changed at random, {how} (PRAM); README says how to correct counts for it"
    beside = [each for each in step["attributes"] if each != name]
    together = f", together with {', '.join(beside)}" if beside else ""
    strata = f" among records that agree in {', '.join(step['within'])}" if step["within"] else ""
    return f"in about {told['rate']} of the records exchanged with another record{strata}{together} (swapping)"


def transition_matrices(handbook: Handbook) -> list[TransitionMatrix]:
    """The matrices of PRAM that are small enough for a page, in the order of the steps; every row sums to 1."""
    found = []
    for step in handbook.lock.get("treatments") or ():
        asked = step.get("pram")
        if asked is None or asked["attribute"] not in handbook.by_name:
            continue
        values = _categories(handbook.lock["attributes"][asked["attribute"]])
        if len(values) <= MOST_CATEGORIES:
            rows = tuple(_row(asked, value, values) for value in values)
            found.append(TransitionMatrix(asked["attribute"], values, rows))
    return found


def large_matrices(handbook: Handbook) -> list[str]:
    """The attributes with a matrix of PRAM that is too large for a page."""
    small = {each.attribute for each in transition_matrices(handbook)}
    asked = [step["pram"]["attribute"] for step in handbook.lock.get("treatments") or () if "pram" in step]
    return [name for name in dict.fromkeys(asked) if name not in small and name in handbook.by_name]


def _categories(attribute: Mapping[str, Any]) -> tuple[str, ...]:
    own = ("false", "true") if attribute["type"] == "boolean" else tuple(attribute["domain"]["values"])
    return (*own, MISSING) if attribute.get("missing", "value") == "value" else own


def _row(asked: Mapping[str, Any], value: str, values: Sequence[str]) -> tuple[str, ...]:
    if "matrix" in asked:
        return tuple(asked["matrix"][value].get(to, "0") for to in values)
    drawn = [each for each in values if each != MISSING or asked["missing"] == "draw"]
    if value not in drawn:
        return tuple("1" if to == value else "0" for to in values)
    other = exact_text((1 - Fraction(asked["keep"])) / (len(drawn) - 1))
    return tuple(asked["keep"] if to == value else other if to in drawn else "0" for to in values)
