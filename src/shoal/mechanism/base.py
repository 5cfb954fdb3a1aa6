"""What every mechanism shares: the sensitivity of an answer (L0, L1, L∞), the grid that answers are rounded to, the guarantee."""

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
    """How much one unit of privacy can change a vector of answers, in the norms L0, L1 and L∞.

    Arguments  linf: the largest change of each component, one exact number for each or one for all. The L∞ sensitivity is the
               largest of them; together they are the half-sides of a box that contains every change.
               unit: the unit of privacy, with its neighbouring relation.
               components: how many components the answer has, where `linf` is one number for all.
               l0: how many components one unit can change; all of them, if not given.
               l1: a bound on the sum of the absolute changes; the largest that `linf` and `l0` allow, if not given.
               multiples_of: every answer is a multiple of this (a count: of 1), one number or one for each component. A grid
               that divides it rounds nothing away, so that the L1 sensitivity stays as it is on the grid.
    Raises     ParameterError where a number is not positive or the counts disagree; UsageError without a unit.

    Every number is an exact fraction. A mechanism takes the norm that it needs: Laplace noise L1, staircase noise the box of
    `linf`, Gaussian noise a bound on L2 that follows from all three. A histogram of disjoint cells has `linf` 1; one row changes
    one cell under add_remove and two under replace_one:

    >>> from shoal.guarantee.unit import Unit
    >>> cells = Sensitivity.cells(10, Unit.row("replace_one"))
    >>> cells.l0, int(cells.l1), int(max(cells.linf))
    (2, 2, 1)
    """

    linf: tuple[Fraction, ...]
    unit: Unit
    components: int
    l0: int
    l1: Fraction
    multiples_of: tuple[Fraction, ...] | None

    def __init__(
        self,
        linf: Number | Sequence[Number],
        unit: Unit,
        *,
        components: int | None = None,
        l0: int | None = None,
        l1: Number | None = None,
        multiples_of: Number | Sequence[Number] | None = None,
    ) -> None:
        largest = per_component(linf, "a sensitivity")
        if not isinstance(unit, Unit):
            raise UsageError(
                "a sensitivity needs its unit of privacy",
                came=type(unit).__name__,
                allowed="a Unit",
                fix='such as Unit.row("add_remove")',
            )
        count = len(largest) if components is None else whole(components, "the number of components")
        if len(largest) not in {1, count}:
            raise ParameterError(
                "the L∞ sensitivities and the components differ in number",
                came=f"{len(largest)} sensitivities for {count} components",
                allowed=f"1 or {count}",
            )
        changed = count if l0 is None else whole(l0, "the L0 sensitivity")
        if changed > count:
            raise ParameterError(
                "the L0 sensitivity is larger than the number of components", came=changed, allowed=f"1 to {count}"
            )
        multiples = None if multiples_of is None else per_component(multiples_of, "the step of the answers")
        if multiples is not None and len(multiples) not in {1, count}:
            raise ParameterError(
                "the steps and the components differ in number",
                came=f"{len(multiples)} steps for {count} components",
                allowed=f"1 or {count}",
            )
        most = _largest_sum(largest, changed)
        bound = most if l1 is None else positive(l1, "the L1 sensitivity")
        for name, value in {
            "linf": largest, "unit": unit, "components": count, "l0": changed, "l1": min(bound, most),
            "multiples_of": multiples,
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    @classmethod
    def cells(cls, count: int, unit: Unit) -> Sensitivity:
        """The sensitivity of a histogram or contingency table with disjoint cells: one row is in one cell."""
        changed = unit.max_rows * (1 if unit.neighbours == "add_remove" else 2)
        # All rows of a person may lie in one cell.
        touched = min(whole(count, "the number of cells"), changed)
        return cls(unit.max_rows, unit, components=count, l0=touched, l1=changed, multiples_of=1)

    def linf_steps(self, grid: tuple[Fraction, ...]) -> tuple[int, ...]:
        """`linf` in whole steps of the grid, rounded up: the largest change of an answer rounded to the nearest step.

        floor(u + 1/2) − floor(v + 1/2) ≤ ceil(u − v) for u ≥ v. One number when components and grid are alike.
        """
        return tuple(ceil(largest / step) for largest, step in self._pairs(grid))

    def linf_on(self, grid: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """`linf` of the answer rounded to the grid, as multiples of the grid."""
        return tuple(ceil(largest / step) * step for largest, step in self._pairs(grid))

    def l1_on(self, grid: tuple[Fraction, ...]) -> Fraction:
        """A bound on the L1 sensitivity of the answer rounded to the grid.

        Each component that changes by a > 0 changes by less than a + g after rounding, so the sum is less than `l1`
        plus the `l0` largest steps; and it is a multiple of the steps' common divisor.
        """
        most = _largest_sum(self.linf_on(grid), self.l0)
        if self.multiples_of is not None and _divides(grid, self.multiples_of):
            return min(most, self.l1)
        common = Fraction(gcd(*(g.numerator * _common(grid) // g.denominator for g in grid)), _common(grid))
        beyond = self.l1 + _largest_sum(grid, self.l0)
        return min(most, (ceil(beyond / common) - 1) * common)

    def l2_squared_on(self, grid: tuple[Fraction, ...]) -> Fraction:
        """A bound on the squared L2 sensitivity of the answer rounded to the grid, from its other norms."""
        largest = self.linf_on(grid)
        return min(_largest_sum(tuple(each**2 for each in largest), self.l0), max(largest) * self.l1_on(grid))

    def _pairs(self, grid: tuple[Fraction, ...]) -> list[tuple[Fraction, Fraction]]:
        count = max(len(self.linf), len(grid))
        return list(zip(broadcast(self.linf, count), broadcast(grid, count), strict=True))


class Mechanism(ABC):
    """A randomized mechanism: a guarantee that is known before any answer, and a draw.

    A mechanism never reads a table; it is given the answer and the Source. `theorem` names the proof page of its
    guarantee. Every bit of a draw comes from the Source, so a seeded one repeats it.
    Each class says in its docstring what it promises, what it requires, and what it reads.
    """

    theorem: ClassVar[str]

    @property
    @abstractmethod
    def guarantee(self) -> DifferentialPrivacy:
        """The guarantee of one draw, for the unit of privacy of its sensitivity."""

    @abstractmethod
    def draw(self, values: Any, source: Source) -> Any:
        """One randomized answer, the only value that may be published."""


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
        raise ParameterError(f"{name} has no component", came="an empty list", allowed="one number for each component")
    return tuple(positive(value, name) for value in many)


def target_epsilon(target: Target) -> Fraction:
    """The epsilon of a target guarantee for noise that uses no delta; it has to be above 0."""
    if not isinstance(target, PureDP | ApproxDP):
        raise UsageError(
            "a mechanism cannot be calibrated for this guarantee",
            came=type(target).__name__,
            allowed="PureDP or ApproxDP",
        )
    return positive(target.epsilon, "epsilon")


def check_scale(scale: Fraction) -> Fraction:
    """A scale in steps, refused where it is too wide to be drawn."""
    if scale > LARGEST:
        raise ParameterError(
            "the noise is too wide for its grid",
            came="a scale above 2^50 steps",
            allowed="at most 2^50 steps",
            fix="raise epsilon, or declare a coarser grid",
        )
    return scale


def check_confidence(confidence: Number) -> float:
    """A confidence level strictly between 0 and 1, no nearer to either than sums in double precision can tell apart."""
    value = float(exact(confidence, "a confidence"))
    if not 1e-12 <= value <= 1 - 1e-12:
        raise ParameterError("a confidence is out of range", came=confidence, allowed="above 0 and below 1, by 1e-12")
    return value


def broadcast(values: tuple[Fraction, ...], count: int) -> tuple[Fraction, ...]:
    """One value for each of `count` components, from one for each or one for all."""
    return values if len(values) == count else values * count


def _divides(grid: tuple[Fraction, ...], steps: tuple[Fraction, ...]) -> bool:
    """Whether every step is a whole multiple of the grid's, component by component."""
    count = max(len(grid), len(steps))
    pairs = zip(broadcast(grid, count), broadcast(steps, count), strict=True)
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


def check_grid(grid: Number | Sequence[Number], components: int) -> tuple[Fraction, ...]:
    """The grid as declared: the step of each component, or one step for all."""
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
    """Refuse answers that are no multiples of the declared steps: their sensitivity would be another."""
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
    """The values as int64, if they are whole and small; else None."""
    if values.dtype.kind == "f" and len(values):
        if not (np.isfinite(values).all() and np.abs(values).max() < 2**53 and (values == np.floor(values)).all()):
            return None
        return values.astype(np.int64)
    if values.dtype.kind in "iu" and (values.dtype != np.uint64 or int(values.max(initial=0)) < LARGEST_STEP):
        counted = values.astype(np.int64)
        return counted if int(counted.min(initial=0)) > -LARGEST_STEP else None
    return None


def _fraction(value: object) -> Fraction:
    """A number as an exact fraction; a float counts with all its bits."""
    if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
        try:
            return Fraction(value)
        except (ValueError, OverflowError):
            pass
    raise UsageError("an answer is not a finite number", allowed="whole numbers, fractions or finite floats")
