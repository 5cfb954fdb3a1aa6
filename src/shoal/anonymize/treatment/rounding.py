"""Rounding: every number becomes the nearest multiple of a base inside its domain, a half the one farther from 0."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.anonymize.treatment.base import Array, ColumnTreatment, Dependence, on_present
from shoal.chance.source import Source
from shoal.data.type import Type
from shoal.guarantee.rounding import exact_text
from shoal.policy.treatment import multiples


@dataclass(frozen=True)
class Rounding(ColumnTreatment):
    """Deterministic rounding of one attribute of numbers.

    A number stored as a decimal means the shortest text that names it: 0.15 is a half of 0.1 and goes to 0.2.

    Promise   record-wise: a map of the one value
    Requires  whole numbers or decimals; a multiple of the base in the domain
    Reads     its attribute
    """

    base: Fraction

    kind, dependence = "round", Dependence.RECORD

    def change(self, values: Array, source: Source) -> Array:  # noqa: ARG002 - nothing is drawn
        return on_present(values, self._whole if self.attribute.type is Type.INTEGER else self._decimal)

    def _whole(self, values: Array) -> Array:
        base = int(self.base)
        first, last = multiples(self.attribute.domain, self.base)
        times, rest = np.divmod(values, base)
        up = (rest > base - rest) | ((rest == base - rest) & (values >= 0))
        low = -(2**63) // base + 1 if first is None else first
        high = (2**63 - 1) // base if last is None else last
        return np.asarray(np.clip(times + up, low, high) * base)

    def _decimal(self, values: Array) -> Array:
        different, place = np.unique(values, return_inverse=True)
        first, last = multiples(self.attribute.domain, self.base)
        made = []
        for value in different.tolist():
            share = Fraction(repr(value)) / self.base
            times = int(abs(share) + Fraction(1, 2)) * (1 if share >= 0 else -1)
            times = times if first is None else max(first, times)
            times = times if last is None else min(last, times)
            made.append(float(times * self.base))
        return np.array(made, dtype=np.float64)[place]

    @property
    def parameters(self) -> dict[str, str]:
        return {"base": exact_text(self.base)}

    def words(self) -> str:
        return (
            f"Values of {self.attribute.name} become the nearest multiple of {exact_text(self.base)} inside the domain, a half "
            "the one farther from 0 (rounding)."
        )
