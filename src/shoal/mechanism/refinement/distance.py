"""How far a possible answer lies from the true one: numbers, names, ranks, concepts, or one's own function.

A distance decides which answers are made likelier, and nothing else: the guarantee of a refinement does not depend on it. A
true answer without a distance is not an error, which would reveal something of the record, but equally far from everything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.taxonomy import Taxonomy
from shoal.errors import ParameterError, ShoalError, UsageError
from shoal.guarantee.rounding import exact

Floats = NDArray[np.float64]
DistanceValue = Fraction | float
"""From 0 up, infinite where two values cannot be compared."""


class Distance(ABC):
    """How far each of several values is from a true answer."""

    @abstractmethod
    def between(self, truth: Any, values: Sequence[Any]) -> list[DistanceValue]:
        """One distance for each value; all infinite if the true answer cannot be compared with them."""

    def matrix(self, values: Sequence[Any]) -> Floats:
        """All distances between values, as floats; for averages, where the last digits do not matter."""
        return np.array([[float(far) for far in self.between(value, values)] for value in values])


@dataclass(frozen=True)
class AbsoluteDistance(Distance):
    """|x − y| of two numbers, exactly: decimals count as written, so that equal distances are equal."""

    def between(self, truth: Any, values: Sequence[Any]) -> list[DistanceValue]:
        here = number(truth)
        there = [number(value) for value in values]
        return [inf if here is None or value is None else abs(value - here) for value in there]

    def matrix(self, values: Sequence[Any]) -> Floats:
        places = np.array([float(value) for value in values])
        return np.asarray(np.abs(places[:, None] - places[None, :]))


@dataclass(frozen=True)
class NominalDistance(Distance):
    """0 for the same value, 1 for any other."""

    def between(self, truth: Any, values: Sequence[Any]) -> list[DistanceValue]:
        same = tuple(truth) if isinstance(truth, list | np.ndarray) else truth
        try:
            return [Fraction(0) if value == same else Fraction(1) for value in values]
        except (TypeError, ValueError):  # a missing value that is neither equal nor unequal to anything
            return [inf] * len(values)

    def matrix(self, values: Sequence[Any]) -> Floats:
        numbers = {value: place for place, value in enumerate(values)}
        codes = np.array([numbers[value] for value in values])
        return np.asarray(codes[:, None] != codes[None, :], dtype=np.float64)


@dataclass(frozen=True)
class OrdinalDistance(Distance):
    """How many ranks apart two values are, in the declared order."""

    order: tuple[Any, ...]
    _ranks: dict[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ranks", {value: rank for rank, value in enumerate(self.order)})
        if not self.order or len(self._ranks) != len(self.order):
            raise ParameterError("an order is empty or lists a value twice", allowed="each value once, lowest first")

    def between(self, truth: Any, values: Sequence[Any]) -> list[DistanceValue]:
        here = self._rank(truth)
        there = [self._rank(value) for value in values]
        return [inf if here is None or rank is None else Fraction(abs(rank - here)) for rank in there]

    def _rank(self, value: Any) -> int | None:
        try:
            return self._ranks.get(value)
        except TypeError:  # what cannot be looked up was not declared
            return None


@dataclass(frozen=True)
class TaxonomyDistance(Distance):
    """The distance of two concepts in a taxonomy (SC13 Eq 6.6)."""

    taxonomy: Taxonomy

    def between(self, truth: Any, values: Sequence[Any]) -> list[DistanceValue]:
        known = [value for value in values if value in self.taxonomy.parents]
        if not isinstance(truth, str) or truth not in self.taxonomy.parents or not known:
            return [inf] * len(values)
        far: dict[Any, DistanceValue] = dict(
            zip(known, self.taxonomy.distances([truth], known)[0].tolist(), strict=True)
        )
        return [far.get(value, inf) for value in values]


@dataclass(frozen=True)
class CustomDistance(Distance):
    """A function of one's own, called with the true answer and a value.

    A result that is no number from 0 up counts as infinitely far. Over numbers on a line it should grow on both sides of the
    true answer; where it does not, the guarantee holds and the answers are less near than they could be.
    """

    rule: Callable[[Any, Any], Any]

    def between(self, truth: Any, values: Sequence[Any]) -> list[DistanceValue]:
        return [self._one(truth, value) for value in values]

    def _one(self, truth: Any, value: Any) -> DistanceValue:
        try:
            far = self.rule(truth, value)
            if isinstance(far, bool | int | Fraction):
                return Fraction(far) if far >= 0 else inf
            return float(far) if float(far) >= 0 else inf
        except Exception:  # noqa: BLE001 - a failure would reveal something of the record
            return inf


def number(value: Any) -> Fraction | None:
    """A finite number as the fraction it was written as; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return Fraction(int(value))
    if not isinstance(value, int | float | Fraction | Decimal | np.number):
        return None
    try:
        return exact(value)  # type: ignore[arg-type]
    except ShoalError:
        return None


def default_distance(values: Sequence[Any]) -> Distance:
    """The default distance for a list of values: absolute for numbers, else nominal."""
    if all(number(value) is not None for value in values):
        return AbsoluteDistance()
    return NominalDistance()


def resolve_distance(asked: Any, values: Sequence[Any] | None) -> Distance:
    """The distance for a name, a taxonomy, a function or a Distance; `values` are those of the prior, where it lists them."""
    if asked is None:
        return AbsoluteDistance() if values is None else default_distance(values)
    if isinstance(asked, Distance):
        return asked
    if isinstance(asked, Taxonomy):
        return TaxonomyDistance(asked)
    if callable(asked):
        return CustomDistance(asked)
    if asked == "absolute":
        return AbsoluteDistance()
    if asked == "nominal" and values is not None:
        return NominalDistance()
    if asked == "ordinal" and values is not None:
        return OrdinalDistance(tuple(values))
    allowed = "absolute, a function" if values is None else "absolute, nominal, ordinal, a taxonomy, a function"
    raise UsageError("this distance does not suit the prior", came=asked, allowed=allowed)
