"""Additive noise on a grid: independent of the answer, with a distribution that is known exactly."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.source import Source
from shoal.errors import UsageError
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import Number
from shoal.mechanism.base import (
    Mechanism,
    Sensitivity,
    Target,
    broadcast,
    check_confidence,
    check_multiples,
    to_steps,
    to_values,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AdditiveNoise(Mechanism):
    """Additive noise: the answer is rounded to the grid, and noise in whole steps of the grid is added.

    Promise   the guarantee that it was calibrated for; each subclass names its theorem.
    Requires  a sensitivity and a grid that are declared before any answer is known.
    Reads     the answer that it is given, and no table.

    `grid` has one step for all components, or one for each. Figures are in the units of the answer, one for each
    component, and describe the noise on the grid; rounding the answer itself changes it by up to half a step more.
    """

    sensitivity: Sensitivity
    grid: tuple[Fraction, ...]
    target: DifferentialPrivacy

    @classmethod
    @abstractmethod
    def for_target(cls, target: Target, *, sensitivity: Sensitivity, grid: Number | Sequence[Number]) -> Self:
        """The noise that satisfies the target guarantee for this sensitivity on this grid."""

    @property
    def guarantee(self) -> DifferentialPrivacy:
        return self.target

    @property
    def components(self) -> int:
        """How many numbers an answer has."""
        return self.sensitivity.components

    @abstractmethod
    def noise(self, source: Source, size: int) -> NDArray[np.int64]:
        """`size` independent draws of the noise alone, in steps: one row each, one column for each component."""

    @abstractmethod
    def pmf(self, offsets: ArrayLike) -> Floats:
        """The probability of each offset in steps; the last axis runs over the components."""

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """The variance of the noise in each component."""

    @property
    @abstractmethod
    def expected_error(self) -> Floats:
        """The mean of the absolute noise in each component."""

    @abstractmethod
    def tail_steps(self, confidence: float) -> NDArray[np.int64]:
        """For each component the least t such that the noise lies in −t … t with this probability or more."""

    def draw(self, values: ArrayLike, source: Source) -> NDArray[Any]:
        """The answer rounded to the grid, plus noise: exact multiples of the grid, as whole numbers or fractions."""
        return to_values(self.draw_steps(values, source), self.grid)

    def draw_steps(self, values: ArrayLike, source: Source) -> NDArray[Any]:
        """The answer rounded to the grid, plus noise, in whole steps of the grid."""
        if self.sensitivity.multiples_of is not None:
            check_multiples(values, self.sensitivity.multiples_of)
        rounded = to_steps(values, self.grid, self.components)
        return np.asarray(rounded + self.noise(source, 1)[0])

    def interval(self, confidence: Number) -> Floats:
        """Low and high end of the noise at this confidence, a row for each component, each by itself."""
        half = self.tail_steps(check_confidence(confidence)) * self._grid_floats()
        return np.stack([-half, half], axis=1)

    def _grid_floats(self) -> Floats:
        return np.array([float(step) for step in broadcast(self.grid, 1 if len(self.grid) == 1 else self.components)])

    def _spread(self, values: Sequence[float] | Floats) -> Floats:
        """One for each component from one for all."""
        return np.broadcast_to(np.asarray(values, dtype=np.float64), (self.components,))

    def _offsets(self, offsets: ArrayLike) -> NDArray[np.int64]:
        steps = np.asarray(offsets, dtype=np.int64)
        if steps.ndim == 0 or steps.shape[-1] != self.components:
            raise UsageError(
                "offsets of another shape", came=f"shape {steps.shape}", allowed=f"a last axis of {self.components}"
            )
        return steps
