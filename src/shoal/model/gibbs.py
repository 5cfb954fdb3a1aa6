"""Rows of the distribution that assumes nothing beyond the tables of a model: its maximum entropy, by Gibbs sampling.

Many joint distributions have the same tables of pairs. The one of maximum entropy is a product of one factor for each table
(a log-linear model), so what no table says is left as even as it can be. A mixture of classes has the tables too, but its
classes also say how three attributes and more hang together, which nobody measured.

The logarithms of the factors (`weights`) are learned by chains of rows. Each sweep draws every value of every row anew, given
the row's other values and the weights; then each weight moves by the logarithm of how often its entry is wanted over how often
rows are in it (persistent chains: Tieleman 2008; the step is that of iterative scaling: Darroch and Ratcliff 1972). Weights are
averaged over the second half of the sweeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.chance.source import Source
from shoal.compilation import compile_kernel, takes
from shoal.model.layout import Layout
from shoal.model.measurement import Floats, Ints
from shoal.progress import Stage, each_of, silent

SWEEPS = 30
LAST_SWEEPS = 4
"""How often the rows that are given are drawn anew with the weights that were learned."""
LEAST_CHAINS, MOST_CHAINS = 1_000, 40_000
WORK = 3e9
"""Additions that learning the weights takes at most: fewer chains where there are many attributes and atoms."""
SOFT = 5.0
"""Rows that are added to what is wanted of an entry, and to what is there, before they are compared."""
COUNTED, LEAST_COUNTS, MOST_COUNTS = 1e8, 4, 16
"""Rows times tables that are counted for the tables that are expected: about three seconds; and how often chains are counted."""
MUCH = 2_000_000
"""Additions of a sweep beyond which the loop is compiled."""


@takes(
    "int64[:,::1], float64[:,::1], int64[::1], int64[:,::1], float64[::1], int64[::1], boolean[:,::1],"
    "int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1]"
)
def resample(
    codes: Any, turns: Any, sizes: Any, where: Any, weights: Any, first: Any, closed: Any,
    begin: Any, table: Any, start: Any, end: Any, axis: Any, stride: Any,
) -> None:  # fmt: skip
    """Draw every value of every row anew, given the row's other values; `turns` has a number in [0, 1) for each.

    A value that would lead into a forbidden box has no probability. No row lies in one before, so one value is always left.
    """
    rows, width = codes.shape
    boxes = closed.shape[0]
    most = 0
    for j in range(width):
        most = max(most, sizes[j])
    share = np.empty(most, np.float64)
    for i in range(rows):
        for j in range(width):
            own = sizes[j]
            for v in range(own):
                share[v] = 0.0
            for k in range(width):
                if k != j:
                    at = where[j, k] + codes[i, k] * own
                    for v in range(own):
                        share[v] += weights[at + v]
            for e in range(begin[j], begin[j + 1]):
                at = start[table[e]]
                step = 1
                for q in range(end[table[e]], end[table[e] + 1]):
                    if axis[q] == j:
                        step = stride[q]
                    else:
                        at += codes[i, axis[q]] * stride[q]
                for v in range(own):
                    share[v] += weights[at + v * step]
            for b in range(boxes):
                inside = True
                for k in range(width):
                    if k != j and not closed[b, first[k] + codes[i, k]]:
                        inside = False
                        break
                if inside:
                    for v in range(own):
                        if closed[b, first[j] + v]:
                            share[v] = -np.inf
            largest = -np.inf
            for v in range(own):
                largest = max(largest, share[v])
            whole = 0.0
            for v in range(own):
                whole += np.exp(share[v] - largest)
                share[v] = whole
            aim = turns[i, j] * whole
            new = 0
            while new < own - 1 and share[new] <= aim:
                new += 1
            codes[i, j] = new


def resample_plain(
    codes: Any, turns: Any, sizes: Any, where: Any, weights: Any, first: Any, closed: Any,
    begin: Any, table: Any, start: Any, end: Any, axis: Any, stride: Any,
) -> None:  # fmt: skip
    """Do the same for all rows at once, attribute by attribute."""
    _, width = codes.shape
    for j, own in enumerate(sizes.tolist()):
        others = [k for k in range(width) if k != j]
        atoms = np.arange(own)
        share = np.zeros((len(codes), own))
        for k in others:
            share += weights[where[j, k] + codes[:, k, None] * own + atoms]
        for t in table[begin[j] : begin[j + 1]]:
            part = slice(end[t], end[t + 1])
            step = stride[part] * (axis[part] != j)
            own_step = int(stride[part][axis[part] == j][0])
            share += weights[start[t] + (codes[:, axis[part]] @ step)[:, None] + own_step * atoms]
        for box in closed:
            inside = np.logical_and.reduce([box[first[k] + codes[:, k]] for k in others])
            share[np.ix_(inside, box[first[j] : first[j] + own])] = -np.inf
        running = np.cumsum(np.exp(share - share.max(1, keepdims=True)), axis=1)
        codes[:, j] = np.minimum((running <= turns[:, j, None] * running[:, -1:]).sum(1), own - 1)


class MaximumEntropy:
    """The distribution of maximum entropy with the tables `wanted`: weights that were learned, and chains that follow them.

    `begin` are the rows that chains begin with, and `wanted` is for as many rows.
    """

    def __init__(self, layout: Layout, wanted: Floats, begin: Ints, source: Source, stage: Stage = silent) -> None:
        self._layout, self._source, self._codes, self._stage = layout, source, begin.copy(), stage
        self._weights = _margins(layout, wanted)
        self._loop = compile_kernel(resample, resample_plain) if self._is_much(len(begin)) else resample_plain
        sums = np.zeros_like(self._weights)
        for step in each_of(range(SWEEPS), stage, "learning what rows are like"):
            self._sweep(self._codes)
            rate = min(1.0, 2.0 * (1 - step / SWEEPS)) / (len(layout.sizes) - 1)
            self._weights += rate * np.log((wanted + SOFT) / (layout.count(self._codes) + SOFT))
            if step >= SWEEPS // 2:
                sums += self._weights
        self._weights = sums / (SWEEPS - SWEEPS // 2)

    def draw(self, rows: int) -> Ints:
        """Draw rows."""
        taken = np.resize(self._source.permutation(len(self._codes)), rows)
        found = np.ascontiguousarray(self._codes[taken])
        for _ in each_of(range(LAST_SWEEPS), self._stage, "drawing rows"):
            self._sweep(found)
        return found

    def expected(self, layout: Layout, rows: int) -> Floats:
        """Estimate how many of so many rows each entry of another layout's tables has: the mean over sweeps of the chains."""
        tables = len(layout.groups) + len(layout.sizes) ** 2
        sweeps = int(np.clip(COUNTED / (len(self._codes) * tables), LEAST_COUNTS, MOST_COUNTS))
        found = np.zeros(layout.entries)
        for _ in each_of(range(sweeps), self._stage, "counting triples"):
            self._sweep(self._codes)
            found += layout.count(self._codes)
        return np.asarray(found * (rows / (sweeps * len(self._codes))))

    def _is_much(self, rows: int) -> bool:
        sizes = self._layout.sizes
        return bool(rows * (float((sizes.sum() - sizes).sum()) + len(sizes)) > MUCH)

    def _sweep(self, codes: Ints) -> None:
        layout = self._layout
        turns = self._source.words(codes.size) >> np.uint64(11)
        uniform = (turns.astype(np.float64) * 2.0**-53).reshape(codes.shape)
        self._loop(
            codes, uniform, layout.sizes, layout.where, self._weights, layout.first, layout.closed, *layout.wider
        )


def chains_for(layout: Layout, rows: int) -> int:
    """Give the number of chains: as many as rows, within limits and the work that is allowed."""
    work = SWEEPS * (len(layout.sizes) - 1) * float(layout.sizes.sum())
    return int(max(LEAST_CHAINS, min(MOST_CHAINS, rows, WORK / work)))


def _margins(layout: Layout, wanted: Floats) -> Floats:
    """Give the weights of independent attributes: each attribute's own, divided among its pairs."""
    width = len(layout.sizes)
    found = np.zeros(layout.entries)
    own = []
    for j in range(width):
        other = (j + 1) % width
        part = slice(layout.where[j, other], layout.where[j, other] + layout.sizes[j] * layout.sizes[other])
        own.append(np.log(wanted[part].reshape(layout.sizes[other], layout.sizes[j]).sum(0) + SOFT) / (width - 1))
    for j in range(width):
        for k in range(width):
            if j != k:
                part = slice(layout.where[j, k], layout.where[j, k] + layout.sizes[j] * layout.sizes[k])
                found[part] = (own[k][:, None] + own[j][None, :]).ravel()
    return found
