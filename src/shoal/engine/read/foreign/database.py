"""Tables of databases: of a server (PostgreSQL, MySQL, any other that SQLAlchemy knows), or of a file of SQLite or DuckDB.

A server is read in one transaction that sees one state of the database and can write nothing. Columns get their types from what
the server declares of them, and never from rows.

The table that a promise is about is what the table, the view or the query gives. Where one person's rows decide which rows of
others that has (LIMIT, DISTINCT, aggregates, some joins), the promise does not reach the rows that lie behind it.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from shoal.data.schema import STANDARD, FileFormat
from shoal.engine.read.foreign.address import file_of_address, is_address, mask_secrets, parse_address, show_address
from shoal.engine.read.foreign.cell import spell_cell, spell_decimal
from shoal.engine.read.foreign.duckdb_file import open_duckdb
from shoal.engine.read.foreign.relation import choose_relation
from shoal.engine.read.foreign.sqlite_file import open_sqlite
from shoal.engine.read.source import STEP, Stamp, StoredColumns, refuse_rows, refuse_special
from shoal.engine.read.storage import spelled_numbers
from shoal.errors import DataError, ShoalError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa

MOST_CELLS: Final = 1 << 19
"""Values that are fetched at a time."""
_UNREACHABLE: Final = "the database cannot be reached"
_UNREADABLE: Final = "the table cannot be read"
T = TypeVar("T")


def open_database(data: str | Path, form: FileFormat = STANDARD) -> StoredColumns:
    """Open a table of a database: a file of SQLite or DuckDB, or an address as SQLAlchemy writes it.

    What is read is `form.table` or what `form.query` gives; where the policy names neither, the only table there is.

    Raises  DataError where it cannot be read or has no such table; UsageError where the address or a driver is at fault
    """
    if isinstance(data, Path) or not is_address(data):
        return _open_file(Path(data), form)
    file = file_of_address(data)
    return _open_server(parse_address(data), show_address(data), form) if file is None else _open_file(file, form)


def _open_file(path: Path, form: FileFormat) -> StoredColumns:
    refuse_special(path)
    with path.open("rb") as file:
        begin = file.read(16)
    if begin[8:12] == b"DUCK":
        return open_duckdb(path, form)
    if begin == b"SQLite format 3\0":
        return open_sqlite(path, form)
    raise DataError("the file is no database of SQLite or DuckDB", came=path.name, fix="check what the file is")


# --- servers --------------------------------------------------------------------------------------------------------


def _open_server(url: sa.URL, shown: str, form: FileFormat) -> StoredColumns:
    snapshot = _Snapshot(url, shown)
    relation = snapshot.relation(form)
    columns = snapshot.columns(relation)
    rows = snapshot.count(relation)
    refuse_rows(shown, rows)

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        wanted = [columns[place] for place in places]
        if not wanted:
            return
        if snapshot.begin() and snapshot.count(relation) != rows:
            snapshot.end()
            raise DataError("the table changed between two readings", came=shown, fix="start again")
        try:
            for arrays in snapshot.rows(relation, wanted):
                yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in wanted])
        finally:
            snapshot.end()

    names, kinds = (tuple(each) for each in zip(*((one.name, one.kind) for one in columns), strict=True))
    return StoredColumns(shown, names, kinds, rows, Stamp(()), opener)


@dataclass(frozen=True)
class _Column:
    """A column of a query: its name, the Arrow type that its declared type becomes, and how values are converted to it."""

    name: str
    kind: pa.DataType
    convert: Callable[[Sequence[Any]], pa.Array]
    as_text: int | None = None
    """The number of a type of PostgreSQL whose values are fetched as the text in which the server writes them."""


class _Snapshot:
    """One transaction on a server, which sees one state of its tables and can write nothing.

    It lasts from the opening of a table to the end of the first reading, so that what was described and counted is what is
    read. Then it ends, because the server keeps what an open transaction has seen; a later reading has its own.
    """

    def __init__(self, url: sa.URL, shown: str) -> None:
        self._shown, self._url = shown, url
        self._end: Any = None
        self.begin()
        self._quote: Callable[[str], str] = self._engine.dialect.identifier_preparer.quote_identifier

    def begin(self) -> bool:
        """Begin a transaction where none is open, and say whether one was begun."""
        if self._end is not None and self._end.alive:
            return False
        self._engine, self._connection = self._attempt(_UNREACHABLE, lambda: _connect(self._url))
        self._end = weakref.finalize(self, _close, self._engine, self._connection)
        return True

    def end(self) -> None:
        """End the transaction."""
        self._end()

    def relation(self, form: FileFormat) -> str:
        """The SQL for what is read."""
        if form.query is None:
            found = self._attempt("the tables of the database cannot be listed", lambda: self._tables(form.table))
            return choose_relation(form, found, self._shown)
        given = choose_relation(form, {}, self._shown)
        # Where a driver takes % for the place of a value, a doubled one is a percent sign.
        return given.replace("%", "%%") if self._engine.dialect.paramstyle in ("format", "pyformat") else given

    def _tables(self, named: str | None) -> dict[str, str]:
        """The tables and views of the default schema, and those of the schema that a name with a point begins with."""
        import sqlalchemy as sa

        inspector, quote = sa.inspect(self._connection), self._quote
        listed = {name: quote(name) for name in sorted([*inspector.get_table_names(), *inspector.get_view_names()])}
        schema = named.partition(".")[0] if named and "." in named else None
        if schema is not None and schema in inspector.get_schema_names():
            every = sorted([*inspector.get_table_names(schema), *inspector.get_view_names(schema)])
            listed |= {f"{schema}.{name}": f"{quote(schema)}.{quote(name)}" for name in every}
        return listed

    def columns(self, relation: str) -> list[_Column]:
        """The columns of a relation, by the types that the server declares."""
        query = f"SELECT * FROM {relation} WHERE 1 = 0"

        def describe() -> list[Any]:
            if self._url.get_backend_name() == "postgresql":
                # Asked for binary values, the server refuses a text that holds more than one statement.
                driver: Any = self._connection.connection.driver_connection
                with driver.cursor(binary=True) as cursor:
                    cursor.execute(query.replace("%%", "%"))
                    return list(cursor.description)
            result = self._run(query)
            described = list(result.cursor.description)
            result.close()
            return described

        choose = {"postgresql": _postgresql_column, "mysql": _mysql_column, "mariadb": _mysql_column}
        column = choose.get(self._url.get_backend_name(), _other_column)
        described = self._attempt(_UNREADABLE, describe)
        return [column(each[0], each[1]) for each in described]

    def count(self, relation: str) -> int:
        """The number of rows."""
        query = f"SELECT count(*) FROM {relation}"
        return int(self._attempt("the rows cannot be counted", lambda: self._run(query).scalar_one()))

    def rows(self, relation: str, wanted: Sequence[_Column]) -> Iterator[list[pa.Array]]:
        """The values of some columns, some thousand rows at a time; the server keeps the others until they are fetched."""
        step = max(1, min(STEP, MOST_CELLS // len(wanted)))
        query = f"SELECT {', '.join(self._quote(column.name) for column in wanted)} FROM {relation}"

        def fetch() -> list[pa.Array] | None:
            held = result.fetchmany(step)
            if not held:
                return None
            return [column.convert(cells) for column, cells in zip(wanted, zip(*held, strict=True), strict=True)]

        def ask() -> Any:
            for number in {column.as_text for column in wanted} - {None}:
                from psycopg.types.string import TextLoader

                driver: Any = self._connection.connection.driver_connection
                driver.adapters.register_loader(number, TextLoader)
            return self._run(query, step)

        result = self._attempt(_UNREADABLE, ask)
        try:
            while (arrays := self._attempt(_UNREADABLE, fetch)) is not None:
                yield arrays
        finally:
            with contextlib.suppress(Exception):  # what it says of its end is no news
                result.close()

    def _run(self, query: str, step: int | None = None) -> Any:
        options = {} if step is None else {"stream_results": True, "max_row_buffer": step}
        return self._connection.exec_driver_sql(query, execution_options=options)

    def _attempt(self, wrong: str, work: Callable[[], T]) -> T:
        """Do some work. What a driver says may quote a value or the address: of that, only what is wrong with a login or a
        query is repeated.
        """
        import sqlalchemy as sa

        failed: ShoalError
        try:
            return work()
        except ShoalError as error:
            failed = error
        except (ImportError, sa.exc.NoSuchModuleError):
            failed = UsageError(
                "the driver of this database is not installed",
                came=self._url.drivername,
                fix='`pip install "shoal[formats]"` installs those of PostgreSQL and MySQL; the documentation of SQLAlchemy '
                "names those of others",
            )
        except MemoryError:
            failed = DataError("reading the table takes more memory than the system gives", came=self._shown)
        except Exception as error:  # noqa: BLE001 - each driver has its own kinds, and so have the values
            reason = _reason(error, self._url)
            failed = DataError(
                wrong,
                came=self._shown if reason is None else f"{self._shown}: {reason}",
                fix=_REMEDY.get(wrong)
                if reason
                else "check that the server is there, and that every value is within its type: dates of the years 1 to 9999, "
                "none infinite",
            )
        raise failed


_REMEDY: Final = {
    _UNREACHABLE: "check host, port, user and database in the address, and that the server runs and lets you in: its own "
    "program (psql, mysql) should open it",
    _UNREADABLE: "check `--table` or `--query` of shoal init, or `file: {table: ...}` or `{query: ...}` of the policy; the "
    "server's own program should answer it",
}


def _connect(url: sa.URL) -> tuple[sa.Engine, sa.Connection]:
    """Connect, and begin the one transaction."""
    import sqlalchemy as sa
    from sqlalchemy.pool import NullPool

    backend = url.get_backend_name()
    engine = sa.create_engine(url, poolclass=NullPool)
    level = "REPEATABLE READ" if backend in ("postgresql", "mysql", "mariadb") else "SERIALIZABLE"
    connection = engine.connect()
    try:
        connection = connection.execution_options(
            isolation_level=level, **({"postgresql_readonly": True} if backend == "postgresql" else {})
        )
        for statement in _BEGIN.get(backend, ()):
            connection.exec_driver_sql(statement)
    except BaseException:
        _close(engine, connection)
        raise
    return engine, connection


_BEGIN: Final = {
    "postgresql": (
        "SET LOCAL synchronize_seqscans = off",  # rows come in one order, as often as they are read
        "SET LOCAL TIME ZONE 'UTC'",
        "SET LOCAL DateStyle = 'ISO, YMD'",
        "SET LOCAL IntervalStyle = 'iso_8601'",
        "SET LOCAL bytea_output = 'hex'",
    ),
    "mysql": ("SET SESSION time_zone = '+00:00'", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"),
    "mariadb": ("SET SESSION time_zone = '+00:00'", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"),
}
"""What each kind of server is told first. PostgreSQL is told by its driver to begin a transaction that reads alone."""


def _close(engine: sa.Engine, connection: sa.Connection) -> None:
    with contextlib.suppress(Exception):  # a server that is gone needs no goodbye
        connection.close()
    with contextlib.suppress(Exception):
        engine.dispose()


_REASONS: Final = ("08", "28", "3D", "3F", "42", "57P03", "0A", "25006")
"""Classes of PostgreSQL's errors that speak of the connection or the query, and not of values."""
_MYSQL_REASONS: Final = frozenset({1044, 1045, 1049, 1054, 1064, 1142, 1146, 1792, 2002, 2003, 2005, 2006, 2013})


def _reason(error: BaseException, url: sa.URL) -> str | None:
    """Repeat the first line of a driver's message where it speaks of the connection or the query alone."""
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    number = original.args[0] if original.args and isinstance(original.args[0], int) else None
    unreachable = type(original).__name__ in ("OperationalError", "ConnectionTimeout") and not state
    if not (unreachable or (state and state.startswith(_REASONS)) or number in _MYSQL_REASONS):
        return None
    text = str(original.args[1] if number is not None and len(original.args) > 1 else original)
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return mask_secrets(line, url)


# --- from declared types to columns ---------------------------------------------------------------------------------


def _plain_column(name: str, kind: pa.DataType) -> _Column:
    import pyarrow as pa

    return _Column(name, kind, lambda cells: pa.array(cells, kind))


def _text_column(name: str, spell: Callable[[Any], str | None]) -> _Column:
    import pyarrow as pa

    return _Column(name, pa.string(), lambda cells: pa.array([spell(cell) for cell in cells], pa.string()))


def _decimal_column(name: str) -> _Column:
    """Exact decimals, spelled digit by digit."""
    import pyarrow as pa

    def convert(cells: Sequence[Any]) -> pa.Array:
        texts = [None if cell is None or cell.is_nan() else spell_decimal(cell) for cell in cells]
        return pa.ExtensionArray.from_storage(spelled_numbers(), pa.array(texts, pa.large_string()))

    return _Column(name, spelled_numbers(), convert)


_PADDED = 1042
"""PostgreSQL's character(n), in which blanks at the end mean nothing."""


def _postgresql_column(name: str, code: int) -> _Column:
    """Choose by the number of the type; a type that no policy has comes as the text in which the server writes it."""
    import pyarrow as pa

    typed = {
        16: pa.bool_(),
        20: pa.int64(),
        21: pa.int64(),
        23: pa.int64(),
        26: pa.int64(),
        700: pa.float64(),
        701: pa.float64(),
        1082: pa.date32(),
        1114: pa.timestamp("us"),
        1184: pa.timestamp("us", "UTC"),
    }
    if code in typed:
        return _plain_column(name, typed[code])
    if code == 1700:
        return _decimal_column(name)
    unpadded = _text_column(name, lambda cell: cell and cell.rstrip(" "))
    return replace(unpadded if code == _PADDED else _text_column(name, lambda cell: cell), as_text=code)


def _mysql_column(name: str, code: int) -> _Column:
    import pyarrow as pa
    from pymysql.constants import FIELD_TYPE as F

    whole = (F.TINY, F.SHORT, F.INT24, F.LONG, F.LONGLONG, F.YEAR)
    typed = {
        **dict.fromkeys(whole, pa.int64()),
        F.FLOAT: pa.float64(),
        F.DOUBLE: pa.float64(),
        F.DATE: pa.date32(),
        F.NEWDATE: pa.date32(),
        F.DATETIME: pa.timestamp("us"),
        F.TIMESTAMP: pa.timestamp("us"),
    }
    if code in typed:
        return _plain_column(name, typed[code])
    return _decimal_column(name) if code in (F.DECIMAL, F.NEWDECIMAL) else _text_column(name, spell_cell)


def _other_column(name: str, _code: Any) -> _Column:
    """Of a database whose types are not known here, each value is spelled by its own kind."""
    return _text_column(name, spell_cell)
