"""SC13 Figures 5.1 to 5.7: the laws of refined answers, and every number that captions and text state about them."""

from __future__ import annotations

import math

import numpy as np

from shoal.lab.papers.comparison import Finding, Reproduction, digits, erratum, statement
from shoal.lab.papers.sc13_noise import is_cut, rounded_or_cut
from shoal.lab.papers.sc13_refinement import LEAK, REACHED, ROWS, coin, moved_too_far, rare
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.refinement.prior import UniformPrior
from shoal.mechanism.refinement.response import RefinedDistribution
from shoal.page.picture import Axis, Mark, Picture, Series

COIN = ("0.1839", "0.8161")
"""Example 8: Pr[1 | 0] and Pr[1 | 1]."""
ROUNDED = ("0.184", "0.816", "0.19")
"""Section 5.5.1 with Laplace noise: Pr[1 | 0], Pr[1 | 1], Pr[1]."""
REFINED = {(0, 1): "0.003678", (0, 0): "0.996322", (1, 1): "0.027182", (1, 0): "0.972817"}
"""Section 5.5.1 with refinement: (truth, answer): probability."""
SHOWN = "0.003912"
UP = "1.5"
"""alpha_u of Figures 5.1 and 5.3: U_u is then a third of [0, 1], which has the printed 0.166 and 0.833 as middles."""
CELLS = 600
KINDS = (("epsilon = ln 2", False), ("epsilon = ln 2, delta = 0.2", True))


def figure_5_1() -> Reproduction:
    """Two neighbouring answers: what is near one and far from the other."""
    mechanism = KnowledgeRefinement(UniformPrior(), math.log(2), "statistical", alpha_u=UP)
    here, there = mechanism.distribution(0.3), mechanism.distribution(0.7)
    left, right = here.density(0.6), there.density(0.6)
    ratios = [here.density(x) / there.density(x) for x in np.linspace(0.005, 0.995, 100)]
    masses = [refined.cdf(1.0) for refined in (here, there)]
    findings = [
        statement("factor at 0.6, far from f(D)", "alpha_d", f"{left:.6f}", math.isclose(left, mechanism.alpha_d)),
        statement("factor at 0.6, near f(D')", "alpha_u", f"{right:.6f}", math.isclose(right, mechanism.alpha_u)),
        statement("ratios of the two densities", "within [e^-epsilon, e^epsilon]",
                  f"{min(ratios):.6f} to {max(ratios):.6f}", min(ratios) >= 0.5 - 1e-12 and max(ratios) <= 2 + 1e-12),
        statement("epsilon = ln(alpha_u/alpha_d)", "ln 2", f"{math.log(right / left):.6f}",
                  math.isclose(right / left, 2)),
        statement("total mass of each", "1", ", ".join(f"{mass:.6g}" for mass in masses),
                  all(abs(mass - 1) < 1e-12 for mass in masses)),
    ]  # fmt: skip
    best = KnowledgeRefinement(UniformPrior(), math.log(2), "statistical")
    picture = Picture(
        title="SC13 Figure 5.1: answers to neighbouring tables",
        x=Axis("answer", limits=(0, 1)),
        y=Axis("density", limits=(0, 1.8)),
        series=[Series("f(D) = 0.3", *outline(here), 0), Series("f(D') = 0.7", *outline(there), 1)],
        marks=[Mark(0.6, left, "0.6, far"), Mark(0.6, right, "0.6, near", above=True)],
        caption=f"Uniform prior, epsilon ln 2, alpha_u = {UP}, alpha_d = {mechanism.alpha_d:g}.",
    )
    remark = (
        f"The thesis names no numbers here; these are ours. With alpha_u = {UP} the mean distance is "
        f"{mechanism.expected_error:.4f} when the truth follows the prior; the best alpha_u, {best.alpha_u:.4f}, gives "
        f"{best.expected_error:.4f}."
    )
    return Reproduction(findings, [remark], [picture])


def figure_5_2() -> Reproduction:
    """A question about one person whose value is 0.5, without and with a delta."""
    plain, wide = (KnowledgeRefinement(UniformPrior(), math.log(2), delta=str(delta)) for delta in (0, LEAK))
    law, more = plain.distribution(0.5), wide.distribution(0.5)
    moved = wide.curve.moved
    broken, kept = (moved_too_far("individual", part) for part in (2 * moved, moved))
    findings = [
        statement("density near 0.5", "e^epsilon = 2", f"{law.density(0.5):.6f}", math.isclose(law.density(0.5), 2)),
        statement(
            "density far from 0.5", "e^-epsilon = 1/2", f"{law.density(0.01):.6f}", math.isclose(law.density(0.01), 0.5)
        ),
        statement(
            "length of U_u", "that of total mass 1: 1/3", f"{law.near_size:.6f}", abs(law.near_size - 1 / 3) < 1e-9
        ),
        statement("mass is taken from", "the tails", f"zero below {_first(more):.3f}", more.density(0.05) == 0),
        erratum(
            "delta with 0.2 moved to f(D)",
            f"{LEAK:g}",
            f"{broken:.4f}",
            abs(broken - REACHED["individual"]) < 1e-6 and abs(kept - LEAK) < 1e-6,
            difference=f"{broken - LEAK:+.2f}",
            improved=f"{float(moved):.3g} moved: {kept:.4f}",
        ),
    ]
    picture = Picture(
        title="SC13 Figure 5.2: one person's value is 0.5",
        x=Axis("answer", limits=(0, 1)),
        y=Axis("density", limits=(0, 2.4)),
        series=[
            Series("pure", *outline(law), 0, named=False),
            Series("with delta", *outline(more), 1, dashed=True, named=False),
        ],
        marks=[Mark(0.5, 2.0, f"with delta, {float(moved):.3g} more at 0.5", above=True)],
        legend=KINDS,
        caption="Uniform prior. What is moved is 0.2 e^-epsilon = 0.1; the thesis moves 0.2, which breaks its claim.",
    )
    return Reproduction(findings, [], [picture])


def figure_5_3() -> Reproduction:
    """A statistical question, for two true answers, without and with a delta."""
    plain, wide = (
        KnowledgeRefinement(UniformPrior(), math.log(2), "statistical", delta=str(delta), alpha_u=UP)
        for delta in (0, LEAK)
    )
    truths = (1 / 6, 5 / 6)
    laws, more = ([mechanism.distribution(truth) for truth in truths] for mechanism in (plain, wide))
    places = np.linspace(0.005, 0.995, 100)
    widest = max(laws[0].density(x) / laws[1].density(x) for x in places)
    moved = wide.curve.moved
    broken, kept = (moved_too_far("statistical", part) for part in (3 * moved / 2, moved))
    findings = [
        statement("largest ratio of the two densities", "2", f"{widest:.6f}", math.isclose(widest, 2)),
        statement(
            "U_u around 0.166 and 0.833",
            "symmetric around both",
            f"length {laws[0].near_size:.4f} and {laws[1].near_size:.4f}",
            all(abs(refined.near_size - 1 / 3) < 1e-9 for refined in laws),
        ),
        statement(
            "what is moved, whatever the data set",
            "the same",
            f"{float(moved):.6f}",
            all(refined.curve.moved == moved for refined in more),
        ),
        erratum(
            "delta with delta/2 = 0.1 moved to f(D)",
            f"{LEAK:g}",
            f"{broken:.4f}",
            abs(broken - REACHED["statistical"]) < 1e-6 and abs(kept - LEAK) < 1e-6,
            difference=f"{broken - LEAK:+.2f}",
            improved=f"{float(moved):.3g} moved: {kept:.4f}",
        ),
    ]
    series = []
    for i, (law, leaky, truth) in enumerate(zip(laws, more, ("0.166", "0.833"), strict=True)):
        series.append(Series(f"f(D) = {truth}", *outline(law), i))
        series.append(Series(f"f(D) = {truth}", *outline(leaky), i, dashed=True, named=False))
    picture = Picture(
        title="SC13 Figure 5.3: a statistical question with two true answers",
        x=Axis("answer", limits=(0, 1)),
        y=Axis("density", limits=(0, 1.8)),
        series=series,
        marks=[
            Mark(truths[0], 1.5, f"{float(moved):.2g} more at 0.166", above=True),
            Mark(truths[1], 1.5, f"{float(moved):.2g} more at 0.833", right=False, above=True),
        ],
        legend=KINDS,
        caption=f"Uniform prior, alpha_u = {UP}. What is moved with a delta is 0.2/(1 + e^epsilon); the thesis moves 0.1.",
    )
    remark = (
        "The thesis does not say which alpha_u it drew; 0.166 and 0.833 are the middles of the outer thirds, as at 1.5."
    )
    return Reproduction(findings, [remark], [picture])


def figure_5_4() -> Reproduction:
    """Example 8: a Boolean attribute about which nothing is known."""
    mechanism = coin()
    zero, one = (mechanism.distribution(truth) for truth in (0, 1))
    findings = [
        digits("Pr[1 | the value is 0]", COIN[0], float(zero.pmf(1))),
        digits("Pr[1 | the value is 1]", COIN[1], float(one.pmf(1))),
        statement("prior of 0 and of 1", "0.5", f"{float(mechanism.distribution(None).pmf(0)):g}",
                  mechanism.distribution(None).pmf(0) * 2 == 1),
        statement("the factor of the value 0", "below e^epsilon, so that the mass is one",
                  f"{2 * float(zero.pmf(0)):.4f}", 1 < 2 * float(zero.pmf(0)) < math.e),
    ]  # fmt: skip
    answers = {"prior": (0.5, 0.5), "answer if the value is 0": (float(zero.pmf(0)), float(zero.pmf(1)))}
    picture = _bars("SC13 Figure 5.4: a Boolean value of which nothing is known", answers, "Epsilon 1.")
    return Reproduction(findings, [], [picture])


def figure_5_5() -> Reproduction:
    """Section 5.5.1: Laplace noise of scale 1/2 on a Boolean value, rounded at 1/2."""
    wrong = math.exp(-1) / 2
    total = wrong * 0.99 + (1 - wrong) * 0.01
    better = rare()
    ours = _share(better, 0, 1) * 0.99 + _share(better, 1, 1) * 0.01
    findings = [
        digits("Pr[1 | the value is 0]", ROUNDED[0], wrong, f"{_share(better, 0, 1):.6f} refined"),
        digits("Pr[1 | the value is 1]", ROUNDED[1], 1 - wrong, f"{_share(better, 1, 1):.6f} refined"),
        digits("Pr[1] when 1 in 100 has the value 1", ROUNDED[2], total, f"{ours:.6f} refined"),
    ]
    grid = np.linspace(-2, 3, 501)
    series = [
        Series(f"the value is {truth}", grid.tolist(), np.exp(-2 * np.abs(grid - truth)).tolist(), truth, named=True)
        for truth in (0, 1)
    ]
    picture = Picture(
        title="SC13 Figure 5.5: a Boolean value with Laplace noise",
        x=Axis("answer"),
        y=Axis("density", limits=(0, None)),
        series=series,
        marks=[Mark(0.5, math.exp(-1), "0.5")],
        caption="Epsilon 1, scale 1/2: an absent person counts as 1/2. An answer below 0.5 becomes 0, any other 1.",
    )
    return Reproduction(findings, [], [picture])


def figure_5_6() -> Reproduction:
    """Section 5.5.1: the same attribute with a prior of 0.01, refined."""
    mechanism = rare()
    findings = [
        _cut_or_rest(f"Pr[{answer} | the value is {truth}]", printed, _share(mechanism, truth, answer))
        for (truth, answer), printed in REFINED.items()
    ]
    total = _share(mechanism, 0, 1) * 0.99 + _share(mechanism, 1, 1) * 0.01
    noisy = math.exp(-1) / 2 * 0.98 + 0.01
    findings += [
        statement(
            "Pr[1] when 1 in 100 has the value 1", SHOWN, f"{total:.6f}", abs(total - float(SHOWN)) < 2.5e-6,
            difference=f"{total / float(SHOWN) - 1:+.3%}",
        ),
        statement(
            "it is closer to 0.01 than Laplace's", "much closer", f"{abs(total - 0.01):.4f} away, Laplace {noisy - 0.01:.4f}",
            abs(total - 0.01) < abs(noisy - 0.01) / 10,
        ),
    ]  # fmt: skip
    wrong = _share(mechanism, 0, 1) * 0.99 + _share(mechanism, 1, 0) * 0.01
    bars = {
        "prior": (0.99, 0.01),
        "answer if the value is 0": (_share(mechanism, 0, 0), _share(mechanism, 0, 1)),
        "answer if the value is 1": (_share(mechanism, 1, 0), _share(mechanism, 1, 1)),
    }
    picture = _bars(
        "SC13 Figure 5.6: a rare Boolean value, refined", bars, "Epsilon 1; the value is 1 for 1 in 100.", True
    )
    remarks = [
        (
            "The printed probabilities are cut, not rounded, and the sum was made from cut ones; 0.02182 in it is a misprint "
            "(`shoal paper sc13-errata-5`)."
        ),
        (
            f"An answer is one draw from a law, not the best guess. Refined it is wrong with probability {wrong:.4f}, Laplace's "
            f"with {math.exp(-1) / 2:.4f}; saying 0 without a look is wrong with 0.01. At epsilon 1 a rare value stays hidden."
        ),
    ]
    return Reproduction(findings, remarks, [picture])


def figure_5_7() -> Reproduction:
    """A number in [0, 1] whose value is 0.5, for the four epsilons of Table 5.5."""
    findings, series = [], []
    grid = np.linspace(-1, 2, 601)
    for colour, (name, (epsilon, _)) in enumerate(ROWS.items()):
        refined = KnowledgeRefinement(UniformPrior(), epsilon).distribution(0.5)
        outside, spread = math.exp(-epsilon / 2), 2 / epsilon**2
        findings.append(
            statement(
                f"Pr[Laplace outside [0, 1]], epsilon {name}",
                "great probability",
                f"{outside:.3f}",
                outside > 0.3 and refined.cdf(1.0) - refined.cdf(0.0) > 1 - 1e-12,
                difference="refined: none",
                improved=f"variance {spread / refined.variance:.3g} times smaller",
            )
        )
        x, y = outline(refined)
        series.append(Series(f"epsilon = {name}", x, y, colour))
        noise = (epsilon / 2 * np.exp(-epsilon * np.abs(grid - 0.5))).tolist()
        series.append(Series(f"epsilon = {name}", grid.tolist(), noise, colour, dashed=True, named=False))
    tops = [max(line.y) for line in series if not line.dashed]
    findings.append(
        statement("density at 0.5, refined", "rises with epsilon", ", ".join(f"{top:.3f}" for top in tops),
                  tops == sorted(tops) and math.isclose(tops[-1], math.exp(2)))
    )  # fmt: skip
    picture = Picture(
        title="SC13 Figure 5.7: one person's value is 0.5",
        x=Axis("answer", limits=(-1, 2)),
        y=Axis("density", log=True, limits=(0.02, 10), ticks=(0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)),
        series=series,
        legend=(("uniform prior, refined", False), ("Laplace noise", True)),
        caption="A refined answer lies in [0, 1]. Laplace noise has the scale 1/epsilon, as in the thesis.",
    )
    return Reproduction(findings, [], [picture])


def outline(refined: RefinedDistribution) -> tuple[list[float], list[float]]:
    """The density on [0, 1] as steps, two points for each."""
    x: list[float] = []
    y: list[float] = []
    for i in range(CELLS):
        height = refined.density((i + 0.5) / CELLS)
        if y and y[-1] == height:
            x[-1] = (i + 1) / CELLS
        else:
            x += [i / CELLS, (i + 1) / CELLS]
            y += [height, height]
    return x, y


def _first(refined: RefinedDistribution) -> float:
    """Where the density stops being zero."""
    x, y = outline(refined)
    return next(place for place, height in zip(x, y, strict=True) if height > 0)


def _share(mechanism: KnowledgeRefinement, truth: int, answer: int) -> float:
    return float(mechanism.distribution(truth).pmf(answer))


def _cut_or_rest(what: str, printed: str, ours: float) -> Finding:
    """To all printed digits; cut, or one less a number that was cut, is told as an erratum."""
    rest = f"{1 - float(printed):.6f}"
    if is_cut(rest, 1 - ours):
        return erratum(what, printed, f"{ours:.6g}", True, difference=f"1 less {rest}, which is cut")
    return rounded_or_cut(what, printed, ours)


def _bars(title: str, answers: dict[str, tuple[float, float]], caption: str, log: bool = False) -> Picture:
    """A bar for each of the answers 0 and 1, side by side."""
    width = 0.8 / len(answers)
    floor = 1e-3 if log else 0.0
    series = []
    for i, (label, heights) in enumerate(answers.items()):
        x, y = [], []
        for value, height in enumerate(heights):
            low = value - 0.4 + i * width + 0.02
            high = low + width - 0.04
            x += [low, low, high, high, high]
            y += [floor, height, height, floor, height if value else floor]
        series.append(Series(label, x, y, i))
    return Picture(
        title=title,
        x=Axis("answer", limits=(-1.8, 2.8)),
        y=Axis("probability", log=log, limits=(floor, 2.0 if log else 1.0)),
        series=series,
        caption=caption,
    )
