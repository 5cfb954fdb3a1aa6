"""What a person names beside a table is read and put together, in the order in which it is believed."""

from __future__ import annotations

import json

import pytest

from shoal.data.schema import Role
from shoal.draft.draft import draft_table
from shoal.draft.opening import open_table
from shoal.draft.sources import read_sources
from shoal.errors import UsageError

NAMES = ("id", "age", "sex", "job")


@pytest.fixture
def place(tmp_path):
    rows = "".join(f"p{i},{20 + i % 40},{i % 2},j{i % 3}\n" for i in range(200))
    (tmp_path / "people.csv").write_text("id,age,sex,job\n" + rows)
    lines = "age,Age,integer,0,110,\nsex,Sex,category,,,0=m;1=f\nold,x,,,,\n"
    (tmp_path / "codebook.csv").write_text("column,label,type,low,high,values\n" + lines)
    (tmp_path / "census.csv").write_text("age,job\n" + "".join(f"{i % 100},j{i % 5}\n" for i in range(500)))
    (tmp_path / "sdc.json").write_text(
        json.dumps({"keyVars": ["age", "sex", "gone"], "sensibleVar": "job", "hhId": "id"})
    )
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "x_hierarchy_job.csv").write_text("j0;a;*\nj1;a;*\nj2;b;*\nj3;b;*\n")
    return tmp_path


def test_everything_is_taken_in_its_order(place):
    found, notes = read_sources(
        NAMES,
        codebook=place / "codebook.csv",
        population=place / "census.csv",
        hierarchies=place / "h",
        settings=place / "sdc.json",
    )
    assert [book.source for book in found.books] == ["codebook.csv", "sdc.json", "the public table census.csv"]
    assert found.roles == {"id": Role.IDENTIFIER, "age": Role.QUASI, "sex": Role.QUASI, "job": Role.CONFIDENTIAL}
    assert found.unit == "id"
    assert found.hierarchies["job"][1] == "x_hierarchy_job.csv"
    assert [note for note in notes if "gone" in note]
    assert [note for note in notes if "codebook.csv speaks of columns that the table does not have: old" in note]


def test_nothing_named_is_nothing(place):
    assert read_sources(NAMES)[0].books == ()


def test_a_draft_with_them_declares_what_they_say(place):
    opened = open_table(place / "people.csv")
    found, _ = read_sources(
        opened.stored.names, codebook=place / "codebook.csv", hierarchies=place / "h", settings=place / "sdc.json"
    )
    made = draft_table(opened, beside=found)
    assert made["age"].domain == ["0", "110"]
    assert made["sex"].value_labels == {"0": "m", "1": "f"}
    assert made["job"].role is Role.CONFIDENTIAL
    assert made.unit.column == "id"
    assert made.policy.profiled_keys() == ()


def test_a_public_table_declares_domains(place):
    opened = open_table(place / "people.csv")
    found, _ = read_sources(opened.stored.names, population=place / "census.csv")
    made = draft_table(opened, beside=found)
    assert made["age"].domain == ["0", "99"]
    profiled = made.policy.profiled_keys()
    assert not [key for key in profiled if "age" in key or "job" in key]


def test_settings_of_another_table_are_refused(place):
    with pytest.raises(UsageError, match="speak of none of the columns"):
        read_sources(("a", "b"), settings=place / "sdc.json")


def test_a_folder_without_a_match_is_noted(place):
    assert "no hierarchy file" in read_sources(("a", "b"), hierarchies=place / "h")[1][0]
