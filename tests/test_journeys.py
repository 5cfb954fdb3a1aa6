"""From a table that nobody has described to a verified release, by the commands that `shoal` itself names as the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shoal.engine.write_foreign import write_database
from shoal.policy.policy import Policy
from tests.cli import clinic
from tests.cli.run import shoal

KEPT = ("sex", "ward", "severity", "shift")
"""What the custodian of the short journey publishes: the other columns are dropped by hand."""
NEVER = ("patient_id", "last_name", "first_name", "email", "notes", "last_modified", "clinic")
"""Columns that a draft must not publish: they name people, hold free text, or say nothing."""


@pytest.fixture(params=["Excel", "Stata", "PostgreSQL", "MariaDB"])
def form(request, tmp_path, monkeypatch):
    """The made-up table of forty columns in one form: how it is named, and what else `shoal init` is told."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_LEDGER", str(tmp_path / "ledger.sqlite"))

    def write(rows: int) -> tuple[str, ...]:
        table = clinic.make(rows)
        if request.param == "Excel":
            return (str(clinic.write_workbook(Path("clinic.xlsx"), table)), "--sheet", "visits")
        if request.param == "Stata":
            return (str(clinic.write_stata(Path("clinic.dta"), table)),)
        address: str = request.getfixturevalue(request.param.lower())
        name = f"clinic_{rows}"
        write_database(address, name, table, clinic.CODEBOOK)
        return (address, "--table", name)

    return write


def _journey(data: str, *told: str, only: tuple[str, ...] = ()) -> dict[str, Any]:
    """Draft, correct, confirm, plan, release, verify; the certificate."""
    _run("init", data, *told, "--dataset", "clinic", "--out", "draft", "--new-ledger")
    path = Path("draft/policy.yaml")
    if only:
        path.write_text(_keep(path.read_text(), only))
    _run("policy", "confirm", path, "--all")
    _run("plan", path)
    _run("release", path, data, "--out", "out")
    assert "all agree" in _run("verify", "out")
    found: dict[str, Any] = json.loads(Path("out/certificate.json").read_text())
    return found


def _run(*arguments: object) -> str:
    done = shoal(*arguments)
    assert done.exit_code == 0, (arguments, done.stderr)
    return done.stdout


def _keep(text: str, only: tuple[str, ...]) -> str:
    """The policy with every other published column dropped, as a person would do it."""
    found = Policy.parse(text, "draft")
    others = [
        name for name, column in found.attributes.items() if name not in only and column.role.value != "identifier"
    ]
    return found.with_changes({("attributes", name): {"role": "drop"} for name in others}).dump()


@pytest.mark.slow
def test_a_table_of_forty_columns_becomes_a_verified_release(form):
    data, *told = form(300)
    certificate = _journey(data, *told, only=KEPT)
    assert certificate["status"] == "proved"
    assert certificate["ledger"]["looks"] == [{"kind": "init", "times": 1, "other_plan": 0}]
    assert Path("out/README.html").is_file()
    draft = Policy.load("draft/policy.yaml")
    assert len(draft.attributes) == 40
    assert not [name for name in NEVER if draft.attributes[name].role.value not in ("identifier", "drop")]
    assert '"021"' in Path("out/policy.lock.yaml").read_text()  # a code, whose zero is part of it


@pytest.mark.long
def test_all_of_forty_columns_are_published(form):
    data, *told = form(3_000)
    certificate = _journey(data, *told)
    assert certificate["status"] == "proved"


@pytest.mark.long
@pytest.mark.parametrize("name", ["adult/adult.csv", "fars_subset/fars_subset.csv", "casc_census/census.csv"])
def test_shared_tables_become_verified_releases(shared_data, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_LEDGER", str(tmp_path / "ledger.sqlite"))
    assert _journey(str(shared_data / name))["status"] == "proved"
