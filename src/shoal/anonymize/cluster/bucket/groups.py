"""Records put into groups whose counts are given: near ones by their quasi-identifiers, or drawn at random.

Records stand in an order that was drawn before, so that ties go to the lowest row and still tell nothing of the file's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.bucket.counts import GroupKind, balanced
from shoal.anonymize.cluster.mdav import Labels, no_progress, to_remaining_points
from shoal.progress import Progress

Codes = npt.NDArray[np.int64]
Points = npt.NDArray[np.float64]


def near_groups(
    points: Points, buckets: Codes, kinds: Sequence[GroupKind], *, progress: Progress = no_progress
) -> Labels:
    """The group of each record: the record farthest from the average, and with it the nearest of every bucket.

    A group takes the least that it must have of every bucket, each time the nearest records, and then whatever is nearest until
    it is full, up to the most that it may have of a bucket. Then the same begins opposite, at the record farthest from the
    first one, as in MDAV.

    Promise   every record stands in one group; the counts of each group lie within the bounds of its kind.
    Requires  finite numbers; kinds that `counts.divide` made for these buckets.
    Reads     the points, the buckets and the order of the rows.
    """
    size = min(kind.size for kind in kinds)
    left = to_remaining_points(points, size, None)
    members = [np.flatnonzero(buckets == bucket) for bucket in range(int(buckets.max()) + 1)]
    pools = [type(left)(points[rows]) for rows in members]
    place = np.empty(len(points), dtype=np.int64)
    for rows in members:
        place[rows] = np.arange(len(rows))
    labels = np.full(len(points), -1, dtype=np.int32)
    group, partner = 0, -1
    for kind in kinds:
        rest = kind
        while rest.many:
            seed = left.outer() if partner < 0 else partner
            rows, taken = _nearest(points[seed], seed, rest, buckets, members, pools, place)
            labels[rows] = group
            left.drop(rows)
            for bucket, own in enumerate(taken):
                own_rows = rows[buckets[rows] == bucket]
                if own:
                    pools[bucket].drop(place[own_rows])
            rest = rest.after(taken)
            group += 1
            partner = left.far(points[seed]) if partner < 0 and left.left else -1
            progress(len(points) - left.left, len(points))
    return labels


def _nearest(
    point: Points,
    seed: int,
    kind: GroupKind,
    buckets: Codes,
    members: Sequence[Codes],
    pools: Sequence[Any],
    place: Codes,
) -> tuple[Codes, tuple[int, ...]]:
    """The rows of the group around a seed, and how many it has of each bucket."""
    least, most = kind.take()
    home = int(buckets[seed])
    sure, spare, far = [np.array([seed])], [], []
    for bucket, pool in enumerate(pools):
        own = place[seed] if bucket == home else -1
        found = pool.nearest(point, most[bucket] - (bucket == home), own)
        must = least[bucket] - (bucket == home)
        rows = members[bucket][found.rows]
        sure.append(rows[:must])
        spare.append(rows[must:])
        far.append(found.squares[must:])
    more = kind.size - sum(least)
    others, squares = np.concatenate(spare), np.concatenate(far)
    chosen = others[np.lexsort((others, squares))[:more]]
    rows = np.concatenate([*sure, chosen])
    return rows, tuple(np.bincount(buckets[rows], minlength=len(pools)).tolist())


def random_groups(buckets: Codes, kinds: Sequence[GroupKind]) -> Labels:
    """The group of each record: counts that the totals decide, and of each bucket the next records in their order.

    Who is grouped with whom then depends on the drawn order and the buckets' totals alone.
    """
    labels = np.empty(len(buckets), dtype=np.int32)
    waiting = [np.flatnonzero(buckets == bucket) for bucket in range(int(buckets.max()) + 1)]
    used = [0] * len(waiting)
    group = 0
    for kind in kinds:
        for taken in balanced(kind):
            for bucket, many in enumerate(taken):
                labels[waiting[bucket][used[bucket] : used[bucket] + many]] = group
                used[bucket] += many
            group += 1
    return labels
