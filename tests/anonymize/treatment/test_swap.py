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


def test_the_rate_is_right_in_small_strata():
    step = DataSwapping(("town",), Fraction(1, 10))
    assert step.count_pairs(3, ScriptedSource(coins=[False])) == 0
    assert step.count_pairs(3, ScriptedSource(coins=[True])) == 1
    assert step.count_pairs(40, ScriptedSource()) == 2
    assert DataSwapping(("town",), Fraction(99, 100)).count_pairs(3, ScriptedSource(coins=[True])) == 1, (
        "never more than fit"
    )
    assert step.count_pairs(1, ScriptedSource(coins=[True])) == 0


def test_its_words():
    step = DataSwapping(("town", "grade"), Fraction(1, 20), ("sex",))
    assert step.words() == (
        "Random pairs of records that agree in sex exchange their values of town, grade together; about 0.05 of the records "
        "take part (swapping)."
    )
