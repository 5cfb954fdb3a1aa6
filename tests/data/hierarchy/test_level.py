"""Levels: codes and labels agree, what they do not cover is marked, and malformed ones are refused."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.data.domain import Values
from shoal.data.hierarchy.base import Hierarchy, check_nested
from shoal.data.hierarchy.level import OUTSIDE, GroupLevel, IntervalLevel, MaskLevel, TopLevel, ValueLevel, coarsens
from shoal.data.schema import Type
from shoal.errors import PolicyError, UsageError

AB = GroupLevel(("a", "b", "c"), (0, 0, 1), ("x", "y"))


def test_codes_of_groups_mark_what_is_outside():
    values = np.array(["c", "z", "a"], dtype=object)
    assert AB.encode(values).tolist() == [1, OUTSIDE, 0]
    assert AB.apply(values).tolist() == ["y", None, "x"]
    assert AB.encode(values).dtype == np.int32


def test_whole_numbers_meet_edges_that_are_not_whole():
    cuts = IntervalLevel((17.5,), ("low", "high"))
    assert cuts.apply(np.array([17, 18])).tolist() == ["low", "high"]
    assert cuts.apply(np.array([17.4, 17.5])).tolist() == ["low", "high"]


def test_levels_without_a_list_of_labels_have_no_codes():
    for level in (ValueLevel(), MaskLevel(1, "right")):
        with pytest.raises(UsageError, match="cannot be listed"):
            level.encode(np.array(["a"], dtype=object))


def test_a_hierarchy_lists_what_its_levels_cannot():
    built = Hierarchy(
        "mask", Values(("ab", "ac", "b")), (ValueLevel(), MaskLevel(1, "right"), TopLevel()), (0, 0.3, 1), {}, Type.TEXT
    )
    values = np.array(["ac", "b", "ab", "q"], dtype=object)
    assert built.labels(0) == ("ab", "ac", "b")
    assert built.encode(0, values).tolist() == [1, 2, 0, OUTSIDE]
    assert built.labels(1) == ("a*", "b")
    assert built.encode(1, values).tolist() == [0, 1, 0, OUTSIDE]
    assert built.encode(2, values).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GroupLevel(("a",), (0, 1), ("x", "y")), "not one group for each value"),
        (lambda: GroupLevel(("a",), (0,), ("x", "x")), "one label for two groups"),
        (lambda: GroupLevel(("a",), (3,), ("x",)), "a label that is not there"),
        (lambda: IntervalLevel((1, 2), ("x",)), "one label more"),
        (lambda: IntervalLevel((2, 1), ("x", "y", "z")), "not in rising order; got 2, 1"),
        (lambda: IntervalLevel((1,), ("x", "x")), "one label for two groups"),
        (lambda: MaskLevel(1, "up"), "on one side; got up"),
        (lambda: MaskLevel(-1, "left"), "negative number"),
        (lambda: Hierarchy("x", Values(("a",)), (ValueLevel(),), (), {}), "a loss for each level"),
    ],
)
def test_malformed(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_what_does_not_nest_is_found():
    domain = Values(("a", "b", "c"))
    crossed = GroupLevel(("a", "b", "c"), (0, 1, 1), ("p", "q"))
    assert not coarsens(AB, crossed)
    assert not coarsens(IntervalLevel((1,), ("x", "y")), IntervalLevel((2,), ("x", "y")))
    assert not coarsens(MaskLevel(1, "right"), MaskLevel(2, "right"))
    assert not coarsens(MaskLevel(2, "right"), MaskLevel(1, "left"))
    assert not coarsens(AB, IntervalLevel((1,), ("x", "y")))
    with pytest.raises(PolicyError, match="level 2 parts what level 1 had put together"):
        check_nested(Hierarchy("groups", domain, (ValueLevel(), AB, crossed, TopLevel()), (0, 0.3, 0.3, 1), {}))
    with pytest.raises(PolicyError, match="from the value itself to one label"):
        check_nested(Hierarchy("groups", domain, (ValueLevel(), AB), (0, 0.3), {}))
    with pytest.raises(PolicyError, match=r"rise from 0 to 1; got 0, 0\.5, 0\.3, 1"):
        check_nested(Hierarchy("groups", domain, (ValueLevel(), AB, AB, TopLevel()), (0, 0.5, 0.3, 1), {}))
