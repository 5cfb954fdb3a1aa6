"""`shoal ledger`: what was spent, whether the record is intact, what fits, and a budget that is changed openly."""

from __future__ import annotations

import json
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest

from shoal.guarantee.differential import SafeKSampling
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger
from tests.cli.run import answer, refused, shoal
from tests.ledger.altered import commands, furnish
from tests.publish.clinic import policy


@pytest.fixture
def book(tmp_path):
    """A ledger with two charges and one release of one dataset, and a charge of another without a budget."""
    path = tmp_path / "ledger.sqlite"
    cost = Cost.of("1", "0.001", [(SafeKSampling(14, "0.5"), 1)])
    with Ledger(str(path)) as ledger:
        for number in (1, 2):
            receipt = ledger.charge(
                "clinic",
                cost,
                budget=Budget.of("3", "0.01"),
                neighbours="add_remove",
                plan="p" * 64,
                table=b"clinic",
            )
            if number == 1:
                ledger.record_release("clinic", receipt, "c" * 64)
        ledger.charge("school", cost, budget=None, neighbours="replace_one", plan="q" * 64, table=b"school")
    return path


def tampered(path: Path, statement: str) -> Path:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    return path


# --- show -----------------------------------------------------------------------------------------------------


def test_a_ledger_that_is_not_there_is_not_made(tmp_path):
    path = tmp_path / "deep" / "ledger.sqlite"
    for command in (("show",), ("verify",), ("export",), ("forecast", "clinic", "--epsilon", "1")):
        assert "no ledger here" in refused("ledger", *command, "--ledger", path, code=2)["wrong"]
    assert not path.parent.exists()


def test_a_dataset_that_the_ledger_does_not_know(book):
    for command in (("show", "nope"), ("export", "nope"), ("forecast", "nope", "--epsilon", "1")):
        assert refused("ledger", *command, "--ledger", book, code=2)["allowed"] == "clinic, school"


def test_an_empty_ledger(tmp_path):
    path = tmp_path / "deep" / "ledger.sqlite"
    with Ledger(str(path)) as empty:
        assert empty.datasets() == []
    assert shoal("ledger", "show", "--ledger", path).stdout == "nothing has been spent yet\n"
    assert answer("ledger", "show", "--ledger", path)["datasets"] == []
    assert shoal("ledger", "verify", "--ledger", path).stdout == "0 events, chain intact\n"
    assert shoal("ledger", "export", "--ledger", path).stdout == ""
    assert answer("ledger", "export", "--ledger", path)["events"] == []


def test_show_says_what_enforces_and_what_informs(book):
    text = shoal("ledger", "show", "clinic", "--ledger", book).stdout
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in text.splitlines()}
    assert "clinic" in lines
    assert "school" not in lines
    assert lines["budget"].startswith("(3, 0.01)")
    assert lines["spent"].startswith("(2, 0.002)")
    assert "the budget limits it" in lines["spent"]
    assert "for information" in lines["composed"]
    assert 0 < float(lines["composed"].split()[0]) < 2
    assert lines["left"] == "(1, 0.008)"
    assert lines["releases"] == "1"


def test_show_in_json(book):
    clinic, school = answer("ledger", "show", "--ledger", book)["datasets"]
    composed = clinic.pop("composed_epsilon")
    assert 0 < composed < 2
    assert clinic == {
        "dataset": "clinic",
        "neighbours": "add_remove",
        "budget": {"epsilon": "3", "delta": "0.01"},
        "spent": {"epsilon": "2", "delta": "0.002"},
        "left": {"epsilon": "1", "delta": "0.008"},
        "accounting": "basic",
        "room": {"accounting": "basic", "epsilon": "1", "delta": "0.008"},
        "entries": 2,
        "releases": 1,
        "unbounded_releases": 0,
        "questions": 0,
        "looks": 0,
        "looks_on_record": [],
        "sample_used": False,
        "sampled": None,
        "ceiling": {"epsilon": "3", "delta": "0.01"},
        "analysts": [],
    }
    assert (school["dataset"], school["budget"], school["left"]) == ("school", None, None)


def test_gaussian_accounting_is_fixed_shown_and_forecast(book):
    fix = ("ledger", "budget", "clinic", "--epsilon", "3", "--delta", "0.01", "--reason", "many questions")
    fixed = answer(*fix, "--accounting", "gaussian", "--ledger", book)
    assert (fixed["accounting"]["pairs"], fixed["accounting"]["gaussian"]) == ("0.003", "0.007")
    assert fixed["room"]["accounting"] == "gaussian"
    shown = shoal("ledger", "show", "clinic", "--ledger", book).stdout
    assert "it may exceed the budget: accounting is Gaussian" in shown
    assert "for questions: (1, 0.001) by the sum of epsilons" in shown
    aside = answer(*fix, "--accounting", "gaussian", "--aside", "0.5", "0.001", "--ledger", book)
    assert (aside["accounting"]["aside"], aside["accounting"]["pairs"]) == ("0.5", "0.0027")
    assert (
        "is no part of the budget"
        in refused(*fix, "--accounting", "gaussian", "--aside", "4", "0", "--ledger", book, code=2)["wrong"]
    )
    assert (
        answer(*fix, "--accounting", "gaussian", "--aside", "0", "0", "--ledger", book)["accounting"]
        == fixed["accounting"]
    )
    more = ("ledger", "forecast", "clinic", "--epsilon", "0.1", "--ledger", book)
    assert answer(*more)["more"] == 10
    told = shoal(*more).stdout
    assert "10 more releases fit" in told
    assert "questions at (0.1, 0): 10 more" in told
    pure = (
        "ledger",
        "budget",
        "clinic",
        "--epsilon",
        "3",
        "--delta",
        "0",
        "--reason",
        "none",
        "--accounting",
        "gaussian",
    )
    assert "needs a delta" in refused(*pure, "--ledger", book, code=2)["wrong"]


def test_show_names_releases_without_a_bound(book):
    with Ledger(str(book)) as ledger:
        ledger.record_unbounded("clinic", "k-anonymity", "p" * 64, b"clinic")
    assert "1 more without a bound" in shoal("ledger", "show", "clinic", "--ledger", book).stdout
    assert answer("ledger", "show", "clinic", "--ledger", book)["datasets"][0]["unbounded_releases"] == 1


def test_the_environment_names_the_ledger(book, monkeypatch):
    monkeypatch.setenv("SHOAL_LEDGER", str(book))
    assert [one["dataset"] for one in answer("ledger", "show")["datasets"]] == ["clinic", "school"]
    assert answer("ledger", "show", "--ledger", f"sqlite:///{book}")["datasets"]


# --- verify and export ----------------------------------------------------------------------------------------


def test_an_intact_chain(book):
    assert shoal("ledger", "verify", "--ledger", book).stdout == "5 events, chain intact\n"
    assert answer("ledger", "verify", "--ledger", book) == {"version": 1, "events": 5, "intact": True}


@pytest.mark.parametrize(
    ("statement", "broken"),
    [
        ("UPDATE events SET payload = replace(payload, '\"1\"', '\"0.1\"') WHERE number = 2", 2),
        ("UPDATE events SET dataset = 'other' WHERE number = 4", 4),
        ("UPDATE events SET time = '1999-12-31T00:00:00+00:00' WHERE number = 1", 1),
        ("DELETE FROM events WHERE number = 2", 2),
        ("INSERT INTO events SELECT 6, time, dataset, kind, payload, previous, 'x' FROM events WHERE number = 5", 6),
    ],
)
def test_a_tampered_chain_is_exit_3(book, statement, broken):
    error = refused("ledger", "verify", "--ledger", tampered(book, statement), code=3)
    assert error["kind"] == "VerificationError"
    assert f"event {broken} of the ledger does not fit the chain" in error["wrong"]


@pytest.mark.parametrize("how", ["replace(payload, '\"1\"', '\"0.1\"')", "replace(payload, 'cost', 'price')"])
def test_show_and_forecast_name_the_first_event_that_was_changed(book, how):
    tampered(book, "UPDATE events SET payload = replace(payload, '\"1\"', '\"0.1\"') WHERE number = 2")
    tampered(book, f"UPDATE events SET payload = {how} WHERE number = 5")  # noqa: S608 - the test's own words
    said = refused("ledger", "verify", "--ledger", book, code=3)["wrong"]
    assert said.startswith("event 2 of the ledger does not fit the chain: it was changed")
    for command in (("show",), ("forecast", "clinic", "--epsilon", "1")):
        assert refused("ledger", *command, "--ledger", book, code=4)["wrong"] == said


def test_an_event_that_cannot_be_read(book):
    tampered(book, "UPDATE events SET payload = '{' WHERE number = 1")
    for command in ("show", "verify", "export"):
        assert refused("ledger", command, "--ledger", book, code=4)["kind"] == "LedgerError"


def test_export_is_one_event_to_a_line_chained_by_hashes(book):
    events = [json.loads(line) for line in shoal("ledger", "export", "--ledger", book).stdout.splitlines()]
    assert [event["kind"] for event in events] == ["budget", "charge", "release", "charge", "charge"]
    assert [event["number"] for event in events] == [1, 2, 3, 4, 5]
    assert all(later["previous"] == earlier["hash"] for earlier, later in pairwise(events))
    assert events[1]["payload"]["cost"]["epsilon"] == "1"
    assert answer("ledger", "export", "--ledger", book)["events"] == events
    one = answer("ledger", "export", "school", "--ledger", book)["events"]
    assert one == events[4:]


def test_export_to_a_file_overwrites_by_force_alone(book, tmp_path):
    out = tmp_path / "events.jsonl"
    done = shoal("ledger", "export", "--ledger", book, "--out", out)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "5 events written" in done.stderr
    assert out.read_text() == shoal("ledger", "export", "--ledger", book).stdout
    assert refused("ledger", "export", "--ledger", book, "--out", out, code=2)["wrong"] == "the file exists"
    assert shoal("ledger", "export", "--ledger", book, "--out", out, "--force").exit_code == 0


@pytest.mark.parametrize("there", [False, True])
def test_an_export_is_for_its_owner_alone_because_it_holds_fingerprints(book, tmp_path, there):
    out = tmp_path / "events.jsonl"
    if there:
        out.touch(mode=0o644)
    assert shoal("ledger", "export", "--ledger", book, "--out", out, "--force").exit_code == 0
    assert out.stat().st_mode & 0o777 == 0o600


# --- forecast and budget ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_forecast_by_numbers_and_by_policy(book, tmp_path):
    (tmp_path / "policy.yaml").write_text(policy().dump())
    by_policy = ("ledger", "forecast", "clinic", "--policy", tmp_path / "policy.yaml", "--ledger", book)
    assert shoal(*by_policy).stdout == "1 more release fits into what is left of 'clinic', at (1, 0.001) each\n"
    assert answer(*by_policy)["more"] == 1
    by_numbers = ("ledger", "forecast", "clinic", "--epsilon", "1/4", "--delta", "1e-3", "--ledger", book)
    assert answer(*by_numbers)["more"] == 4
    assert answer(*by_numbers)["left"] == {"epsilon": "1", "delta": "0.008"}
    assert answer("ledger", "forecast", "clinic", "--epsilon", ".001", "--delta", "5e-3", "--ledger", book)["more"] == 1
    assert answer("ledger", "forecast", "clinic", "--epsilon", "2", "--ledger", book)["more"] == 0


def test_forecast_without_a_budget(book):
    asked = ("ledger", "forecast", "school", "--epsilon", "1", "--ledger", book)
    assert "no budget yet" in shoal(*asked).stdout
    assert answer(*asked)["more"] is None


def test_forecast_needs_one_cost(book, tmp_path):
    refused("ledger", "forecast", "clinic", "--ledger", book, code=2)
    both = ("--policy", tmp_path / "policy.yaml", "--epsilon", "1")
    refused("ledger", "forecast", "clinic", *both, "--ledger", book, code=2)
    refused("ledger", "forecast", "clinic", "--epsilon", "much", "--ledger", book, code=2)
    refused("ledger", "forecast", "clinic", "--epsilon", "-1", "--ledger", book, code=2)


def test_a_budget_is_changed_openly(book):
    change = ("--epsilon", "5", "--delta", "1e-2", "--reason", "the board agreed on 3 May")
    done = shoal("ledger", "budget", "clinic", *change, "--ledger", book)
    assert done.exit_code == 0, done.output
    assert "(5, 0.01)" in done.stdout
    assert "(3, 0.008)" in done.stdout
    event = answer("ledger", "export", "clinic", "--ledger", book)["events"][-1]
    assert event["kind"] == "budget"
    assert event["payload"] == {
        "budget": {"epsilon": "5", "delta": "0.01"},
        "before": {"epsilon": "3", "delta": "0.01"},
        "reason": "the board agreed on 3 May",
    }
    assert answer("ledger", "verify", "--ledger", book)["events"] == 6
    found = answer("ledger", "budget", "clinic", *change, "--ledger", book)
    assert found["left"] == {"epsilon": "3", "delta": "0.008"}


def test_show_says_what_the_budget_is_from(book):
    def line(dataset):
        text = shoal("ledger", "show", dataset, "--ledger", book).stdout
        return " ".join(next(each for each in text.splitlines() if each.split()[0] == "budget").split())

    assert line("clinic").endswith("fixed by the first charge")
    assert line("school").endswith("none yet the first charge fixes it, or the registration of the table")
    with Ledger(str(book)) as ledger:
        ledger.set_budget("school", Budget.of(4, "0.01"), "agreed")
        ledger.set_budget("clinic", Budget.of(5, "0.01"), "the board agreed")
        day = ledger.events()[-1].time[:10]
    assert line("school").endswith(f"(4, 0.01) fixed on {day}: agreed")
    assert line("clinic").endswith(f"(5, 0.01) changed on {day}: the board agreed (was (3, 0.01))")


def test_a_budget_below_what_was_spent_is_noted(book):
    def said(epsilon, *more):
        asked = ("--epsilon", epsilon, "--delta", "1e-2", "--reason", "enough", *more)
        return " ".join(shoal("ledger", "budget", "clinic", *asked, "--ledger", book).stderr.split())

    assert "spent already" not in said("2")
    assert "(2, 0.002) has been spent already; nothing more can be charged" in said("1")
    assert "spent already" not in said("1", "--analyst", "alice")


def test_a_budget_below_what_was_spent_leaves_nothing(book):
    less = ("--epsilon", "1", "--delta", "1e-3", "--reason", "enough")
    found = answer("ledger", "budget", "clinic", *less, "--ledger", book)
    assert found["left"] == {"epsilon": "0", "delta": "0"}
    assert answer("ledger", "forecast", "clinic", "--epsilon", ".1", "--ledger", book)["more"] == 0


@pytest.mark.parametrize(
    "more",
    [
        ("--epsilon", "5", "--delta", "1e-2"),
        ("--epsilon", "5", "--reason", "why not"),
        ("--epsilon", "5", "--delta", "1", "--reason", "all of it"),
        ("--epsilon", "-5", "--delta", "1e-2", "--reason", "backwards"),
        ("--epsilon", "nan", "--delta", "1e-2", "--reason", "nothing"),
    ],
)
def test_budgets_that_are_refused(book, more):
    refused("ledger", "budget", "clinic", *more, "--ledger", book, code=2)
    assert answer("ledger", "verify", "--ledger", book)["events"] == 5


# --- ledgers that are none ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("show",), ("verify",), ("export",), ("forecast", "clinic", "--epsilon", "1")])
def test_a_file_that_is_no_ledger(tmp_path, command):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"garbage" * 500)
    assert refused("ledger", *command, "--ledger", path, code=4)["kind"] == "LedgerError"
    assert path.read_bytes() == b"garbage" * 500


def test_a_ledger_from_the_future(book):
    tampered(book, "UPDATE meta SET value = '3' WHERE name = 'version'")
    error = refused("ledger", "show", "--ledger", book, code=4)
    assert error["wrong"] == "the ledger was written by a newer version"


def test_an_unknown_subcommand():
    refused("ledger", "erase", code=2)


def test_an_analyst_is_told_what_can_still_be_spent(book):
    with Ledger(str(book)) as ledger:
        left = ledger.account("clinic").left
        ledger.set_analyst_budget("clinic", "alice", Budget.of(100, 0), "a share above the budget")
    (account,) = answer("ledger", "show", "clinic", "--ledger", book)["datasets"]
    (alice,) = account["analysts"]
    assert alice["budget"]["epsilon"] == "100"
    assert alice["left"]["epsilon"] == left.to_saved()["epsilon"]


@pytest.mark.slow
def test_a_ledger_that_everybody_can_read_is_warned_of_by_every_command(tmp_path):
    furnish(tmp_path)
    (tmp_path / "ledger.sqlite").chmod(0o644)
    for command in commands(tmp_path):
        done = shoal(*command)
        assert done.exit_code in (0, 4), done.output  # 4: the budget was changed by a command before
        assert "everybody on this machine can read the ledger" in done.stderr
    (tmp_path / "ledger.sqlite").chmod(0o600)
    assert "everybody" not in shoal(*commands(tmp_path)[0]).stderr


def test_an_export_of_a_ledger_that_was_altered_says_so(book):
    assert "not intact" not in shoal("ledger", "export", "--ledger", book).stderr
    with sqlite3.connect(book) as raw:
        raw.execute("UPDATE events SET time = 'yesterday' WHERE number = 2")
    done = shoal("ledger", "export", "--ledger", book)
    assert done.exit_code == 0
    assert "the ledger is not intact, and what is exported is what it holds now: event 2" in done.stderr
