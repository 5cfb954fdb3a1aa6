"""Views: many narrow tables, each from its own fresh sample, planned together and charged at what they compose to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isfinite

from shoal.anonymize.method.safe_k import SafeK
from shoal.data.schema import Schema
from shoal.errors import InfeasibleError, ShoalError
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, PureDP, SampledCrowd
from shoal.guarantee.kind import Guarantee
from shoal.guarantee.promise import Promise
from shoal.guarantee.rounding import exact, text_up
from shoal.policy.views import Group

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
        f"{number:0{digits}d}-{'--'.join(_plain(each) for each in group)}"[:120]
        for number, group in enumerate(groups, 1)
    ]


def _plain(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "_" for letter in name)


def narrowed(schema: Schema, group: Group) -> Schema:
    """The schema of one view: its attributes, in the order of the table."""
    return Schema(tuple(attribute for attribute in schema.attributes if attribute.name in group))


def crowd_parts(promises: Sequence[Promise]) -> list[tuple[Guarantee, int]]:
    """What the samples of some releases compose as: crowds where their curve speaks for the unit, else (epsilon, delta)."""
    found: Counter[Guarantee] = Counter()
    for plan in promises:
        one = plan.whose.is_one_step and plan.bound == "tight"
        found[SampledCrowd(plan.k, plan.beta) if one else ApproxDP(plan.epsilon_release, plan.delta)] += 1
    return list(found.items())


def all_parts(promises: Sequence[Promise], chosen: Fraction = Fraction(0)) -> list[tuple[Guarantee, int]]:
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
    weights: Sequence[Fraction],
    epsilon: Fraction,
    delta: Fraction,
    chosen: Fraction,
    recoding: Fraction,
    one: Callable[[Fraction, Fraction, Fraction], Promise],
) -> list[Promise]:
    """k and beta of every view: the largest common share at which all together keep (epsilon, delta).

    A view of weight w gets the share times w of epsilon; `one(epsilon, delta, recoding)` solves a single view. Shares
    that basic composition allows are where the search begins, so there is always something to fall back on.
    """
    count, total = len(weights), sum(weights, Fraction(0))
    share_of_recoding = recoding / count

    @cache
    def solved(part: Fraction) -> Promise:
        return one(part + share_of_recoding, delta / count, share_of_recoding)

    def tried(share: Fraction) -> list[Promise]:
        return [solved(_short(share * weight * count / total)) for weight in weights]

    low, high = (epsilon - chosen - recoding) / count, epsilon - chosen - share_of_recoding
    best = _feasible(tried, low, count, epsilon)
    for _ in range(STEPS):
        middle = (low + high) / 2
        try:
            found = tried(middle)
            good = fits(all_parts(found, chosen), epsilon, delta)
        except ShoalError:  # a weight so large that one view alone would ask for more than there is
            good = False
        if good:
            low, best = middle, found
        else:
            high = middle
    return best


def as_given(promise: Promise, count: int, epsilon: Fraction, delta: Fraction, chosen: Fraction) -> list[Promise]:
    """So many views with k and beta that the policy names; InfeasibleError where they cost more than there is."""
    found = [promise] * count
    parts = all_parts(found, chosen)
    if not fits(parts, epsilon, delta):
        needed = compose(parts).epsilon_at(delta)
        cost = f"they compose to {text_up(exact(needed))}" if isfinite(needed) else "no epsilon is enough at this delta"
        raise InfeasibleError(
            f"{count:,} views do not fit into epsilon = {text_up(epsilon)} with k = {promise.k} and beta = "
            f"{float(promise.beta):g}: {cost}",
            fix="publish fewer views (`limit`, `workload`), raise k or epsilon, lower beta, or leave k or beta out",
        )
    return found


def _feasible(
    tried: Callable[[Fraction], list[Promise]], share: Fraction, count: int, epsilon: Fraction
) -> list[Promise]:
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
