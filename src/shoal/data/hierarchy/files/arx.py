"""ARX's hierarchy files: a CSV without a header, the value first, then its labels from fine to coarse."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from shoal.data.hierarchy.files.form import Form
from shoal.errors import PolicyError

DELIMITERS = (";", "\t", "|", ",")
"""In the order in which they are believed, where several would do."""


def read(path: Path, delimiter: str | None = None) -> tuple[list[list[str]], Form]:
    """The rows of a file and how it is written."""
    try:
        return parse(path.read_bytes(), delimiter, str(path))
    except OSError:
        raise PolicyError("a hierarchy file cannot be read", came=path, fix="name a file that is there") from None


def parse(raw: bytes, delimiter: str | None = None, name: str = "the file") -> tuple[list[list[str]], Form]:
    """The rows of a file's bytes and how it is written; PolicyError where it is no table."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PolicyError("a hierarchy file is not UTF-8 text", came=name, fix="save it as UTF-8") from None
    if "\0" in text:
        raise PolicyError("a hierarchy file is no text", came=name)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise PolicyError("a delimiter is one character", came=repr(delimiter), allowed="such as ; or a comma")
    found = delimiter or sniffed(text)
    rows = _rows(text, found)
    if rows is None:
        raise PolicyError("a hierarchy file has a quote that does not end", came=name)
    if not rows:
        raise PolicyError("a hierarchy file without rows", came=name)
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise PolicyError(
                f"a hierarchy file has rows of different lengths: line {line} has {len(row)} columns, not {width}",
                came=name,
                fix="give every value a label at every level; if the delimiter was misread, say delimiter:",
            )
        if any("\r" in field or "\n" in field for field in row):
            raise PolicyError(f"a hierarchy file has a field over several lines before line {line + 1}", came=name)
        if not row[0]:
            raise PolicyError(f"a hierarchy file has a row without a value in line {line}", came=name)
    fields = [row for _, row in rows]
    form = Form(
        delimiter=found,
        newline="\r\n" if "\r\n" in text else "\n",
        mark=raw.startswith(b"\xef\xbb\xbf"),
        quoted=text.count('"') >= 2 * width * len(rows) and text.lstrip().startswith('"'),
        ended=text.endswith("\n"),
        closed=width > 1 and len({row[-1] for row in fields}) == 1,
    )
    return fields, form


def sniffed(text: str) -> str:
    """The delimiter that gives every row the same number of columns, more than one; failing that, the most frequent."""
    for delimiter in DELIMITERS:
        rows = _rows(text, delimiter)
        if rows and len(rows[0][1]) > 1 and all(len(row) == len(rows[0][1]) for _, row in rows):
            return delimiter
    return max(DELIMITERS, key=text.count)


def _rows(text: str, delimiter: str) -> list[tuple[int, list[str]]] | None:
    """Rows with their line numbers, empty lines left out; None where a quote does not end."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error:
        return None


def written(rows: Sequence[Sequence[str]], form: Form) -> bytes:
    """The bytes of a file in the given form."""
    out = io.StringIO(newline="")
    csv.writer(
        out,
        delimiter=form.delimiter,
        lineterminator=form.newline,
        quoting=csv.QUOTE_ALL if form.quoted else csv.QUOTE_MINIMAL,
    ).writerows(rows)
    text = out.getvalue()
    if not form.ended:
        text = text.removesuffix(form.newline)
    return text.encode("utf-8-sig" if form.mark else "utf-8")
