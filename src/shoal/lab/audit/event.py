"""Events of an audit: which outputs are counted on both tables, chosen on trial runs by scores that were learned on other trials.

A score gives each output one number; an event is all outputs whose score is at least a threshold. Whatever the score is,
the bound that the counted runs give is valid: a bad score finds little, and nothing that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal.lab.audit.result import epsilons_at_least

Floats = npt.NDArray[np.float64]
Score = Callable[[Floats], Floats]
"""One number for each run, the larger the more it looks like a run on one of the tables."""
MOST_COMPONENTS = 24
"""So many components of an output are tried by themselves."""
MOST_THRESHOLDS = 500
"""So many thresholds of a score are tried, evenly spread over the trials' scores."""
DOUBT = 1e-3
"""An event is chosen by what its trials alone show with an error of so much: the best of many frequencies is partly luck."""
HOPE = 0.001
"""The weight of what would be found if the trials' frequencies came again: it decides where trials support nothing."""
MARGIN = 1.05
"""A score that comes later, and is harder to put in words, has to be better by this factor."""
SHOWN = 6
"""An event names at most so many outcomes."""


class WordedScore(Protocol):
    """A score that says in words which outputs are in its event."""

    def __call__(self, outputs: Floats, /) -> Floats:
        """One number for each run."""
        ...  # pragma: no cover

    def words(self, threshold: float) -> str:
        """The outputs whose score is at least the threshold."""
        ...  # pragma: no cover


@dataclass(frozen=True)
class ComponentScore:
    """The value of one component of the output."""

    component: int
    name: str

    def __call__(self, outputs: Floats) -> Floats:
        return outputs[:, self.component]

    def words(self, threshold: float) -> str:
        return f"{self.name} is at least {threshold:,.6g}"


@dataclass(frozen=True)
class FrequencyScore:
    """The logarithm of how much oftener the very outcome occurred in trials on the first table; 0 for one that never did."""

    outcomes: Floats
    """The outcomes of the trials, sorted, one in each row."""
    logs: Floats
    names: tuple[str, ...]

    @classmethod
    def of(cls, first: Floats, second: Floats, names: Sequence[str]) -> FrequencyScore:
        outcomes, places = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
        places = places.reshape(-1)
        counts = [np.bincount(part, minlength=len(outcomes)) for part in (places[: len(first)], places[len(first) :])]
        return cls(outcomes, np.log((counts[0] + 0.5) / (counts[1] + 0.5)), tuple(names))

    def __call__(self, outputs: Floats) -> Floats:
        own, places = np.unique(outputs, axis=0, return_inverse=True)
        logs = {outcome.tobytes(): value for outcome, value in zip(self.outcomes, self.logs.tolist(), strict=True)}
        return np.array([logs.get(each.tobytes(), 0.0) for each in own])[places.reshape(-1)]

    def words(self, threshold: float) -> str:
        inside = self.outcomes[self.logs >= threshold]
        shown = " or ".join("(" + ", ".join(f"{value:,.6g}" for value in each) + ")" for each in inside[:SHOWN])
        more = f", or one of {len(inside) - SHOWN:,} others" if len(inside) > SHOWN else ""
        return f"({', '.join(self.names)}) is {shown}{more}" if len(inside) else "an outcome that no trial had"


@dataclass(frozen=True)
class LikelihoodScore:
    """How much nearer an output is to the median output of the first table than to that of the second.

    Distances of components are in units of their mean deviation and are added up: for Laplace noise the logarithm of the
    likelihood ratio, up to what the medians miss. Where the medians are the same the means are taken. Components that do not
    vary count as one unit.
    """

    middles: tuple[Floats, Floats]
    unit: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats) -> LikelihoodScore:
        medians = [np.median(outputs, axis=0) for outputs in (first, second)]
        same = medians[0] == medians[1]
        middles = [
            np.where(same, outputs.mean(axis=0), median)
            for outputs, median in zip((first, second), medians, strict=True)
        ]
        spread = (
            sum(np.abs(outputs - middle).mean(axis=0) for outputs, middle in zip((first, second), middles, strict=True))
            / 2
        )
        return cls((middles[0], middles[1]), np.where(spread > 0, spread, 1.0))

    def __call__(self, outputs: Floats) -> Floats:
        near, far = (np.abs((outputs - middle) / self.unit).sum(axis=1) for middle in self.middles)
        return np.asarray(far - near)

    def words(self, threshold: float) -> str:
        return (
            f"the output is nearer to the median of the first table's trials than to that of the second's by "
            f"at least {threshold:,.4g} mean deviations, all components together"
        )


@dataclass(frozen=True)
class DirectionScore:
    """The output along the line between the means of both tables: for Gaussian noise the logarithm of the likelihood ratio."""

    weights: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats) -> DirectionScore:
        variance = (first.var(axis=0) + second.var(axis=0)) / 2
        return cls((first.mean(axis=0) - second.mean(axis=0)) / np.where(variance > 0, variance, 1.0))

    def __call__(self, outputs: Floats) -> Floats:
        return np.asarray(outputs @ self.weights)

    def words(self, threshold: float) -> str:
        return (
            "the sum of the output's components, each weighed by how far the means of the trials are apart, is "
            f"at least {threshold:,.4g}"
        )


@dataclass(frozen=True)
class AuditEvent:
    """Outputs whose score is at least a threshold."""

    score: Score
    threshold: float

    def hits(self, outputs: Floats) -> int:
        """How many outputs are in the event."""
        return int(np.count_nonzero(self.score(outputs) >= self.threshold))

    def words(self) -> str:
        """Which outputs are in the event."""
        own = getattr(self.score, "words", None)
        if own is not None:
            return str(own(self.threshold))
        return f"the score that was given is at least {self.threshold:,.6g}"


@dataclass(frozen=True)
class EventChoice:
    """An event that was chosen on trial runs, and what it would show if its frequencies came again."""

    event: AuditEvent
    swapped: bool
    """Whether it is likelier on the second table."""
    expected: float
    """A cautious guess at the bound on epsilon that counting it will give."""


def learn_scores(first: Floats, second: Floats, names: Sequence[str]) -> list[WordedScore]:
    """The scores that are tried: single components, nearness, direction, and the very outcomes where they recur."""
    found: list[WordedScore] = [ComponentScore(place, name) for place, name in enumerate(names[:MOST_COMPONENTS])]
    if len(names) > 1:
        found += [LikelihoodScore.of(first, second), DirectionScore.of(first, second)]
    frequency = FrequencyScore.of(first, second, names)
    if 5 * len(frequency.logs) <= len(first) + len(second):
        found.append(frequency)
    return found


def choose_event(
    first: Floats, second: Floats, runs: int, delta: Fraction, alpha: float, scores: Sequence[Score]
) -> EventChoice:
    """Choose the score and the threshold that promise the best bound on epsilon.

    What they promise is the bound that their frequencies would give if they came again in so many runs, or the one that the
    trials by themselves support, whichever is less; where nothing is supported, the first decides.
    """
    best: EventChoice | None = None
    for score in scores:
        found = _best_threshold(first, second, runs, delta, alpha, score)
        if best is None or found.expected > best.expected * MARGIN:
            best = found
    if best is None:
        raise ValueError("no score was given")  # pragma: no cover - `learn_scores` gives one for each component
    return best


def _best_threshold(
    first: Floats, second: Floats, runs: int, delta: Fraction, alpha: float, score: Score
) -> EventChoice:
    sorted_scores = [np.sort(score(outputs)) for outputs in (first, second)]
    thresholds = np.unique(np.concatenate(sorted_scores))
    if len(thresholds) > MOST_THRESHOLDS:
        thresholds = thresholds[np.linspace(0, len(thresholds) - 1, MOST_THRESHOLDS).round().astype(np.int64)]
    # Half a hit more and half a miss: frequencies of 0 and 1 in few trials are no certainties.
    trials = len(sorted_scores[0])
    above = [trials - np.searchsorted(each, thresholds) for each in sorted_scores]
    likely = [np.rint(runs * (each + 0.5) / (trials + 1)).astype(np.int64) for each in above]
    choices = []
    for swapped in (False, True):
        more, less = (1, 0) if swapped else (0, 1)
        again = epsilons_at_least(likely[more], likely[less], runs, delta, alpha)
        supported = epsilons_at_least(above[more], above[less], trials, delta, DOUBT)
        reached = np.minimum(again, supported) + HOPE * again
        place = int(np.argmax(reached))
        choices.append(EventChoice(AuditEvent(score, float(thresholds[place])), swapped, float(reached[place])))
    return max(choices, key=lambda choice: choice.expected)
