"""Staircase noise on a grid, in one dimension or in a box: the optimal noise as a mechanism."""

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
from shoal.guarantee.rounding import Number, exact
from shoal.mechanism.base import Sensitivity, Target, per_component, target_epsilon, widened
from shoal.mechanism.grid import declared
from shoal.mechanism.noise import AdditiveNoise, Floats
from shoal.mechanism.staircase.inner import CONFIDENCE, Criterion, best_inner
from shoal.mechanism.staircase.lattice import LatticeLaw
from shoal.mechanism.staircase.shells import LARGEST_DIMENSION


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
