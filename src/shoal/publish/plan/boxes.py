"""The plan of rows inside boxes: what epsilon is spent on, and how large the noise of a count and of a mean is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

from shoal.anonymize.cluster.lattice import AttributeLattice, NumberLattice, lattices_of
from shoal.anonymize.method.box_microaggregation import BoxMicroaggregation, box_attribute
from shoal.data.schema import Outside, Schema
from shoal.errors import InfeasibleError, PolicyError
from shoal.guarantee import sentences as words
from shoal.guarantee.base import Guarantee
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.differential import PureDP
from shoal.guarantee.rounding import exact, text_near, text_up
from shoal.guarantee.sentences import as_float
from shoal.ledger.event import Cost
from shoal.mechanism.boxes import BoxSetting, solve_boxes
from shoal.policy.policy import Policy
from shoal.publish.folder import table_file
from shoal.publish.plan.base import Verification
from shoal.publish.plan.centroids import LatticePlan, in_units, percent, plain, refuse_profiled, weight_of

if TYPE_CHECKING:
    from shoal.publish.run.centroids import BoxesJob

SPREAD, DRAWN = "spread inside boxes", "drawn inside boxes"
"""What a column shows: numbers, dates and ordered values that are spread inside boxes, or values that are drawn there."""
MANY = 1000
"""Records of a box for which the noise of a mean is said; a table that needs more before it shows anything is warned of."""
MOST_NOISE = 1_000_000
"""Of a count, in records: the number of rows is as noisy, and all of them are held in memory and written."""
NO_REHEARSAL = (
    "`shoal plan` says how much noise a count and a mean have; how far boxes are divided depends on where your records are, "
    "which no simulated table knows"
)


@dataclass(frozen=True)
class BoxesPlan(LatticePlan):
    """Rows that are spread inside boxes with noisy counts and means; the domain is halved where records are.

    Promise   a pure epsilon, for the unit added or removed, or replaced; it covers how many records there are.
    Requires  a declared domain for every published attribute; no missing values.
    Reads     nothing: the policy alone.
    """

    method: BoxMicroaggregation
    format: str

    noise_of = "boxes"
    no_rehearsal = NO_REHEARSAL

    def __repr__(self) -> str:
        return (
            f"<Plan of '{self.policy.dataset}': epsilon {text_up(self.total.epsilon)}, rows inside boxes, {self.unit.words()}, "
            f"{self.claims[0].status.value}>"
        )

    @classmethod
    def of(cls, policy: Policy) -> BoxesPlan:
        asked = cls.release_of(policy)
        if asked.epsilon is None or asked.grouping != "boxes":
            raise PolicyError("release: rows inside boxes need epsilon, and grouping: boxes")
        refuse_profiled(policy)
        lattices = lattices_of(policy.schema)
        attributes = [box_attribute(own, weight_of(policy, own.name)) for own in lattices]
        setting = solve_boxes(asked.epsilon, attributes=attributes, unit=policy.unit)
        if setting.deviation > MOST_NOISE:
            raise InfeasibleError(
                "so much noise makes millions of rows of nothing",
                came=f"counts of boxes with a standard deviation of {round(setting.deviation):,} records",
                allowed=f"at most {MOST_NOISE:,}",
                fix="raise epsilon, publish fewer attributes, or fewer rows of each unit",
            )
        return cls(policy, BoxMicroaggregation(setting, lattices), asked.output.format)

    @classmethod
    def verification(cls) -> Verification:
        from shoal.publish.certificate.model import BoxesCertificate
        from shoal.publish.verify.centroids import boxes_checks

        return Verification(BoxesCertificate, boxes_checks)

    def job(self) -> BoxesJob:
        from shoal.publish.run.centroids import BoxesJob

        return BoxesJob(self)

    def check(self, schema: Schema) -> None:
        self.method.check(schema)

    @property
    def one_memory(self) -> str | None:
        return (
            "every record goes down the tree of boxes level by level, in one memory (grouping: ranking and insensitive with "
            "corners: 1 run there)"
        )

    # --- what is published --------------------------------------------------------------------------------------------

    @property
    def setting(self) -> BoxSetting:
        """The noise of every step."""
        return self.method.setting

    @property
    def lattices(self) -> tuple[AttributeLattice, ...]:
        return self.method.lattices

    @property
    def files(self) -> tuple[str, ...]:
        """The file of the table."""
        return (table_file(self.format),)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The columns of the table."""
        return (self.method.columns,)

    @cached_property
    def shows(self) -> dict[str, str]:
        """What each column shows."""
        return {own.name: SPREAD if isinstance(own, NumberLattice) else DRAWN for own in self.method.lattices}

    @cached_property
    def displayed(self) -> Schema:
        """The columns as they are published: values of their declared domains."""
        found = (replace(own.attribute, hierarchy=None, outside=Outside.ERROR) for own in self.method.lattices)
        return Schema(tuple(found))

    # --- what it promises and costs -----------------------------------------------------------------------------------

    @property
    def total(self) -> PureDP:
        """What is promised."""
        return self.setting.claimed

    @property
    def parts(self) -> Sequence[tuple[Guarantee, int]]:
        """What is added up."""
        return self.setting.parts

    @property
    def epsilon_composed(self) -> Fraction:
        """What all parts add up to for the unit."""
        return self.setting.cost * self.unit.steps

    @property
    def claims(self) -> tuple[Claim, ...]:
        status = Status.TUNED if self.is_tuned else Status.PROVED
        theorems = (*self.method.theorems, "post-processing")
        return self.after_treatments((make_claim(self.total, self.unit, status, theorems),))

    @property
    def not_promised(self) -> Sequence[str]:
        from shoal.publish.certificate.boxes import not_promised

        return not_promised(self)

    @property
    def cost(self) -> Cost:
        return Cost(self.total.epsilon, Fraction(0), tuple(self.parts))

    # --- how large the error is ---------------------------------------------------------------------------------------

    @property
    def fewest_rows(self) -> int:
        """A table with fewer rows is likely not divided at all, or its counts do not stand out of the noise."""
        return max(self.setting.records_to_divide(), ceil(2 * self.setting.half_width))

    def mean_width(self, records: int = MANY) -> float:
        """How far noise moves the mean of so many records of one box in 95 of 100 cases, as a share of the box's side."""
        return self.setting.half_width / (2 * records)

    @property
    def warnings(self) -> list[str]:
        if self.fewest_rows <= MANY:
            return []
        fewer = "; or fewer rows of each unit (unit.max_rows)" if self.unit.max_rows > 1 else ""
        many = len(self.method.lattices)
        narrower = "; or publish fewer attributes" if many > 1 else ""
        rows = f"fewer than about {self.fewest_rows:,} rows"
        said = f"The noise drowns a table with {rows}: its domain is hardly divided, and values are even around noisy means."
        return [f"{said} Raise epsilon{fewer}{narrower}."]

    # --- in words -----------------------------------------------------------------------------------------------------

    def sentences(self) -> list[str]:
        counted = bool(self.setting.counted)
        found = words.box_sentences(self.total, self.unit, counted=counted, tuned=self.tuning)
        return [*found, *self.treatment_words(), *self._tuning_words()]

    def facts(self) -> list[tuple[str, str, str]]:
        setting, steps = self.setting, self.unit.steps
        found = [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("epsilon", plain(self.total.epsilon), "the whole release"),
            ("delta", "0", "a pure epsilon"),
            ("grouping", "boxes", "the declared domain, halved where records are"),
        ]
        if setting.value_epsilon is not None:
            many = f"{len(setting.counted):,} histogram{'s' * (len(setting.counted) != 1)}"
            spent = len(setting.counted) * setting.value_epsilon * steps
            found.append(("for values", plain(spent), f"epsilon of {many} of values without an order"))
        half = text_up(exact(setting.half_width), 3)
        return [
            *found,
            ("for the tree", plain(setting.tree_epsilon * steps), "epsilon of halving boxes, however many there are"),
            ("for means", plain(setting.mean_epsilon * steps), "epsilon of the counts and sums of all boxes"),
            ("error of a count", f"± {half}", "records, 95 % of noise, for one box; of b boxes about √b times as much"),
            (
                "error of a mean",
                f"about ± {percent(self.mean_width())}",
                f"of a box's side, 95 % of noise, where the box has {MANY:,} records; of fewer in proportion more",
            ),
            (
                "fewest rows",
                f"about {self.fewest_rows:,}",
                "a table with fewer is likely not divided, or drowns in noise",
            ),
            ("rows", "noisy", "how many records there are is covered by the promise"),
            ("unit", self.unit.words(), self.policy.neighbours),
            ("status", self.claims[0].status.value, ", ".join(self.theorems)),
        ]

    @property
    def view_head(self) -> tuple[str, str, str]:
        return ("attribute", "values told apart", f"± of a mean of {MANY:,}")

    def view_row(self, own: AttributeLattice) -> tuple[str, str, str]:
        points = next(each.points for each in self.setting.attributes if each.name == own.name)
        return own.name, f"{points:,}", self._mean_error(own)

    def _mean_error(self, own: AttributeLattice) -> str:
        """The noise of a mean in the attribute's units, in a box as wide as its domain; of values, in their share."""
        share = exact(self.mean_width())
        return in_units(own, share) if isinstance(own, NumberLattice) else f"{text_near(100 * share, 3)} % of records"

    def recoding_words(self) -> str:
        return (
            "One table, sorted by its own values: rows of nobody, spread inside boxes. Errors of means are those of one box "
            "as wide as the domain; half as wide, half as large. The mean of all rows has the noise of all boxes, and boxes with "
            "few records have no rows: with many attributes, or a domain far wider than its values, it can be off by far more. "
            "Tight domains and few attributes help most."
        )

    def counted_words(self, content: Mapping[str, Any]) -> str:
        rows = content["tables"][0]["rows"]
        return f"a table of {rows:,} row{'s' * (rows != 1)} of nobody, spread inside boxes"

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the fields of `shoal plan`."""
        setting = self.setting
        return {
            "dataset": self.policy.dataset,
            "method": self.method.name,
            "epsilon": as_float(self.total.epsilon, cost=True),
            "delta": 0.0,
            "epsilon_composed": as_float(self.epsilon_composed, cost=True),
            "boxes": setting.to_saved(),
            "shows": self.shows,
            "files": list(self.files),
            "expected_error": {"count": setting.half_width, "mean": self.mean_width(), "mean_of": MANY},
            "fewest_rows": self.fewest_rows,
            "unit": self.unit.to_saved(),
            "neighbours": self.policy.neighbours,
            "status": self.claims[0].status.value,
            "theorems": list(self.theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
            **self.treatment_fields(),
        }
