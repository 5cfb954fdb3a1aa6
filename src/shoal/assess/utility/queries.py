"""A workload of random range queries: how many records satisfy a condition on one to three columns, before and after.

A query takes one, two or three columns at random, and of each a random run of parts (of names a random half of the values). Its
answer is a share of the records. Relative errors divide by the true share, or by one in a thousand where it is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.assess.comparison.parts import AttributeParts, Floats
from shoal.assess.comparison.table import ComparableTable
from shoal.assess.quantity import LEVEL, Quantity
from shoal.chance.source import Source

QUERIES = 600
SETS = 60
"""Sets of columns; the queries are spread over them."""
SANITY = 0.001


@dataclass(frozen=True)
class QueryErrors:
    """The errors of the workload: mean absolute error of shares, median and 95th percentile of relative errors."""

    queries: int
    absolute: Quantity
    relative_median: float
    relative_95: float
    shares: tuple[tuple[float, float], ...]
    """The true and the released share of each query."""

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values for JSON, without the single queries."""
        return {
            "queries": self.queries,
            "absolute": self.absolute.to_json(),
            "relative_median": self.relative_median,
            "relative_95": self.relative_95,
            "sanity_bound": SANITY,
        }


def compare_queries(original: ComparableTable, released: ComparableTable, source: Source) -> QueryErrors:
    """Ask both tables the same random queries."""
    names = released.names
    sets = []
    for number in range(SETS):
        width = min(len(names), 1 + number % 3)
        sets.append(tuple(names[place] for place in sorted(source.permutation(len(names))[:width].tolist())))
    found = []
    for own in sets:
        tables = [table.marginal(*own) for table in (original, released)]
        for _ in range(QUERIES // SETS):
            masks = [_mask(original[name].parts, source) for name in own]
            found.append(tuple(_answer(table, masks) for table in tables))
    pairs = np.array(found)
    errors = np.abs(pairs[:, 0] - pairs[:, 1])
    relative = errors / np.maximum(pairs[:, 0], SANITY)
    half = 1.96 * float(errors.std(ddof=1)) / len(errors) ** 0.5
    mean = float(errors.mean())
    said = f"mean absolute error of the share, {len(found):,} random range queries on one to three columns (normal approximation)"
    return QueryErrors(
        queries=len(found),
        absolute=Quantity(mean, max(0.0, mean - half), mean + half, "estimate", said, LEVEL),
        relative_median=float(np.median(relative)),
        relative_95=float(np.quantile(relative, 0.95)),
        shares=tuple((float(one), float(other)) for one, other in found),
    )


def _mask(parts: AttributeParts, source: Source) -> Floats:
    """The parts that a condition on a column names."""
    count = len(parts) - 1
    found = np.zeros(len(parts))
    if parts.ordered:
        first, last = sorted(source.integers(count + 1, 2).tolist())
        found[first : max(last, first + 1)] = 1.0
    else:
        found[source.permutation(count)[: max(1, (count + 1) // 2)]] = 1.0
    return found


def _answer(table: Floats, masks: list[Floats]) -> float:
    for mask in masks:
        table = np.tensordot(table, mask, axes=([0], [0]))
    return float(table)
