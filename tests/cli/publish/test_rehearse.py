"""`shoal rehearse`: a table and words, or JSON; no data, no ledger, no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.rehearse import rehearse
from tests.cli.run import answer, refused, shoal
from tests.publish.clinic import policy

VISITS = Path(__file__).resolve().parents[3] / "examples" / "visits" / "policy.yaml"
QUICK = ("--rows", "2000", "--runs", "2")


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "policy.yaml").write_text(policy().dump())
    return tmp_path / "policy.yaml"


@pytest.mark.slow
def test_json_is_the_rehearsal(clinic):
    found = answer("rehearse", clinic, *QUICK, "--seed", 3)
    made = rehearse(plan(Policy.load(clinic)), rows=2000, runs=2, seed=3)
    assert found["expected"][0]["published"]["mean"] == made.expected[0].published.mean
    assert set(found) == set(made.to_json())
    assert (found["runs"], found["seed"], found["charged"], found["data_read"]) == (2, 3, False, False)


@pytest.mark.slow
def test_words_and_a_table():
    text = shoal("rehearse", VISITS, "--rows", "1000,20_000", "--runs", 2).stdout
    for part in (
        "No row of yours was read, nothing was charged", "A simulated table is not the data", "1,000 rows", "20,000 rows",
        "rows published", "granularity", "runs that published nothing", "detail of diagnosis",
    ):  # fmt: skip
        assert part in text.replace("\n", " ")


@pytest.mark.slow
def test_marginals_from_a_file(clinic, tmp_path):
    attribute = Policy.load(clinic).schema.published[0]
    low, high = attribute.domain.low, attribute.domain.high
    (tmp_path / "known.yaml").write_text(f"{attribute.name}: [[{low}, {low}, 1], [{high}, {high}, 0]]\n")
    done = shoal("rehearse", clinic, *QUICK, "--marginals", tmp_path / "known.yaml")
    assert done.exit_code == 0, done.output
    assert f"detail of {attribute.name}, its shares given" in done.stdout
    parts = answer("rehearse", clinic, *QUICK, "--marginals", tmp_path / "known.yaml")["expected"][0]["attributes"]
    assert [part["name"] for part in parts if part["public"]] == [attribute.name]


@pytest.mark.slow
def test_no_ledger_and_no_file_is_written(clinic, monkeypatch):
    monkeypatch.setenv("SHOAL_LEDGER", str(clinic.parent / "ledger.sqlite"))
    monkeypatch.chdir(clinic.parent)
    assert shoal("rehearse", clinic, *QUICK).exit_code == 0
    assert [path.name for path in clinic.parent.iterdir()] == ["policy.yaml"]


@pytest.mark.parametrize(
    "more",
    [
        ("--rows", "0"), ("--rows", "x"), ("--rows", ","), ("--rows", "10,10"), ("--rows", "1.5"), ("--rows", "1e12"),
        ("--runs", "1"), ("--runs", "many"), ("--seed", "-1"), ("--seed", "x"), ("--marginals", "none.yaml"),
    ],
)  # fmt: skip
def test_bad_requests(clinic, more):
    refused("rehearse", clinic, *more, code=2)


def test_bad_files(clinic, tmp_path):
    refused("rehearse", tmp_path / "none.yaml", code=2)
    (tmp_path / "known.yaml").write_text("nobody: {a: 1}\n")
    assert refused("rehearse", clinic, "--marginals", tmp_path / "known.yaml", code=2)["came"] == "nobody"
    (tmp_path / "known.yaml").write_text("age: {a: &b 1}\n")
    refused("rehearse", clinic, "--marginals", tmp_path / "known.yaml", code=2)


def test_a_policy_that_cannot_be_planned_says_so():
    fields = refused("rehearse", VISITS.parents[1] / "clinic" / "policy.yaml", code=2)
    assert "release.method" in fields["wrong"]
