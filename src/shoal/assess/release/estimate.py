"""What an analyst is told: a number with an interval, the level at which it holds, the view it came from, and how."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

VERSION = 1


def tail(level: object) -> float:
    """1 − level, checked."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError("the level of an interval", came=level, allowed="above 0 and below 1, such as 0.95")
    return 1 - level


@dataclass(frozen=True)
class Estimate:
    """One number. The interval is pointwise: of many such intervals a share of `level` or more cover their truth."""

    value: float
    low: float
    high: float
    level: float
    view: str
    method: str
    records: str = "records"
    """What is counted."""

    def __repr__(self) -> str:
        return f"<Estimate {self.value:.6g}, {self.level:g} interval {self.low:.6g} to {self.high:.6g}, from '{self.view}'>"

    def words(self) -> str:
        """For people; ends are rounded outwards."""
        whole = self.value >= 10 or (self.value == int(self.value) and self.low == int(self.low))
        number = "{:,.0f}" if whole else "{:,.4g}"
        high = _outwards(self.high, whole, up=True) if math.isfinite(self.high) else "no bound"
        return (
            f"{number.format(self.value)} ({self.level:.4g} interval {_outwards(self.low, whole, up=False)} to {high}; "
            f"of {self.records}; from '{self.view}': {self.method})"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values; no upper bound is null."""
        return {"version": VERSION, **asdict(self), "high": self.high if math.isfinite(self.high) else None}


def _outwards(value: float, whole: bool, *, up: bool) -> str:
    """An end of an interval, to the unit or to four digits, never inside of what it is."""
    if whole:
        return f"{math.ceil(value) if up else math.floor(value):,}"
    scale = 10.0 ** (3 - math.floor(math.log10(value))) if value > 0 else 1.0
    return f"{(math.ceil if up else math.floor)(value * scale) / scale:,.4g}"


@dataclass(frozen=True)
class Cell:
    """One cell of a marginal."""

    labels: tuple[str, ...]
    value: float
    low: float
    high: float
    published: bool
    status: str
    """`published`, `covered` or `unpublished`; see `Marginal.status`."""


@dataclass(frozen=True)
class Marginal:
    """Every cell of some attributes, published or not, with its interval. Arrays have one axis for each attribute.

    A cell is `published` where published rows show just this cell; `covered` where they show only labels that stand for
    other cells too, so that its estimate is an even split and its interval reaches from none to all of them; and else
    unpublished: the sample held too few, or there is nobody. Intervals are pointwise: each covers with probability
    `level` or more, not all of them together.
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

    def __repr__(self) -> str:
        of = " x ".join(self.attributes)
        published = f"{int(self.published.sum()):,} of {len(self):,} cells published"
        return f"<Marginal of {of}: {published}, {self.level:g} intervals, from '{self.view}'>"

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """For each cell `published`, `covered` (by labels that stand for other cells too) or `unpublished`."""
        return np.where(self.published, "published", np.where(self.covered, "covered", "unpublished"))

    def __iter__(self) -> Iterator[Cell]:
        status = self.status
        for at in np.ndindex(self.value.shape):
            labels = tuple(own[i] for own, i in zip(self.labels, at, strict=True))
            numbers = float(self.value[at]), float(self.low[at]), float(self.high[at])
            yield Cell(labels, *numbers, bool(self.published[at]), str(status[at]))

    def __len__(self) -> int:
        return int(self.value.size)

    @property
    def shares(self) -> Floats:
        """The estimates divided by their sum; no intervals here, `share` has them."""
        return np.asarray(self.value / max(float(self.value.sum()), 1e-300))

    def to_arrow(self) -> pa.Table:
        """One row for each cell."""
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
            {"level": f"{self.level:g}", "view": self.view, "method": self.method, "records": self.records}
        )

    def to_pandas(self) -> Any:
        """One row for each cell, as a pandas frame."""
        return self.to_arrow().to_pandas()
