"""From the words of a policy to a hierarchy: one entry for every kind, and the masks, which hide letters of a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from shoal.data.domain import Domain, Interval, Pattern, Values
from shoal.data.hierarchy import intervals, table
from shoal.data.hierarchy.base import Hierarchy, HierarchyRequest, check_nested
from shoal.data.hierarchy.level import MaskLevel, loss_of_labels, loss_of_mask
from shoal.data.type import Type, spell
from shoal.errors import PolicyError

__all__ = ["KINDS", "HierarchyKind", "domain_of", "hierarchy"]


# --- masks -------------------------------------------------------------------------------------------------------------

_FORMS = "mask: right, mask: left, {side: right, keep: [4, 3]} or {prefix: [3, 2]}"


def mask(request: HierarchyRequest) -> Hierarchy:
    """The hierarchy of a mask: each level hides one letter more, or leaves as many as `keep` says; the last hides all."""
    side, keep, letter, length = _mask_options(request)
    if length is None:
        raise request.error(
            "the length of the texts is not known",
            came=request.domain.words(),
            fix="add `length` to the mask, or declare a pattern of one length such as [0-9]{5}",
        )
    kept = list(range(length - 1, 0, -1)) if keep is None else keep
    if any(not 0 < k < length for k in kept) or any(not a > b for a, b in pairwise(kept)):
        raise request.error(
            "the numbers of letters kept are not in falling order",
            came=", ".join(map(str, kept)),
            allowed=f"below {length}, above 0",
        )
    levels = [MaskLevel(k, side, letter) for k in kept]
    domain = request.domain
    if isinstance(domain, Values):
        losses = [loss_of_labels(level.mask(value) for value in domain.values) for level in levels]
    else:
        places = domain.places if isinstance(domain, Pattern) else None
        losses = [loss_of_mask(level, places, length) for level in levels]
    return request.build(levels, losses)


def _mask_options(request: HierarchyRequest) -> tuple[str, list[int] | None, str, int | None]:
    """The options of a mask: its side, the letters kept, what replaces a hidden letter, and the length of the texts."""
    raw = request.argument
    known = _length(request)
    if raw in ("left", "right"):
        return str(raw), None, "*", known
    if not isinstance(raw, Mapping):
        raise request.error("unknown form of mask", came=spell(raw), allowed=_FORMS)
    strange = [key for key in raw if key not in ("side", "keep", "length", "prefix")]
    if strange or ("prefix" in raw) == ("side" in raw) or ("prefix" in raw and "keep" in raw):
        raise request.error("unknown form of mask", came=", ".join(map(spell, raw)), allowed=_FORMS)
    if "prefix" not in raw and raw["side"] not in ("left", "right"):
        raise request.error("a mask hides letters on one side", came=spell(raw["side"]), allowed="left or right")
    length = _whole(request, raw["length"]) if "length" in raw else known
    if known is not None and length != known and isinstance(request.domain, Pattern):
        raise request.error("the domain's texts have another length", came=length, allowed=str(known))
    if "prefix" in raw:
        return "right", [_whole(request, k) for k in request.as_list(raw["prefix"])], "", length
    keep = None if raw.get("keep") is None else [_whole(request, k) for k in request.as_list(raw["keep"])]
    return str(raw["side"]), keep, "*", length


def _length(request: HierarchyRequest) -> int | None:
    if isinstance(request.domain, Pattern):
        return request.domain.letters
    if isinstance(request.domain, Values):
        return max(map(len, request.domain.values))
    return None


def _whole(request: HierarchyRequest, raw: object) -> int:
    if not spell(raw).isdecimal():
        raise request.error("a number of letters is no whole number", came=spell(raw))
    return int(spell(raw))


# --- all kinds ---------------------------------------------------------------------------------------------------------


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
    "mask": HierarchyKind(mask, _NAMES),
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
        if len(set(numbers)) == len(numbers) == numbers[-1] - numbers[0] + 1:
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
