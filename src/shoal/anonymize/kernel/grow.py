"""Growing boxes: the loops of a tree, compiled where there is much to do and plain where there is little.

`expand` and `refine` are ordinary Python on arrays: the compiled one and the plain one do the same arithmetic in the same
order. They see no rows: what a tree grows on are masses that were paid for. `route` has a NumPy twin, which goes down the
tree one level at a time, and `refine` one with lists.

Layout. All attributes' sides stand in one array of nodes; `kids[v]` are node numbers (−1 for none), `starts` and `stops`
the run of cells of a node. A tree is two arrays: `splits[t]`, the attribute that tree node t divides (−1: it is a box), and
`below[t]`, its up to three tree nodes; `faces[t]` are its sides, one node for each attribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from shoal.compilation import compile_kernel, takes

MUCH = 200_000
"""More steps than this are compiled: plain they take half a second, and loading the compiler takes longer."""


@takes(
    "int32[:,::1], float64[::1], int32[::1], int32[:,::1], float64[::1], float64[:,::1], boolean[::1], "
    "float64, float64, float64, float64, float64, float64, int64, int32[::1]"
)
def expand(
    faces: Any, counts: Any, homes: Any, kids: Any, losses: Any, masses: Any, forced: Any,
    limit: float, publishable: float, spread: float, error: float, offset: float, power: float, depth: int, depths: Any,
) -> Any:  # fmt: skip
    """Divide boxes while the model expects that to pay; the first rows of the arrays are the boxes to begin with.

    `homes[t]` is the row of `masses` that models a box: the mass of every side within it. A box that holds more than
    `limit` in expectation is divided along the attribute where the expected detail of published records rises most for
    each bit of class size (plus `offset`, to the power `power`), and left alone where it falls along every one. A side that
    is `forced` is divided first. The probability that a box with so many expected records is published is a normal curve around
    `publishable`, which is k/beta; its width comes from the sampling (`spread`) and the relative `error` of the model.
    """
    roots, width = faces.shape
    room = max(64, 4 * roots)
    all_faces = np.empty((room, width), np.int32)
    all_counts = np.empty(room, np.float64)
    all_homes = np.empty(room, np.int32)
    all_depths = np.empty(room, np.int32)
    splits = np.full(room, -1, np.int32)
    below = np.full((room, 3), -1, np.int32)
    all_faces[:roots] = faces
    all_counts[:roots] = counts
    all_homes[:roots] = homes
    all_depths[:roots] = depths
    made = roots
    at = 0
    while at < made:
        count, home = all_counts[at], all_homes[at]
        loss = 0.0
        must = -1
        most = 0.0
        for j in range(width):
            side = all_faces[at, j]
            loss += losses[side]
            if forced[side] and kids[side, 0] >= 0 and (must < 0 or losses[side] > most):
                must, most = j, losses[side]
        best = must
        if must < 0 and count > limit and count > publishable and all_depths[at] < depth:
            top = 0.0
            deviation = math.sqrt(spread * spread + error * error * count * count)
            own = count * (1.0 - loss) * 0.5 * math.erfc((publishable - count) / (1.4142135623730951 * deviation))
            for j in range(width):
                side = all_faces[at, j]
                if kids[side, 0] < 0:
                    continue
                whole = masses[home, side]
                worth = -own
                bits = 0.0
                for i in range(3):
                    kid = kids[side, i]
                    if kid < 0:
                        continue
                    share = masses[home, kid] / whole if whole > 0.0 else 0.0
                    share = min(max(share, 1e-9), 1.0)
                    part = count * share
                    deviation = math.sqrt(spread * spread + error * error * part * part)
                    likely = 0.5 * math.erfc((publishable - part) / (1.4142135623730951 * deviation))
                    worth += part * (1.0 - loss + losses[side] - losses[kid]) * likely
                    bits -= share * math.log2(share)
                score = worth / (bits + offset) ** power
                if score > top:
                    top, best = score, j
        if best >= 0 and all_depths[at] < depth:
            if made + 3 > room:
                more = 2 * room
                new_faces = np.empty((more, width), np.int32)
                new_counts = np.empty(more, np.float64)
                new_homes = np.empty(more, np.int32)
                new_depths = np.empty(more, np.int32)
                new_splits = np.full(more, -1, np.int32)
                new_below = np.full((more, 3), -1, np.int32)
                new_faces[:made] = all_faces[:made]
                new_counts[:made] = all_counts[:made]
                new_homes[:made] = all_homes[:made]
                new_depths[:made] = all_depths[:made]
                new_splits[:made] = splits[:made]
                new_below[:made] = below[:made]
                all_faces, all_counts, all_homes, all_depths = new_faces, new_counts, new_homes, new_depths
                splits, below, room = new_splits, new_below, more
            side = all_faces[at, best]
            whole = masses[home, side]
            splits[at] = best
            for i in range(3):
                kid = kids[side, i]
                if kid < 0:
                    continue
                share = masses[home, kid] / whole if whole > 0.0 else 0.0
                all_faces[made] = all_faces[at]
                all_faces[made, best] = kid
                all_counts[made] = count * share
                all_homes[made] = home
                all_depths[made] = all_depths[at] + 1
                below[at, i] = made
                made += 1
        at += 1
    return all_faces[:made], all_counts[:made], all_homes[:made], all_depths[:made], splits[:made], below[:made]


@takes("int32[:,::1], int32[:,::1], int32[::1]")
def route(ranks: Any, nodes: Any, found: Any) -> Any:
    """The tree node in which each record ends; `ranks[j, i]` is the place of record i's cell along attribute j.

    `nodes[t]` are the attribute that tree node t divides, the places at which its first part ends and its second, and its three
    tree nodes; a box leads to itself. `found[i]` holds the tree node to begin with, and the answer afterwards. Records go down
    side by side and without a branch: the processor would guess every other branch wrong, and wait for every node.
    """
    side_by_side = 16
    at = np.empty(side_by_side, np.int32)
    for start in range(0, ranks.shape[1], side_by_side):
        count = min(side_by_side, ranks.shape[1] - start)
        for i in range(count):
            at[i] = found[start + i]
        moving = True
        while moving:
            moving = False
            for i in range(count):
                node = at[i]
                place = ranks[nodes[node, 0], start + i]
                at[i] = nodes[node, 3 + (place >= nodes[node, 1]) + (place >= nodes[node, 2])]
                moving |= at[i] != node
        for i in range(count):
            found[start + i] = at[i]
    return found


def route_levels(ranks: Any, nodes: Any, found: Any) -> Any:
    """The same as `route`, all records one level at a time."""
    moving = np.arange(len(found))
    while len(moving):
        at = found[moving]
        own = nodes[at]
        place = ranks[own[:, 0], moving]
        step = (place >= own[:, 1]).astype(np.int64) + (place >= own[:, 2])
        found[moving] = own[np.arange(len(own)), 3 + step]
        moving = moving[found[moving] != at]
    return found


@takes(
    "float64[::1], int64, int64, int64, int32[:,::1], int32[::1], int32[::1], float64[::1], float64, float64, float64"
)
def refine(
    masses: Any, first: int, side: int, stop: int, kids: Any, starts: Any, stops: Any,
    noisy: Any, count: float, variance: float, share_variance: float,
) -> Any:  # fmt: skip
    """The masses of all sides within one, corrected by a noisy histogram of its box; `masses` is changed in place.

    `noisy` are noisy counts of the cells, in the order of the sides, the first cell at `first`. A part's share is the
    weighted mean of what was expected and what was measured, by the variance of the noise on the cells that it sums and by
    the variance of a share around what was expected (`share_variance` times p(1 − p)).
    """
    ends = np.zeros(len(noisy) + 1, np.float64)
    for i in range(len(noisy)):
        ends[i + 1] = ends[i] + noisy[i]
    fresh = np.zeros(stop - side, np.float64)
    fresh[0] = 1.0
    for node in range(side, stop):
        if kids[node, 0] < 0:
            continue
        whole = fresh[node - side]
        expected = masses[node]
        total = 0.0
        for i in range(3):
            kid = kids[node, i]
            if kid < 0:
                continue
            share = masses[kid] / expected if expected > 0.0 else 0.0
            share = min(max(share, 1e-9), 1.0 - 1e-9)
            cells = stops[kid] - starts[kid]
            counted = ends[stops[kid] - first] - ends[starts[kid] - first]
            people = max(count * whole, 1.0)
            own = share_variance * share * (1.0 - share)
            noise = variance * cells / (people * people)
            weight = own / (own + noise)
            fresh[kid - side] = max(weight * counted / people + (1.0 - weight) * share, 1e-9)
            total += fresh[kid - side]
        for i in range(3):
            kid = kids[node, i]
            if kid >= 0:
                fresh[kid - side] = whole * fresh[kid - side] / total
    for node in range(side, stop):
        masses[node] = fresh[node - side]
    return masses


def refine_lists(
    masses: Any, first: int, side: int, stop: int, kids: Any, starts: Any, stops: Any,
    noisy: Any, count: float, variance: float, share_variance: float,
) -> Any:  # fmt: skip
    """The same as `refine`, to the last bit, with lists: without a compiler they are several times as fast as arrays."""
    ends = [0.0, *accumulate(noisy.tolist())]
    within = masses[side:stop].tolist()
    widths = (stops[side:stop] - starts[side:stop]).tolist()
    begin, end = (starts[side:stop] - first).tolist(), (stops[side:stop] - first).tolist()
    fresh = [0.0] * (stop - side)
    fresh[0] = 1.0
    for node, own_kids in enumerate((kids[side:stop] - side).tolist()):
        if own_kids[0] < 0:
            continue
        whole, expected, total = fresh[node], within[node], 0.0
        people = max(count * whole, 1.0)
        held = [kid for kid in own_kids if kid >= 0]
        for kid in held:
            share = within[kid] / expected if expected > 0.0 else 0.0
            share = min(max(share, 1e-9), 1.0 - 1e-9)
            own = share_variance * share * (1.0 - share)
            weight = own / (own + variance * widths[kid] / (people * people))
            fresh[kid] = max(weight * (ends[end[kid]] - ends[begin[kid]]) / people + (1.0 - weight) * share, 1e-9)
            total += fresh[kid]
        for kid in held:
            fresh[kid] = whole * fresh[kid] / total
    masses[side:stop] = fresh
    return masses


@takes(
    "int32[::1], int32[:,::1], float64[::1], float64[::1], float64[::1], boolean[::1], float64, float64, boolean[::1]"
)
def regroup(
    splits: Any,
    below: Any,
    counts: Any,
    rest: Any,
    details: Any,
    bound: Any,
    publishable: float,
    spread: float,
    kept: Any,
) -> Any:
    """Put parts together again where one box is worth more than its parts, from the leaves up; arrays change in place.

    `rest[t]` is the variance of count t, `bound[t]` says that node t must stay divided. Afterwards `kept` marks the nodes
    that are still below the first one.
    """
    worth = np.zeros(len(splits), np.float64)
    for node in range(len(splits) - 1, -1, -1):
        if splits[node] >= 0:
            count = 0.0
            variance = 0.0
            parts = 0.0
            for i in range(3):
                kid = below[node, i]
                if kid >= 0:
                    count += counts[kid]
                    variance += rest[kid]
                    parts += worth[kid]
            counts[node], rest[node], worth[node] = count, variance, parts
        width = math.sqrt(2.0 * (spread * spread + rest[node]))
        alone = counts[node] * details[node] * 0.5 * math.erfc((publishable - counts[node]) / width)
        if splits[node] < 0 or (alone > worth[node] and not bound[node]):
            worth[node] = alone
            splits[node] = -1
            for i in range(3):
                below[node, i] = -1
    kept[0] = True
    for node in range(len(splits)):
        if kept[node]:
            for i in range(3):
                if below[node, i] >= 0:
                    kept[below[node, i]] = True
    return kept


def kernels_for(rows: int, attributes: int, boxes: float, nodes: int) -> list[Callable[..., Any]]:
    """The loops that a tree may compile: of so many rows and attributes, in so many boxes, with so many nodes of sides.

    The numbers of boxes are noisy when they decide (`expander`), so twice as many are allowed for; a frontier has tens.
    """
    found: list[Callable[..., Any]] = []
    if 2 * attributes * boxes > MUCH:
        found.append(expand)
    if 2 * boxes > MUCH // 5:
        found.append(regroup)
    if 30 * nodes > MUCH:
        found.append(refine)
    if attributes * rows > 10 * MUCH:
        found.append(route)
    return found


def expander(work: float) -> Callable[..., Any]:
    """`expand` for so many sides to look at: compiling takes seconds, and is not worth it for a few thousand."""
    return compile_kernel(expand) if work > MUCH else expand


def refiner(work: float) -> Callable[..., Any]:
    """`refine` for so many nodes."""
    return compile_kernel(refine, refine_lists) if work > MUCH else refine_lists


def regrouper(nodes: int) -> Callable[..., Any]:
    """`regroup` for so many nodes."""
    return compile_kernel(regroup) if nodes > MUCH // 5 else regroup


def router(work: float) -> Callable[..., Any]:
    """`route` for so many records times attributes."""
    return compile_kernel(route, route_levels) if work > 10 * MUCH else route_levels
