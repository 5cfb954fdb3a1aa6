"""Boxes: a partition of the declared domain, each box one side along each attribute; a record shows its box's sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.base import Recoding, level_rule
from shoal.anonymize.generalize.tree.sides import SideTree
from shoal.anonymize.kernel import grow
from shoal.data.cells import AttributeCells
from shoal.data.hierarchy.level import Level
from shoal.engine.base import Table

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
AT_ONCE = 1 << 15
"""Records whose places are looked up at a time."""


@dataclass(frozen=True)
class SideLayout:
    """The side trees of all attributes as one row of nodes, for the kernels."""

    sides: tuple[SideTree, ...]

    @cached_property
    def offsets(self) -> list[int]:
        """The number of the first node of each attribute."""
        return [0, *np.cumsum([len(each) for each in self.sides]).tolist()]

    @cached_property
    def kids(self) -> Codes:
        """The kids of each node by their number in the row."""
        parts = [
            np.where(each.kids >= 0, each.kids + offset, -1)
            for each, offset in zip(self.sides, self.offsets, strict=False)
        ]
        return np.concatenate(parts).astype(np.int32)

    @cached_property
    def starts(self) -> Codes:
        """The first cell of each node, along its attribute."""
        return np.concatenate([each.start for each in self.sides])

    @cached_property
    def stops(self) -> Codes:
        """The cell after the last of each node."""
        return np.concatenate([each.stop for each in self.sides])

    @cached_property
    def last(self) -> Codes:
        """The node after the last one below each node."""
        sizes = np.ones(len(self.kids), dtype=np.int32)
        for node in range(len(self.kids) - 1, -1, -1):
            for kid in self.kids[node]:
                if kid >= 0:
                    sizes[node] += sizes[kid]
        return np.asarray(np.arange(len(self.kids)) + sizes, dtype=np.int32)

    def losses(self, weights: Sequence[float]) -> Floats:
        """The loss of each node, weighted so that the whole domain loses 1."""
        total = sum(weights)
        parts = [each.losses * weight / total for each, weight in zip(self.sides, weights, strict=True)]
        return np.concatenate(parts)


@dataclass(frozen=True)
class BoxTree:
    """A tree of boxes in arrays: the attribute that each node divides (−1: it is a box), the nodes below it, its sides."""

    layout: SideLayout
    faces: Codes
    splits: Codes
    below: Codes

    @cached_property
    def leaves(self) -> Codes:
        """The nodes that are boxes."""
        return np.flatnonzero(self.splits < 0).astype(np.int32)

    @cached_property
    def nodes(self) -> Codes:
        """What `grow.route` has to know of each node: the attribute that it divides, where its first part ends along it, and
        its second, and the nodes below it; a box has itself below it.
        """
        along, own = np.maximum(self.splits, 0), np.arange(len(self.splits), dtype=np.int32)
        found = np.full((len(along), 6), np.iinfo(np.int32).max, dtype=np.int32)
        found[:, 0] = along
        for part in range(2):
            # The last part of a node has no end: whatever is left belongs to it.
            more = (self.splits >= 0) & (self.below[:, part + 1] >= 0)
            found[more, part + 1] = self.layout.stops[self.faces[self.below[more, part], along[more]]]
        found[:, 3:] = np.where(self.splits[:, np.newaxis] >= 0, self.below, own[:, np.newaxis])
        return found

    def find_nodes(self, cells: Sequence[npt.NDArray[np.integer[Any]]], before: int = 0) -> Codes:
        """The node in which each record ends; `cells[j]` are its cells along attribute j.

        `before` is how much was looked up already: where there is much to do, it is done by compiled loops.
        """
        sides, count = self.layout.sides, len(cells[0]) if cells else 0
        found = np.zeros(count, dtype=np.int32)
        route, nodes = grow.router(count * len(sides) + before), self.nodes
        for first in range(0, count, AT_ONCE):
            some = slice(first, first + AT_ONCE)
            ranks = np.array([side.rank.take(codes[some]) for side, codes in zip(sides, cells, strict=True)])
            route(ranks, nodes, found[some])
        return found

    def box_finder(self) -> Callable[[Sequence[npt.NDArray[np.integer[Any]]]], Codes]:
        """A function that gives the number of the box of each record, by its place among the leaves."""
        number = np.full(len(self.splits), -1, dtype=np.int32)
        number[self.leaves] = np.arange(len(self.leaves), dtype=np.int32)
        done = 0

        def box_of(cells: Sequence[npt.NDArray[np.integer[Any]]]) -> Codes:
            nonlocal done
            found = np.asarray(number[self.find_nodes(cells, before=done)])
            done += found.size * len(cells)
            return found

        return box_of


@dataclass(frozen=True)
class BoxRecoding(Recoding):
    """The recoding of a tree that was paid for: each record shows the sides of its box."""

    tree: BoxTree

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(side.cells.name for side in self.tree.layout.sides)

    def __len__(self) -> int:
        return len(self.tree.leaves)

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The label of every box along each attribute."""
        faces, layout = self.tree.faces[self.tree.leaves], self.tree.layout
        return tuple(
            tuple(side.labels[node - offset] for node in faces[:, j].tolist())
            for j, (side, offset) in enumerate(zip(layout.sides, layout.offsets, strict=False))
        )

    @property
    def levels(self) -> dict[str, Level]:
        return {side.cells.name: side.cells.level for side in self.tree.layout.sides}

    def finish(self, recoded: Table) -> Table:
        known = [side.cells.labels for side in self.tree.layout.sides]
        return recoded.relabel(known, self.tree.box_finder(), self.labels)

    def losses(self, name: str) -> Mapping[str, float] | float:
        side = self.tree.layout.sides[self.columns.index(name)]
        return dict(zip(side.labels, side.losses.tolist(), strict=True))

    def spread(self, name: str, counts: Mapping[str, int]) -> dict[str, float]:
        """What labels say about single cells: each label's records spread evenly over the cells it stands for."""
        side = self.tree.layout.sides[self.columns.index(name)]
        found = np.zeros(len(side.cells))
        for node, label in enumerate(side.labels):
            if label in counts:
                members = list(side.members(node))
                found[members] += counts[label] / len(members)
        return dict(zip(side.cells.labels, found.tolist(), strict=True))

    def rules(self) -> dict[str, dict[str, Any]]:
        return {name: self._rule(j) for j, name in enumerate(self.columns)}

    def _rule(self, j: int) -> dict[str, Any]:
        """The labels that occur along an attribute, and the cells that each stands for."""
        side, offset = self.tree.layout.sides[j], self.tree.layout.offsets[j]
        used = (np.unique(self.tree.faces[self.tree.leaves, j]) - offset).tolist()
        labels, members = [side.labels[node] for node in used], [side.members(node) for node in used]
        return rule_of_unions(side.cells, labels, members, side.losses[used].tolist())

    def listing(self) -> str:
        """Every box as a line of labels, sorted: what a reader needs to know which boxes there are."""
        import csv
        import io

        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(sorted(zip(*self.labels, strict=True)))
        return file.getvalue()


def rule_of_unions(
    cells: AttributeCells, labels: Sequence[str], members: Sequence[Sequence[int]], losses: Sequence[float]
) -> dict[str, Any]:
    """The rule of labels that stand for unions of cells: the cells of each, and the level that the cells are of."""
    hierarchy = cells.attribute.hierarchy
    index = next((i for i, each in enumerate(hierarchy.levels) if each is cells.level), 0) if hierarchy else 0
    base = level_rule(cells.attribute, index, cells.level)
    return {
        "attribute": cells.name,
        "type": cells.attribute.type.value,
        "domain": base["domain"],
        "kind": "boxes",
        "labels": list(labels),
        "losses": [f"{loss:.6f}" for loss in losses],
        "members": [_runs(held) for held in members],
        "cells": list(cells.labels),
        "level": base,
    }


def _runs(members: Sequence[int]) -> list[list[int]]:
    """Cell numbers as runs: [first, last] of each."""
    found: list[list[int]] = []
    for cell in members:
        if found and found[-1][1] == cell - 1:
            found[-1][1] = cell
        else:
            found.append([cell, cell])
    return found
