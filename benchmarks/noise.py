"""How fast noise is drawn, and how much less of it several sums need: OptimalNoise beside Laplace."""

from __future__ import annotations

import time
from fractions import Fraction
from math import exp, log

import numpy as np

from shoal.chance.source import Source
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.exponential import Exponential
from shoal.mechanism.gaussian import Gaussian
from shoal.mechanism.laplace import Laplace
from shoal.mechanism.staircase.distribution import BoxDistribution, compare_with_laplace
from shoal.mechanism.staircase.inner import best_inner
from shoal.mechanism.staircase.mechanism import Staircase

MILLION = 1_000_000
ROW = Unit.row("add_remove")
DIMENSIONS = (2, 4, 8, 16)


def seconds(work):
    """CPU seconds of the best of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def samplers():
    """Name, how many draws, the work, and the figure to beat in CPU seconds."""
    source = Source.secure()
    one = {"sensitivity": Sensitivity(1, ROW)}
    laplace = Laplace.for_target(PureDP(1), **one, grid="0.001")
    geometric = Laplace.for_target(PureDP(1), **one, grid=1)
    cells = Laplace.for_target(PureDP(1), sensitivity=Sensitivity.cells(MILLION, ROW), grid=1)
    choice = Exponential.for_target(PureDP(1), **one)
    gaussian = Gaussian.for_target(ApproxDP(1, "1e-6"), **one, grid=1)
    counts, scores = np.arange(MILLION), [7919 * index % 100 for index in range(100)]
    yield "Laplace, grid .001", MILLION, lambda: laplace.noise(source, MILLION), 2
    yield "geometric", MILLION, lambda: geometric.noise(source, MILLION), 2
    yield "a contingency table of a million cells", MILLION, lambda: cells.draw(counts, source), 2
    for grid in (1, "0.001", "1e-9"):
        noise = Staircase.for_target(PureDP("0.1"), **one, grid=grid)
        yield f"staircase, epsilon .1, grid {grid}", MILLION, lambda n=noise: n.noise(source, MILLION), 2
    for dimension in (*DIMENSIONS, 64):
        sensitivity = Sensitivity([1 + j for j in range(dimension)], ROW)
        noise = Staircase.for_target(PureDP(1), sensitivity=sensitivity, grid="0.1", criterion="region_volume")
        rows = MILLION // dimension
        yield f"box of {dimension}, {rows:,} rows", MILLION, lambda n=noise, r=rows: n.noise(source, r), 2
    noise = Staircase.for_target(PureDP(1), sensitivity=Sensitivity((1, 2), ROW), grid="0.1")
    yield "box of 2, a million rows", MILLION, lambda n=noise: n.noise(source, MILLION), 2
    yield "exponential, 100 options", MILLION, lambda: choice.draws(scores, source, MILLION), 2
    yield "Gaussian", MILLION, lambda: gaussian.noise(source, MILLION), 2


def unequal_sums(epsilon=1, confidence=0.95, largest=100):
    """For 2, 4, 8, 16 sums with ranges from 1 to `largest`: the box law beside Laplace noise, as plain values."""
    found = []
    for dimension in DIMENSIONS:
        sides = tuple(Fraction(round(1000 * largest ** (j / (dimension - 1))), 1000) for j in range(dimension))
        for criterion in ("region_volume", "total_variance", "worst_component"):
            inner = best_inner(Fraction(epsilon), sides, criterion, confidence=Fraction(str(confidence)))
            law = BoxDistribution(float(epsilon), tuple(float(side) for side in sides), inner)
            found.append((criterion, compare_with_laplace(law, confidence)))
    return found


def main():
    """Print both tables."""
    print(f"{'CPU seconds':44}{'draws':>12}{'ours':>9}{'to beat':>9}{'draws/s':>14}")
    for name, draws, work, limit in samplers():
        spent = seconds(work)
        print(f"{name:44}{draws:12,}{spent:9.3f}{limit or '-':>9}{draws / spent:14,.0f}")
    print(
        "\nunequal sums (ranges 1 to 100), epsilon 1, beside Laplace noise with one scale and with a scale for each range"
    )
    print(f"{'':21}{'volume of the 95 % region':^45}{'mean |error| / range':^30}")
    print(
        f"{'sums':>4} {'inner box for':16}"
        f"{'ours':>12}{'Laplace':>12}{'even':>12}{'even/ours':>12}{'ours':>9}{'Laplace':>9}{'even':>9}"
    )
    for criterion, row in unequal_sums():
        volumes = (row.log_volume, row.log_volume_laplace, row.log_volume_even)
        errors = (row.expected_error, row.expected_error_laplace, row.expected_error_even)
        print(
            f"{row.dimension:4} {criterion:16}" + "".join(f"{power(volume):>12}" for volume in volumes)
            + f"{exp(row.log_volume_even - row.log_volume):12.4g}" + "".join(f"{error:9.3f}" for error in errors)
        )  # fmt: skip


def power(logarithm):
    """A number from its logarithm, however large."""
    exponent = int(logarithm / log(10))
    return f"{exp(logarithm - exponent * log(10)):.3f}e{exponent}"


if __name__ == "__main__":
    main()
