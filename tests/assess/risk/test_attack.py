"""Attacks: distances by hand, the nearest records by brute force, and what an excess over control and baseline says."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.assess.quantity import Quantity
from shoal.assess.risk import attack
from shoal.assess.risk.attack import AttackRisk, NearestSearch, ReleasedAttribute, check_names, check_released, parts_of
from shoal.errors import DataError, ParameterError
from tests.assess.risk.released_tables import copied, generalized, people

HALF = [[0.5, 0.5, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]]


def test_the_mismatch_without_an_order_is_what_the_label_has_elsewhere():
    found = ReleasedAttribute([0], HALF).mismatch()
    assert found == pytest.approx(np.array([[0.5, 1, 2 / 3], [0.5, 1, 2 / 3], [1, 0, 2 / 3], [0, 0, 0]]))


def test_the_mismatch_with_positions_is_an_expected_distance():
    """Parts at 0, 1 and 4: from the first part to the first label (0 + 1) / 2 of 4; to the third (0 + 1 + 4) / 3 of 4."""
    found = ReleasedAttribute([0], HALF, [0, 1, 4]).mismatch()
    assert found[0] == pytest.approx([0.125, 1, 5 / 12])
    assert found[2] == pytest.approx([(4 + 3) / 8, 0, 7 / 12])


@pytest.mark.parametrize("joint", [1, 4096])
def test_the_nearest_are_those_of_comparing_every_target_with_every_record(joint, monkeypatch):
    monkeypatch.setattr(attack, "JOINT", joint)
    monkeypatch.setattr(attack, "BLOCK", 500)
    release, names = generalized(people(1, 60), 3), ("age", "town", "job")
    known = parts_of(people(2, 25), names, release, "the targets")
    known[::4, 1] = -1
    search = NearestSearch(release, names)
    tables = [release[name].mismatch() for name in names]
    blocks = 0
    for block, near in search.blocks(known):
        blocks += 1
        for target, mask in zip(known[block], near, strict=True):
            distances = [
                sum(table[part, code] for table, part, code in zip(tables, target, row, strict=True))
                for row in search.tuples
            ]
            assert mask.tolist() == [distance <= min(distances) + 1e-9 for distance in distances]
    assert blocks > 1
    assert search.counts.sum() == 60


def test_the_risk_is_the_excess_over_the_control_group_or_without_one_over_the_baseline():
    hits, control = np.arange(100) < 60, np.arange(50) < 10
    found = AttackRisk.of("inference", hits, control, Quantity.fact(0.5, "guessing"), "it works")
    assert (found.success.value, found.risk.value, found.measured_against) == (0.6, pytest.approx(0.5), "control")
    assert found.risk.low < 0.5 < found.risk.high
    alone = AttackRisk.of("inference", hits, None, Quantity.fact(0.5, "guessing"), "it works")
    assert (alone.risk.value, alone.measured_against) == (pytest.approx(0.2), "baseline")
    assert "Without a control group" in alone.words()
    assert "Without" not in found.words()
    assert found.to_json()["beats_baseline"] is True
    assert alone.to_json()["control"] is None


def test_an_attack_that_does_not_beat_guessing_says_that_it_shows_nothing():
    found = AttackRisk.of("inference", np.arange(10) < 2, None, Quantity.fact(0.5, "guessing"), "it works")
    assert not found.beats_baseline
    assert "no better than guessing" in found.words()


@pytest.mark.parametrize(
    ("codes", "shares", "positions"),
    [
        ([0], [[0.5, 0.4]], None),
        ([0], [[1.5, -0.5]], None),
        ([0], [1.0], None),
        ([2], np.eye(2), None),
        ([-1], np.eye(2), None),
        ([], np.eye(2), None),
        ([0.0], np.eye(2), None),
        ([0], np.eye(2), [1]),
        ([0], np.eye(2), [1, np.nan]),
    ],
)
def test_attributes_that_are_no_distributions_are_refused(codes, shares, positions):
    with pytest.raises(DataError):
        ReleasedAttribute(codes, shares, positions)


def test_tables_that_do_not_fit_are_refused():
    release = copied(people(1, 5))
    with pytest.raises(DataError, match="lacks"):
        check_released(release, ["nobody"])
    with pytest.raises(DataError, match="different numbers"):
        check_released(release | {"job": ReleasedAttribute([0], np.eye(8))}, ["age", "job"])
    wrong_jobs = ([9], [-2], [0, 1], [0.0])
    for wrong in ({"age": [0, 1]}, {"age": [[0]], "job": [[0]]}, *({"age": [0], "job": jobs} for jobs in wrong_jobs)):
        with pytest.raises(DataError):
            parts_of(wrong, ["age", "job"], release, "the targets")
    for names in ([], ["age", "age"]):
        with pytest.raises(ParameterError):
            check_names(names, "known attributes")
