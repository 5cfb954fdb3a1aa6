"""Near and far records among those not yet grouped: the loops of microaggregation, as a flat scan and as a tree.

Both give the same answers, to the last bit. A squared distance is the sum of squared differences, column after column,
in that order; the bounds of a box are summed in the same order, and rounding never turns a smaller sum into a larger one,
so what a tree leaves out could not have been chosen. Of records at the same distance the one with the lowest row number
is taken. `fastmath` stays off: fused or reordered sums would break ties by accident.

These are ordinary Python on arrays; `compiled` turns them into machine code at their first call. The NumPy twin, and who
calls which, is in `cloud`.

Layout, flat. `block[j, i]` is column j of the i-th record left, `ids[i]` its row; deleting moves the last one into the gap.
Layout, tree. Node 1 is the root and 2t, 2t + 1 are below node t; the last half of the nodes are leaves, and leaf v holds
`sizes[v]` records in `block[v − leaves]`, column by column. `lows` and `highs` are the sides of each node's box, which
shrinks as records leave.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

TILE = 1024
"""Distances computed at once by the flat scan: they stay in the nearest cache."""


def flat_far(block: Any, ids: Any, left: int, point: Any) -> Any:
    """The row farthest from a point."""
    width = block.shape[0]
    buffer = np.empty(TILE)
    best = -1.0
    who = -1
    for start in range(0, left, TILE):
        size = min(TILE, left - start)
        part = buffer[:size]
        part[:] = 0.0
        j = 0
        while j + 3 < width:  # four columns at a time, added one after the other
            a, b = block[j, start : start + size], block[j + 1, start : start + size]
            c, d = block[j + 2, start : start + size], block[j + 3, start : start + size]
            p, q, r, s = point[j], point[j + 1], point[j + 2], point[j + 3]
            for i in range(size):
                e, f, g, h = a[i] - p, b[i] - q, c[i] - r, d[i] - s
                part[i] = (((part[i] + e * e) + f * f) + g * g) + h * h
            j += 4
        while j < width:
            a = block[j, start : start + size]
            p = point[j]
            for i in range(size):
                e = a[i] - p
                part[i] += e * e
            j += 1
        for i in range(size):
            if part[i] >= best and (part[i] > best or ids[start + i] < who):
                best, who = part[i], ids[start + i]
    return who


def flat_near(block: Any, ids: Any, left: int, point: Any, row: int, near: Any, rows: Any) -> Any:
    """The records nearest to a row, by distance and row, into `near` and `rows`; then the farthest row, −1 if it is one."""
    width = block.shape[0]
    count = len(rows)
    buffer = np.empty(TILE)
    near[:] = np.inf
    rows[:] = -1
    worst = np.inf
    best = -1.0
    who = -1
    for start in range(0, left, TILE):
        size = min(TILE, left - start)
        part = buffer[:size]
        part[:] = 0.0
        j = 0
        while j + 3 < width:
            a, b = block[j, start : start + size], block[j + 1, start : start + size]
            c, d = block[j + 2, start : start + size], block[j + 3, start : start + size]
            p, q, r, s = point[j], point[j + 1], point[j + 2], point[j + 3]
            for i in range(size):
                e, f, g, h = a[i] - p, b[i] - q, c[i] - r, d[i] - s
                part[i] = (((part[i] + e * e) + f * f) + g * g) + h * h
            j += 4
        while j < width:
            a = block[j, start : start + size]
            p = point[j]
            for i in range(size):
                e = a[i] - p
                part[i] += e * e
            j += 1
        for i in range(size):
            here = part[i]
            if here >= best and (here > best or ids[start + i] < who):
                best, who = here, ids[start + i]
            if here <= worst and count > 0:
                other = ids[start + i]
                if other == row or (here == worst and rows[count - 1] >= 0 and other > rows[count - 1]):
                    continue
                at = count - 1
                while at > 0 and (near[at - 1] > here or (near[at - 1] == here and rows[at - 1] > other)):
                    near[at] = near[at - 1]
                    rows[at] = rows[at - 1]
                    at -= 1
                near[at] = here
                rows[at] = other
                worst = near[count - 1]
    if count > 0 and best <= worst:
        return -1
    return who if who != row else -1


def flat_drop(block: Any, ids: Any, places: Any, left: int, gone: Any) -> None:
    """Delete rows."""
    for row in gone:
        at = places[row]
        left -= 1
        for j in range(block.shape[0]):
            block[j, at] = block[j, left]
        ids[at] = ids[left]
        places[ids[at]] = at


def tree_far(block: Any, ids: Any, sizes: Any, lows: Any, highs: Any, point: Any) -> Any:
    """The row farthest from a point."""
    leaves, width, room = block.shape
    stack = np.empty(128, np.int64)
    bounds = np.empty(128)
    part = np.empty(room)
    best = -1.0
    who = -1
    stack[0] = 1
    bounds[0] = np.inf
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] < best or sizes[node] == 0:
            continue
        if node >= leaves:
            leaf = node - leaves
            size = sizes[node]
            part[:size] = 0.0
            for j in range(width):
                column = block[leaf, j]
                p = point[j]
                for i in range(size):
                    e = column[i] - p
                    part[i] += e * e
            for i in range(size):
                if part[i] >= best and (part[i] > best or ids[leaf, i] < who):
                    best, who = part[i], ids[leaf, i]
            continue
        first, second = 0.0, 0.0
        a, b, c, d = lows[2 * node], highs[2 * node], lows[2 * node + 1], highs[2 * node + 1]
        for j in range(width):
            p = point[j]
            e = max(p - a[j], b[j] - p)
            first += e * e
            f = max(p - c[j], d[j] - p)
            second += f * f
        nearer = 2 * node if first < second else 2 * node + 1
        stack[top], bounds[top] = nearer, min(first, second)
        stack[top + 1], bounds[top + 1] = 4 * node + 1 - nearer, max(first, second)
        top += 2
    return who


def tree_near(
    block: Any, ids: Any, sizes: Any, lows: Any, highs: Any, point: Any, row: int, near: Any, rows: Any
) -> None:
    """The records nearest to a row, by distance and row, into `near` and `rows`."""
    leaves, width, room = block.shape
    count = len(rows)
    stack = np.empty(128, np.int64)
    bounds = np.empty(128)
    part = np.empty(room)
    near[:] = np.inf
    rows[:] = -1
    worst = np.inf
    stack[0] = 1
    bounds[0] = 0.0
    top = 1 if count > 0 else 0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > worst or sizes[node] == 0:
            continue
        if node >= leaves:
            leaf = node - leaves
            size = sizes[node]
            part[:size] = 0.0
            for j in range(width):
                column = block[leaf, j]
                p = point[j]
                for i in range(size):
                    e = column[i] - p
                    part[i] += e * e
            for i in range(size):
                here = part[i]
                if here <= worst:
                    other = ids[leaf, i]
                    if other == row or (here == worst and rows[count - 1] >= 0 and other > rows[count - 1]):
                        continue
                    at = count - 1
                    while at > 0 and (near[at - 1] > here or (near[at - 1] == here and rows[at - 1] > other)):
                        near[at] = near[at - 1]
                        rows[at] = rows[at - 1]
                        at -= 1
                    near[at] = here
                    rows[at] = other
                    worst = near[count - 1]
            continue
        first, second = 0.0, 0.0
        a, b, c, d = lows[2 * node], highs[2 * node], lows[2 * node + 1], highs[2 * node + 1]
        for j in range(width):
            p = point[j]
            e = max(a[j] - p, p - b[j], 0.0)
            first += e * e
            f = max(c[j] - p, p - d[j], 0.0)
            second += f * f
        farther = 2 * node if first > second else 2 * node + 1
        if max(first, second) <= worst:
            stack[top], bounds[top] = farther, max(first, second)
            top += 1
        stack[top], bounds[top] = 4 * node + 1 - farther, min(first, second)
        top += 1


def tree_drop(block: Any, ids: Any, sizes: Any, lows: Any, highs: Any, homes: Any, gone: Any) -> None:
    """Delete rows, and shrink the boxes around what stays."""
    leaves, width, _ = block.shape
    for row in gone:
        node = homes[row]
        leaf = node - leaves
        last = sizes[node] - 1
        at = 0
        while ids[leaf, at] != row:
            at += 1
        ids[leaf, at] = ids[leaf, last]
        changed = False
        for j in range(width):
            column = block[leaf, j]
            value = column[at]
            column[at] = column[last]
            if value == lows[node, j] or value == highs[node, j]:
                changed = True
                small, large = np.inf, -np.inf
                for i in range(last):
                    small, large = min(small, column[i]), max(large, column[i])
                lows[node, j], highs[node, j] = small, large
        sizes[node] = last
        node //= 2
        while node >= 1:
            sizes[node] -= 1
            if changed:
                changed = False
                a, b, c, d = lows[2 * node], highs[2 * node], lows[2 * node + 1], highs[2 * node + 1]
                e, f = lows[node], highs[node]
                for j in range(width):
                    small, large = min(a[j], c[j]), max(b[j], d[j])
                    if small != e[j] or large != f[j]:
                        e[j], f[j] = small, large
                        changed = True
            node //= 2


def outermost(points: Any, order: Any, radii: Any, here: Any, start: int, centre: Any, moved: float) -> Any:
    """The row farthest from the centre, where to start next time, and how many were looked at.

    `order` are rows by falling distance `radii` from where the centre was before it `moved` so far. No record is farther
    from the new centre than its old distance and the move together, so most need no look; what rounding could hide is
    allowed for.
    """
    best = -1.0
    who = -1
    at = start
    while at < len(order) and not here[order[at]]:
        at += 1
    start = at
    while at < len(order):
        reach = radii[at] + moved
        if reach * reach * 1.000000001 + 1e-300 < best:
            break
        row = order[at]
        at += 1
        if here[row]:
            record = points[row]
            total = 0.0
            for j in range(len(centre)):
                e = record[j] - centre[j]
                total += e * e
            if total >= best and (total > best or row < who):
                best, who = total, row
    return who, start, at - start


def subtract(points: Any, gone: Any, high: Any, low: Any) -> None:
    """Take rows from the sum of each column, kept as two floats: `high` rounded, `low` what that lost.

    Twice the digits of one float, so that thousands of deletions leave no trace in the mean of what is left.
    """
    for row in gone:
        for j in range(len(high)):
            before, value = high[j], points[row, j]
            whole = before - value
            turn = whole - before
            rest = ((before - (whole - turn)) + (-value - turn)) + low[j]
            high[j] = whole + rest
            low[j] = rest - (high[j] - whole)


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, compiled at its first call; the machine code is kept beside this file for the next process."""
    import numba

    made: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return made
