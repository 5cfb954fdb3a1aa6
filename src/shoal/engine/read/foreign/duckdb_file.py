"""Database files of DuckDB: opened to read, in a connection of their own that can open nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.data.schema import STANDARD, FileFormat
from shoal.engine.read.foreign.relation import choose_relation, quote_name
from shoal.engine.read.source import STEP, Stamp, StoredColumns, refuse_rows
from shoal.errors import DataError, ShoalError

if TYPE_CHECKING:
    import pyarrow as pa

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "lock_configuration": True,
}


def open_duckdb(path: Path, form: FileFormat = STANDARD) -> StoredColumns:
    """Open a table, a view or a query of a DuckDB file; columns have the types that the file declares.

    Times of day and spans of time, which no declared type of a policy reads, come as text.
    """
    before = path.with_name(f"{path.name}.wal")
    stamp = Stamp.of([path, before] if before.exists() else [path])
    connection = _connect(path)
    relation = choose_relation(form, _tables(connection), path.name)
    shape = _run(path, form, lambda: connection.sql(f"SELECT * FROM {relation} LIMIT 0").to_arrow_table().schema)
    names = tuple(shape.names)
    spelled = {name for name, kind in zip(names, shape.types, strict=True) if _is_clock(kind)}
    rows = _run(path, form, lambda: connection.execute(f"SELECT count(*) FROM {relation}").fetchall()[0][0])
    refuse_rows(path.name, rows)

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        asked = ", ".join(_column(names[place], names[place] in spelled) for place in places)
        own = connection.cursor()  # a connection of its own: one has one result at a time
        try:
            reader = _run(path, form, lambda: own.sql(f"SELECT {asked} FROM {relation}").to_arrow_reader(STEP))
            while (batch := _run(path, form, lambda: next(reader, None))) is not None:
                yield batch
        finally:
            own.close()

    kinds = tuple(_text() if name in spelled else kind for name, kind in zip(names, shape.types, strict=True))
    return StoredColumns(path.name, names, kinds, rows, stamp, opener)


def _connect(path: Path) -> Any:
    import duckdb

    with contextlib.suppress(duckdb.Error):  # what it says may quote the file
        return duckdb.connect(str(path), read_only=True, config=_SETTINGS)
    raise DataError(
        "the database cannot be opened",
        came=path.name,
        fix="check that it is whole, that no other program has it open to write, and that this version of DuckDB knows its form",
    )


def _tables(connection: Any) -> dict[str, str]:
    """All tables and views by the names that a policy may write: those of the schema `main` by their name alone."""
    found = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_catalog = current_database() ORDER BY table_schema <> 'main', 1, 2"
    ).fetchall()
    return {
        table if schema == "main" else f"{schema}.{table}": f"{quote_name(schema)}.{quote_name(table)}"
        for schema, table in found
    }


def _run(path: Path, form: FileFormat, work: Any) -> Any:
    """Run some work of DuckDB; its messages may quote a value, and are not repeated, but for what is wrong with a query."""
    import duckdb

    try:
        return work()
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        failed: ShoalError = DataError(
            "the query of the policy cannot be run" if form.query is not None else "the table cannot be read",
            came=f"{path.name}: {str(error).splitlines()[0]}",
            allowed="one SELECT that reads tables of this database",
        )
    except (duckdb.OutOfMemoryException, MemoryError):
        raise MemoryError from None
    except duckdb.Error:
        failed = DataError("the table cannot be read", came=path.name, fix="check that the file is whole")
    raise failed


def _column(name: str, spelled: bool) -> str:
    return f"CAST({quote_name(name)} AS VARCHAR) AS {quote_name(name)}" if spelled else quote_name(name)


def _is_clock(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_time(kind) or types.is_interval(kind) or types.is_duration(kind))


def _text() -> pa.DataType:
    import pyarrow as pa

    return pa.string()
