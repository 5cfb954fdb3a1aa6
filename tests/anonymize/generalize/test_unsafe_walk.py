"""The unsafe walk is refuted: one rare record decides which scheme it publishes. The safe choice is not refuted."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from scipy.special import betaincinv

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.private_scheme import choose_scheme
from shoal.anonymize.generalize.scores import Ramp
from shoal.chance.source import Source
from shoal.errors import ParameterError
from tests.anonymize.generalize import unsafe_walk as walk
from tests.anonymize.generalize.tiny import attribute, counted
from tests.anonymize.generalize.unsafe_walk import unsafe_best_of_visited
from tests.gate import ROOT

SHOAL = ROOT / "src" / "shoal"
EPSILON, DELTA, ALPHA, RUNS = 2, 1e-6, 1e-9, 400
BETA = Fraction(43, 50)
"""1 − e^−2, rounded down: the rate of a claim of (2, 1e-6)."""
K = 20
# The town does not count as detail, so schemes that differ in it alone differ by what they suppress.
LATTICE = Lattice.of([attribute("town", "abcz"), attribute("sex", "fm")], weights={"town": 0})
GRID = [(town, sex) for town, sex in product("abc", "fm") for _ in range(60)]
RARE = ("z", "f")


def drawn(table, source):
    kept = source.row_mask(BETA).keep(0, len(table))
    return counted(LATTICE.names, [row for row, keep in zip(table, kept, strict=True) if keep])


def walked(table, source):
    return unsafe_best_of_visited(LATTICE, drawn(table, source), Ramp(K, BETA), EPSILON, 100, source)


def chosen(table, source):
    return choose_scheme(LATTICE, counted(LATTICE.names, table), Ramp(K, BETA), EPSILON, source)


def lowest(hits):
    """A lower bound of a probability, wrong with a chance of ALPHA (Clopper and Pearson)."""
    return 0.0 if hits == 0 else float(betaincinv(hits, RUNS - hits + 1, ALPHA))


def highest(hits):
    return 1.0 if hits == RUNS else float(betaincinv(hits + 1, RUNS - hits, 1 - ALPHA))


def refuted(scheme, name):
    """Whether 'towns are hidden' is surely likelier with the rare record than (EPSILON, DELTA) allows, and by how many runs."""
    hits = {}
    for table in (GRID, [*GRID, RARE]):
        source = Source.seeded(f"{name} {len(table)}")
        hits[len(table)] = sum(scheme(table, source)["town"] == 1 for _ in range(RUNS))
    without, with_it = hits[len(GRID)], hits[len(GRID) + 1]
    return lowest(with_it) > math.exp(EPSILON) * highest(without) + DELTA, with_it - without


@pytest.fixture(scope="module")
def audit():
    return {name: refuted(scheme, name) for name, scheme in (("walked", walked), ("chosen", chosen))}


@pytest.mark.slow
def test_the_walk_is_refuted(audit):
    # towns are hidden if and only if the rare record is in the sample: in beta of the runs, against never
    contradicted, told_apart = audit["walked"]
    assert contradicted
    assert told_apart > 0.8 * RUNS


@pytest.mark.slow
def test_the_safe_choice_is_not_refuted(audit):
    contradicted, told_apart = audit["chosen"]
    assert not contradicted
    assert abs(told_apart) < 0.2 * RUNS


def test_the_walk_keeps_the_best_of_what_it_saw():
    table, source = counted(LATTICE.names, GRID), Source.seeded("walk")
    assert unsafe_best_of_visited(LATTICE, table, Ramp(K, BETA), 1, 100, source) == {"town": 0, "sex": 0}
    one_step = [unsafe_best_of_visited(LATTICE, table, Ramp(K, BETA), Fraction(1, 100), 1, source) for _ in range(40)]
    assert {"town": 0, "sex": 0} not in one_step  # two steps away from where it begins
    assert len({tuple(scheme.values()) for scheme in one_step}) > 1


def test_a_walk_takes_steps():
    with pytest.raises(ParameterError, match="the number of steps"):
        unsafe_best_of_visited(LATTICE, counted(LATTICE.names, GRID), Ramp(K, BETA), 1, 0, Source.seeded(1))


def test_it_is_marked_and_nothing_safe_imports_it():
    assert walk.__doc__.startswith("UNSAFE")
    assert unsafe_best_of_visited.__doc__.startswith("UNSAFE")
    assert not [path for path in SHOAL.rglob("*.py") if "unsafe_walk" in path.read_text("utf-8")]
