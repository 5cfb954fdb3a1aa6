"""Small tables for the tests: rows of plain values, counted without any engine."""

from __future__ import annotations

from collections import Counter

import numpy as np

from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.base import ABSENT, Counts


def schema(width, *confidential):
    """Some text quasi-identifiers q0, q1, …, and confidential attributes."""
    quasi = tuple(Attribute(f"q{i}", Role.QUASI, Type.TEXT) for i in range(width))
    return Schema((*quasi, *confidential))


def secret(name="s", kind=Type.CATEGORY, **more):
    """A confidential attribute."""
    return Attribute(name, Role.CONFIDENTIAL, kind, **more)


def counted(rows, names):
    """The distinct tuples as an engine gives them: coded, sorted, missing first."""
    tuples = Counter(tuple(row) for row in rows)
    ordered = sorted(
        tuples, key=lambda row: tuple((cell is not None, cell or "") if cell != 0 else (True, 0) for cell in row)
    )
    values, codes = [], []
    for i in range(len(names)):
        column = [row[i] for row in ordered]
        distinct = sorted({cell for cell in column if cell is not None})
        array = np.empty(len(distinct), dtype=object)
        array[:] = distinct
        values.append(array.astype("int64") if distinct and isinstance(distinct[0], int) else array)
        place = {cell: code for code, cell in enumerate(distinct)}
        codes.append(np.array([ABSENT if cell is None else place[cell] for cell in column], dtype=np.int32))
    counts = np.array([tuples[row] for row in ordered], dtype=np.int64)
    return Counts(tuple(names), tuple(values), tuple(codes), counts)
