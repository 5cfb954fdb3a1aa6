"""Codebooks as they come: CSV, JSON (Frictionless too), DDI 2.5, a sheet of a workbook, or the labels of a statistical file.

What a codebook lists was written by a person, so it is declared. Numbers that a program counted on the table and put into a
codebook (frequencies, the smallest and the largest value found) are never read.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.data.plain_file import advise, near_path, read_plain_file
from shoal.data.type import Type, spell
from shoal.draft.markup import MarkupElement, read_markup
from shoal.errors import DataError, PolicyError, UsageError

if TYPE_CHECKING:
    from shoal.engine.read.source import StoredColumns

LARGEST = 1 << 26
"""Bytes of a codebook: 64 MiB."""
STATISTICAL = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
"""Files whose variable and value labels are a codebook."""
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Files that may hold a codebook on a sheet of its own."""
DELIMITERS = (",", ";", "\t")

_TYPES: dict[str, Type] = {
    word: kind
    for kind, words in {
        Type.INTEGER: "integer int whole long byte count year ganzzahl",
        Type.DECIMAL: "decimal number numeric float double real continuous contin dezimalzahl zahl",
        Type.CATEGORY: "category categorical nominal factor code coded kategorie",
        Type.ORDINAL: "ordinal ordered",
        Type.TEXT: "text string character char str",
        Type.BOOLEAN: "boolean bool logical",
        Type.DATE: "date day datum",
        Type.DATETIME: "datetime timestamp time",
    }.items()
    for word in words.split()
}
_HEADS: dict[str, str] = {
    word: meaning
    for meaning, words in {
        "name": "column variable name field attribute var spalte merkmal variablenname",
        "label": "label variable_label description title question beschreibung bezeichnung frage variablenlabel",
        "type": "type datatype data_type storage typ datentyp",
        "value": "value code wert kode",
        "value_label": "value_label meaning code_label category_label wertelabel bedeutung",
        "values": "values codes categories enum value_labels werte wertelabels ausprägungen kodierung codierung",
        "missing": "missing missing_values missing_codes na fehlend fehlende_werte",
        "low": "low min minimum lowest from von",
        "high": "high max maximum highest to bis",
        "format": "format date_format",
    }.items()
    for word in words.split()
}
"""The heads of a CSV codebook, each with what it means."""
_OF_A_RELEASE = frozenset({"column", "title", "kind", "high_included", "rule"})
"""Heads that the codebook in a release folder has: it says what published labels stand for, not what a table holds."""
_YES = frozenset({"yes", "y", "true", "1", "x", "missing"})
_NO = frozenset({"no", "n", "false", "0", ""})


def read_codebook(path: str | os.PathLike[str], other_than: str | None = None) -> Codebook:
    """Read a codebook: CSV or TSV, JSON, DDI XML, a sheet of a workbook, or the labels in a file of SPSS, Stata or SAS.

    `other_than` is the sheet of a workbook that holds the table itself: it lies in memory already, and is not opened again.

    Raises     UsageError where it is none of these, or says two things of one column.
    """
    where = Path(path)
    ending = where.suffix.lower()
    if ending in STATISTICAL:
        return _of_labels(where)
    if ending in WORKBOOKS and where.is_file():
        return _of_workbook(where, other_than)
    readers = {".csv": _of_csv, ".tsv": _of_csv, ".txt": _of_csv, ".json": _of_json, ".xml": _of_ddi, ".ddi": _of_ddi}
    if ending not in readers and ending not in WORKBOOKS:
        raise UsageError(
            "a codebook of an unknown kind",
            came=where,
            allowed=f"{', '.join(readers)}, a sheet of {', '.join(WORKBOOKS)}, or labels in {', '.join(STATISTICAL)}",
        )
    try:
        content = read_plain_file(where, LARGEST, UsageError)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a name of a file"
        near = near_path(where) if isinstance(error, FileNotFoundError) else None
        raise UsageError("the codebook cannot be read", came=f"{where} ({why})", **advise(where, near)) from None
    found = readers[ending](content, where.name)
    if not found:
        raise UsageError(
            "the codebook describes no column", came=where, fix="see the guide for the forms that are read"
        )
    unread = _unknown_heads(content, where.name) if readers[ending] is _of_csv else ()
    return Codebook(tuple(found), where.name, unread)


# --- one column as it is put together -----------------------------------------------------------------------------------


@dataclass
class _Column:
    """What has been read of a column so far."""

    name: str
    label: str | None = None
    type: Type | None = None
    values: dict[str, str | None] = field(default_factory=dict)
    missing: dict[str, str | None] = field(default_factory=dict)
    low: str | None = None
    high: str | None = None
    format: str | None = None

    def say(self, key: str, value: Any, source: str) -> None:
        """Take in what is said of it; UsageError where another thing was said before."""
        if value is None:
            return
        before = getattr(self, key)
        if before not in (None, value):
            raise UsageError(
                f"column '{self.name}': the codebook says two things of its {key}",
                came=f"{_word(before)}, and {_word(value)} in {source}",
                fix="keep one of the two",
            )
        setattr(self, key, value)

    def description(self, source: str) -> ColumnDescription:
        """The column as a codebook has it."""
        if (self.low is None) != (self.high is None):
            raise UsageError(
                f"column '{self.name}': its range has one end",
                came=f"{self.low if self.high is None else self.high} in {source}",
                allowed="the lowest value and the highest, or neither",
            )
        values = {value: label for value, label in self.values.items() if value not in self.missing}
        missing = {value: label or self.values.get(value) for value, label in self.missing.items()}
        try:
            return ColumnDescription(
                self.name,
                self.label,
                self.type,
                tuple(CodedValue(value, label) for value, label in values.items()) if values else None,
                tuple(CodedValue(value, label) for value, label in missing.items()),
                None if self.low is None or self.high is None else (self.low, self.high),
                self.format,
            )
        except PolicyError as error:
            raise UsageError(
                f"column '{self.name}': its range does not fit its type",
                came=f"{error.came} in {source}",
                allowed=error.allowed,
            ) from None


def _word(value: object) -> str:
    return value.value if isinstance(value, Type) else str(value)


def _type_of(word: str | None) -> Type | None:
    """The type that a word names; None for a word of another system, which the table itself decides."""
    return None if word is None else _TYPES.get(word.strip().casefold())


# --- CSV ------------------------------------------------------------------------------------------------------------------


def _of_csv(content: bytes, source: str) -> list[ColumnDescription]:
    return _of_rows(*_rows_of_csv(content, source), source)


def _of_rows(heads: Sequence[str | None], rows: Iterable[Sequence[str | None]], source: str) -> list[ColumnDescription]:
    """One line for each column, or for each value of it; a line without a name goes on with the column before."""
    found: dict[str, _Column] = {}
    here: _Column | None = None
    for number, row in enumerate(rows, 2):
        cells = {head: cell.strip() for head, cell in zip(heads, row, strict=False) if head and cell and cell.strip()}
        if not cells:
            continue
        if "name" in cells:
            here = found.setdefault(cells["name"], _Column(cells["name"]))
        if here is None:
            raise UsageError("a codebook begins with a line that names no column", came=f"line {number} of {source}")
        _take_line(here, cells, f"line {number} of {source}")
    return [column.description(source) for column in found.values()]


def _of_workbook(where: Path, other_than: str | None) -> Codebook:
    """The one sheet whose first row has the heads of a codebook; sheets that are called so are looked at before others."""
    from shoal.engine.read.foreign.spreadsheet import list_sheets, says_of_a_table

    try:
        sheets = [sheet for sheet in list_sheets(where) if sheet != other_than]
        found: list[tuple[str, list[str | None], StoredColumns]] = []
        for sheet in sheets:
            if found and not says_of_a_table(sheet):
                break
            stored = _open_sheet(where, sheet)
            heads = [] if stored is None else [_HEADS.get(_plain(name)) for name in stored.names]
            if stored is not None and "name" in heads and len(set(heads) - {None}) > 1:
                found.append((sheet, heads, stored))
    except DataError as error:
        raise UsageError(error.wrong, came=error.came, allowed=error.allowed, fix=error.fix) from None
    if len(found) != 1:
        several = ", ".join(f"'{sheet}'" for sheet, *_ in found)
        raise UsageError(
            "several sheets look like a codebook" if found else "no sheet of the workbook looks like a codebook",
            came=f"{several or ', '.join(repr(sheet) for sheet in sheets)} of {where.name}",
            allowed="one sheet whose first row has heads such as variable, code, meaning, or column, label, type, low, high",
            fix="give that sheet such heads, or save it as CSV and name the file",
        )
    ((sheet, heads, stored),) = found
    rows = (row for batch in stored.opener(range(len(heads))) for row in zip(*batch.to_pydict().values(), strict=True))
    source = f"sheet '{sheet}' of {where.name}"
    unread = tuple(name for name, head in zip(stored.names, heads, strict=True) if head is None and name)
    return Codebook(tuple(_of_rows(heads, rows, source)), source, unread)


def _open_sheet(where: Path, sheet: str) -> StoredColumns | None:
    """A sheet that has the form of a table; None for one with a title or with notes beside its cells."""
    from shoal.engine.read.foreign.spreadsheet import open_workbook

    try:
        return open_workbook(where, sheet)
    except DataError:
        return None


def _rows_of_csv(content: bytes, source: str) -> tuple[list[str | None], list[list[str]]]:
    head, *rows = _lines_of_csv(content, source)
    if {_plain(each) for each in head} >= _OF_A_RELEASE:
        raise UsageError(
            "the codebook of a release says what published labels stand for, not which values a table holds",
            came=source,
            fix="name the codebook of the table; for the same table a year later, begin with the policy of its last release",
        )
    heads = [_HEADS.get(_plain(each)) for each in head]
    if "name" not in heads:
        raise UsageError(
            "the codebook has no column that names the columns",
            came=f"{', '.join(head)[:200]} in {source}",
            allowed="a head such as column, variable or name; beside it label, type, value, value_label, missing, low, high",
        )
    return heads, rows


def _lines_of_csv(content: bytes, source: str) -> list[list[str]]:
    text = _text_of(content, source)
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)) or [[]]
    except csv.Error as error:
        raise UsageError("the codebook is no CSV file", came=f"{source} ({error})") from None


def _plain(head: str) -> str:
    """A head as it is looked up: in small letters, with one sign between its words."""
    return head.strip().casefold().replace(" ", "_").replace("-", "_")


def _unknown_heads(content: bytes, source: str) -> tuple[str, ...]:
    """The heads above columns of a CSV codebook that were passed over."""
    head, *_ = _lines_of_csv(content, source)
    return tuple(each.strip() for each in head if each.strip() and _plain(each) not in _HEADS)


def _take_line(column: _Column, cells: Mapping[str, str], place: str) -> None:
    is_value = "value" in cells
    column.say("label", cells.get("label") if not is_value or "value_label" in cells else None, place)
    column.say("type", _type_of(cells.get("type")), place)
    column.say("format", cells.get("format"), place)
    for key in ("low", "high"):
        column.say(key, cells.get(key), place)
    for value, label in _pairs(cells.get("values", "")):
        _put(column.values, value, label, column.name, place)
    said = cells.get("missing", "")
    if not is_value:
        for value, label in _pairs(said):
            _put(column.missing, value, label, column.name, place)
        return
    if said.casefold() not in _YES | _NO:
        raise UsageError(
            "whether a value stands for a missing one is said with yes or no",
            came=f"{said} in {place}",
            allowed="yes, no",
        )
    meaning = cells.get("value_label") or cells.get("label")
    _put(column.missing if said.casefold() in _YES else column.values, cells["value"], meaning, column.name, place)


def _pairs(text: str) -> list[tuple[str, str | None]]:
    """Codes with their meanings in one cell: `1=male; 2=female`, or the codes alone.

    Between them stands a semicolon, an upright stroke or a line end. A comma does where every part has a code and a meaning,
    because meanings may have commas too.
    """
    sign = next((each for each in (";", "|", "\n") if each in text), ";")
    if sign not in text and all("=" in part for part in text.split(",")):
        sign = ","
    parts = [part.partition("=") for part in text.split(sign) if part.strip()]
    return [(value.strip(), label.strip() or None) for value, _, label in parts]


def _put(into: dict[str, str | None], value: str, label: str | None, name: str, place: str) -> None:
    if value in into and label != into[value]:
        raise UsageError(
            f"column '{name}': the codebook says two things of the value {value}",
            came=f"{into[value] or 'nothing'}, and {label or 'nothing'} in {place}",
            fix="keep one of the two",
        )
    into[value] = label


def _text_of(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("the codebook is not UTF-8 text", came=source, fix="save it as UTF-8") from None


# --- JSON -----------------------------------------------------------------------------------------------------------------


def _of_json(content: bytes, source: str) -> list[ColumnDescription]:
    """A Frictionless data package or table schema, or `columns`: a list, or a mapping from names, which may also stand alone."""
    try:
        told = json.loads(_text_of(content, source))
    except (ValueError, RecursionError):
        raise UsageError("the codebook is no JSON", came=source) from None
    fields, missing = _fields(told, source)
    return [_field(each, missing, source).description(source) for each in fields]


def _fields(told: Any, source: str) -> tuple[list[Mapping[str, Any]], list[Any]]:
    """The descriptions of columns, and the missing codes of all of them."""
    schema = told
    if isinstance(told, dict) and isinstance(told.get("resources"), list):
        tables = [each.get("schema") for each in told["resources"] if isinstance(each, dict)]
        schemas = [each for each in tables if isinstance(each, dict)]
        if len(schemas) != 1:
            raise UsageError(
                "the data package does not describe one table",
                came=f"{len(schemas)} tables in {source}",
                allowed="one resource with a schema",
                fix="save the schema of the table that is meant as a file of its own",
            )
        schema = schemas[0]
    found = schema.get("fields", schema.get("columns")) if isinstance(schema, dict) else schema
    if found is None and isinstance(schema, dict) and all(isinstance(own, dict) for own in schema.values()):
        found, schema = schema, None
    if isinstance(found, dict):
        found = [{"name": name, **(own if isinstance(own, dict) else {"label": own})} for name, own in found.items()]
    if not isinstance(found, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in found
    ):
        raise UsageError(
            "the JSON describes no columns",
            came=source,
            allowed="a data package, a table schema with `fields`, `columns` with a `name` each, or a mapping from names: "
            '{"age": {"label": "Age in years", "minimum": 0, "maximum": 120}}',
        )
    return found, _as_list(schema.get("missingValues")) if isinstance(schema, dict) else []


def _field(own: Mapping[str, Any], missing: Sequence[Any], source: str) -> _Column:
    column = _Column(own["name"])
    column.label = _said(own, "label", "title", "description")
    column.type = _type_of(_said(own, "type"))
    given = own.get("constraints")
    limits: Mapping[str, Any] = given if isinstance(given, dict) else own
    for value, label in _coded(own.get("categories", own.get("values", limits.get("enum"))), source):
        _put(column.values, value, label, column.name, source)
    for value, label in _coded([*missing, *_as_list(own.get("missingValues", own.get("missing")))], source):
        if value:
            _put(column.missing, value, label, column.name, source)
    low, high = (limits.get(key) for key in ("minimum", "maximum"))
    if isinstance(own.get("interval"), list) and len(own["interval"]) == 2:
        low, high = own["interval"]
    column.low, column.high = (None if end is None else spell(end) for end in (low, high))
    if column.low is None or column.high is None:  # half a range is no domain
        column.low = column.high = None
    form = own.get("format")
    column.format = form if isinstance(form, str) and "%" in form else None
    return column


def _said(own: Mapping[str, Any], *keys: str) -> str | None:
    return next((own[key].strip() for key in keys if isinstance(own.get(key), str) and own[key].strip()), None)


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [{"value": key, "label": label} for key, label in value.items()]
    return value if isinstance(value, list) else [] if value is None else [value]


def _coded(value: Any, source: str) -> Iterable[tuple[str, str | None]]:
    """Values as a list, as objects with `value` and `label`, or as a mapping from codes to meanings."""
    for each in _as_list(value):
        code, label = (each.get("value"), each.get("label")) if isinstance(each, dict) else (each, None)
        if isinstance(code, dict | list) or code is None or isinstance(label, dict | list):
            raise UsageError(
                "a value of a codebook is no text or number", came=source, allowed="a code, or {value, label}"
            )
        yield spell(code), None if label is None else str(label)


# --- DDI ------------------------------------------------------------------------------------------------------------------


def _of_ddi(content: bytes, source: str) -> list[ColumnDescription]:
    """The variables of a DDI Codebook (version 2.5, and 1.2 to 2.1, which name these elements alike)."""
    root = read_markup(content, source)
    if root.name != "codeBook":
        raise UsageError(
            "an XML file that is no DDI codebook", came=f"<{root.name}> in {source}", allowed="<codeBook> of DDI 2.5"
        )
    return [_variable(each, source).description(source) for each in root.below("var") if each.attributes.get("name")]


def _variable(own: MarkupElement, source: str) -> _Column:
    column = _Column(own.attributes["name"])
    column.label = own.text_of("labl")
    for each in own.all("catgry"):
        value = each.text_of("catValu")
        if value is not None:
            into = column.missing if each.attributes.get("missing") == "Y" else column.values
            _put(into, value, each.text_of("labl"), column.name, source)
    for each in own.all("invalrng"):
        for item in each.all("item"):
            if item.attributes.get("VALUE"):
                column.missing.setdefault(item.attributes["VALUE"], None)
    ranges = [part.attributes for each in own.all("valrng") for part in each.all("range")]
    if len(ranges) == 1:
        column.low, column.high = (ranges[0].get(key) for key in ("min", "max"))
        if column.low is None or column.high is None:
            column.low = column.high = None
    column.type = _ddi_type(own, column)
    return column


def _ddi_type(own: MarkupElement, column: _Column) -> Type | None:
    """What the variable's form and nature say of its type; nothing where they leave it open."""
    form = own.first("varFormat")
    told = {} if form is None else form.attributes
    if told.get("category") == "date":
        return Type.DATE
    if own.attributes.get("nature") == "ordinal" and column.values:
        return Type.ORDINAL
    if column.values:
        return Type.CATEGORY
    if told.get("type") == "character":
        return Type.TEXT
    if told.get("type") == "numeric" and own.attributes.get("dcml") is not None:
        return Type.INTEGER if own.attributes["dcml"] in ("0", "") else Type.DECIMAL
    return None


# --- labels -----------------------------------------------------------------------------------------------------------------


def _of_labels(path: Path) -> Codebook:
    from shoal.engine.read.input import recognize

    found = recognize(path).codebook
    if found is None or not found:
        raise UsageError("the file carries no labels", came=path, allowed="variable or value labels")
    return found
