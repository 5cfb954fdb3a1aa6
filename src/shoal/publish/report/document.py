"""The custodian's report as a document: what every report says, and the order of its sections, the same for all methods.

    the promise, cautions, rows, treatments, risk and utility, what each column says, what else the method has to say,
    alternatives at the same promise, the total spent on the dataset, what is not promised, how the numbers were made

A method gives the plain values of report.json, and its own sections as `MethodSections`; everything else is written here, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.engine.base import Table
from shoal.page.html import section_page
from shoal.page.section import Block, BulletList, DataTable, FactList, Section, Words, heads
from shoal.publish.certificate.model import CountedLedgerEntry, LedgerEntry
from shoal.publish.certificate.page import charge_lines, charge_totals, ledger_words, uncharged_ledger_words
from shoal.publish.folder import MARK
from shoal.publish.plan.base import Plan
from shoal.publish.report.assessment.sections import assessment_sections

VERSION = 2
BELOW, ABOVE = "the list of charges below", "the list of charges above"
"""Where the certificate's list of charges stands, and where the report's."""


@dataclass(frozen=True)
class MethodSections:
    """What the report on a method says beyond what all reports say; each part has its place in the document."""

    rows: Sequence[Block]
    """What went in, what came out, what was suppressed and why."""
    columns: Sequence[Section]
    """What each column says."""
    findings: Sequence[Section]
    """What else was measured: classes, groups, losses, relations."""
    methods: Sequence[str]
    """How the numbers were made."""
    alternatives: Sequence[Section] = ()
    """Other choices that keep the promise."""


def report_opening(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the plain values of every report begin with: whom it is for, of which release it speaks, and what the ledger says."""
    return {
        "for_the_holder_only": MARK,
        "version": VERSION,
        "dataset": content["dataset"],
        "date": content["date"],
        "method": content["method"],
        "certificate": content["seal"],
        "sentence": content["sentence"],
        "not_promised": list(content["not_promised"]),
        "ledger": content["ledger"],
    }


def report_page(values: Mapping[str, Any], own: MethodSections, treatments: Section | None = None) -> str:
    """The report as a page of HTML without scripts, from its plain values and the sections of its method."""
    read: list[Block] = [Words("When the table was read:"), BulletList(values["notes"])] if values["notes"] else []
    seal = f"the seal of the certificate begins {values['certificate'][:12]}"
    return section_page(
        {
            "title": f"For the custodian only: report on {values['dataset']}",
            "mark": values["for_the_holder_only"],
            "dataset": values["dataset"],
            "lead": f"Released on {values['date']}, method {values['method']}; {seal}.",
            "sentence": values["sentence"],
            "cautions": values["cautions"],
            "footer": values["for_the_holder_only"],
        },
        [
            Section("Rows", [*own.rows, *read]),
            *([treatments] if treatments is not None else []),
            *assessment_sections(values.get("assessment")),
            *own.columns,
            *own.findings,
            *own.alternatives,
            ledger_section(values["ledger"]),
            Section(
                "What is not promised", [BulletList([each.replace(BELOW, ABOVE) for each in values["not_promised"]])]
            ),
            Section("How these numbers were made", [BulletList(own.methods)]),
        ],
    )


def ledger_section(ledger: Mapping[str, Any]) -> Section:
    """What the dataset has been charged in all, as the certificate of the release says it."""
    title = "Total spent on this dataset"
    if "entries" not in ledger:
        return Section(title, [Words(uncharged_ledger_words(CountedLedgerEntry.read(ledger)))])
    known = LedgerEntry.read(ledger)
    lines = charge_lines(known.entries)
    return Section(
        title,
        [
            Words(ledger_words(known)),
            DataTable(
                heads(["charge"], ["epsilon", "delta"]),
                [(name, epsilon, delta) for name, epsilon, delta, _ in lines],
                frozenset(place for place, line in enumerate(lines) if line[-1]),
            ),
            FactList(charge_totals(known)),
        ],
    )


def rows_taking_part(plan: Plan, table: Table) -> int:
    """How many rows are left when each person has at most as many as the unit allows."""
    return rows_and_people(plan, table)[0]


def rows_and_people(plan: Plan, table: Table) -> tuple[int, int | None]:
    """The rows that take part, and how many people there are; None where a row is the unit."""
    unit = plan.unit
    if unit.whose != "person" or unit.column is None:
        return table.rows(), None
    sizes = table.class_sizes([unit.column])
    return sum(min(size, unit.max_rows) * often for size, often in sizes.items()), sum(sizes.values())
