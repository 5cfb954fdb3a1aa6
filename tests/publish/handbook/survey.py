"""A small table with a column of every type, and releases of it of every kind, for the tests of this folder."""

from __future__ import annotations

import atexit
import random
import shutil
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from tests.publish import box_clinic, centroid_clinic, noisy_clinic
from tests.publish.parts import divided

JOBS = ["nurse", "clerk", "teacher", "cook", "driver", "farmer", "smith", "lawyer"]
ATTRIBUTES = f"""
version: 1
dataset: survey <2026> of *people*
unit: row
neighbours: add_remove
attributes:
  age: {{role: quasi, type: integer, domain: [0, 99], hierarchy: {{intervals: [10, 50]}}}}
  income: {{role: confidential, type: decimal, domain: [0, 1000], hierarchy: {{cuts: [[250, 700]]}}}}
  sex: {{role: quasi, type: category, domain: [f, m], label: "Sex, as stated", value_labels: {{f: female, m: male}}}}
  edu: {{role: quasi, type: ordinal, domain: [none, school, phd], hierarchy: {{groups: {{low: [none, school], high: [phd]}}}}}}
  "job|held": {{role: quasi, type: category, domain: [{", ".join(JOBS)}], hierarchy: auto}}
  smoker: {{role: confidential, type: boolean}}
  seen: {{role: quasi, type: date, domain: [2020-01-01, 2021-12-31], hierarchy: {{date: [month, year]}}}}
  visit: {{role: quasi, type: datetime, domain: [2020-01-01, 2022-01-01], hierarchy: {{date: [day, year]}}}}
"""
LEVELS = "recoding: {levels: {age: 2, income: 1, edu: 1, job|held: 1, seen: 2, visit: 3}}"
HALF = "sampling: {beta: 0.5}"
KINDS = {
    "rows": f"{{method: safe-k, epsilon: 4, delta: 1e-2, output: csv, {LEVELS}}}",
    "parquet": f"{{method: safe-k, epsilon: 3, delta: 1e-2, output: parquet, recoding: {{tree: {{epsilon: 1}}}}, {HALF}}}",
    "repeat": f"{{method: safe-k, epsilon: 8, delta: 1e-2, output: csv, repeat: 2, {LEVELS}}}",
    "trees": "{method: safe-k, epsilon: 6, delta: 1e-2, output: csv, views: {workload: [[age, job|held], [job|held, seen]]}, "
    "recoding: {tree: {epsilon: 2}}, sampling: {beta: 0.5}}",
    "values": f"{{method: safe-k, epsilon: 6, delta: 1e-1, output: csv, views: {{workload: [[age], [smoker, edu]]}}, {HALF}, "
    "recoding: {levels: {age: 0, edu: 0}}}",
    "mixed": f"{{method: safe-k, epsilon: 4, delta: 1e-2, output: csv, counts: singles, {LEVELS}}}",
    "groups": "{method: microaggregation, k: 4, output: csv}",
    "labels": "{method: microaggregation, k: 4, show: label, output: csv}",
    "exchanged": "{method: probabilistic-k, k: 4, output: csv}",
}
"""The release block of each kind."""
OF_CLINIC = ("counts-declared", "synthetic-parquet")
"""Kinds of the clinic's table: they take long for many columns."""
OF_EARNINGS = {"centroids": "mixed", "ranks": "ranking"}
"""Kinds of noisy centroids, whose values are never missing."""
PARTS = "parts"
"""The rows of `parquet` in a table of several parts."""
EVERY = (*KINDS, *OF_CLINIC, *OF_EARNINGS, "boxes", PARTS)


def write_table(path: Path, rows: int = 1500) -> Path:
    """Made-up people, some of whose values are missing."""
    chance = random.Random(3)  # noqa: S311 - made-up people

    def maybe(value: object) -> object:
        return "" if chance.random() < 0.04 else value

    lines = ["age,income,sex,edu,job|held,smoker,seen,visit"]
    for _ in range(rows):
        day = date(2020, 1, 1) + timedelta(days=chance.randrange(700))
        time = datetime(2020, 1, 1) + timedelta(minutes=chance.randrange(1_000_000))  # noqa: DTZ001 - a table has no zones
        cells = (
            chance.randrange(100), chance.randrange(1000) / 4, chance.choice("fm"), chance.choice(["none", "school", "phd"]),
            chance.choice(JOBS), chance.choice(["true", "false"]), day, time,
        )  # fmt: skip
        lines.append(",".join(str(maybe(cell)) for cell in cells))
    path.write_text("\n".join(lines) + "\n")
    return path


_PLACES: dict[str, Path] = {}


def released(kind: str) -> Path:
    """A release of one kind; made once for all tests of a process, and not to be changed."""
    if kind not in _PLACES:
        _PLACES[kind] = _release(kind)
    return _PLACES[kind]


def _release(kind: str) -> Path:
    place = Path(mkdtemp(prefix="survey-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    if kind in OF_CLINIC:
        return noisy_clinic.publish(place, kind, rows=200).folder
    if kind == PARTS:
        return divided(released("parquet"), place / "out", 40)
    if kind == "boxes":
        return box_clinic.publish(place, rows=200).folder
    if kind in OF_EARNINGS:
        return centroid_clinic.publish(place, centroid_clinic.KINDS[OF_EARNINGS[kind]]).folder
    table = write_table(place / "table.csv")
    policy = Policy.parse(f"{ATTRIBUTES}release: {KINDS[kind]}\nbudget: {{epsilon: 100, delta: 1e-1}}\n")
    with Ledger(str(place / "ledger.sqlite")) as ledger:
        return release(plan(policy), table, place / "out", ledger=ledger, engine=open_engine(), report=False).folder
