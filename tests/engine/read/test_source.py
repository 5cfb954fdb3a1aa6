"""What a table is read from: plain files that do not change."""

from __future__ import annotations

import mmap
import os
import socket

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.digest import file_digest
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read import source
from shoal.engine.read.source import Stamp
from shoal.errors import DataError

ENGINE = DuckDB(threads=1)
ONE = Schema((Attribute("x", Role.QUASI, Type.INTEGER),))
SUFFIXES = (".csv", ".parquet", ".arrow")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_pipe_is_refused_before_opening_it_would_wait(tmp_path, suffix):
    os.mkfifo(tmp_path / f"t{suffix}")
    with pytest.raises(DataError, match=rf"read from a plain file; got t{suffix}, a named pipe; write what it gives"):
        ENGINE.scan(tmp_path / f"t{suffix}", ONE)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_link_to_a_device_is_refused(tmp_path, suffix):
    (tmp_path / f"t{suffix}").symlink_to("/dev/zero")
    with pytest.raises(DataError, match="a device"):
        ENGINE.scan(tmp_path / f"t{suffix}", ONE)


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("t.csv")
        with pytest.raises(DataError, match="a socket"):
            ENGINE.scan("t.csv", ONE)


def test_a_pipe_among_the_files_of_a_folder_is_refused(tmp_path):
    parquet.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    os.mkfifo(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet, a named pipe"):
        ENGINE.scan(tmp_path, ONE)
    with pytest.raises(DataError, match=r"b\.parquet, a named pipe"):
        file_digest(tmp_path)


def test_links_that_lead_in_a_circle(tmp_path):
    (tmp_path / "t.csv").symlink_to(tmp_path / "t.csv")
    with pytest.raises(DataError, match="cannot be read"):
        ENGINE.scan(tmp_path / "t.csv", ONE)
    parquet.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    (tmp_path / "down").symlink_to(tmp_path)
    assert ENGINE.scan(tmp_path, ONE).rows() == 1


def test_a_file_that_the_system_makes_up_has_no_size_and_no_rows(tmp_path):
    (tmp_path / "t.csv").symlink_to("/proc/self/environ")
    with pytest.raises(DataError, match="the file is empty"):
        ENGINE.scan(tmp_path / "t.csv", ONE)


def test_a_path_that_no_system_has():
    for path in ("a\0b.csv", "x" * 5000 + ".csv", "\udcff.csv"):
        with pytest.raises(DataError, match=r"no such file|cannot be read"):
            ENGINE.scan(path, ONE)


def test_a_large_file_whose_time_was_set_back_is_known_by_the_time_of_its_inode(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "SMALL", 4)
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n2\n")
    status = path.stat()
    stamp = Stamp.of([path])
    stamp.verify()
    path.write_text("x\n1\n3\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    for verify in (stamp.verify, stamp.verify_quickly):
        with pytest.raises(DataError, match="the file changed while it was read"):
            verify()


def test_a_change_that_moves_no_time_is_seen_after_the_rows_were_stored(tmp_path):
    """A page that is mapped and written to already is changed without a new time, so that only the content tells."""
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n2\n")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as page:
        page[2:3] = b"1"
        table = ENGINE.scan(path, ONE)
        assert table.rows() == 2
        page[2:3] = b"2"
        with pytest.raises(DataError, match="the file changed while it was read"):
            table.collect(["x"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_replaced_by_a_pipe_has_changed(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    held = pa.table({"x": [1, 2]})
    if suffix == ".csv":
        path.write_text("x\n1\n2\n")
    elif suffix == ".parquet":
        parquet.write_table(held, path)
    else:
        feather.write_feather(held, path)
    table = ENGINE.scan(path, ONE)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match="the file changed while it was read"):
        table.rows()
