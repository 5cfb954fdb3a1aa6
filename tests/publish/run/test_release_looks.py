"""Looks at the real table before a charge: the certificate counts them, and one with another plan changes the status."""

from __future__ import annotations

import json
import shutil

import pytest

from shoal.ledger.ledger import Ledger
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish.clinic import planned, publish
from tests.publish.counted_clinic import publish as publish_counted
from tests.publish.verify.forgery import certificate, write

pytestmark = pytest.mark.slow

TUNED = "proved for a plan tuned on the data"
ANOTHER = "b" * 64
COUNTS = {"release.recoding": None, "release.sampling": None, "release.views": {"show": "counts", "every": "pairs"}}


def looked(folder, *looks):
    """Put looks on record: pairs of a kind and a lock."""
    with Ledger(str(folder / "ledger.sqlite")) as book:
        for kind, lock in looks:
            book.record_look("clinic", "seen", kind=kind, lock=lock)


def verifies(folder):
    failed = [check.name for check in verify(folder) if check.agrees is False]
    return failed == [] and verifier.report(verifier.verify(folder))[1] == 0


def test_a_release_without_a_look_says_that_none_is_on_record(tmp_path):
    made = publish(tmp_path)
    assert made.certificate["ledger"]["looks"] == []
    assert made.certificate["status"] == made.claims[0].status.value == "proved"
    assert "no look at the real table is on record" in (made.folder / "certificate.html").read_text()
    assert verifies(made.folder)


def test_looks_with_the_very_plan_and_a_draft_change_nothing_but_the_record(tmp_path):
    own = planned().lock.sha256
    looked(tmp_path, ("init", None), ("check", own), ("dry-run", own), ("dry-run", own))
    made = publish(tmp_path)
    assert made.certificate["ledger"]["looks"] == [
        {"kind": "init", "times": 1, "other_plan": 0},
        {"kind": "check", "times": 1, "other_plan": 0},
        {"kind": "dry-run", "times": 2, "other_plan": 0},
    ]
    assert made.certificate["status"] == "proved"
    assert verifies(made.folder)
    said = " ".join(made.sentences)
    assert "fixed before the data were seen" not in said
    assert "which a person declared after a look at the data had been taken to draft it" in said


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"release.delta": "1e-4", "release.views": {"groups": [["age", "sex"], ["diag"]]}},
        COUNTS,
        {"attributes.age.provenance": "profiled"},
    ],
    ids=["wide", "views", "counts", "profiled too"],
)
def test_a_look_with_another_plan_makes_it_a_plan_tuned_on_the_data(tmp_path, changes):
    looked(tmp_path, ("check", ANOTHER), ("check", planned(changes).confirmed_lock.sha256))
    made = publish(tmp_path, changes)
    assert made.certificate["ledger"]["looks"] == [{"kind": "check", "times": 2, "other_plan": 1}]
    assert made.certificate["status"] == made.certificate["guarantee"]["status"] == TUNED
    assert made.claims[0].status.value == TUNED
    told = " ".join(made.certificate["explanation"])
    assert (
        "Results on the real table were seen with another plan before this one was charged (1 check of the table)"
        in told
    )
    assert tuple(made.certificate["explanation"]) == made.sentences
    assert ANOTHER not in (made.folder / "certificate.json").read_text()
    assert verifies(made.folder)
    assert any("seen with another plan before" in line for line in verifier.statement(made.folder))


def test_a_confirmation_is_no_change_of_the_plan(tmp_path):
    drafted = planned({"attributes.age.provenance": "profiled"})
    assert drafted.lock.sha256 != planned().lock.sha256
    looked(tmp_path, ("dry-run", drafted.confirmed_lock.sha256))
    made = publish(tmp_path)
    assert made.certificate["ledger"]["looks"] == [{"kind": "dry-run", "times": 1, "other_plan": 0}]
    assert made.certificate["status"] == "proved"
    assert planned({"attributes.age.domain": [0, 98]}).confirmed_lock.sha256 != drafted.confirmed_lock.sha256


def test_a_look_of_an_unknown_kind_counts_as_one_with_another_plan(tmp_path):
    with Ledger(str(tmp_path / "ledger.sqlite")) as book:
        book.record_look("clinic", "a histogram")
    made = publish(tmp_path)
    assert made.certificate["ledger"]["looks"] == [{"kind": "other", "times": 1, "other_plan": 1}]
    assert made.certificate["status"] == TUNED
    assert verifies(made.folder)


def test_a_look_after_the_charge_and_one_at_another_dataset_do_not_count(tmp_path):
    with Ledger(str(tmp_path / "ledger.sqlite")) as book:
        book.record_look("elsewhere", "a histogram")
    first = publish(tmp_path, name="first")
    looked(tmp_path, ("check", ANOTHER))
    second = publish(tmp_path, name="second")
    assert (first.certificate["status"], second.certificate["status"]) == ("proved", TUNED)
    assert verifies(first.folder)


def test_a_table_that_is_itself_the_sample_has_one_condition_more(tmp_path):
    looked(tmp_path, ("check", ANOTHER))
    made = publish(tmp_path, {"release.sampling": {"already": "0.2"}})
    assert made.certificate["status"] == "proved with condition"
    assert "results on them were seen with another plan" in made.certificate["claims"][0]["conditions"][1]
    assert verifies(made.folder)
    content = certificate(made.folder)
    del content["claims"][0]["conditions"][1]
    write(made.folder, content)
    assert "conditions" in {check.id for check in verifier.verify(made.folder) if check.agrees is False}


def test_a_counted_guarantee_keeps_its_status_and_says_how_many_looks_there_were(tmp_path):
    looked(tmp_path, ("check", ANOTHER))
    made = publish_counted(tmp_path, "microaggregation", {}, report=False)
    assert made.certificate["ledger"]["looks"] == [{"kind": "check", "times": 1, "other_plan": 1}]
    assert made.certificate["status"] == "checked"
    assert verifies(made.folder)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    looked(folder, ("init", None), ("check", ANOTHER), ("dry-run", ANOTHER))
    return publish(folder).folder


def one(kind, times=1, other_plan=0):
    return {"kind": kind, "times": times, "other_plan": other_plan}


@pytest.mark.parametrize(
    ("looks", "check"),
    [
        ([], "status"),
        ([one("init"), one("check"), one("dry-run")], "status"),
        ([one("init"), one("dry-run", 1, 1), one("check", 1, 1)], "ledger-looks"),
        ([one("check", 1, 1), one("check", 1, 1)], "ledger-looks"),
        ([one("check", 1, 2)], "ledger-looks"),
        ([one("init", 1, 1)], "ledger-looks"),
        ([one("other", 2, 1)], "ledger-looks"),
        ([one("peek", 1, 1)], "keys"),
        ([one("check", 0, 0)], "keys"),
        ([one("check", 1, -1)], "keys"),
        (None, "keys"),
    ],
)
def test_a_forged_record_is_refused_by_both(tmp_path, tuned, looks, check):
    folder = shutil.copytree(tuned, tmp_path / "forged")
    content = certificate(folder)
    content["ledger"]["looks"] = looks
    write(folder, content)
    assert check in {each.id for each in verifier.verify(folder) if each.agrees is False}
    assert [each for each in verify(folder) if each.agrees is False]


def test_a_status_that_the_looks_do_not_support_is_refused_by_both(tmp_path, tuned):
    folder = shutil.copytree(tuned, tmp_path / "forged")
    text = (folder / "certificate.json").read_text().replace(TUNED, "proved")
    write(folder, json.loads(text))
    for found in (verifier.verify(folder), verify(folder)):
        assert "status" in {each.id for each in found if each.agrees is False}
