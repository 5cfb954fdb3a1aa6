"""MDAV, V-MDAV and μ-Approx: sizes, determinism, offsets and scales, golden losses, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.anonymize.cluster.approx import approx
from shoal.anonymize.cluster.clustering import METHODS, microaggregate
from shoal.anonymize.cluster.mdav import mdav, vmdav
from shoal.errors import DataError, InfeasibleError, ParameterError, UsageError
from tests.anonymize.cluster.clouds import loss, paper_table, tables_and_k

GOLDEN = {  # IL on z-scores, theory.md §3
    "census": {3: 5.6922, 5: 9.0884, 10: 14.1559},
    "tarragona": {3: 16.9326, 5: 22.4619, 10: 33.1929},
    "eia": {3: 0.4829, 5: 1.6667, 10: 3.8397},
}


def sizes(labels):
    """Group sizes; groups are numbered without gaps."""
    counts = np.bincount(labels)
    assert counts.all()
    return counts


@pytest.mark.slow
@given(tables_and_k())
def test_mdav_groups_have_k_records_and_the_last_up_to_2k(given_):
    table, k = given_
    labels = mdav(table, k)
    counts = sizes(labels)
    assert labels.dtype == np.int32
    assert labels.shape == (len(table),)
    assert (counts[:-1] == k).all()
    assert k <= counts[-1] < 2 * k
    before = table.copy()
    assert mdav(table, k).tolist() == labels.tolist()
    assert (table == before).all()


@pytest.mark.slow
@given(tables_and_k(), st.sampled_from([0, 0.2, 1.1, 50]))
def test_vmdav_groups_have_at_least_k_records(given_, gain):
    table, k = given_
    counts = sizes(vmdav(table, k, gain=gain))
    assert counts.min() >= k
    assert counts.max() <= 2 * k - 1 + k - 1


@pytest.mark.slow
@given(tables_and_k(80))
def test_approx_groups_are_neither_too_small_nor_too_large(given_):
    table, k = given_
    counts = sizes(approx(table, k))
    assert k <= counts.min() <= counts.max() <= max(2 * k - 1, 3 * k - 5)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_approx_cuts_a_star_whose_centre_everybody_is_near(k):
    star = np.vstack([np.zeros((1, 40)), np.eye(40)])
    chain = np.cumsum(np.arange(41.0))[:, None]
    for table in (star, chain):
        counts = sizes(approx(table, k))
        assert k <= counts.min() <= counts.max() <= max(2 * k - 1, 3 * k - 5)


def test_vmdav_lets_a_natural_group_be_larger():
    clumps = np.concatenate([np.linspace(0, 0.1, 4), np.linspace(50, 50.1, 5), np.linspace(101, 101.1, 3)])[:, None]
    assert sorted(sizes(vmdav(clumps, 3, gain=1.1)).tolist()) == [3, 4, 5]
    assert loss(clumps, vmdav(clumps, 3, gain=1.1)) < loss(clumps, mdav(clumps, 3)) / 100


@pytest.mark.slow
@given(tables_and_k(), st.sampled_from(["mdav", "vmdav", "approx"]))
def test_offsets_and_factors_change_nothing(given_, method):
    table, k = given_
    table = np.round(table * 8) / 8  # so that the offset itself costs no digits
    expected = microaggregate(table, k, method).tolist()
    assert microaggregate(table + 1e8, k, method).tolist() == expected
    assert microaggregate(table * 2.0 ** np.arange(-20, 20, 9)[: table.shape[1]], k, method).tolist() == expected


def test_any_factor_changes_nothing_where_nothing_ties():
    table = np.random.default_rng(8).normal(size=(400, 4))
    expected = microaggregate(table, 5).tolist()
    assert microaggregate(table * [3, 0.007, 1e200, 1e-200], 5).tolist() == expected
    assert (
        microaggregate(table, 5, scale="none").tolist()
        != microaggregate(table * [3, 1, 1, 1], 5, scale="none").tolist()
    )


@pytest.mark.slow
@given(tables_and_k(widest=3))
def test_constant_and_repeated_columns(given_):
    table, k = given_
    expected = microaggregate(table, k).tolist()
    constant = np.full((len(table), 1), 1e8 / 3)
    assert microaggregate(np.hstack([table, constant]), k).tolist() == expected
    assert microaggregate(np.hstack([constant, constant]), k).tolist() == mdav(np.zeros((len(table), 1)), k).tolist()
    assert sizes(microaggregate(np.hstack([table, table, -3 * table + 7]), k)).min() >= k


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_losses(shared_data, name):
    table = paper_table(shared_data, name)
    for k, golden in GOLDEN[name].items():
        assert round(loss(table, microaggregate(table, k)), 4) == golden


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_relatives_lose_about_as_much(shared_data, name):
    table = paper_table(shared_data, name)
    assert loss(table, microaggregate(table, 5, "vmdav")) < 1.1 * GOLDEN[name][5]
    assert loss(table, microaggregate(table, 5, "approx")) < 2 * GOLDEN[name][5]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames(kind):
    table = np.random.default_rng(2).normal(size=(60, 2))
    columns = {"a": table[:, 0], "b": table[:, 1]}
    frames = {
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(columns),
        "polars": lambda: pytest.importorskip("polars").DataFrame(columns),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table(columns),
    }
    frame = frames[kind]()
    assert microaggregate(frame, 4).tolist() == microaggregate(table, 4).tolist()
    bounds = {"a": (-9, 9), "b": (-9, 9)}
    by_name = microaggregate(frame, 4, "insensitive", domain=bounds).tolist()
    assert by_name == microaggregate(table, 4, "insensitive", domain=[(-9, 9)] * 2).tolist()
    with pytest.raises(UsageError, match="domains for other columns"):
        microaggregate(frame, 4, "insensitive", domain={"a": (-9, 9)})


def test_k_may_be_everybody():
    table = np.arange(7.0)
    for method in METHODS:
        labels = microaggregate(table, 7, method, domain=[(0, 10)] if method == "insensitive" else None)
        assert set(labels.ravel().tolist()) == {0}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("values", "k", "error", "words"),
    [
        ([1.0, 2.0], 3, InfeasibleError, "too few records for one cluster; got 2 records and k = 3"),
        ([], 2, InfeasibleError, "too few records for one cluster; got 0 records"),
        ([1.0, 2.0], 1, ParameterError, "least size of a cluster is wrong; got 1"),
        ([1.0, 2.0], 0, ParameterError, "least size"),
        ([1.0, 2.0], True, ParameterError, "least size"),
        ([1.0, 2.0], 2.0, ParameterError, "least size"),
        ([1.0, np.nan, 3.0], 2, DataError, "missing or infinite; got 1 of 3; allowed: finite numbers"),
        ([1.0, np.inf, 3.0], 2, DataError, "missing or infinite"),
        (["a", "b", "c"], 2, DataError, "not numbers"),
        (np.zeros((3, 0)), 2, DataError, "no table"),
        (np.zeros((3, 2, 2)), 2, DataError, "no table"),
    ],
)
def test_bad_input(method, values, k, error, words):
    with pytest.raises(error, match=words):
        microaggregate(values, k, method, domain=[(0, 10)] if method == "insensitive" else None)


def test_bad_choices():
    with pytest.raises(ParameterError, match="no such method of microaggregation; got 'median'; allowed: mdav"):
        microaggregate([1.0, 2.0], 2, "median")
    with pytest.raises(ParameterError, match="no such scale"):
        microaggregate([1.0, 2.0], 2, scale="rank")
    for method in ("mdav", "vmdav", "approx"):
        with pytest.raises(DataError, match="too large for distances"):
            microaggregate([0.0, 1e200, 3.0, 4.0], 2, method, scale="none")
        assert len(set(microaggregate([0.0, 1e200, 3.0, 1e200], 2, method).tolist())) == 2
    for gain in (-1, np.nan, np.inf):
        with pytest.raises(ParameterError, match="gain factor"):
            microaggregate([1.0, 2.0], 2, "vmdav", gain=gain)


@settings(max_examples=20)
@given(tables_and_k())
def test_progress_goes_from_nothing_to_all(given_):
    table, k = given_
    for method in ("mdav", "vmdav", "approx"):
        heard = []
        microaggregate(table, k, method, progress=lambda done, of, heard=heard: heard.append((done, of)))
        assert heard == sorted(heard)
        assert heard[-1] == (len(table), len(table))
