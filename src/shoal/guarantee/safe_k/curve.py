"""The calculus of sampling + safe k-anonymization: delta as a function of k, beta and epsilon.

Keep each record with probability beta, recode it by a map fixed in advance, drop every tuple seen
fewer than k times. Two bounds on what that leaks:

`tight`      delta*, the exact hockey-stick divergence in the worst class (theorem `safe-k-tight`, ours).
             With M the number of records passed over before the k-th is sampled (negative binomial),
             the mechanism is exactly as hard to see through as M against M + 1, at every epsilon.
`published`  d, the probability of a bad outcome (theorem `safe-k-published`, LQS11 Theorem 5).

Both come back as the smallest float that is not below the true value.
The cost grows like the square root of k: about 0.1 ms at k = 20, 0.3 ms at k = 100, 3 ms at k = 5000.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Literal

from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.rounding import GUARD, Number, decimal, exact, precise, up
from shoal.guarantee.safe_k import binomial

Bound = Literal["tight", "published"]
BOUNDS: tuple[Bound, ...] = ("tight", "published")
MAX_K = 1_000_000

_TINY = Decimal(10) ** -400
_SHORT = 400
_TIE = Decimal(10) ** -12
"""Relative distance within which j and gamma*n, or epsilon and -ln(1 - beta), count as equal (against us)."""


def check_k(k: int) -> int:
    """A crowd size: a whole number from 1 to a million."""
    whole = exact(k, "k")
    if whole.denominator != 1 or not 1 <= whole <= MAX_K:
        raise ParameterError("k is not a crowd size", came=k, allowed=f"a whole number from 1 to {MAX_K:,}")
    return int(whole)


def check_beta(beta: Number) -> Fraction:
    """A sampling rate strictly between 0 and 1; without sampling no delta below 1 can be had."""
    value = exact(beta, "beta")
    if value == 1:
        raise PreconditionError(
            "no-sampling-no-privacy",
            "beta = 1 means no sampling, and then no delta below 1 holds for any epsilon (LQS11 Proposition 4)",
            allowed="0 < beta < 1",
            fix="sample: choose a beta below 1",
        )
    if not 0 < value < 1:
        raise ParameterError("beta is not a sampling rate", came=beta, allowed="0 < beta < 1")
    if value < Fraction(1, 10**12):
        raise ParameterError("beta is too small to sample anybody", came=beta, allowed="1e-12 <= beta < 1")
    return value


def check_epsilon(epsilon: Number) -> Fraction:
    """A non-negative, finite epsilon."""
    value = exact(epsilon, "epsilon")
    if value < 0:
        raise ParameterError("epsilon is negative", came=epsilon, allowed="0 <= epsilon")
    if value > 700:
        raise ParameterError("epsilon is beyond any meaning", came=epsilon, allowed="0 <= epsilon <= 700")
    return value


def check_delta(delta: Number) -> Fraction:
    """A probability."""
    value = exact(delta, "delta")
    if not 0 <= value <= 1:
        raise ParameterError("delta is not a probability", came=delta, allowed="0 <= delta <= 1")
    if 0 < value < Fraction(1, 10**300):
        raise ParameterError("delta is too small to be told from zero", came=delta, allowed="0, or 1e-300 and more")
    return value


def check_bound(bound: str) -> Bound:
    """One of the two bounds we can prove."""
    if bound not in BOUNDS:
        raise UsageError("unknown bound", came=bound, allowed="tight or published")
    return bound


def delta(k: int, beta: Number, epsilon: Number, bound: str = "tight") -> float:
    """The delta that holds at epsilon under the chosen bound, rounded up."""
    return up(delta_exactly(k, beta, epsilon, bound))


def delta_exactly(k: int, beta: Number, epsilon: Number, bound: str = "tight") -> Fraction:
    """The same as a fraction: beta^k itself where the curve has reached its floor, else above the truth by 1e-40 of it."""
    return {"tight": _tight, "published": _published}[check_bound(bound)](
        check_k(k), check_beta(beta), check_epsilon(epsilon)
    )


def delta_tight(k: int, beta: Number, epsilon: Number) -> float:
    """delta*(k, beta, epsilon), the exact privacy curve for neighbours that add or remove one record.

    Theorem `safe-k-tight`. Defined for every epsilon >= 0; at least beta^k, and beta itself at k = 1.
    """
    return delta(k, beta, epsilon, "tight")


def delta_published(k: int, beta: Number, epsilon: Number) -> float:
    """d(k, beta, epsilon) of LQS11 Theorem 5: the probability that the likelihood ratio leaves [e^-eps, e^eps].

    Theorem `safe-k-published`. Only classes of the largest size that still needs j records to break the
    ratio can attain the maximum; the search over j stops where Chernoff's bound for all later ones falls
    below the best so far, so the maximum is exact. A tie of j with gamma*n up to rounding counts as a break.
    """
    return delta(k, beta, epsilon, "published")


def delta_remove(k: int, beta: Number, epsilon: Number) -> float:
    """The curve of removing a record: sup over class sizes n of H_epsilon(P_n || P_{n-1}); any sign of epsilon."""
    k, rate, e = check_k(k), check_beta(beta), exact(epsilon, "epsilon")
    if e >= 0:
        return up(_remove(k, rate, e))
    with precise():
        ratio = decimal(e).exp()
        return up(_above(1 - ratio + ratio * decimal(_add(k, rate, -e))))


def delta_add(k: int, beta: Number, epsilon: Number) -> float:
    """The curve of adding a record: sup over n of H_epsilon(P_{n-1} || P_n); zero from epsilon = -ln(1 - beta) on."""
    k, rate, e = check_k(k), check_beta(beta), exact(epsilon, "epsilon")
    if e >= 0:
        return up(_add(k, rate, e))
    with precise():
        ratio = decimal(e).exp()
        return up(_above(1 - ratio + ratio * decimal(_remove(k, rate, -e))))


def floor_of_delta(k: int, beta: Number) -> Fraction:
    """beta^k: no epsilon brings delta below it, because a class of k may be sampled whole."""
    return check_beta(beta) ** check_k(k)


def epsilon_of_floor(k: int, beta: Number) -> float:
    """ln(k (1 - beta)), the epsilon from which removing a record costs the floor beta^k (0 if already there)."""
    k, rate = check_k(k), check_beta(beta)
    return max(0.0, math.log(k) + math.log1p(-float(rate)))


def _tight(k: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    return max(_remove(k, rate, epsilon), _add(k, rate, epsilon))


def _remove(k: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    """max over n of H(P_n || P_{n-1}) for epsilon >= 0, attained at n1 = max(k, ceil((k-1)/gamma))."""
    with precise():
        beta, ratio = decimal(rate), decimal(epsilon).exp()
        rest = (1 - beta) / ratio  # 1 - gamma
        gamma = beta if ratio == 1 else 1 - rest
        n = max(k, _ceil((k - 1) / gamma))
        if n == k:
            return rate**k if k < _SHORT else _above(beta**k)
        scale = n * rest
        return _above(binomial.at_least(k, n, beta, lambda j: 1 - (n - j) / scale))


def _add(k: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    """max over n of H(P_{n-1} || P_n) for epsilon >= 0, attained at n2 = max(1, ceil((k-1)/gamma'))."""
    with precise():
        beta, ratio = decimal(rate), decimal(epsilon).exp()
        gamma = 1 - (1 - beta) * ratio
        if gamma <= 0:
            return Fraction(0)
        n = max(1, _ceil((k - 1) / gamma))
        return _above(binomial.at_most(k - 1, n - 1, beta, lambda j: (gamma * n - j) / (n - j)))


def _published(k: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    with precise():
        beta, ratio = decimal(rate), decimal(epsilon).exp()
        if ratio * (1 - beta) < 1 - _TIE:
            least = float(-(1 - beta).ln())
            raise PreconditionError(
                "safe-k-published",
                "the published bound is silent below epsilon = -ln(1 - beta)",
                came=f"epsilon = {float(epsilon):g} with beta = {float(rate):g}",
                allowed=f"epsilon >= {least:.6g}",
                fix="use bound='tight', which holds for every epsilon >= 0",
            )
        rest = (1 - beta) / ratio
        gamma = 1 - rest
        divergence = gamma * (gamma / beta).ln() - rest * decimal(epsilon)  # KL(gamma || beta)
        best, j = Decimal(0), k
        while True:
            n = max(j, _ceil(j / gamma * (1 + _TIE)) - 1)
            if (-n * divergence).exp() < best:
                return _above(best)
            if n == j == k and k < _SHORT and (-(_ceil((k + 1) / gamma) - 1) * divergence).exp() < beta**k:
                return rate**k
            first = binomial.mass(j, n, beta)
            slope = beta / (1 - beta) * (n - j) / (j + 1)
            if slope >= 1 or first / (1 - slope) > best:
                best = max(best, binomial.at_least(j, n, beta))
            j += 1


def _above(value: Decimal) -> Fraction:
    """A decimal that carries the errors of a long computation, as a fraction that is not below the truth."""
    return Fraction(max(value * (1 + GUARD), _TINY))


def _ceil(value: Decimal) -> int:
    return int(value.to_integral_value(rounding=ROUND_CEILING))
