"""`shoal init` writes a policy that can be planned, says what it looked at, and leaves a note in the ledger."""

from __future__ import annotations

import json

import pyarrow.csv
import pytest

from shoal.ledger.ledger import open_ledger
from shoal.policy.policy import Policy
from tests.cli.run import shoal
from tests.draft.tables import HOSPITAL, STAFF, generate


@pytest.fixture
def staff(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_LEDGER", str(tmp_path / "ledger.sqlite"))
    few = [column for column in STAFF if column[0] in ("FullName", "Gender", "Department", "MonthlyIncome", "IBAN")]
    pyarrow.csv.write_csv(generate(few), tmp_path / "staff.csv")
    return tmp_path


def test_a_draft_is_written_the_look_is_noted_and_the_next_command_is_named(staff):
    done = shoal("init", "staff.csv", "--out", "draft", "--new-ledger")
    assert done.exit_code == 0
    policy = Policy.load(staff / "draft" / "policy.yaml")
    assert policy.dataset == "staff"
    assert "MonthlyIncome" in done.stdout
    assert "shoal policy confirm draft/policy.yaml" in done.stdout
    assert "shoal plan draft/policy.yaml" in done.stdout
    assert "ledger.sqlite" in done.stdout
    with open_ledger() as book:
        (look,) = book.events("staff")
    assert look.kind == "look"
    assert shoal("plan", "draft/policy.yaml").exit_code == 0


def test_a_table_without_rows_is_refused_and_names_alone_are_drafted_if_asked(staff):
    (staff / "empty.csv").write_text("FullName,Gender\n")
    done = shoal("init", "empty.csv", "--out", "draft", "--new-ledger")
    assert done.exit_code == 2
    assert "the table has no rows" in done.stderr
    assert "--schema-only" in done.stderr
    assert not (staff / "draft").exists()
    assert shoal("init", "empty.csv", "--out", "draft", "--schema-only").exit_code == 0


def test_the_result_as_json_holds_no_value_of_the_table(staff):
    done = shoal("init", "staff.csv", "--out", "draft", "--new-ledger", "--dataset", "people", "--json")
    found = json.loads(done.stdout)
    assert found["dataset"] == "people"
    assert found["looked_at"] is True
    assert found["rows"] == 600
    assert {column["name"]: column["role"] for column in found["columns"]}["IBAN"] == "identifier"
    assert "Human Resources" not in done.stdout
    assert found["next"][-2] == "shoal plan draft/policy.yaml"


def test_names_alone_need_no_ledger_and_leave_no_note(staff):
    done = shoal("init", "staff.csv", "--out", "draft", "--schema-only")
    assert done.exit_code == 0
    assert "no value" in done.stdout
    assert not (staff / "ledger.sqlite").exists()


def test_a_file_that_is_there_stays_and_nothing_is_noted(staff):
    assert shoal("init", "staff.csv", "--new-ledger").exit_code == 0
    mine = (staff / "policy.yaml").read_text()
    again = shoal("init", "staff.csv")
    assert again.exit_code == 2
    assert "policy.yaml" in again.stderr
    assert (staff / "policy.yaml").read_text() == mine
    with open_ledger() as book:
        assert len(book.events("staff")) == 1
    assert shoal("init", "staff.csv", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("none.csv",), 5, "there is no such file"),
        (("staff.doc",), 5, "not known"),
        (("staff.csv", "--ledger", "other.sqlite"), 4, "--new-ledger"),
    ],
)
def test_what_cannot_be_drafted_is_said_and_nothing_is_written(staff, arguments, code, said):
    (staff / "staff.doc").write_text("")
    done = shoal("init", *arguments, "--out", "draft")
    assert done.exit_code == code
    assert said in done.stderr
    assert not (staff / "draft").exists()


@pytest.mark.slow
def test_the_table_that_a_draft_was_made_of_is_released_and_verified(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_LEDGER", str(tmp_path / "ledger.sqlite"))
    few = [
        column
        for column in HOSPITAL
        if column[0] in ("patient_id", "age", "gender", "icd10_code", "admission_date", "notes")
    ]
    pyarrow.csv.write_csv(generate(few), "visits.csv")
    assert shoal("init", "visits.csv", "--new-ledger").exit_code == 0
    released = shoal("release", "policy.yaml", "visits.csv", "--out", "released", "--no-report")
    assert released.exit_code == 0, released.output
    assert shoal("verify", "released").exit_code == 0
