"""A clinic's table released by groups: two linked tables, or one permuted one."""

from __future__ import annotations

import random
from pathlib import Path

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import Release, release

ATTRIBUTES = """
version: 1
dataset: clinic
unit: row
neighbours: replace_one
attributes:
  patient: {role: identifier, type: text}
  age: {role: quasi, type: integer, domain: [0, 99]}
  sex: {role: quasi, type: category, domain: [f, m]}
  ward: {role: other, type: category}
  pay: {role: drop, type: integer, domain: [0, 9999]}
  since: {role: drop, type: date}
  grade: {role: drop, type: ordinal, domain: [low, middle, high, top]}
  diag: {role: confidential, type: category, hierarchy: {groups: {common: [flu, cold], other: [heart, back]}}}
"""
PAY = {"attributes.diag.role": "drop", "attributes.pay.role": "confidential"}
KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "linked": ("{method: t-closeness, t: 2, k: 8, output: csv}", {}),
    "linked-parquet": ("{method: t-closeness, t: 2, k: 8, grouping: random}", PAY),
    "several": (
        "{method: t-closeness, t: 3, k: 24, grouping: random, output: csv}",
        {"attributes.grade.role": "confidential"},
    ),
    "permuted": ("{method: t-closeness, t: 2, k: 8, form: permuted, output: csv}", PAY),
    "value": ("{method: t-closeness, t: 2, k: 8, show: value, output: csv}", PAY),
    "anatomy": ("{method: anatomy, l: 2, k: 5, output: csv}", {}),
    "alike": (
        "{method: anatomy, grouping: confidential, k: 10, output: csv}",
        {"attributes.since.role": "confidential"},
    ),
    "anatomy-permuted": ("{method: anatomy, l: 2, form: permuted, output: csv}", {}),
}


def policy(kind: str, changes: dict[str, object] | None = None) -> Policy:
    """One of the policies, with some keys changed."""
    asked, own = KINDS[kind]
    found = Policy.parse(f"{ATTRIBUTES}release: {asked}\n")
    both = {**own, **(changes or {})}
    return found.with_changes(both) if both else found


def write_table(path: Path, rows: int = 200, seed: int = 1) -> Path:
    """A CSV of made-up patients; some have no diagnosis and some no ward."""
    chance = random.Random(seed)  # noqa: S311 - made-up patients
    lines = ["patient,age,sex,ward,pay,since,grade,diag"]
    for who in range(rows):
        age = chance.randrange(100)
        diag = "heart" if chance.random() < age / 300 else chance.choice(["flu", "cold", "flu", "back", "back", ""])
        grade = chance.choice(["low", "middle", "high", "top"])
        since = f"20{chance.randrange(10, 26)}-0{chance.randrange(1, 10)}-15"
        pay, ward = chance.randrange(900, 9000), chance.choice(["A", "B", ""])
        lines.append(f"p{who},{age},{chance.choice('fm')},{ward},{pay},{since},{grade},{diag}")
    path.write_text("\n".join(lines) + "\n")
    return path


def publish(
    folder: Path, kind: str, changes: dict[str, object] | None = None, *, name: str = "out", rows: int = 200, **options
) -> Release:
    """Plan and release the clinic's table into a folder, with a ledger beside it."""
    folder.mkdir(exist_ok=True)
    table = options.pop("table", None) or write_table(folder / "table.csv", rows)
    options = {"again": True, "report": False} | options
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        return release(
            plan(policy(kind, changes)), table, folder / name, ledger=ledger, engine=open_engine("duckdb"), **options
        )
