"""Bins: a division of the cells by published counts, frequent values alone, with labels that a stranger can check."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.generalize.tree.sides import hierarchy_over
from shoal.anonymize.measure.bins import best_runs, bin_label_fits, declared_bins, merged_bins
from shoal.data.cells import MOST_COUNTED, AttributeCells, cells_of
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Missing, Role, Type
from shoal.errors import PolicyError
from shoal.policy.policy import Policy


def cells(**keys: object) -> AttributeCells:
    """The cells of one attribute as a policy declares it."""
    head = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
    schema = Policy.of({**head, "attributes": {"a": {"role": "quasi", **keys}}}).schema
    return cells_of(schema["a"], 0, MOST_COUNTED)


AGES = {"type": "integer", "domain": [0, 19], "hierarchy": {"intervals": [5, 10]}}
PLACES = {
    "type": "category",
    "hierarchy": {"groups": {"north": ["A", "B", "C", "D", "E"], "south": ["F", "G", "H"], "sea": ["I"]}},
}
LETTERS = {"type": "category", "domain": list("ABCDEFGHIJ")}


def test_frequent_values_stay_alone_and_neighbours_are_counted_together():
    ages = cells(**AGES)
    counts = np.array([1.0] * 6 + [500.0] + [1.0] * 13 + [7.0])
    found = merged_bins(ages, counts, 100, 32)
    assert found.labels == ("[0, 6)", "6", "[7, 20)", "(missing)")
    assert found.of_cell.tolist() == [0] * 6 + [1] + [2] * 13 + [3]
    assert found.sums(counts).tolist() == [6, 500, 13, 7]


def test_groups_of_the_hierarchy_are_divided_where_they_are_large_enough():
    places = cells(**PLACES)
    found = merged_bins(places, np.array([900.0, 1, 2, 3, 4, 5, 6, 7, 8, 0]), 100, 32)
    assert found.labels == ("A", "north but A", "south or I", "(missing)")


def test_without_a_hierarchy_rare_values_are_counted_together():
    letters = cells(**LETTERS)
    found = merged_bins(letters, np.array([400.0, 1, 1, 1, 300, 1, 1, 1, 1, 1, 0]), 100, 32)
    assert found.labels == ("A", "any but A or E", "E", "(missing)")


def test_a_bin_of_everything_but_the_missing_value_names_values():
    letters = cells(**LETTERS)
    assert merged_bins(letters, np.ones(11), 1000, 32).labels == ("A or B or C or 7 more", "(missing)")


def test_a_cell_that_noise_alone_may_have_filled_does_not_stand_out():
    letters = cells(**LETTERS)
    counts = np.array([400.0, 1, 1, 1, 60, 1, 1, 1, 1, 1, 0])
    assert "E" in merged_bins(letters, counts, 100, 32).labels
    assert merged_bins(letters, counts, 100, 32, noise=40).labels == ("A", "any but A", "(missing)")


def test_no_more_bins_than_asked_for():
    letters = cells(**LETTERS)
    assert len(merged_bins(letters, np.full(11, 1000.0), 1, 4)) <= 5
    ages = cells(**AGES)
    assert len(merged_bins(ages, np.full(21, 1000.0), 1, 3)) <= 4


def best_by_enumeration(masses: list[float], size: float, least: float) -> float:
    """The smallest cost of all divisions of a row."""
    inner = range(1, len(masses))
    return min(
        cost(masses, [*ends, len(masses)], size, least)
        for many in range(len(masses))
        for ends in combinations(inner, many)
    )


def cost(masses: list[float], ends: list[int], size: float, least: float) -> float:
    runs = [masses[first:last] for first, last in zip([0, *ends], ends, strict=False)]
    return sum(size**2 + (sum(run) ** 2 if len(run) > 1 or run[0] < least else 0.0) for run in runs)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(1, 60), st.integers(0, 60))
def test_no_other_division_into_runs_costs_less(masses, size, least):
    found = best_runs(np.array(masses, dtype=float), size, least)
    assert cost(masses, found, size, least) == pytest.approx(best_by_enumeration(masses, size, least))


ASKED = {"type": "category", "domain": ["yes", "no"]}
ANY = st.sampled_from([
    *(each | more for each in (AGES, PLACES, LETTERS, ASKED) for more in ({}, {"missing": "refuse"})),
    {**LETTERS, "type": "ordinal"},
    {"type": "boolean", "missing": "refuse"},
])  # fmt: skip


@given(ANY, st.data())
def test_bins_divide_the_cells_and_their_labels_fit(keys, data):
    own = cells(**keys)
    counts = data.draw(st.lists(st.integers(-20, 500), min_size=len(own), max_size=len(own)))
    size, most = data.draw(st.integers(1, 600)), data.draw(st.integers(2, 12))
    found = merged_bins(own, np.array(counts, dtype=float), size, most)
    assert sorted(cell for held in found.members for cell in held) == list(range(len(own)))
    assert len(set(found.labels)) == len(found.labels)
    assert len(found) <= most + 1
    over = hierarchy_over(own)
    assert all(bin_label_fits(own, label, held, over) for label, held in zip(found.labels, found.members, strict=True))
    locked = (
        cells(**{**keys, "domain": sorted(keys["domain"])})
        if keys.get("type") == "category" and "domain" in keys
        else own
    )
    place = {label: number for number, label in enumerate(locked.labels)}
    for label, held in zip(found.labels, found.members, strict=True):
        assert bin_label_fits(locked, label, [place[own.labels[cell]] for cell in held])
    again = merged_bins(own, np.array(counts, dtype=float), size, most)
    assert again.labels == found.labels
    assert again.of_cell.tolist() == found.of_cell.tolist()


def test_one_bin_of_all_cells_has_a_label_that_fits():
    """Where no value may be missing, nothing is left outside; a release of a small table was refused by its own verification."""
    asked = cells(**ASKED, missing="refuse")
    found = merged_bins(asked, np.array([3.0, 2.0]), 1000, 32)
    assert found.labels == ("yes or no",)
    assert bin_label_fits(asked, "no or yes", [0, 1])
    assert not bin_label_fits(asked, "yes", [0, 1])
    assert not bin_label_fits(asked, "yes or no or 1 more", [0, 1])


def test_a_label_of_other_cells_does_not_fit():
    ages = cells(**AGES)
    assert bin_label_fits(ages, "[3, 8)", [3, 4, 5, 6, 7])
    assert not bin_label_fits(ages, "[3, 8)", [3, 4, 5, 6])
    assert not bin_label_fits(ages, "[3, 8)", [3, 4, 6, 7])
    assert not bin_label_fits(ages, "[18, 20)", [18, 19, 20])  # the last is the missing value
    letters = cells(**LETTERS)
    assert not bin_label_fits(letters, "A to C", [0, 1, 2])


def test_the_rule_says_the_cells_of_each_label():
    ages = cells(**AGES)
    rule = merged_bins(ages, np.array([1.0] * 6 + [500.0] + [1.0] * 13 + [7.0]), 100, 32).rule()
    assert rule["kind"] == "boxes"
    assert rule["labels"] == ["[0, 6)", "6", "[7, 20)", "(missing)"]
    assert rule["members"] == [[[0, 5]], [[6, 6]], [[7, 19]], [[20, 20]]]
    assert rule["losses"] == ["0.263158", "0.000000", "0.631579", "0.000000"]
    assert rule["cells"] == list(ages.labels)
    assert declared_bins(ages).rule()["labels"] == list(ages.labels)


def test_counts_may_have_more_cells_than_boxes():
    many = Attribute(
        "n", Role.QUASI, Type.CATEGORY, Values(tuple(f"v{i}" for i in range(10_000))), missing=Missing.REFUSE
    )
    with pytest.raises(PolicyError, match="too many values"):
        cells_of(many)
    own = cells_of(many, 0, MOST_COUNTED)
    assert len(own) == 10_000
    steps = Attribute("n", Role.QUASI, Type.INTEGER, Interval(0, 9999), missing=Missing.REFUSE)
    assert len(cells_of(steps)) == 1000
    assert len(cells_of(steps, 0, MOST_COUNTED)) == 10_000


@pytest.mark.slow
def test_ten_thousand_values_become_few_bins():
    own = cells(type="integer", domain=[0, 9999])
    counts = np.append(np.exp(-np.arange(10_000) / 2000) * 50, 10)
    counts[123] = 20_000
    found = merged_bins(own, counts, 3000, 32)
    assert 10 < len(found) <= 33
    assert "123" in found.labels
