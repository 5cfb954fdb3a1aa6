"""The mechanisms that the contract suite knows: each with its exact law, its neighbours, and impostors 30 % off.

A new mechanism is tested by adding a case to CASES. A case gives a finite list of outcomes (what is left over is one
more), the law of the outcomes, the laws of neighbours, and draws as places in that list.
"""

from __future__ import annotations

import copy
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.chance.source import Source
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Mechanism, Sensitivity
from shoal.mechanism.exponential import Exponential
from shoal.mechanism.gaussian import Gaussian
from shoal.mechanism.laplace import Laplace
from shoal.mechanism.noise import AdditiveNoise
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.staircase.distribution import LatticeDistribution
from shoal.mechanism.staircase.mechanism import Staircase

ROW = Unit.row("add_remove")
REPLACED = Unit.row("replace_one")
Law = np.ndarray


@dataclass(frozen=True)
class Case(ABC):
    """One mechanism under contract."""

    name: str
    mechanism: Mechanism
    draws: int = 50_000
    attained: bool = True
    """Whether some pair of neighbours reaches the target epsilon."""

    @abstractmethod
    def law(self) -> Law:
        """The probability of each listed outcome, for one answer."""

    @abstractmethod
    def impostor(self, factor: float) -> Law:
        """The law of the same mechanism with noise this many times as wide."""

    @abstractmethod
    def neighbours(self) -> Iterator[tuple[Law, Law]]:
        """Laws of pairs of neighbouring answers, over the same outcomes."""

    @abstractmethod
    def drawn(self, source: Source, size: int) -> np.ndarray:
        """Places of the outcomes drawn for that answer; −1 for one that is not listed."""

    @abstractmethod
    def answer(self, source: Source) -> Any:
        """One draw as a caller gets it."""


@dataclass(frozen=True)
class NoiseCase(Case):
    """Additive noise, looked at in a window of offsets."""

    mechanism: AdditiveNoise
    radius: tuple[int, ...] = (100,)

    def scaled(self, factor: float) -> Any:
        """The same noise with another scale, made behind the back of the checks."""
        noise = self.mechanism
        other = copy.copy(noise)
        if isinstance(noise, Staircase):
            law = LatticeDistribution(
                noise.distribution.epsilon / Fraction(str(factor)), noise.distribution.sides, noise.distribution.inner
            )
            object.__setattr__(other, "distribution", law)
        else:
            object.__setattr__(other, "scale", noise.scale * type(noise.scale)(str(factor)))
        return other

    def offsets(self) -> np.ndarray:
        axes = [np.arange(-r, r + 1) for r in self.radius]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

    def law(self):
        return self.mechanism.pmf(self.offsets())

    def impostor(self, factor):
        return self.scaled(factor).pmf(self.offsets())

    def moves(self) -> Iterator[tuple[int, ...]]:
        """Every move of the rounded answer that the sensitivity allows."""
        sensitivity, count = self.mechanism.sensitivity, self.mechanism.components
        grid = self.mechanism.grid * (count // len(self.mechanism.grid))
        for move in itertools.product(*(range(-step, step + 1) for step in sensitivity.linf_steps(grid))):
            total = sum(abs(v) * g for v, g in zip(move, grid, strict=True))
            if sum(map(bool, move)) <= sensitivity.l0 and total <= sensitivity.l1_on(grid):
                yield move

    def neighbours(self):
        base = self.law()
        for move in self.moves():
            yield base, self.mechanism.pmf(self.offsets() - np.array(move))

    def drawn(self, source, size):
        noise = self.mechanism.noise(source, size)
        radius = np.array(self.radius)
        places = np.ravel_multi_index(tuple((np.clip(noise, -radius, radius) + radius).T), 2 * radius + 1)
        return np.where((np.abs(noise) <= radius).all(axis=1), places, -1)

    def answer(self, source):
        value = Fraction(17, 7) if self.mechanism.sensitivity.multiples_of is None else 3
        return self.mechanism.draw([value] * self.mechanism.components, source)


@dataclass(frozen=True)
class ChoiceCase(Case):
    """A choice among a few scores."""

    mechanism: Exponential
    scores: tuple[int, ...] = (3, 0, 5, 5)

    def law(self):
        return self.mechanism.probabilities(self.scores)

    def impostor(self, factor):
        other = Exponential.for_target(
            PureDP(self.mechanism.epsilon / Fraction(str(factor))),
            sensitivity=self.mechanism.sensitivity,
            monotone=self.mechanism.monotone,
        )
        return other.probabilities(self.scores)

    def neighbours(self):
        step = self.mechanism.sensitivity.linf_steps(self.mechanism.grid)[0]
        moves = range(0 if self.mechanism.monotone else -step, step + 1)
        for move in itertools.product(moves, repeat=len(self.scores)):
            yield self.law(), self.mechanism.probabilities(np.add(self.scores, move))
        far = np.array([0, 60, 0, 0])  # a score far ahead of the others: the normalizing sum follows it alone
        yield (
            self.mechanism.probabilities(far),
            self.mechanism.probabilities(np.add(far, [moves[0], moves[-1], moves[0], moves[0]])),
        )

    def drawn(self, source, size):
        return self.mechanism.draws(self.scores, source, size)

    def answer(self, source):
        return self.mechanism.draw(self.scores, source)


@dataclass(frozen=True)
class RefinementCase(Case):
    """A refined prior over listed numbers: against the prior (one person) or against any other answer (many)."""

    mechanism: KnowledgeRefinement
    truth: int = 7

    def law(self):
        return self._law(self.mechanism, self.truth)

    def _law(self, mechanism: KnowledgeRefinement, truth: int | None) -> Law:
        return np.array([float(mass) for mass in mechanism.distribution(truth).masses.values()])

    def impostor(self, factor):
        own = self.mechanism
        other = KnowledgeRefinement(own.prior, own.epsilon / Fraction(str(factor)), own.kind, delta=own.delta)
        return self._law(other, self.truth)

    def neighbours(self):
        laws = [self._law(self.mechanism, truth) for truth in (*range(-1, 14), None)]
        others = laws if self.mechanism.kind == "statistical" else laws[-1:]
        return itertools.product(laws, others)

    def drawn(self, source, size):
        return self.mechanism.sample(self.truth, source, size)

    def answer(self, source):
        return self.mechanism.draw(self.truth, source)


def _laplace(epsilon, sensitivity, grid=1):
    return Laplace.for_target(PureDP(epsilon), sensitivity=sensitivity, grid=grid)


def _gaussian(epsilon, delta, sensitivity, grid=1):
    return Gaussian.for_target(ApproxDP(epsilon, delta), sensitivity=sensitivity, grid=grid)


def _staircase(epsilon, sensitivity, grid=1, **chosen):
    return Staircase.for_target(PureDP(epsilon), sensitivity=sensitivity, grid=grid, **chosen)


def _refinement(epsilon, kind, delta=0):
    return KnowledgeRefinement({value: Fraction(1 + value % 4, 30) for value in range(12)}, epsilon, kind, delta=delta)


def _choice(epsilon, monotone, unit=ROW):
    return Exponential.for_target(PureDP(epsilon), sensitivity=Sensitivity(2, unit), monotone=monotone)


CASES: list[Case] = [
    NoiseCase("laplace", _laplace("0.7", Sensitivity(3, ROW)), radius=(130,)),
    NoiseCase("laplace-fine", _laplace(2, Sensitivity(1, REPLACED), "0.3"), radius=(80,)),
    NoiseCase("laplace-two-grids", _laplace(2, Sensitivity(("0.5", 2), ROW), ("0.5", 1)), radius=(90, 50)),
    NoiseCase("laplace-cells", _laplace(3, Sensitivity.cells(3, ROW)), radius=(10, 10, 10)),
    NoiseCase("laplace-replaced", _laplace(6, Sensitivity.cells(3, REPLACED)), radius=(10, 10, 10)),
    NoiseCase("geometric", _laplace(1, Sensitivity(1, ROW)), radius=(40,)),
    NoiseCase("gaussian", _gaussian(1, "1e-3", Sensitivity(2, ROW)), radius=(60,), draws=10_000, attained=False),
    NoiseCase("gaussian-small", _gaussian(4, "1e-4", Sensitivity(1, ROW)), radius=(12,), draws=10_000, attained=False),
    NoiseCase(
        "gaussian-two", _gaussian(2, "1e-3", Sensitivity((1, 2), ROW)), radius=(24, 24), draws=10_000, attained=False
    ),
    NoiseCase("staircase", _staircase(1, Sensitivity(5, ROW)), radius=(160,)),
    NoiseCase("staircase-interval", _staircase(1, Sensitivity(4, ROW), criterion="min_interval"), radius=(130,)),
    NoiseCase("staircase-zero", _staircase(2, Sensitivity(1, ROW), "0.2", inner=0), radius=(90,)),
    NoiseCase("staircase-whole", _staircase(2, Sensitivity(1, ROW), "0.2", inner=1), radius=(90,)),
    NoiseCase("staircase-one-step", _staircase(1, Sensitivity(1, ROW)), radius=(40,)),
    NoiseCase("box", _staircase(2, Sensitivity((1, 3), ROW), inner=(0, 1)), radius=(18, 54)),
    NoiseCase("box-chosen", _staircase(3, Sensitivity((2, 3), ROW), criterion="region_volume"), radius=(26, 39)),
    NoiseCase("box-three", _staircase(4, Sensitivity((1, 1, 2), REPLACED)), radius=(10, 10, 20)),
    ChoiceCase("exponential", _choice(1, False)),
    ChoiceCase("exponential-replaced", _choice(1, False, REPLACED)),
    ChoiceCase("exponential-monotone", _choice(1, True)),
    RefinementCase("refinement", _refinement(1, "individual")),
    RefinementCase("refinement-many", _refinement(1, "statistical")),
    RefinementCase("refinement-delta", _refinement(1, "individual", "0.1"), attained=False),
    RefinementCase("refinement-many-delta", _refinement(1, "statistical", "0.1"), attained=False),
]
