"""The shape of each kind of event's payload, checked when an event is taken in: what a file holds is not believed.

A chain of hashes shows that nobody changed an event by accident. Whoever has the file has its key and can write any event, so
each field is checked before anything is computed from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from shoal.guarantee.rounding import exact
from shoal.guarantee.safe_k.curve import check_beta
from shoal.guarantee.unit import NEIGHBOURS, Unit
from shoal.ledger.event import Budget, Cost
from shoal.ledger.filter import EventCost, FilterBudget
from shoal.ledger.look import KINDS_OF_LOOK

Field = Callable[[Any], bool]

_MOST_BITS = 64


def check_payload(kind: str, payload: Mapping[str, Any]) -> None:
    """Raise ValueError, or an error of what the fields mean, for a payload that no event of this kind has."""
    needed, others = SHAPES[kind]
    for name, fits in needed.items():
        if name not in payload or not fits(payload[name]):
            raise ValueError(name)
    for name, fits in others.items():
        if name in payload and not fits(payload[name]):
            raise ValueError(name)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return type(value) is int and value > 0


def _text_or_nothing(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _columns(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, list) and [type(part) for part in each] == [str, int] and 0 <= each[1] <= _MOST_BITS
        for each in value
    )


def _neighbours(value: Any) -> bool:
    return value in NEIGHBOURS


def _quantity(value: Any) -> bool:
    return isinstance(value, str) and exact(value) >= 0


def _rate(value: Any) -> bool:
    return isinstance(value, str) and check_beta(exact(value)) > 0


def _budget(value: Any) -> bool:
    return isinstance(value, dict) and Budget.from_saved(value) is not None


def _cost(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(_number(part["times"]) for part in value["parts"])
        and Cost.from_saved(value) is not None
    )


def _filtered(value: Any) -> bool:
    return isinstance(value, dict) and EventCost.from_saved(exact(0), exact(1), value) is not None


def _accounting(value: Any) -> bool:
    return isinstance(value, dict) and FilterBudget.from_saved(value) is not None


def _unit(value: Any) -> bool:
    return isinstance(value, dict) and _text_or_nothing(value["column"]) and Unit.from_saved(value) is not None


def _or_nothing(fits: Field) -> Field:
    return lambda value: value is None or fits(value)


def _kind_of_look(value: Any) -> bool:
    return value in KINDS_OF_LOOK


def is_hash(value: Any) -> bool:
    """Whether a value is a SHA-256 in hexadecimal."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


_TABLE: dict[str, Field] = {"fingerprints": _texts, "columns": _columns}

SHAPES: dict[str, tuple[dict[str, Field], dict[str, Field]]] = {
    "budget": ({"budget": _budget}, {"reason": _text, "before": _or_nothing(_budget), "accounting": _accounting}),
    "session": (
        {"name": _text, "budget": _budget},
        {"reason": _text, "before": _or_nothing(_budget), "accounting": _accounting},
    ),
    "charge": (
        {"cost": _cost, "neighbours": _neighbours, "plan": _text, "unit": _or_nothing(_unit)},
        {**_TABLE, "questions": _texts, "session": _text_or_nothing, "filter": _filtered},
    ),
    "release": ({"charge": _number, "certificate": _text}, {}),
    "sample_used": ({"charge": _number}, {}),
    "unbounded": ({"what": _text, "plan": _text}, _TABLE),
    "look": ({"what": _text}, {"kind": _kind_of_look, "lock": _or_nothing(is_hash)}),
    "registered": (
        {
            "policy": _text_or_nothing,
            "lock": _text,
            "data": _text_or_nothing,
            "unit": _unit,
            "sampled": _or_nothing(_rate),
            "fingerprints": lambda value: _texts(value) and len(value) > 0,
            "columns": _columns,
        },
        {},
    ),
    "answer": (
        {
            "charge": _number,
            "question": _text,
            "table": _text,
            "epsilon": _quantity,
            "delta": _quantity,
            "content": _text,
        },
        {},
    ),
}
"""For each kind the fields that its payload has, and those that it may have."""
