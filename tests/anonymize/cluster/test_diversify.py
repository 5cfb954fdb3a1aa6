"""Groups joined until they hold different values: by definition, worst first, and with the best reachable in the refusal."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.diversify import (
    ConfidentialColumn,
    DiversityRequirement,
    distance,
    diversify,
    measure_diversity,
    merge_runs,
)
from shoal.anonymize.cluster.mdav import mdav
from shoal.errors import InfeasibleError


def emd_by_hand(own: list[int], every: list[int], ordered: bool) -> float:
    """The definition, value by value (Li, Li and Venkatasubramanian 2007, section 4)."""
    values = sorted(set(every))
    p = [Fraction(own.count(v), len(own)) for v in values]
    q = [Fraction(every.count(v), len(every)) for v in values]
    if not ordered:
        return float(sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2)
    if len(values) == 1:
        return 0.0
    running = [sum(p[: i + 1]) - sum(q[: i + 1]) for i in range(len(values))]
    return float(sum(map(abs, running)) / (len(values) - 1))


@pytest.mark.slow
@given(st.lists(st.integers(0, 12), min_size=2, max_size=40), st.data(), st.booleans())
def test_distance_is_the_definition(every, data, ordered):
    rows = data.draw(st.lists(st.integers(0, len(every) - 1), min_size=1, max_size=len(every), unique=True))
    secret = ConfidentialColumn.of("s", np.array(every), ordered=ordered)
    shares = secret.shares()
    found = distance(secret.codes[rows], shares, np.cumsum(shares), ordered=ordered)
    assert found == pytest.approx(emd_by_hand([every[i] for i in rows], every, ordered), abs=1e-12)


def test_a_missing_value_has_a_place_after_the_last_and_is_no_value():
    secret = ConfidentialColumn.of("s", np.ma.masked_array([3, 1, 9, 1], [False, False, True, False]), ordered=True)
    assert secret.codes.tolist() == [1, 0, 2, 0]
    assert secret.different == 2
    assert measure_diversity(np.array([0, 0, 1, 1], dtype=np.int32), [secret])[0] == 1


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_every_group_has_what_is_wanted_and_keeps_its_size(seed, least):
    chance = np.random.default_rng(seed)
    places = chance.normal(size=(60, 2))
    secret = ConfidentialColumn.of("s", chance.integers(0, 6, 60), ordered=False)
    labels = diversify(mdav(places, 4), places, [secret], DiversityRequirement(least, None))
    counts = np.bincount(labels)
    assert counts.min() >= 4
    assert sorted(set(labels.tolist())) == list(range(len(counts)))
    assert measure_diversity(labels, [secret])[0] >= least


def test_t_is_reached_and_nothing_is_joined_without_need():
    chance = np.random.default_rng(3)
    places = chance.normal(size=(200, 2))
    secret = ConfidentialColumn.of("s", chance.normal(size=200), ordered=True)
    first = mdav(places, 5)
    assert measure_diversity(first, [secret])[1] > 0.2
    joined = diversify(first, places, [secret], DiversityRequirement(None, Fraction(1, 5)))
    assert measure_diversity(joined, [secret])[1] <= 0.2
    assert len(set(joined.tolist())) > 2
    assert diversify(first, places, [secret], DiversityRequirement(None, Fraction(99, 100))) is not None
    assert (diversify(first, places, [secret], DiversityRequirement()) == first).all()


def test_groups_join_their_nearest():
    places = np.array([[0.0], [0.1], [1.0], [1.1], [9.0], [9.1], [9.2], [9.3]])
    secret = ConfidentialColumn.of("s", np.array([1, 1, 1, 2, 3, 4, 3, 4]), ordered=False)
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32)
    assert diversify(labels, places, [secret], DiversityRequirement(2, None)).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]


def test_what_cannot_be_reached_names_the_best():
    places = np.arange(20.0)[:, None]
    labels = np.repeat(np.arange(4, dtype=np.int32), 5)
    few = ConfidentialColumn.of("colour", np.arange(20) % 3, ordered=False)
    with pytest.raises(InfeasibleError, match=r"'colour'.*l = 3"):
        diversify(labels, places, [few], DiversityRequirement(4, None))
    lone = ConfidentialColumn.of("rare", np.array([1] + [0] * 19), ordered=False)
    with pytest.raises(InfeasibleError, match=r"until two were left.*reached is l = 1"):
        diversify(labels, places, [lone], DiversityRequirement(2, None))


def test_runs_are_joined_with_the_next():
    values = np.array([1, 1, 1, 1, 2, 3, 3, 3])
    labels = np.repeat(np.arange(4, dtype=np.int32), 2)
    secret = ConfidentialColumn.of("s", values, ordered=True)
    with pytest.raises(InfeasibleError, match=r"'s'.*no two runs"):
        merge_runs(labels, secret, DiversityRequirement(2, None))
    assert merge_runs(labels, secret, DiversityRequirement(None, None)).tolist() == labels.tolist()
    more = ConfidentialColumn.of("s", np.array([1, 1, 1, 2, 3, 4, 4, 5]), ordered=True)
    assert merge_runs(labels, more, DiversityRequirement(2, None)).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
