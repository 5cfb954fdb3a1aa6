"""What may stand before a differential mechanism, and what stays missing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.anonymize.treatment.base import Dependence, check_record_wise, on_present
from shoal.anonymize.treatment.coding import ExtremeCoding
from shoal.anonymize.treatment.population import PopulationThreshold
from shoal.anonymize.treatment.pram import Pram
from shoal.anonymize.treatment.random_rounding import RandomRounding
from shoal.anonymize.treatment.rounding import Rounding
from shoal.anonymize.treatment.swap import DataSwapping
from shoal.errors import PreconditionError
from shoal.guarantee.unit import Unit
from tests.anonymize.treatment.attributes import AGE, PAY, SEX, TOWN, masked

ROW = Unit.row("add_remove")
COUNTS = {"a": 5, "b": 50, "c": 500, "other": 0}
RECORD_WISE = (
    ExtremeCoding(AGE, "85", "top"),
    Rounding(PAY, Fraction(1, 10)),
    RandomRounding(AGE, 5),
    PopulationThreshold(TOWN, 10, COUNTS, "other"),
    Pram(SEX, Fraction(4, 5), None),
)
OF_OTHERS = (DataSwapping(("town",), Fraction(1, 10)), PopulationThreshold(TOWN, 10, None, None))


def test_each_says_what_it_depends_on():
    found = [each.dependence for each in (*RECORD_WISE, *OF_OTHERS)]
    alone, chance, others = Dependence.RECORD, Dependence.CHANCE, Dependence.TABLE
    assert found == [alone, alone, chance, alone, chance, others, others]


def test_steps_that_look_at_one_record_may_stand_before_a_mechanism():
    check_record_wise(RECORD_WISE, ROW)


@pytest.mark.parametrize("step", OF_OTHERS, ids=lambda each: each.kind)
def test_steps_that_look_at_others_may_not(step):
    with pytest.raises(PreconditionError, match=r"record-wise-treatment.*other records"):
        check_record_wise((*RECORD_WISE, step), ROW)


def test_the_column_that_names_people_is_not_touched():
    with pytest.raises(PreconditionError, match=r"record-wise-treatment.*names people"):
        check_record_wise(RECORD_WISE, Unit.person("town", 1, "add_remove"))


def test_what_is_missing_stays_missing():
    made = on_present(masked([1, 2, 3], 1), lambda held: held * 10)
    assert made.tolist() == [10, None, 30]
    assert on_present(np.array([1, 2]), lambda held: held + 1).tolist() == [2, 3]
