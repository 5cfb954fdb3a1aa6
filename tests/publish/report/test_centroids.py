"""The custodian's report on noisy centroids: losses by clustering and by noise, computed once more by hand."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.publish.centroid_clinic import KINDS, ROWS, publish, write_table

pytestmark = pytest.mark.slow

ROUNDED = 6e-7
"""The report rounds losses to six digits after the point."""


def column(path, name: str) -> list[str]:
    with path.open(newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def test_losses_by_clustering_and_by_noise_are_those_of_ranks_cut_by_hand(tmp_path):
    made = publish(tmp_path, {**KINDS["ranking"], "release.k": 40}, report=True)
    pay = np.sort([float(value) for value in column(tmp_path / "table.csv", "pay")])
    shown = np.sort([float(value) for value in column(made.folder / "attributes/01-pay.csv", "pay")])
    means = np.repeat(pay.reshape(3, 40).mean(axis=1), 40)
    spread = ((pay - pay.mean()) ** 2).sum()
    (one,) = (each for each in made.report["attributes"] if each["name"] == "pay")
    assert one["clustering_loss"] == pytest.approx(100 * ((pay - means) ** 2).sum() / spread, abs=ROUNDED)
    assert one["noise_loss"] == pytest.approx(100 * ((means - shown) ** 2).sum() / spread, abs=ROUNDED)
    assert one["loss"] == pytest.approx(100 * ((pay - shown) ** 2).sum() / spread, abs=ROUNDED)
    assert one["mean_after"] == pytest.approx(shown.mean())
    assert made.report["correlations"] is None
    page = (made.custodian_folder / "report.html").read_text()
    assert "sorted by itself: no relation between two of them is published" in page
    assert "<script" not in page


def test_every_attribute_has_its_picture_and_its_error(tmp_path):
    made = publish(tmp_path, {"release.k": 30}, report=True)
    found = {one["name"]: one for one in made.report["attributes"]}
    assert list(found) == ["pay", "rate", "grade", "hired", "town", "sex", "union"]
    assert all(
        one["loss"] == pytest.approx(one["clustering_loss"] + one["noise_loss"], abs=3 * ROUNDED)
        for one in found.values()
    )
    assert found["town"]["noise"] is None
    assert found["hired"]["expected_noise"].endswith(" days")
    assert made.report["correlations"]["pairs"] >= 3
    kinds = {one["name"]: one["kind"] for one in made.report["columns"]}
    assert (kinds["pay"], kinds["town"], kinds["grade"]) == ("bins", "bars", "bars")
    page = (made.custodian_folder / "report.html").read_text()
    assert all(
        word in page for word in ("by clustering", "by noise", "rows at an end of the domain", "correlations moved by")
    )


def test_with_hardly_any_noise_what_is_lost_is_lost_by_clustering(tmp_path):
    asked = {**KINDS["ranking"], "release.k": 20, "release.epsilon": 500}
    made = publish(tmp_path, asked, report=True)
    (one,) = (each for each in made.report["attributes"] if each["name"] == "pay")
    assert one["noise_loss"] < 0.05 < one["clustering_loss"]
    assert made.report["cautions"] == []


def test_noise_that_drowns_the_values_is_the_first_caution(tmp_path):
    made = publish(tmp_path, {**KINDS["numeric"], "release.epsilon": "0.01", "release.k": 5}, report=True)
    first, second = made.report["cautions"]
    assert first.startswith("The noise drowns")
    assert "more by noise than by clustering" in second


def test_of_people_the_rows_that_took_part_are_compared(tmp_path):
    table = write_table(tmp_path / "table.csv", 200, people=ROWS)
    asked = {**KINDS["ranking"], "unit": {"column": "person", "max_rows": 1}, "release.epsilon": 500, "release.k": 10}
    made = publish(tmp_path, asked, table=table, report=True)
    assert made.report["rows"]["taking_part"] == ROWS
    (one,) = (each for each in made.report["attributes"] if each["name"] == "pay")
    assert one["loss"] < 5
