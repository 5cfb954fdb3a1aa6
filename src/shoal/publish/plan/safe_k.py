"""The plan of a safe k-anonymous release of one wide table: k and the sampling rate, solved from what the policy promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

from shoal.anonymize.generalize.base import Partition
from shoal.anonymize.generalize.private_scheme import PrivateScheme
from shoal.anonymize.generalize.scheme import FixedScheme, Scheme
from shoal.anonymize.generalize.tree.safe_tree import SafeTree, TreeParameters
from shoal.anonymize.method.safe_k import SafeK
from shoal.data.cells import cells_of
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type
from shoal.errors import InfeasibleError, PolicyError, PreconditionError, UsageError
from shoal.guarantee import sentences as words
from shoal.guarantee.base import Guarantee
from shoal.guarantee.claim import Claim, make_claim
from shoal.guarantee.compose import compose, composed_within
from shoal.guarantee.differential import ApproxDP, PureDP, SafeKSampling
from shoal.guarantee.rounding import exact, exact_text, text_near, text_up, whole
from shoal.guarantee.safe_k.frontier import ReleaseCurve, release_curve, setting_by_preference
from shoal.guarantee.safe_k.setting import Setting, solve
from shoal.guarantee.sentences import as_float, plain
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Cost
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.laplace import Laplace
from shoal.policy.model.method import MOST_COLUMNS
from shoal.policy.model.release import TOTAL_SHARE, ReleaseModel, TreeModel
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan, Verification, charged_before

if TYPE_CHECKING:
    from shoal.guarantee.safe_k.frontier import FrontierPoint
    from shoal.ledger.ledger import RunState
    from shoal.publish.plan.views import Chooser, View
    from shoal.publish.rehearse import Rehearsal
    from shoal.publish.run.safe_k import SafeKJob

ROWS_ASSUMED = 50_000
"""The number of rows for which a plan says what can be shown; the table's own number is not known to it."""


@dataclass(frozen=True)
class SafeKPlan(Plan):
    """One wide table by safe k-anonymization: a random sample, labels that do not depend on it, no class smaller than k.

    Promise   (epsilon, delta)-differential privacy for the unit of the policy, for all repeats together; k-anonymity of
              what is published.
    Requires  a recoding for every published attribute; a sampling rate below one, or a table that is itself a sample.
    Reads     nothing: the policy alone.
    """

    method: SafeK
    repeat: int
    total: ApproxDP
    format: str

    methods = ("safe-k",)

    def __post_init__(self) -> None:
        whole(self.repeat, "the number of releases")
        if any(method.unit != self.policy.unit for method in self.tables):
            raise UsageError(
                "the plan promises it to another unit than its policy",
                came=self.method.unit.words(),
                allowed=self.policy.unit.words(),
            )
        if self.method.drawn_before and len(self.tables) > 1:
            raise PreconditionError(
                "dps-does-not-compose",
                "a table that is itself a sample gives one release",
                came=f"{len(self.tables)} tables",
            )
        if self.tells_exact_total and not self._has_public_total:
            raise UsageError(
                "the number of records is not the same for all neighbours, so it is not published without noise",
                came=self.unit.words(),
                allowed="one row, replaced by another",
                fix="leave the epsilon of the total out, or give it a number above 0",
            )
        if not self._keeps(self.total):
            raise PreconditionError(
                self.composition if len(self.tables) > 1 else "basic-composition",
                "what is published costs more than the plan promises",
                came=f"({text_up(self.total.epsilon)}, {text_up(self.total.delta)})",
                fix="make plans with `shoal.plan`, which solves them",
            )

    def _keeps(self, total: ApproxDP) -> bool:
        """Whether everything that is published costs no more than this epsilon and delta."""
        settings = self.distinct_settings
        epsilon = sum((promise.epsilon_release * times for promise, times in settings), start=self.epsilon_choices)
        delta = sum((promise.delta * times for promise, times in settings), start=Fraction(0))
        if epsilon <= total.epsilon and delta <= total.delta:
            return True
        return len(self.promises) > 1 and composed_within(self.parts, total.epsilon, total.delta)

    def __repr__(self) -> str:
        return (
            f"<Plan of '{self.policy.dataset}': {self._numbers()}, {self.unit.words()}, {self.claims[0].status.value}>"
        )

    def _numbers(self) -> str:
        return f"epsilon {text_up(self.total.epsilon)}, delta {text_up(self.total.delta)}, k {self.promise.k}"

    @classmethod
    def of(cls, policy: Policy) -> SafeKPlan:
        asked = cls.release_of(policy)
        if asked.noisy_counts is not None:
            raise PolicyError("release: rows and noisy counts are planned together", fix="plan it with `shoal.plan`")
        before = _check_sample(policy, asked)
        _check_cells(policy, asked)
        if asked.views is not None:
            from shoal.publish.plan.views import views_plan

            return views_plan(policy, asked, asked.views, policy.unit)
        found, total = solve_releases(asked, policy.unit)
        method = SafeK(found, partition(policy, asked, found), policy.unit, drawn_before=before)
        method.check(policy.schema)
        return cls(policy, method, asked.repeat, total, asked.output.format)

    @classmethod
    def verification(cls) -> Verification:
        from shoal.publish.certificate.model import SafeKCertificate
        from shoal.publish.verify.rebuild import rebuild_checks

        return Verification(SafeKCertificate, rebuild_checks)

    def job(self) -> SafeKJob:
        from shoal.publish.run.safe_k import SafeKJob

        return SafeKJob(self)

    def check(self, schema: Schema) -> None:
        self.method.check(schema)

    def rehearse(self, **options: Any) -> Rehearsal:
        from shoal.publish.rehearse import rehearse

        return rehearse(self, **options)

    # --- what is published ------------------------------------------------------------------------------------------

    @property
    def views(self) -> tuple[View, ...]:
        """The narrow tables of the plan: a plan of one wide table has none."""
        return ()

    @property
    def chooser(self) -> Chooser | None:
        """The private choice of views: a plan of one wide table has none."""
        return None

    @property
    def tables(self) -> tuple[SafeK, ...]:
        """The method of every table that is published, with its numbers."""
        return (self.method,) * self.repeat

    @property
    def promise(self) -> Setting:
        """The numbers of the first table, which are those of all repeats."""
        return self.method.promise

    @property
    def promises(self) -> list[Setting]:
        """The numbers of every table that is published."""
        return [method.promise for method in self.tables]

    @property
    def distinct_settings(self) -> list[tuple[Setting, int]]:
        """The different settings among all tables, in the order in which they first occur, and how many tables have each."""
        return count_settings(self.promises)

    @property
    def levels(self) -> dict[str, int] | None:
        """The level of each attribute where the policy fixes them; None where they are settled on the table."""
        partition = self.method.partition
        return dict(partition.scheme.indices) if isinstance(partition, FixedScheme) else None

    # --- what it promises and costs ---------------------------------------------------------------------------------

    @property
    def claims(self) -> tuple[Claim, ...]:
        first, *rest = self.method.claims(tuned=self.tuning)
        if self.repeat == 1 and not self.epsilon_total:
            return self.after_treatments((first, *rest))
        theorems = (
            *first.theorems,
            *self._total_theorems,
            self.composition if self.repeat > 1 else "basic-composition",
        )
        whole = make_claim(self.total, first.unit, first.status, theorems, first.conditions)
        return self.after_treatments((whole, *rest))

    @property
    def not_promised(self) -> Sequence[str]:
        from shoal.publish.certificate.safe_k import NOT_PROMISED

        return NOT_PROMISED

    @property
    def composition(self) -> str:
        """The name of the theorem by which several tables compose."""
        one = self.promise.unit.is_one_step and self.promise.bound == "tight"
        return "pld-composition" if one else "basic-composition"

    @property
    def parts(self) -> list[tuple[Guarantee, int]]:
        """What is composed: the recoding, and the samples by their dominating pair or, failing that, their (epsilon, delta)."""
        recoding = self.promise.epsilon_recoding
        paid: list[tuple[Guarantee, int]] = [(PureDP(recoding), 1)] if recoding else []
        return [*self._total_parts, *paid, *sample_parts(self.promises)]

    @property
    def epsilon_total(self) -> Fraction:
        """The pure epsilon that is spent on the noisy number of records; 0 where it is not published."""
        return self.policy.release.epsilon_total if self.policy.release is not None else Fraction(0)

    @property
    def tells_exact_total(self) -> bool:
        """Whether the number of records is published as it is, which costs nothing where one row is replaced by another: all
        neighbours have the same.
        """
        asked = self.policy.release
        return asked is not None and asked.total is not None and asked.total.epsilon == 0

    @property
    def _has_public_total(self) -> bool:
        """Whether the number of rows that take part is the same for all neighbours."""
        return self.unit.neighbours == "replace_one" and self.unit.whose == "row"

    @property
    def total_noise(self) -> Laplace | None:
        """The noise of the number of records that take part; None where it is not published.

        At most `max_rows` rows of each unit take part, so their number moves by at most so many when a unit comes, goes or is
        replaced.
        """
        return self._noise_of_total(self.epsilon_total) if self.epsilon_total else None

    def _noise_of_total(self, epsilon: Fraction) -> Laplace:
        moves = Sensitivity(self.unit.max_rows, self.unit, multiples_of=1)
        return Laplace.for_target(PureDP(epsilon), sensitivity=moves, grid=1)

    @property
    def _total_parts(self) -> list[tuple[Guarantee, int]]:
        return [(PureDP(self.epsilon_total), 1)] if self.epsilon_total else []

    @property
    def _total_theorems(self) -> tuple[str, ...]:
        return ("laplace-grid",) if self.epsilon_total else ()

    def _total_words(self) -> list[str]:
        """What is said of the noisy number of records."""
        noise = self.total_noise
        if self.tells_exact_total:
            return [
                "The number of records is published as it is: where one row is replaced, all neighbours have the same."
            ]
        if noise is None:
            return []
        of = f"two-sided geometric noise of scale {plain(noise.scale)}, for {plain(self.epsilon_total)} of epsilon"
        return [f"The number of records that take part is published with {of} (theorem laplace-grid)."]

    @property
    def epsilon_choices(self) -> Fraction:
        """The pure epsilon that is spent on the table beside the samples: on its recoding and its noisy total."""
        return self.promise.epsilon_recoding + self.epsilon_total

    @property
    def curve(self) -> ReleaseCurve:
        """delta at each epsilon of everything that is published, for the unit of the plan."""
        return release_curve(self.promises, self.epsilon_choices, self.parts, self.total)

    @property
    def cost(self) -> Cost:
        """What the ledger is charged: one entry for all tables together."""
        return Cost(self.total.epsilon, self.total.delta, tuple(self.parts))

    def repeat_words(self, when: str, state: RunState) -> str | None:
        if self.method.drawn_before:
            return None  # it cannot be repeated at all, and the ledger says why
        return f"{charged_before(when, state)}; a repeat draws a new sample and costs {self.price().words()} once more"

    # --- in words -----------------------------------------------------------------------------------------------------

    @property
    def work(self) -> str | None:
        """What to expect of the first choice of a recoding that takes long, where there is one."""
        return next((said for method in self.tables if (said := method.partition.work()) is not None), None)

    @property
    def notes(self) -> list[str]:
        said = [self._width_words(), self._no_total_words()]
        return [*super().notes, *(each for each in said if each is not None)]

    def _no_total_words(self) -> str | None:
        """Say what a recipient loses who is not told how many records there are, and the line that would tell it."""
        asked = self.policy.release
        if self.epsilon_total and self._has_public_total:
            return (
                "The noise of the number of records, and its part of epsilon, could be spared: where one row is replaced by "
                "another, all neighbours have the same number, and `total: {epsilon: 0}` publishes it as it is for nothing."
            )
        published = self.epsilon_total or self.tells_exact_total or all(each.k == 1 for each in self.promises)
        if published or asked is None or asked.epsilon is None or self.method.drawn_before:
            return None
        lost = (
            "The release will not say how many records there are. Each combination of labels that is not published may hide up "
            "to k - 1 sampled rows, and only the number of such combinations bounds how many are hidden: the recipient's "
            "intervals for counts, shares, means and sums may reach far above the truth. The line "
        )
        if self._has_public_total:
            return (
                f"{lost}`total: {{epsilon: 0}}` in the policy's `release` publishes the number itself, which costs nothing: "
                "where one row is replaced by another, it is the same for all neighbours."
            )
        share = asked.epsilon * TOTAL_SHARE
        within = int(self._noise_of_total(share).tail_steps(0.95)[0])
        return (
            f"{lost}`total: {{epsilon: {exact_text(share)}}}` in the policy's `release` publishes the number with noise (within "
            f"{within:,} in 95 of 100 cases) out of the same epsilon, of which it takes {plain(TOTAL_SHARE * 100)} %."
        )

    def _width_words(self) -> str | None:
        """Say that a wide table can tell little apart, where even classes of k rows each are fewer than its columns need.

        Every class that is published has k sampled rows or more, so n rows make at most n beta / k classes on average. Nine
        columns of Adult have more classes than 2^9 by this count, and their table is at distance .34 from the original in
        pairs; so a column needs three labels, if it has three values.
        """
        columns = self.method.partition.columns
        classes = int(ROWS_ASSUMED * self.promise.beta / self.promise.k)
        needed = prod(_few_labels(self.policy.schema.by_name[name]) for name in columns)
        if self.views or len(columns) <= MOST_COLUMNS or classes >= needed:
            return None
        return (
            f"One wide table of {len(columns)} columns will say little: of {ROWS_ASSUMED:,} rows it can show at most about "
            f"{classes:,} different combinations of labels, fewer than the {needed:,} of columns that are each divided in "
            "three (in two, where there are two values). Noisy counts (`views: {show: counts, every: pairs}`) or views of few "
            "columns keep more: `shoal plan --compare` tries them."
        )

    def recoding_words(self) -> str:
        return self.method.partition.words()

    def facts(self) -> list[tuple[str, str, str]]:
        numbers = self.promise
        sizes, rates = sorted({each.k for each in self.promises}), sorted({each.beta for each in self.promises})
        several = len(sizes) > 1
        alone = "of the first view alone" if several else "of one sample alone"
        return [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("epsilon", exact_text(self.total.epsilon), "the whole release"),
            ("delta", exact_text(self.total.delta), ""),
            (
                "k",
                f"{sizes[0]} to {sizes[-1]}" if several else str(sizes[0]),
                "the smallest class that each view shows" if several else "the smallest class that is shown",
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
            ("status", self.claims[0].status.value, ", ".join(self.theorems)),
            *(
                [("releases", str(self.repeat), "each from a fresh sample, charged together")]
                if self.repeat > 1
                else []
            ),
        ]

    def sentences(self) -> list[str]:
        found = words.sentences(
            self.promise,
            self.unit,
            total=self.total,
            repeat=self.repeat,
            drawn_before=self.method.drawn_before,
            tuned=self.tuning,
        )
        if self.method.drawn_before:
            found.append("The table itself is the sample: " + self.claims[0].conditions[0] + ".")
        return [*found, *self._total_words(), *self.treatment_words(), *self._tuning_words()]

    def page_fields(self, choices: list[FrontierPoint] | None) -> dict[str, Any]:
        from shoal.publish.plan.page import curve_fields, frontier_fields

        if self.method.drawn_before or self.repeat > 1:
            return curve_fields(self)  # other choices of one sample would not be other choices of this release
        return {**curve_fields(self), **frontier_fields(self.promise, choices)}

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the fields of `shoal plan`."""
        plan = self.promise
        return {
            "dataset": self.policy.dataset,
            "method": "safe-k",
            "epsilon": float(self.total.epsilon),
            "epsilon_recoding": float(plan.epsilon_recoding),
            "epsilon_release": float(plan.epsilon_release),
            **({"epsilon_total": float(self.epsilon_total)} if self.epsilon_total else {}),
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
            "views": self._views_json(),
            "recoding": self.method.partition.to_json(),
            "levels": self.levels,
            "unit": self.method.unit.to_saved(),
            "neighbours": self.policy.neighbours,
            "status": self.claims[0].status.value,
            "theorems": list(self.theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
            **self.treatment_fields(),
        }

    def _views_json(self) -> list[dict[str, Any]]:
        return []


def _check_sample(policy: Policy, asked: ReleaseModel) -> bool:
    """Whether the table is itself the sample; PreconditionError where the policy asks for more than such a table can give."""
    before = asked.sampling is not None and asked.sampling.already is not None
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
    return before


def _check_cells(policy: Policy, asked: ReleaseModel) -> None:
    """Refuse domains that cannot be cut into cells where boxes or chosen views need them: the policy alone decides it."""
    if asked.recoding is not None and asked.recoding.tree is not None:
        finest = asked.recoding.tree.finest or {}
        for attribute in policy.schema.published:
            cells_of(attribute, finest.get(attribute.name, 0))
    if asked.views is not None and asked.views.choose is not None:
        for attribute in policy.schema.published:
            cells_of(attribute)


def partition(policy: Policy, asked: ReleaseModel, found: Setting, schema: Schema | None = None) -> Partition:
    """The partition that a policy asks for: levels that it fixes, a scheme chosen privately, or a tree grown privately."""
    recoding, schema = asked.recoding, schema or policy.schema
    if recoding is None:
        raise PolicyError("release.recoding: safe-k needs one", allowed="{levels: ...}, {choose: ...} or {tree: ...}")
    if recoding.levels is not None:
        levels = {name: level for name, level in recoding.levels.items() if name in schema.by_name}
        return FixedScheme(Scheme(schema, levels))
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
        return PrivateScheme(score=recoding.choose.score or "ramp", target=recoding.choose.target, **common)
    grown = recoding.tree or TreeModel()
    depth = grown.depth or TreeParameters().max_depth
    return SafeTree(
        parameters=TreeParameters(max_depth=depth), sample=grown.sample or Fraction(1), target=grown.target, **common
    )


# --- k and beta -------------------------------------------------------------------------------------------------------


def sample_parts(promises: Sequence[Setting]) -> list[tuple[Guarantee, int]]:
    """What the samples of some tables compose as: by their dominating pair where it is the unit's, else by (epsilon, delta)."""
    found: Counter[Guarantee] = Counter()
    for each, times in count_settings(promises):
        exactly = each.unit.is_one_step and each.bound == "tight"
        found[SafeKSampling(each.k, each.beta) if exactly else ApproxDP(each.epsilon_release, each.delta)] += times
    return list(found.items())


def count_settings(promises: Sequence[Setting]) -> list[tuple[Setting, int]]:
    """The different settings among some, in the order in which they first occur, and how often each occurs.

    Most of them are one object many times over, which is told apart more quickly than numbers are compared.
    """
    objects = Counter(map(id, promises))
    found: dict[Setting, int] = {}
    for each in {id(each): each for each in promises}.values():
        found[each] = found.get(each, 0) + objects[id(each)]
    return list(found.items())


def solve_releases(asked: ReleaseModel, unit: Unit) -> tuple[Setting, ApproxDP]:
    """k and beta of each release, and the promise of all together."""
    epsilon, delta = asked.epsilon, asked.delta
    if epsilon is None or delta is None:
        raise PolicyError("release: safe-k needs epsilon and delta")
    bound, promised = asked.bound or "tight", ApproxDP(epsilon, delta)
    epsilon -= asked.epsilon_total
    if asked.repeat == 1:
        return solve_one(asked, unit, epsilon, delta, bound), promised
    # the largest share of epsilon for each release at which all together still fit
    low, high = asked.chosen + (epsilon - asked.chosen) / asked.repeat, epsilon
    best = solve_one(asked, unit, low, delta / asked.repeat, bound)
    if unit.is_one_step and bound == "tight":
        for _ in range(10):
            middle = exact(float((low + high) / 2))
            tried = solve_one(asked, unit, middle, delta / asked.repeat, bound)
            samples = compose([(SafeKSampling(tried.k, tried.beta), asked.repeat)])
            if asked.chosen + exact(samples.epsilon_at(delta)) <= epsilon:
                low, best = middle, tried
            else:
                high = middle
    return best, promised


def solve_one(
    asked: ReleaseModel, unit: Unit, epsilon: Fraction, delta: Fraction, bound: str, share: Fraction | None = None
) -> Setting:
    """k and beta of one release, whichever of the two the policy leaves open; `share` of epsilon goes to the recoding."""
    sampling = asked.sampling
    already = sampling.already if sampling is not None else None
    rate = already if already is not None else sampling.beta if sampling is not None else None
    share = asked.chosen if share is None else share
    if isinstance(rate, Fraction) and asked.k is not None:
        found = solve(epsilon=epsilon, k=asked.k, beta=rate, bound=bound, epsilon_recoding=share, unit=unit)
        if found.delta > delta:
            raise InfeasibleError(
                f"k = {asked.k} and beta = {text_near(rate)} do not reach the promise: delta is {text_up(found.delta)}",
                came=f"delta = {text_up(delta)} at epsilon = {text_up(epsilon)}",
                fix="raise k, lower beta, or leave one of them out and let the plan find it",
            )
        return with_delta(found, delta)
    if isinstance(rate, Fraction):
        return solve(epsilon=epsilon, delta=delta, beta=rate, bound=bound, epsilon_recoding=share, unit=unit)
    if asked.k is not None:
        return solve(epsilon=epsilon, delta=delta, k=asked.k, bound=bound, epsilon_recoding=share, unit=unit)
    prefer = sampling.prefer if sampling is not None else "balance"
    return setting_by_preference(
        epsilon=epsilon, delta=delta, epsilon_recoding=share, unit=unit, bound=bound, prefer=prefer
    )


def _few_labels(attribute: Attribute) -> int:
    """Three, or the number of declared values where that is smaller."""
    if attribute.type is Type.BOOLEAN:
        return 2
    return min(3, len(attribute.domain.values)) if isinstance(attribute.domain, Values) else 3


def with_delta(found: Setting, delta: Fraction) -> Setting:
    """A setting whose delta is the one that was asked for, which is at least its own."""
    return replace(found, delta=delta)
