"""Mechanisms of noise, choice and refinement as an audit runs them: on tables of zeros and ones, of which they answer a count.

A table is a tuple of numbers, one for each record. `share` below 1 is an impostor: noise for a sensitivity that is smaller than
the real one by this factor, so that there is too little of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.chance.source import Source
from shoal.errors import UsageError
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.exponential import Exponential
from shoal.mechanism.gaussian import Gaussian
from shoal.mechanism.laplace import Laplace
from shoal.mechanism.noise import AdditiveNoise
from shoal.mechanism.refinement.factors import RefinementCurve, inverse_growth
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.refinement.response import RefinedDistribution
from shoal.mechanism.staircase.mechanism import Staircase

Floats = npt.NDArray[np.float64]
Numbers = tuple[int, ...]
TENTH = Fraction(1, 10)
GRID = TENTH
ROW = Unit.row("add_remove")
KINDS: dict[str, type[AdditiveNoise]] = {"laplace": Laplace, "gaussian": Gaussian, "staircase": Staircase}


@lru_cache
def _noise(kind: str, epsilon: Fraction, delta: Fraction, share: Fraction) -> AdditiveNoise:
    target = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    return KINDS[kind].for_target(target, sensitivity=Sensitivity(share, ROW), grid=GRID)


@dataclass(frozen=True)
class AuditedSum:
    """The sum of a table with noise of one kind, in tenths: whole numbers, because the last digits of other sums would tell."""

    kind: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    share: Fraction = Fraction(1)

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        made = _noise(self.kind, self.epsilon, self.delta, self.share)
        with source.stream("noise") as chance:
            return float(sum(data) / GRID) + np.asarray(made.noise(chance, runs), dtype=np.float64)


@dataclass(frozen=True)
class RepeatingNoise:
    """The sum of a table with Laplace noise whose generator has one seed for ever: every run draws the same noise."""

    epsilon: Fraction

    def __call__(self, data: Numbers, _: Source, runs: int) -> Floats:
        made = _noise("laplace", self.epsilon, Fraction(0), Fraction(1))
        drawn = []
        for _run in range(runs):
            with Source.seeded("a key in the code") as same:
                drawn.append(float(sum(data) / GRID) + float(made.noise(same, 1)[0, 0]))
        return np.array(drawn)[:, None]


@dataclass(frozen=True)
class MostCommonValue:
    """The most common of the numbers 0, 1, …, by the exponential mechanism on their counts."""

    epsilon: Fraction
    values: int = 2
    share: Fraction = Fraction(1)
    monotone: bool = True

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        sensitivity = Sensitivity(self.share, ROW, multiples_of=GRID)
        made = Exponential.for_target(PureDP(self.epsilon), sensitivity=sensitivity, grid=GRID, monotone=self.monotone)
        counts = [sum(value == each for value in data) for each in range(self.values)]
        with source.stream("choice") as chance:
            return made.draws(counts, chance, runs).astype(np.float64)[:, None]


PRIOR = dict.fromkeys(range(10), TENTH)


@dataclass(frozen=True)
class RefinedAnswer:
    """Knowledge refinement of an even prior about one person's number from 0 to 9; an empty table has no such person.

    Of delta a share of e^−epsilon is moved from the farthest numbers to the true one (theorem `knowledge-refinement-delta`); with
    `moves_all` all of it, as in the thesis (erratum 4).
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    moves_all: bool = False

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        with source.stream("answers") as chance:
            drawn = self._distribution(data[0] if data else None).sample(chance, runs)
        return np.asarray(drawn, dtype=np.float64)[:, None]

    def _distribution(self, truth: int | None) -> RefinedDistribution:
        made = KnowledgeRefinement(PRIOR, self.epsilon, "individual", delta=self.delta)
        sound = made.distribution(truth)
        if not self.moves_all:
            return sound
        _, above = inverse_growth(self.epsilon)
        return RefinedDistribution(sound.prior, RefinementCurve(1 / above, above, self.delta), sound.order)


@dataclass(frozen=True)
class RefinedCount:
    """Knowledge refinement of a prior about how many ones a table of at most `most` records has: a statistical question."""

    epsilon: Fraction
    most: int = 4

    def __call__(self, data: Numbers, source: Source, runs: int) -> Floats:
        if len(data) > self.most:
            raise UsageError("more records than the prior knows of", came=len(data), allowed=f"{self.most} at most")
        prior: dict[Any, Any] = {number: Fraction(1, self.most + 1) for number in range(self.most + 1)}
        made = KnowledgeRefinement(prior, self.epsilon, "statistical")
        with source.stream("answers") as chance:
            return np.asarray(made.sample(sum(data), chance, runs), dtype=np.float64)[:, None]
