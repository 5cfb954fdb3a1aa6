"""`shoal check`: the numbers, the words, the exit codes, and never a cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.assess.disclosure.check import check
from shoal.ledger.ledger import Ledger
from shoal.ledger.look import Look
from shoal.policy.policy import Policy
from tests.cli.run import answer, refused, shoal

CLINIC = Path(__file__).resolve().parents[2] / "examples" / "clinic"
ASKED = ("check", CLINIC / "clinic.csv", "--policy", CLINIC / "policy.yaml")


@pytest.mark.slow
def test_json_is_the_report():
    found = answer(*ASKED)
    report = check(CLINIC / "clinic.csv", CLINIC / "policy.yaml")
    assert found == report.to_json() | {"target": None}
    assert (found["rows"], found["matching"], found["k"], found["l"]) == (24, "strict", report.k, report.l)
    assert found["t"] == found["confidential"][0]["t"] == found["worst"]["t"]
    assert found["confidential"][0]["name"] == "disease"


def test_words_and_tables_hold_no_cell():
    text = shoal(*ASKED).stdout
    assert "k = " in text
    assert "worst class by" in text
    assert not any(cell in text for cell in ("01067", "asthma", "Ada Quill", "bronchitis"))


@pytest.mark.slow
def test_levels_make_classes_larger():
    fine, coarse = answer(*ASKED), answer(*ASKED, "--level", "age=2", "--level", "postcode=3")
    assert coarse["classes"] < fine["classes"]
    assert coarse["levels"] == {"age": 2, "postcode": 3}
    assert "age (level 2)" in shoal(*ASKED, "--level", "age=2").stdout


def test_the_lenient_convention_is_named():
    assert answer(*ASKED, "--lenient")["matching"] == "lenient"
    assert "lenient" in shoal(*ASKED, "--lenient").stdout


@pytest.mark.slow
def test_a_target_that_is_missed_is_exit_3_after_the_report():
    k = answer(*ASKED)["k"]
    assert answer(*ASKED, "--k", k)["target"] == {"k": k, "met": True}
    missed = shoal(*ASKED, "--k", k + 1)
    assert missed.exit_code == 3
    assert "k = " in missed.stdout
    assert missed.stderr.startswith("warning: k is ")
    assert answer(*ASKED, "--k", k + 1, code=3)["target"] == {"k": k + 1, "met": False}


@pytest.mark.slow
def test_labels_are_noted(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text(
        "age,postcode,smoker,disease\n[18, 30),01***,no,asthma\n*,01***,no,ulcer\n".replace("[18, 30)", "18-29")
    )
    done = shoal("check", table, "--policy", CLINIC / "policy.yaml")
    assert done.exit_code == 0, done.output
    assert "read as labels" in done.stderr
    assert answer("check", table, "--policy", CLINIC / "policy.yaml")["labels"] == ["age"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--level", "age"), 2), (("--level", "age=x"), 2), (("--level", "age=1", "--level", "age=2"), 2),
        (("--level", "age=99"), 2), (("--level", "name=1"), 2), (("--k", "0"), 2), (("--c", "0"), 2), (("--c", "x"), 2),
    ],
)  # fmt: skip
def test_bad_requests(more, code):
    refused(*ASKED, *more, code=code)


def test_bad_files(tmp_path):
    refused("check", tmp_path / "no.csv", "--policy", CLINIC / "policy.yaml", code=5)
    refused("check", CLINIC / "clinic.csv", "--policy", tmp_path / "no.yaml", code=2)
    refused("check", CLINIC / "clinic.csv", code=2)


# --- looks ---------------------------------------------------------------------------------------------------------


def looks(path):
    with Ledger(str(path)) as book:
        return dict(book.account("clinic").looks_on_record)


def test_a_look_at_an_original_goes_on_record_before_anything_is_printed(tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    Ledger(str(ledger)).close()
    lock = Policy.load(CLINIC / "policy.yaml").lock().sha256
    done = shoal(*ASKED, "--ledger", ledger)
    assert "this look is on record in the ledger" in done.stderr
    assert looks(ledger) == {Look("check", lock): 1}
    assert answer(*ASKED, "--ledger", ledger, "--level", "age=1")["rows"] == 24
    assert looks(ledger) == {Look("check", lock): 2}
    assert "on record" not in shoal(*ASKED, "--ledger", ledger, "--published").stderr
    refused(*ASKED, "--ledger", ledger, "--level", "age=99", code=2)
    assert looks(ledger) == {Look("check", lock): 2}


def test_nothing_is_shown_where_the_look_cannot_go_on_record(tmp_path):
    error = refused(*ASKED, "--ledger", tmp_path / "lodger.sqlite", code=4)
    assert error["wrong"] == "there is no ledger here"
    assert not (tmp_path / "lodger.sqlite").exists()


def test_a_table_that_does_not_fit_is_a_look_too(tmp_path):
    """The message counts rows: who narrows a domain again and again counts whatever they like."""
    ledger, narrow = tmp_path / "ledger.sqlite", tmp_path / "policy.yaml"
    Ledger(str(ledger)).close()
    narrow.write_text((CLINIC / "policy.yaml").read_text().replace("domain: [18, 99]", "domain: [25, 99]"))
    asked = ("release", narrow, CLINIC / "clinic.csv", "--out", tmp_path / "out", "--dry-run", "--ledger")
    assert "this look is on record in the ledger" in refused(*asked, ledger, code=5)["fix"]
    assert looks(ledger) == {Look("dry-run", Policy.load(narrow).confirmed_lock().sha256): 2}  # told twice
    assert refused(*asked, tmp_path / "lodger.sqlite", code=4)["wrong"] == "there is no ledger here"
    refused(*asked, tmp_path / "lodger.sqlite", "--new-ledger", code=5)
    assert not (tmp_path / "lodger.sqlite").exists()


def test_no_ledger_is_begun_for_a_look():
    assert "there is no ledger yet, so this look at the table is on no record" in shoal(*ASKED).stderr


def test_treatments_are_not_applied_and_that_is_said(tmp_path):
    policy = Policy.load(CLINIC / "policy.yaml").with_changes({"treatments": [{"top": {"age": 40}}]})
    policy.save(tmp_path / "policy.yaml")
    asked = ("check", CLINIC / "clinic.csv", "--policy", tmp_path / "policy.yaml")
    done = shoal(*asked)
    assert "this is about the table as it is" in done.stderr
    assert done.stdout == shoal(*ASKED).stdout
