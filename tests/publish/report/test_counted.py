"""The custodian's report on clusters of near records: equal to what can be counted by hand, and never in public."""

from __future__ import annotations

import json
import stat

import numpy as np
import pandas as pd
import pytest

from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.folder import MARK
from shoal.publish.plan.methods import plan
from shoal.publish.rehearse import Proportion
from shoal.publish.report import counted
from shoal.publish.report.counted import counted_report, counted_sections
from shoal.publish.report.document import report_page
from shoal.publish.run.release import release
from shoal.publish.verify.standalone import HANDBOOK
from tests.publish.reading import Page

AGE = {"role": "quasi", "type": "integer"}
PAY = {"role": "confidential", "type": "integer"}
DIAG = {"role": "confidential", "type": "category"}
SMALL = {
    "age": [10, 10, 12, 12, 50, 50, 52, 52],
    "pay": [1, 2, 3, 4, 5, 6, 7, 8],
    "diag": ["a", "a", "a", "a", "a", "b", "a", "b"],
}
SMALL_ROLES = {"age": AGE, "pay": PAY, "diag": DIAG}
FACES = {"method": "microaggregation", "k": 4}
SWAP = {"method": "probabilistic-k", "k": 4}
RANKED = {"method": "probabilistic-k", "k": 4, "grouping": "ranking"}


def planned(roles, asked, **other):
    head = {"version": 1, "dataset": "small", "unit": "row", "neighbours": "replace_one", **other}
    return plan(Policy.of({**head, "attributes": roles, "release": {"output": "csv", **asked}}))


def reported(values, roles, asked, earlier=0, seed=1, **other):
    """The report on what a method made of some columns, as plain values and as a page without faults; and what was made."""
    made = planned(roles, asked, **other)
    table = open_engine("duckdb").scan(pd.DataFrame(values), made.schema)
    masked = made.method.run(table, Source.seeded(seed))
    content = {
        "dataset": "small",
        "date": "2026-01-01",
        "seal": "0" * 64,
        "method": made.method.name,
        "sentence": made.claims[0].words(),
        "guarantee": {"l": made.method.clustering.requirement.l, "t": None},
        "not_promised": ["nothing else"],
        "ledger": {"unbounded_releases": earlier, "charges": 0, "epsilon": "0", "delta": "0"},
    }
    found = counted_report(made, table, masked, content)
    json.dumps(found, allow_nan=False)
    page = Page(report_page(found, counted_sections(found)))
    assert page.faults == []
    return found, page.text, masked


def test_faces_by_hand():
    found, page, _ = reported(SMALL, SMALL_ROLES, FACES)
    assert found["rows"] == {"in": 8, "taking_part": 8, "published": 8}
    (groups,) = found["groups"]
    assert (groups["count"], groups["smallest"], groups["largest"], found["faces"]) == (2, 4, 4, 2)
    assert groups["histogram"] == [{"from": 4, "to": 4, "groups": 2, "rows": 8}]
    (age,) = found["loss"]["attributes"]
    assert (age["sse"], age["sst"], age["own"], age["shows"]) == (8, 3208, 0, "mean")
    assert age["loss"] == found["loss"]["loss"] == pytest.approx(100 * 8 / 3208)
    assert (age["mean_before"], age["mean_after"], age["variance_before"], age["variance_after"]) == (31, 31, 401, 400)
    assert age["variance_ratio"] == pytest.approx(400 / 401)
    assert found["linkage"]["rate"] == pytest.approx(25)  # one of the four of its group
    assert (found["linkage"]["bound"], found["linkage"]["guessing"], found["linkage"]["certain"]) == (25, 12.5, 0)
    pay, diag = found["disclosure"]
    assert (pay["homogeneous_groups"], pay["l"], pay["distance"]) == (0, 4, "ordered")
    assert pay["t"] == pytest.approx(2 / 7)  # half the ranks, two steps below or above on average
    assert (diag["homogeneous_groups"], diag["homogeneous_rows"], diag["l"], diag["t"]) == (1, 4, 1, 0.25)
    assert any("everybody has the same 'diag'" in said for said in found["cautions"])
    assert "1 cluster (4 rows)" in page
    assert found["as_they_are"] == ["pay", "diag"]


def test_correlations_of_faces_by_hand():
    found, _, _ = reported(SMALL, SMALL_ROLES, FACES)
    (pair,) = found["correlations"]["listed"]
    before = np.corrcoef(SMALL["age"], SMALL["pay"])[0, 1]
    after = np.corrcoef([11] * 4 + [51] * 4, SMALL["pay"])[0, 1]
    assert (pair["first"], pair["second"]) == ("age", "pay")
    assert (pair["before"], pair["after"]) == (pytest.approx(before), pytest.approx(after))
    assert found["correlations"]["mean"] == pytest.approx(abs(after - before))


def brute_linkage(before, after):
    """RL of one column by its definition."""
    total = 0.0
    for i, shown in enumerate(after):
        far = [abs(shown - one) for one in before]
        total += (far[i] == min(far)) / far.count(min(far))
    return 100 * total / len(before)


def test_quasi_identifiers_that_change_places():
    found, page, masked = reported(SMALL, SMALL_ROLES, SWAP)
    after = masked.table.collect(["age"])["age"].tolist()
    assert sorted(after) == sorted(SMALL["age"])
    (age,) = found["loss"]["attributes"]
    assert age["sse"] == sum((a - b) ** 2 for a, b in zip(after, SMALL["age"], strict=True))
    assert age["own"] == sum(a == b for a, b in zip(after, SMALL["age"], strict=True))
    assert (age["mean_after"], age["variance_after"]) == (31, 401)
    assert found["linkage"]["rate"] == pytest.approx(brute_linkage(SMALL["age"], after))
    assert found["linkage"]["bound"] == 25
    assert [one["homogeneous_groups"] for one in found["disclosure"]] == [0, 1]  # on the groups, which nobody sees
    assert found["faces"] is None
    assert "values only changed places" in page


def test_confidential_attributes_that_change_places_alone():
    roles = {"age": AGE, "pay": PAY, "days": PAY}
    values = {**SMALL, "days": [3, 3, 3, 3, 9, 8, 7, 6]}
    found, page, masked = reported(values, roles, {**RANKED, "crowds": {"pay": 2}})
    assert {own["of"]: (own["k"], own["count"]) for own in found["groups"]} == {"pay": (2, 4), "days": (4, 2)}
    after = masked.table.collect(["pay", "days"])
    for one in found["loss"]["attributes"]:
        moved = [(a - b) ** 2 for a, b in zip(after[one["name"]].tolist(), values[one["name"]], strict=True)]
        assert one["sse"] == sum(moved)
    assert [one["name"] for one in found["loss"]["attributes"]] == ["pay", "days"]
    assert {one["name"]: (one["homogeneous_groups"], one["l"]) for one in found["disclosure"]} == {
        "pay": (0, 2),
        "days": (1, 1),
    }
    assert any("changing places hid nothing there" in said for said in found["cautions"])
    assert found["linkage"]["bound"] is None
    assert "one in k" not in page
    assert {(pair["first"], pair["second"]) for pair in found["correlations"]["listed"]} == {
        ("age", "pay"), ("age", "days"), ("pay", "days"),
    }  # fmt: skip


def test_missing_values_are_counted_and_said():
    values = {**SMALL, "age": [10, None, None, None, 50, 50, 52, None], "place": [1, 1, 1, 1, 90, 90, 90, 90]}
    roles = {**SMALL_ROLES, "place": AGE, "age": {**AGE, "missing": "value"}}
    found, page, _ = reported(values, roles, FACES)
    age = next(one for one in found["loss"]["attributes"] if one["name"] == "age")
    assert (age["missing_before"], age["missing_after"]) == (4, 4)  # the first group shows nothing, the second its mean
    assert age["own"] == 3
    assert age["mean_before"] == pytest.approx(40.5)
    assert age["mean_after"] == pytest.approx((50 + 50 + 52) / 3)
    assert any(said.startswith("Values are missing: 'age' 4 before and 4 after.") for said in found["cautions"])
    assert "more than half is missing" in page


def test_a_nominal_attribute_by_hand():
    values = {**SMALL, "sex": ["f", "f", "f", "m", "m", "m", "m", "m"]}
    found, _, _ = reported(values, {**SMALL_ROLES, "sex": {"role": "quasi", "type": "category"}}, FACES)
    sex = next(one for one in found["loss"]["attributes"] if one["name"] == "sex")
    assert (sex["sse"], sex["sst"], sex["own"], sex["mean_before"]) == (1, 3, 7, None)
    bars = next(column for column in found["columns"] if column["name"] == "sex")
    assert [(entry["label"], entry["rows"], entry["published"]) for entry in bars["labels"]] == [
        ("m", 5, 4),
        ("f", 3, 4),
    ]
    assert bars["rest"] is None


@pytest.mark.slow
@pytest.mark.parametrize("show", ["centroid", "median", "label"])
def test_every_type_has_its_numbers_and_its_picture(show):
    n = 24
    values = {
        "born": [f"1990-01-{1 + i:02}" for i in range(n)],
        "seen": [f"2020-01-01 {i:02}:00:00" for i in range(n)],
        "grade": [["low", "mid", "high"][i // 8] for i in range(n)],
        "old": [i > 11 for i in range(n)],
        "town": [f"t{i:02}" for i in range(n)],
        "pay": list(range(n)),
    }
    towns = {"groups": {"north": values["town"][:12], "south": values["town"][12:]}}
    roles = {
        "born": {"role": "quasi", "type": "date"},
        "seen": {"role": "quasi", "type": "datetime"},
        "grade": {"role": "quasi", "type": "ordinal", "domain": ["low", "mid", "high"]},
        "old": {"role": "quasi", "type": "boolean"},
        "town": {"role": "quasi", "type": "category", "domain": values["town"], "hierarchy": towns},
        "pay": PAY,
    }
    found, page, _ = reported(values, roles, {**FACES, "k": 6, "show": show})
    lost = {one["name"]: one for one in found["loss"]["attributes"]}
    assert all(one["loss"] is not None and 0 <= one["loss"] < 100 for one in lost.values())
    assert lost["grade"]["mean_before"] is None
    assert lost["born"]["mean_before"] == pytest.approx(
        (np.datetime64("1990-01-01") - np.datetime64(0, "D")).astype(int) + 11.5
    )
    assert "1990-01-12" in page
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds == {"born": "bins", "seen": "bins", "grade": "bars", "old": "bars", "town": "bars"}
    town = next(column for column in found["columns"] if column["name"] == "town")
    assert len(town["labels"]) == 20
    assert "the other " in page


def test_an_interval_is_compared_by_its_middle():
    values = {**SMALL, "age": [10, 10, 10, 16, 50, 50, 50, 58]}
    found, _, _ = reported(values, SMALL_ROLES, {**FACES, "show": "label"})
    (age,) = found["loss"]["attributes"]
    assert age["sse"] == 4 * 3**2 + 4 * 4**2
    assert age["shows"] == "interval"


def test_one_row_of_each_person_takes_part():
    values = {key: column * 2 for key, column in SMALL.items()} | {"who": [f"p{i}" for i in range(8)] * 2}
    roles = {**SMALL_ROLES, "who": {"role": "identifier", "type": "text"}}
    found, page, _ = reported(values, roles, FACES, unit={"column": "who", "max_rows": 1})
    assert found["rows"] == {"in": 16, "taking_part": 8, "published": 8}
    assert found["loss"]["attributes"][0]["sse"] == 8
    assert "one row of each unit" in page


def test_what_else_is_cautioned():
    values = {**SMALL, "same": [7] * 8, "noise": [1, 99, 2, 98, 1, 99, 2, 98]}
    found, _, _ = reported(values, {**SMALL_ROLES, "same": AGE, "noise": AGE}, FACES, earlier=2)
    said = " ".join(found["cautions"])
    assert "'same' is the same for everybody" in said
    assert "2 earlier releases" in said
    lost = {one["name"]: one["loss"] for one in found["loss"]["attributes"]}
    assert lost["same"] is None
    assert found["loss"]["loss"] == pytest.approx((lost["age"] + lost["noise"]) / 2)
    worst = max(("age", "noise"), key=lost.__getitem__)
    assert (f"'{worst}' has lost" in said) == (lost[worst] > 50)


def test_without_confidential_attributes():
    found, page, _ = reported({"age": SMALL["age"]}, {"age": AGE}, FACES)
    assert found["disclosure"] == []
    assert found["correlations"] is None
    assert "no confidential attribute" in page
    both, page, _ = reported({"age": SMALL["age"], "pay": SMALL["pay"]}, {"age": AGE, "pay": AGE}, FACES)
    assert both["correlations"]["pairs"] == 1
    assert "1 pair of numbers: correlations moved by" in page


def test_the_interval_of_a_matched_share_covers_it_and_a_smaller_one_does_not(effort):
    """As `matched` draws: a record, then one of those nearest to it; the share is known here."""
    sizes = np.array([0, 1, 2, 5, 5, 3, 0, 1, 2, 4])
    share = np.mean([1 / size if size else 0.0 for size in sizes])
    held = tight = 0
    many = 400 * effort
    for seed in range(many):
        with Source.seeded(seed) as chance:
            chosen = chance.stream("records").integers(len(sizes), 150).astype(np.int64)
            found = Proportion.of(counted._successes(sizes[chosen], chance.stream("guesses")), 150)
        held += found.low <= share <= found.high
        tight += (
            found.share - 0.7 * (found.share - found.low) <= share <= found.share + 0.7 * (found.high - found.share)
        )
    slack = 5 * np.sqrt(many * 0.95 * 0.05)
    assert held > 0.95 * many - slack
    assert tight < 0.95 * many


@pytest.mark.slow
def test_a_large_table_is_matched_on_records_drawn_at_random(monkeypatch):
    chance = np.random.default_rng(5)
    values = {"age": chance.integers(0, 10_000, 600).tolist(), "pay": list(range(600))}
    exact, _, _ = reported(values, {"age": AGE, "pay": PAY}, FACES)
    assert exact["linkage"]["exact"]
    monkeypatch.setattr(counted, "MOST_DISTANCES", 1000)
    monkeypatch.setattr(counted, "Source", type("Fixed", (), {"secure": lambda: Source.seeded(8)}))
    drawn, page, _ = reported(values, {"age": AGE, "pay": PAY}, FACES)
    found = drawn["linkage"]
    assert not found["exact"]
    assert found["attempts"] == 2000
    assert found["low"] < exact["linkage"]["rate"] < found["high"] < 1.3 * exact["linkage"]["rate"]
    assert found["low"] > 0.7 * exact["linkage"]["rate"]
    assert "2,000 records drawn at random" in page
    monkeypatch.setattr(counted, "TRIED_DISTANCES", 1000)
    left, page, _ = reported(values, {"age": AGE, "pay": PAY}, FACES)
    assert left["linkage"]["rate"] is None
    assert "not computed" in page


@pytest.mark.slow
@pytest.mark.parametrize("asked", [FACES, SWAP, {**RANKED, "crowds": {"pay": 2}}])
def test_nothing_of_it_lands_in_public(tmp_path, asked):
    roles = {**SMALL_ROLES, "diag": {**DIAG, "role": "other"}} if asked is not SWAP else SMALL_ROLES
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        frame = pd.DataFrame(SMALL)
        made = release(planned(roles, asked), frame, tmp_path / "out", ledger=ledger, engine=open_engine("duckdb"))
    assert made.notes == ()
    assert {path.name for path in made.folder.rglob("*")} == {
        "table.csv", "policy.lock.yaml", "certificate.json", "certificate.html", *HANDBOOK,
    }  # fmt: skip
    assert not any(MARK in path.read_text("utf-8") for path in made.folder.iterdir())
    assert made.custodian_folder is not None
    assert stat.S_IMODE(made.custodian_folder.stat().st_mode) == 0o700
    assert {path.name for path in made.custodian_folder.iterdir()} == {"report.json", "report.html"}
    for path in made.custodian_folder.iterdir():
        assert MARK in path.read_text("utf-8").splitlines()[0]


def test_a_column_that_says_nothing_heads_the_cautions():
    values = {**SMALL, "old": SMALL["age"], "older": SMALL["age"], "flat": [1, 99, 1, 99, 1, 99, 1, 99]}
    found, page, _ = reported(values, {**SMALL_ROLES, "old": AGE, "older": AGE, "flat": AGE}, FACES)
    flat = next(one for one in found["loss"]["attributes"] if one["name"] == "flat")
    assert flat["constant_after"]
    assert found["cautions"][0] == "'flat' says nothing: every published row shows the same value."
    assert page.index("'flat' says nothing") < page.index("in the original")
