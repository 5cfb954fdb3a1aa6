"""Record linkage, SC13 §6.4.2: how many masked records an intruder who holds the original can match to their own.

For each masked record, G is the set of original records nearest to it. The match succeeds with probability 1/|G| if its own
original is in G, and not at all otherwise; RL is 100 times the average. It is exact: a fact of the two tables.

The caller says by the columns of the tables which attributes the intruder holds. The distance is Euclidean over
them, each in a unit: its standard deviation in the original (for names, the root of the spread), one, or given numbers.
An attribute that does not vary in the original distinguishes no records. Distances that agree to 12 digits are equal: a
centroid is a rounded number, and the two records it lies between are equally far from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.assess.distortion.record_pairs import ColumnPair, Floats, NumericPair, pair_columns
from shoal.data.taxonomy import Taxonomy
from shoal.errors import ParameterError, UsageError

VERSION = 1
BLOCK = 2_000_000
"""Distances held in memory at once."""
ALIKE = 1 + 2e-12
"""Squared distances within this factor are equal."""
SCALES = ("deviation", "none")


@dataclass(frozen=True)
class Linkage:
    """The record linkage rate RL and its parts.

    `rate` is RL in percent, and `guessing` what picking an original at random would reach. `expected` is the number of
    records matched on average; `certain` of them have their own original alone in G; `possible` have it in G.
    """

    rows: int
    attributes: tuple[str, ...]
    scale: str
    expected: float
    certain: int
    possible: int

    @property
    def rate(self) -> float:
        """RL, in percent."""
        return 100 * self.expected / self.rows

    @property
    def guessing(self) -> float:
        """What matching at random reaches, in percent."""
        return 100 / self.rows

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON."""
        return {
            "version": VERSION,
            "exact": True,
            **asdict(self),
            "attributes": list(self.attributes),
            "rate": self.rate,
            "guessing": self.guessing,
        }

    def words(self) -> str:
        """Give the result in a sentence."""
        return (
            f"An intruder who holds {len(self.attributes)} attributes of all {self.rows:,} original records matches "
            f"{self.rate:.3g} % of the masked ones to their own (guessing: {self.guessing:.2g} %); {self.certain:,} for sure."
        )


def linkage(
    original: Any, masked: Any, *, scale: str = "deviation", units: Sequence[float] | None = None,
    taxonomies: Mapping[str, Taxonomy] | None = None,
) -> Linkage:  # fmt: skip
    """Compute the record linkage rate RL of a masked table; n distances for each different masked record, in bounded memory.

    Arguments  `original`, `masked`: the attributes that the intruder holds, one masked record for each original, in the same
               order; `scale`: 'deviation', or 'none' for the attributes' own units (as SC13 has it); `units`: instead, one
               number for each column, such as the width of its declared domain; `taxonomies`: distances of names, by column
    Raises     UsageError for tables or units that do not fit, ParameterError for another scale

    >>> linkage({"x": [1.0, 2.0, 9.0]}, {"x": [1.5, 1.5, 9.0]}).expected
    2.0
    """
    pairs = pair_columns(original, masked, taxonomies)
    weights = _weights(pairs, scale, units)
    weighted = [(pair, weight) for pair, weight in zip(pairs, weights, strict=True) if weight]
    rows = len(pairs[0].squares)
    own = np.zeros(rows)
    for pair, weight in weighted:  # as `_nearest` adds them, so that equal distances are equal numbers
        whole = isinstance(pair, NumericPair) and pair.complete
        own += _apart(*pair.keys(), sqrt(weight)) if whole else weight * pair.squares
    before, copies, _ = _distinct([pair.keys()[0] for pair, _ in weighted], rows)
    after, _, place = _distinct([pair.keys()[1] for pair, _ in weighted], rows)
    least, nearest = _nearest(weighted, before, after, copies)
    hit = own <= least[place] * ALIKE
    sizes = nearest[place][hit]
    return Linkage(
        rows=rows,
        attributes=tuple(pair.name for pair in pairs),
        scale="units" if units is not None else scale,
        expected=float((1 / sizes).sum()),
        certain=int(np.count_nonzero(sizes == 1)),
        possible=int(np.count_nonzero(hit)),
    )


def _apart(original: Floats, masked: Floats, unit: float) -> Floats:
    return np.asarray((masked * unit - original * unit) ** 2)


def _weights(pairs: tuple[ColumnPair, ...], scale: str, units: Sequence[float] | None) -> list[float]:
    """Give the weight of a squared distance of each column; 0 for a column that does not vary."""
    if scale not in SCALES:
        raise ParameterError("no such scale", came=repr(scale), allowed=", ".join(SCALES))
    if units is None:
        return [0.0 if not p.variance else 1 / p.variance if scale == "deviation" else 1.0 for p in pairs]
    if len(units) != len(pairs) or not all(0 < unit < np.inf for unit in units):
        raise UsageError(
            "the units do not fit the columns", came=f"{len(units)} units", allowed=f"{len(pairs)} positive numbers"
        )
    return [float(unit) ** -2 if pair.variance else 0.0 for pair, unit in zip(pairs, units, strict=True)]


def _distinct(
    columns: list[npt.NDArray[Any]], rows: int
) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Give the distinct tuples, how often each occurs, and the index of each record's tuple."""
    if not columns:
        return [], np.array([rows]), np.zeros(rows, dtype=np.intp)
    codes = np.stack([np.unique(column, return_inverse=True)[1].ravel() for column in columns])
    _, first, place, counts = np.unique(codes, axis=1, return_index=True, return_inverse=True, return_counts=True)
    return [column[first] for column in columns], counts, place.ravel()


def _nearest(
    weighted: list[tuple[ColumnPair, float]],
    before: list[npt.NDArray[Any]],
    after: list[npt.NDArray[Any]],
    copies: npt.NDArray[np.int64],
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Give for each distinct masked record the least squared distance to an original, and how many originals are so near."""
    if not weighted:
        return np.zeros(1), copies
    from scipy.spatial.distance import cdist

    plain = [i for i, (pair, _) in enumerate(weighted) if isinstance(pair, NumericPair) and pair.complete]
    others = [i for i in range(len(weighted)) if i not in plain]
    roots = [sqrt(weighted[i][1]) for i in plain]
    targets = np.column_stack([before[i] * unit for i, unit in zip(plain, roots, strict=True)]) if plain else None
    count = len(after[0])
    least, nearest = np.empty(count), np.empty(count, dtype=np.int64)
    step = max(1, BLOCK // len(copies))
    for start in range(0, count, step):
        block = slice(start, min(start + step, count))
        squares = np.zeros((block.stop - start, len(copies)))
        if targets is not None:
            points = np.column_stack([after[i][block] * unit for i, unit in zip(plain, roots, strict=True)])
            squares = cdist(points, targets, "sqeuclidean")
        for i in others:
            pair, weight = weighted[i]
            part = pair.between(after[i][block], before[i])
            part *= weight
            squares += part
        least[block] = squares.min(axis=1)
        near = squares <= (least[block] * ALIKE)[:, None]
        ties = np.count_nonzero(near, axis=1) > 1
        nearest[block] = copies[squares.argmin(axis=1)]
        nearest[block][ties] = near[ties] @ copies
    return least, nearest
