"""One scheme of a whole lattice, drawn by the exponential mechanism: better ones more often, each with its exact chance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal.anonymize.kernel.rollup import Progress, Whole
from shoal.anonymize.partition.lattice import Lattice
from shoal.anonymize.partition.scores import Score
from shoal.chance import exact
from shoal.chance.source import Source
from shoal.engine.base import Counts
from shoal.errors import ParameterError


def choose_scheme(
    lattice: Lattice,
    counts: Counts,
    score: Score,
    epsilon: Fraction | int,
    source: Source,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """The level of each attribute, drawn with Pr[g] ∝ exp(epsilon · score(g) / spread), exactly.

    Promise   epsilon-DP for one row added or removed (theorem `monotone-exponential` with the score's own theorem).
    Requires  the counts of the full table, never of the sample that is published (theorem `eps-safe-recoding`);
              lattice, score and epsilon fixed without the data.
    Cost      one roll-up of the lattice, and one draw; the scores are not published.
    """
    paid = check_epsilon(epsilon)
    scores = score.of_all(lattice, counts, threads=threads, progress=progress)
    spread = score.spread(lattice)
    return lattice.scheme(source.choose_scored(scores, paid / spread if spread else 0))


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
