"""What is left of one budget, and whether a cost fits into it: by the sum of all costs, or by a privacy filter."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from shoal.guarantee.rounding import exact_text, text_down
from shoal.ledger.event import Budget, Cost
from shoal.ledger.filter import NOTHING_ADDED, FilterBudget, FilterLeft, FilterState


@dataclass(frozen=True)
class Room:
    """What is left of the budget of a dataset, or of an analyst's share of it.

    Without a `filter` costs add up, epsilon by epsilon and delta by delta. With one, a cost fits while the basic or the Gaussian
    way of the filter allows it (theorem `adaptive-filter`).
    """

    most: Budget
    """The sums that are allowed in the basic way: the budget, or what it is worth on a sample."""
    spent: Budget
    filter: FilterBudget | None = None
    state: FilterState = NOTHING_ADDED

    @property
    def left(self) -> Budget:
        """What is left in the basic way, as (epsilon, delta)."""
        if self.filter is None:
            return difference(self.most, self.spent)
        left = self.state.left(self.filter, self.most.epsilon)
        return Budget(left.epsilon, left.delta)

    def fits(self, cost: Cost, *, basic: bool = False) -> bool:
        """Whether a cost fits; `basic` asks that the sum of all costs stays within the budget afterwards."""
        if self.filter is None:
            within = self.spent.epsilon + cost.epsilon <= self.most.epsilon
            return within and self.spent.delta + cost.delta <= self.most.delta
        after = self.state.after(cost.event, self.filter, self.most.epsilon)
        return after is not None and (after.basic or not basic)

    def more(self, cost: Cost, *, basic: bool = False) -> int | None:
        """How many entries of this cost fit one after another; None where nothing limits them. `basic` is as for `fits`."""
        if self.filter is not None:
            state = replace(self.state, gaussian=False) if basic else self.state
            return state.more(cost.event, self.filter, self.most.epsilon)
        pairs = ((self.left.epsilon, cost.epsilon), (self.left.delta, cost.delta))
        fits = [left // price for left, price in pairs if price]
        return int(min(fits)) if fits else None

    def part_used(self, cost: Cost) -> Fraction | None:
        """The part of the whole budget that a cost uses, in the way that still holds and in which it uses less."""
        if self.filter is None:
            pairs = ((cost.epsilon, self.most.epsilon), (cost.delta, self.most.delta))
            if any(price and not most for price, most in pairs):
                return None
            return max((price / most for price, most in pairs if price), default=Fraction(0))
        return self.filter.part_used(cost.event, basic=self.state.basic, gaussian=self.state.gaussian)

    @property
    def is_overspent(self) -> bool:
        """Whether more was spent than the budget allows, since it was lowered; then nothing more fits."""
        if self.filter is not None:
            return not (self.state.basic or self.state.gaussian)
        return self.spent.epsilon > self.most.epsilon or self.spent.delta > self.most.delta

    def words(self) -> str:
        """What is left, in words: under each way of adding up."""
        if self.filter is None:
            return f"({text_down(self.left.epsilon)}, {text_down(self.left.delta)})"
        left = self.state.left(self.filter, self.most.epsilon)
        ways = []
        if self.state.basic:
            ways.append(f"({text_down(left.epsilon)}, {text_down(left.delta)}) by the sum of epsilons")
        if self.state.gaussian and self.filter.mu_squared:
            percent = text_down(100 * left.mu_squared / self.filter.mu_squared, 3)
            ways.append(f"{percent} % for Gaussian noise{_one_count(left.mu_squared)}")
        found = ", or ".join(ways) or "nothing"
        if not self.filter.aside and not self.filter.aside_delta:
            return found
        return f"{found}; ({text_down(left.aside)}, {text_down(left.aside_delta)}) set aside for releases"

    def to_json(self) -> dict[str, object]:
        """What is left under each way, as exact text."""
        if self.filter is None:
            return {"accounting": "basic", **self.left.to_saved()}
        left = self.state.left(self.filter, self.most.epsilon)
        return {
            "accounting": "gaussian",
            **self.left.to_saved(),
            "mu_squared": exact_text(left.mu_squared),
            **self._aside_fields(left),
            "basic": self.state.basic,
            "gaussian": self.state.gaussian,
        }

    def _aside_fields(self, left: FilterLeft) -> dict[str, object]:
        """What is left of what is set aside, as exact text; nothing where nothing is."""
        if self.filter is None or not (self.filter.aside or self.filter.aside_delta):
            return {}
        return {"aside": exact_text(left.aside), "aside_delta": exact_text(left.aside_delta)}


def _one_count(mu_squared: Fraction) -> str:
    """What Gaussian noise of this mu^2 is worth: how near one count that a row changes by one could still be."""
    if not mu_squared:
        return ""
    within = math.ceil(1.96 * math.sqrt(float(1 / mu_squared) + 2))
    return f" (one count within about {within:,})"


def difference(budget: Budget, spent: Budget) -> Budget:
    """What is left of a budget; each number is at least 0."""
    zero = Fraction(0)
    return Budget(max(zero, budget.epsilon - spent.epsilon), max(zero, budget.delta - spent.delta))
