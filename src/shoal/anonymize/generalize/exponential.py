"""One scheme of a whole lattice, drawn by the exponential mechanism: better ones more often, each with its exact chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil

import numpy as np

from shoal.anonymize.generalize.lattice import GRID, Lattice
from shoal.anonymize.generalize.scores import Score
from shoal.anonymize.kernel.branch_and_bound import climb, scores_near_best
from shoal.anonymize.kernel.rollup import Progress, Whole
from shoal.chance import exact
from shoal.chance.draws import PartialScores
from shoal.chance.source import Source
from shoal.engine.base import Counts
from shoal.errors import ParameterError, UsageError

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
    Cost      one roll-up of the lattice, and one draw; the scores are not published.

    In a lattice of `few` schemes or more, where the score has a proved bound, only schemes near the best are scored at
    first, and more when the draw needs them. The same bits give the same scheme either way (`chance.choose.listed`).
    """
    paid = check_epsilon(epsilon)
    spread = score.spread(lattice)
    if spread and len(lattice) >= few and bounded(score):
        lists = near_best(lattice, counts, score, paid / spread, threads=threads, progress=progress)
        return lattice.scheme(source.choose_from_partial_scores(lists, paid / spread))
    scores = score.of_all(lattice, counts, threads=threads, progress=progress)
    return lattice.scheme(source.choose_by_score(scores, paid / spread if spread else 0))


def near_best(
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
    while (slack := ceil(within / factor)) < best:
        near = scores_near_best(
            columns, sizes, lattice.costs, GRID, worth, bound, slack,
            best=best, void=score.void, progress=progress,
        )  # fmt: skip
        yield PartialScores(near.indices, near.scores, near.others, near.floor)
        best, within = int(near.scores.max()), 4 * within
    scores = score.of_all(lattice, counts, threads=threads, progress=progress)
    yield PartialScores(np.arange(len(scores), dtype=np.int64), scores, 0, 0)


def _worth(score: Score) -> Callable[[Whole], int]:
    return lambda sizes: score.of_scheme(sizes, None)


def _bound(score: Score) -> Callable[[Whole], int]:
    if not bounded(score):
        raise UsageError("a score without a proved bound", came=score.name, fix="score every scheme")
    return lambda sizes: score.bound(sizes) or 0


def bounded(score: Score) -> bool:
    """Whether schemes that cannot come near the best are known without scoring them."""
    return score.weighted and score.bound(np.zeros(1, dtype=np.int64)) is not None


def log_weights(scores: Whole, epsilon: Fraction, spread: Fraction) -> list[Fraction]:
    """The exponents that `choose_scheme` draws by; all 0 where no row can move any score, so that the draw is uniform."""
    if spread == 0:
        return [Fraction(0)] * len(scores)
    different, place = np.unique(scores, return_inverse=True)
    each = [epsilon * value / spread for value in different.tolist()]
    return [each[at] for at in place.tolist()]


def check_epsilon(epsilon: Fraction | int) -> Fraction:
    """A price above 0 and exact."""
    paid = exact.fraction(epsilon, "the epsilon of the choice")
    if paid <= 0:
        raise ParameterError(
            "a choice that costs nothing", came=paid, allowed="above 0", fix="name the levels in the policy instead"
        )
    return paid
