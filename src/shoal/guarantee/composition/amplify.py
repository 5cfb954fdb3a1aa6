"""What a random sample in front is worth: amplification, and the larger budget it allows on sampled data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.guarantee.rounding import GUARD, Number, decimal, down, exact, precise, up
from shoal.guarantee.safe_k.curve import check_delta, check_epsilon


@dataclass(frozen=True)
class Amplified:
    """The (epsilon, delta) that holds after, or is allowed before, sampling."""

    epsilon: float
    delta: float
    rate: float


def amplify(epsilon: Number, delta: Number, rate: Number, from_rate: Number = 1) -> Amplified:
    """Epsilon and delta at sampling rate `rate` of what is (epsilon, delta) at `from_rate` (theorem `amplification`).

    LQS11 Theorem 1: epsilon becomes ln(1 + r (e^epsilon - 1)) and delta becomes r delta, r = rate / from_rate.
    """
    e, d = check_epsilon(epsilon), check_delta(delta)
    share = _share(rate, from_rate)
    with precise():
        ratio = decimal(share)
        amplified = (1 + ratio * (decimal(e).exp() - 1)).ln()
        return Amplified(up(amplified * (1 + GUARD)), up(d * share), float(exact(rate)))


def allowance(epsilon: Number, delta: Number, rate: Number) -> Amplified:
    """The inverse: the budget a mechanism may spend on data that are a fresh sample at `rate`, for a target on the whole.

    Both numbers are rounded down, so that amplifying them stays within the target.
    """
    e, d = check_epsilon(epsilon), check_delta(delta)
    share = _share(rate, 1)
    with precise():
        allowed = (1 + (decimal(e).exp() - 1) / decimal(share)).ln()
        return Amplified(down(allowed * (1 - GUARD)), min(1.0, down(d / share)), float(share))


def _share(rate: Number, from_rate: Number) -> Fraction:
    small, large = exact(rate, "rate"), exact(from_rate, "from_rate")
    if not 0 < large <= 1:
        raise ParameterError("from_rate is not a sampling rate", came=from_rate, allowed="0 < from_rate <= 1")
    if not 0 < small <= large:
        raise ParameterError("rate is not a smaller sampling rate", came=rate, allowed=f"0 < rate <= {float(large):g}")
    return small / large
