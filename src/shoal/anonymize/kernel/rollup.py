"""The sizes of all classes of all schemes of a lattice, each scheme's from those of a finer one, in whole numbers.

A scheme is one level for each attribute. The schemes form a tree: depth i decides the level of the i-th attribute,
and those not yet decided stay at their finest level. A node holds its distinct tuples, sorted, with their counts; a
child is made from it by merging tuples, so the work shrinks as levels coarsen, and memory is one path of the tree.

A tuple is two numbers: `head`, which of the combinations of labels decided so far it has, and `tail`, which of the
combinations of values still undecided. Both are numbered without gaps, so a key `head·2^b + tail` of n tuples needs
at most 2·log2(n) bits, however many attributes there are and however large their domains: no key ever overflows.
Tails are in the order of the last attribute's coarsest labels first, so at the last depth, where most schemes are,
equal labels already lie side by side and no sorting is needed. Everything is integer addition: neither the order of
rows nor the number of threads can change a result.

What can be worth nothing is dropped, exactly. A head begins as the combination of the coarsest labels of all attributes,
so a node's classes by heads alone are those of the coarsest scheme below it. Every class of a scheme below lies inside
one of them. Where such a class has too few rows for any part of it to be worth anything (`void`), its tuples leave the
tree; a node without tuples answers for all schemes below it. Fine schemes over many attributes are nearly all of the
lattice, and nearly all of their classes are small: 1.7 million schemes over 16 attributes of 30,000 rows take seconds
to minutes, where walking all of them took half an hour.

Plain NumPy, so there is nothing to compile: the 6,480 schemes of Adult take under a second, cold or warm
(benchmarks/lattice.py). The tests have the twin: every scheme by itself, from the rows up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.progress import Progress

Integers = npt.NDArray[np.int64]
Worth = Callable[[Integers, Integers | None], int]
"""What a scheme is worth: called with the sizes of its classes and, if asked for, the places where runs begin."""

THREADED = 200_000
"""From so many distinct tuples on two threads are worth their keep: below, Python between the loops is the cost."""


@dataclass(frozen=True)
class GeneralizedColumn:
    """One attribute of some tuples: the code of the value of each, and for each level the label of each code.

    Levels go from fine to coarse, and each coarsens the one before. A code of −1 finds its label at the end.
    """

    codes: npt.NDArray[np.signedinteger[Any]]
    levels: tuple[Integers, ...]

    @cached_property
    def orders(self) -> tuple[Integers, ...]:
        """For each level, numbers for its labels such that each label of every coarser level is a run of numbers."""
        found, number = [], np.zeros(len(self.levels[0]), dtype=np.int64)
        for level in reversed(self.levels):
            number = _rank_pairs(number, level)
            if len(level) and int(number.max()) + 1 != len(np.unique(level)):
                raise UsageError("the levels of an attribute do not nest", fix="list them from fine to coarse")
            found.append(number)
        return tuple(reversed(found))

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True)
class LatticeStep:
    """One way to decide one attribute: the tail of a tuple becomes a label and a shorter tail."""

    rank: Integers  # of (label, shorter tail) for each tail
    bits: int  # that a rank needs
    label: Integers  # for each rank
    rest: Integers  # the shorter tail for each rank
    label_bits: int
    sorted: bool  # whether ranks rise with tails
    same: bool  # whether ranks are the tails themselves: nothing merges or moves


@dataclass(frozen=True)
class LatticeNode:
    """Distinct tuples in order: what is decided of each, what is not, and how many rows have it."""

    head: Integers
    tail: Integers
    counts: Integers
    carried: Integers | None = None
    """A number of each tuple that those which agree in all that is decided have in common."""


def score_all(
    columns: Sequence[GeneralizedColumn],
    counts: Integers,
    worth: Worth,
    *,
    within: int | None = None,
    void: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Integers:
    """The worth of every scheme, in the order of `itertools.product` over the levels of the attributes.

    Tuples need not be distinct. `within` is the place of a column that has one level: classes that agree in all others
    are given to `worth` as one run. Classes of up to `void` rows are worth nothing, whatever stands beside them, so that
    `worth` may be called without them, and not at all for a scheme that has no others.
    """
    moving = [column for at, column in enumerate(columns) if len(column) > 1 and at != within]
    # Few levels first, so that the tree is narrow where merging needs sorting; the one to be told apart is last.
    order = sorted(range(len(moving)), key=lambda at: len(moving[at]))
    decided = [moving[at] for at in order]
    fixed = [column for at, column in enumerate(columns) if len(column) == 1 and at != within]
    coarsest = [GeneralizedColumn(column.codes, column.levels[-1:]) for column in moving]
    decided.insert(0, merge_columns([*fixed, *coarsest], len(counts)))
    if within is not None:
        decided.append(columns[within])
    tree = _Tree(decided, np.asarray(counts, dtype=np.int64), worth, runs=within is not None, void=void)
    scores = np.zeros(tree.shape, dtype=np.int64)
    report = throttle(progress, scores.size)
    workers = threads if threads is not None else (2 if len(tree.root.counts) >= THREADED else 1)

    def work(job: tuple[int, ...]) -> None:
        for place, value in tree.below(job):
            scores[place] = value
            report(tree.leaves[len(place)])

    if workers == 1:
        work(())
    else:
        with ThreadPoolExecutor(workers) as pool:
            for future in [pool.submit(work, job) for job in tree.jobs(4 * workers)]:
                future.result()
    axes = scores.reshape([len(moving[at]) for at in order])
    return np.ascontiguousarray(axes.transpose(np.argsort(np.array(order, dtype=np.int64)))).ravel()


class LatticeSteps:
    """The steps of each attribute in turn, one for each of its levels, and the tuples before anything is decided."""

    def __init__(self, columns: Sequence[GeneralizedColumn], counts: Integers) -> None:
        tail = np.zeros(len(counts), dtype=np.int64)
        steps: list[list[LatticeStep]] = []
        for column in reversed(columns):
            step, tail = _steps(column, tail)
            steps.append(step)
        self.of = steps[::-1]
        kept, place = np.unique(tail, return_inverse=True)
        sums = np.zeros(len(kept), dtype=np.int64)
        np.add.at(sums, place, counts)
        self.root = LatticeNode(np.zeros(len(kept), dtype=np.int64), kept, sums)


class _Tree:
    """The tree of schemes over one table of distinct tuples."""

    def __init__(
        self, columns: Sequence[GeneralizedColumn], counts: Integers, worth: Worth, *, runs: bool, void: int
    ) -> None:
        self.worth, self.runs, self.void, self.depth = worth, runs, void, len(columns)
        self.shape = [len(column) for column in columns]
        self.leaves = [prod(self.shape[depth:]) for depth in range(self.depth + 1)]
        made = LatticeSteps(columns, counts)
        self.steps, self.root = made.of, made.root

    def jobs(self, least: int) -> list[tuple[int, ...]]:
        """Choices of the first levels: subtrees that can be worked on side by side."""
        depth = 0
        while depth < self.depth - 1 and np.prod(self.shape[:depth], dtype=np.int64) < least:
            depth += 1
        return list(product(*[range(size) for size in self.shape[:depth]]))

    def below(self, job: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
        """The place and worth of each scheme that begins with these levels.

        A place that is shorter than a scheme speaks for all schemes that begin with it: they are worth nothing.
        """
        node = self.root
        for depth, level in enumerate(job):
            node = child(node, self.steps[depth][level], self.void)
        yield from self._walk(node, job)

    def _walk(self, node: LatticeNode, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
        depth = len(place)
        if not len(node.counts):
            yield place, 0
            return
        if depth == self.depth - 1:
            yield from self._leaves(node, place)
            return
        # Coarse levels first: they are most of the work, so the time that is left is overestimated, not underestimated.
        for level, step in reversed(list(enumerate(self.steps[depth]))):
            yield from self._walk(child(node, step, self.void), (*place, level))

    def _leaves(self, node: LatticeNode, place: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
        """The last attribute: its labels already lie in order, so classes are runs; each level's from the last one's."""
        head, tail, counts = node.head, node.tail, node.counts
        for level, step in enumerate(self.steps[-1]):
            label = step.rank.take(tail)
            if not step.same and len(counts):
                new = head[1:] != head[:-1]
                new |= label[1:] != label[:-1]
                starts = starts_of(new)
                if len(starts) < len(counts):
                    counts = np.add.reduceat(counts, starts)
                    head, tail = head.take(starts), tail.take(starts)
            runs = None
            if self.runs:
                runs = starts_of(head[1:] != head[:-1]) if len(head) else head
            yield (*place, level), self.worth(counts, runs)


def child(node: LatticeNode, step: LatticeStep, void: int) -> LatticeNode:
    """Decide one attribute, and drop the classes that are worth nothing below."""
    rank, head, counts, carried = step.rank.take(node.tail), node.head, node.counts, node.carried
    if not len(counts):
        return node
    if not step.same:
        key = head << step.bits
        key |= rank
        if not step.sorted:
            order = key.argsort()
            key, counts = key.take(order), counts.take(order)
            carried = None if carried is None else carried.take(order)
        starts = starts_of(key[1:] != key[:-1])
        if len(starts) < len(counts):
            key, counts = key.take(starts), np.add.reduceat(counts, starts)
            carried = None if carried is None else carried.take(starts)
        rank, head = key & ((1 << step.bits) - 1), key >> step.bits
    label = head << step.label_bits
    label |= step.label.take(rank)
    renumbered = np.zeros(len(label), dtype=np.int64)
    new = label[1:] != label[:-1]
    np.cumsum(new, out=renumbered[1:])
    if void:
        big = np.add.reduceat(counts, starts_of(new)) > void
        if not big.all():
            keep = np.flatnonzero(big.take(renumbered))
            carried = None if carried is None else carried.take(keep)
            return LatticeNode(renumbered.take(keep), step.rest.take(rank.take(keep)), counts.take(keep), carried)
    return LatticeNode(renumbered, step.rest.take(rank), counts, carried)


def starts_of(new: npt.NDArray[np.bool_]) -> Integers:
    """Where runs begin, given for each place but the first whether one does."""
    found = np.flatnonzero(new)
    starts = np.empty(len(found) + 1, dtype=np.int64)
    starts[0] = 0
    np.add(found, 1, out=starts[1:])
    return starts


def merge_columns(columns: Sequence[GeneralizedColumn], count: int) -> GeneralizedColumn:
    """One column of one level that tells apart what these columns of one level tell apart."""
    number = np.zeros(count, dtype=np.int64)
    for column in columns:
        number = _rank_pairs(number, column.levels[0][column.codes])
    return GeneralizedColumn(number, (np.arange(int(number.max()) + 1 if count else 0),))


def _rank_pairs(major: Integers, minor: Integers) -> Integers:
    """The rank of each pair among the different pairs."""
    if not len(major):
        return major
    minor = minor - minor.min()
    bits = int(minor.max()).bit_length()
    ranks: Integers = np.unique((major << bits) | minor, return_inverse=True)[1].astype(np.int64, copy=False)
    return ranks


def _steps(column: GeneralizedColumn, tail: Integers) -> tuple[list[LatticeStep], Integers]:
    """The steps of one attribute, one for each level, and the longer tails of the tuples before it is decided."""
    longer = _rank_pairs(column.orders[0][column.codes], tail)
    count = int(longer.max()) + 1 if len(longer) else 0
    example = np.zeros(count, dtype=np.int64)
    example[longer] = np.arange(len(longer))  # any tuple with that tail: all agree in what is asked of it
    rest, code = tail[example], column.codes[example]
    steps = []
    for order in column.orders:
        label = order[code]
        rank = _rank_pairs(label, rest)
        ranks = int(rank.max()) + 1 if count else 0
        first = np.zeros(ranks, dtype=np.int64)
        first[rank] = np.arange(count)
        rises = bool(np.all(rank[1:] >= rank[:-1]))
        label_bits = int(label.max()).bit_length() if count else 0
        bits = max(ranks - 1, 0).bit_length()
        steps.append(LatticeStep(rank, bits, label[first], rest[first], label_bits, rises, rises and ranks == count))
    return steps, longer


def throttle(progress: Progress | None, total: int) -> Callable[[int], None]:
    """Count schemes that are done, from any thread, and say so a few hundred times."""
    if progress is None:
        return lambda _: None
    done, reported, lock, often = 0, 0, Lock(), max(1, total // 200)

    def report(more: int) -> None:
        nonlocal done, reported
        with lock:
            done += more
            if done - reported >= often or done == total:
                reported = done
                progress(done, total)

    return report
