"""From the words of a policy to a hierarchy: one entry for every kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.data.domain import Domain, Interval, Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.files import arx
from shoal.data.hierarchy.kinds import dates, intervals, masks, table
from shoal.data.hierarchy.nested import check_nested
from shoal.data.hierarchy.request import Request
from shoal.data.type import Type, spelled
from shoal.errors import PolicyError

__all__ = ["KINDS", "Kind", "domain_of", "hierarchy"]


def _file(request: Request) -> Hierarchy:
    rows, form = arx.read(request.path(), request.option("delimiter"))
    if request.type.discrete:
        rows = [[_canonical(request, row[0]), *row[1:]] for row in rows]
    return table.of_rows(request, rows, form=form)


def _canonical(request: Request, value: str) -> str:
    """A number or date of a file as it is spelled in memory."""
    from shoal.data.line import point, text

    return text(request.type, point(request.type, value))


def _file_values(request: Request) -> tuple[str, ...]:
    return tuple(row[0] for row in arx.read(request.path(), request.option("delimiter"))[0])


def _tree_values(request: Request) -> tuple[str, ...]:
    return table.tree_leaves(table.tree_of(request))


@dataclass(frozen=True)
class Kind:
    """A kind of hierarchy: how it is built, for which types, with which options, and the values it lists itself."""

    build: Callable[[Request], Hierarchy]
    types: frozenset[Type]
    options: frozenset[str] = frozenset()
    values: Callable[[Request], tuple[str, ...] | None] | None = None


_NUMBERS = frozenset({Type.INTEGER, Type.DECIMAL})
_TIMES = frozenset({Type.DATE, Type.DATETIME})
_NAMES = frozenset({Type.CATEGORY, Type.ORDINAL, Type.TEXT})
_LISTED = _NAMES | {Type.INTEGER, Type.DATE, Type.BOOLEAN}
_ENDS = frozenset({"below", "above"})

KINDS: dict[str, Kind] = {
    "intervals": Kind(intervals.intervals, _NUMBERS | {Type.DATE}, _ENDS | {"origin"}),
    "cuts": Kind(intervals.cuts, _NUMBERS | _TIMES, _ENDS | {"labels"}),
    "rounding": Kind(intervals.rounding, _NUMBERS, _ENDS),
    "date": Kind(dates.date, _TIMES),
    "mask": Kind(masks.mask, _NAMES),
    "groups": Kind(table.groups, _LISTED, frozenset({"rest"}), table.group_values),
    "file": Kind(_file, _LISTED, frozenset({"delimiter"}), _file_values),
    "taxonomy": Kind(table.taxonomy, _LISTED, frozenset(), _tree_values),
}
"""Every kind by its word in the policy."""


def hierarchy(spec: Mapping[str, Any], type: Type, domain: Domain, folder: Path | None = None) -> Hierarchy:  # noqa: A002 - the word of the policy
    """The hierarchy that a policy describes, over its declared domain; files are looked for in `folder`.

    Raises PolicyError where it is not total over the domain, not a tree, or not of the attribute's type.
    """
    request = _request(spec, type, domain, folder)
    built = KINDS[request.kind].build(request)
    check_nested(built)
    return built


def domain_of(spec: Mapping[str, Any], type: Type, folder: Path | None = None) -> Domain | None:  # noqa: A002
    """The domain that a hierarchy itself declares by listing values; None where it does not."""
    request = _request(spec, type, Values(("-",)), folder)
    if type is Type.BOOLEAN:
        return Values(("false", "true"))
    lister = KINDS[request.kind].values
    values = None if lister is None else lister(request)
    if not values:
        return None
    if type is Type.INTEGER:
        numbers = sorted(int(_canonical(request, value)) for value in values)
        if numbers == list(range(numbers[0], numbers[-1] + 1)):
            return Interval(numbers[0], numbers[-1])
        values = tuple(map(str, numbers))
    if len(set(values)) != len(values):
        raise request.wrong("a value is listed twice", fix="keep one row for each value")
    return Values(values)


def _request(spec: Mapping[str, Any], type: Type, domain: Domain, folder: Path | None) -> Request:  # noqa: A002
    if not isinstance(spec, Mapping):
        raise PolicyError("a hierarchy is no mapping", came=spelled(spec), allowed=", ".join(KINDS))
    kinds = [key for key in spec if key in KINDS]
    if len(kinds) != 1:
        raise PolicyError(
            "a hierarchy is of exactly one kind",
            came=", ".join(map(spelled, spec)) or "nothing",
            allowed=", ".join(KINDS),
        )
    request = Request(kinds[0], spec, type, domain, folder)
    kind = KINDS[request.kind]
    strange = [spelled(key) for key in spec if key != request.kind and key not in kind.options]
    if strange:
        allowed = ", ".join(sorted(kind.options)) or "none"
        raise request.wrong("unknown options", came=", ".join(strange), allowed=allowed)
    if type not in kind.types:
        allowed = ", ".join(each.value for each in Type if each in kind.types)
        raise request.wrong("the attribute has another type", came=type.value, allowed=allowed)
    return request
