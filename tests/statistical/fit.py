"""Whether a sample follows a distribution: chi-square over pooled cells, refused at one in a billion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc

LEVEL = 1e-9
"""A right sample is refused this rarely; samples here are seeded, so in fact never."""
LEAST = 20.0
"""Cells expected to hold fewer are pooled with their neighbours."""


def p_value(observed: ArrayLike, expected: ArrayLike) -> float:
    """The chance of counts at least so far from what is expected (both with the same total)."""
    seen, awaited = _pooled(np.asarray(observed, dtype=float), np.asarray(expected, dtype=float))
    statistic = float(np.sum((seen - awaited) ** 2 / awaited))
    return float(gammaincc((len(seen) - 1) / 2, statistic / 2))


def fits(samples: ArrayLike, probabilities: ArrayLike, first: int = 0) -> bool:
    """Whether whole numbers follow the probabilities of first, first + 1, …; what is left over is one more cell."""
    places = np.asarray(samples) - first
    law = np.asarray(probabilities, dtype=float)
    law = np.append(law, max(0.0, 1 - law.sum()))
    outside = (places < 0) | (places >= len(law) - 1)
    counts = np.bincount(np.where(outside, len(law) - 1, places).astype(np.int64), minlength=len(law))
    return p_value(counts, law * len(places)) > LEVEL


def same_law(one: ArrayLike, other: ArrayLike) -> bool:
    """Whether two samples of whole numbers, of equal size, could come from one law."""
    values, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    half = len(places) // 2
    first, second = (np.bincount(part, minlength=len(values)) for part in (places[:half], places[half:]))
    seen, total = _pooled(first.astype(float), (first + second).astype(float))
    # Given the sum n of two equal cells, the first is binomial(n, 1/2): variance n/4.
    statistic = float(np.sum((2 * seen - total) ** 2 / total))
    return float(gammaincc((len(seen) - 1) / 2, statistic / 2)) > LEVEL


def _pooled(seen: NDArray[np.float64], awaited: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Cells joined from the left until each is expected to hold enough; the last remnant joins its neighbour."""
    starts, held = [0], 0.0
    for index, cell in enumerate(awaited):
        if held >= LEAST and awaited[index:].sum() >= LEAST:
            starts.append(index)
            held = 0.0
        held += cell
    return np.add.reduceat(seen, starts), np.add.reduceat(awaited, starts)


def least_hits(draws: int, level: float, chance: float = 1e-6) -> int:
    """How often an event of at least this probability happens in so many draws, in all but this part of cases (binomial)."""
    from scipy.stats import binom

    return int(binom.ppf(chance, draws, level))
