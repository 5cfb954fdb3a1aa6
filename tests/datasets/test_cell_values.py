"""Values for cells: every drawn value lies in its cell, in its domain and in its type, whatever kind the cell is of."""

from __future__ import annotations

import datetime as dt
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.data.cells import AttributeCells, cells_of
from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.hierarchy.level import IntervalLevel, MaskLevel, TopLevel, ValueLevel
from shoal.data.pattern import START, pattern_graph
from shoal.data.schema import Attribute, Missing, Role, Type
from shoal.data.type import DTYPES
from shoal.datasets.cell_values import synthetic_columns
from shoal.errors import UsageError

KINDS = {
    Type.INTEGER: pa.int64(),
    Type.DECIMAL: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.DATETIME: pa.timestamp("us"),
}


def cells(kind, domain, spec=None, finest=0, missing=Missing.VALUE) -> AttributeCells:
    above = None if spec is None else hierarchy(spec, kind, domain)
    return cells_of(Attribute("a", Role.QUASI, kind, domain, above, missing), finest)


def drawn(own, codes, seed=0) -> pa.ChunkedArray:
    return synthetic_columns([own], np.asarray(codes)[:, None], Source.seeded(seed)).column("a")


def encoded(own: AttributeCells, column: pa.ChunkedArray) -> list[int]:
    """The number of each value's cell, by the level of the cells."""
    kind, place = own.attribute.type, {label: i for i, label in enumerate(own.labels)}
    if isinstance(own.level, TopLevel):
        return [0] * len(column)
    gone = column.is_null().to_numpy()
    found = np.full(len(column), -1 if own.missing is None else own.missing)
    bare = column.drop_null()
    if kind in DTYPES:
        values = np.array(bare.to_pylist(), dtype=DTYPES[kind])
        if isinstance(own.level, ValueLevel):
            listed = np.array(own.labels[: own.missing], dtype=object).astype(DTYPES[kind]).tolist()
            found[~gone] = [listed.index(value) for value in values.tolist()]
        else:
            found[~gone] = [place[label] for label in own.level.apply(values)]
    else:
        texts = [str(value).lower() if kind is Type.BOOLEAN else value for value in bare.to_pylist()]
        found[~gone] = [place[label] for label in own.level.apply(np.array(texts, dtype=object))]
    return found.tolist()


def check_every_cell(own: AttributeCells, seed=0, each=7) -> None:
    codes = np.repeat(np.arange(len(own)), each)
    codes = codes[Source.seeded(seed).permutation(len(codes))]
    column = drawn(own, codes, seed)
    assert encoded(own, column) == codes.tolist()
    kind = own.attribute.type
    assert column.type == KINDS.get(kind, column.type)
    if kind not in KINDS:
        column = column.cast(pa.string())
    bare = column.drop_null()
    values = bare.to_numpy(zero_copy_only=False)
    values = values.astype(DTYPES[kind]) if kind in DTYPES else values
    assert own.attribute.domain is not None
    assert own.attribute.domain.inside(values).all()


DAY = dt.date(2025, 2, 20)
NOON = dt.datetime(2025, 2, 20, 12)  # noqa: DTZ001 - times have no zone
CASES = {
    "values": partial(cells, Type.CATEGORY, Values(("x", "y", "z"))),
    "missing refused": partial(cells, Type.CATEGORY, Values(("x", "y")), missing=Missing.REFUSE),
    "ordinal": partial(cells, Type.ORDINAL, Values(("S", "M", "L"))),
    "boolean": partial(cells, Type.BOOLEAN, Values(("false", "true"))),
    "whole numbers": partial(cells, Type.INTEGER, Interval(-3, 5)),
    "listed numbers": partial(cells, Type.INTEGER, Values(("7", "-2", "100"))),
    "days": partial(cells, Type.DATE, Interval(DAY, DAY + dt.timedelta(20))),
    "short texts of a pattern": partial(cells, Type.TEXT, Pattern("[A-C][0-1]")),
    "groups": partial(
        cells, Type.CATEGORY, Values(("a", "b", "c")), {"groups": [{"one": ["a", "c"], "two": ["b"]}]}, 1
    ),
    "intervals of whole numbers": partial(cells, Type.INTEGER, Interval(0, 99), {"intervals": [10, 50]}, 1),
    "uneven intervals of whole numbers": partial(cells, Type.INTEGER, Interval(0, 99), {"cuts": [17, 64]}, 1),
    "intervals of listed numbers": partial(
        cells, Type.INTEGER, Values(("1", "12", "13", "40")), {"intervals": [10]}, 1
    ),
    "wide whole numbers": partial(cells, Type.INTEGER, Interval(-(2**63), 2**63 - 1)),
    "steps of whole numbers": partial(cells, Type.INTEGER, Interval(0, 123_456)),
    "steps of decimals": partial(cells, Type.DECIMAL, Interval(0.0, 10.0)),
    "one decimal": partial(cells, Type.DECIMAL, Interval(2.5, 2.5)),
    "narrow decimals": partial(cells, Type.DECIMAL, Interval(1.0, 1.0 + 2.0**-30)),
    "tiny decimals": partial(cells, Type.DECIMAL, Interval(0.0, 1e-30)),
    "huge decimals": partial(cells, Type.DECIMAL, Interval(-1e308, 1e308)),
    "intervals of decimals": partial(cells, Type.DECIMAL, Interval(0, 100), {"intervals": [12.5, 25]}, 1),
    "a last point": partial(cells, Type.DECIMAL, Interval(0.0, 0.123456789), {"cuts": [0.1, 0.123456789]}, 1),
    "prefixes": partial(cells, Type.TEXT, Pattern("[0-9]{5}-[A-Z]{3}"), {"mask": {"prefix": [2]}}),
    "months": partial(
        cells, Type.DATE, Interval(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), {"date": ["month", "year"]}, 1
    ),
    "times": partial(cells, Type.DATETIME, Interval(NOON, NOON + dt.timedelta(3))),
    "short times": partial(cells, Type.DATETIME, Interval(NOON, NOON + dt.timedelta(milliseconds=3))),
    "listed masks": partial(
        cells, Type.TEXT, Values(("031", "032", "117")), {"mask": {"side": "right", "keep": [1]}}, 1
    ),
    "masks of places": partial(
        cells, Type.TEXT, Pattern("[0-9]{5}-[A-Z]{3}"), {"mask": {"side": "left", "keep": [3, 2]}}
    ),
    "one text for all": partial(
        cells, Type.TEXT, Pattern("[A-Z][0-9]{2}([.][0-9]{1,2})?", 5), {"mask": {"side": "right", "keep": [2]}}
    ),
}


@cache
def case(name: str) -> AttributeCells:
    """The cells of one case, made when a test asks for them."""
    return CASES[name]()


@pytest.mark.parametrize("name", CASES)
def test_a_value_lies_in_its_cell(name):
    check_every_cell(case(name))


def test_the_cases_hold_every_kind_of_level():
    kinds = {type(own.level).__name__ for own in map(case, CASES)}
    assert kinds == {"ValueLevel", "GroupLevel", "IntervalLevel", "MaskLevel", "TopLevel"}
    assert isinstance(case("masks of places").level, MaskLevel)
    assert len(case("wide whole numbers")) > 1000


ends = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None, max_examples=12)
@given(st.data())
def test_a_value_lies_in_its_cell_whatever_the_interval(data):
    kind = data.draw(st.sampled_from([Type.INTEGER, Type.DECIMAL, Type.DATE, Type.DATETIME]))
    one = {
        Type.INTEGER: ends,
        Type.DECIMAL: st.floats(-1e308, 1e308).map(lambda x: x if abs(x) > 1e-20 else 0.0),
        Type.DATE: st.dates(),
        Type.DATETIME: st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9998, 1, 1)),  # noqa: DTZ001
    }[kind]
    low, high = sorted([data.draw(one), data.draw(one)])
    if kind is Type.DECIMAL:
        assume(high - low > abs(high) * 1e-10)  # narrower steps than floats have no cells
    own = cells(kind, Interval(low, high)) if kind is not Type.DATE or (high - low).days < 4000 else case("months")
    seed = data.draw(st.integers(0, 9))
    check_every_cell(own, seed, each=1)


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.integers(1, 99), min_size=1, max_size=6, unique=True).map(sorted),
    st.sampled_from([Type.INTEGER, Type.DECIMAL]),
    st.integers(0, 3),
)
def test_a_value_lies_in_its_cell_whatever_the_cuts(cuts, kind, seed):
    check_every_cell(cells(kind, Interval(0, 99), {"cuts": cuts}, 1), seed)


# --- spread, types, chance ------------------------------------------------------------------------------------------


def test_rows_of_a_cell_are_spread_evenly_over_its_values():
    own = case("intervals of whole numbers")
    column = drawn(own, np.zeros(1000, dtype=int)).to_numpy()
    found = np.bincount(column, minlength=10)
    assert found.min() >= 98
    assert found.max() <= 102
    decimals = drawn(case("intervals of decimals"), np.ones(1000, dtype=int)).to_numpy()
    tenths = np.bincount(np.rint((decimals - 12.5) * 10).astype(int), minlength=125)
    assert len(tenths) == 125
    assert tenths.min() >= 6
    assert tenths.max() <= 10


def test_rows_of_a_cell_do_not_follow_the_order_of_the_table():
    column = drawn(case("steps of whole numbers"), np.zeros(2000, dtype=int)).to_numpy().astype(float)
    assert abs(np.corrcoef(np.arange(2000), column)[0, 1]) < 0.1
    two = synthetic_columns(
        [cells_of(Attribute(name, Role.QUASI, Type.DECIMAL, Interval(0.0, 1.0))) for name in "ab"],
        np.zeros((2000, 2), dtype=int),
        Source.seeded(3),
    )
    assert abs(np.corrcoef(two["a"].to_numpy(), two["b"].to_numpy())[0, 1]) < 0.1


@pytest.mark.parametrize(
    ("name", "places"), [("steps of decimals", 4), ("intervals of decimals", 1), ("one decimal", 1)]
)
def test_decimals_have_few_places(name, places):
    own = case(name)
    values = drawn(own, np.zeros(500, dtype=int)).to_pylist()
    assert max(len(repr(value).partition(".")[2]) for value in values) == places


def test_times_are_whole_seconds_where_cells_are_long():
    assert all(value.microsecond == 0 for value in drawn(case("times"), np.arange(1000)).to_pylist())
    assert any(value.microsecond for value in drawn(case("short times"), np.arange(1000)).to_pylist())


def test_columns_keep_their_order_and_missing_values_are_nothing():
    first = cells_of(Attribute("z", Role.QUASI, Type.INTEGER, Interval(0, 9)))
    second = cells_of(Attribute("a", Role.OTHER, Type.DATE, Interval(DAY, DAY)))
    found = synthetic_columns([first, second], np.array([[10, 1], [3, 0], [10, 0]]), Source.seeded(1))
    assert found.column_names == ["z", "a"]
    assert found.to_pydict() == {"z": [None, 3, None], "a": [None, DAY, DAY]}


def test_the_same_seed_gives_the_same_table_and_no_rows_give_no_rows():
    own, codes = case("steps of decimals"), np.arange(1024)[:, None]
    one, two, other = (synthetic_columns([own], codes, Source.seeded(seed)) for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)
    for each in map(case, CASES):
        assert drawn(each, np.zeros(0, dtype=int)).to_pylist() == []
    assert drawn(case("values"), [3, 3]).to_pylist() == [None, None]


@pytest.mark.parametrize("codes", [[[0, 1]], [0], [[0.0]], [[-1]], [[4]]])
def test_numbers_that_are_no_cells_are_refused(codes):
    with pytest.raises(UsageError, match="number"):
        synthetic_columns([case("values")], np.array(codes), Source.seeded(0))


@pytest.mark.parametrize(
    "pattern", ["(ab|c)*d?", "a{3,5}[^a]", r"\w+@\w+[.]de", "(x[0-9]{2}){150,160}", "[а-я]+|é", ".{2,}"]
)
def test_texts_that_walk_through_a_pattern_match_it(pattern):
    own = AttributeCells(
        Attribute("a", Role.QUASI, Type.TEXT, Pattern(pattern)), TopLevel(), ("*",), (1,), ordered=False, groups=()
    )
    found = drawn(own, np.zeros(300, dtype=int)).cast(pa.string()).to_numpy(zero_copy_only=False)
    assert Pattern(pattern).inside(found).all()
    assert len(set(found.tolist())) > 3
    assert pattern_graph(pattern).distance[START] >= 0


def test_a_level_of_intervals_is_one_of_the_cases():
    assert isinstance(case("short times").level, IntervalLevel)
