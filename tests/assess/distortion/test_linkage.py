"""Record linkage: against a plain double loop, SC13 Table 6.1, its bound for crowds, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize import aggregate
from shoal.anonymize.cluster.mdav import mdav
from shoal.assess.distortion import linkage as module
from shoal.assess.distortion.linkage import linkage
from shoal.data.taxonomy import Taxonomy
from shoal.errors import ParameterError, UsageError
from tests.anonymize.cluster.clouds import paper_table

TREE = Taxonomy.of({"all": {"fruit": ["apple", "pear"], "tool": ["saw", "axe"]}})


def by_hand(original, masked, distance):
    """The definition, word for word: for each masked record the nearest originals, and whether its own is among them."""
    total = 0.0
    for j, record in enumerate(masked):
        distances = [distance(record, other) for other in original]
        nearest = [i for i, d in enumerate(distances) if d <= min(distances) * (1 + 1e-11)]
        total += (j in nearest) / len(nearest)
    return 100 * total / len(original)


def squared(first, second):
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))


@st.composite
def tables(draw):
    rows, width = draw(st.integers(1, 25)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = random.integers(0, draw(st.sampled_from([2, 4, 50])), (rows, width)).astype(float)
    return table, table + random.integers(-1, 2, table.shape) / 2


@pytest.mark.slow
@given(tables())
def test_a_double_loop(pair):
    original, masked = pair
    assert linkage(original, masked, scale="none").rate == pytest.approx(
        _expected(original, masked, np.ones(original.shape[1]))
    )
    deviations = original.std(axis=0)
    units = np.where(deviations > 0, deviations, 1.0)
    assert linkage(original, masked).rate == pytest.approx(_expected(original, masked, units))
    given_units = [2.0] * original.shape[1]
    assert linkage(original, masked, units=given_units).rate == pytest.approx(_expected(original, masked, given_units))


def _expected(original, masked, units):
    told = original.std(axis=0) > 0  # a column that does not vary tells nobody apart
    return by_hand((original / units)[:, told].tolist(), (masked / units)[:, told].tolist(), squared)


def test_names_and_taxonomies_and_missing_cells():
    before = {"thing": ["apple", "pear", "saw", "axe", None], "size": [1.0, 2.0, np.nan, 2.0, 5.0]}
    after = {"thing": ["fruit", "fruit", "saw", None, None], "size": [1.0, 1.0, np.nan, 2.0, np.nan]}
    variance = np.nanvar(before["size"])

    def number(a, b):
        return 0.0 if np.isnan(a) and np.isnan(b) else variance if np.isnan(a) or np.isnan(b) else (a - b) ** 2

    def name(a, b):
        return float(a is not b) if a is None or b is None else TREE.distance(a, b) ** 2

    def distance(first, second):
        return name(first[0], second[0]) + number(first[1], second[1])

    rows = [list(zip(table["thing"], table["size"], strict=True)) for table in (before, after)]
    found = linkage(before, after, scale="none", taxonomies={"thing": TREE})
    assert found.rate == pytest.approx(by_hand(*rows, distance))
    flat = linkage({"thing": ["a", "b", "b"]}, {"thing": ["b", "b", "b"]})
    assert flat.expected == pytest.approx(0 + 1 / 2 + 1 / 2)


def test_untouched_records_are_found_and_equal_ones_shared():
    found = linkage([[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 4], [5, 6]])
    assert (found.rate, found.certain, found.possible) == (100.0, 3, 3)
    twins = linkage([1, 1, 5], [1, 1, 5])
    assert (twins.expected, twins.certain, twins.possible) == (2.0, 1, 3)
    alone = linkage([[7], [7]], [[7], [9]])  # nothing varies: everyone is as near
    assert alone.rate == alone.guessing == 50.0


def test_a_centroid_is_equally_far_from_both_its_records():
    original = np.array([[0.1], [0.3], [10.0], [10.7]])
    middle = np.array([[0.2], [0.2], [10.35], [10.35]])
    assert linkage(original + 1e6, middle + 1e6).expected == pytest.approx(2.0)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_crowds_of_k_bound_it(seed, k):
    table = np.random.default_rng(seed).normal(size=(40, 2))
    labels = mdav(table, k)
    masked = np.column_stack([aggregate.mean(np.ascontiguousarray(column), labels) for column in table.T])
    assert linkage(table, masked).rate <= 100 / k + 1e-9


def test_blocks_change_nothing(monkeypatch):
    random = np.random.default_rng(5)
    table = random.integers(0, 9, (300, 3)).astype(float)
    masked = table + random.normal(size=table.shape)
    whole = linkage(table, masked)
    monkeypatch.setattr(module, "BLOCK", 1000)
    assert linkage(table, masked) == whole


# SC13 Table 6.1: FICA, FEDTAX, INTVAL and POTHVAL of Census in units of their domains, MDAV: RL_0 in percent.
def test_table_6_1(shared_data):
    table = paper_table(shared_data, "census")[:, [10, 3, 8, 7]]
    units = 1.5 * table.max(axis=0)
    for k, printed in {2: "45.3", 5: "18.4", 15: "6.48", 30: "3.33"}.items():
        labels = mdav(table / units, k)
        masked = np.column_stack([aggregate.mean(np.ascontiguousarray(column), labels) for column in table.T])
        rate = linkage(table, masked, units=units.tolist()).rate
        assert f"{rate:.{len(printed.partition('.')[2])}f}" == printed


def test_json_is_plain_and_says_exact():
    found = linkage([1, 2, 4], [1, 2, 2])
    fields = found.to_json()
    assert json.loads(json.dumps(fields)) == fields
    assert fields["exact"] is True
    assert fields["rate"] == found.rate
    assert "for sure" in found.words()


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"scale": "size"}, ParameterError, "no such scale"),
        ({"units": [1.0, 2.0]}, UsageError, "units do not fit"),
        ({"units": [0.0]}, UsageError, "units do not fit"),
    ],
)
def test_bad_options(options, error, match):
    with pytest.raises(error, match=match):
        linkage([1, 2], [1, 2], **options)


def test_other_numbers_of_rows():
    with pytest.raises(UsageError, match="different numbers of rows; got 2, 3"):
        linkage([1, 2], [1, 2, 3])
