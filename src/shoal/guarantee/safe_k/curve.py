"""The calculus of sampling + safe k-anonymization: delta as a function of k, beta and epsilon.

Keep each record with probability beta, recode it by a map fixed in advance, drop every tuple seen
fewer than k times. Two bounds on what that leaks:

`tight`      delta*, the exact hockey-stick divergence in the worst class (theorem `safe-k-tight`, ours).
             With M the number of records passed over before the k-th is sampled (negative binomial),
             the pair (M, M + 1) dominates the mechanism and is attained, at every epsilon.
`published`  d, the probability of a bad outcome (theorem `safe-k-published`, LQS11 Theorem 5).

Both come back as the smallest float that is not below the true value.
The cost grows like the square root of k: about 0.1 ms at k = 20, 0.3 ms at k = 100, 3 ms at k = 5000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.rounding import GUARD, Number, decimal, exact, precise, text_near, up

if TYPE_CHECKING:
    from dp_accounting.pld.pld_pmf import PLDPmf

Bound = Literal["tight", "published"]
BOUNDS: tuple[Bound, ...] = ("tight", "published")
MAX_K = 1_000_000

_TINY = Decimal(10) ** -400
_SHORT = 400
_TIE = Decimal(10) ** -12
"""Relative distance within which j and gamma*n, or epsilon and -ln(1 - beta), count as equal (against us)."""


def check_k(k: int) -> int:
    """k as a minimum class size, a whole number from 1 to a million; ParameterError for another number."""
    whole = exact(k, "k")
    if whole.denominator != 1 or not 1 <= whole <= MAX_K:
        raise ParameterError("k is not a minimum class size", came=k, allowed=f"a whole number from 1 to {MAX_K:,}")
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
    """Epsilon as an exact number from 0 to 700; ParameterError for another."""
    value = exact(epsilon, "epsilon")
    if value < 0:
        raise ParameterError("epsilon is negative", came=epsilon, allowed="0 <= epsilon")
    if value > 700:
        raise ParameterError("epsilon is beyond any meaning", came=epsilon, allowed="0 <= epsilon <= 700")
    return value


def check_delta(delta: Number) -> Fraction:
    """delta as an exact probability, 0 or from 1e-300 up; ParameterError for another number."""
    value = exact(delta, "delta")
    if not 0 <= value <= 1:
        raise ParameterError("delta is not a probability", came=delta, allowed="0 <= delta <= 1")
    if 0 < value < Fraction(1, 10**300):
        raise ParameterError("delta is too small to be told from zero", came=delta, allowed="0, or 1e-300 and more")
    return value


def check_bound(bound: str) -> Bound:
    """The name of one of the two bounds that are proved; UsageError for another."""
    if bound not in BOUNDS:
        raise UsageError("unknown bound", came=bound, allowed="tight or published")
    return bound


def delta(k: int, beta: Number, epsilon: Number, bound: str = "tight") -> float:
    """The delta that holds at epsilon under the chosen bound, rounded up."""
    return up(delta_exactly(k, beta, epsilon, bound))


def delta_exactly(k: int, beta: Number, epsilon: Number, bound: str = "tight") -> Fraction:
    """The delta that holds at epsilon under the chosen bound, as a fraction.

    It is beta^k itself where the curve has reached its floor, else above the truth by 1e-40 of it.
    """
    chosen = check_bound(bound)
    point = check_k(k), check_beta(beta), check_epsilon(epsilon)
    return _tight(*point) if chosen == "tight" else _published_exactly(*point)


def delta_tight(k: int, beta: Number, epsilon: Number) -> float:
    """delta*(k, beta, epsilon), the exact privacy curve for neighbours that add or remove one record.

    Theorem `safe-k-tight`. Defined for every epsilon >= 0; at least beta^k, and beta itself at k = 1.

    >>> delta_tight(20, "0.1", 1)
    2.760687256252998e-15
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
    """beta^k: no epsilon brings delta below it, because a class of k may be sampled whole.

    From k = 400 on it is above the truth by 1e-40 of it: as an exact fraction it would have millions of digits.
    """
    return _floor(check_k(k), check_beta(beta))


def _floor(k: int, rate: Fraction) -> Fraction:
    if k < _SHORT:
        return rate**k
    with precise():
        return _above(decimal(rate) ** k)


def epsilon_of_floor(k: int, beta: Number) -> float:
    """ln(k (1 - beta)), the epsilon from which removing a record costs the floor beta^k (0 if already there)."""
    k, rate = check_k(k), check_beta(beta)
    return max(0.0, math.log(k) + math.log1p(-float(rate)))


MOST_POINTS = 4096
"""Points of curves that are kept: searches, certificates and their verification ask for the same ones again."""


def _tight(k: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    return max(_remove(k, rate, epsilon), _add(k, rate, epsilon))


@lru_cache(maxsize=MOST_POINTS)
def _remove(k: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    """max over n of H(P_n || P_{n-1}) for epsilon >= 0, attained at n1 = max(k, ceil((k-1)/gamma))."""
    with precise():
        beta, ratio = decimal(rate), decimal(epsilon).exp()
        rest = (1 - beta) / ratio  # 1 - gamma
        gamma = beta if ratio == 1 else 1 - rest
        n = max(k, _ceil((k - 1) / gamma))
        if n == k:
            return _floor(k, rate)
        scale = n * rest
        return _above(binomial_at_least(k, n, beta, lambda j: 1 - (n - j) / scale))


@lru_cache(maxsize=MOST_POINTS)
def _add(k: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    """max over n of H(P_{n-1} || P_n) for epsilon >= 0, attained at n2 = max(1, ceil((k-1)/gamma'))."""
    with precise():
        beta, ratio = decimal(rate), decimal(epsilon).exp()
        gamma = 1 - (1 - beta) * ratio
        if gamma <= 0:
            return Fraction(0)
        n = max(1, _ceil((k - 1) / gamma))
        return _above(binomial_at_most(k - 1, n - 1, beta, lambda j: (gamma * n - j) / (n - j)))


@lru_cache(maxsize=MOST_POINTS)
def _published_exactly(k: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    with precise():
        beta, ratio = decimal(rate), decimal(epsilon).exp()
        if ratio * (1 - beta) < 1 - _TIE:
            least = float(-(1 - beta).ln())
            raise PreconditionError(
                "safe-k-published",
                "the published bound is silent below epsilon = -ln(1 - beta)",
                came=f"epsilon = {text_near(epsilon)} with beta = {text_near(rate)}",
                allowed=f"epsilon >= {text_near(least)}",
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
            first = binomial_mass(j, n, beta)
            slope = beta / (1 - beta) * (n - j) / (j + 1)
            if slope >= 1 or first / (1 - slope) > best:
                best = max(best, binomial_at_least(j, n, beta))
            j += 1


def _above(value: Decimal) -> Fraction:
    """A decimal that carries the errors of a long computation, as a fraction that is not below the truth."""
    return Fraction(max(value * (1 + GUARD), _TINY))


def _ceil(value: Decimal) -> int:
    return int(value.to_integral_value(rounding=ROUND_CEILING))


_NEGLIGIBLE = Decimal(10) ** -55
_SMALL_N = 1500
_LN_TWO_PI = Decimal("1.83787706640934548356065947281123527972279494727556682563430308096553139185452")


def binomial_mass(j: int, n: int, p: Decimal) -> Decimal:
    """Pr[Bin(n, p) = j], to more than 50 digits."""
    if not 0 <= j <= n:
        return Decimal(0)
    if n <= _SMALL_N:
        return Decimal(math.comb(n, j)) * p**j * (1 - p) ** (n - j)
    ways = _ln_factorial(n) - _ln_factorial(j) - _ln_factorial(n - j)
    return (ways + j * p.ln() + (n - j) * (1 - p).ln()).exp()


def binomial_at_least(j: int, n: int, p: Decimal, weight: Callable[[int], Decimal] | None = None) -> Decimal:
    """Sum over i >= j of Pr[Bin(n, p) = i] * weight(i), for weights in [0, 1] (default 1)."""
    if j > n:
        return Decimal(0)
    odds = p / (1 - p)
    term, total, i = binomial_mass(max(j, 0), n, p), Decimal(0), max(j, 0)
    while True:
        total += term if weight is None else term * weight(i)
        if i == n:
            return total
        ratio = odds * (n - i) / (i + 1)
        term, i = term * ratio, i + 1
        # the ratios decrease, so all that is left is at most term / (1 - ratio)
        if ratio < 1 and (rest := term / (1 - ratio)) < total * _NEGLIGIBLE:
            return total + rest


def binomial_at_most(j: int, n: int, p: Decimal, weight: Callable[[int], Decimal] | None = None) -> Decimal:
    """Sum over i <= j of Pr[Bin(n, p) = i] * weight(i), for weights in [0, 1] (default 1)."""
    if weight is None:
        return binomial_at_least(n - j, n, 1 - p)
    return binomial_at_least(n - j, n, 1 - p, lambda i: weight(n - i))


@lru_cache(maxsize=4096)
def _ln_factorial(n: int) -> Decimal:
    """ln n!, exactly summed for small n and by Stirling's series (alternating, so the first term left out bounds it)."""
    with precise():
        if n <= _SMALL_N:
            return Decimal(math.factorial(n)).ln()
        x = Decimal(n)
        series = sum((b / x ** (2 * i + 1) for i, b in enumerate(_stirling())), start=Decimal(0))
        return (x + Decimal("0.5")) * x.ln() - x + _LN_TWO_PI / 2 + series


@lru_cache(maxsize=1)
def _stirling() -> tuple[Decimal, ...]:
    """Coefficients B_2i / (2i (2i - 1)), i = 1..16; at n > 1500 the next term is below 10^-90."""
    count = 32
    bernoulli: list[Fraction] = [Fraction(1)]
    for m in range(1, count + 1):
        bernoulli.append(-sum((math.comb(m + 1, i) * bernoulli[i] for i in range(m)), start=Fraction(0)) / (m + 1))
    with precise():
        return tuple(
            Decimal(b.numerator) / Decimal(b.denominator)
            for b in (bernoulli[2 * i] / (2 * i * (2 * i - 1)) for i in range(1, count // 2 + 1))
        )


_TAIL = 1e-25
_MAX_ATOMS = 4_000_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PrivacyLosses:
    """Atoms of a privacy loss: `masses` under the first distribution at the values `losses`, and the mass at infinity."""

    losses: Floats
    masses: Floats
    infinite: float


def privacy_losses(k: int, beta: Fraction, direction: str) -> PrivacyLosses:
    """The loss of M against M + 1 (`remove`) or of M + 1 against M (`add`).

    Where the support is too long to hold, a larger beta stands in: its pair dominates (theorem `safe-k-monotone`).
    What lies beyond the support kept is moved to a larger loss, never dropped.
    """
    spread = k + 40 * math.sqrt(k) + 60
    rate = max(float(beta), spread / _MAX_ATOMS)
    reach = (k * (1 - rate) + (40 * math.sqrt(k) + 60) * math.sqrt(1 - rate)) / rate  # 40 deviations past the mean
    m = np.arange(0, math.ceil(reach) + 64, dtype=np.float64)
    masses = _negative_binomial(k, rate, m)
    kept = np.flatnonzero(masses > _TAIL)
    first, last = int(kept[0]), int(kept[-1])
    rest_low, rest_high = float(masses[:first].sum()), float(masses[last + 1 :].sum()) + _TAIL
    p, m = masses[first : last + 1], m[first : last + 1]
    loss = np.full_like(m, np.inf)  # M = 0 never happens to M + 1
    np.divide(k - 1, m, out=loss, where=m > 0)
    loss = math.log1p(-rate) + np.log1p(loss)
    if direction == "remove":
        # P = M: a lost low end has the largest losses, a lost high end smaller ones than the last kept
        return _collect(loss, p, at_infinity=rest_low, at_last=rest_high)
    # P = M + 1 at m + 1 has mass P(M = m) and loss -loss(m + 1)
    shifted = -(math.log1p(-rate) + np.log1p((k - 1) / (m + 1)))
    return _collect(shifted, p, at_infinity=0.0, at_last=0.0, at_first=rest_low, beyond=(-math.log1p(-rate), rest_high))


def on_grid(atoms: PrivacyLosses, grid: float) -> PLDPmf:
    """Split each atom between its two neighbours on the grid so that its mass under both distributions is kept.

    That is the chord above the convex curve between two grid points: never below the truth
    (connect-the-dots, Doroshenko and others 2022), with positive terms only.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    low = np.floor(atoms.losses / grid).astype(np.int64)
    offset = atoms.losses - low * grid
    upper = np.clip(-np.expm1(-offset) / -math.expm1(-grid), 0.0, 1.0)
    first, last = int(low.min()), int(low.max()) + 1
    masses = np.bincount(low - first, atoms.masses * (1 - upper), minlength=last - first + 1)
    masses += np.bincount(low - first + 1, atoms.masses * upper, minlength=last - first + 1)
    return DensePLDPmf(grid, first, masses, atoms.infinite, True)


def _collect(
    loss: Floats,
    mass: Floats,
    *,
    at_infinity: float,
    at_last: float,
    at_first: float = 0.0,
    beyond: tuple[float, float] | None = None,
) -> PrivacyLosses:
    mass = mass.copy()
    mass[-1] += at_last
    mass[0] += at_first
    finite = np.isfinite(loss)
    infinite = at_infinity + float(mass[~finite].sum())
    losses, masses = loss[finite], mass[finite]
    if beyond is not None:
        losses, masses = np.append(losses, beyond[0]), np.append(masses, beyond[1])
    return PrivacyLosses(losses, masses, infinite)


def _negative_binomial(k: int, rate: float, m: Floats) -> Floats:
    """Pr[M = m], by ratios outward from the mode, whose mass is computed with 70 digits."""
    mode = min(len(m) - 1, max(0, math.floor((k - 1) * (1 - rate) / rate)))
    with precise():
        exact_rate = Decimal(rate)
        # Pr[M = m] = beta Pr[Bin(m + k - 1, beta) = k - 1]
        top = float(exact_rate * binomial_mass(k - 1, mode + k - 1, exact_rate))
    result = np.empty_like(m)
    result[mode] = top
    up_ratios = (1 - rate) * (m[mode + 1 :] + k - 1) / m[mode + 1 :]
    result[mode + 1 :] = top * np.cumprod(up_ratios)
    down_ratios = m[1 : mode + 1][::-1] / ((1 - rate) * (m[1 : mode + 1][::-1] + k - 1))
    result[:mode] = (top * np.cumprod(down_ratios))[::-1]
    return result
