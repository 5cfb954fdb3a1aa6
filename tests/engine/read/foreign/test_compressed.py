"""Compressed text is read block by block; what is cut short, altered or made to burst is refused, and not quoted."""

from __future__ import annotations

import gzip
import random
import zipfile

import pyarrow as pa
import pytest

from shoal.data.schema import Attribute, FileFormat, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read import source
from shoal.engine.read.foreign.compressed import BLOCK, blocks_of, inner_ending, is_packed
from shoal.engine.read.input import recognize
from shoal.errors import DataError
from tests.engine.oracle import OracleEngine
from tests.engine.read.foreign.refusals import outcome

SCHEMA = Schema((Attribute("a", Role.QUASI, Type.INTEGER), Attribute("town", Role.QUASI, Type.TEXT)))
TEXT = "a;town\n" + "".join(f'{number};"Zürich; {number % 7}"\n' for number in range(500))
HELD = "Zürich"


def pack(path, data, inner="t.csv"):
    """Write bytes as the ending says."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    elif path.suffix == ".zst":
        path.write_bytes(pa.compress(data, "zstd", asbytes=True))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(inner, data)
    else:
        path.write_bytes(data)
    return path


NAMES = ["t.csv", "t.csv.gz", "t.tsv.zst", "t.txt.GZ", "t.zip"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252"])
def test_the_same_rows_however_they_are_packed(tmp_path, name, encoding):
    path = pack(tmp_path / name.lower(), TEXT.encode(encoding))
    form = FileFormat(encoding)
    schema = Schema(SCHEMA.attributes, form)
    for engine in (DuckDB(threads=1), OracleEngine()):
        found = engine.scan(path, schema).collect(["a", "town"])
        assert found["a"].tolist() == list(range(500))
        assert found["town"].tolist()[:2] == ["Zürich; 0", "Zürich; 1"]
    assert recognize(path, form).names == ("a", "town")


def test_blocks_are_those_of_the_file(tmp_path):
    data = random.Random(1).randbytes(10_000)  # noqa: S311
    for name in ("t.csv", "t.csv.gz", "t.csv.zst", "t.zip"):
        path = pack(tmp_path / name, data)
        assert b"".join(blocks_of(path, 777)) == data
        assert max(map(len, blocks_of(path, 777))) <= 777 < BLOCK
        assert inner_ending(path) == (".csv" if is_packed(path) else "")
    assert not is_packed(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.zip"])
def test_what_is_cut_short_is_refused(tmp_path, name):
    whole = pack(tmp_path / name, TEXT.encode()).read_bytes()
    for stop in (0, 1, 3, 20, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        (tmp_path / name).write_bytes(whole[:stop])
        with pytest.raises(DataError) as caught:
            DuckDB(threads=1).scan(tmp_path / name, SCHEMA)
        assert name in str(caught.value)
        assert HELD not in str(caught.value)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.zip"])
def test_altered_bytes_are_refused_or_read(tmp_path, name):
    whole = pack(tmp_path / name, TEXT.encode()).read_bytes()
    draw = random.Random(7)  # noqa: S311
    outcomes = set()
    for _ in range(40):
        altered = bytearray(whole)
        altered[draw.randrange(len(altered))] ^= 1 << draw.randrange(8)
        (tmp_path / name).write_bytes(altered)
        outcomes.add(outcome(tmp_path / name, HELD))
    assert "refused" in outcomes


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.zip"])
def test_a_bomb_is_refused_while_it_is_unpacked(tmp_path, name, monkeypatch):
    path = pack(tmp_path / name, b"a;town\n" + b"1;x\n" * 500_000)
    monkeypatch.setattr(source, "MOST_TEXT", 100_000)
    monkeypatch.setattr(source, "EXPANSION", 10)
    with pytest.raises(DataError, match="unpack to far more than its size"):
        DuckDB(threads=1).scan(path, SCHEMA)


def archive(path, *members, mode="w"):
    with zipfile.ZipFile(path, mode) as packed:
        for name in members:
            packed.writestr(name, TEXT)
    return path


@pytest.mark.parametrize(
    ("members", "match"),
    [
        ((), "does not hold one file; got t.zip with 0 files"),
        (("a.csv", "b.csv"), "does not hold one file; got t.zip with 2 files"),
        (("table.csv", "__MACOSX/._table.csv"), "with 2 files"),
        (("../t.csv",), "leads elsewhere"),
        (("/etc/t.csv",), "leads elsewhere"),
        (("c:\\t.csv",), "leads elsewhere"),
        (("t.exe",), "this kind of file is not known; got .zip with .exe inside"),
        (("t.zip",), "got .zip with .zip inside"),
        (("t",), "got .zip with a name without an ending inside"),
        (tuple(f"{number}.csv" for number in range(2000)), "more than one file"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_archive_holds_one_table(tmp_path, members, match):
    with pytest.raises(DataError, match=match):
        recognize(archive(tmp_path / "t.zip", *members))


def test_an_archive_with_a_folder_a_password_or_a_lie(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.mkdir("folder")
        packed.writestr("folder/t.csv", TEXT)
    assert recognize(path).rows == 500
    bare = archive(tmp_path / "p.zip", "t.csv").read_bytes()
    locked = bytearray(bare)
    locked[6] |= 1
    at = locked.rfind(b"PK\1\2")
    locked[at + 8] |= 1
    (tmp_path / "p.zip").write_bytes(locked)
    with pytest.raises(DataError, match="needs a password"):
        recognize(tmp_path / "p.zip")
    (tmp_path / "q.zip").write_bytes(TEXT.encode())
    with pytest.raises(DataError, match="no zip archive"):
        recognize(tmp_path / "q.zip")


def test_packed_endings_that_hold_no_text(tmp_path):
    for name in ("t.gz", "t.parquet.gz", "t.xlsx.zst"):
        with pytest.raises(DataError, match=r"this kind of file is not known; got .* inside"):
            recognize(pack(tmp_path / name, b"x"))
    with pytest.raises(DataError, match="there is no such file"):
        recognize(tmp_path / "none.csv.gz")
    with pytest.raises(DataError, match="there is no such file"):
        recognize(tmp_path / "none.zip")


def test_an_empty_text(tmp_path):
    for name in ("t.csv.gz", "t.csv.zst", "t.zip"):
        with pytest.raises(DataError, match=r"the first line is empty|the file is empty"):
            recognize(pack(tmp_path / name, b""))
