"""Audits: many runs of a mechanism on two neighbouring tables, which can contradict a claim and never confirm it.

An event is chosen on runs of its own, then counted on fresh runs. If the mechanism kept its claim, an event that has at least
probability p on one table and at most q on the other would have p <= e^epsilon q + delta, and the same for its complement.
Bounds of Clopper and Pearson hold for p and q together with probability 1 − alpha, so a mechanism that keeps its claim is
contradicted with probability alpha at most. What an audit reaches is limited by its runs, about ln(runs/ln(2/alpha)): no
finding is no proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.assess.quantity import rate_bounds
from shoal.chance.source import Source
from shoal.errors import DataError, ParameterError
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import Number, exact

Floats = npt.NDArray[np.float64]
Data_contra = TypeVar("Data_contra", contravariant=True)
Data = TypeVar("Data")
Score = Callable[[Floats], Floats]
"""One number for each run, the larger the more it looks like a run on the first table."""


class AuditedMechanism(Protocol[Data_contra]):
    """What is audited: so many independent outputs on a table, one row of numbers for each."""

    def __call__(self, data: Data_contra, source: Source, runs: int, /) -> Floats:
        """Run the mechanism; whatever a release shows may be in the numbers."""
        ...  # pragma: no cover


@dataclass(frozen=True)
class AuditEvent:
    """Outputs whose score is at least (or, `below`, less than) a threshold."""

    score: Score
    threshold: float
    below: bool = False

    def hits(self, outputs: Floats) -> int:
        """How many outputs are in the event."""
        return int(np.count_nonzero((self.score(outputs) < self.threshold) == self.below))


@dataclass(frozen=True)
class AuditResult:
    """How often an event occurred on each of two neighbouring tables, and what follows for epsilon.

    >>> AuditResult(runs=1000, hits=(1000, 0), delta=Fraction(0), alpha=0.001).epsilon_at_least > 4.8
    True
    >>> AuditResult(runs=1000, hits=(500, 480), delta=Fraction(0), alpha=0.001).epsilon_at_least
    0.0
    """

    runs: int
    hits: tuple[int, int]
    """On the first table, on which the event is likelier, and on the second."""
    delta: Fraction
    """The delta at which epsilon is bounded."""
    alpha: float
    """The probability with which the bound may be wrong."""

    @property
    def epsilon_at_least(self) -> float:
        """With this delta the mechanism's epsilon is at least so large, with probability 1 − alpha; 0 where nothing is found."""
        likely, _ = rate_bounds(self.hits[0], self.runs, self.alpha / 2)
        _, rare = rate_bounds(self.hits[1], self.runs, self.alpha / 2)
        delta = float(self.delta)
        return max(0.0, _log_ratio(likely - delta, rare), _log_ratio(1 - rare - delta, 1 - likely))

    def contradicts(self, claim: DifferentialPrivacy) -> bool:
        """Whether the mechanism does not keep the claim: it asks for a smaller epsilon at this delta than was found."""
        return self.epsilon_at_least > claim.epsilon_at(self.delta)


def audit(
    mechanism: AuditedMechanism[Data],
    first: Data,
    second: Data,
    *,
    source: Source,
    runs: int,
    trials: int | None = None,
    delta: Number = 0,
    alpha: float = 1e-6,
    score: Score | None = None,
) -> AuditResult:
    """Run the mechanism on two neighbours and bound its epsilon from below.

    Arguments  `first` and `second`: neighbouring tables, in whatever form the mechanism takes; `runs` on each table to count
               the event on, `trials` on each table to choose it on (by default a quarter of `runs`); `delta` at which epsilon
               is bounded; `alpha`, the probability with which a sound mechanism may be contradicted; `score`, where it is
               known what tells the tables apart: else `likelihood_score` of the trials
    Raises     ParameterError for fewer than 2 runs, or an alpha or delta outside its range; DataError for outputs that are
               no table of finite numbers
    """
    trials = max(2, runs // 4) if trials is None else trials
    if min(runs, trials) < 2:
        raise ParameterError("an audit needs runs", came=f"{runs} and {trials}", allowed="2 or more of each kind")
    if not 0 < alpha < 1:
        raise ParameterError("alpha is no probability", came=alpha, allowed="0 < alpha < 1")
    allowed = exact(delta)
    if not 0 <= allowed < 1:
        raise ParameterError("delta is no probability", came=delta, allowed="0 <= delta < 1")
    seen = [_outputs(mechanism(data, source, trials), trials) for data in (first, second)]
    event, swapped = choose_event(seen[0], seen[1], runs, allowed, alpha, score or likelihood_score(*seen))
    pair = (second, first) if swapped else (first, second)
    hits = [event.hits(_outputs(mechanism(data, source, runs), runs)) for data in pair]
    return AuditResult(runs, (hits[0], hits[1]), allowed, alpha)


def likelihood_score(first: Floats, second: Floats) -> Score:
    """Score an output by how much nearer it is to the median output of the first table than to that of the second.

    Distances of components are in units of their mean deviation and are added up: for Laplace noise the logarithm of the
    likelihood ratio, up to what the medians miss. Where the medians are the same the means are taken. Components that do not
    vary count as one unit.
    """
    medians = [np.median(outputs, axis=0) for outputs in (first, second)]
    same = medians[0] == medians[1]
    middles = [
        np.where(same, outputs.mean(axis=0), median) for outputs, median in zip((first, second), medians, strict=True)
    ]
    spread = (
        sum(np.abs(outputs - middle).mean(axis=0) for outputs, middle in zip((first, second), middles, strict=True)) / 2
    )
    unit = np.where(spread > 0, spread, 1.0)

    def score(outputs: Floats) -> Floats:
        near, far = (np.abs((outputs - middle) / unit).sum(axis=1) for middle in middles)
        return np.asarray(far - near)

    return score


def choose_event(
    first: Floats, second: Floats, runs: int, delta: Fraction, alpha: float, score: Score
) -> tuple[AuditEvent, bool]:
    """Choose the threshold that would bound epsilon best if its frequencies came again in so many runs.

    Returns    the event, and whether it is likelier on the second table
    """
    scores = [np.sort(score(outputs)) for outputs in (first, second)]
    trials = len(scores[0])
    thresholds = np.unique(np.concatenate(scores))
    above = [trials - np.searchsorted(each, thresholds, side="left") for each in scores]
    best, chosen = -1.0, (AuditEvent(score, float(thresholds[0])), False)
    for threshold, *hits in zip(thresholds.tolist(), *(each.tolist() for each in above), strict=True):
        # Half a hit more and half a miss: frequencies of 0 and 1 in few trials are no certainties.
        likely = [round(runs * (hit + 0.5) / (trials + 1)) for hit in hits]
        for swapped in (False, True):
            pair = (runs - likely[1], runs - likely[0]) if swapped else (likely[0], likely[1])
            reached = AuditResult(runs, pair, delta, alpha).epsilon_at_least
            if reached > best:
                best, chosen = reached, (AuditEvent(score, threshold, below=swapped), swapped)
    return chosen


def _outputs(outputs: Floats, runs: int) -> Floats:
    table = np.asarray(outputs, dtype=np.float64)
    if table.ndim != 2 or len(table) != runs or not np.isfinite(table).all():
        raise DataError(
            "the outputs of an audited mechanism are no table of finite numbers",
            came=f"shape {table.shape}",
            allowed=f"{runs} rows, one for each run",
        )
    return table


def _log_ratio(likely: float, rare: float) -> float:
    if likely <= 0:
        return -inf
    return log(likely / rare) if rare > 0 else inf
