"""Records not yet grouped, as a cloud of points that shrinks: who is far, who is near, and what the average is.

Three clouds give the same answers: `Plain` is NumPy, with nothing to compile, and the twin of the other two; `Flat` scans
all records left; `Tree` looks into boxes that could matter. Memory is a few copies of the points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.anonymize.kernel import mdav
from shoal.anonymize.kernel.mdav import compiled

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


class Cloud(ABC):
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

    @abstractmethod
    def near(self, row: int, count: int) -> Near:
        """The `count` rows nearest to a row, itself not among them; the row may be gone, and so many others are left."""

    @abstractmethod
    def drop(self, rows: Rows) -> None:
        """Take rows away."""


class Plain(Cloud):
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

    def near(self, row: int, count: int) -> Near:
        distances = self._distances(self.points[row])
        distances[self._gone] = np.inf
        distances[self._rows == row] = np.inf
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


class Compiled(Cloud):
    """What the two compiled clouds share: the outermost record, by how far each was from where the centre was before."""

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
        search = compiled(mdav.outermost)
        row, start, looked = search(self.points, self._order, self._radii, self._here, self._start, centre, moved)
        self._start = int(start)
        self._spent += int(looked)
        return int(row)

    def drop(self, rows: Rows) -> None:
        compiled(mdav.subtract)(self.points, rows, self._high, self._low)
        self._here[rows] = False
        self.left -= len(rows)


class Flat(Compiled):
    """Compiled: every record left is looked at, column by column; deleting moves the last into the gap."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self._block = self.points.T.copy(order="C")
        self._rows, self._places = np.arange(self.left), np.arange(self.left)

    def far(self, point: Points) -> int:
        return int(compiled(mdav.flat_far)(self._block, self._rows, self.left, point))

    def near(self, row: int, count: int) -> Near:
        rows, distances = np.empty(count, dtype=np.int64), np.empty(count)
        search = compiled(mdav.flat_near)
        far = search(self._block, self._rows, self.left, self.points[row], row, distances, rows)
        return Near(rows, distances, int(far))

    def drop(self, rows: Rows) -> None:
        compiled(mdav.flat_drop)(self._block, self._rows, self._places, self.left, rows)
        super().drop(rows)


class Tree(Compiled):
    """Compiled: halves of halves, each cut where its box is longest; leaves lose records, and boxes shrink with them."""

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
        return int(compiled(mdav.tree_far)(*self._boxes, point))

    def near(self, row: int, count: int) -> Near:
        rows, distances = np.empty(count, dtype=np.int64), np.empty(count)
        compiled(mdav.tree_near)(*self._boxes, self.points[row], row, distances, rows)
        return Near(rows, distances, -1)

    def drop(self, rows: Rows) -> None:
        compiled(mdav.tree_drop)(*self._boxes, self._homes, rows)
        super().drop(rows)


def cloud(points: Points, k: int) -> Cloud:
    """The cloud that is fastest for so many points in groups of k."""
    count, width = points.shape
    if 1.5 * width * count * count / k < MUCH:
        return Plain(points)
    return Tree(points) if width <= NARROW or independent(points) <= NARROW else Flat(points)


def independent(points: Points) -> float:
    """How many columns of the same variance would spread as these do: the number of columns, or fewer if they go together."""
    spread = np.atleast_2d(np.cov(points, rowvar=False))
    squares = float((spread * spread).sum())
    return float(np.trace(spread)) ** 2 / squares if squares else 0.0
