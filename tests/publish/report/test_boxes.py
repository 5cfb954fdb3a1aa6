"""The custodian's report on rows inside boxes: what it compares, and what it says of people with several rows."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.publish.report.boxes import _moved
from tests.publish.box_clinic import KINDS, publish, write_table


def test_distances_of_distributions_by_hand():
    before, after = np.array([0, 0, 10, 10]), np.array([0, 10])
    assert _moved(before, after) == (0.0, 0.0)
    assert _moved(before, np.array([10])) == (5.0, 0.5)  # half of the rows move by ten
    # Shares up to 0, 1, 2: one, one, one of the first; a third, two thirds, one of the second.
    assert _moved(np.array([0, 0]), np.array([0, 1, 2])) == pytest.approx((2 / 3 + 1 / 3, 2 / 3))


@pytest.mark.slow
def test_it_compares_distributions_means_and_relations_of_both_tables(tmp_path):
    made = publish(tmp_path, report=True)
    found = made.report
    assert found["rows"]["in"] == found["rows"]["taking_part"] == 400
    assert found["rows"]["published"] == made.rows_published
    assert found["boxes"]["all"] > 1
    by_name = {one["name"]: one for one in found["attributes"]}
    assert by_name["pay"]["distance"] < 0.5
    assert by_name["pay"]["in_deviations"]
    assert not by_name["town"]["in_deviations"]
    assert abs(by_name["pay"]["mean_before"] - by_name["pay"]["mean_after"]) < 100
    assert found["correlations"]["pairs"] == 10  # of pay, rate, grade, hired and union
    text = next(tmp_path.rglob("report.html")).read_text(encoding="utf-8")
    assert "How near the rows are" in text
    assert "Histograms of pay, before and after" in text


@pytest.mark.slow
def test_rows_that_took_no_part_are_said_and_few_rows_are_a_caution(tmp_path):
    table = write_table(tmp_path / "table.csv", 300, people=50)
    made = publish(tmp_path, {**KINDS["person"], "release.epsilon": "0.5"}, table=table, report=True)
    assert made.report["rows"]["taking_part"] < 300
    assert any("below which noise drowns a table" in said for said in made.report["cautions"])
    text = next(tmp_path.rglob("report.html")).read_text(encoding="utf-8")
    assert "some rows took part, chosen at random" in text


@pytest.mark.slow
def test_an_empty_original_has_nothing_to_be_compared_with(tmp_path):
    table = write_table(tmp_path / "table.csv", 0)
    made = publish(tmp_path, report=True, table=table)
    assert made.report["attributes"] == []
    text = next(tmp_path.rglob("report.html")).read_text(encoding="utf-8")
    assert "The original has no rows, so there is nothing to compare." in text
