"""Reads altered files one after the other, in a process that may crash, and says of each what happened.

    python -m tests.engine.read.read_altered KIND FIRST STOP FOLDER

A line is written before a file is read and one after. Memory and processor time are limited by whoever starts it.
"""

from __future__ import annotations

import csv
import io
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DataError, ShoalError
from tests.engine.read.altered import DIGITS, MARK, SCHEMA, SUFFIX, alter


def main(kind: str, first: int, stop: int, folder: Path) -> None:
    path = folder / f"t{SUFFIX[kind]}"
    for seed in range(first, stop):
        content = alter(kind, seed)
        path.write_bytes(content)
        print("begin", seed, flush=True)  # noqa: T201
        began = time.process_time()
        word = outcome(kind, path, folder)
        spent = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print("end", seed, word.replace("\n", " "), f"{spent:.2f}", memory, sep="\t", flush=True)  # noqa: T201


def outcome(kind: str, path: Path, folder: Path) -> str:
    """Say whether a file was refused, read as an independent reader reads it, or what else happened."""
    try:
        table = DuckDB(threads=1, memory="500MB").scan(path, SCHEMA)
        table.digest()
        kept = table.keep(lambda start, count: np.arange(start, start + count) % 2 == 0)
        kept.count_by(["age", "town"])
        kept.select(["age", "town"]).suppress_below(["age", "town"], 2).write(folder / "out.csv")
        table.write(folder / "out.parquet", sort=False)
        found = {name: table.collect([name])[name].tolist() for name in table.columns}
    except ShoalError as error:
        said = everything_said(error)
        if MARK in said or DIGITS in said:
            return f"QUOTED {said[:300]}"
        return f"refused {type(error).__name__} {error.wrong}" if isinstance(error, DataError) else f"OTHER {error}"
    except BaseException:  # noqa: BLE001 - it is what is looked for
        return f"TRACEBACK {traceback.format_exc()[-600:]}"
    other = independent(kind, path)
    if isinstance(other, str):
        return f"accepted alone {other}"
    if other == found:
        return "accepted"
    wrong = next((name for name in found if other.get(name) != found[name]), None)
    return f"DIFFERS in {wrong}: {_first(found.get(wrong), other.get(wrong))}"


def _first(ours: Any, theirs: Any) -> str:
    if not isinstance(theirs, list) or len(ours) != len(theirs):
        return f"{len(ours)} rows, {len(theirs) if isinstance(theirs, list) else 'no column'}"
    return next(
        f"row {at}: {one!r} {two!r}" for at, (one, two) in enumerate(zip(ours, theirs, strict=True)) if one != two
    )


def everything_said(error: BaseException | None) -> str:
    """The messages of an error and of all that it holds."""
    said = []
    while error is not None:
        said += [str(error), repr(error.args)]
        error = error.__cause__ or error.__context__
    return " ".join(said)


def independent(kind: str, path: Path) -> dict[str, list[Any]] | str:
    """Read a file with another library: Python's own for CSV, Polars for the others; a text says why it was not read."""
    return _csv(path) if kind == "csv" else _polars(kind, path)


def _csv(path: Path) -> dict[str, list[Any]] | str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeError:
        return "no UTF-8"
    header = text.splitlines()[0]
    delimiter = max(",;\t|", key=lambda sign: len(set(next(csv.reader([header], delimiter=sign))) & set(SCHEMA.names)))
    names, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    if any(len(row) != len(names) for row in rows):
        return "ragged"
    from tests.engine.oracle_read import read

    found: dict[str, list[Any]] = {}
    for attribute in SCHEMA.attributes:
        place = names.index(attribute.name)
        found[attribute.name] = [None if row[place] == "" else read(row[place], attribute.type) for row in rows]
    return found


def _polars(kind: str, path: Path) -> dict[str, list[Any]] | str:
    import polars as pl

    try:
        frame = (
            pl.read_parquet(path, hive_partitioning=False)
            if kind == "parquet"
            else pl.read_ipc(io.BytesIO(path.read_bytes()))
        )
    except BaseException as error:  # noqa: BLE001 - a panic of Rust is no Exception
        return f"{type(error).__name__} {str(error)[:80]}"
    found = {}
    from tests.engine.oracle_read import _python, read

    for attribute in SCHEMA.attributes:
        if attribute.name not in frame.columns:
            return "lacks a column"
        held = frame[attribute.name].to_arrow()
        if pa.types.is_decimal(held.type):
            held = pa.array([None if v is None else float(v) for v in held.to_pylist()], pa.float64())
        if pa.types.is_timestamp(held.type):
            held = held.cast(pa.int64()).cast(pa.timestamp(held.type.unit))
        try:
            found[attribute.name] = [None if v is None else read(v, attribute.type) for v in _python(held)]
        except Exception as error:  # noqa: BLE001
            return f"unreadable {attribute.name} {type(error).__name__}"
    return found


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
