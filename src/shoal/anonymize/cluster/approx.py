"""μ-Approx: clusters from a forest of short edges, cut where trees grow too large (Domingo-Ferrer, Sebé, Solanas 2008)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.mdav import Labels, check_points, check_size, no_progress, to_remaining_points
from shoal.anonymize.kernel.remaining_points import RemainingPoints
from shoal.progress import Progress

Edges = dict[int, list[int]]
"""The neighbours of each record in one tree."""


def approx(
    points: npt.ArrayLike, k: int, *, among: RemainingPoints | None = None, progress: Progress = no_progress
) -> Labels:
    """Clusters of k to max(2k − 1, 3k − 5) records: the trees of a forest of edges to near neighbours, cut.

    While a tree has fewer than k records, the one of its records that has no edge of its own yet gets one, to the nearest
    of its k − 1 nearest records that lies outside the tree (Aggarwal et al. 2005); trees are taken by their lowest row.
    A tree that is too large is cut in two at a record from which both sides are large enough; where that record serves one
    side, the parts it held together on the other side are joined to the first of them. Clusters are numbered by lowest row.

    Promise   every cluster has at least k records; no privacy by itself.
    Requires  finite numbers; at least k records.
    Reads     the points and the order of the rows.
    """
    table = check_points(points)
    k = check_size(k, len(table))
    left = to_remaining_points(table, 1, among)
    trees = [piece for tree in _forest(left, len(table), k, progress) for piece in _cut_tree(tree, k)]
    labels = np.empty(len(table), dtype=np.int32)
    for group, tree in enumerate(sorted(trees, key=min)):
        labels[list(tree)] = group
    progress(len(table), len(table))
    return labels


def _forest(left: RemainingPoints, count: int, k: int, progress: Progress) -> list[Edges]:
    """Trees of at least k records; each record has at most one edge of its own."""
    tree_of = list(range(count))
    members = {row: [row] for row in range(count)}
    roots = list(range(count))  # of each tree, by its number: the record without an edge of its own
    edges: Edges = {row: [] for row in range(count)}
    for row in range(count):
        while len(members[tree_of[row]]) < k:
            tree = tree_of[row]
            root = roots[tree]
            near = left.near(root, k - 1).rows.tolist()
            other = next(place for place in near if tree_of[place] != tree)
            edges[root].append(other)
            edges[other].append(root)
            into = tree_of[other]
            small, large = (tree, into) if len(members[tree]) < len(members[into]) else (into, tree)
            roots[large] = roots[into]
            for member in members[small]:
                tree_of[member] = large
            members[large] += members.pop(small)
        if row % 1024 == 0:
            progress(row // 2, count)
    return [{row: edges[row] for row in rows} for rows in members.values()]


def _cut_tree(tree: Edges, k: int) -> list[Edges]:
    """The tree in pieces that are not too large, each with at least k records."""
    done, waiting = [], [tree]
    while waiting:
        piece = waiting.pop()
        if len(piece) <= max(2 * k - 1, 3 * k - 5):
            done.append(piece)
        else:
            waiting += _halves(piece, k)
    return done


def _halves(tree: Edges, k: int) -> list[Edges]:
    """Two parts of at least k records each, of a tree of at least 2k and 3k − 4."""
    at, branches = _pivot(tree, k)
    largest = max(branches, key=lambda branch: (len(branch), -branch[0]))
    size, rest = len(largest), len(tree) - len(largest)
    if size >= k and rest >= k:
        return _part(tree, set(largest), None)
    if rest == k - 1:  # the record next to the cut changes sides
        return _part(tree, set(largest) - {largest[0]}, largest[0])
    if size == k - 1:
        return _part(tree, {*largest, at}, at)
    taken: set[int] = set()
    for branch in branches:
        taken |= set(branch)
        if len(taken) >= k - 1:
            break
    return _part(tree, taken | {at}, at) if len(taken) == k - 1 else _part(tree, taken, at)


def _pivot(tree: Edges, k: int) -> tuple[int, list[list[int]]]:
    """A record whose largest branch leaves at least k − 1 records outside it, and its branches, each from its top down."""
    at = min(tree)
    while True:
        branches = [_branch(tree, at, top) for top in tree[at]]
        largest = max(branches, key=lambda branch: (len(branch), -branch[0]))
        if len(tree) - len(largest) >= k - 1:
            return at, branches
        at = largest[0]


def _branch(tree: Edges, above: int, top: int) -> list[int]:
    """The records that are reached through `top` when coming from `above`."""
    found, seen = [top], {above, top}
    for row in found:
        fresh = [other for other in tree[row] if other not in seen]
        seen.update(fresh)
        found += fresh
    return found


def _part(tree: Edges, one: set[int], between: int | None) -> list[Edges]:
    """The records of one side and those of the other; `between` held parts of a side together and is not on it."""
    parts = []
    for side in (one, set(tree) - one):
        part = {row: [other for other in tree[row] if other in side] for row in tree if row in side}
        if between is not None and between not in side:
            first, *others = [row for row in tree[between] if row in side]
            for other in others:
                part[first].append(other)
                part[other].append(first)
        parts.append(part)
    return parts
