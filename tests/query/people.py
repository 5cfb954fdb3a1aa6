"""A small table about people for the tests of questions: every type, a hierarchy, and domains with awkward ends."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from hypothesis import strategies as st

from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Missing, Role, Schema, Type
from shoal.guarantee.unit import Unit

X = Interval(-3, 10)
SCHEMA = Schema(
    (
        Attribute("person", Role.IDENTIFIER, Type.TEXT),
        Attribute("x", Role.QUASI, Type.INTEGER, X, hierarchy({"intervals": [5, 10]}, Type.INTEGER, X)),
        Attribute("must", Role.OTHER, Type.INTEGER, Interval(10, 20), missing=Missing.REFUSE),
        Attribute("w", Role.OTHER, Type.DECIMAL, Interval(10.0, 20.5)),
        Attribute("c", Role.QUASI, Type.CATEGORY, Values(("b", "a", "d"))),
        Attribute("o", Role.OTHER, Type.ORDINAL, Values(("mild", "grave", "critical"))),
        Attribute("day", Role.OTHER, Type.DATE, Interval(dt.date(2024, 1, 1), dt.date(2024, 12, 31))),
        Attribute("big", Role.OTHER, Type.INTEGER, Interval(-(2**62), 2**62)),
        Attribute("note", Role.OTHER, Type.TEXT),
        Attribute("free", Role.OTHER, Type.DECIMAL),
        Attribute("one", Role.OTHER, Type.INTEGER, Interval(7, 7)),
        Attribute("junk", Role.DROP, Type.TEXT),
    )
)
NAMES = SCHEMA.names[:11]
ARROW = pa.schema(
    [
        ("person", pa.string()),
        ("x", pa.int64()),
        ("must", pa.int64()),
        ("w", pa.float64()),
        ("c", pa.string()),
        ("o", pa.string()),
        ("day", pa.date32()),
        ("big", pa.int64()),
        ("note", pa.string()),
        ("free", pa.float64()),
        ("one", pa.int64()),
    ]
)
ROW = {neighbours: Unit.row(neighbours) for neighbours in ("add_remove", "replace_one")}
TWO = {neighbours: Unit.person("person", 2, neighbours) for neighbours in ("add_remove", "replace_one")}
UNITS = [*ROW.values(), *TWO.values()]

rows = st.tuples(
    st.sampled_from(["p", "q", "r", "s"]),
    st.none() | st.sampled_from([-3, 10]) | st.integers(-3, 10),
    st.integers(10, 20),
    st.none() | st.sampled_from([10.0, 20.5]) | st.floats(10, 20.5),
    st.none() | st.sampled_from(["a", "b", "d"]),
    st.none() | st.sampled_from(["mild", "grave", "critical"]),
    st.none() | st.dates(dt.date(2024, 1, 1), dt.date(2024, 12, 31)),
    st.none() | st.sampled_from([-(2**62), 2**62]) | st.integers(-(2**62), 2**62),
    st.none() | st.sampled_from(["n", "m"]),
    st.none() | st.floats(-5, 5),
    st.just(7),
)
tables = st.lists(rows, min_size=1, max_size=12)


def arrow(listed):
    """Rows as an Arrow table."""
    columns = list(zip(*listed, strict=True))
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, ARROW.types, strict=True)], schema=ARROW)


def column(listed, name, where=lambda row: True):
    """The values of a column in the rows that take part, without missing ones."""
    at = NAMES.index(name)
    return [row[at] for row in listed if where(row) and row[at] is not None]
