"""The records of a table as columns that have distances: each attribute by its declared type, order and hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.points import Column, Nominal, Numeric, Ordinal
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute, Missing
from shoal.data.taxonomy import Taxonomy
from shoal.data.type import Type, texts
from shoal.errors import DataError

Array = npt.NDArray[Any]
ROOT = "*"
MOST_CONCEPTS = 1_000
"""A nominal attribute with more different values than this has no places: distances would need as many dimensions."""


def columns(attributes: Sequence[Attribute], values: Mapping[str, Array]) -> list[Column]:
    """One column for each attribute, from arrays in row order; what is missing is masked."""
    return [column(attribute, values[attribute.name]) for attribute in attributes]


def column(attribute: Attribute, values: Array) -> Column:
    """One attribute: numbers, dates and times on a line, ordered values by rank, others by a taxonomy."""
    name, missing = attribute.name, attribute.missing
    if attribute.outside.value == "suppress":
        missing = Missing.VALUE  # what lay outside is missing now
    if attribute.type.numeric or attribute.type is Type.BOOLEAN:
        low, high = ends(attribute)
        return Numeric(numbers(values), name, missing, low, high)
    if attribute.type is Type.ORDINAL and isinstance(attribute.domain, Values):
        return Ordinal(as_objects(values), name, missing, attribute.domain.values)
    return Nominal(as_objects(values), name, missing, taxonomy(attribute, values))


def numbers(values: Array) -> Array:
    """Dates as days, times as microseconds, truth as 0 and 1; numbers as they are."""
    data, gone = np.ma.getdata(values), np.ma.getmaskarray(values)
    if data.dtype.kind in "Mb":
        data = data.astype(np.int64)
    return np.ma.masked_array(data, gone) if gone.any() else data


def as_objects(values: Array) -> Array:
    """Texts as objects, None where one is missing."""
    data = np.array(np.ma.getdata(values), dtype=object)
    data[np.ma.getmaskarray(values)] = None
    return data


def ends(attribute: Attribute) -> tuple[float | None, float | None]:
    """The declared ends of a domain of numbers, dates or times, as numbers."""
    if attribute.type is Type.BOOLEAN:
        return 0.0, 1.0
    domain = attribute.domain
    if not isinstance(domain, Interval):
        return None, None
    kind = {Type.DATE: "datetime64[D]", Type.DATETIME: "datetime64[us]"}.get(attribute.type)
    found = [np.datetime64(end).astype(kind).astype(np.int64) if kind else end for end in (domain.low, domain.high)]
    return float(found[0]), float(found[1])


def taxonomy(attribute: Attribute, values: Array) -> Taxonomy:
    """What says how near values are: the hierarchy's tree over the values that occur, or one concept above them all."""
    present = sorted(set(texts(np.array(np.ma.getdata(values)[~np.ma.getmaskarray(values)], dtype=object))))
    if len(present) > MOST_CONCEPTS:
        raise DataError(
            f"attribute '{attribute.name}': too many different values to compare",
            came=f"{len(present):,}",
            allowed=f"at most {MOST_CONCEPTS:,} for a column without numbers",
            fix="give it the role other or drop, or recode it first",
        )
    if attribute.hierarchy is None or not present:
        return Taxonomy({ROOT: None, **{value: ROOT for value in present if value != ROOT}}, tuple(present) or None)
    above = _labels(attribute.hierarchy, present)
    for level, labels in enumerate(above):
        if any(label is None for label in labels):
            raise DataError(
                f"attribute '{attribute.name}': its hierarchy lacks a value that occurs",
                came=f"level {level}",
                fix="add every value of the domain to the hierarchy",
            )
    rows = [tuple(str(label) for label in row) for row in zip(*above, strict=True)]
    return Taxonomy.of_rows(rows, present)


def _labels(hierarchy: Hierarchy, present: list[str]) -> list[list[str | None]]:
    """Each value's label at each level; one concept above all where the last level is not one."""
    array = np.array(present, dtype=object)
    found: list[list[str | None]] = [
        list(present)
        if isinstance(level, ValueLevel)
        else [None if label is None else str(label) for label in level.apply(array)]
        for level in hierarchy.levels
    ]
    return found if len(set(found[-1])) <= 1 else [*found, [ROOT] * len(present)]
