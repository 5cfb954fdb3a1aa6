"""The custodian's report on clusters of near records: what was lost, what an intruder could match, what clusters give away.

It is computed from the records before and after, which stand in the same order until the table is written, and from the
clusters, which are not published. Nothing is drawn again but the rows of a large table on which linkage is tried.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.mdav import Labels
from shoal.anonymize.method.microaggregation import ALL, MaskedMicrodata
from shoal.assess.disclosure.report import Confidential
from shoal.assess.distortion.correlation import CorrelationChange, correlation_change
from shoal.assess.distortion.information_loss import ColumnDistortion, distortion
from shoal.assess.distortion.linkage import ALIKE, linkage
from shoal.assess.distortion.record_pairs import pair_columns
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.page.number_text import NO_NUMBER, count_words, number_text, percent_text, share_text
from shoal.page.section import Block, DataTable, Fact, FactList, Section, Words, heads
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.rehearse import Proportion
from shoal.publish.report.columns import ColumnChange, as_numbers, column_change, picture
from shoal.publish.report.document import MethodSections, report_opening
from shoal.publish.report.sections import (
    ALL_SHOWN,
    ONE_ROW,
    SORTED,
    column_sections,
    correlation_section,
    earlier_caution,
    moments_table,
    row_facts,
    size_bars,
)
from shoal.publish.verify.recount import distance_of, hidden_groups, observe_classes, without_hierarchy

MUCH = 50.0
"""A loss of more than this share of the variance is a caution."""
MOST_PAIRS = 20
"""Correlations that are listed: those that moved most."""
MOST_DISTANCES = 400_000_000
"""Distances of a full match at most: a few seconds."""
SLOWER = 4
TRIED_DISTANCES = 200_000_000
"""Distances of attempts at most; one by one they are slower."""
ATTEMPTS = (100, 2000)
"""Fewer attempts say too little, and more are not needed."""


def counted_report(
    plan: SyntacticPlan, table: Table, masked: MaskedMicrodata, content: dict[str, Any]
) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    schema, rules = plan.policy.schema, plan.method.rules(plan.policy.schema)
    treated = [attribute for attribute in schema.published if rules[attribute.name] != "as it is"]
    names = [attribute.name for attribute in treated]
    before, after = masked.original.collect(names), masked.table.collect(names)
    columns = {
        one.name: column_change(one, rules[one.name], before[one.name], after[one.name], _groups_of(masked, one.name))
        for one in treated
    }
    loss = information_loss(columns)
    disclosure = _disclosure(plan, masked)
    # Two clusters may look alike, and swapped records may be equal.
    combinations = len(masked.table.count_by(names))
    found: dict[str, Any] = {
        **report_opening(content),
        "kind": plan.kind,
        "k": plan.k,
        "asked": {"l": content["guarantee"]["l"], "t": content["guarantee"]["t"]},
        "rows": _rows(table, masked),
        "cautions": [],
        "notes": list(table.notes),
        "groups": [
            group_size_histogram(None if name == ALL else name, _own_k(plan, name), labels)
            for name, labels in masked.groups.items()
        ],
        "faces": combinations if plan.shows_classes else None,
        "loss": loss,
        "columns": [{"name": name, **picture(one, before[name], after[name])} for name, one in columns.items()],
        "as_they_are": [one.name for one in schema.published if one not in treated],
        "correlations": _correlations(schema, masked, columns),
        "linkage": record_linkage(list(columns.values()), combinations, None if plan.kind == "alone" else plan.k),
        "disclosure": disclosure,
    }
    found["cautions"] = _cautions(found)
    return found


def _groups_of(masked: MaskedMicrodata, name: str) -> Labels:
    return masked.groups.get(name, next(iter(masked.groups.values())))


def _own_k(plan: SyntacticPlan, name: str) -> int:
    return plan.k_by_attribute().get(name, plan.k)


# --- rows and clusters ----------------------------------------------------------------------------------------------


def _rows(table: Table, masked: MaskedMicrodata) -> dict[str, Any]:
    return {"in": table.rows(), "taking_part": masked.original.rows(), "published": masked.table.rows()}


def group_size_histogram(of: str | None, k: int, labels: Labels) -> dict[str, Any]:
    """How large clusters are, in bins: k, up to 2k − 1, and twice as much each time."""
    sizes = np.bincount(labels)
    starts, bins = [k, k + 1], []
    while starts[-1] <= int(sizes.max()):
        starts.append(2 * k if len(starts) == 2 else 2 * starts[-1])
    for low, high in pairwise(starts):
        inside = sizes[(sizes >= low) & (sizes < high)]
        bins.append({"from": low, "to": high - 1, "groups": len(inside), "rows": int(inside.sum())})
    return {
        "of": of,
        "k": k,
        "count": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "mean": round(float(sizes.mean()), 2),
        "histogram": bins,
    }


# --- what was lost ------------------------------------------------------------------------------------------------


def information_loss(columns: Mapping[str, ColumnChange]) -> dict[str, Any]:
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


def _attribute(change: ColumnDistortion, one: ColumnChange, rows: int) -> dict[str, Any]:
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
        **(
            asdict(change.moments)
            if change.moments and one.has_moments
            else {"mean_shift": None, "variance_ratio": None}
        ),
        "missing_before": gone,
        "missing_after": hidden,
        "constant_before": constant,
        "constant_after": flattened,
    }


def _correlations(
    schema: Schema, masked: MaskedMicrodata, columns: Mapping[str, ColumnChange]
) -> dict[str, Any] | None:
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
    return listed_correlations(before, after, confidential)


def listed_correlations(
    before: Mapping[str, npt.NDArray[Any]], after: Mapping[str, npt.NDArray[Any]], confidential: Sequence[str] = ()
) -> dict[str, Any]:
    """How far correlations of numbers moved, and which moved most; where some are confidential, of pairs with one of those."""
    return list_correlations(correlation_change(before, after, list(confidential) or None))


def list_correlations(change: CorrelationChange) -> dict[str, Any]:
    """A change of correlations as plain values, with the pairs that moved most."""
    pairs: list[dict[str, Any]] = [
        {"first": change.attributes[i], "second": change.attributes[j], "before": a, "after": b, "moved": b - a}
        for i, j in np.argwhere(change.pair_mask).tolist()
        for a, b in [(float(change.before[i, j]), float(change.after[i, j]))]
        if not (math.isnan(a) or math.isnan(b))
    ]
    pairs.sort(key=lambda pair: -abs(pair["moved"]))
    return {**change.to_json(), "listed": pairs[:MOST_PAIRS]}


# --- record linkage ----------------------------------------------------------------------------------------------


def record_linkage(
    columns: Sequence[ColumnChange], different: int, k: int | None, source: Source | None = None
) -> dict[str, Any]:
    """How many published records an intruder who holds the original could match to their own, as far as time allows.

    Small tables are matched in full. Of large ones some records are drawn, and the intruder tries those: each attempt succeeds
    with the probability that the full measure averages over, so the attempts are independent tosses of one coin. `different`
    says how many different records the treated attributes have; k should limit the rate, or is None where nothing does.
    """
    rows = len(columns[0].before)
    found: dict[str, Any] = {
        "attributes": [one.attribute.name for one in columns],
        "rows": rows,
        "rate": None,
        "low": None,
        "high": None,
        "exact": False,
        "attempts": None,
        "certain": None,
        "possible": None,
        "guessing": 100 / rows,
        "bound": None if k is None else 100 / k,
    }
    trees = {one.attribute.name: one.tree for one in columns if one.tree is not None}
    before = {one.attribute.name: one.before for one in columns}
    after = {one.attribute.name: one.after for one in columns}
    # A distance over names, or over gaps, takes longer than one between numbers.
    slow = any(one.tree is not None or np.ma.getmaskarray(one.before).any() for one in columns)
    if rows * different * (SLOWER if slow else 1) <= MOST_DISTANCES:
        whole = linkage(before, after, taxonomies=trees)
        return {**found, "exact": True, "rate": whole.rate, "certain": whole.certain, "possible": whole.possible}
    attempts = min(TRIED_DISTANCES // rows, ATTEMPTS[1])
    if attempts < ATTEMPTS[0]:
        return found
    with source.stream("linkage") if source is not None else Source.secure() as chance:
        chosen = chance.stream("records").integers(rows, attempts).astype(np.int64)
        hits = _successes(_near(before, after, trees, chosen), chance.stream("guesses"))
    seen = Proportion.of(hits, attempts)
    shares = {"rate": 100 * seen.share, "low": 100 * seen.low, "high": 100 * seen.high}
    return {**found, **shares, "attempts": attempts}


def _near(before: Any, after: Any, trees: Any, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each chosen record how many originals are nearest to it; 0 where its own is none of them."""
    pairs = [pair for pair in pair_columns(before, after, trees) if pair.variance]
    rows = len(next(iter(before.values())))
    found = np.empty(len(chosen), dtype=np.int64)
    for place, row in enumerate(chosen.tolist()):
        squares = np.zeros(rows)
        for pair in pairs:
            original, masked = pair.keys()
            squares += pair.between(masked[row : row + 1], original)[0] / pair.variance
        near = squares <= squares.min() * ALIKE
        found[place] = np.count_nonzero(near) if near[row] else 0
    return found


def _successes(sizes: npt.NDArray[np.int64], chance: Source) -> int:
    """How many attempts succeed when the intruder picks one of the nearest."""
    known, counts = np.unique(sizes[sizes > 0], return_counts=True)
    return sum(
        int(chance.bernoulli(Fraction(1, size), count).sum())
        for size, count in zip(known.tolist(), counts.tolist(), strict=True)
    )


# --- what clusters give away ----------------------------------------------------------------------------------------


def _disclosure(plan: SyntacticPlan, masked: MaskedMicrodata) -> list[dict[str, Any]]:
    """For each confidential attribute: clusters in which it is constant, and the l and t that all clusters reach.

    Counted on what the published table shows where all of a cluster look alike; on the hidden clusters otherwise.
    """
    schema = plan.policy.schema
    secrets = [without_hierarchy(one) for one in schema.confidential]
    if not secrets:
        return []
    if plan.shows_classes:
        quasi = tuple(without_hierarchy(one) for one in schema.quasi)
        return [_class_values(one) for one in observe_classes(masked.table, (*quasi, *secrets))]
    return [_class_values(one) for one in hidden_groups(plan, masked)]


def _class_values(one: Confidential) -> dict[str, Any]:
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


def _cautions(found: dict[str, Any]) -> list[str]:
    fix = "a smaller t" if found["asked"]["t"] else "t"
    attributes = found["loss"]["attributes"]
    said = [*_void(attributes), *_poor(attributes, found["kind"])]
    said += [_homogeneous(one, found["kind"], fix) for one in found["disclosure"] if one["homogeneous_groups"]]
    gone = [one for one in attributes if one["missing_before"] or one["missing_after"]]
    if gone:
        cells = ", ".join(
            f"'{one['name']}' {one['missing_before']:,} before and {one['missing_after']:,} after" for one in gone
        )
        why = " A cluster of which more than half is missing shows a missing value." if found["kind"] == "faces" else ""
        said.append(f"Values are missing: {cells}.{why}")
    for one in attributes:
        if one["constant_before"]:
            said.append(f"'{one['name']}' is the same for everybody: nothing can be lost in it, and it hides nobody.")
    linkage = found["linkage"]
    bound, least = linkage["bound"], linkage["rate"] if linkage["exact"] else linkage["low"]
    if bound is not None and least is not None and least > bound:
        said.append(
            f"Matching by distance finds {linkage['rate']:.3g}\u00a0% of the records, more than the {bound:.3g}\u00a0% that "
            "clusters of k allow on average: chance, or records that are equal."
        )
    return [*said, *earlier_caution(found["ledger"])]


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
    many = f"{number:,} cluster{'s' * (number != 1)} ({rows:,} rows)"
    if kind == "alone":
        return f"In {many} of '{one['name']}' all values are equal: changing places hid nothing there. Ask for l, or a larger k."
    return (
        f"In {many} everybody has the same '{one['name']}': whoever finds a person's cluster knows it, whatever k is. Ask for "
        f"l: 2 or more, or for {other}."
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


# --- the sections -----------------------------------------------------------------------------------------------------

SHOWS = {
    "faces": "Everybody in a cluster shows the same quasi-identifiers. All other published columns are as they were.",
    "together": "Inside a cluster the quasi-identifiers changed places at random, all together. Every column keeps its values; "
    "what is blurred is whose they are.",
    "alone": "Each confidential attribute changed places by itself, inside clusters of like rank. Every column keeps its values; "
    "what is blurred is whose they are. The other columns, quasi-identifiers among them, are as they were.",
}
ABOUT_LINKAGE = {
    "faces": "An intruder who holds the quasi-identifiers of everybody looks for the nearest original of each published record. "
    "Clusters of k should let them find no more than one in k.",
    "together": "An intruder who holds the quasi-identifiers of everybody looks for the nearest original of each published "
    "record, and takes the rest of that record for this person's. Clusters of k let them be right about once in k.",
    "alone": "An intruder who holds the true values of the attributes that changed places looks for the nearest original of each "
    "published record. This is no limit of the method: k holds for each attribute by itself, against somebody who does not "
    "know it, and the quasi-identifiers stand in the table as they are.",
}
ABOUT_MEASURES = (
    (
        "SSE: the sum over all records of the squared difference between what was there and what is shown, in the column's own "
        "units; ordered values count by rank, names by their taxonomy (0 or 1 without one). SST: the same, had everybody shown "
        "one value, the mean or the best name."
    ),
    (
        "Loss: 100·SSE/SST, the share of the variance that is gone. In all: the average over the columns that vary. Values "
        "exchanged among strangers would lose about 200\u00a0%, since a stranger's value is twice as far off as the mean."
    ),
    (
        "A missing number beside one that is there counts as one standard deviation, a missing name as 1; where a cluster shows "
        "an interval, its middle is compared."
    ),
    "Own: records that show the value they had, by chance or because their neighbours have the same.",
    "Correlations are Pearson's, over the records in which both numbers are there; names have none.",
    (
        "Linkage: for each published record the nearest originals by Euclidean distance, each column in its standard "
        "deviations; the match succeeds with one over their number if its own original is among them."
    ),
    (
        "l: the fewest different values of the attribute in a cluster. t: the farthest that a cluster's values lie from the "
        "whole table's, by the earth mover's distance: along the order where there is one, else with any two values 1 apart."
    ),
)
ABOUT_DISCLOSURE = (
    "One value: clusters that have one value only, and their records. l and t: what every cluster reaches. Largest share: of one "
    "value in one cluster, the worst there is."
)


def counted_sections(report: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    kind, rows = report["kind"], report["rows"]
    attributes = {one["name"]: one for one in report["loss"]["attributes"]}
    facts: list[Fact] = [*row_facts(rows, ONE_ROW), ("published", f"{rows['published']:,}", SORTED), ALL_SHOWN]
    lost = DataTable(
        heads(["column", "shows"], ["loss", "SSE", "own"]),
        [
            (
                one["name"],
                one["shows"],
                percent_text(one["loss"]),
                number_text(one["sse"]),
                share_text(one["own_share"]),
            )
            for one in attributes.values()
        ],
    )
    as_they_are = report["as_they_are"]
    left = [Words(f"As they were: {', '.join(as_they_are)}.", quiet=True)] if as_they_are else []
    return MethodSections(
        rows=[FactList(facts)],
        columns=[
            Section("What was lost", [Words(_about_loss(report)), lost, *left]),
            *moments_table(list(attributes.values())),
            *column_sections(report["columns"], attributes, swapped=kind != "faces"),
        ],
        findings=[
            Section("Groups", [Words(SHOWS[kind])]),
            *(_group_section(own, report["faces"]) for own in report["groups"]),
            correlation_section(report["correlations"]),
            Section(
                "Matching records by distance",
                [Words(ABOUT_LINKAGE[kind]), FactList(_linkage_facts(report["linkage"]))],
            ),
            Section(
                "What clusters give away", [Words(_about_disclosure(report)), *_disclosure_table(report["disclosure"])]
            ),
        ],
        methods=ABOUT_MEASURES,
    )


def _group_section(own: Mapping[str, Any], combinations: int | None) -> Section:
    words = f"{count_words(own['count'], 'cluster')}, k = {own['k']}; the smallest has {own['smallest']:,} records, the largest "
    words += f"{own['largest']:,}, and {own['mean']:g} on average."
    if own["smallest"] == own["largest"]:
        words = f"{count_words(own['count'], 'cluster')} of {own['largest']:,} records each, k = {own['k']}."
    if combinations is not None and combinations < own["count"]:
        words += f" Some show the same: the table has {combinations:,} different combinations."
    title = "How large clusters are" if own["of"] is None else own["of"]
    return Section(title, [Words(words), size_bars(own["histogram"], "cluster", "record")], level=3)


def _about_loss(report: Mapping[str, Any]) -> str:
    whole = report["loss"]["loss"]
    if whole is None:
        return "No column varies, so nothing could be lost."
    meaning = {
        "faces": "0 is the original itself, 100 one value for everybody.",
        "together": "Each record is compared with what stands beside its own confidential values now.",
        "alone": "Each record is compared with what stands beside its own quasi-identifiers now.",
    }[report["kind"]]
    return f"Information loss {percent_text(whole)} of the variance, on average over the treated columns. {meaning}"


def _linkage_facts(found: Mapping[str, Any]) -> list[Fact]:
    guessing = ("guessing", percent_text(found["guessing"]), f"one of {found['rows']:,} at random")
    bound = (
        [("one in k", percent_text(found["bound"]), "what a cluster of k allows")] if found["bound"] is not None else []
    )
    held = ", ".join(found["attributes"])
    if found["rate"] is None:
        return [("matched", "not computed", f"{found['rows']:,} records are too many to compare"), *bound, guessing]
    if not found["exact"]:
        interval = (
            f"between {_outwards(found['low'], up=False)} and {_outwards(found['high'], up=True)} (95\u00a0%, Clopper and "
            "Pearson), from "
        )
        interval += f"{found['attempts']:,} records drawn at random"
        return [("matched, estimated", percent_text(found["rate"]), interval), ("by", held, ""), *bound, guessing]
    return [
        ("matched", percent_text(found["rate"]), f"by {held}"),
        ("for sure", f"{found['certain']:,}", "records whose own original alone is nearest"),
        *bound,
        guessing,
    ]


def _about_disclosure(report: Mapping[str, Any]) -> str:
    if not report["disclosure"]:
        return "The policy names no confidential attribute, so there is nothing to count here."
    asked = report["asked"]
    wanted = [f"l = {asked['l']}"] if asked["l"] else []
    wanted += [f"t = {asked['t']}"] if asked["t"] else []
    first = "A cluster that has one value of a confidential attribute gives it away for all its members."
    return f"{first} Asked for: {' and '.join(wanted)}." if wanted else f"{first} Neither l nor t was asked for."


def _disclosure_table(disclosure: Sequence[Mapping[str, Any]]) -> list[Block]:
    if not disclosure:
        return []
    lines = [
        (
            one["name"],
            f"{one['homogeneous_groups']:,}" if one["homogeneous_groups"] else "none",
            f"{one['homogeneous_rows']:,}" if one["homogeneous_groups"] else NO_NUMBER,
            f"{one['l']:,}",
            f"{one['t']:.3f}",
            share_text(one["largest_share"]),
        )
        for one in disclosure
    ]
    head = heads(["attribute"], ["one value", "records", "l", "t", "largest share"])
    return [DataTable(head, lines), Words(ABOUT_DISCLOSURE, quiet=True)]


def _outwards(value: float, *, up: bool) -> str:
    """An end of an interval of percents, to a tenth, never inside of what it is."""
    return f"{(math.ceil if up else math.floor)(10 * value) / 10:g}\u00a0%"
