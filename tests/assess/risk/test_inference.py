"""Inference: by hand, on copies and generalizations, and on a table of other people, which must show no risk."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.assess.risk.attack import ReleasedAttribute
from shoal.assess.risk.inference import inference
from shoal.errors import DataError, ParameterError
from tests.assess.risk.released_tables import copied, generalized, people

KNOWN = ["age", "town", "job"]


def test_a_vote_by_hand():
    """Two nearest records: one says part 0, one parts 0 and 1 evenly, so part 0 has 3/4; the intruder says 0."""
    job = ReleasedAttribute([0, 0, 1], np.eye(2))
    ill = ReleasedAttribute([0, 1, 2], [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])
    release = {"job": job, "ill": ill}
    found = inference(release, {"job": [0, 0, 1], "ill": [0, 1, 2]}, known=["job"], confidential="ill")
    assert found.success.value == pytest.approx(2 / 3)
    assert found.baseline.value == pytest.approx(1 / 3)


def test_a_tolerance_takes_the_part_with_most_votes_within_it():
    """Votes 3, 2, 2 at 0, 4 and 5: exactly 0 is best; within 1, 4 or 5 is (4 votes)."""
    where = ReleasedAttribute([0] * 7, np.eye(1))
    pay = ReleasedAttribute([0, 0, 0, 1, 1, 2, 2], np.eye(3), [0, 4, 5])
    targets = {"where": [0, 0, 0], "pay": [0, 1, 2]}
    exact = inference({"where": where, "pay": pay}, targets, known=["where"], confidential="pay")
    near = inference({"where": where, "pay": pay}, targets, known=["where"], confidential="pay", tolerance=1)
    assert exact.success.value == pytest.approx(1 / 3)
    assert near.success.value == pytest.approx(2 / 3)


def test_a_copy_tells_of_those_who_took_part_and_a_table_of_others_does_not():
    took_part, others = people(1, 500), people(2, 500)
    copy = inference(copied(took_part), took_part, known=KNOWN, confidential="ill", control=others)
    assert copy.success.value > 0.9
    assert copy.risk.low > 0.8
    impostor = inference(copied(people(3, 500)), took_part, known=KNOWN, confidential="ill", control=others)
    assert impostor.risk.low < 0 < impostor.risk.high


def test_intervals_lower_the_risk_and_one_interval_for_all_leaves_the_baseline():
    took_part, others = people(1, 500), people(2, 500)
    risks = [
        inference(generalized(took_part, width), took_part, known=KNOWN, confidential="ill", control=others).risk.value
        for width in (1, 3, 6)
    ]
    assert risks[0] > risks[1] > risks[2]
    whole = inference(generalized(took_part, 30), took_part, known=KNOWN, confidential="ill")
    assert whole.success.value == whole.baseline.value
    assert whole.measured_against == "baseline"


def test_what_is_not_known_of_a_target_is_left_out():
    took_part = people(1, 200)
    nothing = {name: np.full(200, -1) for name in KNOWN} | {"ill": took_part["ill"]}
    found = inference(copied(took_part), nothing, known=KNOWN, confidential="ill")
    assert found.success.value == found.baseline.value


def test_other_arguments_are_refused():
    records = people(1, 5)
    release = copied(records)
    with pytest.raises(ParameterError):
        inference(release, records, known=["age"], confidential="age")
    with pytest.raises(ParameterError):
        inference(release, records, known=["age"], confidential="ill", tolerance=-1)
    with pytest.raises(DataError, match="lack values"):
        inference(release, records | {"ill": np.full(5, -1)}, known=["age"], confidential="ill")
