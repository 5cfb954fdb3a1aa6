"""Random tables, one more row in each, and whether the other rows are read as before.

Reading is part of the mechanism: a row may get its file refused, and may not change how another row is read.
"""

# ruff: noqa: E501, PLR0911 - long lists read best in few lines
from __future__ import annotations

import datetime as dt
import decimal
import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from openpyxl.utils.exceptions import IllegalCharacterError
from pyarrow import feather, parquet

from shoal.data.date_format import DateFormat
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, FileFormat, Outside, Role, Schema, Type
from shoal.engine.read.storage import READS, Storage, storage_of
from shoal.errors import ShoalError
from tests.engine.read.foreign.workbooks import write_ods, write_xlsx

D = decimal.Decimal
TOWNS = ("Bern", "Zürich", "a;b", "1", "01", "true", "£10", "x,y", "it's")
TEXTS = {
    Type.INTEGER: ["7", "-3", " 12 ", "007", "9223372036854775807", "9007199254740993", "-9", "1", "0"],
    Type.DECIMAL: ["1.5", ".5", "2", "1e-3", "-0", "nan", "9007199254740993", "0.1", "1,5", "12,25"],
    Type.CATEGORY: list(TOWNS),
    Type.ORDINAL: ["1", "01", "low", "high"],
    Type.TEXT: ["", " a ", "NA", "null", "é", "e\u0301", "a\nb", 'say "x"', "'quoted'", "a\tb", "\ufeffx", "0", "a|b"],
    Type.BOOLEAN: ["true", "FALSE", "1", "0", "yes", "No"],
    Type.DATE: ["2024-02-29", "1999-12-31", " 2020-01-01 "],
    Type.DATETIME: ["2024-02-29", "2020-01-01 10:00", "2020-01-01T10:00:00.5Z", "1066-10-14 12:00"],
}
HOSTILE = [
    "", "NA", "N/A", "NULL", "nan", "-9", "1.0", "1,5", "1.234,56", "31.12.2024", "12/31/2024", "2024-12-31", "2024-12-31 10:00",
    "2024-12-31T10:00+02:00", "9" * 40, "1e999", "inf", "TRUE", "0x10", "ZÜRICH", " Bern ", '"', '""', "'", "a,b;c|d\te",
    "x\ny", "x\r\ny", "\ufeff", "\u2028", "\u0085", "é" * 50, "\x1a", "\x0b", "£10", "😀", "x" * 5000, "#", "\\", '\\"', "=1+1",
]  # fmt: skip
BYTES = [
    b"\xe9", b"\xff\xfe", b"\x00", b"\x81", b"\xc3\xa9", b"\xc3", b"\xa3", b"\xef\xbb\xbf", b'"', b'"a,b"', b'""', b"'", b"'a,b'",
    b'x"y', b'"x"y', b"\r", b"\n", b"\r\n", b",", b";", b"\t", b"|", b"a;b;c;d;e", b"1", b"", b" ", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80",
]  # fmt: skip
VALUES = {
    Type.INTEGER: [1, -5, 2**53 + 1, 2**60 + 1, 0, None],
    Type.DECIMAL: [1.5, 0.1, -0.0, 3, None, float("nan"), 2**53 + 1],
    Type.CATEGORY: ["Bern", "1", "01", None, "£10"],
    Type.ORDINAL: ["1", "01", "low", None],
    Type.TEXT: ["", "a", "NA", None, "1"],
    Type.BOOLEAN: [True, False, None],
    Type.DATE: [dt.date(2020, 1, 2), dt.date(1999, 12, 31), None],
    Type.DATETIME: [
        dt.datetime(2020, 1, 2, 3, 4),
        dt.datetime(1066, 10, 14),
        None,
        dt.datetime(2024, 1, 1, 0, 0, 0, 1),
    ],
}
WHOLE = {Type.CATEGORY: [1, 2, 10, None], Type.ORDINAL: [1, 2, None], Type.BOOLEAN: [0, 1, None]}
ODD = [
    None, float("nan"), 1, 0, True, 2.5, 3.0, 1e300, float("inf"), 2**60 + 1, 2**63, 2**70, -(2**63), "1", "x", "", "1.0", "NA", b"x",
    D("1"), D("2.50"), D("0.0000001"), D(10**25), dt.date(2024, 12, 31), dt.datetime(2024, 12, 31, 10), dt.datetime(1, 1, 1),
    dt.datetime(2024, 12, 31, 10, tzinfo=dt.timezone(dt.timedelta(hours=5))), pd.Timestamp("2024-01-01T00:00:00.000000001"),
    dt.time(1, 2), [1], {"a": 1}, pd.NaT, np.float16(0.1), np.uint64(2**64 - 1),
]  # fmt: skip
"""What may stand in a column of Python objects."""
WIDER = [
    (pa.int8(), pa.int64()), (pa.int32(), pa.float64()), (pa.int64(), pa.float64()), (pa.uint8(), pa.uint64()),
    (pa.float32(), pa.float64()), (pa.string(), pa.large_string()), (pa.string(), pa.dictionary(pa.int32(), pa.string())),
    (pa.date32(), pa.timestamp("us")), (pa.timestamp("s"), pa.timestamp("ns")), (pa.timestamp("us"), pa.timestamp("us", "Asia/Tokyo")),
    (pa.decimal128(20, 0), pa.decimal128(30, 10)), (pa.decimal128(20, 2), pa.decimal128(38, 15)), (pa.int64(), pa.decimal128(25, 3)),
    (pa.bool_(), pa.bool_()), (pa.null(), pa.int64()), (pa.null(), pa.string()), (pa.null(), pa.float64()), (pa.null(), pa.date32()),
    (pa.int64(), pa.int64()), (pa.string(), pa.string_view()), (pa.string(), pa.binary()),
]  # fmt: skip
"""The type of a column, and the type that one more row may give it."""
LIKELY = {
    Type.INTEGER: [None, 3.0, 2.5, 2**63, D("2.50"), True, "1"],
    Type.DECIMAL: [None, 1, 2**60 + 1, D("2.50"), D("0.0000001"), "1.5", np.float16(0.1), np.uint64(2**64 - 1)],
    Type.CATEGORY: [None, 1, 2.5, True, b"x", ""],
    Type.ORDINAL: [None, 1, 2.5, True],
    Type.TEXT: [None, 1, 2.5, True, b"x"],
    Type.BOOLEAN: [None, 1, 0, "true"],
    Type.DATE: [None, dt.datetime(2024, 12, 31, 10), dt.datetime(2024, 12, 31), "2024-12-31"],
    Type.DATETIME: [None, dt.date(2024, 12, 31), dt.datetime(2024, 12, 31, 10, tzinfo=dt.UTC), "2024-12-31"],
}
"""What is most likely to give a column of Python objects another type."""
KINDS = ("csv", "bytes", "pandas", "polars", "arrow", "parquet", "feather", "folder")


def attribute(name, kind, draw):
    """A column of a policy; values outside count as missing, or are an error."""
    outside = draw.choice([Outside.ERROR, Outside.SUPPRESS, Outside.SUPPRESS])
    domain = None
    if draw.random() < 0.5:
        domain = {
            Type.INTEGER: Interval(-10, 2**62),
            Type.DECIMAL: Interval(-10.0, 1e17),
            Type.CATEGORY: Values(TOWNS),
            Type.ORDINAL: Values(("1", "01", "low", "high")),
            Type.DATE: Interval(dt.date(1990, 1, 1), dt.date(2030, 1, 1)),
        }.get(kind)
        if outside is Outside.SUPPRESS and kind.numeric and draw.random() < 0.3:
            outside = Outside.CLAMP
    return Attribute(name, Role.QUASI, kind, domain, outside=outside)


def schema_and_names(draw):
    """A schema of one to three columns, the names of the file's columns, and how the file is written."""
    kinds = [draw.choice([*Type, Type.CATEGORY, Type.TEXT]) for _ in range(draw.choice([1, 1, 2, 3]))]
    read = [attribute(f"c{place}", kind, draw) for place, kind in enumerate(kinds)]
    dropped = [Attribute(f"d{place}", Role.DROP, Type.TEXT) for place in range(draw.choice([0, 1, 1]))]
    extra = [f"e{place}" for place in range(draw.choice([0, 0, 1, 2]))]
    names = [one.name for one in (*read, *dropped)] + extra
    draw.shuffle(names)
    form = FileFormat(
        draw.choice(["utf-8"] * 6 + ["windows-1252", "iso-8859-1", "utf-16-le", "utf-16-be"]),
        draw.choice([None, None, None, ",", ";", "\t"]),
        draw.choice(['"', '"', '"', "'", None]),
        draw.choice([".", ".", ","]),
        draw.choice([(), (), ("NA",), ("-9", "NULL")]),
    )
    return Schema((*read, *dropped), form), names


def cell(text, delimiter, quote, draw):
    """A text as a CSV writer writes it."""
    special = any(sign in text for sign in (delimiter, "\r", "\n", quote or "\r"))
    if quote is None:
        return "".join(letter for letter in text if letter not in (delimiter, "\r", "\n"))
    return quote + text.replace(quote, quote * 2) + quote if special or draw.random() < 0.2 else text


def csv_case(draw, folder: Path, *, raw: bool):
    """Two CSV files, the second with one more line; where it is, and how many rows there are without it."""
    schema, names = schema_and_names(draw)
    form = schema.file
    by_name = schema.by_name
    delimiter = form.delimiter or draw.choice([",", ";", "\t", "|"])
    end = draw.choice(["\n", "\r\n"])

    def line(pick):
        return delimiter.join(cell(pick(name), delimiter, form.quote, draw) for name in names)

    def usual(name):
        one = by_name.get(name)
        kind = Type.TEXT if one is None or one.role is Role.DROP else one.type
        return draw.choice(["", *TEXTS[kind]])

    unread = [name for name in names if name not in by_name or by_name[name].role is Role.DROP]
    odd_names = unread if unread and draw.random() < 0.6 else [draw.choice(names)] if draw.random() < 0.6 else names

    def encoded(text):
        return text.encode(form.encoding, errors="replace")

    lines = [encoded(line(usual) + end) for _ in range(draw.randrange(1, 6))]
    header = encoded(delimiter.join(names) + end)
    if form.encoding == "utf-8" and draw.random() < 0.1:
        header = b"\xef\xbb\xbf" + header
    if raw:
        if draw.random() < 0.7:  # as many cells as there should be, if none of them breaks the line
            cells = {name: encoded(cell(usual(name), delimiter, form.quote, draw)) for name in names}
            odd = encoded(delimiter).join(
                draw.choice(BYTES) if name in odd_names else cells[name] for name in names
            ) + encoded(end)
        else:
            odd = b"".join(draw.choice(BYTES) for _ in range(draw.randrange(1, 8))) + encoded(end)
    else:
        odd = encoded(line(lambda name: draw.choice(HOSTILE) if name in odd_names else usual(name)) + end)
    at = draw.randrange(len(lines) + 1)
    suffix = draw.choice([".csv", ".txt", ".tsv"])
    files = folder / f"base{suffix}", folder / f"more{suffix}"
    files[0].write_bytes(header + b"".join(lines))
    files[1].write_bytes(header + b"".join([*lines[:at], odd, *lines[at:]]))
    return schema, files[0], files[1], at


def object_rows(draw, schema):
    """Rows of Python values, and one that may hold anything."""
    kinds = {one.name: one.type for one in schema.attributes}
    whole = {name: draw.random() < 0.3 and kind in WHOLE for name, kind in kinds.items()}

    def usual(name):
        return draw.choice((WHOLE if whole[name] else VALUES)[kinds[name]])

    rows = [{name: usual(name) for name in kinds} for _ in range(draw.randrange(1, 6))]
    odd = {name: usual(name) for name in kinds}
    name = draw.choice(list(kinds))
    odd[name] = draw.choice(LIKELY[kinds[name]] if draw.random() < 0.7 else ODD)
    return rows, odd


def frame_case(draw, make):
    """Two frames from rows of Python values, which a library gives types by looking at them all."""
    schema, _ = schema_and_names(draw)
    rows, odd = object_rows(draw, schema)
    at = draw.randrange(len(rows) + 1)
    more = [*rows[:at], odd, *rows[at:]]
    return schema, make(rows, schema.names), make(more, schema.names), at


def of_pandas(rows, names):
    return pd.DataFrame({name: [row[name] for row in rows] for name in names})


def of_polars(rows, names):
    return pl.DataFrame({name: pl.Series(name, [row[name] for row in rows]) for name in names})


def typed_case(draw):
    """Two Arrow tables in which one more row may have widened the type of a column."""
    schema, _ = schema_and_names(draw)
    count = draw.randrange(1, 6)
    at = draw.randrange(count + 1)
    base, more = {}, {}
    for one in schema.attributes:
        fitting = [pair for pair in WIDER if storage_of(pair[0]) in {Storage.NOTHING, *READS[one.type]}]
        narrow, wide = draw.choice(fitting if draw.random() < 0.9 else WIDER)
        values = [_stored(narrow, draw) for _ in range(count)]
        base[one.name] = pa.array(values, narrow)
        odd = _stored(wide if not pa.types.is_dictionary(wide) else pa.string(), draw)
        widened = [
            _widened(value, wide) for value in base[one.name].to_pylist()
        ]  # as stored: 0.1 is another number in 32 bits
        more[one.name] = pa.array([*widened[:at], odd, *widened[at:]], wide)
    return schema, pa.table(base), pa.table(more), at


def _stored(kind, draw):
    if draw.random() < 0.2 or pa.types.is_null(kind):
        return None
    if pa.types.is_integer(kind):
        large = [2**53 + 1, 2**60 + 1] if kind.bit_width == 64 else []
        return draw.choice([1, 2, 100, 0, *large])
    if pa.types.is_floating(kind):
        return draw.choice([1.0, 2.5, 100.0, -0.0, float("nan"), 0.1])
    if pa.types.is_decimal(kind):
        return D(draw.choice([1, 2, 100, 2**53 + 1, 123])).scaleb(-kind.scale if kind.scale <= 2 else 0)
    if pa.types.is_boolean(kind):
        return draw.random() < 0.5
    if pa.types.is_date(kind):
        return draw.choice([dt.date(2020, 1, 2), dt.date(1999, 12, 31)])
    if pa.types.is_timestamp(kind):
        return draw.choice([dt.datetime(2020, 1, 2), dt.datetime(1999, 12, 31, 23, 59, 59)])
    if kind == pa.binary():
        return b"\xff"
    return draw.choice(["Bern", "1", "01", "2020-01-02", "true", "NA", "1.5", "x" * 300, ""])


def _widened(value, kind):
    if value is None:
        return None
    if pa.types.is_decimal(kind):
        return D(value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_timestamp(kind) and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    return value.encode() if kind == pa.binary() else value


def case(draw, folder: Path):
    """A schema, a source, the same with one more row, and where that row is. None where a library refuses to build it."""
    kind = draw.choice([*KINDS, "csv", "bytes", "bytes", "pandas", "pandas"])
    try:
        if kind in ("csv", "bytes"):
            return kind, *csv_case(draw, folder, raw=kind == "bytes")
        if kind == "pandas":
            return kind, *frame_case(draw, of_pandas)
        if kind == "polars":
            return kind, *frame_case(draw, of_polars)
        schema, base, more, at = typed_case(draw)
        return kind, schema, _stored_as(kind, base, folder, "base"), _stored_as(kind, more, folder, "more"), at
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return None


def _stored_as(kind, table, folder, name):
    if kind == "feather":
        feather.write_feather(table, folder / f"{name}.feather", compression="uncompressed")
        return folder / f"{name}.feather"
    if kind == "parquet":
        parquet.write_table(table, folder / f"{name}.parquet", row_group_size=2)
        return folder / f"{name}.parquet"
    if kind == "folder":
        parts = folder / name
        parts.mkdir(exist_ok=True)
        middle = table.num_rows // 2
        parquet.write_table(table.slice(0, middle), parts / "a.parquet")
        parquet.write_table(table.slice(middle), parts / "b.parquet")
        return parts
    return table


FOREIGN = ("packed", "lines", "xlsx", "ods", "stream")
"""Kinds of inputs that come from other programs."""
CELL_KINDS = (bool, int, float, str, dt.date)


def foreign_case(draw, folder: Path):
    """As `case`, for inputs of other programs: compressed text, cells that have kinds of their own, streams."""
    kind = draw.choice(FOREIGN)
    try:
        if kind == "packed":
            schema, base, more, at = csv_case(draw, folder, raw=draw.random() < 0.5)
            return kind, schema, _packed(base, draw), _packed(more, draw), at
        if kind == "stream":
            schema, base, more, at = typed_case(draw)
            return kind, schema, StreamAgain(base), StreamAgain(more), at
        return kind, *cell_case(draw, folder, kind)
    except (pa.ArrowException, IllegalCharacterError, TypeError, ValueError, OverflowError):
        return None


class StreamAgain:
    """An Arrow stream, as another library hands it over; each reader gets a new one."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.to_reader(max_chunksize=2).__arrow_c_stream__(requested_schema)


def _packed(path, draw):
    packed = path.with_name(path.name + draw.choice([".gz", ".zst"]))
    data = path.read_bytes()
    packed.write_bytes(gzip.compress(data) if packed.suffix == ".gz" else pa.compress(data, "zstd", asbytes=True))
    return packed


def cell_case(draw, folder: Path, kind):
    """Two files whose cells have kinds of their own; columns may declare a date format and a decimal mark."""
    schema, _ = schema_and_names(draw)
    told = {Type.DATE: {"format": DateFormat("%d.%m.%Y")}, Type.DATETIME: {"format": DateFormat("%d.%m.%Y %H:%M")}}
    told[Type.DECIMAL] = {"decimal": ","}
    schema = replace(
        schema,
        attributes=tuple(
            replace(one, **told.get(one.type, {})) if draw.random() < 0.5 and one.role is not Role.DROP else one
            for one in schema.attributes
        ),
        file=replace(schema.file, encoding="utf-8"),
    )
    rows, odd = object_rows(draw, schema)
    if draw.random() < 0.5:
        odd[draw.choice(schema.names)] = draw.choice(HOSTILE)
    at = draw.randrange(len(rows) + 1)
    write = {"lines": _write_lines, "xlsx": _write_workbook(write_xlsx), "ods": _write_workbook(write_ods)}[kind]
    both = rows, [*rows[:at], odd, *rows[at:]]
    files = [folder / f"{name}.{'jsonl' if kind == 'lines' else kind}" for name in ("base", "more")]
    for path, each in zip(files, both, strict=True):
        write(path, [[_as_cell(row[name]) for name in schema.names] for row in each], schema.names)
    if kind != "lines":  # a row without any cell is no row
        at = sum(any(_as_cell(value) not in (None, "") for value in row.values()) for row in rows[:at])
    return schema, *files, at


def _as_cell(value):
    """A value that a file of cells can hold; a ValueError where it cannot."""
    if value is None or value is pd.NaT or (isinstance(value, float) and not np.isfinite(value)):
        return None
    if (
        not isinstance(value, CELL_KINDS)
        or getattr(value, "tzinfo", None) is not None
        or isinstance(value, pd.Timestamp)
    ):
        raise ValueError
    return value if not isinstance(value, dt.date) or value.year >= 1900 else value.isoformat()


def _write_lines(path, rows, names):
    path.write_text(
        "".join(json.dumps(dict(zip(names, row, strict=True)), default=str) + "\n" for row in rows), encoding="utf-8"
    )


def _write_workbook(write):
    return lambda path, rows, names: write(path, {"s": [list(names), *rows]})


def read(engine, source, schema):
    """The rows as an engine reads them, or None where the source is refused."""
    try:
        table = engine.scan(source, schema)
        columns = [table.collect([name])[name].tolist() for name in table.columns]
    except ShoalError:
        return None
    return [tuple(map(repr, row)) for row in zip(*columns, strict=True)]


def changed(engine, drawn):
    """Whether one more row changes how the others are read: None where there is nothing to compare."""
    _, schema, base, more, at = drawn
    before, after = read(engine, base, schema), read(engine, more, schema)
    if before is None or after is None:
        return None
    rest = len(before) - at
    return after[:at] != before[:at] or (rest > 0 and after[-rest:] != before[-rest:])
