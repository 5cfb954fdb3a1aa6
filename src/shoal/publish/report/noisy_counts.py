"""The custodian's report on noisy counts: how far each published table, and the synthetic one, is from the original, and why.

Computed from the original and from what was published; nothing is drawn again. The noise was known before any row was read, so
each error stands beside the one that was to be expected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.measure.count import ExactTables
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table, open_engine
from shoal.model.fit import fit
from shoal.page.html import inline
from shoal.page.number_text import unit_text
from shoal.page.picture import Picture, PlotAxis, Series
from shoal.page.section import DataTable, Fact, FactList, Figure, Section, heads
from shoal.progress import Stage, each_of
from shoal.publish.plan.base import Plan
from shoal.publish.report.document import MethodSections, report_opening, rows_taking_part
from shoal.publish.report.sections import SOME_ROWS, row_facts

if TYPE_CHECKING:
    from shoal.anonymize.measure.tables import MeasuredCounts, NoisyTable

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
POOR = 0.2
"""A table further than this from the original is called poor."""
WIDE = 2.0
"""Distances beyond this are drawn on a logarithmic axis: one table of many cells would flatten all others."""
SURPRISE = 5.0
"""Standard deviations beyond which more counts outside their intervals than noise explains are a fault of ours."""
SYNTHETIC = (
    "Synthetic: half the sum of the differences between the shares of the synthetic rows and those of the original's rows in the "
    "same cells."
)
FEWER_ROWS = (
    "Of people with more rows than the unit allows only some rows were counted, chosen at random; the errors are from the "
    "original's counts, each times the share of the rows that took part."
)
WIDTHS = {1: "one attribute", 2: "two attributes", 3: "three attributes"}


def noisy_counts_report(
    plan: Plan, table: Table, measured: MeasuredCounts, public: Path, content: dict[str, Any], stage: Stage
) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    people, synthetic = rows_taking_part(plan, table), content["synthetic"]
    shown_in = Schema(tuple(plan.policy.schema.published))
    drawn = None if synthetic is None else open_engine().scan(public / synthetic["file"], shown_in)
    found = []
    entries = content["counts"]
    stage("counting the tables")
    exact = _count(table, measured.tables)
    shown = [None] * len(measured.tables) if drawn is None else _count(drawn, measured.tables)
    agreed = _estimate(measured, stage)
    share = people / table.rows() if table.rows() else 0.0
    for entry, noisy, original, made, estimate in zip(entries, measured.tables, exact, shown, agreed, strict=True):
        found.append(_table(entry, noisy, original, share, made, estimate))
    distances = _by_width(found, "distance")
    return {
        **report_opening(content),
        "rows": {
            "in": table.rows(),
            "taking_part": people,
            "synthetic": None if drawn is None else drawn.rows(),
        },
        "cautions": _cautions(found, whole=people == table.rows()),
        "notes": list(table.notes),
        "mean_distance": distances,
        "mean_consistent_distance": _by_width(found, "consistent_distance"),
        "mean_synthetic_distance": None if drawn is None else _by_width(found, "synthetic_distance"),
        "composed": content["epsilon_composed"],
        "noise": content["noise"],
        "tables": sorted(found, key=lambda one: -(one["distance"] or 0.0)),
    }


def _count(table: Table, tables: Sequence[NoisyTable]) -> list[Numbers]:
    """The counts of a table's rows in the cells of each noisy table."""
    found: dict[int, Numbers] = {}
    kinds: dict[tuple[int, ...], list[int]] = {}
    for number, each in enumerate(tables):
        kinds.setdefault((len(each.bins) == 1,), []).append(number)
    for numbers in kinds.values():
        bins = {own.name: own for number in numbers for own in tables[number].bins}
        groups = [tables[number].attributes for number in numbers]
        found |= dict(zip(numbers, ExactTables(table).count(groups, bins), strict=True))
    return [found[number] for number in range(len(tables))]


def _estimate(measured: MeasuredCounts, stage: Stage) -> list[Floats]:
    """What a recipient estimates of each table from all of them together."""
    with Source.seeded("joint model") as source:
        model = fit(measured.axes(), measured.as_measurements(), source=source, stage=stage)
    place = {own.name: number for number, own in enumerate(measured.cells)}
    return [
        model.table([place[name] for name in each.attributes], [own.of_cell for own in each.bins])
        for each in each_of(measured.tables, stage, "estimating the tables")
    ]


def _table(
    entry: Mapping[str, Any],
    noisy: NoisyTable,
    original: Numbers,
    share: float,
    made: Numbers | None,
    estimate: Floats,
) -> dict[str, Any]:
    """One published table beside the original, of whose rows this share took part."""
    expected = original * share
    rows = float(expected.sum())
    apart = np.abs(noisy.values - expected)
    usual = expected_error(noisy.sigma)
    return {
        "name": entry["name"],
        "columns": list(noisy.attributes),
        "cells": noisy.cells,
        "sigma": entry["sigma"],
        "half_width": entry["half_width"],
        "distance": _share(float(apart.sum()) / 2, rows),
        "expected_distance": _share(noisy.cells * usual / 2, rows),
        "error": round(float(apart.mean()), 4),
        "expected_error": round(usual, 4),
        "largest_error": round(float(apart.max()), 4),
        "outside": int((apart > int(entry["half_width"])).sum()),
        "empty": int((original == 0).sum()),
        "consistent_distance": _distance_of_shares(estimate, original),
        "synthetic_distance": None if made is None else _distance_of_shares(made, original),
    }


def _share(part: float, rows: float) -> float | None:
    return round(part / rows, 6) if rows else None


def _distance_of_shares(made: Numbers | Floats, original: Numbers) -> float | None:
    """The total variation distance between two tables, each as shares of its own rows."""
    if not made.sum() or not original.sum():
        return None
    return round(float(np.abs(made / made.sum() - original / original.sum()).sum()) / 2, 6)


def expected_error(sigma: Fraction | float) -> float:
    """The mean size of discrete Gaussian noise.

    >>> round(expected_error(10), 3)
    7.972
    """
    width = float(sigma)
    if width > 1000:  # the first two terms of the sum's expansion; the next is below 1e-13 of it
        return (width - 1 / (12 * width)) * math.sqrt(2 / math.pi)
    x = np.arange(1, math.ceil(40 * width) + 2)
    weights = np.exp(-((x / width) ** 2) / 2)
    return float((x * weights).sum() * 2 / (1 + 2 * weights.sum()))


def _by_width(tables: Iterable[dict[str, Any]], key: str) -> dict[str, float]:
    """The mean distance of tables of one attribute, of two, and so on."""
    found: dict[int, list[float]] = {}
    for one in tables:
        if one[key] is not None:
            found.setdefault(len(one["columns"]), []).append(one[key])
    return {str(width): round(float(np.mean(own)), 6) for width, own in sorted(found.items())}


def _cautions(tables: Sequence[dict[str, Any]], *, whole: bool) -> list[str]:
    found = []
    poor = [one for one in tables if _is_poor(one)]
    if poor:
        is_ = "is" if len(poor) == 1 else "are"
        found.append(
            f"{len(poor):,} of {len(tables):,} tables {is_} poor, also when all tables are made consistent: the noise is large "
            f"beside the counts. {_worst(poor)} Fewer tables (so that each gets more of the promise), coarser levels, or a "
            "larger epsilon help."
        )
    counts, outside = sum(one["cells"] for one in tables), sum(one["outside"] for one in tables)
    if whole and outside > 0.05 * counts + SURPRISE * math.sqrt(0.05 * 0.95 * counts) + 1:
        found.append(
            f"{outside:,} of {counts:,} counts lie outside their intervals, more than noise explains. Please report it: it is a "
            "fault of ours."
        )
    return found


def _worst(poor: Sequence[dict[str, Any]]) -> str:
    """The poorest tables by their attributes."""
    ranked = sorted(poor, key=lambda one: -(one["consistent_distance"] or math.inf))
    listed = ", ".join(" × ".join(one["columns"]) for one in ranked[:3])
    return f"The poorest: {listed}." if len(poor) > 1 else f"It is {listed}."


# --- the sections -----------------------------------------------------------------------------------------------------

METHODS = (
    (
        "Error: the mean, over the cells of a table, of the differences between the published count and the one in the original. "
        "Expected: the mean size of its noise, which was known before any row was read. Outside: cells whose count in the "
        "original lies outside the published interval; 5 % are to be expected, or somewhat fewer."
    ),
    (
        "Distance: half the sum of the differences, over the number of rows: the total variation distance, 0 where they agree, "
        "and above 1 where the noise of many cells outweighs the counts. Tables are listed with the farthest first. Consistent: "
        "the same for what a recipient estimates from all tables together (`consistent()`), as shares; it is at most 1. Where it "
        f"exceeds {POOR:g} the line is set in bold."
    ),
)


def noisy_counts_sections(values: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    tables, rows = values["tables"], values["rows"]
    drawn = rows["synthetic"] is not None
    measures = ["cells", "sigma", "error", "expected", "outside", "distance", "consistent", *(["synthetic"] * drawn)]
    lines = [
        [
            " × ".join(one["columns"]),
            f"{one['cells']:,}",
            one["sigma"],
            f"{one['error']:,.2f}",
            f"{one['expected_error']:,.2f}",
            f"{one['outside']:,}",
            unit_text(one["distance"]),
            unit_text(one["consistent_distance"]),
            *([unit_text(one["synthetic_distance"])] * drawn),
        ]
        for one in tables
    ]
    poor = frozenset(place for place, one in enumerate(tables) if _is_poor(one))
    picture = error_picture(tables)
    figure = Figure(
        [inline(picture, "errors")], picture.caption, DataTable(heads(["attributes"], measures), lines, poor)
    )
    return MethodSections(
        rows=[FactList(_row_facts(values))],
        columns=[],
        findings=[Section("Each table", [figure])],
        methods=(
            *METHODS,
            *([SYNTHETIC] if drawn else []),
            *([FEWER_ROWS] if rows["taking_part"] != rows["in"] else []),
            "Nothing was drawn again for this report: the key of the noise is destroyed.",
        ),
    )


def _is_poor(one: Mapping[str, Any]) -> bool:
    return one["consistent_distance"] is None or one["consistent_distance"] > POOR


def _row_facts(values: Mapping[str, Any]) -> list[Fact]:
    rows, tables = values["rows"], values["tables"]
    found = row_facts(rows, SOME_ROWS)
    found.append(("tables", f"{len(tables):,}", f"{sum(one['cells'] for one in tables):,} counts in all"))
    for width, mean in values["mean_distance"].items():
        name = WIDTHS.get(int(width), f"{width} attributes")
        said = "the mean of such tables, as published"
        made, agreed = (values["mean_synthetic_distance"] or {}).get(width), values["mean_consistent_distance"][width]
        said = f"{said}; {agreed:.4f} made consistent"
        found.append(
            (f"distance, {name}", f"{mean:.4f}", said if made is None else f"{said}; {made:.4f} of the synthetic rows")
        )
    if rows["synthetic"] is not None:
        found.append(("synthetic rows", f"{rows['synthetic']:,}", "rows of nobody"))
    return [*found, ("epsilon, composed", values["composed"], "of everything together, at the promised delta")]


def error_picture(tables: Sequence[dict[str, Any]]) -> Picture:
    """The distance of every table, the farthest first, beside the one that noise alone makes on average."""
    known = [one for one in tables if one["distance"] is not None]
    ranks = list(range(1, len(known) + 1))
    series = [
        Series("published", ranks, [one["distance"] for one in known], dots=len(known) <= 200),
        Series("expected", ranks, [one["expected_distance"] for one in known], dashed=True),
    ]
    for key, name, colour in (("consistent_distance", "made consistent", 1), ("synthetic_distance", "synthetic", 2)):
        made = [(rank, one[key]) for rank, one in zip(ranks, known, strict=True) if one[key] is not None]
        if made:
            at, far = [rank for rank, _ in made], [each for _, each in made]
            series.append(Series(name, at, far, colour=colour, dots=len(made) <= 200))
    drawn = [far for each in series for far in each.y]
    wide = max(drawn, default=0.0) > WIDE and min(drawn) > 0  # a logarithmic axis has no nought
    return Picture(
        title="How far each table is from the original",
        x=PlotAxis("tables, the farthest first"),
        y=PlotAxis("total variation distance", log=wide, limits=(None if wide else 0, None)),
        series=series,
        caption="Each published table beside what its noise alone makes on average. The noise of a table does not depend on its "
        "counts, so tables with more cells are farther.",
    )
