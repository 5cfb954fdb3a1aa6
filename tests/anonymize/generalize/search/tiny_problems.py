"""Tiny problems for the search of the best scheme: every criterion, loss, weight, pin and limit, with the truth about each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.search.best_scheme import pose
from shoal.anonymize.generalize.search.records import encode_records
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Role, Type
from tests.anonymize.generalize.search import twin
from tests.anonymize.generalize.tiny import attribute, counted

QUASI = (
    attribute("a", "uvwxyz", "uuwwyy", "uuuuyy"),
    attribute("b", "pqrs", "ppqq"),
    attribute("c", "01"),
)
GRADES = ("low", "middle", "high", "top")
ILLS = attribute("ill", "efghi", "eegii", "eeiii")
HEIGHTS = tuple(dict(zip(["e", "f", "g", "h", "i", None], row, strict=True)) for row in ("efghi-", "eegii-", "eeiii-"))
ORDINAL = Attribute("grade", Role.CONFIDENTIAL, Type.ORDINAL, Values(GRADES))
ILL = Attribute("ill", Role.CONFIDENTIAL, Type.CATEGORY, Values(tuple("efghi")), ILLS.hierarchy)

fractions = st.fractions(Fraction(1, 20), 3, max_denominator=20)
CRITERIA = {
    "k": st.just({}),
    "l": st.fixed_dictionaries({"l": st.integers(1, 3)}),
    "entropy": st.fixed_dictionaries(
        {"entropy_l": st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)])}
    ),
    "recursive": st.fixed_dictionaries({"recursive": st.tuples(fractions, st.integers(1, 3))}),
    "t": st.fixed_dictionaries({"t": st.fractions(0, 1, max_denominator=12)}),
    "alpha": st.fixed_dictionaries({"alpha": st.fractions(Fraction(1, 4), 1, max_denominator=12)}),
    "basic": st.fixed_dictionaries({"beta": fractions}),
    "enhanced": st.fixed_dictionaries({"beta": fractions, "beta_form": st.just("enhanced")}),
    "delta": st.fixed_dictionaries({"delta": fractions}),
    "k_map": st.fixed_dictionaries({"k_map": st.integers(2, 9)}),
    "several": st.fixed_dictionaries(
        {
            "l": st.integers(1, 2),
            "t": st.fractions(Fraction(1, 3), 1, max_denominator=12),
            "alpha": st.just(Fraction(4, 5)),
        }
    ),
}

letters = st.tuples(
    st.sampled_from([*"uvwxyz", None]),
    st.sampled_from([*"pqrs", None]),
    st.sampled_from("01"),
    st.sampled_from([*GRADES, None]),
    st.sampled_from([*"efghi", None]),
)


def column(rows, place):
    values = np.array([row[place] for row in rows], dtype=object)
    return np.ma.masked_array(values, [value is None for value in values])


def encoded(rows, confidential, distance=None, population=None):
    values = {one.name: column(rows, place) for place, one in enumerate((*QUASI, ORDINAL, ILL))}
    people = None if population is None else counted([one.name for one in QUASI], population)
    return encode_records(QUASI, confidential, values, distance=distance, population=people)


def described(distance):
    """The confidential attributes as the twin takes them: place, order, distance, heights."""
    flat = ({value: value for value in (*GRADES, None)},)
    one = "equal" if distance in ("equal", "hierarchical") else "ordered"
    other = "hierarchical" if distance == "hierarchical" else "equal"
    equal = ({value: value for value in (*"efghi", None)},)
    return [
        (3, (*GRADES, None), one, flat),
        (4, (*"efghi", None), other, HEIGHTS if other == "hierarchical" else equal),
    ]


@st.composite
def problems(draw, kind):
    rows = draw(st.lists(letters, min_size=2, max_size=24))
    k = draw(st.integers(2, 4))
    distance = draw(st.sampled_from([None, "equal", "hierarchical"])) if kind in ("t", "several") else None
    required = Requirement(k, distance=distance, **draw(CRITERIA[kind]))
    pins = draw(
        st.sampled_from(
            [{}, {"finest": {"a": 1}}, {"coarsest": {"a": 2, "b": 1}}, {"finest": {"c": 1}, "coarsest": {"c": 1}}]
        )
    )
    weights = draw(st.sampled_from([{}, {"a": Fraction(3)}, {"a": Fraction(0), "c": Fraction(1, 3)}]))
    lattice = Lattice.of(QUASI, **pins, weights=weights)
    limit = draw(st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(99, 100)]))
    loss = draw(st.sampled_from(["granularity", "discernibility", "class_size"]))
    more = draw(st.lists(letters.map(lambda row: row[:3]), max_size=20)) if required.k_map else []
    population = [row[:3] for row in rows] + more if required.k_map else None
    confidential = (ORDINAL, ILL) if required.is_confidential else ()
    return rows, required, lattice, weights, limit, loss, population, confidential


def posed(problem):
    """A problem as the search takes it."""
    rows, required, lattice, weights, limit, loss, population, confidential = problem
    return pose(lattice, encoded(rows, confidential, required.distance, population), required, loss, weights, limit)


def truth(problem):
    """(loss, suppressed, places) of its best scheme, by looking at all of them."""
    rows, required, lattice, weights, limit, loss, population, confidential = problem
    each = [weights.get(name, Fraction(1)) for name in lattice.names]
    shares = [one / sum(each) for one in each]
    shown = described(required.distance) if confidential else []
    return twin.best(loss, required, lattice, shares, shown, rows, int(limit * len(rows)), population or ())
