"""Membership inference: distances by hand, the test that is chosen, and releases of both kinds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal.assess.frame.column import EVERY, INTERVAL, SET, PublishedLabel
from shoal.errors import ParameterError
from shoal.lab.attacks.membership import (
    POLICIES,
    PublishedRows,
    ThresholdTest,
    choose_threshold,
    infer_membership,
    score_against,
)
from shoal.lab.attacks.outcome import AttackSetting
from shoal.lab.attacks.population import schema

SCHEMA = schema(("age", "insurance"))
PERSON = {"age": 22, "insurance": "public"}


def test_the_distance_of_a_row_is_the_mean_over_its_columns():
    rows = PublishedRows.of_values(pa.table({"age": [22, 77, None], "insurance": ["public", "none", "public"]}), SCHEMA)
    assert rows.distances(PERSON) == pytest.approx([0.0, (0.5 + 1) / 2, 0.5])
    assert rows.distances({"age": None, "insurance": None}) == pytest.approx([1.0, 1.0, 0.5])


def test_labels_are_as_near_as_what_they_stand_for():
    labels = {
        "[0, 22)": PublishedLabel("[0, 22)", INTERVAL, ((0, 22),)),
        "[44, 66)": PublishedLabel("[44, 66)", INTERVAL, ((44, 66),)),
        "public or none": PublishedLabel("public or none", SET, values=("public", "none")),
        "*": PublishedLabel("*", EVERY),
    }
    frame = pa.table({"age": ["[0, 22)", "[44, 66)", "*"], "insurance": ["public or none", "private", "*"]})
    rows = PublishedRows.of(frame, SCHEMA, lambda _: labels, None)
    # An interval of a fifth of the domain is 0.05 away from what lies in it; the second begins 0.2 above.
    assert rows.distances(PERSON) == pytest.approx([(0.05 + 0.5) / 2, (0.25 + 1) / 2, (0.25 + 0.75) / 2])


def test_ranges_without_a_rule_are_read_from_their_text():
    rows = PublishedRows.of_values(pa.table({"age": ["[11, 33]", "?"]}), schema(("age",)))
    assert rows.distances(PERSON) == pytest.approx([0.05, 0.25])


def test_the_score_is_higher_where_the_person_is():
    others = pa.table({"age": [90, 91], "insurance": ["none", "none"]})
    score = score_against(PERSON, others, SCHEMA)
    near, far = (
        score([PublishedRows.of_values(pa.table({"age": [age, 60], "insurance": ["public", "none"]}), SCHEMA)])
        for age in (22, 100)
    )
    assert (near > far).all()


def test_the_threshold_with_the_largest_advantage_is_taken():
    pairs = [(np.array([1.0, 5.0]), np.array([1.0, 2.0])), (np.array([1.0, 4.0]), np.array([1.0, 3.0]))]
    assert choose_threshold(pairs) == ThresholdTest(1, 4.0)
    assert ThresholdTest(1, 4.0).says_in(np.array([0.0, 4.0]))


@pytest.mark.slow
def test_an_unusual_person_is_found_in_centroids(monkeypatch):
    monkeypatch.setattr(
        "shoal.lab.attacks.membership.POLICIES", {"MDAV centroids, k = 3": POLICIES["MDAV centroids, k = 3"]}
    )
    found = infer_membership(AttackSetting(80, 24, seed=2)).outcome("MDAV")
    assert found.succeeds
    assert found.largest_advantage is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "neighbours"),
    [
        ("{method: safe-k, epsilon: 1, delta: 1e-6, recoding: tree}", "add_remove"),
        ("{method: safe-k, epsilon: 1, delta: 1e-6, views: {show: counts, every: pairs}}", "add_remove"),
        ("{method: k-anonymity, k: 3, suppression: 0.1}", "add_remove"),
        ("{method: t-closeness, k: 4, t: 2}", "add_remove"),
        (
            "{method: dp-microaggregation, k: 25, epsilon: 1, delta: 1e-6, rows: 100, grouping: insensitive}",
            "replace_one",
        ),
    ],
)
def test_any_release_can_be_attacked(tmp_path, release, neighbours):
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        f"""
version: 1
dataset: patients
unit: {{column: name, max_rows: 1}}
neighbours: {neighbours}
attributes:
  name: {{role: identifier}}
  age: {{role: quasi, type: integer, domain: [0, 110], missing: refuse, hierarchy: {{intervals: [10, 40]}}}}
  stay: {{role: confidential, type: integer, domain: [0, 365], missing: refuse, hierarchy: {{intervals: [8], above: 32}}}}
release: {release}
"""
    )
    found = infer_membership(AttackSetting(100, 4, seed=1, policy=policy)).outcomes[0]
    assert found.success.low < found.success.high  # two runs choose the test, two are counted
    assert not found.contradicts
    assert (found.largest_advantage is None) == ("epsilon" not in release)


def test_runs_that_leave_none_to_count_on_are_refused_before_anything_is_published():
    with pytest.raises(ParameterError, match="3 or more"):
        infer_membership(AttackSetting(rows=50, runs=2))
