"""A search for worse neighbours: small tables are changed at random, and a change is kept where it tells more apart.

What a pair tells apart is computed where the law of the output is known, and guessed from trial runs elsewhere. The number of
pairs and of runs is fixed beforehand, smaller where runs are slow, so that a search ends in about a minute. The pair that is
found was chosen on runs of its own, so the audit that follows on fresh runs is as valid as on any other pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

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
SLOW_STEPS = 8
SLOW_RUNS = 60
"""Where a run takes milliseconds or more: 1,080 runs in all."""
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
    """The pair with the largest epsilon that its law has, or that trial runs suggest."""

    pair: Pair
    suggested: float
    """The epsilon of the pair by its law, or a cautious guess at the one that it shows; no bound."""
    start: float
    """The same for the pair that the search began with."""
    tried: int
    by_law: bool = False
    """Whether epsilons were computed from the law of the output, and not guessed from runs."""

    def words(self) -> str:
        """What the search did, in a sentence."""
        if self.by_law:
            return (
                f"The search computed the law of the output on {self.tried:,} pairs, without a run: it began with one that has "
                f"epsilon {self.start:.3g} at this delta, and ended with one that has {self.suggested:.3g}."
            )
        return (
            f"The search tried {self.tried:,} pairs. It began with one on which trial runs suggested epsilon {self.start:.3g}, "
            f"and ended with one on which they suggested {self.suggested:.3g}."
        )


class PairLaw(Protocol):
    """What is known of the law of a mechanism's output."""

    def epsilon(self, pair: Pair, delta: Fraction, /) -> float:
        """The least epsilon of a pair at a delta."""
        ...  # pragma: no cover


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
    law: PairLaw | None = None,
    tick: Tick = lambda: None,
) -> PairSearch:
    """Climb from a pair to worse ones: each step changes the best pair at random and keeps the change if it tells more apart.

    Arguments  `mechanism` as for `audit`, on tables that are tuples of record numbers; `space`, what may be tried; `start`, a
               pair of the space; `claim` or `delta` say at which delta tables are told apart; `steps`, how many pairs are tried;
               `runs` on each table of a pair; `seed`, `workers` and `tick` as for `audit`; with a `law` nothing is run.
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
            if pair not in seen and law is not None:
                seen[pair] = law.epsilon(pair, allowed)
                tick()
            elif pair not in seen:
                purpose = f"search {len(seen)}"
                seen[pair] = choose_on_trials(runner, pair, runs, runs, allowed, ALPHA, purpose=purpose).expected
            return seen[pair]

        best, first = start, suggested(start)
        for _ in range(steps):
            other = space.change(best, source)
            if suggested(other) > seen[best]:
                best = other
    return PairSearch(best, seen[best], first, len(seen), law is not None)


def search_ticks(steps: int = STEPS, runs: int = SEARCH_RUNS, *, by_law: bool = False) -> int:
    """How often `tick` is called in a search, at most."""
    return steps + 1 if by_law else 2 * (steps + 1) * len(parts_of(runs))
