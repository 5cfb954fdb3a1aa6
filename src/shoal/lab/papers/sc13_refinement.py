"""SC13 Tables 5.3 to 5.5 and the errata of chapter 5: prior knowledge refined by the true answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.lab.papers.comparison import Finding, Reproduction, digits, erratum, statement
from shoal.mechanism.refinement.factors import RefinementCurve
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.refinement.prior import UniformPrior

ROWS: dict[str, tuple[float, tuple[str, ...]]] = {
    "0.1": (0.1, ("200", "0.476", "0.077", "0.475", "0.525")),
    "ln 2": (math.log(2), ("4.16", "0.549", "0.046", "0.333", "0.667")),
    "1": (1.0, ("2", "0.607", "0.034", "0.269", "0.731")),
    "2": (2.0, ("0.5", "0.684", "0.012", "0.119", "0.881")),
}
"""epsilon: variance and Pr[in [0, 1]] of Laplace noise; variance, size of U_u and Pr[in U_u] of refinement (Table 5.5)."""

LEAK = 0.2
"""The delta of Figures 5.2 and 5.3, and what it comes to when the mass is moved that the thesis allows."""
REACHED = {"individual": 0.40, "statistical": 0.30}
BOOLEAN = ("0.003678", "0.02182", "0.003912")
"""Section 5.5.1's last sum: Pr[1 | 0], Pr[1 | 1] as printed there, and the total."""
CELLS = 3000

Floats = NDArray[np.float64]


def coin() -> KnowledgeRefinement:
    """Example 8: nobody knows anything about a Boolean attribute; epsilon 1."""
    return KnowledgeRefinement({0: "0.5", 1: "0.5"}, 1)


def rare() -> KnowledgeRefinement:
    """Section 5.5.1: the attribute is 1 with probability 0.01; epsilon 1."""
    return KnowledgeRefinement({0: "0.99", 1: "0.01"}, 1)


def table_5_3() -> Reproduction:
    """Two people, each asked about once, both with the true value 0."""
    low = math.exp(-1)
    present = _law(coin(), 0)
    printed = {
        (0, 0): ("(1 - a/2)^2", (1 - low / 2) ** 2),
        (0, 1): ("(1 - a/2) a/2", (1 - low / 2) * low / 2),
        (1, 0): ("(1 - a/2) a/2", (1 - low / 2) * low / 2),
        (1, 1): ("a^2/4", low**2 / 4),
    }
    findings = [_cell(value, *entry, present[value[0]] * present[value[1]]) for value, entry in printed.items()]
    total = sum(entry[1] for entry in printed.values())
    findings.append(statement("the sum of all cells", "1", f"{total:.12g}", abs(total - 1) < 1e-12))
    return Reproduction(findings, ["a is alpha_d = e^-1; the thesis prints the cells as formulas."])


def table_5_4() -> Reproduction:
    """The same when one of the two is missing, and the promise for both together."""
    low = math.exp(-1)
    present, absent = _law(coin(), 0), _law(coin(), None)
    near, far = ("(1 - a/2)/2", (1 - low / 2) / 2), ("a/4", low / 4)
    findings, ratios = [], []
    for missing in (1, 2):
        for first in (0, 1):
            for second in (0, 1):
                shown = second if missing == 1 else first
                own = absent[first] * present[second] if missing == 1 else present[first] * absent[second]
                findings.append(_cell((first, second), *(far if shown else near), own, f", person {missing} missing"))
                ratios.append(present[first] * present[second] / own)
    two = sorted({round(ratio, 9) for ratio in ratios})
    widest = max(abs(math.log(ratio)) for ratio in ratios)
    replaced = math.log(present[0] / present[1])
    findings += [
        statement(
            "ratios of Table 5.3 to these",
            "only a and 2 - a",
            ", ".join(f"{ratio:.6f}" for ratio in two),
            len(two) == 2 and abs(two[0] - low) < 1e-8 and abs(two[1] - (2 - low)) < 1e-8,
        ),
        statement(
            "epsilon of both answers together (Proposition 4)",
            "1, the largest of both",
            f"{widest:.6f}",
            widest <= 1 + 1e-12,
            improved=f"one person replaced by another: {replaced:.3f}",
        ),
    ]
    remarks = [
        "a is alpha_d = e^-1. Person 1 has the first coordinate.",
        "Proposition 4 is for people who are added or removed; under replacement the two largest epsilons add up at most.",
    ]
    return Reproduction(findings, remarks)


def table_5_5() -> Reproduction:
    """A number in [0, 1] of one person whose value is 0.5: Laplace noise of scale 1/epsilon, and a uniform prior refined."""
    findings: list[Finding] = []
    for name, (epsilon, row) in ROWS.items():
        refined = KnowledgeRefinement(UniformPrior(), epsilon).distribution(0.5)
        inside = -math.expm1(-epsilon / 2)
        half = f"{0.5 / epsilon**2:.4g} if an absent person counts as 1/2"
        findings += [
            digits(f"Laplace variance, epsilon {name}", row[0], float(2 / Fraction(str(epsilon)) ** 2), half),
            erratum(
                f"Laplace Pr[in [0, 1]], epsilon {name}",
                row[1],
                f"{inside:.4f}",
                abs(inside - float(row[1])) > 0.02,
                difference=f"{inside - float(row[1]):+.3f}",
                improved="1 - e^(-epsilon/2)",
            ),
            digits(f"refined variance, epsilon {name}", row[2], refined.variance),
            digits(f"size of U_u, epsilon {name}", row[3], refined.near_size),
            digits(f"Pr[in U_u], epsilon {name}", row[4], refined.near_probability),
        ]
    remarks = [
        (
            "A Laplace variable of scale b is within 1/2 of its centre with probability 1 - e^(-1/(2b)). We found no "
            "formula for the printed column; its 0.607 at epsilon 1 is the probability of lying outside."
        ),
        (
            "Section 5.5.1 lets an absent person count as 1/2, which halves the sensitivity; this table does not. Improved: "
            "Laplace's variance with the same convention, a quarter."
        ),
        "The sizes of U_u are those of the corrected masses (`shoal paper sc13-errata-5`), not of the printed formula.",
    ]
    return Reproduction(findings, remarks)


def errata_5() -> Reproduction:
    """The masses exchanged, a factor of 0/0, what delta allows, and a misprint."""
    return Reproduction(
        [*_exchanged(), _middle_factor(), *_moved(), _misprint()],
        [
            (
                "Masses: p_u = (1 - alpha_d)/(alpha_u - alpha_d) makes the total one; with the printed one it is "
                "alpha_u + alpha_d - 1."
            ),
            "Algorithm 5.1 iv has p_u and p_d where the masses of U'_u and U'_d are meant, the sets that exist.",
            (
                "Delta: taking m from the points farthest away lets the other side exceed e^epsilon times theirs by e^epsilon m, "
                "so an individual question may move delta e^-epsilon, a statistical one delta/(1 + e^epsilon)."
            ),
        ],
    )


def excess(first: Floats, second: Floats, epsilon: float) -> float:
    """The delta between two laws at an epsilon, the larger of both directions."""
    growth = math.exp(epsilon)
    return max(float(np.maximum(a - growth * b, 0).sum()) for a, b in ((first, second), (second, first)))


def cells(truth: float, gain: RefinementCurve) -> Floats:
    """A uniform prior on [0, 1] in equal cells, refined around a true value."""
    far = np.abs((np.arange(CELLS) + 0.5) / CELLS - truth)
    nearest = np.argsort(far, kind="stable")
    law = np.empty(CELLS)
    law[nearest] = gain.shares(np.arange(1, CELLS + 1) / CELLS)
    return law


def moved_too_far(kind: str, moved: Fraction) -> float:
    """The delta that holds at epsilon ln 2 when this mass is moved to the true answer."""
    if kind == "individual":
        gain = RefinementCurve(Fraction(2), Fraction(1, 2), moved)
        return excess(cells(0.5, gain), np.full(CELLS, 1 / CELLS), math.log(2))
    gain = RefinementCurve(Fraction(3, 2), Fraction(3, 4), moved)
    return excess(cells(1 / 6, gain), cells(5 / 6, gain), math.log(2))


def _exchanged() -> list[Finding]:
    findings = []
    for name, (epsilon, _) in ROWS.items():
        up, down = math.exp(epsilon), math.exp(-epsilon)
        printed, right = (up - 1) / (up - down), (1 - down) / (up - down)
        total, fixed = (up * near + down * (1 - near) for near in (printed, right))
        findings.append(
            erratum(
                f"total mass with the printed P(U_u), epsilon {name}",
                "1",
                f"{total:.4f}",
                abs(total - (up + down - 1)) < 1e-12 < total - 1 and abs(fixed - 1) < 1e-12,
                difference=f"{total - 1:+.3g}",
                improved=f"P(U_u) = {right:.4f}: {fixed:.6g}",
            )
        )
    return findings


def _middle_factor() -> Finding:
    """Section 5.5.1 by Algorithm 5.1: U'_d is the value 1, U'_u is empty."""
    gain = rare().curve
    near, far = gain.near, 1 - gain.near
    top, bottom = 1 - gain.up * near - gain.down * far, 1 - near - far
    held = Fraction(1, 100)
    right = (1 - gain.down * held) / (1 - held)
    return erratum(
        "Algorithm 5.1 iv: alpha_ud of section 5.5.1",
        "(1 - alpha_u p_u - alpha_d p_d)/(1 - p_u - p_d)",
        f"{float(top):g}/{float(bottom):g}",
        not top and not bottom and gain.down <= right <= gain.up and _law(rare(), 0)[0] == float(right * (1 - held)),
        difference="not a number",
        improved=f"with the sets' masses: {float(right):.6f}",
    )


def _moved() -> list[Finding]:
    delta = Fraction(str(LEAK))
    allowed = {"individual": delta, "statistical": delta / 2}
    ours = {"individual": delta / 2, "statistical": delta / 3}
    findings = []
    for kind, printed in allowed.items():
        broken, kept = moved_too_far(kind, printed), moved_too_far(kind, ours[kind])
        findings.append(
            erratum(
                f"delta when {float(printed):g} is moved, {kind}, epsilon ln 2",
                f"{LEAK:g}",
                f"{broken:.4f}",
                abs(broken - REACHED[kind]) < 1e-6 and abs(kept - LEAK) < 1e-6,
                difference=f"{broken - LEAK:+.2f}",
                improved=f"{float(ours[kind]):.4g} moved: {kept:.4f}",
            )
        )
    return findings


def _misprint() -> Finding:
    one_if_not, one_if, total = (float(text) for text in BOOLEAN)
    as_printed = one_if_not * 0.99 + one_if * 0.01
    ours = _law(rare(), 0)[1] * 0.99 + _law(rare(), 1)[1] * 0.01
    return erratum(
        "section 5.5.1: Pr[1 | 1] in the last sum",
        f"{BOOLEAN[1]}, total {BOOLEAN[2]}",
        f"{_law(rare(), 1)[1]:.5f}, total {ours:.6f}",
        abs(as_printed - total) > 5e-5 and abs(ours - total) < 2.5e-6,
        difference=f"{BOOLEAN[1]} would give {as_printed:.6f}",
    )


def _law(refinement: KnowledgeRefinement, truth: int | None) -> dict[int, float]:
    return {value: float(mass) for value, mass in refinement.distribution(truth).masses.items()}


def _cell(value: tuple[int, int], formula: str, printed: float, ours: float, more: str = "") -> Finding:
    return statement(
        f"Pr[answers {value}]{more}",
        f"{formula} = {printed:.6f}",
        f"{ours:.6f}",
        abs(ours - printed) < 1e-12,
        difference=f"{ours - printed:+.1g}",
    )
