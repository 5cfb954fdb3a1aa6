"""A taxonomy: a tree of concepts, and how far apart, how marginal and how central they are (SC13 §6.3.4–6.3.5).

A hierarchy says what to publish; a taxonomy says what is near. Distances lie in [0, 1] and form a metric.
Everything here follows from the tree and the declared values alone.

People write a tree as nested lists and mappings, or as such a YAML file. It has one root. A node is a name with its
children: a list of names, or a mapping from names to their children; a name without children is a leaf.

    Anywhere:
      Europe: [Spain, Portugal]
      Asia:
        East: [Japan]
        South: [India, Nepal]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Values, shorten
from shoal.data.plain_file import LARGEST_YAML, read_plain_file
from shoal.data.type import spell
from shoal.errors import PolicyError, UsageError

Floats = npt.NDArray[np.float64]
_BLOCK = 2_000_000
"""Distances held in memory at once while sums over the domain are taken."""


@dataclass(frozen=True)
class Taxonomy:
    """A tree of concepts: the parent of each (None for the root), and the values of the domain, by default the leaves.

    Raises     PolicyError where there is not one root, a parent is missing, the tree goes in a circle, or a declared value
               is not in it.

    >>> sports = Taxonomy.of({"sport": {"ball": ["football", "tennis"], "water": ["swimming"]}})
    >>> sports.distance("football", "tennis") < sports.distance("football", "swimming")
    True
    """

    parents: Mapping[str, str | None]
    declared: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        roots = [name for name, above in self.parents.items() if above is None]
        if len(roots) != 1:
            raise PolicyError(
                "a taxonomy needs exactly one root",
                came=shorten(roots) or "none",
                fix="put one concept above all others",
            )
        unknown = sorted({above for above in self.parents.values() if above is not None and above not in self.parents})
        if unknown:
            raise PolicyError("a taxonomy names parents that it does not contain", came=shorten(unknown))
        self._refuse_circles()
        strangers = [value for value in self.declared or () if value not in self.parents]
        if strangers:
            raise PolicyError(
                f"the taxonomy does not cover its domain: {len(strangers)} values are not in it",
                came=shorten(strangers),
                fix="add them to the tree or take them out of the domain",
            )
        if self.declared is not None:
            Values(self.declared)

    def _refuse_circles(self) -> None:
        sound: set[str] = set()
        for name in self.parents:
            path: dict[str, None] = {}
            here: str | None = name
            while here is not None and here not in sound:
                if here in path:
                    raise PolicyError("a taxonomy goes in a circle", came=here, fix="each concept has one place")
                path[here] = None
                here = self.parents[here]
            sound.update(path)

    @classmethod
    def of(cls, nested: object, values: Sequence[str] | None = None) -> Taxonomy:
        """The taxonomy of nested lists and mappings, written as the top of this module shows."""
        return cls(parents_of(nested), None if values is None else tuple(values))

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[str, ...]], values: Sequence[str] | None = None) -> Taxonomy:
        """The taxonomy of a table of levels, such as `Hierarchy.rows`; a name used twice gets its level behind it."""
        return cls(parents_of_rows(rows), None if values is None else tuple(values))

    # --- the tree ---------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        """All concepts, in the order in which they are listed."""
        return tuple(self.parents)

    @cached_property
    def root(self) -> str:
        """The concept above all others."""
        return next(name for name, above in self.parents.items() if above is None)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The concepts without others below them."""
        inner = set(self.parents.values())
        return tuple(name for name in self.parents if name not in inner)

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the domain: as declared, or the leaves."""
        return self.leaves if self.declared is None else self.declared

    def ancestors(self, node: str) -> tuple[str, ...]:
        """The concept itself and all above it, up to the root: SC13's phi."""
        self._refuse_unknown([node])
        path = [node]
        while (above := self.parents[path[-1]]) is not None:
            path.append(above)
        return tuple(path)

    def depth(self, node: str) -> int:
        """The number of concepts above one."""
        return len(self.ancestors(node)) - 1

    def _refuse_unknown(self, nodes: Iterable[str]) -> None:
        # Names may come from records, so they are counted and not quoted.
        unknown = sum(node not in self.parents for node in nodes)
        if unknown:
            raise UsageError(f"{unknown} names are not in the taxonomy", fix="declare them in the tree")

    # --- distances --------------------------------------------------------------------------------------------

    def distance(self, first: str, second: str) -> float:
        """SC13 Eq 6.6: log2(1 + non-common ancestors / all ancestors), each concept among its own ancestors."""
        return float(self.distances([first], [second])[0, 0])

    def distances(self, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> Floats:
        """All distances between two lists of concepts; each is the list of the domain's values unless it is given."""
        first = self._paths(self.values if rows is None else rows)
        second = self._paths(self.values if columns is None else columns)
        deepest = min(first.shape[1], second.shape[1])
        common = np.zeros((len(first), len(second)), dtype=np.int32)
        for level in range(deepest):
            here = first[:, level, None]
            common += (here == second[None, :, level]) & (here >= 0)
        every = (first >= 0).sum(axis=1)[:, None] + (second >= 0).sum(axis=1)[None, :] - common
        return np.asarray(np.log2(1.0 + (every - common) / every))

    def _paths(self, nodes: Sequence[str]) -> npt.NDArray[np.int32]:
        """The number of each node's ancestor at each depth, −1 below the node."""
        self._refuse_unknown(nodes)
        table, place = self._table
        return table[[place[node] for node in nodes]]

    @cached_property
    def _table(self) -> tuple[npt.NDArray[np.int32], dict[str, int]]:
        place = {name: i for i, name in enumerate(self.parents)}
        paths = [[place[name] for name in reversed(self.ancestors(node))] for node in self.parents]
        table = np.full((len(paths), max(map(len, paths))), -1, dtype=np.int32)
        for i, path in enumerate(paths):
            table[i, : len(path)] = path
        return table, place

    # --- what is central, what is marginal --------------------------------------------------------------------

    def marginality(self, nodes: Sequence[str] | None = None, sample: Mapping[str, int] | None = None) -> Floats:
        """SC13 Eq 6.1: the sum of each concept's distances to the domain, or to a sample given as counts of values."""
        nodes = self.values if nodes is None else nodes
        others = self.values if sample is None else tuple(sample)
        weights = np.array([1] * len(others) if sample is None else list(sample.values()), dtype=np.float64)
        step = max(1, _BLOCK // max(1, len(others)))
        parts = [self.distances(nodes[at : at + step], others) @ weights for at in range(0, len(nodes), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def boundaries(self) -> tuple[str, str]:
        """SC13 Eq 6.2 and 6.3: the most marginal value, and the value farthest from it; the alphabet breaks ties."""
        values = sorted(self.values)
        bottom = values[_largest(self.marginality(values))]
        return bottom, values[_largest(self.distances([bottom], values)[0])]

    @cached_property
    def diameter(self) -> float:
        """The largest distance between any two values of the domain.

        It bounds what replacing one value can do to a marginality, which the distance of the boundaries does not.
        Two values that part at a node are farthest when both are as deep as can be: one walk over the tree.
        """
        domain = set(self.values)
        best = 0.0
        deepest: dict[str, list[int]] = {}
        for node in sorted(self.parents, key=self.depth, reverse=True):
            depth = self.depth(node)
            arms = sorted([*deepest.pop(node, []), *([depth] if node in domain else [])], reverse=True)
            if len(arms) > 1:
                every = arms[0] + arms[1] + 1 - depth
                best = max(best, float(np.log2(1.0 + (every - depth - 1) / every)))
            above = self.parents[node]
            if arms and above is not None:
                deepest.setdefault(above, []).append(arms[0])
        return best

    @property
    def centroid_candidates(self) -> tuple[str, ...]:
        """SC13 Alg 6.3: every concept of the taxonomy, whatever the sample is."""
        return self.nodes

    def subtree(self, values: Iterable[str]) -> tuple[str, ...]:
        """The smallest part of the taxonomy that holds these values: SC13's tau(S)."""
        paths = [set(self.ancestors(value)) for value in dict.fromkeys(values)]
        if not paths:
            raise UsageError("a sample without values has no taxonomy")
        common = set.intersection(*paths)
        lowest = max(common, key=self.depth)
        kept = set.union(*paths) - common | {lowest}
        return tuple(node for node in self.parents if node in kept)

    def centroid(self, sample: Mapping[str, int]) -> str:
        """The least marginal concept of the smallest subtree that holds a sample (SC13 Eq 6.4); it promises nothing."""
        candidates = sorted(self.subtree(value for value, count in sample.items() if count > 0))
        return candidates[_largest(-self.marginality(candidates, sample))]


def _largest(numbers: Floats) -> int:
    """The number of the first of the largest; sums that differ by rounding alone count as equal."""
    return int(np.argmax(numbers >= numbers.max() - 1e-9))


# --- trees of names ----------------------------------------------------------------------------------------------------

Parents = dict[str, str | None]
NOTHING = ("", "~", "null", "Null", "NULL")
"""The spellings of an empty value in YAML; a child of such a name is written in a list."""
DEEPEST = 100
"""The most levels of nesting; a deeper tree is taken for an endless one."""
MOST_EVENTS = 250_000
"""The most names, lists and mappings of a file, as many as a policy may have of keys and values."""


def read_tree(path: Path) -> Any:
    """The tree in a YAML file, every name as the text that is written there."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        text = read_plain_file(path, LARGEST_YAML).decode("utf-8-sig")
        if "\0" in text:
            raise PolicyError("a taxonomy file is no text", came=path)
        _refuse_events(YAML(typ="base", pure=True).parse(text), path)
        return YAML(typ="base", pure=True).load(text)
    except OSError:
        raise PolicyError("a taxonomy file cannot be read", came=path, fix="name a file that is there") from None
    except UnicodeDecodeError:
        raise PolicyError("a taxonomy file is not UTF-8 text", came=path, fix="save it as UTF-8") from None
    except (YAMLError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = path if mark is None else f"{path}, line {mark.line + 1}"
        raise PolicyError(
            "a taxonomy file is no YAML tree", came=where, fix="write one root, and below it lists or mappings of names"
        ) from None


def _refuse_events(events: Iterable[Any], path: Path) -> None:
    """Refuse what a tree of names does not hold as soon as it comes: the time to read on grows with the square of the depth."""
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    depth = 0
    for number, event in enumerate(events):
        # An alias repeats names, or leads back to where it stands and is then read as nothing.
        if isinstance(event, AliasEvent):
            raise PolicyError("a taxonomy file refers to a part of itself", came=path, fix="write it out")
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > 2 * DEEPEST:  # a level of a list of mappings is nested twice
            raise PolicyError("a taxonomy file is nested too deep", came=path, allowed=f"at most {DEEPEST} levels")
        if number > MOST_EVENTS:
            raise PolicyError("a taxonomy file has too many names", came=path, allowed=f"at most {MOST_EVENTS:,}")


def parents_of(tree: object) -> Parents:
    """The parent of each name of a nested tree, from the root down.

    Raises     PolicyError where there is not one root, a name is used twice, or the tree has no end.
    """
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
    """The children of a node, each with what is written below it."""
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
        raise PolicyError("a node of a tree without a name", came=spell(raw), fix="names are texts")
    return spell(raw)


def parents_of_rows(rows: Iterable[tuple[str, ...]]) -> Parents:
    """The parent of each name of a table of levels: value, label above, ..., one label for all.

    A label that only repeats the one below it is the same node. Where two nodes share a name, the upper one says its level.
    """
    found: Parents = {}
    table = sorted(rows, key=lambda row: row[::-1])

    def add(group: list[tuple[str, ...]], column: int, above: str | None) -> None:
        label = group[0][column]
        while column and all(row[column - 1] == label for row in group):
            column -= 1
        name = label
        if column and (name in values or name in found):
            name = f"{label} (level {column})"
        found[name] = above
        if column:
            for _, members in groupby(group, key=lambda row: row[column - 1]):
                add(list(members), column - 1, name)

    values = {row[0] for row in table}
    if table:
        add(table, len(table[0]) - 1, None)
    return found


def rows_of_tree(found: Mapping[str, str | None], values: Sequence[str]) -> list[list[str]]:
    """A tree as a table of levels: for each value its ancestors, deepest first; a shallow value is repeated until they begin."""
    paths = []
    for value in values:
        path = [value]
        while (above := found[path[-1]]) is not None:
            path.append(above)
        paths.append(path)
    height = max(map(len, paths))
    return [[path[0]] * (height - len(path)) + path for path in paths]
