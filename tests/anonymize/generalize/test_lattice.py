"""A lattice numbers its schemes, knows their detail exactly, keeps to the levels allowed, and shrinks by its rule."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.generalize.lattice import GRID, LIMIT, Lattice
from shoal.anonymize.generalize.scores import Ramp
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import IntervalLevel, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Attribute, Role, Type
from shoal.engine.base import Counts
from shoal.errors import DomainError, ParameterError, UsageError
from tests.anonymize.generalize.tiny import attribute, counted, levels_of, recoded

CITY = attribute("city", "abcd", "xxyy")
SEX = attribute("sex", "fm")
PLAIN = Attribute("plain", Role.OTHER, Type.CATEGORY, Values(("u", "v")))


def test_schemes_are_numbered():
    lattice = Lattice.of([CITY, SEX, PLAIN])
    assert len(lattice) == 6
    assert lattice.shape == (3, 2, 1)
    assert lattice.scheme(0) == {"city": 0, "sex": 0, "plain": 0}
    assert lattice.scheme(3) == {"city": 1, "sex": 1, "plain": 0}
    assert len({tuple(lattice.scheme(index).values()) for index in range(6)}) == 6
    assert [type(level) for level in levels_of(lattice, 5).values()] == [TopLevel, TopLevel, ValueLevel]
    assert lattice.rule is None


def test_detail_is_one_minus_the_weighted_mean_loss():
    lattice = Lattice.of([CITY, SEX, PLAIN], weights={"city": 3, "plain": Fraction(1, 2)})
    for index, detail in enumerate(lattice.detail.tolist()):
        scheme = lattice.scheme(index)
        losses = [Fraction(CITY.hierarchy.losses[scheme["city"]]), Fraction(SEX.hierarchy.losses[scheme["sex"]]), 0]
        mean = sum(w * part for w, part in zip((3, 1, Fraction(1, 2)), losses, strict=True)) / Fraction(9, 2)
        assert 0 <= (1 - mean) * GRID - detail < 3
    assert lattice.detail[0] == GRID


def test_ranges_are_kept():
    lattice = Lattice.of([CITY, SEX], finest={"city": 1}, coarsest={"sex": 0})
    assert lattice.levels == ((1, 2), (0,))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"finest": {"city": 2}, "coarsest": {"city": 1}}, ParameterError, "no level is allowed"),
        ({"finest": {"city": 3}}, ParameterError, r"no such finest level; got 3; allowed: 0\.\.2"),
        ({"coarsest": {"sex": -1}}, ParameterError, "no such coarsest level"),
        ({"weights": {"city": 0, "sex": 0}}, ParameterError, "every attribute has weight 0"),
        ({"weights": {"city": -1}}, ParameterError, "a negative weight"),
        ({"weights": {"city": 0.1}}, ParameterError, "its weight is not exact"),
        ({"weights": {"town": 1}}, UsageError, "no such attribute; got town"),
        ({"limit": 0}, ParameterError, "no scheme is allowed"),
    ],
)
def test_bad_requests(arguments, error, words):
    with pytest.raises(error, match=words):
        Lattice.of([CITY, SEX], **arguments)


def test_a_lattice_needs_attributes_and_knows_its_schemes():
    with pytest.raises(UsageError, match="without attributes"):
        Lattice.of([])
    lattice = Lattice.of([CITY])
    with pytest.raises(UsageError, match="no such scheme"):
        lattice.scheme(3)
    with pytest.raises(UsageError, match="other columns"):
        lattice.columns(counted(("sex",), [("f",)]))


def test_one_level_one_value_and_weight_zero_are_allowed():
    one_level = attribute("flat", "ab", top=False)
    one_value = attribute("same", "a")
    lattice = Lattice.of([one_level, one_value, SEX], weights={"flat": 0})
    assert lattice.shape == (1, 2, 2)
    scores = Ramp(1, Fraction(1, 2)).of_all(lattice, counted(lattice.names, [("a", "a", "f")] * 6))
    assert len(scores) == 4
    assert scores[0] == 6 * GRID


# --- lattices that are too large --------------------------------------------------------------------------------


def wide(levels: int, name: str) -> Attribute:
    edges = [tuple(range(2**level, 2**levels, 2**level)) for level in range(1, levels)]
    made = [ValueLevel(), *(IntervalLevel(cut, tuple(map(str, range(len(cut) + 1)))) for cut in edges), TopLevel()]
    losses = [0.0, *(2.0 ** (level - levels) for level in range(1, levels)), 1.0]
    domain = Interval(0, 2**levels - 1)
    hierarchy = Hierarchy("cuts", domain, tuple(made), tuple(losses), {}, Type.INTEGER)
    return Attribute(name, Role.QUASI, Type.INTEGER, domain, hierarchy)


def test_a_large_lattice_gives_up_levels_and_says_so():
    lattice = Lattice.of([wide(7, f"a{i}") for i in range(8)])  # 8^8 = 16.8 million
    assert LIMIT / 2 < len(lattice) <= LIMIT
    assert all(levels[0] == 0 and levels[-1] == 7 for levels in lattice.levels)
    assert "restricted to 2,000,000 schemes without looking at the data" in lattice.rule
    assert "\n" not in lattice.rule
    # of equals the last give up first, and the levels given up are the finest, which differ least
    assert lattice.shape == tuple(sorted(lattice.shape, reverse=True))
    assert lattice.levels[-1] == (0, *range(8 - lattice.shape[-1] + 1, 8))


def test_the_heaviest_keep_most():
    lattice = Lattice.of([wide(5, "light"), wide(5, "heavy")], weights={"heavy": 2}, limit=30)
    assert lattice.shape == (5, 6)
    many = Lattice.of([attribute(f"a{i}", "fm") for i in range(24)], weights={"a23": 5})
    assert len(many) <= LIMIT
    assert many.levels[23] == (0, 1)
    held = [at for at, levels in enumerate(many.levels) if len(levels) == 1]
    assert held == [19, 20, 21, 22]
    assert all(many.levels[at] == (1,) for at in held)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(1, 500))
def test_whatever_is_kept_fits(sizes, limit):
    attributes = [wide(size, f"a{i}") for i, size in enumerate(sizes)]
    lattice = Lattice.of(attributes, limit=limit)
    assert len(lattice) <= limit
    assert (lattice.rule is None) == (prod(size + 1 for size in sizes) <= limit)
    for size, levels in zip(sizes, lattice.levels, strict=True):
        assert levels == tuple(sorted(levels))
        assert levels[-1] == size
        assert len(levels) == 1 or levels[0] == 0


# --- labels -----------------------------------------------------------------------------------------------------


def test_classes_are_those_that_a_release_would_show():
    rows = [("a", "f"), ("b", None), (None, "f"), (None, None), ("d", "m"), ("c", "m")]
    lattice = Lattice.of([CITY, SEX])
    counts = counted(lattice.names, rows)
    columns = lattice.columns(counts)
    tuples = list(zip(*counts.tuples, strict=True))
    for index in range(len(lattice)):
        scheme = lattice.scheme(index)
        codes = list(
            zip(*[c.levels[scheme[n]][c.codes] for c, n in zip(columns, lattice.names, strict=True)], strict=True)
        )
        shown = recoded(lattice, index, tuples)
        assert len(set(codes)) == len(set(shown)) == len(set(zip(codes, shown, strict=True)))


def test_a_value_labelled_as_missing_is_shown_as_missing():
    odd = attribute("odd", "ab", "ab")
    level = replace(odd.hierarchy.levels[1], labels=("(missing)", "b"))
    named = replace(odd.hierarchy, levels=(odd.hierarchy.levels[0], level, *odd.hierarchy.levels[2:]))
    lattice = Lattice.of([Attribute("odd", Role.QUASI, Type.CATEGORY, Values(("a", "b")), named)])
    column = lattice.columns(counted(("odd",), [("a",), (None,), ("b",)]))[0]
    assert [len(set(level[column.codes].tolist())) for level in column.levels] == [3, 2, 1]


@pytest.mark.slow
def test_masks_and_a_million_values():
    levels = (ValueLevel(), MaskLevel(3, "right"), MaskLevel(1, "right"), TopLevel())
    domain = Values(("000000", "999999"))
    hierarchy = Hierarchy("mask", domain, levels, (0.0, 0.1, 0.5, 1.0), {}, Type.TEXT)
    lattice = Lattice.of([Attribute("zip", Role.QUASI, Type.TEXT, domain, hierarchy)])
    values = np.array([f"{number:06}" for number in range(10**6)], dtype=object)
    counts = Counts(("zip",), (values,), (np.arange(10**6, dtype=np.int32),), np.ones(10**6, dtype=np.int64))
    scores = Ramp(500, Fraction(1, 2)).of_all(lattice, counts)
    # 1,000 classes of 1,000 rows just reach k/beta = 1,000; single rows do not
    assert (scores / lattice.detail.clip(1)).tolist() == [0, 10**6, 10**6, 0]
    assert lattice.detail[3] == 0


def test_a_value_that_no_label_covers_is_refused_without_naming_it():
    with pytest.raises(DomainError, match="attribute 'city'") as refused:
        Lattice.of([CITY]).columns(counted(("city",), [("zebra",)]))
    assert "zebra" not in str(refused.value)
