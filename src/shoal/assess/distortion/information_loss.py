"""Information loss of a masked table: SSE, IL, and the change of means and variances.

    SSE    the sum over records of squared distances of a cell from its original (SC13 §6.4.2), in the attribute's own units
    SST    the SSE of publishing one value for all: the mean of numbers, the best name
    IL     100·SSE/SST; over several attributes the average of their IL, which for numbers is 100·SSE/SST on z-scores

All numbers are exact: facts of these two tables, not estimates. They are computed from the original, so they are for the
custodian alone. An attribute that does not vary has no IL, and is left out of the average; if it was changed all the same, its IL
is infinite. `pair_columns` says how cells are compared, and how a missing cell counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import fsum, inf, isfinite, nan
from typing import Any

import numpy as np

from shoal.assess.distortion.record_pairs import ColumnPair, Floats, NumericPair, pair_columns
from shoal.data.taxonomy import Taxonomy

VERSION = 1


@dataclass(frozen=True)
class Moments:
    """The change of the mean and the variance of a column of numbers, of the cells that are not missing.

    `mean_shift` is how far the mean moved, in standard deviations of the original; `variance_ratio` is the masked variance
    over the original one. Both are None where the original does not vary or a table holds no number.
    """

    mean_shift: float | None
    variance_ratio: float | None


@dataclass(frozen=True)
class ColumnDistortion:
    """The information loss of one attribute: `loss` is its IL, None where nothing varied and nothing changed; `moments` is None
    for names.
    """

    name: str
    kind: str
    changed: int
    sse: float
    sst: float
    loss: float | None
    moments: Moments | None


@dataclass(frozen=True)
class Distortion:
    """The information loss of a masked table, by attribute and in total; `loss` is None where no attribute varies."""

    rows: int
    changes: tuple[ColumnDistortion, ...]
    loss: float | None

    @property
    def sse(self) -> float:
        """The SSE of SC13 §6.4.2: the sum over all attributes, each in its own units."""
        return fsum(change.sse for change in self.changes)

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON; an infinite or undefined loss is None."""
        return {
            "version": VERSION,
            "exact": True,
            "rows": self.rows,
            "sse": self.sse,
            "loss": _finite(self.loss),
            "attributes": [asdict(change) | {"loss": _finite(change.loss)} for change in self.changes],
        }

    def words(self) -> str:
        """Give the result in a sentence."""
        if self.loss is None:
            return f"{self.rows:,} records; no attribute varies, so nothing could be lost."
        worst = max(self.changes, key=lambda change: -1.0 if change.loss is None else change.loss)
        lost = f"{self.loss:.4g} %" if isfinite(self.loss) else "without bound"
        return f"{self.rows:,} records; information loss {lost} of the variance, most of it in '{worst.name}'."


def distortion(original: Any, masked: Any, taxonomies: Mapping[str, Taxonomy] | None = None) -> Distortion:
    """Compare a masked table with its original, record by record.

    Arguments  `original`, `masked`: arrays, mappings of columns or frames with the same columns and rows, in the same order;
               `taxonomies`: distances of names, by column; without one, two different names are 1 apart
    Raises     UsageError for tables that do not fit each other, DataError for empty ones or too large numbers

    >>> round(distortion({"x": [1.0, 2.0, 9.0]}, {"x": [1.5, 1.5, 9.0]}).loss, 2)
    1.32
    """
    return distortion_of_pairs(pair_columns(original, masked, taxonomies))


def distortion_of_pairs(pairs: tuple[ColumnPair, ...]) -> Distortion:
    """Compute the information loss of columns that are already paired."""
    changes = tuple(_change(pair) for pair in pairs)
    losses = [change.loss for change in changes if change.loss is not None]
    return Distortion(len(pairs[0].squares), changes, fsum(losses) / len(losses) if losses else None)


def _change(pair: ColumnPair) -> ColumnDistortion:
    rows = len(pair.squares)
    sse, sst = fsum(pair.squares.tolist()), pair.variance * rows
    loss = 100 * sse / sst if sst else (inf if sse else None)
    return ColumnDistortion(
        name=pair.name,
        kind=pair.kind,
        changed=int(np.count_nonzero(_differ(*pair.keys()))),
        sse=sse,
        sst=sst,
        loss=loss,
        moments=_moments(pair) if isinstance(pair, NumericPair) else None,
    )


def _differ(original: Floats, masked: Floats) -> Any:
    """Say where two cells differ; two missing cells do not."""
    return (original != masked) & ~((original != original) & (masked != masked))  # noqa: PLR0124


def _moments(pair: NumericPair) -> Moments:
    before, after = _mean(pair.original), _mean(pair.masked)
    if pair.variance == 0 or not isfinite(after):
        return Moments(None, None)
    present = pair.masked[~np.isnan(pair.masked)]
    variance = fsum(((present - after) ** 2).tolist()) / len(present)
    return Moments((after - before) / pair.variance**0.5, variance / pair.variance)


def _mean(values: Floats) -> float:
    present = values[~np.isnan(values)]
    return fsum(present.tolist()) / len(present) if len(present) else nan


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
