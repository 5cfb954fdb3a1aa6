"""The records that no cluster has yet, as points: which lie near, which lie far, and what their average is.

Three classes give the same answers, to the last bit: `PlainPoints` is NumPy, with nothing to compile, and the twin of the
other two; `FlatPoints` scans all records left; `TreePoints` looks into those boxes of a k-d tree that could matter. Memory
is a few copies of the points.

A squared distance is the sum of squared differences, column after column, in that order; the bounds of a box are summed in
the same order, and rounding never turns a smaller sum into a larger one, so what a tree leaves out could not have been
chosen. Of records at the same distance the one with the lowest row number is taken. `fastmath` stays off: fused or reordered
sums would break ties by accident. The loops at the end are ordinary Python on arrays, compiled at their first call.

Layout, flat. `block[j, i]` is column j of the i-th record left, `ids[i]` its row; deleting moves the last one into the gap.
Layout, tree. Node 1 is the root and 2t, 2t + 1 are below node t; the last half of the nodes are leaves, and leaf v holds
`sizes[v]` records in `block[v − leaves]`, column by column. `lows` and `highs` are the sides of each node's box, which
shrinks as records leave.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.compilation import compile_kernel, is_compiled, takes

Points = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

MUCH = 200_000_000
"""More squared differences than this are compiled: less takes NumPy under a second, and compiling takes several."""
NARROW = 7.0
"""Up to so many independent columns boxes leave out most of the records; beyond, looking at all of them is faster."""
SORTED = 8
"""Sorting the records by their distance costs as much as looking at each so many times."""
LEAF = 32
"""The most records in a leaf of the tree."""


class Near(NamedTuple):
    """Rows near a row, nearest first, with their squared distances; and the farthest row of all.

    The farthest is −1 where it was not looked for, or is one of the near ones since all are equally far.
    """

    rows: Rows
    squares: Points
    far: int


class RemainingPoints(ABC):
    """Points that are still there; distances are squared and Euclidean, ties go to the lowest row."""

    def __init__(self, points: Points) -> None:
        self.points = np.ascontiguousarray(points, dtype=np.float64)
        self.left = len(self.points)
        sums = [fsum(column) for column in self.points.T.tolist()]
        rest = [fsum([*column, -total]) for column, total in zip(self.points.T.tolist(), sums, strict=True)]
        self._high, self._low = np.array(sums), np.array(rest)

    @property
    def centre(self) -> Points:
        """The average of the points left."""
        return self._high / self.left

    def outer(self) -> int:
        """The row farthest from the average."""
        return self.far(self.centre)

    @abstractmethod
    def far(self, point: Points) -> int:
        """The row farthest from a point."""

    def near(self, row: int, count: int) -> Near:
        """The `count` rows nearest to a row, itself not among them; the row may be gone, and so many others are left."""
        return self.nearest(self.points[row], count, row)

    @abstractmethod
    def nearest(self, point: Points, count: int, without: int = -1) -> Near:
        """The `count` rows nearest to a point, one row left out if it is named; so many others are left."""

    @abstractmethod
    def drop(self, rows: Rows) -> None:
        """Take rows away."""


class PlainPoints(RemainingPoints):
    """NumPy: the records left stand in their order, and those that are gone are swept out from time to time."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self._block = self.points.T.copy(order="C")
        self._rows = np.arange(self.left, dtype=np.int64)
        self._gone = np.zeros(self.left, dtype=np.bool_)

    def far(self, point: Points) -> int:
        distances = self._distances(point)
        distances[self._gone] = -1.0
        return int(self._rows[np.argmax(distances)])

    def nearest(self, point: Points, count: int, without: int = -1) -> Near:
        distances = self._distances(point)
        distances[self._gone] = np.inf
        distances[self._rows == without] = np.inf
        if count:
            worst = np.partition(distances, count - 1)[count - 1]
            close = np.flatnonzero(distances <= worst)
            close = close[np.argsort(distances[close], kind="stable")[:count]]
        else:
            close = np.zeros(0, dtype=np.int64)
        return Near(self._rows[close], distances[close], -1)

    def drop(self, rows: Rows) -> None:
        for row in rows:
            before, value = self._high, self.points[row]
            whole = before - value
            turn = whole - before
            rest = ((before - (whole - turn)) + (-value - turn)) + self._low
            self._high = whole + rest
            self._low = rest - (self._high - whole)
        self.left -= len(rows)
        self._gone[np.searchsorted(self._rows, rows)] = True
        if 8 * self.left < 7 * len(self._rows):
            stay = ~self._gone
            self._block, self._rows = np.ascontiguousarray(self._block[:, stay]), self._rows[stay]
            self._gone = np.zeros(self.left, dtype=np.bool_)

    def _distances(self, point: Points) -> Points:
        total = np.zeros(self._block.shape[1])
        for column, value in zip(self._block, point.tolist(), strict=True):
            difference = column - value
            difference *= difference
            total += difference
        return total


class CompiledPoints(RemainingPoints):
    """What the two compiled classes share: the outermost record, by how far each was from where the centre was before."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self._here = np.ones(self.left, dtype=np.bool_)
        self._sort()

    def _sort(self) -> None:
        self._from = self.centre
        rows = np.flatnonzero(self._here)
        radii = np.sqrt(((self.points[rows] - self._from) ** 2).sum(axis=1))
        order = np.argsort(-radii)
        self._order, self._radii, self._start = rows[order], radii[order], 0
        self._spent = 0

    def outer(self) -> int:
        if self._spent > SORTED * self.left:
            self._sort()
        centre = self.centre
        moved = float(np.sqrt(((centre - self._from) ** 2).sum()))
        search = compile_kernel(outermost)
        row, start, looked = search(self.points, self._order, self._radii, self._here, self._start, centre, moved)
        self._start = int(start)
        self._spent += int(looked)
        return int(row)

    def drop(self, rows: Rows) -> None:
        compile_kernel(subtract)(self.points, rows, self._high, self._low)
        self._here[rows] = False
        self.left -= len(rows)


class FlatPoints(CompiledPoints):
    """CompiledPoints: every record left is looked at, column by column; deleting moves the last into the gap."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self._block = self.points.T.copy(order="C")
        self._rows, self._places = np.arange(self.left), np.arange(self.left)

    def far(self, point: Points) -> int:
        return int(compile_kernel(flat_far)(self._block, self._rows, self.left, point))

    def nearest(self, point: Points, count: int, without: int = -1) -> Near:
        rows, distances = np.empty(count, dtype=np.int64), np.empty(count)
        search = compile_kernel(flat_near)
        far = search(self._block, self._rows, self.left, point, without, distances, rows)
        return Near(rows, distances, int(far))

    def drop(self, rows: Rows) -> None:
        compile_kernel(flat_drop)(self._block, self._rows, self._places, self.left, rows)
        super().drop(rows)


class TreePoints(CompiledPoints):
    """CompiledPoints: halves of halves, each cut where its box is longest; leaves lose records, and boxes shrink with them."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        count, width = self.points.shape
        leaves = 1
        while leaves * LEAF < count:
            leaves *= 2
        room = -(-count // leaves)
        self._block = np.zeros((leaves, width, room))
        self._rows = np.full((leaves, room), -1, dtype=np.int64)
        self._sizes = np.zeros(2 * leaves, dtype=np.int64)
        self._lows = np.full((2 * leaves, width), np.inf)
        self._highs = np.full((2 * leaves, width), -np.inf)
        self._homes = np.zeros(count, dtype=np.int64)
        waiting = [(1, np.arange(count, dtype=np.int64))]
        while waiting:
            waiting += self._settle(*waiting.pop(), leaves)

    def _settle(self, node: int, rows: Rows, leaves: int) -> list[tuple[int, Rows]]:
        """Fill a node; what goes to the two below it."""
        here = self.points[rows]
        self._sizes[node] = len(rows)
        if not len(rows):
            return []
        self._lows[node], self._highs[node] = here.min(axis=0), here.max(axis=0)
        if node >= leaves:
            self._block[node - leaves, :, : len(rows)] = here.T
            self._rows[node - leaves, : len(rows)] = rows
            self._homes[rows] = node
            return []
        axis = int(np.argmax(self._highs[node] - self._lows[node]))
        half = len(rows) // 2
        order = np.argpartition(here[:, axis], half)
        return [(2 * node, rows[order[:half]]), (2 * node + 1, rows[order[half:]])]

    @property
    def _boxes(self) -> tuple[Any, ...]:
        return self._block, self._rows, self._sizes, self._lows, self._highs

    def far(self, point: Points) -> int:
        return int(compile_kernel(tree_far)(*self._boxes, point))

    def nearest(self, point: Points, count: int, without: int = -1) -> Near:
        rows, distances = np.empty(count, dtype=np.int64), np.empty(count)
        compile_kernel(tree_near)(*self._boxes, point, without, distances, rows)
        return Near(rows, distances, -1)

    def drop(self, rows: Rows) -> None:
        compile_kernel(tree_drop)(*self._boxes, self._homes, rows)
        super().drop(rows)


def remaining_points(points: Points, k: int) -> RemainingPoints:
    """The class of remaining points that is fastest for so many points in clusters of k."""
    count, width = points.shape
    if not is_much(count, width, k) or not all(is_compiled(loop) for loop in loops()):
        return PlainPoints(points)
    return TreePoints(points) if width <= NARROW or effective_columns(points) <= NARROW else FlatPoints(points)


def is_much(count: int, width: int, k: int) -> bool:
    """Whether so many points of so many columns in clusters of k are worth compiling."""
    return 1.5 * width * count * count / k >= MUCH


def loops() -> tuple[Callable[..., Any], ...]:
    """The loops that the compiled classes call; which of the two classes it is, the points decide."""
    return outermost, subtract, flat_far, flat_near, flat_drop, tree_far, tree_near, tree_drop


def effective_columns(points: Points) -> float:
    """How many columns of the same variance would spread as these do: the number of columns, or fewer if they go together."""
    spread = np.atleast_2d(np.cov(points, rowvar=False))
    squares = float((spread * spread).sum())
    return float(np.trace(spread)) ** 2 / squares if squares else 0.0


# --- loops ------------------------------------------------------------------------------------------------------------

TILE = 1024
"""Distances computed at once by the flat scan: they stay in the nearest cache."""


@takes("float64[:,::1], int64[::1], int64, float64[::1]")
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


@takes("float64[:,::1], int64[::1], int64, float64[::1], int64, float64[::1], int64[::1]")
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


@takes("float64[:,::1], int64[::1], int64[::1], int64, int64[::1]")
def flat_drop(block: Any, ids: Any, places: Any, left: int, gone: Any) -> None:
    """Delete rows."""
    for row in gone:
        at = places[row]
        left -= 1
        for j in range(block.shape[0]):
            block[j, at] = block[j, left]
        ids[at] = ids[left]
        places[ids[at]] = at


@takes("float64[:,:,::1], int64[:,::1], int64[::1], float64[:,::1], float64[:,::1], float64[::1]")
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


@takes(
    "float64[:,:,::1], int64[:,::1], int64[::1], float64[:,::1], float64[:,::1], float64[::1], int64, float64[::1], int64[::1]"
)
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


@takes("float64[:,:,::1], int64[:,::1], int64[::1], float64[:,::1], float64[:,::1], int64[::1], int64[::1]")
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


@takes("float64[:,::1], int64[::1], float64[::1], boolean[::1], int64, float64[::1], float64")
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


@takes("float64[:,::1], int64[::1], float64[::1], float64[::1]")
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
