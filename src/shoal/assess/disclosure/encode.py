"""One column of distinct tuples as whole numbers: the values that occur, in their order, a missing one after the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING, GroupLevel, IntervalLevel
from shoal.data.schema import Attribute, Type
from shoal.engine.base import ABSENT

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Coded:
    """A column as codes into `values`; the code after the last stands for a missing cell. Every value occurs."""

    codes: Ints
    values: Array
    has_missing: bool

    @property
    def count(self) -> int:
        """How many different values there are, missing among them."""
        return len(self.values) + self.has_missing


def encode(values: Array, codes: Codes, order: tuple[str, ...] | None = None) -> Coded:
    """From an engine's codes, which may list values that do not occur; `order` ranks the values if they do not sort so."""
    occurs = np.zeros(len(values) + 1, dtype=np.bool_)
    occurs[codes] = True  # ABSENT is -1: the last
    kept = np.flatnonzero(occurs[:-1])
    if order is not None:
        rank = {value: i for i, value in enumerate(order)}
        kept = np.array(sorted(kept.tolist(), key=lambda i: rank.get(str(values[i]), len(rank))), dtype=np.int64)
    place = np.full(len(values) + 1, len(kept), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return Coded(place[codes], values[kept], bool(occurs[-1]))


def order_of(attribute: Attribute, values: Array) -> tuple[str, ...] | None:
    """The order of texts that have one: values of an ordinal attribute, or the labels of intervals.

    None where the declared meaning knows no order, or values sort by themselves.
    """
    if not _is_text(values):
        return None
    hierarchy = attribute.hierarchy
    candidates = [level.labels for level in hierarchy.levels if isinstance(level, IntervalLevel)] if hierarchy else []
    if attribute.type is Type.ORDINAL:
        candidates += [level.labels for level in hierarchy.levels if isinstance(level, GroupLevel)] if hierarchy else []
        candidates += [attribute.domain.values] if isinstance(attribute.domain, Values) else []
    shown = {value for value in values.tolist() if not _is_silent(value)}
    return next((order for order in candidates if shown <= set(order)), None)


def has_order(values: Array) -> bool:
    """Whether values sort by themselves: numbers, dates and times."""
    return values.dtype.kind in "iufmM"


def hides(values: Array, codes: Codes) -> Mask:
    """Which cells say nothing: missing, labelled as missing, or nothing but stars."""
    if not _is_text(values):
        return np.asarray(codes == ABSENT)
    silent = np.array([_is_silent(value) for value in values.tolist()], dtype=np.bool_)
    return np.append(silent, True)[codes]


def _is_text(values: Array) -> bool:
    return values.dtype.kind in "OTU"


def _is_silent(value: str) -> bool:
    return value == MISSING or (value != "" and not value.strip("*"))
