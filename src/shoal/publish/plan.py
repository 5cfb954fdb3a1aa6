"""A plan: everything that will happen, resolved from the policy alone; no row has been read.

So the promise can be printed, reviewed and signed before the data are touched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from shoal.anonymize.method.safe_k import SafeK
from shoal.anonymize.partition.base import Partition
from shoal.anonymize.partition.drawn import DrawnGrid
from shoal.anonymize.partition.grid import FixedGrid, Grid
from shoal.anonymize.partition.tree import Habits, SurveyedTree
from shoal.data.schema import Missing, Schema
from shoal.errors import InfeasibleError, PolicyError, PreconditionError
from shoal.guarantee import words
from shoal.guarantee.claim import Claim
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, PureDP, SampledCrowd
from shoal.guarantee.kind import Guarantee
from shoal.guarantee.outlook import pick
from shoal.guarantee.promise import Promise, Whose, promise
from shoal.guarantee.rounding import exact, text_up
from shoal.ledger.entry import Budget, Cost
from shoal.policy.lock import Lock
from shoal.policy.policy import Policy
from shoal.policy.release import ReleaseAsked

READY = ("safe-k",)
"""The methods that can be planned and run now."""


@dataclass(frozen=True)
class Plan:
    """What will happen: the method with its numbers, what it promises, and what it costs."""

    policy: Policy
    method: SafeK
    repeat: int
    total: ApproxDP
    format: str

    @cached_property
    def lock(self) -> Lock:
        """The canonical text of the policy and its hash."""
        return self.policy.lock()

    @cached_property
    def schema(self) -> Schema:
        """The policy's schema; where persons are hidden, a row that names nobody is refused.

        Such rows would share one name, and taking one of them away would let another in: more than the promise covers.
        """
        column = self.method.unit.column
        return Schema(
            tuple(
                replace(attribute, missing=Missing.REFUSE) if attribute.name == column else attribute
                for attribute in self.policy.schema.attributes
            )
        )

    @property
    def promise(self) -> Promise:
        """The numbers of each of the releases."""
        return self.method.promise

    @property
    def levels(self) -> dict[str, int] | None:
        """The level of each attribute where the policy fixes them; None where they are settled on the table."""
        partition = self.method.partition
        return dict(partition.grid.indices) if isinstance(partition, FixedGrid) else None

    @property
    def tuned(self) -> bool:
        """Whether a domain or hierarchy was drafted from the data and not confirmed."""
        return bool(self.policy.profiled_keys())

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What will hold for everything that is published."""
        first, *rest = self.method.claims(tuned=self.tuned)
        whole = first if self.repeat == 1 else Claim(
            self.total, first.unit, first.status, (*first.theorems, self.composition), first.conditions
        )  # fmt: skip
        return (whole, *rest)

    @property
    def composition(self) -> str:
        """The theorem by which repeats add up."""
        one = self.promise.whose.is_one_step and self.promise.bound == "tight"
        return "pld-composition" if one else "basic-composition"

    @property
    def parts(self) -> list[tuple[Guarantee, int]]:
        """What is composed: the sampled crowds where their curve speaks for the unit, else their (epsilon, delta)."""
        plan = self.promise
        each: list[tuple[Guarantee, int]] = []
        if plan.epsilon_recoding:
            each.append((PureDP(plan.epsilon_recoding), 1))
        if plan.whose.is_one_step and plan.bound == "tight":
            each.append((SampledCrowd(plan.k, plan.beta), self.repeat))
        else:
            each.append((ApproxDP(plan.epsilon_release, plan.delta), self.repeat))
        return each

    @property
    def cost(self) -> Cost:
        """What the ledger is charged: one entry for all repeats together."""
        return Cost(self.total.epsilon, self.total.delta, tuple(self.parts))

    @property
    def budget(self) -> Budget | None:
        """The ceiling that the policy names."""
        asked = self.policy.budget
        return None if asked is None else Budget.of(asked.epsilon, asked.delta)

    def sentences(self) -> list[str]:
        """The promise for a person to read before any row is."""
        found = words.sentences(self.promise, drawn_before=self.method.drawn_before, tuned=self.tuned)
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
            "k": plan.k,
            "beta": float(plan.beta),
            "bound": plan.bound,
            "delta_tight": plan.delta_tight,
            "delta_published": plan.delta_published,
            "repeat": self.repeat,
            "recoding": self.method.partition.to_json(),
            "levels": self.levels,
            "unit": self.method.unit.to_saved(),
            "neighbours": self.policy.neighbours,
            "status": self.claims[0].status.value,
            "theorems": list(self.claims[0].theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
        }


def plan(policy: Policy) -> Plan:
    """Resolve a policy; InfeasibleError when what it asks for cannot be reached."""
    asked = policy.release
    if asked is None:
        raise PolicyError("the policy asks for no release", fix="add a `release:` block")
    if asked.method not in READY:
        raise PolicyError(
            "release.method: this method cannot be planned yet", came=asked.method, allowed=", ".join(READY)
        )
    if asked.views is not None:
        raise PolicyError("release.views: views cannot be planned yet", fix="leave `views` out: one table")
    sampling = asked.sampling
    before = sampling is not None and sampling.already is not None
    if before and asked.repeat > 1:
        raise PreconditionError(
            "dps-does-not-compose", "a table that is itself a sample gives one release", came=f"repeat: {asked.repeat}"
        )
    if before and policy.unit.max_rows > 1:
        raise PreconditionError(
            "safe-k-tight",
            "a table that is itself a sample of people holds all rows of a person or none, and the theorem needs rows "
            "that come or go independently",
            came=f"max_rows: {policy.unit.max_rows}",
            allowed="one row of each person",
            fix="set max_rows: 1",
        )
    whose = Whose(policy.unit.max_rows, policy.neighbours)
    found, total = _numbers(asked, whose)
    method = SafeK(found, partition(policy, asked, found), policy.unit, drawn_before=before)
    method.check(policy.schema)
    return Plan(policy, method, asked.repeat, total, asked.output.format)


def partition(policy: Policy, asked: ReleaseAsked, found: Promise) -> Partition:
    """How the recoding comes about: fixed, drawn, or grown, with what the plan sets aside for it."""
    recoding = asked.recoding
    if recoding is None:
        raise PolicyError("release.recoding: safe-k needs one", allowed="{levels: ...}, {choose: ...} or {tree: ...}")
    if recoding.levels is not None:
        return FixedGrid(Grid(policy.schema, dict(recoding.levels)))
    names = [attribute.name for attribute in policy.schema.published]
    common: dict[str, Any] = {
        "schema": policy.schema,
        "paid": found.epsilon_recoding,
        "k": found.k,
        "beta": found.beta,
        "steps": found.whose.steps,
        "weights": {name: policy.weight(name) for name in names},
        "finest": dict((recoding.paid.finest if recoding.paid else None) or {}),
        "coarsest": dict((recoding.paid.coarsest if recoding.paid else None) or {}),
    }
    if recoding.choose is not None:
        return DrawnGrid(score=recoding.choose.score or "ramp", target=recoding.choose.target, **common)
    depth = recoding.tree.depth if recoding.tree is not None and recoding.tree.depth is not None else Habits().depth
    return SurveyedTree(habits=Habits(depth=depth), **common)


def _numbers(asked: ReleaseAsked, whose: Whose) -> tuple[Promise, ApproxDP]:
    """k and beta of each release, and the promise of all together."""
    epsilon, delta = asked.epsilon, asked.delta
    if epsilon is None or delta is None:
        raise PolicyError("release: safe-k needs epsilon and delta")
    bound = asked.bound or "tight"
    if asked.repeat == 1:
        return _one(asked, whose, epsilon, delta, bound), ApproxDP(epsilon, delta)
    # the largest share of epsilon for each release at which all together still fit
    low, high = asked.chosen + (epsilon - asked.chosen) / asked.repeat, epsilon
    best = _one(asked, whose, low, delta / asked.repeat, bound)
    if whose.is_one_step and bound == "tight":
        for _ in range(10):
            middle = exact(float((low + high) / 2))
            tried = _one(asked, whose, middle, delta / asked.repeat, bound)
            crowds = compose([(SampledCrowd(tried.k, tried.beta), asked.repeat)])
            if asked.chosen + exact(crowds.epsilon_at(delta)) <= epsilon:
                low, best = middle, tried
            else:
                high = middle
    return best, ApproxDP(epsilon, delta)


def _one(asked: ReleaseAsked, whose: Whose, epsilon: Fraction, delta: Fraction, bound: str) -> Promise:
    sampling = asked.sampling
    already = sampling.already if sampling is not None else None
    rate = already if already is not None else sampling.beta if sampling is not None else None
    share = asked.chosen
    if isinstance(rate, Fraction) and asked.k is not None:
        found = promise(epsilon=epsilon, delta=None, k=asked.k, beta=rate, bound=bound, recoding=share, whose=whose)
        if found.delta > delta:
            raise InfeasibleError(
                f"k = {asked.k} and beta = {float(rate):g} do not reach the promise: delta is {text_up(found.delta)}",
                came=f"delta = {text_up(delta)} at epsilon = {text_up(epsilon)}",
                fix="raise k, lower beta, or leave one of them out and let the plan find it",
            )
        return promise_with(found, delta)
    if isinstance(rate, Fraction):
        return promise(epsilon=epsilon, delta=delta, k=None, beta=rate, bound=bound, recoding=share, whose=whose)
    if asked.k is not None:
        return promise(epsilon=epsilon, delta=delta, k=asked.k, beta=None, bound=bound, recoding=share, whose=whose)
    prefer = sampling.prefer if sampling is not None else "balance"
    return pick(epsilon=epsilon, delta=delta, recoding=share, whose=whose, bound=bound, prefer=prefer)


def promise_with(found: Promise, delta: Fraction) -> Promise:
    """The same numbers with the delta that was asked for, which is the larger one."""
    return Promise(
        found.epsilon_release,
        found.epsilon_recoding,
        delta,
        found.k,
        found.beta,
        found.bound,
        found.solved,
        found.whose,
    )
