"""`shoal assess` and `shoal release --assess`: into the report, or a page of its own; also of another tool's table."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.cli.custodian import asked
from tests.cli.run import answer, refused, shoal
from tests.publish.reading import Page


@pytest.fixture
def copied(made, tmp_path):
    """A copy of the release with its report, its policy and its table."""
    return shutil.copytree(made, tmp_path / "copy")


@pytest.mark.slow
def test_an_assessment_goes_into_the_report_beside_the_release(copied):
    asking = (
        "assess",
        copied / "out",
        "--original",
        copied / "table.csv",
        "--ledger",
        copied / "ledger.sqlite",
        "--fast",
    )
    done = shoal(*asking)
    assert done.exit_code == 0, done.output
    assert "a person's row is found, at most" in done.stdout
    assert "e+0" not in done.stdout
    page = copied / "out.holder" / "report.html"
    assert f"note: written, for the custodian alone: {page}" in done.stderr
    assert "Measured on these tables, not proved" in page.read_text()
    report = json.loads((copied / "out.holder" / "report.json").read_text())
    found = answer(*asking, "--out", copied / "alone.html")
    assert found["page"] == str(copied / "alone.html")
    assert {name: found[name] for name in report["assessment"]} == report["assessment"]
    assert Page((copied / "alone.html").read_text()).faults == []
    assert refused(*asking, "--out", copied / "alone.html", code=2)["wrong"] == "the file exists"
    shutil.rmtree(copied / "out.holder")
    assert "--out FILE.html writes a page" in shoal(*asking).stderr


@pytest.mark.slow
def test_a_table_of_another_tool_is_assessed_with_a_policy(place):
    lines = (place / "table.csv").read_text().splitlines()
    masked = [lines[0], *(",".join(["*", *line.split(",")[1:]]) for line in lines[1:])]
    (place / "masked.csv").write_text("\n".join(masked) + "\n")
    asking = (
        "assess",
        "--masked",
        place / "masked.csv",
        "--policy",
        place / "policy.yaml",
        "--original",
        place / "table.csv",
    )
    done = shoal(*asking, "--fast", "--ledger", place / "ledger.sqlite", "--out", place / "page.html")
    assert done.exit_code == 0, done.output
    assert f"written, for the custodian alone: {place / 'page.html'}" in done.stderr
    assert "a table that another tool made" in (place / "page.html").read_text()


@pytest.mark.slow
def test_a_release_can_be_assessed_while_it_is_made(place):
    done = shoal(*asked(place, "--assess"))
    assert done.exit_code == 0, done.output
    assert "shoal assess" not in done.stderr
    report = json.loads((place / "out.holder" / "report.json").read_text())
    again = answer("assess", place / "out", "--original", place / "table.csv", "--ledger", place / "ledger.sqlite")
    assert {name: again[name] for name in report["assessment"]} == report["assessment"]
    assert "What models learn" in (place / "out.holder" / "report.html").read_text()
    assert "goes into the report" in refused(*asked(place, "--assess", "--no-report"), code=2)["wrong"]


def test_a_folder_that_is_no_release_is_refused(tmp_path):
    found = refused("assess", tmp_path, "--original", tmp_path / "none.csv", code=2)
    assert found["wrong"] == "this is not the folder of a release"


def test_a_ledger_that_is_not_there_is_told_before_a_table_is_read(place):
    tables = ("--masked", place / "none.csv", "--original", place / "none.csv", "--policy", place / "policy.yaml")
    found = refused("assess", *tables, "--ledger", place / "none.sqlite", code=4)
    assert found["wrong"] == "there is no ledger here"
