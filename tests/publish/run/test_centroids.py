"""Noisy centroids from a policy to a verified folder: what is written, what the ledger keeps, what is refused and when."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

import shoal
from shoal.errors import DataError, DomainError, ShoalError
from shoal.ledger.ledger import Ledger
from shoal.publish.certificate.model import CentroidsCertificate, schema_text
from shoal.publish.export import export
from shoal.publish.share import pack
from shoal.publish.verify import standalone as verifier
from tests.publish.centroid_clinic import KINDS, ROWS, publish, write_table

pytestmark = pytest.mark.slow
CHECK = jsonschema.Draft7Validator(json.loads(schema_text(CentroidsCertificate)))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("kind", "form", "more"),
    [
        ("mixed", "csv", {}),
        ("mixed", "parquet", {"release.corners": 1}),
        ("numeric", "csv", {"release.noise": "laplace", "release.corners": 1}),
        (
            "numeric",
            "csv",
            {"release.noise": "gaussian", "release.delta": "1e-6", "release.epsilon": 1, "release.k": 11},
        ),
        ("categorical", "csv", {"release.noise": "gaussian", "release.delta": "1e-6", "release.epsilon": 1}),
        ("categorical", "parquet", {}),
        ("ranking", "csv", {}),
        ("ranking", "parquet", {"release.delta": "1e-6"}),
        ("numeric", "csv", {"release.calibration": "per_record", "release.k": 20, "release.epsilon": 2}),
    ],
)
def test_every_kind_of_table_makes_a_folder_that_both_verifiers_accept(tmp_path, kind, form, more):
    made = publish(tmp_path, {**KINDS[kind], **more, "release.output": form}, report=True)
    assert all(check.agrees for check in shoal.verify(made.folder))
    assert verifier.main([str(made.folder)]) == 0
    content = made.certificate
    assert not list(CHECK.iter_errors(content))
    assert made.report is not None
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        (cost,) = ledger.account("earnings").costs
    promised = content["guarantee"]
    assert (cost.epsilon, cost.delta) == (Fraction(promised["epsilon"]), Fraction(promised["delta"]))
    assert made.rows_published == ROWS


def test_what_is_published_is_clusters_of_k_with_values_of_the_declared_domains(tmp_path):
    made = publish(tmp_path, {"release.k": 25})
    rows = rows_of(made.folder / "table.csv")
    sizes = Counter(tuple(row.values()) for row in rows)
    assert len(rows) == ROWS
    assert sum(size % 25 == 20 for size in sizes.values()) == 1  # the last cluster has 45
    assert all(size % 25 in (0, 20) for size in sizes.values())
    assert all(0 <= int(row["pay"]) <= 1000 and 0 <= float(row["rate"]) <= 2.5 for row in rows)
    assert {row["grade"] for row in rows} <= {"low", "mid", "high"}
    assert all("2020-01-01" <= row["hired"] <= "2025-12-31" for row in rows)
    assert {row["town"] for row in rows} <= {"England", "North", "South", "Leeds", "York", "Bath", "Truro"}
    assert {row["union"] for row in rows} <= {"true", "false"}


def test_nothing_of_the_table_is_in_the_folder_but_its_noisy_values(tmp_path):
    first = publish(tmp_path, name="a", table=write_table(tmp_path / "a.csv", seed=1))
    other = publish(tmp_path, name="b", table=write_table(tmp_path / "b.csv", seed=2))
    moves = ("seal", "files", "wording", "ledger")
    for name in sorted({*first.certificate} - {*moves}):
        assert first.certificate[name] == other.certificate[name], name
    for file in ("README.md", "codebook.csv", "datapackage.json", "policy.lock.yaml"):
        assert (first.folder / file).read_bytes() == (other.folder / file).read_bytes()


def test_a_table_of_another_size_is_refused_before_anything_is_charged(tmp_path):
    with pytest.raises(
        DataError, match=r"another number of rows than the policy declares; got 119; allowed: 120; .*nothing was"
    ):
        publish(tmp_path, rows=ROWS - 1)
    assert not (tmp_path / "out").exists()
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.account("earnings").costs == ()


def test_of_people_with_several_rows_one_takes_part_and_people_are_counted(tmp_path):
    table = write_table(tmp_path / "table.csv", 200, people=ROWS)
    person = {"unit": {"column": "person", "max_rows": 1}, "release.k": 30}
    made = publish(tmp_path, person, table=table, report=True)
    assert made.report["rows"] == {"in": 200, "taking_part": ROWS, "published": ROWS}
    assert len(rows_of(made.folder / "table.csv")) == ROWS
    assert "One row of each 'person', drawn at random, takes part" in " ".join(made.sentences)
    with pytest.raises(DataError, match="different values of 'person' than the policy declares; got 120; allowed: 200"):
        publish(tmp_path, {**person, "release.rows": 200}, table=table, name="other")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [(",Leeds,", ",Paris,", DomainError), (",Leeds,", ",,", ShoalError), (",low,", ",lowest,", DomainError)],
)
def test_a_value_that_is_missing_or_not_declared_is_refused_before_anything_is_charged(tmp_path, old, new, error):
    table = write_table(tmp_path / "table.csv")
    table.write_text(table.read_text().replace(old, new, 1))
    with pytest.raises(error, match="nothing was charged") as caught:
        publish(tmp_path, table=table)
    assert new.strip(",") not in str(caught.value) or not new.strip(",")
    assert not (tmp_path / "out").exists()


def test_steps_before_the_method_look_at_one_record_alone(tmp_path):
    steps = {"treatments": [{"top": {"pay": 500}}, {"round": {"rate": "0.5"}}], "release.k": 30}
    made = publish(tmp_path, steps, report=True)
    assert "record-wise-treatment" in made.claims[0].theorems
    assert all(check.agrees for check in shoal.verify(made.folder))


def test_a_release_is_shared_exported_and_read_again(tmp_path):
    made = publish(tmp_path, KINDS["ranking"])
    archive = pack(made.folder, tmp_path / "out.zip")
    loaded = shoal.load(archive)
    assert loaded.names == ("pay", "rate", "grade", "hired")
    assert len(loaded.published("pay").to_pandas()) == ROWS
    wrote = export(made.folder, tmp_path / "hired.parquet", table="hired")
    assert (wrote.rows, wrote.columns) == (ROWS, ("hired",))
    mixed = publish(tmp_path, name="mixed", table=write_table(tmp_path / "again.csv", seed=3))
    assert export(mixed.folder, tmp_path / "mixed.csv").rows == ROWS
    assert export(mixed.folder, tmp_path / "mixed.dta").rows == ROWS


def test_the_same_plan_on_the_same_table_is_not_charged_again_by_accident(tmp_path):
    table = write_table(tmp_path / "table.csv")
    publish(tmp_path, table=table)
    with pytest.raises(ShoalError, match="draws new noise and costs"):
        publish(tmp_path, table=table, name="again", again=False)
