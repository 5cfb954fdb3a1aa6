"""How much a published column says about people: its detail, its distance from the original, and whether it says anything.

Rows are weighed, not declared values. Of the N rows of the original let p(v) have value v and P(L) a value that label L may
stand for; n(L) published rows show L, and m rows were sampled on average. Then

    detail   = Σ n(L) (1 − P(L)) / (m (1 − Σ p(v)²))     what a row's label rules out of all rows, over what the values would
    distance = (Σ |before(L) − n(L)/m| + |1 − Σ n(L)/m|) / 2     before(L) is the share of the original's rows that L labels

So detail is the probability that the label of one sampled row rules out the value of another row, over the probability
that the two values differ. A suppressed row adds 0 to it, and counts in full in the distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.anonymize.generalize.base import Recoding
from shoal.anonymize.generalize.tree.boxes import BoxRecoding
from shoal.data.hierarchy.level import MISSING, Level
from shoal.data.type import spell
from shoal.engine.base import Counts, Table

MUCH = 0.8
"""A label that stands for several values and has this share of the published rows leaves little to be said."""
LITTLE = 0.5
"""Below this detail of the published rows a column with such a label is said to say little."""
LEAST = 0.1
"""Below this detail of the published rows any column is."""
NORMAL_95 = 1.96

DETAIL = (
    "Detail: take two rows of the original at random; the probability that the published label of the first rules out the "
    "value of the second, over the probability that their values differ. 1 where every row's value is shown, 0 where labels "
    "rule out nothing. Rows of the original are weighed, not declared values; a suppressed row counts 0. The interval "
    "(95\u00a0%) is there because the size of the sample is no longer known."
)
"""What the measure is, for a page."""
NOTHING, FEW, CONSTANT = "nothing", "little", "one value in the original"


class Original:
    """Counts of the original's rows by value and by cell; each column is counted once and kept."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._sizes: dict[str, dict[int, int]] = {}
        self._cells: dict[tuple[str, int], dict[str, int]] = {}

    def sizes(self, name: str) -> dict[int, int]:
        """How many values of an attribute occur once in the original, twice, …: there may be as many values as rows."""
        if name not in self._sizes:
            self._sizes[name] = self._table.class_sizes([name])
        return self._sizes[name]

    def cells(self, name: str, level: Level) -> dict[str, int]:
        """How many rows of the original lie in each cell of an attribute."""
        key = name, id(level)
        if key not in self._cells:
            self._cells[key] = by_label(self._table.recode({name: level}).count_by([name]))
        return self._cells[key]


@dataclass(frozen=True)
class SampleSize:
    """The number of rows in the sample, as far as it is known: mean and standard deviation (0 where the table is the sample)."""

    rows: float
    deviation: float = 0.0


@dataclass(frozen=True)
class ColumnDetail:
    """How much a published column says about single rows: its detail, its distance from the original, its commonest label."""

    detail: float | None
    """Over all sampled rows, a suppressed one counting 0; None where the original has one value only."""
    low: float | None
    high: float | None
    """Its 95 % interval: the size of the sample is not known, only its distribution (normal approximation)."""
    shown: float | None
    """Over the published rows alone; exact."""
    distance: float | None
    """None for a column that says nothing: labels that are all alike cannot differ from the original's."""
    says: str | None
    """`nothing`, `little`, `one value in the original`, or None for a column that says more."""
    label: str | None
    """The label that most published rows show."""
    share: float | None
    """The share of the published rows that show it."""

    def to_json(self) -> dict[str, object]:
        """The measures as plain values, rounded to six digits."""
        return {
            "detail": _digits(self.detail),
            "detail_low": _digits(self.low),
            "detail_high": _digits(self.high),
            "detail_of_rows_shown": _digits(self.shown),
            "says": self.says,
            "commonest": None if self.label is None else {"label": self.label, "share": _digits(self.share)},
            "distance": _digits(self.distance),
        }

    def caution(self, name: str) -> str | None:
        """A sentence about a column that says nothing or little; None for one that says more."""
        if self.says == NOTHING and self.label is not None:
            return f"'{name}' says nothing: every published row shows '{self.label}'."
        if self.says == FEW and self.share is not None:
            share = f"{min(99, round(100 * self.share))}\u00a0%"
            few = f"detail {self.detail:.3f}, and {share} of the published rows show '{self.label}'"
            return f"'{name}' says little: {few}, which stands for several values."
        return None


def column_detail(
    recoding: Recoding,
    original: Original,
    name: str,
    before: Mapping[str, int],
    after: Mapping[str, int],
    expected: SampleSize,
) -> ColumnDetail:
    """Measure one column; `before` are the original's rows by label, `after` the published rows by label."""
    sizes = original.sizes(name)
    total, left = sum(size * often for size, often in sizes.items()), sum(after.values())
    # Added up as fractions, which round once: as if every value had been added.
    same = sum(often * Fraction((size / total) ** 2) for size, often in sizes.items())
    differ = 1 - float(same) if total else 0.0
    covered = covers(recoding, original, name, before)
    ruled_out = math.fsum(count * (1 - covered.get(label, 0.0)) for label, count in after.items())
    label = max(after, key=lambda each: (after[each], each)) if left else None
    share = after[label] / left if label is not None else None
    constant = sum(sizes.values()) == 1
    low, value, high = (_over(ruled_out, differ, left, expected, side) for side in (1, 0, -1))
    shown = min(1.0, ruled_out / (left * differ)) if left and not constant else None
    says = CONSTANT if constant else _says(recoding, name, after, shown, label, share)
    far = None if says in (NOTHING, CONSTANT) and left else distance(before, after, expected.rows)
    if constant:
        return ColumnDetail(None, None, None, None, far, says, label, share)
    return ColumnDetail(value, low, high, shown, far, says, label, share)


def _says(
    recoding: Recoding, name: str, after: Mapping[str, int], shown: float | None, label: str | None, share: float | None
) -> str | None:
    if len(after) <= 1 or label is None or share is None or shown is None:
        return NOTHING
    losses = recoding.losses(name)
    coarse = (losses.get(label, 0.0) if isinstance(losses, Mapping) else losses) > 0 and label != MISSING
    return FEW if shown < LEAST or (coarse and share >= MUCH and shown < LITTLE) else None


def _over(ruled_out: float, differ: float, left: int, expected: SampleSize, side: int) -> float:
    """The detail where the sample was as large as expected, or larger (`side` 1) or smaller (−1) by two deviations."""
    sampled = max(float(left), expected.rows + side * NORMAL_95 * expected.deviation)
    return min(1.0, ruled_out / (sampled * differ)) if sampled > 0 and differ > 0 else 0.0


def covers(recoding: Recoding, original: Original, name: str, before: Mapping[str, int]) -> dict[str, float]:
    """The share of the original's rows whose value a label may stand for; boxes share values, so theirs add up to more."""
    total = sum(before.values())
    if not isinstance(recoding, BoxRecoding):
        return {label: count / total for label, count in before.items()} if total else {}
    side = recoding.tree.layout.sides[recoding.columns.index(name)]
    cells = original.cells(name, side.cells.level)
    shares = np.array([cells.get(cell, 0) for cell in side.cells.labels]) / max(1, sum(cells.values()))
    return {label: float(shares[list(side.members(node))].sum()) for node, label in enumerate(side.labels)}


def distance(before: Mapping[Any, int], after: Mapping[Any, int], expected: float) -> float | None:
    """Half the sum of the differences between the original's shares and the published rows over those expected."""
    total = sum(before.values())
    if not total or not expected:
        return None
    parts = [abs(before.get(each, 0) / total - after.get(each, 0) / expected) for each in {*before, *after}]
    return min(1.0, (math.fsum(parts) + abs(1 - sum(after.values()) / expected)) / 2)


def distance_by_chance(before: Mapping[str, int], expected: float, share: float) -> float | None:
    """What sampling alone would make the distance on average, with nothing suppressed (normal approximation).

    `share` is the part of the table that is sampled.
    """
    total = sum(before.values())
    if not total or not expected:
        return None
    left = max(0.0, 1 - share) / expected
    sums = [math.sqrt(2 / math.pi * count / total * left) for count in before.values()]
    return min(1.0, (math.fsum(sums) + math.sqrt(2 / math.pi * left)) / 2)


def by_label(counts: Counts, at: int = 0) -> dict[str, int]:
    """Counts by the text of a label or value."""
    return count_labels(zip(counts.tuples[at].tolist(), counts.counts.tolist(), strict=True))


def count_labels(pairs: Iterable[tuple[object, int]]) -> dict[str, int]:
    """Counts by label; the missing value carries the label that it has at every other level."""
    found: dict[str, int] = {}
    for value, count in pairs:
        label = MISSING if value is None else spell(value)
        found[label] = found.get(label, 0) + int(count)
    return found


def first_cautions(columns: Mapping[str, ColumnDetail]) -> list[str]:
    """The cautions about columns that say nothing, then about those that say little."""
    found = [(one.says != NOTHING, one.caution(name)) for name, one in columns.items()]
    return [text for _, text in sorted(found, key=lambda each: each[0]) if text is not None]


def _digits(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
