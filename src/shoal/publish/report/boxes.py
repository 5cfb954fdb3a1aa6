"""The custodian's report on rows inside boxes: how far distributions, means and relations are from the original.

Rows are nobody's, so no record is compared with one that it became: both tables are compared as wholes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.lattice import NumberLattice
from shoal.anonymize.method.box_microaggregation import BoxRows
from shoal.assess.distortion.correlation import CorrelationChange, correlations
from shoal.engine.base import Table
from shoal.page.number_text import number_text, share_text
from shoal.page.section import Block, DataTable, Fact, FactList, Section, Words, heads
from shoal.publish.plan.boxes import BoxesPlan
from shoal.publish.report.columns import ColumnChange, column_change, picture
from shoal.publish.report.counted import list_correlations
from shoal.publish.report.document import MethodSections, report_opening, rows_taking_part
from shoal.publish.report.sections import column_sections, correlation_section, moments_table, row_facts

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
FAR = 0.25
"""A distribution that is farther from the original than this is a caution: in standard deviations, or in shares of records."""
METHODS = (
    (
        "Distance of numbers, dates and ordered values: how far rows would have to be moved on average so that both "
        "distributions are the same (Wasserstein distance), in standard deviations of the original. Of values without an order: "
        "the share of rows that would have to change (total variation)."
    ),
    (
        "Largest gap: of all values, the largest difference between the share of rows up to a value before and after; of values "
        "without an order, between their shares."
    ),
    "Histograms show the published rows as if they were as many as those of the original.",
    "Boxes are those of the run. How many there are follows from noisy counts; the report alone says it.",
    "Nothing was drawn again for this report: the key of the noise is destroyed.",
)
ALL_ROWS = (
    "Of people with more rows than the policy counts some rows took part, chosen at random by a key that is gone: what is before "
    "are all rows of the original, and what is after is about those that took part."
)


def boxes_report(plan: BoxesPlan, table: Table, made: BoxRows, content: Mapping[str, Any]) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    compared = _compare(plan, table, made)
    measured = made.measured
    found: dict[str, Any] = {
        **report_opening(content),
        "rows": {
            "in": table.rows(),
            "taking_part": rows_taking_part(plan, table),
            "published": content["tables"][0]["rows"],
        },
        "boxes": {"all": len(measured.boxes), "half_width": plan.setting.half_width, "fewest_rows": plan.fewest_rows},
        "cautions": [],
        "notes": list(table.notes),
        "attributes": [one.to_json(plan) for one in compared.values()],
        "columns": [{"name": name, **one.picture()} for name, one in compared.items()],
        "correlations": _correlations(compared),
    }
    found["cautions"] = _cautions(found, plan)
    return found


@dataclass(frozen=True, eq=False)
class DistributionComparison:
    """One attribute of the original and of the published rows, which are other rows."""

    change: ColumnChange
    before: Array
    after: Array
    distance: float | None
    """In standard deviations, or in shares of records; None where the original does not vary."""
    gap: float

    def picture(self) -> dict[str, Any]:
        """Both distributions; those of numbers as if both tables had as many rows as the original."""
        found, many = picture(self.change, self.before, self.after), len(self.before) / len(self.after)
        if found["kind"] == "bins":
            found["after"] = [round(many * count, 3) for count in found["after"]]
        return found

    def to_json(self, plan: BoxesPlan) -> dict[str, Any]:
        """The comparison as plain values."""
        attribute, moments = self.change.attribute, self.change.moments()
        variance, shown = moments["variance_before"], moments["variance_after"]
        return {
            "name": attribute.name,
            "type": attribute.type.value,
            "shows": plan.shows[attribute.name],
            "distance": None if self.distance is None else round(self.distance, 6),
            "in_deviations": isinstance(plan.lattice(attribute.name), NumberLattice),
            "gap": round(self.gap, 6),
            **moments,
            "variance_ratio": None if not variance or shown is None else shown / variance,
        }


def _compare(plan: BoxesPlan, table: Table, made: BoxRows) -> dict[str, DistributionComparison]:
    held, rows, found = table.collect(list(plan.method.columns)), made.tables[0].rows, {}
    if not table.rows():
        return {}  # nothing to compare with
    for own in plan.method.lattices:
        before, after = held[own.name], rows[own.name]
        change = column_change(own.attribute, plan.shows[own.name], before, after, np.zeros(0, dtype=np.int32))
        codes = own.codes(before), own.codes(after)
        if isinstance(own, NumberLattice):
            moved, gap = _moved(*codes)
            deviation = float(codes[0].std())
            distance = moved / deviation if deviation else None
        else:
            last = max(int(each.max()) for each in codes) + 1
            shares = [np.bincount(each, minlength=last) / len(each) for each in codes]
            apart = np.abs(shares[0] - shares[1])
            distance, gap = float(apart.sum() / 2), float(apart.max())
        found[own.name] = DistributionComparison(change, before, after, distance, gap)
    return found


def _moved(before: Codes, after: Codes) -> tuple[float, float]:
    """The Wasserstein distance of two samples of whole numbers, and the largest difference of their distribution functions."""
    points = np.unique(np.concatenate([before, after]))
    shares = [np.searchsorted(np.sort(each), points, side="right") / len(each) for each in (before, after)]
    apart = np.abs(shares[0] - shares[1])
    return float((apart[:-1] * np.diff(points)).sum()), float(apart.max())


def _correlations(compared: Mapping[str, DistributionComparison]) -> dict[str, Any] | None:
    """How far correlations of numbers moved; None where there are not two."""
    names = [name for name, one in compared.items() if one.change.numeric]
    if len(names) < 2:
        return None
    before = correlations(np.column_stack([compared[name].change.before for name in names]))
    after = correlations(np.column_stack([compared[name].change.after for name in names]))
    return list_correlations(CorrelationChange(tuple(names), tuple(names), before, after))


def _cautions(found: Mapping[str, Any], plan: BoxesPlan) -> list[str]:
    said = list(plan.warnings)
    if found["rows"]["taking_part"] < plan.fewest_rows:
        said.append(
            f"{found['rows']['taking_part']:,} rows take part, fewer than the {plan.fewest_rows:,} below which noise drowns a "
            "table: expect rows that say little."
        )
    far = [one for one in found["attributes"] if one["distance"] is not None and one["distance"] > FAR]
    if far:
        listed = ", ".join(f"{one['name']} ({_distance(one)})" for one in far[:6])
        more = f" and {len(far) - 6:,} more" if len(far) > 6 else ""
        said.append(f"Distributions are far from the original in {listed}{more}.")
    return said


# --- the sections -----------------------------------------------------------------------------------------------------


def boxes_sections(values: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    attributes = {one["name"]: one for one in values["attributes"]}
    set_aside = values["rows"]["taking_part"] != values["rows"]["in"]
    near: list[Block] = [Words("The original has no rows, so there is nothing to compare.")]
    if attributes:
        why = "by noise, because values are spread inside boxes"
        lines = [(one["name"], _distance(one), share_text(one["gap"])) for one in attributes.values()]
        near = [
            Words(
                "How far the published distribution of each attribute is from the original's: "
                f"{why}{', and because not all rows took part' if set_aside else ''}."
            ),
            DataTable(heads(["attribute"], ["distance", "largest gap"]), lines),
        ]
    return MethodSections(
        rows=[FactList(_row_facts(values))],
        columns=[
            Section("How near the rows are", near),
            *moments_table(list(attributes.values())),
            *column_sections(values["columns"], attributes),
        ],
        findings=[correlation_section(values["correlations"])],
        methods=[*METHODS, *([ALL_ROWS] if set_aside else [])],
    )


def _row_facts(values: Mapping[str, Any]) -> list[Fact]:
    rows, boxes = values["rows"], values["boxes"]
    return [
        *row_facts(rows, "those of each unit that the policy counts, at random"),
        ("published", f"{rows['published']:,}", "a noisy number, and nobody's rows"),
        ("boxes", f"{boxes['all']:,}", f"each count is off by up to {boxes['half_width']:.3g} in 95 of 100 cases"),
    ]


def _distance(one: Mapping[str, Any]) -> str:
    if one["distance"] is not None and one["in_deviations"]:
        return f"{number_text(one['distance'])} sd"
    return share_text(one["distance"])
