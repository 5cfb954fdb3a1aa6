"""Made-up earnings for tests of noisy centroids: numbers, ordered values, dates, and names with and without a hierarchy."""

from __future__ import annotations

import csv
import random
from pathlib import Path

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.centroids import CentroidsPlan
from shoal.publish.run.release import Release, release

ROWS = 120
POLICY = """
version: 1
dataset: earnings
unit: row
neighbours: replace_one
attributes:
  person: {role: identifier, type: text}
  pay: {role: confidential, type: integer, domain: [0, 1000], missing: refuse}
  rate: {role: other, type: decimal, domain: [0, 2.5], missing: refuse}
  grade: {role: quasi, type: ordinal, domain: [low, mid, high], missing: refuse}
  hired: {role: quasi, type: date, domain: [2020-01-01, 2025-12-31], missing: refuse}
  town:
    role: quasi
    type: category
    hierarchy: {taxonomy: {England: {North: [Leeds, York], South: [Bath, Truro]}}}
    missing: refuse
  sex: {role: quasi, type: category, domain: [f, m], missing: refuse}
  union: {role: other, type: boolean, missing: refuse}
release:
  method: dp-microaggregation
  grouping: insensitive
  epsilon: 8
  rows: 120
  output: csv
budget: {epsilon: 600, delta: 1e-2}
"""
KINDS: dict[str, dict[str, object]] = {
    "mixed": {},
    "numeric": {"town": "drop", "sex": "drop", "union": "drop"},
    "categorical": {"pay": "drop", "rate": "drop", "grade": "drop", "hired": "drop"},
    "ranking": {"town": "drop", "sex": "drop", "union": "drop", "release.grouping": "ranking"},
}
"""Changes of the policy for tables of each kind; an attribute that is `drop` is not published."""


def policy(changes: dict[str, object] | None = None) -> Policy:
    """The policy, with some keys changed; `drop` in the place of an attribute gives it that role."""
    written = {}
    for key, value in (changes or {}).items():
        written |= {f"attributes.{key}": {"role": "drop"}} if value == "drop" else {key: value}
    found = Policy.parse(POLICY)
    return found.with_changes(written) if written else found


def planned(changes: dict[str, object] | None = None) -> CentroidsPlan:
    """Its plan."""
    return CentroidsPlan.of(policy(changes))


def write_table(path: Path, rows: int = ROWS, seed: int = 1, people: int | None = None) -> Path:
    """A CSV of made-up people, in which pay and grade go together; with `people`, some have several rows."""
    chance = random.Random(seed)  # noqa: S311 - made-up people
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["person", "pay", "rate", "grade", "hired", "town", "sex", "union"])
        for row in range(rows):
            who = row if people is None or row < people else chance.randrange(people)
            grade = chance.randrange(3)
            pay = min(1000, int(chance.gauss(200 + 250 * grade, 60)))
            hired = f"202{chance.randrange(6)}-0{chance.randrange(1, 10)}-1{chance.randrange(10)}"
            town = chance.choice(["Leeds", "Leeds", "York", "Bath", "Truro"])
            union = chance.choice(["true", "false"])
            rate = f"{chance.random() * 2.5:.3f}"
            out.writerow(
                [f"p{who}", max(0, pay), rate, ["low", "mid", "high"][grade], hired, town, chance.choice("fm"), union]
            )
    return path


def publish(
    folder: Path, changes: dict[str, object] | None = None, *, name: str = "out", rows: int = ROWS, **options
) -> Release:
    """Plan and release the table into a folder, with a ledger beside it, and with the custodian's report if it is asked for."""
    table = options.pop("table", None) or write_table(folder / "table.csv", rows)
    options = {"again": True, "report": False} | options
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        return release(planned(changes), table, folder / name, ledger=ledger, engine=open_engine("duckdb"), **options)
