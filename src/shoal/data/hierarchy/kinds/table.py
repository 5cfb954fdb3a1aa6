"""Hierarchies by table: each value with its label at every level, whether written as groups, a file or a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from shoal.data.domain import shortened
from shoal.data.hierarchy import loss
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.files import tree
from shoal.data.hierarchy.level import MISSING, Groups, Level, Whole
from shoal.data.hierarchy.request import Request
from shoal.data.listing import listed
from shoal.data.type import spelled

Rows = Sequence[Sequence[str]]


def of_rows(request: Request, rows: Rows, **more: Any) -> Hierarchy:
    """The hierarchy of rows (value, label, label, ...), one for each value of the domain or more."""
    counted = Counter(row[0] for row in rows)
    twice = [value for value, count in counted.items() if count > 1]
    if twice:
        raise request.wrong("a value is listed twice", came=shortened(twice), fix="keep one row for each value")
    domain = _listed(request)
    missing = [value for value in domain if value not in counted]
    if missing:
        raise request.wrong(
            f"it does not cover its domain: {len(missing)} of {len(domain)} values have no labels",
            came=shortened(missing),
            fix="add them, or take them out of the domain",
        )
    known = set(domain)
    inside = [row for row in rows if row[0] in known]
    refuse_no_tree(request, inside)
    levels: list[Level] = []
    columns = list(zip(*inside, strict=True))[1:]
    leaves = tuple(row[0] for row in inside)
    for at, column in enumerate(columns, start=1):
        labels = tuple(dict.fromkeys(column))
        if at == len(columns) and len(labels) == 1:
            levels.append(Whole(labels[0]))
            break
        if MISSING in labels:
            raise request.wrong("a label is kept for missing values", came=MISSING, fix="use another label")
        code = {label: i for i, label in enumerate(labels)}
        levels.append(Groups(leaves, tuple(code[label] for label in column), labels))
    losses = [loss.of_labels(level.codes) if isinstance(level, Groups) else 1.0 for level in levels]
    outside = tuple(row[0] for row in rows if row[0] not in known)
    return request.closed(levels, losses, outside=outside, **more)


def _listed(request: Request) -> tuple[str, ...]:
    domain = listed(request.type, request.domain)
    if domain is None:
        raise request.wrong(
            "a table of values needs a domain that can be listed",
            came=request.domain.words(),
            fix="declare the values, or use intervals or a mask",
        )
    return domain


def refuse_no_tree(request: Request, rows: Rows) -> None:
    """Raise where two values share a label and part again at a coarser level."""
    columns = list(zip(*rows, strict=True))
    for level, (fine, coarse) in enumerate(pairwise(columns[1:]), start=1):
        above: dict[str, str] = {}
        for label, next_label in zip(fine, coarse, strict=True):
            if above.setdefault(label, next_label) != next_label:
                raise request.wrong(
                    f"not a tree: a label of level {level} leads to two labels of level {level + 1}",
                    came=f"{label} under {above[label]} and under {next_label}",
                    fix="put it under one of them, or split it in two labels",
                )


# --- groups -------------------------------------------------------------------------------------------------------


def groups(request: Request) -> Hierarchy:
    """Levels of named groups; members are values, or labels of the level before."""
    levels = _levels(request)
    values = _listed(request)
    rest = request.option("rest")
    table = {value: [value] for value in values}
    below: tuple[str, ...] = values
    for at, level in enumerate(levels, start=1):
        place = _places(request, level, at)
        by_label = at > 1 and set(place) <= set(below) and not (rest is None and set(place) == set(values))
        members = below if by_label else values
        known = set(members)
        strange = [name for name in place if name not in known]
        if strange:
            raise request.wrong(f"level {at} names what is not in its domain", came=shortened(strange))
        without = [name for name in members if name not in place]
        if without and rest is None:
            raise request.wrong(
                f"level {at} does not cover its domain: {len(without)} of {len(members)} have no group",
                came=shortened(without),
                fix="put them in a group, or name a group for the rest: {groups: ..., rest: Other}",
            )
        for row in table.values():
            row.append(place.get(row[-1] if by_label else row[0], spelled(rest)))
        below = tuple(dict.fromkeys(row[-1] for row in table.values()))
    return of_rows(request, list(table.values()))


def group_values(request: Request) -> tuple[str, ...] | None:
    """The values that the first level of groups lists; None where the rest has a group of its own."""
    levels = _levels(request)
    if not levels or request.option("rest") is not None:
        return None
    return tuple(_places(request, levels[0], 1))


def _levels(request: Request) -> list[Mapping[Any, Any]]:
    raw = request.argument
    levels = [raw] if isinstance(raw, Mapping) else request.many(raw)
    if any(not isinstance(level, Mapping) for level in levels):
        raise request.wrong("a level is no mapping from labels to members", fix="write {Europe: [DE, FR], Asia: [JP]}")
    return levels


def _places(request: Request, level: Mapping[Any, Any], at: int) -> dict[str, str]:
    """The group of each member."""
    place: dict[str, str] = {}
    for label, members in level.items():
        for member in map(spelled, request.many(members)):
            if member in place:
                raise request.wrong(
                    f"not a tree: level {at} has a member in two groups",
                    came=f"{member} in {place[member]} and in {spelled(label)}",
                )
            place[member] = spelled(label)
    return place


# --- trees --------------------------------------------------------------------------------------------------------


def taxonomy(request: Request) -> Hierarchy:
    """Levels by depth of a tree; a value that lies less deep is repeated until the others have come up to it."""
    found = tree_of(request)
    values = _listed(request)
    strangers = [value for value in values if value not in found]
    if strangers:
        raise request.wrong(
            f"it does not cover its domain: {len(strangers)} of {len(values)} values are not in the tree",
            came=shortened(strangers),
            fix="add them, or take them out of the domain",
        )
    known = set(values)
    outside = tuple(leaf for leaf in tree_leaves(found) if leaf not in known)
    return replace(of_rows(request, tree.rows(found, values)), outside=outside)


def tree_of(request: Request) -> tree.Parents:
    """Each node's parent, from the file or from the words of the policy."""
    raw = request.argument
    return tree.parents(tree.read(request.path()) if isinstance(raw, str) else raw)


def tree_leaves(found: tree.Parents) -> tuple[str, ...]:
    """The nodes without others below them."""
    inner = set(found.values())
    return tuple(name for name in found if name not in inner)
