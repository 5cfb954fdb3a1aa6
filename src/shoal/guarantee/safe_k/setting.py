"""The four numbers of sampling and safe k-anonymization: epsilon, delta, k and beta, any one solved from the other three.

One row added or removed is what the theorems speak of. There delta* falls with k and with epsilon and rises with beta
(theorem `safe-k-monotone`), so the tight bound is solved by bisection. The published bound is not monotone in beta: there
beta is found by walking down the intervals between its jumps.

For a person with several rows, or for replacing, the promise is a chain of such steps (theorems `group-privacy`,
`replace-one`); its delta rises and falls with k, beta and epsilon as the single step's does, so it is solved by bisection too.
Whatever is returned has been evaluated and holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.rounding import Number, down, exact, exact_text, text_near, text_up, up
from shoal.guarantee.safe_k import group
from shoal.guarantee.safe_k.curve import (
    MAX_K,
    Bound,
    check_beta,
    check_bound,
    check_delta,
    check_epsilon,
    check_k,
    delta_add,
    delta_exactly,
    delta_published,
    delta_remove,
    delta_tight,
    epsilon_of_floor,
    floor_of_delta,
)
from shoal.guarantee.unit import ONE_ROW, Neighbours, Unit

_STEPS = 48
_LARGEST_BETA = Fraction(999_999, 1_000_000)
_SMALLEST_BETA = Fraction(1, 10**12)
_JUMPS = 4000
_UNIT_STEPS = 24
_CLOSE = Fraction(1, 10**6)
MOST_ROWS = 1000
"""The most rows of one unit that a promise is computed for: a chain has a step for each, and each of them costs."""
LARGEST_K_OF_UNIT = 1 << 14
"""The largest k for a unit of several steps, whose delta takes hundreds of evaluations instead of one."""
_GUESSED_FROM = 200
"""From this k on, the k of a unit is first looked for in double precision."""
CLASS_SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500)
"""The minimum class sizes that a frontier tries."""


@dataclass(frozen=True)
class Setting:
    """Four numbers that hold together: a release at rate beta with classes of at least k is (epsilon, delta)-DP for the unit.

    They are evaluated when they are put together, and refused where delta is smaller than what holds. All are exact fractions,
    as they were typed or as they were solved; `float(setting.beta)` is a float.

    Arguments  `epsilon` is the total: of the release and, if the recoding was chosen privately, of that choice
               (`epsilon_recoding`, 0 where it was fixed in advance); `delta` is the delta of the release, `k` the minimum class
               size, `beta` the sampling rate; `bound` is `tight` (theorem `safe-k-tight`) or `published` (`safe-k-published`);
               `solved` names the one of the four that was solved for; `unit` is whose data are hidden, one row added or
               removed if nothing else is said
    Raises     PreconditionError where the numbers do not hold together; ParameterError where one of them is out of range

    >>> Setting(Fraction(1), Fraction("1e-6"), 12, Fraction("0.2"))
    Setting(epsilon=1, delta=0.000001, k=12, beta=0.2, bound='tight')
    >>> Setting(Fraction(1), Fraction("1e-6"), 11, Fraction("0.2"))
    Traceback (most recent call last):
        ...
    shoal.errors.PreconditionError: ...
    """

    epsilon: Fraction
    delta: Fraction
    k: int
    beta: Fraction
    bound: Bound = "tight"
    solved: str = ""
    epsilon_recoding: Fraction = Fraction(0)
    unit: Unit = ONE_ROW

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon_recoding)
        check_epsilon(self.epsilon_release)
        check_delta(self.delta)
        if self.bound == "published" and not self.unit.is_one_step:
            raise PreconditionError(
                "safe-k-published", "the published theorem speaks of one row added or removed", came=self.unit.words()
            )
        least = self._least_delta()
        if self.delta < least:
            raise PreconditionError(
                f"safe-k-{check_bound(self.bound)}",
                f"k = {self.k} and beta = {text_near(self.beta)} do not give this delta at epsilon = "
                f"{text_up(self.epsilon_release)} for {self.unit.words()}",
                came=f"delta = {text_up(self.delta)}",
                allowed=f"delta >= {text_up(least)}",
                fix="leave one of the four out and solve for it",
            )

    def __repr__(self) -> str:
        numbers = [("epsilon", exact_text(self.epsilon)), ("delta", exact_text(self.delta)), ("k", str(self.k))]
        numbers += [("beta", exact_text(self.beta)), ("bound", repr(self.bound))]
        numbers += [("solved", repr(self.solved))] if self.solved else []
        numbers += [("epsilon_recoding", exact_text(self.epsilon_recoding))] if self.epsilon_recoding else []
        numbers += [] if self.unit == ONE_ROW else [("unit", repr(self.unit))]
        return f"Setting({', '.join(f'{name}={value}' for name, value in numbers)})"

    def _least_delta(self) -> Fraction:
        """The smallest delta that is proved for these numbers."""
        if self.unit.is_one_step:
            return self.delta_under(self.bound)
        return Fraction(self.delta_unit)

    @property
    def epsilon_release(self) -> Fraction:
        """What of epsilon is left for the release itself, after the choice of the recoding."""
        return self.epsilon - self.epsilon_recoding

    @property
    def delta_tight(self) -> float:
        """delta* for one row added or removed, at the epsilon of the release."""
        return delta_tight(self.k, self.beta, self.epsilon_release)

    @property
    def delta_published(self) -> float | None:
        """d of LQS11 Theorem 5, or None where that theorem is silent (epsilon < -ln(1 - beta))."""
        return published_delta(self.k, self.beta, self.epsilon_release)

    def delta_under(self, bound: Bound) -> Fraction:
        """delta for one row added or removed under a bound, as an exact fraction (for printing)."""
        return delta_exactly(self.k, self.beta, self.epsilon_release, bound)

    @property
    def delta_unit(self) -> float:
        """delta of the tight curve for the unit, at the epsilon of the release."""
        return delta_for_unit(self.unit, self.k, self.beta, self.epsilon_release)

    @property
    def chain(self) -> group.Chain | None:
        """How epsilon is split over the unit's steps; None for one row added or removed, which is one step."""
        return None if self.unit.is_one_step else chain_for_unit(self.unit, self.k, self.beta, self.epsilon_release)

    @property
    def floor(self) -> Fraction:
        """beta^k, below which no epsilon brings delta."""
        return floor_of_delta(self.k, self.beta)

    @property
    def theorems(self) -> tuple[str, ...]:
        """The names of all results that the promise rests on."""
        recoding = ("eps-safe-recoding",) if self.epsilon_recoding else ()
        return (f"safe-k-{self.bound}", *self.unit.theorems, *recoding)


def published_delta(k: int, beta: Fraction, epsilon: Fraction) -> float | None:
    """d(k, beta, epsilon), or None where the published theorem is silent."""
    try:
        return delta_published(k, beta, epsilon)
    except PreconditionError:
        return None


def delta_for_unit(unit: Unit, k: int, beta: Fraction, epsilon: Fraction) -> float:
    """delta at epsilon for a unit, from the tight curve."""
    if unit.is_one_step:
        return delta_tight(k, beta, epsilon)
    return chain_for_unit(unit, k, beta, epsilon).delta


def chain_for_unit(unit: Unit, k: int, beta: Fraction, epsilon: Fraction) -> group.Chain:
    """delta at epsilon for a unit of several steps, with the split of epsilon over the steps that shows it."""
    _refuse_long(unit, k)
    return _chain(unit.max_rows, unit.neighbours, k, beta, epsilon)


def _refuse_long(unit: Unit, k: int) -> None:
    """Raise where a unit's chain would have too many steps, or steps that take too long, to be computed."""
    if unit.max_rows > MOST_ROWS:
        raise PreconditionError(
            "group-privacy",
            "a promise to a unit of so many rows is not computed",
            came=f"max_rows: {unit.max_rows:,}",
            allowed=f"at most {MOST_ROWS:,} rows of one unit",
            fix="lower max_rows",
        )
    if k > LARGEST_K_OF_UNIT:
        raise PreconditionError(
            unit.theorems[-1],
            f"a promise to {unit.words()} is not computed for so large a k",
            came=f"k = {k:,}",
            allowed=f"k up to {LARGEST_K_OF_UNIT:,}",
            fix="lower k, or beta with it",
        )


@lru_cache(maxsize=256)  # a release asks for the same points several times
def _chain(rows: int, neighbours: Neighbours, k: int, beta: Fraction, epsilon: Fraction) -> group.Chain:
    if neighbours == "add_remove":
        return group.chain_of_rows(partial(delta_tight, k, beta), rows, epsilon)
    remove, add = partial(delta_remove, k, beta), partial(delta_add, k, beta)
    return group.chain_of_replaced_rows(remove, add, rows, epsilon)


def solve(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    k: int | None = None,
    beta: Number | None = None,
    bound: str = "tight",
    epsilon_recoding: Number = 0,
    unit: Unit = ONE_ROW,
) -> Setting:
    """Leave out one of the four and get it: the smallest epsilon, delta or k, or the largest beta, that holds.

    Theorems `safe-k-tight`, `safe-k-monotone`, for other units than one row added or removed `group-privacy` and
    `replace-one`; with bound='published', LQS11 Theorem 5.

    Arguments  three of `epsilon`, `delta`, `k` and `beta`, as numbers or as texts such as "1e-6" and "1/3"; `bound` is
               `tight`, or `published` for one row added or removed; `epsilon_recoding` is the part of epsilon that a
               private choice of the recoding takes; `unit` is whose data are hidden
    Raises     UsageError unless exactly three are given; ParameterError for a number out of range; InfeasibleError where no
               value of the fourth will do; PreconditionError where a theorem is silent, or where the promise would be
               empty (delta not below beta)

    >>> solve(epsilon=1, delta="1e-6", beta="0.2").k
    12
    >>> solve(epsilon=1, delta="1e-6", beta="0.2", unit=Unit.person("patient_id", 2, "add_remove")).k
    20
    """
    given = {"epsilon": epsilon, "delta": delta, "k": k, "beta": beta}
    if sum(value is None for value in given.values()) != 1:
        raise UsageError(
            "exactly three of epsilon, delta, k and beta are needed",
            came=", ".join(name for name, value in given.items() if value is not None) or "none of them",
            fix="leave out the one to solve for",
        )
    chosen = check_bound(bound)
    if not unit.is_one_step and chosen == "published":
        raise UsageError(
            "the published theorem speaks of one row added or removed", came=unit.words(), fix="use bound tight"
        )
    paid = check_epsilon(epsilon_recoding)
    step = _solve_one_step(
        None if epsilon is None else _epsilon_left(check_epsilon(epsilon), paid),
        None if delta is None else check_delta(delta),
        None if k is None else check_k(k),
        None if beta is None else check_beta(beta),
        partial(_setting, bound=chosen, paid=paid, unit=unit if unit.is_one_step else ONE_ROW),
        chosen,
    )
    _refuse_trivial(step)
    return step if unit.is_one_step else _solve_for_unit(step, unit)


def _setting(
    epsilon: Fraction, delta: Fraction, k: int, beta: Fraction, solved: str, *, bound: Bound, paid: Fraction, unit: Unit
) -> Setting:
    """A setting by the epsilon of the release alone."""
    return Setting(epsilon + paid, delta, k, beta, bound, solved, paid, unit)


def _solve_one_step(
    epsilon: Fraction | None,
    delta: Fraction | None,
    k: int | None,
    beta: Fraction | None,
    made: Callable[[Fraction, Fraction, int, Fraction, str], Setting],
    bound: Bound,
) -> Setting:
    """The setting for one row added or removed, with the one of the four that is missing."""
    if epsilon is not None and k is not None and beta is not None:
        return made(epsilon, _not_below(up(delta_exactly(k, beta, epsilon, bound))), k, beta, "delta")
    if epsilon is not None and delta is not None and beta is not None:
        return made(epsilon, delta, _smallest_k(epsilon, delta, beta, bound), beta, "k")
    if epsilon is not None and delta is not None and k is not None:
        rate = _largest_beta(epsilon, delta, k, bound)
        return made(epsilon, delta, k, min(exact(rate), Fraction(rate)), "beta")
    if delta is not None and k is not None and beta is not None:
        return made(_not_below(_smallest_epsilon(delta, k, beta, bound)), delta, k, beta, "epsilon")
    raise UsageError("exactly three of epsilon, delta, k and beta are needed", fix="leave out the one to solve for")


def _not_below(value: float) -> Fraction:
    """The shortest name of a float where that is not below it, else the float itself."""
    return max(exact(value), Fraction(value))


def _epsilon_left(total: Fraction, recoding: Fraction) -> Fraction:
    if recoding and recoding >= total:
        raise ParameterError(
            "the recoding's share leaves nothing for the release",
            came=f"epsilon_recoding {text_near(recoding)} of epsilon {text_near(total)}",
            allowed="epsilon_recoding below epsilon",
        )
    return total - recoding


def frontier(epsilon: Number, delta: Number, bound: str = "tight", ks: list[int] | None = None) -> list[Setting]:
    """For each minimum class size the largest sampling rate that keeps (epsilon, delta), for one row added or removed.

    A larger class size allows a larger sample: more rows in coarser detail for the same promise.

    Arguments  `epsilon` and `delta` are the promise, `bound` is `tight` or `published`, `ks` are the class sizes to try
               (sizes from 2 to 500 when left out)
    Raises     ParameterError for numbers out of range; a class size at which no rate keeps the promise is left out

    >>> [(one.k, float(one.beta)) for one in frontier(1, "1e-6", ks=[10, 20])]
    [(10, 0.17199...), (20, 0.35002...)]
    """
    settings = []
    for size in ks if ks is not None else CLASS_SIZES:
        try:
            found = solve(epsilon=epsilon, delta=delta, k=size, bound=bound)
        except InfeasibleError:
            continue
        settings.append(found)
        if found.beta >= _LARGEST_BETA:
            break
    return settings


def _refuse_trivial(found: Setting) -> None:
    if found.delta >= found.beta:
        raise PreconditionError(
            "safe-k-nontrivial",
            "delta is not below beta, so the promise is empty: publishing raw sampled rows would meet it (LQS11 Definition 3)",
            came=f"delta = {text_near(found.delta)}, beta = {text_near(found.beta)}",
            allowed="delta < beta",
            fix="ask for a smaller delta, or a minimum class size of at least 2",
        )


def _smallest_k(epsilon: Fraction, delta: Fraction, beta: Fraction, bound: Bound) -> int:
    if delta >= beta:
        return 1
    if delta == 0:
        raise InfeasibleError(
            "delta = 0 cannot be reached: a class of k records is sampled whole with probability beta^k",
            allowed="delta > 0",
            fix="allow a small delta, such as 1e-9",
        )
    target = math.log(float(delta))

    def excess(k: int) -> float:
        """How far ln delta lies above the target at this k (not positive where k suffices); almost linear in k."""
        reached = delta_exactly(k, beta, epsilon, bound)
        gap = math.log(up(reached)) - target
        return max(gap, 1e-12) if reached > delta else min(gap, 0.0)

    low, above = 1, math.log(float(beta)) - target
    high = 8
    while (below := excess(high)) > 0:
        if high >= MAX_K:
            raise InfeasibleError(
                f"no k up to {MAX_K:,} reaches delta = {text_near(delta)} at epsilon = {text_near(epsilon)}, "
                f"beta = {text_near(beta)}",
                fix=f"the nearest delta is {text_up(math.exp(below + target))}; raise epsilon or lower beta",
            )
        aim = high + math.ceil(1.05 * below * (high - low) / max(above - below, 1e-9)) + 1
        low, above, high = high, below, min(max(aim, high + 1), 8 * high, MAX_K)
    bisect = False
    while high - low > 1:
        cut = (low + high) // 2 if bisect else low + round((high - low) * above / (above - below))
        middle, bisect = min(max(cut, low + 1), high - 1), not bisect
        value = excess(middle)
        if value > 0:
            low, above = middle, value
        else:
            high, below = middle, value
    return high


def _smallest_epsilon(delta: Fraction, k: int, beta: Fraction, bound: Bound) -> float:
    floor = floor_of_delta(k, beta)
    if delta < floor:
        raise InfeasibleError(
            f"no epsilon reaches delta = {text_near(delta)}: k = {k} records of one class are all sampled with "
            f"probability beta^k = {text_up(floor)}, whatever epsilon is",
            fix=f"ask for delta >= {text_up(floor)}, raise k, or lower beta",
        )
    holds = _test(lambda e: delta_exactly(k, beta, e, bound), delta)
    low = 0.0 if bound == "tight" else -math.log1p(-float(beta))
    if holds(up_to_theorem(low, bound)):
        return up_to_theorem(low, bound)
    high = max(epsilon_of_floor(k, beta), low) + 1e-9
    while not holds(high):  # the published bound reaches its floor later than the tight one
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def up_to_theorem(epsilon: float, bound: Bound) -> float:
    """The smallest epsilon at which the published theorem speaks, as a float that is not below it."""
    return epsilon if bound == "tight" else math.nextafter(epsilon, math.inf)


def _largest_beta(epsilon: Fraction, delta: Fraction, k: int, bound: Bound) -> float:
    if delta == 0:
        raise InfeasibleError(
            "delta = 0 cannot be reached at any beta: a class of k records is sampled whole with probability beta^k",
            allowed="delta > 0",
            fix="allow a small delta, such as 1e-9",
        )
    tight = _test(lambda b: delta_exactly(k, b, epsilon), delta)
    top = _bisect_beta(tight, Fraction(0), _LARGEST_BETA)
    if top <= 0:
        raise InfeasibleError(f"no beta above 1e-12 reaches delta = {text_near(delta)} with k = {k}", fix="raise k")
    if bound == "tight":
        return down(top)
    return _largest_published_beta(epsilon, delta, k, top)


def _largest_published_beta(epsilon: Fraction, delta: Fraction, k: int, top: Fraction) -> float:
    """Walk down the intervals in which d rises with beta; its jumps are where gamma * n is a whole number."""
    silent = exact(down(-math.expm1(-float(epsilon)) * (1 - 1e-15)))  # beyond it the theorem is silent
    holds = _test(lambda b: delta_exactly(k, b, epsilon, "published"), delta)
    high = min(top, silent)
    if high <= 0:
        raise PreconditionError(
            "safe-k-published", "the published bound is silent at epsilon = 0", fix="use bound='tight'"
        )
    if holds(high):
        return down(high)
    for jump in _jumps(epsilon, k, high):
        just_above = jump * (1 + Fraction(1, 10**11))
        if just_above < high and holds(just_above):
            return down(_bisect_beta(holds, just_above, high))
        high = min(high, jump)
    found = _bisect_beta(holds, Fraction(0), high)
    if found <= 0:
        raise InfeasibleError(f"no beta above 1e-12 reaches delta = {text_near(delta)} with k = {k}", fix="raise k")
    return down(found)


def _jumps(epsilon: Fraction, k: int, below: Fraction) -> Iterator[Fraction]:
    """The betas, in falling order, at which gamma * n = j for one of the class sizes j that can attain the maximum."""
    growth = math.exp(float(epsilon))
    jumps = set()
    for j in range(k, k + 64):
        first = j / (1 - (1 - float(below)) / growth)
        for n in range(max(j + 1, math.floor(first)), max(j + 1, math.floor(first)) + _JUMPS // 64):
            beta = 1 - growth * (1 - j / n)
            if 0 < beta < below:
                jumps.add(beta)
    return (exact(beta) for beta in sorted(jumps, reverse=True))


def _bisect_beta(holds: Callable[[Number], bool], low: Fraction, high: Fraction) -> Fraction:
    """The largest beta found in (low, high] that holds, on a logarithmic scale, as a short decimal rounded down."""
    if holds(high):
        return high
    bottom = max(low, Fraction(1, 10**12))
    if not holds(bottom):
        return Fraction(0)
    for _ in range(_STEPS):
        middle = exact(math.sqrt(float(bottom) * float(high)))
        if middle in (bottom, high):
            break
        bottom, high = (middle, high) if holds(middle) else (bottom, middle)
    short = Fraction(Context(prec=12, rounding=ROUND_FLOOR).create_decimal(Decimal(float(bottom))))
    return short if low < short < bottom and holds(short) else bottom


def _test(curve: Callable[[Number], Fraction], delta: Fraction) -> Callable[[Number], bool]:
    """Whether the curve is at most delta, exactly."""
    return lambda parameter: curve(parameter) <= delta


def _solve_for_unit(step: Setting, unit: Unit) -> Setting:
    """Move the number that was solved until the promise holds for the unit and not just for one step."""
    epsilon, k, beta = step.epsilon_release, step.k, step.beta
    delta = step.delta
    if step.solved == "delta":
        delta = _not_below(delta_for_unit(unit, k, beta, epsilon))
    elif step.solved == "k":
        _refuse_long(unit, 1)
        k = _smallest_k_for_unit(
            lambda size: Fraction(delta_for_unit(unit, size, beta, epsilon)) <= delta,
            k,
            float(epsilon),
            None if k < _GUESSED_FROM else partial(_nearly_holds, unit, beta, epsilon, delta),
        )
    elif step.solved == "epsilon":
        epsilon = _smallest_epsilon_for_unit(unit, k, beta, delta, epsilon)
    else:
        beta = _largest_beta_for_unit(lambda rate: delta_for_unit(unit, k, rate, epsilon), beta, delta, k)
    if delta >= beta:
        raise PreconditionError(
            "safe-k-nontrivial",
            f"delta is not below beta, so the promise to {unit.words()} is empty",
            came=f"delta = {text_up(delta)}, beta = {text_near(beta)}",
            allowed="delta < beta",
            fix="raise k or epsilon, lower beta, or bound the rows of one unit",
        )
    return replace(step, epsilon=epsilon + step.epsilon_recoding, delta=delta, k=k, beta=beta, unit=unit)


def _smallest_k_for_unit(
    holds: Callable[[int], bool], low: int, epsilon: float, nearly: Callable[[int], bool] | None
) -> int:
    """The smallest k from `low` up that holds; `nearly` says the same in double precision, where that saves time."""
    if nearly is not None:
        return _close_in(holds, low, _smallest_k_for_unit(nearly, low, epsilon, None), epsilon)
    high, low = low, low - 1
    while high > LARGEST_K_OF_UNIT or not holds(high):
        if high >= LARGEST_K_OF_UNIT:
            raise _no_k_for_unit(epsilon)
        low, high = high, min(2 * high, LARGEST_K_OF_UNIT)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _no_k_for_unit(epsilon: float) -> InfeasibleError:
    return InfeasibleError(
        f"no k up to {LARGEST_K_OF_UNIT:,} reaches delta at epsilon = {text_near(epsilon)} for this unit",
        fix="raise epsilon or delta, or lower beta",
    )


def _close_in(holds: Callable[[int], bool], least: int, guess: int, epsilon: float) -> int:
    """The smallest k from `least` up that holds, looked for around a guess in steps that double."""
    low, high, step = least - 1, guess, 1
    if holds(guess):
        while high > least and holds(max(least, high - step)):
            high, step = max(least, high - step), 2 * step
        low = max(low, high - step)
    else:
        low, high = guess, guess + 1
        while not holds(high):
            if high >= LARGEST_K_OF_UNIT:
                raise _no_k_for_unit(epsilon)
            step *= 2
            low, high = high, min(high + step, LARGEST_K_OF_UNIT)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _nearly_holds(unit: Unit, beta: Fraction, epsilon: Fraction, delta: Fraction, k: int) -> bool:
    """Whether delta holds for a unit, in double precision: a guess, after which nothing is believed."""
    remove, add = (partial(curve, k, float(beta)) for curve in (_nearly_remove, _nearly_add))
    if unit.neighbours == "add_remove":
        found = group.chain_of_rows(lambda e: max(remove(e), add(e)), unit.max_rows, epsilon)
    else:
        found = group.chain_of_replaced_rows(remove, add, unit.max_rows, epsilon)
    return Fraction(found.delta) <= delta


def _nearly_remove(k: int, beta: float, epsilon: Fraction) -> float:
    """`delta_remove` in double precision: its sum over a linear weight is two tails of binomial distributions."""
    from scipy.special import betainc

    rest = (1 - beta) * math.exp(-float(epsilon))
    n = max(k, math.ceil((k - 1) / (1 - rest)))
    if k in (n, 1):
        return float(beta**k)
    tail, narrow = float(betainc(k, n - k + 1, beta)), float(betainc(k - 1, n - k + 1, beta))
    return max(0.0, min(1.0, tail * (1 - 1 / rest) + beta * narrow / rest))


def _nearly_add(k: int, beta: float, epsilon: Fraction) -> float:
    """`delta_add` in double precision."""
    from scipy.special import betainc

    gamma = 1 - (1 - beta) * math.exp(float(epsilon))
    if gamma <= 0 or k == 1:
        return 0.0 if gamma <= 0 else max(0.0, gamma)
    n = max(1, math.ceil((k - 1) / gamma))
    if n <= k:
        return 1.0
    low, narrow = float(betainc(n - k + 1, k, 1 - beta)), float(betainc(n - k + 1, k - 1, 1 - beta))
    return max(0.0, min(1.0, (gamma * low - beta * narrow) / (1 - beta)))


def _smallest_epsilon_for_unit(unit: Unit, k: int, beta: Fraction, delta: Fraction, low: Fraction) -> Fraction:
    steps = unit.steps
    # from here on every step has reached its floor, and more epsilon cannot help
    high = max(low, exact(steps * (epsilon_of_floor(k, beta) + 1e-9)))
    reachable = delta_for_unit(unit, k, beta, high)
    if Fraction(reachable) > delta:
        raise InfeasibleError(
            f"no epsilon reaches delta = {text_up(delta)} for {unit.words()}: the obstacle is beta^k = "
            f"{text_up(floor_of_delta(k, beta))}, paid at each of {steps} steps",
            fix=f"the nearest delta is {text_up(reachable)}; raise k or lower beta",
        )
    for _ in range(_UNIT_STEPS):
        middle = exact(float((low + high) / 2))
        low, high = (low, middle) if Fraction(delta_for_unit(unit, k, beta, middle)) <= delta else (middle, high)
    return high


def _largest_beta_for_unit(curve: Callable[[Fraction], float], high: Fraction, delta: Fraction, k: int) -> Fraction:
    """Close in from both sides, by turns on a straight line through ln delta and by halves."""
    low = high
    above = below = _excess(curve(high), delta)
    while below > 0:
        if low < _SMALLEST_BETA:
            raise InfeasibleError(f"no beta above 1e-12 reaches delta = {text_up(delta)} with k = {k}", fix="raise k")
        high, above, low = low, below, _short(float(low) / 2)
        below = _excess(curve(low), delta)
    for turn in range(_UNIT_STEPS):
        if high <= low * (1 + _CLOSE):
            break
        share = below / (below - above) if turn % 2 == 0 else 0.5
        middle = _short(float(low) * (float(high) / float(low)) ** min(max(share, 0.02), 0.98))
        if middle in (low, high):
            break
        value = curve(middle)
        if Fraction(value) <= delta:
            low, below = middle, _excess(value, delta)
        else:
            high, above = middle, _excess(value, delta)
    return low


def _excess(value: float, delta: Fraction) -> float:
    """How far ln of a value lies above ln delta: above 0 exactly where the value is above delta."""
    gap = math.log(max(value, 1e-320) / float(delta))
    return max(gap, 1e-15) if Fraction(value) > delta else min(gap, 0.0)


def _short(value: float) -> Fraction:
    """Eight digits, rounded down: a rate that a person can copy."""
    return Fraction(Context(prec=8, rounding=ROUND_FLOOR).create_decimal(Decimal(value)))
