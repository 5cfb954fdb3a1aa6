"""Any one of epsilon, delta, k and beta from the other three, and the frontier of choices.

delta* falls with k and with epsilon and rises with beta (theorem `safe-k-monotone`), so the tight
bound is solved by bisection. The published bound is not monotone in beta: there beta is found by
walking down the intervals between its jumps. Whatever is returned has been evaluated and holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from shoal.errors import InfeasibleError, PreconditionError, UsageError
from shoal.guarantee.rounding import Number, down, exact, exact_text, text_up, up
from shoal.guarantee.safe_k.curve import (
    MAX_K,
    Bound,
    check_beta,
    check_bound,
    check_delta,
    check_epsilon,
    check_k,
    delta_exactly,
    delta_published,
    delta_tight,
    epsilon_of_floor,
    floor_of_delta,
)
from shoal.guarantee.safe_k.curve import delta as delta_under

_STEPS = 48
_LARGEST_BETA = Fraction(999_999, 1_000_000)
_JUMPS = 4000
_FLOATS = 1e-9
"""What naming exact numbers by their nearest floats may change of a delta, relatively."""


@dataclass(frozen=True)
class Setting:
    """Four numbers that hold together: at rate beta and crowd size k the release is (epsilon, delta)-DP.

    They are evaluated when they are put together, and refused where delta is smaller than what holds.
    """

    epsilon: float
    delta: float
    k: int
    beta: float
    bound: Bound
    solved: str

    def __post_init__(self) -> None:
        least = delta_under(self.k, self.beta, self.epsilon, self.bound)
        if self.delta < least * (1 - _FLOATS):
            raise PreconditionError(
                f"safe-k-{self.bound}",
                f"k = {self.k} and beta = {self.beta:g} do not give this delta at epsilon = {self.epsilon:g}",
                came=f"delta = {text_up(self.delta)}",
                allowed=f"delta >= {text_up(least)}",
                fix="solve for it with `solve`",
            )

    @property
    def delta_tight(self) -> float:
        """delta* at these k, beta and epsilon."""
        return delta_tight(self.k, self.beta, self.epsilon)

    @property
    def delta_published(self) -> float | None:
        """d of LQS11 Theorem 5, or None where that theorem is silent (epsilon < -ln(1 - beta))."""
        try:
            return delta_published(self.k, self.beta, self.epsilon)
        except PreconditionError:
            return None


def solve(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    k: int | None = None,
    beta: Number | None = None,
    bound: str = "tight",
) -> Setting:
    """Leave out one of the four and get it: the smallest epsilon, delta or k, or the largest beta, that holds.

    Theorems `safe-k-tight`, `safe-k-monotone`; with bound='published', LQS11 Theorem 5.
    """
    given = {"epsilon": epsilon, "delta": delta, "k": k, "beta": beta}
    missing = [name for name, value in given.items() if value is None]
    not_three = UsageError(
        "exactly three of epsilon, delta, k and beta are needed",
        came=", ".join(name for name, value in given.items() if value is not None) or "none of them",
        fix="leave out the one to solve for",
    )
    if len(missing) != 1:
        raise not_three
    chosen = check_bound(bound)
    e = None if epsilon is None else check_epsilon(epsilon)
    d = None if delta is None else check_delta(delta)
    crowd = None if k is None else check_k(k)
    rate = None if beta is None else check_beta(beta)
    if e is not None and crowd is not None and rate is not None:
        found = Setting(float(e), delta_under(crowd, rate, e, chosen), crowd, float(rate), chosen, "delta")
    elif e is not None and d is not None and rate is not None:
        found = Setting(float(e), float(d), _smallest_k(e, d, rate, chosen), float(rate), chosen, "k")
    elif e is not None and d is not None and crowd is not None:
        found = Setting(float(e), float(d), crowd, _largest_beta(e, d, crowd, chosen), chosen, "beta")
    elif d is not None and crowd is not None and rate is not None:
        found = Setting(_smallest_epsilon(d, crowd, rate, chosen), float(d), crowd, float(rate), chosen, "epsilon")
    else:
        raise not_three
    _refuse_trivial(found)
    return found


def frontier(epsilon: Number, delta: Number, bound: str = "tight", ks: list[int] | None = None) -> list[Setting]:
    """For each crowd size the largest sampling rate that keeps (epsilon, delta): more rows or finer detail, same promise."""
    sizes = (
        ks if ks is not None else [2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500]
    )
    settings = []
    for size in sizes:
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
            came=f"delta = {found.delta:g}, beta = {found.beta:g}",
            allowed="delta < beta",
            fix="ask for a smaller delta, or a crowd of at least 2",
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
                f"no k up to {MAX_K:,} reaches delta = {float(delta):g} at epsilon = {float(epsilon):g}, "
                f"beta = {float(beta):g}",
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
            f"no epsilon reaches delta = {float(delta):g}: k = {k} records of one class are all sampled with "
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
        raise InfeasibleError(f"no beta above 1e-12 reaches delta = {float(delta):g} with k = {k}", fix="raise k")
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
        raise InfeasibleError(f"no beta above 1e-12 reaches delta = {float(delta):g} with k = {k}", fix="raise k")
    return down(found)


def _jumps(epsilon: Fraction, k: int, below: Fraction) -> Iterator[Fraction]:
    """The betas, in falling order, at which gamma * n = j for one of the crowd sizes j that can attain the maximum."""
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


def describe(setting: Setting) -> str:
    """The setting in words, for a person."""
    return (
        f"sampling at rate {setting.beta:g} and dropping groups under {setting.k} is "
        f"({exact_text(exact(setting.epsilon))}, {text_up(setting.delta)})-differentially private"
    )
