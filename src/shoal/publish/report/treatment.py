"""What the treatments before a method did to the table: a section of the custodian's report, whatever the method is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.anonymize.treatment.base import Treatment
from shoal.anonymize.treatment.steps import ChangeCount
from shoal.page.html import page
from shoal.publish.folder import MARK, REPORT_PAGE, write_report

ABOUT = (
    "Before the method the values were treated, in this order. All other figures of this report compare the release with the "
    "table after these steps; what the steps themselves changed is here, and nowhere in the release."
)


def add_treatments(
    folder: Path, values: Mapping[str, Any], treatments: Sequence[Treatment], changes: Sequence[ChangeCount]
) -> dict[str, Any]:
    """Write the report again, with how many values each step changed; its plain values."""
    listed = [
        {"kind": each.kind, "attribute": each.attribute, "changed": each.changed, "values": each.values}
        for each in changes
    ]
    found = {**values, "treatments": listed}
    rows = [
        (
            each.kind.replace("_", " "),
            each.attribute,
            f"{each.changed:,}",
            _share(each),
            _words(treatments, place, changes),
        )
        for place, each in enumerate(changes)
    ]
    section = page("treatment_report", {"about": ABOUT, "rows": rows})
    text = (folder / REPORT_PAGE).read_text(encoding="utf-8").removeprefix(f"<!-- {MARK} -->\n")
    before, mark, after = text.rpartition("<footer>")
    write_report(folder, found, f"{before}{section}{mark}{after}")
    return found


def _share(change: ChangeCount) -> str:
    return f"{change.changed / change.values:.1%}" if change.values else "-"


def _words(treatments: Sequence[Treatment], place: int, changes: Sequence[ChangeCount]) -> str:
    """The sentence of the step that a line is about, at its first line alone."""
    starts, line = {}, 0
    for each in treatments:
        starts[line] = each.words()
        line += len(each.attributes)
    return starts.get(place, "") if line == len(changes) else ""
