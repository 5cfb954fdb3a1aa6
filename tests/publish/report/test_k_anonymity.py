"""The custodian's report on levels: rows left out, loss and bound, classes before and after, what each criterion reached."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.publish.level_clinic import publish


@pytest.mark.slow
def test_the_report_says_what_was_asked_and_what_was_reached(tmp_path):
    made = publish(tmp_path, "every", report=True)
    values = json.loads((made.custodian_folder / "report.json").read_text())
    rows = values["rows"]
    assert rows["published"] + rows["left_out"] == rows["taking_part"] == rows["in"] == 200
    assert rows["published"] == made.rows_published
    reached = {one["name"]: one for one in values["criteria"]}
    assert set(reached) == {"k", "l", "entropy l", "recursive (c, l)", "t", "alpha", "enhanced beta", "k-map"}
    assert reached["k"]["before"] < 5 <= reached["k"]["after"]
    assert reached["alpha"]["after"] <= 0.8 < reached["alpha"]["before"] == 1
    assert reached["t"]["after"] <= 0.3
    search = values["search"]
    assert search["kind"] == "exact"
    assert search["lower_bound"] == search["value"]
    assert {one["name"] for one in values["levels"]} == {"age", "sex"}
    assert sum(each["rows"] for each in values["classes"]["after"]["histogram"]) == made.rows_published
    page = (made.custodian_folder / "report.html").read_text()
    assert page.startswith("<!-- For the custodian only")
    assert "What was asked, and what was reached" in page
    assert "rows in a class" in page
    assert "<rect width=" in page
    assert "report" not in {path.stem for path in made.folder.iterdir()}


@pytest.mark.slow
def test_people_of_the_population_are_counted_by_what_the_table_shows(tmp_path):
    k_map = {"k": 50, "population": "people.csv", "count": "people"}
    made = publish(tmp_path, "local", {"release.criteria": {"k_map": k_map}}, report=True)
    (reached,) = [one for one in made.report["criteria"] if one["name"] == "k-map"]
    shown = Counter(_class(line) for line in _lines(made.folder / "table.csv"))
    # Five people of each age and sex: a class stands for its ages times its sexes.
    assert reached["after"] == 5 * min(_ages(age) * (2 if sex == "*" else 1) for age, sex in shown)
    assert len(shown) == made.report["classes"]["after"]["count"]


def _class(line):
    age, sex, _ = line.replace('"', "").rsplit(",", 2)
    return age, sex


def _ages(label):
    low, _, high = label.strip("[)").partition(", ")
    return 100 if label == "*" else int(high) - int(low)


@pytest.mark.slow
def test_cautions_speak_of_rows_left_out_and_of_homogeneous_classes(tmp_path):
    one_value = tmp_path / "one.csv"
    lines = [
        "patient,age,sex,diag",
        *(f"p{i},{i % 40},{'fm'[i % 2]},{'flu' if i % 40 < 20 else 'cold'}" for i in range(200)),
    ]
    one_value.write_text("\n".join([*lines, *(f"q{i},{99 - i},m,rare" for i in range(3))]) + "\n")
    changes = {"release.recoding": {"levels": {"age": 1}}}
    made = publish(tmp_path, "fixed", changes, table=one_value, report=True)
    said = " ".join(made.report["cautions"])
    assert "one value only" in said
    assert made.report["search"]["kind"] == "fixed"


def _lines(path):
    return path.read_text().splitlines()[1:]
