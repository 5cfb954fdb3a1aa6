"""The examples that the help of `shoal dataset` and `shoal ask` shows run, on the visits that they name."""

from __future__ import annotations

import shlex

import click

from shoal.cli.query.ask import ask
from shoal.cli.query.dataset import dataset
from shoal.datasets.visits import write_policy, write_visits
from shoal.policy.policy import Policy
from tests.cli.run import shoal

PRIOR = "{public: 0.8, private: 0.1, company: 0.07, none: 0.03}\n"
QUESTIONS = 'version: 1\nepsilon: 0.1\nquestions:\n  - {count: "age >= 20"}\n  - {mean: stay}\n'


def examples(group):
    """The examples of a group and of its commands, each once."""
    pages = [group, *group.commands.values()]
    return list(dict.fromkeys(line for page in pages for line in page.examples))


def test_every_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    policy = Policy.load(write_policy(tmp_path)).with_changes({"budget": {"epsilon": "30", "delta": "1e-3"}})
    (tmp_path / "policy.yaml").write_text(policy.dump())
    write_visits(tmp_path / "visits.csv", 1000, seed=1)
    (tmp_path / "prior.yaml").write_text(PRIOR)
    (tmp_path / "questions.yaml").write_text(QUESTIONS)
    monkeypatch.setenv("SHOAL_LEDGER", str(tmp_path / "own.sqlite"))
    fixed = shlex.split("--epsilon 1 --delta 0 --reason examples --new-ledger")
    assert shoal("ledger", "budget", "hospital-visits", *fixed, "--analyst", "alice").exit_code == 0
    lines = [*examples(dataset), *examples(ask)]
    assert len(lines) > 20
    for line in lines:
        done = shoal(*shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{click.unstyle(done.output)}"
