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
    broadcast,
    check_confidence,
    check_grid,
    per_component,
    positive,
    target_epsilon,
)
from shoal.mechanism.noise import AdditiveNoise, Floats
from shoal.mechanism.staircase.distribution import (
    LARGEST_DIMENSION,
    BoxDistribution,
    ConfidenceInterval,
    LatticeDistribution,
)
from shoal.mechanism.staircase.inner import CONFIDENCE, Criterion, best_inner


@dataclass(frozen=True)
class Staircase(AdditiveNoise):
    """Staircase noise: Pr[x] ∝ e^(−i epsilon) on the i-th shell of lattice boxes with half-sides z, z + s, z + 2 s, … steps.

    Promise   PureDP by theorem `staircase-box`; in one dimension it is `staircase`.
    Requires  the L∞ sensitivity s of each component and the inner box z ≤ s in whole steps; up to 1,024 components.
    Reads     the answer that it is given, and no table.

    One unit may change every component by its L∞ sensitivity at once. Where it changes few of them (a histogram: L0 of 1 or 2),
    Laplace noise is smaller.
    """

    distribution: LatticeDistribution
    theorem: ClassVar[str] = "staircase-box"

    def __post_init__(self) -> None:
        needed = self.sensitivity.linf_steps(broadcast(self.grid, self.components))
        if len(needed) != len(self.distribution.sides) or any(
            s < n for s, n in zip(self.distribution.sides, needed, strict=True)
        ):
            raise PreconditionError("staircase-box", "the boxes grow by less than the sensitivity on the grid")
        if self.target.own != (self.distribution.epsilon, Fraction(0)):
            raise PreconditionError("staircase-box", "the distribution has another epsilon than the guarantee")

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
        steps = check_grid(grid, sensitivity.components)
        distribution = lattice_distribution(
            epsilon, broadcast(sensitivity.linf, sensitivity.components), broadcast(steps, sensitivity.components),
            criterion=criterion, confidence=confidence, weights=weights, inner=inner,
        )  # fmt: skip
        return cls(sensitivity, steps, PureDP(epsilon), distribution)

    def noise(self, source: Source, size: int) -> NDArray[np.int64]:
        return self.distribution.draw(source, size)

    def pmf(self, offsets: ArrayLike) -> Floats:
        return self.distribution.pmf(self._offsets(offsets))

    @property
    def variance(self) -> Floats:
        return self._spread(self.distribution.variance * self._grid_floats() ** 2)

    @property
    def expected_error(self) -> Floats:
        return self._spread(self.distribution.expected_error * self._grid_floats())

    def tail_steps(self, confidence: float) -> NDArray[np.int64]:
        return self.distribution.tails(confidence)


def lattice_distribution(
    epsilon: Fraction,
    sensitivity: tuple[Fraction, ...],
    grid: tuple[Fraction, ...],
    *,
    criterion: Criterion = "min_variance",
    confidence: Number = CONFIDENCE,
    weights: Sequence[Number] | None = None,
    inner: Number | Sequence[Number] | None = None,
) -> LatticeDistribution:
    """The distribution in steps of the grid: the sensitivity rounded up, the inner box down."""
    if len(sensitivity) > LARGEST_DIMENSION:
        raise ParameterError("too many components", came=len(sensitivity), allowed=f"at most {LARGEST_DIMENSION}")
    sides = tuple(-floor(-side / step) for side, step in zip(sensitivity, grid, strict=True))
    if inner is None:
        box: Sequence[float | Fraction] = best_inner(
            epsilon, tuple(side * step for side, step in zip(sides, grid, strict=True)), criterion,
            confidence=exact(confidence, "a confidence"),
            weights=None if weights is None else per_component(weights, "a weight"),
        )  # fmt: skip
    else:
        box = check_inner(inner, sensitivity)
    whole = (min(side, floor(Fraction(z) / step)) for z, step, side in zip(box, grid, sides, strict=True))
    return LatticeDistribution(epsilon, sides, tuple(whole))


def check_inner(inner: Number | Sequence[Number], sensitivity: tuple[Fraction, ...]) -> list[Fraction]:
    """An inner box that a person chose, one half-side for each component; refused where it is larger than the sensitivity."""
    many: Any = inner if isinstance(inner, Sequence | np.ndarray) and not isinstance(inner, str) else (inner,)
    real = [exact(z, "the inner box") for z in many]
    real = real * len(sensitivity) if len(real) == 1 else real
    if len(real) != len(sensitivity):
        raise ParameterError("the inner box has another dimension", came=len(real), allowed=str(len(sensitivity)))
    for z, side in zip(real, sensitivity, strict=True):
        if not 0 <= z <= side:
            raise PreconditionError(
                "staircase" if len(real) == 1 else "staircase-box",
                "the inner box is not inside the box of the sensitivity",
                came=float(z),
                allowed=f"0 to {float(side):g}",
            )
    return real


STEPS = 1024
"""Steps of the grid to one sensitivity, if no grid is given."""


class OptimalNoise:
    """Optimal data-independent noise of the staircase kind, for one answer or for several at once: no other noise is closer to
    zero everywhere, and of all such noise this has the least of what the criterion names.

    Promise    PureDP for what `mechanism(unit)` answers, by theorem `staircase`, in several dimensions `staircase-box`.
    Requires   sensitivity, criterion and grid fixed without the data.
    Reads      nothing: it is noise; `mechanism(unit)` adds it to an answer that it is given.
    Arguments  epsilon: the pure epsilon, above 0.
               sensitivity: the L∞ sensitivity, one number, or one for each component.
               criterion: min_variance or min_interval; in several dimensions total_variance, worst_component or region_volume.
               confidence: the level of intervals and regions, 0.95 if not given.
               weights: of the components, for total_variance and worst_component.
               inner: half-sides of the inner box (d in one dimension, z in several) instead of a criterion.
               grid: the step of what is drawn; a 1024th of the sensitivity if not given.
    Raises     ParameterError where a number is out of range or the dimensions differ; UsageError for an unknown criterion;
               PreconditionError where the inner box is larger than the sensitivity.

    `variance`, `expected_error`, `density`, `cdf`, `interval` and `region` are those of the continuous distribution;
    with a plain number as sensitivity they are plain numbers. What is drawn lies on the grid and has the distribution
    `lattice`, whose `pmf` is exact, and `drawn_interval` is its interval. `sample` gives noise for study. To answer a
    question take `mechanism(unit)`, which rounds the answer to the same grid: noise on a grid added to an answer off
    it would hide nothing.

    >>> noise = OptimalNoise(epsilon=2, sensitivity=1)
    >>> round(noise.variance, 4), round(noise.inner, 4)
    (0.4227, 0.3351)
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
        self.grid = check_grid(steps, len(self.sensitivity))
        share = exact(confidence, "a confidence")
        heavy = None if weights is None else per_component(weights, "a weight")
        box = (
            best_inner(self.epsilon, self.sensitivity, criterion, confidence=share, weights=heavy)
            if inner is None
            else check_inner(inner, self.sensitivity)
        )
        self._inner: Sequence[float | Fraction] = box
        self.distribution = BoxDistribution(
            float(self.epsilon), tuple(float(side) for side in self.sensitivity), tuple(float(z) for z in box)
        )
        wide = broadcast(self.grid, len(self.sensitivity))
        self.lattice: LatticeDistribution = lattice_distribution(
            self.epsilon, self.sensitivity, wide, criterion=criterion, confidence=share, weights=weights, inner=inner
        )

    @property
    def inner(self) -> float | Floats:
        """Half-sides of the inner box: d in one dimension, z in several."""
        return self._figure(np.array(self.distribution.inner))

    @property
    def variance(self) -> float | Floats:
        """The variance of each component."""
        return self._figure(self.distribution.variance)

    @property
    def expected_error(self) -> float | Floats:
        """The mean absolute noise of each component."""
        return self._figure(self.distribution.expected_error)

    def density(self, points: ArrayLike) -> Floats:
        """The density at each point."""
        return self.distribution.density(points)

    def cdf(self, value: float, component: int = 0) -> float:
        """The probability that a component is at most a value."""
        return self.distribution.cdf(value, component)

    def interval(self, confidence: Number = CONFIDENCE) -> ConfidenceInterval | tuple[ConfidenceInterval, ...]:
        """The shortest interval of each component by the continuous distribution, each by itself."""
        share = float(exact(confidence, "a confidence"))
        found = tuple(self.distribution.interval(share, j) for j in range(len(self.sensitivity)))
        return found[0] if self._plain else found

    def drawn_interval(self, confidence: Number = CONFIDENCE) -> ConfidenceInterval | tuple[ConfidenceInterval, ...]:
        """The shortest symmetric interval that holds what is drawn on the grid with this probability or more, each by itself."""
        steps = self.lattice.tails(check_confidence(confidence)).tolist()
        wide = broadcast(self.grid, len(self.sensitivity))
        found = tuple(
            ConfidenceInterval(-float(t * step), float(t * step)) for t, step in zip(steps, wide, strict=True)
        )
        return found[0] if self._plain else found

    def region(self, confidence: Number = CONFIDENCE) -> Floats:
        """Half-sides of a smallest box that holds all components at once."""
        return self.distribution.region(float(exact(confidence, "a confidence")))

    def region_volume(self, confidence: Number = CONFIDENCE) -> float:
        """The volume of the smallest region that holds all components at once."""
        return self.distribution.region_volume(float(exact(confidence, "a confidence")))

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
        sides = ", ".join(f"{side:g}" for side in self.distribution.sensitivity)
        return f"OptimalNoise(epsilon={self.distribution.epsilon:g}, sensitivity=({sides}), inner={self.distribution.inner})"
