"""Both methods from policy to verified release, on generated visits and on the papers' tables where they are found."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from shoal.datasets.visits import write_policy, write_visits
from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.publish.verify.release import verify

RELEASES = {
    "centroids": {"method": "microaggregation", "k": 5},
    "labels": {"method": "microaggregation", "k": 10, "grouping": "vmdav", "show": "label"},
    "swapped": {"method": "probabilistic-k", "k": 5},
    "ranked": {"method": "probabilistic-k", "k": 11, "grouping": "ranking"},
}


def released(policy: Policy, table: Path, folder: Path) -> int:
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        made = release(plan(policy), table, folder / "out", ledger=ledger, engine=open_engine("duckdb"))
    assert made.notes == ()
    assert made.custodian_folder is not None
    assert [check.name for check in verify(made.folder) if check.agrees is False] == []
    return made.rows_published


@pytest.mark.slow
@pytest.mark.parametrize("name", ["centroids", "labels", "swapped"])
def test_generated_visits(tmp_path, name):
    table, policy = write_visits(tmp_path / "visits.csv", 1500, seed=7), write_policy(tmp_path)
    asked = Policy.load(policy).with_changes({"release": RELEASES[name], "budget": None})
    with table.open(newline="", encoding="utf-8") as file:
        patients = {row["patient_id"] for row in csv.DictReader(file)}
    assert released(asked, table, tmp_path) == len(patients) < 1500


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_census(tmp_path, name, shared_data):
    table = shared_data / "casc_census" / "census.csv"
    with table.open(newline="", encoding="utf-8") as file:
        columns = next(csv.reader(file))
    roles = ["quasi"] * 6 + ["confidential"] * 7
    attributes = {c: {"role": role, "type": "decimal"} for c, role in zip(columns, roles, strict=True)}
    head = {"version": 1, "dataset": "census", "unit": "row", "neighbours": "add_remove"}
    assert released(Policy.of({**head, "attributes": attributes, "release": RELEASES[name]}), table, tmp_path) == 1080
