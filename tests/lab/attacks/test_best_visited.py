"""The unsafe walk is refuted: one rare record decides which scheme it publishes. The paid draw is not refuted."""

from __future__ import annotations

import math

import pytest

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.scores import Ramp
from shoal.chance.source import Source
from shoal.errors import ParameterError
from shoal.lab.attacks import best_visited
from shoal.lab.attacks.best_visited import BETA, K, choose_best_visited, unsafe_best_of_visited
from shoal.lab.attacks.outcome import AttackSetting
from tests.anonymize.generalize.tiny import attribute, counted
from tests.gate import ROOT

LATTICE = Lattice.of([attribute("town", "abcz"), attribute("sex", "fm")], weights={"town": 0})
GRID = [(town, sex) for town in "abc" for sex in "fm" for _ in range(60)]


RUNS = 80


def is_near(share, probability):
    """Whether a share of the runs lies within four standard errors of its probability."""
    return abs(share - probability) < 4 * math.sqrt(probability * (1 - probability) / RUNS)


@pytest.fixture(scope="module")
def found():
    return choose_best_visited(AttackSetting(360, RUNS, seed=3))


@pytest.mark.slow
def test_the_walk_is_refuted(found):
    # towns are hidden if and only if the rare record is in the sample: in beta of the runs, against never
    walked = found.outcome("best scheme visited")
    assert walked.contradicts
    assert is_near(walked.success.value, float(BETA))
    assert walked.control.value == 0.0


@pytest.mark.slow
def test_the_paid_draw_is_not_refuted_and_has_its_exact_probabilities(found):
    drawn = found.outcome("one paid draw")
    assert not drawn.contradicts
    # One row more is worth half of what the spread of the ramp allows: odds of e^(epsilon/2) with the person, even without.
    odds = math.exp(0.25)
    assert is_near(drawn.success.value, odds / (1 + odds))
    assert is_near(drawn.control.value, 0.5)


def test_the_walk_keeps_the_best_of_what_it_saw():
    table, source = counted(LATTICE.names, GRID), Source.seeded("walk")
    assert unsafe_best_of_visited(LATTICE, table, Ramp(K, BETA), 1, 100, source) == {"town": 0, "sex": 0}
    one_step = [unsafe_best_of_visited(LATTICE, table, Ramp(K, BETA), 1, 1, source) for _ in range(40)]
    assert {"town": 0, "sex": 0} not in one_step  # two steps away from where it begins


def test_a_walk_takes_steps():
    with pytest.raises(ParameterError, match="the number of steps"):
        unsafe_best_of_visited(LATTICE, counted(LATTICE.names, GRID), Ramp(K, BETA), 1, 0, Source.seeded(1))


def test_it_is_marked_and_nothing_but_the_catalogue_imports_it():
    assert best_visited.__doc__.startswith("UNSAFE")
    assert unsafe_best_of_visited.__doc__.startswith("UNSAFE")
    shoal = ROOT / "src" / "shoal"
    users = [path.name for path in shoal.rglob("*.py") if "best_visited" in path.read_text("utf-8")]
    assert sorted(users) == ["best_visited.py", "catalogue.py"]
