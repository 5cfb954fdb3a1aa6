"""The number of records: paid for, drawn with noise as stated, certified, used by intervals; as it is where that is public."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from shoal.assess.release.load import load
from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.errors import PolicyError, PreconditionError, UsageError
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.run.safe_k import SafeKJob
from shoal.publish.verify import standalone
from shoal.publish.verify.release import verify
from tests.publish.clinic import planned, publish, write_table

TOTAL: dict[str, object] = {"release.total": {"epsilon": "0.1"}}
PAIRS = TOTAL | {"release.views": "pairs", "release.delta": "1e-4"}
REPLACED: dict[str, object] = {"neighbours": "replace_one", "release.epsilon": "2", "release.total": {"epsilon": "0"}}
PERSON = TOTAL | {"unit": {"column": "patient", "max_rows": 2}, "release.epsilon": "2"}


def test_a_plan_without_the_key_is_as_it_was():
    plan = planned()
    assert "total" not in plan.lock.text
    assert plan.total_noise is None
    assert "laplace-grid" not in plan.theorems
    assert "epsilon_total" not in plan.to_json()


def test_the_total_is_paid_out_of_epsilon():
    plan, plain = planned(TOTAL), planned()
    assert plan.total == plain.total
    assert (PureDP("0.1"), 1) in plan.parts
    assert plan.promise.epsilon_release == plain.promise.epsilon_release - Fraction(1, 10)
    assert plan.promise.k > plain.promise.k or plan.promise.delta_tight > plain.promise.delta_tight
    assert plan.claims[0].guarantee == plan.total
    assert {"laplace-grid", "basic-composition"} <= set(plan.theorems)
    with pytest.raises(PreconditionError, match="costs more"):
        replace(plan, total=ApproxDP("0.95", plan.total.delta))
    with pytest.raises(PreconditionError, match="costs more"):
        replace(plan, method=plain.method)  # the whole of epsilon for the sample, and the total on top


def test_when_nothing_is_said_it_costs_a_hundredth_and_moves_by_the_rows_of_a_unit():
    assert planned({"release.total": {}}).epsilon_total == Fraction(1, 100)
    assert planned(TOTAL).total_noise.scale == 10
    assert planned(PERSON).total_noise.scale == 20
    assert planned(PAIRS).theorems.count("laplace-grid") == 1


REFUSED = [
    ({"release.counts": "pairs"}, "noisy counts tell"),
    ({"release.sampling": {"already": "0.2"}}, "itself a sample"),
    ({"release.total": {"epsilon": "1"}}, "leave nothing"),
    ({"release.total": {"epsilon": "0"}}, "epsilon"),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED)
def test_where_there_can_be_none_it_is_refused(changes, said):
    with pytest.raises(PolicyError, match=said):
        planned(TOTAL | changes)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [TOTAL, PAIRS, PERSON], ids=["wide", "pairs", "person"])
def test_it_is_published_verified_and_used(tmp_path, changes):
    person = changes is PERSON
    publish(tmp_path, changes)
    folder = next(path.parent for path in tmp_path.rglob("certificate.json"))
    told = json.loads((folder / "certificate.json").read_text())["noisy_total"]
    assert told["rows_changed"] == (2 if person else 1)
    assert abs(told["records"] - 600) < 25 * float(Fraction(told["scale"]))
    assert all(check.agrees is not False for check in verify(folder))
    loaded = load(folder)
    low, high = loaded.noisy_total.bounds(0.025)
    found = loaded.total()
    assert low <= found.low <= found.high <= high
    assert found.value == min(max(told["records"], found.low), found.high)


@pytest.mark.parametrize(
    "changes", [{"neighbours": "add_remove"}, {"unit": {"column": "patient", "max_rows": 1}}], ids=["added", "person"]
)
def test_without_noise_it_is_refused_where_neighbours_differ_in_it(changes):
    """A person who is replaced may have had fewer rows, or none; a row that comes or goes changes the number."""
    with pytest.raises(PolicyError, match=r"total\.epsilon.*tells whether somebody is among them"):
        planned(REPLACED | changes)


def test_a_plan_holds_that_by_itself(monkeypatch):
    monkeypatch.setattr(SafeKPlan, "_has_public_total", False)
    with pytest.raises(UsageError, match="not the same for all neighbours"):
        planned(REPLACED)


@pytest.mark.slow
@pytest.mark.parametrize("views", [{}, {"release.views": "pairs", "release.delta": "1e-4"}], ids=["wide", "pairs"])
def test_where_one_row_is_replaced_it_is_published_as_it_is_for_nothing(tmp_path, views):
    plan, plain = planned(REPLACED | views), planned(REPLACED | views | {"release.total": None})
    assert (plan.tells_exact_total, plan.total_noise, plan.cost) == (True, None, plain.cost)
    assert any("total: {epsilon: 0}" in note for note in plain.notes)
    assert not any("total" in note for note in plan.notes)
    paid = planned(REPLACED | views | {"release.total": {"epsilon": "0.1"}})
    assert any("could be spared" in note for note in paid.notes)
    publish(tmp_path, REPLACED | views)
    folder = next(path.parent for path in tmp_path.rglob("certificate.json"))
    told = json.loads((folder / "certificate.json").read_text())["noisy_total"]
    assert told == {"epsilon": "0", "rows_changed": 0, "scale": "0", "records": 600}
    assert all(check.agrees is not False for check in verify(folder))
    assert all(check.agrees is not False for check in standalone.verify(folder))
    assert "is 600, exactly" in (folder / "README.md").read_text()
    found = load(folder).total()
    assert (found.low, found.value, found.high) == (600, 600, 600)
    assert "exact" in found.method


@pytest.mark.slow
def test_its_noise_is_the_one_that_is_stated(tmp_path):
    job = SafeKJob(planned(TOTAL))
    table = open_engine().scan(write_table(tmp_path / "t.csv", 50), job.plan.schema)
    noise = np.array([job.draw_total(table, Source.seeded(i), lambda _: None) - 50 for i in range(3000)])
    q = exp(-1 / 10)
    for t in (0, 5, 20):
        expected = 1 - 2 * q ** (t + 1) / (1 + q)
        deviation = np.sqrt(expected * (1 - expected) / len(noise))
        assert abs((np.abs(noise) <= t).mean() - expected) < 5 * deviation
        half = 1 - 2 * q ** (2 * (t + 1)) / (1 + q**2)  # an impostor: half of the noise
        assert abs((np.abs(noise) <= t).mean() - half) > 5 * deviation


def test_it_is_never_negative(tmp_path):
    job = SafeKJob(planned(TOTAL))
    table = open_engine().scan(write_table(tmp_path / "t.csv", 3), job.plan.schema)
    found = [job.draw_total(table, Source.seeded(i), lambda _: None) for i in range(60)]
    assert min(found) == 0
    assert found.count(0) > 5  # without the floor these would be below
