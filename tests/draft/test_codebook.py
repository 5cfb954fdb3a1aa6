"""Codebooks in every form say the same thing, and say it once."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import shoal
from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.data.type import Type
from shoal.draft.codebook import read_codebook
from shoal.draft.sources import read_sources
from shoal.engine.read.foreign import spreadsheet
from shoal.errors import ShoalError, UsageError
from tests.engine.read.foreign.workbooks import write_xlsx

AGE = ColumnDescription(
    "age", "Age in years", Type.INTEGER, missing=(CodedValue("-9", "not stated"),), interval=("0", "110")
)
SEX = ColumnDescription("sex", "Sex", Type.CATEGORY, (CodedValue("1", "male"), CodedValue("2", "female")))
BIRTH = ColumnDescription("birth", "Date of birth", Type.DATE, format="%d.%m.%Y")

LONG = """column,label,type,value,value_label,missing,low,high,format
age,Age in years,integer,,,,0,110,
age,,,-9,not stated,yes,,,
sex,Sex,category,1,male,,,,
,,,2,female,no,,,
birth,Date of birth,date,,,,,,%d.%m.%Y
"""
WIDE = """Variable;Description;Type;Codes;Missing codes;Minimum;Maximum;Format
age;Age in years;int;;-9=not stated;0;110;
sex;Sex;categorical;1=male | 2=female;;;;
birth;Date of birth;Date;;;;;%d.%m.%Y
"""
CATEGORIES = [{"value": 1, "label": "male"}, {"value": 2, "label": "female"}]
FRICTIONLESS = {
    "name": "people",
    "resources": [
        {"name": "readme", "path": "README.md"},
        {
            "name": "people",
            "schema": {
                "missingValues": [""],
                "fields": [
                    {
                        "name": "age",
                        "title": "Age in years",
                        "type": "integer",
                        "constraints": {"minimum": 0, "maximum": 110},
                        "missingValues": [{"value": "-9", "label": "not stated"}],
                    },
                    {"name": "sex", "title": "Sex", "type": "category", "categories": CATEGORIES},
                    {"name": "birth", "title": "Date of birth", "type": "date", "format": "%d.%m.%Y"},
                ],
            },
        },
    ],
}  # fmt: skip
OWN = {
    "columns": {
        "age": {"label": "Age in years", "type": "integer", "interval": [0, 110], "missing": {"-9": "not stated"}},
        "sex": {"label": "Sex", "type": "category", "values": {"1": "male", "2": "female"}},
        "birth": {"label": "Date of birth", "type": "date", "format": "%d.%m.%Y"},
    }
}
DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><stdyDscr/><dataDscr>
 <var ID="V1" name="age" dcml="0" intrvl="contin"><labl>Age in years</labl>
  <valrng><range UNITS="INT" min="0" max="110"/></valrng><invalrng><item VALUE="-9"/></invalrng>
  <sumStat type="min">17</sumStat><sumStat type="max">90</sumStat>
  <catgry missing="Y"><catValu>-9</catValu><labl>not stated</labl><catStat type="freq">4</catStat></catgry>
  <varFormat type="numeric" schema="other"/></var>
 <var ID="V2" name="sex"><labl>Sex</labl>
  <catgry><catValu>1</catValu><labl>male</labl><catStat type="freq">511</catStat></catgry>
  <catgry><catValu>2</catValu><labl>female</labl></catgry><varFormat type="numeric"/></var>
 <var ID="V3" name="birth"><labl>Date of birth</labl><varFormat type="character" category="date"/></var>
</dataDscr></codeBook>
"""


def book(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_codebook(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("long.csv", LONG),
        ("long.tsv", LONG.replace(",", "\t")),
        ("wide.csv", WIDE),
        ("wide.txt", b"\xef\xbb\xbf" + WIDE.replace("\n", "\r\n").encode()),
        ("datapackage.json", json.dumps(FRICTIONLESS)),
        ("schema.json", json.dumps(FRICTIONLESS["resources"][1]["schema"])),
        ("own.json", json.dumps(OWN)),
        ("mapping.json", json.dumps(OWN["columns"])),
        ("list.json", json.dumps({"columns": [{"name": name, **own} for name, own in OWN["columns"].items()]})),
    ],
)
def test_every_form_says_the_same(tmp_path, name, text):
    found = book(tmp_path, name, text)
    assert found.columns == (AGE, SEX, BIRTH)
    assert found.source == name


def test_a_ddi_codebook_says_the_same_but_for_the_form_of_dates(tmp_path):
    age, sex, birth = book(tmp_path, "study.xml", DDI).columns
    assert (age, sex) == (AGE, SEX)
    assert (birth.label, birth.type, birth.format) == ("Date of birth", Type.DATE, None)


def test_what_a_program_counted_on_the_table_is_not_read(tmp_path):
    counted = DDI.replace('<valrng><range UNITS="INT" min="0" max="110"/></valrng>', "")
    assert book(tmp_path, "study.xml", counted).get("age").interval is None


def test_an_older_ddi_with_a_document_type_is_read(tmp_path):
    old = DDI.replace('xmlns="ddi:codebook:2_5" version="2.5"', 'version="2.1"').replace(
        "<codeBook", '<!DOCTYPE codeBook SYSTEM "http://example.org/Version2-1.dtd">\n<codeBook'
    )
    assert book(tmp_path, "study.xml", old).get("sex") == SEX


def test_half_a_range_of_json_and_ddi_is_no_domain(tmp_path):
    assert (
        book(tmp_path, "a.json", '{"fields": [{"name": "x", "constraints": {"minimum": 0}}]}').get("x").interval is None
    )
    assert book(tmp_path, "a.xml", DDI.replace(' max="110"', "")).get("age").interval is None


def test_a_missing_code_that_is_listed_among_the_values_is_missing(tmp_path):
    found = book(tmp_path, "a.csv", "column,values,missing\nsex,1=male;2=female;9=unknown,9\n").get("sex")
    assert found.values == SEX.values
    assert found.missing == (CodedValue("9", "unknown"),)


@pytest.mark.parametrize(
    "cell",
    ["1=male; 2=female", "1=male|2=female", '"1=male\n2=female"', '"1 = male, 2 = female"', '"1=male\r\n2=female"'],
)
def test_codes_and_meanings_in_one_cell_are_parted_as_people_part_them(tmp_path, cell):
    assert book(tmp_path, "a.csv", f"column,values\nsex,{cell}\n").get("sex").values == SEX.values


def test_a_comma_in_a_meaning_parts_no_codes(tmp_path):
    found = book(tmp_path, "a.csv", 'column,values\nwork,"1=full, or nearly; 2=part"\n').get("work")
    assert [each.label for each in found.values] == ["full, or nearly", "part"]
    alone = book(tmp_path, "a.csv", 'column,values\nwork,"1=full, or nearly"\n').get("work")
    assert [each.label for each in alone.values] == ["full, or nearly"]


def test_heads_in_german_are_read_and_unknown_ones_are_named(tmp_path):
    text = "Variable;Bezeichnung;Typ;Werte;Fehlende Werte;Filter\nsex;Sex;Kategorie;1=male, 2=female;;alle\n"
    found = book(tmp_path, "a.csv", text)
    assert found.get("sex") == SEX
    assert found.unread == ("Filter",)
    _, notes = read_sources(["sex"], codebook=tmp_path / "a.csv")
    assert any("heads are not known, and they were not read: Filter" in note for note in notes)


def test_a_type_of_another_system_is_left_to_the_table(tmp_path):
    assert book(tmp_path, "a.csv", "column,type\nx,F8.2\n").get("x").type is None


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "", "no column that names the columns"),
        ("a.csv", "what,ever\n1,2\n", "no column that names the columns"),
        ("a.csv", "column,label\n,x\n", "names no column"),
        ("a.csv", "column,label\n", "describes no column"),
        ("a.csv", "column,label\nx,one\nx,two\n", "says two things of its label"),
        ("a.csv", "column,value,value_label\nx,1,one\nx,1,two\n", "says two things of the value 1"),
        ("a.csv", "column,value,missing\nx,1,perhaps\n", "with yes or no"),
        ("a.csv", "column,low\nx,1\n", "its range has one end"),
        ("a.csv", "column,type,low,high\nx,integer,a,b\n", "does not fit its type"),
        ("a.csv", "column,type,low,high\nx,integer,9,1\n", "ends before it begins"),
        ("a.csv", 'column,label\nx,"open', "is no CSV file"),
        (
            "a.csv",
            "column,title,type,role,label,code,kind,low,high,high_included,value,value_label,rule\n",
            "of a release",
        ),
        ("a.csv", b"column,label\nx,\xe4\n", "not UTF-8"),
        ("a.json", "{", "is no JSON"),
        ("a.json", "[" * 100_000, "is no JSON"),
        ("a.json", "[1]", "describes no columns"),
        ("a.json", '{"resources": []}', "does not describe one table"),
        ("a.json", '{"fields": [{"name": "x", "values": [[1]]}]}', "no text or number"),
        ("a.json", '{"fields": [{"name": "x"}, {"name": "x"}]}', "describes a column twice"),
        ("a.xml", "<html/>", "no DDI codebook"),
        ("a.xml", '<!DOCTYPE codeBook [<!ENTITY a "b">]><codeBook/>', "entity"),
        ("a.xml", "<codeBook/>", "describes no column"),
        ("a.pdf", "x", "of an unknown kind"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, name, text, words):
    with pytest.raises(UsageError, match=words):
        book(tmp_path, name, text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"cannot be read; got .*No such file"):
        read_codebook(tmp_path / "none.csv")
    with pytest.raises(ShoalError):
        read_codebook(tmp_path / "none.sav")


def test_the_labels_that_a_statistical_file_carries_are_a_codebook(monkeypatch):
    carried = Codebook((AGE, SEX), "people.sav")

    def recognize(path):
        assert path == Path("people.sav")
        return SimpleNamespace(codebook=carried)

    monkeypatch.setattr("shoal.engine.read.input.recognize", recognize)
    assert read_codebook("people.sav") is carried
    carried = None
    with pytest.raises(UsageError, match="carries no labels"):
        read_codebook("people.sav")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["people.sav", "people.dta"])
def test_labels_of_spss_and_stata_are_read(tmp_path, name):
    import pandas as pd
    import pyreadstat

    frame = pd.DataFrame({"age": [31.0, 45.0], "sex": [1.0, 2.0]})
    write = pyreadstat.write_sav if name.endswith(".sav") else pyreadstat.write_dta
    labels = {"sex": {1: "male", 2: "female"}}
    write(frame, str(tmp_path / name), column_labels=["Age in years", "Sex"], variable_value_labels=labels)
    found = read_codebook(tmp_path / name)
    assert found.get("age").label == "Age in years"
    assert [(each.value, each.label) for each in found.get("sex").values] == [("1", "male"), ("2", "female")]


# --- a sheet of a workbook --------------------------------------------------------------------------------------------

CODES = [
    ["variable", "code", "meaning", "remark"],
    ["sex", 1, "male", None],
    ["sex", 2, "female", "see form"],
    ["age", None, None, "years"],
]
PEOPLE = [["sex", "age"], *([[1, 44], [2, 31]] * 3)]


def test_a_codebook_on_a_sheet_beside_the_table(tmp_path):
    path = write_xlsx(tmp_path / "people.xlsx", {"people": PEOPLE, "codes": CODES, "read me": [["Title"], ["a", "b"]]})
    found = read_codebook(path)
    assert found.get("sex").values == (CodedValue("1", "male"), CodedValue("2", "female"))
    assert found.source == "sheet 'codes' of people.xlsx"
    assert found.unread == ("remark",)
    ledger = tmp_path / "ledger.sqlite"
    drafted = shoal.draft(path, sheet="people", codebook=path, ledger=ledger, new_ledger=True)
    assert dict(drafted["sex"].value_labels) == {"1": "male", "2": "female"}
    assert drafted["sex"].provenance == "declared"
    assert not any("may say what columns" in note for note in drafted.notes)
    without = shoal.draft(path, sheet="people", ledger=ledger)
    assert any("sheet 'codes' may say what columns and codes mean" in note for note in without.notes)


def test_a_codebook_on_a_sheet_of_another_name_and_the_table_is_opened_once(tmp_path, monkeypatch):
    path = write_xlsx(tmp_path / "people.xlsx", {"people": PEOPLE, "Sheet2": CODES})
    assert read_codebook(path).get("sex").values is not None
    opened = []
    monkeypatch.setattr(
        spreadsheet, "_load", lambda where, sheet, load=spreadsheet._load: opened.append(sheet) or load(where, sheet)
    )
    shoal.draft(path, sheet="people", codebook=str(path), ledger=tmp_path / "ledger.sqlite", new_ledger=True)
    assert opened == ["people", "Sheet2"]


@pytest.mark.parametrize(
    ("sheets", "wrong"),
    [
        ({"people": PEOPLE}, "no sheet of the workbook looks like a codebook"),
        ({"codes": CODES, "labels": CODES}, "several sheets look like a codebook"),
    ],
)
def test_workbooks_without_one_codebook(tmp_path, sheets, wrong):
    path = write_xlsx(tmp_path / "people.xlsx", sheets)
    with pytest.raises(UsageError, match=wrong):
        read_codebook(path)


def test_a_workbook_that_is_not_there_or_is_none(tmp_path):
    with pytest.raises(UsageError, match="the codebook cannot be read"):
        read_codebook(tmp_path / "codes.xlsx")
    (tmp_path / "codes.xlsx").write_text("variable,code")
    with pytest.raises(UsageError, match="the workbook cannot be read"):
        read_codebook(tmp_path / "codes.xlsx")
