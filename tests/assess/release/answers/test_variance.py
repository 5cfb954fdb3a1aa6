"""Variances of a release cover the true one whatever the numbers inside the labels are; midpoints alone do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from shoal.assess.release.answers.variance import variance
from shoal.assess.release.load import load
from tests.assess.release.released import add_counts, cuts, discrete_gaussian, drawn, keep, write_release

EDGES = list(range(10, 100, 10))
AGES, SEX = cuts("age", EDGES, 0, 99), keep("sex", ["f", "m"])
LEVEL, TRIALS = 0.95, 60


def numbers(rng):
    """Numbers at the outer ends of their labels: the worst for whoever takes midpoints."""
    low = 10 * rng.integers(0, 10, 6_000)
    return np.where(low < 50, low, low + 9)


def tabulated(ages, rng):
    counts = np.histogram(ages, [0, *EDGES, 100])[0]
    women = rng.binomial(counts, 0.5)
    return np.stack([women, counts - women], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "counts"])
def test_the_true_variance_is_covered_and_midpoints_are_not_enough(tmp_path, kind):
    rng = np.random.default_rng(5)
    ages = numbers(rng)
    misses = impostor = 0
    for run in range(TRIALS):
        table = tabulated(ages, rng)
        if kind == "rows":
            folder = write_release(
                tmp_path / str(run), {"age-sex": ([AGES, SEX], drawn(table, 20, 0.3, rng))}, beta="0.3"
            )
        else:
            noisy = table + discrete_gaussian(6.0, table.shape, rng)
            folder = add_counts(tmp_path / str(run), {"age-sex": ([AGES, SEX], noisy)}, "6")
        found = variance(load(folder), "age", {}, LEVEL)
        misses += not found.low <= ages.var() <= found.high
        width = found.high - found.low
        impostor += not abs(found.value - ages.var()) <= width / 50
    assert misses <= binom.ppf(1 - 1e-9, TRIALS, 1 - LEVEL)
    assert impostor > binom.ppf(1 - 1e-9, TRIALS, 1 - LEVEL)


def test_bounds_clamp_numbers_and_shorten_the_interval(tmp_path):
    rng = np.random.default_rng(5)
    folder = add_counts(tmp_path / "r", {"age-sex": ([AGES, SEX], tabulated(numbers(rng), rng))}, "2")
    wide, narrow = (variance(load(folder), "age", {}, LEVEL, bounds) for bounds in (None, (40.0, 60.0)))
    assert narrow.high <= 100
    assert narrow.high - narrow.low < wide.high - wide.low
