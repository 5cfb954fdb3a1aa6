"""Joint buckets: as many as t and k allow, close in each attribute, and refusals that name what can be reached."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.bucket.buckets import RankedColumn
from shoal.anonymize.cluster.bucket.distance import closeness
from shoal.anonymize.cluster.bucket.groups import random_groups
from shoal.anonymize.cluster.bucket.joint import joint_buckets
from shoal.data.schema import Attribute, Role
from shoal.data.type import Type
from shoal.errors import InfeasibleError


def column(values, name="x"):
    return RankedColumn.of(Attribute(name, Role.CONFIDENTIAL, Type.INTEGER), np.ma.asarray(values))


def test_there_are_floor_t_and_one_buckets():
    for t, wanted in (("1", 2), ("1.5", 2), ("2", 3), ("2.9", 3), ("4", 5)):
        made = joint_buckets([column(np.arange(120))], 20, Fraction(t))
        assert made.buckets[0].count == wanted


def test_no_more_buckets_than_a_group_has_records():
    made = joint_buckets([column(np.arange(120))], 4, Fraction(50))
    assert made.buckets[0].count == 4


def test_buckets_are_fewer_where_the_counts_allow_no_more():
    values = [1] * 50 + [2] * 30 + [3] * 20
    assert joint_buckets([column(values)], 5, Fraction(2)).buckets[0].labels == ("< 2", "[2, 3)", ">= 3")
    assert joint_buckets([column(values)], 4, Fraction(2)).buckets[0].labels == ("< 2", ">= 2")


@given(st.integers(0, 50), st.integers(4, 12), st.sampled_from([Fraction(2), Fraction(3), Fraction(7, 2)]))
def test_groups_close_in_the_joint_buckets_are_close_in_each(seed, k, t):
    chance = np.random.default_rng(seed)
    held = [column(chance.integers(0, 9, 150), name) for name in ("x", "y")]
    try:
        made = joint_buckets(held, k, t)
    except InfeasibleError:
        return
    labels = random_groups(made.joint, made.kinds)
    assert made.closeness(labels) <= t
    assert all(closeness(labels, own) <= made.closeness(labels) for own in made.own)


def said(error):
    """The k and the t that a refusal names."""
    k, t = re.search(r"k = (\d+) with this t", error), re.search(r"t = ([\d.]+) or more", error)
    return None if k is None else int(k[1]), None if t is None else Fraction(t[1])


@pytest.mark.slow
@given(st.lists(st.integers(0, 6), min_size=12, max_size=60), st.integers(2, 6), st.fractions(1, 3, max_denominator=5))
def test_what_a_refusal_names_can_be_reached_and_nothing_nearer(values, k, t):
    held = [column(values)]
    if len(set(values)) < 2 or 2 * k > len(values):
        return

    def reached(k, t):
        try:
            joint_buckets(held, k, t)
        except InfeasibleError as error:
            return str(error)
        return None

    error = reached(k, t)
    if error is None:
        return
    named_k, named_t = said(error)
    larger = [other for other in range(k + 1, len(values) // 2 + 1) if reached(other, t) is None]
    smaller = [other for other in range(2, k) if reached(other, t) is None]
    assert named_k == (min(larger) if larger else max(smaller, default=None))
    if named_t is not None:
        assert reached(k, named_t) is None
        assert reached(k, max(Fraction(1), named_t - Fraction(1, 100))) is not None or named_t - t < Fraction(1, 100)


def test_a_refusal_says_that_missing_values_are_a_bucket():
    held = np.ma.masked_array(np.arange(100), [True] * 2 + [False] * 98)
    with pytest.raises(
        InfeasibleError, match=r"2 of 100 records in the smallest bucket; the missing values of 'x'"
    ) as caught:
        joint_buckets([column(held)], 10, Fraction(2))
    assert "k = 34 with this t" in str(caught.value)
    assert "leave the records with missing values out of the table beforehand" in str(caught.value)


def test_where_neither_k_nor_t_alone_will_do_both_are_named():
    held = [column([0, 0] + [1] * 99)]
    with pytest.raises(InfeasibleError, match=r"allowed: k = 34 and t = 1.01\d*;"):
        joint_buckets(held, 10, Fraction(1))
    joint_buckets(held, 34, Fraction("1.02"))


def test_one_record_alone_in_its_bucket_can_be_in_one_group_only():
    with pytest.raises(InfeasibleError, match="single record"):
        joint_buckets([column([7] + [1] * 19)], 5, Fraction(3))
