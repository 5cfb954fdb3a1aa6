"""A plan: everything that will happen, resolved from the policy alone; no row has been read.

So the promise can be printed, reviewed and signed before the data are touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.anonymize.generalize.base import Partition
from shoal.anonymize.generalize.grid import FixedGrid, Grid
from shoal.anonymize.generalize.private_grid import DrawnGrid
from shoal.anonymize.generalize.tree.safe_tree import Habits, SurveyedTree
from shoal.anonymize.method.safe_k import SafeK
from shoal.data.cells import cells
from shoal.data.schema import Schema
from shoal.errors import PolicyError, PreconditionError, UsageError
from shoal.guarantee import sentences as words
from shoal.guarantee.base import Guarantee
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.compose import composed_within
from shoal.guarantee.differential import ApproxDP, PureDP, SafeKSampling
from shoal.guarantee.rounding import exact_text, text_up, whole
from shoal.guarantee.safe_k.frontier import ReleaseCurve, release_curve
from shoal.guarantee.safe_k.setting import Setting
from shoal.guarantee.sentences import as_float, plain
from shoal.guarantee.syntactic import KAnonymity
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget, Cost
from shoal.policy.model.recoding import Grow
from shoal.policy.model.release import ReleaseAsked, Sampling
from shoal.policy.model.views import Group, Views
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan
from shoal.publish.plan.counted import METHODS
from shoal.publish.plan.solve import numbers, one_release
from shoal.publish.plan.views import (
    Chooser,
    Sharing,
    View,
    all_parts,
    as_given,
    names,
    narrowed,
    shared_out,
    view_promise,
)

READY = ("safe-k", *METHODS)
"""The methods that can be planned and run now."""


@dataclass(frozen=True)
class SafeKPlan(Plan):
    """What will happen: the method with its numbers, what it promises, and what it costs."""

    method: SafeK
    repeat: int
    total: ApproxDP
    format: str
    views: tuple[View, ...] = ()
    """The narrow tables, where there are any; `method` is then the first one's."""
    chooser: Chooser | None = None
    """Picks the views on the table, where the policy asks for that; `views` are then stand-ins of the right number."""

    def __post_init__(self) -> None:
        whole(self.repeat, "the number of releases")
        methods = [view.method for view in self.views] or [self.method]
        if any(method.unit != self.policy.unit for method in methods):
            raise UsageError(
                "the plan promises it to another unit than its policy",
                came=self.method.unit.words(),
                allowed=self.policy.unit.words(),
            )
        if self.views and self.repeat > 1:
            raise UsageError("views are released once", came=self.repeat, allowed="1")
        if self.method.drawn_before and len(self.promises) > 1:
            raise PreconditionError(
                "dps-does-not-compose",
                "a table that is itself a sample gives one release",
                came=f"{len(self.promises)} tables",
            )
        if not self._keeps(self.total):
            raise PreconditionError(
                self.composition if len(self.promises) > 1 else "basic-composition",
                "what is published costs more than the plan promises",
                came=f"({text_up(self.total.epsilon)}, {text_up(self.total.delta)})",
                fix="make plans with `shoal.plan`, which solves them",
            )

    def _keeps(self, total: ApproxDP) -> bool:
        """Whether everything that is published costs no more than this."""
        epsilon = sum((promise.epsilon_release for promise in self.promises), start=self.paid)
        delta = sum((promise.delta for promise in self.promises), start=Fraction(0))
        if epsilon <= total.epsilon and delta <= total.delta:
            return True
        return len(self.promises) > 1 and composed_within(self.parts, total.epsilon, total.delta)

    def __repr__(self) -> str:
        views = f", {len(self.views)} views" if self.views else ""
        numbers = f"epsilon {text_up(self.total.epsilon)}, delta {text_up(self.total.delta)}, k {self.promise.k}{views}"
        status = self.claims[0].status.value
        return f"<Plan of '{self.policy.dataset}': {numbers}, {self.unit.words()}, {status}>"

    def check(self, schema: Schema) -> None:
        """The theorems' premise about the tuple: a table shows all published attributes, a view those that it names."""
        if not self.views:
            self.method.check(schema)
        for view in self.views:
            view.method.check(narrowed(schema, view.columns))

    @property
    def promise(self) -> Setting:
        """The numbers of each of the releases."""
        return self.method.promise

    @property
    def levels(self) -> dict[str, int] | None:
        """The level of each attribute where the policy fixes them; None where they are settled on the table."""
        partition = self.method.partition
        return dict(partition.grid.indices) if isinstance(partition, FixedGrid) else None

    @property
    def promises(self) -> list[Setting]:
        """The numbers of every table that is published."""
        return [view.method.promise for view in self.views] or [self.promise] * self.repeat

    @property
    def distinct(self) -> list[tuple[Setting, int]]:
        """Promises that are alike together, in the order in which they first occur, and how many there are of each."""
        found: dict[Setting, int] = {}
        for each in self.promises:
            found[each] = found.get(each, 0) + 1
        return list(found.items())

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What will hold for everything that is published."""
        first, *rest = self.method.claims(tuned=self.tuned)
        if self.views:
            names = dict.fromkeys(name for view in self.views for name in view.method.theorems)
            more = ("view-choice",) if self.chooser else ()
            theorems = (*names, *more, "pld-composition")
            smallest = min(view.method.promise.k for view in self.views)
            crowd = make_claim(KAnonymity(smallest), None, Status.CHECKED)
            return (make_claim(self.total, first.unit, first.status, theorems, first.conditions), crowd)
        whole = first if self.repeat == 1 else make_claim(
            self.total, first.unit, first.status, (*first.theorems, self.composition), first.conditions
        )  # fmt: skip
        return (whole, *rest)

    @property
    def composition(self) -> str:
        """The theorem by which repeats add up."""
        one = self.promise.unit.is_one_step and self.promise.bound == "tight"
        return "pld-composition" if one else "basic-composition"

    @property
    def parts(self) -> list[tuple[Guarantee, int]]:
        """What is composed: the sampled crowds where their curve speaks for the unit, else their (epsilon, delta)."""
        plan = self.promise
        if self.views:
            return all_parts(self.promises, self.chooser.epsilon if self.chooser else Fraction(0))
        each: list[tuple[Guarantee, int]] = []
        if plan.epsilon_recoding:
            each.append((PureDP(plan.epsilon_recoding), 1))
        if plan.unit.is_one_step and plan.bound == "tight":
            each.append((SafeKSampling(plan.k, plan.beta), self.repeat))
        else:
            each.append((ApproxDP(plan.epsilon_release, plan.delta), self.repeat))
        return each

    @property
    def paid(self) -> Fraction:
        """The pure epsilon that is spent on the table before a sample is drawn: on the choice of views, and on recodings."""
        chosen = self.chooser.epsilon if self.chooser else Fraction(0)
        recodings = (
            [promise.epsilon_recoding for promise in self.promises] if self.views else [self.promise.epsilon_recoding]
        )
        return sum(recodings, start=chosen)

    @property
    def curve(self) -> ReleaseCurve:
        """delta at each epsilon of everything that is published, for the unit of the plan."""
        return release_curve(self.promises, self.paid, self.parts, self.total)

    @property
    def cost(self) -> Cost:
        """What the ledger is charged: one entry for all repeats together."""
        return Cost(self.total.epsilon, self.total.delta, tuple(self.parts))

    @property
    def budget(self) -> Budget | None:
        """The ceiling that the policy names."""
        asked = self.policy.budget
        return None if asked is None else Budget.of(asked.epsilon, asked.delta)

    @property
    def work(self) -> str | None:
        """What to expect of the first choice of a recoding that takes long, where there is one."""
        partitions = [view.method.partition for view in self.views] or [self.method.partition]
        return next((said for each in partitions if (said := each.work()) is not None), None)

    def recoding_words(self) -> str:
        """How the labels come about, in a sentence."""
        if not self.views:
            return self.method.partition.words()
        levels = self.policy.release.recoding.levels if self.policy.release and self.policy.release.recoding else None
        if levels is not None:
            return (
                "Levels (0 is the value itself): "
                + ", ".join(f"{name} {level}" for name, level in levels.items())
                + "."
            )
        return f"For each view by itself: {self.method.partition.words()}"

    def facts(self) -> list[tuple[str, str, str]]:
        numbers = self.promise
        crowds, rates = sorted({each.k for each in self.promises}), sorted({each.beta for each in self.promises})
        several = len(crowds) > 1
        alone = "of the first view alone" if several else "of one sample alone"
        return [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("epsilon", exact_text(self.total.epsilon), "the whole release"),
            ("delta", exact_text(self.total.delta), ""),
            (
                "k",
                f"{crowds[0]} to {crowds[-1]}" if several else str(crowds[0]),
                "the smallest group that each view shows" if several else "the smallest group that is shown",
            ),
            (
                "beta",
                " to ".join(exact_text(rate) for rate in {rates[0]: 0, rates[-1]: 0}),
                "the share of rows sampled",
            ),
            (
                "delta, tight",
                text_up(numbers.delta_under("tight")),
                f"{alone}, at epsilon {plain(numbers.epsilon_release)}, one row added or removed",
            ),
            ("unit", self.unit.words(), self.policy.neighbours),
            ("status", self.claims[0].status.value, ", ".join(self.claims[0].theorems)),
            *(
                [("releases", str(self.repeat), "each from a fresh sample, charged together")]
                if self.repeat > 1
                else []
            ),
        ]

    def sentences(self) -> list[str]:
        """The promise for a person to read before any row is."""
        found = (
            words.view_sentences(self.total, self.promises, self.unit, tuned=self.tuned)
            if self.views
            else words.sentences(self.promise, self.unit, drawn_before=self.method.drawn_before, tuned=self.tuned)
        )
        if self.repeat > 1:
            found.append(
                f"That is one of {self.repeat} releases, each from a fresh sample; together they are "
                f"({text_up(self.total.epsilon)}, {text_up(self.total.delta)})-differentially private."
            )
        if self.method.drawn_before:
            found.append("The table itself is the sample: " + self.claims[0].conditions[0] + ".")
        if self.tuned:
            keys = ", ".join(self.policy.profiled_keys())
            found.append(f"Parts of the policy were drafted from the data and nobody has confirmed them: {keys}.")
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the fields of `shoal plan`."""
        plan = self.promise
        return {
            "dataset": self.policy.dataset,
            "method": "safe-k",
            "epsilon": float(self.total.epsilon),
            "epsilon_recoding": float(plan.epsilon_recoding),
            "epsilon_release": float(plan.epsilon_release),
            "delta": float(self.total.delta),
            "k": min(each.k for each in self.promises),
            "beta": float(plan.beta),
            "bound": plan.bound,
            "delta_tight": plan.delta_tight,
            "delta_published": plan.delta_published,
            "curve": [
                {"epsilon": as_float(point.epsilon, cost=True), "delta": as_float(point.delta, cost=True)}
                for point in self.curve.points()
            ],
            "repeat": self.repeat,
            "views": [
                {"name": view.name, "columns": list(view.columns), "k": own.k, "beta": float(own.beta)}
                for view in self.views
                for own in [view.method.promise]
            ],
            "recoding": self.method.partition.to_json(),
            "levels": None if self.views else self.levels,
            "unit": self.method.unit.to_saved(),
            "neighbours": self.policy.neighbours,
            "status": self.claims[0].status.value,
            "theorems": list(self.claims[0].theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
        }


def safe_k_plan(policy: Policy) -> SafeKPlan:
    """Resolve a policy that asks for a differential promise."""
    asked = policy.release
    if asked is None:
        raise PolicyError("the policy asks for no release", fix="add a `release:` block")
    if asked.method not in READY:
        raise PolicyError(
            "release.method: this method cannot be planned yet", came=asked.method, allowed=", ".join(READY)
        )
    if asked.method in METHODS:
        raise PolicyError(
            "release.method: it makes no differential promise, so it has no price and no stand-in", came=asked.method,
            allowed="safe-k", fix="plan it with `shoal plan`, run it with `shoal release`",
        )  # fmt: skip
    sampling = asked.sampling
    before = sampling is not None and sampling.already is not None
    if before and asked.repeat > 1:
        raise PreconditionError(
            "dps-does-not-compose", "a table that is itself a sample gives one release", came=f"repeat: {asked.repeat}"
        )
    if before and policy.unit.max_rows > 1:
        raise PreconditionError(
            "safe-k-tight",
            "a table that is itself a sample of units holds all rows of a unit or none, and the theorem needs rows "
            "that come or go independently",
            came=f"max_rows: {policy.unit.max_rows}",
            allowed="one row of each unit",
            fix="set max_rows: 1",
        )
    _check_cells(policy, asked)
    if asked.views is not None:
        return _of_views(policy, asked, asked.views, policy.unit)
    found, total = numbers(asked, policy.unit)
    method = SafeK(found, partition(policy, asked, found), policy.unit, drawn_before=before)
    method.check(policy.schema)
    return SafeKPlan(policy, method, asked.repeat, total, asked.output.format)


def _check_cells(policy: Policy, asked: ReleaseAsked) -> None:
    """Refuse domains that cannot be cut into cells where boxes or chosen views need them: the policy alone decides it."""
    if asked.recoding is not None and asked.recoding.tree is not None:
        finest = asked.recoding.tree.finest or {}
        for attribute in policy.schema.published:
            cells(attribute, finest.get(attribute.name, 0))
    if asked.views is not None and asked.views.choose is not None:
        for attribute in policy.schema.published:
            cells(attribute)


def _of_views(policy: Policy, asked: ReleaseAsked, views: Views, unit: Unit) -> SafeKPlan:
    """The plan of many narrow tables that keep one promise together."""
    if asked.epsilon is None or asked.delta is None:
        raise PolicyError("release: safe-k needs epsilon and delta")
    if asked.repeat > 1:
        raise PolicyError("release.repeat: views are released once", came=asked.repeat, allowed="1")
    published = [attribute.name for attribute in policy.schema.published]
    groups = views.fixed(published)
    chooser = None
    if views.choose is not None:
        chooser = Chooser(groups, views.choose.count, views.choose.epsilon, unit.steps)
        groups = groups[: chooser.count]
    weighted = views.allocation == "weighted"
    weights = [
        sum((policy.weight(name) for name in group), Fraction(0)) / len(group) if weighted else Fraction(1)
        for group in groups
    ]
    recoding = asked.recoding.epsilon if asked.recoding is not None else Fraction(0)
    bound = asked.bound or "tight"

    def one(epsilon: Fraction, delta: Fraction, share: Fraction) -> Setting:
        return one_release(asked, unit, epsilon, delta, bound, share)

    sampling = asked.sampling or Sampling()
    rate = sampling.beta if isinstance(sampling.beta, Fraction) else None
    plain = unit.is_one_step and bound == "tight"
    if weighted and not plain:
        raise PolicyError(
            "release.views.allocation: weights are shared out for one row added or removed, under the tight bound",
            came=f"{unit.words()}, bound {bound}",
            allowed="equal",
        )
    if weighted and asked.k is not None:
        raise PolicyError("release.k: weighted views have crowds of their own sizes", came=asked.k, fix="leave k out")
    if len(groups) == 1:
        promises = [one(asked.epsilon - views.epsilon, asked.delta, recoding)]
    elif asked.k is not None and rate is not None:
        share = recoding / len(groups)
        left = asked.epsilon - views.epsilon - recoding
        single = view_promise(asked.k, rate, (left if plain else left / len(groups)) + share, share, unit, bound)
        promises = as_given(single, len(groups), asked.epsilon, asked.delta, views.epsilon)
    elif plain:
        sharing = Sharing(tuple(weights), asked.epsilon, asked.delta, views.epsilon, recoding)
        promises = sharing.solve(k=asked.k, beta=rate, prefer=sampling.prefer)
    else:
        promises = shared_out(len(groups), asked.epsilon, asked.delta, views.epsilon, recoding, one)
    made = tuple(
        view(policy, asked, name, group, found)
        for name, group, found in zip(names(groups), groups, promises, strict=True)
    )
    total = ApproxDP(asked.epsilon, asked.delta)
    return SafeKPlan(policy, made[0].method, 1, total, asked.output.format, made, chooser)


def chosen_views(plan: SafeKPlan, groups: Sequence[Group]) -> tuple[View, ...]:
    """The views that were chosen on the table, with the numbers that the plan had set aside for them."""
    asked = plan.policy.release
    if asked is None or len(groups) != len(plan.views):
        raise PolicyError("another number of views than was planned", came=len(groups), allowed=str(len(plan.views)))
    return tuple(
        view(plan.policy, asked, name, group, planned.method.promise)
        for name, group, planned in zip(names(groups), groups, plan.views, strict=True)
    )


def view(policy: Policy, asked: ReleaseAsked, name: str, group: Group, found: Setting) -> View:
    """One narrow table with its numbers."""
    own = partition(policy, asked, found, narrowed(policy.schema, group))
    return View(name, SafeK(found, own, policy.unit))


def partition(policy: Policy, asked: ReleaseAsked, found: Setting, schema: Schema | None = None) -> Partition:
    """How the recoding comes about: fixed, drawn, or grown, with what the plan sets aside for it."""
    recoding, schema = asked.recoding, schema or policy.schema
    if recoding is None:
        raise PolicyError("release.recoding: safe-k needs one", allowed="{levels: ...}, {choose: ...} or {tree: ...}")
    if recoding.levels is not None:
        levels = {name: level for name, level in recoding.levels.items() if name in schema.by_name}
        return FixedGrid(Grid(schema, levels))
    own = [attribute.name for attribute in schema.published]
    finest, coarsest = (recoding.paid.finest or {}, recoding.paid.coarsest or {}) if recoding.paid else ({}, {})
    common: dict[str, Any] = {
        "schema": schema,
        "paid": found.epsilon_recoding,
        "k": found.k,
        "beta": found.beta,
        "steps": found.unit.steps,
        "weights": {name: policy.weight(name) for name in own},
        "finest": {name: level for name, level in finest.items() if name in own},
        "coarsest": {name: level for name, level in coarsest.items() if name in own},
    }
    if recoding.choose is not None:
        return DrawnGrid(score=recoding.choose.score or "ramp", target=recoding.choose.target, **common)
    grown = recoding.tree or Grow()
    depth = grown.depth or Habits().depth
    return SurveyedTree(habits=Habits(depth=depth), sample=grown.sample or Fraction(1), **common)
