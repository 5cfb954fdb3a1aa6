"""A privacy filter: how far a budget goes when every question is chosen in view of the answers before it.

Two ways of adding up run side by side, and an event is allowed while at least one of them allows it (theorem
`adaptive-filter`). *Basic* adds epsilons. *Gaussian* adds the mu^2 of events that are no easier to tell apart than two normal
distributions at distance mu. Delta is divided in advance: `pairs` pays for the deltas of events, `gaussian` for the second
way. What is added up is an exact fraction; what is computed is rounded to the safe side.

An (epsilon, delta) may be set aside for events that are only known as such a pair, releases of sampled rows say: they add up
there by themselves, and both ways hold what is left of the budget for all other events.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, reduce
from statistics import NormalDist
from typing import Any, Self

from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.rounding import Number, decimal, exact, exact_text, text_down, text_up, whole
from shoal.guarantee.safe_k.curve import check_delta, check_epsilon

GAUSSIAN_SHARE = Fraction(7, 10)
"""The part of delta that the Gaussian way takes, where the custodian says no other."""
MOST_SLACK = Fraction(1, 10**9)
"""What all events together may take for noise on a grid in place of continuous noise, in units of epsilon."""
LEFT_OUT = 2
"""Of the variance in steps of discrete Gaussian noise, what is drawn on the grid; the rest counts as continuous noise."""
SLACK_OF_COUNT = Fraction(32, 10**18)
"""What one number that a unit changes takes of the slack: ln((1 + h)/(1 - h)), h = 2.01 exp(-4 pi^2) < 1.5e-17."""
_LARGEST_PURE = 20
"""From there on a pure epsilon is worth nothing in the Gaussian way: its mu is above 12."""
_FARTHEST = 20
"""Deviations up to which normal probabilities are computed."""
LEAST_DELTA = Fraction(1, 10**80)
"""Below it the Gaussian way has no share: normal probabilities are not computed as far out as that."""
_DIGITS = 12
_NORMAL = Context(prec=180, Emin=-999_999, Emax=999_999)
_CLOSE = Decimal(10) ** -60
"""Relative error of a normal probability within `_FARTHEST` deviations: 180 digits, less 90 for the subtraction from 1."""


@dataclass(frozen=True)
class EventCost:
    """What one event costs in both ways; known before the event happens, from the question alone.

    Basic: the event is (epsilon, delta)-DP. Gaussian: with probability `reveal` anything may be revealed, else it is, up to
    factors of e^slack either way, computed from one normal number whose mean one unit moves by mu. `common` is the part of delta
    and of reveal that is one and the same chance. `mu_squared` is None where the Gaussian way cannot take the event.

    >>> laplace, gaussian = EventCost.pair("0.1", 0), EventCost.discrete_gaussian("0.3", "1e-8", 1, 200, 1)
    >>> float(laplace.mu_squared), float(gaussian.mu_squared), float((laplace + gaussian).epsilon)
    (0.0157023..., 0.005, 0.4)
    """

    epsilon: Fraction
    delta: Fraction
    mu_squared: Fraction | None
    reveal: Fraction = Fraction(0)
    common: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        numbers = (self.epsilon, self.delta, self.reveal, self.common, self.slack, self.mu_squared or Fraction(0))
        if min(numbers) < 0 or self.common > min(self.delta, self.reveal) or max(self.delta, self.reveal) > 1:
            raise PreconditionError(
                "adaptive-filter", "the cost of an event is out of range", allowed="0 <= common <= delta, reveal <= 1"
            )

    @classmethod
    def pair(cls, epsilon: Number, delta: Number) -> EventCost:
        """The cost of what is only known to be (epsilon, delta)-DP."""
        e, d = check_epsilon(epsilon), check_delta(delta)
        return cls(e, d, pure_mu_squared(e), d, d)

    @classmethod
    def bounded_range(cls, epsilon: Number) -> EventCost:
        """The cost of a choice by the exponential mechanism, whose losses differ by at most epsilon: half of it counts for mu."""
        e = check_epsilon(epsilon)
        return cls(e, Fraction(0), pure_mu_squared(e / 2))

    @classmethod
    def discrete_gaussian(
        cls, epsilon: Number, delta: Number, moved: Number, variance: Number, numbers: int
    ) -> EventCost:
        """The cost of discrete Gaussian noise that is (epsilon, delta)-DP, by its curve where that is the smaller mu.

        `moved` bounds the sum of the squares by which one unit moves the numbers, `variance` is the variance of the noise in
        the same units less twice the square of the widest step (theorem `discrete-gaussian-curve`), and at most so
        many `numbers` change.
        """
        as_pair = cls.pair(epsilon, delta)
        square, rest = exact(moved, "moved"), exact(variance, "variance")
        if square < 0:
            raise ParameterError("a sum of squares is negative", came=moved, allowed="0 or more")
        if rest <= 0:
            return as_pair
        found = exact(text_up(square / rest, _DIGITS))
        if as_pair.mu_squared is not None and as_pair.mu_squared <= found:
            return as_pair
        slack = whole(numbers, "the numbers that change") * SLACK_OF_COUNT
        return cls(as_pair.epsilon, as_pair.delta, found, slack=slack)

    def __add__(self, other: EventCost) -> EventCost:
        """The cost of both, one after the other."""
        square = None
        if self.mu_squared is not None and other.mu_squared is not None:
            square = self.mu_squared + other.mu_squared
        return EventCost(
            self.epsilon + other.epsilon,
            min(Fraction(1), self.delta + other.delta),
            square,
            min(Fraction(1), self.reveal + other.reveal),
            min(Fraction(1), self.common + other.common),
            self.slack + other.slack,
        )

    def largest(self, other: EventCost) -> EventCost:
        """The cost of one of the two, whichever: each number is the larger."""
        both = self.mu_squared is not None and other.mu_squared is not None
        return EventCost(
            max(self.epsilon, other.epsilon),
            max(self.delta, other.delta),
            max(self.mu_squared or Fraction(0), other.mu_squared or Fraction(0)) if both else None,
            max(self.reveal, other.reveal),
            min(self.common, other.common),
            max(self.slack, other.slack),
        )

    def charged_as(self, epsilon: Fraction, delta: Fraction) -> EventCost:
        """The same event where another (epsilon, delta) is proved for it in the basic way, by another chance."""
        if (epsilon, delta) == (self.epsilon, self.delta):
            return self
        return replace(self, epsilon=epsilon, delta=delta, common=Fraction(0))

    def to_saved(self) -> dict[str, Any]:
        """What the ledger notes beside epsilon and delta, as exact text."""
        square = None if self.mu_squared is None else exact_text(self.mu_squared)
        rest = {"reveal": self.reveal, "common": self.common, "slack": self.slack}
        return {"mu_squared": square, **{name: exact_text(value) for name, value in rest.items()}}

    @classmethod
    def from_saved(cls, epsilon: Fraction, delta: Fraction, saved: dict[str, Any]) -> EventCost:
        """The cost that `to_saved` wrote."""
        square = None if saved["mu_squared"] is None else exact(saved["mu_squared"])
        rest = [exact(saved[name]) for name in ("reveal", "common", "slack")]
        return cls(epsilon, delta, square, *rest)


def sum_events(events: Sequence[EventCost]) -> EventCost:
    """The cost of several events, one after the other; at least one."""
    return reduce(operator.add, events)


@dataclass(frozen=True)
class FilterBudget:
    """A budget (epsilon, delta) with the shares of delta, fixed in advance; `mu_squared` is what the Gaussian way may add up to.

    Arguments  `pairs` and `gaussian` divide delta; `mu_squared` is no larger than `largest_mu_squared` proves
    Raises     PreconditionError where they do not fit

    >>> budget = FilterBudget.of(3, "1e-5")
    >>> float(budget.pairs), float(budget.gaussian), round(float(budget.mu_squared) ** 0.5, 3)
    (3e-06, 7e-06, 0.707)
    """

    epsilon: Fraction
    pairs: Fraction
    gaussian: Fraction
    mu_squared: Fraction
    aside: Fraction = Fraction(0)
    """The part of epsilon that is set aside for events that are only known as a pair."""
    aside_delta: Fraction = Fraction(0)
    """The delta that is set aside for them, beside the two shares."""

    def __post_init__(self) -> None:
        shares = (self.pairs, self.gaussian, self.aside_delta)
        if min(self.epsilon, self.mu_squared, self.aside, *shares) < 0 or sum(shares) >= 1:
            raise PreconditionError("adaptive-filter", "the shares of delta do not fit", allowed="0 <= shares, sum < 1")
        if self.aside > self.epsilon:
            raise PreconditionError(
                "adaptive-filter", "more epsilon is set aside than there is", allowed="at most that of the budget"
            )
        if self.mu_squared and not _keeps(self.rest, self.gaussian, self.mu_squared):
            raise PreconditionError(
                "adaptive-filter",
                "mu is larger than epsilon and the Gaussian share of delta allow",
                came=f"mu^2 = {text_up(self.mu_squared)}",
                fix="fix the budget anew",
            )

    @classmethod
    def of(
        cls,
        epsilon: Number,
        delta: Number,
        share: Number = GAUSSIAN_SHARE,
        aside: tuple[Number, Number] = (0, 0),
    ) -> Self:
        """The budget with this share of delta for the Gaussian way; without a delta there is the basic way alone.

        `aside` is the (epsilon, delta) that is set aside; the share is one of what is left of delta.
        """
        e, d, part = check_epsilon(epsilon), check_delta(delta), exact(share, "share")
        if not 0 <= part < 1:
            raise ParameterError("the Gaussian share of delta is out of range", came=share, allowed="0 <= share < 1")
        own = exact(aside[0], "the epsilon set aside"), exact(aside[1], "the delta set aside")
        if min(own) < 0 or own[0] > e or own[1] > d:
            raise ParameterError(
                "what is set aside is no part of the budget",
                came=f"({exact_text(own[0])}, {exact_text(own[1])})",
                allowed=f"at most ({exact_text(e)}, {exact_text(d)})",
            )
        rest = d - own[1]
        return cls(e, rest * (1 - part), rest * part, largest_mu_squared(e - own[0], rest * part), *own)

    @property
    def rest(self) -> Fraction:
        """The epsilon of both ways: what is not set aside."""
        return self.epsilon - self.aside

    def to_saved(self) -> dict[str, str]:
        """The budget as exact text; the ledger keeps it, so that no later version computes another mu."""
        numbers = {
            "epsilon": self.epsilon,
            "pairs": self.pairs,
            "gaussian": self.gaussian,
            "mu_squared": self.mu_squared,
        }
        if self.aside or self.aside_delta:
            numbers |= {"aside": self.aside, "aside_delta": self.aside_delta}
        return {"kind": "gaussian", **{name: exact_text(value) for name, value in numbers.items()}}

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Self:
        """The budget that `to_saved` wrote."""
        if saved["kind"] != "gaussian":
            raise ParameterError("no such accounting", came=saved["kind"], allowed="gaussian")
        first = (exact(saved[name]) for name in ("epsilon", "pairs", "gaussian", "mu_squared"))
        return cls(*first, *(exact(saved.get(name, 0)) for name in ("aside", "aside_delta")))

    def part_used(self, event: EventCost, *, basic: bool = True, gaussian: bool = True) -> Fraction | None:
        """The part of the whole budget that an event uses in the way in which it uses less; None where neither can take it."""
        found = []
        if basic:
            found.append(_largest_part((event.epsilon, self.rest), (event.delta, self.pairs)))
        if gaussian and event.mu_squared is not None:
            pairs = ((event.mu_squared, self.mu_squared), (event.reveal, self.pairs), (event.slack, MOST_SLACK))
            found.append(_largest_part(*pairs))
        return min((part for part in found if part is not None), default=None)


def _largest_part(*pairs: tuple[Fraction, Fraction]) -> Fraction | None:
    """The largest quotient; None where something is asked of nothing."""
    if any(asked and not whole_of for asked, whole_of in pairs):
        return None
    return max((asked / whole_of for asked, whole_of in pairs if asked), default=Fraction(0))


@dataclass(frozen=True)
class FilterState:
    """What has been added up so far, and which of the two ways still holds; `after` is the only way on.

    `delta` adds up the deltas of events in the ways that still held, each chance once; it stays within `pairs` of the budget.
    What was charged to what is set aside is in none of these sums, but in `aside` and `aside_delta`.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)
    basic: bool = True
    gaussian: bool = True
    aside: Fraction = Fraction(0)
    aside_delta: Fraction = Fraction(0)

    def _goes_aside(self, event: EventCost, budget: FilterBudget) -> bool:
        """Whether an event is only known as a pair, and fits into what is set aside; decided by its cost alone."""
        fits = self.aside + event.epsilon <= budget.aside and self.aside_delta + event.delta <= budget.aside_delta
        return bool(event.reveal) and fits and (self.basic or self.gaussian)

    def after(self, event: EventCost, budget: FilterBudget, most: Fraction | None = None) -> FilterState | None:
        """The state once the event has happened; None where neither way allows it, and then it must not happen.

        `most` is the epsilon that the basic way may add up to, where that is not the budget's own (samples of a population).
        The check comes before the event: its cost may depend on earlier answers, never on its own.
        """
        if self._goes_aside(event, budget):
            return replace(self, aside=self.aside + event.epsilon, aside_delta=self.aside_delta + event.delta)
        epsilon, slack = self.epsilon + event.epsilon, self.slack + event.slack
        square = self.mu_squared + (event.mu_squared or 0)
        basic = self.basic and epsilon <= _basic_limit(budget, most)
        gaussian = (
            self.gaussian
            and event.mu_squared is not None
            and budget.mu_squared > 0
            and square <= budget.mu_squared
            and slack <= MOST_SLACK
        )
        for ways in ((True, True), (False, True), (True, False)):
            delta = self.delta + _chance(event, basic=ways[0], gaussian=ways[1])
            if ways[0] <= basic and ways[1] <= gaussian and delta <= budget.pairs:
                return FilterState(epsilon, delta, square, slack, *ways, self.aside, self.aside_delta)
        return None

    def overrun(self, event: EventCost) -> FilterState:
        """The state after an event that the budget does not allow, since it was lowered: nothing is allowed any more."""
        chance = _chance(event, basic=True, gaussian=True)
        square = self.mu_squared + (event.mu_squared or 0)
        sums = (self.epsilon + event.epsilon, self.delta + chance, square, self.slack + event.slack)
        return FilterState(*sums, False, False, self.aside, self.aside_delta)

    def allows(self, event: EventCost, budget: FilterBudget, most: Fraction | None = None) -> bool:
        """Whether the event may happen."""
        return self.after(event, budget, most) is not None

    def left(self, budget: FilterBudget, most: Fraction | None = None) -> FilterLeft:
        """What is left in each way."""
        zero = Fraction(0)
        going = self.basic or self.gaussian
        return FilterLeft(
            max(zero, _basic_limit(budget, most) - self.epsilon) if self.basic else zero,
            max(zero, budget.pairs - self.delta) if going else zero,
            max(zero, budget.mu_squared - self.mu_squared) if self.gaussian else zero,
            max(zero, budget.aside - self.aside) if going else zero,
            max(zero, budget.aside_delta - self.aside_delta) if going else zero,
        )

    def more(self, event: EventCost, budget: FilterBudget, most: Fraction | None = None, limit: int = 10**9) -> int:
        """How many events of this cost fit one after another, at most `limit`."""
        if self._goes_aside(event, budget):
            pairs = ((budget.aside - self.aside, event.epsilon), (budget.aside_delta - self.aside_delta, event.delta))
            count = min(limit, int(min(left // each for left, each in pairs if each)))
            used = self.aside + count * event.epsilon, self.aside_delta + count * event.delta
            return count + replace(self, aside=used[0], aside_delta=used[1]).more(event, budget, most, limit - count)
        state, count = self, 0
        while count < limit:
            jump = max(1, state._steps(event, budget, most) - 1)
            found = None
            while jump:
                found = state._jump(event, budget, most, min(jump, limit - count))
                if found is not None:
                    break
                jump //= 2
            if found is None:
                return count
            count += min(jump, limit - count)
            state = found
        return limit

    def _steps(self, event: EventCost, budget: FilterBudget, most: Fraction | None) -> int:
        """A guess at how many events fit while both ways that hold go on holding."""
        sums = []
        if self.basic:
            sums.append((_basic_limit(budget, most) - self.epsilon, event.epsilon))
        if self.gaussian:
            sums += [
                (budget.mu_squared - self.mu_squared, event.mu_squared or Fraction(0)),
                (MOST_SLACK - self.slack, event.slack),
            ]
        sums.append((budget.pairs - self.delta, _chance(event, basic=self.basic, gaussian=self.gaussian)))
        return int(min((max(Fraction(0), left) // each for left, each in sums if each), default=Fraction(10**9)))

    def _jump(self, event: EventCost, budget: FilterBudget, most: Fraction | None, times: int) -> FilterState | None:
        """The state after so many events of one cost, if the ways that hold now hold to the end; else one step alone."""
        if times == 1:
            return self.after(event, budget, most)
        square = None if event.mu_squared is None else event.mu_squared * times
        many = (event.epsilon, event.delta, event.reveal, event.common, event.slack)
        epsilon, delta, reveal, common, slack = (each * times for each in many)
        if max(delta, reveal) > 1:
            return None
        found = self.after(EventCost(epsilon, delta, square, reveal, common, slack), budget, most)
        kept = found is not None and (found.basic, found.gaussian) == (self.basic, self.gaussian)
        return found if kept else None


NOTHING_ADDED = FilterState()
"""Before the first event: nothing has been added up, and both ways hold."""


@dataclass(frozen=True)
class FilterLeft:
    """What is left of a budget: epsilon in the basic way, mu^2 in the Gaussian way, delta for the pairs of both; and aside."""

    epsilon: Fraction
    delta: Fraction
    mu_squared: Fraction
    aside: Fraction = Fraction(0)
    aside_delta: Fraction = Fraction(0)


def _basic_limit(budget: FilterBudget, most: Fraction | None) -> Fraction:
    """What epsilons may add up to in the basic way: what is not set aside."""
    return (budget.epsilon if most is None else most) - budget.aside


def _chance(event: EventCost, *, basic: bool, gaussian: bool) -> Fraction:
    """The chances that an event takes in the ways that go on holding, what is common to both counted once."""
    if basic and gaussian:
        return event.delta + event.reveal - event.common
    return event.delta if basic else event.reveal if gaussian else Fraction(0)


# --- normal probabilities, to the safe side ----------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def pure_mu_squared(epsilon: Fraction) -> Fraction | None:
    """mu^2 of epsilon-DP, mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), rounded up; None from 20 on.

    >>> round(float(pure_mu_squared(Fraction(1))) ** 0.5, 4)
    1.232
    """
    if epsilon == 0:
        return Fraction(0)
    if epsilon >= _LARGEST_PURE:
        return None
    with localcontext(_NORMAL):
        growth = decimal(epsilon).exp()
        target = growth / (1 + growth) * (1 + _CLOSE)

    def reached(square: Fraction) -> bool:
        with localcontext(_NORMAL):
            return _normal(decimal(square).sqrt() / 2) * (1 - _CLOSE) >= target

    near = exact(text_up(_near_mu(float(epsilon)) ** 2 * (1 + 1e-10), _DIGITS))
    found = near if reached(near) else _least(reached, near)  # whatever the guess was, that it is enough is computed
    return exact(text_up(found, _DIGITS))


def _near_mu(epsilon: float) -> float:
    """mu of epsilon-DP to about ten digits."""
    if epsilon < 1e-4:
        return math.sqrt(math.pi / 2) * epsilon
    return -2 * NormalDist().inv_cdf(1 / (1 + math.exp(epsilon)))


@lru_cache(maxsize=256)
def largest_mu_squared(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest mu^2 for which N(0, 1) and N(mu, 1), with all the slack, stay within (epsilon, delta); rounded down."""
    if delta < LEAST_DELTA or epsilon <= 2 * MOST_SLACK:
        return Fraction(0)
    high = _least(lambda square: not _keeps(epsilon, delta, square), epsilon**2 / 10)
    found = exact(text_down(high, _DIGITS))
    step = Fraction(1, 10 ** (_DIGITS - 2))
    for _ in range(4):
        if found > 0 and _keeps(epsilon, delta, found):
            return found
        found = exact(text_down(found * (1 - step), _DIGITS))
    return Fraction(0)


def _least(reached: Callable[[Fraction], bool], guess: Fraction) -> Fraction:
    """The least number that a rising condition holds for, to fifteen digits, by doubling and halving."""
    with localcontext(_NORMAL):
        low, high = Fraction(0), guess
        while not reached(high):
            low, high = high, 2 * high
        if not low:
            low = high / 2
            while reached(low):
                low, high = low / 2, low
        while high - low > high / 10**15:
            middle = exact(text_up((low + high) / 2, 20))
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high


def _keeps(epsilon: Fraction, delta: Fraction, mu_squared: Fraction) -> bool:
    """Whether Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu) <= e^-X delta at e = epsilon - 2 X, X all the slack."""
    with localcontext(_NORMAL):
        mu, e = decimal(mu_squared).sqrt(), decimal(epsilon - 2 * MOST_SLACK)
        if not mu:
            return True
        first, second = mu / 2 - e / mu, -mu / 2 - e / mu
        if second < -_FARTHEST:
            # The second term is left out, which is to the safe side.
            reached = _normal(first)
        else:
            reached = _normal(first) * (1 + _CLOSE) - e.exp() * _normal(second) * (1 - _CLOSE)
        return reached * (1 + _CLOSE) <= decimal(delta) * (-decimal(MOST_SLACK)).exp() * (1 - _CLOSE)


def _normal(x: Decimal) -> Decimal:
    """Phi(x) = 1/2 + phi(x) (x + x^3/3 + x^5/15 + ...), a sum of positive terms; bounds beyond 20 deviations.

    >>> float(_normal(Decimal("-1.96")))
    0.0249978...
    """
    if x < 0:
        return 1 - _normal(-x)
    if x > _FARTHEST:
        return Decimal(1) - Decimal(10) ** -88  # Phi(-20) = 2.8e-89: below for x, above for -x
    term = total = x
    square, n = x * x, 1
    while term > total * Decimal(10) ** -170:
        n += 2
        term = term * square / n
        total += term
    return Decimal("0.5") + total * (-square / 2).exp() / (2 * _pi()).sqrt()


@lru_cache(maxsize=1)
def _pi() -> Decimal:
    """By Machin's formula."""
    with localcontext(_NORMAL):
        return 4 * (4 * _arctan(5) - _arctan(239))


def _arctan(inverse: int) -> Decimal:
    """The arctangent of 1/inverse."""
    power = total = Decimal(1) / inverse
    n, sign = 1, 1
    while power > Decimal(10) ** -178:
        power /= inverse * inverse
        n, sign = n + 2, -sign
        total += sign * power / n
    return total
