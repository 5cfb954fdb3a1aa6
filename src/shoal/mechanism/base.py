"""What every mechanism is: calibrated for a target and a sensitivity, with its guarantee as a value, drawing from a Source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import ceil, floor, gcd, lcm
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.draws import LARGEST
from shoal.chance.source import Source
from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.differential import ApproxDP, DifferentialPrivacy, PureDP
from shoal.guarantee.rounding import Number, exact, whole
from shoal.guarantee.unit import Unit

Target = PureDP | ApproxDP
"""What a mechanism can be calibrated for."""


@dataclass(frozen=True)
class Sensitivity:
    """How far one Unit can move an answer: each component by at most its half-side, `moved` of them, `total` in all.

    A box with one exact half-side for each component, or a single one when all are alike. `moved` is the number of
    components that one Unit can move (all, without a word), `total` a bound on the sum of the moves (the largest
    that the half-sides allow). Where every answer is a multiple of `multiples_of` (a count, of 1; one number, or one
    for each component), a grid that divides it rounds nothing away, and the total stays as it is.

    A histogram of disjoint cells has half-side 1; one row moves one cell under add_remove, two under replace_one.
    """

    half_sides: tuple[Fraction, ...]
    unit: Unit
    components: int
    moved: int
    total: Fraction
    multiples_of: tuple[Fraction, ...] | None

    def __init__(
        self,
        half_sides: Number | Sequence[Number],
        unit: Unit,
        *,
        components: int | None = None,
        moved: int | None = None,
        total: Number | None = None,
        multiples_of: Number | Sequence[Number] | None = None,
    ) -> None:
        sides = per_component(half_sides, "a sensitivity")
        if not isinstance(unit, Unit):
            raise UsageError("a sensitivity does not say whose", came=type(unit).__name__, allowed="a Unit")
        count = len(sides) if components is None else whole(components, "the number of components")
        if len(sides) not in {1, count}:
            raise ParameterError("half-sides and components disagree", came=f"{len(sides)} for {count} components")
        most = count if moved is None else whole(moved, "the number of components that one unit moves")
        if most > count:
            raise ParameterError("one unit moves more components than there are", came=most, allowed=f"1 to {count}")
        multiples = None if multiples_of is None else per_component(multiples_of, "the step of the answers")
        if multiples is not None and len(multiples) not in {1, count}:
            raise ParameterError("steps and components disagree", came=f"{len(multiples)} for {count} components")
        largest = _largest_sum(sides, most)
        bound = largest if total is None else positive(total, "the total sensitivity")
        for name, value in {
            "half_sides": sides, "unit": unit, "components": count, "moved": most, "total": min(bound, largest),
            "multiples_of": multiples,
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    @classmethod
    def cells(cls, count: int, unit: Unit) -> Sensitivity:
        """Of a histogram or contingency table with disjoint cells: one row is in one cell."""
        changed = unit.max_rows * (1 if unit.neighbours == "add_remove" else 2)
        # All rows of a person may lie in one cell.
        moved = min(whole(count, "the number of cells"), changed)
        return cls(unit.max_rows, unit, components=count, moved=moved, total=changed, multiples_of=1)

    def steps(self, grid: tuple[Fraction, ...]) -> tuple[int, ...]:
        """Half-sides in whole steps, rounded up: how far an answer moves that is rounded to the nearest step.

        floor(u + 1/2) − floor(v + 1/2) ≤ ceil(u − v) for u ≥ v. One number when sides and grid are alike.
        """
        return tuple(ceil(side / step) for side, step in self._paired(grid))

    def sides_on(self, grid: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """Half-sides of the rounded answer, as multiples of the grid."""
        return tuple(ceil(side / step) * step for side, step in self._paired(grid))

    def total_on(self, grid: tuple[Fraction, ...]) -> Fraction:
        """A bound on the sum of the moves of the rounded answer.

        Each component that moves by a > 0 moves by less than a + g after rounding, so the sum is less than the total
        plus the `moved` largest steps; and it is a multiple of the steps' common divisor.
        """
        largest = _largest_sum(self.sides_on(grid), self.moved)
        if self.multiples_of is not None and _divides(grid, self.multiples_of):
            return min(largest, self.total)
        common = Fraction(gcd(*(g.numerator * _common(grid) // g.denominator for g in grid)), _common(grid))
        beyond = self.total + _largest_sum(grid, self.moved)
        return min(largest, (ceil(beyond / common) - 1) * common)

    def square_on(self, grid: tuple[Fraction, ...]) -> Fraction:
        """A bound on the sum of the squares of the moves of the rounded answer."""
        sides = self.sides_on(grid)
        return min(_largest_sum(tuple(side**2 for side in sides), self.moved), max(sides) * self.total_on(grid))

    def _paired(self, grid: tuple[Fraction, ...]) -> list[tuple[Fraction, Fraction]]:
        count = max(len(self.half_sides), len(grid))
        return list(zip(widened(self.half_sides, count), widened(grid, count), strict=True))


class Mechanism(ABC):
    """Calibrated chance: a guarantee that is known before any answer, and a draw.

    A mechanism never reads a table; it is given the answer and the Source. `theorem` names the proof page of its
    guarantee. `replayable` is False where a library draws its own secure bits, so that a seeded Source repeats nothing.
    """

    theorem: ClassVar[str]
    replayable: ClassVar[bool] = True

    @property
    @abstractmethod
    def guarantee(self) -> DifferentialPrivacy:
        """What one draw satisfies, for the unit of its sensitivity."""

    @abstractmethod
    def draw(self, values: Any, source: Source) -> Any:
        """One randomized answer; what may leave the house."""


def positive(value: Number, name: str) -> Fraction:
    """An exact number above 0."""
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(f"{name} is not positive", came=value, allowed="a finite number above 0")
    return number


def per_component(values: Number | Sequence[Number], name: str) -> tuple[Fraction, ...]:
    """One exact positive number, or one for each component."""
    many = values if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str) else (values,)
    if not len(many):
        raise ParameterError(f"{name} has no component", came="nothing", allowed="one number for each component")
    return tuple(positive(value, name) for value in many)


def target_epsilon(target: Target) -> Fraction:
    """The epsilon of a target for noise without a delta: it has to be above 0."""
    if not isinstance(target, PureDP | ApproxDP):
        raise UsageError("a mechanism cannot aim at this", came=type(target).__name__, allowed="PureDP or ApproxDP")
    return positive(target.epsilon, "epsilon")


def check_scale(scale: Fraction) -> Fraction:
    """A scale in steps that can be drawn; an epsilon of 1e-400 ends here."""
    if scale > LARGEST:
        raise ParameterError(
            "the noise is too wide for its grid",
            came="a scale above 2^50 steps",
            allowed="at most 2^50 steps",
            fix="raise epsilon, or declare a coarser grid",
        )
    return scale


def check_confidence(confidence: Number) -> float:
    """A probability strictly between 0 and 1, and no nearer to them than sums in double precision can tell."""
    value = float(exact(confidence, "a confidence"))
    if not 1e-12 <= value <= 1 - 1e-12:
        raise ParameterError("a confidence is out of range", came=confidence, allowed="above 0 and below 1, by 1e-12")
    return value


def widened(values: tuple[Fraction, ...], count: int) -> tuple[Fraction, ...]:
    """One for each of `count` components."""
    return values if len(values) == count else values * count


def _divides(grid: tuple[Fraction, ...], steps: tuple[Fraction, ...]) -> bool:
    """Whether every step is a whole multiple of the grid's, component by component."""
    count = max(len(grid), len(steps))
    pairs = zip(widened(grid, count), widened(steps, count), strict=True)
    return all((step / g).denominator == 1 for g, step in pairs)


def _common(grid: tuple[Fraction, ...]) -> int:
    return lcm(*(g.denominator for g in grid))


def _largest_sum(values: tuple[Fraction, ...], count: int) -> Fraction:
    """The sum of the `count` largest; a single value stands for all components."""
    if len(values) == 1:
        return values[0] * count
    return sum(islice(sorted(values, reverse=True), count), Fraction(0))


# --- answers on a declared grid: rounded to whole steps exactly, so that no low bit of a float tells anything -------------

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
