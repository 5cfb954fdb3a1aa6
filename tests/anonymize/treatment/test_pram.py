"""PRAM: its exact law by enumeration, its own epsilon, and what an impostor gets wrong."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.treatment.pram import Pram
from shoal.chance.source import Source
from shoal.errors import UsageError
from shoal.publish.verify.standalone import log_rounded_up, pram_ratio, pram_rows
from tests.anonymize.treatment.attributes import ALIVE, SEX, TOWN, GridBits, ScriptedSource, masked

QUARTERS = {
    "f": {"f": Fraction(1, 2), "m": Fraction(1, 4), "x": Fraction(1, 4)},
    "m": {"f": Fraction(1, 8), "m": Fraction(7, 8)},
    "x": {"x": Fraction(1)},
}


def words(*values):
    return np.array(values, dtype=object)


def test_keeping_has_the_law_that_it_says():
    step, found = Pram(SEX, Fraction(3, 4), None), Counter()
    for coin, number in product((True, True, True, False), (0, 1)):  # three of four coins keep the value
        found[step.apply({"sex": words("m")}, ScriptedSource([number], [coin]))["sex"][0]] += 1
    assert {value: Fraction(often, 8) for value, often in found.items()} == step.row("m")
    assert step.row("m") == {"f": Fraction(1, 8), "m": Fraction(3, 4), "x": Fraction(1, 8)}


@pytest.mark.parametrize("value", ["f", "m", "x"])
def test_a_matrix_has_the_law_of_its_rows(value):
    step = Pram(SEX, None, QUARTERS)
    made = step.apply({"sex": words(*[value] * 64)}, GridBits(6))["sex"]
    found = {to: Fraction(often, 64) for to, often in Counter(made.tolist()).items()}
    assert found == QUARTERS[value]


def test_an_impostor_that_rounds_the_matrix_is_told_apart():
    thirds = {value: {"f": Fraction(1, 3), "m": Fraction(2, 3)} for value in ("f", "m", "x")}
    rounded = {value: {"f": Fraction("0.33"), "m": Fraction("0.67")} for value in ("f", "m", "x")}

    def share(matrix):
        made = Pram(SEX, None, matrix).apply({"sex": words(*["x"] * 4096)}, GridBits(12))["sex"]
        return Counter(made.tolist())["f"]

    assert share(thirds) == 1366 == math.ceil(4096 / 3), "the digits of the grid that are passed, and none else"
    assert share(rounded) != 1366


def test_missing_stays_or_takes_part():
    held = masked(words("a", None, "b"), 1)
    stays = Pram(TOWN, Fraction(1, 2), None)
    drawn = Pram(TOWN, Fraction(1, 2), None, draws_missing=True)
    coins = [False, False, False]
    assert stays.apply({"town": held}, ScriptedSource([0, 2], coins))["town"].tolist() == ["b", None, "a"]
    assert drawn.apply({"town": held}, ScriptedSource([3, 0, 1], coins))["town"].tolist() == [None, "a", "other"]
    assert stays.ratio is None
    assert drawn.ratio == 4


def test_truth_values():
    made = Pram(ALIVE, Fraction(1, 4), None).apply(
        {"alive": np.array([True, False])}, ScriptedSource([0], [True, False])
    )
    assert made["alive"].tolist() == [True, True]
    assert made["alive"].dtype == np.bool_


# --- its own epsilon ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "epsilon"),
    [
        (Pram(ALIVE, Fraction(3, 4), None), "1.0986123"),
        (Pram(ALIVE, Fraction(1, 4), None), "1.0986123"),
        (Pram(SEX, Fraction(1, 3), None), "0"),
        (Pram(TOWN, Fraction(4, 5), None, draws_missing=True), "2.7725888"),
        (Pram(TOWN, Fraction(4, 5), None), None),
        (Pram(SEX, None, QUARTERS), None),
        (Pram(ALIVE, Fraction(3, 4), None, seen_before=True), None),
    ],
)
def test_the_local_epsilon(step, epsilon):
    assert step.local_epsilon == epsilon
    assert ("local differential privacy" in step.words()) == (epsilon is not None)
    assert ("no epsilon of its own" in step.words()) == (epsilon is None)


def test_a_matrix_without_an_epsilon_says_why():
    assert "a missing value stays missing" in Pram(TOWN, Fraction(4, 5), None).words()
    assert "an earlier step has looked" in Pram(ALIVE, Fraction(3, 4), None, seen_before=True).words()
    assert "rules some value out" in Pram(SEX, None, QUARTERS).words()


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=3, max_size=3))
def test_the_local_epsilon_bounds_every_ratio_and_no_smaller_one_does(weights):
    names = ("f", "m", "x")
    matrix = {
        name: {to: Fraction(each, sum(row)) for to, each in zip(names, row, strict=True)}
        for name, row in zip(names, weights, strict=True)
    }
    step = Pram(SEX, None, matrix)
    ratios = [
        None if not matrix[two][to] else matrix[one][to] / matrix[two][to]
        for one, two, to in product(names, names, names)
        if matrix[one][to]
    ]
    assert step.ratio == (None if None in ratios else max(ratios))
    if step.ratio is not None:
        stated, true = float(step.local_epsilon), math.log(step.ratio)
        assert true * (1 - 1e-14) <= stated <= true * (1 + 1e-7)
    lock = {"attribute": "sex", "matrix": {a: {b: str(p) for b, p in row.items() if p} for a, row in matrix.items()}}
    own = {"type": "category", "domain": {"values": list(names)}, "missing": "refuse"}
    told = pram_ratio(pram_rows(lock, own))
    assert told == step.ratio, "the one-file verifier finds the same"
    assert told is None or log_rounded_up(told) == step.local_epsilon


def test_a_row_that_does_not_sum_to_one_is_refused():
    with pytest.raises(UsageError, match="does not sum to 1"):
        Pram(SEX, None, {**QUARTERS, "x": {"x": Fraction("0.99")}})
    with pytest.raises(UsageError, match="both or neither"):
        Pram(SEX, None, None)


def test_a_seeded_run_keeps_about_the_share():
    with Source.seeded(5) as source:
        made = Pram(SEX, Fraction(4, 5), None).apply({"sex": words(*["f"] * 20_000)}, source)["sex"]
    assert abs(Counter(made.tolist())["f"] / 20_000 - 0.8) < 5 * (0.16 / 20_000) ** 0.5
