"""Labels are written as they are; those that a spreadsheet takes for formulas can be found beforehand."""

from __future__ import annotations

import csv
import os

import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.engine import write
from shoal.engine.write import formula_columns, reads_as_formula, write_file


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
