"""Homogeneity: what a class tells of its people, by hand and on generated tables."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.lab.attacks.homogeneity import is_told, mondrian_values, read_homogeneous
from shoal.lab.attacks.outcome import AttackSetting
from shoal.lab.attacks.population import People

AGES = [20, 21, 22, 30, 31, 32, 70, 71, 72, 73, 74, 75]
INCOMES = [1000.0] * 12
HELD = ["public"] * 3 + ["private", "company", "private"] * 3


def patients(insurances):
    columns = {"age": np.array(AGES), "income": np.array(INCOMES), "insurance": np.array(insurances, dtype=object)}
    return People(columns)


def test_a_class_with_one_value_tells_it_and_another_does_not():
    own = patients(HELD)
    possible = mondrian_values(own, ("age", "income"), "insurance", 3, Source.seeded(1))
    assert possible(own.take([0])) == {"public"}
    assert possible(own.take([4])) == {"private", "company"}
    assert [is_told([possible], own.take([row]), "insurance") for row in range(12)] == [True] * 3 + [False] * 9


def test_l_diversity_joins_the_class_that_has_one_value():
    own = patients(HELD)
    possible = mondrian_values(own, ("age", "income"), "insurance", 3, Source.seeded(1), 2)
    assert possible(own.take([0])) == {"public", "private", "company"}


def test_two_releases_leave_what_both_hold():
    own = patients(["public", "private", "none", *HELD[3:]])
    one, other = (lambda _, held=held: frozenset(held) for held in ({"public", "private"}, {"public", "none"}))
    assert is_told([one, other], own.take([0]), "insurance")
    assert not is_told([one], own.take([0]), "insurance")
    assert not is_told([one, other], own.take([2]), "insurance")


@pytest.mark.slow
def test_classes_tell_more_of_their_people_than_of_others():
    found = read_homogeneous(AttackSetting(300, 1000, seed=3))
    assert found.outcome("Mondrian, k = 3").succeeds
    assert found.outcome("Mondrian, k = 3, with l = 2").success.value == 0.0
    assert not found.outcome("safe-k").succeeds
