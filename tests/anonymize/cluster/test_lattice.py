"""Attributes in whole numbers: steps, codes and what is shown again; whole distances between concepts; what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.columns import NominalColumn, Scale
from shoal.anonymize.cluster.lattice import (
    FINE,
    CodedColumn,
    ConceptLattice,
    NumberLattice,
    grid_step,
    lattice_of,
    lattices_of,
)
from shoal.data.domain import Interval, Pattern, Values
from shoal.data.schema import Attribute, Missing, Outside, Role, Schema, Type
from shoal.data.taxonomy import Taxonomy
from shoal.data.type import value_at
from shoal.errors import DataError, DomainError, PreconditionError, UsageError


def attribute(kind, domain=None, **more):
    return Attribute("x", Role.QUASI, kind, domain, **({"missing": Missing.REFUSE} | more))


def days(*texts):
    return np.array(texts, dtype="datetime64[D]")


@pytest.mark.parametrize(
    ("kind", "domain", "values", "codes"),
    [
        (Type.INTEGER, Interval(-5, 95), np.array([-5, 0, 95]), [0, 5, 100]),
        (Type.INTEGER, Values(("10", "20", "40")), np.array([10, 20, 40]), [0, 10, 30]),
        (Type.DATE, Interval("2024-01-01", "2024-12-31"), days("2024-01-01", "2024-12-31"), [0, 365]),
        (Type.DECIMAL, Interval(0, 100), np.array([0.0, 0.0001, 100.0]), [0, 1, 1_000_000]),
        (Type.ORDINAL, Values(("low", "mid", "high")), np.array(["mid", "high"], dtype=object), [1, 2]),
        (Type.BOOLEAN, None, np.array([True, False]), [1, 0]),
        (Type.CATEGORY, Values(("b", "a", "c")), np.array(["b", "c", "a"], dtype=object), [1, 2, 0]),
    ],
)
def test_values_have_codes_and_codes_show_them_again(kind, domain, values, codes):
    lattice = lattice_of(attribute(kind, domain))
    assert lattice.codes(values).tolist() == codes
    assert lattice.shown(np.array(codes)).tolist() == values.tolist()


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**9))
def test_a_decimal_step_is_a_power_of_ten_with_about_a_million_steps(width):
    step = grid_step(Type.DECIMAL, width)
    assert FINE / 10 < width / step <= FINE
    power = step if step >= 1 else 1 / step
    assert power.denominator == 1
    assert set(str(power.numerator)) <= {"1", "0"}


def test_wide_whole_numbers_have_coarser_steps():
    lattice = NumberLattice.of(attribute(Type.INTEGER, Interval(0, 10**12)))
    assert (lattice.step, lattice.steps) == (1000, 10**9)
    assert lattice.codes(np.array([0, 499, 500, 10**12])).tolist() == [0, 0, 1, 10**9]
    assert lattice.shown(np.array([1, 10**9])).tolist() == [1000, 10**12]


@given(st.lists(st.floats(0, 33.3), min_size=1, max_size=20))
def test_codes_stay_inside_and_shown_values_within_half_a_step(values):
    lattice = NumberLattice.of(attribute(Type.DECIMAL, Interval(0, 33.3)))
    codes = lattice.codes(np.array(values))
    assert 0 <= codes.min() <= codes.max() <= lattice.steps
    shown = lattice.shown(codes)
    assert np.abs(shown - np.array(values)).max() <= float(lattice.step) * 0.5001
    assert shown.max() <= 33.3


def test_what_is_shown_is_a_listed_value():
    lattice = NumberLattice.of(attribute(Type.INTEGER, Values(("0", "10", "100"))))
    assert lattice.shown(np.array([0, 4, 6, 54, 56, 100])).tolist() == [0, 0, 10, 10, 100, 100]


@pytest.mark.parametrize(
    ("kind", "listed"),
    [(Type.INTEGER, ("0", "1234567", "1000000000003")), (Type.DECIMAL, ("0", "0.12345678", "1.234562"))],
)
def test_listed_values_between_two_points_of_the_grid_are_shown_as_they_are_listed(kind, listed):
    lattice = NumberLattice.of(attribute(kind, Values(listed)))
    values = np.array([float(value) for value in listed]).astype("i8" if kind is Type.INTEGER else "f8")
    assert lattice.shown(lattice.codes(values)).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        (Type.DECIMAL, Interval(0, Fraction("1.234562"))),  # 123,456.2 steps
        (Type.INTEGER, Interval(0, 10**12 + 3)),
        (Type.INTEGER, Interval(-(2**63), 2**63 - 1)),
        (Type.DATETIME, Interval("0001-01-01", "9999-12-31")),
    ],
)
def test_what_is_shown_has_its_own_code_up_to_a_last_step_that_is_a_short_one(kind, domain):
    """Else a verifier would find the upper end of such a domain off its grid, and the run would fail behind the charge."""
    lattice = NumberLattice.of(attribute(kind, domain))
    codes = np.unique(np.linspace(0, lattice.steps, 97).astype(np.int64))
    assert lattice.codes(lattice.shown(codes)).tolist() == codes.tolist()
    assert lattice.shown(np.array([lattice.steps]))[0] == value_at(kind, lattice.high)


@pytest.mark.parametrize("value", [2**63 - 1, 2**62 + 5, 2**62 - 10, -(2**63), -(2**62) - 3])
def test_whole_numbers_far_outside_are_refused_and_do_not_wrap_around(value):
    with pytest.raises(DomainError):
        NumberLattice.of(attribute(Type.INTEGER, Interval(-10, 10))).codes(np.array([value]))


def test_the_spread_of_scores_is_twice_the_diameter_and_more_than_the_boundaries():
    tree = {"all": {"one": None, "left": ["l1", "l2"], "right": ["r1", "r2"]}}
    lattice = ConceptLattice(attribute(Type.CATEGORY), Taxonomy.of(tree), Taxonomy.of(tree).nodes)
    whole = lattice.distances
    assert whole.shape == (8, 5)
    values = [lattice.candidates.index(value) for value in lattice.taxonomy.values]
    assert lattice.spread == 2 * int(whole[values].max())
    assert int(whole[values].max()) == round(lattice.taxonomy.diameter * 1_000_000)
    ends = lattice.taxonomy.distance(*lattice.taxonomy.boundaries)
    assert lattice.spread > 2_000_000 * ends * 1.05


def test_concepts_without_a_hierarchy_are_the_values():
    lattice = ConceptLattice.of(attribute(Type.CATEGORY, Values(("b", "a"))))
    assert lattice.candidates == ("a", "b")
    assert lattice.centroid_attribute().concepts == 2


@pytest.mark.parametrize(
    "odd",
    [
        attribute(Type.INTEGER),
        attribute(Type.ORDINAL),
        attribute(Type.CATEGORY),
        attribute(Type.TEXT, Pattern("[a-z]*")),
        attribute(Type.INTEGER, Interval(3, 3)),
        attribute(Type.DECIMAL, Interval(-1e308, 1e308)),
        attribute(Type.ORDINAL, Values(("one",))),
        attribute(Type.CATEGORY, Values(("one",))),
        attribute(Type.CATEGORY, Values(tuple(map(str, range(1001))))),
        attribute(Type.INTEGER, Interval(0, 9), missing=Missing.VALUE),
        attribute(Type.INTEGER, Interval(0, 9), outside=Outside.SUPPRESS),
    ],
    ids=lambda each: f"{each.type.value}, {each.domain.words()[:12] if each.domain else 'none'}, {each.missing.value}",
)
def test_attributes_without_a_lattice_are_refused_before_any_row(odd):
    with pytest.raises(PreconditionError):
        lattices_of(Schema((odd,)))


@pytest.mark.parametrize(
    ("lattice", "values", "error"),
    [
        (attribute(Type.INTEGER, Interval(0, 9)), np.array([10]), DomainError),
        (attribute(Type.INTEGER, Interval(0, 9)), np.array([-1]), DomainError),
        (attribute(Type.DECIMAL, Interval(0, 9)), np.array([9.1]), DomainError),
        (attribute(Type.DECIMAL, Interval(0, 9)), np.array([np.inf]), DomainError),
        (attribute(Type.DECIMAL, Interval(0, 9)), np.array([np.nan]), DataError),
        (attribute(Type.INTEGER, Interval(0, 9)), np.ma.masked_array([1, 2], [False, True]), DataError),
        (attribute(Type.CATEGORY, Values(("a", "b"))), np.array(["z"], dtype=object), DomainError),
        (attribute(Type.ORDINAL, Values(("a", "b"))), np.array(["z"], dtype=object), DomainError),
    ],
)
def test_values_that_are_outside_or_missing_are_refused_and_not_quoted(lattice, values, error):
    with pytest.raises(error) as caught:
        lattice_of(lattice).codes(values)
    assert "z" not in str(caught.value).split("'")[-1] or "z" not in values.tolist()


def test_a_column_of_codes_is_the_column_of_its_values():
    lattice = ConceptLattice.of(attribute(Type.CATEGORY, Values(("b", "a", "c"))))
    values = np.array(["c", "a", "a", "b"], dtype=object)
    plain = NominalColumn(values, "x", taxonomy=lattice.taxonomy)
    coded = lattice.column(lattice.codes(values))
    for upper in (False, True):
        assert coded.end(upper).tolist() == plain.end(upper).tolist()
    assert coded.order().tolist() == plain.order().tolist()
    assert coded.coordinates(Scale.DOMAIN).tolist() == plain.coordinates(Scale.DOMAIN).tolist()
    with pytest.raises(UsageError):
        coded.coordinates(Scale.DEVIATION)
    with pytest.raises(UsageError):
        CodedColumn(np.array([0])).order()
