"""Levels of masks: letters hidden on one side of a text, or a bare prefix."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from shoal.data.domain import Pattern, Values
from shoal.data.hierarchy.base import Hierarchy, HierarchyRequest
from shoal.data.hierarchy.level import MaskLevel, loss_of_labels, loss_of_mask
from shoal.data.type import spell

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
