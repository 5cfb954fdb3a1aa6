"""LQS10 and LQS11: Table 1 (amplification), Table 2 (delta at k = 20; LQS10 Table 1), section 2.7, and Figures 2 to 7.

The papers print their figures as images without numbers, so what can be compared is what the text says. In the pictures solid
lines are the published d, dashed ones the tight delta*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from itertools import pairwise

from shoal.errors import InfeasibleError, PreconditionError
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import SampledDP, SmoothDP, allowance, amplify
from shoal.guarantee.rounding import exact, text_up
from shoal.guarantee.safe_k import curve as safe_k
from shoal.guarantee.safe_k.setting import solve
from shoal.lab.papers.comparison import Finding, Reproduction, digits, erratum, statement
from shoal.page.picture import Picture, PlotAxis, Series

ELEVEN = {"1": ("11", "2.40", "1e-5"), "0.1": ("2", "0.69", "1e-6"), "0.01": ("1.1", "0.095", "1e-7")}
"""beta: e^epsilon, epsilon and delta of an algorithm that is (ln 11, 1e-5)-DP, as LQS11 Table 1 prints them."""

ONE = {"1": "1", "0.1": "0.159", "0.01": "0.017"}
"""beta: epsilon of an algorithm that is (1, 0)-DP."""

EPSILONS = ("0.25", "0.5", "0.75", "1.0", "1.5", "2.0")

DELTAS = {
    "0.05": ("6.83e-10", "2.50e-14", "3.19e-17", "1.76e-19", "3.97e-22", "2.00e-24"),
    "0.1": ("4.19e-06", "1.61e-09", "3.44e-12", "4.07e-14", "3.22e-16", "1.89e-18"),
    "0.2": ("2.16e-03", "8.02e-06", "1.89e-07", "6.03e-09", "4.79e-11", "1.59e-12"),
}
"""beta: delta at each of EPSILONS for k = 20, as LQS11 Table 2 and LQS10 Table 1 print it."""


def table_1() -> Reproduction:
    """Sampling amplifies: two algorithms at three rates."""
    findings: list[Finding] = []
    for rate, (ratio, epsilon, delta) in ELEVEN.items():
        found = amplify(math.log(11), "1e-5", rate)
        findings += [
            digits(f"e^epsilon at beta {rate}, from (ln 11, 1e-5)", ratio, math.exp(found.epsilon)),
            digits(f"epsilon at beta {rate}, from (ln 11, 1e-5)", epsilon, found.epsilon),
            digits(f"delta at beta {rate}, from (ln 11, 1e-5)", delta, found.delta),
        ]
    findings += [
        digits(f"epsilon at beta {rate}, from (1, 0)", epsilon, amplify(1, 0, rate).epsilon)
        for rate, epsilon in ONE.items()
    ]
    spare = allowance("0.1", 0, "0.01").epsilon
    remark = (
        f"The other way round: a target of 0.1 on data that are a 1 % sample allows epsilon {spare:.4g} on the sample."
    )
    return Reproduction(findings, [remark])


def table_2() -> Reproduction:
    """The published d to every printed digit, with the tight delta* beside it."""
    findings = []
    for beta, row in DELTAS.items():
        for epsilon, printed in zip(EPSILONS, row, strict=True):
            ours, tight = (safe_k.delta(20, beta, epsilon, bound) for bound in ("published", "tight"))
            better = f"{text_up(tight, 3)} ({ours / tight:.3g} times smaller)"
            findings.append(digits(f"delta at beta {beta}, epsilon {epsilon}", printed, ours, better))
    return Reproduction(
        findings, ["Improved: delta*, for which the release is (epsilon, delta*)-DP; d bounds a bad outcome."]
    )


def section_2_7() -> Reproduction:
    """Fifty publications, each from its own sample at rate 0.2 and (0.2, 0.02, 0)-DPS."""
    total = compose([(SampledDP("0.2", "0.02", 0).on_fresh_sample(), 50)])
    missed = 0.8**50
    composed = total.epsilon_at("1e-6")
    return Reproduction(
        [
            digits(
                "epsilon of 50 outputs at epsilon 0.02 and delta 0",
                "1",
                total.basic_epsilon(0),
                f"{composed:.4g} at delta 1e-6",
            ),
            statement(
                "a tuple is in at least one of 50 samples at rate 0.2",
                "with high probability",
                f"{1 - missed:.6f}",
                missed < 1e-4,
            ),
        ],
        [
            "Improved: the same 50 outputs through privacy-loss distributions, which allow a small delta to pay for epsilon."
        ],
    )


RATES = ("0.05", "0.1", "0.2", "0.3", "0.4")
EQUALS = {"0.05": 15, "0.1": 22, "0.2": 35, "0.4": 60}
"""beta: the k that Figure 4 finds to protect alike."""
STEP = 1e-5
"""What 10 more of k do to delta at epsilon 2, says the text of Figure 2."""
SMALL = 0.001
"""What delta is below for k >= 2 at epsilon 2, says the text of Figure 5."""
SMOOTH_STARTS = ("0.25", "0.5", "0.75", "1", "1.5", "2")

LINES = (("published d", False), ("tight delta*", True))


def figure_2() -> Reproduction:
    """1/delta against epsilon for five k at beta 0.2."""
    steps = {
        k: safe_k.delta_published(k + 10, "0.2", 2) / safe_k.delta_published(k, "0.2", 2) for k in (10, 20, 30, 40)
    }
    tight = {k: safe_k.delta_tight(k + 10, "0.2", 2) / safe_k.delta_tight(k, "0.2", 2) for k in steps}
    findings = [
        statement(
            f"delta at epsilon 2 when k grows from {k} to {k + 10}",
            f"times roughly {STEP:g}",
            f"times {step:.2g}",
            STEP / 10 <= step <= STEP * 10,
            difference=f"{math.log10(step / STEP):+.2f} powers of ten",
            improved=f"times {tight[k]:.2g}",
        )
        for k, step in steps.items()
    ]
    picture = _family(
        "Figure 2: delta falls exponentially in k (beta = 0.2)", [(f"k = {k}", k, "0.2") for k in (5, 10, 20, 30, 50)]
    )
    return Reproduction(findings, ["'Roughly' is read as within a factor of ten."], [picture])


def figure_3() -> Reproduction:
    """1/delta against epsilon for five beta at k = 20."""
    values = [safe_k.delta_published(20, beta, 1) for beta in RATES]
    tight = [safe_k.delta_tight(20, beta, 1) for beta in RATES]
    findings = [
        statement(
            f"delta at epsilon 1 when beta falls from {high} to {low}",
            "dramatically smaller",
            f"{after:.3g} times smaller",
            after > 10,
            improved=f"{better:.3g} times smaller",
        )
        for low, high, after, better in zip(RATES, RATES[1:], _ratios(values), _ratios(tight), strict=False)
    ]
    picture = _family(
        "Figure 3: a smaller sample protects better (k = 20)", [(f"beta = {beta}", 20, beta) for beta in RATES]
    )
    return Reproduction(findings, ["'Dramatically' is read as more than ten times."], [picture])


def figure_4() -> Reproduction:
    """Doubling beta from (15, 0.05): which k protects alike."""
    grid = ("0.6", "0.8", "1", "1.25", "1.5", "1.75", "2")
    level = {e: safe_k.delta_published(EQUALS["0.05"], "0.05", e) for e in grid}
    best = {e: safe_k.delta_tight(EQUALS["0.05"], "0.05", e) for e in grid}
    findings = []
    for beta, k in list(EQUALS.items())[1:]:
        ours = [solve(epsilon=e, delta=level[e], beta=beta, bound="published").k for e in grid]
        tight = [solve(epsilon=e, delta=best[e], beta=beta).k for e in grid]
        findings.append(
            statement(
                f"k that protects at beta {beta} like 15 at 0.05",
                str(k),
                f"{min(ours)} to {max(ours)}",
                min(ours) <= k <= max(ours),
                difference="inside" if min(ours) <= k <= max(ours) else "outside",
                improved=f"{min(tight)} to {max(tight)}",
            )
        )
    picture = _family(
        "Figure 4: a larger sample needs a larger k",
        [(f"k = {k}, beta = {beta}", k, beta) for beta, k in EQUALS.items()],
    )
    remark = "The k of equal delta depends on epsilon; the range is over epsilon 0.6 to 2, the smaller k at the larger epsilon."
    return Reproduction(findings, [remark], [picture])


def figure_5() -> Reproduction:
    """Very small k at beta 0.025."""
    beta = 0.025
    alone = safe_k.delta_published(1, "0.025", 2)
    findings = [
        statement(
            "delta at k = 1, epsilon 2",
            "less than beta = 0.025",
            f"{alone:.4g}",
            alone <= beta,
            difference="equal to beta",
            improved="0.025 at every epsilon",
        )
    ]
    for k in (2, 3, 4, 5):
        ours, tight = safe_k.delta_published(k, "0.025", 2), safe_k.delta_tight(k, "0.025", 2)
        findings.append(
            statement(
                f"delta at k = {k}, epsilon 2", f"< {SMALL:g}", f"{ours:.4g}", ours < SMALL, improved=f"{tight:.4g}"
            )
        )
    early = safe_k.delta_published(1, "0.025", "0.1")
    findings.append(
        erratum("delta at k = 1, epsilon 0.1", "less than beta = 0.025", f"{early:.4g}", early > beta, improved="0.025",
                difference="the bound is larger")
    )  # fmt: skip
    picture = _family("Figure 5: very small k (beta = 0.025)", [(f"k = {k}", k, "0.025") for k in (1, 2, 3, 4, 5)])
    remark = (
        "At k = 1 the published bound equals beta from epsilon 0.67 on and exceeds it below; the truth is beta throughout, "
        "which is not less than beta."
    )
    return Reproduction(findings, [remark], [picture])


def figure_6() -> Reproduction:
    """The smallest epsilon for each k at delta 1e-6."""
    sizes = (5, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100)
    series, findings, at_forty = [], [], []
    for colour, beta in enumerate(RATES):
        both = {bound: _epsilons(sizes, beta, bound) for bound in ("published", "tight")}
        for bound, points in both.items():
            label = f"beta = {beta}"
            x, y = [float(k) for k in points], list(points.values())
            series.append(Series(label, x, y, colour, dashed=bound == "tight", named=bound == "published"))
        reached = list(both["published"].values())
        at_forty.append(both["published"][40])
        findings.append(
            statement(
                f"epsilon at beta {beta} as k grows to 100",
                "smaller for larger k",
                f"{reached[0]:.3g} at k = {next(iter(both['published']))} to {reached[-1]:.3g}",
                reached[-1] < reached[0] and all(b <= a * (1 + 1e-9) for a, b in pairwise(reached)),
                improved=f"to {both['tight'][100]:.3g}",
            )
        )
    findings.append(
        statement(
            "epsilon at k = 40 from beta 0.05 to 0.4",
            "effect quite substantial",
            f"{at_forty[0]:.3g} to {at_forty[-1]:.3g}",
            all(after > 1.3 * before for before, after in pairwise(at_forty)),
        )
    )
    picture = Picture(
        title="Figure 6: epsilon against k at delta = 1e-6",
        x=PlotAxis("k, the smallest class that is published", log=True),
        y=PlotAxis("smallest epsilon", limits=(0, None)),
        series=series,
        legend=LINES,
        caption="Published lines end at -ln(1 - beta), below which that theorem is silent.",
    )
    return Reproduction(findings, ["Where beta^k > 1e-6 no epsilon is enough, and the line begins later."], [picture])


def figure_7() -> Reproduction:
    """The f of the f-smooth bound at k = 20; the caption names no beta, and the text holds at 0.2."""
    grid = [1 + i / 10 for i in range(71)]
    curves = {start: [SmoothDP.of(20, "0.2", start).f(exact(z)) for z in grid] for start in SMOOTH_STARTS}
    falling = all(after < before for values in curves.values() for before, after in pairwise(values))
    later = [curves[start] for start in SMOOTH_STARTS[2:]]
    ordered = all(
        a < b for slow, fast in zip(later[1:], later, strict=False) for a, b in zip(fast[1:], slow[1:], strict=True)
    )
    crossed = [
        start
        for start in SMOOTH_STARTS[1:]
        if len({q < s for q, s in zip(curves["0.25"][1:], curves[start][1:], strict=True)}) == 2
    ]
    findings = [
        statement(
            "f(1)", "1", f"{max(values[0] for values in curves.values()):.6g}", all(v[0] >= 1 for v in curves.values())
        ),
        statement(
            "f beyond z = 1", "decays exponentially fast", "falls at every step" if falling else "rises", falling
        ),
        statement(
            "f for larger epsilon_0 above 0.5",
            "decays more slowly",
            "in this order at every z" if ordered else "not",
            ordered,
        ),
        statement(
            "f for epsilon_0 = 0.25",
            "cuts through the other curves",
            f"crosses those of {', '.join(crossed)}",
            bool(crossed),
        ),
    ]
    picture = Picture(
        title="LQS10 Figure 7: f beyond epsilon_0 (k = 20, beta = 0.2)",
        x=PlotAxis("z = epsilon / epsilon_0"),
        y=PlotAxis("f(z)", log=True),
        series=[Series(f"epsilon_0 = {start}", grid, values, i) for i, (start, values) in enumerate(curves.items())],
        caption="delta at z times epsilon_0 is at most delta_0 f(z). The curves level off because delta_0 f tends to "
        "(beta e^(1 - beta))^k, which is not zero.",
    )
    remark = (
        "The authors were unsure why 0.25 cuts through. In units of its own epsilon_0 a small start falls more slowly at first; "
        "but it starts from a larger delta_0 and all end at the same floor, so it has further to fall."
    )
    return Reproduction(findings, [remark], [picture])


def _ratios(values: list[float]) -> list[float]:
    return [after / before for before, after in pairwise(values)]


def _epsilons(sizes: Iterable[int], beta: str, bound: str) -> dict[int, float]:
    found = {}
    for k in sizes:
        try:
            found[k] = float(solve(delta="1e-6", k=k, beta=beta, bound=bound).epsilon)
        except (InfeasibleError, PreconditionError):
            continue
    return found


def _family(title: str, members: list[tuple[str, int, str]]) -> Picture:
    """1/delta against epsilon, as the papers plot it."""
    series = []
    for colour, (label, k, beta) in enumerate(members):
        start = -math.log1p(-float(beta))
        spoken = [exact(round(start + 1e-9 + (2 - start) * i / 240, 12)) for i in range(241)]
        series.append(_inverse(label, spoken, partial(safe_k.delta_published, k, beta), colour, dashed=False))
        whole = [Fraction(i, 100) for i in range(201)]
        series.append(_inverse(label, whole, partial(safe_k.delta_tight, k, beta), colour, dashed=True))
    return Picture(
        title=title,
        x=PlotAxis("epsilon", limits=(0, 2)),
        y=PlotAxis("1 / delta (higher is better)", log=True),
        series=series,
        legend=LINES,
        caption="Published lines begin at -ln(1 - beta), below which that theorem is silent; the tight ones have no gap.",
    )


def _inverse(
    label: str, grid: list[Fraction], curve: Callable[[Fraction], float], colour: int, *, dashed: bool
) -> Series:
    return Series(
        label, [float(e) for e in grid], [1 / curve(e) for e in grid], colour, dashed=dashed, named=not dashed
    )
