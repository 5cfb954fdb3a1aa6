"""UNSAFE, for tests alone: a search that publishes the best scheme it visited.

This is what must never be done (theory, section 1.3). Each step of the walk is an exponential mechanism and pays for
itself; then the best of all schemes visited is taken, an exact argmax that nobody paid for, and on the very sample
that is published. One rare row decides ties, so neighbouring tables are told apart in most runs. Nothing here may
carry a claim, and nothing outside the tests may import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.private_scheme import check_epsilon
from shoal.anonymize.generalize.scores import Score
from shoal.chance import exact
from shoal.chance.source import Source
from shoal.engine.base import Counts


def unsafe_best_of_visited(
    lattice: Lattice, sample: Counts, score: Score, epsilon: Fraction | int, steps: int, source: Source
) -> dict[str, int]:
    """UNSAFE. From the coarsest scheme visit `steps` more, each drawn among those one level from a visited one; keep the best.

    Each step draws with epsilon/steps, as an honest walk would. Of equally good schemes the finer one (the lower number)
    is kept. Claims nothing: the last choice is an unpaid maximum over the sample that is published.
    """
    paid = check_epsilon(epsilon) / exact.whole(steps, "the number of steps", 1)
    scores, spread = score.of_all(lattice, sample), score.spread(lattice)
    visited = {len(lattice) - 1}
    border = set(_around(lattice, len(lattice) - 1))
    for _ in range(steps):
        if not border:
            break
        open_schemes = sorted(border)
        exponents = [paid * int(scores[at]) / spread if spread else Fraction(0) for at in open_schemes]
        step = open_schemes[source.choose(exponents)]
        visited.add(step)
        border = (border | set(_around(lattice, step))) - visited
    return lattice.scheme(max(sorted(visited), key=lambda at: int(scores[at])))


def _around(lattice: Lattice, index: int) -> Iterator[int]:
    """The schemes that differ by one level in one attribute."""
    stride = 1
    for size in reversed(lattice.shape):
        at = index // stride % size
        if at > 0:
            yield index - stride
        if at < size - 1:
            yield index + stride
        stride *= size
