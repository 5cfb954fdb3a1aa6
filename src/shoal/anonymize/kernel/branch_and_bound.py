"""The schemes of a lattice whose score comes near the best: all others are known to score less, and are not scored.

The schemes form the tree of `rollup`: depth i decides the level of the i-th attribute. The coarsest scheme below a node
has the levels decided so far and the coarsest level of every other attribute. Each scheme below refines its classes.
Where what a class is worth has a bound that no division of the class exceeds (`Bound`), the sum of the bounds over the
classes of the coarsest scheme, times the largest detail of any scheme below, is at least every score below. A subtree
whose bound is less than the floor is left, and no scheme in it is looked at.

The floor is the best score found so far minus a slack. It only rises, so whatever was left lies below the last floor.
A climb from the coarsest scheme finds a good score first. Where the climb ends decides the time alone: whatever the
floor, `scores_near_best` says truly which schemes reach it. the tests have a twin that scores them all.

Attributes that divide rows most come first, since they lower the bound most. The class sizes of a child's coarsest
scheme are counted before the child is made, which needs no sorting, and most children are never made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from shoal.anonymize.kernel.rollup import (
    GeneralizedColumn,
    Integers,
    LatticeNode,
    LatticeSteps,
    child,
    merge_columns,
    starts_of,
    throttle,
)
from shoal.progress import Progress

Bound = Callable[[Integers], int]
"""Of class sizes: a whole number that is at least the worth of these classes, and of all divisions of them."""
Worth = Callable[[Integers], int]
"""Of the class sizes of one scheme: what they are worth together."""

DENSE = 8
"""Classes are counted in a table while it has at most so many places for each tuple, and by sorting beyond."""


@dataclass(frozen=True)
class NearBest:
    """Every scheme that scores at least `floor`: its number and score. `others` schemes score less."""

    indices: Integers
    scores: Integers
    others: int
    floor: int


def scores_near_best(
    columns: Sequence[GeneralizedColumn],
    counts: Integers,
    costs: Sequence[Sequence[int]],
    whole: int,
    worth: Worth,
    bound: Bound,
    slack: int,
    *,
    best: int = 0,
    void: int = 0,
    progress: Progress | None = None,
) -> NearBest:
    """The schemes that score at least the best score minus `slack`; schemes are numbered as `itertools.product` does.

    The score of a scheme is its detail times its worth. Its detail is `whole` minus the costs of its levels, at least 0;
    `costs` has one number for each level of each column. `best` is at most the best score, such as one that `climb` found.
    Classes of up to `void` rows are worth nothing, however divided.
    """
    search = _Search(columns, np.asarray(counts, dtype=np.int64), costs, whole, worth, bound, slack, void, progress)
    search.best = best
    search.walk(search.first(), 0, 0, 0)
    total = prod(len(column) for column in columns)
    floor = search.floor
    kept = [(index, score) for index, score in search.found if score >= floor]
    kept.sort()
    indices = np.array([index for index, _ in kept], dtype=np.int64)
    return NearBest(indices, np.array([score for _, score in kept], dtype=np.int64), total - len(kept), floor)


def climb(
    columns: Sequence[GeneralizedColumn], counts: Integers, costs: Sequence[Sequence[int]], whole: int, worth: Worth
) -> tuple[tuple[int, ...], int]:
    """A good scheme and its score: no change of one level makes it better.

    From the coarsest scheme and from each that differs from it in one level, the best change each time; the best end.
    """
    coarsest = [len(column) - 1 for column in columns]

    def around(place: list[int]) -> list[list[int]]:
        return [
            [*place[:at], level, *place[at + 1 :]]
            for at, column in enumerate(columns)
            for level in range(len(column))
            if level != place[at]
        ]

    def score(levels: Sequence[int]) -> int:
        detail = max(whole - sum(cost[level] for cost, level in zip(costs, levels, strict=True)), 0)
        return detail * worth(_sizes(columns, counts, levels)) if detail else 0

    def end(place: list[int]) -> tuple[int, list[int]]:
        best = score(place)
        while True:
            if (ends := known.get(tuple(place))) is not None:
                return ends
            tried = around(place)
            scores = [score(levels) for levels in tried]
            if not tried or max(scores) <= best:
                return best, place
            best = max(scores)
            place = tried[scores.index(best)]

    known: dict[tuple[int, ...], tuple[int, list[int]]] = {}
    for start in [coarsest, *around(coarsest)]:
        ended = end(start)
        known[tuple(ended[1])] = ended
    best, place = max(known.values())
    return tuple(place), best


class _Search:
    """One walk over the tree of schemes, with the best score so far and the schemes found on the way."""

    def __init__(
        self,
        columns: Sequence[GeneralizedColumn],
        counts: Integers,
        costs: Sequence[Sequence[int]],
        whole: int,
        worth: Worth,
        bound: Bound,
        slack: int,
        void: int,
        progress: Progress | None,
    ) -> None:
        self.counts, self.whole, self.worth, self.bound, self.slack, self.void = (
            counts, whole, worth, bound, slack, void,
        )  # fmt: skip
        order = sorted(range(len(columns)), key=lambda at: -_entropy(columns[at], counts))
        strides = [prod(len(column) for column in columns[at + 1 :]) for at in range(len(columns))]
        decided = [columns[at] for at in order]
        coarsest = merge_columns(
            [GeneralizedColumn(column.codes, column.levels[-1:]) for column in decided], len(counts)
        )
        self.steps = LatticeSteps([coarsest, *decided], counts)
        self.costs, self.strides = [costs[at] for at in order], [strides[at] for at in order]
        least = [min(cost) for cost in self.costs]
        self.rest = [sum(least[depth:]) for depth in range(len(least) + 1)]
        self.leaves = [prod(len(column) for column in decided[depth:]) for depth in range(len(decided) + 1)]
        self.report = throttle(progress, self.leaves[0])
        self.found: list[tuple[int, int]] = []
        self.best = 0

    @property
    def floor(self) -> int:
        """What a scheme must reach to be listed."""
        return self.best - self.slack

    def first(self) -> LatticeNode:
        """Nothing is decided: the classes of the coarsest scheme of all."""
        return child(self.steps.root, self.steps.of[0][0], self.void)

    def walk(self, node: LatticeNode, depth: int, spent: int, index: int) -> None:
        """List the schemes below a node; `spent` is what its levels cost, `index` what they add to a scheme's number."""
        if depth == len(self.costs):  # the coarsest scheme of a lattice of one
            self.take(_by_heads(node), spent, index)
            return
        for level, step in reversed(list(enumerate(self.steps.of[depth + 1]))):
            cost, number = spent + self.costs[depth][level], index + level * self.strides[depth]
            label = step.label.take(step.rank.take(node.tail))
            sizes = _class_sizes((node.head << step.label_bits) | label, node.counts)
            if depth + 1 == len(self.costs):
                self.take(sizes, cost, number)
            elif max(self.whole - cost - self.rest[depth + 1], 0) * self.bound(sizes) >= self.floor:
                self.walk(child(node, step, self.void), depth + 1, cost, number)
            else:
                self.report(self.leaves[depth + 1])

    def take(self, sizes: Integers, spent: int, index: int) -> None:
        """One scheme: its score, listed if it reaches the floor."""
        self.report(1)
        score = max(self.whole - spent, 0) * self.worth(sizes)
        if score >= self.floor:
            self.found.append((index, score))
            self.best = max(self.best, score)


def _by_heads(node: LatticeNode) -> Integers:
    """The sizes of the classes that are decided."""
    return np.add.reduceat(node.counts, starts_of(node.head[1:] != node.head[:-1])) if len(node.counts) else node.counts


def _sizes(columns: Sequence[GeneralizedColumn], counts: Integers, levels: Sequence[int]) -> Integers:
    """The class sizes of one scheme."""
    key = np.zeros(len(counts), dtype=np.int64)
    for column, level in zip(columns, levels, strict=True):
        labels = column.levels[level]
        if not len(key) or int(labels.max()) == int(labels.min()):
            continue
        bits = int(labels.max()).bit_length()
        if int(key.max()).bit_length() + bits > 62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64, copy=False)
        key = (key << bits) | labels.take(column.codes, mode="wrap")
    return _class_sizes(key, counts)


def _class_sizes(key: Integers, counts: Integers) -> Integers:
    """How many rows have each key, in some order; a key that no row has may be given as 0."""
    if not len(key):
        return counts
    if int(key.max()) < DENSE * len(key):
        # Sums of whole numbers below 2^53 are exact in doubles, and a table of so many rows does not exist.
        return np.bincount(key, weights=counts).astype(np.int64)
    order = key.argsort()
    ordered = key.take(order)
    sums: Integers = np.add.reduceat(counts.take(order), starts_of(ordered[1:] != ordered[:-1]))
    return sums


def _entropy(column: GeneralizedColumn, counts: Integers) -> float:
    """How evenly the finest level divides the rows; it orders the work and decides nothing else."""
    sizes = _class_sizes(column.levels[0].take(column.codes, mode="wrap"), counts)
    shares = sizes[sizes > 0] / max(int(counts.sum()), 1)
    return float(-(shares * np.log(shares)).sum())
