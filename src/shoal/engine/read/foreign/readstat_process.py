"""The process in which a file of Stata, SPSS or SAS is decoded: the library may crash on a broken file, and ends nothing else.

It runs as a program of its own and imports nothing of Shoal. Standard input has one line of JSON that says what is wanted;
standard output gets one line of JSON with what the file declares, and then parts of some thousand rows: a line of JSON with the
number of rows, then each column as bytes. Numbers are floating point numbers of 64 bits, in which a missing one is no number;
texts are their lengths in 32 bits each, then all letters in UTF-8. An empty part is the last.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any, BinaryIO

AT_ONCE = 1 << 26
"""About how many bytes of rows are decoded at a time."""
MOST_ROWS = 1 << 18
_CELL = 40
"""Bytes that one value takes while it is decoded, besides its letters."""


def main(asked: dict[str, Any], out: BinaryIO) -> None:
    """Do what is asked: declare the columns, count the rows where the file does not say how many, give the values."""
    import pyreadstat

    read = getattr(pyreadstat, asked["reader"])
    path, options = asked["path"], asked["options"] | {"output_format": "dict", "disable_datetime_conversion": True}
    found = read(path, metadataonly=True, **options)[1]
    rows = found.number_rows
    if rows is None or rows < 0:
        first = found.column_names[:1]
        rows = sum(len(part[first[0]]) for part in _parts(read, path, options, first, MOST_ROWS)) if first else 0
    _write_line(out, _declared(found, rows))
    wanted = asked["columns"]
    if wanted:
        texts = {name for name, kind in found.readstat_variable_types.items() if kind.startswith("string")}
        for part in _parts(read, path, options, wanted, _rows_at_once(found)):
            _write_line(out, len(part[wanted[0]]))
            out.writelines(_text_bytes(part[name]) if name in texts else _number_bytes(part[name]) for name in wanted)
    _write_line(out, 0)
    out.flush()


def _declared(found: Any, rows: int) -> dict[str, Any]:
    names = found.column_names
    return {
        "rows": rows,
        "names": names,
        "labels": found.column_names_to_labels,
        "stored": found.readstat_variable_types,
        "shown": found.original_variable_types,
        "value_labels": {name: list(held.items()) for name, held in found.variable_value_labels.items()},
        "missing": {name: [[span["lo"], span["hi"]] for span in spans] for name, spans in found.missing_ranges.items()},
    }


def _parts(read: Any, path: str, options: dict[str, Any], names: list[str], step: int) -> Any:
    """Read some rows at a time until there are no more, whatever the header says of their number."""
    first = 0
    while True:
        part = read(path, usecols=names, row_offset=first, row_limit=step, **options)[0]
        count = len(part[names[0]])
        if count:
            yield part
        if count < step:
            return
        first += count


def _rows_at_once(found: Any) -> int:
    """Choose so many rows that what is decoded at a time stays small, whatever widths the file declares."""
    widths = sum(_CELL + max(int(width), 0) for width in found.variable_storage_width.values())
    return max(1, min(MOST_ROWS, AT_ONCE // max(widths, 1)))


def _number_bytes(values: list[Any]) -> bytes:
    import numpy as np

    return np.array(values, dtype="<f8").tobytes()


def _text_bytes(values: list[Any]) -> bytes:
    import numpy as np

    texts = [(value or "").encode() for value in values]
    return np.array([len(text) for text in texts], dtype="<i4").tobytes() + b"".join(texts)


def _write_line(out: BinaryIO, value: Any) -> None:
    out.write(json.dumps(value).encode() + b"\n")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this ends it
    main(json.loads(sys.stdin.buffer.readline()), sys.stdout.buffer)
