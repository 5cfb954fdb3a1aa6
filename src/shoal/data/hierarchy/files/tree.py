"""Trees of names as people write them (nested lists and mappings, a YAML file) and as tables of levels.

A tree has one root. A node is a name with its children: a list of names, or a mapping from names to their
children; a name without children is a leaf.

    Anywhere:
      Europe: [Spain, Portugal]
      Asia:
        East: [Japan]
        South: [India, Nepal]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from shoal.data.type import spelled
from shoal.errors import PolicyError

Parents = dict[str, str | None]
NOTHING = ("", "~", "null", "Null", "NULL")
"""How YAML spells that nothing stands there; a child of that name is written in a list."""
DEEPEST = 100
"""Levels of nesting after which a tree is taken for an endless one."""


def read(path: Path) -> Any:
    """The tree in a YAML file, every name as the text that stands there."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent

    try:
        text = path.read_text("utf-8-sig")
        # An alias repeats names, or leads back to where it stands and is then read as nothing.
        if any(isinstance(event, AliasEvent) for event in YAML(typ="base", pure=True).parse(text)):
            raise PolicyError("a taxonomy file refers to a part of itself", came=path, fix="write it out")
        return YAML(typ="base", pure=True).load(text)
    except OSError:
        raise PolicyError("a taxonomy file cannot be read", came=path, fix="name a file that is there") from None
    except UnicodeDecodeError:
        raise PolicyError("a taxonomy file is not UTF-8 text", came=path, fix="save it as UTF-8") from None
    except (YAMLError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = path if mark is None else f"{path}, line {mark.line + 1}"
        raise PolicyError("a taxonomy file is no YAML tree", came=where, fix="see data.tree for the form") from None


def write(path: Path, tree: object) -> None:
    """A tree as a YAML file, which `read` gives back."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None
    yaml.allow_unicode = True
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment, unused-ignore]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yaml.dump(tree, file)


def parents(tree: object) -> Parents:
    """Each name's parent, from the root down; PolicyError for two roots, a name used twice, or an endless tree."""
    roots = list(_members(tree, "the tree"))
    if len(roots) != 1:
        raise PolicyError(
            "a tree needs exactly one root",
            came=", ".join(name for name, _ in roots[:6]) or "none",
            fix="put one name above all others",
        )
    found: Parents = {}
    waiting: list[tuple[str, object, str | None, int]] = [(*roots[0], None, 0)]
    while waiting:
        name, below, above, depth = waiting.pop()
        if name in found:
            raise PolicyError("a name stands twice in a tree", came=name, fix="give each node a name of its own")
        if depth > DEEPEST:
            raise PolicyError(
                "a tree has no end", came=f"more than {DEEPEST} levels", fix="does a part contain itself?"
            )
        found[name] = above
        waiting += [(*child, name, depth + 1) for child in reversed(list(_members(below, name)))]
    return found


def _members(node: object, name: str) -> Iterator[tuple[str, object]]:
    """The names below a node, each with what stands below it."""
    if node is None or node in NOTHING:
        return
    if isinstance(node, Mapping):
        yield from ((_name(key), below) for key, below in node.items())
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for item in node:
            if isinstance(item, Mapping):
                yield from _members(item, name)
            else:
                yield _name(item), None
    else:
        yield _name(node), None


def _name(raw: object) -> str:
    if raw is None or (isinstance(raw, Sequence | Mapping) and not isinstance(raw, str)) or raw == "":
        raise PolicyError("a node of a tree without a name", came=spelled(raw), fix="names are texts")
    return spelled(raw)


def nested(found: Mapping[str, str | None]) -> dict[str, Any]:
    """The tree of a table of parents, in the form that `parents` reads: lists where all members are leaves."""
    below: dict[str | None, list[str]] = {}
    for name, above in found.items():
        below.setdefault(above, []).append(name)

    def written(name: str) -> Any:
        members = below.get(name, [])
        if not members:
            return None
        if any(member in below for member in members):
            return {member: written(member) for member in members}
        return members

    return {root: written(root) for root in below.get(None, [])}


def from_rows(rows: Iterable[tuple[str, ...]], *, rename: bool = False) -> Parents:
    """The tree of a table of levels: value, label above, ..., one label for all.

    A label that only repeats the one below it is the same node. A name that two nodes share is an error, or
    with `rename` the upper one says its level.
    """
    found: Parents = {}
    table = sorted(rows, key=lambda row: row[::-1])

    def add(group: list[tuple[str, ...]], column: int, above: str | None) -> None:
        label = group[0][column]
        while column and all(row[column - 1] == label for row in group):
            column -= 1
        name = label
        if column and (name in values or name in found):
            if not rename:
                raise PolicyError("a name stands twice in a tree", came=name, fix="give each node a name of its own")
            name = f"{label} (level {column})"
        found[name] = above
        if column:
            for _, members in groupby(group, key=lambda row: row[column - 1]):
                add(list(members), column - 1, name)

    values = {row[0] for row in table}
    if table:
        add(table, len(table[0]) - 1, None)
    return found


def rows(found: Mapping[str, str | None], values: Sequence[str]) -> list[list[str]]:
    """One row for each value: its ancestors by depth, deepest first; a shallow value is repeated until they begin."""
    paths = []
    for value in values:
        path = [value]
        while (above := found[path[-1]]) is not None:
            path.append(above)
        paths.append(path)
    height = max(map(len, paths))
    return [[path[0]] * (height - len(path)) + path for path in paths]
