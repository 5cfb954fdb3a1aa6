"""Labels are text, whatever they look like; a cell is called published only where a published row shows it."""

from __future__ import annotations

import datetime as dt
import random
from fractions import Fraction

import numpy as np
import pytest

from shoal.assess.release.labels import Label, atom_axis, meaning
from shoal.assess.release.load import load
from shoal.engine.base import open_engine
from shoal.errors import UsageError
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from tests.assess.release.released import keep, reseal, write_release

POLICY = """
version: 1
dataset: homes
unit: row
neighbours: add_remove
attributes:
  size:
    {role: quasi, type: integer, domain: [1, 9], missing: refuse, hierarchy: {groups: {"12": [1, 2]}, rest: "39"}}
  rent: {role: quasi, type: decimal, domain: [1, 3], missing: refuse}
  owner: {role: quasi, type: boolean, missing: refuse}
  since: {role: quasi, type: date, domain: [2024-01-01, 2024-01-02], missing: refuse}
  code: {role: quasi, type: category, domain: ["01", "1", "2"], missing: refuse}
  sex: {role: quasi, type: category, domain: [f, m], hierarchy: auto}
release:
  method: safe-k
  epsilon: 1
  delta: 1e-3
  recoding: {levels: {size: 1, sex: 1}}
  sampling: {beta: 0.5}
"""
ROWS = 12_000


@pytest.fixture(scope="module", params=["csv", "parquet"])
def homes(request, tmp_path_factory):
    """A release of homes in either form, and its rows."""
    folder = tmp_path_factory.mktemp(request.param)
    chance = random.Random(3)  # noqa: S311 - made-up homes
    rows = [
        (
            chance.randrange(1, 10), chance.choice(["1.5", "2", "2.25"]), chance.choice(["true", "false"]),
            chance.choice(["2024-01-01", "2024-01-02"]), chance.choice(["01", "1", "2"]), chance.choice("fm"),
        )
        for _ in range(ROWS)
    ]  # fmt: skip
    lines = ["size,rent,owner,since,code,sex", *(",".join(map(str, row)) for row in rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    found = plan(Policy.parse(POLICY).with_changes({"release.output": request.param}))
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        made = release(found, folder / "table.csv", folder / "out", ledger=ledger, engine=open_engine(), report=False)
    return load(made.folder), rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "place", "values"),
    [
        ({"size": "39"}, 0, range(3, 10)),
        ({"size": 39}, 0, range(3, 10)),  # no home has this size, so it can only be the label
        ({"size": np.str_("12")}, 0, (1, 2)),
        ({"size": {"label": "12"}}, 0, (1, 2)),
        ({"rent": "2"}, 1, ("2",)),
        ({"rent": 2}, 1, ("2",)),
        ({"rent": 2.0}, 1, ("2",)),
        ({"rent": "2.0"}, 1, ("2",)),
        ({"rent": np.float64(2.25)}, 1, ("2.25",)),
        ({"owner": True}, 2, ("true",)),
        ({"owner": "true"}, 2, ("true",)),
        ({"owner": np.bool_(False)}, 2, ("false",)),
        ({"since": "2024-01-02"}, 3, ("2024-01-02",)),
        ({"since": dt.date(2024, 1, 2)}, 3, ("2024-01-02",)),
        ({"since": np.datetime64("2024-01-02")}, 3, ("2024-01-02",)),
        ({"code": "01"}, 4, ("01",)),
        ({"code": "1"}, 4, ("1",)),
        ({"code": 1}, 4, ("1",)),
        ({"sex": "*"}, 5, ("f", "m")),
    ],
    ids=repr,
)
def test_a_label_is_found_whatever_it_looks_like(homes, where, place, values):
    loaded, rows = homes
    true = sum(row[place] in values for row in rows)
    found = loaded.count(where, level=1 - 1e-9)
    assert found.low <= true <= found.high
    assert found.low > 0.7 * true


@pytest.mark.slow
@pytest.mark.parametrize("where", [{"size": 3}, {"size": {"value": "3"}}, {"sex": "f"}, {"sex": {"m"}}], ids=repr)
def test_a_declared_value_under_a_coarser_label_has_the_interval_of_that_label(homes, where):
    loaded, rows = homes
    found = loaded.count(where)
    assert found.low == 0
    covered = len(rows) if "sex" in where else sum(row[0] >= 3 for row in rows)
    assert found.high >= covered


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"size": 20}, "1 up to, but not including, 10; labels: 12, 39"),
        ({"size": "20"}, "labels: 12, 39"),
        ({"rent": 4}, "1.0 up to"),
        ({"sex": "x"}, "neither a declared value nor a label"),
        ({"since": "2024-01-03"}, "2024-01-01 up to, but not including, 2024-01-03"),
        ({"size": {"exactly": 3}}, "'label'"),
        ({"size": {"label": 3}}, "labels: 12, 39"),
    ],
    ids=repr,
)
def test_what_nobody_can_have_is_refused_and_not_answered_with_nothing(homes, where, words):
    with pytest.raises(UsageError, match=words):
        homes[0].count(where)


@pytest.mark.slow
def test_names_that_are_no_texts_and_unknown_names_are_refused_in_words(homes):
    loaded, _ = homes
    with pytest.raises(UsageError, match="one by one, as texts; got list"):
        loaded.marginal(list(loaded.attributes[:2]))
    with pytest.raises(UsageError, match="no published attribute"):
        loaded.axis("nobody")


@pytest.mark.slow
def test_both_forms_spell_labels_alike(homes):
    assert homes[0].published().meanings["rent"].texts == ("1.5", "2", "2.25")
    assert homes[0].marginal("since").labels == (("2024-01-01", "2024-01-02"),)


@pytest.mark.slow
def test_one_label_for_everybody_is_one_cell(homes):
    found = homes[0].marginal("sex", level=1 - 1e-9)
    assert found.labels == (("*",),)
    assert found.status.tolist() == ["published"]
    assert found.low[0] <= ROWS


GROUPED = {
    "attribute": "drug", "type": "category", "domain": "A, B, C", "kind": "groups", "labels": ["A", "C"],
    "table": {"A": "A", "B": "A", "C": "C"},
}  # fmt: skip


def test_a_text_that_is_a_value_and_a_coarser_label_has_to_be_said_which(tmp_path):
    loaded = load(write_release(tmp_path / "drugs", {"v": ([GROUPED], np.array([300, 150]))}))
    with pytest.raises(UsageError, match="'label': 'A'"):
        loaded.count({"drug": "A"})
    shown, value = loaded.count({"drug": {"label": "A"}}), loaded.count({"drug": {"value": "A"}})
    assert shown.value == pytest.approx(300 / 0.15)
    assert shown.low > 0
    assert value.value == pytest.approx(150 / 0.15)  # A and B alike
    assert value.low == 0
    assert loaded.count({"drug": "C"}).value == pytest.approx(150 / 0.15)
    assert loaded.count({"drug": [{"label": "A"}, "C"]}).value == pytest.approx(450 / 0.15)


def test_a_label_that_two_views_use_for_different_values_is_refused(tmp_path):
    other = {**GROUPED, "labels": ["A", "B"], "table": {"A": "A", "B": "B", "C": "A"}}
    rest = keep("sex", ["f", "m"])
    counts = np.full((2, 2), 90)
    folder = write_release(tmp_path / "two", {"v": ([GROUPED, rest], counts), "w": ([other, rest], counts)})
    with pytest.raises(UsageError, match="different values in different views"):
        load(folder).count({"drug": {"label": "A"}})


BOXES = {
    "attribute": "size", "type": "integer", "domain": "1..4", "kind": "boxes", "labels": ["1", "2", "*"],
    "members": [[[0, 0]], [[1, 1]], [[0, 3]]], "cells": ["1", "2", "3", "4"],
    "level": {"attribute": "size", "type": "integer", "domain": "1..4", "kind": "keep", "labels": ["1", "2", "3", "4"],
              "low": None, "high": None, "pattern": None},
}  # fmt: skip


def test_a_cell_under_a_coarser_published_label_is_covered_and_not_published(tmp_path):
    sex = keep("sex", ["f", "m"])
    counts = np.array([[40, 0], [0, 0], [0, 200]])  # women's sizes by themselves, men's all in one
    listing = "size,sex\n1,f\n2,f\n*,m\n"
    loaded = load(write_release(tmp_path / "tree", {"v": ([BOXES, sex], counts)}, boxes={"v": listing}))
    found = {cell.labels: cell for cell in loaded.marginal("size", "sex")}
    assert found["1", "f"].status == "published"
    assert found["2", "f"].status == "unpublished"
    assert {found[size, "m"].status for size in ("1", "2", "[3, 5)")} == {"covered"}
    assert not any(cell.published for labels, cell in found.items() if labels != ("1", "f"))
    assert found["1", "m"].low == 0
    frame = loaded.marginal("size", "sex").to_pandas()
    assert frame.status.value_counts().to_dict() == {"covered": 3, "unpublished": 2, "published": 1}


def test_cells_that_no_label_can_have_are_not_listed(tmp_path):
    gaps = {
        "attribute": "size", "type": "integer", "domain": "1, 2, 7, 8", "kind": "groups", "labels": ["few", "many"],
        "table": {"1": "few", "2": "few", "7": "many", "8": "many"},
    }  # fmt: skip
    loaded = load(write_release(tmp_path / "gaps", {"v": ([gaps], np.array([100, 60]))}))
    assert loaded.marginal("size").labels == (("few", "many"),)
    assert loaded.count({"size": (7, None)}).value == pytest.approx(60 / 0.15)
    with pytest.raises(UsageError, match="neither a declared value"):
        loaded.count({"size": 5})


def test_a_masked_value_says_which_label_covers_it_unless_all_values_are_declared(tmp_path):
    rule = {
        "attribute": "zip", "type": "text", "domain": "", "kind": "masked", "labels": None, "side": "right", "kept": 2,
        "letter": "*",
    }  # fmt: skip
    with_labels = {**rule, "labels": ["10*", "20*"]}
    folder = write_release(tmp_path / "masked", {"v": ([with_labels], np.array([100, 60]))})
    _rewrite(folder, rule)
    with pytest.raises(UsageError, match=r"ask for '10\*'"):
        load(reseal(folder)).count({"zip": "105"})
    assert load(reseal(folder)).count({"zip": "10*"}).value == pytest.approx(100 / 0.15)
    own = meaning(rule, ["10*"], missing=False, values=["101", "102", "205"])
    assert (own.listed, own.texts, own.stands_for("10*")) == (True, ("10*", "20*"), ("101", "102"))


def _rewrite(folder, rule):
    import json

    (folder / "recoding/0000.json").write_text(json.dumps(rule))


def test_missing_values_stand_with_the_values_that_no_label_tells_them_from():
    whole = {"attribute": "d", "type": "integer", "domain": "0..9", "kind": "whole", "labels": ["*"]}
    assert atom_axis([meaning(whole, ["*"], missing=True)]).names == ("*",)
    assert atom_axis([meaning({**whole, "domain": None}, ["*"], missing=True)]).names == ("*",)
    text = {**whole, "type": "text", "domain": None}
    assert atom_axis([meaning(text, ["*"], missing=True)]).names == ("*",)
    asked = meaning({**whole, "type": "category"}, ["*"], missing=True, values=["x", "y"])
    own = atom_axis([asked], meaning({**keep("d", ["x", "y"])}, [], missing=True).labels)
    assert own.names == ("x", "y", "(missing)")
    assert own.membership(asked.labels).all()


def test_the_atoms_of_a_release_serve_conditions_that_divide_none_of_them():
    own = atom_axis([meaning({**keep("d", ["1", "2", "3"]), "type": "integer"}, [], missing=True)])
    ends = [span for span in own.spans if span is not None]
    at_ends = Label("asked", ((ends[0][0], ends[1][1]),))
    assert own.keeps_whole([at_ends, Label("open", ((None, ends[0][1]),)), Label("gone", missing=True)])
    assert not own.keeps_whole([Label("inside", ((ends[0][0], ends[0][1] - Fraction(1, 2)),))])

    told_apart = atom_axis([meaning({**keep("d", ["1", "2", "3"]), "type": "integer"}, [], missing=False)])
    assert told_apart.keeps_whole([at_ends])
    assert not told_apart.keeps_whole([Label("gone", missing=True)])  # it would need an atom that is not there

    whole = {"attribute": "d", "type": "integer", "domain": "0..9", "kind": "whole", "labels": ["*"]}
    joined = atom_axis([meaning(whole, ["*"], missing=True)])
    assert not joined.keeps_whole([Label("values", ((None, None),))])  # it tells the missing value from the others
    assert not atom_axis([meaning(keep("d", ["x", "y"]), [], missing=False)]).keeps_whole([Label("x")])
