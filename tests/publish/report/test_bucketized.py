"""The custodian's report on groups: equal to what can be counted by hand, with a picture, and never in public."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.policy.policy import Policy
from shoal.publish.folder import MARK
from shoal.publish.plan.methods import plan
from shoal.publish.report.bucketized import group_report, group_sections
from shoal.publish.report.document import report_page
from tests.publish.reading import Page

SMALL = {"age": [10, 10, 12, 12, 50, 50, 52, 52], "pay": [1, 9, 2, 8, 3, 7, 4, 6], "diag": list("aaabbabb")}
ROLES = {
    "age": {"role": "quasi", "type": "integer"},
    "pay": {"role": "confidential", "type": "integer"},
    "diag": {"role": "drop", "type": "category", "domain": ["a", "b", "c"]},
}


def reported(asked, roles=None, values=None, earlier=0):
    head = {"version": 1, "dataset": "small", "unit": "row", "neighbours": "replace_one"}
    made = plan(Policy.of({**head, "attributes": {**ROLES, **(roles or {})}, "release": {"output": "csv", **asked}}))
    table = open_engine("duckdb").scan(pd.DataFrame(values or SMALL), made.schema)
    done = made.method.run(table, Source.seeded(1))
    content = {
        "dataset": "small", "date": "2026-01-01", "seal": "0" * 64, "sentence": made.claims[0].words(),
        "method": made.method.name, "not_promised": ["nothing else"],
        "ledger": {"unbounded_releases": earlier, "charges": 0, "epsilon": "0", "delta": "0"},
    }  # fmt: skip
    found = group_report(made, table, done, content)
    json.dumps(found, allow_nan=False)
    page = report_page(found, group_sections(found))
    assert Page(page).faults == []
    return found, page


def test_groups_are_counted():
    found, page = reported({"method": "t-closeness", "t": 1, "k": 4})
    assert found["for_the_holder_only"] == MARK
    assert (found["groups"]["count"], found["groups"]["smallest"], found["groups"]["largest"]) == (2, 4, 4)
    assert found["achieved_t"] == "1"
    (pay,) = found["held"]
    assert [(one["label"], one["records"]) for one in pay["shown"]] == [("< 6", 4), (">= 6", 4)]
    assert {(one["share"], one["least"], one["most"]) for one in pay["shown"]} == {(0.5, 0.5, 0.5)}
    # Two groups of ages around 11 and 51: 8 of 3208 of the sum of squares is inside groups.
    assert found["unlike"]["attributes"] == [{"name": "age", "loss": pytest.approx(100 * 8 / 3208)}]
    assert "two buckets only" in " ".join(found["cautions"])
    assert page.count('<svg class="drawn"') == 1


def test_values_of_a_group_that_are_all_equal_are_a_caution():
    values = {**SMALL, "pay": [1, 1, 1, 1, 5, 5, 5, 5]}
    found, _ = reported({"method": "anatomy", "grouping": "confidential", "k": 4}, values=values, earlier=2)
    assert found["achieved_t"] is None
    assert found["held"][0]["one_value"] == 2
    said = " ".join(found["cautions"])
    assert "In 2 groups everybody has the same 'pay'" in said
    assert "2 earlier releases" in said


def test_missing_values_are_a_bucket_of_their_own():
    values = {**SMALL, "diag": ["a", "b", "a", None, "b", "a", "b", None]}
    roles = {"pay": {"role": "drop", "type": "integer"}, "diag": {**ROLES["diag"], "role": "confidential"}}
    found, _ = reported({"method": "t-closeness", "t": 3, "k": 4}, roles, values)
    assert [(one["label"], one["records"]) for one in found["held"][0]["shown"]] == [
        ("a", 3),
        ("{b, c}", 3),
        ("(missing)", 2),
    ]
