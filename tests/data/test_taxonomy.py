"""Taxonomies: SC13's formulas by hand, metric laws on random trees, refusals."""

from __future__ import annotations

from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.domain import Values
from shoal.data.hierarchy.build import domain_of, hierarchy
from shoal.data.schema import Type
from shoal.data.taxonomy import Taxonomy
from shoal.errors import PolicyError, UsageError

# The thesis' own example of a domain (SC13 §6.3.4), and "chess", which lies less deep.
SPORTS = Taxonomy.of(
    {"sport": {"winter": ["skiing"], "water": ["sailing", "swimming"], "field": ["soccer"], "chess": None}}
)

# phi(skiing) = {skiing, winter, sport}; phi(sailing) = {sailing, water, sport}: 5 in all, 1 in common.
APART = log2(1 + 4 / 5)
# phi(sailing), phi(swimming): 4 in all, 2 in common.
SIBLINGS = log2(1 + 2 / 4)
# phi(skiing), phi(chess) = {chess, sport}: 4 in all, 1 in common.
TO_CHESS = log2(1 + 3 / 4)


def nested(taxonomy):
    """The tree of a taxonomy as people write it."""

    def below(name):
        members = [member for member, above in taxonomy.parents.items() if above == name]
        return {member: below(member) for member in members} or None

    return {taxonomy.root: below(taxonomy.root)}


def test_the_tree():
    assert SPORTS.root == "sport"
    assert SPORTS.leaves == SPORTS.values == ("skiing", "sailing", "swimming", "soccer", "chess")
    assert SPORTS.parents["skiing"] == "winter"
    assert SPORTS.parents["sport"] is None
    assert SPORTS.ancestors("skiing") == ("skiing", "winter", "sport")
    assert SPORTS.depth("chess") == 1
    assert SPORTS.centroid_candidates == SPORTS.nodes
    assert len(SPORTS.nodes) == 9
    assert Taxonomy.of(nested(SPORTS)) == SPORTS


def test_distances_by_hand():
    assert SPORTS.distance("skiing", "sailing") == pytest.approx(APART)
    assert SPORTS.distance("sailing", "swimming") == pytest.approx(SIBLINGS)
    assert SPORTS.distance("skiing", "chess") == pytest.approx(TO_CHESS)
    assert SPORTS.distance("skiing", "skiing") == 0
    # phi(sport) = {sport}: of 3 ancestors of skiing, 2 are its own.
    assert SPORTS.distance("sport", "skiing") == pytest.approx(log2(1 + 2 / 3))
    assert SPORTS.distances(["sailing"], ["water", "soccer"]) == pytest.approx(np.array([[log2(1 + 1 / 3), APART]]))


def test_marginality_boundaries_and_diameter_by_hand():
    by_hand = {
        "skiing": 3 * APART + TO_CHESS,
        "sailing": SIBLINGS + 2 * APART + TO_CHESS,
        "swimming": SIBLINGS + 2 * APART + TO_CHESS,
        "soccer": 3 * APART + TO_CHESS,
        "chess": 4 * TO_CHESS,
    }
    assert SPORTS.marginality() == pytest.approx(np.array(list(by_hand.values())))
    # skiing and soccer are equally marginal; the alphabet prefers skiing, then sailing among the farthest from it.
    assert SPORTS.boundaries == ("skiing", "sailing")
    assert SPORTS.diameter == pytest.approx(APART)


def test_the_boundaries_can_be_nearer_than_the_diameter():
    """Which is why a sensitivity uses the diameter."""
    found = Taxonomy.of({"r": {"a": {"b": ["x", "y"]}, "p": ["p1", "p2", "p3", "p4"], "q": ["q1", "q2", "q3", "q4"]}})
    assert found.diameter == pytest.approx(found.distance("x", "q1"))
    first, second = found.boundaries
    assert found.distance(first, second) <= found.diameter


def test_samples_and_centroids_by_hand():
    sample = {"sailing": 2, "swimming": 1}
    assert SPORTS.marginality(["swimming", "water"], sample) == pytest.approx(
        np.array([2 * SIBLINGS, 3 * log2(1 + 1 / 3)])
    )
    assert SPORTS.subtree(sample) == ("water", "sailing", "swimming")
    # sailing: one sibling, .585; water: three times .415.
    assert SPORTS.centroid(sample) == "sailing"
    assert SPORTS.centroid({"soccer": 4}) == "soccer"
    assert set(SPORTS.subtree(["skiing", "chess"])) == {"skiing", "winter", "sport", "chess"}
    with pytest.raises(UsageError, match="a sample without values"):
        SPORTS.centroid({})


def test_inner_concepts_may_be_values():
    found = Taxonomy.of({"r": {"a": ["b", "c"], "d": None}}, values=["a", "b"])
    assert found.values == ("a", "b")
    assert found.diameter == pytest.approx(log2(1 + 1 / 3))
    assert found.marginality() == pytest.approx(np.array([found.diameter] * 2))


def test_from_the_rows_of_a_hierarchy():
    spec = {"groups": [{"x": ["a", "b"], "c": ["c"], "other": ["d", "e"]}, {"other": ["c", "other"], "y": ["x"]}]}
    built = hierarchy(spec, Type.CATEGORY, domain_of(spec, Type.CATEGORY))
    found = Taxonomy.of_rows(built.rows, built.values)
    assert found.parents["c"] == "other"
    assert found.parents["d"] == "other (level 1)"
    assert found.parents["other (level 1)"] == "other"
    assert set(found.values) == set("abcde")


@pytest.mark.parametrize(
    ("parents", "values", "message"),
    [
        ({"a": None, "b": None}, None, "exactly one root; got a, b"),
        ({"a": "b", "b": "a"}, None, "exactly one root; got none"),
        ({"r": None, "a": "b", "b": "a"}, None, "goes in a circle; got a"),
        ({"r": None, "a": "x"}, None, "names parents that it does not contain; got x"),
        ({"r": None, "a": "r"}, ("a", "z"), "does not cover its domain: 1 values are not in it; got z"),
    ],
)
def test_refusals(parents, values, message):
    with pytest.raises(PolicyError, match=message):
        Taxonomy(parents, values)


def test_names_from_records_are_not_quoted():
    with pytest.raises(UsageError) as caught:
        SPORTS.distances(["skiing", "rowing"], ["soccer"])
    assert "1 names are not in the taxonomy" in str(caught.value)
    assert "rowing" not in str(caught.value)


# --- laws on random trees -----------------------------------------------------------------------------------------


@st.composite
def taxonomies(draw):
    count = draw(st.integers(2, 14))
    parents = {"n0": None} | {f"n{i}": f"n{draw(st.integers(0, i - 1))}" for i in range(1, count)}
    if draw(st.booleans()):
        return Taxonomy(parents)
    return Taxonomy(parents, tuple(sorted(draw(st.sets(st.sampled_from(list(parents)), min_size=1)))))


def slow_distance(found, a, b):
    one, two = set(found.ancestors(a)), set(found.ancestors(b))
    return log2(1 + (len(one | two) - len(one & two)) / len(one | two))


@pytest.mark.slow
@given(taxonomies())
def test_distance_is_a_metric_and_matches_the_sets(found):
    nodes = found.nodes
    matrix = found.distances(nodes, nodes)
    slow = np.array([[slow_distance(found, a, b) for b in nodes] for a in nodes])
    assert matrix == pytest.approx(slow, abs=1e-12)
    assert np.array_equal(matrix, matrix.T)
    assert np.all(np.diag(matrix) == 0)
    assert np.all(matrix[~np.eye(len(nodes), dtype=bool)] > 0)
    assert np.all(matrix < 1)
    assert np.all(matrix[:, None, :] <= matrix[:, :, None] + matrix[None, :, :] + 1e-12)


@pytest.mark.slow
@given(taxonomies())
def test_diameter_boundaries_and_marginality_match_their_definitions(found):
    values = found.values
    pairs = [slow_distance(found, a, b) for a, b in combinations(values, 2)]
    assert found.diameter == pytest.approx(max(pairs, default=0), abs=1e-12)
    sums = {value: sum(slow_distance(found, value, other) for other in values) for value in values}
    assert found.marginality() == pytest.approx(np.array(list(sums.values())))
    first, second = found.boundaries
    assert sums[first] == pytest.approx(max(sums.values()))
    assert slow_distance(found, first, second) == pytest.approx(max(slow_distance(found, first, v) for v in values))


@pytest.mark.slow
@given(taxonomies(), st.data())
def test_one_replaced_value_moves_no_marginality_farther_than_the_diameter(found, data):
    value = st.sampled_from(found.values)
    others = data.draw(st.dictionaries(value, st.integers(1, 5)))
    one, two = data.draw(value), data.draw(value)
    before, after = ({**others, each: others.get(each, 0) + 1} for each in (one, two))
    candidates = found.centroid_candidates
    moved = np.abs(found.marginality(candidates, before) - found.marginality(candidates, after))
    assert moved.max() <= found.diameter + 1e-9


@pytest.mark.slow
@given(taxonomies(), st.data())
def test_a_centroid_is_the_least_marginal_of_the_spanned_taxonomy(found, data):
    sample = data.draw(st.dictionaries(st.sampled_from(found.values), st.integers(1, 4), min_size=1))
    best = found.centroid(sample)
    spanned = found.subtree(sample)
    assert best in spanned
    assert found.marginality([best], sample)[0] <= found.marginality(spanned, sample).min() + 1e-9
    assert set(sample) <= set(spanned)


@pytest.mark.slow
@given(taxonomies())
def test_a_taxonomy_is_a_hierarchy_by_depth(found):
    built = hierarchy({"taxonomy": nested(found)}, Type.CATEGORY, Values(found.values))
    for row in built.rows:
        above = list(found.ancestors(row[0]))
        # The root alone has no level above it, so that it gets ours.
        assert list(dict.fromkeys(row)) == (above if found.values != (found.root,) else [found.root, "*"])
