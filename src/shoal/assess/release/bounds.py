"""How many records a sampled count stands for: exact bounds by inverting the binomial law in n.

A record is kept with probability beta, so a set of n records has T ~ Bin(n, beta) of them in the sample. For a tail
probability a

    lower(t) = the smallest n ≥ t with Pr[Bin(n, beta) ≥ t] > a        upper(t) = the largest n with Pr[Bin(n, beta) ≤ t] > a

and each fails with probability at most a, whatever n is (Clopper and Pearson, with n unknown in place of beta).
Suppression only hides where T lies: if t1 ≤ T ≤ t2 is known, lower(t1) and upper(t2) still fail with probability at
most a each. `lower_published` is for one cell that is seen only because its count reached k: it inverts the law
conditioned on that, so it holds among the published cells too, where a plain bound would not (small cells are
published just when the sample happened to hold many of theirs).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def at_least(t: Floats, n: Floats, beta: float) -> Floats:
    """Pr[Bin(n, beta) ≥ t]."""
    inside = (t > 0) & (n >= t)
    found = betainc(np.where(inside, t, 1), np.where(inside, n - t + 1, 1), beta)
    return np.asarray(np.where(t <= 0, 1.0, np.where(inside, found, 0.0)))


def at_most(t: Floats, n: Floats, beta: float) -> Floats:
    """Pr[Bin(n, beta) ≤ t]."""
    inside = n > t
    found = betainc(np.where(inside, n - t, 1), np.where(inside, t + 1, 1), 1 - beta)
    return np.asarray(np.where(inside, found, 1.0))


def lower(counts: npt.ArrayLike, beta: Fraction, a: float) -> Floats:
    """The smallest n that t or more sampled records leave plausible."""
    rate = float(beta)
    return _distinct(counts, lambda t: _first(t, t, rate, lambda n: at_least(t, n, rate) > a))


def lower_published(counts: npt.ArrayLike, k: int, beta: Fraction, a: float) -> Floats:
    """As `lower`, given that the count reached k."""
    rate = float(beta)

    def plausible(t: Floats, n: Floats) -> Mask:
        seen = at_least(np.full_like(t, k), n, rate)
        return np.asarray((seen > 0) & (at_least(t, n, rate) > a * seen))

    return _distinct(counts, lambda t: np.where(t == k, t, _first(t, t, rate, lambda n: plausible(t, n))))


def upper(counts: npt.ArrayLike, beta: Fraction, a: float) -> Floats:
    """The largest n that t or fewer sampled records leave plausible; infinite where t is."""
    rate = float(beta)
    return _distinct(counts, lambda t: _first(t, t + 1, rate, lambda n: at_most(t, n, rate) <= a) - 1)


def _distinct(counts: npt.ArrayLike, solve: Callable[[Floats], Floats]) -> Floats:
    """Solve once for each different count."""
    asked = np.asarray(counts, dtype=np.float64)
    different, place = np.unique(asked.ravel(), return_inverse=True)
    finite = np.isfinite(different)
    found = np.full(len(different), np.inf)
    if finite.any():
        found[finite] = solve(different[finite])
    return np.asarray(found[np.ravel(place)].reshape(asked.shape))


def _first(t: Floats, start: Floats, rate: float, holds: Callable[[Floats], Mask]) -> Floats:
    """The first whole number from `start` on where a condition holds that goes on holding, by doubling and halving."""
    low, step = start - 1, np.maximum(1.0, np.ceil(t / rate - start))
    high = start + step
    for _ in range(200):
        late = ~holds(high)
        if not late.any():
            break
        low, high = np.where(late, high, low), np.where(late, high + step, high)
        step *= 2
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        fine = holds(np.maximum(middle, start)) & (middle >= start)
        high, low = np.where(fine & (high - low > 1), middle, high), np.where(~fine & (high - low > 1), middle, low)
    return high
