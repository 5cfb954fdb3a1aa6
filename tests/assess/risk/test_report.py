"""The report of one table: everything by name, refusals with their reason, and two tables side by side."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.assess.quantity import Quantity
from shoal.assess.risk.attack import AttackRisk
from shoal.assess.risk.report import RiskComparison, measure_risk
from shoal.errors import UsageError
from tests.assess.risk.guideline import HEALTH, HIDDEN_CELLS, KEYS, WEIGHTS


def everything(keys=KEYS, **options):
    guessing = Quantity.fact(0.5, "guessing")
    attack = AttackRisk.of("inference of 'health'", np.arange(9) < 6, np.arange(9) < 3, guessing, "it works")
    return measure_risk(
        keys, names=["residence", "gender", "education", "labour"], population=np.repeat(KEYS, 3, axis=0), fraction=0.05,
        weights=WEIGHTS, confidential={"health": HEALTH}, attacks=[attack], **options,
    )  # fmt: skip


@pytest.mark.slow
def test_every_risk_is_there_by_name_with_its_kind():
    found = everything()
    kinds = {name: one.kind for name, one in found.quantities().items()}
    assert kinds["prosecutor.mean"] == kinds["journalist.largest"] == kinds["special_uniques.found"] == "exact"
    assert kinds["individual.mean"] == kinds["population_models.zayatz"] == kinds["special_uniques.dis"] == "model"
    assert kinds["attacks.inference of 'health'"] == "estimate"
    assert found.journalist.largest.value == pytest.approx(1 / 3)
    assert found.marketer_outside.value == pytest.approx(0.7 / 3)
    assert found.population_uniques.value == 0
    assert found.special_uniques.largest_size == 3
    assert found.special_uniques.scores[4] == 12
    assert found.homogeneity["health"].homogeneous.value == 0.6


@pytest.mark.slow
def test_json_and_words_hold_all_of_it():
    found = everything()
    plain = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert plain["version"] == 1
    assert plain["prosecutor"]["mean"]["method"] == found.prosecutor.mean.method
    assert plain["homogeneity"]["health"]["homogeneous"]["value"] == 0.6
    assert plain["attacks"][0]["measured_against"] == "control"
    words = found.words()
    for part in (
        "A prosecutor",
        "A journalist",
        "Benedetti",
        "Zayatz",
        "'health'",
        "inference of",
        "no guarantee",
        "strict",
    ):
        assert part in words


def test_a_table_alone_has_what_can_be_counted_and_no_more():
    found = measure_risk(KEYS, largest_size=None)
    assert (found.journalist, found.individual, found.special_uniques, found.population_models) == (
        None,
        None,
        None,
        {},
    )
    assert found.attributes == ("attribute 1", "attribute 2", "attribute 3", "attribute 4")
    assert {one.kind for one in found.quantities().values()} == {"exact"}


def test_models_that_refuse_are_named_with_their_reason():
    found = measure_risk(np.arange(20)[:, None], fraction=0.05)
    assert "no maximum" in found.refusals["pitman"]
    assert "No number for pitman" in found.words()
    assert found.population_models["decision_rule"].value == found.population_models["zayatz"].value
    many = measure_risk(np.zeros((2, 28), dtype=int), largest_size=1)
    assert "too many" in many.refusals["special uniques"]


def test_two_tables_side_by_side():
    both = RiskComparison(measure_risk(KEYS), measure_risk(HIDDEN_CELLS, matching="lenient"))
    before, after = both.changes()["prosecutor.mean"]
    assert after < before
    assert "prosecutor.mean: 0.7 before, 0.633" in both.words()
    assert both.to_json()["after"]["matching"] == "lenient"


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(UsageError):
        measure_risk(KEYS, names=["one"])
