"""The clinic's table released as a plain sample."""

from __future__ import annotations

import random
from pathlib import Path

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import Release, release
from tests.publish.clinic import POLICY as CLINIC

ATTRIBUTES = CLINIC.partition("release:")[0].replace("add_remove", "replace_one")
METHOD = "release: {method: sample, epsilon: 0.5, delta: 0.01, recoding: {levels: {age: 2}}, output: csv}"


def policy(changes: dict[str, object] | None = None) -> Policy:
    """The policy of a plain sample, with some keys changed."""
    found = Policy.parse(ATTRIBUTES + METHOD)
    return found.with_changes(changes) if changes else found


def write_table(path: Path, rows: int = 900, rare: int = 4, seed: int = 2) -> Path:
    """A CSV of made-up patients, of whom the last few have a rare diagnosis; each has two rows by one name."""
    chance = random.Random(seed)  # noqa: S311 - made-up patients
    lines = ["patient,age,sex,diag"]
    for number in range(rows):
        diag = "rare" if number >= rows - rare else chance.choice(["flu", "cold"])
        lines.append(f"p{number // 2},{chance.randrange(100)},{chance.choice('fm')},{diag}")
    path.write_text("\n".join(lines) + "\n")
    return path


def publish(
    folder: Path, name: str = "out", changes: dict[str, object] | None = None, *, rare: int = 0, **options
) -> Release:
    """Plan and release the table into a folder, with a ledger beside it."""
    folder.mkdir(exist_ok=True)
    table = options.pop("table", None) or write_table(folder / "table.csv", rare=rare)
    options.setdefault("again", True)
    options.setdefault("report", False)
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        engine = open_engine("duckdb")
        return release(plan(policy(changes)), table, folder / name, ledger=ledger, engine=engine, **options)
