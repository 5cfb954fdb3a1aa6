"""The holder's report on groups of near neighbours: what was lost, what an intruder could still match, and what groups give away.

It is computed from the records before and after, which stand in the same order until the table is written, and from the
groups, which are not published. Nothing is drawn again but the rows of a large table on which linkage is tried.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.mdav import Labels
from shoal.anonymize.method.clusters import Masked
from shoal.anonymize.method.microaggregation import ALL, Microaggregation
from shoal.assess.disclosure.report import Confidential
from shoal.assess.distortion.correlation import correlation_change
from shoal.assess.distortion.information_loss import Change, distortion
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.report.columns import Compared, as_numbers, compared, picture
from shoal.publish.report.linkage import matched
from shoal.publish.report.safe_k import MARK, VERSION
from shoal.publish.verify.recount import bare, distance_of, hidden_groups, observed

MUCH = 50.0
"""A loss of more than this share of the variance is a caution."""
MOST_PAIRS = 20
"""Correlations that are listed: those that moved most."""


def write_report(
    plan: SyntacticPlan, table: Table, masked: Masked, private: Path, content: dict[str, Any]
) -> dict[str, Any]:
    """Write report.json and report.html into the holder's folder."""
    from shoal.publish.report.counted_page import report_page

    values = report(plan, table, masked, content)
    # The mark is on the file's first line, not below a lone brace.
    text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False).replace("{\n ", "{", 1) + "\n"
    (private / "report.json").write_text(text, encoding="utf-8", newline="\n")
    (private / "report.html").write_text(report_page(values), encoding="utf-8", newline="\n")
    return values


def report(plan: SyntacticPlan, table: Table, masked: Masked, content: dict[str, Any]) -> dict[str, Any]:
    """The report as plain values."""
    schema, rules = plan.policy.schema, plan.method.rules(plan.policy.schema)
    treated = [attribute for attribute in schema.published if rules[attribute.name] != "as it is"]
    names = [attribute.name for attribute in treated]
    before, after = masked.original.collect(names), masked.table.collect(names)
    columns = {
        one.name: compared(one, rules[one.name], before[one.name], after[one.name], _groups_of(masked, one.name))
        for one in treated
    }
    loss = _loss(columns)
    disclosure = _disclosure(plan, masked)
    # Two groups may look alike, and swapped records may be equal.
    faces = len(masked.table.count_by(names))
    found: dict[str, Any] = {
        "for_the_holder_only": MARK,
        "version": VERSION,
        "dataset": content["dataset"],
        "date": content["date"],
        "certificate": content["seal"],
        "sentence": content["sentence"],
        "method": plan.method.name,
        "kind": _kind(plan),
        "k": plan.k,
        "asked": {"l": content["guarantee"]["l"], "t": content["guarantee"]["t"]},
        "rows": _rows(table, masked),
        "cautions": [],
        "not_promised": list(content["not_promised"]),
        "notes": list(table.notes),
        "groups": [_sizes(name, _own_k(plan, name), labels) for name, labels in masked.groups.items()],
        "faces": faces if isinstance(plan.method, Microaggregation) else None,
        "loss": loss,
        "columns": [{"name": name, **picture(one, before[name], after[name])} for name, one in columns.items()],
        "as_they_are": [one.name for one in schema.published if one not in treated],
        "correlations": _correlations(schema, masked, columns),
        "linkage": matched(list(columns.values()), faces, None if _alone(plan) else plan.k),
        "disclosure": disclosure,
    }
    found["cautions"] = _cautions(found, content["ledger"]["unbounded_releases"])
    return found


def _alone(plan: SyntacticPlan) -> bool:
    return not isinstance(plan.method, Microaggregation) and plan.method.alone


def _kind(plan: SyntacticPlan) -> str:
    """What became of a group's records: one face for all, quasi-identifiers permuted, or each confidential attribute alone."""
    return "faces" if isinstance(plan.method, Microaggregation) else "alone" if _alone(plan) else "together"


def _groups_of(masked: Masked, name: str) -> Labels:
    return masked.groups.get(name, next(iter(masked.groups.values())))


def _own_k(plan: SyntacticPlan, name: str) -> int:
    return plan.crowds().get(name, plan.k)


# --- rows and groups ----------------------------------------------------------------------------------------------


def _rows(table: Table, masked: Masked) -> dict[str, Any]:
    return {"in": table.rows(), "taking_part": masked.original.rows(), "published": masked.table.rows()}


def _sizes(name: str, k: int, labels: Labels) -> dict[str, Any]:
    """How large groups are, in bins: k, up to 2k − 1, and twice as much each time."""
    sizes = np.bincount(labels)
    starts, bins = [k, k + 1], []
    while starts[-1] <= int(sizes.max()):
        starts.append(2 * k if len(starts) == 2 else 2 * starts[-1])
    for low, high in pairwise(starts):
        inside = sizes[(sizes >= low) & (sizes < high)]
        bins.append({"from": low, "to": high - 1, "groups": len(inside), "rows": int(inside.sum())})
    return {
        "of": None if name == ALL else name,
        "k": k,
        "count": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "mean": round(float(sizes.mean()), 2),
        "histogram": bins,
    }


# --- what was lost ------------------------------------------------------------------------------------------------


def _loss(columns: Mapping[str, Compared]) -> dict[str, Any]:
    """SSE and IL of each treated attribute and in all; the exact numbers of these two tables."""
    trees = {name: one.tree for name, one in columns.items() if one.tree is not None}
    before = {name: one.before for name, one in columns.items()}
    after = {name: one.after for name, one in columns.items()}
    whole = distortion(before, after, trees)
    return {
        "sse": whole.sse,
        "loss": _finite(whole.loss),
        "attributes": [_attribute(change, columns[change.name], whole.rows) for change in whole.changes],
    }


def _attribute(change: Change, one: Compared, rows: int) -> dict[str, Any]:
    gone, hidden = one.missing()
    constant, flattened = one.constant()
    return {
        "name": change.name,
        "type": one.attribute.type.value,
        "shows": one.rule,
        "sse": change.sse,
        "sst": change.sst,
        "loss": _finite(change.loss),
        "own": rows - change.changed,
        "own_share": round(1 - change.changed / rows, 6),
        **one.moments(),
        **(asdict(change.moments) if change.moments and one.measured else {"mean_shift": None, "variance_ratio": None}),
        "missing_before": gone,
        "missing_after": hidden,
        "constant_before": constant,
        "constant_after": flattened,
    }


def _correlations(schema: Schema, masked: Masked, columns: Mapping[str, Compared]) -> dict[str, Any] | None:
    """How far correlations of quasi-identifiers and confidential attributes moved; None where there is none to compare."""
    asked = (*schema.quasi, *schema.confidential)
    others = [one.name for one in asked if one.name not in columns]
    original = masked.original.collect(others) if others else {}
    before: dict[str, npt.NDArray[Any]] = {}
    after: dict[str, npt.NDArray[Any]] = {}
    for one in asked:
        treated = columns.get(one.name)
        if treated is not None:
            if treated.numeric:
                before[one.name], after[one.name] = treated.before, treated.after
        elif (numbers := as_numbers(one, original[one.name])) is not None:
            before[one.name] = after[one.name] = numbers
    confidential = [one.name for one in schema.confidential if one.name in before]
    if len(before) < 2 or (schema.confidential and not confidential):
        return None
    change = correlation_change(before, after, confidential or None)
    pairs: list[dict[str, Any]] = [
        {"first": change.attributes[i], "second": change.attributes[j], "before": a, "after": b, "moved": b - a}
        for i, j in np.argwhere(change.counted).tolist()
        for a, b in [(float(change.before[i, j]), float(change.after[i, j]))]
        if not (math.isnan(a) or math.isnan(b))
    ]
    pairs.sort(key=lambda pair: -abs(pair["moved"]))
    return {**change.to_json(), "listed": pairs[:MOST_PAIRS]}


# --- what groups give away ----------------------------------------------------------------------------------------


def _disclosure(plan: SyntacticPlan, masked: Masked) -> list[dict[str, Any]]:
    """For each confidential attribute: groups in which it is constant, and the l and t that all groups reach.

    Counted on what the published table shows where groups have one face; on the hidden groups otherwise.
    """
    schema = plan.policy.schema
    secrets = [bare(one) for one in schema.confidential]
    if not secrets:
        return []
    if isinstance(plan.method, Microaggregation):
        quasi = tuple(bare(one) for one in schema.quasi)
        return [_given(one) for one in observed(masked.table, (*quasi, *secrets))]
    return [_given(one) for one in hidden_groups(plan, masked)]


def _given(one: Confidential) -> dict[str, Any]:
    measures = one.measures
    return {
        "name": one.name,
        "values": one.values,
        "homogeneous_groups": one.homogeneous_classes,
        "homogeneous_rows": one.homogeneous_rows,
        "l": measures.l,
        "t": distance_of(one),
        "distance": "equal" if measures.t_ordered is None else "ordered",
        "largest_share": measures.alpha,
    }


# --- words --------------------------------------------------------------------------------------------------------


def _cautions(found: dict[str, Any], earlier: int) -> list[str]:
    fix = "a smaller t" if found["asked"]["t"] else "t"
    attributes = found["loss"]["attributes"]
    said = [*_void(attributes), *_poor(attributes, found["kind"])]
    said += [_homogeneous(one, found["kind"], fix) for one in found["disclosure"] if one["homogeneous_groups"]]
    gone = [one for one in attributes if one["missing_before"] or one["missing_after"]]
    if gone:
        cells = ", ".join(
            f"'{one['name']}' {one['missing_before']:,} before and {one['missing_after']:,} after" for one in gone
        )
        why = " A group of which more than half is missing shows a missing value." if found["kind"] == "faces" else ""
        said.append(f"Values are missing: {cells}.{why}")
    for one in attributes:
        if one["constant_before"]:
            said.append(f"'{one['name']}' is the same for everybody: nothing can be lost in it, and it hides nobody.")
    linkage = found["linkage"]
    bound, least = linkage["bound"], linkage["rate"] if linkage["exact"] else linkage["low"]
    if bound is not None and least is not None and least > bound:
        said.append(
            f"Matching by distance finds {linkage['rate']:.3g}\u00a0% of the records, more than the {bound:.3g}\u00a0% that "
            "groups of k allow on average: chance, or records that are equal."
        )
    if earlier:
        said.append(
            f"The ledger notes {earlier} earlier release{'s' * (earlier != 1)} of this dataset without bound. Tables about the "
            "same people can be compared, and then groups of k hide fewer."
        )
    return said


def _void(attributes: list[dict[str, Any]]) -> list[str]:
    """Columns that say nothing: they head the report, whatever their other numbers look like."""
    return [
        f"'{one['name']}' says nothing: every published row shows the same value."
        for one in attributes
        if one["constant_after"] and not one["constant_before"]
    ]


def _poor(attributes: list[dict[str, Any]], kind: str) -> list[str]:
    """Columns that have lost more than half of their variance."""
    said = []
    for one in attributes:
        if one["constant_before"] or one["constant_after"] or (one["loss"] or 0) <= MUCH:
            continue
        if kind != "faces":
            said.append(
                f"'{one['name']}': what a record shows lies {math.sqrt(one['loss'] / 100):.1f} standard deviations from what it "
                "had, on average (root mean square); strangers would lie 1.4 apart. A smaller k keeps more."
            )
        else:
            said.append(
                f"'{one['name']}' has lost {one['loss']:.0f}\u00a0% of its spread: the published column says little about single "
                "records. A smaller k, or fewer quasi-identifiers, keep more."
            )
    return said


def _homogeneous(one: dict[str, Any], kind: str, other: str) -> str:
    number, rows = one["homogeneous_groups"], one["homogeneous_rows"]
    many = f"{number:,} group{'s' * (number != 1)} ({rows:,} rows)"
    if kind == "alone":
        return f"In {many} of '{one['name']}' all values are equal: changing places hid nothing there. Ask for l, or a larger k."
    return (
        f"In {many} everybody has the same '{one['name']}': whoever finds a person's group knows it, whatever k is. Ask for l: 2 "
        f"or more, or for {other}."
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
