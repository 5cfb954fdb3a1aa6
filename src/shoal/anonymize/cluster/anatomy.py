"""Groups for Anatomy (Xiao, Tao 2006): of different confidential values each, or (SC13 Algorithm 7.1) of neighbouring ones.

Records stand in an order that was drawn before.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.mdav import Labels
from shoal.chance.source import Source
from shoal.errors import InfeasibleError

Codes = npt.NDArray[np.int64]


def refuse_ineligible(values: Codes, l: int) -> None:  # noqa: E741 - the literature's letter
    """Refuse values of which one is too frequent: with the share 1/l or less in every group, it has at most that in the table."""
    counts = np.bincount(values)
    most, records = int(counts.max()), len(values)
    if most * l > records:
        raise InfeasibleError(
            "a confidential value is too frequent: some group would show it in more than the share 1/l",
            came=f"l = {l}, and {most:,} of {records:,} records have one value",
            allowed=f"l up to {records // most}",
            fix="ask for a smaller l"
            if records >= 2 * most
            else "no l of 2 or more can be reached: take grouping: confidential with k, or method: t-closeness",
        )


def anatomize(values: Codes, l: int, source: Source) -> Labels:  # noqa: E741
    """Groups of l records or a few more, no two of which have the same value; which record of a value goes where is drawn.

    Each group takes one record of each of the l values of which most are left. At the end fewer than l values are left, one
    record of each: it goes to a group without its value, drawn among all of them. `values` has the number of each record's
    value; equally frequent values are taken in an order that is drawn.

    Promise   no value occurs twice in a group, so each has the share 1/l of it at most; no privacy by itself.
    Requires  that no value is more frequent than 1/l.
    Reads     the values, and the order of the rows.

    >>> sorted(anatomize(np.array([0, 1, 0, 1]), 2, Source.seeded(1)).tolist())
    [0, 0, 1, 1]
    """
    refuse_ineligible(values, l)
    counts = np.bincount(values)
    ties = source.stream("equal values").permutation(len(counts)).tolist()
    waiting = [rows.tolist() for rows in np.split(np.argsort(values, kind="stable"), np.cumsum(counts)[:-1])]
    heap = [(-int(count), ties[value], value) for value, count in enumerate(counts) if count]
    heapify(heap)
    labels = np.full(len(values), -1, dtype=np.int32)
    groups: list[set[int]] = []
    while len(heap) >= l:
        taken = [heappop(heap) for _ in range(l)]
        for left, tie, value in taken:
            labels[waiting[value].pop()] = len(groups)
            if left < -1:
                heappush(heap, (left + 1, tie, value))
        groups.append({value for _, _, value in taken})
    for _, _, value in sorted(heap):
        without = [group for group, held in enumerate(groups) if value not in held]
        home = without[int(source.integers(len(without), 1)[0])]
        labels[waiting[value].pop()] = home
        groups[home].add(value)
    return labels


def join_groups(labels: Labels, least: int, source: Source) -> Labels:
    """Groups joined at random, so many to each, until all have `least` of them or one more; numbered anew.

    A value that has the share 1/l of each of two groups at most has no more of both together.
    """
    groups = int(labels.max()) + 1
    many = groups // least
    place = np.arange(groups) % many
    drawn = np.empty(groups, dtype=np.int32)
    drawn[source.stream("joined groups").permutation(groups)] = place
    return drawn[labels]


def confidential_runs(order: Codes, k: int) -> Labels:
    """SC13 Algorithm 7.1: the k lowest records and the k highest, again and again; what is left in the middle is one group.

    `order` are the rows by their confidential value. Groups are numbered from the lowest values up; all but one have k records,
    and that one k to 2k − 1.

    >>> confidential_runs(np.arange(8), 2).tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
    records = len(order)
    lower, left = 0, records
    while left >= 3 * k:
        lower, left = lower + 1, left - 2 * k
    upper = lower
    if left >= 2 * k:
        lower, left = lower + 1, left - k
    sizes = [k] * lower + [left] * (left > 0) + [k] * upper
    labels = np.empty(records, dtype=np.int32)
    labels[order] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return labels


def join_runs(labels: Labels, values: Codes, l: int) -> Labels:  # noqa: E741
    """Runs joined with the next until no value has more than the share 1/l; what is left at the end joins those before it.

    Raises     InfeasibleError where one run is left, which would be everybody.
    """
    wide, runs = int(values.max()) + 1, int(labels.max()) + 1
    order = np.argsort(labels, kind="stable")
    bounds = [0, *np.cumsum(np.bincount(labels, minlength=runs)).tolist()]
    starts, tally, size = [0], np.zeros(wide, dtype=np.int64), 0
    for run in range(runs):
        own = values[order[bounds[run] : bounds[run + 1]]]
        tally += np.bincount(own, minlength=wide)
        size += len(own)
        if run + 1 < runs and tally.max() * l <= size:
            starts.append(run + 1)
            tally, size = np.zeros(wide, dtype=np.int64), 0
    while len(starts) > 1 and tally.max() * l > size:
        last = starts.pop()
        own = values[order[bounds[starts[-1]] : bounds[last]]]
        tally += np.bincount(own, minlength=wide)
        size += len(own)
    if len(starts) == 1:
        refuse_ineligible(values, l)
        raise InfeasibleError(
            "neighbouring groups were joined until one was left",
            came=f"l = {l}",
            allowed="at least two groups",
            fix="ask for a smaller l, or leave grouping out",
        )
    return (np.searchsorted(np.array(starts), labels, side="right") - 1).astype(np.int32)
