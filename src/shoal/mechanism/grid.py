"""Answers on a declared grid: rounded to whole steps exactly, so that no low bit of a float tells anything."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.rounding import Number
from shoal.mechanism.base import per_component

LARGEST_STEP = 1 << 62
"""Answers of more steps are kept as Python's own integers."""


def declared(grid: Number | Sequence[Number], components: int) -> tuple[Fraction, ...]:
    """The step of each component, or one step for all."""
    steps = per_component(grid, "the grid")
    if len(steps) == 1 or all(step == steps[0] for step in steps):
        return steps[:1]
    if len(steps) != components:
        raise ParameterError("the grid has another number of components", came=len(steps), allowed=f"1 or {components}")
    return steps


def to_steps(values: ArrayLike, grid: tuple[Fraction, ...], components: int) -> NDArray[Any]:
    """floor(x / g + 1/2) of each component, exactly; int64, or Python integers where they do not fit."""
    given = np.atleast_1d(np.asarray(values))
    if given.ndim != 1 or len(given) != components:
        raise UsageError("an answer of another shape", came=f"shape {given.shape}", allowed=f"{components} numbers")
    if len(grid) == 1 and (counted := _as_integers(given)) is not None:
        # floor(x q / p + 1/2) = floor((2 x q + p) / (2 p)) for a step p / q.
        p, q = grid[0].numerator, grid[0].denominator
        if max(p, q) < LARGEST_STEP // 4 and int(np.abs(counted).max(initial=0)) * 2 * q + p < LARGEST_STEP:
            return (2 * q * counted + p) // (2 * p)
    steps = grid * components if len(grid) == 1 else grid
    exact = [floor(_fraction(x) / g + Fraction(1, 2)) for x, g in zip(given.tolist(), steps, strict=True)]
    small = all(abs(step) < LARGEST_STEP for step in exact)
    return np.array(exact, dtype=np.int64 if small else object)


def check_multiples(values: ArrayLike, steps: tuple[Fraction, ...]) -> None:
    """Refuse answers that are not the multiples they were declared to be: their sensitivity would be another."""
    given = np.atleast_1d(np.asarray(values))
    if all(step.numerator == 1 for step in steps) and _as_integers(given) is not None:
        return
    wide = steps * len(given) if len(steps) == 1 else steps
    if any(
        (_fraction(value) / step).denominator != 1 for value, step in zip(given.ravel().tolist(), wide, strict=False)
    ):
        raise PreconditionError("laplace-grid", "an answer is not a multiple of the step that its sensitivity names")


def to_values(steps: NDArray[Any], grid: tuple[Fraction, ...]) -> NDArray[Any]:
    """Steps times the grid, exactly: whole numbers where the grid is whole, else fractions."""
    if all(step == 1 for step in grid):
        return steps
    if all(step.denominator == 1 for step in grid):
        largest = int(np.abs(steps).max(initial=0)) * max(step.numerator for step in grid)
        kind = np.int64 if largest < LARGEST_STEP else object
        return np.asarray(steps.astype(kind) * np.array([step.numerator for step in grid], dtype=kind))
    return np.asarray(steps.astype(object) * np.array(grid, dtype=object))


def _as_integers(values: NDArray[Any]) -> NDArray[np.int64] | None:
    """The same numbers as int64, if they are whole and small."""
    if values.dtype.kind == "f" and len(values):
        if not (np.isfinite(values).all() and np.abs(values).max() < 2**53 and (values == np.floor(values)).all()):
            return None
        return values.astype(np.int64)
    if values.dtype.kind in "iu" and (values.dtype != np.uint64 or int(values.max(initial=0)) < LARGEST_STEP):
        counted = values.astype(np.int64)
        return counted if int(counted.min(initial=0)) > -LARGEST_STEP else None
    return None


def _fraction(value: object) -> Fraction:
    """The number itself, a float with all its bits."""
    if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
        try:
            return Fraction(value)
        except (ValueError, OverflowError):
            pass
    raise UsageError("an answer is not a finite number", allowed="whole numbers, fractions or finite floats")
