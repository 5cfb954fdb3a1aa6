"""The content of a plot as plain values: series, marks, reference lines, words. `plots` and `svg` draw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PlotAxis:
    """An axis of a plot: its label with the unit, and its scale."""

    label: str
    log: bool = False
    limits: tuple[float | None, float | None] = (None, None)
    ticks: Sequence[float] = ()


@dataclass(frozen=True)
class Series:
    """A line (or dots) with its name; lines of the same `colour` belong together, `dashed` distinguishes them."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0
    dashed: bool = False
    dots: bool = False
    named: bool = True


@dataclass(frozen=True)
class Mark:
    """A point with a name; `right` and `above` say on which side the name is written."""

    x: float
    y: float
    text: str
    right: bool = True
    above: bool = False


@dataclass(frozen=True)
class ReferenceLine:
    """A horizontal reference line with its name, such as the smallest delta that can be reached."""

    y: float
    text: str


@dataclass(frozen=True)
class ShadedRegion:
    """A shaded part of the horizontal axis with words about it."""

    start: float
    end: float
    text: str


@dataclass(frozen=True)
class Picture:
    """The content of one plot.

    >>> Picture("Squares", PlotAxis("x"), PlotAxis("x²"), [Series("x²", [0, 1, 2], [0, 1, 4])]).title
    'Squares'
    """

    title: str
    x: PlotAxis
    y: PlotAxis
    series: Sequence[Series]
    caption: str = ""
    marks: Sequence[Mark] = ()
    levels: Sequence[ReferenceLine] = ()
    regions: Sequence[ShadedRegion] = ()
    legend: Sequence[tuple[str, bool]] = field(default=())
    """What solid and dashed lines mean, as (words, dashed)."""
