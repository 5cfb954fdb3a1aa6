"""The examples that the help pages show run, in the order of a custodian's work, on the visits that they name."""

from __future__ import annotations

import shlex
import shutil

import click
import pytest

from shoal.cli import main
from shoal.datasets.visits import write_policy, write_visits
from shoal.policy.policy import Policy
from tests.cli.run import shoal

PRIOR = "{public: 0.8, private: 0.1, company: 0.07, none: 0.03}\n"
QUESTIONS = 'version: 1\nepsilon: 0.1\nquestions:\n  - {count: "age >= 20"}\n  - {mean: stay}\n'
PUBLISHING = ("solve", "compose", "init", "plan", "release", "verify", "assess", "share", "export", "check", "policy")
ASKING = ("dataset", "ask", "ledger")
LONG = ("attack", "audit", "compare", "completion", "demo", "doctor", "paper", "rehearse")
"""Commands whose examples take long, or are run elsewhere with smaller tables; completion writes outside of the folder."""


def examples(name):
    """The examples of a command, or of a group and its commands, each once."""
    command = main.get_command(click.Context(main), name)
    pages = [command, *(command.commands.values() if isinstance(command, click.Group) else ())]
    return list(dict.fromkeys(line for page in pages for line in page.examples))


@pytest.fixture
def custodian(tmp_path, monkeypatch):
    """A folder with the files that the examples name, and a ledger with a budget for all of them."""
    monkeypatch.chdir(tmp_path)
    policy = Policy.load(write_policy(tmp_path)).with_changes({"budget": {"epsilon": "30", "delta": "1e-3"}})
    (tmp_path / "policy.yaml").write_text(policy.dump())
    write_visits(tmp_path / "visits.csv", 1000, seed=1)
    shutil.copy(tmp_path / "visits.csv", tmp_path / "masked.csv")
    (tmp_path / "prior.yaml").write_text(PRIOR)
    (tmp_path / "questions.yaml").write_text(QUESTIONS)
    monkeypatch.setenv("SHOAL_LEDGER", str(tmp_path / "own.sqlite"))
    fixed = shlex.split("--epsilon 1 --delta 0 --reason examples --new-ledger")
    assert shoal("ledger", "budget", "hospital-visits", *fixed, "--analyst", "alice").exit_code == 0


def draft():
    """The policy as a draft that read two domains off the data."""
    drafted = {f"attributes.{name}.provenance": {"domain": "profiled"} for name in ("age", "zip")}
    Policy.load("policy.yaml").with_changes(drafted).save("policy.yaml", force=True)


def run(line):
    if line.startswith("shoal policy confirm") and "--yes" in line:
        draft()
    done = shoal(*shlex.split(line)[1:])
    met = 3 if "--k 5" in line and line.startswith("shoal check") else 0  # hardly a row shares its description
    assert done.exit_code == met, f"{line}\n{click.unstyle(done.output)}"


@pytest.mark.slow
@pytest.mark.usefixtures("custodian")
def test_the_examples_of_asking_run():
    lines = [line for name in ASKING for line in examples(name)]
    assert len(lines) > 30
    for line in lines:
        run(line)


@pytest.mark.slow
@pytest.mark.usefixtures("custodian")
def test_the_examples_of_publishing_run():
    lines = [line for name in PUBLISHING for line in examples(name)]
    assert all(len(examples(name)) >= 2 for name in PUBLISHING)
    compared = [line for line in lines if "--compare" in line]
    assert compared == [
        "shoal plan policy.yaml --compare --rows 20000"
    ]  # takes a minute; test_plan.py runs it with less
    lines = [line for line in lines if line not in compared]
    for line in sorted(lines, key=lambda line: "verify visits-2026.zip" in line):  # what was packed is verified last
        run(line if "--dry-run" not in line else line.replace("--out visits-2026", "--out visits-2027"))


def test_no_command_is_left_out():
    assert set(main.list_commands(click.Context(main))) == {*PUBLISHING, *ASKING, *LONG}
