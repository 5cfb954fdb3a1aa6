"""A run of noisy counts: every cell is published, with noise, in files that say what they are; rows may stand beside them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.anonymize.measure.bins import declared_bins
from shoal.anonymize.measure.tables import NoisyTable
from shoal.anonymize.method.noisy_counts import NoisyCounts
from shoal.anonymize.method.safe_k import SafeK
from shoal.chance.source import Source
from shoal.data.cells import cells_of
from shoal.errors import DataError, InfeasibleError
from shoal.publish.run.noisy_counts import NOBODY, NoisyCountsJob, counts_frame, write_frame
from shoal.publish.run.safe_k import SafeKJob
from shoal.publish.verify.release import require, verify
from shoal.publish.verify.standalone import HANDBOOK
from tests.publish.clinic import planned, policy, publish, write_table
from tests.publish.release_folder import account

PROMISE = {"method": "safe-k", "epsilon": 1, "delta": "1e-6", "output": "csv"}
COUNTS = {**PROMISE, "views": {"show": "counts", "every": "pairs"}}
RULE = {"age": [0, 49], "diag": "rare"}


def read(path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


VERIFIED = ("files and figures", "the plan, made again", "the pages, drawn again")


@pytest.mark.slow
def test_every_cell_is_published_near_the_truth(tmp_path):
    """With little noise the tables are those of the original, and every label of every attribute occurs."""
    release = {**COUNTS, "epsilon": 10, "recoding": {"levels": {"age": 1}}}
    stages = []
    made = publish(tmp_path, {"release": release, "budget": None}, stage=stages.append)
    assert [each for each in stages if each.startswith("writing the counts")][1] == "writing the counts (16 %)"
    whole = [f"verifying, {number} of 3: {what}" for number, what in enumerate(VERIFIED, 1)]
    assert list(dict.fromkeys(each for each in stages if each in whole)) == whole
    original = read(tmp_path / "table.csv")
    index = json.loads((made.folder / "counts.json").read_text())
    assert [each["attributes"] for each in index["tables"]][3:] == [["age", "sex"], ["age", "diag"], ["sex", "diag"]]
    assert [each["cells"] for each in index["tables"][:3]] == [11, 3, 4]
    rules = {
        (entry["name"], name): rule for entry in made.certificate["counts"] for name, rule in entry["recoding"].items()
    }
    for entry in index["tables"]:
        rows = read(made.folder / entry["file"])
        names, width = entry["attributes"], entry["half_width"]
        assert list(rows[0]) == [*names, "count", "low", "high"]
        assert all(int(row["high"]) - int(row["count"]) == int(row["count"]) - int(row["low"]) == width for row in rows)
        labels = [json.loads((made.folder / rules[entry["name"], name]).read_text())["labels"] for name in names]
        assert [tuple(row[name] for name in names) for row in rows] == list(product(*labels)), "in order, none left out"
    sexes = read(made.folder / "counts" / "2-sex.csv")
    truth = Counter(row["sex"] for row in original)
    for row in sexes:
        assert abs(int(row["count"]) - truth[row["sex"]]) < 25
    require(verify(made.folder))


@pytest.mark.slow
def test_synthetic_rows_are_nobodys_and_keep_the_rules(tmp_path):
    release = {**COUNTS, "method": "synthetic", "output": "parquet", "synthetic": {"rows": 200, "never": [RULE]}}
    made = publish(tmp_path, {"release": release})
    assert made.rows_published == 200
    assert {path.name for path in made.folder.iterdir() if path.is_file()} == {
        "certificate.html", "certificate.json", "counts.json", "policy.lock.yaml", "synthetic.parquet", *HANDBOOK,
    }  # fmt: skip
    file = pq.ParquetFile(made.folder / "synthetic.parquet")
    assert file.metadata.metadata[b"shoal"].decode() == NOBODY
    assert file.schema_arrow.names == ["age", "sex", "diag"]
    rows = file.read().to_pylist()
    assert len(rows) == 200
    assert pa.types.is_integer(file.schema_arrow.field("age").type)
    assert not [row for row in rows if row["diag"] == "rare" and row["age"] is not None and row["age"] < 50]
    told = made.certificate["synthetic"]
    assert (told["of"], told["rows"], told["declared"], told["rules"]) == ("rows of nobody", 200, True, 1)
    page = (made.folder / "certificate.html").read_text()
    assert "200 synthetic rows, a number that the policy declares. They are rows of nobody" in page


@pytest.mark.slow
def test_rows_and_counts_in_one_folder(tmp_path):
    release = {
        **PROMISE,
        "delta": "1e-3",
        "counts": {"workload": [["sex", "diag"]]},
        "recoding": {"levels": {"age": 2}},
    }
    made = publish(tmp_path, {"release": release, "budget": None}, report=True)
    held = made.certificate
    assert held["tables"][0]["file"] == "table.csv"
    rows = read(made.folder / "table.csv")
    assert len(rows) == made.rows_published
    sizes = Counter(tuple(row.values()) for row in rows)
    assert not sizes or min(sizes.values()) >= held["samples"][0]["k"]
    rules = [rule for table in (*held["tables"], *held["counts"]) for rule in table["recoding"].values()]
    assert {*rules} == {f"recoding/{path.name}" for path in (made.folder / "recoding").iterdir()}
    assert account(tmp_path).spent.epsilon == Fraction(1), "one charge for both"
    assert made.custodian_folder is not None
    require(verify(made.folder))


@pytest.mark.slow
def test_a_run_that_fails_stays_charged(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr("shoal.publish.run.noisy_counts.counts_frame", fail)
    with pytest.raises(DataError, match="nothing was published; the charge stands"):
        publish(tmp_path, {"release": COUNTS})
    assert account(tmp_path).spent.epsilon == Fraction(1)
    assert not (tmp_path / "out").exists()


def test_a_promise_that_no_verifier_could_recompute_costs_nothing(tmp_path):
    with pytest.raises(InfeasibleError, match=r"beyond the arithmetic of the verifiers.*nothing was charged"):
        publish(tmp_path, {"release": {**COUNTS, "delta": "1e-60", "views": {"show": "counts", "every": "singles"}}})
    assert account(tmp_path).spent.epsilon == 0


@pytest.mark.slow
@pytest.mark.parametrize("views", [{"every": "pairs", "cells": "merged"}, {"adapt": {"rounds": 2}}, {"choose": {}}])
def test_the_table_of_nobody_and_of_few_is_released_and_verified(tmp_path, views):
    """All cells of an attribute may then be one bin; with no missing value left beside it, its label was refused."""
    asked = {"attributes.sex.domain": ["m", "f"], "attributes.sex.missing": "refuse"}
    release = {**PROMISE, "method": "synthetic", "views": views, "synthetic": {"never": [{"sex": "f", "diag": "rare"}]}}
    for rows in (0, 7):
        folder = tmp_path / str(rows)
        folder.mkdir()
        made = publish(folder, {"release": release, **asked}, rows=rows)
        require(verify(made.folder))


@pytest.mark.slow
def test_rules_that_the_data_contradict_are_kept_all_the_same(tmp_path):
    """Nearly every row of the model is then ruled out; rows are moved, and the charge is not lost."""
    rules = [{"sex": ["f", "m"], "age": [0, 98]}, {"diag": ["flu", "cold"]}]
    release = {**PROMISE, "method": "synthetic", "synthetic": {"rows": 200, "never": rules}}
    made = publish(tmp_path, {"release": release})
    require(verify(made.folder))
    for row in read(made.folder / "synthetic.csv"):
        assert row["diag"] not in {"flu", "cold"}
        assert not (row["sex"] and row["age"] and int(row["age"]) < 99)


def test_few_rows_are_announced():
    job = planned({"release": COUNTS}).job()
    assert isinstance(job, NoisyCountsJob)
    assert job.notes(10**6) == []
    assert "expect counts that say little" in job.notes(50)[0]
    assert job.expected_bytes(1000) > 0
    assert (
        "shoal.model.fit" in planned({"release": {**PROMISE, "views": {"show": "counts", "adapt": {}}}}).job().modules
    )


def test_a_frame_has_the_last_attribute_fastest():
    schema = policy().schema
    bins = tuple(declared_bins(cells_of(schema[name])) for name in ("sex", "diag"))
    values = np.arange(12, dtype=np.int64).reshape(3, 4)
    frame = counts_frame(NoisyTable(bins, values, Fraction(5)), 7)
    assert frame.column_names == ["sex", "diag", "count", "low", "high"]
    assert frame.column("diag").to_pylist()[:5] == ["flu", "cold", "rare", "(missing)", "flu"]
    assert frame.column("count").to_pylist() == list(range(12))
    assert frame.column("low").to_pylist()[:2] == [-7, -6]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_same_table_is_the_same_file(tmp_path, form):
    frame = pa.table({"a": ["x", None, "y,z"], "b": [1, 2, 3]})
    places = [tmp_path / f"{name}.{form}" for name in "ab"]
    for place in places:
        write_frame(place, frame, {"shoal": NOBODY})
    assert places[0].read_bytes() == places[1].read_bytes()
    if form == "csv":
        assert places[0].read_text() == 'a,b\nx,1\n,2\n"y,z",3\n'


@pytest.mark.slow
def test_noise_is_that_of_the_plan(tmp_path):
    """Of the many cells that hold nobody, the published numbers are noise alone: their spread is sigma."""
    release = {**PROMISE, "views": {"show": "counts", "workload": [["age", "diag"]], "cells": "declared"}}
    found = planned({"release": release})
    from shoal.engine.base import open_engine

    (tmp_path / "table.csv").write_text("patient,age,sex,diag\np,1,f,flu\n")
    table = open_engine().scan(tmp_path / "table.csv", found.schema)
    with Source.seeded(3) as source:
        (measured,) = found.method.measure(table, source, lambda _: None).tables
    sigma = float(found.setting.tables[0][1])
    assert measured.cells == 101 * 4
    assert abs(float(np.sqrt((measured.values**2).mean())) / sigma - 1) < 0.15


@pytest.mark.slow
def test_people_with_several_rows(tmp_path):
    """At most so many rows of each are counted, and what they cost together is concentrated."""
    changes = {"unit": {"column": "patient", "max_rows": 3}, "release": {**COUNTS, "delta": "1e-3"}, "budget": None}
    made = publish(tmp_path, changes, table=write_table(tmp_path / "table.csv", 300, patients=20))
    assert {part["guarantee"]["kind"] for part in made.certificate["parts"]} == {"concentrated-dp"}
    assert made.claims[0].theorems[-1] == "concentrated-composition"
    require(verify(made.folder))


def noted_tables(monkeypatch, *methods: tuple[type, str]) -> list[list[tuple[object, ...]]]:
    """The patients and ages of every table that these methods are given, in order."""
    found: list[list[tuple[object, ...]]] = []

    def note(method):
        def noting(self, table, *others):
            held = table.collect(["patient", "age"])
            found.append(sorted(zip(held["patient"].tolist(), held["age"].tolist(), strict=True)))
            return method(self, table, *others)

        return noting

    for kind, name in methods:
        monkeypatch.setattr(kind, name, note(getattr(kind, name)))
    return found


@pytest.mark.slow
def test_counts_and_rows_are_about_the_same_rows_of_each_person(tmp_path, monkeypatch):
    """Estimates join the two, so a person's rows are drawn once for both."""
    release = {
        **PROMISE,
        "delta": "1e-3",
        "counts": {"workload": [["sex", "diag"]]},
        "recoding": {"levels": {"age": 2}},
    }
    changes = {"unit": {"column": "patient", "max_rows": 1}, "release": release, "budget": None}
    found = noted_tables(monkeypatch, (NoisyCounts, "measure"), (SafeKJob, "write_tables"))
    publish(tmp_path, changes, table=write_table(tmp_path / "table.csv", 300, patients=20))
    counted, drawn = found
    assert counted == drawn
    assert Counter(patient for patient, _ in counted) == {f"p{number}": 1 for number in range(20)}


@pytest.mark.slow
def test_repeated_tables_are_about_the_same_rows_of_each_person(tmp_path, monkeypatch):
    found = noted_tables(monkeypatch, (SafeK, "run"))
    changes = {"unit": {"column": "patient", "max_rows": 2}, "release.repeat": 3, "release.delta": "1e-2"}
    publish(tmp_path, changes, table=write_table(tmp_path / "table.csv", 300, patients=20))
    assert found[0] == found[1] == found[2]
    assert Counter(patient for patient, _ in found[0]) == {f"p{number}": 2 for number in range(20)}
