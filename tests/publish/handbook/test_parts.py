"""The handbook of a release whose table is a folder of parts: the same rows, whatever reads them."""

from __future__ import annotations

import json
import re

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.publish.export import export
from shoal.publish.handbook.read_release import ReleaseError, open_release
from shoal.publish.verify.release import verify
from tests.publish.handbook.survey import released
from tests.publish.parts import divided, part_files

pytestmark = pytest.mark.slow


def test_both_releases_hold_the_same_rows_in_the_same_order():
    parts = part_files(released("parts"))
    assert len(parts) > 2
    assert all(check.agrees for check in verify(released("parts")) if check.promise)
    told = [row for file in parts for row in pq.read_table(file).to_pylist()]
    assert told == pq.read_table(released("parquet") / "table.parquet").to_pylist()


def test_other_programs_read_the_folder_as_one_table():
    told = pq.read_table(released("parquet") / "table.parquet").to_pylist()
    folder = released("parts") / "table.parquet"
    assert pd.read_parquet(folder).astype(object).to_dict("records") == pd.DataFrame(told).astype(object).to_dict(
        "records"
    )
    assert pq.read_table(folder).to_pylist() == told
    assert pl.read_parquet(folder / "*.parquet").to_dicts() == told
    assert duckdb.sql(f"FROM read_parquet('{folder}/*.parquet')").fetchall() == [tuple(row.values()) for row in told]


def test_the_reader_in_the_folder_gives_the_same_rows_and_labels():
    one, several = open_release(released("parquet")), open_release(released("parts"))
    assert several.names == one.names
    assert several.rows() == one.rows()
    assert several.labels("age", "table") == one.labels("age", "table")
    options = {"intervals": "columns", "sets": "codes"}
    assert several.to_arrow(**options).equals(one.to_arrow(**options))
    pd.testing.assert_frame_equal(several.to_pandas(intervals="struct"), one.to_pandas(intervals="struct"))


def test_the_reader_refuses_a_part_that_was_changed(tmp_path):
    folder = divided(released("parquet"), tmp_path / "out", 40)
    part = part_files(folder)[1]
    part.write_bytes(part_files(folder)[0].read_bytes())
    with pytest.raises(ReleaseError, match=r"table.parquet/part-00001.parquet was changed"):
        open_release(folder).rows()


def test_the_data_package_lists_the_parts_in_their_order():
    (resource,) = (
        each
        for each in json.loads((released("parts") / "datapackage.json").read_text())["resources"]
        if "shoal" in each
    )
    assert resource["path"] == [f"table.parquet/{file.name}" for file in part_files(released("parts"))]
    assert resource["shoal"]["file"] == "table.parquet"
    one = json.loads((released("parquet") / "datapackage.json").read_text())["resources"][0]
    assert resource["schema"] == one["schema"]


def test_the_page_says_that_the_table_is_a_folder():
    folder = released("parts")
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert f"Folders of parts: `table.parquet` of {len(part_files(folder))}." in text
    assert "Folders of parts" not in (released("parquet") / "README.md").read_text(encoding="utf-8")
    assert "FROM read_parquet('table.parquet/*.parquet')" in text
    assert 'table <- dplyr::collect(arrow::open_dataset("table.parquet"))' in text
    assert re.search(r"shoal export \. \.\./table\.dta", text)


def test_a_loaded_release_answers_the_same():
    one, several = shoal.load(released("parquet")), shoal.load(released("parts"))
    for condition in ({}, {"sex": "f"}, "age >= 50 and smoker = true"):
        assert several.count(condition).value == pytest.approx(one.count(condition).value)
    assert several.published("table").to_arrow().equals(one.published("table").to_arrow())


def test_an_export_is_the_same(tmp_path):
    for kind in ("parquet", "parts"):
        export(released(kind), tmp_path / f"{kind}.csv", intervals="columns", sets="codes")
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "parquet.csv").read_bytes()
