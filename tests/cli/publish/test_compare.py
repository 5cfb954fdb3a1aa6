"""`shoal compare`: its examples, what is printed, what is refused, and how it ends where nothing ran."""

from __future__ import annotations

import shlex

import pytest

from shoal.cli.publish.compare import compare
from shoal.publish.comparison.methods import TUNED, MethodOutcome, MethodsComparison
from tests.cli.run import answer, refused, shoal
from tests.publish import clinic

K5 = {"release": {"method": "k-anonymity", "k": 5}, "budget": None}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the examples name, on the clinic's table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_LEDGER", str(tmp_path / "ledger.sqlite"))
    clinic.policy().save(tmp_path / "policy.yaml")
    clinic.policy(K5).save(tmp_path / "k5.yaml")
    clinic.write_table(tmp_path / "visits.csv", 200)
    budget = shlex.split("ledger budget clinic --epsilon 1 --delta 0 --reason examples --new-ledger")
    assert shoal(*budget).exit_code == 0
    return tmp_path


@pytest.mark.slow
def test_the_examples_run_and_say_what_a_choice_means(folder):
    one, two = (shlex.split(line)[1:] for line in compare.examples)
    done = shoal(*one)
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split())
    assert TUNED in words
    assert "k-anonymity, k = 5" in words
    assert "plan tuned on the data" in done.stderr
    assert "on record in" in done.stderr
    assert (folder / "compared.html").stat().st_mode & 0o077 == 0  # for its owner alone
    done = shoal(*two)
    assert done.exit_code == 0, done.output
    assert "tuned on the data" not in done.output
    assert len((folder / "part.csv").read_text().splitlines()) == 161
    told = answer("compare", "k5.yaml", "visits.csv", "--fast", "--seed", 1, "--synthetic", "MST=part.csv")
    assert [one["name"] for one in told["methods"]] == ["k5", "MST"]
    assert told["methods"][1]["measures"]["pairs"]["value"] == 0


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_asked_is_refused_before_the_table_is_read():
    refused("compare", "policy.yaml", "none.csv", "--masked", "MST", "--seed", "1", code=2)
    refused("compare", "policy.yaml", "none.csv", "--part", "part.csv", code=2)
    refused("compare", "policy.yaml", "none.csv", "--part", "part.xlsx", "--seed", "1", code=2)
    refused("compare", "policy.yaml", "none.csv", "--out", "k5.yaml", code=2)
    refused("compare", "policy.yaml", "none.csv", "--masked", "MST=x.csv", code=2)
    refused("compare", "policy.yaml", "visits.csv", "--target", "nobody", code=2)


@pytest.mark.usefixtures("folder")
def test_where_nothing_ran_the_table_says_why_and_the_exit_code_is_3(monkeypatch):
    gone = MethodOutcome("policy", "safe-k", "none", "", why_not="it cannot be reached")
    made = MethodsComparison("clinic", (10, 8, 2), ("age",), (), (), None, False, None, (gone,), 0, None)
    monkeypatch.setattr("shoal.publish.comparison.methods.compare_methods", lambda *_, **__: made)
    done = shoal("compare", "policy.yaml", "visits.csv")
    assert done.exit_code == 3
    assert "policy: it cannot be reached." in done.stdout
    assert "not run" in done.stdout
    assert "on no record" in done.stderr
