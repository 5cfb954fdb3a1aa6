"""Quantiles of a release cover the true one, between edges too; an interval at a smaller level does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from shoal.assess.release.answer import Whole
from shoal.assess.release.answers.quantile import quantile
from shoal.assess.release.load import load
from shoal.errors import ParameterError, UsageError
from tests.assess.release.released import cuts, drawn, keep, write_release

EDGES = [10, 20, 30, 40, 50, 60, 70, 80]
AGES, SEX = cuts("age", EDGES, 0, 99), keep("sex", ["f", "m"])
LEVEL, TRIALS = 0.95, 120


def released(folder, ages, rng, k=20, beta="0.3"):
    counts = np.histogram(ages, [0, *EDGES, 100])[0]
    both = np.stack([rng.binomial(counts, 0.5), np.zeros(len(counts), dtype=int)], axis=1)
    both[:, 1] = counts - both[:, 0]
    return load(write_release(folder, {"age-sex": ([AGES, SEX], drawn(both, k, float(beta), rng))}, k=k, beta=beta))


@pytest.mark.slow
@pytest.mark.parametrize("q", ["0.1", "0.5", "0.9"])
def test_the_true_quantile_is_covered_and_a_smaller_level_is_not_enough(tmp_path, q):
    rng = np.random.default_rng(11)
    ages = np.minimum(rng.gamma(4, 11.3, 3_000).astype(int), 99)
    truth = np.sort(ages)[int(np.ceil(float(q) * len(ages))) - 1]
    misses, impostors = 0, np.zeros(2, dtype=int)
    for run in range(TRIALS):
        loaded = released(tmp_path / str(run), ages, rng)
        found, _ = quantile(loaded, "age", q, {}, LEVEL)
        misses += not found.low <= truth <= found.high
        near = min(EDGES, key=lambda edge: abs(edge - found.value))
        # Impostors: the nearest edge, as if it were known to the year; the estimate, as if it were.
        impostors += [not near - 1 <= truth <= near + 1, abs(found.value - truth) > 0.5]
    assert misses <= binom.ppf(1 - 1e-9, TRIALS, 1 - LEVEL)
    assert impostors.max() > binom.ppf(1 - 1e-9, TRIALS, 1 - LEVEL)


def test_a_large_release_says_the_cell_of_its_median(tmp_path):
    rng = np.random.default_rng(3)
    ages = rng.integers(0, 100, 200_000)
    found, shown = quantile(released(tmp_path / "r", ages, rng), "age", "0.5", {}, LEVEL)
    assert (found.low, found.high) in {(40.0, 49.0), (50.0, 59.0), (40.0, 59.0)}
    assert found.value == pytest.approx(50, abs=1)
    assert shown(found.value) == found.value


def test_a_domain_of_many_values_takes_few_estimates_of_shares(tmp_path, monkeypatch):
    """Between the ends of the interval the value is found by halving; one share for each of 365 edges took half a minute."""
    rng = np.random.default_rng(5)
    stays = np.minimum(rng.geometric(0.2, 3_000) - 1, 365)
    counts = np.stack([rng.binomial(np.bincount(stays, minlength=366), 0.5)] * 2, axis=1)
    counts[:, 1] = np.bincount(stays, minlength=366) - counts[:, 0]
    rule = cuts("stay", list(range(1, 366)), 0, 365)
    loaded = load(
        write_release(tmp_path / "r", {"stay-sex": ([rule, SEX], drawn(counts, 10, 0.3, rng))}, k=10, beta="0.3")
    )
    asked, share = [], Whole.share
    monkeypatch.setattr(Whole, "share", lambda self, where: asked.append(where) or share(self, where))
    found, _ = quantile(loaded, "stay", "0.9", {}, LEVEL)
    assert found.low <= np.quantile(stays, 0.9, method="inverted_cdf") <= found.high
    assert found.low <= found.value <= found.high
    assert len(asked) < 60


def test_what_has_no_quantile_is_refused(tmp_path):
    loaded = released(tmp_path / "r", np.arange(100), np.random.default_rng(1))
    with pytest.raises(ParameterError, match="q is not between 0 and 1; got 2"):
        quantile(loaded, "age", 2, {}, LEVEL)
    with pytest.raises(UsageError, match=r"no ordered domain.*got category"):
        quantile(loaded, "sex", "0.5", {}, LEVEL)
    with pytest.raises(ParameterError, match="level of an interval"):
        quantile(loaded, "age", "0.5", {}, 1.5)
