"""A treated column before and after, record beside record: as numbers or names to compare, and as a picture's values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.columns import as_objects, column_of, numbers, taxonomy_of
from shoal.anonymize.cluster.mdav import Labels
from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING
from shoal.data.schema import Attribute
from shoal.data.taxonomy import Taxonomy
from shoal.data.type import Type, spell, texts

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

MOST_LABELS = 20
"""Labels of a column that are shown; the others are added up."""
BINS = 24
DOTS = 300
"""Records of a picture that shows single ones."""
DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, eq=False)
class ColumnChange:
    """One attribute of all records; NaN or None where a cell is missing. Dates and times count in days, ordered values in ranks.

    Where a group shows an interval, `after` has its middle.
    """

    attribute: Attribute
    rule: str
    before: Array
    after: Array
    tree: Taxonomy | None = None

    @property
    def numeric(self) -> bool:
        """Whether cells are numbers, so that differences mean something."""
        return bool(self.before.dtype.kind == "f")

    @property
    def has_moments(self) -> bool:
        """Whether means and variances of the column mean something: not for ranks and names."""
        return self.numeric and self.attribute.type is not Type.ORDINAL

    def moments(self) -> dict[str, float | None]:
        """Mean and variance of the cells that are there, before and after; None for ranks and names."""
        found: dict[str, float | None] = {}
        for side, values in (("before", self.before), ("after", self.after)):
            found[f"mean_{side}"], found[f"variance_{side}"] = _moments(values) if self.has_moments else (None, None)
        return found

    def missing(self) -> tuple[int, int]:
        """How many cells are missing, before and after."""
        return int(_absent(self.before).sum()), int(_absent(self.after).sum())

    def constant(self) -> tuple[bool, bool]:
        """Whether all cells are alike, before and after; missing ones are like each other."""
        return _alike(self.before), _alike(self.after)


def column_change(attribute: Attribute, rule: str, before: Array, after: Array, labels: Labels) -> ColumnChange:
    """One attribute of the original and of the masked table, whose records are in the same order; `labels` are their clusters."""
    ordinal = attribute.type is Type.ORDINAL and isinstance(attribute.domain, Values)
    if attribute.type.numeric or ordinal or (attribute.type is Type.BOOLEAN and rule != "set"):
        own = _floats(attribute, before)
        shown = _middles(own, labels) if rule == "interval" else _floats(attribute, after)
        shown[np.ma.getmaskarray(after)] = np.nan
        return ColumnChange(attribute, rule, own, shown)
    known = attribute.hierarchy is not None and rule != "set"
    return ColumnChange(
        attribute, rule, _names(before), _names(after), taxonomy_of(attribute, before) if known else None
    )


def _names(values: Array) -> Array:
    """The cells of a column of names as texts; truth values as a policy spells them."""
    if np.ma.getdata(values).dtype.kind == "b":
        plain = np.array(texts(np.ma.getdata(values)), dtype=object)
        return as_objects(np.ma.masked_array(plain, np.ma.getmaskarray(values)))
    return as_objects(values)


def as_numbers(attribute: Attribute, values: Array) -> Floats | None:
    """A column as numbers, NaN where missing; None for names."""
    ordinal = attribute.type is Type.ORDINAL and isinstance(attribute.domain, Values)
    return _floats(attribute, values) if attribute.type.numeric or ordinal or attribute.type is Type.BOOLEAN else None


def _floats(attribute: Attribute, values: Array) -> Floats:
    if attribute.type is Type.ORDINAL:
        own = column_of(attribute, values)
        found, gone = np.array(own.order(), dtype=np.float64), np.ma.getmaskarray(values)
    else:
        plain = numbers(values)
        found, gone = np.ma.getdata(plain).astype(np.float64), np.ma.getmaskarray(values)
        if attribute.type is Type.DATETIME:
            found = found / DAY
    found[gone] = np.nan
    return found


def _middles(values: Floats, labels: Labels) -> Floats:
    """Halfway between the least and the largest value of each record's cluster."""
    groups = int(labels.max()) + 1
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    there = ~np.isnan(values)
    np.minimum.at(low, labels[there], values[there])
    np.maximum.at(high, labels[there], values[there])
    some = low <= high
    middle = np.full(groups, np.nan)
    middle[some] = low[some] + (high[some] - low[some]) / 2
    return middle[labels]


def _absent(values: Array) -> npt.NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.fromiter((value is None for value in values), np.bool_, len(values))


def _alike(values: Array) -> bool:
    gone = _absent(values)
    there = values[~gone]
    return bool(gone.all() or (not gone.any() and (there == there[0]).all()))


def _moments(values: Floats) -> tuple[float | None, float | None]:
    there = values[~np.isnan(values)]
    if not len(there):
        return None, None
    mean = math.fsum((there - there[0]).tolist()) / len(there) + float(there[0])
    return mean, math.fsum(((there - mean) ** 2).tolist()) / len(there)


# --- pictures -----------------------------------------------------------------------------------------------------


def picture(one: ColumnChange, before: Array, after: Array) -> dict[str, Any]:
    """Both distributions: counts in bins of a number, counts of labels of everything else."""
    if one.numeric and one.attribute.type.numeric:
        return _bins(one)
    return _bars(one, before, after)


def _bins(one: ColumnChange) -> dict[str, Any]:
    before, after = one.before[~np.isnan(one.before)], one.after[~np.isnan(one.after)]
    both = np.concatenate([before, after])
    if not len(both):
        return {"kind": "bins", "edges": [], "before": [], "after": [], "cut": False, "records": []}
    edges, cut = _edges(one, before, both)
    inside = [np.clip(values, edges[0], edges[-1]) for values in (before, after)]
    counts = [np.histogram(values, edges)[0].tolist() for values in inside]
    return {
        "kind": "bins",
        "edges": edges.tolist(),
        "before": counts[0],
        "after": counts[1],
        "cut": cut,
        "records": _records(one, edges) if len(one.before) == len(one.after) else [],
    }


def _edges(one: ColumnChange, before: Floats, both: Floats) -> tuple[Floats, bool]:
    """Bins over the whole range, or, where a few values stretch it, over the middle 98 in 100; the rest is in the end bins."""
    low, high = float(both.min()), float(both.max())
    if one.attribute.type.discrete and high - low < BINS:
        return np.arange(math.floor(low), math.ceil(high) + 2, dtype=np.float64) - 0.5, False
    near, far = (float(value) for value in np.quantile(before if len(before) else both, (0.01, 0.99)))
    cut = far > near and high - low > 3 * (far - near)
    if cut:
        low, high = near, far
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, BINS + 1), cut


def _records(one: ColumnChange, edges: Floats) -> list[list[float]]:
    """What some records had and what they show, at even steps of rank; those outside the bins are left out."""
    whole = ~(np.isnan(one.before) | np.isnan(one.after))
    for values in (one.before, one.after):
        whole &= (values >= edges[0]) & (values <= edges[-1])
    rows = np.flatnonzero(whole)
    if not len(rows):
        return []
    ranked = rows[np.argsort(one.before[rows], kind="stable")]
    chosen = ranked[np.unique(np.linspace(0, len(ranked) - 1, min(DOTS, len(ranked))).round().astype(np.int64))]
    return [[float(one.before[row]), float(one.after[row])] for row in chosen]


def _bars(one: ColumnChange, before: Array, after: Array) -> dict[str, Any]:
    counts = [_label_counts(values) for values in (before, after)]
    order = _label_order(one.attribute)
    rows = max(1, len(before)), max(1, len(after))
    known = sorted(counts[0].keys() | counts[1].keys(), key=lambda label: (-counts[0].get(label, 0), label))
    chosen = (
        sorted(known[:MOST_LABELS], key=lambda label: order.get(label, len(order))) if order else known[:MOST_LABELS]
    )
    others = known[MOST_LABELS:]
    old, new = counts
    entry = [_label(label, old.get(label, 0), new.get(label, 0), rows) for label in chosen]
    rest = _label(None, sum(old.get(one, 0) for one in others), sum(new.get(one, 0) for one in others), rows)
    return {"kind": "bars", "labels": entry, "rest": {**rest, "labels": len(others)} if others else None}


def _label(label: str | None, before: int, after: int, rows: tuple[int, int]) -> dict[str, Any]:
    return {
        "label": label,
        "rows": before,
        "published": after,
        "share": round(before / rows[0], 6),
        "published_share": round(after / rows[1], 6),
    }


def _label_counts(values: Array) -> dict[str, int]:
    gone, data = np.ma.getmaskarray(values), np.ma.getdata(values)
    known, counts = np.unique(data[~gone], return_counts=True)
    found = {spell(value): int(count) for value, count in zip(known.tolist(), counts, strict=True)}
    if gone.any():
        found[MISSING] = found.get(MISSING, 0) + int(gone.sum())
    return found


def _label_order(attribute: Attribute) -> dict[str, int]:
    """The order of an ordinal attribute's values."""
    if attribute.type is not Type.ORDINAL or not isinstance(attribute.domain, Values):
        return {}
    return {value: place for place, value in enumerate(attribute.domain.values)}
