"""Clusters with diverse confidential values: those that lack it are merged with their nearest neighbours.

l of a cluster is how many different values it has, missing ones left out; t how far its values lie from those of the whole
table, by the earth mover's distance: along the order where values have one (ranks of the values that occur, the ends 1
apart), else with any two values 1 apart. Merging the worst cluster with the nearest one until all fit is what Soria-Comas et
al. (IEEE TKDE 27(11), 2015) call microaggregation and merging. A cluster of everybody has t = 0 and every value there is, so t
can always be reached, and l up to the number of values; one cluster of everybody is refused all the same, because nothing is
left in it. Merging the nearest is greedy: other clusters might have reached more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.mdav import Labels, no_progress
from shoal.errors import InfeasibleError
from shoal.guarantee.rounding import text_near
from shoal.progress import Progress

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ConfidentialColumn:
    """One confidential attribute: the code of each record's value among those that occur, by rank where values are ordered."""

    name: str
    codes: Codes
    ordered: bool
    absent: int
    """The code of a missing value: it has a place where distances are taken, and is no value where values are counted."""

    @classmethod
    def of(cls, name: str, values: npt.NDArray[Any], *, ordered: bool) -> ConfidentialColumn:
        """From values that compare; a missing value has its own code, after the last."""
        gone = np.ma.getmaskarray(values)
        codes = np.empty(len(values), dtype=np.int64)
        known, codes[~gone] = np.unique(np.ma.getdata(values)[~gone], return_inverse=True)
        codes[gone] = len(known)
        return cls(name, codes, ordered, len(known))

    @property
    def different(self) -> int:
        """How many values occur."""
        return self.distinct(self.codes)

    def distinct(self, codes: Codes) -> int:
        """How many different values these are, missing ones left out."""
        return int(np.count_nonzero(np.unique(codes) != self.absent))

    def shares(self) -> Floats:
        """The share of each value in the whole table."""
        return np.bincount(self.codes) / len(self.codes)


@dataclass(frozen=True)
class DiversityRequirement:
    """What every cluster must have: at least `l` different confidential values, and at most a distance of `t`."""

    l: int | None = None  # noqa: E741 - the literature's letter
    t: Fraction | None = None

    @property
    def nothing(self) -> bool:
        """Whether nothing is asked for."""
        return self.l is None and self.t is None


def distance(codes: Codes, overall: Floats, running: Floats, *, ordered: bool) -> float:
    """The earth mover's distance between a cluster's values and the table's; `running` is the running sum of `overall`."""
    values, counts = np.unique(codes, return_counts=True)
    inside = counts / len(codes)
    if not ordered:
        return float(np.maximum(inside - overall[values], 0.0).sum())
    many = len(overall)
    if many == 1:
        return 0.0
    # The cluster's distribution function is flat between its values: on each stretch it passes the table's at most once.
    level = np.append(0.0, np.cumsum(inside))
    start, stop = np.append(0, values), np.append(values, many)
    cut = np.clip(np.searchsorted(running, level, side="right"), start, stop)
    before = np.append(0.0, np.cumsum(running))
    below = level * (cut - start) - (before[cut] - before[start])
    above = (before[stop] - before[cut]) - level * (stop - cut)
    return float(max(0.0, (below + above).sum()) / (many - 1))


def measure_diversity(labels: Labels, confidential: Sequence[ConfidentialColumn]) -> tuple[int, float]:
    """The smallest l and the largest t over all clusters and confidential attributes."""
    least, most = len(labels), 0.0
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    for column in confidential:
        overall = column.shares()
        running = np.cumsum(overall)
        for rows in groups:
            own = column.codes[rows]
            least = min(least, column.distinct(own))
            most = max(most, distance(own, overall, running, ordered=column.ordered))
    return least, most


def diversify(
    labels: Labels,
    places: Floats,
    confidential: Sequence[ConfidentialColumn],
    required: DiversityRequirement,
    *,
    progress: Progress = no_progress,
) -> Labels:
    """The clusters, with those that lack what is required merged with their nearest, the worst first; numbered anew.

    Cost      one search among the averages of all groups for each merge.
    Ties      the cluster formed first.
    """
    if required.nothing:
        return labels
    _refuse_unreachable(confidential, required)
    joined = _Clusters(labels, places, confidential, required)
    while (worst := joined.worst()) is not None:
        if joined.count == 2:
            least, most = measure_diversity(joined.labels(), confidential)
            raise InfeasibleError(
                "near groups were joined until two were left, and those do not have what is asked for",
                came=_requirement_words(required),
                allowed=f"what the two have reached is l = {least}, t = {most:.4g}",
                fix="ask for less, or leave l and t out",
            )
        joined.join(worst)
        progress(joined.joins, joined.joins + joined.lacking)
    return joined.labels()


def merge_runs(labels: Labels, column: ConfidentialColumn, required: DiversityRequirement) -> Labels:
    """Runs of one ranked attribute, joined with the next until each has l different values; the rest joins the last."""
    if required.l is None:
        return labels
    _refuse_unreachable([column], required)
    order = np.argsort(labels, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(labels[order], prepend=-1)), len(order))
    starts, first = [0], 0
    for stop in bounds[1:-1].tolist():
        if column.distinct(column.codes[order[first:stop]]) >= required.l:
            starts.append(stop)
            first = stop
    if column.distinct(column.codes[order[first:]]) < required.l and len(starts) > 1:
        starts.pop()
    if len(starts) == 1:
        raise InfeasibleError(
            f"attribute '{column.name}': no two runs of ranks have what is asked for",
            came=_requirement_words(required),
            allowed="at least two runs",
            fix="ask for a smaller l",
        )
    found = np.empty(len(labels), dtype=np.int32)
    found[order] = np.searchsorted(np.array(starts), np.arange(len(order)), side="right").astype(np.int32) - 1
    return found


def _refuse_unreachable(confidential: Sequence[ConfidentialColumn], required: DiversityRequirement) -> None:
    for column in confidential:
        if required.l is not None and column.different < required.l:
            raise InfeasibleError(
                f"attribute '{column.name}' has fewer different values than every group shall show",
                came=f"l = {required.l}",
                allowed=f"the best that any groups reach is l = {column.different}",
                fix="ask for a smaller l",
            )


def _requirement_words(required: DiversityRequirement) -> str:
    parts = [f"l = {required.l}"] if required.l is not None else []
    return ", ".join([*parts, *([f"t = {text_near(required.t)}"] if required.t is not None else [])])


class _Clusters:
    """Groups that are being joined: their rows, their averages, and what each lacks."""

    def __init__(
        self, labels: Labels, places: Floats, confidential: Sequence[ConfidentialColumn], required: DiversityRequirement
    ) -> None:
        self.count = int(labels.max()) + 1 if len(labels) else 0
        self.joins = 0
        order = np.argsort(labels, kind="stable")
        self.rows: list[npt.NDArray[np.intp] | None] = list(np.split(order, np.flatnonzero(np.diff(labels[order])) + 1))
        self.sizes = np.bincount(labels).astype(np.float64)
        self.means = (
            np.stack([np.bincount(labels, weights=column) for column in places.T], axis=1) / self.sizes[:, None]
        )
        self.size = len(labels)
        self.confidential, self.required = confidential, required
        shares = [column.shares() for column in confidential]
        self.overall = [(own, np.cumsum(own)) for own in shares]
        self.lacks = np.array([self._lack(rows) for rows in self.rows if rows is not None])

    def _lack(self, rows: npt.NDArray[np.intp]) -> float:
        """How far a cluster is from what is required; 0 where it has it."""
        lack = 0.0
        for column, (overall, running) in zip(self.confidential, self.overall, strict=True):
            own = column.codes[rows]
            if self.required.l is not None:
                lack = max(lack, float(self.required.l - column.distinct(own)))
            if self.required.t is not None:
                far = distance(own, overall, running, ordered=column.ordered)
                lack = max(lack, far - float(self.required.t))
        return lack

    def worst(self) -> int | None:
        """The cluster that lacks most; None where all have what is required."""
        place = int(np.argmax(self.lacks))
        return place if self.lacks[place] > 0 else None

    def join(self, one: int) -> None:
        """Merge a cluster with the one whose average is nearest."""
        apart = np.square(self.means - self.means[one]).sum(axis=1)
        apart[one] = np.inf
        other = int(np.argmin(apart))
        low, high = min(one, other), max(one, other)
        mine, theirs = self.rows[low], self.rows[high]
        if mine is None or theirs is None:
            raise AssertionError("a group that is gone")
        both = np.concatenate([mine, theirs])
        self.rows[low], self.rows[high] = both, None
        share = self.sizes[high] / (self.sizes[low] + self.sizes[high])
        self.means[low] += share * (self.means[high] - self.means[low])
        self.sizes[low] += self.sizes[high]
        self.means[high] = np.inf  # it is gone, and nobody's nearest
        self.lacks[low], self.lacks[high] = self._lack(both), 0.0
        self.count -= 1
        self.joins += 1

    @property
    def lacking(self) -> int:
        """The number of clusters that still lack something."""
        return int(np.count_nonzero(self.lacks > 0))

    def labels(self) -> Labels:
        """The cluster of each record as it is now, clusters numbered by the first record that formed them."""
        found = np.empty(self.size, dtype=np.int32)
        for number, rows in enumerate(rows for rows in self.rows if rows is not None):
            found[rows] = number
        return found
