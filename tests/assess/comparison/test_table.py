"""Marginals of tables whose cells are distributions: against sums over rows, by hand and for random tables."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.comparison.parts import parts_of, read_column
from shoal.assess.comparison.table import ComparableColumn, ComparableTable, count_tuples
from shoal.assess.release.labels import Label
from shoal.data.domain import Interval
from shoal.data.schema import Attribute, Role
from shoal.data.type import Type
from shoal.errors import UsageError


def parts(name):
    return parts_of(Attribute(name, Role.QUASI, Type.INTEGER, Interval(0, 5)), read_column(Type.INTEGER, np.arange(6)))


def interval(low, high):
    return Label(f"[{low}, {high})", ((Fraction(low), Fraction(high)),))


LABELS = [interval(0, 6), interval(0, 2), interval(2, 6), interval(3, 4), Label("gone", missing=True)]


@given(st.lists(st.tuples(*[st.integers(0, len(LABELS) - 1)] * 3), min_size=1, max_size=30))
def test_marginals_of_labels_are_sums_of_products_over_rows(rows):
    codes = np.array(rows)
    table = ComparableTable(
        {name: ComparableColumn.of_labels(parts(name), codes[:, j], LABELS) for j, name in enumerate("abc")}, "rows"
    )
    shares = [table[name].shares[table[name].codes] for name in "abc"]
    expected = np.einsum("ni,nj,nk->ijk", *shares) / len(rows)
    assert table.marginal("a", "b", "c") == pytest.approx(expected)
    assert table.marginal("c", "a") == pytest.approx(expected.sum(1).T)
    assert table.marginal("b") == pytest.approx(expected.sum((0, 2)))


def test_values_are_counted_and_moments_are_those_of_the_numbers():
    column = ComparableColumn.of_values(parts("a"), read_column(Type.INTEGER, np.array([0, 0, 5, 3])))
    table = ComparableTable({"a": column}, "rows")
    assert table.marginal("a").tolist() == [0.5, 0, 0, 0.25, 0, 0.25, 0]
    assert table.moments("a") == (2.0, pytest.approx(4.5))


def test_an_empty_table_has_no_share_anywhere():
    column = ComparableColumn.of_labels(parts("a"), np.empty(0, dtype=np.int64), LABELS)
    table = ComparableTable({"a": column}, "rows")
    assert not table.marginal("a").any()
    assert np.isnan(table.moments("a")[0])


def test_a_model_answers_before_rows_do():
    class Model:
        def marginal(self, names):
            return np.arange(7.0) if names == ("a",) else None

        def moments(self, name):
            return 2.0, 5.0

    column = ComparableColumn.of_labels(parts("a"), np.array([0]), LABELS)
    table = ComparableTable({"a": column, "b": column}, "rows", model=Model())
    assert table.marginal("a") == pytest.approx(np.arange(7) / 21)
    assert table.marginal("b")[:6] == pytest.approx(np.full(6, 1 / 6))
    assert table.moments("a") == (2.0, 1.0)


def test_columns_of_different_lengths_are_refused():
    columns = {
        name: ComparableColumn.of_labels(parts(name), np.zeros(rows, dtype=np.int64), LABELS)
        for name, rows in (("a", 1), ("b", 2))
    }
    with pytest.raises(UsageError, match="lengths"):
        ComparableTable(columns, "rows")


@given(st.integers(1, 4), st.integers(1, 40), st.randoms(use_true_random=False))
def test_tuples_are_counted_whatever_their_number(width, rows, chance):
    columns = [np.array([chance.randrange(3) for _ in range(rows)]) for _ in range(width)]
    for sizes in ([3] * width, [1 << 40] * width):
        found, counts = count_tuples(columns, sizes)
        seen = dict(zip(zip(*(own.tolist() for own in found), strict=True), counts.tolist(), strict=True))
        assert seen == Counter(zip(*(own.tolist() for own in columns), strict=True))
