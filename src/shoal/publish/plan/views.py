"""The plan of a release of views: many narrow tables, each from its own fresh sample, charged at what they compose to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any

from shoal.anonymize.method.safe_k import SafeK
from shoal.data.schema import Schema
from shoal.errors import InfeasibleError, PolicyError, ShoalError, UsageError
from shoal.guarantee import sentences as words
from shoal.guarantee.base import Guarantee
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, PureDP, SafeKSampling
from shoal.guarantee.rounding import exact, exact_text, text_down, text_near, text_up
from shoal.guarantee.safe_k.setting import Setting, solve
from shoal.guarantee.syntactic import KAnonymity
from shoal.guarantee.unit import ONE_ROW, Unit
from shoal.policy.model.release import Group, ReleaseModel, SamplingModel, ViewsModel
from shoal.policy.policy import Policy
from shoal.publish.folder import plain_name
from shoal.publish.plan.safe_k import SafeKPlan, partition, sample_parts, solve_one

if TYPE_CHECKING:
    from shoal.guarantee.safe_k.frontier import FrontierPoint
    from shoal.publish.certificate.model import TableEntry
    from shoal.publish.run.views import ViewsJob

LARGEST_K = 1 << 14
"""Views whose classes are larger than this show nothing that is worth a view."""
_RATES = ".002 .003 .005 .007 .01 .015 .02 .03 .04 .05 .06 .08 .1 .12 .15 .2 .25 .3 .4 .5 .6"
RATES = tuple(map(Fraction, _RATES.split()))
"""The rates among which `beta: auto` looks."""
STEPS = 12
"""Steps of the search for the share of one view; the last one that fits is taken."""
MOST_LISTED = 300
"""Views that the page of a plan lists."""


@dataclass(frozen=True)
class View:
    """One narrow table: its name and the method that makes it."""

    name: str
    method: SafeK

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes of the view, in the order of the table."""
        return self.method.partition.columns


@dataclass(frozen=True)
class Chooser:
    """A private choice of views: which could be published, how many are, and what the choice costs the unit."""

    candidates: tuple[Group, ...]
    count: int
    epsilon: Fraction
    steps: int


@dataclass(frozen=True)
class ViewsPlan(SafeKPlan):
    """Many narrow tables by safe k-anonymization, each from its own sample, that keep one promise together.

    Promise   (epsilon, delta)-differential privacy for the unit of the policy, for all views together; k-anonymity of each.
    Requires  a fresh sample for each view; one release; a recoding for the attributes of each view.
    Reads     nothing: the policy alone.
    """

    views: tuple[View, ...] = ()
    """The narrow tables; `method` is the first one's."""
    chooser: Chooser | None = None
    """Picks the views on the table, where the policy asks for that; `views` then only say how many there will be."""

    def __post_init__(self) -> None:
        if not self.views or self.repeat > 1:
            raise UsageError("views are released once", came=f"{len(self.views)} views, {self.repeat} times")
        super().__post_init__()

    def _numbers(self) -> str:
        return f"{super()._numbers()}, {len(self.views)} views"

    def job(self) -> ViewsJob:
        from shoal.publish.run.views import ViewsJob

        return ViewsJob(self)

    def check(self, schema: Schema) -> None:
        for view in self.views:
            view.method.check(narrow_schema(schema, view.columns))

    @property
    def tables(self) -> tuple[SafeK, ...]:
        return tuple(view.method for view in self.views)

    @property
    def levels(self) -> dict[str, int] | None:
        """None: each view has levels of its own."""
        return None

    @property
    def claims(self) -> tuple[Claim, ...]:
        first = self.method.claims(tuned=self.tuning)[0]
        names = dict.fromkeys(name for view in self.views for name in view.method.theorems)
        theorems = (*names, *(("view-choice",) if self.chooser else ()), *self._total_theorems, "pld-composition")
        smallest = make_claim(KAnonymity(min(promise.k for promise in self.promises)), None, Status.CHECKED)
        whole = make_claim(self.total, first.unit, first.status, theorems, first.conditions)
        return self.after_treatments((whole, smallest))

    @property
    def parts(self) -> list[tuple[Guarantee, int]]:
        """What is composed: the choice of views, the recodings, the samples."""
        return [*self._total_parts, *all_parts(self.promises, self.chooser.epsilon if self.chooser else Fraction(0))]

    @property
    def epsilon_choices(self) -> Fraction:
        """The pure epsilon that is spent beside the samples: on the noisy total, the choice of views, and each recoding."""
        chosen = self.epsilon_total + (self.chooser.epsilon if self.chooser else Fraction(0))
        return sum((promise.epsilon_recoding for promise in self.promises), start=chosen)

    def recoding_words(self) -> str:
        asked = self.policy.release
        levels = asked.recoding.levels if asked is not None and asked.recoding is not None else None
        if levels is None:
            return f"For each view by itself: {self.method.partition.words()}"
        return "Levels (0 is the value itself): " + ", ".join(f"{name} {level}" for name, level in levels.items()) + "."

    def sentences(self) -> list[str]:
        found = words.view_sentences(self.total, self.promises, self.unit, tuned=self.tuning)
        return [*found, *self._total_words(), *self.treatment_words(), *self._tuning_words()]

    def view_rows(self, most: int) -> list[tuple[str, str, str]]:
        if self.chooser is not None:
            of = f"{len(self.views):,} of {len(self.chooser.candidates):,}, chosen on the table"
            return [(of, str(self.promise.k), exact_text(self.promise.beta))]
        listed = [
            (" × ".join(view.columns), str(own.k), exact_text(own.beta))
            for view, own in zip(self.views[:most], self.promises, strict=False)
        ]
        left = len(self.views) - most
        return [*listed, (f"and {left:,} more", "", "")] if left > 0 else listed

    def page_fields(self, choices: list[FrontierPoint] | None) -> dict[str, Any]:  # noqa: ARG002 - a wide table's
        from shoal.publish.plan.page import curve_fields

        listed = self.views[:MOST_LISTED] if self.chooser is None else ()
        rows = [(" × ".join(view.columns), view.method.promise) for view in listed]
        return {
            **curve_fields(self),
            "views": [(columns, str(own.k), text_down(own.beta)) for columns, own in rows],
        }

    def _views_json(self) -> list[dict[str, Any]]:
        return [
            {"name": view.name, "columns": list(view.columns), "k": own.k, "beta": float(own.beta)}
            for view, own in zip(self.views, self.promises, strict=True)
        ]


def views_plan(
    policy: Policy,
    asked: ReleaseModel,
    views: ViewsModel,
    unit: Unit,
    others: tuple[tuple[Guarantee, int], ...] = (),
) -> ViewsPlan:
    """The plan of many narrow tables that keep one promise together, and with `others` beside them.

    Raises     UsageError where others stand beside a single view, or beside views whose curves are not those of their unit.
    """
    if asked.epsilon is None or asked.delta is None:
        raise PolicyError("release: safe-k needs epsilon and delta")
    if asked.repeat > 1:
        raise PolicyError("release.repeat: views are released once", came=asked.repeat, allowed="1")
    published = [attribute.name for attribute in policy.schema.published]
    groups = views.candidates(published)
    chooser = None
    if views.choose is not None:
        chooser = Chooser(groups, views.choose.count or 1, views.epsilon, unit.steps)
        groups = groups[: chooser.count]
    weighted = views.allocation == "weighted"
    weights = [
        sum((policy.weight(name) for name in group), Fraction(0)) / len(group) if weighted else Fraction(1)
        for group in groups
    ]
    recoding = asked.recoding.epsilon if asked.recoding is not None else Fraction(0)
    chosen = views.epsilon + asked.epsilon_total
    bound = asked.bound or "tight"

    def one(epsilon: Fraction, delta: Fraction, share: Fraction) -> Setting:
        return solve_one(asked, unit, epsilon, delta, bound, share)

    sampling = asked.sampling or SamplingModel()
    rate = sampling.beta if isinstance(sampling.beta, Fraction) else None
    plain = unit.is_one_step and bound == "tight"
    if weighted and not plain:
        raise PolicyError(
            "release.views.allocation: weights are shared out for one row added or removed, under the tight bound",
            came=f"{unit.words()}, bound {bound}",
            allowed="equal",
        )
    if weighted and asked.k is not None:
        raise PolicyError("release.k: weighted views have a k of their own", came=asked.k, fix="leave k out")
    if others and (len(groups) == 1 or not plain):
        raise UsageError("what stands beside views is composed with them by their curves", came=f"{len(groups)} views")
    if len(groups) == 1:
        promises = [one(asked.epsilon - chosen, asked.delta, recoding)]
    elif asked.k is not None and rate is not None:
        share = recoding / len(groups)
        left = asked.epsilon - chosen - recoding
        single = view_promise(asked.k, rate, (left if plain else left / len(groups)) + share, share, unit, bound)
        promises = given_numbers(single, len(groups), asked.epsilon, asked.delta, chosen, others)
    elif plain:
        allocation = Allocation(tuple(weights), asked.epsilon, asked.delta, chosen, recoding, others)
        promises = allocation.solve(k=asked.k, beta=rate, prefer=sampling.prefer)
    else:
        promises = share_epsilon(len(groups), asked.epsilon, asked.delta, chosen, recoding, one)
    made = tuple(
        view(policy, asked, name, group, found)
        for name, group, found in zip(view_names(groups), groups, promises, strict=True)
    )
    total = ApproxDP(asked.epsilon, asked.delta)
    return ViewsPlan(policy, made[0].method, 1, total, asked.output.format, made, chooser)


def chosen_views(plan: SafeKPlan, groups: Sequence[Group]) -> tuple[View, ...]:
    """The views that were chosen on the table, with the numbers that the plan had set aside for them."""
    asked = plan.policy.release
    if asked is None or len(groups) != len(plan.views):
        raise PolicyError("another number of views than was planned", came=len(groups), allowed=str(len(plan.views)))
    return tuple(
        view(plan.policy, asked, name, group, planned.method.promise)
        for name, group, planned in zip(view_names(groups), groups, plan.views, strict=True)
    )


def view_index(plan: SafeKPlan, tables: Sequence[TableEntry]) -> dict[str, Any]:
    """What an analyst needs to find the right view: names, attributes, k, sampling rates and weights."""
    samples = [promise for promise, _ in plan.distinct_settings]
    return {
        "version": 1,
        "dataset": plan.policy.dataset,
        "views": [
            {
                "name": table.name,
                "file": table.file,
                "attributes": list(table.columns),
                "k": table.k,
                "beta": exact_text(samples[table.sample].beta),
                "weight": exact_text(1 / samples[table.sample].beta),
            }
            for table in tables
        ],
    }


def view(policy: Policy, asked: ReleaseModel, name: str, group: Group, found: Setting) -> View:
    """One narrow table with its numbers."""
    own = partition(policy, asked, found, narrow_schema(policy.schema, group))
    return View(name, SafeK(found, own, policy.unit))


# --- k and beta of each view ----------------------------------------------------------------------------------------


def view_names(groups: Sequence[Group]) -> list[str]:
    """A name for each view that says its attributes and that a file can have."""
    digits = len(str(len(groups)))
    return [
        f"{number:0{digits}d}-{'--'.join(plain_name(each) for each in group)}"[:120]
        for number, group in enumerate(groups, 1)
    ]


def narrow_schema(schema: Schema, group: Group) -> Schema:
    """The schema of one view: its attributes, in the order of the table."""
    return replace(schema, attributes=tuple(one for one in schema.attributes if one.name in group))


def all_parts(promises: Sequence[Setting], chosen: Fraction = Fraction(0)) -> list[tuple[Guarantee, int]]:
    """What a release of views composes as: the choice of views, the recodings, the samples."""
    recodings = Counter(plan.epsilon_recoding for plan in promises if plan.epsilon_recoding)
    paid: list[tuple[Guarantee, int]] = [(PureDP(chosen), 1)] if chosen else []
    paid += [(PureDP(epsilon), times) for epsilon, times in recodings.items()]
    return [*paid, *sample_parts(promises)]


def fits(parts: Sequence[tuple[Guarantee, int]], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether guarantees compose to at most (epsilon, delta)."""
    found = compose(parts).epsilon_at(delta)
    return isfinite(found) and exact(found) <= epsilon


def share_epsilon(
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

    def solve_with(part: Fraction) -> list[Setting]:
        return [one(_short(part) + share, delta / count, share)] * count

    low, high = (epsilon - chosen - recoding) / count, epsilon - chosen - share
    best = _feasible(solve_with, low, count, epsilon)
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = solve_with(middle)
        if fits(all_parts(found, chosen), epsilon, delta):
            low, best = middle, found
        else:
            high = middle
    return best


@dataclass(frozen=True)
class Allocation:
    """How views share one promise where a row is added or removed: one sampling rate, and a k by each view's weight.

    A view of twice the weight has half the k. Where no rate is given, the one with the smallest k/beta is taken: a class of a
    narrow table is either shown whole or not at all, so a larger k costs more than a smaller sample does (decision 0003).
    `prefer: rows` takes the largest rate within half as much again.
    """

    weights: tuple[Fraction, ...]
    epsilon: Fraction
    delta: Fraction
    chosen: Fraction
    recoding: Fraction
    others: tuple[tuple[Guarantee, int], ...] = ()
    """What else keeps the same promise together with the views."""

    def solve(self, *, k: int | None, beta: Fraction | None, prefer: str) -> list[Setting]:
        """The setting of every view; InfeasibleError where together they cost more than the promise."""
        rate = beta
        if k is not None and beta is None:
            rate = max((r for r in RATES if (size := self.smallest_k(r)) is not None and size <= k), default=None)
        elif beta is None:
            rate = self._best(prefer)
        size = None if rate is None else k if k is not None else self.smallest_k(rate)
        if rate is None or size is None:
            raise InfeasibleError(
                f"{len(self.weights):,} views do not fit into epsilon = {text_up(self.epsilon)}"
                + (f" with k = {k}" if k is not None else ""),
                came=f"beta = {text_near(beta)}" if beta is not None else "no beta that we know of is small enough",
                fix="publish fewer views (`limit`, `workload`), raise epsilon, leave k and beta out, or recode for less",
            )
        share = self.recoding / len(self.weights)
        left = self.epsilon - self.chosen - self.recoding + share
        single = cache(lambda own: view_promise(own, rate, left, share, ONE_ROW))
        return [single(own) for own in self.sizes(size)]

    def sizes(self, size: int) -> list[int]:
        """The k of each view when one of mean weight has this k."""
        mean = sum(self.weights, Fraction(0)) / len(self.weights)
        return [max(1, ceil(size * mean / weight)) for weight in self.weights]

    def smallest_k(self, rate: Fraction) -> int | None:
        """The smallest k of mean weight with which all samples at this rate keep the promise; None above LARGEST_K."""
        return _smallest(self, rate)

    def holds(self, size: int, rate: Fraction) -> bool:
        """Whether views of this k and rate keep the promise together."""
        share = self.recoding / len(self.weights)
        parts: list[tuple[Guarantee, int]] = [*self.others, *([(PureDP(self.chosen), 1)] if self.chosen else [])]
        parts += [(PureDP(share), len(self.weights))] if share else []
        counts = Counter(self.sizes(size))
        return fits(
            [*parts, *((SafeKSampling(k, rate), times) for k, times in counts.items())], self.epsilon, self.delta
        )

    def _best(self, prefer: str) -> Fraction | None:
        def cost(rate: Fraction) -> Fraction:
            size = self.smallest_k(rate)
            return Fraction(size) / rate if size is not None else Fraction(10**12)

        # k is whole, so k/beta falls and rises in steps: every third rate, and then those around the best.
        at = min(range(0, len(RATES), 3), key=lambda place: cost(RATES[place]))
        best = min(RATES[max(0, at - 2) : at + 3], key=cost)
        if prefer == "rows":
            best = max(rate for rate in RATES if rate >= best and cost(rate) <= cost(best) * Fraction(3, 2))
        return best if cost(best) < 10**12 else None


@lru_cache(maxsize=1024)
def _smallest(allocation: Allocation, rate: Fraction) -> int | None:
    low, high = 0, 8
    while not allocation.holds(high, rate):
        if high >= LARGEST_K:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if allocation.holds(middle, rate) else (middle, high)
    return high


def view_promise(
    k: int, beta: Fraction, epsilon: Fraction, share: Fraction, unit: Unit, bound: str = "tight"
) -> Setting:
    """One view with this k and rate: its delta at all of epsilon, rounded up to what a certificate prints."""
    found = solve(epsilon=epsilon, k=k, beta=beta, bound=bound, epsilon_recoding=share, unit=unit)
    at_most = found.delta_under(found.bound) if unit.is_one_step else found.delta
    return replace(found, delta=exact(text_up(at_most, 8)))


def given_numbers(
    promise: Setting,
    count: int,
    epsilon: Fraction,
    delta: Fraction,
    chosen: Fraction,
    others: tuple[tuple[Guarantee, int], ...] = (),
) -> list[Setting]:
    """The settings of `count` views whose k and beta the policy names; InfeasibleError where they cost more than the promise."""
    found = [promise] * count
    parts = [*others, *all_parts(found, chosen)]
    if not fits(parts, epsilon, delta):
        needed = compose(parts).epsilon_at(delta)
        cost = f"they compose to {text_up(exact(needed))}" if isfinite(needed) else "no epsilon is enough at this delta"
        raise InfeasibleError(
            f"{count:,} views do not fit into epsilon = {text_up(epsilon)} with k = {promise.k} and beta = "
            f"{text_near(promise.beta)}: {cost}",
            allowed=f"{_most(promise, count, epsilon, delta, chosen, others):,} views of this kind",
            fix="publish fewer views (`limit`, `workload`), raise k or epsilon, lower beta, or leave k or beta out",
        )
    return found


def _most(
    promise: Setting,
    count: int,
    epsilon: Fraction,
    delta: Fraction,
    chosen: Fraction,
    others: tuple[tuple[Guarantee, int], ...],
) -> int:
    """How many views with this setting keep the promise together; fewer than `count`."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        good = fits([*others, *all_parts([promise] * middle, chosen)], epsilon, delta)
        low, high = (middle, high) if good else (low, middle)
    return low


def _feasible(
    solve_with: Callable[[Fraction], list[Setting]], share: Fraction, count: int, epsilon: Fraction
) -> list[Setting]:
    try:
        return solve_with(share)
    except ShoalError as error:
        raise InfeasibleError(
            f"{count:,} views do not fit into epsilon = {text_up(epsilon)}: {error.wrong}",
            came=f"a share of {text_up(share)} for each view",
            fix="publish fewer views (`limit`, `workload`), raise epsilon, leave k and beta out, or recode for less",
        ) from None


def _short(value: Fraction) -> Fraction:
    """A share of epsilon to eight digits, rounded down, so that views of equal weight have one setting and print shortly."""
    scale = 10**8
    return Fraction(int(value * scale), scale)
