"""What to spend on a question where no epsilon is said: a share of the budget, or as little as an error allows.

The mechanism and the way in which its cost adds up are chosen together, from the question and the budget alone. No row is read,
and what has been spent decides only which ways of adding up are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError, ShoalError, UsageError
from shoal.guarantee.rounding import Number, exact, read_number, text_down, text_near, text_up
from shoal.ledger.filter import pure_mu_squared
from shoal.ledger.room import Room
from shoal.query.price import LEAST_EPSILON, MOST_EPSILON, Offer, gaussian_offer, offer
from shoal.query.questions.base import Query, Question, VectorQuery

if TYPE_CHECKING:
    from shoal.query.prior import AnalystPrior

_DIGITS = 6
_DELTA_PART = 100
"""Gaussian noise takes this part of the delta for pairs, so that the sum of epsilons goes on holding beside it."""
_HALVINGS = 40
_SLOPE = 1.2533142
"""sqrt(pi/2), rounded up: mu of epsilon-DP is at most that times epsilon (theorem `adaptive-filter`)."""


@dataclass(frozen=True)
class PricedQuestion:
    """One question with the epsilon and delta at which it is asked, its mechanism and its prior.

    In place of an epsilon it may say the share of the budget that it is worth, or how far off its answer may be.
    """

    question: Question
    epsilon: Number | None = None
    mechanism: str = "auto"
    prior: Any = None
    delta: Number = 0
    share: Number | None = None
    within: Number | None = None


def find_offer(query: Query, ask: PricedQuestion, prior: AnalystPrior | None, rooms: Sequence[Room]) -> Offer:
    """How a question is answered: for the epsilon that it names, for a share of the budget, or within an error.

    Arguments  `rooms` say what is left: of the dataset's budget first, of the analyst's share last
    Raises     UsageError where the question says none of the three, or more than one
    """
    said = [name for name in ("epsilon", "share", "within") if getattr(ask, name) is not None]
    if len(said) != 1:
        raise UsageError(
            "a question needs one word on what it may cost",
            came=" and ".join(said) or "none",
            allowed='epsilon, share (such as "1%") or within (how far off the answer may be)',
        )
    if ask.epsilon is not None:
        return offer(query, ask.epsilon, ask.delta, ask.mechanism, prior)
    if exact(ask.delta, "delta"):
        raise UsageError("a delta is said beside an epsilon", came=f"{said[0]} and delta", fix="leave the delta out")
    if not rooms:
        raise UsageError("there is no budget of which this could be a share", fix="give an epsilon")
    spend = _Spend(query, ask.mechanism, prior, tuple(rooms))
    return spend.for_share(read_share(ask.share)) if ask.share is not None else spend.within(ask.within or 0)


def read_share(share: Number | None) -> Fraction:
    """A share of a budget as people write it: "1%", "1/100" or 0.01.

    >>> read_share("2.5 %"), read_share("1/100")
    (Fraction(1, 40), Fraction(1, 100))
    """
    text = str(share).strip()
    percent = text.endswith("%")
    number = (
        read_number(text.removesuffix("%"), "the share") if isinstance(share, str) else exact(share or 0, "the share")
    )
    found = number / 100 if percent else number
    if not 0 < found <= 1:
        raise ParameterError(
            "a share of the budget is out of range", came=share, allowed='above 0 and at most 1, or "1%"'
        )
    return found


class _Spend:
    """The offers for one question under a budget."""

    def __init__(self, query: Query, mechanism: str, prior: AnalystPrior | None, rooms: tuple[Room, ...]) -> None:
        self._query, self._mechanism, self._prior, self._rooms = query, mechanism, prior, rooms

    def for_share(self, share: Fraction) -> Offer:
        """The offer of the smallest expected error that uses this share of the whole budget, or a little less."""
        own = self._rooms[-1]
        makers: list[Callable[[], Offer]] = []
        epsilon = self._pure_epsilon(own, share)
        if self._mechanism != "gaussian":
            makers.append(lambda: self._pure(epsilon))
        if self._takes_gaussian(own):
            makers.append(lambda: self._gaussian(own, self._whole(own) * share))
        return min(_made(makers), key=lambda each: each.score)

    def within(self, within: Number) -> Offer:
        """The offer that uses the least of the budget, of those whose errors are all within this in 95 of 100 cases."""
        most = float(exact(within, "within"))
        if most <= 0:
            raise ParameterError("an error that is not above 0", came=within, allowed="a number above 0")
        own = self._rooms[-1]
        makers: list[Callable[[], Offer]] = []
        if self._mechanism != "gaussian":
            low, high = math.log(LEAST_EPSILON), math.log(MOST_EPSILON)
            makers.append(lambda: _smallest(lambda size: self._pure(_short(math.exp(size))), low, high, most))
        if self._takes_gaussian(own):
            low, high = (math.log(float(self._whole(own)) * part) for part in (1e-9, 10))
            makers.append(
                lambda: _smallest(lambda size: self._gaussian(own, Fraction(math.exp(size))), low, high, most)
            )
        return min(_made(makers), key=self._used)

    def _used(self, offered: Offer) -> float:
        parts = [room.part_used(offered.cost) for room in self._rooms]
        return max(math.inf if part is None else float(part) for part in parts)

    def _pure(self, epsilon: Fraction) -> Offer:
        return offer(self._query, epsilon, 0, self._mechanism, self._prior)

    def _gaussian(self, room: Room, mu_squared: Fraction) -> Offer:
        if not isinstance(self._query, VectorQuery) or room.filter is None:
            raise _no_gaussian(self._mechanism)
        delta = exact(text_down(room.filter.pairs / _DELTA_PART, 2))
        return gaussian_offer(self._query, mu_squared, delta)

    def _takes_gaussian(self, room: Room) -> bool:
        """Whether Gaussian noise is a choice: under Gaussian accounting, for numbers with noise, without a prior."""
        able = room.filter is not None and room.filter.mu_squared > 0 and room.state.gaussian
        able = able and isinstance(self._query, VectorQuery)
        if self._mechanism == "gaussian" and not able:
            raise _no_gaussian(self._mechanism)
        return able and self._mechanism in ("auto", "gaussian")

    def _whole(self, room: Room) -> Fraction:
        return Fraction(0) if room.filter is None else room.filter.mu_squared

    def _pure_epsilon(self, room: Room, share: Fraction) -> Fraction:
        """The epsilon that a share is worth: in the basic way, or in the Gaussian one where that is more."""
        from shoal.query.questions.quantile import RankQuery

        found = [] if room.filter is not None and not room.state.basic else [_short(room.most.epsilon * share)]
        if room.filter is not None and room.state.gaussian and room.filter.mu_squared:
            target = room.filter.mu_squared * share
            half = NormalDist().cdf(math.sqrt(target) / 2)
            epsilon = _short(math.log(half / (1 - half)) * (1 - 1e-6)) if half < 1 else Fraction(0)
            square = pure_mu_squared(epsilon)
            if square is not None and square <= target:
                found.append(epsilon)
            if isinstance(self._query, RankQuery) and self._query.axes is None:
                # Choices count with half of their epsilon, each with the square of its own: mu is at most sqrt(pi/2) times it.
                shares = math.sqrt(sum(float(each.share) ** 2 for each in self._query.targets))
                found.append(_short(2 * math.sqrt(target) / (shares * _SLOPE)))
        if not found or not max(found):
            raise UsageError("nothing is left of the budget of which this is a share", fix="see `shoal dataset show`")
        return max(found)


def _short(epsilon: float | Fraction) -> Fraction:
    """Six digits, rounded down."""
    return exact(text_down(epsilon, _DIGITS))


def _made(makers: Sequence[Callable[[], Offer]]) -> list[Offer]:
    """The offers that can be made; the error of the last where none can."""
    found, refused = [], None
    for make in makers:
        try:
            found.append(make())
        except (ParameterError, UsageError) as error:
            refused = error
    if not found:
        raise refused or _no_gaussian("auto")
    return found


def _smallest(make: Callable[[float], Offer], low: float, high: float, most: float) -> Offer:
    """The cheapest offer whose errors are within `most`, by halving the logarithm of its size; what is returned is within."""
    best = make(high)
    reached = largest_error(best)
    if reached > most:
        raise ParameterError(
            "no answer that this budget or any epsilon allows is that near",
            came=f"within {text_near(most)}",
            allowed=f"from about {text_up(reached)} up",
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        try:
            found = make(middle)
            near = largest_error(found) <= most
        except ParameterError:  # too wide for its grid
            near = False
        if near:
            best, high = found, middle
        else:
            low = middle
    return best


def largest_error(offered: Offer) -> float:
    """The largest error of an answer in 95 of 100 cases; refused where it comes with the answer only."""
    from shoal.query.selection import RankOffer

    ranked = isinstance(offered, RankOffer)  # in rows; the interval of its value comes with the answer
    widths = [error.within for error in offered.errors if not (ranked and error.how == "later")]
    if not widths or any(width is None for width in widths):
        raise UsageError(
            "how far off this answer may be depends on the rows, or is not known",
            came="within",
            fix="give a share of the budget or an epsilon",
        )
    return max(width for width in widths if width is not None)


def _no_gaussian(mechanism: str) -> ShoalError:
    return UsageError(
        "Gaussian noise needs an epsilon with its delta here",
        came=mechanism,
        allowed="a question whose answer is numbers, and a budget with Gaussian accounting of which something is left",
        fix="give epsilon and delta",
    )
