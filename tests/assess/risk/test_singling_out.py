"""Singling out: copies of rare records do, classes of many do not, and a table of other people shows no risk."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.assess.risk.attack import ReleasedAttribute
from shoal.assess.risk.singling_out import singling_out
from shoal.chance.source import Source
from shoal.errors import DataError, ParameterError
from tests.assess.risk.released_tables import copied, generalized, people


def test_a_copy_singles_out_those_who_took_part_and_a_table_of_others_does_not():
    took_part, others = people(1, 400), people(2, 500)
    copy = singling_out(copied(took_part), took_part, control=others, source=Source.seeded(1), attempts=200)
    assert copy.success.value > 0.9
    assert copy.risk.low > 0.5
    assert copy.success.value > copy.baseline.value
    impostor = singling_out(copied(people(3, 400)), took_part, control=others, source=Source.seeded(1), attempts=200)
    assert impostor.risk.low < 0 < impostor.risk.high
    assert impostor.measured_against == "control"


def test_intervals_lower_what_is_singled_out_and_one_for_all_ends_it():
    took_part = people(1, 400)
    options = {"names": ["age", "town", "job"], "attempts": 100}
    rates = [
        singling_out(generalized(took_part, width), took_part, source=Source.seeded(1), **options).success.value
        for width in (1, 2, 30)
    ]
    assert rates[0] > rates[1] > rates[2] == 0


def test_a_condition_by_hand():
    """Labels {0, 1} and {2}: originals 0, 1, 2 – the first condition is met by two records, the second by one."""
    release = {"a": ReleasedAttribute([0, 1], [[0.5, 0.5, 0], [0, 0, 1]])}
    found = singling_out(release, {"a": [0, 1, 2]}, source=Source.seeded(1), attributes=1, attempts=50)
    assert found.attempts == 2
    assert found.success.value == 0.5
    unknown = singling_out(release, {"a": [0, -1, 2]}, source=Source.seeded(1), attributes=1, attempts=50)
    assert unknown.success.value == 1


def test_other_arguments_are_refused():
    records = people(1, 10)
    with pytest.raises(DataError, match="smaller"):
        singling_out(copied(records), records, control=people(2, 9), source=Source.seeded(1))
    for wrong in ({"attributes": 0}, {"attributes": 5}, {"attempts": 0}, {"names": []}):
        with pytest.raises(ParameterError):
            singling_out(copied(records), records, source=Source.seeded(1), **wrong)


def test_conditions_are_the_same_for_the_same_source():
    records = {name: np.asarray(column) for name, column in people(1, 50).items()}
    first, second = (singling_out(copied(records), records, source=Source.seeded(4), attempts=20) for _ in range(2))
    assert first == second
