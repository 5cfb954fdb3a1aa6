"""A cell is spelled by its own kind, whatever else its column holds."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.date_format import DateFormat
from shoal.engine.read.foreign.spelling import spell_as, text_batches
from shoal.engine.read.source import STEP, Spelling

GERMAN = Spelling(",", DateFormat("%d.%m.%Y"))
CELLS = [
    (None, None, None),
    ("", None, None),
    (" ", " ", " "),
    ("1.5", "1.5", "1.5"),
    (True, "true", "true"),
    (0, "0", "0"),
    (2**70, str(2**70), str(2**70)),
    (30.0, "30", "30"),
    (-0.0, "0", "0"),
    (0.1, "0.1", "0,1"),
    (1e-7, "1e-07", "1e-07"),
    (1.5e-7, "1.5e-07", "1,5e-07"),
    (float(2**53 - 1), str(2**53 - 1), str(2**53 - 1)),
    (float(2**53), "9007199254740992.0", "9007199254740992,0"),
    (float("nan"), None, None),
    (float("-inf"), "-inf", "-inf"),
    (Decimal("1.50"), "1.5", "1,5"),
    (Decimal("1e3"), "1000", "1000"),
    (Decimal("-0.00"), "0", "0"),
    (Decimal("1e999"), "1E+999", "1E+999"),
    (Decimal("0.12345678901234567890123456789012345"), "0.12345678901234567890123456789012345", None),
    (dt.date(2024, 12, 31), "2024-12-31", "31.12.2024"),
    (dt.datetime(2024, 12, 31), "2024-12-31", "31.12.2024"),
    (dt.datetime(2024, 12, 31, 10, 30), "2024-12-31 10:30:00", "2024-12-31 10:30:00"),
    (dt.time(10, 30), "10:30:00", "10:30:00"),
    (dt.timedelta(hours=30, seconds=5), "30:00:05", "30:00:05"),
]


@pytest.mark.parametrize(("cell", "plain", "german"), CELLS, ids=[repr(cell)[:40] for cell, *_ in CELLS])
def test_how_a_cell_is_spelled(cell, plain, german):
    assert spell_as(cell) == plain
    if german is not None or plain is None:
        assert spell_as(cell, GERMAN) == german


@given(st.floats(allow_nan=False))
def test_a_float_is_read_back_from_its_spelling(value):
    assert float(spell_as(value) or "") == value


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_is_read_back_from_its_spelling(value):
    assert Decimal(spell_as(value) or "") == value


def test_rows_come_in_batches_of_a_size():
    rows = ([number, None] for number in range(STEP + 1))
    first, last = text_batches(rows, [Spelling(), GERMAN])
    assert (first.num_rows, last.num_rows) == (STEP, 1)
    assert last.to_pydict() == {"0": [str(STEP)], "1": [None]}
    assert list(text_batches([], [Spelling()])) == []
