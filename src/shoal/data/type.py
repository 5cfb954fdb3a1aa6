"""What the values of a column look like, and their one spelling as text."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt


class Type(Enum):
    """What values look like. In memory: int64, float64, str, bool, datetime64[D], datetime64[us]."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    CATEGORY = "category"
    ORDINAL = "ordinal"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"

    @property
    def numeric(self) -> bool:
        """Whether values are numbers, dates or times, so that intervals make sense."""
        return self in (Type.INTEGER, Type.DECIMAL, Type.DATE, Type.DATETIME)

    @property
    def discrete(self) -> bool:
        """Whether numeric values lie one step apart, so that they can be counted."""
        return self in (Type.INTEGER, Type.DATE)


def spelled(value: object) -> str:
    """A value of a policy as text: `true`, `12`, `2025-03-01`."""
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def texts(values: npt.NDArray[Any]) -> list[str]:
    """Values in memory as text, spelled as a policy spells them; texts stay as they are."""
    if values.dtype.kind == "b":
        return ["true" if value else "false" for value in values.tolist()]
    if values.dtype.kind in "iuM":
        values = values.astype(str)
    return list(values.tolist())
