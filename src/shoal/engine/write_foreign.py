"""How rows leave for other programs: as a file of Stata or SPSS with its labels, or as a new table of a database.

    write_statistical(Path("visits.dta"), table, codebook)                      a pyarrow Table; ends in .dta, .sav or .zsav
    write_database("postgresql://ann@host/clinic", "visits", table, codebook)   the table must not exist

Both write everything or nothing, and never over something that is there. Labels come from the codebook: of columns its
`label`, of values its `values`. A column of text whose values the codebook lists becomes a column of numbers with value
labels in Stata and SPSS, where only such columns count as categories (`write_statistical`).
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shoal.data.codebook import Codebook, ColumnDescription
from shoal.engine.read.foreign.address import mask_secrets, parse_address, show_address
from shoal.engine.read.storage import EXACT
from shoal.engine.write import whole_or_nothing
from shoal.errors import DataError, NextCommand, ShoalError, UsageError
from shoal.progress import Stage, each_of, silent

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa

STATISTICAL: Final = (".dta", ".sav", ".zsav")
"""The endings of the files that are written here."""
PART: Final = 10_000
"""Rows that are handed to a database at a time."""
_NARROW: Final = 2_147_483_620
"""The largest whole number of Stata."""
_WHOLE: Final = re.compile(r"0|-?[1-9][0-9]{0,8}")
_FORBIDDEN: Final = {".dta": re.compile(r"[^A-Za-z0-9_]"), ".sav": re.compile(r"[^A-Za-z0-9_.@#$]")}


@dataclass(frozen=True)
class _Limits:
    """How long names, labels and texts may be, in bytes of UTF-8, and how large whole numbers."""

    name: int
    label: int
    value_label: int
    text: int


_LIMITS: Final = {".dta": _Limits(32, 80, 32_000, 2_000), ".sav": _Limits(64, 256, 120, 32_767)}


def write_statistical(
    path: Path, table: pa.Table, codebook: Codebook | None = None, stage: Stage = silent
) -> dict[str, str]:
    """Write a table as a file of Stata (.dta) or SPSS (.sav, .zsav), with labels; give the name that each column got.

    Numbers, dates, times and text keep their kind; truth values become 0 and 1. A column of text whose values the codebook lists
    becomes numbers with value labels: a value that is a whole number is that number, and others are 1, 2, … in the order of the
    list, or far beyond the whole numbers where there are some, so that no number stands for another one. A name
    that the program does not allow is changed, and stands in the column's label.

    Raises  UsageError where the ending is another one, the file is there, the library is not installed, or a column has a value
            that its list lacks
    """
    suffix = path.suffix.lower()
    if suffix not in STATISTICAL:
        raise UsageError("cannot write this kind of file", came=path.suffix, allowed=" or ".join(STATISTICAL))
    if path.exists():
        raise UsageError(
            "there is something at the path already", came=path.name, fix="remove it, or name another path"
        )
    kind = ".sav" if suffix == ".zsav" else suffix
    names = _allowed_names(table.column_names, kind)
    columns, labels, value_labels = {}, {}, {}
    for name in each_of(table.column_names, stage, "preparing the columns"):
        column = table.column(name)
        described = (codebook.get(name) if codebook else None) or ColumnDescription(name)
        columns[names[name]], listed = _coded(column, described, _LIMITS[kind])
        shown = described.label or ("" if names[name] == name else name)
        if shown:
            labels[names[name]] = _cut(shown, _LIMITS[kind].label)
        if listed:
            value_labels[names[name]] = {code: _cut(text, _LIMITS[kind].value_label) for code, text in listed.items()}
    writer, frame = _program(suffix, columns)
    stage("writing the file")
    with whole_or_nothing(path) as part:
        failed = None
        try:
            writer(frame, str(part), column_labels=labels, variable_value_labels=value_labels)
        except Exception:  # noqa: BLE001 - what it says may quote a value
            failed = DataError("the table cannot be written in this form", came=path.name)
        if failed is not None:
            raise failed
    return names


def _program(suffix: str, columns: Mapping[str, pa.ChunkedArray]) -> tuple[Any, Any]:
    """The library's function, and the frame that it takes."""
    try:
        import pandas as pd
        import pyreadstat
    except ImportError:
        raise UsageError(
            "files of Stata and SPSS are written by libraries that are not installed",
            fix='install them with `pip install "shoal[formats]"`',
        ) from None
    frame = pd.DataFrame({name: _for_pandas(column) for name, column in columns.items()})
    if suffix == ".dta":
        return pyreadstat.write_dta, frame
    return partial(pyreadstat.write_sav, row_compress=suffix == ".sav", compress=suffix == ".zsav"), frame


def _for_pandas(column: pa.ChunkedArray) -> Any:
    """A column in the form that keeps whole numbers whole where some are missing."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_integer(column.type):
        return column.to_pandas(date_as_object=True)
    ends = compute.min_max(column).as_py()
    narrow = all(end is None or abs(end) <= _NARROW for end in ends.values())
    return pd.array(column.to_pylist(), dtype="Int32" if narrow else "Int64")


def _coded(
    column: pa.ChunkedArray, described: ColumnDescription, limits: _Limits
) -> tuple[pa.ChunkedArray, dict[int, str]]:
    """A column as it is written, and what its numbers stand for."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int32()), {0: "false", 1: "true"}
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if described.values:
            return _numbered(column, described)
        if (compute.max(compute.binary_length(column)).as_py() or 0) > limits.text:
            raise UsageError(
                f"column '{described.name}': the program does not hold texts as long as some of these",
                allowed=f"{limits.text:,} bytes",
                fix="write CSV or Parquet",
            )
        return column, {}
    _refuse_kind(column, described.name)
    if not pa.types.is_integer(column.type):
        return column, {}
    return column, {
        int(each.value): each.label for each in described.values or () if each.label and _WHOLE.fullmatch(each.value)
    }


def _numbered(column: pa.ChunkedArray, described: ColumnDescription) -> tuple[pa.ChunkedArray, dict[int, str]]:
    """A column of text by the numbers of its listed values."""
    import pyarrow as pa
    from pyarrow import compute

    values = described.values or ()
    codes = _codes([each.value for each in values])
    places = compute.index_in(column, value_set=pa.array([each.value for each in values], column.type))
    if places.null_count != column.null_count:
        raise UsageError(
            f"column '{described.name}': it has a value that its codebook does not list",
            fix="list all its values, or none",
        )
    numbered = pa.chunked_array([pa.array(codes, pa.int32())]).take(places)
    shown = {
        code: each.label if str(code) == each.value else each.words for code, each in zip(codes, values, strict=True)
    }
    return numbered, {code: text for code, text in shown.items() if text}


def _codes(values: Sequence[str]) -> list[int]:
    """A number for each value, of which none is the number that another value is.

    >>> _codes(["low", "high"]), _codes(["2", "1"]), _codes(["0", "9", "*"])
    ([1, 2], [2, 1], [0, 9, 101])
    """
    own = {value: int(value) for value in values if _WHOLE.fullmatch(value)}
    top = max(map(abs, own.values()), default=None)
    first = 0 if top is None else 10 ** (len(str(top)) + 1) if top < 10**7 else top
    others = itertools.count(first + 1)
    return [own[value] if value in own else next(others) for value in values]


def _refuse_kind(column: pa.ChunkedArray, name: str) -> None:
    """Raise where a program would change values: whole numbers that its floating point numbers do not tell apart, and others."""
    from pyarrow import compute, types

    kind = column.type
    if types.is_integer(kind):
        ends = compute.min_max(column).as_py()
        if any(end is not None and abs(end) > EXACT for end in ends.values()):
            raise UsageError(
                f"column '{name}': the program does not tell such large whole numbers apart",
                allowed=f"up to {EXACT:,}",
                fix="write the column as text",
            )
    elif not (types.is_floating(kind) or types.is_date(kind) or types.is_timestamp(kind) or types.is_null(kind)):
        raise UsageError(f"column '{name}': the program has no such values", came=str(kind))


def _allowed_names(names: Sequence[str], kind: str) -> dict[str, str]:
    """A name for each column that the program allows: other signs become _, and doubled names get a number."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        bare = _FORBIDDEN[kind].sub("_", name) or "_"
        bare = (bare if bare[0].isalpha() or (bare[0] == "_" and kind == ".dta") else f"v{bare}")[: _LIMITS[kind].name]
        bare = bare.rstrip("._") or bare if kind == ".sav" else bare
        chosen, number = bare, 1
        while chosen.lower() in taken or chosen.upper() in _RESERVED:
            number += 1
            chosen = f"{bare[: _LIMITS[kind].name - 4]}_{number}"
        taken.add(chosen.lower())
        made[name] = chosen
    return made


_RESERVED: Final = frozenset(
    {"ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"}
    | {"BYTE", "DOUBLE", "FLOAT", "IF", "IN", "INT", "LONG", "USING"}
    | {"_ALL", "_B", "_COEF", "_CONS", "_N", "_PI", "_PRED", "_RC", "_SE", "_SKIP"}
)
"""Words that SPSS or Stata keep for themselves."""


def _cut(text: str, most: int) -> str:
    """A text of at most so many bytes, with a sign that something is left out."""
    held = text.encode()
    return text if len(held) <= most else held[: most - 3].decode(errors="ignore") + "…"


# --- databases ------------------------------------------------------------------------------------------------------


def write_database(
    address: str, name: str, table: pa.Table, codebook: Codebook | None = None, stage: Stage = silent
) -> None:
    """Write a table as a new table of a database, with the types of its columns; labels of columns become comments on them.

    Where the codebook has labels of values, a second table NAME_codebook has them: column_name, value, label. A name with a point
    is a schema and a name. Where something fails, no table is left.

    Raises  UsageError where a table of that name exists, or the address or the driver is at fault; DataError where the database
            refuses
    """
    import sqlalchemy as sa

    url = parse_address(address)
    shown = show_address(address)
    failed: ShoalError
    try:
        engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
        with contextlib.closing(engine.connect()) as connection:
            return _write_tables(connection, name, table, codebook, shown, stage)
    except ShoalError as error:
        failed = error
    except (ImportError, sa.exc.NoSuchModuleError):
        failed = UsageError(
            "the driver of this database is not installed",
            came=url.get_backend_name(),
            fix='`pip install "shoal[formats]"` installs those of PostgreSQL and MySQL'
            if url.get_backend_name() != "duckdb"
            else "write Parquet, which DuckDB reads",
        )
    except Exception as error:  # noqa: BLE001 - each driver has its own kinds
        line = str(getattr(error, "orig", None) or error).strip().splitlines()[:1]
        failed = DataError(
            "the table cannot be written", came=": ".join([shown, *(mask_secrets(each, url) for each in line)])
        )
    raise failed


def _free_table(inspector: sa.Inspector, name: str, schema: str | None) -> str:
    """A name beside this one that no table has, nor the codebook beside it."""
    bare = name.rpartition(".")[2]
    taken = set(inspector.get_table_names(schema))
    numbers = itertools.count(2)
    return next(f"{name}_{each}" for each in numbers if not taken & {f"{bare}_{each}", f"{bare}_{each}_codebook"})


def _write_tables(
    connection: sa.Connection, name: str, table: pa.Table, codebook: Codebook | None, shown: str, stage: Stage
) -> None:
    import sqlalchemy as sa

    point = name.partition(".")
    schema, bare = (point[0], point[2]) if point[1] else (None, name)
    made = _shape(bare, schema, table, codebook)
    inspector = sa.inspect(connection)
    there = [each.name for each in made if inspector.has_table(each.name, schema)]
    if there:
        raise UsageError(
            "the database has a table of this name already",
            came=f"{', '.join(there)} in {shown}",
            fix="name another one, or drop it there",
            step=NextCommand(option=("--table", _free_table(inspector, name, schema)), only=("export",)),
        )
    connection.rollback()
    own: list[sa.Table] = []
    try:
        with connection.begin():
            for each in made:
                each.create(connection)  # fails where another program has made one meanwhile, which stays
                own.append(each)
            for batch in each_of(table.to_batches(max_chunksize=PART), stage, "writing the rows"):
                connection.execute(made[0].insert(), batch.to_pylist())
            labels = _value_labels(codebook, table.column_names)
            if labels:
                connection.execute(made[1].insert(), labels)
    except BaseException:
        _drop(connection, own)  # some databases keep a new table although its transaction failed
        raise


def _drop(connection: sa.Connection, made: Sequence[sa.Table]) -> None:
    with contextlib.suppress(Exception), connection.begin():
        for each in made:
            each.drop(connection, checkfirst=True)


def _shape(name: str, schema: str | None, table: pa.Table, codebook: Codebook | None) -> list[sa.Table]:
    import sqlalchemy as sa

    metadata = sa.MetaData()
    columns = []
    for field in table.schema:
        described = codebook.get(field.name) if codebook else None
        columns.append(sa.Column(field.name, _sql_type(field), comment=described.label if described else None))
    made = [sa.Table(name, metadata, *columns, schema=schema)]
    if _value_labels(codebook, table.column_names):
        text = (sa.Column(each, sa.Text(), nullable=True) for each in ("column_name", "value", "label"))
        made.append(sa.Table(f"{name}_codebook", metadata, *text, schema=schema))
    return made


def _value_labels(codebook: Codebook | None, names: Sequence[str]) -> list[dict[str, str | None]]:
    described = [each for each in codebook or () if each.name in names]
    return [
        {"column_name": each.name, "value": value.value, "label": value.label}
        for each in described
        for value in (*(each.values or ()), *each.missing)
        if value.label is not None
    ]


def _sql_type(field: pa.Field) -> Any:
    import sqlalchemy as sa
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    tests: tuple[tuple[Any, Any], ...] = (
        (types.is_boolean, sa.Boolean()),
        (types.is_integer, sa.BigInteger()),
        (types.is_floating, sa.Double()),
        (types.is_decimal, sa.Numeric(getattr(kind, "precision", None), getattr(kind, "scale", None))),
        (types.is_date, sa.Date()),
        (types.is_timestamp, sa.DateTime()),
        (types.is_string, sa.Text()),
        (types.is_large_string, sa.Text()),
    )
    for matches, chosen in tests:
        if matches(kind):
            return chosen
    raise UsageError(f"column '{field.name}': a database has no such values", came=str(field.type))
