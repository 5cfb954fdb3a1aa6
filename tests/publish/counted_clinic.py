"""The clinic's table released by near neighbours."""

from __future__ import annotations

from pathlib import Path

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import Release, release
from tests.publish.clinic import POLICY as CLINIC
from tests.publish.clinic import write_table

ATTRIBUTES = CLINIC.partition("release:")[0].replace(", hierarchy: {intervals: [10, 50]}", "")
"""The clinic's, with ages as they are."""
METHODS = {
    "microaggregation": "release: {method: microaggregation, k: 5, output: csv}",
    "diverse": "release: {method: microaggregation, k: 5, l: 2, t: 0.4, show: label, output: csv}",
    "mondrian": "release: {method: microaggregation, k: 5, grouping: mondrian, output: csv}",
    "swap": "release: {method: probabilistic-k, k: 5, output: csv}",
}


def policy(which: str, changes: dict[str, object] | None = None) -> Policy:
    """One of the policies, with some keys changed."""
    found = Policy.parse(ATTRIBUTES + METHODS[which])
    return found.with_changes(changes) if changes else found


def publish(
    folder: Path, which: str, changes: dict[str, object] | None = None, *, name: str = "out", rows: int = 300, **options
) -> Release:
    """Plan and release the clinic's table into a folder, with a ledger beside it."""
    table = options.pop("table", None) or write_table(folder / "table.csv", rows)
    options.setdefault("again", True)
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        return release(
            plan(policy(which, changes)), table, folder / name, ledger=ledger, engine=open_engine("duckdb"), **options
        )
