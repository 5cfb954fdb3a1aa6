"""One document for all methods: the order of its sections, what the ledger says, and a page that stays small."""

from __future__ import annotations

import re

import pytest

from shoal.page.section import FactList, Section, Words
from shoal.publish.folder import MARK
from shoal.publish.report.document import MethodSections, ledger_section, report_opening, report_page
from shoal.publish.report.sections import column_sections, earlier_caution
from tests.publish.made import planned, sealed
from tests.publish.reading import Page
from tests.publish.report.assessment.assessed import assessed

CONTENT = {
    "dataset": "clinic",
    "date": "2026-01-01",
    "method": "safe-k",
    "seal": "0" * 64,
    "sentence": "what is promised",
    "not_promised": ["It does not cover what is not in the list of charges below."],
    "ledger": {"unbounded_releases": 2, "charges": 0, "epsilon": "0", "delta": "0"},
}


def values(**more):
    return {**report_opening(CONTENT), "cautions": ["a caution"], "notes": ["a note"], **more}


def headings(page: str, level: int = 2) -> list[str]:
    return re.findall(rf"<h{level}><bdi>(.*?)</bdi></h{level}>", page)


def test_the_order_of_the_sections_is_the_same_for_all_methods():
    own = MethodSections(
        rows=[FactList([("in the original", "8", "")])],
        columns=[Section("columns", [])],
        findings=[Section("findings", [])],
        alternatives=[Section("alternatives", [])],
        methods=["counted"],
    )
    steps = Section("steps", [Words("rounded")])
    page = report_page(values(assessment=assessed(["age"])), own, steps)
    assert headings(page) == [
        "Rows", "steps", "Risk: before and after", "How near the release is", "What models learn",
        "What was not measured, and why", "columns", "findings", "alternatives", "Total spent on this dataset",
        "What is not promised", "How these numbers were made",
    ]  # fmt: skip
    sound = Page(page)
    assert sound.faults == []
    assert sound.text.index(MARK) < sound.text.index("what is promised") < sound.text.index("a caution")
    assert "a note" in sound.text
    assert "the list of charges above" in sound.text  # in the certificate it stands below
    assert page == report_page(values(assessment=assessed(["age"])), own, steps)


def test_what_was_spent_is_what_the_certificate_says():
    (words,) = ledger_section(CONTENT["ledger"]).blocks
    assert "unbounded" in words.text
    assert earlier_caution(CONTENT["ledger"])[0].startswith("The ledger notes 2 earlier releases of this dataset")
    assert earlier_caution({"unbounded_releases": 0}) == []


@pytest.mark.slow
def test_every_charge_of_the_dataset_is_listed():
    made = planned()
    words, table, totals = ledger_section(sealed(made, charges=3)["ledger"]).blocks
    assert words.text.startswith("2 earlier charges of this dataset were in the custodian's ledger")
    assert [row[0] for row in table.rows] == ["charge 1", "charge 2", "charge 3: this release"]
    assert table.chosen == {2}
    assert totals.facts[0][:2] == ("added up", "(3, 0.000003)")
    assert totals.facts[-1][:2] == ("budget", "(100, 0.001)")


def bins(name):
    records = [[float(i), float(300 - i)] for i in range(300)]
    edges = [12.5 * i for i in range(25)]
    return {
        "name": name,
        "kind": "bins",
        "edges": edges,
        "before": [101, 7] * 12,
        "after": [54] * 24,
        "cut": True,
        "records": records,
    }


def bars(name):
    entry = {"rows": 1234, "published": 1234, "share": 0.04321, "published_share": 0.05432}
    labels = [{"label": f"a rather long label {i}", **entry} for i in range(20)]
    return {"name": name, "kind": "bars", "labels": labels, "rest": {"label": None, **entry, "labels": 40}}


@pytest.mark.parametrize("kind", [bins, bars])
def test_a_page_of_a_hundred_columns_is_below_500_kb(kind):
    columns = [kind(f"a column with a long name, number {i}") for i in range(100)]
    attributes = {one["name"]: {"type": "decimal"} for one in columns}
    own = MethodSections([], column_sections(columns, attributes), [], [])
    page = report_page(values(assessment=assessed([one["name"] for one in columns])), own)
    assert 150_000 < len(page.encode()) < 500_000
    assert len(headings(page, 3)) == 105
    assert Page(page).faults == []
    if kind is bars:
        assert "the other 54 labels" in page  # 20 of 60 were listed, and a page of so many columns has room for six
    else:
        assert page.count('<th scope="col" class="number"><bdi>before</bdi></th>') == 100


def test_the_table_under_a_histogram_adds_up_and_few_columns_show_everything():
    section = column_sections([bins("pay")], {"pay": {"type": "decimal"}})[1]
    (figure,) = section.blocks
    assert [row[0] for row in figure.table.rows] == [
        "0 to 50", "50 to 100", "100 to 150", "150 to 200", "200 to 250", "250 to 300",
    ]  # fmt: skip
    assert [row[1:] for row in figure.table.rows] == [("216", "216")] * 6
    assert "300 records" in figure.caption
    ages = {
        **bins("age"),
        "edges": [i - 0.5 for i in range(9)],
        "before": list(range(8)),
        "after": [1] * 8,
        "records": [],
    }
    (figure,) = column_sections([ages], {"age": {"type": "integer"}})[1].blocks
    assert [tuple(row) for row in figure.table.rows] == [
        ("0 to 1", "1", "2"), ("2 to 3", "5", "2"), ("4 to 5", "9", "2"), ("6 to 7", "13", "2"),
    ]  # fmt: skip
    (table,) = column_sections([bars("town")], {"town": {"type": "category"}})[1].blocks
    assert len(table.rows) == 21
    assert table.rows[-1].label == "the other 40 labels"
