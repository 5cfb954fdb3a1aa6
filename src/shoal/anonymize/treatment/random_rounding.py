"""Random rounding: a whole number becomes one of the two multiples around it, by chance, so that the mean is the number itself.

At the ends of a domain the multiples that would lie outside are replaced by the end, so that values stay in the domain and the
rounding stays unbiased everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.anonymize.treatment.base import Array, ColumnTreatment, Dependence, on_present
from shoal.chance.source import Source
from shoal.data.domain import Interval
from shoal.errors import UsageError

LARGEST = 2**62
"""Up to here neighbouring multiples, and what lies between the ends of a domain, are numbers of 64 bits."""


@dataclass(frozen=True)
class RandomRounding(ColumnTreatment):
    """Unbiased random rounding of one attribute of whole numbers; each value draws its own coin.

    A value v between neighbours a < v < b of the grid becomes b with probability (v - a) / (b - a), else a. Its mean is v, and
    its variance (v - a)(b - v), at most a quarter of the squared base.

    Promise   record-wise: a map of the one value and of chance of its own
    Requires  whole numbers in a domain with two ends
    Reads     its attribute
    """

    base: int

    kind, dependence = "random_round", Dependence.CHANCE

    def __post_init__(self) -> None:
        _ = self._ends

    @property
    def _ends(self) -> tuple[int, int]:
        """The ends of the domain; UsageError where it has none."""
        domain = self.attribute.domain
        if not isinstance(domain, Interval):
            raise UsageError(f"attribute '{self.attribute.name}': random rounding needs a domain with two ends")
        return int(domain.low), int(domain.high)

    def change(self, values: Array, source: Source) -> Array:
        return on_present(values, lambda held: self._drawn(held, source))

    def _drawn(self, values: Array, source: Source) -> Array:
        kind, ends = values.dtype, self._ends
        if max(map(abs, ends)) + self.base > LARGEST:
            values = values.astype(object)  # numbers of any size
        multiple = values // self.base * self.base
        low = np.maximum(multiple, ends[0])
        high = np.minimum(multiple + self.base, ends[1])
        widths = high - low
        made = values.copy()
        for width in np.unique(widths[values > low]).tolist():  # the base, and what is left of it at the ends
            held = (widths == width) & (values > low)
            up = source.integers(width, int(held.sum())) < (values - low)[held]
            made[held] = np.where(up, high[held], low[held])
        return made.astype(kind, copy=False)

    @property
    def variance(self) -> int:
        """The largest variance that rounding adds to one value."""
        return self.base // 2 * (self.base - self.base // 2)

    @property
    def parameters(self) -> dict[str, str]:
        return {"base": str(self.base), "variance": str(self.variance)}

    def words(self) -> str:
        return (
            f"Values of {self.attribute.name} become one of the two multiples of {self.base} around them (or an end of the "
            "domain), by chance and so that the expected value is the true one (random rounding); the variance of a value is at "
            f"most {self.variance}."
        )
