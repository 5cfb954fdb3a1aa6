"""The results that noise and private choices rest on; `shoal.guarantee.theorem.registry` lists them with all others."""

from __future__ import annotations

from shoal.guarantee.theorem.base import Theorem, premise

ABOVE_ZERO = premise("positive-epsilon", "epsilon is above 0", "shoal.mechanism.base.target_epsilon")
DECLARED = premise("sensitivity-declared", "sensitivity and grid are declared without the data", "holder")

NOISE = (
    Theorem(
        "laplace-grid",
        "Laplace noise on a grid",
        "Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009",
        "Rounding each component to its grid and adding two-sided geometric noise of scale T/epsilon is epsilon-DP, with T the "
        "most that the rounded components move in sum.",
        (
            premise(
                "noise-scale",
                "the scale is at least the sum of the moves over epsilon",
                "shoal.mechanism.laplace.Laplace",
            ),
            premise(
                "multiples",
                "answers are the multiples that they are declared to be",
                "shoal.mechanism.grid.check_multiples",
            ),
            ABOVE_ZERO,
            DECLARED,
        ),
    ),
    Theorem(
        "gaussian",
        "Gaussian noise on a grid",
        "Canonne, Kamath and Steinke 2020; the half-line as in Balle and Wang 2018",
        "Discrete Gaussian noise is (epsilon, delta)-DP with the delta of rho-zCDP for rho = (sum of squared moves)/(2 sigma^2), "
        "and where one unit moves one component alone with the exact sum over a half-line.",
        (
            premise(
                "noise-delta", "0 < delta < 1, and no less than the delta proved", "shoal.mechanism.gaussian.Gaussian"
            ),
            DECLARED,
        ),
    ),
    Theorem(
        "exponential-mechanism",
        "One of several options by its score",
        "McSherry and Talwar 2007",
        "If no score moves by more than s, drawing with probability proportional to exp(epsilon score / (2 s)) is epsilon-DP; "
        "s in place of 2 s will do for a score that adding a record never lowers.",
        (
            premise(
                "no-factor-two",
                "add_remove neighbours where the 2 is left out",
                "shoal.mechanism.exponential.Exponential",
            ),
            ABOVE_ZERO,
            premise(
                "options-fixed", "the options and the sensitivity of their scores are fixed without the data", "holder"
            ),
        ),
    ),
    Theorem(
        "staircase",
        "Optimal noise for one number",
        "SC13 Theorem 1, with i from 1; Geng and Viswanath 2014",
        "Density M on [-d, d] and M e^(-i epsilon) on the i-th further interval of length Delta is epsilon-DP for every d; the "
        "least variance and the shortest interval have d in closed form.",
        (premise("inner-width", "0 <= d <= Delta", "shoal.mechanism.staircase.box.BoxLaw"), ABOVE_ZERO),
    ),
    Theorem(
        "staircase-box",
        "Optimal noise for several numbers at once",
        "SC13 chapter 4; the lattice, the mixture and the exact draw are Shoal's",
        "Noise with weight e^(-i epsilon) on the i-th shell of boxes with half-sides z, z + s, z + 2 s, ... is epsilon-DP if one "
        "unit moves each component by at most s, on the real line and in whole steps of a grid.",
        (
            premise(
                "sides",
                "sides no shorter than the sensitivity on the grid",
                "shoal.mechanism.staircase.mechanism.Staircase",
            ),
            premise("inner-box", "0 <= z <= s in whole steps", "shoal.mechanism.staircase.lattice.LatticeLaw"),
            ABOVE_ZERO,
            DECLARED,
        ),
    ),
    Theorem(
        "answer-sensitivity",
        "How far one unit moves an answer",
        "Shoal; SC13 Proposition 4 for disjoint parts",
        "Each row adds a whole number of steps between two ends that the policy fixes, or nothing: so the reach of a sum "
        "is known exactly, and parts that share no row move together no farther than one of them (two, for replace_one).",
        (
            premise(
                "bounded-domain",
                "what is added has a declared, bounded domain",
                "shoal.query.questions.measure.line_of",
            ),
            premise(
                "disjoint-parts",
                "the conditions of disjoint parts share no row, by themselves",
                "shoal.query.condition.predicate.Predicate.apart",
            ),
            premise("bounded-rows", "at most max_rows rows of each person, chosen once", "shoal.query.dataset.at_most"),
        ),
    ),
    Theorem(
        "quantile-score",
        "A score of values by their rank",
        "Shoal",
        "For q = a/b, score(v) = -max((b-a)#(x<v) - a#(x>=v), a#(x>v) - (b-a)#(x<=v), 0) moves by at most max(a, b-a) when "
        "a row comes or goes and by at most b when it is replaced.",
        (
            premise(
                "quantile-share",
                "q is a share with a denominator of at most a million",
                "shoal.query.questions.quantile.Quantile",
            ),
        ),
    ),
)
"""Laplace, Gaussian, exponential, staircase; sensitivities of answers."""
