"""Mondrian: the sizes of its clusters, what a cut may part, its authors' example, the order of leaves, and a plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.clustering import microaggregate
from shoal.anonymize.cluster.columns import NominalColumn, NumericColumn, OrdinalColumn, column_of, leaf_order
from shoal.anonymize.cluster.mondrian import mondrian, strict_mondrian
from shoal.data.domain import Pattern, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Missing, Role
from shoal.data.taxonomy import Taxonomy
from shoal.data.type import Type
from shoal.errors import UsageError
from tests.anonymize.cluster.clouds import tables_and_k

BOTH = ("mondrian", "strict_mondrian")


def members(labels):
    """The rows of each cluster; clusters are numbered without gaps."""
    found = [np.flatnonzero(labels == label).tolist() for label in range(int(labels.max()) + 1)]
    assert all(found)
    return found


def partition(labels):
    return {frozenset(rows) for rows in members(labels)}


def allowable(values, k):
    """Whether a cut between two different values leaves k on each side."""
    ranked = sorted(values)
    return any(ranked[at - 1] != ranked[at] for at in range(k, len(ranked) - k + 1))


@pytest.mark.slow
@given(tables_and_k())
def test_relaxed_clusters_have_k_to_2k_records_unless_all_are_equal(given_):
    table, k = given_
    labels = microaggregate(table, k, "mondrian")
    assert labels.dtype == np.int32
    assert labels.shape == (len(table),)  # each record once
    for rows in members(labels):
        assert len(rows) >= k
        assert len(rows) < 2 * k or (table[rows] == table[rows[0]]).all()


@pytest.mark.slow
@given(tables_and_k())
def test_strict_clusters_cannot_be_cut_and_equal_records_stay_together(given_):
    table, k = given_
    labels = microaggregate(table, k, "strict_mondrian")
    for rows in members(labels):
        assert len(rows) >= k
        assert not any(allowable(column, k) for column in table[rows].T.tolist())
        if all(len(set(column)) == len(rows) for column in table[rows].T.tolist()):
            assert len(rows) < 2 * k  # where no value repeats, a cut is always possible
    for one, other in zip(*np.nonzero((table[:, None] == table[None]).all(axis=2)), strict=True):
        assert labels[one] == labels[other]


def plain(rows, table, k, *, strict):
    """A twin by recursion, with Python's numbers alone: the clusters as a set of sets of rows."""
    widths = []
    for j, column in enumerate(zip(*table, strict=True)):
        held = [table[row][j] for row in rows]
        least, across = min(column) / 2, max(column) / 2 - min(column) / 2
        ranked = sorted(rows, key=lambda row, j=j: (table[row][j], row))
        sizes = range(k, len(rows) - k + 1) if strict else [len(rows) - len(rows) // 2] if len(rows) >= 2 * k else []
        sizes = [at for at in sizes if not strict or table[ranked[at - 1]][j] != table[ranked[at]][j]]
        if sizes and max(held) > min(held):
            at = min(sizes, key=lambda size: (abs(2 * size - len(rows)), -size))
            # Rounded as the kernel rounds: two widths that are equal on paper may differ in the last bit.
            width = (max(held) / 2 - least) / across - (min(held) / 2 - least) / across
            widths.append((width, -j, ranked[:at], ranked[at:]))
    if not widths:
        return {frozenset(rows)}
    *_, below, above = max(widths, key=lambda found: found[:2])
    return plain(below, table, k, strict=strict) | plain(above, table, k, strict=strict)


@pytest.mark.slow
@given(tables_and_k(most=40, widest=3), st.booleans())
def test_all_clusters_of_a_depth_at_once_are_those_of_a_plain_recursion(given_, strict):
    table, k = given_
    found = microaggregate(table, k, "strict_mondrian" if strict else "mondrian")
    assert partition(found) == plain(list(range(len(table))), table.tolist(), k, strict=strict)


@pytest.mark.slow
@given(tables_and_k(), st.sampled_from(BOTH))
def test_offsets_and_factors_change_nothing(given_, method):
    table, k = given_
    table = np.round(table * 8) / 8  # so that the offset itself costs no digits
    expected = microaggregate(table, k, method).tolist()
    assert microaggregate(table + 1e8, k, method).tolist() == expected
    assert microaggregate(table * 2.0 ** np.arange(-20, 20, 9)[: table.shape[1]], k, method).tolist() == expected


@pytest.mark.slow
@given(tables_and_k(), st.randoms(use_true_random=False))
def test_strict_clusters_do_not_depend_on_the_order_of_rows(given_, chance):
    table, k = given_
    order = np.array(chance.sample(range(len(table)), len(table)))
    again = microaggregate(table[order], k, "strict_mondrian")
    own = microaggregate(table, k, "strict_mondrian")
    assert partition(again) == {frozenset(np.flatnonzero(np.isin(order, list(rows)))) for rows in partition(own)}


def test_the_example_of_its_authors():
    """LeFevre, DeWitt and Ramakrishnan (2006): six patients, k = 2, in three regions."""
    sex = NominalColumn(np.array(list("mfmmfm"), dtype=object), "sex", taxonomy=Taxonomy.of({"*": ["f", "m"]}))
    age = NumericColumn(np.array([25, 25, 26, 27, 27, 28]), "age")
    code = NumericColumn(np.array([53711, 53712, 53711, 53710, 53712, 53711]), "zip")
    expected = {frozenset({0, 2}), frozenset({1, 4}), frozenset({3, 5})}
    assert partition(strict_mondrian([sex, age, code], 2)) == expected
    relaxed = partition(
        mondrian([sex, age, code], 2)
    )  # the halves of six are three each: one man stands with the women
    assert relaxed == {frozenset({0, 1, 4}), frozenset({2, 3, 5})}


def test_ties_do_not_stop_relaxed_cuts_and_stop_strict_ones():
    table = np.array([1.0] + [5] * 9 + [9] * 2)
    assert sorted(np.bincount(microaggregate(table, 3, "mondrian")).tolist()) == [3, 3, 3, 3]
    assert np.bincount(microaggregate(table, 3, "strict_mondrian")).tolist() == [12]


def test_a_missing_value_lies_below_the_others_and_apart():
    ages = np.ma.masked_array([1, 2, 3, 4, 0, 0, 5, 6], [0, 0, 0, 0, 1, 1, 0, 0])
    found = partition(strict_mondrian([NumericColumn(ages, "age", Missing.VALUE)], 2))
    assert frozenset({4, 5}) in found
    levels = OrdinalColumn(np.array(["low", None, "top", None], object), "o", Missing.VALUE, ("low", "mid", "top"))
    assert frozenset({1, 3}) in partition(mondrian([levels], 2))


def test_the_largest_whole_numbers_are_told_apart():
    near = np.array([2**62 + 1, 2**62 + 2, 2**62 + 3, 2**62 + 4, -(2**62)] * 2)
    assert np.bincount(strict_mondrian([NumericColumn(near)], 2)).tolist() == [2] * 5
    wide = NumericColumn(np.array([-1.7e308, 1.7e308, -1.6e308, 1.6e308]))
    assert partition(mondrian([wide], 2)) == {frozenset({0, 2}), frozenset({1, 3})}


def test_columns_are_needed():
    for method in (mondrian, strict_mondrian):
        with pytest.raises(UsageError, match="records without columns"):
            method([], 2)


# --- the order of leaves ----------------------------------------------------------------------------------------------


def country(domain, spec):
    built = None if spec is None else hierarchy(spec, Type.CATEGORY, domain)
    return Attribute("country", Role.QUASI, Type.CATEGORY, domain, built)


DECLARED = Values(("Peru", "Spain", "Chile", "Italy", "Japan"))


@pytest.mark.parametrize(
    ("domain", "spec", "values", "expected"),
    [
        (DECLARED, None, ["Italy", "Peru", "Spain"], ("Peru", "Spain", "Italy")),
        (None, None, ["b", "c", "a"], ("a", "b", "c")),
        (
            DECLARED,
            {"groups": {"south": ["Peru", "Chile"], "north": ["Spain", "Italy", "Japan"]}},
            ["Chile", "Italy", "Japan", "Peru", "Spain"],
            ("Peru", "Chile", "Spain", "Italy", "Japan"),
        ),
        (
            DECLARED,
            {
                "taxonomy": {
                    "all": {
                        "old": {"Asia": ["Japan"], "Europe": ["Spain", "Italy"]},
                        "new": {"America": ["Peru", "Chile"]},
                    }
                }
            },
            ["Chile", "Italy", "Japan", "Peru", "Spain"],
            ("Peru", "Chile", "Spain", "Italy", "Japan"),
        ),
        (Pattern("[0-9]{3}"), {"mask": "right"}, ["310", "119", "112"], ("112", "119", "310")),
    ],
)
def test_leaves_stand_in_their_declared_order_and_below_their_labels(domain, spec, values, expected):
    found = leaf_order(country(domain, spec), values)
    assert found == expected
    attribute = country(domain, spec)
    for level in attribute.hierarchy.levels[1:] if attribute.hierarchy else ():  # values of one label are neighbours
        labels = level.apply(np.array(found, dtype=object)).tolist()
        assert len([at for at in range(1, len(labels)) if labels[at] != labels[at - 1]]) == len(set(labels)) - 1


def test_a_nominal_column_is_cut_by_its_leaves_and_not_by_the_alphabet():
    attribute = country(DECLARED, {"groups": {"south": ["Peru", "Chile"], "north": ["Spain", "Italy", "Japan"]}})
    values = np.array(["Spain", "Peru", "Italy", "Chile"] * 2, dtype=object)
    found = partition(mondrian([column_of(attribute, values)], 4))
    assert found == {frozenset({0, 2, 4, 6}), frozenset({1, 3, 5, 7})}
