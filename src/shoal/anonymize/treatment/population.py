"""The population threshold: values (areas) with too few people become one value, or missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.anonymize.treatment.base import Array, ColumnTreatment, Dependence
from shoal.chance.source import Source


@dataclass(frozen=True)
class PopulationThreshold(ColumnTreatment):
    """Values of one attribute with a population below the threshold lose their name.

    With declared public counts it is a map of the one value. Without them the rows of the table are counted, and then what
    becomes of a record depends on other records.

    Promise   record-wise with declared counts; nothing otherwise
    Requires  listed values; a declared value for the others, or an attribute in which values may be missing
    Reads     its attribute
    """

    least: int
    counts: Mapping[str, int] | None
    other: str | None

    kind = "population_threshold"

    @property
    def dependence(self) -> Dependence:
        return Dependence.TABLE if self.counts is None else Dependence.RECORD

    def is_small(self, value: str, counts: Mapping[str, int]) -> bool:
        """Whether a value loses its name; the one that stands for the others never does."""
        return counts.get(value, 0) < self.least and value != self.other

    def change(self, values: Array, source: Source) -> Array:  # noqa: ARG002 - nothing is drawn
        absent, bare = np.ma.getmaskarray(values), np.ma.getdata(values)
        counts = self.counts if self.counts is not None else Counter(bare[~absent].tolist())
        gone = {value for value in {*bare[~absent].tolist()} if self.is_small(value, counts)}
        small = np.array([value in gone for value in bare.tolist()], dtype=np.bool_) & ~absent
        made = bare.copy()
        made[small] = self.other
        absent = absent | small if self.other is None else absent
        return np.ma.MaskedArray(made, absent) if absent.any() else made

    @property
    def _by(self) -> str:
        return "declared counts" if self.counts is not None else "rows of the table"

    @property
    def parameters(self) -> dict[str, str]:
        named = {} if self.other is None else {"other": self.other}
        return {"least": str(self.least), "by": self._by, **named}

    def words(self) -> str:
        few = ""
        if self.counts is not None:
            many = sum(self.is_small(value, self.counts) for value in self.counts)
            few = f", which are {many:,} of {len(self.counts):,},"
        become = "become missing" if self.other is None else f"become {self.other}"
        by = "by the declared counts" if self.counts is not None else "among the rows of the table"
        what = f"Values of {self.attribute.name} with a population below {self.least:,} {by}{few}"
        return f"{what} {become} (population threshold)."
