"""A folder in, tables and meanings out; whatever does not fit is refused."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.assess.release.labels import atom_axis, meaning
from shoal.assess.release.load import load
from shoal.errors import UsageError, VerificationError
from tests.assess.release.released import categories, cuts, keep, reseal, write_release
from tests.publish.clinic import publish

SURE = 1 - 1e-9
"""The level of an interval around the truth behind a sample that no test can repeat."""


def two_views(folder, **options):
    rules = categories([3, 2, 4])
    counts = np.full((3, 2), 30)
    more = np.full((2, 4), 25)
    views = {"one": ([rules["a0"], rules["a1"]], counts), "two": ([rules["a1"], rules["a2"]], more)}
    return write_release(folder / "release", views, **options)


def test_views_have_names_columns_k_beta_and_weight(tmp_path):
    loaded = load(two_views(tmp_path))
    assert loaded.names == ("one", "two")
    assert loaded.attributes == ("a0", "a1", "a2")
    view = loaded.published("two")
    assert (view.columns, view.k, view.beta, view.weight) == (
        ("a1", "a2"),
        20,
        Fraction("0.15"),
        pytest.approx(1 / 0.15),
    )
    assert view.to_arrow().num_rows == len(view.to_pandas()) == view.to_polars().height == 200
    assert view.cells == 8


def test_samples_give_each_view_its_own_k_and_beta(tmp_path):
    folder = two_views(tmp_path)
    paper = json.loads((folder / "certificate.json").read_text())
    paper["samples"].append({"k": 25, "beta": "0.4", "times": 1})
    paper["tables"][1] |= {"sample": 1, "k": 25}
    loaded = load(reseal(folder, samples=paper["samples"], tables=paper["tables"]))
    assert [(view.k, view.beta) for view in loaded.views] == [(20, Fraction(3, 20)), (25, Fraction(2, 5))]


@pytest.mark.slow
@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_a_published_table_loads_and_its_labels_have_meanings(tmp_path, output):
    made = publish(tmp_path, {"release.output": output})
    loaded = load(made.folder)
    view = loaded.published()
    assert view.to_arrow().num_rows == made.rows_published
    assert view.columns == ("age", "sex", "diag")
    assert view.meanings["age"].stands_for("[0, 50)") == (0, 50)
    assert view.meanings["age"].stands_for("[50, 100)") == (50, 100)
    assert view.meanings["diag"].stands_for("flu") == ("flu",)
    assert int(view.tuples[1].sum()) == made.rows_published
    rows = (tmp_path / "table.csv").read_text().splitlines()[1:]
    young = sum(int(row.split(",")[1]) < 50 for row in rows)
    found = loaded.count({"age": (0, 50)}, level=SURE)
    assert found.low <= young <= found.high


@pytest.mark.slow
def test_published_views_load(tmp_path):
    made = publish(tmp_path, {"release.views": "pairs", "release.recoding": {"levels": {"age": 1}}}, rows=5000)
    loaded = load(made.folder)
    assert sorted(map(len, (view.columns for view in loaded.views))) == [2, 2, 2]
    assert loaded.total(level=SURE).low <= 5000 <= loaded.total(level=SURE).high
    assert loaded.consistent().marginal("sex", "age").value.shape == (3, 11)
    assert len(loaded.synthetic(50)) == 50


@pytest.mark.slow
def test_a_published_tree_loads_with_its_boxes(tmp_path):
    made = publish(tmp_path, {"release.recoding": {"tree": {"epsilon": 0.3}}}, rows=3000)
    loaded = load(made.folder)
    view = loaded.published()
    assert view.box_tuples is not None
    assert view.cells == len(view.box_tuples)
    assert loaded.total(level=SURE).low <= 3000 <= loaded.total(level=SURE).high
    known = ("f", "m")
    assert [name for name in loaded.marginal("sex").labels[0] if name in known] in ([], list(known))
    fitted = loaded.consistent()
    assert fitted.marginal("age", "sex").value.sum() == pytest.approx(fitted.total)


def test_a_changed_file_is_refused(tmp_path):
    folder = two_views(tmp_path)
    with (folder / "views/one.csv").open("a") as file:
        file.write("v00,v00\n")
    with pytest.raises(VerificationError, match=r"views/one\.csv"):
        load(folder)


def test_a_table_that_the_certificate_does_not_hash_is_refused(tmp_path):
    folder = two_views(tmp_path)
    paper = json.loads((folder / "certificate.json").read_text())
    del paper["files"]["views/two.csv"]
    with pytest.raises(VerificationError, match="two"):
        load(reseal(folder, files=paper["files"]))


def test_a_label_that_no_rule_has_is_refused(tmp_path):
    folder = two_views(tmp_path)
    with (folder / "views/one.csv").open("a") as file:
        file.write("strange,v00\n")
    with pytest.raises(VerificationError, match="label"):
        load(reseal(folder)).published("one").tuples  # noqa: B018


@pytest.mark.parametrize("text", ["{}", "[]", "not json", '{"files": {}, "tables": [{}], "samples": []}'])
def test_a_broken_certificate_is_refused(tmp_path, text):
    (tmp_path / "certificate.json").write_text(text)
    with pytest.raises(VerificationError):
        load(tmp_path)


def test_no_folder_and_no_such_table_say_what_is_there(tmp_path):
    with pytest.raises(UsageError, match=r"certificate\.json"):
        load(tmp_path)
    loaded = load(two_views(tmp_path))
    with pytest.raises(UsageError, match="one, two"):
        loaded.published("three")
    with pytest.raises(UsageError, match="name"):
        loaded.published()


def test_empty_views_and_missing_values_load(tmp_path):
    rule = keep("a", ["x", "y"])
    folder = write_release(tmp_path / "empty", {"v": ([rule], np.zeros(2, dtype=int))}, missing="value")
    loaded = load(folder)
    assert loaded.published().meanings["a"].texts == ("x", "y", "(missing)")
    marginal = loaded.marginal("a")
    assert marginal.value.sum() == 0
    assert (marginal.high > 100).all()
    assert not marginal.published.any()


def test_meanings_of_every_kind_of_rule():
    groups = {
        "attribute": "d", "type": "category", "domain": "", "kind": "groups", "labels": ["both", "one"],
        "table": {"x": "both", "y": "both", "z": "one"},
    }  # fmt: skip
    assert meaning(groups, ["both"], missing=True).stands_for("both") == ("x", "y")
    whole = {"attribute": "d", "type": "integer", "domain": "0..9", "kind": "whole", "labels": ["*"]}
    assert meaning(whole, ["*"], missing=True).stands_for("*") == (0, 10)
    masked = {
        "attribute": "z", "type": "text", "domain": "", "kind": "masked", "labels": None, "side": "right", "kept": 2,
        "letter": "*",
    }  # fmt: skip
    read = meaning(masked, ["10*", "20*"], missing=False)
    assert (read.listed, read.texts) == (False, ("10*", "20*"))
    kept = {
        "attribute": "d", "type": "date", "domain": "2024-01-01..2024-01-03", "kind": "keep", "labels": None,
        "low": "2024-01-01", "high": "2024-01-03", "pattern": None,
    }  # fmt: skip
    days = meaning(kept, ["2024-01-02"], missing=False)
    assert days.listed
    assert days.stands_for("2024-01-03") == (dt.date(2024, 1, 3), dt.date(2024, 1, 4))
    boxes = {
        "attribute": "d", "type": "integer", "domain": "0..99", "kind": "boxes", "labels": ["low", "*"],
        "members": [[[0, 1]], [[0, 3]]], "cells": ["[0, 10)", "[10, 50)", "[50, 100)", "(missing)"],
        "level": cuts("d", [10, 50], 0, 99),
    }  # fmt: skip
    read = meaning(boxes, ["low"], missing=True)
    assert read.stands_for("low") == (0, 50)
    assert read.stands_for("*") == (0, 100)
    assert read.labels[1].missing


@pytest.mark.parametrize(
    ("boxes", "names"),
    [
        (["m", "f"], ("f", "m")),
        (["f", "m", "*"], ("f", "m", "(missing)")),
        (["m", "f or (missing)"], ("f or (missing)", "m")),
    ],
)
def test_values_come_in_the_order_of_their_rule_however_the_boxes_are_listed(boxes, names):
    held = {"f": [[0, 0]], "m": [[1, 1]], "*": [[0, 2]], "f or (missing)": [[0, 0], [2, 2]]}
    rule = {
        "attribute": "sex", "type": "category", "domain": "f, m", "kind": "boxes", "labels": boxes,
        "members": [held[text] for text in boxes], "cells": ["f", "m", "(missing)"],
        "level": {"attribute": "sex", "type": "category", "domain": "f, m", "kind": "keep", "labels": ["f", "m"],
                  "low": None, "high": None, "pattern": None},
    }  # fmt: skip
    assert atom_axis([meaning(rule, boxes, missing=True)]).names == names


def test_typed_columns_of_parquet_are_read_as_the_rule_spells_them(tmp_path):
    rule = {
        "attribute": "d", "type": "integer", "domain": "0..9", "kind": "keep", "labels": None, "low": "0", "high": "9",
        "pattern": None,
    }  # fmt: skip
    folder = write_release(tmp_path / "typed", {"v": ([{**rule, "labels": ["3"]}], np.array([25]))}, missing="value")
    from pyarrow import parquet

    parquet.write_table(pa.table({"d": pa.array([3] * 25 + [None] * 30, pa.int64())}), folder / "views/v.parquet")
    paper = json.loads((folder / "certificate.json").read_text())
    paper["tables"][0]["file"] = "views/v.parquet"
    (folder / "recoding/0000.json").write_text(json.dumps(rule))
    loaded = load(reseal(folder, tables=paper["tables"]))
    assert loaded.published().cells == 11
    assert loaded.count({"d": 3}).value == pytest.approx(25 / 0.15)
    assert loaded.count({"d": None}).value == pytest.approx(30 / 0.15)
    assert loaded.count({"d": (4, None)}).value == 0
