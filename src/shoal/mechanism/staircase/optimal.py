"""Optimal data-independent noise as one value: the figures of its continuous law, and draws on a grid (SC13 chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.source import Source
from shoal.guarantee.differential import PureDP
from shoal.guarantee.rounding import Number, exact, whole
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity, check_confidence, per_component, positive, widened
from shoal.mechanism.grid import declared
from shoal.mechanism.staircase.box import BoxLaw, Interval
from shoal.mechanism.staircase.inner import CONFIDENCE, Criterion, best_inner
from shoal.mechanism.staircase.lattice import LatticeLaw
from shoal.mechanism.staircase.mechanism import Staircase, declared_inner, lattice_law

Floats = NDArray[np.float64]
STEPS = 1024
"""Steps of the grid to one sensitivity, without a word."""


class OptimalNoise:
    """The staircase noise with the least of what the criterion names, for one answer or for several at once.

    `sensitivity` is a number, or one for each component: how far one unit moves it. `criterion` is min_variance or
    min_interval (in several dimensions total_variance, worst_component or region_volume), or `inner` gives the inner
    half-sides outright (d, or z). `variance`, `expected_error`, `density`, `cdf`, `interval` and `region` are those of
    the continuous law, not of what is drawn; with a plain number they are plain numbers.

    What is drawn lives on `grid` (a 1024th of the sensitivity, if none is declared) with the law `lattice`, whose
    `pmf` is exact; `drawn_interval` is of that law. `sample` gives noise for study. To answer a question take
    `mechanism(unit)`, which rounds the answer to the same grid: noise on a grid added to an answer off it would hide
    nothing.
    """

    def __init__(
        self,
        epsilon: Number,
        sensitivity: Number | Sequence[Number],
        criterion: Criterion = "min_variance",
        *,
        confidence: Number = CONFIDENCE,
        weights: Sequence[Number] | None = None,
        inner: Number | Sequence[Number] | None = None,
        grid: Number | Sequence[Number] | None = None,
    ) -> None:
        self.epsilon = positive(PureDP(epsilon).epsilon, "epsilon")
        self.sensitivity = per_component(sensitivity, "a sensitivity")
        self.criterion = criterion
        self._plain = not isinstance(sensitivity, Sequence | np.ndarray) or isinstance(sensitivity, str)
        steps: Any = [side / STEPS for side in self.sensitivity] if grid is None else grid
        self.grid = declared(steps, len(self.sensitivity))
        share = exact(confidence, "a confidence")
        heavy = None if weights is None else per_component(weights, "a weight")
        box = (
            best_inner(self.epsilon, self.sensitivity, criterion, confidence=share, weights=heavy)
            if inner is None
            else declared_inner(inner, self.sensitivity)
        )
        self._inner: Sequence[float | Fraction] = box
        self.law = BoxLaw(
            float(self.epsilon), tuple(float(side) for side in self.sensitivity), tuple(float(z) for z in box)
        )
        wide = widened(self.grid, len(self.sensitivity))
        self.lattice: LatticeLaw = lattice_law(
            self.epsilon, self.sensitivity, wide, criterion=criterion, confidence=share, weights=weights, inner=inner
        )

    @property
    def inner(self) -> float | Floats:
        """Half-sides of the inner box: d in one dimension, z in several."""
        return self._figure(np.array(self.law.inner))

    @property
    def variance(self) -> float | Floats:
        """The variance of each component."""
        return self._figure(self.law.variance)

    @property
    def expected_error(self) -> float | Floats:
        """The mean absolute noise of each component."""
        return self._figure(self.law.expected_error)

    def density(self, points: ArrayLike) -> Floats:
        """The density at each point."""
        return self.law.density(points)

    def cdf(self, value: float, component: int = 0) -> float:
        """The probability that a component is at most a value."""
        return self.law.cdf(value, component)

    def interval(self, confidence: Number = CONFIDENCE) -> Interval | tuple[Interval, ...]:
        """The shortest interval of each component by the continuous law, each by itself; see `drawn_interval` for draws."""
        share = float(exact(confidence, "a confidence"))
        found = tuple(self.law.interval(share, j) for j in range(len(self.sensitivity)))
        return found[0] if self._plain else found

    def drawn_interval(self, confidence: Number = CONFIDENCE) -> Interval | tuple[Interval, ...]:
        """The shortest symmetric interval that holds what is drawn on the grid with this probability or more, each by itself."""
        steps = self.lattice.tails(check_confidence(confidence)).tolist()
        wide = widened(self.grid, len(self.sensitivity))
        found = tuple(Interval(-float(t * step), float(t * step)) for t, step in zip(steps, wide, strict=True))
        return found[0] if self._plain else found

    def region(self, confidence: Number = CONFIDENCE) -> Floats:
        """Half-sides of a smallest box that holds all components at once."""
        return self.law.region(float(exact(confidence, "a confidence")))

    def region_volume(self, confidence: Number = CONFIDENCE) -> float:
        """Its volume."""
        return self.law.region_volume(float(exact(confidence, "a confidence")))

    def sample(self, size: int = 1, source: Source | None = None) -> Floats:
        """Noise alone, on the grid, as floats: `size` numbers, or `size` rows of one number for each component."""
        drawn = self.lattice.draw(Source.secure() if source is None else source, whole(size, "the number of draws", 0))
        steps = np.array([float(step) for step in self.grid])
        return np.asarray((drawn * steps)[:, 0] if self._plain else drawn * steps)

    def mechanism(self, unit: Unit) -> Staircase:
        """The mechanism that answers questions with this noise, with its guarantee for the unit."""
        return Staircase(Sensitivity(self.sensitivity, unit), self.grid, PureDP(self.epsilon), self.lattice)

    def _figure(self, values: Floats) -> float | Floats:
        return float(values[0]) if self._plain else values

    def __repr__(self) -> str:
        sides = ", ".join(f"{side:g}" for side in self.law.half_sides)
        return f"OptimalNoise(epsilon={self.law.epsilon:g}, sensitivity=({sides}), inner={self.law.inner})"
