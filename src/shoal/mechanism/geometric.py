"""Geometric noise for counts: Laplace noise on the whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from shoal.errors import PreconditionError
from shoal.guarantee.rounding import Number
from shoal.mechanism.base import Sensitivity, Target
from shoal.mechanism.laplace import Laplace


@dataclass(frozen=True)
class Geometric(Laplace):
    """Pr[x] ∝ exp(−epsilon |x| / sensitivity) on the whole numbers (Ghosh, Roughgarden and Sundararajan 2009).

    Promise   PureDP by theorem `laplace-grid`.
    Requires  the grid 1.
    """

    def __post_init__(self) -> None:
        if any(step != 1 for step in self.grid):
            raise PreconditionError(
                "laplace-grid", "the grid is not the whole numbers", came="another step", allowed="1"
            )
        super().__post_init__()

    @classmethod
    def for_target(cls, target: Target, *, sensitivity: Sensitivity, grid: Number | Sequence[Number] = 1) -> Self:
        return super().for_target(target, sensitivity=sensitivity, grid=grid)
