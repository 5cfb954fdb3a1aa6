"""The loop that brings rows nearer to tables: values are changed one at a time while that helps; compiled or plain.

Layout. `gaps` holds, for every ordered pair of attributes (j, k), a matrix of (atoms of k) x (atoms of j): the number of rows
less the number that is wanted. It starts at `where[j, k]`. `closed[b, first[j] + v]` says whether atom v of attribute j
belongs to forbidden box b.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.compilation import takes


@takes("int64[:,::1], int64[::1], int64[::1], int64[:,::1], float64[::1], int64[::1], boolean[:,::1], float64")
def improve(codes: Any, order: Any, sizes: Any, where: Any, gaps: Any, first: Any, closed: Any, price: float) -> int:
    """Go through all rows once; give each value the atom at which the sum of squared gaps is least. Returns the changes.

    Moving a row from atom u of attribute j to atom v changes half the sum of squares by the sum over k of
    gap(v) - gap(u) + 1. A change must gain more than `price`, and never leads into a forbidden box.
    """
    rows, width = codes.shape
    boxes = closed.shape[0]
    most = 0
    for j in range(width):
        most = max(most, sizes[j])
    pull = np.empty(most, np.float64)
    changes = 0
    for t in range(rows):
        i = order[t]
        for j in range(width):
            own = sizes[j]
            for v in range(own):
                pull[v] = 0.0
            for k in range(width):
                if k != j:
                    at = where[j, k] + codes[i, k] * own
                    for v in range(own):
                        pull[v] += gaps[at + v]
            old = codes[i, j]
            new = old
            least = pull[old] - (width - 1) - price
            for v in range(own):
                if pull[v] < least:
                    allowed = True
                    for b in range(boxes):
                        if closed[b, first[j] + v]:
                            inside = True
                            for k in range(width):
                                if k != j and not closed[b, first[k] + codes[i, k]]:
                                    inside = False
                                    break
                            if inside:
                                allowed = False
                                break
                    if allowed:
                        least = pull[v]
                        new = v
            if new != old:
                changes += 1
                codes[i, j] = new
                for k in range(width):
                    if k != j:
                        x = codes[i, k]
                        gaps[where[j, k] + x * own + old] -= 1.0
                        gaps[where[j, k] + x * own + new] += 1.0
                        gaps[where[k, j] + old * sizes[k] + x] -= 1.0
                        gaps[where[k, j] + new * sizes[k] + x] += 1.0
    return changes


def improve_plain(
    codes: Any, order: Any, sizes: Any, where: Any, gaps: Any, first: Any, closed: Any, price: float
) -> int:
    """Do the same with an array operation for each value of each row: for machines that cannot compile."""
    _, width = codes.shape
    others = [[k for k in range(width) if k != j] for j in range(width)]
    changes = 0
    for i in order.tolist():
        row = codes[i].tolist()
        for j in range(width):
            own = int(sizes[j])
            pull = np.zeros(own)
            for k in others[j]:
                at = where[j, k] + row[k] * own
                pull += gaps[at : at + own]
            old = row[j]
            least = pull[old] - (width - 1) - price
            for b in range(len(closed)):
                if all(closed[b, first[k] + row[k]] for k in others[j]):
                    pull[closed[b, first[j] : first[j] + own]] = np.inf
            new = int(pull.argmin())
            if pull[new] < least:
                changes += 1
                codes[i, j] = row[j] = new
                for k in others[j]:
                    at, back = where[j, k] + row[k] * own, where[k, j] + row[k]
                    gaps[at + old] -= 1.0
                    gaps[at + new] += 1.0
                    gaps[back + old * sizes[k]] -= 1.0
                    gaps[back + new * sizes[k]] += 1.0
    return changes
