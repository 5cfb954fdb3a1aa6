"""A search for worse neighbours: small tables are changed at random, and a change is kept where trial runs tell more apart.

The pair that is found was chosen on runs of its own, so the audit that follows on fresh runs is as valid as on any other pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.chance.source import Source
from shoal.errors import ParameterError
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import Number, exact
from shoal.lab.audit.run import Runner, Tick, as_mechanism, choose_on_trials, claim_delta, parts_of

Places = tuple[int, ...]
Pair = tuple[Places, Places]
STEPS = 24
SEARCH_RUNS = 400
ALPHA = 0.01
"""Bounds of the search are compared with each other, not with a claim."""


@dataclass(frozen=True)
class PairSpace:
    """The neighbouring tables that are searched: at most `most` records, each one of `records`, one of them added or replaced.

    >>> PairSpace(2, 3).holds(((0, 0), (0,))), PairSpace(2, 3).holds(((0, 0), (1,)))
    (True, False)
    """

    records: int
    most: int
    neighbours: Literal["add_remove", "replace_one"] = "add_remove"
    fewest: int = 0

    def holds(self, pair: Pair) -> bool:
        """Whether these are two neighbouring tables of the space; the order of records plays no part."""
        counts = [np.bincount(np.array(table, dtype=np.int64), minlength=self.records) for table in pair]
        if any(len(each) > self.records for each in counts):
            return False
        apart = int(np.abs(counts[0] - counts[1]).sum())
        sizes = [len(table) for table in pair]
        fits = all(self.fewest <= size <= self.most for size in sizes)
        wanted = 1 if self.neighbours == "add_remove" else 2
        return fits and apart == wanted and abs(sizes[0] - sizes[1]) == (self.neighbours == "add_remove")

    def change(self, pair: Pair, source: Source) -> Pair:
        """Another pair nearby: a common record added, removed or changed, or the one that differs exchanged for another."""

        def below(bound: int) -> int:
            return int(source.integers(bound, 1)[0])

        shared, own = _split(pair)
        for _ in range(100):
            common, (left, right) = list(shared), own
            kind = below(4)
            if kind == 0:
                common += [below(self.records)] * (1 + below(3))
            elif kind == 1 and common:
                common.pop(below(len(common)))
            elif kind == 2 and common:
                common[below(len(common))] = below(self.records)
            else:
                left = [below(self.records)]
                right = right and [below(self.records)]
            made = (tuple(sorted(common + left)), tuple(sorted(common + right)))
            if self.holds(made):
                return made
        return pair


def _split(pair: Pair) -> tuple[list[int], tuple[list[int], list[int]]]:
    """The records that both tables have, and those that one alone has; the larger table, or the first, comes first."""
    first, second = (list(table) for table in sorted(pair, key=len, reverse=True))
    common = []
    for record in list(first):
        if record in second:
            first.remove(record)
            second.remove(record)
            common.append(record)
    return common, (first, second)


@dataclass(frozen=True)
class PairSearch:
    """The pair with the largest epsilon that trial runs suggest."""

    pair: Pair
    suggested: float
    """A cautious guess at the epsilon that the pair shows; no bound."""
    start: float
    """The same for the pair that the search began with."""
    tried: int


def search_pair(
    mechanism: Callable[..., Any],
    space: PairSpace,
    start: Pair,
    claim: DifferentialPrivacy,
    *,
    steps: int = STEPS,
    runs: int = SEARCH_RUNS,
    delta: Number | None = None,
    seed: int | str | None = None,
    workers: int = 1,
    tick: Tick = lambda: None,
) -> PairSearch:
    """Climb from a pair to worse ones: each step changes the best pair at random and keeps the change if trial runs show more.

    Arguments  `mechanism` as for `audit`, on tables that are tuples of record numbers; `space`, what may be tried; `start`, a
               pair of the space; `claim` or `delta` say at which delta tables are told apart; `steps`, how many pairs are tried;
               `runs` on each table of a pair; `seed`, `workers` and `tick` as for `audit`.
    Raises     ParameterError for a start outside the space, or no steps.
    """
    if not space.holds(start):
        raise ParameterError(
            "the search begins outside its space", came=f"tables of {[len(each) for each in start]} records"
        )
    if steps < 1:
        raise ParameterError("a search of no steps", came=steps, allowed="1 or more")
    allowed = claim_delta(claim) if delta is None else exact(delta)
    seen: dict[Pair, float] = {}
    source = Source.secure() if seed is None else Source.seeded(f"search {seed}")
    with source, Runner.open(as_mechanism(mechanism), seed, workers, tick) as runner:

        def suggested(pair: Pair) -> float:
            if pair not in seen:
                purpose = f"search {len(seen)}"
                seen[pair] = choose_on_trials(runner, pair, runs, runs, allowed, ALPHA, purpose=purpose).expected
            return seen[pair]

        best, first = start, suggested(start)
        for _ in range(steps):
            other = space.change(best, source)
            if suggested(other) > seen[best]:
                best = other
    return PairSearch(best, seen[best], first, len(seen))


def search_ticks(steps: int = STEPS, runs: int = SEARCH_RUNS) -> int:
    """How often `tick` is called in a search, at most."""
    return 2 * (steps + 1) * len(parts_of(runs))
