"""l-diversity and alpha: how many different confidential values a class has, and how evenly.

Sources: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-Diversity, TKDD 1(1), 2007 (distinct,
Definition 4.1's entropy l-diversity, and recursive (c, l)-diversity); Wong, Li, Fu and Wang, (alpha,
k)-Anonymity, KDD 2006. Each function gives one number for each class; the table has the worst of them.
"""

from __future__ import annotations

import numpy as np

from shoal.assess.disclosure.classes import Floats, Ints, Shares, total


def distinct(shares: Shares) -> Ints:
    """Distinct l: the number of different values in the class."""
    return shares.width


def entropy(shares: Shares) -> Floats:
    """Entropy l: exp of the class's entropy −Σ p ln p; the class is entropy l-diverse for every l up to it."""
    p = shares.inside
    return np.exp(-total(p * np.log(p), shares.starts))


def recursive(shares: Shares, c: float) -> Ints:
    """The largest l for which the class is recursive (c, l)-diverse; 0 when there is none.

    With counts r1 ≥ r2 ≥ … ≥ rm: r1 < c (rl + … + rm). The right side falls with l, so the l that hold are 1, 2, …
    up to the answer.
    """
    order = np.lexsort((-shares.counts, shares.owner))
    counts = shares.counts[order]
    before = np.cumsum(counts) - counts
    tail = shares.sizes[shares.owner] - (before - before[shares.starts][shares.owner])
    most = counts[shares.starts][shares.owner]
    return total((most < c * tail).astype(np.int64), shares.starts)


def alpha(shares: Shares) -> Floats:
    """The largest share of one value in the class: (alpha, k)-anonymity holds for every alpha from it up."""
    return np.asarray(np.maximum.reduceat(shares.inside, shares.starts))
