"""What measured pairs say about the others: along the strongest tree, attributes meet through those between them.

A tree of pairs determines one joint distribution that assumes nothing else (Chow and Liu 1968). Its tables of pairs that
nobody measured guide the mixture there, as a prior that measured tables outweigh.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from shoal.model.measurement import Floats
from shoal.model.shrinkage import LEAST_EXPECTED, POWER

TINY = 1e-12
SCALE = 2.0
"""How far a count lies from what the tree says, in units of expected ** POWER, where other measured pairs say more than it."""
WHOLE_SCALE = 0.05
"""The same where the tree holds all measured pairs, so that nothing contradicts it."""
MOST = 4_000_000
"""The most entries of all tables that are implied; beyond it there are none."""

Pair = tuple[int, int]


def information(table: Floats) -> float:
    """Mutual information of a pair, in nats."""
    joint = table / max(float(table.sum()), TINY)
    apart = np.outer(joint.sum(1), joint.sum(0))
    return float((joint * np.log(np.maximum(joint, TINY) / np.maximum(apart, TINY))).sum())


def strongest_tree(width: int, pairs: Mapping[Pair, Floats]) -> list[Pair]:
    """Give the pairs of the spanning forest with the most mutual information."""
    home = list(range(width))
    found = []
    for pair in sorted(pairs, key=lambda each: (-information(pairs[each]), each)):
        one, other = (home[axis] for axis in pair)
        if one != other:
            found.append(pair)
            home = [other if each == one else each for each in home]
    return found


def implied_pairs(
    margins: Sequence[Floats], pairs: Mapping[Pair, Floats], total: float
) -> dict[Pair, tuple[Floats, Floats]]:
    """Give the mean and the variance of every pair that is not among the measured ones, by the strongest tree of these."""
    width = len(margins)
    left = [pair for pair in combinations(range(width), 2) if pair not in pairs]
    if not pairs or sum(len(margins[a]) * len(margins[b]) for a, b in left) > MOST:
        return {}
    beside: dict[int, list[tuple[int, Floats]]] = {axis: [] for axis in range(width)}
    tree = strongest_tree(width, pairs)
    scale = WHOLE_SCALE if len(tree) == len(pairs) else SCALE
    for a, b in tree:
        beside[a].append((b, pairs[a, b] / np.maximum(margins[a], TINY)[:, None]))
        beside[b].append((a, pairs[a, b].T / np.maximum(margins[b], TINY)[:, None]))
    found: dict[Pair, tuple[Floats, Floats]] = {}
    for a in range(width):
        reached: dict[int, Floats] = {}
        todo = [(a, np.diag(margins[a]))]
        while todo:
            at, table = todo.pop()
            reached[at] = table
            todo += [(other, table @ step) for other, step in beside[at] if other not in reached]
        for b in range(a + 1, width):
            if (a, b) not in pairs:
                mean = reached[b] if b in reached else np.outer(margins[a], margins[b]) / total
                found[a, b] = mean, (scale * np.maximum(mean, LEAST_EXPECTED) ** POWER) ** 2
    return found
