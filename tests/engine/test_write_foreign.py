"""Tables for other programs: files of Stata and SPSS with labels, new tables of databases; everything or nothing."""

from __future__ import annotations

import datetime as dt
import sqlite3

import pyarrow as pa
import pyreadstat
import pytest
import sqlalchemy as sa

from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.engine.read.foreign.address import parse_address
from shoal.engine.write_foreign import write_database, write_statistical
from shoal.errors import DataError, UsageError

pytestmark = pytest.mark.slow

TABLE = pa.table(
    {
        "sex": pa.array(["1", "2", None]).dictionary_encode(),
        "age group": ["[0, 20)", "[20, 40)", "[0, 20)"],
        "visits": pa.array([1, None, 2**40]),
        "smoker": [True, None, False],
        "born": [dt.date(1500, 1, 1), None, dt.date(2020, 1, 1)],
        "seen": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5), None, None], pa.timestamp("us")),
        "weight": [0.1, None, -1e300],
        "by": ["ä", None, "b"],
    }
)
BOOK = Codebook(
    (
        ColumnDescription("sex", "Sex of the person", values=(CodedValue("1", "male"), CodedValue("2", "female"))),
        ColumnDescription("age group", values=(CodedValue("[0, 20)"), CodedValue("[20, 40)", "grown"))),
    ),
    "codebook.csv",
)
READERS = {".dta": pyreadstat.read_dta, ".sav": pyreadstat.read_sav, ".zsav": pyreadstat.read_sav}


@pytest.mark.parametrize("suffix", READERS)
def test_a_file_has_values_and_labels(tmp_path, suffix):
    path = tmp_path / f"visits{suffix}"
    assert write_statistical(path, TABLE, BOOK) == {
        **{name: name for name in TABLE.column_names}, "age group": "age_group", "by": "by_2",
    }  # fmt: skip
    found, known = READERS[suffix](path, output_format="dict")
    assert found == {
        "sex": [1, 2, None],
        "age_group": [1, 2, 1],
        "visits": [1, None, 2**40],
        "smoker": [1, None, 0],
        "born": [dt.date(1500, 1, 1), None, dt.date(2020, 1, 1)],
        "seen": [dt.datetime(2020, 1, 2, 3, 4, 5), None, None],
        "weight": [0.1, None, -1e300],
        "by_2": ["ä", "", "b"],
    }
    labels = {name: label for name, label in known.column_names_to_labels.items() if label}
    assert labels == {"sex": "Sex of the person", "age_group": "age group", "by_2": "by"}
    assert known.variable_value_labels == {
        "sex": {1: "male", 2: "female"},
        "age_group": {1: "[0, 20)", 2: "[20, 40) (grown)"},
        "smoker": {0: "false", 1: "true"},
    }
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
def test_no_number_stands_for_another_one(tmp_path, suffix):
    """Labels of a release mix numbers with others: 1 is then 1 and never the first label of the list, which may read 0 or 2."""
    values = (CodedValue("2", "female"), CodedValue("1", "male"), CodedValue("0"), CodedValue("*", "any value"))
    book = Codebook((ColumnDescription("x", values=values),), "x")
    write_statistical(tmp_path / f"x{suffix}", pa.table({"x": ["0", "1", "2", "*", None]}), book)
    found, known = READERS[suffix](tmp_path / f"x{suffix}", output_format="dict")
    assert found == {"x": [0, 1, 2, 101, None]}
    assert known.variable_value_labels == {"x": {1: "male", 2: "female", 101: "* (any value)"}}


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
def test_odd_names_and_long_labels_fit_the_program(tmp_path, suffix):
    names = ["a" * 100, "A" * 100, "é", "1st", "", "_all", "byte", "x y", "x.y"]
    table = pa.table({name: [1] for name in names})
    book = Codebook((ColumnDescription("é", "ü" * 1000, values=(CodedValue("1", "ß" * 40_000),)),), "x")
    got = write_statistical(tmp_path / f"odd{suffix}", table, book)
    found, known = READERS[suffix](tmp_path / f"odd{suffix}", output_format="dict")
    assert list(found) == list(got.values())
    assert len({name.lower() for name in found}) == len(names)
    assert known.column_names_to_labels[got["é"]].endswith("ü…")
    assert known.column_names_to_labels[got["x y"]] == "x y"


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([2**53]), "large whole numbers"),
        (pa.array([b"x"]), "no such values"),
        (pa.array([[1]]), "no such values"),
        (pa.array(["x" * 40_000]), "long as some"),
        (pa.array(["3"]), "does not list"),
    ],
)
def test_what_a_program_would_change_is_refused(tmp_path, column, words):
    book = Codebook((ColumnDescription("x", values=(CodedValue("1"),)),), "x") if "list" in words else None
    for suffix in (".dta", ".sav"):
        with pytest.raises(UsageError, match=words):
            write_statistical(tmp_path / f"x{suffix}", pa.table({"x": column}), book)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays(tmp_path):
    (tmp_path / "x.sav").write_bytes(b"mine")
    with pytest.raises(UsageError, match="already"):
        write_statistical(tmp_path / "x.sav", TABLE)
    with pytest.raises(UsageError, match="kind of file"):
        write_statistical(tmp_path / "x.xyz", TABLE)
    assert (tmp_path / "x.sav").read_bytes() == b"mine"


def test_a_table_of_a_server_has_types_comments_and_labels(postgresql):
    write_database(postgresql, "written", TABLE, BOOK)
    engine = sa.create_engine(parse_address(postgresql), poolclass=sa.pool.NullPool)
    try:
        columns = {each["name"]: each for each in sa.inspect(engine).get_columns("written")}
        assert columns["sex"]["comment"] == "Sex of the person"
        kinds = {name: str(each["type"]).split("(")[0] for name, each in columns.items()}
        assert kinds["visits"] == "BIGINT"
        assert (kinds["born"], kinds["seen"], kinds["smoker"]) == ("DATE", "TIMESTAMP", "BOOLEAN")
        with engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT * FROM written").fetchall()
            labels = connection.exec_driver_sql("SELECT column_name, value, label FROM written_codebook").fetchall()
        assert [tuple(row) for row in rows] == [tuple(row.values()) for row in TABLE.to_pylist()]
        assert tuple(labels[0]) == ("sex", "1", "male")
        with pytest.raises(UsageError, match=r"of this name already.*written"):
            write_database(postgresql, "written", TABLE)
    finally:
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE IF EXISTS written, written_codebook")


@pytest.mark.parametrize("name", ["visits", 'odd "name"; DROP TABLE x', "100 % of"])
def test_a_table_of_sqlite_is_written_whole_or_not_at_all(tmp_path, name):
    path = tmp_path / "out.sqlite"
    write_database(f"sqlite:///{path}", name, TABLE)
    with pytest.raises(UsageError, match="already"):
        write_database(f"sqlite:///{path}", name, TABLE)
    broken = pa.table({"n": pa.array([1, 2**64 - 1], pa.uint64())})
    with pytest.raises(DataError, match="cannot be written"):
        write_database(f"sqlite:///{path}", "broken", broken)
    connection = sqlite3.connect(path)
    assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == [name]
    quoted = name.replace('"', '""')
    assert connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone() == (3,)  # noqa: S608
    connection.close()


def test_a_table_that_another_program_makes_meanwhile_stays(tmp_path, monkeypatch):
    address = f"sqlite:///{tmp_path / 'out.sqlite'}"
    write_database(address, "visits", TABLE)
    monkeypatch.setattr(sa.Inspector, "has_table", lambda *_: False)  # as it was when it was looked for
    with pytest.raises(DataError, match="cannot be written"):
        write_database(address, "visits", TABLE)
    with sqlite3.connect(tmp_path / "out.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM visits").fetchone() == (3,)
    connection.close()


def test_no_secret_is_told_of_a_database_that_cannot_be_reached():
    with pytest.raises(DataError, match="cannot be written") as caught:
        write_database("postgresql://ann:kb7-Zq@localhost:1/clinic", "x", TABLE)
    assert "kb7-Zq" not in str(caught.value)
    with pytest.raises(UsageError, match="Parquet, which DuckDB reads"):
        write_database("duckdb:///x.duckdb", "x", TABLE)
