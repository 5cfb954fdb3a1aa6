"""`shoal release` refuses before anything is charged: targets, plans, tables, budgets and ledgers, one after another."""

from __future__ import annotations

import os
import sqlite3

import pytest

from shoal.ledger.ledger import Ledger
from tests.cli.custodian import account, asked, furnished, nothing_happened
from tests.cli.run import answer, refused, shoal
from tests.publish.clinic import POLICY, policy


def test_a_folder_that_exists_is_left_alone(place):
    (place / "out").mkdir()
    (place / "out" / "thesis.txt").write_text("years of work")
    assert refused(*asked(place), code=2)["wrong"] == "the folder exists"
    assert (
        refused(*asked(place, "--force"), code=2)["wrong"]
        == "the folder is none of ours, or was changed, so it is not replaced"
    )
    assert (place / "out" / "thesis.txt").read_text() == "years of work"
    assert account(place).costs == ()


def test_a_ledger_that_was_changed_refuses_a_trial_as_it_refuses_the_run(place):
    with Ledger(str(place / "ledger.sqlite")) as book:
        book.record_look("clinic", "one")
        book.record_look("clinic", "two")
    with sqlite3.connect(place / "ledger.sqlite") as raw:
        raw.execute('UPDATE events SET payload = \'{"what": "none"}\'')
    for more in ((), ("--dry-run",)):
        error = refused(*asked(place, *more), code=4)
        assert error["wrong"].startswith("event 1 of the ledger does not fit the chain: it was changed")


@pytest.mark.slow
def test_a_release_is_replaced_by_force_alone(place):
    first = answer(*asked(place, "--no-report"))
    refused(*asked(place), code=2)
    second = answer(*asked(place, "--no-report", "--force", "--again"))
    assert first["seal"] != second["seal"]
    assert len(account(place).costs) == 2


def test_a_target_without_a_parent_or_without_permission(place, monkeypatch):
    assert "does not exist" in refused(*asked(place, out="no/such/out"), code=2)["wrong"]
    real = os.access
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK and real(path, mode))
    error = refused(*asked(place), code=2)
    assert "cannot be written" in error["wrong"]
    assert error["came"] == f"{place} (Permission denied)"
    assert error["fix"] == "choose another place; nothing was charged"
    assert nothing_happened(place)


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="the system does not say how a file system is mounted")
def test_a_place_that_is_read_only_is_said_to_be(place, monkeypatch):
    class Mounted:
        f_flag = os.ST_RDONLY

    real = os.access
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK and real(path, mode))
    monkeypatch.setattr("os.statvfs", lambda _: Mounted)
    assert refused(*asked(place), code=2)["came"] == f"{place} (Read-only file system)"


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"release.views": "pairs", "release.k": 2}, 3, "do not fit"),
        ({"release.views": "pairs", "release.repeat": 2}, 2, "released once"),
        ({"release": None, "budget": None}, 2, "asks for no release"),
        ({"release.k": 2}, 3, "do not reach the promise"),
        ({"release.k": 5, "release.delta": "1e-300", "release.sampling": {"beta": "auto"}}, 3, "no beta"),
    ],
)
def test_plans_that_are_refused(tmp_path, changes, code, words):
    furnished(tmp_path, changes)
    assert words in refused(*asked(tmp_path), code=code)["wrong"]
    assert nothing_happened(tmp_path)


def test_policies_that_cannot_be_read(place):
    (place / "policy.yaml").write_text(POLICY.replace("safe-k", "magic"))
    assert "release.method" in refused(*asked(place), code=2)["wrong"]
    (place / "policy.yaml").write_text(POLICY + "colour: green\n")
    refused(*asked(place), code=2)
    (place / "policy.yaml").unlink()
    refused(*asked(place), code=2)


def test_options_that_are_missing_or_unknown(place):
    refused("release", place / "policy.yaml", place / "table.csv", code=2)
    refused("release", place / "policy.yaml", "--out", place / "out", code=2)
    refused(*asked(place, "--abacus"), code=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("missing column", "patient,age,sex\nQ77PERSON,3,f\n", "lacks columns"),
        ("outside the domain", "patient,age,sex,diag\nQ77PERSON,40077,f,Q77SECRET\n", "outside their declared domain"),
        ("another type", "patient,age,sex,diag\nQ77PERSON,Q77SECRET,f,flu\n", "do not read as their declared type"),
        ("empty file", "", "empty"),
        ("ragged", "patient,age,sex,diag\nQ77PERSON,4,f,flu,Q77SECRET\n", ""),
    ],
)
def test_tables_that_are_refused_and_never_quoted(place, name, text, words):
    (place / "table.csv").write_text(text)
    error = refused(*asked(place), code=5)
    assert words in error["wrong"], name
    done = shoal(*asked(place))
    assert not any(cell in done.output for cell in ("Q77SECRET", "Q77PERSON", "40077"))
    assert nothing_happened(place)


def test_a_table_that_is_not_there(place):
    refused(*asked(place, table="none.csv"), code=5)


@pytest.mark.slow
def test_a_budget_that_is_used_up(place):
    for number in range(3):
        assert shoal(*asked(place, "--no-report", "--again", out=f"out-{number}")).exit_code == 0
    error = refused(*asked(place, "--again"), code=4)
    assert error["kind"] == "BudgetError"
    assert error["wrong"] == "dataset 'clinic' would overrun its budget"
    assert error["came"] == "(3, 0.003) spent and (1, 0.001) asked for"
    assert error["allowed"] == "(3, 0.01) in all"
    assert "nothing was charged" in error["fix"]
    assert not (place / "out").exists()
    assert len(account(place).costs) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"dataset": "other"}, 4, "charged under the name 'clinic'"),
        ({"neighbours": "replace_one"}, 4, "another"),
        ({"unit": {"column": "patient", "max_rows": 1}}, 4, "another unit"),
        ({"budget": {"epsilon": "9", "delta": "0.01"}}, 4, "differs from the one fixed"),
        ({"release.sampling": {"already": "0.1"}}, 2, "used once and for nothing else"),
    ],
)
def test_a_second_plan_that_contradicts_the_first(made, tmp_path, changes, code, words):
    (tmp_path / "policy.yaml").write_text(policy(changes).dump())
    before = account(made)
    where = ("--out", tmp_path / "new", "--ledger", made / "ledger.sqlite")
    assert words in refused("release", tmp_path / "policy.yaml", made / "table.csv", *where, code=code)["wrong"]
    assert account(made) == before
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_sample_is_used_once(tmp_path):
    furnished(tmp_path, {"release.sampling": {"already": "0.1"}})
    first = answer(*asked(tmp_path, "--no-report"))
    assert first["guarantee"]["status"] == "proved with condition"
    error = refused(*asked(tmp_path, out="again"), code=2)
    assert error["theorem"] == "dps-does-not-compose"
    assert "used once" in error["wrong"]


def test_ledgers_that_cannot_be_trusted(place, monkeypatch):
    ledger = place / "ledger.sqlite"
    ledger.write_bytes(b"garbage" * 500)
    error = refused(*asked(place), code=4)
    assert (error["kind"], error["wrong"]) == ("LedgerError", "the ledger cannot be read or written")
    ledger.unlink()
    with sqlite3.connect(ledger) as other:
        other.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        other.execute("INSERT INTO meta VALUES ('colour', 'green')")
    other.close()
    assert "not one of ours" in refused(*asked(place), code=4)["wrong"]
    ledger.unlink()
    Ledger(str(ledger)).close()
    with sqlite3.connect(ledger) as other:
        other.execute("UPDATE meta SET value = '99' WHERE name = 'version'")
    other.close()
    newer = refused(*asked(place), code=4)
    assert (newer["wrong"], newer["came"]) == ("the ledger was written by a newer version", "form 99")
    ledger.unlink()
    Ledger(str(ledger)).close()
    monkeypatch.setattr("shoal.ledger.database.PATIENCE", 0.05)
    other = sqlite3.connect(ledger, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert refused(*asked(place), code=4)["wrong"] == "the ledger is locked by another process"
    finally:
        other.rollback()
        other.close()
    refused(*asked(place)[:-1], "nosuch://ledger", code=4)
    assert nothing_happened(place)
