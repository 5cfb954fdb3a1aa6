"""Risk and utility in the custodian's report: every number says how it is known, and pages made again are the same."""

from __future__ import annotations

import json

import pytest

from shoal.errors import UsageError
from shoal.page.section import BarTable, DataTable, Figure
from shoal.publish.assess import assess_release
from shoal.publish.folder import MARK, REPORT, REPORT_PAGE, is_own_report
from shoal.publish.report.assessment.page import add_assessment, assessment_page, find_report
from shoal.publish.report.assessment.sections import MEASURED, assessment_sections
from tests.publish import (
    box_clinic,
    centroid_clinic,
    clinic,
    counted_clinic,
    grouped_clinic,
    level_clinic,
    noisy_clinic,
    sample_clinic,
)
from tests.publish.reading import Page
from tests.publish.report.assessment.assessed import assessed

HOSTILE = ["<script>alert(1)</script>", "a\u202eb\x07", "x" * 200]
KINDS = {
    "safe-k": lambda folder: clinic.publish(folder, clinic.TREATED, report=True, rows=300),
    "views": lambda folder: clinic.publish(folder, {"release.views": "pairs"}, report=True, rows=60),
    "synthetic": lambda folder: noisy_clinic.publish(folder, "synthetic", report=True),
    "k-anonymity": lambda folder: level_clinic.publish(folder, "every", report=True),
    "microaggregation": lambda folder: counted_clinic.publish(folder, "diverse"),
    "t-closeness": lambda folder: grouped_clinic.publish(folder, "linked", report=True),
    "sample": lambda folder: sample_clinic.publish(folder, changes={"release.rare": "drop"}, rare=4, report=True),
    "centroids": lambda folder: centroid_clinic.publish(folder, {"release.k": 30}, report=True),
    "boxes": lambda folder: box_clinic.publish(folder, report=True),
}

REALLY = ("safe-k", "synthetic", "k-anonymity")
"""Kinds that are assessed; the others get an assessment of two columns."""


def blocks(sections, kind):
    found = [block for section in sections for block in section.blocks]
    return [
        block for block in [*found, *(one.table for one in found if isinstance(one, Figure))] if isinstance(block, kind)
    ]


def test_every_section_with_numbers_says_that_nothing_is_proved_and_each_number_how_it_is_known():
    assert assessment_sections(None) == []
    sections = assessment_sections(assessed(["age", "sex"]))
    assert [one.title for one in sections if one.level == 2] == [
        "Risk: before and after", "How near the release is", "What models learn", "What was not measured, and why",
    ]  # fmt: skip
    assert [one.mark for one in sections if one.level == 2] == [MEASURED, MEASURED, MEASURED, ""]
    risks = blocks(sections, DataTable)[0]
    assert [tuple(row) for row in risks.rows] == [
        (("prosecutor, the worst row", "one divided by the rows of the smallest class"),
         ("100\u00a0%", ""), ("2\u00a0%", ""), "counted"),
        (("unique rows", "rows that no other row looks like"), ("49,473", ""), ("0", ""), "counted"),
        (("unique in the population, pitman", "a method"), ("1,234", "1,200 to 1,300 (95\u00a0%)"), "–", "by a model"),
    ]  # fmt: skip
    attacks = next(one for one in sections if one.title == "Attacks that were tried")
    (table,) = (block for block in attacks.blocks if isinstance(block, DataTable))
    assert table.rows == [
        ["inference of 'age'", "1,000", ("21.2\u00a0%", "18.69 to 23.86\u00a0%"), "21.2\u00a0%",
         ("\u22120.001\u00a0%", "\u22126.80 to 6.36\u00a0%")]
    ]  # fmt: skip
    known = [row[-1] for row in blocks(sections, DataTable)[3].rows]
    assert {each if isinstance(each, str) else each[0].split()[0] for each in known} == {"counted", "estimated"}
    said = sections[-1].blocks[0].sentences
    assert said[:2] == ["Linkability: too few attributes.", "A note of the release."]
    assert "Pitman of the original: too few classes." in said


def test_a_release_of_nobodys_rows_and_one_without_quasi_identifiers():
    values = assessed(["age", "sex"], control=500)
    values["risk"]["after"] = None
    page = Page(assessment_page(values, "clinic", "a table"))
    assert "its rows are nobody's" in page.text
    assert "500 people who took no part" in page.text
    values["risk"] |= {"before": None, "attacks": [], "measures": {}}
    values["utility"] |= {
        "learning": [],
        "classes": None,
        "distinction": None,
        "information_loss": None,
        "granularity": None,
    }
    values["utility"]["relations"] |= {"pairs": [], "association_difference": None, "correlation_difference": None}
    assert "No attribute of the policy is a quasi-identifier" in Page(assessment_page(values, "clinic", "a table")).text


def test_hostile_names_are_shown_and_do_nothing_and_many_columns_stay_small():
    page = assessment_page(assessed(HOSTILE), HOSTILE[0], HOSTILE[1])
    assert page.startswith(f"<!-- {MARK} -->\n")
    assert Page(page).faults == []
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    many = assessed([f"a column with a long name, number {i}" for i in range(100)], parts=41)
    sections = assessment_sections(many)
    assert len(blocks(sections, BarTable)) == 10  # those that moved most
    rows = {one.head[0].name: len(one.rows) for one in blocks(sections, DataTable)}
    assert (rows["column"], rows["columns"]) == (100, 40)
    page = assessment_page(many, "wide", "a table")
    assert len(page.encode()) < 150_000
    assert page == assessment_page(many, "wide", "a table")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_assessment_is_put_into_the_report_of_every_method_and_the_rest_of_the_page_stays(tmp_path, kind):
    made = KINDS[kind](tmp_path)
    private = made.custodian_folder
    before, values = (private / REPORT_PAGE).read_text(), json.loads((private / REPORT).read_text())
    found = assessed(["age", "sex"])
    if kind in REALLY:
        found = assess_release(tmp_path / "table.csv", folder=made.folder, full=False).to_json()
    assert add_assessment(made.folder, found) == private / REPORT_PAGE
    after = (private / REPORT_PAGE).read_text()
    assert Page(after).faults == []
    start = after.index("<h2><bdi>Risk: before and after")
    end = after.index("<h2>", after.index("<h2><bdi>What was not measured") + 4)
    assert after[:start] + after[end:] == before
    assert json.loads((private / REPORT).read_text()) == {**values, "assessment": json.loads(json.dumps(found))}
    add_assessment(made.folder, found)
    assert (private / REPORT_PAGE).read_text() == after
    assert is_own_report(private)
    assert {path.stat().st_mode & 0o777 for path in private.iterdir()} == {0o600}


@pytest.mark.slow
def test_a_report_of_another_release_is_left_alone(tmp_path):
    made = clinic.publish(tmp_path, report=True, rows=60)
    place = made.custodian_folder / REPORT
    place.write_text(place.read_text().replace(made.certificate["seal"], "0" * 64))
    assert find_report(made.folder) is None
    with pytest.raises(UsageError, match="no report of this release"):
        add_assessment(made.folder, assessed(["age", "sex"]))
