"""Optimal data-independent noise: the staircase mechanism on a grid, in one dimension or in a box, and `OptimalNoise`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.source import Source
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.rounding import Number, exact, whole
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import (
    Sensitivity,
    Target,
    check_confidence,
    declared,
    per_component,
    positive,
    target_epsilon,
    widened,
)
from shoal.mechanism.noise import AdditiveNoise, Floats
from shoal.mechanism.staircase.distribution import LARGEST_DIMENSION, BoxLaw, Interval, LatticeLaw
from shoal.mechanism.staircase.inner import CONFIDENCE, Criterion, best_inner


@dataclass(frozen=True)
class Staircase(AdditiveNoise):
    """Pr[x] ∝ e^(−i epsilon) on the i-th shell of lattice boxes with half-sides z, z + s, z + 2 s, … steps.

    Promise   PureDP by theorem `staircase-box`; in one dimension it is `staircase`.
    Requires  half-sides of the sensitivity in whole steps, z ≤ s in whole steps; up to 1,024 components.

    One Unit may move every component by its half-side at once. Where it moves few of them (a histogram), Laplace
    noise is smaller.
    """

    law: LatticeLaw
    theorem: ClassVar[str] = "staircase-box"

    def __post_init__(self) -> None:
        needed = self.sensitivity.steps(widened(self.grid, self.components))
        if len(needed) != len(self.law.sides) or any(s < n for s, n in zip(self.law.sides, needed, strict=True)):
            raise PreconditionError("staircase-box", "the steps are shorter than the sensitivity on the grid")
        if self.promised.own != (self.law.epsilon, Fraction(0)):
            raise PreconditionError("staircase-box", "the law has another epsilon than the promise")

    @classmethod
    def for_target(
        cls,
        target: Target,
        *,
        sensitivity: Sensitivity,
        grid: Number | Sequence[Number],
        criterion: Criterion = "min_variance",
        confidence: Number = CONFIDENCE,
        weights: Sequence[Number] | None = None,
        inner: Number | Sequence[Number] | None = None,
    ) -> Self:
        """The noise that keeps the target; `inner` in the units of the answer, or chosen by the criterion.

        The inner box on the grid holds the grid's points inside the given one.
        """
        epsilon = target_epsilon(target)
        steps = declared(grid, sensitivity.components)
        law = lattice_law(
            epsilon, widened(sensitivity.half_sides, sensitivity.components), widened(steps, sensitivity.components),
            criterion=criterion, confidence=confidence, weights=weights, inner=inner,
        )  # fmt: skip
        return cls(sensitivity, steps, PureDP(epsilon), law)

    def noise(self, source: Source, size: int) -> NDArray[np.int64]:
        return self.law.draw(source, size)

    def pmf(self, offsets: ArrayLike) -> Floats:
        return self.law.pmf(self._offsets(offsets))

    @property
    def variance(self) -> Floats:
        return self._spread(self.law.variance * self._grid_floats() ** 2)

    @property
    def expected_error(self) -> Floats:
        return self._spread(self.law.expected_error * self._grid_floats())

    def tail_steps(self, confidence: float) -> NDArray[np.int64]:
        return self.law.tails(confidence)


def lattice_law(
    epsilon: Fraction,
    half_sides: tuple[Fraction, ...],
    grid: tuple[Fraction, ...],
    *,
    criterion: Criterion = "min_variance",
    confidence: Number = CONFIDENCE,
    weights: Sequence[Number] | None = None,
    inner: Number | Sequence[Number] | None = None,
) -> LatticeLaw:
    """The law in steps of the grid: sides rounded up, the inner box down."""
    if len(half_sides) > LARGEST_DIMENSION:
        raise ParameterError("too many components", came=len(half_sides), allowed=f"at most {LARGEST_DIMENSION}")
    sides = tuple(-floor(-side / step) for side, step in zip(half_sides, grid, strict=True))
    if inner is None:
        box: Sequence[float | Fraction] = best_inner(
            epsilon, tuple(side * step for side, step in zip(sides, grid, strict=True)), criterion,
            confidence=exact(confidence, "a confidence"),
            weights=None if weights is None else per_component(weights, "a weight"),
        )  # fmt: skip
    else:
        box = declared_inner(inner, half_sides)
    whole = (min(side, floor(Fraction(z) / step)) for z, step, side in zip(box, grid, sides, strict=True))
    return LatticeLaw(epsilon, sides, tuple(whole))


def declared_inner(inner: Number | Sequence[Number], half_sides: tuple[Fraction, ...]) -> list[Fraction]:
    """An inner box that a person chose, one half-side for each component; refused where it leaves the sensitivity's."""
    many: Any = inner if isinstance(inner, Sequence | np.ndarray) and not isinstance(inner, str) else (inner,)
    real = [exact(z, "the inner box") for z in many]
    real = real * len(half_sides) if len(real) == 1 else real
    if len(real) != len(half_sides):
        raise ParameterError("the inner box has another dimension", came=len(real), allowed=str(len(half_sides)))
    for z, side in zip(real, half_sides, strict=True):
        if not 0 <= z <= side:
            raise PreconditionError(
                "staircase" if len(real) == 1 else "staircase-box",
                "the inner box is not inside the box of the sensitivity",
                came=float(z),
                allowed=f"0 to {float(side):g}",
            )
    return real


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
