"""The setting of a release of noisy counts: how much noise each table has, so that everything together keeps (epsilon, delta).

A release measures one-way tables first (singles), may measure tables that the plan names and choose among further ones, and
measures those. What each step takes is a share of one precision; the precision is the largest at which all steps compose to the
promise. Tables are measured with discrete Gaussian noise (theorem `noisy-tables`) and chosen by noisy scores (the same), or one
after another by the exponential mechanism (theorem `bounded-range`); the parameters are fixed in advance (theorem
`adaptive-tables`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.compose import RELIABLE_DELTA, compose, composed_within
from shoal.guarantee.differential import GaussianDP
from shoal.guarantee.noise import LARGEST_RHO, LARGEST_SIGMA, LEAST_SIGMA, ConcentratedDP, ExponentialDP, NoisyTablesDP
from shoal.guarantee.rounding import Number, decimal, exact, exact_text, precise, text_near, whole
from shoal.guarantee.safe_k.curve import check_delta, check_epsilon
from shoal.guarantee.unit import Unit

CountsKind = Literal["fixed", "once", "rounds"]
KINDS: tuple[CountsKind, ...] = ("fixed", "once", "rounds")

SINGLES_SHARE = Fraction(3, 10)
"""The part of the precision that the one-way tables take together; less makes them, and pairs, worse (measured)."""
CHOICE_SHARE = Fraction(7, 100)
"""The part of the precision that choosing takes: all noisy scores, or all rounds of the exponential mechanism."""
ROUNDS_SHARE = Fraction(1, 20)
"""The part of the precision that rounds take, choices and tables together, where tables that the plan names are counted first."""
CHOICE_OF_ROUNDS = Fraction(1, 10)
"""The part of it that goes to the choices."""
DIGITS = 5
"""Significant digits of a sigma, rounded up, and of the epsilon of a choice, rounded down."""
CLOSE = 3e-4
"""The search ends where what is reached is this close to epsilon, relatively."""
_LARGEST_CHOICE = Fraction(50)
"""Beyond it the best option is certain to be drawn, and more is wasted."""
_STEPS = 60

Parts = tuple[tuple[Guarantee, int], ...]


@dataclass(frozen=True)
class CountsSetting:
    """The noise of every step of a release of noisy counts, and what it is composed of.

    `kind` says how the wider tables are found: `fixed` in advance, chosen `once` from noisy scores, or in `rounds` of one
    choice and one table each. `tables` has pairs of a number of tables and the sigma that each of them then has: one pair, or
    for `once` a short list, of which the noisy scores may decide. `first` has the number of wider tables that the plan names
    and that are measured before the rounds, with their sigma.
    """

    unit: Unit
    kind: CountsKind
    singles: int
    single_sigma: Fraction | None
    candidates: int
    score_sigma: Fraction | None
    """Of each candidate's score in whole units of `score_change`, rounded down, which one unit moves by at most one."""
    choice_epsilon: Fraction | None
    """Of the exponential mechanism in each round, for scores that one unit moves by at most `score_change`."""
    tables: tuple[tuple[int, Fraction], ...]
    parts: Parts
    first: tuple[int, Fraction] | None = None

    @property
    def named(self) -> int:
        """How many tables come before those of `tables`: of single attributes, and `first`."""
        return self.singles + (self.first[0] if self.first is not None else 0)

    @property
    def score_change(self) -> int:
        """How far one unit moves a score that one row, added or removed, moves by at most one."""
        return self.unit.steps

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorems that the steps rest on: all units, since `noisy-tables` speaks of replaced rows and of several.

        By which theorem the steps are composed, with others beside them, says `composition_theorems`.
        """
        chosen = ("bounded-range",) if self.kind == "rounds" else ()
        adaptive = ("adaptive-tables",) if self.singles or self.kind != "fixed" else ()
        return ("noisy-tables", *chosen, *adaptive)

    def sigma_of(self, number: int) -> Fraction:
        """The sigma of each table when `number` of them are measured; UsageError for a number that is not on the list."""
        for listed, sigma in self.tables:
            if listed == number:
                return sigma
        allowed = ", ".join(str(listed) for listed, _ in self.tables)
        raise UsageError("the noise of this number of tables was not fixed in advance", came=number, allowed=allowed)

    def to_saved(self) -> dict[str, Any]:
        """The noise as plain values with exact text for numbers."""

        def text(value: Fraction | None) -> str | None:
            return None if value is None else exact_text(value)

        first = {} if self.first is None else {"first": [self.first[0], exact_text(self.first[1])]}
        return {
            "kind": self.kind,
            "singles": self.singles,
            "single_sigma": text(self.single_sigma),
            **first,
            "candidates": self.candidates,
            "score_sigma": text(self.score_sigma),
            "choice_epsilon": text(self.choice_epsilon),
            "tables": [[number, exact_text(sigma)] for number, sigma in self.tables],
        }


def table_numbers(most: int) -> tuple[int, ...]:
    """The numbers of tables among which noisy scores decide: about half as many again each time, up to `most`.

    >>> table_numbers(30)
    (1, 2, 3, 5, 8, 12, 18, 27, 30)
    """
    found = [1]
    while found[-1] < whole(most, "the number of tables"):
        found.append(min(most, math.ceil(found[-1] * Fraction(3, 2))))
    return tuple(found)


def composition_theorems(parts: Sequence[tuple[Guarantee, int]], delta: Number) -> tuple[str, ...]:
    """The theorems by which the parts of such a release keep their promise; none for one part alone.

    Their kinds decide, so that everybody who reads the parts finds the same: the sum of all rho where delta is too small for
    distributions, and where a part is known by its rho and all others have one; else the distributions. `solve_counts` sees
    to it that this very bound keeps the promise.
    """
    if sum(times for _, times in parts) == 1:
        return ()
    found = compose(parts).parts
    whole_sum = all(part.concentration is not None for part, _ in found)
    if check_delta(delta) < RELIABLE_DELTA:
        return ("concentrated-composition",) if whole_sum else ("concentrated-composition", "basic-composition")
    by_rho = whole_sum and any(isinstance(part, ConcentratedDP) for part, _ in found)
    return ("concentrated-composition",) if by_rho else ("pld-composition",)


def solve_counts(
    epsilon: Number,
    delta: Number,
    *,
    unit: Unit,
    kind: CountsKind = "fixed",
    tables: int | Sequence[int],
    singles: int = 0,
    first: int = 0,
    candidates: int = 0,
    others: Sequence[tuple[Guarantee, int]] = (),
    singles_share: Number = SINGLES_SHARE,
    choice_share: Number | None = None,
    rounds_share: Number = ROUNDS_SHARE,
) -> CountsSetting:
    """The least noise with which all steps of a release of noisy counts, and `others` beside them, keep (epsilon, delta).

    Arguments  `tables` is the number of wider tables (of rounds, for `rounds`); for `once` a list of numbers may be given, of
               which the published scores decide (`table_numbers` makes one); `singles` is the number of one-way tables, 0 for
               none; `first` the number of wider tables that are measured before the rounds; `candidates` how many tables
               are chosen from; `others` are further guarantees for the same unit. Of the precision one-way tables take
               `singles_share`, choices `choice_share`, and rounds after `first` tables `rounds_share`, choices included
    Raises     UsageError and ParameterError for numbers that make no sense; PreconditionError for delta 0 or 1;
               InfeasibleError where `others` leave nothing, or no noise that a table can bear keeps the promise

    >>> float(solve_counts(1, "1e-6", unit=Unit.row("add_remove"), tables=28).tables[0][1])
    22.35...
    """
    e, d = check_epsilon(epsilon), check_delta(delta)
    rounds_part = exact(rounds_share)
    if choice_share is None:
        choice_share = CHOICE_OF_ROUNDS * rounds_part if first else CHOICE_SHARE
    plan = _Steps.of(
        unit, kind, tables, singles, first, candidates, exact(singles_share), exact(choice_share), rounds_part
    )
    if not 0 < d < 1 or e == 0:
        raise PreconditionError(
            "noisy-tables",
            "Gaussian noise satisfies no pure epsilon, and none at all satisfies epsilon 0",
            came=f"epsilon = {text_near(e)}, delta = {text_near(d)}",
            allowed="epsilon > 0 and 0 < delta < 1",
        )
    extra = tuple(others)
    if extra and not _left(extra, e, d):
        raise InfeasibleError(
            "what is released beside the counts takes the whole promise",
            came=f"epsilon = {text_near(compose(extra).epsilon_at(d), 4)} of {text_near(e)} at delta = {text_near(d)}",
            fix="raise epsilon or delta, or give the counts a larger share",
        )
    found = _largest_precision(
        lambda precision: _reached(plan, precision, extra, d), float(e), gaussian_precision(e, d)
    )
    if found is None or not composed_within([*(setting := plan.at(found)).parts, *extra], e, d):
        raise InfeasibleError(
            "no noise that a table can bear keeps the promise",
            came=f"epsilon = {text_near(e)}, delta = {text_near(d)}, {plan.first + plan.most} tables",
            allowed=f"sigma up to {LARGEST_SIGMA:,}",
            fix="raise epsilon or delta, or publish fewer tables",
        )
    return setting


@dataclass(frozen=True)
class _Steps:
    """What is measured, before it is known with how much noise."""

    unit: Unit
    kind: CountsKind
    numbers: tuple[int, ...]
    singles: int
    first: int
    candidates: int
    single_part: Fraction
    choice_part: Fraction
    first_part: Fraction

    @classmethod
    def of(
        cls,
        unit: Unit,
        kind: CountsKind,
        tables: int | Sequence[int],
        singles: int,
        first: int,
        candidates: int,
        single_part: Fraction,
        choice_part: Fraction,
        rounds_part: Fraction,
    ) -> _Steps:
        """The steps, checked."""
        if kind not in KINDS:
            raise UsageError("unknown way to choose tables", came=kind, allowed=", ".join(KINDS))
        numbers = tuple(tables) if isinstance(tables, Sequence) else (tables,)
        for number in numbers:
            whole(number, "the number of tables")
        whole(singles, "the number of one-way tables", 0)
        whole(first, "the number of tables before the rounds", 0)
        whole(candidates, "the number of candidates", 0 if kind == "fixed" else 1)
        if first and kind != "rounds":
            raise UsageError("tables are measured first where others follow in rounds", came=kind, allowed="rounds")
        if not numbers or (len(numbers) > 1 and kind != "once"):
            raise UsageError(
                "one number of tables is fixed in advance", came=numbers, allowed="one, or several for `once`"
            )
        if kind == "once" and max(numbers) > candidates:
            raise UsageError(
                "more tables than candidates", came=f"{max(numbers)} of {candidates}", allowed="at most all of them"
            )
        if kind == "fixed" and candidates:
            raise UsageError("fixed tables have no candidates", came=candidates, allowed="0")
        single_part = single_part if singles else Fraction(0)
        choice_part = choice_part if kind != "fixed" else Fraction(0)
        first_part = 1 - single_part - rounds_part if first else Fraction(0)
        if min(single_part, choice_part, first_part) < 0 or single_part + choice_part + first_part >= 1:
            raise ParameterError(
                "the shares leave nothing to the tables",
                came=f"{text_near(single_part)} + {text_near(choice_part)} + {text_near(first_part)}",
                allowed="shares from 0 up, below 1 together",
            )
        if (singles and not single_part) or (first and not first_part) or (kind != "fixed" and not choice_part):
            raise ParameterError(
                "a step without precision", came="a share of 0", allowed="a share above 0 for each step"
            )
        numbers = tuple(sorted(set(numbers)))
        return cls(unit, kind, numbers, singles, first, candidates, single_part, choice_part, first_part)

    @property
    def most(self) -> int:
        """The largest number of wider tables."""
        return self.numbers[-1]

    @property
    def square(self) -> int:
        """The largest sum of squares by which one unit changes one table: m rows in one cell, or out of one into another."""
        return self.unit.max_rows**2 * (2 if self.unit.neighbours == "replace_one" else 1)

    def at(self, precision: float) -> CountsSetting:
        """The setting that spends a precision: the sum of squared changes over sigma^2 of all steps."""
        exactly = Fraction(precision)
        wide = exactly * (1 - self.single_part - self.choice_part - self.first_part)
        tables = tuple((number, _noise(number * self.square, wide)) for number in self.numbers)
        single = _noise(self.singles * self.square, exactly * self.single_part) if self.singles else None
        score = choice = first = None
        parts: list[tuple[Guarantee, int]] = []
        if single is not None:
            parts.append((self._tables(((self.singles, single),)), 1))
        if self.first:
            first = self.first, _noise(self.first * self.square, exactly * self.first_part)
            parts.append((self._tables((first,)), 1))
        if self.kind == "once":
            score = _noise(self.candidates, exactly * self.choice_part)
            parts.append((NoisyTablesDP([(self.candidates, score)]), 1))
        elif self.kind == "rounds":
            choice = _choice_epsilon(self.most, exactly * self.choice_part)
            parts.append((ExponentialDP(choice), self.most))
        parts.append((self._tables(tables), 1))
        return CountsSetting(
            self.unit, self.kind, self.singles, single, self.candidates, score, choice, tables, tuple(parts), first
        )

    def _tables(self, choices: Sequence[tuple[int, Fraction]]) -> Guarantee:
        """The guarantee of one of several numbers of tables with their sigmas."""
        if self.unit.max_rows == 1:
            return NoisyTablesDP([(number * self.square, sigma) for number, sigma in choices])
        return ConcentratedDP(max(number * self.square / (2 * sigma**2) for number, sigma in choices))


def _noise(square: int, precision: Fraction) -> Fraction:
    """The least short sigma at which counts whose changes have this sum of squares take no more than the precision."""
    with precise():
        sigma = (decimal(square / precision)).sqrt() if precision else Decimal("Infinity")
        if sigma > LARGEST_SIGMA:
            raise InfeasibleError("no noise that a table can bear", came=f"sigma = {sigma:.3g}")
        return max(LEAST_SIGMA, _floor_for(square), Fraction(Context(prec=DIGITS, rounding=ROUND_CEILING).plus(sigma)))


def _floor_for(square: int) -> Fraction:
    """The least sigma at which the loss of these counts means anything."""
    with precise():
        least = (Decimal(square) / (2 * LARGEST_RHO)).sqrt()
        return Fraction(Context(prec=DIGITS, rounding=ROUND_CEILING).plus(least))


def _choice_epsilon(rounds: int, precision: Fraction) -> Fraction:
    """The largest short epsilon of each choice at which all of them take no more than the precision: rho is epsilon^2/8."""
    with precise():
        most = 2 * decimal(precision / rounds).sqrt()
        return min(_LARGEST_CHOICE, Fraction(Context(prec=DIGITS, rounding=ROUND_FLOOR).plus(most)))


# --- the search ----------------------------------------------------------------------------------------------------------


def _left(others: Parts, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether others leave a thousandth of epsilon: with less, no noise is worth its name."""
    return compose(others).epsilon_at(delta) < 0.999 * float(epsilon)


def gaussian_precision(epsilon: Fraction, delta: Fraction) -> float:
    """The precision of one Gaussian with the whole promise: its squared change over its squared sigma."""
    low, high = 1e-9, 100.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        keeps = GaussianDP(exact(middle)).delta_at(epsilon) <= delta
        low, high = (middle, high) if keeps else (low, middle)
    return low**2


def _reached(plan: _Steps, precision: float, others: Parts, delta: Fraction) -> float:
    """The epsilon that a precision costs at delta, by the theorem that is cited for it."""
    parts = [*plan.at(precision).parts, *others]
    total, names = compose(parts), composition_theorems(parts, delta)
    if not names:
        return total.epsilon_at(delta)
    return total.pld_epsilon(delta) if names[0] == "pld-composition" else total.concentrated_epsilon(delta)


def _largest_precision(reached: Callable[[float], float], epsilon: float, guess: float) -> float | None:
    """The largest precision found whose cost is at most epsilon, and close to it; None where there is none.

    The cost grows like a power of the precision, roughly, so the next try follows the power law through the last two, kept
    inside what is known; every answer was computed, none assumed.
    """
    low, high, best = 0.0, math.inf, None
    tried: list[tuple[float, float]] = []
    for _ in range(_STEPS):
        try:
            cost = reached(guess)
        except InfeasibleError:
            return best
        tried.append((guess, cost))
        if cost <= epsilon:
            low = best = guess
            if cost >= epsilon * (1 - CLOSE) or high / low < 1 + CLOSE / 3:
                break
        else:
            high = guess
        if low == 0.0 and high < 1e-16:
            break
        if best is not None and len(tried) > 1 and tried[-1][1] == tried[-2][1] and tried[-1][0] > 2 * tried[-2][0]:
            break  # the noise is at its least, and twice the precision costs no more
        guess = _next_guess(tried, epsilon * (1 - CLOSE / 2), low, high)
    return best


def _next_guess(tried: list[tuple[float, float]], aim: float, low: float, high: float) -> float:
    here, cost = tried[-1]
    power = 2.0
    if len(tried) > 1 and all(0 < each < math.inf for _, each in tried[-2:]) and tried[-2][1] != cost:
        power = math.log(tried[-2][0] / here) / math.log(tried[-2][1] / cost)
        power = min(8.0, max(0.2, power)) if power > 0 else 2.0
    factor = (aim / cost) ** power if 0 < cost < math.inf else (4.0 if cost == 0 else 1 / 16)
    following = here * min(16.0, max(1 / 16, factor))
    if not low < following < high or len(tried) > 12:
        following = math.sqrt(low * high) if low and math.isfinite(high) else (high / 4 if not low else low * 4)
    return following


def noise_half_width(sigma: Number, confidence: Number = "0.95") -> int:
    """The least t such that discrete Gaussian noise lies in -t ... t with this probability or more.

    Arguments  `sigma` is the parameter of the noise, `confidence` a probability above 0 and below 1
    Raises     ParameterError for other numbers

    >>> noise_half_width(10)
    20
    """
    return _half_width(exact(sigma, "sigma"), float(exact(confidence, "confidence")))


@lru_cache(maxsize=256)
def _half_width(sigma: Fraction, level: float) -> int:
    width = float(sigma)
    if not (LEAST_SIGMA <= sigma <= LARGEST_SIGMA and 0 < level < 1):
        raise ParameterError("no such interval", came=f"sigma = {text_near(width)}, confidence = {level:g}")
    if width > 1e5:  # a rounded normal number is in the same interval but for a part in 10^10; one more step covers it
        from scipy.special import ndtri

        return math.ceil(float(ndtri((1 + level) / 2)) * width) + 1
    weights = np.exp(-((np.arange(0, math.ceil(40 * width) + 2) / width) ** 2) / 2)
    weights[1:] *= 2
    inside = np.cumsum(weights) / weights.sum()
    return int(np.searchsorted(inside, level * (1 + 1e-12)))
