"""Made-up earnings as rows inside boxes, for the tests of that grouping; the table is that of noisy centroids."""

from __future__ import annotations

from pathlib import Path

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.publish.plan.boxes import BoxesPlan
from shoal.publish.run.release import Release, release
from tests.publish import centroid_clinic
from tests.publish.centroid_clinic import write_table

ROWS = 400
BOXES: dict[str, object] = {"release.grouping": "boxes", "release.rows": None, "neighbours": "add_remove"}
"""What makes the policy of noisy centroids one of boxes."""
KINDS: dict[str, dict[str, object]] = {
    "mixed": {},
    "numeric": {"town": "drop", "sex": "drop", "union": "drop"},
    "categorical": {"pay": "drop", "rate": "drop", "grade": "drop", "hired": "drop"},
    "person": {"unit": {"column": "person", "max_rows": 3}, "neighbours": "replace_one"},
}
"""Changes of the policy for tables of each kind."""


def planned(changes: dict[str, object] | None = None) -> BoxesPlan:
    """The plan of the policy, with some keys changed."""
    return BoxesPlan.of(centroid_clinic.policy({**BOXES, **(changes or {})}))


def publish(
    folder: Path, changes: dict[str, object] | None = None, *, name: str = "out", rows: int = ROWS, **options
) -> Release:
    """Plan and release the table into a folder, with a ledger beside it; without the custodian's report unless asked for."""
    folder.mkdir(exist_ok=True)
    table = options.pop("table", None) or write_table(folder / "table.csv", rows)
    options = {"again": True, "report": False} | options
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        return release(planned(changes), table, folder / name, ledger=ledger, engine=open_engine("duckdb"), **options)
