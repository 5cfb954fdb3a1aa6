"""Laplace noise on a grid, the discrete Laplace distribution, which gives up nothing to rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.source import Source
from shoal.errors import PreconditionError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.rounding import Number
from shoal.mechanism.base import Sensitivity, Target, check_grid, check_scale, target_epsilon
from shoal.mechanism.noise import AdditiveNoise, Floats


@dataclass(frozen=True)
class Laplace(AdditiveNoise):
    """Independent discrete Laplace noise in each component, Pr[x steps] ∝ exp(−|x| g / scale), scaled to the L1 sensitivity.

    Promise   PureDP by theorem `laplace-grid`.
    Requires  a sensitivity and a grid that were declared without the data; it uses the L1 sensitivity on the grid.
    Reads     the answer that it is given, and no table.

    On the grid 1 it is the geometric mechanism for counts (Ghosh, Roughgarden and Sundararajan 2009).

    >>> from shoal.guarantee.unit import Unit
    >>> count = Sensitivity(1, Unit.row("add_remove"), multiples_of=1)
    >>> Laplace.for_target(PureDP("0.5"), sensitivity=count, grid=1).scale
    Fraction(2, 1)
    """

    scale: Fraction
    theorem: ClassVar[str] = "laplace-grid"

    def __post_init__(self) -> None:
        own = self.target.own
        if own is None or own[1] or self.scale * own[0] < self.sensitivity.l1_on(self.grid):
            raise PreconditionError(self.theorem, "the scale is below the sensitivity on the grid over epsilon")
        for step in set(self.grid):
            check_scale(self.scale / step)

    @classmethod
    def for_target(cls, target: Target, *, sensitivity: Sensitivity, grid: Number | Sequence[Number]) -> Self:
        epsilon = target_epsilon(target)
        steps = check_grid(grid, sensitivity.components)
        return cls(sensitivity, steps, PureDP(epsilon), sensitivity.l1_on(steps) / epsilon)

    def noise(self, source: Source, size: int) -> NDArray[np.int64]:
        if len(self.grid) == 1:
            return source.discrete_laplace(self.scale / self.grid[0], size * self.components).reshape(size, -1)
        columns = [source.discrete_laplace(self.scale / step, size) for step in self.grid]
        return np.stack(columns, axis=1)

    def pmf(self, offsets: ArrayLike) -> Floats:
        rate = self._rates()
        log = np.log(np.tanh(rate / 2)) - np.abs(self._offsets(offsets)) * rate
        return np.asarray(np.exp(log.sum(axis=-1)))

    @property
    def variance(self) -> Floats:
        return self._spread([self._grid_variance(step) for step in self.grid])

    @property
    def expected_error(self) -> Floats:
        """E|x| = 2 q / (1 − q²) = 1 / sinh(rate) steps."""
        return self._spread(self._grid_floats() / np.sinh(self._rates()))

    def tail_steps(self, confidence: float) -> NDArray[np.int64]:
        """Pr[|x| > t] = 2 q^(t + 1) / (1 + q)."""
        rate = self._rates()
        wanted = np.log((1 - confidence) * (1 + np.exp(-rate)) / 2) / -rate
        steps = np.maximum(0, np.ceil(wanted * (1 - 1e-12) - 1)).astype(np.int64)
        return np.broadcast_to(steps, (self.components,))

    def _rates(self) -> Floats:
        """1 / scale in steps, one for each component or one for all."""
        return np.array([float(step / self.scale) for step in self.grid])

    def _grid_variance(self, step: Fraction) -> float:
        """2 q / (1 − q)² steps², with q = exp(−rate)."""
        rate = float(step / self.scale)
        return float(step) ** 2 * 2 * exp(-rate) / expm1(-rate) ** 2
