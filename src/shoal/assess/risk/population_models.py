"""Population uniques without a population: models that extrapolate the class sizes of a simple random sample.

With n records of a population of N = n / fraction, f_i classes of i records and K classes in all:

    zayatz    Zayatz 1991: classes of the sample have the sizes of those of the population, so a sample unique is a population
              unique with probability f_1 H(1) / Σ f_i H(i), H(i) the hypergeometric probability that one of i people is sampled
    pitman    Hoshino 2001: classes arise as in Pitman's sampling formula; (theta, alpha) by maximum likelihood; expected uniques
              N Γ(theta + alpha + N − 1) Γ(theta + 1) / (Γ(theta + alpha) Γ(theta + N)), which for large N is, as in ARX,
              Γ(theta + 1) / Γ(theta + alpha) N^alpha
    slide_negative_binomial
              Chen and Keller-McNulty 1998: a class of the population has 1 + NB(alpha, beta) people; alpha and beta from the
              expected numbers of sample classes of 1 and 2, the number of classes by the estimator of Haas and Stokes 1998
    decision_rule
              Dankar and others 2012, as ARX applies it: pitman for fractions up to 0.1, else the smaller of the two others; where
              the chosen model has no estimate, zayatz

Each is a model's opinion: nobody can check its assumption on the sample, and two of them can differ by a factor. They have no
interval: the error of the assumption is larger than that of the sampling, and an interval would hide it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from shoal.assess.disclosure.classes import Floats, Ints
from shoal.assess.quantity import MODEL, Quantity
from shoal.assess.risk.class_sizes import KeyClasses, Keys
from shoal.errors import DataError, InfeasibleError, ParameterError, TargetError

SMALL_FRACTION = 0.1
"""Up to this sampling fraction the decision rule takes Pitman's model."""
INSIDE = 1e-4
"""An alpha of Pitman's model nearer than this to 0 or 1 is at the edge: the likelihood has no maximum between them."""
EDGES = ((-12.0, 12.0), (-20.0, 30.0))
"""Where the maximum is looked for: the logit of alpha, and the logarithm of theta + alpha."""
DIGITS = 1e6
"""Up to this argument the logarithm of the gamma function has enough digits to take differences."""
FIT = 1e-6
"""Relative error with which a fitted model must repeat the numbers of classes of 1 and 2."""


@dataclass(frozen=True, eq=False)
class SampleClasses:
    """The class sizes of a simple random sample and the size of its population.

    Arguments  `sizes`: the sizes that occur; `classes`: how many classes have each; `fraction`: the share of the population
               that was sampled. `SampleClasses.of` makes it and checks the numbers.

    >>> SampleClasses.of({1: 4, 2: 3}, 0.1).people
    100
    """

    sizes: Ints
    classes: Ints
    fraction: float

    @classmethod
    def of(cls, frequencies: Mapping[int, int], fraction: float) -> SampleClasses:
        """Check the numbers of classes by size, and the sampling fraction.

        Arguments  `frequencies`: how many classes have one record, two records, …; `fraction`: above 0 and below 1
        Raises     DataError for numbers that are no frequencies, ParameterError for another fraction
        """
        if not 0 < fraction < 1:
            raise ParameterError(
                "the sampling fraction is not between 0 and 1",
                came=fraction,
                allowed="above 0 and below 1",
                fix="with fraction 1 the table is the population: count its uniques",
            )
        kept = {int(size): int(count) for size, count in frequencies.items() if count}
        if not kept or min(kept) < 1 or min(kept.values()) < 1:
            raise DataError(
                "the class sizes are no frequencies", came=f"{len(kept)} sizes", allowed="sizes from 1 up with numbers of classes"
            )  # fmt: skip
        sizes = np.array(sorted(kept), dtype=np.int64)
        return cls(sizes, np.array([kept[int(size)] for size in sizes], dtype=np.int64), float(fraction))

    @property
    def rows(self) -> int:
        """n: how many records the sample has."""
        return int(self.sizes @ self.classes)

    @property
    def people(self) -> int:
        """N: how many people the population has, rounded."""
        return max(self.rows, round(self.rows / self.fraction))

    def count(self, size: int) -> int:
        """f_size: how many classes have so many records."""
        return int(self.classes[self.sizes == size].sum())


def class_size_frequencies(keys: Keys) -> dict[int, int]:
    """Count the classes of each size, a suppressed cell matching only its like; lenient matching has no classes.

    Arguments  `keys`: codes, records × quasi-identifiers, −1 for hidden cells
    Raises     DataError for keys that are no table of codes

    >>> class_size_frequencies([[0], [0], [1]])
    {1: 1, 2: 1}
    """
    sizes, classes = np.unique(KeyClasses.of(keys).counts, return_counts=True)
    return dict(zip(sizes.tolist(), classes.tolist(), strict=True))


def zayatz(frequencies: Mapping[int, int], fraction: float) -> Quantity:
    """Estimate the population uniques by Zayatz' model, from the number of sample classes of each size.

    Arguments  `frequencies`: how many classes have one record, two records, …; `fraction`: the share of the population that
               was sampled
    Raises     DataError for numbers that are no frequencies, ParameterError for another fraction

    >>> round(zayatz({1: 4, 2: 3}, 0.1).value, 2)
    16.92
    """
    sample = SampleClasses.of(frequencies, fraction)
    if not sample.count(1):
        return _without_uniques("Zayatz 1991")
    chance = _one_sampled(sample)
    unique = sample.count(1) * chance[0] / float(sample.classes @ chance)
    return _opinion(
        sample.count(1) * unique * sample.people / sample.rows,
        f"Zayatz 1991: a sample unique is a population unique with probability {unique:.3g}, if classes of the population have "
        "the sizes that classes of the sample have",
    )


def _one_sampled(sample: SampleClasses) -> Floats:
    """Give for each class size i of the sample the probability that exactly one of i people is sampled."""
    from scipy.special import gammaln

    n, people, i = sample.rows, sample.people, sample.sizes.astype(np.float64)
    others = people - i - (n - 1)  # not sampled, outside the class
    possible = others >= 0
    left = np.where(possible, others, 0.0)
    log_ways = gammaln(people - i + 1) - gammaln(n) - gammaln(left + 1)
    log_all = gammaln(people + 1) - gammaln(n + 1) - gammaln(people - n + 1)
    return np.where(possible, np.exp(np.log(i) + log_ways - log_all), 0.0)


def pitman(frequencies: Mapping[int, int], fraction: float) -> Quantity:
    """Estimate the population uniques by Pitman's sampling formula, fitted by maximum likelihood.

    Arguments  `frequencies`: how many classes have one record, two records, …; `fraction`: the share of the population that
               was sampled
    Raises     DataError for numbers that are no frequencies, ParameterError for another fraction, InfeasibleError where the
               likelihood has no maximum with alpha between 0 and 1 (such as: every record is a sample unique)

    >>> round(pitman({1: 60, 2: 20, 3: 10, 5: 4, 20: 2}, 0.05).value)
    248
    """
    from scipy.special import gammaln

    sample = SampleClasses.of(frequencies, fraction)
    if not sample.count(1):
        return _without_uniques("Pitman's model (Hoshino 2001)")
    theta, alpha = _fit_pitman(sample)
    people = sample.people
    log_share = (
        gammaln(theta + alpha + people - 1) + gammaln(theta + 1) - gammaln(theta + alpha) - gammaln(theta + people)
    )
    return _opinion(
        people * float(np.exp(log_share)),
        f"Pitman's model (Hoshino 2001) with theta = {theta:.4g} and alpha = {alpha:.4g} by maximum likelihood, if classes arise "
        "as its sampling formula says",
    )


def _fit_pitman(sample: SampleClasses) -> tuple[float, float]:
    """Maximize the likelihood over theta > −alpha and 0 < alpha < 1."""
    from scipy.optimize import minimize
    from scipy.special import expit, gammaln

    n, classes = sample.rows, int(sample.classes.sum())

    def negative(point: Floats) -> float:
        alpha, above = float(expit(point[0])), float(np.exp(point[1]))
        theta = above - alpha
        grown = _log_rising(above, alpha, classes - 1)
        within = float(sample.classes @ (gammaln(sample.sizes - alpha) - gammaln(1 - alpha)))
        return -(grown + within - float(gammaln(theta + n) - gammaln(theta + 1)))

    fits = [
        minimize(
            negative, start, method="Nelder-Mead", bounds=EDGES, options={"xatol": 1e-7, "fatol": 1e-9, "maxfev": 2000}
        )
        for start in [(0.0, np.log(1 + classes / 10)), (2.0, 0.0)]
    ]
    best = min(fits, key=lambda fit: float(fit.fun))
    alpha, above = float(expit(best.x[0])), float(np.exp(best.x[1]))
    if sample.count(1) == n or not INSIDE < alpha < 1 - INSIDE or best.x[1] > EDGES[1][1] - 1:
        raise InfeasibleError(
            "the likelihood of Pitman's model has no maximum with alpha between 0 and 1",
            came=f"{sample.count(1):,} classes of one record in a sample of {n:,}",
            allowed="a sample with some classes of one record, and some larger ones",
            fix="use the estimate of Zayatz",
        )
    return above - alpha, alpha


def _log_rising(first: float, step: float, count: int) -> float:
    """Give Σ ln(first + i step) over i = 0 … count − 1; where steps are small, by the formula of Euler and Maclaurin."""
    from scipy.special import gammaln

    steps = first / step
    if steps < DIGITS:
        return count * float(np.log(step)) + float(gammaln(steps + count) - gammaln(steps))
    last = float(np.log1p(count / steps))
    return count * float(np.log(first)) + (steps + count) * last - count - last / 2


def slide_negative_binomial(frequencies: Mapping[int, int], fraction: float) -> Quantity:
    """Estimate the population uniques by the slide negative binomial model (SNB).

    Arguments  `frequencies`: how many classes have one record, two records, …; `fraction`: the share of the population that
               was sampled
    Raises     DataError for numbers that are no frequencies, ParameterError for another fraction, InfeasibleError where no
               alpha and beta repeat the numbers of classes of one and of two records

    >>> round(slide_negative_binomial({1: 60, 2: 20, 3: 10, 5: 4, 20: 2}, 0.3).value)
    83
    """
    sample = SampleClasses.of(frequencies, fraction)
    if not sample.count(1):
        return _without_uniques("the slide negative binomial model (Chen and Keller-McNulty 1998)")
    classes = population_classes(sample)
    alpha, beta = _fit_slide(sample, classes)
    return _opinion(
        classes * beta**alpha,
        f"the slide negative binomial model (Chen and Keller-McNulty 1998) with alpha = {alpha:.4g}, beta = {beta:.4g} and "
        f"{classes:,.4g} classes (Haas and Stokes 1998), if classes of the population have 1 + NB(alpha, beta) people",
    )


def population_classes(sample: SampleClasses) -> float:
    """Estimate how many classes the population has, by the modified estimator of Shlosser (Haas and Stokes 1998).

    Arguments  `sample`: class sizes and sampling fraction. Raises nothing; the number is at most that of people.

    >>> round(population_classes(SampleClasses.of({1: 10}, 0.1)))
    100
    """
    i, counts, q = sample.sizes.astype(np.float64), sample.classes.astype(np.float64), sample.fraction
    seen = int(counts.sum())
    missed = counts @ np.exp(i * np.log1p(-q))
    once = counts @ (i * q * np.exp((i - 1) * np.log1p(-q)))
    squared = counts @ (i * q * q * np.exp((i - 1) * np.log1p(-q * q)))
    both = counts @ (np.exp(i * np.log1p(-q * q)) - np.exp(i * np.log1p(-q)))
    if once <= 0 or both <= 0:
        return float(seen)  # every class is so large that none was missed
    return float(min(seen + sample.count(1) * squared / both * (missed / once) ** 2, sample.people))


def _fit_slide(sample: SampleClasses, classes: float) -> tuple[float, float]:
    """Find alpha and beta that repeat f_1 and f_2; of several, those whose number of people is nearest to the population's."""
    from scipy.optimize import least_squares
    from scipy.special import expit

    q, wanted = sample.fraction, np.log([sample.count(1), max(sample.count(2), 1e-300)])

    def expected(point: Floats) -> Floats:
        alpha, beta = np.exp(point[0]), expit(point[1])
        gone = expit(-point[1])  # 1 − beta
        hidden = (1 - q) * gone
        log_shared = np.log(classes * q) + alpha * (np.log(beta) - np.log1p(-hidden))
        one = log_shared + np.log1p(alpha * hidden / (1 - hidden))
        two = log_shared + np.log(q * alpha * gone / 2) - 2 * np.log1p(-hidden) + np.log(2 - (1 - alpha) * hidden)
        return np.array([one, two])

    best: tuple[float, float, float] | None = None
    for start in [(a, b) for a in (-3.0, -0.5, 1.0) for b in (-5.0, -2.0, 1.0)]:
        found = least_squares(
            lambda point: expected(point) - wanted, start, bounds=((-30, -30), (12, 30)), xtol=1e-13, ftol=1e-13, gtol=1e-13
        )  # fmt: skip
        if float(np.abs(found.fun).max()) > FIT:
            continue
        alpha, beta = float(np.exp(found.x[0])), float(expit(found.x[1]))
        far = abs(np.log(classes * (1 + alpha * float(expit(-found.x[1])) / beta) / sample.people))
        if best is None or far < best[0] - FIT:
            best = (far, alpha, beta)
    if best is None:
        raise InfeasibleError(
            "no slide negative binomial model repeats the numbers of sample classes with one and with two records",
            came=f"{sample.count(1):,} and {sample.count(2):,}, {int(sample.classes.sum()):,} classes in all",
            allowed="a sample whose classes have the sizes of such a model",
            fix="use the estimate of Zayatz",
        )
    return best[1], best[2]


def decision_rule(frequencies: Mapping[int, int], fraction: float) -> Quantity:
    """Estimate the population uniques by the model that the rule of Dankar and others (2012) chooses, as ARX applies it.

    Arguments  `frequencies`: how many classes have one record, two records, …; `fraction`: the share of the population that
               was sampled
    Raises     DataError for numbers that are no frequencies, ParameterError for another fraction

    >>> "Pitman" in decision_rule({1: 60, 2: 20, 3: 10, 5: 4, 20: 2}, 0.05).method
    True
    """
    by_zayatz = zayatz(frequencies, fraction)
    model = pitman if fraction <= SMALL_FRACTION else slide_negative_binomial
    try:
        other = model(frequencies, fraction)
    except TargetError as refusal:
        return _chosen(by_zayatz, f"in place of another model: {refusal.wrong}")
    if fraction <= SMALL_FRACTION:
        return _chosen(other, f"chosen for fractions up to {SMALL_FRACTION:g}")
    smaller = by_zayatz if by_zayatz.value < other.value else other
    return _chosen(smaller, f"the smaller of two, chosen for fractions above {SMALL_FRACTION:g}")


MODELS: Mapping[str, Callable[[Mapping[int, int], float], Quantity]] = {
    "zayatz": zayatz,
    "pitman": pitman,
    "slide_negative_binomial": slide_negative_binomial,
    "decision_rule": decision_rule,
}
"""Every model by its name."""


def _chosen(estimate: Quantity, why: str) -> Quantity:
    return _opinion(estimate.value, f"rule of Dankar and others 2012 ({why}): {estimate.method}")


def _without_uniques(model: str) -> Quantity:
    return _opinion(0.0, f"{model}: a sample without uniques shows none of the population")


def _opinion(value: float, method: str) -> Quantity:
    return Quantity(float(value), None, None, MODEL, f"population uniques by {method}")
