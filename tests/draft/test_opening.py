"""How a file is written is found from its bytes, and said."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

from shoal.draft.opening import open_table
from shoal.errors import DataError


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_that_makes_most_columns_is_taken(tmp_path, delimiter):
    path = tmp_path / "x.csv"
    path.write_text(delimiter.join("abc") + "\n" + delimiter.join("123") + "\n")
    found = open_table(path)
    assert found.stored.names == ("a", "b", "c")
    assert found.form.delimiter == delimiter


def test_names_in_quotes_may_hold_other_delimiters(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('"a;b","c;d"\n1,2\n')
    assert open_table(path).stored.names == ("a;b", "c;d")


@pytest.mark.parametrize(
    ("encoding", "found", "said"),
    [
        ("utf-8", "utf-8", False),
        ("windows-1252", "windows-1252", True),
        ("utf-8-sig", "utf-8", False),
        ("utf-16", "utf-16", False),
    ],
)
def test_an_encoding_is_found_and_one_that_is_guessed_is_said(tmp_path, encoding, found, said):
    path = tmp_path / "x.csv"
    path.write_bytes("name\nMüller\n".encode(encoding))
    opened = open_table(path)
    assert opened.form.encoding == found
    assert bool(opened.notes) is said


def test_a_packed_file_is_looked_into(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress("a;b\n1;ü\n".encode("windows-1252")))
    opened = open_table(path)
    assert opened.stored.names == ("a", "b")
    assert opened.form.encoding == "windows-1252"


@pytest.mark.parametrize("name", ["none.csv", "empty.csv", "x.doc"])
def test_what_is_no_table_is_left_to_the_reader_which_says_why(tmp_path, name):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "x.doc").write_text("")
    with pytest.raises(DataError):
        open_table(tmp_path / name)


@pytest.mark.parametrize("name", [" kalmar", "kalmar\n", "kal\tmar", "<<", "k" * 501, "kalmar\x00"])
def test_a_name_that_no_policy_can_hold_is_refused_before_any_row_is_read(name):
    """The message says where the column is and what to do; it does not quote what may be a record."""
    frame = pa.table({"sex": ["f", "m"], name: [1, 2]})
    with pytest.raises(DataError, match=r"column 2; .*rename these columns in the table") as refused:
        open_table(frame)
    assert "kal" not in str(refused.value)
