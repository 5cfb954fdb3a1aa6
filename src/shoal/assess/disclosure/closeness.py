"""t-closeness: how far the values of a class lie from those of the whole table.

Earth mover's distance with the three ground distances of Li, Li and Venkatasubramanian, t-Closeness, ICDE 2007,
section 4; and the ratio distance of Soria-Comas 2013, Definition 15. Each function gives one number for each class.
With m different values in the table, p in the class and q in the table:

    equal          any two values are 1 apart: Σ |p − q| / 2.
    ordered        values in order, those of rank i and j are |i − j| / (m − 1) apart: Σ_i |Σ_{j ≤ i} (p_j − q_j)| / (m − 1).
                   Ranks are those of the values that occur; a missing value comes after the last.
    hierarchical   two values are h / H apart, h the height at which a tree of height H first joins them.
                   A missing value is a branch of its own.
    ratio          max over values of max(p/q, q/p); infinite where the class lacks a value that the table has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.assess.disclosure.classes import Floats, Ints, Shares, total


def equal(shares: Shares) -> Floats:
    """EMD when any two values are 1 apart; only the values that the class has too many of need be seen."""
    return np.asarray(total(np.maximum(shares.inside - shares.outside, 0.0), shares.starts))


def ordered(shares: Shares) -> Floats:
    """EMD along the order, in time that depends on what the classes hold and not on classes times values.

    The distribution function of a class is flat between its values, so the sum of |a − Q(i)| over a flat stretch comes
    from prefix sums of Q, cut at the place where Q passes a.
    """
    m = len(shares.overall)
    if m == 1:
        return np.zeros(len(shares.starts))
    table = np.cumsum(shares.overall / shares.overall.sum())
    prefix = np.append(0.0, np.cumsum(table))

    def stretch(level: Floats, start: Ints, stop: Ints) -> Floats:
        cut = np.clip(np.searchsorted(table, level, side="right"), start, stop)
        below = level * (cut - start) - (prefix[cut] - prefix[start])
        return np.asarray(below + (prefix[stop] - prefix[cut]) - level * (stop - cut))

    running = np.cumsum(shares.counts)
    ahead = (running - shares.counts)[shares.starts]
    level = (running - ahead[shares.owner]) / shares.sizes[shares.owner]
    following = np.append(shares.values[1:], m)
    following[np.append(shares.starts[1:], len(shares.values)) - 1] = m
    flat = total(stretch(level, shares.values, following), shares.starts)
    lead = prefix[shares.values[shares.starts]]  # before the class's first value, a = 0
    return np.asarray(np.maximum(flat + lead, 0.0) / (m - 1))


def hierarchical(shares: Shares, levels: Sequence[Ints]) -> Floats:
    """EMD in a tree; `levels[h][v]` is the node of value v at height h, from the leaves (0) to below the root.

    Equal to Li et al.'s cost of moving extras through each node: the mean over heights 0 … H − 1 of the equal distance
    between the distributions of nodes at that height (a tree metric whose edges are all 1 / 2H long).
    """
    return np.asarray(sum(equal(shares.grouped(level)) for level in levels) / len(levels))


def ratio(shares: Shares) -> Floats:
    """The ratio distance; 1 when the class looks like the table."""
    odds = shares.inside / shares.outside
    worst = np.maximum.reduceat(np.maximum(odds, 1.0 / odds), shares.starts)
    return np.where(shares.width < len(shares.overall), np.inf, worst)
