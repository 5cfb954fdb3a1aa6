"""Hierarchies to files and back; an edited one is written as it came."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import domain_of, hierarchy
from shoal.data.hierarchy.files import arx
from shoal.data.hierarchy.files import export as files
from shoal.data.hierarchy.nested import check_nested
from shoal.data.schema import Type
from shoal.errors import PolicyError, UsageError

TEXT = "DE;West;Europe;*\r\nPL;East;Europe;*\r\nFR;West;Europe;*\r\nJP;Japan;Asia;*\r\n"
TREE = {"Anywhere": {"Europe": ["Spain", "Portugal"], "Asia": {"East": ["Japan"], "South": ["India"]}, "Moon": None}}


def read(folder, text=TEXT, name="h.csv"):
    (folder / name).write_bytes(text.encode())
    spec = {"file": name}
    return hierarchy(spec, Type.CATEGORY, domain_of(spec, Type.CATEGORY, folder), folder)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("\r\n", "\n"),
        TEXT.replace(";", ","),
        TEXT.replace(";", "\t").rstrip(),
        "\ufeff" + TEXT,
        '"a";"x"\n"b";"y"\n',
        '"a;b";x;*\nc;y;*\n',
        "a;x\nb;y\n",
        "a\nb\n",
        "a;x;any\nb;x;any\n",
    ],
)
def test_the_same_bytes_come_back(tmp_path, text):
    words = files.to_csv(read(tmp_path, text), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == text.encode()
    assert words == {"file": "out.csv"}


def test_a_renamed_label_stays_in_its_kind_of_file(tmp_path):
    edited = read(tmp_path).with_label(1, "West", "Western")
    files.to_csv(edited, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == TEXT.replace("West", "Western").encode()
    assert edited.kind == "file"
    again = hierarchy(files.to_spec(edited), Type.CATEGORY, edited.domain)
    assert (again.levels, again.losses) == (edited.levels, edited.losses)


def test_a_moved_value_takes_the_coarser_labels_with_it(tmp_path):
    edited = read(tmp_path).moved("PL", 1, "Japan")
    check_nested(edited)
    assert edited.rows[1] == ("PL", "Japan", "Asia", "*")
    assert edited.levels[1].labels == ("West", "Japan")
    assert edited.losses[1] == pytest.approx(4 / 12)
    files.to_csv(edited, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == TEXT.replace("PL;East;Europe", "PL;Japan;Asia").encode()


def test_a_moved_label_takes_its_values_with_it(tmp_path):
    edited = read(tmp_path).moved("East", 2, "Asia")
    assert edited.rows[1] == ("PL", "East", "Asia", "*")
    assert edited.losses[2] == pytest.approx(4 / 12)


def test_the_top_of_a_table_may_be_renamed(tmp_path):
    edited = read(tmp_path).with_label(3, "*", "World")
    assert edited.rows[0][-1] == "World"
    assert hierarchy(files.to_spec(edited), Type.CATEGORY, edited.domain).levels == edited.levels


def test_an_edited_tree_stays_a_tree(tmp_path):
    built = hierarchy({"taxonomy": TREE}, Type.CATEGORY, domain_of({"taxonomy": TREE}, Type.CATEGORY))
    assert files.to_tree(built, tmp_path / "t.yaml") == {"taxonomy": "t.yaml"}
    again = hierarchy({"taxonomy": "t.yaml"}, Type.CATEGORY, built.domain, tmp_path)
    assert (again.levels, again.losses) == (built.levels, built.losses)
    edited = built.moved("Japan", 1, "South").with_label(2, "Asia", "Orient")
    assert edited.rows[2] == ("Japan", "South", "Orient", "Anywhere")
    files.to_tree(edited, tmp_path / "t.yaml")
    again = hierarchy({"taxonomy": "t.yaml"}, Type.CATEGORY, built.domain, tmp_path)
    assert again.rows == edited.rows
    assert hierarchy(files.to_spec(edited), Type.CATEGORY, built.domain).rows == edited.rows
    with pytest.raises(PolicyError, match="a name stands twice in a tree; got Europe"):
        edited.with_label(1, "South", "Europe")


def test_renamed_intervals_become_cuts_with_names():
    built = hierarchy({"date": ["month"]}, Type.DATE, Interval("2024-01-01", "2024-02-29"))
    edited = built.with_label(1, "2024-01", "January")
    assert files.to_spec(edited) == {"cuts": [[dt.date(2024, 2, 1)]], "labels": [["January", "2024-02"]]}
    again = hierarchy(files.to_spec(edited), Type.DATE, built.domain)
    assert (again.levels, again.losses, again.kind) == (edited.levels, edited.losses, edited.kind)


def test_small_domains_of_numbers_and_texts_can_be_written(tmp_path):
    built = hierarchy({"intervals": [2]}, Type.INTEGER, Interval(0, 3))
    words = files.to_csv(built, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "0;[0, 2);*\n1;[0, 2);*\n2;[2, 4);*\n3;[2, 4);*\n"
    again = hierarchy(words, Type.INTEGER, built.domain, tmp_path)
    assert again.losses == built.losses
    masked = hierarchy({"mask": "right"}, Type.TEXT, Pattern("[01]{2}"))
    files.to_csv(masked, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "00;0*;*\n01;0*;*\n10;1*;*\n11;1*;*\n"
    days = hierarchy({"date": ["month"]}, Type.DATE, Interval("2024-01-31", "2024-02-01"))
    assert days.rows == [("2024-01-31", "2024-01", "*"), ("2024-02-01", "2024-02", "*")]


def test_a_misleading_file_says_its_delimiter(tmp_path):
    built = hierarchy({"groups": {"x;1": ["a"], "y;2": ["b"]}}, Type.CATEGORY, Values(("a", "b")))
    words = files.to_csv(built, tmp_path / "out.csv", arx.Form(delimiter=","))
    assert words == {"file": "out.csv", "delimiter": ","}
    assert hierarchy(words, Type.CATEGORY, built.domain, tmp_path).rows == built.rows


def test_refused_edits(tmp_path):
    built = read(tmp_path)
    with pytest.raises(UsageError, match="level 1 has no such label; got North; allowed: West, East, Japan"):
        built.with_label(1, "North", "x")
    with pytest.raises(UsageError, match="level 1 already uses the label; got East; move members"):
        built.with_label(1, "West", "East")
    with pytest.raises(UsageError, match="made from the values"):
        built.with_label(0, "DE", "x")
    with pytest.raises(UsageError, match=r"no such level; got 9; allowed: 0\.\.3"):
        built.with_label(9, "a", "b")
    with pytest.raises(UsageError, match="level 1 has no such member; got US"):
        built.moved("US", 1, "West")
    with pytest.raises(UsageError, match="level 1 has no such label; got North"):
        built.moved("DE", 1, "North")
    with pytest.raises(UsageError, match="only members of groups can be moved"):
        built.moved("DE", 0, "West")
    with pytest.raises(UsageError, match="only members of groups can be moved; got level 3, Whole"):
        built.moved("Europe", 3, "*")
    ages = hierarchy({"intervals": [5]}, Type.INTEGER, Interval(0, 9))
    with pytest.raises(UsageError, match="the last label of this hierarchy is fixed"):
        ages.with_label(2, "*", "all")
    with pytest.raises(UsageError, match="only members of groups"):
        ages.moved("3", 1, "[5, 10)")
    with pytest.raises(UsageError, match=r"cannot be written as a table: .*; got 0\.\.1"):
        files.to_csv(hierarchy({"intervals": ["0.5"]}, Type.DECIMAL, Interval(0, 1)), tmp_path / "x.csv")


# --- the reader on anything ---------------------------------------------------------------------------------------

field = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=8)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_table_or_refused_in_our_words(raw):
    try:
        rows, _ = arx.parse(raw)
    except PolicyError:
        return
    assert len({len(row) for row in rows}) == 1


@given(st.text(alphabet='ab;,|\t"\r\n*', max_size=60))
def test_any_text_of_delimiters_is_a_table_or_refused(text):
    try:
        rows, form = arx.parse(text.encode())
    except PolicyError:
        return
    assert arx.parse(arx.written(rows, form), form.delimiter)[0] == rows


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(field, min_size=width, max_size=width), min_size=1, max_size=8)
    ),
    st.sampled_from(arx.DELIMITERS),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_any_table_is_read_as_it_was_written(rows, delimiter, newline, mark, quoted):
    rows = [[f"v{row[0]}", *row[1:]] for row in rows]
    raw = arx.written(rows, arx.Form(delimiter, newline, mark, quoted))
    found, _ = arx.parse(raw, delimiter)
    assert found == rows
