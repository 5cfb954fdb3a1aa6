"""The box law on the whole numbers: the same shells as the continuous law, with a count of points for a volume."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import expm1, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.source import Source
from shoal.errors import ParameterError, PreconditionError
from shoal.mechanism.base import check_scale
from shoal.mechanism.staircase.shells import LARGEST_DIMENSION, BoxNumber, draw_numbers, first

Floats = NDArray[np.float64]
LARGEST_SIDE = 1 << 40
"""Of a box, in steps."""
LARGEST_REACH = 1 << 49
"""Of sides times dimension over epsilon: a draw overflows int64 with probability below 2^-10000."""


@dataclass(frozen=True)
class LatticeLaw:
    """Pr[x] ∝ e^(−i epsilon) on the i-th shell of boxes with half-sides z, z + s, z + 2 s, … in whole steps.

    The law that is drawn, exactly; figures are in steps. `sides` is s, `inner` is z.
    """

    epsilon: Fraction
    sides: tuple[int, ...]
    inner: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 700:
            raise ParameterError("epsilon is out of range", came=float(self.epsilon), allowed="0 < epsilon <= 700")
        if not 0 < len(self.sides) <= LARGEST_DIMENSION:
            raise ParameterError("too many components", came=len(self.sides), allowed=f"1 to {LARGEST_DIMENSION}")
        if len(self.inner) != len(self.sides) or not all(
            0 <= z <= s and s > 0 for z, s in zip(self.inner, self.sides, strict=True)
        ):
            raise PreconditionError(
                "staircase" if len(self.sides) == 1 else "staircase-box",
                "the inner box is not inside the box of the sensitivity",
                allowed="0 <= z <= s in each component, s of one step or more",
            )
        check_scale(1 / self.epsilon)
        if max(self.sides) > LARGEST_SIDE or max(self.sides) * len(self.sides) / self.epsilon > LARGEST_REACH:
            raise ParameterError(
                "the noise is too wide for its grid", allowed="sides up to 2^40 steps, noise up to 2^49",
                fix="raise epsilon, or declare a coarser grid",
            )  # fmt: skip

    @cached_property
    def number(self) -> BoxNumber:
        """The law of the box's number: sizes ∏ (2 (z + i s) + 1)."""
        ratios = tuple((2 * z + 1) / (2 * s) for z, s in zip(self.inner, self.sides, strict=True))
        return BoxNumber(float(self.epsilon), ratios)

    def draw(self, source: Source, size: int) -> NDArray[np.int64]:
        """A box by its number, then a uniform point of it, each component by itself; a row for each draw."""
        doubled, starts = [2 * side for side in self.sides], [2 * z + 1 for z in self.inner]
        numbers = draw_numbers(source, self.epsilon, doubled, starts, size)
        drawn = np.empty((size, len(self.sides)), dtype=np.int64)
        for column, (side, z) in enumerate(zip(self.sides, self.inner, strict=True)):
            half = z + numbers * side
            drawn[:, column] = _below(source, 2 * half + 1) - half
        return drawn

    def shell(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the shell of each offset; the last axis runs over the components."""
        over = np.abs(offsets) - np.array(self.inner)
        return np.asarray(np.maximum(0, -(-over // np.array(self.sides)).min(axis=-1)))

    def pmf(self, offsets: ArrayLike) -> Floats:
        """The probability of each offset."""
        shells = self.shell(np.asarray(offsets, dtype=np.int64))
        return np.asarray(np.exp(self._log_height - float(self.epsilon) * shells))

    @cached_property
    def _log_height(self) -> float:
        """ln Pr[0] = −ln((1 − q) Σ q^i ∏ (2 (z + i s) + 1))."""
        unit = float(np.log(2 * np.array(self.sides, dtype=np.float64)).sum())
        return -unit - log(-expm1(-float(self.epsilon))) - self.number.log_total

    @property
    def variance(self) -> Floats:
        """E[h (h + 1)] / 3 with h = z + I s."""
        mean, square = self.number.moments
        z, s = np.array(self.inner, dtype=np.float64), np.array(self.sides, dtype=np.float64)
        return np.asarray((z**2 + 2 * z * s * mean + s**2 * square + z + s * mean) / 3)

    @property
    def expected_error(self) -> Floats:
        """E[h (h + 1) / (2 h + 1)] = E[2 h + 1] / 4 − E[1 / (2 h + 1)] / 4."""
        mean, _ = self.number.moments
        s = np.array(self.sides, dtype=np.float64)
        inverse = np.array([self.number.without(j)[1] for j in range(len(s))]) / (2 * s)
        return np.asarray((2 * (np.array(self.inner) + s * mean) + 1 - inverse) / 4)

    def tails(self, confidence: float) -> NDArray[np.int64]:
        """For each component the least t with Pr[|x_j| ≤ t] ≥ confidence."""
        kinds = list(zip(self.sides, self.inner, strict=True))
        known = {kind: self._tail(kinds.index(kind), confidence) for kind in set(kinds)}
        return np.array([known[kind] for kind in kinds], dtype=np.int64)

    def _tail(self, j: int, confidence: float) -> int:
        """Pr[|x_j| ≤ t] = Pr[I ≤ n] + (2 t + 1) E[1 / (2 h + 1); I > n], n the last box inside."""
        z, s = self.inner[j], self.sides[j]
        rest, share = self.number.without(j)

        def within(t: int) -> float:
            n = max(-1, (t - z) // s)
            return (self.number.up_to(n) if n >= 0 else 0.0) + (2 * t + 1) / (2 * s) * share * rest.beyond(n)

        return first(lambda t: within(t) >= confidence * (1 - 1e-14))


def _below(source: Source, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each bound a uniform whole number below it: as many bits as it needs, drawn again while too large."""
    drawn = np.zeros(len(bounds), dtype=np.int64)
    left = np.flatnonzero(bounds > 1)
    # A power of two that is not below the bound, from its float's exponent; one bit too many costs draws, not the law.
    masks = (np.int64(1) << np.frexp(bounds.astype(np.float64))[1].astype(np.int64)) - 1
    while len(left):
        words = (source.words(len(left)) >> np.uint64(1)).astype(np.int64) & masks[left]
        good = words < bounds[left]
        drawn[left[good]] = words[good]
        left = left[~good]
    return drawn
