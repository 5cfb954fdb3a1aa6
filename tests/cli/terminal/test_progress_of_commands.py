"""What each command tells a terminal about its progress: named stages, with a share where work is counted."""

from __future__ import annotations

import contextlib

import pytest

from shoal.cli.terminal import progress
from shoal.progress import StageProgress
from tests.cli.custodian import asked, furnished
from tests.cli.run import shoal

READ = {"reading the file", "reading the rows"}
"""What reading a table of text consists of, counted by bytes and by rows."""
VERIFIED = {"verifying, 1 of 3: files and figures, hashes", "verifying, 3 of 3: the pages, drawn again"}


@pytest.fixture
def told(monkeypatch):
    """All that commands tell their terminal, one after the other."""
    found: list[str] = []

    @contextlib.contextmanager
    def stages(first="reading"):
        found.append(first)
        yield found.append

    @contextlib.contextmanager
    def bar(words, total):
        found.append(StageProgress(words, 0, total))
        yield progress.Steps(lambda: None, found.append)

    monkeypatch.setattr(progress, "stages", stages)
    monkeypatch.setattr(progress, "bar", bar)
    return found


@pytest.fixture
def place(tmp_path):
    return furnished(tmp_path)


def counted(told):
    """The stages whose work was counted, each to its end."""
    last = {each.name: each for each in told if isinstance(each, StageProgress)}
    unfinished = {name for name, each in last.items() if each.done != each.total}
    assert not unfinished
    return set(last)


def run(*arguments):
    done = shoal(*arguments)
    assert done.exit_code == 0, done.output


def test_drafting_counts_what_it_reads(place, told):
    run("init", place / "table.csv", "--out", place / "draft", "--ledger", place / "own.sqlite", "--new-ledger")
    assert counted(told) >= {"finding the encoding, reading the file", "reading the file", "looking at the rows"}


def test_confirming_says_what_it_does(place, told):
    run("policy", "confirm", place / "policy.yaml", "--all")
    assert told[0] == "reading the policy"
    assert "declaring" in told


def test_planning_says_what_it_does(place, told):
    run("plan", place / "policy.yaml")
    assert told == ["reading the policy", "planning"]


def test_checking_counts_rows_and_attributes(place, told):
    run("check", place / "table.csv", "--policy", place / "policy.yaml")
    assert counted(told) == READ | {"measuring confidential attributes"}
    assert "counting classes" in told


@pytest.mark.slow
def test_a_release_and_what_is_made_of_it_count_their_work(place, told, tmp_path):
    run(*asked(place))
    own = {"fingerprinting the rows", "writing the pages", "reporting, comparing columns"}
    assert counted(told) >= READ | VERIFIED | own
    folder = asked(place)[asked(place).index("--out") + 1]
    told.clear()
    run("verify", folder)
    assert counted(told) == {"1 of 3: files and figures, hashes", "3 of 3: the pages, drawn again"}
    told.clear()
    run("share", folder)
    assert counted(told) == VERIFIED | {"packing"}
    told.clear()
    run("export", folder, tmp_path / "out.csv")
    assert counted(told) == VERIFIED | {"reading the labels", "writing the rows"}
    told.clear()
    run("export", folder, tmp_path / "out.dta")
    assert counted(told) == VERIFIED | {"reading the labels", "preparing the columns"}
    told.clear()
    run("export", folder, f"sqlite:///{tmp_path}/out.sqlite", "--table", "visits")
    assert counted(told) == VERIFIED | {"reading the labels", "writing the rows"}


@pytest.mark.slow
def test_registering_and_asking_count_what_they_read(place, told):
    own = ("--ledger", place / "own.sqlite")
    run("dataset", "register", place / "policy.yaml", place / "table.csv", *own, "--new-ledger")
    assert counted(told) == READ | {"fingerprinting the rows"}
    told.clear()
    run("ask", "clinic", "count", "--epsilon", "0.1", *own)
    assert counted(told) == READ | {"fingerprinting the rows"}


def test_nothing_is_shown_where_standard_error_is_no_terminal(place):
    done = shoal("check", place / "table.csv", "--policy", place / "policy.yaml")
    assert done.exit_code == 0
    assert not any(name in done.stderr for name in (*READ, "counting classes", "\x1b"))


@pytest.mark.slow
def test_an_assessment_says_what_it_measures(place, told):
    run(*asked(place))
    told.clear()
    run("assess", place / "out", "--original", place / "table.csv", "--fast", "--ledger", place / "ledger.sqlite")
    assert {"assessing", "reading the rows"} <= {each.name for each in told if isinstance(each, StageProgress)}
    assert {"reading the release", "risks of the original", "risks of the release", "relations", "queries"} <= set(told)
