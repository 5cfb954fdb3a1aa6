"""The custodian's report on views: labels as they are written, people as they take part, and void columns first."""

from __future__ import annotations

import json
import random

import pytest

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from tests.publish.reading import Page

POLICY = """
version: 1
dataset: homes
unit: {column: who, max_rows: 1}
neighbours: add_remove
attributes:
  who: {role: identifier}
  code: {role: quasi, type: category, domain: ["01", "02", "3"]}
  owner: {role: quasi, type: boolean}
  sex: {role: quasi, type: category, domain: [f, m], hierarchy: auto}
release:
  method: safe-k
  epsilon: 2
  delta: 1e-3
  recoding: {levels: {sex: 1}}
  sampling: {beta: 0.5}
  views: pairs
"""


@pytest.fixture(scope="module", params=["csv", "parquet"])
def reported(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    chance = random.Random(5)  # noqa: S311 - made-up homes
    rows = [
        f"p{person},{chance.choice(['01', '02', '3'])},{chance.choice(['true', 'false'])},{chance.choice('fm')}"
        for person in range(3000)
        for _ in range(2)
    ]
    (folder / "table.csv").write_text("\n".join(["who,code,owner,sex", *rows]) + "\n")
    found = plan(Policy.parse(POLICY).with_changes({"release.output": request.param}))
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        made = release(found, folder / "table.csv", folder / "out", ledger=ledger, engine=open_engine())
    return json.loads((made.custodian_folder / "report.json").read_text()), (
        made.custodian_folder / "report.html"
    ).read_text()


@pytest.mark.slow
def test_labels_that_look_like_numbers_are_compared_as_text(reported):
    """Read as numbers, '01' was '1', and every view with it lay at distance 1 from the original."""
    values, _ = reported
    view = next(view for view in values["views"] if view["columns"] == ["code", "owner"])
    assert (view["groups"], view["groups_in"]) == (6, 6)
    assert view["distance"] < 0.1
    assert view["details"]["code"]["detail"] > 0.9


@pytest.mark.slow
def test_kept_is_a_share_of_those_who_take_part(reported):
    values, page = reported
    assert values["rows"]["in"] == 6000
    assert values["rows"]["taking_part"] == 3000
    assert all(0.9 < view["kept"] < 1.1 for view in values["views"])
    assert "3,000" in Page(page).text


@pytest.mark.slow
def test_a_void_attribute_heads_the_report(reported):
    values, page = reported
    assert values["cautions"][0].startswith("'sex' says nothing in all 2 views that hold it")
    assert values["attributes"][0]["name"] == "sex"
    assert values["attributes"][0]["best"]["detail"] == 0
    sound = Page(page)
    assert sound.faults == []
    assert sound.text.index("'sex' says nothing") < sound.text.index("in the original")
