"""The exact law of a release of sampled rows on tables of few kinds of records: what a search for worse neighbours compares.

A scheme is drawn with a known probability, and given the scheme each class shows the number of its sampled rows, if it is k or
more: a binomial law with its lower part at zero. Classes are sampled independently, so the classes that two neighbours have in
common say nothing. Of the rest the least epsilon at a delta follows by adding up, without a run. What is computed here is in
floats, leads a search, and bounds nothing: the pair that is found is put to the test by runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.private_scheme import PrivateScheme
from shoal.anonymize.generalize.scheme import FixedScheme
from shoal.lab.audit.plan import MOST_DOUBLED, PlanMechanism, copies_allowed, draws_schemes_at_once, plan_of
from shoal.publish.plan.safe_k import SafeKPlan

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Places = tuple[int, ...]
LARGEST = 64.0
"""Epsilons end here."""
STEPS = 40
"""Halvings of the range of epsilon."""


@dataclass(frozen=True)
class RowsLaw:
    """The law of one table of sampled rows, of fixed levels or of levels that are drawn from few enough schemes."""

    mechanism: PlanMechanism

    @staticmethod
    def of(mechanism: object) -> RowsLaw | None:
        """The law of a mechanism; None where it is not known."""
        if not isinstance(mechanism, PlanMechanism) or mechanism.records.num_rows > MOST_DOUBLED:
            return None
        plan = plan_of(mechanism.policy)
        if type(plan) is not SafeKPlan or not copies_allowed(plan):
            return None
        known = isinstance(plan.method.partition, FixedScheme) or draws_schemes_at_once(plan.method)
        return RowsLaw(mechanism) if known else None

    def epsilon(self, pair: tuple[Places, Places], delta: Fraction) -> float:
        """The least epsilon that both tables keep at this delta, up to what floats round; infinite where there is none."""
        classes = self.mechanism.scheme_classes(self._partition)
        logs = [self._log_chances(table) for table in pair]
        sizes = [self._sizes(table, classes) for table in pair]
        # Of every scheme the classes that do not have the same size in both tables; a class is named by its first record.
        own = np.arange(classes.shape[1])[None, :] == classes
        differ = own & (sizes[0] != sizes[1])
        most = int(differ.sum(axis=1).max(initial=0))
        place = np.argsort(~differ, axis=1, kind="stable")[:, :most]
        within = np.take_along_axis(differ, place, axis=1)
        changed = [np.where(within, np.take_along_axis(each, place, axis=1), -1) for each in sizes]
        return max(self._least(logs, changed, float(delta)), self._least(logs[::-1], changed[::-1], float(delta)))

    @property
    def _partition(self) -> PrivateScheme | FixedScheme:
        return cast("PrivateScheme | FixedScheme", cast("SafeKPlan", plan_of(self.mechanism.policy)).method.partition)

    def _log_chances(self, table: Places) -> Floats:
        """The logarithm of the probability of every scheme on a table."""
        partition = self._partition
        if isinstance(partition, FixedScheme):
            return np.zeros(1)
        recoded = self.mechanism.table(table).recode(partition.levels)
        scores, factor = partition.weigh(recoded.count_by(partition.columns))
        logs = float(factor) * (scores - scores.max()).astype(np.float64)
        return np.asarray(logs - np.log(np.exp(logs).sum()))

    @staticmethod
    def _sizes(table: Places, classes: Codes) -> Codes:
        """For every scheme and record of the list, the size of the record's class."""
        counts = np.bincount(np.array(table, dtype=np.int64), minlength=classes.shape[1])
        found = np.zeros_like(classes)
        for place, count in enumerate(counts.tolist()):
            found += count * (classes == classes[:, [place]])
        return found

    def _least(self, logs: Sequence[Floats], sizes: Sequence[Codes], delta: float) -> float:
        """The least epsilon for which the first table's probabilities exceed the other's, times e^epsilon, by delta at most."""
        setting = cast("SafeKPlan", plan_of(self.mechanism.policy)).promise
        # Schemes with the same changes of sizes have the same law given the scheme.
        changes, group = np.unique(np.concatenate(sizes, axis=1), axis=0, return_inverse=True)
        width = sizes[0].shape[1]
        laws = []
        for change in changes.tolist():
            tops = [max(ends) for ends in zip(change[:width], change[width:], strict=True)]
            both = [_joint(own, tops, setting.k, setting.beta) for own in (change[:width], change[width:])]
            laws.append((both[0], both[1]))

        def excess(epsilon: float) -> float:
            total = 0.0
            for number, (first, second) in enumerate(laws):
                inside = group.reshape(-1) == number
                chances = [np.exp(each[inside])[:, None] for each in logs]
                total += float(np.maximum(chances[0] * first - np.exp(epsilon) * chances[1] * second, 0).sum())
            return total

        if excess(LARGEST) > delta:
            return float("inf")
        low, high = 0.0, LARGEST
        if excess(0.0) <= delta:
            return 0.0
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > delta else (low, middle)
        return high


def _joint(sizes: Sequence[int], tops: Sequence[int], k: int, beta: Fraction) -> Floats:
    """The law of the published rows of some classes together, flat; outcomes go up to `tops`, a top below zero is no class."""
    found = np.ones(1)
    for size, top in zip(sizes, tops, strict=True):
        if top >= 0:
            found = np.multiply.outer(found, published_law(size, top, k, beta)).ravel()
    return found


@lru_cache(maxsize=1024)
def published_law(size: int, top: int, k: int, beta: Fraction) -> Floats:
    """The probabilities that a class of this size shows no row, k rows, k + 1, …, top rows.

    >>> published_law(3, 3, 2, Fraction(1, 2)).tolist()
    [0.5, 0.375, 0.125]
    """
    from scipy.special import bdtr, bdtrc

    rows = np.arange(k, top + 1)
    rate = float(beta)
    shown = [float(bdtrc(row - 1, size, rate) - bdtrc(row, size, rate)) if row < size else 0.0 for row in rows]
    if size >= k:
        shown[size - k] = rate**size
    return np.array([float(bdtr(k - 1, size, rate)) if size >= k else 1.0, *shown])
