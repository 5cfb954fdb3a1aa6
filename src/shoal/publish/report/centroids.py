"""The custodian's report on noisy centroids: how far published values are from the original, by clustering and by noise.

Clusters are made again, which takes no chance; noise is not drawn again. Inside a cluster all records show one value, and their
own values lie around its true centroid; so squared errors are those of clustering plus those of noise, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.lattice import ConceptLattice, NumberLattice
from shoal.anonymize.cluster.ranking import runs
from shoal.anonymize.method.dp_microaggregation import CentroidTable, NoisyCentroids
from shoal.engine.base import Table
from shoal.engine.runs import sorted_rows
from shoal.guarantee.rounding import exact
from shoal.page.number_text import NO_NUMBER, count_words, percent_text, share_text
from shoal.page.section import BarPair, BarTable, DataTable, Fact, FactList, Section, Words, heads
from shoal.publish.plan.centroids import CentroidsPlan, in_units
from shoal.publish.report.columns import ColumnChange, column_change, picture
from shoal.publish.report.counted import listed_correlations
from shoal.publish.report.document import MethodSections, report_opening
from shoal.publish.report.sections import ONE_ROW, column_sections, correlation_section, moments_table, row_facts

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
MUCH = 50.0
"""A loss of more than this share of the variance is a caution."""
ABOUT_LOSS = (
    "How much of each attribute's variance is lost: by clustering, because a record shows its cluster's value and not its own, "
    "and by noise. Smaller clusters lose less by clustering and more by noise."
)
METHODS = (
    (
        "Loss: 100·SSE/SST. SSE is the sum over all records of the squared difference between their own value and the one they "
        "show; SST is the same, had everybody shown the mean. It is the loss by clustering (from a record to the true centroid "
        "of its cluster) plus the loss by noise (from there to the published one); above 100\u00a0% one mean for all is better."
    ),
    (
        "Of a concept or a value that was drawn, distances in the hierarchy take the place of squares (0 or 1 where there is "
        "none): by clustering, the mean distance of records from the concept that is nearest to their cluster; by noise, how "
        "much farther the drawn one is. Both are shares of the distance from the concept that is nearest to all records."
    ),
    (
        "Noise: the mean size of the difference between true and published centroid, over records. Expected: what the plan said "
        "before any row was read; less where values were moved back into their domain, or into their order."
    ),
    "Nothing was drawn again for this report: the key of the noise is destroyed.",
)


def centroids_report(
    plan: CentroidsPlan, table: Table, taking_part: Table, made: NoisyCentroids, content: Mapping[str, Any]
) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    setting, compared = plan.setting, _compare(plan, taking_part, made)
    numbers = {name: one.change for name, one in compared.items() if one.change.numeric}
    together = setting.grouping == "insensitive" and len(numbers) > 1
    before, after = ({name: getattr(one, side) for name, one in numbers.items()} for side in ("before", "after"))
    found: dict[str, Any] = {
        **report_opening(content),
        "rows": {"in": table.rows(), "taking_part": setting.rows, "published": setting.rows},
        "clusters": content["clusters"],
        "cautions": [],
        "notes": list(table.notes),
        "attributes": [one.to_json(plan) for one in compared.values()],
        "columns": [{"name": name, **picture(one.change, one.before, one.after)} for name, one in compared.items()],
        "correlations": listed_correlations(before, after) if together else None,
    }
    found["cautions"] = _cautions(found, plan)
    return found


@dataclass(frozen=True, eq=False)
class AttributeComparison:
    """One attribute of all records: its own values, what they show, and how the error came about; None where it is not known."""

    change: ColumnChange
    before: Array
    after: Array
    clustering: float | None
    """The loss by clustering, in percent."""
    noise: float | None
    """The loss by noise, in percent."""
    noise_size: float | None
    """The mean size of the noise over records, as a share of the width of the domain."""
    at_ends: float | None
    """The share of rows that show an end of the domain."""

    def to_json(self, plan: CentroidsPlan) -> dict[str, Any]:
        """The comparison as plain values."""
        name = self.change.attribute.name
        own, moments = plan.lattice(name), self.change.moments()
        numeric = isinstance(own, NumberLattice)
        variance, shown = moments["variance_before"], moments["variance_after"]
        known = self.clustering is not None and self.noise is not None
        return {
            "name": name,
            "type": self.change.attribute.type.value,
            "shows": plan.shows[name],
            "loss": _rounded((self.clustering or 0.0) + (self.noise or 0.0)) if known else None,
            "clustering_loss": _rounded(self.clustering),
            "noise_loss": _rounded(self.noise),
            "noise": None
            if self.noise_size is None or not isinstance(own, NumberLattice)
            else _in_units(own, self.noise_size),
            "expected_noise": _in_units(own, plan.setting.noise_error(name))
            if isinstance(own, NumberLattice)
            else None,
            "half_width": plan.setting.half_width(name) if numeric else None,
            "at_ends": _rounded(self.at_ends),
            **moments,
            "variance_ratio": None if not variance or shown is None else shown / variance,
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)


def _in_units(own: NumberLattice, share: float) -> str:
    return in_units(own, exact(share))


def _compare(plan: CentroidsPlan, table: Table, made: NoisyCentroids) -> dict[str, AttributeComparison]:
    """Every attribute before and after, record beside record."""
    names = list(plan.method.columns)
    held = table.collect(names)
    codes = {name: plan.lattice(name).codes(held[name]) for name in names}
    together = plan.setting.grouping == "insensitive"
    shared = plan.method.clusters([codes[name] for name in names]) if together else None
    found = {}
    for columns, shown in zip(plan.groups, made.tables, strict=True):
        for name in columns:
            labels = shared if shared is not None else runs(sorted_rows(codes[name]), plan.setting.k)
            found[name] = _compare_column(plan, name, held[name], codes[name], labels, shown)
    return found


def _compare_column(
    plan: CentroidsPlan, name: str, values: Array, codes: Codes, labels: Array, shown: CentroidTable
) -> AttributeComparison:
    own, sizes = plan.lattice(name), shown.sizes
    after = shown.columns[name][labels]
    change = column_change(own.attribute, plan.shows[name], values, after, labels)
    if isinstance(own, NumberLattice):
        true = np.bincount(labels, weights=codes.astype(np.float64)) / sizes
        drawn = own.codes(shown.columns[name]).astype(np.float64)
        spread = float(((codes - codes.mean()) ** 2).sum())
        inside = float(((codes - true[labels]) ** 2).sum())
        moved = float(((drawn - true) ** 2 * sizes).sum())
        size = float((np.abs(drawn - true) * sizes).sum() / len(codes) / own.steps)
        ends = float(sizes[(drawn == 0) | (drawn == own.steps)].sum() / len(codes))
        return AttributeComparison(change, values, after, _share(inside, spread), _share(moved, spread), size, ends)
    if not isinstance(own, ConceptLattice):
        return AttributeComparison(change, values, after, None, None, None, None)
    counts = np.zeros((len(sizes), own.distances.shape[1]))
    np.add.at(counts, (labels, codes), 1.0)
    apart = counts @ own.distances.T.astype(np.float64)
    place = {name: number for number, name in enumerate(own.candidates)}
    picked = np.array([place[_text(each)] for each in shown.columns[name].tolist()])
    nearest, far = float(apart.min(axis=1).sum()), float(apart[np.arange(len(sizes)), picked].sum())
    single = float(apart.sum(axis=0).min())
    return AttributeComparison(
        change, values, after, _share(nearest, single), _share(far - nearest, single), None, None
    )


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool | np.bool_) else str(value)


def _share(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def _cautions(found: Mapping[str, Any], plan: CentroidsPlan) -> list[str]:
    said = list(plan.warnings)
    poor = [one for one in found["attributes"] if one["loss"] is not None and one["loss"] > MUCH]
    if poor:
        listed = ", ".join(f"{one['name']} ({percent_text(one['loss'])})" for one in poor[:6])
        more = f" and {len(poor) - 6:,} more" if len(poor) > 6 else ""
        by_noise = sum(one["noise_loss"] > one["clustering_loss"] for one in poor)
        why = "more by noise than by clustering" if 2 * by_noise >= len(poor) else "more by clustering than by noise"
        said.append(f"More than half of the variance is lost in {listed}{more}, {why}.")
    return said


# --- the sections -----------------------------------------------------------------------------------------------------


def centroids_sections(values: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    attributes = {one["name"]: one for one in values["attributes"]}
    losses = BarTable(
        "attribute",
        ("by clustering", "by noise", "in all"),
        [
            BarPair(
                one["name"],
                one["clustering_loss"] or 0.0,
                one["noise_loss"] or 0.0,
                [percent_text(one[key]) for key in ("clustering_loss", "noise_loss", "loss")],
            )
            for one in attributes.values()
        ],
    )
    noise = DataTable(
        heads(["attribute", "shows"], ["noise", "expected", "rows at an end of the domain"]),
        [
            (
                one["name"],
                one["shows"],
                one["noise"] or NO_NUMBER,
                one["expected_noise"] or NO_NUMBER,
                share_text(one["at_ends"]),
            )
            for one in attributes.values()
        ],
    )
    alone = values["clusters"]["grouping"] == "ranking" and len(attributes) > 1
    said = "Every attribute was sorted by itself: no relation between two of them is published." if alone else None
    return MethodSections(
        rows=[FactList(_row_facts(values))],
        columns=[
            Section("What was lost", [Words(ABOUT_LOSS), losses]),
            Section("The noise", [noise], level=3),
            *moments_table(list(attributes.values())),
            *column_sections(values["columns"], attributes),
        ],
        findings=[correlation_section(values["correlations"], said)],
        methods=METHODS,
    )


def _row_facts(values: Mapping[str, Any]) -> list[Fact]:
    rows, clusters = values["rows"], values["clusters"]
    return [
        *row_facts(rows, ONE_ROW),
        ("published", f"{rows['published']:,}", f"which show {count_words(clusters['clusters'], 'noisy centroid')}"),
        ("k", f"{clusters['k']:,}", f"records of a cluster; {clusters['last_size']:,} in the last"),
    ]
