"""Every policy in examples/ is planned, released and verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from shoal.chance.source import Source
from shoal.datasets.simulate import simulate
from shoal.datasets.visits import write_visits
from shoal.policy.policy import Policy

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
POLICIES = sorted(EXAMPLES.glob("*/*.yaml"))
FILES = {
    "adult": 1, "anatomy": 0, "clinic": 0, "dp-microaggregation": 0, "dp-microaggregation/categories": 1,
    "dp-microaggregation/insensitive": 1, "dp-microaggregation/mixed": 1, "dp-microaggregation/ranking": 0,
    "k-anonymity": 2, "mondrian": 0, "probabilistic-k": 0, "sample": 0, "synthetic": 0,
    "t-closeness": 0, "treatments": 0, "visits": 2,
}  # fmt: skip
"""How many hierarchies of an example are read from files: a release carries the files, so no check stays open."""


EXACT = {"anatomy", "k-anonymity", "mondrian", "probabilistic-k", "t-closeness"}
"""Examples whose published columns follow from the table alone, or keep every value: no noise moves them far."""
APART = {"dp-microaggregation/ranking"}
"""Examples whose columns are published apart, which their assessment notes."""


def name_of(path: Path) -> str:
    """The folder of an example, with the name of the file where a folder has several and this is not the first."""
    return path.parent.name if path.stem == "policy" else f"{path.parent.name}/{path.stem}"


def table(name: str, policy: Policy, folder: Path) -> object:
    """The table of an example: its own file, a generated one, or one that is simulated from the policy."""
    if name in ("anatomy", "k-anonymity", "mondrian", "probabilistic-k", "synthetic", "t-closeness", "visits"):
        return write_visits(folder / "visits.csv", 2_000, seed=1)
    if name.startswith("dp-microaggregation"):
        return write_visits(folder / "visits.csv", 20_000, seed=1)
    own = EXAMPLES / name / f"{name}.csv"
    return own if own.is_file() else simulate(policy.schema, 3_000, Source.seeded(name))


@pytest.mark.slow
@pytest.mark.parametrize("path", POLICIES, ids=name_of)
def test_an_example_is_planned_released_and_verified(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, policy = name_of(path), Policy.load(path)
    planned = shoal.plan(path)
    assert planned.sentences()
    data = table(name, policy, tmp_path)
    made = shoal.release(planned, data, "out", ledger="ledger.sqlite", new_ledger=True)
    assert made.rows_published > 0
    assert made.report is not None
    checks = shoal.verify("out")
    assert all(check.agrees for check in checks)
    assert len(list(Path("out").glob("hierarchies/*.txt"))) == FILES[name]
    assessed = shoal.assess("out", data, full=False)
    published = {attribute.name for attribute in planned.schema.published}
    assert {column.name for column in assessed.utility.columns} == published
    far = {column.name: column.total_variation for column in assessed.utility.columns}
    assert max(far.values()) < (0.5 if name in EXACT else 1), far
    assert any("published apart" in note for note in assessed.utility.notes) == (name in APART)
    json.dumps(assessed.to_json(), allow_nan=False)


def test_every_folder_of_the_examples_has_a_policy_and_a_line():
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    folders = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
    assert sorted(map(name_of, POLICIES)) == sorted(FILES)
    assert folders == sorted({path.parent.name for path in POLICIES})
    assert all(f"| `{name}` |" in listed for name in folders)
