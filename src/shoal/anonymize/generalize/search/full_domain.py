"""The scheme of least loss under a requirement, by an exact search over the whole lattice.

The schemes form the tree of `kernel.rollup`: depth i decides the level of the i-th attribute. At a node the coarsest scheme
below it and the finest are known. Three things are known of all schemes below, and none of them is an assumption:

    a class of the coarsest scheme that fails k, l or k_map fails however it is divided (theorem `monotone-criteria`), so its
    rows are suppressed by every scheme below, and leave the tree; too many of them, and no scheme below is allowed
    where nothing may be suppressed, the same holds for every criterion: all are monotone then
    no scheme below loses less than what is decided, the finest labels of the rest, and the rows that left the tree

A subtree is left where one of them says that nothing in it is allowed, or that nothing in it is as good as what was found. All
other schemes are looked at, whatever is required. Among schemes of equal loss the one that suppresses fewest rows is taken, then
the one with the finest levels, the attributes in their order. So the answer depends on neither the order of rows nor that of the
walk; the tests have the twin that looks at every scheme by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.search.criteria import Classes, Mask, classes_of, failing, fails_monotone
from shoal.anonymize.generalize.search.loss import Loss
from shoal.anonymize.generalize.search.records import EncodedRecords
from shoal.anonymize.generalize.search.requirement import Requirement
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

Places = tuple[int, ...]
"""For each attribute the place of a level among those it may have."""
DENSE = 8
"""Different values are counted inside the tree while a table of classes and values has at most so many places for each tuple."""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """What is searched: a lattice over records, what is required of classes, the loss, and how many rows may be suppressed.

    `parts[i][j]` is what the label of each value of attribute i loses at its level j, and `wholes[i]` what a suppressed row loses
    of it. `reference` has the counts of values that classes are compared with; without it they are compared with what is
    published.
    """

    lattice: Lattice
    records: EncodedRecords
    required: Requirement
    loss: Loss
    limit: int
    parts: Sequence[Sequence[Integers]]
    wholes: Sequence[int]
    reference: Sequence[Integers] | None = None

    @cached_property
    def columns(self) -> list[GeneralizedColumn]:
        """The attributes as the roll-up takes them."""
        return self.lattice.columns(self.records.quasi)

    @cached_property
    def labels(self) -> list[list[Integers]]:
        """The label of each combination at each level of each attribute."""
        return [[own.take(column.codes, mode="wrap") for own in column.levels] for column in self.columns]

    @property
    def population(self) -> int | None:
        """The joint code of people of the population."""
        return self.records.joints if self.records.has_population else None

    def judge(self, classes: Classes, lost: Integers | None) -> tuple[int, int, Mask]:
        """The loss of a scheme, how many rows it suppresses, and which of its classes it publishes."""
        kept = ~failing(classes, self.required, self.reference)
        sizes = classes.sizes[kept]
        suppressed = self.records.rows - int(sizes.sum())
        return self.loss.total(sizes, None if lost is None else lost[kept], suppressed), suppressed, kept


@dataclass(frozen=True)
class FoundScheme:
    """A scheme with its loss and the rows that it suppresses; of two the smaller is the better."""

    total: int
    suppressed: int
    places: Places

    @property
    def rank(self) -> tuple[int, int, Places]:
        """What decides between two schemes."""
        return self.total, self.suppressed, self.places


@dataclass(frozen=True)
class SearchResult:
    """The best scheme found (None where none is allowed), how many were looked at, and what every scheme loses at least."""

    best: FoundScheme | None
    examined: int
    lower_bound: int | None
    is_exact: bool


def search(
    problem: SearchProblem,
    *,
    start: FoundScheme | None = None,
    budget: int | None = None,
    rest: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> SearchResult:
    """The best scheme of all; with a budget, the best found before so many nodes of the tree were made, and a lower bound.

    `start` is a scheme that is known to be allowed. `rest[i]` is at most what any scheme loses on the attributes from the i-th
    on, in the order of `order_of`.
    """
    walk = _Walk(problem, start, budget, rest, progress)
    walk.run()
    best = walk.best
    bound = best.total if best is not None else None
    if walk.left is not None:
        bound = walk.left if bound is None else min(bound, walk.left)
    is_exact = walk.left is None or (best is not None and walk.left > best.total)
    return SearchResult(best, walk.examined, bound, is_exact)


def order_of(problem: SearchProblem) -> list[int]:
    """The attributes in the order in which the tree decides them: those with most different values first."""
    many = [len(np.unique(column.levels[0].take(column.codes, mode="wrap"))) for column in problem.columns]
    return sorted(range(len(many)), key=lambda at: -many[at])


class _Walk:
    """One walk over the tree of schemes, with the best so far."""

    def __init__(
        self,
        problem: SearchProblem,
        start: FoundScheme | None,
        budget: int | None,
        rest: Sequence[int] | None,
        progress: Progress | None,
    ) -> None:
        self.problem, self.best, self.budget, self.rest = problem, start, budget, rest
        self.examined = self.made = 0
        self.left: int | None = None
        """The least bound of what was left because the budget was spent."""
        records, columns = problem.records, problem.columns
        self.order = order_of(problem)
        self.whole = [sum(problem.wholes[at] for at in self.order[:depth]) for depth in range(len(columns) + 1)]
        decided = [columns[at] for at in self.order]
        rows = records.quasi.counts
        coarsest = merge_columns([GeneralizedColumn(one.codes, one.levels[-1:]) for one in decided], len(rows))
        joint = GeneralizedColumn(records.joint, (np.arange(records.joints + 1),))
        self.steps = LatticeSteps([coarsest, *decided, joint], rows)
        self.leaves = [prod(len(one) for one in decided[depth:]) for depth in range(len(decided) + 1)]
        self.report = throttle(progress, self.leaves[0])
        self._follow_tails(decided)

    def _follow_tails(self, decided: Sequence[GeneralizedColumn]) -> None:
        """For each depth: the joint code of each tail, and what its finest labels lose together."""
        weighs = self.problem.loss.weighs_labels
        joint = np.unique(self.problem.records.joint)
        lost = np.zeros(len(joint), dtype=np.int64)
        self.lost: list[list[Integers]] = [[] for _ in decided]
        self.joints, self.least = [joint], [lost]
        for depth in reversed(range(len(decided))):
            steps = self.steps.of[depth + 1]
            if weighs:
                column, parts = decided[depth], self.problem.parts[self.order[depth]]
                for order, each in zip(column.orders, parts, strict=True):
                    by_label = np.zeros(int(order.max()) + 1 if len(order) else 0, dtype=np.int64)
                    by_label[order] = each
                    self.lost[depth].append(by_label)
            rest = steps[0].rest.take(steps[0].rank)
            joint = joint.take(rest)
            lost = lost.take(rest)
            if weighs:
                lost = lost + self.lost[depth][0].take(steps[0].label.take(steps[0].rank))
            self.joints.insert(0, joint)
            self.least.insert(0, lost)

    def run(self) -> None:
        """Walk the whole tree."""
        root = self.steps.root
        carried = np.zeros(len(root.counts), dtype=np.int64) if self.problem.loss.weighs_labels else None
        node = child(replace(root, carried=carried), self.steps.of[0][0], 0)
        node, allowed = self._drop(node, 0)
        if not allowed:
            self.report(self.leaves[0])
            return
        if not self.order:
            self._take(node, ())
            return
        self._walk(node, ())

    def _walk(self, node: LatticeNode, place: Places) -> None:
        depth = len(place)
        many = self.leaves[depth + 1]
        for level in range(len(self.steps.of[depth + 1])):
            if self.budget is not None and self.made >= self.budget:
                bound = self._bound(node, depth)
                self.left = bound if self.left is None else min(self.left, bound)
                return
            made = self._child(node, depth, level)
            if made is None:
                self.report(many)
            elif depth + 1 == len(self.order):
                self._take(made, (*place, level))
                self.report(1)
            else:
                self._walk(made, (*place, level))

    def _child(self, node: LatticeNode, depth: int, level: int) -> LatticeNode | None:
        """The node with one attribute more decided; None where nothing below can be the answer."""
        step = self.steps.of[depth + 1][level]
        if node.carried is not None:
            rank = step.rank.take(node.tail)
            carried = node.carried + self.lost[depth][level].take(step.label.take(rank))
            if self.best is not None:
                counts = self._rows(node, depth)
                least = carried + self.least[depth + 1].take(step.rest.take(rank))
                gone = self.problem.records.rows - int(counts.sum())
                bound = self.problem.loss.bound(node.head, counts, least, gone)
                if max(bound, self._with_rest(counts, carried, gone, depth + 1)) > self.best.total:
                    return None
            node = replace(node, carried=carried)
        self.made += 1
        self.examined += depth + 1 == len(self.order)
        made, allowed = self._drop(child(node, step, 0), depth + 1)
        if not allowed or (self.best is not None and self._bound(made, depth + 1) > self.best.total):
            return None
        return made

    def _rows(self, node: LatticeNode, depth: int) -> Integers:
        """How many rows of the table each tuple stands for: none where it is of the population."""
        if self.problem.population is None:
            return node.counts
        return np.where(self.joints[depth].take(node.tail) == self.problem.population, 0, node.counts)

    def _bound(self, node: LatticeNode, depth: int) -> int:
        """What every scheme below a node loses at least."""
        counts = self._rows(node, depth)
        gone = self.problem.records.rows - int(counts.sum())
        if node.carried is None:
            return self.problem.loss.bound(node.head, counts, None, gone)
        bound = self.problem.loss.bound(node.head, counts, node.carried + self.least[depth].take(node.tail), gone)
        return max(bound, self._with_rest(counts, node.carried, gone, depth))

    def _with_rest(self, counts: Integers, carried: Integers, gone: int, depth: int) -> int:
        """What is lost on the attributes that are decided, and at least on the rest, where a bound of that is known."""
        return 0 if self.rest is None else int(counts @ carried) + gone * self.whole[depth] + self.rest[depth]

    def _drop(self, node: LatticeNode, depth: int) -> tuple[LatticeNode, bool]:
        """The node without classes that fail however they are divided, and whether a scheme below it may be allowed."""
        required, limit = self.problem.required, self.problem.limit
        joint = self.joints[depth].take(node.tail)
        heads = int(node.head[-1]) + 1 if len(node.head) else 0
        held = self.problem.records.confidential
        dense = all(heads * values.size <= DENSE * len(node.head) for values in held)
        every = limit == 0 and self.problem.reference is None and dense
        counted = (required.l is not None and dense) or every
        asked = required if counted or required.l is None else replace(required, l=None)
        classes = classes_of(node.head, joint, node.counts, held if counted else (), self.problem.population)
        # Where nothing may be suppressed, the published table is the whole one and every criterion is monotone.
        gone = failing(classes, asked) if every else fails_monotone(classes, asked)
        if every and (gone & (classes.sizes > 0)).any():
            return node, False
        if gone.any():
            keep = np.flatnonzero(~gone.take(node.head))
            carried = None if node.carried is None else node.carried.take(keep)
            node = LatticeNode(node.head.take(keep), node.tail.take(keep), node.counts.take(keep), carried)
        kept = int(classes.sizes[~gone].sum())
        return node, bool(kept) and self.problem.records.rows - kept <= limit

    def _take(self, node: LatticeNode, place: Places) -> None:
        """One scheme: the best so far if it is better."""
        held = self.problem.records.confidential
        joint = self.joints[len(self.order)].take(node.tail)
        classes = classes_of(node.head, joint, node.counts, held, self.problem.population)
        lost = None
        if node.carried is not None:
            lost = np.zeros(len(classes), dtype=np.int64)
            lost[node.head] = node.carried
        total, suppressed, _ = self.problem.judge(classes, lost)
        if suppressed > self.problem.limit or suppressed == self.problem.records.rows:
            return
        levels = [0] * len(place)
        for at, level in zip(self.order, place, strict=True):
            levels[at] = level
        found = FoundScheme(total, suppressed, tuple(levels))
        if self.best is None or found.rank < self.best.rank:
            self.best = found


# --- one scheme by itself ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SchemeClasses:
    """The classes of one scheme and what a row of each loses; the combinations of the records in the order of their classes."""

    classes: Classes
    lost: Integers | None
    order: Integers
    width: Integers
    """How many combinations each class has."""

    @property
    def owner(self) -> Integers:
        """The class of each combination of the records."""
        found = np.empty(len(self.order), dtype=np.int64)
        found[self.order] = np.repeat(np.arange(len(self.width)), self.width)
        return found


def classes_at(problem: SearchProblem, places: Places) -> SchemeClasses:
    """The classes of one scheme, from the records up."""
    records = problem.records
    key = np.zeros(len(records.joint), dtype=np.int64)
    used = 0
    for labels in [*(own[place] for own, place in zip(problem.labels, places, strict=True)), records.joint]:
        bits = int(labels.max(initial=0)).bit_length()
        if used + bits > 62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64, copy=False)
            used = int(key.max()).bit_length()
        key = (key << bits) | labels if bits else key
        used += bits
    order = key.argsort()
    key = key.take(order)
    runs = starts_of(key[1:] != key[:-1]) if len(key) else key
    head = key.take(runs) >> bits
    starts = runs.take(starts_of(head[1:] != head[:-1])) if len(runs) else runs
    width = np.diff(np.append(starts, len(key)))
    owner = np.searchsorted(starts, runs, side="right") - 1
    counts = np.add.reduceat(records.quasi.counts.take(order), runs) if len(key) else key
    classes = classes_of(owner, records.joint.take(order.take(runs)), counts, records.confidential, problem.population)
    lost = None
    if problem.loss.weighs_labels:
        lost, first = np.zeros(len(starts), dtype=np.int64), order.take(starts)
        for column, place, parts in zip(problem.columns, places, problem.parts, strict=True):
            lost += parts[place].take(column.codes.take(first), mode="wrap")
    return SchemeClasses(classes, lost, order, width)


def judge_scheme(problem: SearchProblem, places: Places) -> FoundScheme | None:
    """One scheme by itself; None where it is not allowed."""
    made = classes_at(problem, places)
    total, suppressed, _ = problem.judge(made.classes, made.lost)
    if suppressed > problem.limit or suppressed == problem.records.rows:
        return None
    return FoundScheme(total, suppressed, places)


def climb(problem: SearchProblem, *, swaps: bool = False) -> tuple[FoundScheme | None, int]:
    """A good scheme, and how many were tried: from the coarsest one the best step by one level each time, until none is better.

    With `swaps` a step may go to any level of an attribute and, where that does not help any more, make one attribute coarser and
    another finer.
    """
    known: dict[Places, FoundScheme | None] = {}

    def judge(place: Places) -> FoundScheme | None:
        if place not in known:
            known[place] = judge_scheme(problem, place)
        return known[place]

    many = [len(column) for column in problem.columns]
    best = judge(tuple(each - 1 for each in many))
    place = tuple(each - 1 for each in many)
    while True:
        around = _levels_around(place, many) if swaps else _steps_around(place, many)
        if not (better := _better(best, [judge(each) for each in around])) and swaps:
            around = [_moved(each, at, 1) for each in _finer(place) for at in range(len(place))]
            allowed = [each for each in around if all(0 <= one < size for one, size in zip(each, many, strict=True))]
            better = _better(best, [judge(each) for each in allowed if each != place])
        if better is None:
            return best, len(known)
        best, place = better, better.places


def _moved(place: Places, at: int, step: int) -> Places:
    return (*place[:at], place[at] + step, *place[at + 1 :])


def _finer(place: Places) -> list[Places]:
    return [_moved(place, at, -1) for at in range(len(place)) if place[at]]


def _steps_around(place: Places, many: Sequence[int]) -> list[Places]:
    """The schemes that differ from one by one step of one level."""
    coarser = [_moved(place, at, 1) for at, size in enumerate(many) if place[at] + 1 < size]
    return [*_finer(place), *coarser]


def _levels_around(place: Places, many: Sequence[int]) -> list[Places]:
    """The schemes that differ from one in one level."""
    return [
        (*place[:at], level, *place[at + 1 :])
        for at, size in enumerate(many)
        for level in range(size)
        if level != place[at]
    ]


def _better(best: FoundScheme | None, found: Sequence[FoundScheme | None]) -> FoundScheme | None:
    """The best of these if it is better than what there is."""
    least = min((one for one in found if one is not None), key=lambda one: one.rank, default=None)
    return None if least is None or (best is not None and least.rank >= best.rank) else least
