"""Estimates with intervals: one number or a marginal, and the exact bounds that the intervals come from.

A record is kept with probability beta, so a set of n records has T ~ Bin(n, beta) of them in the sample. For a tail
probability a

    lower_bound(t) = the smallest n ≥ t with Pr[Bin(n, beta) ≥ t] > a
    upper_bound(t) = the largest n with Pr[Bin(n, beta) ≤ t] > a

and each fails with probability at most a, whatever n is (Clopper and Pearson, with n unknown in place of beta).
Suppression only hides where T lies: if t1 ≤ T ≤ t2 is known, lower_bound(t1) and upper_bound(t2) still fail with probability at
most a each. `lower_bound_published` is for one cell that is seen only because its count reached k: it inverts the distribution
conditioned on that, so it holds among the published cells too, where a plain bound would not (small cells are
published just when the sample happened to hold many of theirs).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from shoal.errors import ParameterError
from shoal.language.result import level_text

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

VERSION = 1


def risk_of(level: object) -> float:
    """Give 1 − level; ParameterError where the level does not lie between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(
            "the level of an interval is not between 0 and 1", came=level, allowed="above 0 and below 1, such as 0.95"
        )
    return 1 - level


@dataclass(frozen=True)
class Estimate:
    """An estimate with its interval, the level, the view or tables that it came from, and the method.

    The interval is pointwise: of many such intervals, a share of `level` or more contain the true number.

    >>> Estimate(120.0, 95.3, 160.2, 0.95, "table", "published count / beta").words()
    "120 (0.95 interval 95 to 161; of records; from 'table': published count / beta)"
    """

    value: float
    low: float
    high: float
    level: float
    view: str
    method: str
    records: str = "records"
    """What is counted."""

    def __repr__(self) -> str:
        value, low, high = self._texts()
        return f"<Estimate {value}, {level_text(self.level)} interval {low} to {high}, from '{self.view}'>"

    def words(self) -> str:
        """Give the estimate in a sentence; the ends of the interval are rounded outwards."""
        value, low, high = self._texts()
        interval = f"{level_text(self.level)} interval {low} to {high}"
        return f"{value} ({interval}; of {self.records}; from '{self.view}': {self.method})"

    def _texts(self) -> tuple[str, str, str]:
        """The estimate and the ends of its interval as a person reads them."""
        whole = self.value >= 10 or (self.value == int(self.value) and self.low == int(self.low))
        high = _outwards(self.high, whole, up=True) if math.isfinite(self.high) else "no bound"
        return f"{self.value:{',.0f' if whole else ',.4g'}}", _outwards(self.low, whole, up=False), high

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON; an interval without an upper end has None there."""
        return {"version": VERSION, **asdict(self), "high": self.high if math.isfinite(self.high) else None}


def _outwards(value: float, whole: bool, *, up: bool) -> str:
    """Print an end of an interval to the unit or to four digits, rounded away from the interval."""
    if whole or value >= 1000:
        return f"{math.ceil(value) if up else math.floor(value):,}"
    scale = 10.0 ** (3 - math.floor(math.log10(value))) if value > 0 else 1.0
    return f"{(math.ceil if up else math.floor)(value * scale) / scale:,.4g}"


@dataclass(frozen=True)
class MarginalCell:
    """One cell of a marginal with its estimate and interval."""

    labels: tuple[str, ...]
    value: float
    low: float
    high: float
    published: bool
    status: str
    """`published`, `covered` or `unpublished`; see `MarginalEstimate.status`."""


@dataclass(frozen=True)
class MarginalEstimate:
    """The estimated count of every cell of some attributes, with its interval. Arrays have one axis for each attribute.

    A cell is `published` where published rows show just this cell, or where it has a noisy count. It is `covered` where rows show
    only labels that stand for other cells too; its estimate is then an even split, and its interval reaches from none to all of
    those rows; and where only tables of fewer attributes hold it, and the estimate is that of a model of them. Every other cell
    is unpublished: the sample held fewer than k of its records, or none. Intervals are pointwise: each contains the true count
    with probability `level` or more, not all of them together.
    """

    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    value: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    published: Mask = field(repr=False)
    covered: Mask = field(repr=False)
    level: float
    view: str
    method: str
    records: str = "records"
    """What is counted."""
    joined: bool = False
    """Whether no table holds the attributes together, so that every cell is estimated by a model of tables that hold some."""

    def __repr__(self) -> str:
        of = " x ".join(self.attributes)
        cells = f"{int(self.published.sum()):,} of {len(self):,} cells published"
        if self.joined:
            cells = f"{len(self):,} cells by a model, because no table holds these attributes together"
        return f"<MarginalEstimate of {of}: {cells}, {level_text(self.level)} intervals, from '{self.view}'>"

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """The status of each cell: `published`, `covered` (by labels that stand for other cells too) or `unpublished`."""
        return np.where(self.published, "published", np.where(self.covered, "covered", "unpublished"))

    def __iter__(self) -> Iterator[MarginalCell]:
        status = self.status
        for at in np.ndindex(self.value.shape):
            labels = tuple(own[i] for own, i in zip(self.labels, at, strict=True))
            numbers = float(self.value[at]), float(self.low[at]), float(self.high[at])
            yield MarginalCell(labels, *numbers, bool(self.published[at]), str(status[at]))

    def __len__(self) -> int:
        return int(self.value.size)

    @property
    def shares(self) -> Floats:
        """The estimates divided by their sum, without intervals; `LoadedRelease.share` has intervals."""
        return np.asarray(self.value / max(float(self.value.sum()), 1e-300))

    def to_arrow(self) -> pa.Table:
        """Give one row for each cell, as an Arrow table."""
        import pyarrow as pa

        grid = np.indices(self.value.shape).reshape(len(self.attributes), -1)
        columns: dict[str, Any] = {
            name: pa.array(own).take(pa.array(codes))
            for name, own, codes in zip(self.attributes, self.labels, grid, strict=True)
        }
        for name in ("value", "low", "high", "published", "status"):
            taken = f"{name} (estimate)" if name in columns else name
            columns[taken] = getattr(self, name).ravel()
        return pa.table(columns).replace_schema_metadata(
            {"level": level_text(self.level), "view": self.view, "method": self.method, "records": self.records}
        )

    def to_pandas(self) -> Any:
        """Give one row for each cell, as a pandas frame."""
        return self.to_arrow().to_pandas()


Ints = npt.NDArray[np.int64]


def binomial_tail(t: Floats, n: Floats, beta: float) -> Floats:
    """Pr[Bin(n, beta) ≥ t]."""
    inside = (t > 0) & (n >= t)
    found = betainc(np.where(inside, t, 1), np.where(inside, n - t + 1, 1), beta)
    return np.asarray(np.where(t <= 0, 1.0, np.where(inside, found, 0.0)))


def binomial_cdf(t: Floats, n: Floats, beta: float) -> Floats:
    """Pr[Bin(n, beta) ≤ t]."""
    inside = n > t
    found = betainc(np.where(inside, n - t, 1), np.where(inside, t + 1, 1), 1 - beta)
    return np.asarray(np.where(inside, found, 1.0))


def lower_bound(counts: npt.ArrayLike, beta: Fraction, a: float) -> Floats:
    """Give the smallest n for which t or more sampled records have a probability above a.

    >>> float(lower_bound(10, Fraction(1, 10), 0.025)), float(upper_bound(10, Fraction(1, 10), 0.025))
    (51.0, 179.0)
    """
    rate = float(beta)
    return _distinct(counts, lambda t: first_whole(t, t, rate, lambda n: binomial_tail(t, n, rate) > a))


def lower_bound_published(counts: npt.ArrayLike, k: int, beta: Fraction, a: float) -> Floats:
    """Give the lower bound of a cell that is seen only because its count reached k."""
    rate = float(beta)

    def plausible(t: Floats, n: Floats) -> Mask:
        seen = binomial_tail(np.full_like(t, k), n, rate)
        return np.asarray((seen > 0) & (binomial_tail(t, n, rate) > a * seen))

    return _distinct(counts, lambda t: np.where(t == k, t, first_whole(t, t, rate, lambda n: plausible(t, n))))


def upper_bound(counts: npt.ArrayLike, beta: Fraction, a: float) -> Floats:
    """Give the largest n for which t or fewer sampled records have a probability above a; infinite where t is."""
    rate = float(beta)
    return _distinct(counts, lambda t: first_whole(t, t + 1, rate, lambda n: binomial_cdf(t, n, rate) <= a) - 1)


def _distinct(counts: npt.ArrayLike, solve: Callable[[Floats], Floats]) -> Floats:
    """Apply `solve` once to each different count."""
    asked = np.asarray(counts, dtype=np.float64)
    different, place = np.unique(asked.ravel(), return_inverse=True)
    finite = np.isfinite(different)
    found = np.full(len(different), np.inf)
    if finite.any():
        found[finite] = solve(different[finite])
    return np.asarray(found[np.ravel(place)].reshape(asked.shape))


def first_whole(t: Floats, start: Floats, rate: float, holds: Callable[[Floats], Mask]) -> Floats:
    """Find the first whole number from `start` on where a monotone condition holds, by doubling and bisection."""
    low, step = start - 1, np.maximum(1.0, np.ceil(t / rate - start))
    high = start + step
    for _ in range(200):
        late = ~holds(high)
        if not late.any():
            break
        low, high = np.where(late, high, low), np.where(late, high + step, high)
        step *= 2
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        fine = holds(np.maximum(middle, start)) & (middle >= start)
        high, low = np.where(fine & (high - low > 1), middle, high), np.where(~fine & (high - low > 1), middle, low)
    return high
