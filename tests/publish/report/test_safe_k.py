"""The custodian's report: exact where it counts, honest where it cannot, marked on its first line, and never in public."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import re
from collections import Counter
from functools import cache
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from scipy.stats import binom

from shoal.data.type import Type
from shoal.guarantee.safe_k import frontier as outlook
from shoal.publish.folder import MARK, write_report
from shoal.publish.report.document import report_page
from shoal.publish.report.safe_k import MOST_LABELS, count_published, safe_k_report, safe_k_sections, sample_sizes
from tests.publish.made import csv_of, folders, planned, scanned, sealed
from tests.publish.reading import Page

AGES = [5] * 40 + [15] * 60 + [25] * 100
PLACES = ["north", "south"] * 100
SHOWN = {"age": ["[0, 10)"] * 14 + ["[20, 30)"] * 26, "place": ["north"] * 14 + ["south"] * 26}


@cache
def solved_once(promise):
    return outlook.frontier(promise, lambda: None)


@pytest.fixture(autouse=True)
def _few_solutions(monkeypatch):
    """The frontier depends on the promise alone, and takes seconds for units of several rows."""
    monkeypatch.setattr("shoal.publish.report.safe_k.frontier", lambda promise, _: solved_once(promise))


def write(plan, table, public, private, content):
    """Write the report on a plan with a fixed scheme."""
    values = safe_k_report(plan, table, plan.method.partition.scheme, public, content)
    write_report(private, values, report_page(values, safe_k_sections(plan, values)))


def reported(tmp_path, kind="row", original=None, shown=SHOWN, **plan):
    """A report on files written by hand, so that every number can be followed."""
    made = planned(kind, **plan)
    table = scanned(made, original or {"age": AGES, "place": PLACES})
    public, private = folders(tmp_path)
    content = sealed(made)
    for entry in content["tables"]:
        (public / entry["file"]).write_text(csv_of(shown), encoding="utf-8")
    write(made, table, public, private, content)
    return json.loads((private / "report.json").read_text(encoding="utf-8")), private


@pytest.mark.slow
def test_rows(tmp_path):
    rows = reported(tmp_path)[0]["rows"]
    assert (rows["in"], rows["taking_part"], rows["people"], rows["published"]) == (200, 200, None, 40)
    assert rows["sampled"] == {"expected": 40.0, "standard_deviation": round(math.sqrt(200 * 0.2 * 0.8), 1)}
    assert rows["suppressed"]["estimate"] == 0
    assert rows["suppressed"]["low"] == 0
    assert rows["suppressed"]["high"] == int(binom.ppf(0.975, 200, 0.2)) - 40
    assert rows["kept"] == 1


@pytest.mark.parametrize(("rows", "rate"), [(1, 0.5), (7, 0.01), (200, 0.2), (60_000, 0.15), (13, 1.0), (0, 0.3)])
def test_the_size_of_the_sample_lies_between_its_ends_as_often_as_it_says(rows, rate):
    low, high = sample_sizes(rows, rate)
    inside = binom.cdf(high, rows, rate) - binom.cdf(low - 1, rows, rate)
    assert inside >= 0.95 - 1e-12
    middle, half = (low + high) / 2, 0.35 * (high - low)
    if rows >= 200:
        tight = binom.cdf(middle + half, rows, rate) - binom.cdf(np.ceil(middle - half) - 1, rows, rate)
        assert tight < 0.95


@pytest.mark.parametrize("rate", [0.001, 0.07, 0.3, 0.5, 0.99])
def test_a_group_as_large_as_needed_is_shown_in_half_of_all_samples_or_more(rate):
    k = np.arange(1, 200)
    assert (binom.sf(k - 1, np.ceil(k / rate), rate) >= 0.5).all()


@pytest.mark.slow
def test_columns_before_and_after(tmp_path):
    age, place = reported(tmp_path)[0]["columns"]
    assert (age["name"], age["level"], age["levels"]) == ("age", 1, 4)
    assert (age["labels_in"], age["labels_published"], age["rows_of_labels_gone"]) == (3, 2, 60)
    assert [entry["label"] for entry in age["labels"]] == ["[0, 10)", "[10, 20)", "[20, 30)"]
    assert [entry["rows"] for entry in age["labels"]] == [40, 60, 100]
    assert [entry["published"] for entry in age["labels"]] == [14, 0, 26]
    assert [entry["estimate"] for entry in age["labels"]] == [70, 0, 130]
    assert [entry["kept"] for entry in age["labels"]] == [1.75, 0, 1.3]
    assert age["distance"] == pytest.approx((abs(0.2 - 0.35) + 0.3 + abs(0.5 - 0.65)) / 2)
    by_chance = sum(math.sqrt(2 / math.pi * p * 0.8 / 40) for p in (0.2, 0.3, 0.5, 1)) / 2
    assert age["distance_by_chance"] == pytest.approx(by_chance, abs=1e-6)
    assert place["distance"] == pytest.approx(0.15)
    assert age["rest"] is None


@pytest.mark.slow
def test_detail_is_what_labels_rule_out_of_everybody(tmp_path):
    """Ages 5, 15, 25 have 20, 30, 50 % of people, each its own label; 14 and 26 of the 40 sampled rows are shown."""
    age, place = reported(tmp_path)[0]["columns"]
    differ = 1 - (0.2**2 + 0.3**2 + 0.5**2)
    shown = (14 * 0.8 + 26 * 0.5) / (40 * differ)
    assert age["detail"] == pytest.approx(shown, abs=1e-6)
    assert age["detail_of_rows_shown"] == pytest.approx(shown, abs=1e-6)
    spread = 1.96 * round(math.sqrt(200 * 0.2 * 0.8), 1)
    assert age["detail_low"] == pytest.approx(shown * 40 / (40 + spread), abs=1e-6)
    assert age["detail_high"] == pytest.approx(shown, abs=1e-6)  # no fewer rows were sampled than are published
    assert (place["detail"], place["says"]) == (1, None)
    assert age["commonest"] == {"label": "[20, 30)", "share": 0.65}


@pytest.mark.slow
def test_a_suppressed_row_counts_nothing_in_detail_and_in_full_in_the_distance(tmp_path):
    half = {"age": ["[0, 10)"] * 12 + ["[20, 30)"] * 8, "place": ["north"] * 12 + ["south"] * 8}
    age, place = reported(tmp_path, shown=half)[0]["columns"]
    assert place["detail"] == pytest.approx(0.5)
    assert place["detail_of_rows_shown"] == 1
    assert place["detail_low"] < 0.5 < place["detail_high"]
    assert place["distance"] == pytest.approx((abs(0.5 - 12 / 40) + abs(0.5 - 8 / 40) + 0.5) / 2)
    assert age["distance"] == pytest.approx((abs(0.2 - 12 / 40) + 0.3 + abs(0.5 - 8 / 40) + 0.5) / 2)


VOID = """
  sex: {role: quasi, type: category, domain: [f, m], hierarchy: auto}
  rooms: {role: quasi, type: integer, domain: [0, 3], hierarchy: {groups: {"0 or 1": [0, 1], "2": [2], "3": [3]}}}
  place: {role: quasi, type: category, domain: [north, south], hierarchy: auto}
  land: {role: quasi, type: category, domain: [here, there], hierarchy: auto}
"""
PEOPLE = {
    "sex": ["f", "m"] * 100,
    "rooms": [0] * 92 + [1] * 92 + [2] * 8 + [3] * 8,
    "place": ["north", "south", "south", "north"] * 50,
    "land": ["here"] * 200,
}


@pytest.mark.slow
def test_columns_that_say_nothing_or_little_head_the_report(tmp_path):
    """A column of stars was at distance 0.000, and one where 92 % of the rows say '0 or 1' had a detail of .689."""
    shown = {
        "sex": ["*"] * 40,
        "rooms": ["0 or 1"] * 37 + ["2"] * 2 + ["3"],
        "place": ["north", "south"] * 20,
        "land": ["here"] * 40,
    }
    values, private = reported(tmp_path, original=PEOPLE, shown=shown, attributes=VOID, levels="sex: 1, rooms: 1")
    sex, rooms, place, land = values["columns"]
    assert (sex["says"], sex["detail"], sex["distance"]) == ("nothing", 0, None)
    assert rooms["says"] == "little"
    differ = 1 - 2 * (0.46**2 + 0.04**2)
    assert rooms["detail"] == pytest.approx((37 * 0.08 + 3 * 0.96) / (40 * differ), abs=1e-6)
    assert rooms["detail"] < 0.3
    assert (place["says"], place["detail"]) == (None, 1)
    assert (land["says"], land["detail"], land["distance"]) == ("one value in the original", None, None)
    assert values["cautions"][0] == "'sex' says nothing: every published row shows '*'."
    assert values["cautions"][1].startswith(
        "'rooms' says little: detail 0.255, and 92\u00a0% of the published rows show '0 or 1'"
    )
    page = Page((private / "report.html").read_text(encoding="utf-8"))
    assert page.faults == []
    assert page.text.index("'sex' says nothing") < page.text.index("in the original")
    table = page.text.partition("commonest label")[2].partition("The same promise")[0]
    assert table.index("sex") < table.index("rooms") < table.index("place")
    assert not re.search(r"\b0\.000\b", page.text)  # a detail of nothing is no number
    assert table.count("says nothing") == 1


@pytest.mark.slow
def test_a_common_value_that_is_shown_as_it_is_is_no_fault(tmp_path):
    shown = {
        "sex": ["f"] * 20 + ["m"] * 20,
        "rooms": ["0"] * 36 + ["2"] * 4,
        "place": ["north", "south"] * 20,
        "land": ["here"] * 40,
    }
    original = {**PEOPLE, "rooms": [0] * 180 + [2] * 20}
    rooms = reported(tmp_path, original=original, shown=shown, attributes=VOID, levels="")[0]["columns"][1]
    assert (rooms["says"], rooms["detail"], rooms["commonest"]["share"]) == (None, 1, 0.9)


@pytest.mark.slow
def test_groups(tmp_path):
    groups = reported(tmp_path)[0]["groups"]
    assert (groups["count"], groups["smallest"], groups["largest"]) == (2, 14, 26)
    assert groups["histogram"] == [
        {"from": 12, "to": 23, "groups": 1, "rows": 14},
        {"from": 24, "to": 47, "groups": 1, "rows": 26},
    ]
    at = {entry["share"]: (entry["of_groups"], entry["of_rows"]) for entry in groups["quantiles"]}
    assert at == {
        0: (14, 14),
        0.05: (14, 14),
        0.25: (14, 14),
        0.5: (14, 26),
        0.75: (26, 26),
        0.95: (26, 26),
        1: (26, 26),
    }


@pytest.mark.slow
def test_the_frontier_keeps_the_promise_and_names_this_plan(tmp_path):
    frontier = reported(tmp_path)[0]["frontier"]
    own = [choice for choice in frontier if choice["this_plan"]]
    assert [(choice["k"], choice["beta"], choice["sampled_expected"]) for choice in own] == [(12, "0.2", 40.0)]
    rates = [float(choice["beta"]) for choice in frontier]
    assert rates == sorted(rates)
    assert all(choice["meaning"].endswith("better in both") for choice in frontier if choice["dominated"])


@pytest.mark.slow
def test_it_is_marked_on_the_first_line_and_in_the_first_key(tmp_path):
    values, private = reported(tmp_path)
    assert next(iter(values.items())) == ("for_the_holder_only", MARK)
    for name in ("report.json", "report.html"):
        assert MARK in (private / name).read_text(encoding="utf-8").splitlines()[0]
    page = Page((private / "report.html").read_text(encoding="utf-8"))
    _, _, shown = page.text.partition(f"report on {values['dataset']}")
    assert shown.strip().startswith(MARK)


@pytest.mark.slow
def test_the_public_folder_stays_as_it_is(tmp_path):
    made = planned()
    table = scanned(made, {"age": AGES, "place": PLACES})
    public, private = folders(tmp_path)
    (public / "table.csv").write_text(csv_of({"age": ["[0, 10)"], "place": ["north"]}), encoding="utf-8")
    before = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in public.iterdir()}
    write(made, table, public, private, sealed(made))
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in public.iterdir()} == before
    assert sorted(path.name for path in private.iterdir()) == ["report.html", "report.json"]


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("person", "replace")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["row", "repeat", "sample", *SLOW])
def test_the_page_is_sound_and_repeats(tmp_path, kind):
    original = {"age": AGES, "place": PLACES}
    if kind == "person":
        original = {"name": [f"p{i // 4}" for i in range(200)], **original}
    made = planned(kind)
    table, content = scanned(made, original), sealed(made)
    public, private = folders(tmp_path)
    for entry in content["tables"]:
        (public / entry["file"]).write_text(csv_of(SHOWN), encoding="utf-8")
    pages = []
    for _ in range(2):
        write(made, table, public, private, content)
        pages.append((private / "report.html").read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    assert Page(pages[0]).faults == []


@pytest.mark.slow
def test_a_person_takes_part_with_a_few_rows(tmp_path):
    people = ["a"] * 150 + ["b"] * 2 + [f"p{i}" for i in range(48)]
    rows = reported(tmp_path, "person", {"name": people, "age": AGES, "place": PLACES})[0]["rows"]
    assert (rows["in"], rows["people"], rows["taking_part"]) == (200, 50, 2 + 2 + 48)
    assert rows["sampled"]["expected"] == pytest.approx(5.2)


@pytest.mark.slow
def test_a_table_that_is_the_sample_is_counted_exactly(tmp_path):
    values, private = reported(tmp_path, "sample")
    assert values["rows"]["sampled"] == {"expected": 200, "standard_deviation": 0}
    assert values["rows"]["suppressed"]["low"] == values["rows"]["suppressed"]["high"] == 160
    assert "nothing was drawn" in (private / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_several_tables_are_taken_together(tmp_path):
    values, private = reported(tmp_path, "repeat")
    assert values["rows"]["sampled"]["expected"] == pytest.approx(120)
    assert values["rows"]["published"] == 120
    assert [entry["rows"] for entry in values["tables"]] == [40, 40, 40]
    assert values["groups"]["count"] == 6
    assert [entry["estimate"] for entry in values["columns"][0]["labels"]] == [70, 0, 130]
    assert "table-3.csv" in (private / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_nothing_published(tmp_path):
    values, private = reported(tmp_path, shown={"age": [], "place": []})
    assert values["groups"]["count"] == 0
    assert [(column["detail"], column["distance"]) for column in values["columns"]] == [(0, 1), (0, 1)]
    assert any("No row was published" in caution for caution in values["cautions"])
    page = Page((private / "report.html").read_text(encoding="utf-8"))
    assert page.faults == []
    assert "No class of 12 equal rows or more" in page.text


@pytest.mark.slow
def test_little_published_and_labels_gone_are_said(tmp_path):
    shown = {"age": ["[20, 30)"] * 12, "place": ["north"] * 12}
    cautions = reported(tmp_path, shown=shown)[0]["cautions"]
    assert [caution.split(":")[0] for caution in cautions[:2]] == ["'age' says nothing", "'place' says nothing"]
    assert "The published rows are only 30\u00a0% of the sample's expected size" in cautions[2]
    assert "in 2 of 2 columns" in cautions[3]


CODES = [f"c{i:02d}" for i in range(50)]
MANY = f"  code: {{role: quasi, type: category, domain: [{', '.join(CODES)}], hierarchy: auto}}\n"


@pytest.mark.slow
def test_many_labels_are_cut_and_the_rest_added_up(tmp_path):
    cells = [code for number, code in enumerate(CODES) for _ in range(number + 1)]
    values, private = reported(
        tmp_path, original={"code": cells}, shown={"code": ["c49"] * 20}, attributes=MANY, levels=""
    )
    (column,) = values["columns"]
    assert [entry["label"] for entry in column["labels"]] == CODES[: -MOST_LABELS - 1 : -1]
    assert column["rest"]["labels"] == 30
    assert column["rest"]["rows"] == sum(range(1, 31))
    assert sum(entry["rows"] for entry in column["labels"]) + column["rest"]["rows"] == values["rows"]["in"]
    assert "the other 30 labels" in (private / "report.html").read_text(encoding="utf-8")


RAW = """
  on: {role: quasi, type: date, domain: [2024-01-01, 2024-12-31]}
  size: {role: quasi, type: decimal, domain: [0, 10]}
  flag: {role: quasi, type: boolean}
  grade: {role: quasi, type: ordinal, domain: [poor, fair, good]}
"""


@pytest.mark.slow
@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_values_kept_as_they_are_match_those_published(tmp_path, output):
    """Dates, decimals, truth values and gaps read back from a file are the ones of the original."""
    made = planned(attributes=RAW, levels="", output=output)
    first, second = dt.date(2024, 2, 1), dt.date(2024, 1, 1)
    cells = {
        "on": [first, second, None] * 10,
        "size": [0.5, 2.0, None] * 10,
        "flag": [True, False, None] * 10,
        "grade": ["good", "poor", None] * 10,
    }
    table = scanned(made, cells)
    public, private = folders(tmp_path)
    content = sealed(made)
    table._table.recode(made.method.partition.scheme.levels).write(public / f"table.{output}")
    values = safe_k_report(made, table, made.method.partition.scheme, public, content)
    assert private.is_dir()
    for column in values["columns"]:
        assert (column["labels_in"], column["labels_published"]) == (3, 3), column["name"]
        assert (column["detail_of_rows_shown"], column["distance"]) == (1, 1), column[
            "name"
        ]  # five times those expected
        assert [entry["published"] for entry in column["labels"]] == [10, 10, 10]
        assert column["labels"][-1]["label"] == "(missing)"
    assert [[entry["label"] for entry in column["labels"]][:2] for column in values["columns"]] == [
        ["2024-01-01", "2024-02-01"],
        ["0.5", "2.0"],
        ["false", "true"],
        ["poor", "good"],
    ]


def test_a_parquet_file_of_several_stretches(tmp_path):
    """Each stretch of rows has its own list of labels; groups reach across."""
    made = planned(output="parquet", attributes=MANY, levels="")
    public, _ = folders(tmp_path)
    parts = [
        pa.table({"code": pa.array(cells).dictionary_encode()}) for cells in (["c01", "c02"] * 20, ["c02", "c03"] * 20)
    ]
    with pq.ParquetWriter(public / "table.parquet", parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)
    values = safe_k_report(
        made, scanned(made, {"code": ["c01", "c02", "c03"] * 100}), made.method.partition.scheme, public, sealed(made)
    )
    assert values["groups"]["count"] == 3
    assert (values["groups"]["smallest"], values["groups"]["largest"]) == (20, 40)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_published_table_is_counted_a_few_rows_at_a_time(tmp_path, suffix, monkeypatch):
    """Classes lie across the parts, and each part of a Parquet file has its own list of labels."""
    monkeypatch.setattr("shoal.publish.report.safe_k.ROWS_AT_A_TIME", 7)
    rng = np.random.default_rng(1)
    age, town = np.sort(rng.integers(0, 5, 500)), np.array(["Bern", "Chur", None])[rng.integers(0, 3, 500)]
    table = pa.table({"age": age, "town": pa.array(town.tolist(), pa.string())})
    path = tmp_path / f"table.{suffix}"
    if suffix == "csv":
        csv.write_csv(table, path)
    else:
        packed = table.set_column(1, "town", table.column("town").dictionary_encode())
        pq.write_table(packed, path, row_group_size=20)
    held = SimpleNamespace(columns=("age", "town"), types={"age": Type.INTEGER, "town": Type.TEXT})
    found = count_published(path, held)
    texts = ["(missing)" if value is None else value for value in town]
    assert found.rows == 500
    assert found.sizes.tolist() == sorted(Counter(zip(age.tolist(), texts, strict=True)).values())
    assert found.labels == {"age": Counter(str(value) for value in age), "town": Counter(texts)}


@pytest.mark.slow
def test_labels_are_words_in_every_script(tmp_path):
    labels = ["<b>bold", "شارع", "x" * 100, "(gone)"]
    listed = ", ".join(json.dumps(label, ensure_ascii=False) for label in labels)
    attributes = f'  "كلمة": {{role: quasi, type: category, domain: [{listed}], hierarchy: auto}}\n'
    original = {"كلمة": labels * 30}
    _, private = reported(
        tmp_path, original=original, shown={"كلمة": labels[:2] * 20}, attributes=attributes, levels=""
    )
    page = (private / "report.html").read_text(encoding="utf-8")
    assert Page(page).faults == []
    assert "<bdi>&lt;b&gt;bold</bdi>" in page
    assert "<bdi>شارع</bdi>" in page
    assert f"<bdi>{'x' * 100}</bdi>" in page
