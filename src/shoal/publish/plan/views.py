"""Views: many narrow tables, each from its own fresh sample, planned together and charged at what they compose to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, isfinite

from shoal.anonymize.method.safe_k import SafeK
from shoal.data.schema import Schema
from shoal.errors import InfeasibleError, ShoalError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, PureDP, SafeKSampling
from shoal.guarantee.rounding import exact, text_up
from shoal.guarantee.safe_k.setting import Setting, solve
from shoal.guarantee.unit import ONE_ROW, Unit
from shoal.policy.model.views import Group

MAX_CROWD = 1 << 14
"""Views in larger crowds than this show nothing that is worth a view."""
RATES = tuple(
    Fraction(n, 1000) for n in (2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600)
)
"""The rates among which `beta: auto` looks."""
STEPS = 12
"""How often the share of one view is halved in; the last one that fits is taken."""


@dataclass(frozen=True)
class View:
    """One narrow table: its name and the method that makes it."""

    name: str
    method: SafeK

    @property
    def columns(self) -> tuple[str, ...]:
        """Its attributes, in order."""
        return self.method.partition.columns


@dataclass(frozen=True)
class Chooser:
    """A private choice of views: which could be published, how many are, and what the choice costs the unit."""

    candidates: tuple[Group, ...]
    count: int
    epsilon: Fraction
    steps: int


def names(groups: Sequence[Group]) -> list[str]:
    """A safe and telling name for each view."""
    digits = len(str(len(groups)))
    return [
        f"{number:0{digits}d}-{'--'.join(plain_name(each) for each in group)}"[:120]
        for number, group in enumerate(groups, 1)
    ]


def plain_name(name: str) -> str:
    """An attribute's name with nothing in it that a file's name cannot hold."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "_" for letter in name)


def narrowed(schema: Schema, group: Group) -> Schema:
    """The schema of one view: its attributes, in the order of the table."""
    return replace(schema, attributes=tuple(one for one in schema.attributes if one.name in group))


def crowd_parts(promises: Sequence[Setting]) -> list[tuple[Guarantee, int]]:
    """What the samples of some releases compose as: crowds where their curve speaks for the unit, else (epsilon, delta)."""
    found: Counter[Guarantee] = Counter()
    for plan in promises:
        one = plan.unit.is_one_step and plan.bound == "tight"
        found[SafeKSampling(plan.k, plan.beta) if one else ApproxDP(plan.epsilon_release, plan.delta)] += 1
    return list(found.items())


def all_parts(promises: Sequence[Setting], chosen: Fraction = Fraction(0)) -> list[tuple[Guarantee, int]]:
    """What a release of views composes as: the choice of views, the recodings, the samples."""
    recodings = Counter(plan.epsilon_recoding for plan in promises if plan.epsilon_recoding)
    paid: list[tuple[Guarantee, int]] = [(PureDP(chosen), 1)] if chosen else []
    paid += [(PureDP(epsilon), times) for epsilon, times in recodings.items()]
    return [*paid, *crowd_parts(promises)]


def fits(parts: Sequence[tuple[Guarantee, int]], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether guarantees compose to at most (epsilon, delta)."""
    found = compose(parts).epsilon_at(delta)
    return isfinite(found) and exact(found) <= epsilon


def shared_out(
    count: int,
    epsilon: Fraction,
    delta: Fraction,
    chosen: Fraction,
    recoding: Fraction,
    one: Callable[[Fraction, Fraction, Fraction], Setting],
) -> list[Setting]:
    """k and beta of every view, for units of several steps: the largest share at which all together keep the promise.

    `one(epsilon, delta, recoding)` solves a single view. The share that basic composition allows is where the search
    begins, so there is always something to fall back on.
    """
    share = recoding / count

    def tried(part: Fraction) -> list[Setting]:
        return [one(_short(part) + share, delta / count, share)] * count

    low, high = (epsilon - chosen - recoding) / count, epsilon - chosen - share
    best = _feasible(tried, low, count, epsilon)
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = tried(middle)
        if fits(all_parts(found, chosen), epsilon, delta):
            low, best = middle, found
        else:
            high = middle
    return best


@dataclass(frozen=True)
class Sharing:
    """How views share one promise where a row is added or removed: one rate, and crowds by the views' weights.

    A view of twice the weight has crowds of half the size. Without a rate the one with the smallest crowds for their rate,
    k/beta: a cell of a narrow table is either shown whole or not at all, so crowds cost more than a smaller sample does
    (decision 0003). `rows` takes the largest rate within half as much again.
    """

    weights: tuple[Fraction, ...]
    epsilon: Fraction
    delta: Fraction
    chosen: Fraction
    recoding: Fraction

    def solve(self, *, k: int | None, beta: Fraction | None, prefer: str) -> list[Setting]:
        """The promise of every view; InfeasibleError where they do not fit."""
        rate = beta
        if k is not None and beta is None:
            rate = max((r for r in RATES if (size := self.crowd(r)) is not None and size <= k), default=None)
        elif beta is None:
            rate = self._best(prefer)
        size = None if rate is None else k if k is not None else self.crowd(rate)
        if rate is None or size is None:
            raise InfeasibleError(
                f"{len(self.weights):,} views do not fit into epsilon = {text_up(self.epsilon)}"
                + (f" with k = {k}" if k is not None else ""),
                came=f"beta = {float(beta):g}" if beta is not None else "no beta that we know of is small enough",
                fix="publish fewer views (`limit`, `workload`), raise epsilon, leave k and beta out, or recode for less",
            )
        share = self.recoding / len(self.weights)
        left = self.epsilon - self.chosen - self.recoding + share
        single = cache(lambda own: view_promise(own, rate, left, share, ONE_ROW))
        return [single(own) for own in self.sizes(size)]

    def sizes(self, size: int) -> list[int]:
        """The crowd of each view when one of mean weight has this."""
        mean = sum(self.weights, Fraction(0)) / len(self.weights)
        return [max(1, ceil(size * mean / weight)) for weight in self.weights]

    def crowd(self, rate: Fraction) -> int | None:
        """The smallest crowd of mean weight with which all samples at this rate keep the promise; None up to MAX_CROWD."""
        return _smallest(self, rate)

    def holds(self, size: int, rate: Fraction) -> bool:
        """Whether these crowds keep the promise together."""
        share = self.recoding / len(self.weights)
        parts: list[tuple[Guarantee, int]] = [(PureDP(self.chosen), 1)] if self.chosen else []
        parts += [(PureDP(share), len(self.weights))] if share else []
        crowds = Counter(self.sizes(size))
        return fits(
            [*parts, *((SafeKSampling(k, rate), times) for k, times in crowds.items())], self.epsilon, self.delta
        )

    def _best(self, prefer: str) -> Fraction | None:
        def cost(rate: Fraction) -> Fraction:
            size = self.crowd(rate)
            return Fraction(size) / rate if size is not None else Fraction(10**12)

        # k is whole, so the crowd falls and rises in steps: every third rate, and then those around the best.
        at = min(range(0, len(RATES), 3), key=lambda place: cost(RATES[place]))
        best = min(RATES[max(0, at - 2) : at + 3], key=cost)
        if prefer == "rows":
            best = max(rate for rate in RATES if rate >= best and cost(rate) <= cost(best) * Fraction(3, 2))
        return best if cost(best) < 10**12 else None


@lru_cache(maxsize=1024)
def _smallest(sharing: Sharing, rate: Fraction) -> int | None:
    low, high = 0, 8
    while not sharing.holds(high, rate):
        if high >= MAX_CROWD:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sharing.holds(middle, rate) else (middle, high)
    return high


def view_promise(
    k: int, beta: Fraction, epsilon: Fraction, share: Fraction, unit: Unit, bound: str = "tight"
) -> Setting:
    """One view with this crowd and rate: its delta at all of epsilon, rounded up to what a certificate prints."""
    found = solve(epsilon=epsilon, k=k, beta=beta, bound=bound, epsilon_recoding=share, unit=unit)
    at_most = found.delta_under(found.bound) if unit.is_one_step else found.delta
    return replace(found, delta=exact(text_up(at_most, 8)))


def as_given(promise: Setting, count: int, epsilon: Fraction, delta: Fraction, chosen: Fraction) -> list[Setting]:
    """So many views with k and beta that the policy names; InfeasibleError where they cost more than there is."""
    found = [promise] * count
    parts = all_parts(found, chosen)
    if not fits(parts, epsilon, delta):
        needed = compose(parts).epsilon_at(delta)
        cost = f"they compose to {text_up(exact(needed))}" if isfinite(needed) else "no epsilon is enough at this delta"
        raise InfeasibleError(
            f"{count:,} views do not fit into epsilon = {text_up(epsilon)} with k = {promise.k} and beta = "
            f"{float(promise.beta):g}: {cost}",
            allowed=f"{_most(promise, count, epsilon, delta, chosen):,} views of this kind",
            fix="publish fewer views (`limit`, `workload`), raise k or epsilon, lower beta, or leave k or beta out",
        )
    return found


def _most(promise: Setting, count: int, epsilon: Fraction, delta: Fraction, chosen: Fraction) -> int:
    """How many such views would fit; fewer than `count`."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        good = fits(all_parts([promise] * middle, chosen), epsilon, delta)
        low, high = (middle, high) if good else (low, middle)
    return low


def _feasible(
    tried: Callable[[Fraction], list[Setting]], share: Fraction, count: int, epsilon: Fraction
) -> list[Setting]:
    try:
        return tried(share)
    except ShoalError as error:
        raise InfeasibleError(
            f"{count:,} views do not fit into epsilon = {text_up(epsilon)}: {error.wrong}",
            came=f"a share of {text_up(share)} for each view",
            fix="publish fewer views (`limit`, `workload`), raise epsilon, leave k and beta out, or recode for less",
        ) from None


def _short(value: Fraction) -> Fraction:
    """Eight digits, rounded down, so that equal weights share one solution and a certificate stays readable."""
    scale = 10**8
    return Fraction(int(value * scale), scale)
