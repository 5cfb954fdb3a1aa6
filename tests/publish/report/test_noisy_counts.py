"""The custodian's report on noisy counts: errors beside those that were to be expected, and the synthetic rows."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from shoal.publish.folder import MARK
from shoal.publish.report.document import report_page
from shoal.publish.report.noisy_counts import (
    POOR,
    _cautions,
    _table,
    error_picture,
    expected_error,
    noisy_counts_sections,
)
from tests.publish.noisy_clinic import publish
from tests.publish.reading import Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported")
    made = publish(folder, "synthetic", rows=900, report=True)
    values = json.loads((made.custodian_folder / "report.json").read_text())
    return made.folder, folder / "table.csv", values, (made.custodian_folder / "report.html").read_text()


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_errors_are_those_of_the_files(reported):
    """Counted again from the original and from the published file of one table, by hand."""
    folder, original, values, _ = reported
    one = next(each for each in values["tables"] if each["columns"] == ["sex"])
    rows = read(original)
    true = Counter(row["sex"] for row in rows)
    content = json.loads((folder / "certificate.json").read_text())
    file = next(table["file"] for table in content["counts"] if table["columns"] == ["sex"])
    shown = {row["sex"]: int(row["count"]) for row in read(folder / file)}
    apart = [abs(count - true.get(label, 0)) for label, count in shown.items()]
    assert one["distance"] == pytest.approx(sum(apart) / 2 / len(rows), abs=1e-6)
    assert one["error"] == pytest.approx(np.mean(apart), abs=1e-4)
    assert (one["cells"], one["largest_error"]) == (len(shown), max(apart))
    drawn = Counter(row["sex"] for row in read(folder / "synthetic.csv"))
    far = sum(abs(drawn[label] / sum(drawn.values()) - true[label] / len(rows)) for label in {*drawn, *true}) / 2
    assert one["synthetic_distance"] == pytest.approx(far, abs=1e-6)
    assert values["rows"]["synthetic"] == sum(drawn.values())


def test_tables_are_listed_with_the_farthest_first(reported):
    _, _, values, page = reported
    distances = [one["distance"] for one in values["tables"]]
    assert distances == sorted(distances, reverse=True)
    assert set(values["mean_distance"]) == set(values["mean_consistent_distance"]) == {"1", "2"}
    assert values["mean_consistent_distance"]["2"] < values["mean_distance"]["2"]
    sound = Page(page)
    assert sound.faults == []
    assert MARK in sound.text
    assert "Synthetic: half the sum" in sound.text
    assert "How far each table is from the original" in page


def test_the_expected_error_is_the_mean_size_of_the_noise():
    for sigma in (0.3, 1.0, 2.5):
        x = np.arange(-200, 201)
        weights = np.exp(-((x / sigma) ** 2) / 2)
        assert expected_error(Fraction(str(sigma))) == pytest.approx(
            (abs(x) * weights).sum() / weights.sum(), rel=1e-12
        )
    assert expected_error(1000.0) == pytest.approx((1000 - 1 / 12000) * np.sqrt(2 / np.pi), rel=1e-12)


def test_cautions_name_poor_tables_and_faults_of_ours():
    sound = {"columns": ["age", "zip"], "consistent_distance": 0.01, "cells": 1000, "outside": 50}
    assert _cautions([sound], whole=True) == []
    poor = {**sound, "consistent_distance": 2 * POOR}
    assert _cautions([sound, poor], whole=True)[0].startswith("1 of 2 tables is poor")
    assert "It is age × zip." in _cautions([sound, poor], whole=True)[0]
    wrong = {**sound, "outside": 200}
    assert "fault of ours" in _cautions([wrong], whole=True)[0]
    assert _cautions([wrong], whole=False) == []  # rows that were set aside explain it


def test_a_report_without_synthetic_rows_has_no_column_for_them(reported):
    _, _, values, _ = reported
    alone = {
        **values,
        "rows": {**values["rows"], "synthetic": None, "taking_part": 5},
        "mean_synthetic_distance": None,
        "tables": [{**one, "synthetic_distance": None} for one in values["tables"]],
    }
    page = Page(report_page(alone, noisy_counts_sections(alone)))
    assert page.faults == []
    assert "Synthetic" not in page.text
    assert "taking part" in page.text
    assert [series.label for series in error_picture(alone["tables"]).series] == [
        "published",
        "expected",
        "made consistent",
    ]


def test_one_table_of_many_cells_does_not_flatten_the_picture():
    tables = [{"distance": far, "expected_distance": far, "consistent_distance": 0.1} for far in (50.0, 0.5)]
    nothing = {"synthetic_distance": None}
    assert error_picture([{**one, **nothing} for one in tables]).y.log
    assert not error_picture([{**one, **nothing} for one in tables[1:]]).y.log
    assert not error_picture([{**one, **nothing, "consistent_distance": 0.0} for one in tables]).y.log


def test_where_some_rows_were_set_aside_counts_are_held_against_their_share():
    noisy = SimpleNamespace(values=np.array([50, 50]), attributes=("sex",), cells=2, sigma=Fraction(1))
    entry = {"name": "01-sex", "sigma": "1", "half_width": 2}
    found = _table(entry, noisy, np.array([100, 100]), 0.5, None, np.array([60.0, 40.0]))
    assert (found["distance"], found["outside"], found["largest_error"]) == (0, 0, 0)
    assert found["consistent_distance"] == pytest.approx(0.1)
