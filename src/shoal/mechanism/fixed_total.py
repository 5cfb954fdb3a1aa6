"""Laplace noise on one of two sums whose total is the same for all neighbours, and the opposite noise on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.source import Source
from shoal.errors import PreconditionError
from shoal.guarantee.rounding import Number
from shoal.mechanism.base import Sensitivity, Target, check_grid
from shoal.mechanism.laplace import Laplace
from shoal.mechanism.noise import AdditiveNoise, Floats


@dataclass(frozen=True)
class FixedTotalNoise(AdditiveNoise):
    """Noise that leaves the total of two components as it is: x on the first and -x on the second, x discrete Laplace noise.

    Promise   PureDP by theorem `laplace-grid` for the first component; the second is the total less the first, and no neighbour
              has another total.
    Requires  two components with one sensitivity and one grid, whose total is the same for all neighbours: one row is replaced,
              and every row takes part.
    Reads     the answer that it is given, and no table.

    >>> from shoal.guarantee.differential import PureDP
    >>> from shoal.guarantee.unit import Unit
    >>> both = Sensitivity(1, Unit.row("replace_one"), components=2, multiples_of=1)
    >>> FixedTotalNoise.for_target(PureDP("0.5"), sensitivity=both, grid=1).inner.scale
    Fraction(2, 1)
    """

    inner: Laplace
    """The noise of the first component."""
    theorem: ClassVar[str] = "laplace-grid"

    def __post_init__(self) -> None:
        unit = self.sensitivity.unit
        if unit.neighbours != "replace_one" or unit.whose != "row":
            raise PreconditionError(
                "answer-sensitivity",
                "only where one row is replaced have all neighbours the same number of rows",
                came=f"{unit.whose}, {unit.neighbours}",
                allowed="row, replace_one",
            )
        if self.components != 2 or len(set(self.sensitivity.linf)) != 1 or len(set(self.grid)) != 1:
            raise PreconditionError(
                "answer-sensitivity", "a fixed total is that of two sums of one sensitivity and grid"
            )

    @classmethod
    def for_target(cls, target: Target, *, sensitivity: Sensitivity, grid: Number | Sequence[Number]) -> Self:
        steps = check_grid(grid, sensitivity.components)
        multiples = sensitivity.multiples_of
        one = Sensitivity(
            max(sensitivity.linf), sensitivity.unit, multiples_of=None if multiples is None else multiples[0]
        )
        inner = Laplace.for_target(target, sensitivity=one, grid=steps[0])
        return cls(sensitivity, steps, inner.target, inner)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of each component."""
        return self.inner.scale

    def noise(self, source: Source, size: int) -> NDArray[np.int64]:
        drawn = self.inner.noise(source, size)
        return np.concatenate([drawn, -drawn], axis=1)

    def pmf(self, offsets: ArrayLike) -> Floats:
        steps = self._offsets(offsets)
        return np.where(steps.sum(axis=-1) == 0, self.inner.pmf(steps[..., :1]), 0.0)

    @property
    def variance(self) -> Floats:
        return self._spread(self.inner.variance)

    @property
    def expected_error(self) -> Floats:
        return self._spread(self.inner.expected_error)

    def tail_steps(self, confidence: float) -> NDArray[np.int64]:
        """Both components are off by the same amount, so that they are within their tails together."""
        return np.broadcast_to(self.inner.tail_steps(confidence), (self.components,))
