"""The custodian's report on k-anonymity by levels: rows left out, levels, loss and its bound, classes, and what criteria reached.

It is computed from the original and from the published table, by measures that share nothing with the search. Nothing of it is in
the release, but what anybody can count on the published table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.anonymize.method.k_anonymity import RecodedMicrodata
from shoal.assess.disclosure.measures import RECURSIVE_C, observe
from shoal.assess.disclosure.report import DisclosureReport, Measures
from shoal.data.hierarchy.level import MISSING, Level, TopLevel, ValueLevel
from shoal.data.schema import Attribute, Schema
from shoal.engine.base import Table
from shoal.page.number_text import NO_NUMBER, count_words, number_text, share_text, size_text
from shoal.page.section import BarPair, BarTable, Cell, DataTable, Fact, FactList, Section, Words, heads
from shoal.publish.plan.k_anonymity import DISTANCE_WORDS, LOSS_WORDS, FullDomainPlan, search_words
from shoal.publish.report.document import MethodSections, report_opening
from shoal.publish.report.sections import ONE_ROW, SORTED, earlier_caution, row_facts
from shoal.publish.verify.k_anonymity import distance_found, to_measure

if TYPE_CHECKING:
    from shoal.publish.run.k_anonymity import Population

MANY_LEFT_OUT = 0.1
"""A larger share of rows left out is a caution."""


def full_domain_report(
    plan: FullDomainPlan,
    table: Table,
    recoded: RecodedMicrodata,
    population: Population | None,
    content: dict[str, Any],
) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    before, after = _observed(plan, recoded.original), _observed(plan, recoded.table)
    outcome = recoded.search
    found: dict[str, Any] = {
        **report_opening(content),
        "k": plan.k,
        "rows": {
            "in": table.rows(),
            "taking_part": recoded.original.rows(),
            "published": recoded.table.rows(),
            "left_out": recoded.suppressed,
            "share": recoded.suppressed / recoded.original.rows(),
            "limit": float(plan.method.suppression),
        },
        "cautions": [],
        "notes": list(table.notes),
        "search": {
            "kind": plan.search_kind,
            "loss": plan.method.loss,
            "value": float(outcome.loss),
            "lower_bound": None if outcome.lower_bound is None else float(outcome.lower_bound),
            "schemes": outcome.schemes,
            "examined": outcome.examined,
            "local": plan.method.local,
        },
        "levels": [_level(one, recoded.levels_used[one.name], plan) for one in plan.policy.schema.quasi],
        "classes": {"before": _sizes(before), "after": _sizes(after)},
        "criteria": list(_criteria(plan, before, after)),
        "disclosure": [
            {
                "name": one.name,
                "values": one.values,
                "homogeneous_classes": one.homogeneous_classes,
                "homogeneous_rows": one.homogeneous_rows,
            }
            for one in after.confidential
        ],
    }
    if population is not None and plan.k_map is not None:
        fewest = fewest_people(plan, recoded, population)
        found["criteria"].append(
            {"name": "k-map", "of": None, "asked": str(plan.k_map.k), "before": None, "after": fewest, "note": "people"}
        )
    found["cautions"] = _cautions(found)
    return found


# --- what was measured -----------------------------------------------------------------------------------------------


def _observed(plan: FullDomainPlan, table: Table) -> DisclosureReport:
    """What a table's classes show; of the original as well as of the published one."""
    recursive = plan.requirement.recursive
    secrets = [to_measure(one, plan.distances().get(one.name)) for one in plan.policy.schema.confidential]
    quasi = [replace(one, hierarchy=None, domain=None) for one in plan.policy.schema.quasi]
    return observe(
        table.count_by([one.name for one in (*quasi, *secrets)]),
        Schema((*quasi, *secrets)),
        recursive_c=RECURSIVE_C if recursive is None else float(recursive[0]),
    )


def _level(attribute: Attribute, levels: tuple[int, ...], plan: FullDomainPlan) -> dict[str, Any]:
    """The levels that a quasi-identifier shows, among how many, and what the coarsest of them loses."""
    hierarchy = attribute.hierarchy
    top = len(hierarchy) - 1 if hierarchy is not None else 0
    pinned = attribute.name in plan.method.levels
    return {
        "name": attribute.name,
        "levels": list(levels),
        "coarsest": top,
        "fixed": pinned,
        "loss": hierarchy.losses[max(levels)] if hierarchy is not None else 0.0,
    }


def _sizes(seen: DisclosureReport) -> dict[str, Any]:
    """How large classes are."""
    return {
        "count": seen.classes,
        "rows": seen.rows,
        "smallest": seen.k,
        "mean": round(seen.sizes.mean, 2),
        "uniques": seen.uniques,
        "histogram": [
            {"from": each.low, "to": each.high, "classes": each.classes, "rows": each.rows} for each in seen.sizes.bins
        ],
    }


def _criteria(plan: FullDomainPlan, before: DisclosureReport, after: DisclosureReport) -> Iterator[dict[str, Any]]:
    """Each criterion beside the value that the original has, and the one that was reached."""
    yield {"name": "k", "of": None, "asked": str(plan.k), "before": before.k, "after": after.k, "note": "rows"}
    wanted = plan.requirement
    for old, new in zip(before.confidential, after.confidential, strict=True):
        for name, asked, _ in plan.criteria_facts():
            distance = plan.distances().get(new.name, "equal")
            values = [_value(name, each.measures, distance) for each in (old, new)]
            note = DISTANCE_WORDS[distance] if name == "t" else ""
            yield {"name": name, "of": new.name, "asked": asked, "before": values[0], "after": values[1], "note": note}
        if wanted.l is None:
            unasked = {"name": "l", "of": new.name, "asked": None, "note": "not asked for"}
            yield {**unasked, "before": old.measures.l, "after": new.measures.l}


def _value(name: str, found: Measures, distance: str) -> float | int | None:
    """The worst value of a criterion over all classes; None where nothing is enough."""
    values: dict[str, float | int] = {
        "l": found.l,
        "entropy l": found.entropy_l,
        "recursive (c, l)": found.recursive_l,
        "t": distance_found(found, distance),
        "alpha": found.alpha,
        "basic beta": found.basic_beta,
        "enhanced beta": found.enhanced_beta,
        "delta": found.delta_disclosure,
    }
    value = values[name]
    return value if math.isfinite(value) else None


def fewest_people(plan: FullDomainPlan, recoded: RecodedMicrodata, population: Population) -> int:
    """How many people of the population fit the rarest class of the published table, by the labels of each round."""
    schema, counts = plan.policy.schema, population.counts
    shown = recoded.table.count_by([one.name for one in schema.quasi]).tuples
    people = dict.fromkeys(zip(*(map(_text, column) for column in shown), strict=True), 0)
    for levels in recoded.rows.levels:
        columns = [
            _labels(one, levels[one.name], values).take(codes, mode="wrap").tolist()  # a missing one is last
            for one, values, codes in zip(schema.quasi, counts.values, counts.codes, strict=True)
        ]
        found: Counter[tuple[str, ...]] = Counter()
        for labels, many in zip(zip(*columns, strict=True), counts.counts.tolist(), strict=True):
            found[labels] += many
        people = {labels: max(many, found[labels]) for labels, many in people.items()}
    return min(people.values(), default=0)


def _labels(one: Attribute, number: int, values: Any) -> Any:
    """The label of each value of the population at a level, and last that of a missing one, as text."""
    level: Level = one.hierarchy.level(number) if one.hierarchy is not None else ValueLevel()
    gone = "" if isinstance(level, ValueLevel) else level.label if isinstance(level, TopLevel) else MISSING
    return np.array([*map(_text, level.apply(values).tolist()), gone], dtype=object)


def _text(value: object) -> str:
    return "" if value is None else str(value)


# --- words -----------------------------------------------------------------------------------------------------------


def _finer_words(found: dict[str, Any]) -> str:
    """What would allow finer levels."""
    if not found["rows"]["limit"]:
        return " A few rare rows may stand in the way of finer levels: allow suppression, or local recoding with it."
    if not found["search"]["local"]:
        return " More suppression, or local recoding (local: true), may allow finer levels."
    return ""


def _cautions(found: dict[str, Any]) -> list[str]:
    said, rows, search = [], found["rows"], found["search"]
    if rows["share"] > MANY_LEFT_OUT:
        said.append(
            f"{rows['left_out']:,} rows were left out, {share_text(rows['share'])} of all: those of classes that lacked "
            "something that was asked for. What is published leans towards what is common."
        )
    if search["kind"] == "heuristic" and search["lower_bound"] is not None:
        gap = search["value"] - search["lower_bound"]
        said.append(
            f"There are {search['schemes']:,} combinations of levels, too many to rule all out. The one taken loses "
            f"{number_text(search['value'])}; none loses less than {number_text(search['lower_bound'])}, so at most "
            f"{number_text(gap)} could be gained."
        )
    for one in found["disclosure"]:
        if one["homogeneous_classes"]:
            classes = count_words(one["homogeneous_classes"], "class").replace("classs", "classes")
            said.append(
                f"'{one['name']}': {classes} with {one['homogeneous_rows']:,} rows in all have one value only, which everybody "
                "learns who finds a person there. Ask for l."
            )
    whole = [one for one in found["levels"] if max(one["levels"]) == one["coarsest"] > 0]
    for some, where in (
        ([one["name"] for one in whole if len(one["levels"]) == 1], ""),
        ([one["name"] for one in whole if len(one["levels"]) > 1], " in some rows"),
    ):
        if some:
            said.append(
                f"Nothing is left of {', '.join(map(repr, some))}{where}: one label stands for every value.{_finer_words(found)}"
            )
    return [*said, *earlier_caution(found["ledger"])]


# --- the sections --------------------------------------------------------------------------------------------------------

ABOUT_LEVELS = "Loss: the share of its declared domain that a label of the coarsest level shown stands for, on average."
ABOUT_MEASURES = (
    "Classes are rows with equal quasi-identifiers; before, by their values, after, by their labels.",
    (
        "Loss: what the policy asked to lose least of. Granularity is 0 where every value is shown and 1 where none is; a row "
        "that was left out counts as fully generalized. The lower bound holds for every combination of levels that was allowed."
    ),
    (
        "Reached: the worst value over all classes, measured on the published table by code that the search does not share. "
        "Recursive diversity is told by the largest l that every class has with the asked c."
    ),
    "What is compared with the table (t, beta, delta) is compared with the published table, so that a stranger can count it too.",
)


def full_domain_sections(report: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    criteria = DataTable(
        heads(["criterion"], ["asked", "in the original", "reached"], [""]),
        [_criterion_line(one) for one in report["criteria"]],
    )
    levels = DataTable(
        heads(["quasi-identifier", "level", ""], ["loss"]), [_level_line(one) for one in report["levels"]]
    )
    return MethodSections(
        rows=[FactList(_row_facts(report["rows"]))],
        columns=[Section("What each column says", [levels, Words(ABOUT_LEVELS, quiet=True)])],
        findings=[
            Section("What was asked, and what was reached", [criteria]),
            Section("Classes", [Words(_about_classes(report["classes"], report["k"])), _class_bars(report["classes"])]),
            Section("What was lost", [FactList(_search_facts(report["search"]))]),
        ],
        methods=ABOUT_MEASURES,
    )


def _row_facts(rows: dict[str, Any]) -> list[Fact]:
    why = "rows of classes that lacked something that was asked for"
    allowed = f"{share_text(rows['share'])} of those that take part; the policy allows {share_text(rows['limit'])}"
    return [
        *row_facts(rows, ONE_ROW),
        ("published", f"{rows['published']:,}", SORTED),
        ("suppressed", f"{rows['left_out']:,}", f"{why}: {allowed}"),
    ]


def _search_facts(search: dict[str, Any]) -> list[Fact]:
    bound = (
        "the loss itself: no allowed combination loses less"
        if search["value"] == search["lower_bound"]
        else "no allowed combination loses less"
        if search["lower_bound"] is not None
        else "not known where rows have labels of their own"
    )
    found: list[Fact] = [
        ("search", search["kind"], search_words(search["kind"], search["local"])),
        (search["loss"], number_text(search["value"]), LOSS_WORDS[search["loss"]]),
        ("lower bound", number_text(search["lower_bound"]), bound),
        ("combinations", f"{search['schemes']:,}", f"of levels; {search['examined']:,} were looked at one by one"),
    ]
    return found if search["kind"] != "fixed" else [found[0], found[1]]


def _level_line(one: Mapping[str, Any]) -> list[Cell]:
    levels = ", ".join(map(str, one["levels"]))
    shown = f"{levels} of 0 to {one['coarsest']}" if one["coarsest"] else "0, its only one"
    return [one["name"], shown, "fixed by the policy" if one["fixed"] else "", share_text(one["loss"])]


def _about_classes(classes: dict[str, Any], k: int) -> str:
    before, after = classes["before"], classes["after"]
    return (
        f"Before, {before['rows']:,} rows stood in {before['count']:,} classes, {before['mean']:g} in each on average, and "
        f"{before['uniques']:,} rows were alone in theirs. Now {after['rows']:,} rows stand in {after['count']:,} classes, "
        f"{after['mean']:g} in each on average; the smallest has {after['smallest']:,}, k = {k:,}."
    )


def _class_bars(classes: Mapping[str, Any]) -> BarTable:
    """The share of rows in classes of each size, before and after."""
    both = zip(classes["before"]["histogram"], classes["after"]["histogram"], strict=True)
    rows = [max(1, classes[side]["rows"]) for side in ("before", "after")]
    return BarTable(
        "rows in a class",
        ("rows before", "rows after"),
        [
            BarPair(
                size_text(old["from"], old["to"]),
                old["rows"] / rows[0],
                new["rows"] / rows[1],
                (f"{old['rows']:,}", f"{new['rows']:,}"),
            )
            for old, new in both
            if old["rows"] or new["rows"]
        ],
    )


def _criterion_line(one: Mapping[str, Any]) -> list[Cell]:
    name = one["name"] if one["of"] is None else f"{one['name']} of {one['of']}"
    return [name, one["asked"] or NO_NUMBER, number_text(one["before"]), number_text(one["after"]), one["note"]]
