"""UNSAFE mechanisms, for audits alone: what papers or programs do and what does not keep the claim that goes with it.

Each has a name in the catalogue, with the claim that is made for it and a number of runs within which the audit refutes it.
Nothing that releases or answers imports this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.columns import NumericColumn
from shoal.anonymize.cluster.mondrian import mondrian
from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.scores import Ramp
from shoal.chance.source import Source
from shoal.data.domain import Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Role
from shoal.data.type import Type
from shoal.engine.base import Counts

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Numbers = tuple[int, ...]
"""A table: one number for each record."""


def sample_counts(data: Numbers, values: int, beta: Fraction, source: Source, runs: int) -> Integers:
    """How often each number occurs in a sample that keeps each record with probability beta, for each run."""
    kept = source.row_mask(beta).keep(0, runs * len(data)).reshape(runs, len(data))
    found = np.zeros((runs, values), dtype=np.int64)
    for place, value in enumerate(data):
        found[:, value] += kept[:, place]
    return found


def suppress(counts: Integers, k: int) -> Integers:
    """Counts below k are not shown."""
    return np.where(counts >= k, counts, 0)


@dataclass(frozen=True)
class OneSampleTwice:
    """Two publications from one sample: by value, and all rows under one label; each by itself keeps (epsilon, delta*)."""

    k: int
    beta: Fraction

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        counts = sample_counts(data, 2, self.beta, source, runs)
        together = suppress(counts.sum(axis=1, keepdims=True), self.k)
        return np.concatenate([suppress(counts, self.k), together], axis=1).astype(np.float64)


@dataclass(frozen=True)
class RecodingOnSample:
    """A recoding that is chosen with epsilon-DP, but on the sample that is published.

    Record 0 is merged with one of the other values: with one whose rows are all in the sample, if the exponential mechanism finds
    it. Then the merged class has k rows if and only if record 0 is in the sample.
    """

    k: int
    beta: Fraction
    epsilon: Fraction
    """Of the choice; a record that is added lowers no score, so the factor is epsilon over 1."""
    values: int = 11

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        counts = sample_counts(data, self.values, self.beta, source, runs)
        scores = (counts[:, 1:] >= self.k - 1).astype(np.int64)
        chosen = source.choose_each_by_score(scores, self.epsilon)
        merged = counts[:, 0] + counts[np.arange(runs), chosen + 1]
        return np.stack([chosen, suppress(merged, self.k)], axis=1).astype(np.float64)


@lru_cache
def _towns() -> Lattice:
    """Towns and sexes; the town does not count as detail, so schemes that differ in it alone differ by what they suppress."""
    attributes = []
    for name, values in (("town", "abcz"), ("sex", "fm")):
        domain = Values(tuple(values))
        levels = hierarchy({"groups": [{"*": list(values)}]}, Type.CATEGORY, domain)
        attributes.append(Attribute(name, Role.QUASI, Type.CATEGORY, domain, levels))
    return Lattice.of(attributes, weights={"town": Fraction(0)})


@dataclass(frozen=True)
class BestSchemeVisited:
    """The best of all schemes that a search visited on the sample is published: an exact, unpaid maximum.

    A walk that pays for its steps visits all schemes of so small a lattice in the end, so the maximum is over all of them. Record
    numbers are town and sex: 2·town + sex.
    """

    k: int
    beta: Fraction

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        lattice, score = _towns(), Ramp(self.k, self.beta)
        counts = sample_counts(data, 8, self.beta, source, runs)
        unique, places = np.unique(counts, axis=0, return_inverse=True)
        best = [int(np.argmax(score.of_all(lattice, _as_counts(each)))) for each in unique]
        return np.array(best, dtype=np.float64)[places.reshape(-1)][:, None]


def _as_counts(counts: Integers) -> Counts:
    """Counts of towns and sexes as an engine would give them."""
    there = np.flatnonzero(counts)
    values = (np.array(list("abcz"), dtype=object), np.array(list("fm"), dtype=object))
    codes = ((there // 2).astype(np.int32), (there % 2).astype(np.int32))
    return Counts(("town", "sex"), values, codes, counts[there].astype(np.int64))


@dataclass(frozen=True)
class KAnonymityAlone:
    """Counts below k are suppressed, and nothing is sampled: beta = 1."""

    k: int

    def __call__(self, data: Numbers, _: Source, runs: int) -> Floats:
        counts = np.bincount(np.array(data, dtype=np.int64), minlength=2)[None, :]
        return np.repeat(suppress(counts, self.k), runs, axis=0).astype(np.float64)


@dataclass(frozen=True)
class MondrianRanges:
    """Mondrian with the range of each cluster's own records: the highest end is somebody's value (LQS10 §3)."""

    k: int

    def __call__(self, data: Numbers, _: Source, runs: int) -> Floats:
        values = np.array(data, dtype=np.int64)
        labels = mondrian([NumericColumn(values)], self.k)
        ends = [float(values[labels == label].max()) for label in range(int(labels.max()) + 1)]
        return np.full((runs, 1), max(ends))


@dataclass(frozen=True)
class KDuplication:
    """Every record is published k times (LQS10 Algorithm 1): k-anonymous, and all values are there."""

    k: int

    def __call__(self, data: Numbers, _: Source, runs: int) -> Floats:
        counts = self.k * np.bincount(np.array(data, dtype=np.int64), minlength=2)[None, :]
        return np.repeat(counts, runs, axis=0).astype(np.float64)


@dataclass(frozen=True)
class DeltaSampling:
    """Every record is published as it is with probability delta (LQS10 Algorithm 5): (0, delta)-DP, and raw rows all the same."""

    delta: Fraction

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        return sample_counts(data, 2, self.delta, source, runs).astype(np.float64)


@dataclass(frozen=True)
class NoisyCells:
    """Cells of a contingency table with discrete Gaussian noise of any sigma; records 0 and 1 are in the first and the last."""

    cells: int
    sigma: Fraction

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        exact = np.zeros(self.cells)
        exact[0], exact[-1] = data.count(0), data.count(1)
        return exact + source.discrete_gaussian(self.sigma, runs * self.cells).reshape(runs, self.cells)
