"""Differential privacy as values: pure, approximate, whole curves, and privacy that lives on one sample.

Each prints itself, compares by implication, and gives delta at any epsilon and epsilon at any delta,
rounded up. `SampledDP` is the odd one out: it does not compose on the sample it was made for.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from shoal.errors import CompositionError, ParameterError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.composition.amplify import amplify
from shoal.guarantee.rounding import GUARD, Number, decimal, exact, precise, text_up, up
from shoal.guarantee.safe_k.curve import (
    check_beta,
    check_delta,
    check_epsilon,
    check_k,
    delta_add,
    delta_remove,
    delta_tight,
)
from shoal.guarantee.safe_k.dominating_pair import crowd_losses, on_grid
from shoal.guarantee.safe_k.solve import solve

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
    def spread(self) -> float:
        """A typical width of its privacy loss, which sets the grid on which it is composed."""
        return max(1e-6, min(1.0, self.epsilon_at(1e-3) or 1.0))

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
    """epsilon-differential privacy: no outcome is more than e^epsilon times as likely with one unit's data as without."""

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

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        return ApproxDP(self.epsilon, 0).distributions(grid)

    def words(self) -> str:
        return (
            f"{text_up(self.epsilon)}-differential privacy: no outcome is more than "
            f"{text_up(_growth(self.epsilon))} times as likely with one unit's data as without"
        )


@dataclass(frozen=True)
class ApproxDP(DifferentialPrivacy):
    """(epsilon, delta)-differential privacy."""

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
            f"({text_up(self.epsilon)}, {text_up(self.delta)})-differential privacy: no event is more likely with one unit's "
            f"data than {text_up(_growth(self.epsilon))} times its likelihood without, plus {text_up(self.delta)}"
        )


@dataclass(frozen=True)
class SampledCrowd(DifferentialPrivacy):
    """Sampling at rate beta, then dropping tuples seen fewer than k times, with the whole curve delta*(epsilon)."""

    k: int
    beta: Fraction
    kind: ClassVar[str] = "sampled-crowd"

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
        if d < self.beta**self.k:
            return math.inf
        return solve(delta=d, k=self.k, beta=self.beta).epsilon

    @property
    def spread(self) -> float:
        return max(1e-6, min(1.0, 10 * float(self.beta) / math.sqrt(self.k)))

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        """From the dominating pair of theorem `safe-k-dominating-pair`."""
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

        remove, add = (crowd_losses(self.k, self.beta, direction) for direction in ("remove", "add"))
        return PrivacyLossDistribution(on_grid(remove, grid)), PrivacyLossDistribution(on_grid(add, grid))

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, SampledCrowd):
            return self.k >= other.k and self.beta <= other.beta
        return super().implies(other)

    def words(self) -> str:
        return (
            f"the privacy of hiding in a crowd of {self.k} behind a random sample at rate {float(self.beta):g}: "
            f"for example ({text_up(1.0)}, {text_up(self.delta_at(1))})-differential privacy"
        )


@dataclass(frozen=True)
class LaplaceDP(DifferentialPrivacy):
    """Laplace noise whose scale is sensitivity / epsilon, with its whole curve."""

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
    """Gaussian noise of standard deviation sensitivity / mu, with its whole curve (Balle and Wang 2018)."""

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
    """(beta, epsilon, delta)-DP under sampling (LQS11 Definition 3): private if run once on a fresh sample at rate beta."""

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
            f"on a fresh random sample at rate {float(self.beta):g} that is used for nothing else"
        )


def _growth(epsilon: Fraction) -> float:
    with precise():
        return up(decimal(epsilon).exp() * (1 + GUARD))


def _positive(value: Number, name: str) -> Fraction:
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(f"{name} is not positive", came=value, allowed=f"{name} > 0")
    return number
