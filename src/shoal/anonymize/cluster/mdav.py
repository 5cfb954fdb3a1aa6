"""Clusters of near records: MDAV, and its relative with clusters of variable size.

A clustering is an int32 array: the cluster of each record, clusters numbered as they were formed. Everything is decided by
the points and the order of rows: at equal distance the lowest row wins. Points come from `columns.points`, which says how
columns of different kinds and scales are made comparable.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.anonymize.kernel.remaining_points import Points, RemainingPoints, remaining_points
from shoal.errors import DataError, InfeasibleError, ParameterError
from shoal.progress import Progress

Labels = npt.NDArray[np.int32]
LARGEST = 1e150
"""Squares of larger numbers are infinite."""


def no_progress(done: int, of: int) -> None:
    """Progress that is not shown."""


def check_size(k: object, records: int) -> int:
    """The least cluster size, checked: a whole number from 2 to the number of records."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 2:
        raise ParameterError("the least size of a cluster is wrong", came=repr(k), allowed="a whole number from 2 up")
    if records < k:
        raise InfeasibleError(
            "there are too few records for one cluster",
            came=f"{records} records and k = {k}",
            allowed="at least k records",
            fix="choose a smaller k" if records > 1 else "bring more records",
        )
    return int(k)


def check_points(points: npt.ArrayLike) -> Points:
    """The points, checked: a table of finite numbers, a row for each record; one column may come as a list."""
    try:
        table = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "the values are not numbers",
            allowed="a table of numbers",
            fix="describe columns of other kinds (cluster.columns)",
        ) from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] == 0:
        raise DataError("the values are no table", came=f"shape {table.shape}", allowed="rows and columns")
    wrong = int(np.count_nonzero(~np.isfinite(table)))
    if wrong:
        raise DataError(
            "values are missing or infinite",
            came=f"{wrong} of {table.size}",
            allowed="finite numbers",
            fix="leave those records out, or describe the column with missing=Missing.VALUE",
        )
    return table


def to_remaining_points(table: Points, k: int, among: RemainingPoints | None) -> RemainingPoints:
    """The records as remaining points; refused where their distances cannot be squared."""
    if np.abs(table).max() > LARGEST:
        raise DataError(
            "values are too large for distances",
            allowed=f"up to {LARGEST:g} in size",
            fix="use scale='deviation', or smaller units",
        )
    return remaining_points(table, k) if among is None else among


def mdav(
    points: npt.ArrayLike, k: int, *, among: RemainingPoints | None = None, progress: Progress = no_progress
) -> Labels:
    """MDAV, SC13 Alg 2.1: the record farthest from the average and its k − 1 nearest, then the same opposite, and again.

    Each pair of clusters begins at the record farthest from the average of all that are left; the second cluster begins at
    the record farthest from that one, of those that the first cluster has left over. With 2k to 3k − 1 records left there
    is one more cluster and the rest; every cluster has k records, but the last, which has k to 2k − 1.

    Promise   every cluster has at least k records; no privacy by itself.
    Requires  finite numbers; at least k records.
    Reads     the points and the order of the rows.
    Cost      about n²/k distances, or n·log n of them where there are few columns; memory linear in n.
    Ties      the lowest row, among the farthest as among the nearest; a cluster's first record is always its own.

    >>> mdav([1.0, 2.0, 9.0, 10.0], 2).tolist()
    [0, 0, 1, 1]
    """
    table = check_points(points)
    k = check_size(k, len(table))
    left = to_remaining_points(table, k, among)
    labels = np.full(len(table), -1, dtype=np.int32)
    group = 0
    while left.left >= 2 * k:
        pair = left.left >= 3 * k
        seed = left.outer()
        for turn in range(2 if pair else 1):
            found = left.near(seed, k - 1)
            members = np.append(found.rows, seed)
            labels[members] = group
            left.drop(members)
            group += 1
            if pair and turn == 0:
                seed = found.far if found.far >= 0 else left.far(left.points[seed])
        progress(len(table) - left.left, len(table))
    labels[labels < 0] = group
    progress(len(table), len(table))
    return labels


def vmdav(
    points: npt.ArrayLike,
    k: int,
    *,
    gain: float = 0.2,
    among: RemainingPoints | None = None,
    progress: Progress = no_progress,
) -> Labels:
    """V-MDAV (Solanas, Martínez-Ballesté 2006): clusters of k, each of which may grow to 2k − 1 by records that lie close.

    Clusters begin at the record farthest from the average of all records. The record nearest to a cluster joins it while its
    distance to the cluster is less than `gain` times its distance to the nearest record that is still free. Fewer than
    k records at the end join the cluster whose average is nearest, which may so pass 2k − 1.

    Promise   every cluster has at least k records; no privacy by itself.
    Requires  finite numbers; at least k records.
    Reads     the points and the order of the rows.
    Gain      0 gives clusters of k; about 0.2 suits scattered records, about 1.1 clustered ones.
    """
    table = check_points(points)
    k = check_size(k, len(table))
    if not 0 <= gain < np.inf:
        raise ParameterError("the gain factor is wrong", came=gain, allowed="a number from 0 up")
    left = to_remaining_points(table, 1, among)
    labels = np.full(len(table), -1, dtype=np.int32)
    outside_in = np.argsort(-_squares(table, left.centre), kind="stable").tolist()
    group = 0
    for seed in outside_in:
        if left.left < k:
            break
        if labels[seed] >= 0:
            continue
        members = [*left.near(seed, k - 1).rows.tolist(), seed]
        labels[members] = group
        left.drop(np.array(members))
        _extend(left, labels, members, 2 * k - 1, gain * gain)
        group += 1
        progress(len(table) - left.left, len(table))
    rest = np.flatnonzero(labels < 0)
    if len(rest):
        labels[rest] = _nearest_cluster(table, labels, rest, group)
    progress(len(table), len(table))
    return labels


def _extend(left: RemainingPoints, labels: Labels, members: list[int], most: int, gain: float) -> None:
    """Let records join the newest cluster while it pays; `gain` is squared, as distances are."""
    group = labels[members[0]]
    nearest: dict[int, tuple[float, int]] = {}
    while len(members) < most and left.left:
        for member in members:
            if member not in nearest:
                found = left.near(member, 1)
                nearest[member] = float(found.squares[0]), int(found.rows[0])
        inside, candidate = min(nearest.values())
        outside = float(left.near(candidate, 1).squares[0]) if left.left > 1 else np.inf
        if not inside < (gain * outside if gain else 0.0):
            return
        labels[candidate] = group
        left.drop(np.array([candidate]))
        nearest = {member: near for member, near in nearest.items() if near[1] != candidate}
        members.append(candidate)


def _nearest_cluster(table: Points, labels: Labels, rest: npt.NDArray[np.intp], groups: int) -> Labels:
    """The cluster whose average is nearest to each of the records left over; the first one formed of equals."""
    grouped = labels >= 0
    sizes = np.bincount(labels[grouped], minlength=groups)
    means = np.empty((groups, table.shape[1]))
    for j in range(table.shape[1]):
        means[:, j] = np.bincount(labels[grouped], weights=table[grouped, j], minlength=groups) / sizes
    return np.array([np.argmin(_squares(means, table[row])) for row in rest], dtype=np.int32)


def _squares(table: Points, point: Points) -> Points:
    """Squared distances to a point, column after column, as all classes of remaining points add them."""
    total = np.zeros(len(table))
    for j in range(table.shape[1]):
        difference = table[:, j] - point[j]
        total += difference * difference
    return total
