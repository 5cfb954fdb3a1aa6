"""Lattices of more schemes than can be searched: a good scheme by steps and swaps, and what every scheme loses at least.

The scheme is a local optimum: no change of one level, and no pair of changes in opposite directions, is better. How far it may be
from the best is said by a lower bound, from two sources that are both proved (theorem `monotone-criteria`):

    blocks      what any scheme loses on some of the attributes is at least what the best scheme for these alone loses;
                granularity adds up over attributes, so the optima of disjoint blocks add up to a bound
    thresholds  the exact search, asked whether any scheme loses less than a threshold, answers no as long as its budget of nodes
                lasts; the threshold then is a bound. Where it finds a scheme, that one is the best of all

Everything is counted in schemes and nodes, never in seconds, so the answer is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.search.full_domain import (
    FoundScheme,
    SearchProblem,
    SearchResult,
    climb,
    order_of,
    search,
)
from shoal.anonymize.generalize.search.loss import GranularityLoss
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.progress import Progress

BLOCK = 20_000
"""The attributes of a block have at most so many schemes."""
NODES = 4_000
"""The budget of one question whether a scheme loses less than a threshold."""
THRESHOLDS = 12
"""How many parts the way from the first bound to the loss found is divided into."""


def search_large(problem: SearchProblem, progress: Progress | None = None) -> SearchResult:
    """A scheme that is locally the best, with a lower bound on the loss of every scheme."""
    report = progress or (lambda _, __: None)
    found, tried = climb(problem, swaps=True)
    report(1, THRESHOLDS + 2)
    if found is None:
        # The coarsest scheme is not allowed, nor any near it. One that is may exist where criteria are not monotone.
        result = search(problem, budget=THRESHOLDS * NODES)
        return replace(result, examined=result.examined + tried)
    rest = suffix_bounds(problem) if problem.loss.weighs_labels else None
    report(2, THRESHOLDS + 2)
    first = search(problem, start=found, budget=0, rest=rest).lower_bound
    bound = found.total if first is None else first
    examined, gap = tried, found.total - bound
    for part in range(1, THRESHOLDS + 1):
        threshold = bound_at = found.total - gap + gap * part // THRESHOLDS
        asked = found if part == THRESHOLDS else FoundScheme(threshold, -1, ())
        answer = search(problem, start=asked, budget=NODES, rest=rest)
        examined += answer.examined
        report(2 + part, THRESHOLDS + 2)
        if answer.best is not None and answer.best is not asked:
            better = answer.best
            if answer.is_exact:
                return SearchResult(better, examined, better.total, True)
            return SearchResult(min(found, better, key=lambda one: one.rank), examined, bound, False)
        if not answer.is_exact:
            break
        bound = bound_at
    return SearchResult(found, examined, bound, bound == found.total)


def suffix_bounds(problem: SearchProblem) -> list[int]:
    """For each place in the order of the tree: what every scheme loses at least on the attributes from there on.

    From the last attribute backwards, blocks are made as large as may be; inside a block each bound is an optimum.
    """
    order = order_of(problem)
    bounds = [0] * (len(order) + 1)
    end, beyond = len(order), 0
    for start in reversed(range(len(order))):
        block = order[start:end]
        if end - start > 1 and len(_part(problem, block).lattice) > BLOCK:
            end, beyond = start + 1, bounds[start + 1]
            block = order[start:end]
        bounds[start] = beyond + _least_loss(_part(problem, block))
    return bounds


def _least_loss(problem: SearchProblem) -> int:
    """The least loss that any scheme of a few attributes has; nothing where no scheme is allowed."""
    start, _ = climb(problem)
    best = search(problem, start=start).best
    return 0 if best is None else best.total


def _part(problem: SearchProblem, attributes: Sequence[int]) -> SearchProblem:
    """The problem of some of the attributes: what every class must have whatever the levels of the others are."""
    lattice, quasi, required = problem.lattice, problem.records.quasi, problem.required
    wholes = [problem.wholes[at] for at in attributes]
    return replace(
        problem,
        lattice=Lattice(
            tuple(lattice.attributes[at] for at in attributes),
            tuple(lattice.levels[at] for at in attributes),
            tuple(lattice.costs[at] for at in attributes),
        ),
        records=replace(
            problem.records,
            quasi=replace(
                quasi,
                columns=tuple(quasi.columns[at] for at in attributes),
                values=tuple(quasi.values[at] for at in attributes),
                codes=tuple(quasi.codes[at] for at in attributes),
            ),
        ),
        required=Requirement(required.k, l=required.l, k_map=required.k_map),
        loss=GranularityLoss(problem.loss.rows, required.k, sum(wholes)),
        parts=[problem.parts[at] for at in attributes],
        wholes=wholes,
    )
