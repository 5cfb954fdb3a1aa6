"""The exponential mechanism: one of several options, the better its score the likelier, drawn exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.source import Source
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.differential import DifferentialPrivacy, PureDP
from shoal.guarantee.rounding import Number
from shoal.mechanism.base import Mechanism, Sensitivity, Target, check_grid, target_epsilon, to_steps


@dataclass(frozen=True)
class Exponential(Mechanism):
    """The exponential mechanism: option i with probability proportional to exp(epsilon · score_i / spread).

    Promise   PureDP by theorem `exponential-mechanism`.
    Requires  options fixed without the data, scores in whole steps, and their L∞ sensitivity as one number. The spread is
              twice the sensitivity, or once for a score that no added record lowers, which only add_remove neighbours allow.
    Reads     the scores that it is given, and no table.
    """

    sensitivity: Sensitivity
    grid: tuple[Fraction, ...]
    epsilon: Fraction
    monotone: bool
    theorem: ClassVar[str] = "exponential-mechanism"

    def __post_init__(self) -> None:
        if self.sensitivity.components != 1:
            raise ParameterError(
                "the exponential mechanism takes one sensitivity for all scores",
                came=self.sensitivity.components,
                allowed="1 component",
            )
        if self.monotone and self.sensitivity.unit.neighbours != "add_remove":
            raise PreconditionError(
                "exponential-mechanism",
                "replacing a record may raise one score and lower another, so the factor 2 stays",
                came=self.sensitivity.unit.neighbours,
                allowed="add_remove for a monotone score",
            )

    @classmethod
    def for_target(
        cls, target: Target, *, sensitivity: Sensitivity, grid: Number | Sequence[Number] = 1, monotone: bool = False
    ) -> Self:
        """The exponential mechanism that satisfies the target guarantee."""
        return cls(sensitivity, check_grid(grid, 1), target_epsilon(target), monotone)

    @property
    def guarantee(self) -> DifferentialPrivacy:
        return PureDP(self.epsilon)

    @property
    def spread(self) -> int:
        """The divisor of the scores, in steps: twice their sensitivity, or once for a monotone score."""
        return self.sensitivity.linf_steps(self.grid)[0] * (1 if self.monotone else 2)

    def draw(self, values: ArrayLike, source: Source) -> int:
        """The index of one option, from the scores of all."""
        return source.choose(self._weights(values))

    def draw_run(self, scores: NDArray[np.int64], sizes: Sequence[int], source: Source) -> tuple[int, int]:
        """One option where run i stands for `sizes[i]` options of one score: the run, and the number of the option in it.

        The scores are whole numbers on a grid of 1. How options fall into runs may depend on the rows: the law of the
        drawn option is that of `draw` from the list of all options.
        """
        if self.grid != (Fraction(1),):
            raise ParameterError("scores of runs are whole numbers", came=self.grid[0], allowed="a grid of 1")
        return source.choose_run_by_score(np.asarray(scores, dtype=np.int64), sizes, self.epsilon / self.spread)

    def draws(self, values: ArrayLike, source: Source, size: int) -> NDArray[np.int64]:
        """`size` independent choices, each of which costs the whole guarantee."""
        return source.choices(self._weights(values), size)

    def probabilities(self, values: ArrayLike) -> NDArray[np.float64]:
        """The probability of each option."""
        weights = self._weights(values)
        top = max(weights)
        shares = np.exp(np.array([float(weight - top) for weight in weights]))
        return np.asarray(shares / shares.sum())

    def expected_error(self, values: ArrayLike) -> float:
        """How far the score of the drawn option lies below the best, on average; for the custodian alone."""
        steps = to_steps(values, self.grid, np.size(values)).astype(np.float64)
        return float(self.probabilities(values) @ (steps.max() - steps)) * float(self.grid[0])

    def _weights(self, values: ArrayLike) -> list[Fraction]:
        if not np.size(values):
            raise ParameterError(
                "the exponential mechanism has no options", came="no scores", allowed="one score or more"
            )
        steps = to_steps(values, self.grid, np.size(values))
        return [self.epsilon * int(step) / self.spread for step in steps]
