"""Distances of marginals: total variation of one, two and three attributes, earth mover's distance and quantiles of one.

total variation    half the sum of the differences of shares, over the cells of the attributes: 0 where the tables agree, 1 where
they have nothing in common
earth mover        of one attribute whose parts have an order: the least work that moves one distribution into the other, the
distance of the first part from the last being 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb, isnan
from typing import Any

import numpy as np

from shoal.assess.comparison.parts import AttributeParts, Floats
from shoal.assess.comparison.table import ComparableTable
from shoal.assess.quantity import LEVEL, Quantity
from shoal.chance.source import Source

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_TUPLES = 400
"""Tuples of attributes that are compared; of more, so many are drawn."""
MOST_TRIPLES = 60


@dataclass(frozen=True)
class ColumnDistance:
    """One column before and after: how far its distribution moved, and its mean, standard deviation and quantiles."""

    name: str
    kind: str
    """numbers, dates, ordered names or names."""
    total_variation: float
    earth_mover: float | None
    mean: tuple[float, float] | None
    """Of the original and of the release; None for names. Dates count days."""
    deviation: tuple[float, float] | None
    quantiles: tuple[tuple[float, float, float], ...]
    """Share, value in the original, value in the release."""
    parts: tuple[tuple[str, float, float], ...]
    """Each part of the column with its share before and after."""

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values for JSON; what a release without a row does not have is None."""

        def plain(numbers: tuple[float, ...]) -> list[float | None]:
            return [None if isnan(number) else number for number in numbers]

        return {
            **asdict(self),
            "mean": None if self.mean is None else plain(self.mean),
            "deviation": None if self.deviation is None else plain(self.deviation),
            "quantiles": [plain(each) for each in self.quantiles],
        }


def total_variation(one: Floats, other: Floats) -> float:
    """Half the sum of the differences of two distributions; 1 where one of them is of nothing.

    >>> total_variation(np.array([0.5, 0.5]), np.array([0.75, 0.25]))
    0.25
    """
    if not one.any() or not other.any():
        return 1.0 if one.any() != other.any() else 0.0
    return float(np.abs(one - other).sum() / 2)


def compare_column(original: ComparableTable, released: ComparableTable, name: str) -> ColumnDistance:
    """Compare one column of two tables."""
    parts = original[name].parts
    before, after = original.marginal(name), released.marginal(name)
    numeric = parts.numeric
    moments = [table.moments(name) for table in (original, released)] if numeric else []
    mean = (moments[0][0], moments[1][0]) if moments else None
    deviation = (moments[0][1] ** 0.5, moments[1][1] ** 0.5) if moments else None
    at = [_quantiles(table, name, QUANTILES) for table in (original, released)] if numeric else []
    kind = "numbers" if parts.type.value in ("integer", "decimal") else "dates" if numeric else "names"
    return ColumnDistance(
        name=name,
        kind="ordered names" if parts.ordered and not numeric else kind,
        total_variation=total_variation(before, after),
        earth_mover=_earth_mover(parts, before, after),
        mean=mean,
        deviation=deviation,
        quantiles=tuple(zip(QUANTILES, at[0], at[1], strict=True)) if at else (),
        parts=tuple(zip(parts.labels, before.tolist(), after.tolist(), strict=True)),
    )


def _earth_mover(parts: AttributeParts, before: Floats, after: Floats) -> float | None:
    """The earth mover's distance of the parts that have an order; missing values are left out."""
    one, other = before[:-1], after[:-1]
    if not parts.ordered or len(one) < 2 or not one.any() or not other.any():
        return None
    gaps = np.cumsum(one / one.sum() - other / other.sum())[:-1]
    return float(np.abs(gaps).sum() / (len(one) - 1))


def _quantiles(table: ComparableTable, name: str, shares: Sequence[float]) -> list[float]:
    """Quantiles of a column of numbers: of its values, or of its distribution with parts spread evenly over their length."""
    column = table[name]
    if column.points is not None and table.model is None:
        held = column.points[~np.isnan(column.points)]
        return [
            float(np.quantile(held, share, method="inverted_cdf")) if len(held) else float("nan") for share in shares
        ]
    parts = column.parts
    assert parts.edges is not None  # noqa: S101 - of a line
    mass = table.marginal(name)[:-1]
    if not mass.any():
        return [float("nan")] * len(shares)
    edges = np.concatenate([[parts.ends[0]], np.clip(parts.edges, *parts.ends), [parts.ends[1]]])
    heights = np.concatenate([[0.0], np.cumsum(mass / mass.sum())])
    return [float(np.interp(share, heights, edges)) for share in shares]


@dataclass(frozen=True)
class MarginalDistances:
    """The total variation of all tuples of so many attributes, or of those that were drawn: their mean and the worst."""

    width: int
    compared: int
    possible: int
    mean: Quantity
    worst: float
    worst_names: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values for JSON."""
        return {**asdict(self), "mean": self.mean.to_json(), "worst_names": list(self.worst_names)}


def compare_marginals(
    original: ComparableTable, released: ComparableTable, width: int, source: Source
) -> MarginalDistances | None:
    """Compare the marginals of `width` attributes; of many, some that are drawn. None where there are too few columns."""
    names = released.names
    possible = comb(len(names), width)
    if not possible:
        return None
    most = MOST_TRIPLES if width > 2 else MOST_TUPLES
    every = list(combinations(names, width)) if possible <= 200_000 else _drawn(names, width, most, source)
    chosen = every
    if len(every) > most:
        chosen = [every[place] for place in sorted(source.permutation(len(every))[:most].tolist())]
    found = np.array([total_variation(original.marginal(*own), released.marginal(*own)) for own in chosen])
    worst = int(found.argmax())
    what = f"mean total variation of {len(chosen):,} of {possible:,} tables of {width} attributes"
    if len(chosen) == possible:
        mean = Quantity.fact(float(found.mean()), what)
    else:
        half = 1.96 * float(found.std(ddof=1)) / len(chosen) ** 0.5
        low, high = max(0.0, float(found.mean()) - half), min(1.0, float(found.mean()) + half)
        mean = Quantity(float(found.mean()), low, high, "estimate", f"{what} (normal approximation)", LEVEL)
    return MarginalDistances(width, len(chosen), possible, mean, float(found[worst]), chosen[worst])


def _drawn(names: Sequence[str], width: int, most: int, source: Source) -> list[tuple[str, ...]]:
    found = {tuple(sorted(source.permutation(len(names))[:width].tolist())) for _ in range(most)}
    return [tuple(names[place] for place in own) for own in sorted(found)]
