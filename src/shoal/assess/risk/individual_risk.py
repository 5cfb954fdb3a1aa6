"""The individual risk of Benedetti and Franconi (1998): E[1/F | f] for a record whose class has f records and sampling weights.

F is how many people of the population are in the class. Given f it is taken to be negative binomial, P(F = h | f) =
C(h − 1, f − 1) p^f (1 − p)^(h − f) for h ≥ f, with p = f / (sum of the weights of the class). Then (Franconi and Polettini 2004)

    E[1/F | f] = p I(f),   I(f) = ∫ y^(f − 1) / (p + (1 − p) y) dy over 0 … 1 = 2F1(1, 1; f + 1; 1 − p) / f

and f = 1 gives −p ln p / (1 − p). Each case is computed by what loses no digits there: the series, which has no negative term,
for p ≥ 1/2; I(f + 1) = (1/f − p I(f)) / (1 − p), which dampens errors for p < 1/2, up to a few dozen records; beyond, the
integral over s with y = exp(−s / f) by Gauss and Laguerre, whose integrand is then nearly constant.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shoal.assess.disclosure.classes import Array, Floats
from shoal.assess.quantity import MODEL, Quantity
from shoal.assess.risk.class_sizes import STRICT, KeyClasses, Keys, matching_words, plain
from shoal.assess.risk.reidentification import THRESHOLD, check_threshold
from shoal.errors import DataError

FEW = 30
"""Up to so many records in a class, its risk is computed one record at a time."""


@dataclass(frozen=True)
class IndividualRisk:
    """The individual risks of all records, summed up; each number is a model's opinion.

    `expected` is the global risk: the number of re-identifications to expect; `mean` its share of all records.
    """

    matching: str
    rows: int
    threshold: float
    largest: Quantity
    mean: Quantity
    at_risk: Quantity
    expected: Quantity

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def words(self) -> str:
        """Give the result in a sentence."""
        return (
            "By the sampling weights, if the model of Benedetti and Franconi holds, a record is re-identified with probability "
            f"{self.mean.value:.3g} on average and {self.largest.value:.3g} at most; {self.at_risk.value:.2%} of {self.rows:,} "
            f"records are above {self.threshold:g} ({matching_words(self.matching)})."
        )


def inverse_expectation(sample: ArrayLike, population: ArrayLike) -> Floats:
    """Give E[1/F | f] for classes with f records whose weights add up to so many people.

    Arguments  `sample`: f, at least 1; `population`: the sums of the weights, at least f
    Raises     DataError for sums that are smaller than f, or numbers that are none

    >>> round(float(inverse_expectation([1], [215])[0]), 9)
    0.025096439
    """
    f, people = (
        np.atleast_1d(np.asarray(sample, dtype=np.float64)),
        np.atleast_1d(np.asarray(population, dtype=np.float64)),
    )
    if not (np.all(f >= 1) and np.all(people >= f * (1 - 1e-12)) and np.all(np.isfinite(people))):
        raise DataError(
            "sampling weights add up to fewer people than there are records",
            allowed="weights of 1 and more: the people that a record stands for",
        )
    p = np.minimum(f / people, 1.0)
    found = np.empty(np.broadcast(f, p).shape)
    often, few = p >= 0.5, f <= FEW
    for which, compute in ((often, _by_series), (~often & few, _by_recursion), (~often & ~few, _by_quadrature)):
        found[which] = p[which] * compute(f[which], p[which])
    return found


def _by_series(f: Floats, p: Floats) -> Floats:
    """I(f) = Σ (1 − p)^i i! (f − 1)! / (f + i)!, each term at most half of the one before."""
    term = 1 / f
    total = term.copy()
    for i in range(1, 60):
        term = term * (1 - p) * i / (f + i)
        total += term
    return np.asarray(total)


def _by_recursion(f: Floats, p: Floats) -> Floats:
    """I(1) = −ln p / (1 − p), then one more record at a time."""
    value = -np.log(p) / (1 - p)
    for records in range(1, int(f.max(initial=1))):
        value = np.where(f > records, (1 / records - p * value) / (1 - p), value)
    return np.asarray(value)


def _by_quadrature(f: Floats, p: Floats) -> Floats:
    """I(f) = 1/f ∫ exp(−s) / (p + (1 − p) exp(−s / f)) ds over all s above 0."""
    nodes, weights = np.polynomial.laguerre.laggauss(40)
    return np.asarray((weights / (p[:, None] + (1 - p[:, None]) * np.exp(-nodes / f[:, None]))).sum(axis=1) / f)


def individual_risks(keys: Keys, weights: ArrayLike, *, matching: str = STRICT) -> Floats:
    """Give the individual risk of each record.

    Arguments  `keys`: codes, records × quasi-identifiers, −1 for hidden cells; `weights`: how many people of the population each
               record stands for; `matching`: 'strict' or 'lenient'
    Raises     DataError for keys or weights that do not fit, ParameterError for another matching

    >>> individual_risks([[0], [0]], [1, 1]).tolist()
    [0.5, 0.5]
    """
    classes = KeyClasses.of(keys, matching)
    stands_for: Array = np.asarray(weights)
    if stands_for.shape != (classes.rows,) or stands_for.dtype.kind not in "iuf" or not bool(np.all(stands_for >= 1)):
        raise DataError(
            "the sampling weights do not fit the keys",
            came=f"an array of shape {stands_for.shape} and type {stands_for.dtype}",
            allowed=f"{classes.rows} numbers from 1 up",
        )
    pairs = np.column_stack([classes.sizes.astype(np.float64), classes.sums(stands_for.astype(np.float64))])
    distinct, place = np.unique(pairs, axis=0, return_inverse=True)
    return inverse_expectation(distinct[:, 0], distinct[:, 1])[place.ravel()]


def individual_risk(
    keys: Keys, weights: ArrayLike, *, matching: str = STRICT, threshold: float = THRESHOLD
) -> IndividualRisk:
    """Measure the individual risk of Benedetti and Franconi and the global risk that it adds up to.

    Arguments  `keys`, `weights`, `matching`: as for `individual_risks`; `threshold`: the probability above which a record is
               at risk
    Raises     DataError for keys or weights that do not fit, ParameterError for another matching or threshold

    >>> individual_risk([[0], [0]], [1, 1]).expected.value
    1.0
    """
    limit = check_threshold(threshold)
    risks = individual_risks(keys, weights, matching=matching)
    how = (
        "E[1/F | f] (Benedetti and Franconi 1998; Franconi and Polettini 2004), if F given f is negative binomial with the "
        f"weights' p; {matching_words(matching)}"
    )

    def opinion(value: float, what: str) -> Quantity:
        return Quantity(float(value), None, None, MODEL, f"{what} {how}")

    return IndividualRisk(
        matching=matching,
        rows=len(risks),
        threshold=limit,
        largest=opinion(risks.max(), "largest"),
        mean=opinion(risks.mean(), "mean of"),
        at_risk=opinion(np.count_nonzero(risks > limit) / len(risks), f"share of records above {limit:g} by"),
        expected=opinion(risks.sum(), "sum of"),
    )
