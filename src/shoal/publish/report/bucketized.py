"""The custodian's report on a release by groups: how large they are, what they hold, and how alike their records are.

It is computed from the records before they were parted, and from the groups. Nothing is drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.aggregate import aggregate, aggregation_rule
from shoal.anonymize.method.t_closeness import LinkedMicrodata
from shoal.data.hierarchy.level import MISSING
from shoal.data.type import spell, texts
from shoal.engine.base import Table
from shoal.guarantee.rounding import exact_text, text_near
from shoal.page.number_text import count_words, percent_text, share_text
from shoal.page.section import DataTable, Fact, FactList, Figure, Section, Words, heads
from shoal.page.svg import draw_ranges
from shoal.publish.plan.bucketized import GroupPlan
from shoal.publish.report.columns import column_change
from shoal.publish.report.counted import group_size_histogram, information_loss
from shoal.publish.report.document import MethodSections, report_opening
from shoal.publish.report.sections import ALL_SHOWN, ONE_ROW, SORTED, earlier_caution, row_facts, size_bars

MOST_SHOWN = 24
"""Values or buckets of an attribute that are listed, the most frequent first where there are more."""


def group_report(plan: GroupPlan, table: Table, made: LinkedMicrodata, content: dict[str, Any]) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    attributes = [_held(made, name) for name in (one.name for one in plan.policy.schema.confidential)]
    loss = _loss(plan, made)
    found: dict[str, Any] = {
        **report_opening(content),
        "form": plan.form,
        "show": plan.show,
        "k": plan.k,
        "asked": {"l": plan.l, "t": None if plan.t is None else exact_text(plan.t)},
        "achieved_t": exact_text(made.achieved_t) if isinstance(made.achieved_t, Fraction) else None,
        "rows": {"in": table.rows(), "taking_part": made.original.rows(), "published": made.records.rows()},
        "notes": list(table.notes),
        "groups": group_size_histogram(None, plan.k, made.groups),
        "held": attributes,
        "unlike": loss,
        "cautions": [],
    }
    found["cautions"] = _cautions(found)
    return found


# --- what groups hold -------------------------------------------------------------------------------------------------


def _held(made: LinkedMicrodata, name: str) -> dict[str, Any]:
    """How often each bucket (or value) of an attribute occurs in the table, and the least and the most of it in a group."""
    labels, codes = _shown(made, name)
    groups, wide = int(made.groups.max()) + 1, len(labels)
    counts = np.bincount(made.groups.astype(np.int64) * wide + codes, minlength=groups * wide).reshape(groups, wide)
    shares = counts / counts.sum(axis=1, keepdims=True)
    totals = counts.sum(axis=0)
    order = range(wide) if wide <= MOST_SHOWN else np.argsort(-totals, kind="stable")[:MOST_SHOWN].tolist()
    return {
        "name": name,
        "kinds": wide,
        "largest_share": round(float(shares.max()), 6),
        "one_value": int(np.count_nonzero((counts > 0).sum(axis=1) == 1)),
        "fewest": int((counts > 0).sum(axis=1).min()),
        "shown": [
            {
                "label": labels[place],
                "records": int(totals[place]),
                "share": round(float(totals[place] / totals.sum()), 6),
                "least": round(float(shares[:, place].min()), 6),
                "most": round(float(shares[:, place].max()), 6),
            }
            for place in order
        ],
    }


def _shown(made: LinkedMicrodata, name: str) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The labels of what is shown of an attribute, buckets in their order or values by their text, and that of each record."""
    values = made.shown[name]
    gone, data = np.ma.getmaskarray(values), np.ma.getdata(values)
    present = [spell(each) for each in texts(data[~gone])]
    buckets = next((one for one in made.buckets if one.attribute == name), None)
    labels = list(buckets.labels) if buckets is not None else sorted(set(present))
    place = {label: number for number, label in enumerate(labels)}
    codes = np.full(len(values), len(labels), dtype=np.int64)
    codes[~gone] = [place[label] for label in present]
    return [*labels, *([MISSING] if gone.any() else [])], codes


def _loss(plan: GroupPlan, made: LinkedMicrodata) -> dict[str, Any]:
    """How unlike the records of a group are in their quasi-identifiers: the loss, had each shown its group's centre."""
    quasi = plan.policy.schema.quasi
    before = made.original.collect([one.name for one in quasi])
    columns = {}
    for one in quasi:
        centre = aggregate(one, before[one.name], made.groups, "centroid")
        columns[one.name] = column_change(one, aggregation_rule(one, "centroid"), before[one.name], centre, made.groups)
    found = information_loss(columns)
    return {
        "loss": found["loss"],
        "attributes": [{"name": each["name"], "loss": each["loss"]} for each in found["attributes"]],
    }


def _cautions(found: dict[str, Any]) -> list[str]:
    said = []
    for one in found["held"]:
        if one["one_value"]:
            many = count_words(one["one_value"], "group")
            said.append(
                f"In {many} everybody has the same '{one['name']}': whoever finds a person's group knows it. Ask for l, or for "
                "method: t-closeness."
            )
        if found["show"] == "bucket" and one["kinds"] == 2:
            said.append(f"'{one['name']}' is shown in two buckets only: a larger t, or a larger k, allows more.")
    return [*said, *earlier_caution(found["ledger"])]


# --- the sections ---------------------------------------------------------------------------------------------------------

ABOUT = (
    "Shares: how many records of a group have a bucket or value, over the size of the group; in the whole table likewise.",
    (
        "t reached: the largest ratio between a share in a group and in the whole table, either way, over all combinations of "
        "the confidential attributes, as an exact fraction; infinite where a group lacks one."
    ),
    (
        "Unlike: the share of a quasi-identifier's variance (of names, of their distances) that lies inside groups. 0 where all "
        "records of a group are equal, 100 where groups say nothing of it."
    ),
)


def group_sections(report: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    t = None if report["asked"]["t"] is None else float(Fraction(report["asked"]["t"]))
    rows: list[Fact] = [
        *row_facts(report["rows"], ONE_ROW),
        ("published", f"{report['rows']['published']:,}", SORTED),
        ALL_SHOWN,
    ]
    unlike = DataTable(
        heads(["quasi-identifier"], ["unlike"]),
        [(one["name"], percent_text(one["loss"])) for one in report["unlike"]["attributes"]],
    )
    return MethodSections(
        rows=[FactList(rows)],
        columns=[Section("What groups hold", []), *(_attribute(one, t, report) for one in report["held"])],
        findings=[
            Section(
                "Groups", [FactList(_group_facts(report)), size_bars(report["groups"]["histogram"], "group", "record")]
            ),
            Section("How alike the records of a group are", [Words(_about_loss(report)), unlike]),
        ],
        methods=ABOUT,
    )


def _group_facts(report: Mapping[str, Any]) -> list[Fact]:
    own, asked = report["groups"], report["asked"]
    sizes = f"{own['smallest']:,}" + (f" to {own['largest']:,}" if own["largest"] != own["smallest"] else "")
    found: list[Fact] = [
        ("groups", f"{own['count']:,}", f"of {sizes} records, k = {own['k']:,}"),
    ]
    if asked["l"] is not None:
        worst = max(one["largest_share"] for one in report["held"])
        found.append(("largest share of a value", share_text(worst), f"1/{asked['l']} was allowed"))
    if asked["t"] is not None and report["achieved_t"] is not None:
        reached = Fraction(report["achieved_t"])
        found.append(("t reached", text_near(reached), f"{report['achieved_t']} exactly; {asked['t']} was allowed"))
    elif report["achieved_t"] is None:
        found.append(("t reached", "infinite", "some group lacks a value that others have; t is not claimed"))
    return found


def _attribute(one: Mapping[str, Any], t: float | None, report: Mapping[str, Any]) -> Section:
    framed = t if report["show"] == "bucket" else None  # t is about buckets
    lines = [
        (
            each["label"],
            each["share"],
            (each["least"], each["most"]),
            None if framed is None else (each["share"] / framed, min(1.0, each["share"] * framed)),
        )
        for each in one["shown"]
    ]
    what = "buckets" if report["show"] == "bucket" else "values"
    more = "" if one["kinds"] <= len(one["shown"]) else f" The {len(one['shown'])} most frequent are drawn."
    several = len(report["held"]) > 1
    allowed = (
        "" if framed is None else "; the frame is what t allows" + (" of this attribute by itself" if several else "")
    )
    words = f"{count_words(one['kinds'], what[:-1])}; a group holds at least {one['fewest']:,} of them.{more}"
    table = DataTable(
        heads(["shows"], ["records", "share", "least in a group", "most"]),
        [
            (each["label"], f"{each['records']:,}", *(share_text(each[key]) for key in ("share", "least", "most")))
            for each in one["shown"]
        ],
    )
    caption = (
        "The line is the share in the whole table, the bar reaches from the least to the largest share in a group"
        f"{allowed}."
    )
    drawing = draw_ranges(lines, f"Shares of the {what} of {one['name']} in the table and in groups")
    return Section(one["name"], [Words(words), Figure([drawing], caption, table)], level=3)


def _about_loss(report: Mapping[str, Any]) -> str:
    whole: float | None = report["unlike"]["loss"]
    if whole is None:
        return "No quasi-identifier varies, so all groups are alike in them."
    return (
        f"{percent_text(whole)} of the variance of the quasi-identifiers lies inside groups, on average over them. The less, the "
        "more a group says of the relation between them and what is confidential."
    )
