"""Empirical Bayes for sampled counts of which the small ones are not shown: how many records each cell probably has.

Given what a simpler model expects, a cell's sampled count is Poisson around a rate that is gamma-distributed around the
expectation; the gamma's shape says how far cells stray from the simpler model. It is fitted by maximum likelihood to
all cells of a view, unpublished ones as "fewer than k". An unpublished cell then lies where a cell that showed fewer than
k lies on average. A published one moves from its own count towards what is expected, the less the larger it is, and
half as far as the fit says: cells that stray from the model are the ones worth publishing, and one shape for all cells
moves them too far (going half way was best over generated tables, where all the way and not at all each lost on some).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

SHAPES = tuple(2.0**power for power in range(-2, 8))
"""Shapes of the gamma that are tried: from cells that stray far from the simpler model to cells that hardly do."""
HALF = 0.5
"""How far a published cell goes towards what the fit says."""
TINY = 1e-300


def shrunk(counts: Floats, shown: Mask, expected: Floats, k: int, beta: float) -> Floats:
    """Records of every cell, from its sampled count (where shown) and the sampled count that a simpler model expects."""
    rate = np.maximum(expected, 1e-9)
    shape = max(SHAPES, key=lambda each: _likelihood(counts, shown, rate, k, each))
    seen = (1 - HALF) * counts + HALF * (counts + shape) / (1 + shape / rate)
    hidden = rate * _below(k, shape + 1, rate * (shape + 1) / shape) / np.maximum(_below(k, shape, rate), TINY)
    # The sampled records are known; only the others are uncertain.
    return np.asarray(np.where(shown, counts + (1 - beta) / beta * seen, hidden / beta))


def _likelihood(counts: Floats, shown: Mask, rate: Floats, k: int, shape: float) -> float:
    count, mean = counts[shown], rate[shown]
    seen = (
        gammaln(count + shape) - gammaln(shape) - shape * np.log1p(mean / shape) + count * np.log(mean / (shape + mean))
    )
    hidden = np.log(np.maximum(_below(k, shape, rate[~shown]), TINY))
    return float(seen.sum() + hidden.sum())


def _below(k: int, shape: float, mean: Floats) -> Floats:
    """Pr[X < k] for a negative binomial X of this shape and mean."""
    return np.asarray(betainc(shape, float(k), shape / (shape + mean)))
