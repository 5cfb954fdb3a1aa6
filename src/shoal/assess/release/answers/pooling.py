"""Bounds that pool several views of one release: counts, shares and means from samples that were drawn independently.

Every view v is a sample of its own in which each record is kept with probability beta_v. Of n records that satisfy a
condition T_v ~ Bin(n, beta_v) are in it, and from what is published it is known that least_v ≤ T_v ≤ most_v.

Counts. With one beta the sum of T_v over V views is Bin(V n, beta), so the bounds of `estimate` hold with V n in the place of n.
With different ones it is a sum of V n independent trials of mean probability b, whose tails beyond V n b + 1 and below
V n b − 1 are no larger than those of Bin(V n, b) (Hoeffding 1956, theorem 4). So an n is excluded where the tail of the
binomial is at most the risk and the sum is that far out, which fails with probability at most the risk.

Shares. Of part + rest records, t_v are in the sample of v; given t_v, how many of them belong to the part is hypergeometric, and
so a sum of t_v independent trials of mean probability s = part / (part + rest) (its generating function has real roots only:
Vatutin and Mikhailov 1982). The sum over views is one of t = sum t_v trials of the same mean, and by Hoeffding's theorem again
its tails beyond t s ± 1 are no larger than those of Bin(t, s). So the bounds of Clopper and Pearson hold, where the sum is at
least 1 away from t s. They rise with the part's sampled number and fall with the rest's; what is suppressed is put in at its
worst, but never more than the samples can hold: of N records at most a quantile of the binomial.

Means. Values x lie in [0, 1]. Given how many records of a set are in a sample, they are a simple random sample without
replacement, which is negatively associated (Joag-Dev and Proschan 1983): the mean of a product of rising positive functions, one
of each record, is at most the product of their means. If m is the mean of the whole set, the mean of 1 + c (x/m − 1) is 1, so the
product over all sampled records of all views, and its average W over fixed c in (0, 1), has a mean of at most 1; by Markov's
inequality W ≥ 1/a has probability at most a. W falls in m, so the smallest m with W < 1/a is a lower bound that fails with
probability at most a. A record that is perhaps there, or not shown, is put in at its worst: as a factor of at most 1,
and where the number of those that are not shown has a bound, as the smallest of these factors. (Such products are the capital of
Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024.)

Which views are pooled, and in which order, never depends on their counts. Bounds of the first 1, 2, 4, … views of the order are
each made at an equal share of the risk, so all of them hold at the whole risk, and the best of them holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from scipy.special import betaincinv

from shoal.assess.release.estimate import Floats, binomial_cdf, binomial_tail, first_whole

MOST_POOLED = 64
"""So many views are pooled at most, the first of the order."""
BETS = tuple(0.9 * 2.0**-power for power in range(13))
"""The constants c over which W is averaged: about the best one is among them for any spread and number of records."""
_OUTWARDS = 1e-12
_STEPS = 60


@dataclass(frozen=True)
class SampledBounds:
    """Bounds on how many sampled records of one view satisfy a condition, and how many of the others do not."""

    beta: Fraction
    part_least: float
    part_most: float
    rest_least: float
    rest_most: float


def leading_sizes(many: int) -> list[int]:
    """How many views of the order are pooled: 1, 2, 4, … and all of them.

    >>> leading_sizes(7), leading_sizes(1)
    ([1, 2, 4, 7], [1])
    """
    many = min(many, MOST_POOLED)
    return [size for size in (1 << power for power in range(many.bit_length())) if size < many] + [many]


def pooled_lower(least: Sequence[float], betas: Sequence[Fraction], risk: float) -> float:
    """Give a lower bound on n from lower bounds on each T_v; it fails with probability at most `risk`.

    >>> pooled_lower([10], [Fraction(1, 10)], 0.025), pooled_lower([10] * 4, [Fraction(1, 10)] * 4, 0.025)
    (51.0, 68.0)
    """
    sizes = leading_sizes(len(least))
    return max(_lower(least[:size], betas[:size], risk / len(sizes)) for size in sizes)


def pooled_upper(most: Sequence[float], betas: Sequence[Fraction], risk: float) -> float:
    """Give an upper bound on n from upper bounds on each T_v; infinite where none is known.

    >>> pooled_upper([10], [Fraction(1, 10)], 0.025), pooled_upper([10] * 4, [Fraction(1, 10)] * 4, 0.025)
    (179.0, 142.0)
    """
    sizes = leading_sizes(len(most))
    return min(_upper(most[:size], betas[:size], risk / len(sizes)) for size in sizes)


def _lower(least: Sequence[float], betas: Sequence[Fraction], risk: float) -> float:
    many, total, rate = len(least), np.array([sum(least)], dtype=np.float64), _mean_rate(betas)
    start = np.maximum(max(least), np.ceil(total / many))
    found = float(first_whole(total, start, rate, lambda n: binomial_tail(total, many * n, rate) > risk)[0])
    if len(set(betas)) > 1:  # only an n with a sum of n V b + 1 or more is excluded
        found = min(found, max(float(start[0]), np.floor((float(total[0]) - 1) / (many * rate)) + 1))
    return found


def _upper(most: Sequence[float], betas: Sequence[Fraction], risk: float) -> float:
    many, total, rate = len(most), np.array([sum(most)], dtype=np.float64), _mean_rate(betas)
    if not np.isfinite(total[0]):
        return float("inf")
    start = np.floor(total / many) + 1
    found = float(first_whole(total, start, rate, lambda n: binomial_cdf(total, many * n, rate) <= risk)[0]) - 1
    if len(set(betas)) > 1:
        found = max(found, np.ceil((float(total[0]) + 1) / (many * rate)) - 1)
    return found


def _mean_rate(betas: Sequence[Fraction]) -> float:
    return float(sum(betas, Fraction(0)) / len(betas))


def sampled_at_most(records: float, betas: Sequence[Fraction], risk: float) -> list[float]:
    """Bound from above how many of so many records are in the samples of the first 1, 2, 4, … views together.

    All of the bounds hold together but for a probability of at most `risk`. They lie at or above the mean, where the tail of a
    sum of trials of different probabilities is no larger than that of the binomial.

    >>> sampled_at_most(1000, [Fraction(1, 10)] * 2, 0.01)
    [125.0, 235.0]
    """
    sizes = leading_sizes(len(betas))
    if not np.isfinite(records):
        return [float("inf")] * len(sizes)
    found = []
    for size in sizes:
        trials, rate = size * records, _mean_rate(betas[:size])
        low, high = float(np.floor(trials * rate)), trials  # the first bound for which more is unlikely enough
        while high - low > 1:
            middle = float(np.floor((low + high) / 2))
            beyond = float(binomial_tail(np.array(middle + 1), np.array(trials), rate))
            low, high = (low, middle) if beyond <= risk / len(sizes) else (middle, high)
        found.append(high)
    return found


def share_bounds(
    views: Sequence[SampledBounds], risk: float, at_most: Sequence[float] | None = None
) -> tuple[float, float]:
    """Give an interval for part / (part + rest), of which each end fails with probability at most risk / 2.

    `at_most` bounds how many records of part and rest are in the samples of the first 1, 2, 4, … views, where that is known.

    >>> low, high = share_bounds([SampledBounds(Fraction(1, 10), 20, 20, 80, 80)], 0.05)
    >>> round(low, 3), round(high, 3)
    (0.127, 0.292)
    """
    sizes = leading_sizes(len(views))
    sums = list(
        accumulate(
            (np.array([each.part_least, each.part_most, each.rest_least, each.rest_most]) for each in views),
            lambda one, other: one + other,
        )
    )
    a, low, high = risk / 2 / len(sizes), 0.0, 1.0
    for size, cap in zip(sizes, at_most or [float("inf")] * len(sizes), strict=True):
        part_least, part_most, rest_least, rest_most = map(float, sums[size - 1])
        low = max(low, _share_lower(part_least, min(rest_most, max(cap - part_least, rest_least)), a))
        high = min(high, 1 - _share_lower(rest_least, min(part_most, max(cap - rest_least, part_least)), a))
    return low, max(low, high)


def _share_lower(part: float, rest: float, risk: float) -> float:
    """The lower bound of Clopper and Pearson, where the part is at least 1 above what it says."""
    if part <= 1 or not np.isfinite(rest):
        return 0.0
    found = min(float(betaincinv(part, rest + 1, risk)), (part - 1) / (part + rest))
    return max(0.0, found * (1 - _OUTWARDS))


@dataclass(frozen=True)
class SampledValues:
    """What is known of the values of a set's sampled records in one view: one entry for each value, from 0 to 1."""

    values: Floats
    surely: Floats
    """How many sampled records surely have it and belong to the set."""
    perhaps: Floats
    """How many more that are shown may."""
    hidden: Floats
    """How many more may be among those that are not shown."""
    shown: float = 0.0
    """How many records of the sample are shown, of the set or not."""


def mean_lower(views: Sequence[SampledValues], risk: float, at_most: Sequence[float] | None = None) -> float:
    """Give a lower bound on the mean of values from 0 to 1; it fails with probability at most `risk`.

    `at_most` bounds how many records are in the samples of the first 1, 2, 4, … views, where that is known: no more are hidden
    than those that are not shown. Hidden records are put in at the least values first, which is the worst for every mean and c.

    >>> sample = SampledValues(np.array([0.0, 0.5, 1.0]), np.array([250.0, 500.0, 250.0]), np.zeros(3), np.zeros(3))
    >>> round(mean_lower([sample], 0.025), 3), round(mean_lower([sample] * 4, 0.025), 3)
    (0.46, 0.478)
    """
    sizes = leading_sizes(len(views))
    caps = [
        max(0.0, most - sum(each.shown for each in views[:size]))
        for size, most in zip(sizes, at_most or [np.inf] * len(sizes), strict=True)
    ]
    return max(_mean_lower(views[:size], risk / len(sizes), cap) for size, cap in zip(sizes, caps, strict=True))


def _mean_lower(views: Sequence[SampledValues], risk: float, most_hidden: float) -> float:
    values, surely, perhaps, hidden = (
        np.concatenate([getattr(each, name) for each in views]) for name in ("values", "surely", "perhaps", "hidden")
    )
    different, place = np.unique(values, return_inverse=True)
    place = np.ravel(place)
    surely, perhaps, hidden = (np.bincount(place, own, len(different)) for own in (surely, perhaps, hidden))
    if np.isfinite(most_hidden):
        hidden = np.minimum(hidden, np.maximum(most_hidden - np.append(0.0, np.cumsum(hidden)[:-1]), 0.0))
    perhaps = perhaps + hidden
    bets = np.array(BETS)[:, None]
    goal = np.log(len(BETS) / risk)

    def excluded(mean: float) -> bool:
        gains = np.log1p(bets * (different / mean - 1))
        lost = np.multiply(perhaps, gains, out=np.zeros_like(gains), where=(gains < 0) & (perhaps > 0))
        capital = (surely * gains + lost).sum(1)  # minus infinity where nobody knows how many lie below the mean
        return bool(np.logaddexp.reduce(capital) >= goal)

    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if excluded(middle) else (low, middle)
    return max(0.0, low * (1 - _OUTWARDS))
