"""The definitions, word for word, with dictionaries and loops: slow, and sharing nothing with the code under test."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

HIDDEN = (None, "*", "(missing)")


def groups(rows, width, lenient=False):
    """For each distinct tuple of quasi-identifiers: (its own rows, all rows that match it)."""
    own = defaultdict(list)
    for row in rows:
        own[tuple((type(cell).__name__, cell) for cell in row[:width])].append(row)
    if not lenient:
        return [(mine, mine) for mine in own.values()]

    def match(a, b):
        return all(x == y or x in HIDDEN or y in HIDDEN for x, y in zip(a[:width], b[:width], strict=True))

    return [(mine, [row for row in rows if match(mine[0], row)]) for mine in own.values()]


def shares(cells):
    """Each value's share."""
    return {value: count / len(cells) for value, count in Counter(cells).items()}


def distinct(p):
    return len(p)


def entropy(p):
    return math.exp(-sum(share * math.log(share) for share in p.values()))


def recursive(cells, c):
    """The largest l with r1 < c (rl + ... + rm); 0 without one."""
    r = sorted(Counter(cells).values(), reverse=True)
    return max((at for at in range(1, len(r) + 1) if r[0] < c * sum(r[at - 1 :])), default=0)


def equal(p, q):
    return sum(abs(p.get(v, 0.0) - q[v]) for v in q) / 2


def ordered(p, q):
    """Values by themselves, missing last."""
    values = sorted(v for v in q if v is not None) + ([None] if None in q else [])
    if len(values) == 1:
        return 0.0
    gap = [p.get(v, 0.0) - q[v] for v in values]
    return sum(abs(sum(gap[: i + 1])) for i in range(len(values))) / (len(values) - 1)


def hierarchical(p, q, path):
    """Li et al. section 4.3: cost(N) = height(N) / H · min(surplus, deficit) of N's children, over all inner nodes."""
    height = len(path(next(iter(q)))) - 1  # path: leaf, ..., root

    def node(value, level):
        return path(value)[level], level

    extra = defaultdict(float)
    children = defaultdict(set)
    for value in q:
        for level in range(height + 1):
            extra[node(value, level)] += p.get(value, 0.0) - q[value]
            if level:
                children[node(value, level)].add(node(value, level - 1))
    total = 0.0
    for inner, below in children.items():
        surplus = sum(max(extra[child], 0.0) for child in below)
        deficit = sum(max(-extra[child], 0.0) for child in below)
        total += inner[1] / height * min(surplus, deficit)
    return total


def ratio(p, q):
    return max(max(p[v] / q[v], q[v] / p[v]) if v in p else math.inf for v in q)


def basic_beta(p, q):
    return max(max((p.get(v, 0.0) - q[v]) / q[v], 0.0) for v in q)


def enhanced_beta(p, q):
    gains = {v: max((p.get(v, 0.0) - q[v]) / q[v], 0.0) for v in q}
    if any(gain > -math.log(q[v]) + 1e-12 for v, gain in gains.items()):
        return math.inf
    return max(gains.values())


def delta_disclosure(p, q, absent=True):
    if absent and len(p) < len(q):
        return math.inf
    return max(abs(math.log(p[v] / q[v])) for v in p)
