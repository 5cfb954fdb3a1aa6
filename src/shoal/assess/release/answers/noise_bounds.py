"""How far a sum of noisy counts lies from the true one: bounds on sums of discrete Gaussian noise, rounded outwards.

A noisy count is the true one plus X, a whole number with Pr[X = x] proportional to exp(−x²/(2 sigma²)). The sum of c
independent ones is bounded one-sided, at any risk a:

    one count                 exactly, by adding up its probabilities
    sigma below 1.5           exactly, by the power of the characteristic function (discrete Fourier transform)
    sigma 1.5 or more         (1 + 1e-9) · Q((t − 1/2)/s) bounds Pr[sum ≥ t] for t ≥ s + 1/2, and (1 + 1e-9) · Q((t − 1)/s) for
                              t ≥ 1, with s = sigma · sqrt(c) and Q the upper tail of the normal distribution
    a below 1e-9              Pr[sum ≥ t] ≤ exp(−t²/(2 s²)): the noise is sub-Gaussian (Canonne, Kamath and Steinke 2020)

Why the third holds: with k = (m/c, …, m/c) + x, the numbers that add up to m weigh exp(−m²/(2 s²)) times a Gaussian sum over
a shifted lattice, which by Poisson's summation is the same for every m up to a factor 1 ± (the terms of the dual lattice, of
norm at least (c − 1)/c: at most 5e-10 together for sigma ≥ 1.5). So the sum is a discrete Gaussian of s up to 1 + 1e-9; each of
its terms is at most the integral over the unit interval around it where the density is convex, and over the one before it
everywhere; and its normalizing sum is at least s · sqrt(2 pi). The same comparison, from both sides, says that a sum is
stochastically below a normal number of deviation s plus one, up to a probability of 2e-9; so a weighted mean of independent
sums is below a normal number plus the weights' sum, which is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Floats = npt.NDArray[np.float64]

SMALLEST = 1.5
"""From this sigma on, sums are compared with the normal distribution."""
SLACK = 1e-9
FOURIER_ERROR = 1e-12
"""More than the rounding errors of a Fourier transform of probabilities add up to."""
MOST_TERMS = 1 << 22


@lru_cache(maxsize=4096)
def noise_bound(sigma: Fraction, cells: int, risk: float) -> float:
    """A whole number that the sum of so many noises exceeds with probability at most `risk`; by symmetry downwards too.

    >>> noise_bound(Fraction(10), 1, 0.025), noise_bound(Fraction(10), 100, 0.025)
    (20.0, 196.0)
    """
    if cells == 0:
        return 0.0
    spread = float(sigma) * sqrt(cells)
    if risk < SLACK:
        return float(ceil(spread * sqrt(2 * log(1 / risk)) * (1 + 1e-12)))
    if cells == 1 and spread < MOST_TERMS / 40:
        return _first_below(_discrete_gaussian(spread), risk)
    if float(sigma) < SMALLEST:
        return _first_below(_power(float(sigma), cells), risk - FOURIER_ERROR)
    far = spread * float(-ndtri(risk * (1 - SLACK))) * (1 + 1e-12)
    beyond = ceil(far - 0.5)
    return float(beyond if beyond + 0.5 >= spread else max(0, ceil(far)))


def mean_bound(deviations: Sequence[float], weights: Sequence[float], risk: float) -> float:
    """A number that a weighted mean of independent sums, all of sigma 1.5 or more, exceeds with probability at most `risk`."""
    spread = sqrt(sum((weight * own) ** 2 for weight, own in zip(weights, deviations, strict=True)))
    left = risk - 2 * SLACK * len(weights)
    if left < risk / 2:
        return spread * sqrt(2 * log(1 / risk)) * (1 + 1e-12)
    return max(0.0, spread * float(-ndtri(left)) * (1 + 1e-12)) + sum(weights)


def _discrete_gaussian(spread: float) -> Floats:
    """The probabilities of 0, 1, 2, … as far as they matter."""
    terms = np.exp(-((np.arange(ceil(40 * spread) + 3) / spread) ** 2) / 2)
    return np.asarray(terms / (2 * terms.sum() - terms[0]))


def _power(sigma: float, cells: int) -> Floats:
    """The probabilities of 0, 1, 2, … for the sum of so many noises, by a Fourier transform."""
    reach = ceil(12 * sigma * sqrt(cells)) + ceil(40 * sigma) + 8
    one = _discrete_gaussian(sigma)
    half = np.zeros(reach)
    half[: min(len(one), reach)] = one[:reach]
    circle = np.concatenate([half, [0.0], half[:0:-1]])
    return np.asarray(np.fft.irfft(np.fft.rfft(circle) ** cells, len(circle)))[:reach]


def _first_below(upper: Floats, risk: float) -> float:
    """The first t for which the probabilities after t add up to at most `risk`."""
    after = np.append(np.cumsum(upper[::-1])[::-1][1:], 0.0)
    return float(np.argmax(after <= risk * (1 - 1e-12)))
