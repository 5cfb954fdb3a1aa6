"""A private scheme: one level for each attribute, drawn from all combinations by one paid draw on the whole table.

The draw is the exponential mechanism over the whole lattice: better schemes more often, each with its exact probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from shoal.anonymize.generalize.base import Partition
from shoal.anonymize.generalize.lattice import GRID, Lattice
from shoal.anonymize.generalize.scheme import Scheme
from shoal.anonymize.generalize.scores import SCORES, Score, Target
from shoal.anonymize.kernel.branch_and_bound import climb, scores_near_best
from shoal.anonymize.kernel.rollup import Integers
from shoal.chance import exact
from shoal.chance.draws import PartialScores
from shoal.chance.source import Source
from shoal.data.hierarchy.level import Level, ValueLevel
from shoal.data.schema import Schema
from shoal.engine.base import Counts
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import exact_text
from shoal.progress import Progress, Stage, StageProgress

MANY = 100_000
"""From so many schemes on, the plan says beforehand that scoring them takes a while."""


@dataclass(frozen=True)
class PrivateScheme(Partition):
    """The scheme that one draw of the exponential mechanism takes from all combinations of levels.

    Promise   the levels are epsilon-DP for the unit (theorem `monotone-exponential` with the score's own).
    Requires  k, beta, weights, ranges of levels and the score fixed without the data.
    Reads     the published columns of the table, once.
    """

    schema: Schema
    paid: Fraction
    k: int
    beta: Fraction
    score: str = "ramp"
    target: str | None = None
    steps: int = 1
    """Rows by which neighbours differ: each pays its share, and the unit's price is the sum."""
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    finest: Mapping[str, int] = field(default_factory=dict)
    coarsest: Mapping[str, int] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.schema.published)

    @property
    def epsilon(self) -> Fraction:
        return self.paid

    @cached_property
    def lattice(self) -> Lattice:
        """All combinations that may be drawn; a target keeps one level."""
        coarsest = dict(self.coarsest)
        if self.target is not None:
            coarsest[self.target] = self.finest.get(self.target, 0)
        return Lattice.of(self.schema.published, finest=self.finest, coarsest=coarsest, weights=self.weights)

    @cached_property
    def scoring(self) -> Score:
        """The score, with its proven sensitivity."""
        if self.score not in SCORES:
            raise UsageError("no such score", came=self.score, allowed=", ".join(SCORES))
        if SCORES[self.score] is Target:
            return Target(self.k, self.beta, self.target or "")
        return SCORES[self.score](self.k, self.beta)

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("monotone-exponential", self.scoring.theorem)

    def words(self) -> str:
        found = (
            f"One of {len(self.lattice):,} combinations of levels is drawn on the table for epsilon "
            f"{exact_text(self.epsilon)}, better ones more often (score: {self.score})."
        )
        return f"{found} {self.lattice.rule}" if self.lattice.rule else found

    def work(self) -> str | None:
        schemes, shape = len(self.lattice), self.lattice.shape
        if schemes < MANY:
            return None
        took = (
            "this may take minutes where rows are hundreds of thousands, and longer where epsilon is small"
            if has_bound(self.scoring)
            else "all of them are scored, which may take minutes for tens of thousands of rows and hours for millions"
        )
        widest = sorted(range(len(shape)), key=lambda at: -shape[at])[:3]
        named = ", ".join(f"{self.lattice.names[at]} ({shape[at]} levels)" for at in widest)
        return (
            f"one of {schemes:,} combinations of levels will be drawn on the table, after the charge: {took}. "
            f"To have fewer, set release.recoding.choose.finest and coarsest, "
            f"first of {named}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "choose",
            "epsilon": exact_text(self.epsilon),
            "steps": self.steps,
            "schemes": len(self.lattice),
            "score": self.score,
            "sensitivity": exact_text(self.scoring.spread(self.lattice)),
            "restricted": self.lattice.rule,
        }

    @property
    def levels(self) -> Mapping[str, Level]:
        return dict.fromkeys(self.columns, ValueLevel())

    def decide(self, counts: Counts, source: Source, stage: Stage = lambda _: None) -> Scheme:
        def progress(done: int, total: int) -> None:
            stage(StageProgress("choosing the recoding", done, total))

        levels = choose_scheme(self.lattice, counts, self.scoring, self.paid / self.steps, source, progress=progress)
        return Scheme(self.schema, levels)

    def draw_many(self, counts: Counts, source: Source, size: int) -> Integers:
        """The numbers of so many schemes of the lattice, each drawn as `decide` draws its one; all schemes are scored, once.

        Together they cost as much as so many releases: for audits, which publish none of them.
        """
        scores, factor = self.weigh(counts)
        return source.choices_by_score(scores, factor, size)

    def weigh(self, counts: Counts) -> tuple[Integers, Fraction]:
        """The score of every scheme on a table, and the factor of a score in the logarithm of its probability."""
        spread = self.scoring.spread(self.lattice)
        paid = check_epsilon(self.paid / self.steps)
        return self.scoring.of_all(self.lattice, counts), paid / spread if spread else Fraction(0)


# --- the draw ----------------------------------------------------------------------------------------------------------

FEW = 20_000
"""Below so many schemes all are scored: it takes less time than finding out which need not be."""


def choose_scheme(
    lattice: Lattice,
    counts: Counts,
    score: Score,
    epsilon: Fraction | int,
    source: Source,
    *,
    few: int = FEW,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """The level of each attribute, drawn with Pr[g] ∝ exp(epsilon · score(g) / spread), exactly.

    Promise   epsilon-DP for one row added or removed (theorem `monotone-exponential` with the score's own theorem).
    Requires  the counts of the full table, never of the sample that is published (theorem `eps-safe-recoding`);
              lattice, score and epsilon fixed without the data.
    Reads     the counts, in one roll-up of the lattice; the scores are not published.

    In a lattice of `few` schemes or more, where the score has a proved bound, only schemes near the best are scored at
    first, and more when the draw needs them. The same bits give the same scheme either way (`Source.choose_listed`).
    """
    paid = check_epsilon(epsilon)
    spread = score.spread(lattice)
    if spread and len(lattice) >= few and has_bound(score):
        lists = schemes_near_best(lattice, counts, score, paid / spread, threads=threads, progress=progress)
        return lattice.scheme(source.choose_from_partial_scores(lists, paid / spread))
    scores = score.of_all(lattice, counts, threads=threads, progress=progress)
    return lattice.scheme(source.choose_by_score(scores, paid / spread if spread else 0))


def schemes_near_best(
    lattice: Lattice,
    counts: Counts,
    score: Score,
    factor: Fraction,
    *,
    nats: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Iterator[PartialScores]:
    """Ever longer lists of the best schemes, at last of all: what `Source.choose_from_partial_scores` draws from.

    The first list has the schemes whose weight is within e^-nats of the best weight or more, or e^-nats of a lower one
    that a climb found. By default all others together weigh less than e^-24 of the best.
    """
    bound, worth = _bound(score), _worth(score)
    columns, sizes = lattice.columns(counts), np.asarray(counts.counts, dtype=np.int64)
    within = len(lattice).bit_length() + 24 if nats is None else nats
    best = climb(columns, sizes, lattice.costs, GRID, worth)[1]
    while (margin := ceil(within / factor)) < best:
        near = scores_near_best(
            columns, sizes, lattice.costs, GRID, worth, bound, margin,
            best=best, void=score.void, progress=progress,
        )  # fmt: skip
        yield PartialScores(near.indices, near.scores, near.others, near.floor)
        best, within = int(near.scores.max()), 4 * within
    scores = score.of_all(lattice, counts, threads=threads, progress=progress)
    yield PartialScores(np.arange(len(scores), dtype=np.int64), scores, 0, 0)


def _worth(score: Score) -> Callable[[Integers], int]:
    return lambda sizes: score.of_scheme(sizes, None)


def _bound(score: Score) -> Callable[[Integers], int]:
    if not has_bound(score):
        raise UsageError("a score without a proved bound", came=score.name, fix="score every scheme")
    return lambda sizes: score.bound(sizes) or 0


def has_bound(score: Score) -> bool:
    """Whether schemes that cannot come near the best are known without scoring them."""
    return score.weighted and score.bound(np.zeros(1, dtype=np.int64)) is not None


def check_epsilon(epsilon: Fraction | int) -> Fraction:
    """The epsilon of a choice as an exact number above 0.

    Raises     ParameterError where it is not.
    """
    paid = exact.fraction(epsilon, "the epsilon of the choice")
    if paid <= 0:
        raise ParameterError(
            "a choice that costs nothing", came=paid, allowed="above 0", fix="name the levels in the policy instead"
        )
    return paid
