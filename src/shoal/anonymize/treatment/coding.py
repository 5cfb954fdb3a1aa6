"""Top and bottom coding: everything above (below) a fixed value of the domain becomes that value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.anonymize.treatment.base import Array, ColumnTreatment, Dependence, on_present
from shoal.chance.source import Source
from shoal.data.domain import Values
from shoal.data.type import Type, point, value_at


@dataclass(frozen=True)
class ExtremeCoding(ColumnTreatment):
    """Top or bottom coding of one attribute; the code is a value of its domain, so that values stay in it.

    Promise   record-wise: a map of the one value
    Requires  numbers, dates, times, or values in a declared order
    Reads     its attribute
    """

    code: str
    kind: Literal["top", "bottom"]  # type: ignore[misc]  # two kinds are one class here; elsewhere it is a constant

    dependence = Dependence.RECORD

    def change(self, values: Array, source: Source) -> Array:  # noqa: ARG002 - nothing is drawn
        return on_present(values, self._coded)

    def _coded(self, values: Array) -> Array:
        kind, limit = self.attribute.type, np.minimum if self.kind == "top" else np.maximum
        if kind is Type.ORDINAL and isinstance(self.attribute.domain, Values):
            order = self.attribute.domain.index
            end = order[self.code]
            passed = [(order[each] > end) if self.kind == "top" else (order[each] < end) for each in values.tolist()]
            return np.where(np.array(passed, dtype=np.bool_), np.array(self.code, dtype=object), values)
        code = np.array(value_at(kind, point(kind, self.code))).astype(values.dtype)
        return np.asarray(limit(values, code))

    @property
    def parameters(self) -> dict[str, str]:
        return {"code": self.code}

    def words(self) -> str:
        above, below = ("after", "before") if self._is_time else ("above", "below")
        side = above if self.kind == "top" else below
        return f"Values of {self.attribute.name} {side} {self.code} become {self.code} ({self.kind} coding)."

    @property
    def _is_time(self) -> bool:
        return self.attribute.type in (Type.DATE, Type.DATETIME)
