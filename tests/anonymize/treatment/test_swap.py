"""Swapping: disjoint pairs inside strata, every pair as likely as every other, and the rate right on average."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from shoal.anonymize.treatment.swap import DataSwapping
from shoal.chance.source import Source
from tests.anonymize.treatment.attributes import ScriptedSource, masked

TOWN = masked(np.array(["a", "b", None, "c", "a", "d", "e", "f"], dtype=object), 2)
GRADE = np.arange(8)
SEX = masked(np.array(["f", "f", "f", "m", "m", None, None, "m"], dtype=object), 5, 6)
COLUMNS = {"town": TOWN, "grade": GRADE, "sex": SEX}


def swapped(step, seed):
    with Source.seeded(seed) as source:
        return step.apply(COLUMNS, source)


def test_pairs_exchange_what_is_named_together_inside_strata():
    step = DataSwapping(("town", "grade"), Fraction(9, 10), ("sex",))
    for seed in range(20):
        made = swapped(step, seed)
        order = made["grade"].tolist()
        assert [order[each] for each in order] == list(range(8)), "who gives also gets: pairs, and disjoint ones"
        assert made["town"].tolist() == [TOWN.tolist()[each] for each in order], "missing moves like any value"
        assert [SEX.tolist()[each] for each in order] == SEX.tolist(), "missing is a stratum of its own"
        assert "sex" not in made


def test_every_pair_is_as_likely_as_every_other():
    step = DataSwapping(("grade",), Fraction(1, 4))  # one pair of eight records
    found = Counter()
    for seed in range(1400):
        order = swapped(step, seed)["grade"]
        found[tuple(np.flatnonzero(order != np.arange(8)).tolist())] += 1
    assert len(found) == 28
    expected = 1400 / 28
    assert sum((often - expected) ** 2 / expected for often in found.values()) < 27 + 5 * 54**0.5


def pairs(rate, sizes, coins=()):
    return DataSwapping(("town",), Fraction(rate)).count_pairs(np.array(sizes), ScriptedSource(coins=coins)).tolist()


def test_the_rate_is_right_in_small_strata():
    assert pairs("0.1", [3, 3], [False, True]) == [0, 1]
    assert pairs("0.1", [40]) == [2], "nothing to round"
    assert pairs("0.99", [3], [True]) == [1], "never more than fit"
    assert pairs("0.1", [1, 0], [True]) == [0, 0]


def test_many_strata_have_the_rate_on_average():
    step, strata = DataSwapping(("town",), Fraction(1, 10)), np.repeat(np.arange(20_000), 3)
    with Source.seeded(2) as source:
        first, second = step.pairs(strata, source)
    assert (strata[first] == strata[second]).all()
    assert len({*first.tolist(), *second.tolist()}) == 2 * len(first)
    assert abs(len(first) - 3000) < 5 * (20_000 * 0.15 * 0.85) ** 0.5


def test_its_words():
    step = DataSwapping(("town", "grade"), Fraction(1, 20), ("sex",))
    assert step.words() == (
        "Random pairs of records that agree in sex exchange their values of town, grade together; about 0.05 of the records "
        "take part (swapping)."
    )
