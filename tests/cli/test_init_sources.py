"""`shoal init` with a codebook, a public table, hierarchies and settings: what they say is declared."""

from __future__ import annotations

import json

import pytest

from shoal.policy.policy import Policy
from tests.cli.run import answer, refused


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"p{i},{20 + i % 40},{i % 2},j{i % 3}\n" for i in range(200))
    (tmp_path / "people.csv").write_text("id,age,sex,job\n" + rows)
    (tmp_path / "codebook.csv").write_text("column,low,high,values\nage,0,110,\nsex,,,0=m;1=f\n")
    (tmp_path / "census.csv").write_text("job\n" + "".join(f"j{i % 5}\n" for i in range(500)))
    (tmp_path / "sdc.json").write_text(json.dumps({"keyVars": ["age", "sex"], "sensibleVar": "job"}))
    return tmp_path


BESIDE = ("--codebook", "codebook.csv", "--population", "census.csv", "--settings", "sdc.json")


def test_nothing_is_profiled_where_everything_is_said_beside_the_table(place):
    found = answer("init", "people.csv", "--out", "draft", "--ledger", "l.sqlite", "--new-ledger", *BESIDE)
    assert found["policy"] == "draft/policy.yaml"
    policy = Policy.load(place / "draft" / "policy.yaml")
    assert policy.profiled_keys() == ()
    assert policy.schema["job"].role.value == "confidential"
    assert policy.schema["job"].domain.values == ("j0", "j1", "j2", "j3", "j4")


def test_without_a_look_at_the_rows_too(place):
    answer("init", "people.csv", "--out", "draft", "--schema-only", *BESIDE)
    policy = Policy.load(place / "draft" / "policy.yaml")
    assert policy.profiled_keys() == ()
    assert (policy.schema["age"].domain.low, policy.schema["age"].domain.high) == (0, 110)


@pytest.mark.parametrize(
    "more",
    [("--codebook", "none.csv"), ("--settings", "people.csv"), ("--hierarchies", "none")],
    ids=lambda more: more[0],
)
def test_a_file_that_cannot_be_read_is_said_before_anything_is_noted_or_written(place, more):
    before = {path.name for path in place.iterdir()}
    refused("init", "people.csv", "--out", "draft", "--ledger", "l.sqlite", "--new-ledger", *more, code=2)
    assert {path.name for path in place.iterdir()} == before
