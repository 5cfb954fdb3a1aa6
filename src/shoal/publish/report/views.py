"""The custodian's report on a release of views: what each view kept, how far it is from the original, and why.

Computed from the original in one pass and from the published files, which are read back; nothing is drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.hierarchy.level import MISSING
from shoal.data.type import spell
from shoal.engine.base import Counts, RecodeRequest, Table
from shoal.guarantee.rounding import text_near
from shoal.page.html import page
from shoal.publish.folder import write_report
from shoal.publish.plan.views import ViewsPlan
from shoal.publish.report.column_detail import (
    DETAIL,
    FEW,
    NOTHING,
    Original,
    SampleSize,
    by_label,
    column_detail,
    count_labels,
    distance,
)
from shoal.publish.report.safe_k import page_opening, read_published, report_opening, rows_taking_part
from shoal.publish.run.safe_k import DrawnTable

if TYPE_CHECKING:
    import pyarrow as pa

POOR = 0.2
"""A view further than this from the original is called poor."""


def write_views_report(
    plan: ViewsPlan, table: Table, made: Sequence[DrawnTable], public: Path, private: Path, content: dict[str, Any]
) -> dict[str, Any]:
    """Write report.json and report.html into the custodian's folder."""
    values = views_report(plan, table, made, public, content)
    write_report(private, values, views_page(values))
    return values


def views_report(
    plan: ViewsPlan, table: Table, made: Sequence[DrawnTable], public: Path, content: dict[str, Any]
) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    originals = table.recode_many([RecodeRequest(each.recoding.levels, None) for each in made])
    people = rows_taking_part(plan, table)
    whole = Original(table)
    views = []
    for each, original in zip(made, originals, strict=True):
        recoded = each.recoding.finish(original)
        counts = recoded.count_by(each.recoding.columns)
        beta = float(each.promise.beta)
        expected = SampleSize(people * beta, math.sqrt(people * beta * (1 - beta)))
        after = _class_sizes(read_published(public / each.file, recoded))
        views.append(_view(each, counts, after, table.rows(), beta, expected))
        views[-1]["details"] = {
            name: column_detail(each.recoding, whole, name, by_label(counts, at), _along(after, at), expected).to_json()
            for at, name in enumerate(each.recoding.columns)
        }
    distances = [view["distance"] for view in views if view["distance"] is not None]
    attributes = _attributes(views)
    return {
        **report_opening(content),
        "rows": {
            "in": table.rows(),
            "taking_part": people,
            "published": sum(view["published"] for view in views),
        },
        "cautions": _cautions(views, attributes),
        "notes": list(table.notes),
        "mean_distance": round(float(np.mean(distances)), 6) if distances else None,
        "attributes": attributes,
        "composed": content["views"]["epsilon_composed"],
        "basic": content["views"]["epsilon_added_up"],
        "views": sorted(views, key=lambda view: -(view["distance"] or 0.0)),
    }


def _class_sizes(table: pa.Table) -> dict[tuple[str, ...], int]:
    """The classes of a published view and their sizes, by their labels."""
    table = table.rename_columns([str(place) for place in range(table.num_columns)])
    grouped = table.group_by(table.column_names).aggregate([([], "count_all")])
    columns = [_texts(grouped.column(name).to_pylist()) for name in table.column_names]
    return dict(zip(zip(*columns, strict=True), grouped.column("count_all").to_pylist(), strict=True))


def _texts(values: Iterable[object]) -> list[str]:
    return [MISSING if value is None else spell(value) for value in values]


def _along(groups: dict[tuple[str, ...], int], at: int) -> dict[str, int]:
    return count_labels((labels[at], count) for labels, count in groups.items())


def _attributes(views: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each attribute where it is shown best: the most detail of any view, and in how many views it says nothing or little."""
    found: dict[str, list[dict[str, Any]]] = {}
    for view in views:
        for name, own in view["details"].items():
            found.setdefault(name, []).append({**own, "view": view["name"]})
    listed = []
    for name, several in found.items():
        best = max(several, key=lambda own: own["detail"] or 0.0)
        counts = {f"views_saying_{says}": sum(own["says"] == says for own in several) for says in (NOTHING, FEW)}
        listed.append({"name": name, "views": len(several), **counts, "best": best})
    return sorted(listed, key=lambda one: one["best"]["detail"] or 0.0)


def _cautions(views: Sequence[dict[str, Any]], attributes: Sequence[dict[str, Any]]) -> list[str]:
    found = []
    for one in attributes:
        void, many = one[f"views_saying_{NOTHING}"] + one[f"views_saying_{FEW}"], one["views"]
        where = (
            "in its view"
            if many == 1
            else f"in all {many} views that hold it"
            if void == many
            else f"in {void} of {many} views"
        )
        if void == many and one["best"]["says"] == NOTHING:
            found.append(f"'{one['name']}' says nothing {where}: all published rows of a view show the same label.")
        elif void:
            found.append(
                f"'{one['name']}' says little or nothing {where}: one label has most or all of the published rows."
            )
    poor = [view for view in views if view["distance"] is None or view["distance"] > POOR]
    if poor:
        found.append(
            f"{len(poor)} of {len(views)} views are poor: most of their rows are in classes that a sample does not bring up "
            "to k. Coarser levels, a tree for these attributes, or fewer views (so that each gets more of epsilon) help."
        )
    return found


def _view(
    table: DrawnTable, counts: Counts, after: dict[tuple[str, ...], int], rows: int, beta: float, expected: SampleSize
) -> dict[str, Any]:
    columns = [_texts(column.tolist()) for column in counts.tuples]
    before = dict(zip(zip(*columns, strict=True), counts.counts.tolist(), strict=True))
    left, kept = sum(after.values()), expected.rows / rows if rows else 0.0
    small = sum(n for n in before.values() if n * kept < table.promise.k)
    far = distance(before, after, expected.rows)
    return {
        "name": table.view,
        "columns": list(table.recoding.columns),
        "k": table.promise.k,
        "rate": text_near(beta),
        "published": left,
        "kept": round(left / expected.rows, 4) if expected.rows else None,
        "groups": len(after),
        "groups_in": len(before),
        "in_small_groups": round(small / rows, 4) if rows else None,
        "distance": None if far is None else round(far, 6),
    }


def views_page(values: dict[str, Any]) -> str:
    """The custodian's report on views as a page of HTML without scripts, from its plain values."""
    views, rows = values["views"], values["rows"]
    mean = values["mean_distance"]
    return page(
        "view_report",
        {
            **page_opening(values),
            "facts_of_all": [
                ("rows in the original", f"{rows['in']:,}", ""),
                *(
                    [("taking part", f"{rows['taking_part']:,}", "after the limit on the rows of one unit")]
                    if rows["taking_part"] != rows["in"]
                    else []
                ),
                ("rows published", f"{rows['published']:,}", "of all views together"),
                ("views", f"{len(views):,}", "each from its own sample"),
                (
                    "mean distance",
                    "–" if mean is None else f"{mean:.3f}",
                    "between the classes of a view and those of the original under the same labels",
                ),
                ("epsilon, composed", values["composed"], f"one after another they would add up to {values['basic']}"),
            ],
            "attributes": [_attribute_line(one) for one in values["attributes"]],
            "views": [
                {
                    "columns": " × ".join(view["columns"]),
                    "k": view["k"],
                    "rate": view["rate"],
                    "kept": "–" if view["kept"] is None else f"{100 * view['kept']:.0f}\u00a0%",
                    "groups": f"{view['groups']:,} of {view['groups_in']:,}",
                    "small": "–" if view["in_small_groups"] is None else f"{100 * view['in_small_groups']:.0f}\u00a0%",
                    "distance": "–" if view["distance"] is None else f"{view['distance']:.3f}",
                    "detail": " × ".join(
                        "–" if own["detail"] is None else f"{own['detail']:.2f}" for own in view["details"].values()
                    ),
                }
                for view in views
            ],
            "methods": [
                (
                    "Kept: the published rows over those expected in the sample. Classes: those published, of those that the "
                    "original has under the same labels. In small classes: the original's rows in classes that are expected to "
                    "bring fewer than k rows into the sample."
                ),
                (
                    "Distance: half the sum, over classes, of the differences between the share of the original's rows and the "
                    "published rows over those expected in the sample, with the rows not shown as one more class: 0 where they "
                    "agree, 1 where nothing is shown. Views are listed with the farthest first."
                ),
                DETAIL,
                "Nothing was drawn again for this report: the keys of the samples are destroyed.",
            ],
        },
    )


def _attribute_line(one: dict[str, Any]) -> dict[str, Any]:
    best, void = one["best"], one[f"views_saying_{NOTHING}"] + one[f"views_saying_{FEW}"]
    low, high = best["detail_low"], best["detail_high"]
    return {
        "name": one["name"],
        "views": f"{one['views']:,}",
        "detail": "–" if best["detail"] is None else f"{best['detail']:.3f}",
        "between": "" if low is None or low == high else f"{low:.3f} to {high:.3f}",
        "where": best["view"],
        "void": f"{void:,}",
        "poor": void > 0,
    }
