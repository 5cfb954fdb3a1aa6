"""Arrow files and frames whose buffers lie: refused before a cell is read, and never read beyond a buffer."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc

from shoal.data.schema import Attribute, Missing, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read import arrow_layout, storage
from shoal.engine.read.arrow_layout import check_layout
from shoal.errors import DataError

ENGINE = DuckDB(threads=1)


def schema(kind=Type.TEXT, **more):
    return Schema((Attribute("x", Role.QUASI, kind, **more),))


def lying(kind, length, before, after, *others):
    """A table whose column has a buffer that is written over after Arrow has looked at it, as another program might."""
    held = np.array(before)
    array = pa.Array.from_buffers(kind, length, [None, pa.py_buffer(held), *map(pa.py_buffer, others)])
    return tampered(array, held, after)


def tampered(array, held, after):
    table = pa.table({"x": array})
    held[:] = after
    return table


def miscoded(*codes):
    held = number(0, 0)
    indices = pa.Array.from_buffers(pa.int64(), 2, [None, pa.py_buffer(held)])
    return tampered(pa.DictionaryArray.from_arrays(indices, pa.array(["Sentinel"])), held, codes)


def number(*values):
    return np.array(values, dtype=np.int64)


def offset(*values):
    return np.array(values, dtype=np.int32)


def view(size):
    return np.frombuffer(struct.pack("<i4sii", size, b"Sent", 0, 0), dtype=np.uint8)


TEXT = b"Sentinel"
BROKEN = {
    "offsets beyond the text": (Type.TEXT, lying(pa.string(), 2, offset(0, 8, 8), (0, 8, 9000), TEXT)),
    "offsets that fall": (Type.TEXT, lying(pa.string(), 2, offset(0, 8, 8), (0, 8, 2), TEXT)),
    "a negative offset": (Type.TEXT, lying(pa.string(), 2, offset(0, 4, 8), (-4, 4, 8), TEXT)),
    "bytes that are no UTF-8": (Type.TEXT, pa.table({"x": pa.array([b"Sentinel\xff"], pa.binary()).view(pa.string())})),
    "a code beyond the dictionary": (Type.TEXT, miscoded(0, 70_000)),
    "a code below it": (Type.TEXT, miscoded(0, -5)),
    "a view beyond its buffer": (Type.TEXT, lying(pa.string_view(), 1, view(8)[:16], view(5000)[:16], TEXT * 4)),
    "a decimal of too many digits": (Type.DECIMAL, lying(pa.decimal128(3, 0), 1, number(1, 0), (10**9, 0))),
    "a day that is not whole": (Type.DATE, lying(pa.date64(), 1, number(0), (12345,))),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_frame_is_validated_before_a_cell_is_read(case):
    kind, table = BROKEN[case]
    with pytest.raises(DataError, match="cannot be read") as caught:
        ENGINE.scan(table, schema(kind))
    assert "Sentinel" not in str(caught.value)


@pytest.fixture(params=["file", "stream"], autouse=True)
def form(request):
    """Every test is made with a file that has a footer, and with one that holds a stream."""
    WRITER[0] = ipc.new_file if request.param == "file" else ipc.new_stream
    return request.param


WRITER = [ipc.new_file]


def written(table, **options):
    file = io.BytesIO()
    with WRITER[0](file, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return file.getvalue()


def replaced(content, old, new):
    """The file with some bytes that occur once in it replaced by as many others."""
    assert content.count(old) == 1
    assert len(old) == len(new)
    return content.replace(old, new)


def refused(tmp_path, content, kind=Type.TEXT, match="cannot be read", **more):
    (tmp_path / "t.arrow").write_bytes(content)
    with pytest.raises(DataError, match=match) as caught:
        ENGINE.scan(tmp_path / "t.arrow", schema(kind, **more))
    assert "Sentinel" not in str(caught.value)


def test_offsets_codes_and_letters_of_a_file_are_validated(tmp_path):
    content = written(pa.table({"x": ["Sentinel", "Sentinel7"]}))
    offsets = struct.pack("<3i", 0, 8, 17)
    for wrong in ((0, 8, 2_000_000), (0, 18, 17), (-1, 8, 17), (0, 8, -17)):
        refused(tmp_path, replaced(content, offsets, struct.pack("<3i", *wrong)))
    refused(tmp_path, replaced(content, b"SentinelSentinel7", b"SentinelSentine\xc3\x28"))
    coded = pa.DictionaryArray.from_arrays(pa.array([3, 1, 0, 2, 1], pa.int32()), ["Sentinel", "b", "c", "d"])
    content = written(pa.table({"x": coded}))
    for wrong in (4, -1, 2**31 - 1):
        refused(tmp_path, replaced(content, struct.pack("<5i", 3, 1, 0, 2, 1), struct.pack("<5i", 3, 1, 0, 2, wrong)))


@pytest.mark.parametrize("packed", [None, "zstd", "lz4"])
def test_missing_values_that_the_metadata_deny_are_not_read_as_values(tmp_path, packed):
    """Where a column is said to have none missing, Arrow does not look at the bits: a missing value is what lies there."""
    content = written(pa.table({"x": pa.array([17, None, 19, None, None])}), compression=packed)
    lying = replaced(content, struct.pack("<2q", 5, 3), struct.pack("<2q", 5, 0))
    refused(tmp_path, lying, Type.INTEGER, missing=Missing.REFUSE)
    refused(tmp_path, lying, Type.INTEGER)
    for count in (1, -1, 6, 2**40):
        refused(tmp_path, replaced(content, struct.pack("<2q", 5, 3), struct.pack("<2q", 5, count)), Type.INTEGER)


def test_bits_that_say_that_nothing_is_missing_are_allowed(tmp_path):
    """Writers of other languages write them always."""
    frame = pl.DataFrame({"x": ["a", "b", "c"], "y": [1, 2, 3]}).with_columns(z=pl.col("x").cast(pl.Categorical))
    frame.write_ipc(tmp_path / "t.arrow")
    assert ENGINE.scan(tmp_path / "t.arrow", schema()).collect(["x"])["x"].tolist() == ["a", "b", "c"]
    coded = Schema((Attribute("z", Role.QUASI, Type.CATEGORY),))
    assert ENGINE.scan(tmp_path / "t.arrow", coded).collect(["z"])["z"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("rows", [0, 4, 6, 2**32 + 1, -1])
def test_a_batch_that_claims_another_number_of_rows(tmp_path, rows):
    content = written(pa.table({"x": pa.array([17, None, 19, 20, 21])}))
    node = replaced(content, struct.pack("<2q", 5, 1), struct.pack("<2q", rows, 0))
    refused(tmp_path, node, Type.INTEGER, match=r"do not hold|number of rows")


def test_a_buffer_that_claims_to_unpack_to_gigabytes(tmp_path, monkeypatch):
    table = pa.table({"x": pa.array(range(5000), pa.int64())})
    content = written(table, compression="zstd")
    size = struct.pack("<q", 40_000)
    refused(
        tmp_path, replaced(content, size, struct.pack("<q", 2**40)), Type.INTEGER, match="unpacks to more than is read"
    )
    refused(tmp_path, replaced(content, size, struct.pack("<q", -9)), Type.INTEGER)
    refused(tmp_path, replaced(content, size, struct.pack("<q", 39_999)), Type.INTEGER)
    monkeypatch.setattr(arrow_layout, "LARGEST", 39_999)
    refused(tmp_path, content, Type.INTEGER, match="a batch of the file unpacks to more")


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_rows_that_share_a_long_text_are_not_copied_without_bound(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(storage, "MOST_TEXT", 100_000)
    column = pa.array(["Sentinel" * 100] * 200).cast(kind)
    (tmp_path / "t.arrow").write_bytes(written(pa.table({"x": column})))
    refused(tmp_path, written(pa.table({"x": column})), match="refer to texts that are too long together")
    (tmp_path / "t.arrow").write_bytes(written(pa.table({"x": column.slice(0, 100)})))
    assert ENGINE.scan(tmp_path / "t.arrow", schema()).rows() == 100


def test_the_file_is_not_mapped_into_memory(tmp_path):
    """A mapped file could change after it was validated, and shrinking it would end the process."""
    (tmp_path / "t.arrow").write_bytes(written(pa.table({"x": range(200_000)})))
    table = ENGINE.scan(tmp_path / "t.arrow", schema(Type.INTEGER))
    assert "t.arrow" not in Path("/proc/self/maps").read_text()
    assert table.rows() == 200_000


def test_columns_beside_those_that_are_read_may_have_any_type(tmp_path):
    rows = 6
    table = pa.table(
        {
            "n": pa.nulls(rows),
            "v": pa.array(["a" * 20, None] * 3, pa.string_view()),
            "l": pa.array([[1, None], None] * 3),
            "f": pa.array([[1, 2], None] * 3, pa.list_(pa.int8(), 2)),
            "s": pa.array([{"a": 1, "b": "x"}, None] * 3),
            "m": pa.array([[("k", 1)], None] * 3, pa.map_(pa.string(), pa.int8())),
            "lv": pa.array([[1], None] * 3, pa.list_view(pa.int8())),
            "u": pa.UnionArray.from_sparse(pa.array([0, 1] * 3, pa.int8()), [pa.array(range(rows)), pa.array(list("abcdef"))]),
            "r": pa.RunEndEncodedArray.from_arrays([4, rows], ["a", "b"]),
            "id": pa.array([b"0" * 16] * rows, pa.uuid()),
            "d": pa.array(["x", None] * 3).dictionary_encode(),
            "x": pa.array(["p", "q", None] * 2),
        }
    )  # fmt: skip
    for packed in (None, "zstd"):
        (tmp_path / "t.arrow").write_bytes(written(table, compression=packed))
        assert check_layout(tmp_path / "t.arrow", table.schema, [0, 1, 10, 11]) == rows
        assert ENGINE.scan(tmp_path / "t.arrow", schema()).collect(["x"])["x"].tolist() == ["p", "q", None] * 2


def test_a_stream_is_read_to_its_end_and_not_beyond(tmp_path, form):
    if form == "file":
        return
    table = pa.table({"x": pa.array(["a", "b", None, "b"]).dictionary_encode(), "y": [1, 2, 3, 4]})
    file = io.BytesIO()
    with ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table.slice(0, 2))
        other = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), ["Zug"])
        writer.write_batch(pa.record_batch({"x": other, "y": [5, 6]}))  # a dictionary that replaces the one before
    content = file.getvalue()
    coded = Schema((Attribute("x", Role.QUASI, Type.CATEGORY),))
    for name in ("t.arrows", "t.arrow", "t.feather"):
        (tmp_path / name).write_bytes(content)
        assert ENGINE.scan(tmp_path / name, coded).collect(["x"])["x"].tolist() == ["a", "b", "Zug", None]
    (tmp_path / "t.arrow").write_bytes(written(table.slice(0, 0)))
    assert ENGINE.scan(tmp_path / "t.arrow", coded).rows() == 0
    refused(tmp_path, content + content, Type.CATEGORY)  # a second stream would be lost
    refused(tmp_path, content + bytes(8), Type.CATEGORY)
    refused(tmp_path, b"", Type.CATEGORY)
    for cut in range(len(content)):  # between two messages as well, which Arrow reads without a word
        refused(tmp_path, content[:cut], Type.CATEGORY)


def test_a_feather_file_of_version_1_is_named(tmp_path):
    refused(tmp_path, b"FEA1" + bytes(40), match="Feather file of version 1")
