"""The result of an audit: a lower bound on epsilon, whether it refutes the claim, and the most that its runs could have found.

If the mechanism kept its claim, an event that has at least probability p on one table and at most q on the other would have
p <= e^epsilon q + delta, and the same for its complement. Bounds of Clopper and Pearson hold for p and q together with
probability 1 − alpha, so a mechanism that keeps its claim is refuted with probability alpha at most (Ding, Wang, Wang, Zhang and
Kifer 2018; Jagielski, Ullman and Oprea 2020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import text_near

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def epsilons_at_least(first: Integers, second: Integers, runs: int, delta: Fraction, alpha: float) -> Floats:
    """Bound epsilon from below for many events at once, from their hits on both tables; 0 where nothing is found.

    >>> epsilons_at_least(np.array([1000, 500]), np.array([0, 480]), 1000, Fraction(0), 0.001).round(2).tolist()
    [4.88, 0.0]
    """
    from scipy.special import betaincinv

    tail = alpha / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        likely = np.where(first > 0, betaincinv(np.maximum(first, 1), runs - first + 1, tail), 0.0)
        rare = np.where(second < runs, betaincinv(second + 1, np.maximum(runs - second, 1), 1 - tail), 1.0)
        allowed = float(delta)
        ratios = [
            np.log(np.maximum(likely - allowed, 0) / rare),
            np.log(np.maximum(1 - rare - allowed, 0) / (1 - likely)),
        ]
    return np.asarray(np.maximum(0.0, np.nan_to_num(np.maximum(*ratios), nan=0.0, neginf=0.0, posinf=np.inf)))


def most_epsilon(runs: int, delta: Fraction, alpha: float) -> float:
    """The largest bound that so many runs can give: that of an event which occurs always on one table and never on the other.

    >>> round(most_epsilon(10_000, Fraction(0), 1e-6), 2)
    6.53
    """
    return float(epsilons_at_least(np.array([runs]), np.array([0]), runs, delta, alpha)[0])


def fewest_runs(epsilon: float, delta: Fraction, alpha: float) -> int | None:
    """The number of runs on each table from which on a claim of epsilon could be refuted at all; None where there is none.

    With all hits on one table and none on the other the bounds are x = (alpha/2)^(1/runs) and 1 − x, so that x has to exceed
    (e^epsilon + delta) / (e^epsilon + 1).

    >>> fewest_runs(1, Fraction(0), 1e-6)
    47
    """
    if not epsilon < 30:
        return None
    growth = math.exp(epsilon)
    needed = (growth + float(delta)) / (growth + 1)
    return math.floor(math.log(alpha / 2) / math.log(needed)) + 1 if needed < 1 else None


@dataclass(frozen=True)
class AuditResult:
    """How often an event occurred on each of two neighbouring tables, and what follows for epsilon.

    >>> AuditResult(runs=1000, hits=(1000, 0), delta=Fraction(0), alpha=0.001).epsilon_at_least > 4.8
    True
    >>> AuditResult(runs=1000, hits=(500, 480), delta=Fraction(0), alpha=0.001).epsilon_at_least
    0.0
    """

    runs: int
    """On each table, to count the event on."""
    hits: tuple[int, int]
    """On the table on which the event is likelier, and on the other."""
    delta: Fraction
    """The delta at which epsilon is bounded."""
    alpha: float
    """The probability with which the bound may be wrong."""
    claim: DifferentialPrivacy | None = None
    """The claim that was put to the test."""
    event: str = ""
    """Which outputs were counted, in words."""
    likelier: int = 1
    """On which table of the pair the event is likelier: 1 or 2."""
    trials: int = 0
    """Further runs on each table, to choose the event on."""

    @property
    def epsilon_at_least(self) -> float:
        """With this delta the mechanism's epsilon is at least so large, with probability 1 − alpha; 0 where nothing is found."""
        first, second = (np.array([hit]) for hit in self.hits)
        return float(epsilons_at_least(first, second, self.runs, self.delta, self.alpha)[0])

    @property
    def power_ceiling(self) -> float:
        """The largest bound that so many runs could have given, whatever the mechanism does."""
        return most_epsilon(self.runs, self.delta, self.alpha)

    @property
    def claimed_epsilon(self) -> float:
        """What the claim says at this delta; infinite where it says nothing, or where there is no claim."""
        return math.inf if self.claim is None else self.claim.epsilon_at(self.delta)

    @property
    def refuted(self) -> bool:
        """Whether the mechanism does not keep its claim; no other answer proves that it does."""
        return self.epsilon_at_least > self.claimed_epsilon

    @property
    def could_refute(self) -> bool:
        """Whether so many runs could have refuted the claim at all."""
        return self.power_ceiling > self.claimed_epsilon

    def contradicts(self, claim: DifferentialPrivacy) -> bool:
        """Whether the mechanism does not keep this claim: it asks for a smaller epsilon at this delta than was found."""
        return self.epsilon_at_least > claim.epsilon_at(self.delta)

    def words(self) -> list[str]:
        """What was found, what it means and what it does not, in sentences."""
        verdict, claimed = "Refuted" if self.refuted else "Not refuted", _number(self.claimed_epsilon)
        shown = (
            f"epsilon to be at least {self.epsilon_at_least:.4g}, a bound that is wrong with probability {self.alpha:g} at most."
            if self.epsilon_at_least > 0
            else "nothing about epsilon."
        )
        bound = (
            f"{verdict}: at delta {text_near(self.delta, 4)} the claim is epsilon {claimed}, and the runs show {shown}"
        )
        counted = (
            f"The event: {self.event}. It occurred in {self.hits[0]:,} of {self.runs:,} runs on table {self.likelier} and in "
            f"{self.hits[1]:,} of {self.runs:,} on table {3 - self.likelier}; it was chosen on {self.trials:,} others on each."
        )
        ceiling = f"So many runs could have shown {self.power_ceiling:.4g} at most, whatever the mechanism does."
        found = [bound, counted, ceiling]
        if self.refuted:
            found.append(
                f"The mechanism does not keep its claim on these two tables: one that does is refuted with probability "
                f"{self.alpha:g} at most."
            )
            return found
        if not self.could_refute:
            needed = fewest_runs(self.claimed_epsilon, self.delta, self.alpha)
            fix = "no number of runs would do" if needed is None else f"it takes {needed:,} runs or more on each table"
            found.append(f"So few runs could not have refuted the claim at all: {fix}.")
        found.append(
            "Not refuted is not proved: other tables, other events or more runs may show more. What is promised rests on its "
            "theorem, not on this."
        )
        return found

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values, with what follows from them."""
        return {
            "refuted": self.refuted,
            "proved": False,
            "claim": None if self.claim is None else self.claim.words(),
            "claimed_epsilon": _finite(self.claimed_epsilon),
            "delta": float(self.delta),
            "epsilon_at_least": _finite(self.epsilon_at_least),
            "alpha": self.alpha,
            "power_ceiling": _finite(self.power_ceiling),
            "could_refute": self.could_refute,
            "runs": self.runs,
            "trials": self.trials,
            "hits": list(self.hits),
            "likelier_table": self.likelier,
            "event": self.event,
        }


def _number(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
