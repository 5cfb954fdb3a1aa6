"""Every interval of an estimate covers what it names as often as it says: exactly, over all samples of small tables.

What is published is decided by how many of each cell were sampled; so all samples can be listed with their probabilities, and
the estimates are made of each by the code that an analyst calls. Impostors are 30 % narrower.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from shoal.assess.release.estimate import Estimate
from shoal.assess.release.load import load
from tests.assess.release.released import cuts, keep, reseal, write_release

K, BETA, LEVEL = 3, "0.4", 0.95


def opened(folder, rules):
    """A release of one view whose counts the test sets."""
    shape = tuple(len(rule["labels"]) for rule in rules)
    return load(write_release(folder, {"only": (rules, np.full(shape, K))}, k=K, beta=BETA))


def samples(truth, beta=float(BETA)):
    """Every vector of sampled counts, with its probability."""
    axes = [np.arange(n + 1) for n in truth]
    for drawn in product(*axes):
        yield np.array(drawn), float(np.prod([binom.pmf(t, n, beta) for t, n in zip(drawn, truth, strict=True)]))


def published(loaded, counts):
    """The release as if these had been sampled."""
    (view,) = loaded.views
    shown = np.flatnonzero(counts >= K)
    codes = np.stack(np.unravel_index(shown, [len(view.meanings[name].labels) for name in view.columns]), axis=1)
    view.__dict__["tuples"] = (codes.astype(np.int64), counts[shown].astype(np.int64))
    return loaded


def coverage(loaded, truth, asked, value, shrink=1.0):
    """The probability that the interval covers the value."""
    total = 0.0
    for counts, chance in samples(truth):
        found = asked(published(loaded, counts))
        low, high = found.value - shrink * (found.value - found.low), found.value + shrink * (found.high - found.value)
        total += chance * (low <= value <= high if shrink < 1 else found.low <= value <= found.high)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("truth", [(9, 14), (0, 6), (1, 1), (25, 3)])
def test_counts_shares_totals_and_cells(tmp_path, truth):
    loaded = opened(tmp_path / "one", [keep("a", ["x", "y"])])
    every = sum(truth)
    asked = {
        "count": (lambda one: one.count({"a": "x"}, level=LEVEL), truth[0]),
        "total": (lambda one: one.total(level=LEVEL), every),
        "share": (lambda one: one.share({"a": "x"}, level=LEVEL), truth[0] / every),
        "cell": (lambda one: list(one.marginal("a", level=LEVEL))[1], truth[1]),
    }
    for name, (ask, value) in asked.items():
        assert coverage(loaded, truth, ask, value) >= LEVEL - 1e-9, name


@pytest.mark.slow
def test_narrower_ones_are_caught(tmp_path):
    loaded = opened(tmp_path / "one", [keep("a", ["x", "y"])])
    asked = {
        "count": lambda one: one.count({"a": "x"}, level=LEVEL),
        "total": lambda one: one.total(level=LEVEL),
        "cell": lambda one: next(iter(one.marginal("a", level=LEVEL))),
    }
    truths = [(9, 14), (20, 2), (25, 3), (7, 0)]
    for name, ask in asked.items():
        found = [coverage(loaded, truth, ask, sum(truth) if name == "total" else truth[0], 0.7) for truth in truths]
        assert min(found) < LEVEL, name


@pytest.mark.slow
def test_a_condition_that_cuts_across_a_label(tmp_path):
    """Ages 0..9 as [0, 5) and [5, 10); asked for those below 3, who are 4 of the 8 in the first label."""
    loaded = opened(tmp_path / "cut", [cuts("age", [5], 0, 9), keep("a", ["x", "y"])])
    truth = (5, 3, 4, 4)
    assert coverage(loaded, truth, lambda one: one.count({"age": (0, 3)}, level=LEVEL), 4) >= LEVEL - 1e-9
    assert coverage(loaded, truth, lambda one: one.count({"a": "y"}, level=LEVEL), 7) >= LEVEL - 1e-9


def test_what_is_counted_is_named(tmp_path):
    loaded = opened(tmp_path / "one", [keep("a", ["x", "y"])])
    assert loaded.records == "rows of the table"
    unit = {"whose": "person", "neighbours": "add_remove", "column": "who", "max_rows": 2}
    loaded = opened(tmp_path / "two", [keep("a", ["x", "y"])])
    loaded.certificate["guarantee"] = {"unit": unit}
    found = loaded.count({"a": "x"})
    assert found.scope[0] == "rows, at most 2 of each 'who' and no further ones, of the table"
    assert found.scope[0] in found.words()
    assert found.to_json()["scope"] == [found.scope[0]]
    assert loaded.marginal("a").to_arrow().schema.metadata[b"records"].decode() == found.scope[0]


def test_a_sample_that_was_drawn_before_speaks_of_its_population(tmp_path):
    loaded = opened(tmp_path / "one", [keep("a", ["x", "y"])])
    lock = loaded.folder / "policy.lock.yaml"
    lock.write_text(lock.read_text() + "release:\n  sampling:\n    already: 0.4\n")
    assert load(reseal(loaded.folder)).records == "rows of the population that the table was sampled from"


def test_large_numbers_have_separators_wherever_they_are_shown():
    found = Estimate(1234567.4, 1200000.5, 1300000.2, LEVEL, "v", "m")
    assert repr(found) == "<Estimate 1,234,567, 0.95 interval 1,200,000 to 1,300,001, from 'v'>"
    assert found.words().startswith("1,234,567 (0.95 interval 1,200,000 to 1,300,001;")
    assert "0.5 to 12,346," in repr(Estimate(1.5, 0.5, 12345.6, LEVEL, "v", "m"))
    assert "to no bound," in repr(Estimate(1.5, 0.5, float("inf"), LEVEL, "v", "m"))


def test_ends_are_told_outwards():
    said = Estimate(0.123449, 0.100009, 0.150001, LEVEL, "v", "m").words()
    assert "0.1 to 0.1501" in said
    assert "0.95 interval 11 to 14" in Estimate(12.4, 11.7, 13.2, LEVEL, "v", "m").words()
