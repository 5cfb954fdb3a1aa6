"""Variances of a number from a release: the mean squared distance to the middle of the domain, less that of the mean.

The first is a mean of values between 0 and a largest square, so the bounds of means hold for it; the second lies between the
least and the largest that the interval of the mean allows. Each of the two intervals is made at half the risk, so both hold at
the whole risk, and then their difference does. Labels that are wide make it long.
"""

from __future__ import annotations

from math import isnan

from shoal.assess.release.answers.mean import BoundedMean, Bounds
from shoal.assess.release.condition import Where, condition
from shoal.assess.release.estimate import Estimate, risk_of
from shoal.assess.release.load import LoadedRelease

VARIANCE = "mean squared distance to the middle of the domain less that of the mean, each at half the risk (Bonferroni)"


class SquaredDistances(BoundedMean):
    """The squared distances of an attribute to the middle of its domain, and their mean."""

    def _values(self, low: float, high: float) -> tuple[float, float, float]:
        """The least and the largest square, and the mean square of numbers that lie evenly between two shares of the domain."""
        first, last = 2 * low - 1, 2 * high - 1
        squares = first**2, last**2
        even = squares[0] if last == first else (last**3 - first**3) / (3 * (last - first))
        return (0.0 if first <= 0 <= last else min(squares)), max(squares), even

    def _rescale(self, share: float) -> float:
        return (self.width / 2) ** 2 * share


def variance(
    loaded: LoadedRelease, attribute: str, where: Where, level: float, bounds: Bounds | None = None
) -> Estimate:
    """Estimate the variance of a number over the records that satisfy a condition and have one.

    Arguments and Raises  as in `mean`
    """
    each = 1 - risk_of(level) / 2
    wanted = condition(loaded, where)
    around = BoundedMean.of(loaded, attribute, wanted, bounds)
    mean, square = around.estimate(each), SquaredDistances.of(loaded, attribute, wanted, bounds).estimate(each)
    centre, largest = around.start + around.width / 2, (around.width / 2) ** 2
    far = max((mean.low - centre) ** 2, (mean.high - centre) ** 2)
    near = 0.0 if mean.low <= centre <= mean.high else min((mean.low - centre) ** 2, (mean.high - centre) ** 2)
    low, high = max(0.0, square.low - far), min(largest, square.high - near)
    value = square.value - (mean.value - centre) ** 2
    value = value if isnan(value) else min(max(value, low), max(low, high))
    return Estimate(value, low, max(low, high), level, mean.view, f"{VARIANCE}; {mean.method}", loaded.records)
