"""Buckets: equal values together, masses as equal as that allows, labels that hold every value and no extreme one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.bucket.buckets import RankedColumn, order_values
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.build import hierarchy
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute, Role
from shoal.data.type import Type
from shoal.errors import DataError

PAY = Attribute("pay", Role.CONFIDENTIAL, Type.INTEGER, Interval(0, 1000))
GRADE = Attribute("grade", Role.CONFIDENTIAL, Type.ORDINAL, Values(("low", "some", "more", "high", "top")))
TREE = {"ill": {"heart": ["angina", "infarct"], "lung": ["asthma", "cough", "flu"]}}
DISEASES = Values(("asthma", "angina", "cough", "infarct", "flu"))


def nominal(tree=TREE, domain=DISEASES):
    made = None if tree is None else hierarchy({"taxonomy": tree}, Type.CATEGORY, domain)
    return Attribute("disease", Role.CONFIDENTIAL, Type.CATEGORY, domain, made)


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60), st.integers(2, 6))
def test_a_bucket_is_a_function_of_the_value_and_holds_a_run_of_values(values, count):
    made, codes = RankedColumn.of(PAY, np.array(values)).bucketize(count)
    assert set(codes.tolist()) == set(range(made.count))
    assert made.count <= min(count, len(set(values)))
    home = {}
    for value, code in sorted(zip(values, codes.tolist(), strict=True)):
        assert home.setdefault(value, code) == code
    assert sorted(home.values()) == [code for _, code in sorted(home.items())]
    edges = [int(edge) for edge in made.edges]
    assert codes.tolist() == [sum(value >= edge for edge in edges) for value in values]
    assert made.shown(codes).tolist() == [made.labels[code] for code in codes]


@given(st.integers(2, 6), st.integers(1, 40))
def test_different_values_make_buckets_whose_sizes_differ_by_one_at_most(count, each):
    for records in (count * each, count * each + 1):
        codes = RankedColumn.of(PAY, np.arange(records)).bucketize(count)[1]
        sizes = np.bincount(codes)
        assert len(sizes) == count
        assert sizes.max() - sizes.min() <= 1


def test_labels_of_numbers_do_not_show_the_extremes():
    made, _ = RankedColumn.of(PAY, np.arange(100, 130)).bucketize(3)
    assert made.labels == ("< 110", "[110, 120)", ">= 120")
    assert made.edges == ("110", "120")


def test_a_frequent_value_makes_buckets_fewer_and_unequal():
    made, codes = RankedColumn.of(PAY, np.array([0] * 90 + list(range(1, 11)))).bucketize(3)
    assert made.labels == ("< 1", ">= 1")
    assert np.bincount(codes).tolist() == [90, 10]


def test_halfway_the_lower_boundary_is_taken():
    codes = RankedColumn.of(PAY, np.array([1, 2, 2, 3])).bucketize(2)[1]
    assert codes.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("kind", "values", "labels"),
    [
        (Type.DECIMAL, [0.1, 0.25, 3.0, 4.5], ("< 3", ">= 3")),
        (
            Type.DATE,
            np.array(["2024-01-01", "2024-01-09", "2024-05-01", "2024-06-01"], "M8[D]"),
            ("< 2024-05-01", ">= 2024-05-01"),
        ),
        (
            Type.DATETIME,
            np.array(["2024-01-01T10:00", "2024-01-01T11:00", "2024-01-01T12:30", "2024-01-02"], "M8[us]"),
            ("< 2024-01-01 12:30", ">= 2024-01-01 12:30"),
        ),
        (Type.BOOLEAN, [True, False, True, False], ("false", "true")),
    ],
)
def test_every_type_has_labels(kind, values, labels):
    domain = Values(("false", "true")) if kind is Type.BOOLEAN else None
    made, _ = RankedColumn.of(Attribute("x", Role.CONFIDENTIAL, kind, domain), np.array(values)).bucketize(2)
    assert made.labels == labels


def test_ordinal_values_keep_the_declared_order_and_their_labels_hold_all_of_a_run():
    held = np.array(["top", "low", "low", "more", "more", "top"], dtype=object)
    made, codes = RankedColumn.of(GRADE, held).bucketize(3)
    assert made.labels == ("[low, some]", "[more, high]", "top")
    assert made.values == (("low", "some"), ("more", "high"), ("top",))
    assert codes.tolist() == [2, 0, 0, 1, 1, 2]


def test_nominal_values_are_taken_as_a_walk_over_the_hierarchy_meets_them():
    assert order_values(nominal(), set()) == ["asthma", "cough", "flu", "angina", "infarct"]
    held = np.array(["asthma", "cough", "flu", "angina", "infarct", "infarct"], dtype=object)
    made, codes = RankedColumn.of(nominal(), held).bucketize(2)
    assert made.labels == ("{asthma, cough, flu}", "{angina, infarct}")
    assert codes.tolist() == [0, 0, 0, 1, 1, 1]


def test_without_a_hierarchy_the_declared_order_is_taken_and_without_one_the_alphabet():
    assert order_values(nominal(None), {"flu"}) == list(DISEASES.values)
    assert order_values(nominal(None, None), {"flu", "angina"}) == ["angina", "flu"]


def test_a_hierarchy_that_lacks_a_value_is_refused_without_quoting_it():
    missing = nominal(TREE)
    broken = Hierarchy("tree", DISEASES, (missing.hierarchy.levels[0], _Partial()), (0.0, 1.0), {}, Type.CATEGORY)
    attribute = Attribute("disease", Role.CONFIDENTIAL, Type.CATEGORY, DISEASES, broken)
    assert isinstance(broken.levels[0], ValueLevel)
    with pytest.raises(DataError, match="'disease': its hierarchy lacks a value") as caught:
        RankedColumn.of(attribute, np.array(["flu", "angina"], dtype=object))
    assert "flu" not in str(caught.value)


class _Partial:
    """A level that has no label for some values."""

    labels = None

    def apply(self, values):
        return np.array([None if value == "flu" else "ill" for value in values.tolist()], dtype=object)


def test_more_names_than_a_label_can_list_are_refused():
    many = np.array([f"name {number}" for number in range(1200)], dtype=object)
    with pytest.raises(DataError, match=r"'disease': too many different values to list in labels; got 1,200"):
        RankedColumn.of(nominal(None, None), many).bucketize(2)


def test_two_buckets_never_have_one_label():
    held = np.array(["a", "b", "{a, b}", "{a, b}"], dtype=object)
    with pytest.raises(DataError, match="two buckets would have one label"):
        RankedColumn.of(nominal(None, Values(("a", "b", "{a, b}"))), held).bucketize(2)


def test_missing_values_are_a_bucket_of_their_own_without_a_label():
    held = np.ma.masked_array([5, 1, 2, 3, 4, 9], [True, False, False, False, False, True])
    made, codes = RankedColumn.of(PAY, held).bucketize(2)
    assert (made.labels, made.missing, made.count) == (("< 3", ">= 3"), True, 3)
    assert codes.tolist() == [2, 0, 0, 1, 1, 2]
    assert made.shown(codes).tolist() == [None, "< 3", "< 3", ">= 3", ">= 3", None]
    every = np.ma.masked_array([0, 0], [True, True])
    made, codes = RankedColumn.of(PAY, every).bucketize(2)
    assert (made.count, codes.tolist()) == (1, [0, 0])
