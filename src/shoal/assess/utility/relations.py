"""Relations between columns before and after: correlations of numbers, and Cramér's V of any two columns by their parts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from shoal.assess.comparison.parts import Floats
from shoal.assess.comparison.table import ComparableTable
from shoal.assess.utility.marginals import total_variation

MOST_COLUMNS = 28
"""Columns of which all pairs are compared; of more, the first."""


@dataclass(frozen=True)
class Relation:
    """How two columns hang together in the original and in the release."""

    names: tuple[str, str]
    association: tuple[float, float]
    """Cramér's V before and after, without a correction for bias."""
    correlation: tuple[float, float] | None
    """Pearson's correlation of two columns of numbers; None for others, and where one does not vary."""
    total_variation: float
    """How far the table of both columns is from the original's."""


@dataclass(frozen=True)
class Relations:
    """The relations of all compared pairs, and the mean of their differences."""

    pairs: tuple[Relation, ...]
    possible: int

    @property
    def association_difference(self) -> float | None:
        """The mean absolute difference of Cramér's V."""
        return _mean([abs(one.association[0] - one.association[1]) for one in self.pairs])

    @property
    def correlation_difference(self) -> float | None:
        """The mean absolute difference of the correlations of numbers."""
        found = [one.correlation for one in self.pairs if one.correlation is not None]
        return _mean([abs(before - after) for before, after in found])

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values for JSON."""
        return {
            "possible": self.possible,
            "association_difference": self.association_difference,
            "correlation_difference": self.correlation_difference,
            "pairs": [
                {
                    "names": list(one.names),
                    "association": list(one.association),
                    "correlation": None if one.correlation is None else list(one.correlation),
                    "total_variation": one.total_variation,
                }
                for one in self.pairs
            ],
        }


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def cramers_v(table: Floats) -> float:
    """Cramér's V of a table of shares (Cramér 1946): 0 for independence, 1 where one column decides the other.

    >>> cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]]))
    1.0
    """
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    kept = table[np.ix_(rows > 0, columns > 0)]
    width = min(kept.shape) - 1
    if width < 1:
        return 0.0
    expected = np.outer(kept.sum(axis=1), kept.sum(axis=0)) / kept.sum()
    phi = float(((kept - expected) ** 2 / expected).sum() / kept.sum())
    return float(min(1.0, np.sqrt(phi / width)))


def compare_relations(original: ComparableTable, released: ComparableTable) -> Relations:
    """Compare the relations of the columns that a release has."""
    names = released.names[:MOST_COLUMNS]
    correlations = [_correlations(table, names) for table in (original, released)]
    found = []
    for pair in combinations(names, 2):
        before, after = original.marginal(*pair), released.marginal(*pair)
        own = [known.get(pair) for known in correlations]
        both = None if own[0] is None or own[1] is None else (own[0], own[1])
        found.append(Relation(pair, (cramers_v(before), cramers_v(after)), both, total_variation(before, after)))
    return Relations(tuple(found), comb(len(released.names), 2))


def _correlations(table: ComparableTable, names: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """Pearson's correlations of expected numbers, over rows in which neither is missing.

    The variance of a label is that of the numbers that it stands for, so a coarse label lowers a correlation as it should.
    """
    numbers = {name: table[name].numbers for name in names if table[name].parts.numeric}
    squares = {name: table[name].square_numbers for name in numbers}
    found = {}
    for one, other in combinations(numbers, 2):
        x, y = numbers[one], numbers[other]
        known = ~(np.isnan(x) | np.isnan(y))
        if not known.any():
            continue
        a, b = x[known] - x[known].mean(), y[known] - y[known].mean()
        spread = [
            max(float(squares[name][known].mean() - own[known].mean() ** 2), 0.0)
            for name, own in ((one, x), (other, y))
        ]
        if min(spread) > 1e-12 * (1 + max(spread)) * 1e-3:
            found[(one, other)] = float(np.clip((a * b).mean() / (spread[0] * spread[1]) ** 0.5, -1, 1))
    return found
