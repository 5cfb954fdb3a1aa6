"""The grid on which an answer lies, and priors laid on it: whole numbers for counts and integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

from shoal.data.domain import Line
from shoal.data.type import Type
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact, exact_text
from shoal.mechanism.refinement.prior import DiscretePrior, HistogramPrior, Prior, UniformPrior
from shoal.query.questions.meaning import Added, Individual
from shoal.query.questions.measure import number

LISTED = 4096
"""With more points a law is kept as one on a line, and what is drawn from it goes to the nearest point."""
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Grid:
    """Multiples of `step`, or every number without one; from `low` to `high` where the answer has ends."""

    step: Fraction | None
    low: Fraction | None = None
    high: Fraction | None = None

    @classmethod
    def of(cls, asked: Added | Individual) -> Grid:
        """The grid of the answer to a question with one number."""
        if isinstance(asked, Added):
            return cls(asked.grid[0])
        line = Line.of(asked.attribute.type, asked.domain)
        return cls(Fraction(1) if asked.attribute.type is Type.INTEGER else None, line.low, line.high)

    def nearest(self, drawn: Any) -> int | float:
        """The point that is nearest to a number."""
        at = exact(drawn)
        if self.step is not None:
            at = floor(at / self.step + _HALF) * self.step
        at = at if self.low is None else max(at, self.low)
        return number(at if self.high is None else min(at, self.high))

    def uniform(self, low: Fraction, high: Fraction) -> tuple[Prior, Grid | None]:
        """All points between two ends alike, and the grid to which draws still have to go."""
        if self.step is None or high <= low:
            return UniformPrior(low, high), self  # which refuses ends that do not rise
        first, last = ceil(low / self.step), floor(high / self.step)
        if last < first:
            raise UsageError(
                "the prior holds no possible answer",
                came=f"uniform:{exact_text(low)}:{exact_text(high)}",
                allowed=f"multiples of {exact_text(self.step)}",
            )
        count = last - first + 1
        if count <= LISTED:
            return DiscretePrior({number(self.step * at): Fraction(1, count) for at in range(first, last + 1)}), None
        ends = self.step * first, self.step * last
        return UniformPrior(ends[0] - self.step / 2, ends[1] + self.step / 2), Grid(self.step, *ends)

    def bins(self, edges: Sequence[Fraction], law: HistogramPrior) -> tuple[Prior, Grid | None]:
        """The mass of each bin spread over its points; the last bin holds its upper edge too."""
        step = self.step
        if step is None or floor((edges[-1] - edges[0]) / step) >= LISTED:
            return law, self
        found: dict[Any, Fraction] = {}
        for place, ((low, high), mass) in enumerate(zip(pairwise(edges), law.masses, strict=True)):
            last = floor(high / step) if place == len(law.masses) - 1 else ceil(high / step) - 1
            points = range(ceil(low / step), last + 1)
            if mass and not points:
                raise UsageError(
                    "a bin of the prior holds no possible answer",
                    came=f"{exact_text(low)} to {exact_text(high)}",
                    allowed=f"multiples of {exact_text(step)}",
                )
            found |= {number(step * at): mass / len(points) for at in points}
        return DiscretePrior(found), None
