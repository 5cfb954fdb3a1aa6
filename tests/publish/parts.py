"""Releases whose Parquet tables are folders of parts, made from small ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from shoal.engine import write
from shoal.engine.write import files_of, write_file
from shoal.publish.certificate.model import MODELS
from shoal.publish.folder import CERTIFICATE, PAGE, hashes, write_certificate
from shoal.publish.verify.standalone import HANDBOOK
from tests.publish.release_folder import certificate


@contextmanager
def parts_of(rows: int) -> Iterator[None]:
    """Parts have so many rows inside this block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "PART_ROWS", rows)
        yield


def divide(folder: Path, rows: int) -> None:
    """Divide every Parquet table of a release into parts, and seal it again: the release of the same rows with parts."""
    for path in [path for path in folder.rglob("*.parquet") if path.is_file()]:
        table = pq.read_table(path)
        path.unlink()
        with parts_of(rows):
            write_file(path, table.schema, iter(table.to_batches()), lambda: None)
    model = MODELS[certificate(folder)["method"]].read(certificate(folder))
    files = {name: own for name, own in hashes(folder).items() if name not in {CERTIFICATE, PAGE, *HANDBOOK}}
    write_certificate(folder, model.model_copy(update={"files": files}))


def divided(folder: Path, target: Path, rows: int) -> Path:
    """A copy of a release with its tables in parts."""
    shutil.copytree(folder, target)
    divide(target, rows)
    return target


def part_files(folder: Path, table: str = "table.parquet") -> list[Path]:
    """The parts of a table in their order."""
    assert (folder / table).is_dir()
    return files_of(folder / table)
