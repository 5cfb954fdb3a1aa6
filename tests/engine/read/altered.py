"""Altered files: well-formed CSV, Parquet and Arrow files, changed by chance and by what their formats say, each by its seed.

`alter(kind, seed)` gives the bytes of one file. Cells hold `MARK` or numbers that begin with `DIGITS`, so that a message that
quotes a cell is noticed.
"""

from __future__ import annotations

import copy
import csv
import datetime as dt
import io
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from shoal.data.domain import Interval
from shoal.data.schema import Attribute, Role, Schema, Type
from tests.engine.read import thrift

MARK = "Sentinel"
DIGITS = "73911"
ROWS = 60
SUFFIX = {"csv": ".csv", "parquet": ".parquet", "arrow": ".arrow"}
SCHEMA = Schema(
    (
        Attribute("id", Role.OTHER, Type.INTEGER, Interval(0, 10**12)),
        Attribute("age", Role.QUASI, Type.INTEGER),
        Attribute("town", Role.QUASI, Type.TEXT),
        Attribute("weight", Role.OTHER, Type.DECIMAL),
        Attribute("visit", Role.OTHER, Type.DATE),
        Attribute("seen", Role.OTHER, Type.DATETIME),
        Attribute("smoker", Role.CONFIDENTIAL, Type.BOOLEAN),
    )
)
INTERESTING = (
    0,
    1,
    -1,
    2,
    7,
    127,
    128,
    255,
    256,
    4096,
    65535,
    65536,
    2**31 - 1,
    -(2**31),
    2**32 - 1,
    2**40,
    2**63 - 1,
    -(2**63),
)


@cache
def table(rows: int = ROWS) -> pa.Table:
    """The table that every file holds before it is altered."""
    draw = random.Random(11)  # noqa: S311

    def some(values: list[Any]) -> list[Any]:
        return [None if draw.random() < 0.1 else value for value in values]

    return pa.table(
        {
            "id": pa.array([int(DIGITS) * 10**6 + draw.randrange(10**6) for _ in range(rows)], pa.int64()),
            "age": pa.array(some([draw.randrange(120) for _ in range(rows)]), pa.int32()),
            "town": pa.array(some([f"{MARK}{draw.randrange(9)}" + "ü" * draw.randrange(3) for _ in range(rows)])),
            "weight": pa.array(some([float(f"{DIGITS}.{draw.randrange(1000)}") for _ in range(rows)])),
            "visit": pa.array(some([dt.date(2020, 1, 1) + dt.timedelta(draw.randrange(900)) for _ in range(rows)])),
            "seen": pa.array(
                some([dt.datetime(2020, 1, 1) + dt.timedelta(seconds=draw.randrange(10**7)) for _ in range(rows)]),
                pa.timestamp("us"),
            ),
            "smoker": pa.array(some([draw.random() < 0.5 for _ in range(rows)])),
        }
    )


def alter(kind: str, seed: int) -> bytes:
    """Give the altered file of a kind (csv, parquet or arrow) with this seed."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311 - the same files every time
    content = draw.choice(BASES[kind]())
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        content = draw.choice(WAYS[kind])(content, draw)
    return content


# --- changes that know nothing of the format ----------------------------------------------------------------------


def flip_bits(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8))):
        if changed:
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def overwrite(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    size = draw.choice((1, 2, 4, 8, 64))
    made = draw.choice((bytes(size), b"\xff" * size, draw.randbytes(size)))
    return content[:at] + made + content[at + size :]


def truncate(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def cut(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    return content[:at] + content[at + draw.choice((1, 1, 4, 8, 100)) :]


def repeat(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    piece = content[at : at + draw.choice((1, 4, 8, 100, 1000))]
    return content[:at] + piece * draw.choice((2, 2, 3, 50)) + content[at + len(piece) :]


BLIND = (flip_bits, overwrite, truncate, cut, repeat)


# --- CSV --------------------------------------------------------------------------------------------------------------

TOKENS = (
    b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r\n", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff",
    b"\xc3",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x1a", b"\x85", b"\xe2\x80\xa8", b"=1+1", b"'", b"\\", b"\\N",
    b" ", b"nan", b"inf", b"1e400", b"-0", b"NULL",
    b"x" * 5000, b'"' + b"y\n" * 3000 + b'"', b"1" * 400, b"0x1F", "١٢".encode(), "é".encode("latin-1"), b"\x0b\x0c\x1c",
)  # fmt: skip


def insert_token(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    return content[:at] + draw.choice(TOKENS) + content[at:]


def replace_cell(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    place = draw.randrange(len(lines))
    cells = lines[place].split(b",")
    cells[draw.randrange(len(cells))] = draw.choice(TOKENS)
    lines[place] = b",".join(cells)
    return b"\n".join(lines)


def change_cells(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    place = draw.choice((0, draw.randrange(len(lines))))
    cells = lines[place].split(b",")
    one = draw.randrange(len(cells))
    cells = draw.choice(
        (
            cells[:one] + cells[one + 1 :],
            [*cells[:one], cells[one], *cells[one:]],
            cells[::-1],
            [b"", *cells],
            cells * 300,
        )
    )
    lines[place] = b",".join(cells)
    return b"\n".join(lines)


def change_lines(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    place = draw.randrange(len(lines))
    return draw.choice(
        (
            lambda: b"\n".join(lines[:place] + lines[place + 1 :]),
            lambda: b"\n".join([*lines[:place], lines[place], *lines[place:]]),
            lambda: b"\r\n".join(lines[:place]) + b"\n" + b"\n".join(lines[place:]),
            lambda: b"\r".join(lines[:place]) + b"\n" + b"\n".join(lines[place:]),
            lambda: b"\n".join(lines[place:] + lines[:place]),
        )
    )()


def encode_again(content: bytes, draw: random.Random) -> bytes:
    text = content.decode("utf-8", errors="replace")
    return text.encode(
        draw.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp037", "utf-7")), errors="replace"
    )


@cache
def csv_bases() -> tuple[bytes, ...]:
    made = []
    for end, quoting, rows in (
        ("\n", csv.QUOTE_MINIMAL, ROWS),
        ("\r\n", csv.QUOTE_ALL, ROWS),
        ("\r", csv.QUOTE_MINIMAL, 5),
    ):
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator=end, quoting=quoting)
        writer.writerow(table().column_names)
        for row in table().slice(0, rows).to_pylist():
            writer.writerow(["" if value is None else value for value in row.values()])
        made.append(text.getvalue().encode())
    return tuple(made)


# --- Parquet --------------------------------------------------------------------------------------------------------


@cache
def parquet_bases() -> tuple[bytes, ...]:
    ways: tuple[dict[str, Any], ...] = (
        {},
        {"compression": "zstd", "row_group_size": 17},
        {"compression": "gzip", "use_dictionary": False, "data_page_version": "2.0"},
        {"compression": "none", "write_page_index": True, "write_page_checksum": True},
        {"compression": "lz4", "data_page_size": 64, "write_page_checksum": True},
        {"compression": "brotli", "version": "1.0", "store_schema": False, "use_deprecated_int96_timestamps": True},
        {"use_dictionary": False, "column_encoding": {
            "id": "DELTA_BINARY_PACKED", "town": "DELTA_BYTE_ARRAY", "weight": "BYTE_STREAM_SPLIT"}},
        {"use_dictionary": False, "column_encoding": {"town": "DELTA_LENGTH_BYTE_ARRAY", "smoker": "RLE"}},
        {"compression": "none", "use_dictionary": ["town"], "sorting_columns": [parquet.SortingColumn(0)]},
    )  # fmt: skip
    made = []
    for way in ways:
        file = io.BytesIO()
        parquet.write_table(table(), file, **way)
        made.append(file.getvalue())
    file = io.BytesIO()
    parquet.write_table(table().set_column(2, "town", table()["town"].dictionary_encode()), file)
    return (*made, file.getvalue())


def alter_struct(fields: thrift.Struct, draw: random.Random) -> None:
    """Change one value somewhere in a struct."""
    nodes = list(_nodes(fields))
    if nodes:
        draw.choice(nodes)(draw)


def _nodes(fields: thrift.Struct) -> Iterator[Callable[[random.Random], None]]:  # noqa: C901
    for place, (_, kind, value) in enumerate(fields):

        def change(draw: random.Random, place: int = place, kind: int = kind, value: Any = value) -> None:
            way = draw.random()
            if way < 0.12:
                del fields[place]
            elif way < 0.18:
                fields.insert(place, copy.deepcopy(fields[place]))
            elif way < 0.24:
                fields[place][0] = draw.randrange(1, 20)
            else:
                fields[place][2] = _other(kind, value, draw)

        yield change
        if kind == thrift.STRUCT:
            yield from _nodes(value)
        elif kind in (thrift.LIST, thrift.SET):
            if value[0] == thrift.STRUCT:
                for inner in value[1]:
                    yield from _nodes(inner)

            def change_list(draw: random.Random, value: Any = value) -> None:
                held = value[1]
                if held:
                    one = draw.randrange(len(held))
                    way = draw.random()
                    if way < 0.3:
                        del held[one]
                    elif way < 0.5:
                        held.insert(one, copy.deepcopy(held[one]))
                    elif way < 0.6:
                        held.extend(copy.deepcopy(held[one]) for _ in range(200))
                    else:
                        held[one] = _other(value[0], held[one], draw)

            yield change_list


def _other(kind: int, value: Any, draw: random.Random) -> Any:
    if kind in (thrift.TRUE, thrift.FALSE):
        return not value
    if kind in (thrift.BYTE, thrift.I16, thrift.I32, thrift.I64):
        return draw.choice((value + 1, value - 1, value * 2, draw.randrange(16), draw.choice(INTERESTING)))
    if kind == thrift.BINARY:
        held = bytes(value)
        return draw.choice(
            (
                b"",
                held[:-1],
                held + b"x",
                held * 2,
                b"\xff\xfe",
                draw.randbytes(8),
                bytes(8),
                b"\xff" * 8,
                flip_bits(held, draw),
            )
        )
    return value


def alter_footer(content: bytes, draw: random.Random) -> bytes:
    try:
        pages, footer = thrift.split_parquet(content)
    except (IndexError, ValueError, OverflowError):
        return flip_bits(content, draw)
    for _ in range(draw.choice((1, 1, 2))):
        alter_struct(footer, draw)
    return thrift.join_parquet(pages, footer)


def alter_page(content: bytes, draw: random.Random) -> bytes:
    """Change the header of a page; what the footer says of places behind it is moved along."""
    try:
        pages, footer = thrift.split_parquet(content)
        chunk = draw.choice(thrift.get(draw.choice(thrift.get(footer, 4)[1]), 1)[1])
        places = [value for number, _, value in thrift.get(chunk, 3) if number in (9, 11)]
        at = draw.choice(places)
        reader = thrift.Reader(pages, at)
        header = reader.struct()
        alter_struct(header, draw)
        written = thrift.write_struct(header)
        moved = len(written) - (reader.at - at)
        for group in thrift.get(footer, 4)[1]:
            for each in thrift.get(group, 1)[1]:
                for field in thrift.get(each, 3):
                    if field[0] in (9, 11) and field[2] > at:
                        field[2] += moved
        if draw.random() < 0.8:
            for field in thrift.get(chunk, 3):
                if field[0] == 7:
                    field[2] += moved
    except (IndexError, ValueError, OverflowError, StopIteration, TypeError, RecursionError, MemoryError):
        return overwrite(content, draw)
    return thrift.join_parquet(pages[:at] + written + pages[reader.at :], footer)


# --- Arrow ------------------------------------------------------------------------------------------------------------


@cache
def arrow_bases() -> tuple[bytes, ...]:
    coded = table().set_column(2, "town", table()["town"].dictionary_encode())
    views = table().set_column(2, "town", table()["town"].cast(pa.string_view()))
    large = table().set_column(2, "town", table()["town"].cast(pa.large_string()))
    exact = table().set_column(3, "weight", table()["weight"].cast(pa.decimal128(20, 5)))
    zoned = table().set_column(5, "seen", table()["seen"].cast(pa.timestamp("ms", "Europe/Zurich")))
    days = table().set_column(4, "visit", table()["visit"].cast(pa.date64()))
    ways = (
        (table(), {}), (table(), {"compression": "zstd"}), (table(), {"compression": "lz4"}),
        (coded, {}), (coded, {"compression": "zstd"}),
        (views, {}), (large, {}), (exact, {}), (zoned, {}), (days, {}),
    )  # fmt: skip
    made = []
    for held, way in ways:
        file = io.BytesIO()
        with ipc.new_file(file, held.schema, options=ipc.IpcWriteOptions(**way)) as writer:
            writer.write_table(held, max_chunksize=25)
        made.append(file.getvalue())
    return tuple(made)


def alter_word(content: bytes, draw: random.Random) -> bytes:
    """Change an aligned number: offsets, lengths, counts, buffers and tables of the metadata are all such."""
    size = draw.choice((2, 4, 4, 8, 8))
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 4))):
        if len(changed) < 2 * size:
            break
        at = draw.randrange(len(changed) // size) * size
        old = int.from_bytes(changed[at : at + size], "little", signed=True)
        new = draw.choice((old + 1, old - 1, old * 2, old + 8, -old, draw.choice(INTERESTING)))
        changed[at : at + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(changed)


def alter_metadata(content: bytes, draw: random.Random) -> bytes:
    """Change an aligned number of the footer or of the metadata of one message."""
    marks = [at for at in range(8, len(content) - 8, 8) if content[at : at + 4] == b"\xff\xff\xff\xff"]
    size = int.from_bytes(content[-10:-6], "little")
    spans = [(at, at + 8 + int.from_bytes(content[at + 4 : at + 8], "little")) for at in marks]
    spans.append((len(content) - 10 - size, len(content)))
    start, stop = draw.choice([span for span in spans if 0 <= span[0] < span[1] <= len(content)] or [(0, len(content))])
    return content[:start] + alter_word(content[start:stop], draw) + content[stop:]


BASES: dict[str, Callable[[], tuple[bytes, ...]]] = {"csv": csv_bases, "parquet": parquet_bases, "arrow": arrow_bases}
WAYS: dict[str, tuple[Callable[[bytes, random.Random], bytes], ...]] = {
    "csv": (
        *BLIND,
        insert_token,
        insert_token,
        insert_token,
        replace_cell,
        replace_cell,
        change_cells,
        change_lines,
        encode_again,
    ),
    "parquet": (*BLIND, alter_footer, alter_footer, alter_footer, alter_page, alter_page, alter_page),
    "arrow": (*BLIND, alter_word, alter_word, alter_metadata, alter_metadata, alter_metadata),
}
