"""Arrow arrays from NumPy and back: what pyarrow's own conversions give, whole, sliced and in chunks, and without pandas."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engine.arrow_array import (
    bytes_array,
    missing_values,
    number_array,
    number_values,
    text_array,
    text_values,
)

KINDS = ["int8", "uint16", "int32", "int64", "uint64", "float32", "float64"]


@given(st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=30), st.sampled_from(KINDS), st.integers(0, 5))
def test_numbers_go_there_and_back(cells, kind, cut):
    values = np.array([value for value, _ in cells], dtype=kind)
    absent = np.array([gone for _, gone in cells], dtype=bool)
    made = number_array(values, absent)
    made.validate(full=True)
    assert made.equals(pa.array(values, mask=absent))
    for column, skipped in ((made, 0), (made.slice(cut), cut), (pa.chunked_array([made.slice(cut), made]), None)):
        gone = np.concatenate([absent[cut:], absent]) if skipped is None else absent[skipped:]
        held = np.concatenate([values[cut:], values]) if skipped is None else values[skipped:]
        assert missing_values(column).tolist() == gone.tolist()
        assert number_values(column, 7).tolist() == np.where(gone, 7, held).tolist()
        assert number_values(column).dtype == values.dtype


@given(st.lists(st.none() | st.text(max_size=5), max_size=30), st.integers(0, 5), st.booleans())
def test_texts_go_there_and_back(texts, cut, large):
    made = text_array(texts)
    made.validate(full=True)
    assert made.equals(pa.array(texts, pa.string()))
    held = made.cast(pa.large_string()) if large else made
    for column, expected in (
        (held.slice(cut), texts[cut:]),
        (pa.chunked_array([held, held.slice(cut)]), texts + texts[cut:]),
    ):
        assert text_values(column).tolist() == expected
        assert missing_values(column).tolist() == [text is None for text in expected]


@given(st.lists(st.none() | st.booleans(), max_size=30), st.integers(0, 9))
def test_truth_values(cells, cut):
    column = pa.array(cells, pa.bool_()).slice(cut)
    assert number_values(column).tolist() == [bool(cell) for cell in cells[cut:]]


def test_what_is_no_number_or_no_text_is_refused():
    assert bytes_array([b"", b"ab"]).equals(pa.array([b"", b"ab"], pa.binary()))
    with pytest.raises(TypeError, match="no numbers"):
        number_values(text_array(["a"]))
    with pytest.raises(TypeError, match="no texts"):
        text_values(number_array(np.array([1])))
    with pytest.raises(UnicodeEncodeError):
        text_array(["\ud800"])


ASKING = """
import sys
from pathlib import Path
import shoal
Path("t.csv").write_text("who,age,town,seen,pay,code\\n" + "".join(
    f"p{i},{i % 90},{'north' if i % 3 else 'south'},2024-01-{1 + i % 28:02d},{i}.5,{i % 10:02d}\\n" for i in range(200)))
policy = shoal.Policy.parse('''
version: 1
dataset: d
unit: {column: who, max_rows: 1}
neighbours: add_remove
attributes:
  who: {role: identifier}
  age: {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [10]}}
  town: {role: quasi, type: category, domain: [north, south]}
  seen: {role: quasi, type: date, domain: [2024-01-01, 2024-12-31]}
  pay: {role: quasi, type: decimal, domain: [0, 1000]}
  code: {role: quasi, type: text, domain: {pattern: '[0-9]{2}'}}
''')
with shoal.session(policy, "t.csv", budget=50, ledger="l.sqlite", new_ledger=True) as asking:
    asking.count("age >= 65 and seen > '2024-01-10'", epsilon=1)
    asking.mean("pay", by="town", epsilon=1)
    asking.quantile("age", epsilon=1)
    asking.histogram("age@1", epsilon=1)
    asking.count("code = '07'", epsilon=1)
slow = ("pyarrow.compute", "shoal.engine.read.foreign.statistical", "shoal.query.prior", "shoal.engine.read.parquet_file")
print("pandas" in sys.modules, "pyarrow" in sys.modules, [name for name in slow if name in sys.modules])
"""


@pytest.mark.slow
def test_questions_to_a_file_do_not_import_pandas_nor_modules_that_they_do_not_use(tmp_path):
    done = subprocess.run([sys.executable, "-c", ASKING], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True", "[]"], done.stderr
