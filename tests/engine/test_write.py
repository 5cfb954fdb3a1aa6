"""Labels are written as they are; those that a spreadsheet takes for formulas can be found beforehand; many rows make parts."""

from __future__ import annotations

import csv
import os

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.engine import write
from shoal.engine.write import (
    encode_part,
    files_of,
    formula_columns,
    part_name,
    reads_as_formula,
    table_files,
    write_file,
    write_parts,
)
from shoal.errors import UsageError, VerificationError

SHAPE = pa.schema([("x", pa.int64()), ("label", pa.dictionary(pa.int8(), pa.string()))])


def batches_of(*sizes):
    """Batches with so many rows, whose numbers go on from one to the next."""
    first = 0
    for size in sizes:
        labels = pa.DictionaryArray.from_arrays(pa.array([place % 2 for place in range(size)], pa.int8()), ["a", "b"])
        yield pa.RecordBatch.from_arrays([pa.array(range(first, first + size), pa.int64()), labels], schema=SHAPE)
        first += size


def rows_of(path):
    return [parquet.read_table(file).column("x").to_pylist() for file in files_of(path)]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1 to 2", "-", "-5..0", "@x", "\tx", "\rx", "＝1", "+", "-1,5", "=-1", "-1e", "--1"]
)
def test_what_a_spreadsheet_takes_for_a_formula(text):
    assert reads_as_formula(text)


@pytest.mark.parametrize(
    "text", ["", "1", "-1", "+1", "-1.5", "-.5", "-1e-5", "a=1", "0-9", "[-5, 0)", "'=1", " =1", "(missing)", "*"]
)
def test_what_it_does_not(text):
    assert not reads_as_formula(text)


def test_columns_are_found_by_their_labels_and_by_their_names():
    assert formula_columns({"a": ["x"], "b": ["x", "=y"], "-c": [], "d": []}) == ("b", "-c")


def test_labels_are_written_letter_by_letter(tmp_path):
    labels = ["=1+1", "-5 to 0", "@x", "\tx", "plain"]
    shape = pa.schema([("x", pa.string())])
    write_file(tmp_path / "t.csv", shape, iter([pa.record_batch([pa.array(labels)], schema=shape)]), lambda: None)
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)] == ["x", *labels]


def test_a_parquet_file_carries_our_note_and_no_other(tmp_path):
    plain = pa.schema([("x", pa.int64())])
    for notes, kept in (({}, None), ({"pandas": "1"}, None), ({"shoal": "nobody", "who": "me"}, {b"shoal": b"nobody"})):
        batches = iter([pa.record_batch([pa.array([1, 2])], schema=plain)])
        write_file(tmp_path / "t.parquet", plain.with_metadata(notes), batches, lambda: None)
        assert parquet.ParquetFile(tmp_path / "t.parquet").metadata.metadata == kept


def test_the_file_is_on_the_disk_before_it_has_its_name_and_the_name_afterwards(tmp_path, monkeypatch):
    said = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (said.append("file"), sync(handle)))
    monkeypatch.setattr(write, "sync_folder", lambda folder: said.append((folder, (tmp_path / "t.csv").exists())))
    shape = pa.schema([("x", pa.int64())])
    write_file(tmp_path / "t.csv", shape, iter([pa.record_batch([pa.array([1])], schema=shape)]), lambda: None)
    assert said == ["file", (tmp_path, True)]


# --- parts --------------------------------------------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(0, 7), max_size=6), most=st.integers(1, 9))
def test_more_rows_than_a_part_has_make_a_folder_and_no_row_is_lost(tmp_path_factory, sizes, most):
    path, total = tmp_path_factory.mktemp("parts") / "t.parquet", sum(sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "PART_ROWS", most)
        write_file(path, SHAPE, batches_of(*sizes), lambda: None)
    every = list(range(total))
    assert rows_of(path) == ([every[first : first + most] for first in range(0, total, most)] or [[]])
    assert path.is_dir() == (total > most)
    if path.is_dir():
        assert [file.name for file in files_of(path)] == [part_name(number) for number in range(-(-total // most))]


def test_a_part_is_the_file_that_its_rows_alone_would_be(tmp_path, monkeypatch):
    write_file(tmp_path / "whole.parquet", SHAPE, batches_of(4), lambda: None)
    assert (tmp_path / "whole.parquet").read_bytes() == encode_part(SHAPE, batches_of(4))
    monkeypatch.setattr(write, "PART_ROWS", 4)
    write_file(tmp_path / "parts.parquet", SHAPE, batches_of(4, 3), lambda: None)
    assert (tmp_path / "parts.parquet" / part_name(0)).read_bytes() == encode_part(SHAPE, batches_of(4))
    held = [encode_part(SHAPE, [batch]) for batch in batches_of(4, 3)]
    write_parts(tmp_path / "same.parquet", iter(held), lambda: None)
    for file in files_of(tmp_path / "parts.parquet"):
        assert file.read_bytes() == (tmp_path / "same.parquet" / file.name).read_bytes()


def test_every_part_carries_our_note(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "PART_ROWS", 2)
    write_file(
        tmp_path / "t.parquet", SHAPE.with_metadata({"shoal": "nobody", "who": "me"}), batches_of(5), lambda: None
    )
    noted = [parquet.ParquetFile(file).metadata.metadata for file in files_of(tmp_path / "t.parquet")]
    assert noted == [{b"shoal": b"nobody"}] * 3


def test_a_csv_table_is_one_file_however_many_rows_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "PART_ROWS", 2)
    write_file(tmp_path / "t.csv", SHAPE, batches_of(5), lambda: None)
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 6


def broken():
    yield from batches_of(3)
    raise KeyboardInterrupt


def refuse():
    raise UsageError("the input changed")


@pytest.mark.parametrize(
    ("write_it", "error"),
    [
        (lambda path: write_file(path, SHAPE, broken(), lambda: None), KeyboardInterrupt),
        (lambda path: write_file(path, SHAPE, batches_of(5), refuse), UsageError),
        (
            lambda path: write_parts(path, (encode_part(SHAPE, [each]) for each in broken()), lambda: None),
            KeyboardInterrupt,
        ),
        (lambda path: write_parts(path, [encode_part(SHAPE, batches_of(5))], refuse), UsageError),
        (lambda path: write_parts(path, [], lambda: None), UsageError),
        (
            lambda path: write_parts(path, [encode_part(SHAPE, batches_of(5)), encode_part(SHAPE, [])], refuse),
            UsageError,
        ),
        (lambda path: write_parts(path, [b"no Parquet"], lambda: None), UsageError),
    ],
)
def test_a_folder_of_parts_appears_whole_or_not_at_all(tmp_path, monkeypatch, write_it, error):
    monkeypatch.setattr(write, "PART_ROWS", 2)
    with pytest.raises(error):
        write_it(tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced_by_a_folder_nor_a_folder_by_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "PART_ROWS", 2)
    (tmp_path / "t.parquet").write_text("old")
    with pytest.raises(UsageError, match="something stands where the table should go"):
        write_file(tmp_path / "t.parquet", SHAPE, batches_of(5), lambda: None)
    assert (tmp_path / "t.parquet").read_text() == "old"
    write_file(tmp_path / "p.parquet", SHAPE, batches_of(5), lambda: None)
    for sizes in ((5,), (1,)):
        with pytest.raises(UsageError, match="something stands where the table should go"):
            write_file(tmp_path / "p.parquet", SHAPE, batches_of(*sizes), lambda: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.parquet", "t.parquet"]
    assert rows_of(tmp_path / "p.parquet") == [[0, 1], [2, 3], [4]]


def test_parts_are_on_the_disk_before_their_folder_has_its_name(tmp_path, monkeypatch):
    said = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (said.append((tmp_path / "t.parquet").exists()), sync(handle)))
    write_parts(tmp_path / "t.parquet", [encode_part(SHAPE, batches_of(2))] * 3, lambda: said.append("verified"))
    assert said == [False, False, False, "verified", False, True]  # three parts, their folder, the folder around it


def test_the_listed_files_of_a_table():
    parts = [f"t.parquet/{part_name(number)}" for number in range(3)]
    assert table_files({*parts, "u.parquet"}, "t.parquet") == tuple(parts)
    assert table_files({*parts, "u.parquet"}, "u.parquet") == ("u.parquet",)
    assert table_files({"u.parquet", "t.parquet/part-1.parquet"}, "t.parquet") == ("t.parquet",)  # which is not listed
    for wrong in ({parts[0], parts[2]}, {*parts, "t.parquet/notes.txt"}):
        with pytest.raises(VerificationError, match="not numbered from 0 without a gap"):
            table_files(wrong, "t.parquet")
