"""CSV files of any shape: read exactly as Python's strict reader does, or refused; never anything else."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.data.schema import ENCODINGS, STANDARD, Attribute, FileFormat, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read import csv_file
from shoal.engine.read.csv_file import check_structure, read_header
from shoal.errors import DataError, ShoalError
from tests.engine.oracle import OracleEngine

DECLARED = ("a", "b")
SCHEMA = Schema(tuple(Attribute(name, Role.OTHER, Type.TEXT) for name in DECLARED))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("csv") / "t.csv"


def read(path, form=STANDARD):
    """All cells as we read them, and how many records the structure check counted."""
    seen = read_header(path, form, DECLARED)
    count = seen.structure.records
    batches = list(seen.batches(range(len(seen.names))))
    rows = [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
    assert len(rows) == count
    return seen, rows


def strictly(text, delimiter, quote):
    """The same by Python's strict reader; empty lines are skipped unless there is one column."""
    records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote, strict=True))
    width = len(records[0])
    rows = [record or [""] for record in records[1:]] if width == 1 else [record for record in records[1:] if record]
    return [tuple(cell or None for cell in record) for record in rows], width


cells = st.text(
    st.sampled_from(list("ab1,;|\t\n\r\" 'é🦀ي")) | st.characters(exclude_categories=("Cs",), exclude_characters="\0")
)


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8),
    delimiter=st.sampled_from(",;|\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
@settings(max_examples=200)
def test_what_a_writer_writes_is_read_back(path, rows, delimiter, end, encoding, quoting):
    if end == "\n" and any("\r" in cell for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # Python's writer forgets that a lone CR needs quotes
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([("a", "b", "c"), *rows])
    path.write_bytes(text.getvalue().encode(encoding))
    seen, found = read(path, FileFormat(encoding.removesuffix("-sig")))
    assert (seen.delimiter, seen.quote, seen.names) == (delimiter, '"', ("a", "b", "c"))
    assert found == [tuple(cell or None for cell in row) for row in rows]


pieces = st.lists(
    st.sampled_from(["a", "b", "1", ",", "\n", "\r\n", "\r", '"', '""', " ", "é", ",\n", '"\n"']), max_size=14
)


@pytest.mark.slow
@given(pieces.map("".join))
@example('1,"x"y\n')
@example('1,""\n\n2,""""\n')
@example("\r1,2\r")
@settings(max_examples=600)
def test_near_csv_is_read_strictly_or_refused(path, body):
    for header in ("a,b\n", "a\n"):
        path.write_bytes((header + body).encode())
        try:
            seen, found = read(path)
        except DataError as error:
            assert error.exit_code == 5  # noqa: PT017 - both outcomes are looked at
            continue
        expected, width = strictly(header + body, seen.delimiter, seen.quote)
        assert all(len(row) == width for row in expected)
        assert found == expected


@pytest.mark.slow
@given(st.binary(max_size=200))
@example(b"a,b\n\xff\xfe\n")
@example(b"\xff\xfea")
@example(b"a,b\n1,\x00")
@example(b"a,b\n" + b"1,2\n" * 3 + b'"')
@settings(max_examples=400)
def test_any_bytes_are_read_or_refused(path, content):
    for start in (b"", b"a,b\n"):
        path.write_bytes(start + content)
        try:
            read(path)
        except ShoalError as error:
            assert error.exit_code == 5  # noqa: PT017


@given(st.binary(max_size=60))
@settings(max_examples=25)
def test_both_engines_say_the_same_of_any_bytes(path, content):
    path.write_bytes(b"a,b\n1,2\n" + content)
    said = []
    for engine in (DuckDB(threads=1), OracleEngine()):
        try:
            table = engine.scan(path, SCHEMA)
            said.append(repr([table.collect([name])[name].tolist() for name in DECLARED]))
        except ShoalError as error:
            said.append(str(error))
    assert said[0] == said[1]


@pytest.mark.slow
@given(text=pieces.map("".join), cuts=st.lists(st.integers(0, 40), max_size=6))
@settings(max_examples=400)
def test_the_structure_check_does_not_see_where_blocks_end(text, cuts):
    content = ("a,b\n" + text).encode()
    ends = sorted({min(cut, len(content)) for cut in cuts} | {0, len(content)})
    said = []
    for blocks in ([content], [content[a:b] for a, b in itertools.pairwise(ends)]):
        try:
            said.append(check_structure(blocks, ",", '"', 2, "t"))
        except DataError as error:
            said.append(error.wrong)
    assert said[0] == said[1]


@given(text=st.text(alphabet="a,;\n", max_size=60), cut=st.integers(0, 60), fields=st.integers(1, 3))
@settings(max_examples=200)
def test_a_block_without_quotes_is_checked_as_any_other(text, cut, fields):
    content, said = text.encode(), []
    for plain in (True, False):
        try:
            with patch.object(csv_file, "PIECE", 7), patch.object(csv_file._Walk, "between_cells", plain):
                said.append(check_structure([content[:cut], content[cut:]], ",", '"', fields, "t"))
        except DataError as error:
            said.append(str(error))
    assert said[0] == said[1]


@pytest.mark.parametrize("text", ['1,"x"y\n', 'x"1",y\n', '1,"x""y"\r\n2,z', '"1\n,2","""",\n', '1,"x', '\r\n1,"x"\r'])
def test_the_structure_check_at_every_cut(text):
    content = ("a,b\n" + text).encode()
    said = set()
    for cut in range(len(content) + 1):
        try:
            said.add(check_structure([content[:cut], content[cut:]], ",", '"', 2, "t"))
        except DataError as error:
            said.add(error.wrong)
    assert len(said) == 1


@pytest.mark.parametrize("encoding", ["windows-1252", "iso-8859-1"])
def test_western_text_is_read_where_the_policy_says_so(path, encoding):
    path.write_bytes("a;b\n1;Zürich à côté\n".encode(encoding))
    assert read(path, FileFormat(encoding))[1] == [("1", "Zürich à côté")]
    with pytest.raises(DataError, match="the file is not in utf-8"):
        read(path)


def test_the_delimiter_shows_the_declared_columns(path):
    path.write_text("a|b|c,d;e\n1|2|3,4;5\n")
    assert read_header(path, STANDARD, DECLARED).names == ("a", "b", "c,d;e")
    path.write_text("x;y\n1,5;2,5\n")
    assert read_header(path, STANDARD, DECLARED).delimiter == ","  # no column is declared: the rows do not decide
    assert read_header(path, FileFormat(delimiter=";"), DECLARED).names == ("x", "y")


def test_the_quote_is_the_policys(path):
    path.write_text("'a','b'\n'1,5','x'\n")
    assert read(path, FileFormat(quote="'"))[1] == [("1,5", "x")]
    path.write_text("a,b\nit's,'tis\n")
    assert read(path)[1] == [("it's", "'tis")]
    path.write_text('a,b\n5"2,"x\n')
    assert read(path, FileFormat(quote=None))[1] == [('5"2', '"x')]
    with pytest.raises(DataError, match=r"in row 1, counted from 1 after the header.*`file: {quote: none}`"):
        read(path)


def test_a_stray_quote_is_found_in_its_row(path):
    rows = ["1,x", "", "2,y", '3,"z', 'z"', '4,q"q', "5,w"]
    path.write_text("a,b\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match="in row 4, "):
        read(path)
    path.write_text('a,b\n1,x\n2,"y\n3,z\n')
    with pytest.raises(DataError, match=r"never closed; got t\.csv, in row 2, "):
        read(path)


def test_a_cell_longer_than_a_block(path):
    long = "x" * (9 << 20)
    path.write_text(f'a,b\n1,"{long}\n"\n2,y\n')
    assert [len(row[1]) for row in read(path)[1]] == [len(long) + 1, 1]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_utf_16_where_the_policy_says_so(path, encoding, mark):
    path.write_bytes((mark + "a,b\n1,ü\n2,x\n").encode(encoding))
    assert read(path, FileFormat(encoding))[1][0] == ("1", "ü")


@pytest.mark.slow
@pytest.mark.parametrize("form", [STANDARD, FileFormat("iso-8859-1")])
def test_a_line_end_in_a_cell_is_kept_wherever_a_block_ends(path, form, monkeypatch):
    """Arrow takes an LF away that follows a CR at the end of a block, inside quotes too: rows before would decide it."""
    monkeypatch.setattr(csv_file, "BLOCK", 64)
    for longer in range(900, 1200):
        path.write_text(f'a,b\n{"x" * longer},y\n"\r\n","\r"\n', newline="")
        assert read(path, form)[1][1] == ("\r\n", "\r")


@pytest.mark.parametrize("added", ["x\r", "x\r\n"])
def test_a_row_that_ends_otherwise_swallows_no_empty_row_of_one_column(path, added):
    path.write_text("a\n1\n\n2\n", newline="")
    assert read(path)[1] == [("1",), (None,), ("2",)]
    path.write_text(f"a\n1\n{added}\n2\n", newline="")
    with pytest.raises(DataError, match="lines of a file with one column end in several ways"):
        read(path)
    path.write_text(f"a,b\n1,2\n{added.rstrip()},y\r\n\n2,3\n", newline="")
    assert read(path)[1] == [("1", "2"), ("x", "y"), ("2", "3")]


LETTERS = {
    "shift_jis": "東",
    "cp932": "東",
    "euc_jp": "東",
    "gb18030": "😀東",
    "big5": "東",
    "euc_kr": "한",
    "koi8-r": "ж",
}
LETTERS |= {"koi8-u": "ї", "cp866": "ж", "cp437": "é", "cp850": "é", "cp852": "ł", "mac-roman": "é"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_is_that_of_python_and_leaves_delimiters_and_line_ends_alone(tmp_path, encoding):
    """The letters of each byte are Python's; none of them swallows the sign or the line end after it."""
    letters = LETTERS.get(encoding) or bytes(range(0xA1, 0x100)).decode(
        "utf-8" if "utf" in encoding else encoding, "ignore"
    )
    letters = letters or "Zürich 東京 😀"
    path = tmp_path / "t.csv"
    path.write_bytes(f"x;y\n{letters};1\n{letters}\n".replace(f"\n{letters}\n", "\n2;2\n").encode(encoding))
    assert read(path, FileFormat(encoding, ";"))[1] == [(letters, "1"), ("2", "2")]


def test_no_bytes_before_a_line_end_swallow_it():
    """In every encoding, broken bytes at the end of a line are refused, or the line ends where it ended."""
    for encoding in (name for name in ENCODINGS if "utf" not in name):
        for broken in (
            [bytes([byte]) for byte in range(0x80, 0x100)],
            [bytes([0x81, byte]) for byte in range(0x30, 0x100)],
        ):
            for ending in (each for byte in broken for each in (byte + b"\n", byte + b"\r\n")):
                with contextlib.suppress(UnicodeDecodeError):
                    assert (ending + b"2;z").decode(encoding).split("\n")[1:] == ["2;z"], encoding


def test_utf_16_needs_its_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("x;y\n1;2\n".encode("utf-16-be"))
    with pytest.raises(DataError, match=r"no byte order mark.*`file: {encoding: utf-16-le}` or `utf-16-be`"):
        read(path, FileFormat("utf-16"))
    path.write_bytes(b"\xfe\xff" + "x;y\n1;ü\n".encode("utf-16-be"))
    assert read(path, FileFormat("utf-16", ";"))[1] == [("1", "ü")]


def test_where_no_column_is_declared_the_header_shows_most_columns(tmp_path):
    path = tmp_path / "t.csv"
    for text, names in (("a,b;c\td;e\n", ("a,b", "c\td", "e")), ("one\n", ("one",)), ("a;b,c\n", ("a;b", "c"))):
        path.write_text(text)
        assert read_header(path, STANDARD, ()).names == names
