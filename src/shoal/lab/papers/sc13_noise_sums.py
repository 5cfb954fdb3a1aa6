"""Several sums with unequal ranges at once: optimal noise beside Laplace noise, as pictures of our own."""

from __future__ import annotations

from fractions import Fraction
from math import exp

from shoal.mechanism.staircase.distribution import BoxDistribution, LaplaceComparison, compare_with_laplace
from shoal.mechanism.staircase.inner import best_inner
from shoal.page.picture import Axis, Picture, Series

SUMS = (2, 4, 8, 16)
LARGEST = 100
"""The ranges go from 1 to this, evenly on a logarithmic scale."""


def comparisons(epsilon: int = 1, confidence: float = 0.95) -> list[LaplaceComparison]:
    """For each number of sums: the noise with the smallest region, beside Laplace noise for the same promise."""
    found = []
    for m in SUMS:
        sides = tuple(Fraction(round(1000 * LARGEST ** (j / (m - 1))), 1000) for j in range(m))
        share = Fraction(str(confidence))
        inner = best_inner(Fraction(epsilon), sides, "region_volume", confidence=share)
        law = BoxDistribution(float(epsilon), tuple(float(side) for side in sides), inner)
        found.append(compare_with_laplace(law, confidence))
    return found


def pictures() -> tuple[Picture, Picture]:
    """The volume of the 95 % region, and the expected absolute error."""
    rows = comparisons()
    counts = [float(row.dimension) for row in rows]
    volumes = [[exp(v) for v in (row.log_volume, row.log_volume_even, row.log_volume_laplace)] for row in rows]
    errors = [[row.expected_error, row.expected_error_even, row.expected_error_laplace] for row in rows]
    names = ("optimal", "Laplace, scale by range", "Laplace, one scale")
    lines = [
        [Series(name, counts, [row[i] for row in table], i, dots=True) for i, name in enumerate(names)]
        for table in (volumes, errors)
    ]
    x = Axis("sums answered together", log=True, ticks=SUMS)
    return (
        Picture("Volume of the 95 % region", x, Axis("volume", log=True), lines[0]),
        Picture(
            "Expected absolute error",
            x,
            Axis("mean |error| / range", log=True, ticks=(1, 2, 5, 10, 20, 50, 100)),
            lines[1],
        ),
    )
