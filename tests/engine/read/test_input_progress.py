"""How far reading has come: the bytes of a file as it lies on the disk, then its rows, whatever the kind of file."""

from __future__ import annotations

import gzip
import json
import zipfile

import pyarrow as pa
import pytest

from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.base import open_engine
from shoal.progress import StageProgress
from tests.engine.read.foreign.workbooks import write_xlsx

ROWS = 200
SCHEMA = Schema((Attribute("age", Role.QUASI, Type.INTEGER),))
TEXT = "age\n" + "".join(f"{number % 90}\n" for number in range(ROWS))


def plain(path):
    path.write_text(TEXT)


def packed(path):
    path.write_bytes(gzip.compress(TEXT.encode()))


def zstandard(path):
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(TEXT.encode())


def archive(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("t.csv", TEXT)


def lines(path):
    path.write_text("".join(json.dumps({"age": number % 90}) + "\n" for number in range(ROWS)))


def workbook(path):
    write_xlsx(path, {"visits": [["age"], *([number % 90] for number in range(ROWS))]})


@pytest.mark.parametrize(
    ("name", "write", "before"),
    [
        ("t.csv", plain, {"reading the file"}),
        ("t.csv.gz", packed, {"reading the file"}),
        ("t.csv.zst", zstandard, {"reading the file"}),
        ("t.zip", archive, {"reading the file"}),
        ("t.jsonl", lines, {"reading the file"}),
        ("t.xlsx", workbook, {"checking the workbook", "looking for cells beside the table"}),
    ],
)
def test_bytes_and_then_rows_are_counted_to_the_end(tmp_path, name, write, before):
    write(tmp_path / name)
    told: list[str] = []
    table = open_engine(stage=told.append).scan(tmp_path / name, SCHEMA)
    last = {each.name: each for each in told if isinstance(each, StageProgress)}
    assert set(last) == before | {"reading the rows"}
    assert (last["reading the rows"].done, last["reading the rows"].total) == (ROWS, ROWS)
    for each in before:
        assert last[each].total
        assert last[each].done >= last[each].total * (0.5 if name == "t.zip" else 1)  # the list of files comes last
    assert told[-1] == "checking the rows"
    told.clear()
    table.contents()
    assert [(each.name, each.done, each.total) for each in told] == [("fingerprinting the rows", ROWS, ROWS)]


def test_of_a_frame_no_reading_is_reported():
    told: list[str] = []
    open_engine(stage=told.append).scan(pa.table({"age": [1, 2]}), SCHEMA)
    assert told == ["checking the rows"]
