"""The custodian's report on a release of views: what each view kept, how far it is from the original, and why.

Computed from the original in one pass and from the published files, which are read back; nothing is drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.hierarchy.level import MISSING
from shoal.data.type import spell
from shoal.engine.base import Counts, RecodeRequest, Table
from shoal.guarantee.rounding import text_near
from shoal.page.number_text import NO_NUMBER, share_text, unit_text
from shoal.page.section import Cell, ColumnHead, DataTable, Fact, FactList, Section, Words, heads
from shoal.progress import Stage, each_of
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
from shoal.publish.report.document import MethodSections, report_opening, rows_taking_part
from shoal.publish.report.safe_k import read_published
from shoal.publish.report.sections import SOME_ROWS, curve_section, row_facts
from shoal.publish.run.safe_k import DrawnTable

if TYPE_CHECKING:
    import pyarrow as pa

POOR = 0.2
"""A view further than this from the original is called poor."""


def views_report(
    plan: ViewsPlan, table: Table, made: Sequence[DrawnTable], public: Path, content: dict[str, Any], stage: Stage
) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    originals = table.recode_many([RecodeRequest(each.recoding.levels, None) for each in made])
    people = rows_taking_part(plan, table)
    whole = Original(table)
    views = []
    for each, original in each_of(list(zip(made, originals, strict=True)), stage, "comparing views"):
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
        "guarantee": content["guarantee"],
        "curve": content["curve"],
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
        void, many = _void(one), one["views"]
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


# --- the sections -----------------------------------------------------------------------------------------------------

METHODS = (
    (
        "Kept: the published rows over those expected in the sample. Classes: those published, of those that the original has "
        "under the same labels. In small classes: the original's rows in classes that are expected to bring fewer than k rows "
        "into the sample."
    ),
    (
        "Distance: half the sum, over classes, of the differences between the share of the original's rows and the published "
        "rows over those expected in the sample, with the rows not shown as one more class: 0 where they agree, 1 where nothing "
        "is shown. Views are listed with the farthest first."
    ),
    DETAIL,
    "Nothing was drawn again for this report: the keys of the samples are destroyed.",
)


def views_sections(values: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    views, attributes = values["views"], values["attributes"]
    head = (
        *heads(["attribute"]),
        ColumnHead("detail", numeric=True, note="95\u00a0% interval"),
        *heads(["in view"], ["views", "say little or nothing"]),
    )
    poor = frozenset(place for place, one in enumerate(attributes) if _void(one))
    best = DataTable(head, [_attribute_line(one) for one in attributes], poor)
    every = DataTable(
        heads(["attributes"], ["k", "rate", "kept", "classes", "in small classes", "detail", "distance"]),
        [_view_line(view) for view in views],
    )
    about = "The view in which an attribute has the most detail, and in how many of its views one label has most or all rows."
    return MethodSections(
        rows=[FactList(_row_facts(values))],
        columns=[Section("What each column says", [Words(about, quiet=True), best])],
        findings=[Section("Each view", [every]), curve_section(values)],
        methods=METHODS,
    )


def _row_facts(values: Mapping[str, Any]) -> list[Fact]:
    rows, mean = values["rows"], values["mean_distance"]
    return [
        *row_facts(rows, SOME_ROWS),
        ("published", f"{rows['published']:,}", "in all views together"),
        (
            "suppressed",
            "in each view",
            "sampled rows in classes of fewer than k equal rows; the table of views says how many are kept",
        ),
        ("views", f"{len(values['views']):,}", "each from its own sample"),
        (
            "mean distance",
            unit_text(mean),
            "between the classes of a view and those of the original under the same labels",
        ),
        ("epsilon, composed", values["composed"], f"one after another they would add up to {values['basic']}"),
    ]


def _void(one: Mapping[str, Any]) -> int:
    """In how many views an attribute says nothing or little."""
    return int(one[f"views_saying_{NOTHING}"] + one[f"views_saying_{FEW}"])


def _attribute_line(one: Mapping[str, Any]) -> list[Cell]:
    best = one["best"]
    low, high = best["detail_low"], best["detail_high"]
    between = "" if low is None or low == high else f"{low:.3f} to {high:.3f}"
    return [one["name"], (unit_text(best["detail"]), between), best["view"], f"{one['views']:,}", f"{_void(one):,}"]


def _view_line(view: Mapping[str, Any]) -> list[Cell]:
    return [
        " × ".join(view["columns"]),
        str(view["k"]),
        view["rate"],
        share_text(view["kept"]),
        f"{view['groups']:,} of {view['groups_in']:,}",
        share_text(view["in_small_groups"]),
        " × ".join(NO_NUMBER if own["detail"] is None else f"{own['detail']:.2f}" for own in view["details"].values()),
        unit_text(view["distance"]),
    ]
