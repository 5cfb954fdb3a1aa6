"""From the words of a policy to a hierarchy: one entry for every kind of hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.data.domain import Domain, Interval, Values
from shoal.data.hierarchy import intervals, masks, table
from shoal.data.hierarchy.base import Hierarchy, HierarchyRequest, check_nested
from shoal.data.type import Type, spell
from shoal.errors import PolicyError

__all__ = ["KINDS", "HierarchyKind", "domain_of", "hierarchy"]


@dataclass(frozen=True)
class HierarchyKind:
    """A kind of hierarchy: how it is built, for which types, with which options, and the values it lists itself."""

    build: Callable[[HierarchyRequest], Hierarchy]
    types: frozenset[Type]
    options: frozenset[str] = frozenset()
    values: Callable[[HierarchyRequest], tuple[str, ...] | None] | None = None


_NUMBERS = frozenset({Type.INTEGER, Type.DECIMAL})
_TIMES = frozenset({Type.DATE, Type.DATETIME})
_NAMES = frozenset({Type.CATEGORY, Type.ORDINAL, Type.TEXT})
_LISTED = _NAMES | {Type.INTEGER, Type.DATE, Type.BOOLEAN}
_ENDS = frozenset({"below", "above"})

KINDS: dict[str, HierarchyKind] = {
    "intervals": HierarchyKind(intervals.intervals, _NUMBERS | {Type.DATE}, _ENDS | {"origin"}),
    "cuts": HierarchyKind(intervals.cuts, _NUMBERS | _TIMES, _ENDS | {"labels"}),
    "rounding": HierarchyKind(intervals.rounding, _NUMBERS, _ENDS),
    "date": HierarchyKind(intervals.date, _TIMES),
    "mask": HierarchyKind(masks.mask, _NAMES),
    "groups": HierarchyKind(table.groups, _LISTED, frozenset({"rest"}), table.group_values),
    "file": HierarchyKind(table.hierarchy_of_file, _LISTED, frozenset({"delimiter"}), table.file_values),
    "taxonomy": HierarchyKind(table.taxonomy, _LISTED, frozenset(), table.tree_values),
}
"""Every kind by its word in the policy."""


def hierarchy(spec: Mapping[str, Any], type: Type, domain: Domain, folder: Path | None = None) -> Hierarchy:  # noqa: A002 - the word of the policy
    """The hierarchy that a policy describes.

    Arguments  spec, the words of the policy, such as {"intervals": [5, 10]}; the type and the declared domain of the
               attribute; folder, where files are looked for.
    Raises     PolicyError where it is not total over the domain, not a tree, or not of the attribute's type.

    >>> from shoal.data.domain import Values
    >>> sizes = hierarchy({"groups": {"small": ["S", "M"], "large": ["L"]}}, Type.CATEGORY, Values(("S", "M", "L")))
    >>> sizes.rows[1]
    ('M', 'small', '*')
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
        numbers = sorted(int(table.canonical_text(request, value)) for value in values)
        if numbers == list(range(numbers[0], numbers[-1] + 1)):
            return Interval(numbers[0], numbers[-1])
        values = tuple(map(str, numbers))
    if len(set(values)) != len(values):
        raise request.error("a value is listed twice", fix="keep one row for each value")
    return Values(values)


def _request(spec: Mapping[str, Any], type: Type, domain: Domain, folder: Path | None) -> HierarchyRequest:  # noqa: A002
    if not isinstance(spec, Mapping):
        raise PolicyError("a hierarchy is no mapping", came=spell(spec), allowed=", ".join(KINDS))
    kinds = [key for key in spec if key in KINDS]
    if len(kinds) != 1:
        raise PolicyError(
            "a hierarchy is of exactly one kind",
            came=", ".join(map(spell, spec)) or "nothing",
            allowed=", ".join(KINDS),
        )
    request = HierarchyRequest(kinds[0], spec, type, domain, folder)
    kind = KINDS[request.kind]
    strange = [spell(key) for key in spec if key != request.kind and key not in kind.options]
    if strange:
        allowed = ", ".join(sorted(kind.options)) or "none"
        raise request.error("unknown options", came=", ".join(strange), allowed=allowed)
    if type not in kind.types:
        allowed = ", ".join(each.value for each in Type if each in kind.types)
        raise request.error("the attribute has another type", came=type.value, allowed=allowed)
    return request
