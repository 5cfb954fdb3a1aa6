"""Hierarchies by table: each value with its label at every level, written as groups, as a tree, or as a file of ARX.

A hierarchy file of ARX is a CSV without a header: the value first, then its labels from fine to coarse.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from shoal.data import taxonomy as trees
from shoal.data.domain import list_values, shorten
from shoal.data.hierarchy.base import Hierarchy, HierarchyRequest
from shoal.data.hierarchy.level import MISSING, GroupLevel, Level, TopLevel, loss_of_labels
from shoal.data.plain_file import LARGEST_HIERARCHY, near_path, read_plain_file
from shoal.data.type import point, spell, text_at
from shoal.errors import PolicyError

Rows = Sequence[Sequence[str]]


def hierarchy_of_rows(request: HierarchyRequest, rows: Rows) -> Hierarchy:
    """The hierarchy of rows (value, label, label, ...) that cover every value of the domain, and perhaps more.

    Raises     PolicyError where a value is missing or listed twice, or the labels form no tree.
    """
    counted = Counter(row[0] for row in rows)
    twice = [value for value, count in counted.items() if count > 1]
    if twice:
        raise request.error("a value is listed twice", came=shorten(twice), fix="keep one row for each value")
    domain = _values(request)
    missing = [value for value in domain if value not in counted]
    if missing:
        raise request.error(
            f"it does not cover its domain: {len(missing)} of {len(domain)} values have no labels",
            came=shorten(missing),
            fix="add them, or take them out of the domain",
        )
    known = set(domain)
    inside = [row for row in rows if row[0] in known]
    _refuse_no_tree(request, inside)
    levels: list[Level] = []
    columns = list(zip(*inside, strict=True))[1:]
    leaves = tuple(row[0] for row in inside)
    for at, column in enumerate(columns, start=1):
        labels = tuple(dict.fromkeys(column))
        if at == len(columns) and len(labels) == 1:
            levels.append(TopLevel(labels[0]))
            break
        if MISSING in labels:
            raise request.error("a label is kept for missing values", came=MISSING, fix="use another label")
        code = {label: i for i, label in enumerate(labels)}
        levels.append(GroupLevel(leaves, tuple(code[label] for label in column), labels))
    losses = [loss_of_labels(level.codes) if isinstance(level, GroupLevel) else 1.0 for level in levels]
    outside = tuple(row[0] for row in rows if row[0] not in known)
    return request.build(levels, losses, outside=outside)


def _values(request: HierarchyRequest) -> tuple[str, ...]:
    domain = list_values(request.type, request.domain)
    if domain is None:
        raise request.error(
            "a table of values needs a domain that can be listed",
            came=request.domain.words(),
            fix="declare the values, or use intervals or a mask",
        )
    return domain


def _refuse_no_tree(request: HierarchyRequest, rows: Rows) -> None:
    """Refuse rows in which two values share a label and have different labels at a coarser level."""
    columns = list(zip(*rows, strict=True))
    for level, (fine, coarse) in enumerate(pairwise(columns[1:]), start=1):
        above: dict[str, str] = {}
        for label, next_label in zip(fine, coarse, strict=True):
            if above.setdefault(label, next_label) != next_label:
                raise request.error(
                    f"not a tree: a label of level {level} leads to two labels of level {level + 1}",
                    came=f"{label} under {above[label]} and under {next_label}",
                    fix="put it under one of them, or split it in two labels",
                )


# --- groups -------------------------------------------------------------------------------------------------------


def groups(request: HierarchyRequest) -> Hierarchy:
    """The hierarchy of levels of named groups, whose members are values or labels of the level before."""
    levels = _levels(request)
    values = _values(request)
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
            raise request.error(f"level {at} names what is not in its domain", came=shorten(strange))
        without = [name for name in members if name not in place]
        if without and rest is None:
            raise request.error(
                f"level {at} does not cover its domain: {len(without)} of {len(members)} have no group",
                came=shorten(without),
                fix="put them in a group, or name a group for the rest: {groups: ..., rest: Other}",
            )
        for row in table.values():
            row.append(place.get(row[-1] if by_label else row[0], spell(rest)))
        below = tuple(dict.fromkeys(row[-1] for row in table.values()))
    return hierarchy_of_rows(request, list(table.values()))


def group_values(request: HierarchyRequest) -> tuple[str, ...] | None:
    """The values that the first level of groups lists; None where the rest has a group of its own."""
    levels = _levels(request)
    if not levels or request.option("rest") is not None:
        return None
    return tuple(_places(request, levels[0], 1))


def _levels(request: HierarchyRequest) -> list[Mapping[Any, Any]]:
    raw = request.argument
    levels = [raw] if isinstance(raw, Mapping) else request.as_list(raw)
    if any(not isinstance(level, Mapping) for level in levels):
        raise request.error("a level is no mapping from labels to members", fix="write {Europe: [DE, FR], Asia: [JP]}")
    return levels


def _places(request: HierarchyRequest, level: Mapping[Any, Any], at: int) -> dict[str, str]:
    """The group of each member of one level."""
    place: dict[str, str] = {}
    for label, members in level.items():
        for member in map(spell, request.as_list(members)):
            if member in place:
                raise request.error(
                    f"not a tree: level {at} has a member in two groups",
                    came=f"{member} in {place[member]} and in {spell(label)}",
                )
            place[member] = spell(label)
    return place


# --- trees --------------------------------------------------------------------------------------------------------


def taxonomy(request: HierarchyRequest) -> Hierarchy:
    """The hierarchy of a tree, a level for each depth; a value that lies less deep is repeated up to its parent's level."""
    found = tree_of(request)
    values = _values(request)
    strangers = [value for value in values if value not in found]
    if strangers:
        raise request.error(
            f"it does not cover its domain: {len(strangers)} of {len(values)} values are not in the tree",
            came=shorten(strangers),
            fix="add them, or take them out of the domain",
        )
    known = set(values)
    outside = tuple(leaf for leaf in tree_leaves(found) if leaf not in known)
    return replace(hierarchy_of_rows(request, trees.rows_of_tree(found, values)), outside=outside)


def tree_of(request: HierarchyRequest) -> trees.Parents:
    """The parent of each node of the tree that a policy names or writes out."""
    raw = request.argument
    return trees.parents_of(trees.read_tree(request.path()) if isinstance(raw, str) else raw)


def tree_values(request: HierarchyRequest) -> tuple[str, ...]:
    """The values that a tree lists: its leaves."""
    return tree_leaves(tree_of(request))


def tree_leaves(found: trees.Parents) -> tuple[str, ...]:
    """The leaves of a tree: its nodes without children."""
    inner = set(found.values())
    return tuple(name for name in found if name not in inner)


# --- files -------------------------------------------------------------------------------------------------------------

DELIMITERS = (";", "\t", "|", ",")
"""The delimiters that are looked for; the first one wins where several would do."""


def hierarchy_of_file(request: HierarchyRequest) -> Hierarchy:
    """The hierarchy of a file; its numbers and dates are spelled as values in memory are."""
    rows = read_rows(request.path(), request.option("delimiter"))
    if request.type.discrete:
        rows = [[canonical_text(request, row[0]), *row[1:]] for row in rows]
    return hierarchy_of_rows(request, rows)


def file_values(request: HierarchyRequest) -> tuple[str, ...]:
    """The values that a hierarchy file lists."""
    return tuple(row[0] for row in read_rows(request.path(), request.option("delimiter")))


def canonical_text(request: HierarchyRequest, value: str) -> str:
    """A number or date of a file as it is spelled in memory."""
    return text_at(request.type, point(request.type, value))


def read_rows(path: Path, delimiter: str | None = None) -> list[list[str]]:
    """The rows of a hierarchy file.

    Raises     PolicyError where the file cannot be read or is no table.
    """
    try:
        return parse_rows(read_plain_file(path, LARGEST_HIERARCHY), delimiter, str(path))
    except (OSError, ValueError):
        near = near_path(path)
        fix = "name a file that is there" if near is None else f"did you mean {near.name}?"
        raise PolicyError("a hierarchy file cannot be read", came=path, fix=fix) from None


def parse_rows(raw: bytes, delimiter: str | None = None, name: str = "the file") -> list[list[str]]:
    """The rows of the bytes of a hierarchy file.

    Raises     PolicyError where they are no table.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PolicyError("a hierarchy file is not UTF-8 text", came=name, fix="save it as UTF-8") from None
    if "\0" in text:
        raise PolicyError("a hierarchy file is no text", came=name)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise PolicyError("a delimiter is one character", came=repr(delimiter), allowed="such as ; or a comma")
    rows = _rows(text, delimiter or find_delimiter(text))
    if rows is None:
        raise PolicyError("a hierarchy file has a quote that does not end", came=name)
    if not rows:
        raise PolicyError("a hierarchy file without rows", came=name)
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise PolicyError(
                f"a hierarchy file has rows of different lengths: line {line} has {len(row)} columns, not {width}",
                came=name,
                fix="give every value a label at every level; if the delimiter was misread, say delimiter:",
            )
        if any("\r" in field or "\n" in field for field in row):
            raise PolicyError(f"a hierarchy file has a field over several lines before line {line + 1}", came=name)
        if not row[0]:
            raise PolicyError(f"a hierarchy file has a row without a value in line {line}", came=name)
    return [row for _, row in rows]


def find_delimiter(text: str) -> str:
    """The first delimiter that gives every row the same number of columns, more than one; else the most frequent one."""
    for delimiter in DELIMITERS:
        rows = _rows(text, delimiter)
        if rows and len(rows[0][1]) > 1 and all(len(row) == len(rows[0][1]) for _, row in rows):
            return delimiter
    return max(DELIMITERS, key=text.count)


def _rows(text: str, delimiter: str) -> list[tuple[int, list[str]]] | None:
    """Rows with their line numbers, empty lines left out; None where a quote does not end."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error:
        return None
