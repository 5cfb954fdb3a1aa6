"""Read the tables of a release with Python alone: `python read_release.py [FOLDER]` lists them.

This file lies in every release folder. It needs Python 3.9 or newer and nothing else; frames need pandas or pyarrow, and tables
in Parquet need pyarrow. It shares no code with Shoal. What it reads are the tables, `codebook.csv` (what labels stand for),
`datapackage.json` (types of columns) and `certificate.json` (hashes: a file that was changed is refused). It verifies nothing
else: `shoal verify` and the one-file verifier do.

    import sys

    sys.dont_write_bytecode = True                 # else Python adds a folder __pycache__, and the release no longer verifies
    from read_release import open_release

    release = open_release(".")
    release.names                                  # the names of the tables
    release.rows("table")                          # a list of dictionaries
    release.to_pandas("table", intervals="columns", sets="codes")
    release.to_arrow("table", intervals="struct")
    release.labels("age")                          # every label of a column and what it stands for
    release.weight("table")                        # how many records a row stands for on average

Cells are values of their types where a table shows values, else labels. A missing value is None; in a table of counts it is the
label `(missing)`, so that no line is lost when lines are grouped. With intervals="columns" every labelled column of numbers,
dates or times is followed by two more, NAME_low and NAME_high; with "struct" the two ends take the place of the label (in pandas
as an Interval). An interval holds its lower end and not its upper one; an upper end that is included is moved to the next number
or microsecond. A set of numbers with gaps has the ends of the whole. With sets="codes" a set of values has its short code in the
place of its label.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

MISSING = "(missing)"
INTERVALS = ("text", "columns", "struct")
SETS = ("text", "codes")
LINES = ("integer", "decimal", "date", "datetime")
"""Types whose values lie on a line, so that there are intervals of them."""

Pieces = Iterator[tuple[str, tuple[str, Any], list[Any]]]


class CodebookLabel(NamedTuple):
    """A label and what it stands for; the upper end of its interval is not included."""

    text: str
    code: str | None
    kind: str
    low: Any
    high: Any
    values: tuple[str, ...]
    missing: bool
    rules: tuple[str, ...]
    """The rule files in which it means this; none where it means it in all."""


def _remove_own_cache() -> None:
    """Remove what Python leaves in a release folder when this file is imported there: a verified folder holds no other files."""
    cached = getattr(globals().get("__spec__"), "cached", None)
    if cached and (Path(__file__).resolve().parent / "certificate.json").is_file():
        with contextlib.suppress(OSError):
            Path(cached).unlink()
            Path(cached).parent.rmdir()


_remove_own_cache()


class ReleaseError(Exception):
    """A folder that cannot be read, or that was changed."""


def open_release(folder: str | os.PathLike[str] | None = None) -> ReleaseFolder:
    """Open a release folder; without a name, the folder of this file."""
    return ReleaseFolder(Path(__file__).resolve().parent if folder is None else folder)


class ReleaseFolder:
    """The tables of a release folder, read when they are asked for."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.certificate = json.loads((self.folder / "certificate.json").read_text(encoding="utf-8"))
            self._hashes = self.certificate["files"]
            self.package = json.loads(self._read("datapackage.json").decode("utf-8"))
        except (OSError, ValueError, KeyError) as error:
            raise ReleaseError("this is no release folder with a codebook: " + str(error)) from None
        self._resources: dict[str, dict[str, Any]] = {
            each["shoal"]["name"]: each for each in self.package["resources"] if "shoal" in each
        }
        self._rules: dict[str, dict[str, list[str]]] = {}
        for entry in self.certificate["tables"] + self.certificate.get("counts", []):
            rules = entry.get("recoding", {})
            self._rules[entry["file"]] = {name: [own] if isinstance(own, str) else own for name, own in rules.items()}
        self._codebook: dict[str, list[CodebookLabel]] | None = None

    @property
    def names(self) -> list[str]:
        """The names of the tables."""
        return list(self._resources)

    def columns(self, table: str | None = None) -> list[str]:
        """The names of the columns of a table."""
        return [field["name"] for field in self._resource(table)["schema"]["fields"]]

    def weight(self, table: str | None = None) -> float | None:
        """How many records a row stands for on average; None where rows have no weights."""
        found: float | None = self._resource(table)["shoal"].get("weight")
        return found

    def labels(self, column: str, table: str | None = None) -> list[CodebookLabel]:
        """Every label of a column and what it stands for; of one table alone, if it is named."""
        found = self._labels().get(column, [])
        rules = self._rules.get(_file_of(self._resource(table)), {}).get(column) if table is not None else None
        return [label for label in found if rules is None or not label.rules or not set(rules).isdisjoint(label.rules)]

    def rows(self, table: str | None = None) -> list[dict[str, Any]]:
        """The rows of a table as dictionaries: values of their types, labels as text, None where a value is missing."""
        names, cells = self.columns(table), self._cells(table)
        return [dict(zip_longest(names, row)) for row in zip_longest(*(cells[name] for name in names))]

    def to_pandas(self, table: str | None = None, intervals: str = "text", sets: str = "text") -> Any:
        """The table as a pandas frame: labels are categories, in their order, and intervals as they are asked for."""
        pd: Any = importlib.import_module("pandas")
        found = {}
        for name, kind, values in self._columns(table, intervals, sets):
            found[name] = _pandas_column(pd, kind, values)
        return pd.DataFrame(found)

    def to_arrow(self, table: str | None = None, intervals: str = "text", sets: str = "text") -> Any:
        """The table as an Arrow table: labels are dictionaries, and intervals as they are asked for."""
        import pyarrow as pa

        found = {}
        for name, kind, values in self._columns(table, intervals, sets):
            found[name] = _arrow_column(pa, kind, values)
        return pa.table(found)

    # --- how it is read ---

    def _columns(self, table: str | None, intervals: str, sets: str) -> Pieces:
        """Name, type and values of every column as they are asked for."""
        if intervals not in INTERVALS or sets not in SETS:
            raise ReleaseError(f"intervals is one of {', '.join(INTERVALS)}, sets one of {', '.join(SETS)}")
        cells, resource = self._cells(table), self._resource(table)
        taken = set(self.columns(table))
        for field in resource["schema"]["fields"]:
            name = field["name"]
            labels = self._table_labels(resource, field)
            if labels is None:
                yield name, _plain_kind(field), cells[name]
                continue
            of, counts = field["shoal"]["labels"], resource["shoal"]["kind"] == "counts"
            known = {label.text: label for label in labels}
            found = [None if text is None else known[text] for text in cells[name]]
            if intervals == "struct" and of in LINES:
                yield name, ("interval", of), [(None, None) if one is None else (one.low, one.high) for one in found]
                continue
            shown = {label: label.code if sets == "codes" and label.code else label.text for label in labels}
            listed = [shown[label] for label in labels if counts or label.kind != "missing"]
            kind = "ordered" if not counts and _in_order(labels, of) else "category"
            yield name, (kind, list(dict.fromkeys(listed))), [None if one is None else shown[one] for one in found]
            if intervals == "columns" and of in LINES:
                for end in ("low", "high"):
                    own = name + "_" + end
                    while own in taken:
                        own += "_"
                    taken.add(own)
                    yield own, (of, None), [None if one is None else getattr(one, end) for one in found]

    def _table_labels(self, resource: dict[str, Any], field: dict[str, Any]) -> list[CodebookLabel] | None:
        """The labels of a column of one table; None where its cells are values, or labels that are not listed."""
        rules = self._rules.get(_file_of(resource), {}).get(field["name"])
        if rules is None or "labels" not in field.get("shoal", {}):
            return None
        every = self._labels().get(field["name"], [])
        found = [label for label in every if not label.rules or not set(rules).isdisjoint(label.rules)]
        listed = {each["value"] if isinstance(each, dict) else each for each in field.get("categories", [])}
        if listed:
            found = [label for label in found if label.text in listed or label.kind == "missing"]
        return found if field["shoal"].get("listed") else None

    def _resource(self, table: str | None) -> dict[str, Any]:
        if table is None and len(self._resources) == 1:
            table = self.names[0]
        if table not in self._resources:
            raise ReleaseError(f"no table is called {table!r}; there are: {', '.join(self.names[:20])}")
        return self._resources[table]

    def _read(self, name: str) -> bytes:
        """The bytes of a file, if it is as it was sealed."""
        content = self.folder.joinpath(*name.split("/")).read_bytes()
        if hashlib.sha256(content).hexdigest() != self._hashes.get(name):
            raise ReleaseError(f"{name} was changed after it was sealed, or is not part of the release")
        return content

    def _cells(self, table: str | None) -> dict[str, list[Any]]:
        """The cells of every column: typed values, or labels as text."""
        resource = self._resource(table)
        fields, path = resource["schema"]["fields"], resource["path"]
        if resource["format"] == "parquet":
            columns = _parquet_columns(map(self._read, [path] if isinstance(path, str) else path))
        else:
            lines = list(csv.reader(_lines(self._read(path))))
            if not lines or lines[0] != [field["name"] for field in fields]:
                raise ReleaseError(f"{resource['path']} has other columns than datapackage.json says")
            body = [line or [""] for line in lines[1:]]
            columns = {field["name"]: [line[place] for line in body] for place, field in enumerate(fields)}
        found, counts = {}, resource["shoal"]["kind"] == "counts"
        for field in fields:
            stays = counts and field["type"] == "string"
            gone = {"", None} if stays else {"", None, *resource["schema"]["missingValues"]}
            found[field["name"]] = _typed(field, columns[field["name"]], gone)
        return found

    def _labels(self) -> dict[str, list[CodebookLabel]]:
        if self._codebook is None:
            self._codebook = _read_codebook(self._read("codebook.csv"))
        return self._codebook


def _plain_kind(field: dict[str, Any]) -> tuple[str, Any]:
    """The type of a column whose cells are values, or labels that are not listed."""
    listed = [each["value"] if isinstance(each, dict) else each for each in field.get("categories", [])]
    if listed and "enum" in field.get("constraints", {}):
        return ("ordered" if field.get("categoriesOrdered") else "category"), listed
    return field["type"], None


def _lines(content: bytes) -> io.StringIO:
    """The lines of a CSV file; a sign that ends a line elsewhere, such as U+2028, is a letter of a label here."""
    return io.StringIO(content.decode("utf-8"), newline="")


def _file_of(resource: dict[str, Any]) -> str:
    """The file of a table as the certificate names it; a large table is a folder of that name, with parts in it."""
    found: str = resource["shoal"].get("file") or resource["path"]
    return found


def _parquet_columns(contents: Iterable[bytes]) -> dict[str, list[Any]]:
    """The columns of a table from its Parquet file, or from its parts one after the other."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ReleaseError("this table is stored as Parquet: install pyarrow to read it") from None
    found: dict[str, list[Any]] = {}
    for content in contents:
        table = parquet.read_table(pa.BufferReader(content))
        for name in table.column_names:
            found.setdefault(name, []).extend(table.column(name).to_pylist())
    return found


def _typed(field: dict[str, Any], texts: list[Any], gone: set[Any]) -> list[Any]:
    """Cells as values of the type of their field."""
    read: Any = {
        "integer": int,
        "number": float,
        "boolean": lambda text: text if isinstance(text, bool) else text == "true",
        "date": lambda text: text if isinstance(text, date) else date.fromisoformat(text),
        "datetime": lambda text: text if isinstance(text, datetime) else datetime.fromisoformat(text),
    }.get(field["type"], str)
    known: dict[Any, Any] = {}
    found = []
    for text in texts:
        if text not in known:
            known[text] = None if text in gone else read(text)
        found.append(known[text])
    return found


def _value(of: str, text: str) -> Any:
    if not text:
        return None
    if of == "integer":
        return int(text)
    if of == "decimal":
        return float(text)
    return date.fromisoformat(text) if of == "date" else datetime.fromisoformat(text)


def _after(value: Any) -> Any:
    """The next number or microsecond after an end that is included."""
    return value + timedelta(microseconds=1) if isinstance(value, datetime) else math.nextafter(value, math.inf)


def _read_codebook(content: bytes) -> dict[str, list[CodebookLabel]]:
    """The labels of every column, each with all lines of codebook.csv that are about it."""
    found: dict[str, dict[Any, CodebookLabel]] = {}
    for line in csv.DictReader(_lines(content)):
        if not line["label"]:
            continue
        of = line["type"]
        low, high = (_value(of, line[end]) if of in LINES else None for end in ("low", "high"))
        if high is not None and line["high_included"] == "true":
            high = _after(high)
        key = (line["label"], line["code"], line["kind"], line["rule"])
        own = found.setdefault(line["column"], {})
        values = (line["value"],) if line["value"] else ()
        gone = line["kind"] == "missing" or (line["kind"] == "set" and not values and line["value_label"] == MISSING)
        if key in own:
            last = own[key]
            low = last.low if low is None or (last.low is not None and last.low < low) else low
            high = last.high if high is None or (last.high is not None and last.high > high) else high
            values, gone = last.values + values, gone or last.missing
        own[key] = CodebookLabel(
            line["label"], line["code"] or None, line["kind"], low, high, values, gone, tuple(line["rule"].split())
        )
    return {column: list(own.values()) for column, own in found.items()}


def _in_order(labels: list[CodebookLabel], of: str) -> bool:
    """Whether labels follow each other without overlapping, so that one is before the other."""
    if of == "ordinal":
        return all(label.kind in ("value", "missing") for label in labels)
    if of not in LINES:
        return False
    own = [label for label in labels if label.kind != "missing"]
    if any(label.kind in ("set", "every value") or label.low is None or label.high is None for label in own):
        return False
    return all(own[place].high <= own[place + 1].low for place in range(len(own) - 1))


def _pandas_column(pandas: Any, kind: tuple[str, Any], values: list[Any]) -> Any:
    of, more = kind
    if of in ("category", "ordered"):
        return pandas.Categorical(values, categories=more, ordered=of == "ordered")
    if of == "interval":
        whole_pairs = [(None, None) if None in pair else pair for pair in values]
        lows, highs = ([pair[end] for pair in whole_pairs] for end in (0, 1))
        if more in ("date", "datetime"):
            left, right = (_pandas_times(pandas, ends) for ends in (lows, highs))
        else:
            left, right = (
                pandas.Series(ends, dtype="float64") for ends in (lows, highs)
            )  # whole numbers may be missing
        return pandas.arrays.IntervalArray.from_arrays(left.array, right.array, closed="left")
    if of in ("date", "datetime"):
        return _pandas_times(pandas, values).array
    if of == "integer":
        return pandas.array(values, dtype="Int64")
    if of == "boolean":
        return pandas.array(values, dtype="boolean")
    if of in ("number", "decimal"):
        return pandas.Series(values, dtype="float64").array
    return pandas.Series(values, dtype="object").array


def _pandas_times(pandas: Any, values: list[Any]) -> Any:
    """Days and times as pandas has them, in microseconds."""
    return pandas.Series(pandas.to_datetime(pandas.Series(values, dtype="object")), dtype="datetime64[us]")


def _arrow_column(pyarrow: Any, kind: tuple[str, Any], values: list[Any]) -> Any:
    of, more = kind
    plain = {
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "decimal": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "date": pyarrow.date32(),
        "datetime": pyarrow.timestamp("us"),
        "string": pyarrow.string(),
    }
    if of in ("category", "ordered"):
        place = {text: number for number, text in enumerate(more)}
        indices = pyarrow.array([None if text is None else place[text] for text in values], pyarrow.int32())
        return pyarrow.DictionaryArray.from_arrays(
            indices, pyarrow.array(more, pyarrow.string()), ordered=of == "ordered"
        )
    if of == "interval":
        ends = [pyarrow.array([pair[end] for pair in values], plain[more]) for end in (0, 1)]
        return pyarrow.StructArray.from_arrays(ends, names=["low", "high"])
    return pyarrow.array(values, plain[of])


def main() -> None:
    """List the tables of a folder."""
    try:
        release = open_release(sys.argv[1] if len(sys.argv) > 1 else None)
    except ReleaseError as error:
        sys.exit(str(error))
    lines = [release.package["title"]]
    for name in release.names:
        weight = release.weight(name)
        told = "" if weight is None else f"; a row stands for {weight:.6g} records on average"
        lines.append(f"  {name}: {', '.join(release.columns(name))}{told}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
