"""A small policy and table for the release tests, and ways to run them."""

from __future__ import annotations

import random
from pathlib import Path

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.run.release import Release, release

POLICY = """
version: 1
dataset: clinic
unit: row
neighbours: add_remove
attributes:
  patient: {role: identifier, type: text}
  age:  {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [10, 50]}}
  sex:  {role: quasi, type: category, domain: [f, m]}
  diag: {role: confidential, type: category, domain: [flu, cold, rare], hierarchy: {groups: {common: [flu, cold], other: [rare]}}}
release:
  method: safe-k
  epsilon: 1
  delta: 1e-3
  recoding: {levels: {age: 2, diag: 0}}
  sampling: {beta: 0.5}
  output: csv
budget: {epsilon: 3, delta: 1e-2}
"""
TREATED: dict[str, object] = {
    "treatments": [{"round": {"age": 40}}, {"top": {"age": 60}}],
    "release.recoding": {"levels": {"age": 0, "diag": 0}},
}
"""Changes of the policy by which ages are treated before the method."""


def policy(changes: dict[str, object] | None = None) -> Policy:
    """The clinic's policy, with some keys changed."""
    found = Policy.parse(POLICY)
    return found.with_changes(changes) if changes else found


def planned(changes: dict[str, object] | None = None) -> SafeKPlan:
    """Its plan."""
    return plan(policy(changes))


def write_table(path: Path, rows: int = 600, seed: int = 1, patients: int | None = None) -> Path:
    """A CSV of made-up patients; patient p0 has most rows when `patients` is small."""
    chance = random.Random(seed)  # noqa: S311 - made-up patients
    lines = ["patient,age,sex,diag"]
    for i in range(rows):
        who = i if patients is None else chance.randrange(patients)
        diag = "rare" if chance.random() < 0.01 else chance.choice(["flu", "cold"])
        lines.append(f"p{who},{chance.randrange(100)},{chance.choice('fm')},{diag}")
    path.write_text("\n".join(lines) + "\n")
    return path


def publish(
    folder: Path, changes: dict[str, object] | None = None, *, name: str = "out", rows: int = 600, **options
) -> Release:
    """Plan and release the clinic's table into a folder, with a ledger beside it.

    Without the custodian's report, which takes longer than all the rest, unless a test asks for it: `report=True`.
    """
    table = options.pop("table", None) or write_table(folder / "table.csv", rows)
    options = {"again": True, "report": False} | options
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        return release(planned(changes), table, folder / name, ledger=ledger, engine=open_engine("duckdb"), **options)
