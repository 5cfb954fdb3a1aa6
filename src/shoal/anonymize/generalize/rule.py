"""The rule of one attribute at one level, as plain values that a stranger can read and check."""

from __future__ import annotations

from typing import Any

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.level import GroupLevel, IntervalLevel, Level, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Attribute, Type


def level_rule(attribute: Attribute, index: int, level: Level) -> dict[str, Any]:
    """One attribute's rule: which labels there are and which values they stand for."""
    loss = attribute.hierarchy.losses[index] if attribute.hierarchy else 0.0
    return {
        "attribute": attribute.name,
        "type": attribute.type.value,
        "domain": attribute.domain.words() if attribute.domain else None,
        "level": index,
        "loss": f"{loss:.6f}",
        **_form(attribute, level),
    }


def _form(attribute: Attribute, level: Level) -> dict[str, Any]:
    if isinstance(level, ValueLevel):
        listed = attribute.domain.values if isinstance(attribute.domain, Values) else None
        ends = attribute.domain if isinstance(attribute.domain, Interval) else None
        return {
            "kind": "keep",
            "labels": list(listed) if listed and attribute.type is not Type.BOOLEAN else None,
            "low": None if ends is None else str(ends.low),
            "high": None if ends is None else str(ends.high),
            "pattern": attribute.domain.pattern if isinstance(attribute.domain, Pattern) else None,
        }
    if isinstance(level, TopLevel):
        return {"kind": "whole", "labels": [level.label]}
    if isinstance(level, GroupLevel):
        return {"kind": "groups", "labels": list(level.labels), "table": dict(level.table)}
    if isinstance(level, IntervalLevel):
        return {"kind": "cuts", "labels": list(level.labels), "edges": [str(edge) for edge in level.edges]}
    if isinstance(level, MaskLevel):
        return {"kind": "masked", "labels": None, "side": level.side, "kept": level.kept, "letter": level.letter}
    raise TypeError(type(level).__name__)
