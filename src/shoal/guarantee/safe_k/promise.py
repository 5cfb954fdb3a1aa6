"""What a plan promises: the four numbers solved for the unit that was asked for, and all that is said about them.

One record added or removed is what the theorems speak of, and `guarantee.solve` solves it. For a person with
several rows, or for replacing, the promise is the chain of such steps (theorems `group-privacy`, `replace-one`);
its delta rises and falls with k, beta and epsilon as the single step's does, so it is solved by bisection too.
Whatever is returned has been evaluated and holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee import group
from shoal.guarantee.rounding import exact, text_up, whole
from shoal.guarantee.safe_k import curve as safe_k
from shoal.guarantee.safe_k.solve import solve
from shoal.guarantee.unit import NEIGHBOURS, Neighbours, Unit

if TYPE_CHECKING:
    from shoal.guarantee.safe_k.curve import Bound

_STEPS = 24
_SMALLEST_BETA = Fraction(1, 10**12)
_CLOSE = Fraction(1, 10**6)


@dataclass(frozen=True)
class Whose:
    """The unit of a plan that has no table yet: up to `rows` rows of one unit, and what happens to them."""

    rows: int = 1
    neighbours: Neighbours = "add_remove"

    def __post_init__(self) -> None:
        whole(self.rows, "the number of rows of one unit")
        if self.neighbours not in NEIGHBOURS:
            raise UsageError("unknown neighbouring relation", came=self.neighbours, allowed=" or ".join(NEIGHBOURS))

    @classmethod
    def of(cls, unit: Unit) -> Whose:
        """What the theorems need to know of a unit."""
        return cls(unit.max_rows, unit.neighbours)

    @property
    def is_one_step(self) -> bool:
        """Whether this is the theorems' own unit: one row, added or removed."""
        return self.rows == 1 and self.neighbours == "add_remove"

    @property
    def is_one_row(self) -> bool:
        """Whether a unit has one row, whatever happens to it."""
        return self.rows == 1

    @property
    def steps(self) -> int:
        """How many rows come or go, one after another, between neighbours."""
        return self.rows * (2 if self.neighbours == "replace_one" else 1)

    @property
    def theorems(self) -> tuple[str, ...]:
        """What leads from one step to this unit."""
        names = ("group-privacy",) if self.rows > 1 else ()
        return (*names, "replace-one") if self.neighbours == "replace_one" else names

    @property
    def subject(self) -> str:
        """The rows that come or go together, in plain words."""
        return "one row" if self.rows == 1 else f"all rows (at most {self.rows}) of one unit"

    def words(self) -> str:
        """In plain words."""
        return f"{self.subject} {'added or removed' if self.neighbours == 'add_remove' else 'replaced by any other'}"

    def delta(self, k: int, beta: Fraction, epsilon: Fraction) -> float:
        """delta at epsilon for this unit, from the tight curve."""
        return safe_k.delta_tight(k, beta, epsilon) if self.is_one_step else self.chain(k, beta, epsilon).delta

    @lru_cache(maxsize=256)  # noqa: B019 - a small frozen value; a release asks for the same points several times
    def chain(self, k: int, beta: Fraction, epsilon: Fraction) -> group.Chain:
        """The same, with the split of epsilon over the unit's steps that shows it."""
        if self.neighbours == "add_remove":
            return group.chain_of_rows(partial(safe_k.delta_tight, k, beta), self.rows, epsilon)
        remove, add = partial(safe_k.delta_remove, k, beta), partial(safe_k.delta_add, k, beta)
        return group.chain_of_replaced_rows(remove, add, self.rows, epsilon)


@dataclass(frozen=True)
class Promise:
    """Numbers that hold together: a release at rate beta with crowds of k is (epsilon, delta)-DP for `whose`.

    They are evaluated when they are put together, and refused where delta is smaller than what holds.
    """

    epsilon_release: Fraction
    epsilon_recoding: Fraction
    delta: Fraction
    k: int
    beta: Fraction
    bound: Bound
    solved: str
    whose: Whose

    def __post_init__(self) -> None:
        safe_k.check_epsilon(self.epsilon_recoding)
        safe_k.check_delta(self.delta)
        if self.bound == "published" and not self.whose.is_one_step:
            raise PreconditionError(
                "safe-k-published", "the published theorem speaks of one row added or removed", came=self.whose.words()
            )
        least = self._least_delta()
        if self.delta < least:
            raise PreconditionError(
                f"safe-k-{safe_k.check_bound(self.bound)}",
                f"k = {self.k} and beta = {float(self.beta):g} do not give this delta at epsilon = "
                f"{text_up(self.epsilon_release)} for {self.whose.words()}",
                came=f"delta = {text_up(self.delta)}",
                allowed=f"delta >= {text_up(least)}",
                fix="solve for it with `shoal plan`",
            )

    def _least_delta(self) -> Fraction:
        """The smallest delta that is proved for these numbers."""
        if self.whose.is_one_step:
            return safe_k.delta_exactly(self.k, self.beta, self.epsilon_release, self.bound)
        return Fraction(self.whose.delta(self.k, self.beta, self.epsilon_release))

    @property
    def epsilon(self) -> Fraction:
        """The total: the release and, if the recoding was chosen privately, its share."""
        return self.epsilon_release + self.epsilon_recoding

    @property
    def delta_tight(self) -> float:
        """delta* for one row added or removed."""
        return safe_k.delta_tight(self.k, self.beta, self.epsilon_release)

    @property
    def delta_published(self) -> float | None:
        """d of the published theorem, or None where it is silent."""
        return published(self.k, self.beta, self.epsilon_release)

    def delta_under(self, bound: Bound) -> Fraction:
        """delta for one row added or removed under a bound, as an exact fraction (for printing)."""
        return safe_k.delta_exactly(self.k, self.beta, self.epsilon_release, bound)

    @property
    def delta_unit(self) -> float:
        """What the tight curve gives for the unit asked for."""
        return self.whose.delta(self.k, self.beta, self.epsilon_release)

    @property
    def floor(self) -> Fraction:
        """beta^k, below which no epsilon brings delta."""
        return safe_k.floor_of_delta(self.k, self.beta)

    @property
    def theorems(self) -> tuple[str, ...]:
        """The names of all results that the promise rests on."""
        recoding = ("eps-safe-recoding",) if self.epsilon_recoding else ()
        return (f"safe-k-{self.bound}", *self.whose.theorems, *recoding)


def published(k: int, beta: Fraction, epsilon: Fraction) -> float | None:
    """d(k, beta, epsilon), or None where the published theorem is silent."""
    try:
        return safe_k.delta_published(k, beta, epsilon)
    except PreconditionError:
        return None


def promise(
    *,
    epsilon: Fraction | None,
    delta: Fraction | None,
    k: int | None,
    beta: Fraction | None,
    bound: str,
    recoding: Fraction,
    whose: Whose,
) -> Promise:
    """Leave out one of the four and get the plan in which it is as good as it can be."""
    chosen = safe_k.check_bound(bound)
    if not whose.is_one_step and chosen == "published":
        raise UsageError(
            "the published theorem speaks of one row added or removed",
            came=whose.words(),
            fix="use --bound tight",
        )
    safe_k.check_epsilon(recoding)
    release = None if epsilon is None else _after(safe_k.check_epsilon(epsilon), recoding)
    step = solve(epsilon=release, delta=delta, k=k, beta=beta, bound=chosen)
    found = Promise(
        # A float's shortest name may lie on the wrong side of it; then the float itself is taken.
        max(exact(step.epsilon), Fraction(step.epsilon)) if release is None else release,
        recoding,
        max(exact(step.delta), Fraction(step.delta)) if delta is None else delta,
        step.k,
        min(exact(step.beta), Fraction(step.beta)) if beta is None else beta,
        chosen,
        step.solved,
        Whose(),
    )
    return found if whose.is_one_step else _for_unit(found, whose)


def _after(total: Fraction, recoding: Fraction) -> Fraction:
    if recoding and recoding >= total:
        raise ParameterError(
            "the recoding's share leaves nothing for the release",
            came=f"--epsilon-recoding {float(recoding):g} of --epsilon {float(total):g}",
            allowed="--epsilon-recoding below --epsilon",
        )
    return total - recoding


def _for_unit(step: Promise, whose: Whose) -> Promise:
    """Move the number that was solved until the promise holds for the unit and not just for one step."""
    epsilon, k, beta = step.epsilon_release, step.k, step.beta
    delta = step.delta
    if step.solved == "delta":
        found = whose.delta(k, beta, epsilon)
        delta = max(exact(found), Fraction(found))
    elif step.solved == "k":
        k = _smallest_k(lambda size: Fraction(whose.delta(size, beta, epsilon)) <= delta, k, float(epsilon))
    elif step.solved == "epsilon":
        epsilon = _smallest_epsilon(whose, k, beta, delta, epsilon)
    else:
        beta = _largest_beta(lambda rate: whose.delta(k, rate, epsilon), beta, delta, k)
    if delta >= beta:
        raise PreconditionError(
            "safe-k-nontrivial",
            f"delta is not below beta, so the promise to {whose.words()} is empty",
            came=f"delta = {text_up(delta)}, beta = {float(beta):g}",
            allowed="delta < beta",
            fix="raise k or epsilon, lower beta, or bound the rows of one unit",
        )
    return Promise(epsilon, step.epsilon_recoding, delta, k, beta, step.bound, step.solved, whose)


def _smallest_k(holds: Callable[[int], bool], low: int, epsilon: float) -> int:
    high, low = low, low - 1
    while not holds(high):
        if high >= safe_k.MAX_K:
            raise InfeasibleError(
                f"no k up to {safe_k.MAX_K:,} reaches delta at epsilon = {epsilon:g} for this unit",
                fix="raise epsilon or delta, or lower beta",
            )
        low, high = high, min(2 * high, safe_k.MAX_K)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _smallest_epsilon(whose: Whose, k: int, beta: Fraction, delta: Fraction, low: Fraction) -> Fraction:
    steps = whose.steps
    # from here on every step has reached its floor, and more epsilon cannot help
    high = max(low, exact(steps * (safe_k.epsilon_of_floor(k, beta) + 1e-9)))
    reachable = whose.delta(k, beta, high)
    if Fraction(reachable) > delta:
        raise InfeasibleError(
            f"no epsilon reaches delta = {text_up(delta)} for {whose.words()}: the obstacle is beta^k = "
            f"{text_up(safe_k.floor_of_delta(k, beta))}, paid at each of {steps} steps",
            fix=f"the nearest delta is {text_up(reachable)}; raise k or lower beta",
        )
    for _ in range(_STEPS):
        middle = exact(float((low + high) / 2))
        low, high = (low, middle) if Fraction(whose.delta(k, beta, middle)) <= delta else (middle, high)
    return high


def _largest_beta(curve: Callable[[Fraction], float], high: Fraction, delta: Fraction, k: int) -> Fraction:
    """Close in from both sides, by turns on a straight line through ln delta and by halves."""
    low = high
    above = below = _excess(curve(high), delta)
    while below > 0:
        if low < _SMALLEST_BETA:
            raise InfeasibleError(f"no beta above 1e-12 reaches delta = {text_up(delta)} with k = {k}", fix="raise k")
        high, above, low = low, below, _short(float(low) / 2)
        below = _excess(curve(low), delta)
    for turn in range(_STEPS):
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
