"""Words of values: the same from few rows and from many, from texts and from their numbers, whichever library finds them."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.type import Type
from shoal.engine import column as columns
from shoal.engine import digest
from shoal.engine.column import encode
from shoal.engine.digest import Digest, whole_numbers

SPELLED = (
    st.text(alphabet="0019-+ .é\n", max_size=21)
    | st.integers(-(10**20), 10**20).map(str)
    | st.sampled_from(["0", "-0", "00", "-", "-01", "9" * 18, "-" + "9" * 18, "1" + "0" * 18, "5\n", "5é"])
)


@given(st.lists(SPELLED, min_size=1, max_size=30))
def test_whole_numbers_are_those_that_a_regular_expression_finds(texts):
    held = [text.encode() for text in texts]
    if not any(held):
        return
    offsets = np.cumsum([0, *map(len, held)], dtype=np.int64)
    places, numbers = whole_numbers(np.frombuffer(b"".join(held), dtype=np.uint8), offsets)
    found = {i: int(text) for i, text in enumerate(texts) if re.fullmatch("0|-?[1-9][0-9]{0,17}", text)}
    assert dict(zip(places.tolist(), numbers.tolist(), strict=True)) == found


@given(st.lists(st.none() | SPELLED, max_size=30), st.integers(0, 3), st.booleans())
def test_texts_have_one_digest_whether_few_or_many_and_whatever_their_form(texts, cut, large):
    kind = pa.large_string() if large else pa.string()
    array = pa.array(texts, kind).slice(cut)

    def value(held: pa.Array, few: int) -> bytes:
        made = Digest([("a", Type.TEXT)])
        before, digest._FEW = digest._FEW, few
        try:
            made.add([held])
        finally:
            digest._FEW = before
        return made.value()

    assert value(array, 10**6) == value(array, -1) == value(array.dictionary_encode(), 10**6)


@given(st.lists(st.none() | st.sampled_from(["b", "a", "", "é"]), max_size=20), st.integers(0, 3))
def test_codes_of_texts_are_the_same_whether_few_or_many(texts, cut):
    array = pa.array(texts, pa.string()).slice(cut)
    before = columns.FEW_ROWS
    found = []
    for few in (before, -1):
        columns.FEW_ROWS = few
        values, codes = encode(array, Type.TEXT)
        found.append((values.tolist(), codes.tolist(), codes.dtype))
    columns.FEW_ROWS = before
    assert found[0] == found[1]


@given(st.lists(st.none() | st.integers(-3, 3), max_size=20), st.sampled_from([Type.INTEGER, Type.DATE, Type.DATETIME]))
def test_codes_of_numbers_are_the_same_whether_few_or_many(numbers, kind):
    shapes = {Type.INTEGER: pa.int64(), Type.DATE: pa.date32(), Type.DATETIME: pa.timestamp("us")}
    bare = pa.array(numbers, pa.int32() if kind is Type.DATE else pa.int64())
    before, found = columns.FEW_ROWS, []
    for few in (before, -1):
        columns.FEW_ROWS = few
        values, codes = encode(bare.view(shapes[kind]), kind)
        found.append((values.tolist(), values.dtype, codes.tolist(), codes.dtype))
    columns.FEW_ROWS = before
    assert found[0] == found[1]


@given(st.lists(st.none() | st.sampled_from([0.0, -0.0, 1.5, -2.0, float("nan")]), max_size=20))
def test_codes_of_numbers_are_those_of_a_dictionary(numbers):
    array = pa.array(numbers, pa.float64(), from_pandas=False)
    values, codes = encode(array, Type.DECIMAL)
    given_back = [None if code < 0 else values[code] for code in codes.tolist()]
    assert [repr(each) if each is None else float(each).hex() for each in given_back] == [
        repr(each) if each is None else each.hex() for each in numbers
    ]
    assert len(values) == len(pa.array([each for each in numbers if each is not None], pa.float64()).unique())
