"""Real releases with noisy counts, opened as a recipient opens them: the truth lies in every interval, whatever was published."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import shoal
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.load import load as read
from shoal.assess.release.synthetic import PublishedSyntheticTable
from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.errors import VerificationError
from shoal.guarantee.rounding import exact_text
from shoal.policy.policy import Policy
from shoal.publish.share import pack
from tests.assess.release.released import add_counts, reseal
from tests.publish.clinic import publish, write_table

SURE = 1 - 1e-9
"""The level of an interval around the truth behind noise that no test can repeat."""
PROMISE = {"epsilon": 3, "delta": "1e-3"}
RELEASES = {
    "pairs": {"method": "safe-k", **PROMISE, "views": {"show": "counts", "every": "pairs"}, "output": "csv"},
    "declared": {
        "method": "safe-k", **PROMISE, "views": {"show": "counts", "every": "pairs", "cells": "declared"},
        "recoding": {"levels": {"age": 1}}, "output": "parquet",
    },
    "rounds": {"method": "safe-k", **PROMISE, "views": {"show": "counts", "adapt": {"rounds": 1}}, "output": "parquet"},
    "beside rows": {
        "method": "safe-k", **PROMISE, "counts": {"every": "pairs", "share": "0.5"}, "output": "csv",
        "recoding": {"levels": {"age": 2, "diag": 0}}, "sampling": {"beta": "0.5"},
    },
    "synthetic": {"method": "synthetic", **PROMISE, "views": {"every": "pairs"}, "output": "csv"},
}  # fmt: skip
ROWS = 600


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """The clinic's table, which every release is of."""
    path = write_table(tmp_path_factory.mktemp("table") / "table.csv", ROWS)
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Each release by its name, made once, verified and loaded."""
    found: dict[str, LoadedRelease] = {}

    def load(name):
        if name not in found:
            made = publish(tmp_path_factory.mktemp("made"), {"release": RELEASES[name]}, rows=ROWS)
            found[name] = shoal.load(made.folder)
        return found[name]

    return load


QUESTIONS = [
    ({}, lambda _: True),
    ({"sex": "f"}, lambda row: row["sex"] == "f"),
    ({"age": (20, 50)}, lambda row: 20 <= int(row["age"]) < 50),
    ({"age": (23, 41)}, lambda row: 23 <= int(row["age"]) < 41),
    ({"age": (23, 41), "sex": "f"}, lambda row: 23 <= int(row["age"]) < 41 and row["sex"] == "f"),
    ({"sex": "m", "diag": {"flu", "rare"}}, lambda row: row["sex"] == "m" and row["diag"] != "cold"),
    ([{"sex": "m"}, {"diag": "flu"}], lambda row: row["sex"] == "m" or row["diag"] == "flu"),
    (
        {"age": (0, 50), "sex": "m", "diag": "flu"},
        lambda row: int(row["age"]) < 50 and row["sex"] == "m" and row["diag"] == "flu",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_the_truth_lies_in_every_interval(opened, people, name):
    loaded = opened(name)
    for where, holds in QUESTIONS:
        true = sum(map(holds, people))
        found = loaded.count(where, level=SURE)
        assert found.low <= true <= found.high, (name, where)
        share = loaded.share(where, level=SURE)
        assert share.low <= true / ROWS <= share.high, (name, where)
    cells = Counter(row["sex"] for row in people)
    for cell in loaded.marginal("sex", level=SURE):
        assert cell.low <= cells[cell.labels[0]] <= cell.high
    assert loaded.total(level=SURE).scope == (loaded.records,) == ("rows of the table",)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs", "beside rows"])
def test_one_model_agrees_with_itself_and_rows_are_drawn_from_it(opened, name):
    loaded = opened(name)
    model = loaded.consistent()
    pair, alone = model.marginal("sex", "diag"), model.marginal("sex")
    assert np.allclose(pair.value.sum(1), alone.value, atol=1)
    assert model.total == pytest.approx(ROWS, abs=150)
    assert len(loaded.synthetic(50)) == 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["declared", "beside rows"])
def test_an_archive_of_it_gives_the_same_answers(opened, tmp_path, name):
    loaded = opened(name)
    other = shoal.load(pack(loaded.folder, tmp_path / "shared.zip"), verify=False)
    for where, _ in QUESTIONS[:6]:
        assert other.count(where) == loaded.count(where)


@pytest.mark.slow
def test_the_published_synthetic_rows_are_given(opened):
    loaded = opened("synthetic")
    assert "a file of synthetic rows" in repr(loaded)
    made = loaded.synthetic()
    assert isinstance(made, PublishedSyntheticTable)
    assert made.columns == ("age", "sex", "diag")
    table = made.to_arrow()
    assert set(table["sex"].to_pylist()) <= {"f", "m", None}
    assert all(0 <= age <= 99 for age in table["age"].drop_null().to_pylist())


@pytest.mark.slow
def test_a_folder_whose_sigma_is_understated_does_not_load(opened, tmp_path):
    """An impostor: smaller noise in the certificate, sealed anew, would give intervals that are too narrow."""
    folder = shutil.copytree(opened("pairs").folder, tmp_path / "forged")
    entries = json.loads((folder / "certificate.json").read_text())["counts"]
    entries[-1]["sigma"] = "1.5"
    with pytest.raises(VerificationError):
        shoal.load(reseal(folder, counts=entries))


# --- how often, through the method that measures --------------------------------------------------------------------

AUDIT = """
version: 1
dataset: audit
unit: row
neighbours: add_remove
attributes:
  age:  {role: quasi, type: integer, domain: [0, 39], missing: refuse}
  sex:  {role: quasi, type: category, domain: [f, m, x, y], missing: refuse}
  diag: {role: confidential, type: category, domain: [a, b, c, d, e, g], missing: refuse}
release: {method: safe-k, epsilon: 1, delta: 1e-5, views: {show: counts, every: pairs}}
"""
KINDS = {
    "fixed": {"show": "counts", "every": "pairs"},
    "once": {"show": "counts", "choose": {"count": 2}},
    "rounds": {"show": "counts", "adapt": {"rounds": 2}},
}


def population(rows=2000):
    """Records whose ages thin out, so that bins follow from noisy counts and differ from run to run."""
    rng = np.random.default_rng(0)
    age = np.minimum(rng.geometric(0.08, rows) - 1, 39)
    sex = np.array(list("fmxy"))[np.minimum(rng.geometric(0.5, rows) - 1, 3)]
    diag = np.array(list("abcdeg"))[np.minimum(rng.geometric(0.4, rows) - 1 + (age > 20), 5)]
    return pa.table({"age": age, "sex": sex, "diag": diag})


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_truth_as_often_as_they_say_whatever_the_noise_decides(tmp_path, kind):
    """Which cells are merged, and which tables are measured, follows from noise; an interval must not suffer from it."""
    table, level, runs = population(), 0.8, 100
    age, sex, diag = (np.array(table[name].to_pylist()) for name in table.column_names)
    asked = [
        ({"age": 7}, age == 7),
        ({"age": 33}, age == 33),
        ({"age": (5, 25)}, (age >= 5) & (age < 25)),
        ({"age": (5, 25), "sex": "f"}, (age >= 5) & (age < 25) & (sex == "f")),
        ({"age": (2, 4), "diag": "a"}, (age >= 2) & (age < 4) & (diag == "a")),
        ({"sex": "f", "diag": "b"}, (sex == "f") & (diag == "b")),
        ({}, age >= 0),
    ]
    policy = Policy.parse(AUDIT).with_changes({"release.views": KINDS[kind]})
    planned = shoal.plan(policy)
    rows, missed, answered = open_engine().scan(table, policy.schema), np.zeros(len(asked)), np.zeros(len(asked))
    for number in range(runs):
        measured = planned.method.measure(rows, Source.seeded(f"run {number}"))
        shown = {f"t{i}": (list(own.rules().values()), own.values) for i, own in enumerate(measured.tables)}
        sigma = {f"t{i}": exact_text(own.sigma) for i, own in enumerate(measured.tables)}
        folder = add_counts(
            tmp_path / str(number), shown, sigma, singles=planned.setting.singles, kind=planned.setting.kind
        )
        loaded = read(folder)
        for place, (where, holds) in enumerate(asked):
            if loaded.holding(tuple(where)):
                found = loaded.count(where, level=level)
                answered[place] += 1
                missed[place] += not found.low <= holds.sum() <= found.high
    assert (binom.sf(missed - 1, answered, 1 - level) > 1e-4).all(), (missed, answered)
