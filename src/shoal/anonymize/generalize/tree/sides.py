"""The sides that boxes may have along one attribute: a binary tree over its cells, built before any box is.

The children of a hierarchy's label may be many; they are divided two parts at a time, so that a box may end between two
levels. Where a step divides is decided by masses that are not confidential: shares of the domain, or noisy counts that were
paid for. A step takes the cut with the largest fall of expected loss for each bit of class size that it uses up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.data.cells import AttributeCells
from shoal.data.hierarchy.level import SUPPRESSED

Floats = npt.NDArray[np.float64]
NONE = -1
"""Stands for no node."""
MOST_NAMED = 3
"""So many members are named in a label that has no name of its own, or so many that it leaves out."""
SMALLEST_BITS = 0.05
"""Added to the bits that a cut uses up, so that cutting off next to nobody is not worth everything."""


@dataclass(frozen=True)
class SideTree:
    """A tree of sides in arrays; node 0 is the whole domain, and parents come before their children.

    `order` lists the cells so that every node holds a run of them, `start` to `stop`. A node has no kids, two, or three:
    the third is the missing value, which leaves the domain in the same step that first divides it.
    """

    cells: AttributeCells
    order: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    stop: npt.NDArray[np.int32]
    kids: npt.NDArray[np.int32]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def rank(self) -> npt.NDArray[np.int32]:
        """The rank of each cell in `order`."""
        found = np.empty(len(self.order), dtype=np.int32)
        found[self.order] = np.arange(len(self.order), dtype=np.int32)
        return found

    @cached_property
    def losses(self) -> Floats:
        """The loss of each node's label, from the domain alone."""
        sizes = np.array([float(self.cells.sizes[cell]) for cell in self.order])
        ends = np.concatenate([[0.0], np.cumsum(sizes)])
        held, total = ends[self.stop] - ends[self.start], ends[-1]
        found = np.maximum(held - 1.0, 0.0) / (total - 1.0) if total > 1.0 else np.zeros(len(self))
        return np.asarray(np.minimum(found, 1.0))

    def members(self, node: int) -> tuple[int, ...]:
        """The cells of a node, in their declared order."""
        return tuple(sorted(self.order[self.start[node] : self.stop[node]].tolist()))

    def sums(self, masses: Floats) -> Floats:
        """The mass of each node, from the masses of the cells in declared order."""
        ends = np.concatenate([[0.0], np.cumsum(masses[self.order])])
        return np.asarray(ends[self.stop] - ends[self.start])

    def too_coarse(self, level: int | None) -> npt.NDArray[np.bool_]:
        """Which nodes are not within one label of that level of the hierarchy; none where no level is asked for."""
        hierarchy = self.cells.attribute.hierarchy
        if level is None or hierarchy is None or level == len(hierarchy) - 1:
            return np.zeros(len(self), dtype=np.bool_)
        above = [i for i, each in enumerate(hierarchy.levels) if each is self.cells.level]
        at = level - (above[0] if above else 0) - 1
        group = np.arange(len(self.cells))
        if at >= 0 and self.cells.groups:
            for number, each in enumerate(self.cells.groups[min(at, len(self.cells.groups) - 1)]):
                group[list(each.cells)] = -1 - number
        sorted_groups = group[self.order]
        change = np.concatenate([[0], np.cumsum(sorted_groups[1:] != sorted_groups[:-1])])
        return np.asarray(change[self.stop - 1] != change[self.start])


@dataclass
class DomainPiece:
    """A piece of the domain that is put together with others: a cell, or a group of the hierarchy."""

    label: str
    cells: list[int]
    items: list[DomainPiece]
    mass: float = 0.0
    size: float = 0.0


def build_sides(cells: AttributeCells, masses: Floats) -> SideTree:
    """The tree of sides of an attribute, from its cells and the mass of each; nothing else is read."""
    builder = _SideBuilder(cells, np.maximum(np.asarray(masses, dtype=np.float64), 1e-12))
    return builder.build()


class _SideBuilder:
    def __init__(self, cells: AttributeCells, masses: Floats) -> None:
        self.cells, self.masses = cells, masses
        self.sizes = np.array([float(size) for size in cells.sizes])
        self.order: list[int] = []
        self.nodes: list[tuple[int, int]] = []
        self.kids: list[list[int]] = []
        self.labels: list[str] = []
        self.seen: set[str] = set()

    def build(self) -> SideTree:
        cells = self.cells
        domain = [cell for cell in range(len(cells)) if cell != cells.missing]
        root = _build_hierarchy(cells, domain)
        parts = self._halve(root.items) if root.items else [[root]]
        if cells.missing is not None:
            parts.append([DomainPiece(cells.labels[cells.missing], [cells.missing], [])])
            self._add_parts(self._node(DomainPiece(SUPPRESSED, [*domain, cells.missing], []), SUPPRESSED), parts, root)
        elif root.items:
            self._add_parts(self._node(root, SUPPRESSED), parts, root)
        else:
            self._node(root, root.label)
            self.order.append(root.cells[0])
        start, stop = np.array(self.nodes, dtype=np.int32).T
        kids = np.full((len(self.nodes), 3), NONE, dtype=np.int32)
        for node, own in enumerate(self.kids):
            kids[node, : len(own)] = own
        return SideTree(cells, np.array(self.order, dtype=np.int32), start, stop, kids, tuple(self.labels))

    def _add_parts(self, parent: int, parts: list[list[DomainPiece]], of: DomainPiece) -> None:
        """Work off the parts of a node in order, so that each node's cells come out as one run.

        Without recursion: a tree of sides may be as deep as it has cells.
        """
        waiting = [(part, of, parent) for part in reversed(parts)]
        while waiting:
            pieces, within, above = waiting.pop()
            if len(pieces) == 1:
                item = within = pieces[0]
                node = self._node(item, item.label)
                below = self._halve(item.items) if item.items else []
            else:
                held = [cell for piece in pieces for cell in piece.cells]
                node = self._node(DomainPiece("", held, pieces), name_pieces(self.cells, pieces, within))
                below = self._halve(pieces)
            self.kids[above].append(node)
            if not below:
                self.order.append(pieces[0].cells[0])
            waiting += [(part, within, node) for part in reversed(below)]

    def _node(self, item: DomainPiece, label: str) -> int:
        start = len(self.order)
        self.nodes.append((start, start + len(item.cells)))
        self.kids.append([])
        if label in self.seen:
            label = " or ".join(self.cells.labels[cell] for cell in item.cells)
        self.seen.add(label)
        self.labels.append(label)
        return len(self.nodes) - 1

    def _halve(self, items: list[DomainPiece]) -> list[list[DomainPiece]]:
        """Two parts of some items: a run of an ordered attribute, else the heaviest against the others."""
        for item in items:
            if not item.mass:
                item.mass, item.size = float(self.masses[item.cells].sum()), float(self.sizes[item.cells].sum())
        if not self.cells.ordered:
            items = sorted(items, key=lambda item: -item.mass)
        mass, size = np.array([item.mass for item in items]), np.array([item.size for item in items])
        shares = np.clip(np.cumsum(mass)[:-1] / mass.sum(), 1e-9, 1 - 1e-9)
        lefts, whole = np.cumsum(size)[:-1], size.sum()
        gains = whole - shares * lefts - (1 - shares) * (whole - lefts)
        bits = -(shares * np.log2(shares) + (1 - shares) * np.log2(1 - shares))
        at = int(np.argmax(gains / (bits + SMALLEST_BITS))) + 1
        return [items[:at], items[at:]]


def name_pieces(cells: AttributeCells, pieces: Sequence[DomainPiece], of: DomainPiece) -> str:
    """A name for several pieces of one parent: an interval, the pieces, or the parent without the others."""
    held = sorted(cell for piece in pieces for cell in piece.cells)
    if cells.ordered:
        return cells.span(held[0], held[-1] + 1)
    names = [piece.label for piece in sorted(pieces, key=lambda piece: min(piece.cells))]
    if len(names) <= MOST_NAMED:
        return " or ".join(names)
    if 0 < len(of.items) - len(pieces) <= MOST_NAMED:
        inside = set(held)
        others = [item.label for item in of.items if not inside.issuperset(item.cells)]
        whole = "any" if of.label == SUPPRESSED else of.label
        return f"{whole} but {' or '.join(others)}"
    return " or ".join([*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"])


def _build_hierarchy(cells: AttributeCells, domain: list[int]) -> DomainPiece:
    """The hierarchy over the cells, without steps that divide nothing."""
    items = {(cell,): DomainPiece(cells.labels[cell], [cell], []) for cell in domain}
    level = [items[(cell,)] for cell in domain]
    for groups in cells.groups:
        home = {cell: number for number, group in enumerate(groups) for cell in group.cells}
        held: dict[int, list[DomainPiece]] = {}
        for item in level:
            held.setdefault(home[item.cells[0]], []).append(item)
        level = [
            own[0] if len(own) == 1 else DomainPiece(groups[number].label, [c for item in own for c in item.cells], own)
            for number, own in held.items()
        ]
    if len(level) == 1:
        return level[0] if not level[0].items else DomainPiece(SUPPRESSED, level[0].cells, level[0].items)
    return DomainPiece(SUPPRESSED, [cell for item in level for cell in item.cells], level)


def hierarchy_over(cells: AttributeCells) -> DomainPiece:
    """The hierarchy over all cells but the missing one; a caller with many labels to check builds it once."""
    return _build_hierarchy(cells, [cell for cell in range(len(cells)) if cell != cells.missing])


def label_fits(cells: AttributeCells, label: str, members: list[int], over: DomainPiece | None = None) -> bool:
    """Whether a side of these cells may carry this label; for whoever checks a recoding that somebody else applied.

    In which order members are named does not count: a lock lists values in another order than a policy. `over` is the
    hierarchy over the cells (`hierarchy_over`), where somebody has it already.
    """
    held = sorted(members)
    if len(held) == 1:
        return label == cells.labels[held[0]]
    if len(held) == len(cells) and held == list(range(len(cells))):
        return label == SUPPRESSED
    waiting, inside = [hierarchy_over(cells) if over is None else over], set(held)
    while waiting:
        item = waiting.pop()
        pieces = [each for each in item.items if inside.issuperset(each.cells)]
        if label == item.label and sorted(item.cells) == held:
            return True
        if sum(len(each.cells) for each in pieces) == len(held) and pieces_label_fits(cells, label, pieces, item):
            return True
        waiting += [each for each in item.items if len(each.cells) >= len(held) and inside.issubset(each.cells)]
    return _same(
        label, [cells.labels[cell] for cell in held]
    )  # two sides of one name are told apart by all their cells


def pieces_label_fits(cells: AttributeCells, label: str, pieces: list[DomainPiece], of: DomainPiece) -> bool:
    """Whether a label names these pieces of a parent: as an interval, one by one, by what is left out, or in part."""
    held = sorted(cell for piece in pieces for cell in piece.cells)
    if cells.ordered:
        return label == cells.span(held[0], held[-1] + 1)
    names = [piece.label for piece in pieces]
    named = {id(piece) for piece in pieces}
    others = [item.label for item in of.items if id(item) not in named]
    whole = "any" if of.label == SUPPRESSED else of.label
    if _same(label, names) or (label.startswith(f"{whole} but ") and _same(label[len(whole) + 5 :], others)):
        return True
    *shown, last = label.split(" or ")
    return last == f"{len(names) - MOST_NAMED} more" and set(shown) <= set(" or ".join(names).split(" or "))


def _same(label: str, names: list[str]) -> bool:
    return sorted(label.split(" or ")) == sorted(" or ".join(names).split(" or "))
