"""The words of a policy for levels that were edited, so that they can be written down again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from shoal.data.hierarchy.files import tree
from shoal.data.hierarchy.level import Cuts, Groups, Level, Whole
from shoal.errors import UsageError

Rows = Sequence[tuple[str, ...]]


def of_tables(kind: str, levels: Sequence[Level], rows: Rows) -> dict[str, Any]:
    """Levels of groups: a tree stays a tree, everything else becomes groups, each listing labels of the level before."""
    if kind == "taxonomy":
        return {"taxonomy": tree.nested(tree.from_rows(rows))}
    columns = list(zip(*rows, strict=True))
    if isinstance(levels[-1], Whole) and levels[-1].label == Whole().label:
        columns = columns[:-1]
    written: list[dict[str, list[str]]] = []
    for below, labels in pairwise(columns):
        groups: dict[str, dict[str, None]] = {}
        for member, label in zip(below, labels, strict=True):
            groups.setdefault(label, {})[member] = None
        written.append({label: list(members) for label, members in groups.items()})
    return {"groups": written}


def of_cuts(levels: Sequence[Level]) -> dict[str, Any]:
    """Levels of intervals with labels of their own."""
    inner = [level for level in levels if isinstance(level, Cuts)]
    return {"cuts": [list(level.edges) for level in inner], "labels": [list(level.labels) for level in inner]}


def of_levels(kind: str, levels: Sequence[Level], rows: Rows) -> dict[str, Any]:
    """The words for edited levels."""
    if any(isinstance(level, Groups) for level in levels):
        return of_tables(kind, levels, rows)
    if any(isinstance(level, Cuts) for level in levels):
        return of_cuts(levels)
    raise UsageError("these levels cannot be edited", fix="write the hierarchy as groups")
