"""A table of a release for other programs: the same cells, typed, with the labels of columns and values; refusals."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pyreadstat
import pytest

from shoal.errors import UsageError, VerificationError
from shoal.publish.export import export
from shoal.publish.handbook.read_release import open_release
from shoal.publish.share import pack
from tests.publish.handbook.survey import released

pytestmark = pytest.mark.slow


def test_csv_and_parquet_have_the_cells_of_the_reader(tmp_path):
    wanted = open_release(released("rows")).to_arrow(intervals="columns", sets="codes")
    made = export(released("rows"), tmp_path / "a.parquet", intervals="columns", sets="codes")
    table = pq.read_table(tmp_path / "a.parquet")
    assert (made.table, made.rows, list(made.columns)) == ("table", wanted.num_rows, wanted.column_names)
    assert table.to_pylist() == wanted.to_pylist()
    notes = table.schema.field("sex").metadata
    assert notes[b"label"] == b"Sex, as stated"
    assert json.loads(notes[b"value_labels"]) == {"f": "female", "m": "male"}
    export(released("rows"), tmp_path / "a.csv", intervals="columns", sets="codes")
    assert pc.read_csv(tmp_path / "a.csv").num_rows == wanted.num_rows
    struct = export(released("rows"), tmp_path / "b.parquet", intervals="struct")
    assert pq.read_schema(tmp_path / "b.parquet").field("age").type.num_fields == 2
    assert "age_low" not in struct.columns


@pytest.mark.parametrize(("ending", "read"), [("dta", pyreadstat.read_dta), ("sav", pyreadstat.read_sav)])
def test_stata_and_spss_get_labels(tmp_path, ending, read):
    made = export(released("rows"), tmp_path / f"a.{ending}")
    frame, meta = read(tmp_path / f"a.{ending}")
    assert len(frame) == made.rows > 0
    assert "job_held" in made.columns
    assert meta.column_names_to_labels["sex"] == "Sex, as stated"
    assert meta.column_names_to_labels["job_held"] == "job|held"
    assert list(meta.variable_value_labels["age"].values()) == ["[0, 50)", "[50, 100)"]
    assert {"f (female)", "female"} & set(meta.variable_value_labels["sex"].values())


def test_a_database_gets_a_table_with_types(tmp_path):
    address = f"sqlite:///{tmp_path / 'study.db'}"
    made = export(released("mixed"), address, table="2-income", into="income", intervals="columns")
    assert made.target.startswith("income in sqlite://")
    with sqlite3.connect(tmp_path / "study.db") as book:
        rows = book.execute("select income, income_low, income_high, count, low, high from income").fetchall()
    book.close()
    assert len(rows) == made.rows == 4
    assert rows[-1][:3] == ("(missing)", None, None)
    assert all(low <= count <= high for *_, count, low, high in rows)


def test_every_kind_and_its_zip_file(tmp_path):
    for kind in ("values", "groups", "labels", "exchanged"):
        name = "1-age" if kind == "values" else None
        export(released(kind), tmp_path / f"{kind}.parquet", table=name)
    types = pq.read_schema(tmp_path / "exchanged.parquet")
    assert [str(types.field(name).type) for name in ("age", "income", "seen", "visit")] == [
        "int64", "double", "date32[day]", "timestamp[us]",
    ]  # fmt: skip
    packed = pack(released("groups"), tmp_path / "groups.zip")
    export(packed, tmp_path / "again.csv")
    with pytest.raises(UsageError, match="has to say so by its name"):
        export(released("synthetic-parquet"), tmp_path / "rows.csv", table="synthetic")
    export(released("synthetic-parquet"), tmp_path / "synthetic.csv", table="synthetic")


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        ("a.xlsx", {}, "cannot write this kind of file"),
        ("there.csv", {}, "the file exists"),
        ("no/such.csv", {}, "the folder of the file does not exist"),
        ("a.csv", {"into": "t"}, "a file holds one table"),
        ("a.csv", {"intervals": "struct"}, "only Parquet"),
        ("a.csv", {"intervals": "pairs"}, "intervals is none of its options"),
        ("a.csv", {"table": "nobody"}, "no table of this name"),
        ("a.csv", {}, "the release has several tables"),
        ("sqlite:///a.db", {}, "a database needs the name"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path, monkeypatch, target, options, said):
    monkeypatch.chdir(tmp_path)
    Path("there.csv").write_text("mine")
    with pytest.raises(UsageError, match=said):
        export(released("trees"), target, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]


def test_nothing_is_written_into_the_release_folder(tmp_path, monkeypatch):
    folder = Path(shutil.copytree(released("groups"), tmp_path / "out"))
    before = sorted(folder.rglob("*"))
    monkeypatch.chdir(folder)
    for target in ("a.dta", folder / "a.csv", "./a.parquet"):
        with pytest.raises(UsageError, match="no longer verifies"):
            export(".", target)
    assert sorted(folder.rglob("*")) == before
    assert export(".", "../a.dta").rows > 0


def test_a_release_that_was_changed_is_not_exported(tmp_path):
    folder = Path(shutil.copytree(released("groups"), tmp_path / "out"))
    (folder / "table.csv").write_text("age\n1\n")
    with pytest.raises(VerificationError):
        export(folder, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
