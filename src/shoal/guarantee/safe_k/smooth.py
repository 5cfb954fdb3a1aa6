"""f-smooth bounds: one promise for every epsilon beyond the first, with delta falling fast (LQS10 section 6).

delta_0 f(z) bounds delta at epsilon = z epsilon_0 for all z >= 1. It is Chernoff's bound on the published
d, so it is weaker than the tight curve, but it is one formula and it composes by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from shoal.errors import PreconditionError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import Number, decimal, exact, exact_text, guarded_up, precise, text_up
from shoal.guarantee.safe_k.curve import check_beta, check_epsilon, check_k


@dataclass(frozen=True)
class SmoothCrowd:
    """The f-smooth bound of one sampled crowd, from epsilon_0 = `epsilon` on (LQS10 Theorem 6)."""

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
                    came=f"epsilon_0 = {float(self.epsilon):g} with beta = {float(self.beta):g}",
                    allowed=f"epsilon_0 >= {float(least):.6g}",
                )

    def chernoff(self, z: Fraction) -> Decimal:
        """exp(-k (ln(gamma(z)/beta) - (gamma(z) - beta)/gamma(z))), gamma(z) = 1 - (1 - beta) e^(-epsilon_0 z)."""
        beta = decimal(self.beta)
        gamma = 1 - (1 - beta) / (decimal(self.epsilon) * decimal(z)).exp()
        return (-self.k * ((gamma / beta).ln() - (gamma - beta) / gamma)).exp()


@dataclass(frozen=True)
class SmoothDP(Guarantee):
    """f-smooth (epsilon_0, delta_0)-DP of one or more fresh-sample releases (LQS10 Definition 5, Theorem 5)."""

    parts: tuple[SmoothCrowd, ...]
    kind: ClassVar[str] = "smooth-dp"
    composes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.parts:
            raise UsageError("an f-smooth bound needs at least one release")

    @classmethod
    def of(cls, k: int, beta: Number, epsilon: Number) -> SmoothDP:
        """The bound of one release."""
        return cls((SmoothCrowd(k, beta, epsilon),))

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
        """Both, each from its own fresh sample: sums of epsilon_0 and delta_0, the larger f (LQS10 Theorem 5)."""
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
        """Back from a file."""
        return cls(tuple(SmoothCrowd(*part) for part in saved["parts"]))

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
            came=f"z = {float(factor):g}",
            allowed="z >= 1",
        )
    return factor
