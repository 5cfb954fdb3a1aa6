"""Where one dataset stands: its ceiling, what was spent, what is left, and what more of a kind would fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.guarantee.compose import compose
from shoal.guarantee.differential import allowance
from shoal.guarantee.rounding import Number
from shoal.guarantee.unit import Neighbours
from shoal.ledger.event import Budget, Cost

_ALMOST_ONE = Fraction(999_999, 1_000_000)
"""The largest delta at which a composed epsilon is looked up; sums are never cut."""


@dataclass(frozen=True)
class Share:
    """What one analyst may spend of a dataset, and has spent."""

    name: str
    budget: Budget
    spent: Budget

    @property
    def left(self) -> Budget:
        """What the share still allows."""
        return difference(self.budget, self.spent)


@dataclass(frozen=True)
class Account:
    """Where one dataset stands."""

    dataset: str
    budget: Budget | None
    neighbours: Neighbours | None
    unit: dict[str, Any] | None
    costs: tuple[Cost, ...]
    releases: int
    unbounded: int
    looks: int
    sample_used: bool
    questions: int = 0
    """How many questions were charged; those of a batch count one each."""
    rate: Fraction | None = None
    """The rate at which all that was charged was drawn from a population, where the holder knows it."""
    shares: tuple[Share, ...] = ()

    @property
    def spent(self) -> Budget:
        """The sum of all charges: what enforces."""
        return total((cost.epsilon for cost in self.costs), (cost.delta for cost in self.costs))

    @property
    def left(self) -> Budget | None:
        """What the budget still allows; None before the first charge."""
        return None if self.budget is None else difference(self.budget, self.spent)

    @property
    def ceiling(self) -> Budget | None:
        """What all questions may cost together, counted on the table itself: for a sample more than the budget."""
        return ceiling(self.budget, self.rate)

    def total(self, delta: Number | None = None) -> float | None:
        """The composed epsilon of all charges at delta (default: the deltas' sum), for information. None if there is none."""
        if not self.costs:
            return None
        parts = [part for cost in self.costs for part in cost.parts]
        return compose(parts).epsilon_at(min(_ALMOST_ONE, self.spent.delta) if delta is None else delta)

    def forecast(self, cost: Cost) -> int | None:
        """How many more entries of this cost fit; None where no budget is set yet."""
        if self.left is None:
            return None
        fits = [
            left // price for left, price in ((self.left.epsilon, cost.epsilon), (self.left.delta, cost.delta)) if price
        ]
        return int(min(fits)) if fits else None


def ceiling(budget: Budget | None, rate: Fraction | None) -> Budget | None:
    """The budget of a population as a ceiling for all samples at a rate (theorem `dependent-samples`), rounded down.

    Costs on samples are added up first and amplified once, as a whole. Adding up costs that were amplified one by
    one would be less than the truth: ln(1 + beta (e^x - 1)) of a sum is more than the sum of its values.

    A table that is registered again may be another sample, and may depend on the first, so delta is not amplified: what
    one sample does not show of a person, another may.
    """
    if budget is None or rate is None:
        return budget
    return Budget(Fraction(allowance(budget.epsilon, 0, rate).epsilon), budget.delta)


def total(epsilons: Sequence[Fraction] | Any, deltas: Sequence[Fraction] | Any) -> Budget:
    """The sums of both."""
    return Budget(sum(epsilons, start=Fraction(0)), sum(deltas, start=Fraction(0)))


def difference(budget: Budget, spent: Budget) -> Budget:
    """What is left, never below nothing."""
    zero = Fraction(0)
    return Budget(max(zero, budget.epsilon - spent.epsilon), max(zero, budget.delta - spent.delta))
