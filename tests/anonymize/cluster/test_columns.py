"""Records as points: distances are those of SC13 Eq 6.6 and 6.7, offsets cost no digits, missing values follow the rule."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.cluster.clustering import microaggregate
from shoal.anonymize.cluster.columns import NominalColumn, NumericColumn, OrdinalColumn, Scale, embed, points
from shoal.data.schema import Missing
from shoal.data.taxonomy import Taxonomy
from shoal.errors import DataError, DomainError, UsageError

EVEN = Taxonomy.of({"any": {"warm": ["red", "orange"], "cold": ["blue", "green", "violet"]}})
FLAT = Taxonomy.of({"any": ["x", "y", "z"]})


def apart(places):
    return np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("tree", [EVEN, FLAT, Taxonomy.of({"any": ["x"]})])
def test_places_are_as_far_apart_as_the_taxonomy_says(tree):
    assert apart(embed(tree)) == pytest.approx(tree.distances(), abs=1e-7)


@st.composite
def random_trees(draw):
    above = draw(st.lists(st.integers(1, 5), min_size=1, max_size=20))
    return {"0": None} | {str(i): str(max(0, i - step)) for i, step in enumerate(above, 1)}


@pytest.mark.slow
@given(random_trees())
def test_leaves_of_any_tree_have_places(tree):
    taxonomy = Taxonomy(tree)
    assert apart(embed(taxonomy)) == pytest.approx(taxonomy.distances(), abs=2e-5)


def test_where_no_places_exist_nearer_stays_nearer():
    """Concepts above others among the values can be too close to all of them for any Euclidean space."""
    tree: dict[str, str | None] = {"r": None}
    for _ in range(3):
        tree |= {f"{node}{i}": node for node in tree for i in range(4) if f"{node}{i}" not in tree}
    taxonomy = Taxonomy(tree, tuple(tree))
    raised = apart(embed(taxonomy)) ** 2 - taxonomy.distances() ** 2
    off = ~np.eye(len(raised), dtype=bool)
    assert raised[off].min() > 0.001
    assert raised[off].max() < raised[off].min() + 1e-7 < 0.1
    assert np.diag(raised) == pytest.approx(0)


@pytest.mark.parametrize("table", ["adult", "fars_subset"])
def test_places_for_the_shared_hierarchies(shared_data, table):
    for path in sorted((shared_data / table / "hierarchies").glob("*.csv")):
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = list(csv.reader(lines, delimiter=";" if ";" in lines[0] else ","))
        tree: dict[str, str | None] = {"(root)": None}
        for value, *above in rows[:300]:
            chain = ["(root)", *(f"{i}:{name}" for i, name in reversed(list(enumerate(above)))), f"leaf:{value}"]
            tree.update(dict(zip(chain[1:], chain, strict=False)))
        taxonomy = Taxonomy(tree)
        assert apart(embed(taxonomy)) == pytest.approx(taxonomy.distances(), abs=1e-6)


def test_mixed_records_are_as_far_apart_as_equation_6_7_says():
    ages, grades, colours = [20.0, 35.0, 80.0], ["low", "high", "mid"], ["red", "blue", "green"]
    columns = [
        NumericColumn(np.array(ages), "age", low=0, high=100),
        OrdinalColumn(np.array(grades, dtype=object), "grade", levels=("low", "mid", "high")),
        NominalColumn(np.array(colours, dtype=object), "colour", taxonomy=EVEN),
    ]
    found = apart(points(columns, Scale.DOMAIN))
    across = EVEN.distance(*EVEN.boundaries)
    ranks = [0, 2, 1]
    for i in range(3):
        for j in range(3):
            parts = (ages[i] - ages[j]) / 100, (ranks[i] - ranks[j]) / 2, EVEN.distance(colours[i], colours[j]) / across
            assert found[i, j] == pytest.approx(np.sqrt(sum(p * p for p in parts)), abs=1e-7)
    labels = microaggregate(columns * 4, 3, scale="domain")
    assert labels.tolist() == [0, 0, 0]


@pytest.mark.slow
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=50))
def test_standardized_numbers(values):
    column = np.array(values, dtype=float)
    scores = points([NumericColumn(column)], Scale.DEVIATION)[:, 0]
    if len(set(values)) == 1:
        assert not scores.any()
    else:
        assert scores == pytest.approx((column - column.mean()) / column.std(), abs=1e-9)
    for same in (column + 1e8, column * 2.0**-80, np.array(values), np.array(values) + 2**62 - 2000):
        assert points([NumericColumn(same)], Scale.DEVIATION)[:, 0].tolist() == scores.tolist()
    assert points([NumericColumn(column)], Scale.NONE)[:, 0].tolist() == (column - column.min()).tolist()


def test_the_whole_range_of_floats():
    huge = points([NumericColumn(np.array([-1.7e308, 0.0, 1.7e308]))], Scale.DEVIATION)[:, 0]
    assert huge == pytest.approx([-(1.5**0.5), 0, 1.5**0.5])
    tiny = points([NumericColumn(np.array([0.0, 5e-324, 1e-323]))], Scale.DEVIATION)[:, 0]
    assert tiny == pytest.approx([-(1.5**0.5), 0, 1.5**0.5])
    whole = points([NumericColumn(np.array([-(2**63), 2**63 - 1]))], Scale.DEVIATION)[:, 0]
    assert whole == pytest.approx([-1, 1])


@pytest.mark.parametrize("scale", list(Scale))
def test_every_attribute_weighs_the_same_by_deviation(scale):
    values = np.array(["red", "red", "blue", "violet"], dtype=object)
    places = points([NominalColumn(values, taxonomy=EVEN)], scale)
    variance = ((places - places.mean(axis=0)) ** 2).sum() / 4
    assert (variance == pytest.approx(1)) == (scale is Scale.DEVIATION)


def test_missing_values_are_refused_or_a_value_of_their_own():
    masked = np.ma.masked_array([1.0, 2.0, 5.0, 9.0], [False, True, False, True])
    for gone in (masked, np.array([1.0, np.nan, 5.0, np.nan]), np.array([1.0, None, 5.0, None], dtype=object)):
        with pytest.raises(DataError, match="attribute 'age': values are missing; got 2 of 4; allowed: none; leave"):
            points([NumericColumn(gone, "age")], Scale.DEVIATION)
        found = apart(points([NumericColumn(gone, "age", Missing.VALUE)], Scale.DEVIATION))
        assert found[1, 3] == 0
        assert found[0, 2] == pytest.approx(2)
        assert found[0, 1] == found[2, 1] == pytest.approx(2**0.5)
    nothing = points([NumericColumn(np.full(3, np.nan), "age", Missing.VALUE)], Scale.DEVIATION)
    assert not apart(nothing).any()
    colours = np.array(["red", None, "blue"], dtype=object)
    assert apart(points([NominalColumn(colours, "c", Missing.VALUE, taxonomy=EVEN)], Scale.DOMAIN))[0, 1] > 1


def test_what_is_refused():
    with pytest.raises(DomainError, match="attribute 'c': 1 values are not among the declared ones; declare every"):
        points([NominalColumn(np.array(["red", "grey"], dtype=object), "c", taxonomy=EVEN)], Scale.DOMAIN)
    with pytest.raises(UsageError, match="nominal column without a taxonomy"):
        points([NominalColumn(np.array(["red"], dtype=object), "c")], Scale.DOMAIN)
    with pytest.raises(DataError, match="attribute 'n': values are infinite"):
        points([NumericColumn(np.array([1.0, np.inf]), "n")], Scale.NONE)
    with pytest.raises(DataError, match="attribute 'n': values are not numbers"):
        points([NumericColumn(np.array(["a"], dtype=object), "n")], Scale.NONE)
    with pytest.raises(UsageError, match="columns of different lengths; got 1, 2"):
        points([NumericColumn(np.zeros(1)), NumericColumn(np.zeros(2))], Scale.NONE)
    with pytest.raises(UsageError, match="records without columns"):
        points([], Scale.NONE)
    with pytest.raises(UsageError, match="domain beside columns"):
        microaggregate([NumericColumn(np.zeros(4))], 2, domain=[(0, 1)])
