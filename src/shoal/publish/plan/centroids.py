"""The plan of noisy centroids: how large clusters are, how much noise their centroids have, and what error that means."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from shoal.anonymize.cluster.lattice import AttributeLattice, NumberLattice, lattices_of
from shoal.anonymize.method.dp_microaggregation import DPMicroaggregation
from shoal.data.schema import Attribute, Outside, Schema
from shoal.data.type import Type
from shoal.errors import InfeasibleError, PolicyError
from shoal.guarantee import sentences as words
from shoal.guarantee.base import Guarantee
from shoal.guarantee.centroids import LARGEST_EPSILON, CentroidSetting, solve_centroids
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.rounding import exact, exact_text, text_near, text_up
from shoal.guarantee.sentences import as_float
from shoal.ledger.event import Cost
from shoal.policy.policy import Policy
from shoal.publish.folder import attribute_file, table_file
from shoal.publish.plan.base import Plan, Verification, charged_before

if TYPE_CHECKING:
    from shoal.guarantee.safe_k.frontier import FrontierPoint
    from shoal.ledger.ledger import RunState
    from shoal.publish.counts_rehearsal import CountsRehearsal
    from shoal.publish.rehearse import Rehearsal
    from shoal.publish.run.centroids import CentroidsJob

MEAN, CONCEPT, VALUE = "noisy mean", "drawn concept", "drawn value"
"""What a column shows: the noisy mean of a cluster, a concept of the hierarchy or a value, drawn near to it."""
MOST_LISTED = 300
"""Attributes that the page of a plan lists."""
DAY = 86_400_000_000
"""Microseconds."""
GROUPING_WORDS = {
    "insensitive": "clusters of whole records, by orders that are fixed in advance",
    "ranking": "clusters of each attribute's values by themselves, in their order",
}
NOISE_WORDS = {
    "laplace": "Laplace noise on the sums of clusters",
    "optimal": "the noise of least expected size for a change of all sums of an attribute",
    "gaussian": "Gaussian noise on the sums of clusters",
}
NO_REHEARSAL = (
    "`shoal plan` says how much noise there is; what it does to your values depends on how they are distributed, which no "
    "simulated table knows"
)


class LatticePlan(Plan):
    """What the plans of clusters and of boxes share: attributes in whole steps, and noise that is known beforehand."""

    methods = ("dp-microaggregation",)
    noise_of: ClassVar[str]
    """What has noise, in a word."""
    no_rehearsal: ClassVar[str]
    """What to do instead of a rehearsal."""

    @property
    @abstractmethod
    def lattices(self) -> tuple[AttributeLattice, ...]:
        """The published attributes in whole steps."""

    @property
    @abstractmethod
    def warnings(self) -> list[str]:
        """What is to be said before anything is done."""

    @property
    @abstractmethod
    def view_head(self) -> tuple[str, str, str]:
        """What the columns of `view_rows` are."""

    @abstractmethod
    def view_row(self, own: AttributeLattice) -> tuple[str, str, str]:
        """An attribute, and how large its noise is."""

    def lattice(self, name: str) -> AttributeLattice:
        """The whole steps of one attribute."""
        return next(own for own in self.lattices if own.name == name)

    def view_rows(self, most: int) -> list[tuple[str, str, str]]:
        found = [self.view_row(own) for own in self.lattices[:most]]
        left = len(self.lattices) - len(found)
        return [*found, (f"and {left:,} more", "", "")] if left else found

    def rehearse(self, **options: Any) -> Rehearsal | CountsRehearsal:  # noqa: ARG002 - there is nothing to try
        """Refuse: the noise is known, and a simulated table says nothing about where records are."""
        raise PolicyError(
            f"release.method: the noise of {self.noise_of} is known beforehand, so there is nothing to rehearse",
            came="dp-microaggregation",
            allowed="safe-k, or noisy counts",
            fix=self.no_rehearsal,
        )

    def repeat_words(self, when: str, state: RunState) -> str:
        return f"{charged_before(when, state)}; a repeat draws new noise and costs {self.price().words()} once more"

    def page_fields(self, choices: list[FrontierPoint] | None) -> dict[str, Any]:  # noqa: ARG002 - a wide table's
        from shoal.publish.plan.page import ELSEWHERE

        said = [ELSEWHERE if "other publications" in text else text for text in self.not_promised]
        shown = {"views": self.view_rows(MOST_LISTED), "view_kind": "attributes", "view_head": self.view_head}
        return {**shown, "cautions": [*self.warnings, *said]}


@dataclass(frozen=True)
class CentroidsPlan(LatticePlan):
    """Noisy centroids of clusters that one record can barely change; every record shows the centroid of its cluster.

    Promise   epsilon-differential privacy, or (epsilon, delta) with Gaussian noise, for one record replaced by another; with
              `calibration: per_record` what all clusters cost together, which is far more than the epsilon asked for.
    Requires  a declared domain for every published attribute; no missing values; one row of each unit; a public number of rows.
    Reads     nothing: the policy alone.
    """

    method: DPMicroaggregation
    total: PureDP | ApproxDP
    format: str

    noise_of = "centroids"
    no_rehearsal = NO_REHEARSAL

    def __repr__(self) -> str:
        setting = self.setting
        return (
            f"<Plan of '{self.policy.dataset}': {_promise_words(self.total)}, {setting.clusters:,} noisy centroids, k "
            f"{setting.k:,}, {self.unit.words()}, {self.claims[0].status.value}>"
        )

    @classmethod
    def of(cls, policy: Policy) -> CentroidsPlan:
        asked = cls.release_of(policy)
        if asked.grouping == "boxes":
            raise PolicyError(
                "release.grouping: boxes have a plan of their own", came="boxes", fix="plan it with `shoal.plan`"
            )
        if asked.epsilon is None or asked.rows is None:
            raise PolicyError("release: noisy centroids need epsilon and rows")
        refuse_profiled(policy)
        lattices = lattices_of(policy.schema)
        setting = solve_centroids(
            asked.epsilon,
            asked.delta or 0,
            rows=asked.rows,
            attributes=[own.centroid_attribute(weight_of(policy, own.name)) for own in lattices],
            unit=policy.unit,
            k=asked.k,
            grouping="ranking" if asked.grouping == "ranking" else "insensitive",
            corners=asked.corners,
            noise=None if asked.noise is None or asked.noise == "auto" else asked.noise,
            calibration=asked.calibration or "whole",
        )
        return cls(policy, DPMicroaggregation(setting, lattices), total_of(setting), asked.output.format)

    @classmethod
    def verification(cls) -> Verification:
        from shoal.publish.certificate.model import CentroidsCertificate
        from shoal.publish.verify.centroids import centroids_checks

        return Verification(CentroidsCertificate, centroids_checks)

    def job(self) -> CentroidsJob:
        from shoal.publish.run.centroids import CentroidsJob

        return CentroidsJob(self)

    def check(self, schema: Schema) -> None:
        self.method.check(schema)

    @property
    def one_memory(self) -> str | None:
        """A single order is sorted and added up by the engine; several in turn choose each cluster from what the others left."""
        if self.setting.single_order:
            return None
        return (
            "with several corners in turn each cluster is chosen from what all clusters before it left (corners: 1 and "
            "grouping: ranking have one order, and run there)"
        )

    # --- what is published --------------------------------------------------------------------------------------------

    @property
    def setting(self) -> CentroidSetting:
        """Cluster size and noise."""
        return self.method.setting

    @property
    def lattices(self) -> tuple[AttributeLattice, ...]:
        return self.method.lattices

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table: all of them, or of ranks one each."""
        columns = self.method.columns
        return tuple((name,) for name in columns) if self.setting.grouping == "ranking" else (columns,)

    @property
    def files(self) -> tuple[str, ...]:
        """The file of each table."""
        if len(self.groups) == 1:
            return (table_file(self.format),)
        return tuple(attribute_file(number, name, self.format) for number, (name,) in enumerate(self.groups, 1))

    @cached_property
    def shows(self) -> dict[str, str]:
        """What each column shows."""
        return {own.name: shown_of(own) for own in self.method.lattices}

    @cached_property
    def displayed(self) -> Schema:
        """The columns as they are published: concepts are text, and everything else is a value of its declared domain."""
        return Schema(tuple(_displayed(own.attribute, self.shows[own.name]) for own in self.method.lattices))

    # --- what it promises and costs -----------------------------------------------------------------------------------

    @property
    def parts(self) -> Sequence[tuple[Guarantee, int]]:
        """What is composed."""
        return self.setting.parts

    @cached_property
    def epsilon_composed(self) -> Fraction:
        """epsilon of everything together at the promised delta; never above the promise."""
        if isinstance(self.total, PureDP):
            return self.setting.cost
        return min(self.total.epsilon, exact(compose(self.parts).epsilon_at(self.total.delta)))

    @property
    def delta(self) -> Fraction:
        """The promised delta: 0 for a pure epsilon."""
        return Fraction(0) if isinstance(self.total, PureDP) else self.total.delta

    @property
    def claims(self) -> tuple[Claim, ...]:
        status = Status.TUNED if self.is_tuned else Status.PROVED
        return self.after_treatments((make_claim(self.total, self.unit, status, self._theorems),))

    @property
    def _theorems(self) -> tuple[str, ...]:
        many = sum(times for _, times in self.parts) > 1
        pure: tuple[str, ...] = ("basic-composition",) if many else ()
        composed = pure if isinstance(self.total, PureDP) else ("concentrated-composition",)
        return tuple(dict.fromkeys((*self.method.theorems, *composed, "post-processing")))

    @property
    def not_promised(self) -> Sequence[str]:
        from shoal.publish.certificate.centroids import not_promised

        return not_promised(self)

    @property
    def cost(self) -> Cost:
        return Cost(self.total.epsilon, self.delta, tuple(self.parts))

    # --- how large the error is ---------------------------------------------------------------------------------------

    def half_width(self, name: str) -> str | None:
        """How far noise moves a centroid in 95 of 100 cases, in the attribute's own units; None for a drawn concept."""
        own = self.lattice(name)
        if not isinstance(own, NumberLattice):
            return None
        return in_units(own, exact(self.setting.half_width(name)))

    @property
    def warnings(self) -> list[str]:
        found = []
        setting, drowned = self.setting, self.setting.drowned
        if drowned:
            listed = ", ".join(f"'{name}'" for name in drowned[:5]) + (", …" if len(drowned) > 5 else "")
            found.append(
                f"The noise drowns {listed}: it moves a centroid by half of the declared domain or more in at least 1 of 20 "
                f"cases, so the published values say next to nothing. {self._remedy()}"
            )
        if setting.calibration == "per_record":
            found.append(
                "calibration: per_record is for reproducing the thesis. The policy asks for epsilon "
                f"{plain(setting.epsilon)}, and the data set keeps {plain(self.total.epsilon)}, which is what is promised and "
                "charged. Take calibration: whole."
            )
        return found

    def _remedy(self) -> str:
        """What may help where noise drowns the values."""
        setting = self.setting
        own = ["raise epsilon", "declare narrower domains"]
        if not setting.k_found:
            own.append("leave k out")
        if setting.grouping == "insensitive" and all(isinstance(each, NumberLattice) for each in self.method.lattices):
            own.append(
                "publish each attribute by itself (grouping: ranking), where relations between them are not needed"
            )
        if setting.grouping == "insensitive" and len(self.method.lattices) > 1:
            own.append("publish fewer attributes")
        own.append("publish noisy counts instead (views: {show: counts, every: pairs})")
        return f"{'; or '.join(own)}.".capitalize()

    # --- in words -----------------------------------------------------------------------------------------------------

    def sentences(self) -> list[str]:
        found = words.centroid_sentences(self.total, self.setting, tuned=self.tuning)
        return [*found, *self.treatment_words(), *self._tuning_words()]

    def facts(self) -> list[tuple[str, str, str]]:
        setting = self.setting
        found = [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("epsilon", plain(self.total.epsilon), "the whole release"),
            ("delta", exact_text(self.delta), "a pure epsilon" if not self.delta else ""),
            ("rows", f"{setting.rows:,}", "public: a table with another number is refused"),
            ("k", f"{setting.k:,}", self._about_k()),
            ("clusters", f"{setting.clusters:,}", f"the last has {setting.last_size:,} records"),
            ("grouping", setting.grouping, GROUPING_WORDS[setting.grouping]),
        ]
        if setting.grouping == "insensitive":
            turns = "a single order" if setting.corners == 1 else "corners of the declared domain that take turns"
            found.append(("corners", str(setting.corners), turns))
        if any(isinstance(own, NumberLattice) for own in self.method.lattices):
            chosen = ", which has the least sum of the two errors below" if setting.noise_found else ""
            found.append(("noise", setting.noise, f"{NOISE_WORDS[setting.noise]}{chosen}"))
        if setting.calibration == "per_record":
            asked = f"epsilon {plain(setting.epsilon)} for one cluster and one attribute: not what the data set keeps"
            found.append(("calibration", setting.calibration, asked))
        return [
            *found,
            ("error of clustering", f"at most {percent(setting.grouping_error)}", self._about_grouping()),
            (
                "error of noise",
                percent(setting.error_bound - setting.grouping_error),
                self._about_noise(),
            ),
            ("composed", text_up(self.epsilon_composed), "epsilon of everything together at this delta"),
            ("unit", self.unit.words(), self.policy.neighbours),
            ("status", self.claims[0].status.value, ", ".join(self.theorems)),
        ]

    def _about_grouping(self) -> str:
        if self.setting.grouping == "ranking":
            return "of a domain's width, on average, in any table: from a record to its cluster's mean"
        return "of an order's length, on average, in any table: from a record to its cluster's middle along that order"

    def _about_noise(self) -> str:
        concepts = any(not isinstance(own, NumberLattice) for own in self.method.lattices)
        of = (
            "of a domain's width, or for concepts at most of their largest distance"
            if concepts
            else "of a domain's width"
        )
        return f"{of}, on average over records and attributes, before values are rounded"

    def _about_k(self) -> str:
        if not self.setting.k_found:
            return "as the policy says"
        return "found without the data: it has the least sum of the two errors below"

    @property
    def view_head(self) -> tuple[str, str, str]:
        return ("attribute", "± 95 % of noise", "of its domain")

    def view_row(self, own: AttributeLattice) -> tuple[str, str, str]:
        if not isinstance(own, NumberLattice):
            entry = self.setting.entry(own.name)
            drawn = f"epsilon {text_near(entry.choice_epsilon or Fraction(0), 3)} for each of {setting_choices(self.setting)}"
            return own.name, "drawn", f"{entry.attribute.concepts:,} concepts, {drawn}"
        return own.name, self.half_width(own.name) or "", percent(self.setting.half_width(own.name))

    def recoding_words(self) -> str:
        if self.setting.grouping == "ranking" and len(self.groups) > 1:
            return (
                f"{len(self.groups):,} tables of one column, each sorted by itself: which value of one belongs to which of "
                "another is not published."
            )
        return "One table, sorted by its own values: each cluster's row as often as the cluster has records."

    def counted_words(self, content: Mapping[str, Any]) -> str:
        tables, clusters = len(content["tables"]), content["clusters"]
        of = "a table" if tables == 1 else f"{tables:,} tables of one column"
        return f"{of} of {clusters['rows']:,} rows with {clusters['clusters']:,} noisy centroids"

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the fields of `shoal plan`."""
        setting = self.setting
        numeric = [own.name for own in self.method.lattices if isinstance(own, NumberLattice)]
        return {
            "dataset": self.policy.dataset,
            "method": self.method.name,
            "epsilon": as_float(self.total.epsilon, cost=True),
            "delta": as_float(self.delta, cost=True),
            "epsilon_composed": as_float(self.epsilon_composed, cost=True),
            "centroids": setting.to_saved(),
            "k_found": setting.k_found,
            "noise_found": setting.noise_found,
            "shows": self.shows,
            "files": list(self.files),
            "half_widths": {name: setting.half_width(name) for name in numeric},
            "expected_error": {
                "bound": setting.error_bound,
                "clustering": setting.grouping_error,
                "noise": setting.error_bound - setting.grouping_error,
            },
            "drowned": list(setting.drowned),
            "unit": self.unit.to_saved(),
            "neighbours": self.policy.neighbours,
            "status": self.claims[0].status.value,
            "theorems": list(self.theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
            **self.treatment_fields(),
        }


def refuse_profiled(policy: Policy) -> None:
    """PolicyError where a domain or a hierarchy was read from the data: noise is sized by it, and centroids lie in it."""
    published = {attribute.name for attribute in policy.schema.published}
    drafted = policy.profiled_keys()
    keys = [key for key in drafted if key.removeprefix("attributes.").rpartition(".")[0] in published]
    if keys:
        raise PolicyError(
            "noisy centroids lie in declared domains, and parts of these were drafted from the data",
            came=", ".join(keys[:6]) + (f" and {len(keys) - 6:,} more" if len(keys) > 6 else ""),
            allowed="domains and hierarchies that a person declares",
            fix="confirm what is known without the data (`shoal policy confirm`), and widen or replace the rest",
        )


def weight_of(policy: Policy, name: str) -> Fraction:
    """How much the error of an attribute counts against that of the others."""
    return policy.model.attributes[name].weight or Fraction(1)


def total_of(setting: CentroidSetting) -> PureDP | ApproxDP:
    """What a setting promises: a pure epsilon; with Gaussian noise (epsilon, delta); per record, what all clusters cost."""
    if setting.calibration == "per_record":
        if setting.cost > LARGEST_EPSILON:
            raise InfeasibleError(
                f"calibration: per_record costs epsilon {exact_text(setting.epsilon)} for each of {setting.clusters:,} clusters "
                f"and {len(setting.entries):,} attributes, more than any epsilon that says something",
                came=text_up(setting.cost),
                allowed=f"at most {exact_text(LARGEST_EPSILON)} in all",
                fix="choose a larger k or a smaller epsilon, or take calibration: whole",
            )
        return PureDP(setting.cost)
    if setting.is_concentrated:
        return ApproxDP(setting.epsilon, setting.delta)
    return PureDP(setting.epsilon)


def _promise_words(total: PureDP | ApproxDP) -> str:
    delta = "" if isinstance(total, PureDP) else f", delta {text_up(total.delta)}"
    return f"epsilon {text_up(total.epsilon)}{delta}"


def shown_of(lattice: AttributeLattice) -> Literal["noisy mean", "drawn concept", "drawn value"]:
    """What the column of an attribute shows."""
    if isinstance(lattice, NumberLattice):
        return "noisy mean"
    declared = lattice.attribute.hierarchy is not None and lattice.attribute.type is not Type.BOOLEAN
    return "drawn concept" if declared else "drawn value"


def _displayed(attribute: Attribute, shows: str) -> Attribute:
    bare = replace(attribute, hierarchy=None, outside=Outside.ERROR)
    return replace(bare, type=Type.TEXT, domain=None) if shows == CONCEPT else bare


def setting_choices(setting: CentroidSetting) -> str:
    """How many choices there are of each attribute."""
    return f"{setting.clusters:,} clusters"


def plain(value: Fraction) -> str:
    """A cost as it was typed where that is short, else rounded up."""
    return words.plain(value)


def percent(share: float) -> str:
    """A share in percent, rounded up to three digits.

    >>> percent(0.0123456)
    '1.24 %'
    """
    return f"{text_up(100 * exact(share), 3)} %"


def in_units(lattice: NumberLattice, share: Fraction) -> str:
    """A share of the width of a domain in the attribute's own units: a number, days, hours or ranks; rounded up."""
    size = share * lattice.steps * lattice.step
    kind = lattice.attribute.type
    if kind is Type.DATETIME:
        days = size / DAY
        return f"{text_up(days, 3)} days" if days >= 2 else f"{text_up(24 * days, 3)} hours"
    unit = {Type.DATE: " days", Type.ORDINAL: " ranks"}.get(kind, "")
    number = -(-size.numerator // size.denominator) if size >= 1000 else None
    return f"{number:,}{unit}" if number is not None else f"{text_up(size, 3)}{unit}"
