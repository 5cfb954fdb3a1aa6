"""The one-file verifier's arithmetic of boxes against Shoal's own, and against numbers by hand."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from shoal.guarantee.unit import Unit
from shoal.mechanism.boxes import BoxAttribute, halving_cost, solve_boxes
from shoal.publish.verify import standalone as verifier

ROW = Unit.row("add_remove")


def told(epsilon: str, attributes: list[BoxAttribute], unit: Unit) -> tuple[dict[str, Any], verifier.BoxesPlan]:
    """A setting as a certificate states it, and the plan that the verifier reads."""
    setting = solve_boxes(epsilon, attributes=attributes, unit=unit)
    saved = setting.to_saved()
    saved["means"]["half_width"] = repr(round(setting.half_width, 9))
    lock: dict[str, Any] = {"release": {}, "unit": "row", "neighbours": unit.neighbours, "attributes": {}}
    plan = verifier.BoxesPlan(
        lock, {}, setting.epsilon, Fraction(0), unit.max_rows, unit.neighbours == "replace_one", False
    )
    return saved, plan


@settings(deadline=None, max_examples=40)
@given(some.fractions(Fraction(1, 20), 1000).filter(lambda scale: scale > 0), some.integers(1, 2000))
def test_the_cost_of_a_tree_is_the_one_that_noise_is_made_for(scale, bias):
    ours, theirs = halving_cost(scale, bias), verifier.halving_cost(scale, bias)
    assert verifier.decimal(ours) >= theirs  # what is printed suffices
    assert verifier.decimal(ours) == pytest.approx(theirs, rel=Decimal("1e-9"))


def test_the_cost_of_a_tree_by_hand():
    scale, bias = 2.0, 3
    p = math.exp(-1 / scale)
    terms = [math.log((1 + p - p ** (i * bias + 1)) / (1 + p - p ** (i * bias))) for i in range(1, 200)]
    assert float(verifier.halving_cost(Fraction(2), 3)) == pytest.approx(2 / scale + sum(terms), rel=1e-12)
    assert float(verifier.halving_cost(Fraction(2), 10**30)) == pytest.approx(1.0)  # the first term alone
    assert float(verifier.halving_cost(Fraction(10**9), 1)) > 2e-9


@pytest.mark.parametrize("epsilon", ["0.01", "1", "30"])
@pytest.mark.parametrize("unit", [ROW, Unit.row("replace_one"), Unit.person("id", 3, "replace_one")])
def test_every_setting_is_accepted_and_less_noise_is_not(epsilon, unit):
    attributes = [
        BoxAttribute("pay", "ordered", 1001),
        BoxAttribute("town", "nominal", 4),
        BoxAttribute("sex", "nominal", 2),
    ]
    boxes, plan = told(epsilon, attributes, unit)
    assert verifier.box_tree_check(boxes).agrees
    assert verifier.box_share_check(boxes, plan).agrees
    assert verifier.box_error_check(boxes["means"]).agrees
    total = sum(part[1] * times for part, times in verifier.box_parts(boxes, plan))
    assert total == plan.epsilon
    scale = Fraction(boxes["tree"]["scale"])
    less = {**boxes, "tree": {**boxes["tree"], "scale": str(scale * Fraction(9999, 10_000))}}
    assert not verifier.box_tree_check(less).agrees
    steeper = {**boxes, "tree": {**boxes["tree"], "bias": max(1, boxes["tree"]["bias"] // 2)}}
    assert not verifier.box_tree_check(steeper).agrees or boxes["tree"]["bias"] == 1
    more = {**boxes, "means": {**boxes["means"], "epsilon": str(Fraction(boxes["means"]["epsilon"]) * 2)}}
    assert not verifier.box_share_check(more, plan).agrees
    assert not verifier.box_error_check({**boxes["means"], "half_width": "0.001"}).agrees


def test_no_noise_at_all_is_refused_without_a_computation():
    boxes, _ = told("1", [BoxAttribute("pay", "ordered", 1001)], ROW)
    for scale in ("1e-300", "0", "1"):
        assert not verifier.box_tree_check({**boxes, "tree": {**boxes["tree"], "scale": scale}}).agrees
    assert not verifier.box_tree_check({**boxes, "tree": {**boxes["tree"], "epsilon": "1e9"}}).agrees


def test_a_table_that_cannot_be_read_here_leaves_open_how_it_is_written_and_no_class_size(monkeypatch, tmp_path):
    """Boxes have no k: that a Parquet table was not read says nothing about classes."""

    def unread(folder, name):
        raise verifier.UnreadableError("a Parquet table needs pyarrow, which is not installed here")

    monkeypatch.setattr(verifier, "stream_runs", unread)
    saved, plan = told("1", [BoxAttribute("pay", "ordered", 101)], ROW)
    plan = plan._replace(release={"output": {"format": "parquet"}})
    table = {"file": "table.parquet", "columns": ["pay"], "shows": {"pay": verifier.BOX_SHOWS["ordered"]}}
    found = list(verifier.box_table_checks(tmp_path, {"tables": [table], "attributes": saved["attributes"]}, plan))
    assert [check.name for check in found if check.agrees is None] == ["table-text (table.parquet)"]
