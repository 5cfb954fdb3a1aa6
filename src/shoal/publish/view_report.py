"""The holder's report on a release of views: what each view kept, how far it is from the original, and why.

Computed from the original in one pass and from the published files, which are read back; nothing is drawn again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.engine.base import Ask, Counts, Table
from shoal.page.html import page
from shoal.publish.plan import Plan
from shoal.publish.report import MARK, VERSION
from shoal.publish.tables import Made

POOR = 0.2
"""A view further than this from the original is called poor."""


def write_view_report(
    plan: Plan, table: Table, made: Sequence[Made], public: Path, private: Path, content: dict[str, Any]
) -> None:
    """Write report.json and report.html into the holder's folder."""
    values = view_report(plan, table, made, public, content)
    text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False).replace("{\n ", "{", 1) + "\n"
    (private / "report.json").write_text(text, encoding="utf-8", newline="\n")
    (private / "report.html").write_text(_page(values), encoding="utf-8", newline="\n")


def view_report(
    plan: Plan, table: Table, made: Sequence[Made], public: Path, content: dict[str, Any]
) -> dict[str, Any]:
    """The report as plain values."""
    originals = table.at_once([Ask(each.recoding.levels, None) for each in made])
    rows = table.rows()
    promises = [promise for promise, _ in plan.distinct]
    views = []
    for each, original in zip(made, originals, strict=True):
        counts = each.recoding.finish(original).count_by(each.recoding.columns)
        beta = float(promises[each.part].beta)
        views.append(_view(each, counts, _counted(public / each.file), rows, beta))
    distances = [view["total_variation"] for view in views if view["total_variation"] is not None]
    return {
        "for_the_holder_only": MARK,
        "version": VERSION,
        "dataset": content["dataset"],
        "date": content["date"],
        "certificate": content["seal"],
        "sentence": content["sentence"],
        "rows": rows,
        "notes": list(table.notes),
        "mean_total_variation": round(float(np.mean(distances)), 6) if distances else None,
        "composed": content["views"]["composed"],
        "basic": content["views"]["basic"],
        "views": sorted(views, key=lambda view: -(view["total_variation"] or 0.0)),
    }


def _counted(path: Path) -> dict[tuple[str, ...], int]:
    """The groups of a published view, as text."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    if path.suffix == ".parquet":
        table = pq.read_table(path).unify_dictionaries()
    else:
        options = csv.ConvertOptions(strings_can_be_null=True, null_values=[""], quoted_strings_can_be_null=False)
        table = csv.read_csv(path, convert_options=options)
    table = table.rename_columns([str(place) for place in range(table.num_columns)])
    grouped = table.group_by(table.column_names).aggregate([([], "count_all")])
    columns = [[str(v) for v in grouped.column(name).to_pylist()] for name in table.column_names]
    return dict(zip(zip(*columns, strict=True), grouped.column("count_all").to_pylist(), strict=True))


def _view(made: Made, counts: Counts, after: dict[tuple[str, ...], int], rows: int, beta: float) -> dict[str, Any]:
    columns = [[str(value) for value in column.tolist()] for column in counts.tuples]
    before = dict(zip(zip(*columns, strict=True), counts.counts.tolist(), strict=True))
    left, expected = sum(after.values()), rows * beta
    small = sum(n for n in before.values() if n * beta < made.k)
    distance = None
    if rows and left:
        keys = before.keys() | after.keys()
        distance = round(sum(abs(before.get(key, 0) / rows - after.get(key, 0) / left) for key in keys) / 2, 6)
    return {
        "name": made.name,
        "columns": list(made.recoding.columns),
        "k": made.k,
        "rate": f"{beta:.6g}",
        "published": left,
        "kept": round(left / expected, 4) if expected else None,
        "groups": len(after),
        "groups_in": len(before),
        "in_small_groups": round(small / rows, 4) if rows else None,
        "total_variation": distance,
    }


def _page(values: dict[str, Any]) -> str:
    mark, views = values["for_the_holder_only"], values["views"]
    poor = [view for view in views if view["total_variation"] is None or view["total_variation"] > POOR]
    cautions = []
    if poor:
        cautions.append(
            f"{len(poor)} of {len(views)} views are poor: most of their rows stand in groups that a sample does not bring up "
            "to k. Coarser levels, a tree for these attributes, or fewer views (so that each gets more of epsilon) help."
        )
    mean = values["mean_total_variation"]
    text = page(
        "view_report",
        {
            "title": f"For the holder only: report on {values['dataset']}",
            "mark": mark,
            "dataset": values["dataset"],
            "lead": f"Released on {values['date']}; the seal of the certificate begins {values['certificate'][:12]}.",
            "sentence": values["sentence"],
            "cautions": cautions,
            "facts_of_all": [
                (
                    "rows in the original",
                    f"{values['rows']:,}",
                    "after the limit on the rows of one person, if there is one",
                ),
                ("views", f"{len(views):,}", "each from its own sample"),
                (
                    "mean distance",
                    "–" if mean is None else f"{mean:.3f}",
                    "total variation between a view and the original",
                ),
                ("epsilon, composed", values["composed"], f"one after another they would add up to {values['basic']}"),
            ],
            "views": [
                {
                    "columns": " × ".join(view["columns"]),
                    "k": view["k"],
                    "rate": view["rate"],
                    "kept": "–" if view["kept"] is None else f"{100 * view['kept']:.0f}\u00a0%",
                    "groups": f"{view['groups']:,} of {view['groups_in']:,}",
                    "small": "–" if view["in_small_groups"] is None else f"{100 * view['in_small_groups']:.0f}\u00a0%",
                    "distance": "–" if view["total_variation"] is None else f"{view['total_variation']:.3f}",
                }
                for view in views
            ],
            "methods": [
                (
                    "Kept: the published rows over those expected in the sample. Groups: those published, of those that the "
                    "original has under the same labels. In small groups: the original's rows in groups that are expected to "
                    "bring fewer than k rows into the sample."
                ),
                (
                    "Distance: half the sum of the differences between the shares of the original and of the published rows, "
                    "from 0 (equal) to 1. Views are listed with the farthest first."
                ),
                "Nothing was drawn again for this report: the keys of the samples are destroyed.",
            ],
            "footer": mark,
        },
    )
    return f"<!-- {mark} -->\n{text}"
