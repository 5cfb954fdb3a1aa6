"""Workbooks that tests read: written by openpyxl, or, for OpenDocument, by hand."""

from __future__ import annotations

import datetime as dt
import struct
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import openpyxl

_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
_HEAD = (
    f'<?xml version="1.0"?><office:document-content xmlns:office="{_OFFICE}:office:1.0" xmlns:table="{_OFFICE}:table:1.0" '
    f'xmlns:text="{_OFFICE}:text:1.0" office:version="1.2"><office:body><office:spreadsheet>'
)
_TAIL = "</office:spreadsheet></office:body></office:document-content>"
_MANIFEST = (
    f'<?xml version="1.0"?><manifest:manifest xmlns:manifest="{_OFFICE}:manifest:1.0"><manifest:file-entry '
    'manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>'
)


def write_xlsx(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """A workbook with these sheets, each a list of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def write_ods(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """The same as an OpenDocument workbook."""
    tables = (
        f'<table:table table:name="{escape(name)}">'
        + "".join(f"<table:table-row>{''.join(map(_cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    return write_content(path, "".join(tables))


def write_content(path: Path, body: str) -> Path:
    """An OpenDocument workbook with these tables as they are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        archive.writestr("content.xml", _HEAD + body + _TAIL)
        archive.writestr("META-INF/manifest.xml", _MANIFEST)
    return path


def _cell(value: Any) -> str:
    kind, name, text = "string", None, None
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, bool):
        kind, name, text = "boolean", "boolean-value", str(value).lower()
    elif isinstance(value, int | float):
        kind, name, text = "float", "value", repr(value)
    elif isinstance(value, dt.date):
        kind, name, text = "date", "date-value", value.isoformat()
    held = "" if name is None else f' office:{name}="{text}"'
    return (
        f'<table:table-cell office:value-type="{kind}"{held}><text:p>{escape(str(value))}</text:p></table:table-cell>'
    )


def write_xlsb(path: Path, cells: dict[tuple[int, int], Any]) -> Path:
    """Excel's binary workbook with one sheet `s`: numbers, texts and truth values by row and column, counted from 0."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.bin", _workbook_records())
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="rId1" Type="{relation}/worksheet" Target="worksheets/sheet1.bin"/></Relationships>',
        )
        archive.writestr("xl/worksheets/sheet1.bin", _sheet_records(cells))
    return path


def _record(kind: int, content: bytes = b"") -> bytes:
    size = bytearray()
    left = len(content)
    while left > 0x7F:
        size.append(left & 0x7F | 0x80)
        left >>= 7
    size.append(left)
    named = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
    return named + bytes(size) + content


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _workbook_records() -> bytes:
    sheet = struct.pack("<II", 0, 1) + _wide("rId1") + _wide("s")
    parts = ((0x83, b""), (0x99, bytes(12)), (0x8F, b""), (0x9C, sheet), (0x90, b""), (0x84, b""))
    return b"".join(_record(kind, content) for kind, content in parts)


def _sheet_records(cells: dict[tuple[int, int], Any]) -> bytes:
    rows, columns = (max(place[axis] for place in cells) for axis in (0, 1))
    found = _record(0x81) + _record(0x94, struct.pack("<IIII", 0, rows, 0, columns)) + _record(0x91)
    for row in sorted({place[0] for place in cells}):
        found += _record(0, struct.pack("<I", row) + bytes(13))
        for (_, column), value in sorted(item for item in cells.items() if item[0][0] == row):
            head = struct.pack("<II", column, 0)
            if isinstance(value, bool):
                found += _record(4, head + bytes([value]))
            elif isinstance(value, str):
                found += _record(6, head + _wide(value))
            else:
                found += _record(5, head + struct.pack("<d", value))
    return found + _record(0x92) + _record(0x82)


def write_xls(path: Path, cells: dict[tuple[int, int], Any]) -> Path:
    """The workbook of Excel 97 to 2003 with one sheet `s`, as a compound file of one stream."""
    begin = struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 6)
    head = _old_record(0x0809, begin)
    named = 4 + 4 + 2 + 2 + 1
    at = len(head) + named + 4
    globals_ = head + _old_record(0x0085, struct.pack("<IBBBB", at, 0, 0, 1, 0) + b"s") + _old_record(0x000A)
    sheet = _old_record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 6))
    for (row, column), value in sorted(cells.items()):
        where = struct.pack("<HHH", row, column, 0)
        if isinstance(value, bool):
            sheet += _old_record(0x0205, where + bytes([value, 0]))
        elif isinstance(value, str):
            sheet += _old_record(0x0204, where + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))
        else:
            sheet += _old_record(0x0203, where + struct.pack("<d", value))
    path.write_bytes(_compound_file(globals_ + sheet + _old_record(0x000A)))
    return path


def _old_record(kind: int, content: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def _compound_file(stream: bytes) -> bytes:
    """A compound file with one stream, `Workbook`: a header, a table of sectors, a folder, and the stream in 512 bytes each."""
    free, end, table = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    stream = stream.ljust(max(4096, -(-len(stream) // 512) * 512), b"\0")  # a shorter one would need small sectors
    count = len(stream) // 512
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += (
        struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0)
        + struct.pack("<I", 0)
        + struct.pack("<I", free) * 108
    )
    sectors = [table, end, *(place + 3 for place in range(count - 1)), end]
    fat = struct.pack(f"<{len(sectors)}I", *sectors).ljust(512, b"\xff")

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        named = name.encode("utf-16-le")
        known = named.ljust(64, b"\0") + struct.pack("<HBBIII", len(named) + 2, kind, 1, free, free, child)
        return known + bytes(36) + struct.pack("<IQ", start, size)

    folder = entry("Root Entry", 5, 1, end, 0) + entry("Workbook", 2, free, 2, len(stream)) + bytes(256)
    return header + fat + folder + stream
