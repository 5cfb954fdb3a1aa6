"""Differential privacy as values: pure, approximate, whole curves, f-smooth bounds, and privacy under sampling.

Each prints itself, compares by implication, and gives delta at any epsilon and epsilon at any delta,
rounded up. `SampledDP` alone does not compose: it holds for one run on one fresh sample. `amplify` says what sampling is worth.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import CompositionError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.rounding import (
    GUARD,
    Number,
    decimal,
    down,
    exact,
    exact_text,
    guarded_up,
    precise,
    text_near,
    text_up,
    up,
)
from shoal.guarantee.safe_k.curve import (
    check_beta,
    check_delta,
    check_epsilon,
    check_k,
    delta_add,
    delta_remove,
    delta_tight,
    floor_of_delta,
    on_grid,
    privacy_losses,
)
from shoal.guarantee.safe_k.setting import solve

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution as Distribution

_FLOAT_SLACK = 1e-9
"""Relative slack on curves that come from double-precision special functions (errors below 1e-12)."""


class DifferentialPrivacy(Guarantee):
    """A bound on delta for every epsilon; the larger of the two directions of the neighbouring relation."""

    composes: ClassVar[bool] = True

    @abstractmethod
    def delta_at(self, epsilon: Number) -> float:
        """The delta proved at epsilon, rounded up."""

    @abstractmethod
    def epsilon_at(self, delta: Number) -> float:
        """The smallest epsilon we can prove at delta, rounded up; infinity where there is none."""

    @property
    def own(self) -> tuple[Fraction, Fraction] | None:
        """The one (epsilon, delta) that describes it, or None when only a curve does."""
        return None

    @property
    def concentration(self) -> Fraction | None:
        """The rho of zero-concentrated differential privacy that it is proved to satisfy, or None where none is known."""
        return None

    @property
    def spread(self) -> float:
        """A typical width of its privacy loss, which sets the grid on which it is composed."""
        return max(1e-6, min(1.0, self.epsilon_at(1e-3) or 1.0))

    @property
    def reach(self) -> float:
        """How large its privacy loss can be, where that limits how fine the grid may be; 0 where it does not."""
        return float(self.own[0]) if self.own else 0.0

    @abstractmethod
    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        """Privacy-loss distributions on a grid, never below the truth: of removing a record, and of adding one."""

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, PureDP):
            return self.epsilon_at(0) <= up(other.epsilon)
        if isinstance(other, ApproxDP):
            return self.delta_at(other.epsilon) <= up(other.delta)
        if isinstance(other, SampledDP):
            return other.follows_from(self)
        return self == other


@dataclass(frozen=True)
class PureDP(DifferentialPrivacy):
    """epsilon-differential privacy: no outcome is more than e^epsilon times as likely with one unit's data as without.

    Arguments  `epsilon` is a number from 0 to 700, or its text; it is kept exactly
    Raises     ParameterError for what is no such number

    >>> PureDP("0.5") >= PureDP(1)  # 0.5-DP implies 1-DP
    True
    >>> PureDP(1).delta_at("0.5")
    0.28764913...
    """

    epsilon: Fraction
    kind: ClassVar[str] = "pure-dp"

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(epsilon))

    def delta_at(self, epsilon: Number) -> float:
        return ApproxDP(self.epsilon, 0).delta_at(epsilon)

    def epsilon_at(self, delta: Number) -> float:
        return ApproxDP(self.epsilon, 0).epsilon_at(delta)

    @property
    def own(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, Fraction(0)

    @property
    def concentration(self) -> Fraction:
        return self.epsilon**2 / 2

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        return ApproxDP(self.epsilon, 0).distributions(grid)

    def words(self) -> str:
        return (
            f"{text_up(self.epsilon)}-differential privacy: no outcome is more than "
            f"{text_up(_growth(self.epsilon))} times as likely with one unit's data as without"
        )


@dataclass(frozen=True)
class ApproxDP(DifferentialPrivacy):
    """(epsilon, delta)-differential privacy: on neighbouring tables P(event) <= e^epsilon P'(event) + delta, both ways.

    Arguments  `epsilon` is a number from 0 to 700, `delta` one from 0 to 1, or their texts; both are kept exactly
    Raises     ParameterError for what is no such number

    >>> ApproxDP(1, "1e-6").epsilon_at("1e-6")
    1.0
    >>> ApproxDP(1, "1e-6").implies(ApproxDP(2, "1e-5"))
    True
    """

    epsilon: Fraction
    delta: Fraction
    kind: ClassVar[str] = "approx-dp"

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(epsilon))
        object.__setattr__(self, "delta", check_delta(delta))

    def delta_at(self, epsilon: Number) -> float:
        """Below its own epsilon: the divergence of randomized response, which dominates (Kairouz, Oh, Viswanath 2015)."""
        e = check_epsilon(epsilon)
        if e >= self.epsilon:
            return up(self.delta)
        with precise():
            own, d = decimal(self.epsilon).exp(), decimal(self.delta)
            return up((d + (1 - d) * (own - decimal(e).exp()) / (1 + own)) * (1 + GUARD))

    def epsilon_at(self, delta: Number) -> float:
        d = check_delta(delta)
        if d < self.delta:
            return math.inf
        if d == 1 or self.delta == 1:
            return 0.0 if d == 1 else math.inf
        with precise():
            own, base = decimal(self.epsilon).exp(), decimal(self.delta)
            ratio = own - (decimal(d) - base) / (1 - base) * (1 + own)
            return 0.0 if ratio <= 1 else min(up(self.epsilon), up(ratio.ln() * (1 + GUARD)))

    @property
    def own(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.delta

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        from dp_accounting.pld.common import DifferentialPrivacyParameters
        from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters

        parameters = DifferentialPrivacyParameters(up(self.epsilon), up(self.delta))
        both = from_privacy_parameters(parameters, value_discretization_interval=grid)
        return both, both

    def words(self) -> str:
        return (
            f"({text_up(self.epsilon)}, {text_up(self.delta)})-differential privacy: for two tables that differ by one "
            f"unit, every event has under either at most {text_up(_growth(self.epsilon))} times its probability under the "
            f"other, plus {text_up(self.delta)}"
        )


@dataclass(frozen=True)
class SafeKSampling(DifferentialPrivacy):
    """Random sampling at rate beta, then safe k-anonymization with minimum class size k, with the whole curve delta*(epsilon).

    One row is added or removed. The recoding does not depend on the data, and tuples of the sample seen fewer than k times are
    suppressed (theorem `safe-k-tight`; its dominating pair composes without loss). In files its kind is `safe-k-sampling`.

    Arguments  `k` is a whole number from 1 to a million, `beta` a number above 0 and below 1, or its text
    Raises     ParameterError for what is no such number; PreconditionError for beta = 1, which is no sampling

    >>> SafeKSampling(20, "0.1").delta_at(1)
    2.76068725...e-15
    >>> SafeKSampling(30, "0.1").implies(SafeKSampling(20, "0.2"))
    True
    """

    k: int
    beta: Fraction
    kind: ClassVar[str] = "safe-k-sampling"

    def __init__(self, k: int, beta: Number) -> None:
        object.__setattr__(self, "k", check_k(k))
        object.__setattr__(self, "beta", check_beta(beta))

    def delta_at(self, epsilon: Number) -> float:
        return delta_tight(self.k, self.beta, epsilon)

    def delta_remove(self, epsilon: Number) -> float:
        """The direction of removing a record, for any sign of epsilon."""
        return delta_remove(self.k, self.beta, epsilon)

    def delta_add(self, epsilon: Number) -> float:
        """The direction of adding a record, for any sign of epsilon."""
        return delta_add(self.k, self.beta, epsilon)

    def epsilon_at(self, delta: Number) -> float:
        d = check_delta(delta)
        if d >= self.beta:
            return 0.0
        if d < floor_of_delta(self.k, self.beta):
            return math.inf
        return up(solve(delta=d, k=self.k, beta=self.beta).epsilon)

    @property
    def spread(self) -> float:
        return max(1e-6, min(1.0, 10 * float(self.beta) / math.sqrt(self.k)))

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        """From the dominating pair of theorem `safe-k-dominating-pair`."""
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

        remove, add = (privacy_losses(self.k, self.beta, direction) for direction in ("remove", "add"))
        return PrivacyLossDistribution(on_grid(remove, grid)), PrivacyLossDistribution(on_grid(add, grid))

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, SafeKSampling):
            return self.k >= other.k and self.beta <= other.beta
        return super().implies(other)

    def words(self) -> str:
        return (
            f"a random sample at rate {text_near(self.beta)}, then suppression of tuples seen fewer than {self.k} times: "
            f"for example ({text_up(1.0)}, {text_up(self.delta_at(1))})-differential privacy"
        )


@dataclass(frozen=True)
class LaplaceDP(DifferentialPrivacy):
    """Laplace noise whose scale is sensitivity / epsilon, with its whole curve.

    Arguments  `epsilon` is a number above 0, or its text
    Raises     ParameterError for what is no such number

    >>> LaplaceDP(1).delta_at(1)
    0.0
    >>> LaplaceDP(1).delta_at("0.5") < PureDP(1).delta_at("0.5")
    True
    """

    epsilon: Fraction
    kind: ClassVar[str] = "laplace-dp"

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", _positive(epsilon, "epsilon"))

    def delta_at(self, epsilon: Number) -> float:
        e = check_epsilon(epsilon)
        return 0.0 if e >= self.epsilon else -math.expm1(float(e - self.epsilon) / 2) * (1 + _FLOAT_SLACK)

    def epsilon_at(self, delta: Number) -> float:
        d = float(check_delta(delta))
        if d == 1:
            return 0.0
        return max(0.0, float(self.epsilon) + 2 * math.log1p(-d)) * (1 + _FLOAT_SLACK) if d else up(self.epsilon)

    @property
    def own(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, Fraction(0)

    @property
    def concentration(self) -> Fraction:
        return self.epsilon**2 / 2

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism

        both = from_laplace_mechanism(1 / float(self.epsilon), value_discretization_interval=grid)
        return both, both

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, LaplaceDP):
            return self.epsilon <= other.epsilon
        return super().implies(other)

    def words(self) -> str:
        return f"Laplace noise calibrated to {text_up(self.epsilon)}-differential privacy"


@dataclass(frozen=True)
class GaussianDP(DifferentialPrivacy):
    """Gaussian noise of standard deviation sensitivity / mu, with its whole curve (Balle and Wang 2018).

    Arguments  `mu` is a number above 0, or its text
    Raises     ParameterError for what is no such number

    >>> round(GaussianDP("0.5").epsilon_at("1e-6"), 3)
    2.254
    """

    mu: Fraction
    kind: ClassVar[str] = "gaussian-dp"

    def __init__(self, mu: Number) -> None:
        object.__setattr__(self, "mu", _positive(mu, "mu"))

    def delta_at(self, epsilon: Number) -> float:
        from scipy.special import log_ndtr

        e, mu = float(check_epsilon(epsilon)), float(self.mu)
        first = float(log_ndtr(mu / 2 - e / mu))
        second = e + float(log_ndtr(-mu / 2 - e / mu))
        return min(1.0, math.exp(first) * -math.expm1(min(0.0, second - first)) * (1 + _FLOAT_SLACK) + 5e-324)

    def epsilon_at(self, delta: Number) -> float:
        d = float(check_delta(delta))
        if d == 0:
            return math.inf
        low, high = 0.0, 1.0
        if self.delta_at(low) <= d:
            return low
        while self.delta_at(high) > d:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta_at(middle) <= d else (middle, high)
        return high

    @property
    def concentration(self) -> Fraction:
        return self.mu**2 / 2

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

        both = from_gaussian_mechanism(1 / float(self.mu), value_discretization_interval=grid)
        return both, both

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, GaussianDP):
            return self.mu <= other.mu
        return super().implies(other)

    def words(self) -> str:
        return f"Gaussian noise with mu = {text_up(self.mu)}: for example (1, {text_up(self.delta_at(1))})-differential privacy"


@dataclass(frozen=True)
class SampledDP(Guarantee):
    """(beta, epsilon, delta)-DP under sampling (LQS11 Definition 3): private if run once on a fresh sample at rate beta.

    It does not compose on one sample; `on_fresh_sample` gives the plain differential privacy of one run, which composes.

    Arguments  `beta` is a number above 0 and below 1, `epsilon` one from 0 to 700, `delta` one from 0 to 1, or their texts
    Raises     ParameterError for what is no such number; `on_same_sample` raises CompositionError

    >>> SampledDP("0.2", 1, "1e-6").on_fresh_sample() == ApproxDP(1, "1e-6")
    True
    """

    beta: Fraction
    epsilon: Fraction
    delta: Fraction
    kind: ClassVar[str] = "sampled-dp"
    composes: ClassVar[bool] = False

    def __init__(self, beta: Number, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "beta", check_beta(beta))
        object.__setattr__(self, "epsilon", check_epsilon(epsilon))
        object.__setattr__(self, "delta", check_delta(delta))

    def on_fresh_sample(self) -> ApproxDP:
        """What one run on a sample drawn for it and then discarded satisfies; this composes."""
        return ApproxDP(self.epsilon, self.delta)

    def on_same_sample(self, other: Guarantee) -> Guarantee:
        """Refuses: two results from one sample are covered by no theorem, even if one of them is plain DP."""
        raise CompositionError(
            "dps-does-not-compose",
            "a result that is private only under sampling shares its sample with another result",
            came=f"{self.kind} and {other.kind} on one sample",
            allowed="one publication per sample, the sample then discarded (LQS11 sections 2.2 and 2.6)",
            fix="draw a fresh sample for each publication",
        )

    def follows_from(self, other: DifferentialPrivacy) -> bool:
        """Whether plain DP, amplified by the sampling, gives this (LQS11 Theorem 1)."""
        candidates = [other.epsilon_at(self.delta)]
        for e in candidates:
            if math.isfinite(e):
                reached = amplify(e, other.delta_at(e), self.beta)
                if reached.epsilon <= up(self.epsilon) and reached.delta <= up(self.delta):
                    return True
        return False

    def implies(self, other: Guarantee) -> bool:
        """At a smaller rate by amplification, and with larger epsilon or delta."""
        if not isinstance(other, SampledDP) or other.beta > self.beta:
            return False
        if other.beta == self.beta:
            return self.epsilon <= other.epsilon and self.delta <= other.delta
        reached = amplify(self.epsilon, self.delta, other.beta, self.beta)
        return reached.epsilon <= up(other.epsilon) and reached.delta <= up(other.delta)

    def words(self) -> str:
        return (
            f"({text_up(self.epsilon)}, {text_up(self.delta)})-differential privacy if run once, "
            f"on a fresh random sample at rate {text_near(self.beta)} that is used for nothing else"
        )


def _growth(epsilon: Fraction) -> float:
    with precise():
        return up(decimal(epsilon).exp() * (1 + GUARD))


def _positive(value: Number, name: str) -> Fraction:
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(f"{name} is not positive", came=value, allowed=f"{name} > 0")
    return number


@dataclass(frozen=True)
class AmplifiedBudget:
    """The epsilon and delta that hold after sampling at `rate`, or that may be spent on the sample."""

    epsilon: float
    delta: float
    rate: float


def amplify(epsilon: Number, delta: Number, rate: Number, from_rate: Number = 1) -> AmplifiedBudget:
    """Epsilon and delta at sampling rate `rate` of what is (epsilon, delta) at `from_rate` (theorem `amplification`).

    LQS11 Theorem 1: epsilon becomes ln(1 + r (e^epsilon - 1)) and delta becomes r delta, r = rate / from_rate.

    Arguments  `epsilon` and `delta` hold on what was sampled at `from_rate` (1: on the whole table); `rate` is at most that
    Raises     ParameterError for numbers out of range, and for a rate above `from_rate`

    >>> amplify(1, "1e-6", "0.1").epsilon
    0.15856507...
    """
    e, d = check_epsilon(epsilon), check_delta(delta)
    share = _share(rate, from_rate)
    with precise():
        ratio = decimal(share)
        amplified = (1 + ratio * (decimal(e).exp() - 1)).ln()
        return AmplifiedBudget(up(amplified * (1 + GUARD)), up(d * share), float(exact(rate)))


def allowance(epsilon: Number, delta: Number, rate: Number) -> AmplifiedBudget:
    """The budget that a mechanism may spend on a fresh sample at `rate`, for a target on the whole: the inverse of `amplify`.

    Both numbers are rounded down, so that amplifying them stays within the target.

    Arguments  `epsilon` and `delta` are the target on the whole table, `rate` is the sampling rate
    Raises     ParameterError for numbers out of range

    >>> round(allowance("0.15857", "1e-7", "0.1").epsilon, 4)
    1.0
    """
    e, d = check_epsilon(epsilon), check_delta(delta)
    share = _share(rate, 1)
    with precise():
        allowed = (1 + (decimal(e).exp() - 1) / decimal(share)).ln()
        return AmplifiedBudget(down(allowed * (1 - GUARD)), min(1.0, down(d / share)), float(share))


def _share(rate: Number, from_rate: Number) -> Fraction:
    small, large = exact(rate, "rate"), exact(from_rate, "from_rate")
    if not 0 < large <= 1:
        raise ParameterError("from_rate is not a sampling rate", came=from_rate, allowed="0 < from_rate <= 1")
    if not 0 < small <= large:
        raise ParameterError(
            "rate is not a smaller sampling rate", came=rate, allowed=f"0 < rate <= {text_near(large)}"
        )
    return small / large


@dataclass(frozen=True)
class SmoothBound:
    """The f-smooth bound of one release by sampling and safe k-anonymization, from epsilon_0 = `epsilon` on (LQS10 Theorem 6)."""

    k: int
    beta: Fraction
    epsilon: Fraction

    def __init__(self, k: int, beta: Number, epsilon: Number) -> None:
        object.__setattr__(self, "k", check_k(k))
        object.__setattr__(self, "beta", check_beta(beta))
        object.__setattr__(self, "epsilon", check_epsilon(epsilon))
        with precise():
            least = -(1 - decimal(self.beta)).ln()
            if decimal(self.epsilon) < least * (1 - Decimal(10) ** -12):
                raise PreconditionError(
                    "f-smooth",
                    "epsilon_0 lies below -ln(1 - beta), where the published bound is silent",
                    came=f"epsilon_0 = {text_near(self.epsilon)} with beta = {text_near(self.beta)}",
                    allowed=f"epsilon_0 >= {text_near(least)}",
                )

    def chernoff(self, z: Fraction) -> Decimal:
        """exp(-k (ln(gamma(z)/beta) - (gamma(z) - beta)/gamma(z))), gamma(z) = 1 - (1 - beta) e^(-epsilon_0 z)."""
        beta = decimal(self.beta)
        gamma = 1 - (1 - beta) / (decimal(self.epsilon) * decimal(z)).exp()
        return (-self.k * ((gamma / beta).ln() - (gamma - beta) / gamma)).exp()


@dataclass(frozen=True)
class SmoothDP(Guarantee):
    """f-smooth (epsilon_0, delta_0)-DP of one or more fresh-sample releases (LQS10 Definition 5, Theorem 5).

    delta_0 f(z) bounds delta at epsilon = z epsilon_0 for all z >= 1. It is Chernoff's bound on the published d, so it is
    weaker than the tight curve; but it is one formula, and it composes by hand.

    Arguments  `parts` are the bounds of the releases; `SmoothDP.of(k, beta, epsilon)` makes that of one
    Raises     UsageError without a part; PreconditionError where epsilon_0 is below -ln(1 - beta), or z below 1

    >>> bound = SmoothDP.of(20, "0.1", 1)
    >>> bound.delta_at(2) < bound.delta, bound.compose(bound).epsilon
    (True, Fraction(2, 1))
    """

    parts: tuple[SmoothBound, ...]
    kind: ClassVar[str] = "smooth-dp"
    composes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.parts:
            raise UsageError("an f-smooth bound needs at least one release")

    @classmethod
    def of(cls, k: int, beta: Number, epsilon: Number) -> SmoothDP:
        """The f-smooth bound of one release at rate beta with minimum class size k, from epsilon_0 = `epsilon` on."""
        return cls((SmoothBound(k, beta, epsilon),))

    @property
    def epsilon(self) -> Fraction:
        """epsilon_0, the sum over the parts."""
        return sum((part.epsilon for part in self.parts), start=Fraction(0))

    @property
    def delta(self) -> float:
        """delta_0, the sum over the parts, rounded up."""
        with precise():
            return min(1.0, guarded_up(self._delta()))

    def f(self, z: Number) -> float:
        """How much smaller delta is at z epsilon_0: the largest of the parts' functions; 1 at z = 1."""
        factor = _beyond_one(z)
        if factor == 1:
            return 1.0
        with precise():
            return guarded_up(self._f(factor))

    def delta_at(self, epsilon: Number) -> float:
        """delta_0 f(epsilon / epsilon_0), for epsilon at or beyond epsilon_0."""
        z = _beyond_one(check_epsilon(epsilon) / self.epsilon)
        with precise():
            return min(1.0, guarded_up(self._delta() * self._f(z)))

    def floor(self) -> float:
        """What delta_0 f tends to: (beta e^(1 - beta))^k for one part; never zero."""
        with precise():
            limits = [
                (decimal(p.beta) * (1 - decimal(p.beta)).exp()) ** p.k / p.chernoff(Fraction(1)) for p in self.parts
            ]
            return min(1.0, guarded_up(self._delta() * max(limits)))

    def compose(self, other: SmoothDP) -> SmoothDP:
        """The bound of both releases, each from its own fresh sample: sums of epsilon_0 and delta_0, the larger f.

        LQS10 Theorem 5.
        """
        return SmoothDP(self.parts + other.parts)

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, SmoothDP):
            return self == other
        own = other.own if isinstance(other, DifferentialPrivacy) else None
        return own is not None and own[0] >= self.epsilon and self.delta_at(own[0]) <= own[1]

    def words(self) -> str:
        return (
            f"f-smooth ({text_up(self.epsilon)}, {text_up(self.delta)})-differential privacy: at twice that epsilon "
            f"delta is at most {text_up(self.delta_at(2 * self.epsilon))}"
        )

    def to_saved(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "parts": [[p.k, exact_text(p.beta), exact_text(p.epsilon)] for p in self.parts],
        }

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> SmoothDP:
        """The bound that `to_saved` wrote."""
        return cls(tuple(SmoothBound(*part) for part in saved["parts"]))

    def _delta(self) -> Decimal:
        return sum((part.chernoff(Fraction(1)) for part in self.parts), start=Decimal(0))

    def _f(self, z: Fraction) -> Decimal:
        return max(part.chernoff(z) / part.chernoff(Fraction(1)) for part in self.parts)


def _beyond_one(z: Number) -> Fraction:
    factor = exact(z, "z")
    if factor < 1:
        raise PreconditionError(
            "f-smooth",
            "an f-smooth bound starts at epsilon_0",
            came=f"z = {text_near(factor)}",
            allowed="z >= 1",
        )
    return factor
