"""SC13 Figures 4.1 to 4.7: the curves, and every number and ordering that captions and text state about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shoal.lab.papers.comparison import Reproduction, digits, erratum, statement
from shoal.lab.papers.sc13_noise import INNER, SCALE, SIDES, example_5
from shoal.mechanism.staircase.distribution import BoxDistribution
from shoal.mechanism.staircase.mechanism import OptimalNoise
from shoal.page.picture import Axis, Level, Mark, Picture, Series

LEAST_VARIANCE = ("0.416737", "1.9181")
"""d, and the variance there."""
SHORTEST = "0.993"
"""The d of the shortest 95 % interval."""
COMPONENTS = ("4.0338", "403.38")
"""Variances of Example 5."""
LAPLACE_VARIANCE = "242"
STEPS = 400
LINES = (("piecewise constant", False), ("Laplace", True))


def figure_4_1() -> Reproduction:
    """Laplace(0, 1), and the noise that is made of it by moving mass towards zero inside each unit interval."""
    falls = math.exp(-1)
    parts = [_part_at_top(i) for i in range(20)]
    law = BoxDistribution(1.0, (1.0,), ((1 - 2 * falls) / (1 - falls),))
    places = np.linspace(0, 12, 1201)
    gained = [law.cdf(a) - law.cdf(-a) + math.expm1(-a) for a in places]
    kept = max(abs(law.cdf(i) - (1 - math.exp(-i) / 2)) for i in range(1, 20))
    shifts = np.linspace(-1, 1, 41)
    worst = max(float((law.density(places) / law.density(places + shift)).max()) for shift in shifts)
    variance = float(law.variance[0])
    findings = [
        statement(
            "m_i, the part of an interval at its maximum",
            "does not depend on i",
            f"{parts[0]:.6f} for i = 0 to 19",
            max(parts) - min(parts) < 1e-9 and abs(parts[0] - law.inner[0]) < 1e-9,
            difference=f"{max(parts) - min(parts):.1g}",
        ),
        statement(
            "the mass of each interval", "preserved", f"within {kept:.1g}", kept < 1e-12, difference=f"{kept:.1g}"
        ),
        statement(
            "density at x over density at x + d, |d| <= 1",
            "at most e",
            f"{worst:.6f}",
            worst <= math.e * (1 + 1e-12),
        ),
        statement(
            "Pr[|Y| <= a] beside Laplace",
            "at least as large for every a",
            f"{min(gained):+.2g} to {max(gained):+.4f}",
            min(gained) > -1e-12 and max(gained) > 0.01,
        ),
        statement("its variance", "smaller than Laplace's 2", f"{variance:.4f}", variance < 2),
    ]
    grid = np.linspace(-4, 4, 2 * STEPS + 1)
    picture = Picture(
        title="SC13 Figure 4.1: mass moved towards zero",
        x=Axis("noise"),
        y=Axis("density", limits=(0, None)),
        series=[
            Series("new", *line(law, 4), 0, named=False),
            Series("Laplace", grid.tolist(), (np.exp(-np.abs(grid)) / 2).tolist(), 1, dashed=True, named=False),
        ],
        legend=LINES,
        caption=f"Epsilon 1, sensitivity 1. The part at the maximum is {law.inner[0]:.4f} long in every unit interval, so all "
        "further steps have length 1.",
    )
    return Reproduction(findings, [], [picture])


def figure_4_2() -> Reproduction:
    """The variance against d at epsilon 1 and sensitivity 1."""
    best = OptimalNoise(1, 1)
    grid = np.linspace(0, 1, 201)
    ours = [float(BoxDistribution(1.0, (1.0,), (d,)).variance[0]) for d in grid]
    gap = max(abs(_variance_as_printed(d) / own - 1) for d, own in zip(grid[1:], ours[1:], strict=True))
    least = float(best.distribution.variance[0])
    findings = [
        digits("d of the least variance", LEAST_VARIANCE[0], best.distribution.inner[0]),
        digits("the least variance", LEAST_VARIANCE[1], least),
        statement(
            "no d on a grid of 201 has less", "the minimum", f"{min(ours):.6f}", min(ours) >= least,
            difference=f"{min(ours) - least:+.1g}",
        ),
        statement("the least variance beside Laplace's", "below 2", f"{least:.4f}", least < 2),
        statement(
            "V(Z), the printed sum of integrals", "the curve", "the same at 200 d", gap < 1e-9, difference=f"{gap:.1g}"
        ),
    ]  # fmt: skip
    below = [float(d) for d, own in zip(grid, ours, strict=True) if own < 2]
    picture = Picture(
        title="SC13 Figure 4.2: the variance against d",
        x=Axis("d, half the length of the first step"),
        y=Axis("variance", limits=(1.9, None)),
        series=[Series("optimal noise", grid.tolist(), ours, 0, named=False)],
        marks=[Mark(best.distribution.inner[0], least, f"{least:.4f} at d = {best.distribution.inner[0]:.4f}")],
        levels=[Level(2.0, "Laplace: 2")],
        caption=f"Epsilon 1, sensitivity 1. Below Laplace from d = {below[0]:.2f} to {below[-1]:.2f}.",
    )
    return Reproduction(findings, [], [picture])


def figure_4_3() -> Reproduction:
    """The length of the symmetric 95 % interval against d."""
    best = OptimalNoise(1, 1, "min_interval")
    grid = np.linspace(0, 1, 401)
    ours = [BoxDistribution(1.0, (1.0,), (d,)).interval(0.95).length for d in grid]
    least, laplace = best.distribution.interval(0.95).length, 2 * math.log(20)
    others = {e: float(OptimalNoise(e, 1, "min_interval").distribution.inner[0]) for e in ("0.1", "0.5", "2")}
    findings = [
        digits("d of the shortest interval", SHORTEST, best.distribution.inner[0]),
        statement(
            "no d on a grid of 401 has a shorter one", "the minimum", f"{min(ours):.6f}", min(ours) >= least - 1e-12,
            difference=f"{min(ours) - least:+.1g}",
        ),
        statement(
            "d of the shortest interval at other epsilon",
            "depends on epsilon",
            ", ".join(f"{d:.4f} at {e}" for e, d in others.items()),
            len({round(d, 3) for d in (*others.values(), best.distribution.inner[0])}) == 4,
        ),
        statement("the shortest beside Laplace's", "worse but close", f"{laplace / least - 1:+.3%}",
                  least < laplace < 1.01 * least),
    ]  # fmt: skip
    longer = max(float(d) for d, length in zip(grid[:-10], ours[:-10], strict=True) if length > laplace)
    picture = Picture(
        title="SC13 Figure 4.3: the 95 % interval against d",
        x=Axis("d, half the length of the first step"),
        y=Axis("length of the 95 % interval", limits=(5.985, None)),
        series=[Series("optimal noise", grid.tolist(), ours, 0, named=False)],
        marks=[
            Mark(best.distribution.inner[0], least, f"{least:.4f} at d = {best.distribution.inner[0]:.4f}", right=False)
        ],
        levels=[Level(laplace, f"Laplace: {laplace:.4f}")],
        caption=f"Epsilon 1, sensitivity 1. Below d = {longer:.2f} the interval is longer than Laplace's, at the d of the least "
        "variance too.",
    )
    return Reproduction(findings, [], [picture])


def figure_4_4() -> Reproduction:
    """What Laplace noise protects needlessly when both answers move by 1."""
    return _overprotected("4.4", (1.0, 1.0), "2")


def figure_4_5() -> Reproduction:
    """The same when the second answer moves by 10."""
    return _overprotected("4.5", SIDES, "11")


def figure_4_6() -> Reproduction:
    """The two joint densities of Example 5, along both axes."""
    law = example_5()
    top, laplace = float(law.density([0.0, 0.0])), 1 / (2 * SCALE) ** 2
    falls = math.exp(-1)
    inner, box = 4 * math.prod(INNER), 4 * math.prod(SIDES)
    inside = top * (inner + falls * (box - inner))
    theirs = math.prod(-math.expm1(-s / SCALE) for s in SIDES)
    second = law.cdf(SIDES[1], 1) - law.cdf(-SIDES[1], 1)
    laplace_second = -math.expm1(-SIDES[1] / SCALE)
    findings = [
        digits("scale of the Laplace noise", "11", SCALE),
        statement(
            "density at zero over Laplace's", "much more around zero", f"{top / laplace:.2f} times", top > 5 * laplace
        ),
        statement(
            "Pr[noise in S_f]",
            "much more than Laplace",
            f"{inside:.4f} against {theirs:.4f}",
            inside > 3 * theirs,
            difference=f"{inside / theirs:.2f} times",
        ),
        erratum(
            "smaller than Laplace by Definition 7?",
            "agrees with the definition",
            f"Pr[|Y_2| <= 10] {second:.3f} against {laplace_second:.3f}",
            second < laplace_second,
            difference="neither is smaller",
            improved="optimal: nothing is smaller",
        ),
    ]
    grid = np.linspace(0, 40, STEPS + 1)
    curve = (laplace * np.exp(-grid / SCALE)).tolist()
    series = [
        Series("along the first answer", *_along(law, 0, 8), 0),
        Series("along the second", *_along(law, 1, 40), 1),
    ]
    series.append(Series("both (Laplace)", grid.tolist(), curve, 2, dashed=True))
    picture = Picture(
        title="SC13 Figure 4.6: two densities that keep epsilon 1",
        x=Axis("noise in one answer, none in the other", limits=(0, 40)),
        y=Axis("joint density", log=True, limits=(1e-5, 0.05)),
        series=series,
        legend=LINES,
        caption="Answers move by 1 and by 10; S_0 has the half-sides 0.1 and 1. Laplace noise falls equally fast in both "
        "directions, the piecewise constant noise ten times faster in the first.",
    )
    return Reproduction(findings, [], [picture])


def figure_4_7() -> Reproduction:
    """The components of both, each by itself."""
    law = example_5()
    gaps = [_formula_gap(law, component) for component in (0, 1)]
    far = [float(v) for v in law.variance]
    reach = np.linspace(0.5, 60, 120)
    behind = [law.cdf(a, 1) - law.cdf(-a, 1) + math.expm1(-a / SCALE) for a in reach]
    ahead = [law.cdf(a, 0) - law.cdf(-a, 0) + math.expm1(-a / SCALE) for a in reach]
    best = OptimalNoise(1, SIDES, "total_variance").distribution.variance
    least = f"{best[0]:.2f} and {best[1]:.2f} with the S_0 of least total"
    findings = [
        digits("Var(Y_1), Laplace", LAPLACE_VARIANCE, 2 * SCALE**2),
        digits("Var(Y_2), Laplace", LAPLACE_VARIANCE, 2 * SCALE**2),
        digits("Var(Y_1), piecewise constant", COMPONENTS[0], far[0]),
        digits("Var(Y_2), piecewise constant", COMPONENTS[1], far[1], least),
        statement(
            "Var(Y_2) beside Laplace's",
            "about twice as big",
            f"{far[1] / 242:.2f} times",
            1.5 <= far[1] / 242 <= 2.5,
            improved=f"{best[1] / 242:.2f} times",
        ),
        statement("Var(Y_1) beside Laplace's", "much smaller", f"{242 / far[0]:.0f} times smaller", far[0] < 24.2),
        *(
            statement(
                f"f_Y{j + 1}, the printed density", "the derivative of the cdf", "the same at 60 places", gap < 1e-8,
                difference=f"{gap:.1g}",
            )
            for j, gap in enumerate(gaps)
        ),
        statement("Pr[|Y_1| <= a] less Laplace's", "clearly outperforms", f"{min(ahead):+.3g} to {max(ahead):+.3f}",
                  min(ahead) > 0 and max(ahead) > 0.5),
        statement("Pr[|Y_2| <= a] less Laplace's", "seems to underperform slightly",
                  f"{min(behind):+.3f} to {max(behind):+.2g}", min(behind) > -0.2 and max(behind) < 0),
    ]  # fmt: skip
    series = []
    for j, end in enumerate((12.0, 40.0)):
        label = f"component {j + 1}"
        series.append(Series(label, *_steps(*_marginal(law, j, end)), j))
    grid = np.linspace(0, 40, STEPS + 1)
    series.append(
        Series("either (Laplace)", grid.tolist(), (np.exp(-grid / SCALE) / (2 * SCALE)).tolist(), 2, dashed=True)
    )
    picture = Picture(
        title="SC13 Figure 4.7: each component by itself",
        x=Axis("noise in the component", limits=(0, 40)),
        y=Axis("density", log=True, limits=(1e-4, 1)),
        series=series,
        legend=LINES,
        caption="Epsilon 1; the first answer moves by at most 1, the second by at most 10.",
    )
    return Reproduction(findings, [], [picture])


def line(law: BoxDistribution, reach: float) -> tuple[list[float], list[float]]:
    """The steps of noise in one dimension between -reach and reach."""
    d, s = law.inner[0], law.sensitivity[0]
    right = [d + i * s for i in range(math.ceil((reach - d) / s)) if d + i * s < reach]
    edges = [-reach, *(-edge for edge in reversed(right)), *right, reach]
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    return _steps(edges, [float(law.density(middle)) for middle in middles])


def _steps(edges: Sequence[float], heights: Sequence[float]) -> tuple[list[float], list[float]]:
    """The outline of a step function: two points for each step."""
    x = [end for step in pairwise(edges) for end in step]
    return x, [height for height in heights for _ in (0, 1)]


def _along(law: BoxDistribution, component: int, end: float) -> tuple[list[float], list[float]]:
    """The joint density along one axis."""
    edges = _edges(law, component, end)
    points = [[(a + b) / 2 if j == component else 0.0 for j in (0, 1)] for a, b in pairwise(edges)]
    return _steps(edges, [float(law.density(point)) for point in points])


def _marginal(law: BoxDistribution, component: int, end: float) -> tuple[list[float], list[float]]:
    """The steps of one component, from its cdf."""
    edges = _edges(law, component, end)
    return edges, [(law.cdf(b, component) - law.cdf(a, component)) / (b - a) for a, b in pairwise(edges)]


def _edges(law: BoxDistribution, component: int, end: float) -> list[float]:
    z, s = law.inner[component], law.sensitivity[component]
    return [0.0, *(z + i * s for i in range(math.ceil(end)) if z + i * s < end), end]


def _formula_gap(law: BoxDistribution, component: int) -> float:
    """How far the density that SC13 prints for a component is from the slope of our cdf."""
    z, s = law.inner[component], law.sensitivity[component]
    other_z, other_s = law.inner[1 - component], law.sensitivity[1 - component]
    top = float(law.density([0.0, 0.0]))
    worst = 0.0
    for place in range(60):
        x = (place + 0.31) * s / 7
        i = math.floor((abs(x) - z) / s + 1)
        printed = 2 * top * math.exp(-i) * (other_z + other_s * i + other_s / (math.e - 1))
        width = s * 1e-3
        slope = (law.cdf(x + width, component) - law.cdf(x - width, component)) / (2 * width)
        worst = max(worst, abs(printed / slope - 1))
    return worst


def _part_at_top(i: int) -> float:
    """m_i from the mass that the i-th interval has to keep."""
    top, bottom = math.exp(-i) / 2, math.exp(-i - 1) / 2
    return (math.exp(-i) * -math.expm1(-1) / 2 - bottom) / (top - bottom)


def _variance_as_printed(d: float) -> float:
    """V(Z) by the integrals and the sum that SC13 prints, M_0 from its formula of d."""
    falls = math.exp(-1)
    top = (1 - falls) / (2 * (d * (1 - falls) + falls))
    tail = sum(falls**i * ((d + i + 1) ** 3 - (d + i) ** 3) / 3 for i in range(80))
    return 2 * top * d**3 / 3 + 2 * top * falls * tail


def _overprotected(number: str, sides: tuple[float, float], moved: str) -> Reproduction:
    """The box S_f inside the ball of L1 that Laplace noise protects."""
    radius, (a, b) = sum(sides), sides
    box, ball = 4 * a * b, 2 * radius**2
    at_corner = math.exp(-(a + b) / radius)
    plain = (2 * 2**2 - 4) / 4
    findings = [
        digits("L1 sensitivity of f", moved, radius),
        statement(
            "Laplace density at the corners of S_f", "e^-epsilon of that at zero", f"{at_corner:.6f}",
            math.isclose(at_corner, math.exp(-1)),
        ),
        statement(
            "points outside S_f that are protected as well", "L1 norm up to the sensitivity",
            f"area {ball - box:g} beside {box:g} of S_f", ball > box, difference=f"{(ball - box) / box:.2f} times S_f",
        ),
    ]  # fmt: skip
    if sides != (1.0, 1.0):
        findings.append(
            statement(
                "that ratio when answers move unequally", "may become still larger",
                f"{(ball - box) / box:.2f} after {plain:.2f} in Figure 4.4", (ball - box) / box > plain,
            )
        )  # fmt: skip
    square = Series("S_f: what one person can move", [-a, a, a, -a, -a], [-b, -b, b, b, -b], 0, named=False)
    diamond = Series(
        "what Laplace noise protects", [0, radius, 0, -radius, 0], [-radius, 0, radius, 0, -radius], 1, dashed=True,
        named=False,
    )  # fmt: skip
    room = 1.1 * radius
    picture = Picture(
        title=f"SC13 Figure {number}: answers that move by {a:g} and by {b:g}",
        x=Axis("first answer", limits=(-room, room)),
        y=Axis("second answer", limits=(-room, room)),
        series=[square, diamond],
        legend=(("S_f: what one person can move", False), ("what Laplace noise protects", True)),
        caption=f"Laplace noise protects {ball / box:.3g} times the area that it has to. Noise in boxes protects S_f alone.",
    )
    return Reproduction(findings, [], [picture])
