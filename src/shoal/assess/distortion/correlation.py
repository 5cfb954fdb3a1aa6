"""The change of correlations by masking: the difference of each correlation, and the average (SC13 §3.4).

A correlation is Pearson's, over the records in which neither number is missing. It is not defined where one of them does
not vary; such pairs are counted and left out. The differences of one masked table are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.assess.distortion.record_pairs import Floats, NumericPair, pair_columns, refuse_unknown_columns
from shoal.errors import DataError, UsageError

VERSION = 1


@dataclass(frozen=True, eq=False)
class CorrelationChange:
    """Differences of correlations to the confidential attributes, masked less original.

    `before` and `after` have a row and a column for each attribute; NaN is a correlation that is not defined. A pair
    counts once, and if at least one of its two attributes is confidential; an attribute and itself are no pair.
    """

    attributes: tuple[str, ...]
    confidential: tuple[str, ...]
    before: Floats = field(repr=False)
    after: Floats = field(repr=False)

    @property
    def pair_mask(self) -> npt.NDArray[np.bool_]:
        """Which cells above the diagonal are pairs that count."""
        marks = np.array([name in self.confidential for name in self.attributes])
        return np.triu(marks[:, None] | marks[None, :], 1)

    @property
    def differences(self) -> Floats:
        """The absolute difference of each pair that counts and has a correlation in both tables."""
        found = np.abs(self.after - self.before)[self.pair_mask]
        return found[~np.isnan(found)]

    @property
    def undefined_pairs(self) -> int:
        """How many pairs that count have no correlation in one of the tables."""
        return int(np.count_nonzero(self.pair_mask)) - len(self.differences)

    @property
    def mean(self) -> float | None:
        """The mean absolute difference; None where no pair has one."""
        return float(self.differences.mean()) if len(self.differences) else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the absolute differences."""
        return float(self.differences.std()) if len(self.differences) else None

    @property
    def largest(self) -> float | None:
        """The largest absolute difference."""
        return float(self.differences.max()) if len(self.differences) else None

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON; an undefined number is None."""
        return {
            "version": VERSION,
            "exact": True,
            "attributes": list(self.attributes),
            "confidential": list(self.confidential),
            "pairs": len(self.differences),
            "undefined": self.undefined_pairs,
            "mean": self.mean,
            "deviation": self.deviation,
            "largest": self.largest,
            "before": _plain(self.before),
            "after": _plain(self.after),
        }

    def words(self) -> str:
        """Give the result in a sentence."""
        if self.mean is None:
            return "No pair of attributes has a correlation in both tables."
        return (
            f"Correlations moved by {self.mean:.3g} on average and {self.largest:.3g} at most, "
            f"over {len(self.differences)} pairs of attributes."
        )


def correlation_change(original: Any, masked: Any, confidential: Sequence[str] | None = None) -> CorrelationChange:
    """Compare the correlations of two tables of numbers; all attributes are confidential unless some are named.

    Columns of names are left out, since they have no correlation. Rows need not be in the same order.
    """
    pairs = pair_columns(original, masked)
    wanted = (
        [pair.name for pair in pairs if isinstance(pair, NumericPair)] if confidential is None else list(confidential)
    )
    refuse_unknown_columns(pairs, wanted)
    numbers = [pair for pair in pairs if isinstance(pair, NumericPair)]
    without = [name for name in wanted if name not in {pair.name for pair in numbers}]
    if without:
        raise UsageError("columns of names have no correlation", came=", ".join(without), allowed="columns of numbers")
    if len(numbers) < 2:
        raise DataError("a correlation needs two columns of numbers", came=len(numbers))
    return CorrelationChange(
        tuple(pair.name for pair in numbers),
        tuple(wanted),
        correlations(np.column_stack([pair.original for pair in numbers])),
        correlations(np.column_stack([pair.masked for pair in numbers])),
    )


def correlations(table: Floats) -> Floats:
    """Compute all correlations of the columns; a NaN cell is missing, a NaN result is not defined."""
    if np.isnan(table).any():
        width = table.shape[1]
        found = np.empty((width, width))
        for i in range(width):
            for j in range(i, width):
                both = table[~np.isnan(table[:, [i, j]]).any(axis=1)][:, [i, j]]
                found[i, j] = found[j, i] = _of(both)[0, 1]
        return found
    return _of(table)


def _of(table: Floats) -> Floats:
    """Compute the correlations of complete columns: shifted by their first row, centred, normalized and multiplied."""
    width = table.shape[1]
    if not len(table):
        return np.full((width, width), np.nan)
    varies = (table != table[0]).any(axis=0)
    moved = table - table[0]
    moved = moved - moved.mean(axis=0)
    lengths = np.sqrt((moved * moved).sum(axis=0))
    units = np.divide(moved, lengths, out=np.zeros_like(moved), where=varies & (lengths > 0))
    found: Floats = np.clip(units.T @ units, -1.0, 1.0)
    found[~varies] = np.nan
    found[:, ~varies] = np.nan
    return found


def _plain(matrix: Floats) -> list[list[float | None]]:
    return [[None if value != value else value for value in row] for row in matrix.tolist()]  # noqa: PLR0124
