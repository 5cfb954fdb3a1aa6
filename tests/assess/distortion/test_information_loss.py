"""SSE, information loss and moments: by hand, against the papers' goldens, and for what is missing, constant or wrong."""

from __future__ import annotations

import json
from math import inf

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize import aggregate
from shoal.anonymize.cluster.clustering import microaggregate
from shoal.assess.distortion.information_loss import distortion
from shoal.data.taxonomy import Taxonomy
from shoal.errors import DataError, UsageError
from tests.anonymize.cluster.clouds import paper_table

TREE = Taxonomy.of({"all": {"fruit": ["apple", "pear"], "tool": ["saw"]}})


def masked_by_mdav(table, k):
    labels = microaggregate(table, k)
    return np.column_stack([aggregate.mean(np.ascontiguousarray(column), labels) for column in table.T])


# theory.md §3: IL of MDAV on z-scores, four decimals, from two independent implementations.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("census", {3: 5.6922, 5: 9.0884, 10: 14.1559}),
        ("tarragona", {3: 16.9326, 5: 22.4619, 10: 33.1929}),
        ("eia", {3: 0.4829, 5: 1.6667, 10: 3.8397}),
    ],
)
def test_golden_losses(shared_data, name, losses):
    table = paper_table(shared_data, name)
    for k, printed in losses.items():
        assert round(distortion(table, masked_by_mdav(table, k)).loss, 4) == printed


def test_numbers_by_hand():
    found = distortion({"a": [0.0, 2.0, 4.0], "b": [1, 1, 4]}, {"a": [1.0, 1.0, 4.0], "b": [1, 1, 1]})
    a, b = found.changes
    assert (a.sse, a.sst, a.loss, a.changed) == (2.0, pytest.approx(8.0), pytest.approx(25.0), 2)
    assert (b.sse, b.sst, b.loss, b.changed) == (9.0, pytest.approx(6.0), pytest.approx(150.0), 1)
    assert found.loss == pytest.approx(87.5)
    assert found.sse == 11.0
    assert a.moments.mean_shift == pytest.approx(0.0)
    assert a.moments.variance_ratio == pytest.approx(2 / (8 / 3))
    assert b.moments.mean_shift == pytest.approx(-1 / np.sqrt(2))
    assert b.moments.variance_ratio == 0.0


def test_names_by_hand():
    words = ["apple", "pear", "saw", "saw"]
    flat = distortion({"thing": words}, {"thing": ["apple", "apple", "saw", "saw"]}).changes[0]
    assert (flat.kind, flat.sse, flat.sst, flat.loss, flat.moments) == ("names", 1.0, 2.0, 50.0, None)
    deep = distortion({"thing": words}, {"thing": ["fruit", "fruit", "saw", "saw"]}, {"thing": TREE}).changes[0]
    near = np.log2(1 + 1 / 3) ** 2  # one of the three ancestors of an apple is not common to fruit (Eq 6.6)
    far = np.log2(1 + 4 / 5) ** 2
    assert deep.sse == pytest.approx(2 * near)
    assert deep.sst == pytest.approx(2 * far)  # a saw for all


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 4), st.sampled_from([0.0, 1e8, -3e7]))
def test_loss_is_that_of_z_scores(seed, rows, width, offset):
    random = np.random.default_rng(seed)
    table = random.normal(size=(rows, width))
    masked = table + random.normal(size=table.shape)
    scores, changed = (x - table.mean(axis=0) for x in (table, masked))
    expected = 100 * (((scores - changed) / table.std(axis=0)) ** 2).sum() / table.size
    assert distortion(table + offset, masked + offset).loss == pytest.approx(expected, rel=1e-5)


def test_publishing_the_mean_or_nothing_loses_everything():
    table = np.array([[1.0, 5.0], [2.0, 9.0], [6.0, 9.5]])
    assert distortion(table, np.broadcast_to(table.mean(axis=0), table.shape)).loss == pytest.approx(100)
    assert distortion(table, np.full_like(table, np.nan)).loss == pytest.approx(100)
    assert distortion(table, table).loss == 0


def test_missing_cells_are_alike_and_cost_a_deviation_beside_a_number():
    found = distortion([1.0, 3.0, np.nan, np.nan], [1.0, np.nan, np.nan, 7.0]).changes[0]
    assert (found.sse, found.sst, found.loss, found.changed) == (2.0, 4.0, 50.0, 2)
    masked = np.ma.masked_array([1, 3, 0], mask=[False, False, True])
    assert distortion(masked, masked).loss == 0
    names = distortion({"n": ["a", "a", None]}, {"n": ["a", None, None]}).changes[0]
    assert (names.sse, names.sst) == (1.0, 1.0)


def test_what_does_not_vary():
    same = distortion({"c": [7, 7], "d": [1, 2]}, {"c": [7, 7], "d": [1, 1]})
    assert same.changes[0].loss is None
    assert same.changes[0].moments.variance_ratio is None
    assert same.loss == same.changes[1].loss
    changed = distortion({"c": [7, 7]}, {"c": [7, 8]})
    assert changed.loss == inf
    assert changed.to_json()["loss"] is None
    assert "without bound" in changed.words()
    assert distortion([7, 7], [7, 7]).loss is None
    assert "no attribute varies" in distortion([7, 7], [7, 7]).words()


def test_frames_objects_and_dates():
    before = {"n": [1, 2, 5], "s": ["x", "y", "y"], "d": np.array(["2024-01-01", "2024-01-03", "2024-01-05"], "M8[D]")}
    after = {"n": [1, 1, 5], "s": ["x", "x", "y"], "d": np.array(["2024-01-01", "2024-01-01", "2024-01-05"], "M8[D]")}
    expected = distortion(before, after)
    assert [change.sse for change in expected.changes] == [1.0, 1.0, 4.0]
    assert distortion(pd.DataFrame(before), pd.DataFrame(after)) == expected
    assert distortion(pl.DataFrame(before).lazy(), pl.DataFrame(after)) == expected
    assert (
        distortion(np.array([1, None, 5], dtype=object), np.array([1, None, 5], dtype=object)).changes[0].kind
        == "numbers"
    )


def test_json_is_plain_and_says_exact():
    found = distortion({"a": [0, 2], "b": ["x", "y"]}, {"a": [1, 1], "b": ["x", "x"]}).to_json()
    assert json.loads(json.dumps(found)) == found
    assert found["exact"] is True
    assert [part["name"] for part in found["attributes"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("before", "after", "error", "match"),
    [
        ([1, 2], [1, 2, 3], UsageError, "different numbers of rows"),
        ({"a": [1]}, {"b": [1]}, UsageError, "different columns"),
        ({"a": [1], "b": [2, 3]}, {"a": [1], "b": [2, 3]}, UsageError, "different numbers of rows"),
        ([], [], DataError, "nothing to compare"),
        ({}, {}, DataError, "nothing to compare"),
        ([1.0, inf], [1.0, 2.0], DataError, "too large"),
        (np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), UsageError, "one or two dimensions"),
        ({"a": [[1]]}, {"a": [[1]]}, UsageError, "another shape"),
    ],
)
def test_bad_input(before, after, error, match):
    with pytest.raises(error, match=match):
        distortion(before, after)


def test_a_taxonomy_must_know_the_column_and_its_values():
    with pytest.raises(UsageError, match="taxonomies for columns that the tables do not have"):
        distortion([1], [1], {"thing": TREE})
    with pytest.raises(UsageError, match="not in the taxonomy") as told:
        distortion({"thing": ["apple"]}, {"thing": ["hat"]}, {"thing": TREE})
    assert "hat" not in str(told.value)
