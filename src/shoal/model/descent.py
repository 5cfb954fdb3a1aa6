"""The loop that brings rows nearer to tables: values are changed one at a time while that helps; compiled or plain.

`gaps` holds the number of rows less the number that is wanted, for every entry of every table; where these stand says
`shoal.model.layout`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from shoal.compilation import takes


@takes(
    "int64[:,::1], int64[::1], int64[::1], int64[:,::1], float64[::1], int64[::1], boolean[:,::1],"
    "int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1]"
)
def improve(
    codes: Any, order: Any, sizes: Any, where: Any, gaps: Any, first: Any, closed: Any,
    begin: Any, table: Any, start: Any, end: Any, axis: Any, stride: Any,
) -> int:  # fmt: skip
    """Go through all rows once; give each value the atom at which the sum of squared gaps is least. Returns the changes.

    Moving a row from atom u of attribute j to atom v changes half the sum of squares by the sum over the tables that hold j of
    gap(v) - gap(u) + 1. A change never leads into a forbidden box.
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
            for e in range(begin[j], begin[j + 1]):
                at = start[table[e]]
                step = 1
                for q in range(end[table[e]], end[table[e] + 1]):
                    if axis[q] == j:
                        step = stride[q]
                    else:
                        at += codes[i, axis[q]] * stride[q]
                for v in range(own):
                    pull[v] += gaps[at + v * step]
            old = codes[i, j]
            new = old
            least = pull[old] - (width - 1) - (begin[j + 1] - begin[j])
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
                for e in range(begin[j], begin[j + 1]):
                    at = start[table[e]]
                    step = 1
                    for q in range(end[table[e]], end[table[e] + 1]):
                        if axis[q] == j:
                            step = stride[q]
                        else:
                            at += codes[i, axis[q]] * stride[q]
                    gaps[at + old * step] -= 1.0
                    gaps[at + new * step] += 1.0
    return changes


def improve_plain(
    codes: Any, order: Any, sizes: Any, where: Any, gaps: Any, first: Any, closed: Any,
    begin: Any, table: Any, start: Any, end: Any, axis: Any, stride: Any,
) -> int:  # fmt: skip
    """Do the same with an array operation for each value of each row: for machines that cannot compile."""
    _, width = codes.shape
    others = [[k for k in range(width) if k != j] for j in range(width)]
    wider = [
        [(int(start[t]), [(int(axis[q]), int(stride[q])) for q in range(end[t], end[t + 1])]) for t in table[low:high]]
        for low, high in pairwise(begin)
    ]
    changes = 0
    for i in order.tolist():
        row = codes[i].tolist()
        for j in range(width):
            own = int(sizes[j])
            pull = np.zeros(own)
            for k in others[j]:
                at = where[j, k] + row[k] * own
                pull += gaps[at : at + own]
            steps = []
            for at, parts in wider[j]:
                step = next(far for k, far in parts if k == j)
                begins = at + sum(row[k] * far for k, far in parts if k != j)
                pull += gaps[begins : begins + own * step : step][:own]
                steps.append((begins, step))
            old = row[j]
            least = pull[old] - (width - 1) - len(steps)
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
                for begins, step in steps:
                    gaps[begins + old * step] -= 1.0
                    gaps[begins + new * step] += 1.0
    return changes
