"""Workbooks that tests read: written by openpyxl, or, for OpenDocument, by hand."""

from __future__ import annotations

import datetime as dt
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
