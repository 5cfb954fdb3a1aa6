"""What every pre-treatment answers: which attributes it changes, what the new values depend on, and how it is said."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.chance.source import Source
from shoal.data.schema import Attribute
from shoal.errors import PreconditionError
from shoal.guarantee.unit import Unit

Array = npt.NDArray[Any]
Columns = Mapping[str, Array]
"""Columns by their names, in row order; masked where a value is missing."""


class Dependence(Enum):
    """What the new values of a record depend on, beside parameters that are fixed in advance."""

    RECORD = "the record alone"
    CHANCE = "the record and chance"
    TABLE = "other records"

    @property
    def is_record_wise(self) -> bool:
        """Whether each record is treated by itself, so that theorem `record-wise-treatment` speaks of it."""
        return self is not Dependence.TABLE


class Treatment(ABC):
    """One step that changes values of one or more attributes and keeps them in their domains.

    Promise   nothing by itself; where `dependence` is record-wise, a differential promise of what follows stays as it is
    Requires  parameters that are fixed without a look at the data
    Reads     the columns in `reads`
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """The attributes whose values may change."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The attributes that it looks at."""
        return self.attributes

    @property
    @abstractmethod
    def dependence(self) -> Dependence:
        """What the new values of a record depend on."""

    @abstractmethod
    def apply(self, columns: Columns, source: Source) -> dict[str, Array]:
        """The new values of its attributes; what is not drawn by chance is the same every time."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, str]:
        """Its parameters as a certificate states them."""

    @property
    def within(self) -> tuple[str, ...]:
        """The attributes in which records that change places agree; empty for a step in which none do."""
        return ()

    @abstractmethod
    def words(self) -> str:
        """What it does, in a sentence."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, as a plan and a certificate list it."""
        return {
            "kind": self.kind,
            "attributes": list(self.attributes),
            "within": list(self.within),
            "depends_on": self.dependence.value,
            "parameters": self.parameters,
        }


@dataclass(frozen=True)
class ColumnTreatment(Treatment):
    """A step that changes the values of one attribute, and looks at no other.

    Promise   as every treatment
    Requires  as every treatment
    Reads     its attribute
    """

    attribute: Attribute

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.attribute.name,)

    def apply(self, columns: Columns, source: Source) -> dict[str, Array]:
        return {self.attribute.name: self.change(columns[self.attribute.name], source)}

    @abstractmethod
    def change(self, values: Array, source: Source) -> Array:
        """The new values; masked where one is missing."""


def on_present(values: Array, change: Callable[[Array], Array]) -> Array:
    """Change the values that are there; what is missing stays missing."""
    absent = np.ma.getmaskarray(values)
    made = np.ma.getdata(values).copy()
    if not absent.any():
        made[:] = change(made)
        return made
    made[~absent] = change(made[~absent])
    return np.ma.MaskedArray(made, absent)


def check_record_wise(treatments: Sequence[Treatment], unit: Unit) -> None:
    """Raise where a step may not stand before a mechanism whose promise is to hold for the table before it.

    Raises     PreconditionError where a step looks at other records, or touches the column that names people
    """
    for each in treatments:
        if not each.dependence.is_record_wise:
            raise PreconditionError(
                "record-wise-treatment",
                "what becomes of a record depends on other records, so that one person could move many records",
                came=f"{each.kind} of {', '.join(each.attributes)}",
                allowed="steps that look at one record alone",
                fix="leave the step out, or take a method without a differential promise",
            )
        if unit.column in each.attributes:
            raise PreconditionError(
                "record-wise-treatment",
                "a step changes the column that names people, so that rows could change their owner",
                came=f"{each.kind} of {unit.column}",
                fix="treat another column",
            )
