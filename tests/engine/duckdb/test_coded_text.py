"""A file of text whose texts are numbered gives the same table, and the same refusals, as one that is stored as it is."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.schema import Attribute, Missing, Outside, Role, Schema, Type
from shoal.engine.duckdb import coded_text
from shoal.engine.duckdb import engine as duckdb_engine
from shoal.engine.duckdb.coded_text import TextCoder
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import ShoalError
from tests.engine.oracle import OracleEngine
from tests.engine.tables import LEVELS, NAMES, ROWS, SCHEMA, as_csv, crowded, plain, scattered, tables

few_examples = settings(max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate])
ENGINE, COUNTED = DuckDB(threads=1), DuckDB(threads=1, counted=True)


@contextmanager
def numbered(most=1 << 21, merged=1 << 20):
    """Every file of text that is counted is numbered, unless a column has more than `most` different texts."""
    with (
        patch.object(duckdb_engine, "CODED", 0),
        patch.object(coded_text, "MOST_TEXTS", most),
        patch.object(coded_text, "MERGED", merged),
    ):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("coded")


def answers(table):
    """What a table says in many ways."""
    counts = table.count_by(NAMES)
    some = table.keep(scattered)
    return [
        table.rows(),
        table.digest(),
        {name: plain(values) for name, values in table.collect(NAMES).items()},
        [[plain(column) for column in part] for part in (counts.values, counts.codes)],
        counts.counts.tolist(),
        table.count_by(["age", "town"]).counts.tolist(),
        [plain(part) for part in table.count_by(["age"]).values],
        some.digest(),
        some.count_by(NAMES[:2]).counts.tolist(),
        table.recode(LEVELS).digest(),
        table.class_sizes(NAMES[:3]),
    ]


@pytest.mark.slow
@given(rows=tables | crowded, merged=st.sampled_from([0, 3, 1 << 20]))
@few_examples
def test_numbered_texts_give_the_same_table(folder, rows, merged):
    path = as_csv(rows, folder / "t.csv")
    with numbered(merged=merged):
        table = COUNTED.scan(path, SCHEMA)
        assert table.connection.coded is not None
        found = answers(table)
    assert found == answers(ENGINE.scan(path, SCHEMA)) == answers(OracleEngine().scan(path, SCHEMA))


def test_a_file_without_rows_is_a_table_without_rows(folder):
    path = as_csv([], folder / "none.csv")
    with numbered():
        table = COUNTED.scan(path, SCHEMA)
    assert table.connection.coded is not None
    assert answers(table) == answers(ENGINE.scan(path, SCHEMA))


def test_a_column_with_too_many_texts_is_stored_as_it_is(folder):
    path = as_csv(ROWS, folder / "t.csv")
    for most in (2, 3):
        with numbered(most, merged=most):
            table = COUNTED.scan(path, SCHEMA)
        assert table.connection.coded is None
        assert answers(table) == answers(ENGINE.scan(path, SCHEMA))


DOMAINS = {
    "n": Attribute("n", Role.QUASI, Type.INTEGER, Interval(0, 9), missing=Missing.REFUSE),
    "d": Attribute("d", Role.QUASI, Type.DECIMAL, Interval(0, 9)),
    "v": Attribute("v", Role.QUASI, Type.CATEGORY, Values(("a", "b"))),
    "p": Attribute("p", Role.QUASI, Type.TEXT, Pattern("[0-9]{2}")),
}
CELLS = {
    "n": ("1", " 1", "+1", "01", "7", "11", "-2", "", "x", "1.0"),
    "d": ("1", "1.0", "1e0", "nan", "inf", "-0.0", "", "12", "x"),
    "v": ("a", "b", "", "c", " a"),
    "p": ("12", "34", "", "1", "123"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "outside"),
    [
        (name, outside)
        for name, each in DOMAINS.items()
        for outside in Outside
        if outside is not Outside.CLAMP or isinstance(each.domain, Interval)
    ],
)
def test_values_are_read_and_refused_alike(folder, name, outside):
    """Texts that differ and read as one value are one; what is wrong is counted by rows, and not by texts."""
    attribute = DOMAINS[name]
    schema = Schema((Attribute("n2", Role.QUASI, Type.TEXT), *_with(attribute, outside)))
    for cells in (CELLS[name][:3], CELLS[name], (*CELLS[name][:4], *CELLS[name][:2], "c", "11", "c")):
        path = folder / "cells.csv"
        path.write_text("n2,x\n" + "".join(f"k,{cell}\n" for cell in cells * 2), "utf-8")
        said = []
        for engine in (ENGINE, OracleEngine(), None):
            try:
                if engine is None:
                    with numbered():
                        table = COUNTED.scan(path, schema)
                        assert table.connection.coded is not None
                else:
                    table = engine.scan(path, schema)
                counts = table.count_by(["x"])
                said.append([plain(table.collect(["x"])["x"]), plain(counts.values[0]), counts.counts.tolist()])
            except ShoalError as error:
                said.append(str(error))
        assert repr(said[0]) == repr(said[1]) == repr(said[2])


def _with(attribute, outside):
    return [
        Attribute("x", attribute.role, attribute.type, attribute.domain, missing=attribute.missing, outside=outside)
    ]


@given(
    rows=st.lists(st.lists(st.sampled_from(["", "a", "b", "ü", "longer", None]), max_size=6), max_size=6),
    merged=st.integers(0, 8),
)
@settings(max_examples=100)
def test_every_row_has_the_number_of_its_text(rows, merged):
    batches = [pa.record_batch([pa.array(each, pa.string())], names=["s0"]) for each in rows]
    with numbered(merged=merged):
        coder = TextCoder(1)
        for batch in batches:
            coder.add(batch)
        coder.end()
    (column,) = coder.columns
    numbers = np.concatenate([np.zeros(0, np.uint8), *column.parts]).tolist()
    every = [text for each in rows for text in each]
    shown = column.texts_and_missing().to_pylist()
    assert [shown[number] for number in numbers] == every
    counted = Counter()
    for text, count in zip(shown, column.counts().tolist(), strict=True):
        counted[text] += count
    assert +counted == Counter(every)


@pytest.mark.parametrize(("rows", "listed"), [(9, 5), (10, 3)])
def test_equal_texts_of_two_batches_are_joined_unless_most_rows_have_a_text_of_their_own(rows, listed):
    with numbered():
        column = TextCoder(1).columns[0]
        column.add(pa.array(["a", "b", "c"]))
        column.add(pa.array(["c", "a", *["a"] * (rows - 5)]))
        column.end()
    assert len(column.texts) == listed
    second = [3, 4] if listed == 5 else [2, 0]
    assert np.concatenate(column.parts).tolist() == [0, 1, 2, *second, *[second[1]] * (rows - 5)]


def test_texts_that_are_listed_one_after_the_other_are_too_many_only_where_so_many_may_not_wait():
    with numbered(most=2, merged=5):
        column = TextCoder(1).columns[0]
        for letters in ("abc", "bc"):
            column.add(pa.array(list(letters)))
        column.end()
        assert (len(column.texts), column.is_large) == (5, False)
    with numbered(most=2, merged=4):
        column = TextCoder(1).columns[0]
        for letters in ("abc", "bc"):
            column.add(pa.array(list(letters)))
        column.end()
        assert (len(column.texts), column.is_large) == (3, True)


def test_long_texts_are_numbered_together_before_many_of_them_wait():
    with patch.object(coded_text, "MOST_BYTES", 100):
        column = TextCoder(1).columns[0]
        column.add(pa.array(["a" * 40, None, "b" * 40]))
        assert len(column.listed) == 1
        column.add(pa.array(["b" * 40, "c" * 40]))
        assert column.listed == []
        assert column.is_large
    column.end()
    assert [part.tolist() for part in column.parts] == [[0, 3, 1], [1, 2]]
