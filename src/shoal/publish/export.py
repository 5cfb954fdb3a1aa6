"""A verified release in, a file or a database table out: typed columns, with the labels of columns and values.

    export("visits-2026", "visits.parquet", intervals="columns", sets="codes")
    export("visits-2026", "visits.dta")
    export("visits-2026", "postgresql://host/study", into="visits")

It is post-processing, so it costs no privacy. What is written has no certificate: whoever gets it cannot verify it, so pass the
release on and not the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.assess.frame.column import EVERY, GONE, SET, VALUE, PublishedColumn, PublishedLabel
from shoal.assess.frame.table import Intervals, Sets, TypedColumn, check_options, typed_column, typed_table
from shoal.assess.release.sealed_folder import SealedFolder
from shoal.assess.release.view import read_table
from shoal.data.archive import open_release
from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.data.type import Type
from shoal.engine.read.foreign.address import is_address, show_address
from shoal.engine.write import whole_or_nothing
from shoal.engine.write_foreign import STATISTICAL, write_database, write_statistical
from shoal.errors import NextCommand, UsageError
from shoal.files.write import free_name, free_name_like, refuse_overwriting
from shoal.progress import Stage, each_of, silent, within
from shoal.publish.handbook.codebook import words_of
from shoal.publish.handbook.content import COUNTS, NUMBERS, SYNTHETIC, Handbook, HandbookTable
from shoal.publish.handbook.files import handbook_of
from shoal.publish.verify.release import require, verify

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN = (".csv", ".parquet")
WRITING = "writing the rows"
"""The name of the stage."""
CSV_PIECE = 1 << 16
PARQUET_PIECE = 1 << 20
"""Rows that are written at a time; of Parquet, the rows of a group."""
_NUMBERS = ("noisy number of records", "lower end of its 95 % interval", "upper end of its 95 % interval")


@dataclass(frozen=True)
class ExportedTable:
    """What was written: where, from which table of the release, and how much."""

    target: str
    """The file, or the database without what is secret in its address."""
    table: str
    rows: int
    columns: tuple[str, ...]
    """The names of the columns as they were written: Stata and SPSS do not allow all."""


def export(
    folder: str | Path,
    target: str | Path,
    *,
    table: str | None = None,
    into: str | None = None,
    intervals: Intervals = "text",
    sets: Sets = "text",
    stage: Stage = silent,
) -> ExportedTable:
    """Verify a release and write one of its tables for other programs.

    Arguments  `folder`: a release folder or its zip file; `target`: a file that ends in .csv, .parquet, .dta, .sav or .zsav, or
               the address of a database; `table`: which table of the release, where there are several; `into`: the name of the
               new database table; `intervals` and `sets` as in `shoal.assess.frame.table`; `stage`: is told what is done
    Raises     UsageError for a target that exists or cannot be written, VerificationError for a release that fails a check
    """
    address = is_address(target) and isinstance(target, str)
    _check(target, address=address, into=into, intervals=intervals, sets=sets)
    if not address and Path(folder).resolve() in Path(target).resolve().parents:
        raise UsageError(
            "the file would lie in the release folder, which then no longer verifies",
            came=str(target),
            fix="write it outside the folder",
        )
    with open_release(Path(folder)) as where:
        require(verify(where, within(stage, "verifying")))
        stage("reading the table")
        sealed = SealedFolder.open(where)
        handbook = handbook_of(where, sealed.certificate, sealed.read("policy.lock.yaml").decode("utf-8"))
        own = _pick(handbook, table)
        raw = read_table(sealed, own.file, own.columns)
    if own.kind == SYNTHETIC and "synthetic" not in ((into if address else Path(target).stem) or "").lower():
        raise UsageError(
            "what holds synthetic rows has to say so by its name",
            came=into if address else Path(target).name,
            allowed="a name with 'synthetic'",
        )
    made = typed_table(
        raw, [_typed(handbook, own, name) for name in own.columns], intervals=intervals, sets=sets, stage=stage
    )
    book = Codebook(tuple(_descriptions(handbook, own, made, sets)), own.file)
    if address:
        write_database(str(target), into or "", _plain(made), book, stage)
        return ExportedTable(
            f"{into} in {show_address(str(target))}", own.name, made.num_rows, tuple(made.column_names)
        )
    path = Path(target)
    names = {name: name for name in made.column_names}
    if path.suffix.lower() in STATISTICAL:
        names = write_statistical(path, _plain(made), book, stage)
    else:
        _write(path, made, book, stage)
    return ExportedTable(str(path), own.name, made.num_rows, tuple(names.values()))


def _check(target: str | Path, *, address: bool, into: str | None, intervals: str, sets: str) -> None:
    """Refuse what cannot be written, before the release is verified."""
    check_options(intervals, sets)
    suffix = "" if address else Path(target).suffix.lower()
    if address and not into:
        raise UsageError("a database needs the name of the new table", fix="say --table NAME (into=NAME)")
    if not address and into:
        raise UsageError("a file holds one table, which has no name", came=into, fix="leave --table (into) out")
    if not address and suffix not in (*PLAIN, *STATISTICAL):
        raise UsageError(
            "cannot write this kind of file",
            came=Path(target).name,
            allowed=f"{', '.join((*PLAIN, *STATISTICAL))}, or the address of a database",
            fix="name a file that ends so; spreadsheets import .csv, DuckDB and Polars read .parquet",
            step=NextCommand(replace=(str(target), _readable(str(target), suffix)), only=("export",)),
        )
    if intervals == "struct" and suffix != ".parquet":
        raise UsageError(
            "only Parquet holds both ends of an interval in one column",
            came=f"intervals = struct for {'a database' if address else suffix}",
            fix="ask for two columns: --intervals columns",
        )
    if not address:
        if os.path.lexists(target):
            raise UsageError(
                "the file exists",
                came=target,
                fix="choose another name, or remove it",
                step=NextCommand(replace=(str(target), free_name(str(target)))),
            )
        refuse_overwriting(Path(target), force=True)


def _pick(handbook: Handbook, name: str | None) -> HandbookTable:
    names = [table.name for table in handbook.tables]
    if name is None and len(names) == 1:
        name = names[0]
    found = next((table for table in handbook.tables if table.name == name), None)
    if found is None:
        shown = ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")
        raise UsageError(
            "the release has several tables: name one" if name is None else "no table of this name",
            came=name,
            allowed=shown,
            fix="say --which NAME (table=NAME)",
            step=NextCommand(option=("--which", _nearest_table(name, names)), only=("export",)),
        )
    return found


def _readable(target: str, suffix: str) -> str:
    """A file beside the one that cannot be written, in the form that the program behind its ending reads best."""
    ending = ".csv" if suffix in ("", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods") else ".parquet"
    return free_name_like(str(Path(target).with_suffix(ending)))


def _nearest_table(name: str | None, names: list[str]) -> str:
    """The table that a name was probably meant to be, or the first one."""
    return next(iter(get_close_matches(name or "", names, n=1, cutoff=0.3)), names[0])


def _typed(handbook: Handbook, table: HandbookTable, name: str) -> TypedColumn:
    column = handbook.by_name[name]
    if name in table.rules:
        return typed_column(column, table.rules[name], counts=table.kind == COUNTS)
    return TypedColumn(column, handbook.cell_type(table, name), None)


def _descriptions(handbook: Handbook, table: HandbookTable, made: pa.Table, sets: Sets) -> Iterator[ColumnDescription]:
    """What is known of each column that is written."""
    added = {name: words for name, words in zip(NUMBERS, _NUMBERS, strict=True) if table.kind == COUNTS} | table.added
    last: PublishedColumn | None = None
    for name in made.column_names:
        if name in table.columns:
            last = handbook.by_name[name]
            yield ColumnDescription(name, last.title, values=_values(handbook, table, last, sets))
        elif name in added:
            yield ColumnDescription(name, added[name])
        elif last is not None:
            end = "lower end, included" if name.rstrip("_").endswith("_low") else "upper end, not included"
            yield ColumnDescription(name, f"{last.title or last.name}: {end}")


def _values(
    handbook: Handbook, table: HandbookTable, column: PublishedColumn, sets: Sets
) -> tuple[CodedValue, ...] | None:
    """The values that a column may have, with what they mean; None where they are not listed."""
    typed = _typed(handbook, table, column.name)
    if typed.labels is None:
        listed = column.values if typed.type in (Type.CATEGORY, Type.ORDINAL) else tuple(column.value_labels)
        if not listed or (not typed.type.numeric and typed.type not in (Type.CATEGORY, Type.ORDINAL)):
            return None
        return tuple(CodedValue(value, column.value_labels.get(value)) for value in listed)
    found: dict[str, CodedValue] = {}
    for label in typed.labels:
        if label.kind != GONE or typed.keeps_missing:
            value = label.code if sets == "codes" and label.code is not None else label.text
            found.setdefault(value, CodedValue(value, _meaning(column, label, sets)))
    return tuple(found.values()) or None


def _meaning(column: PublishedColumn, label: PublishedLabel, sets: Sets) -> str | None:
    """What a label means beyond its own text."""
    if label.kind == SET and (sets == "codes" or column.value_labels):
        return words_of(column, label)
    if label.kind == VALUE and label.values:
        return column.value_labels.get(label.values[0])
    return "any value" if label.kind == EVERY else None


def _plain(table: pa.Table) -> pa.Table:
    """A table without dictionaries: text as text."""
    import pyarrow as pa

    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _write(path: Path, table: pa.Table, book: Codebook, stage: Stage) -> None:
    """Write CSV, or Parquet with the labels in the notes of each column."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    with whole_or_nothing(path) as part:
        if path.suffix.lower() == ".csv":
            plain = _plain(table)
            with csv.CSVWriter(part, plain.schema) as lines:
                for piece in each_of(_pieces(plain, CSV_PIECE), stage, WRITING):
                    lines.write_table(piece)
            return
        fields = [field.with_metadata(_notes(book.get(field.name))) for field in table.schema]
        described = pa.table(table.columns, schema=pa.schema(fields))
        with parquet.ParquetWriter(part, described.schema) as groups:
            for piece in each_of(_pieces(described, PARQUET_PIECE), stage, WRITING):
                groups.write_table(piece)


def _pieces(table: pa.Table, size: int) -> list[pa.Table]:
    """The rows in pieces of so many; a table without rows is one piece."""
    return [table.slice(first, size) for first in range(0, max(1, table.num_rows), size)]


def _notes(described: ColumnDescription | None) -> dict[str, Any]:
    if described is None:
        return {}
    labels = {each.value: each.label for each in described.values or () if each.label}
    return {
        **({"label": described.label} if described.label else {}),
        **({"value_labels": json.dumps(labels, ensure_ascii=False)} if labels else {}),
    }
