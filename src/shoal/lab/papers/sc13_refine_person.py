"""A question about one person: a refined prior beside Laplace noise, over epsilon, as a picture of our own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.mechanism.refinement import factors
from shoal.mechanism.refinement.distance import AbsoluteDistance
from shoal.mechanism.refinement.mechanism import ExpectedDistance
from shoal.mechanism.refinement.prior import HistogramPrior, Prior, UniformPrior, as_prior
from shoal.page.picture import Axis, Picture, Series

Floats = NDArray[np.float64]
EPSILONS = ("0.05", "0.1", "0.2", "0.35", "0.5", "0.7", "1", "1.4", "2", "2.8", "4")
POINTS = 250
"""How many truths stand for a prior where best guesses are compared."""
INCOME = (0, 10, 20, 30, 50, 100, 500)
SHARES = ("0.2", "0.3", "0.2", "0.15", "0.1", "0.05")


@dataclass(frozen=True)
class Case:
    """What is known of a person beforehand, and the declared range."""

    words: str
    prior: Prior
    low: float
    high: float

    def refined(self) -> list[float]:
        """The expected absolute error over the range, at each of EPSILONS, when the truth follows the prior."""
        outlook = ExpectedDistance.of(self.prior, AbsoluteDistance())
        laws = [factors.individual_curve(Fraction(epsilon), Fraction(0)) for epsilon in EPSILONS]
        return [outlook.mean(law) / (self.high - self.low) for law in laws]

    def clamped(self) -> list[float]:
        """The same of Laplace noise at its best: an absent person counts as the middle, answers are cut to the range.

        Noise of scale b from t, cut at a distance a on one side, is off by b (1 - e^(-a/b))/2 on that side.
        """
        values, weights = self.prior.representatives()
        width = self.high - self.low
        places = (np.array(values, dtype=np.float64) - self.low) / width
        found = []
        for epsilon in EPSILONS:
            scale = 0.5 / float(epsilon)
            sides = np.exp(-places / scale) + np.exp(-(1 - places) / scale)
            found.append(float(weights @ (scale * (2 - sides) / 2)))
        return found

    def guesses(self, epsilon: str) -> tuple[float, float, float]:
        """The error of the best guess (the median of what is then believed): from the prior, a refined answer, a noisy one.

        The noise is Laplace's, for a sensitivity of half the range.
        """
        values, weights = self.prior.representatives(POINTS)
        places = (np.array(values, dtype=np.float64) - self.low) / (self.high - self.low)
        order = np.argsort(places)
        places, weights = places[order], weights[order]
        far = np.abs(places[:, None] - places)
        nearest = np.argsort(far, axis=1, kind="stable")
        law = factors.individual_curve(Fraction(epsilon), Fraction(0))
        refined = np.empty_like(far)
        np.put_along_axis(refined, nearest, law.shares(np.cumsum(weights[nearest], axis=1)), axis=1)
        rate = 2 * float(epsilon)
        answers = np.linspace(-12 / rate, 1 + 12 / rate, 8 * POINTS)
        noisy = np.exp(-rate * np.abs(answers - places[:, None])) * rate / 2 * (answers[1] - answers[0])
        laws = (np.ones((len(places), 1)), refined, noisy)
        nothing, told, noised = (_best(places, weights[:, None] * law) for law in laws)
        return nothing, told, noised


def _best(places: Floats, joint: Floats) -> float:
    """The mean distance of the truth (rows) from the median of the truth given each answer (columns)."""
    reached = np.cumsum(joint, axis=0)
    middle = places[(reached >= reached[-1] / 2).argmax(axis=0)]
    return float((joint * np.abs(places[:, None] - middle)).sum())


def cases() -> tuple[Case, ...]:
    """A number of which nothing is known, a height, and an income."""
    from scipy import stats

    return (
        Case("uniform", UniformPrior(), 0, 1),
        Case("normal", as_prior(stats.truncnorm(-5, 5, 170, 10)), 120, 220),
        Case("skewed", HistogramPrior(INCOME, SHARES), 0, 500),
    )


def plain() -> list[float]:
    """Laplace noise for the whole range, not cut: the same for every prior."""
    return [1 / float(epsilon) for epsilon in EPSILONS]


def picture() -> Picture:
    """The expected absolute error over epsilon."""
    x = [float(epsilon) for epsilon in EPSILONS]
    series = []
    for colour, case in enumerate(cases()):
        series.append(Series(case.words, x, case.refined(), colour))
        series.append(Series(case.words, x, case.clamped(), colour, dashed=True, named=False))
    series.append(Series("Laplace, plain", x, plain(), 5, dashed=True))
    return Picture(
        "A question about one person",
        Axis("epsilon", log=True, ticks=(0.05, 0.1, 0.2, 0.5, 1, 2, 4)),
        Axis("expected absolute error / range", log=True),
        series,
        legend=(("prior, refined", False), ("Laplace noise, cut to the range", True)),
    )
