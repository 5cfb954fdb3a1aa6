"""The holder's report: what went in, what came out and what got lost, for nobody's eyes but the custodian's.

It is computed from the original table through engine verbs and from the published files, which are read back. The
sample itself is gone with its key and is never drawn again: what was sampled and suppressed is an estimate.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.base import Recoding
from shoal.anonymize.generalize.grid import Grid
from shoal.anonymize.generalize.tree.boxes import Boxes
from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING, IntervalLevel, Level, ValueLevel
from shoal.data.schema import Attribute
from shoal.data.type import Type
from shoal.engine.base import Table
from shoal.engine.column import Column
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.safe_k.frontier import frontier
from shoal.guarantee.sentences import about_people, short
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.plan.solve import promise_with
from shoal.publish.report.column_detail import (
    ColumnDetail,
    Expected,
    Original,
    added,
    by_label,
    column_detail,
    distance_by_chance,
    said_first,
)

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
MARK = "For the holder only: computed from the original table. Keep it with the table; do not publish it, do not pass it on."
MOST_LABELS = 20
"""Labels of a column that are shown; the others are added up."""
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
CONFIDENCE = 0.95


def write_report(
    plan: SafeKPlan, table: Table, recoding: Recoding, public: Path, private: Path, content: dict[str, Any]
) -> dict[str, Any]:
    """Write report.json and report.html into the holder's folder; the public folder is read and left as it is."""
    from shoal.publish.report.safe_k_page import report_page

    values = report(plan, table, recoding, public, content)
    # The mark is on the file's first line, not below a lone brace.
    text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False).replace("{\n ", "{", 1) + "\n"
    (private / "report.json").write_text(text, encoding="utf-8", newline="\n")
    (private / "report.html").write_text(report_page(plan, values), encoding="utf-8", newline="\n")
    return values


def report(plan: SafeKPlan, table: Table, recoding: Recoding, public: Path, content: dict[str, Any]) -> dict[str, Any]:
    """The report as plain values."""
    recoded = recoding.apply(table)
    files = [entry["file"] for entry in content["tables"]]
    shown = [published(public / name, recoded) for name in files]
    rows = _rows(plan, table, sum(part.num_rows for part in shown))
    sizes = [_group_sizes(part) for part in shown]
    labels = {name: (by_label(recoded.count_by([name])), _published_labels(name, shown)) for name in recoded.columns}
    sampled = Expected(rows["sampled"]["expected"], rows["sampled"]["standard_deviation"])
    original = Original(table)
    details = {
        name: column_detail(recoding, original, name, before, after, sampled)
        for name, (before, after) in labels.items()
    }
    columns = [_column(plan, recoding, name, *labels[name], details[name], rows) for name in recoded.columns]
    for column in columns:
        says = details[column["name"]].says
        column["distance_spread_evenly"] = _spread(recoding, original, column["name"], shown) if says is None else None
    return {
        "for_the_holder_only": MARK,
        "version": VERSION,
        "dataset": content["dataset"],
        "date": content["date"],
        "certificate": content["seal"],
        "sentence": content["sentence"],
        "rows": rows,
        "cautions": _cautions(plan, rows, columns, details),
        "notes": list(table.notes),
        "tables": [
            {"file": name, "rows": part.num_rows, "groups": len(own)}
            for name, part, own in zip(files, shown, sizes, strict=True)
        ],
        "groups": _groups(plan.promise.k, np.concatenate(sizes)),
        "columns": columns,
        "frontier": _frontier(plan, rows["taking_part"]),
    }


# --- rows ---------------------------------------------------------------------------------------------------------


def _rows(plan: SafeKPlan, table: Table, published: int) -> dict[str, Any]:
    """Counts in and out; sampled and suppressed with what is known of them now that the key is destroyed."""
    count, taking_part, people = table.rows(), rows_taking_part(plan, table), None
    unit, beta = plan.method.unit, float(plan.promise.beta)
    if unit.whose == "person" and unit.column is not None:
        people = len(table.count_by([unit.column]).counts)
    rate = 1.0 if plan.method.drawn_before else beta
    expected = plan.repeat * taking_part * rate
    deviation = math.sqrt(plan.repeat * taking_part * rate * (1 - rate))
    low, high = (max(0, end - published) for end in sample_sizes(plan.repeat * taking_part, rate))
    return {
        "in": count,
        "people": people,
        "taking_part": taking_part,
        "releases": plan.repeat,
        "rate": exact_text(plan.promise.beta),
        "table_is_the_sample": plan.method.drawn_before,
        "sampled": {"expected": round(expected, 1), "standard_deviation": round(deviation, 1)},
        "published": published,
        "suppressed": {
            "estimate": round(max(0.0, expected - published), 1),
            "low": low,
            "high": high,
            "method": "expected sampled less published; between the ends that hold the sample's size with 95 % or more, less "
            "published (exact binomial)",
        },
        "kept": round(published / expected, 4) if expected else None,
    }


def sample_sizes(rows: int, rate: float, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """The ends between which the size of a sample lies with this probability or more: quantiles of the binomial law."""
    from shoal.assess.release.bounds import at_most

    def least(share: float) -> int:
        low, high = -1, rows
        while high - low > 1:
            middle = (low + high) // 2
            reached = float(at_most(np.array([float(middle)]), np.array([float(rows)]), rate)[0]) >= share
            low, high = (low, middle) if reached else (middle, high)
        return high

    if rate >= 1:
        return rows, rows
    return least((1 - confidence) / 2), least((1 + confidence) / 2)


def rows_taking_part(plan: SafeKPlan, table: Table) -> int:
    """How many rows are left when each person has at most as many as the unit allows."""
    unit = plan.method.unit
    if unit.whose != "person" or unit.column is None:
        return table.rows()
    return int(np.minimum(table.count_by([unit.column]).counts, unit.max_rows).sum())


def _cautions(
    plan: SafeKPlan, rows: dict[str, Any], columns: list[dict[str, Any]], details: dict[str, ColumnDetail]
) -> list[str]:
    found = said_first(details)
    if rows["in"] and not rows["published"]:
        found.append(
            "No row was published: every group is smaller than k. Coarser labels or fewer columns make larger groups."
        )
    elif rows["kept"] is not None and rows["kept"] < 0.5:
        found.append(
            f"The published rows are only {100 * rows['kept']:.0f}\u00a0% of the sample's expected size; sampled rows in groups "
            "smaller than k are not published. Coarser labels or fewer columns make larger groups."
        )
    gone = [column["name"] for column in columns if column["labels_in"] > column["labels_published"] > 0]
    if gone:
        found.append(
            f"Some labels do not occur in the published table at all, in {len(gone)} of {len(columns)} columns: an "
            "analyst cannot tell whether they occur in the original."
        )
    people = rows["people"] or rows["in"]
    named = "rows" if plan.unit.whose == "row" else "units"
    risk = about_people(people, promise_with(plan.promise, plan.total.delta), named) if people else None
    if risk:
        found.append(risk + ".")
    return found


# --- published files ----------------------------------------------------------------------------------------------


def published(path: Path, recoded: Table) -> pa.Table:
    """A published table, read back with the types that its labels have."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        # Each stretch of rows brings its own list of labels; grouping needs one list.
        return pq.read_table(path).unify_dictionaries()
    from pyarrow import csv

    types = {name: Column(name, kind).arrow_type() for name, kind in recoded.types.items()}
    options = csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    return csv.read_csv(path, convert_options=options)


def _group_sizes(part: pa.Table) -> npt.NDArray[np.int64]:
    numbered = part.rename_columns([str(place) for place in range(part.num_columns)])
    grouped = numbered.group_by(numbered.column_names).aggregate([([], "count_all")])
    return np.sort(grouped.column("count_all").to_numpy().astype(np.int64))


def _groups(k: int, sizes: npt.NDArray[np.int64]) -> dict[str, Any]:
    """How large the published groups are: quantiles over groups and over rows, and a histogram that doubles."""
    sizes = np.sort(sizes)
    ends, bins = np.cumsum(sizes), []
    low = k
    while len(sizes) and low <= sizes[-1]:
        inside = sizes[(sizes >= low) & (sizes < 2 * low)]
        bins.append({"from": low, "to": 2 * low - 1, "groups": len(inside), "rows": int(inside.sum())})
        low *= 2
    return {
        "count": len(sizes),
        "smallest": int(sizes[0]) if len(sizes) else None,
        "largest": int(sizes[-1]) if len(sizes) else None,
        "quantiles": [
            {
                "share": share,
                "of_groups": int(sizes[max(0, math.ceil(share * len(sizes)) - 1)]),
                "of_rows": int(sizes[np.searchsorted(ends, max(1.0, share * int(ends[-1])))]),
            }
            for share in (SHARES if len(sizes) else ())
        ],
        "histogram": bins,
    }


# --- columns ------------------------------------------------------------------------------------------------------


def _column(
    plan: SafeKPlan,
    recoding: Recoding,
    name: str,
    before: dict[str, int],
    after: dict[str, int],
    detail: ColumnDetail,
    rows: dict[str, Any],
) -> dict[str, Any]:
    """One column before (original, same labels) and after (published), with the distance between the two."""
    attribute = plan.policy.schema[name]
    level = recoding.levels[name] if isinstance(recoding, Grid) else None
    total, left, expected = rows["in"], rows["published"], rows["sampled"]["expected"]
    listed = [_label(label, before[label], after.get(label, 0), total, left, expected) for label in before]
    order = _order(attribute, level, list(before))
    largest = sorted(before, key=lambda label: (-before[label], order[label]))
    chosen = (
        sorted(largest[:MOST_LABELS], key=lambda label: order[label])
        if _ordered(attribute, level)
        else largest[:MOST_LABELS]
    )
    place = {entry["label"]: entry for entry in listed}
    others = largest[MOST_LABELS:]
    rest = _label("", sum(before[o] for o in others), sum(after.get(o, 0) for o in others), total, left, expected)
    hierarchy = attribute.hierarchy
    return {
        "name": name,
        "level": recoding.indices.get(name, 0) if isinstance(recoding, Grid) else None,
        "levels": len(hierarchy) if hierarchy else 1,
        "boxes": len(recoding) if isinstance(recoding, Boxes) else None,
        **detail.to_json(),
        "distance_by_chance": _by_chance(before, expected, rows),
        "labels_in": len(before),
        "labels_published": len(after),
        "rows_of_labels_gone": sum(before[label] for label in before if label not in after),
        "labels": [place[label] for label in chosen],
        "rest": {**rest, "label": None, "labels": len(others)} if others else None,
    }


def _spread(recoding: Recoding, original: Original, name: str, shown: Sequence[pa.Table]) -> float | None:
    """How far the published labels, spread evenly over the cells they stand for, are from the original's cells."""
    if not isinstance(recoding, Boxes):
        return None
    cells = recoding.tree.layout.sides[recoding.columns.index(name)].cells
    before = original.cells(name, cells.level)
    after = recoding.spread(name, _published_labels(name, shown))
    total, left = sum(before.values()), sum(after.values())
    if not total or not left:
        return None
    return round(sum(abs(before.get(cell, 0) / total - count / left) for cell, count in after.items()) / 2, 6)


def _published_labels(name: str, shown: Sequence[pa.Table]) -> dict[str, int]:
    return added(
        (pair["values"], pair["counts"]) for part in shown for pair in part.column(name).value_counts().to_pylist()
    )


def _label(label: str, before: int, after: int, total: int, left: int, expected: float) -> dict[str, Any]:
    """One label: rows and share before and after, the estimate that an analyst would make, and the share kept."""
    estimate = after * total / expected if expected else 0.0
    return {
        "label": label,
        "rows": before,
        "share": round(before / total, 6) if total else 0.0,
        "published": after,
        "published_share": round(after / left, 6) if left else 0.0,
        "estimate": round(estimate, 1),
        "kept": round(estimate / before, 4) if before else None,
    }


def _by_chance(before: dict[str, int], expected: float, rows: dict[str, Any]) -> float | None:
    share = expected / (rows["releases"] * rows["in"]) if rows["in"] else 0.0
    found = distance_by_chance(before, expected, share)
    return None if found is None else round(found, 6)


def _ordered(attribute: Attribute, level: Level | None) -> bool:
    return isinstance(level, IntervalLevel) or (
        isinstance(level, ValueLevel) and (attribute.type.numeric or attribute.type in (Type.ORDINAL, Type.BOOLEAN))
    )


def _order(attribute: Attribute, level: Level | None, labels: list[str]) -> dict[str, int]:
    """The natural place of each label: by the level, by the declared domain, else as the engine sorts; missing last."""
    declared = (
        attribute.domain.values if isinstance(attribute.domain, Values) and isinstance(level, ValueLevel) else None
    )
    known = {label: place for place, label in enumerate((level.labels if level else None) or declared or labels)}
    return {label: known.get(label, len(known)) if label != MISSING else len(known) + 1 for label in labels}


# --- other choices ------------------------------------------------------------------------------------------------


def _frontier(plan: SafeKPlan, taking_part: int) -> list[dict[str, Any]]:
    """k and beta that keep the same promise, and how many rows they would sample; nothing is tried on the table."""
    choices, found = frontier(plan.promise, lambda: None), []
    finest = min((choice.class_size for choice in choices), default=0.0)
    first = next((choice.k for choice in choices if choice.class_size == finest), 0)
    for choice in choices:
        own = choice.k == plan.promise.k
        rate: Fraction = plan.promise.beta if own else choice.beta
        found.append(
            {
                "k": choice.k,
                "beta": short(rate, cost=False),
                "group_needed": math.ceil(choice.k / rate),
                "sampled_expected": round(float(taking_part * rate), 1),
                "meaning": choice.meaning,
                "dominated": choice.k < first,
                "this_plan": own,
            }
        )
    return found
