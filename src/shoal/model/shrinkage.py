"""Noisy counts weighed against what a simpler model expects of them, by how far true counts lie from it: empirical Bayes."""

from __future__ import annotations

import numpy as np

from shoal.model.measurement import Floats

SCALES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 12.8, 100.0)
POWER = 0.75
"""A true count lies within a scale times expected ** POWER of what is expected: between Poisson and proportional."""
LEAST_EXPECTED = 0.25
STEPS = 60
SAMPLE = 50_000
"""The most entries from which the shares of the scales are learned, evenly spaced."""
PART = 200_000
LEAST_SHARE = 0.03
"""The variance that is left is at least this share of the noise's: a prior that fits is no certainty."""
LEAST_OF_NOISE = 16.0
"""Deviations are weighed by what is expected of an entry, and by no less than so many standard deviations of its noise."""
MOST_WIDENED = 1.5
CHANCE_PART = 0.7
"""The part of what chance adds to an association that rows are given; they have some of it already, being whole numbers."""
MOST_FOR_CHANCE = 8.0
LEAST_COUNT = 1e-9


def shrink(values: Floats, variance: Floats | float, expected: Floats) -> tuple[Floats, Floats]:
    """Give the mean and the variance of each true count, given its noisy one and its expectation.

    A true count is normal around its expectation, with a standard deviation of scale * expected ** 0.75. The scale of
    each entry is one of a short list; how many entries have which is fitted to the whole table by maximum likelihood
    (the noise and its variance are known). So a table of attributes that are independent moves all the way to the
    expectation, and in others the entries that stand out stay where they are.
    """
    noise = np.broadcast_to(np.maximum(np.asarray(variance, dtype=np.float64), 1e-9), values.shape).ravel()
    center = expected.ravel()
    gap = values.ravel() - center
    spread = np.maximum(center, LEAST_EXPECTED) ** (2 * POWER)
    step = max(1, len(gap) // SAMPLE)
    shares = _learn_shares(gap[::step], noise[::step], spread[::step])
    mean, left = np.empty_like(gap), np.empty_like(gap)
    for start in range(0, len(gap), PART):
        part = slice(start, start + PART)
        weight, kept = _weigh(gap[part], noise[part], spread[part], shares)
        mean[part] = (weight * kept).sum(0) * gap[part]
        left[part] = (weight * (kept * noise[part] + (kept * gap[part]) ** 2)).sum(0) - mean[part] ** 2
    left = np.maximum(left, LEAST_SHARE * noise)
    return (center + mean).reshape(values.shape), left.reshape(values.shape)


def _weigh(gap: Floats, noise: Floats, spread: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """For each scale and entry: the probability of the scale, and how much of the gap it keeps."""
    prior = np.square(SCALES)[:, None] * spread
    whole = prior + noise
    logs = -0.5 * (np.log(whole) + gap * gap / whole) + np.log(np.maximum(shares, 1e-300))[:, None]
    weight = np.exp(logs - logs.max(0))
    return np.asarray(weight / weight.sum(0)), np.asarray(prior / whole)


def _learn_shares(gap: Floats, noise: Floats, spread: Floats) -> Floats:
    whole = np.square(SCALES)[:, None] * spread + noise
    logs = -0.5 * (np.log(whole) + gap * gap / whole)
    likelihood = np.exp(logs - logs.max(0))
    shares = np.full(len(SCALES), 1 / len(SCALES))
    for _ in range(STEPS):
        weight = likelihood * shares[:, None]
        shares = (weight / weight.sum(0)).mean(1)
    return np.asarray(shares)


def lost_spread(values: Floats, variance: Floats | float, expected: Floats, shrunken: Floats) -> float:
    """Give the factor, from 1 to 1.5, by which shrunken counts deviate too little from what is expected of them.

    Each shrunken count is as near to the true one as can be, and together they vary less than true ones do (Louis 1984): an
    association is understated. How far true counts deviate is estimated from the noisy ones, whose squared deviations are
    larger by the variance of the noise. The estimate has an error itself; of what is missing a part is taken that is
    smaller the less it stands out from this error (James and Stein 1961). `expected` should owe these counts little, such as
    their own margins: what it follows of their noise makes the factor too small.
    """
    noise = np.broadcast_to(np.asarray(variance, dtype=np.float64), values.shape)
    weight = 1.0 / np.maximum(np.maximum(expected, LEAST_OF_NOISE * np.sqrt(noise)), 1e-9)
    kept = (shrunken - expected) ** 2
    here = float((weight * kept).sum())
    missing = float((weight * ((values - expected) ** 2 - noise)).sum()) - here
    if missing <= 0 or here <= 0:
        return 1.0
    error = float((weight**2 * (2 * noise**2 + 4 * noise * kept)).sum())
    return min(MOST_WIDENED, float(np.sqrt(1.0 + max(0.0, missing - error / missing) / here)))


def unknown_spread(variance: Floats, expected: Floats) -> float:
    """Give how much larger the chi-square of the true counts of a pair is than that of counts that were shrunken, on average.

    It is what is unknown of each count (`variance`), in units of its expectation, and no more than chance adds to whole numbers
    of so many records (Poisson: one).
    """
    there = expected > LEAST_COUNT
    return float(np.minimum(variance[there] / expected[there], 1.0).sum())


def with_chance(table: Floats, unknown: float) -> Floats:
    """Give the counts of a pair with deviations from independence that are as large as those of true counts, before raking."""
    independent = np.multiply.outer(table.sum(1), table.sum(0)) / max(float(table.sum()), LEAST_COUNT)
    there = independent > LEAST_COUNT
    known = float(((table - independent)[there] ** 2 / independent[there]).sum())
    factor = min(MOST_FOR_CHANCE, float(np.sqrt(1.0 + CHANCE_PART * unknown / max(known, LEAST_COUNT))))
    found = np.maximum(independent + factor * (table - independent), LEAST_COUNT)
    return np.asarray(np.where(table > 0, found, 0.0))


def project(values: Floats, variance: Floats, total: float) -> Floats:
    """Give the nearest counts that are not negative and add up to a total, distances weighed by the precision.

    Entries whose variance is larger move further. The level at which they meet is found by sorting.
    """
    variance = np.maximum(variance, 1e-9)
    level = values / variance
    order = np.argsort(-level, kind="stable")
    sums, weights = np.cumsum(values[order]), np.cumsum(variance[order])
    shift = (sums - total) / weights
    alive = np.flatnonzero(level[order] > shift)
    chosen = shift[alive[-1]] if len(alive) else shift[-1]
    return np.asarray(np.maximum(values - chosen * variance, 0.0))
