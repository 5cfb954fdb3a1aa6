"""Distances of marginals, relations and queries: hand-worked tables, identity, and a shuffled impostor that must be noticed."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.assess.comparison.parts import parts_of, read_column
from shoal.assess.comparison.table import ComparableColumn, ComparableTable
from shoal.assess.utility.marginals import compare_column, compare_marginals, total_variation
from shoal.assess.utility.queries import compare_queries
from shoal.assess.utility.relations import compare_relations, cramers_v
from shoal.chance.source import Source
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Role
from shoal.data.type import Type

AGE = Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 9))
SEX = Attribute("sex", Role.QUASI, Type.CATEGORY, Values(("f", "m")))
PAY = Attribute("pay", Role.CONFIDENTIAL, Type.DECIMAL, Interval(0, 1000))


def table(ages, sexes, pays, like=None):
    held = {
        "age": read_column(Type.INTEGER, np.array(ages)),
        "sex": read_column(Type.CATEGORY, np.array(sexes, dtype=object)),
        "pay": read_column(Type.DECIMAL, np.array(pays, dtype=float)),
    }
    columns = {
        one.name: ComparableColumn.of_values(
            parts_of(one, held[one.name]) if like is None else like[one.name].parts, held[one.name]
        )
        for one in (AGE, SEX, PAY)
    }
    return ComparableTable(columns, "rows")


def people(rows=400):
    ages = np.arange(rows) % 10
    return ages, np.where(ages < 5, "f", "m"), 100.0 * ages + np.arange(rows) % 7


def test_equal_tables_are_at_no_distance():
    one = table(*people())
    for width in (1, 2, 3):
        with Source.seeded(1) as source:
            found = compare_marginals(one, one, width, source)
        assert found is not None
        assert found.mean.value == found.worst == 0
    with Source.seeded(1) as source:
        assert compare_queries(one, one, source).absolute.value == 0
    assert compare_relations(one, one).association_difference == 0
    column = compare_column(one, one, "pay")
    assert column.total_variation == 0
    assert column.earth_mover == 0
    assert all(before == after for _, before, after in column.quantiles)


def test_a_release_without_a_row_has_no_mean_and_its_json_no_number_that_is_none():
    one = table(range(10), ["f"] * 10, [1.0] * 10)
    gone = one.take(np.array([], dtype=np.int64))
    found = compare_column(one, gone, "age").to_json()
    assert found["total_variation"] == 1
    assert found["mean"] == [4.5, None]
    assert found["deviation"][1] is None
    assert all(after is None for *_, after in found["quantiles"])
    assert compare_column(one, gone, "sex").to_json()["mean"] is None


def test_a_column_that_moved_by_hand():
    """Ten ages, each once, against all at age 9: nine tenths moved, over 4.5 of nine steps on average."""
    one = table(range(10), ["f"] * 10, [1.0] * 10)
    other = table([9] * 10, ["f"] * 10, [1.0] * 10, one)
    found = compare_column(one, other, "age")
    assert found.total_variation == pytest.approx(0.9)
    assert found.earth_mover == pytest.approx(0.5)
    assert found.mean == (4.5, 9.0)
    assert found.quantiles[2] == (0.5, 4.0, 9.0)


def test_shuffled_columns_keep_singles_and_lose_pairs_relations_and_queries():
    ages, sexes, pays = people()
    one = table(ages, sexes, pays)
    with Source.seeded(5) as source:
        other = table(ages, sexes[source.permutation(400)], pays[source.permutation(400)], one)
        single, double = (compare_marginals(one, other, width, source) for width in (1, 2))
        queries = compare_queries(one, other, source)
    assert single is not None
    assert double is not None
    assert single.mean.value == 0
    assert double.mean.value > 0.3
    assert double.worst >= double.mean.value
    assert queries.absolute.value > 0.02
    relations = compare_relations(one, other)
    assert relations.correlation_difference is not None
    assert relations.correlation_difference > 0.8
    assert relations.association_difference is not None
    assert relations.association_difference > 0.4


def test_a_release_of_nothing_is_at_distance_one():
    assert total_variation(np.array([0.5, 0.5]), np.zeros(2)) == 1
    assert total_variation(np.zeros(2), np.zeros(2)) == 0


def test_cramers_v_of_independence_and_of_a_known_table():
    assert cramers_v(np.outer([0.3, 0.7], [0.2, 0.5, 0.3])) == pytest.approx(0)
    # 2 × 2 with cells 30, 10, 10, 30 of 80: chi-square is 20, so V = sqrt(20 / 80) = .5.
    assert cramers_v(np.array([[30.0, 10.0], [10.0, 30.0]])) == pytest.approx(0.5)
    assert cramers_v(np.array([[1.0, 0.0]])) == 0


def test_many_tuples_are_drawn_and_the_mean_is_then_an_estimate():
    rows = 30
    columns = {}
    for number in range(40):
        attribute = Attribute(f"c{number}", Role.QUASI, Type.INTEGER, Interval(0, 3))
        column = read_column(Type.INTEGER, np.arange(rows) % 4)
        columns[attribute.name] = ComparableColumn.of_values(parts_of(attribute, column), column)
    wide = ComparableTable(columns, "rows")
    with Source.seeded(3) as source:
        found = compare_marginals(wide, wide, 2, source)
    assert found is not None
    assert (found.compared, found.possible, found.mean.kind) == (400, 780, "estimate")
