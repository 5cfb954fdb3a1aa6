"""Workbooks: a sheet that is named or the only one; cells by their own kind; nothing that bursts, and no cell in a message."""

from __future__ import annotations

import datetime as dt
import random
import re
import sys
import zipfile

import openpyxl
import pytest

from shoal.data.date_format import DateFormat
from shoal.data.schema import Attribute, FileFormat, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read import source
from shoal.engine.read.foreign import spreadsheet
from shoal.engine.read.input import recognize
from shoal.errors import DataError, UsageError
from tests.engine.oracle import OracleEngine
from tests.engine.read.foreign.refusals import outcome
from tests.engine.read.foreign.workbooks import write_content, write_ods, write_xls, write_xlsb, write_xlsx

ROWS = [
    ["n", "x", "t", "b", "d", "when"],
    [1, 1.5, "Zürich", True, dt.date(2024, 12, 31), dt.datetime(2024, 12, 31, 14, 0)],
    [None] * 6,
    [30.0, "2,5", 7.0, "no", "1.2.2024", dt.date(2024, 1, 1)],
    ["-9", None, "007", None, None, "2024-01-01 13:59:59"],
]
SCHEMA = Schema(
    (
        Attribute("n", Role.QUASI, Type.INTEGER, missing_values=("-9",)),
        Attribute("x", Role.QUASI, Type.DECIMAL, decimal=","),
        Attribute("t", Role.QUASI, Type.CATEGORY),
        Attribute("b", Role.QUASI, Type.BOOLEAN),
        Attribute("d", Role.QUASI, Type.DATE, format=DateFormat("%d.%m.%Y")),
        Attribute("when", Role.QUASI, Type.DATETIME),
    )
)
WRITERS = {".xlsx": write_xlsx, ".ods": write_ods}


@pytest.fixture(params=sorted(WRITERS))
def write(request, tmp_path):
    return lambda sheets, name="t": WRITERS[request.param](tmp_path / f"{name}{request.param}", sheets)


@pytest.mark.parametrize("engine", [DuckDB(threads=1), OracleEngine()], ids=lambda one: one.name)
def test_cells_are_read_by_their_own_kind(engine, write):
    path = write({"visits": ROWS})
    found = {name: values.tolist() for name, values in engine.scan(path, SCHEMA).collect(SCHEMA.names).items()}
    assert found["n"] == [1, 30, None]
    assert found["x"] == [1.5, 2.5, None]
    assert found["t"] == ["Zürich", "7", "007"]
    assert found["b"] == [True, False, None]
    assert found["d"] == [dt.date(2024, 12, 31), dt.date(2024, 2, 1), None]
    assert found["when"][:2] == [dt.datetime(2024, 12, 31, 14), dt.datetime(2024, 1, 1)]
    assert found["when"][2] == dt.datetime(2024, 1, 1, 13, 59, 59)


def test_a_bad_value_is_counted_from_the_header(write):
    path = write({"s": [["n"], [1], [None], ["SECRET"]]})
    with pytest.raises(
        DataError, match=r"'n' in 1 row \(2\), counted from 1 after the header without empty rows"
    ) as caught:
        DuckDB(threads=1).scan(path, Schema((Attribute("n", Role.QUASI, Type.INTEGER),)))
    assert "SECRET" not in str(caught.value)


def test_the_sheet_is_named_or_the_only_one(write):
    path = write({"visits": ROWS, "it's": [["a"], [1]]})
    assert recognize(path, FileFormat(sheet="it's")).names == ("a",)
    with pytest.raises(
        DataError, match=r"several sheets, and none is named; got t.* with 'visits', 'it's'.*sheet: visits"
    ):
        recognize(path)
    with pytest.raises(DataError, match=r"no such sheet; got .* without 'Visits'; allowed: 'visits', 'it's'"):
        recognize(path, FileFormat(sheet="Visits"))


def test_a_title_above_the_names_is_refused_as_one(write):
    for above in (["Patients 2024"], [None, "Patients 2024"]):
        with pytest.raises(DataError, match=r"the first row of the sheet has one cell.*such as a title"):
            recognize(write({"s": [above, [], ["a", "b"], [1, 2]]}))
    assert recognize(write({"s": [["a"], [1], [2]]})).names == ("a",)


@pytest.mark.parametrize("notes", ["Notes", "Hinweise", "Lies mich", "Erläuterungen", "Légende", "Leyenda"])
def test_the_suggested_sheet_is_not_one_that_holds_notes(write, notes):
    path = write({notes: [["Fehlende Werte: -9"]], "Daten": ROWS})
    with pytest.raises(DataError, match=r"several sheets.*sheet: Daten"):
        recognize(path)


def test_hidden_sheets_are_read_where_they_are_named(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "seen"
    book.active.append(["a"])
    hidden = book.create_sheet("hidden")
    hidden.append(["b"])
    hidden.sheet_state = "veryHidden"
    book.save(tmp_path / "t.xlsx")
    assert recognize(tmp_path / "t.xlsx").names == ("a",)
    assert recognize(tmp_path / "t.xlsx", FileFormat(sheet="hidden")).names == ("b",)


def test_where_the_table_begins_and_what_lies_beside_it(write):
    shifted = [[None] * 4, [None, None, "a", "b"], [None, None, 1, 2], [None, None, 3, None]]
    found = recognize(write({"s": shifted}))
    assert (found.names, found.rows) == (("a", "b"), 2)
    assert next(found.opener([1])).to_pydict() == {"0": ["2", None]}
    with pytest.raises(DataError, match=r"a row has cells beside the named columns; got u.*, row 2"):
        recognize(write({"s": [["a"], [1], [2, "SECRET"]]}, "u"))
    with pytest.raises(DataError, match="beside the named columns"):
        recognize(write({"s": [[None, "a"], [1, 2]]}, "v"))
    with pytest.raises(DataError, match=r"columns without a name; got w.*, column 2"):
        recognize(write({"s": [["a", None, "c"], [1, 2, 3]]}, "w"))
    with pytest.raises(DataError, match="the sheet is empty"):
        recognize(write({"s": []}, "x"))
    assert recognize(write({"s": [["a", "b"]]}, "y")).rows == 0


def test_numbers_and_dates_may_be_names(write):
    assert recognize(write({"s": [[2020, True], [1, 2]]})).names == ("2020", "true")


def test_merged_cells_are_refused(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b", None, None], ["SECRET", 2, None, None], [None, 3, None, None]):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="cells of the sheet are merged") as caught:
        recognize(tmp_path / "t.xlsx")
    assert "SECRET" not in str(caught.value)
    book.active.unmerge_cells("A2:A3")
    book.active.merge_cells("D1:E9")
    book.save(tmp_path / "u.xlsx")
    assert recognize(tmp_path / "u.xlsx").rows == 2


def test_errors_and_formulas_without_a_result_are_missing(tmp_path):
    write_xlsx(tmp_path / "t.xlsx", {"s": [["a", "b"], ["#DIV/0!", 1], ["=1+1", 2]]})
    found = recognize(tmp_path / "t.xlsx")
    assert next(found.opener([0, 1])).to_pydict() == {"0": [None, None], "1": ["1", "2"]}


OLD = {".xls": write_xls, ".xlsb": write_xlsb}
CELLS = {(0, 0): "a", (0, 1): "b", (1, 0): 1.5, (1, 1): True, (3, 0): 30, (3, 1): "Zürich"}


@pytest.mark.slow
@pytest.mark.parametrize("ending", sorted(OLD))
def test_binary_workbooks(tmp_path, ending):
    path = OLD[ending](tmp_path / f"t{ending}", CELLS)
    found = recognize(path)
    assert (found.names, found.rows) == (("a", "b"), 2)
    assert next(found.opener([0, 1])).to_pydict() == {"0": ["1.5", "30"], "1": ["true", "Zürich"]}
    assert recognize(path, FileFormat(sheet="s")).rows == 2
    with pytest.raises(DataError, match=r"no such sheet; got t.xlsb? without 'x'; allowed: 's'"):
        recognize(path, FileFormat(sheet="x"))


@pytest.mark.slow
def test_an_old_workbook_that_was_altered_is_refused_or_read(tmp_path):
    path = write_xls(tmp_path / "t.xls", {**CELLS, **{(row, 1): f"SECRET{row}" for row in range(4, 40)}})
    whole = path.read_bytes()
    draw = random.Random(9)  # noqa: S311
    outcomes = set()
    for _ in range(15):
        altered = bytearray(whole)
        for _ in range(draw.choice([1, 5, 50])):
            altered[draw.randrange(len(altered))] = draw.randrange(256)
        path.write_bytes(altered)
        outcomes.add(outcome(path, "SECRET"))
    assert outcomes == {"read", "refused"}


@pytest.mark.slow
def test_a_binary_workbook_that_crashes_the_library_is_refused(tmp_path):
    """Two cells in far corners: the library asks for a rectangle of 17 billion cells, and ends its process."""
    path = write_xlsb(tmp_path / "t.xlsb", {(0, 0): "SECRET", (1_048_575, 16_383): 1})
    with pytest.raises(DataError, match="the workbook cannot be read") as caught:
        recognize(path)
    assert "SECRET" not in str(caught.value)


# --- hostile workbooks ------------------------------------------------------------------------------------------------


def far_apart(path):
    book = openpyxl.Workbook()
    book.active["A1"] = "a"
    book.active["XFD1048576"] = 1
    book.save(path)
    return path


def repeated(path, across, down):
    row = (
        f'<table:table-row table:number-rows-repeated="{down}"><table:table-cell table:number-columns-repeated="{across}" '
        'office:value-type="float" office:value="1"/></table:table-row>'
    )
    return write_content(path, f'<table:table table:name="s">{row}</table:table>')


def test_cells_in_far_corners_are_refused_before_they_take_all_memory(tmp_path):
    for path in (far_apart(tmp_path / "t.xlsx"), repeated(tmp_path / "t.ods", 16384, 1_048_576)):
        with pytest.raises(DataError, match="too far apart, or are too many"):
            recognize(path)
    path = far_apart(tmp_path / "v.xlsx")  # the cell says where it is, and its row does not
    rezip(path, lambda name, content: content.replace(b'<row r="1048576"', b'<row r="2"'))
    with pytest.raises(DataError, match="too far apart, or are too many"):
        recognize(path)
    blank = '<table:table-row table:number-rows-repeated="1048571"><table:table-cell table:number-columns-repeated="16384"/>'
    ordinary = '<table:table-row><table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell>'
    rows = f'<table:table table:name="s">{ordinary}</table:table-row>{blank}</table:table-row></table:table>'
    assert recognize(write_content(tmp_path / "u.ods", rows)).names == ("a",)


def test_a_workbook_that_bursts_is_refused(tmp_path, monkeypatch):
    path = write_xlsx(tmp_path / "t.xlsx", {"s": [["a"], *([1] for _ in range(2000))]})
    monkeypatch.setattr(source, "MOST_TEXT", 10_000)
    monkeypatch.setattr(source, "EXPANSION", 1)
    with pytest.raises(DataError, match="unpack to far more than its size"):
        recognize(path)


def rezip(path, change):
    """The same workbook with its parts changed, and checksums that fit."""
    with zipfile.ZipFile(path) as archive:
        parts = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, change(name, content))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda name, content: content[: len(content) // 2] if name.endswith(("sheet1.xml", "content.xml")) else content,
        lambda name, content: (
            content.replace(b"</", b"<", 1) if name.endswith(("sheet1.xml", "content.xml")) else content
        ),
        lambda name, content: content.replace(b"?>", b"?><!DOCTYPE x [<!ENTITY a 'b'>]>", 1),
    ],
    ids=["cut short", "never closed", "entities"],
)
def test_xml_that_is_not_well_formed_is_refused_before_the_library_waits_for_its_end(write, change):
    path = write({"s": [["a"], ["SECRET"]]})
    if path.suffix == ".xlsx":  # openpyxl writes no declaration
        rezip(path, lambda name, content: b"<?xml version='1.0'?>" + content.split(b"?>")[-1])
    assert outcome(path, "SECRET") == "read"
    with pytest.raises(DataError, match="the workbook cannot be read"):
        recognize(rezip(path, change))


def test_a_part_that_is_there_twice_is_refused(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", {"s": [["a"], [1]]})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("xl/worksheets/sheet1.xml", "<worksheet/>")
    with pytest.raises(DataError, match="the workbook cannot be read"):
        recognize(path)


@pytest.mark.slow
def test_altered_bytes_are_refused_or_read(write):
    path = write({"s": [["n", "t"], *([number, f"SECRET{number}"] for number in range(40))]})
    whole = path.read_bytes()
    draw = random.Random(11)  # noqa: S311
    outcomes = set()
    for _ in range(60):
        altered = bytearray(whole)
        for _ in range(draw.choice([1, 1, 5])):
            altered[draw.randrange(len(altered))] = draw.randrange(256)
        path.write_bytes(altered[: draw.choice([len(whole)] * 4 + [len(whole) // 2])])
        outcomes.add(outcome(path, "SECRET"))
    assert "refused" in outcomes


@pytest.mark.slow
def test_altered_parts_with_checksums_that_fit_are_refused_or_read(write):
    """Numbers of the XML become others: sizes, places, styles, repetitions. Some of them crash the library, and not us."""
    path = write({"s": [["n", "t"], *([number, f"SECRET{number}"] for number in range(20))]})
    whole = path.read_bytes()
    draw = random.Random(5)  # noqa: S311
    outcomes = set()
    for _ in range(15):
        path.write_bytes(whole)
        chosen, number = draw.random(), draw.choice([b"0", b"-1", b"1000", b"4294967296", b"99999999999999999999"])

        def change(_, content, chosen=chosen, number=number):
            digits = list(re.finditer(rb"[0-9]+", content))
            place = digits[int(chosen * len(digits))] if digits else None
            return content if place is None else content[: place.start()] + number + content[place.end() :]

        outcomes.add(outcome(rezip(path, change), "SECRET"))
    assert "read" in outcomes
    assert path.suffix != ".xlsx" or "refused" in outcomes


def test_what_is_no_workbook(tmp_path):
    for ending in (".xlsx", ".xls", ".xlsb", ".ods"):
        path = tmp_path / f"t{ending}"
        for content in (b"", b"SECRET", b"PK\3\4SECRET", bytes(range(256)) * 20):
            path.write_bytes(content)
            with pytest.raises(DataError, match="the workbook cannot be read") as caught:
                recognize(path)
            assert "SECRET" not in str(caught.value)


def test_a_missing_library_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    path = write_xlsx(tmp_path / "t.xlsx", {"s": [["a"], [1]]})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(
        UsageError, match=r"not installed; got no python_calamine; install it: pip install \"shoal\[formats\]\""
    ):
        recognize(path)


def test_a_column_number():
    assert [spreadsheet._column_number(letters) for letters in (b"A", b"Z", b"AA", b"XFD")] == [1, 26, 27, 16384]
