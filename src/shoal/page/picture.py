"""What a plot shows, as plain values: series, marks, reference lines, words. No drawing here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Axis:
    """One axis: its label with the unit, and its scale."""

    label: str
    log: bool = False
    limits: tuple[float | None, float | None] = (None, None)
    ticks: Sequence[float] = ()


@dataclass(frozen=True)
class Series:
    """One line (or dots) with its name; lines with the same `colour` belong together, `dashed` tells them apart."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0
    dashed: bool = False
    dots: bool = False
    named: bool = True


@dataclass(frozen=True)
class Mark:
    """A point that the words speak of; `right` and `above` say where there is room for its name."""

    x: float
    y: float
    text: str
    right: bool = True
    above: bool = False


@dataclass(frozen=True)
class Level:
    """A horizontal reference, such as the floor below which no delta can be had."""

    y: float
    text: str


@dataclass(frozen=True)
class Region:
    """A stretch of the horizontal axis with something to say about it."""

    start: float
    end: float
    text: str


@dataclass(frozen=True)
class Picture:
    """One plot: everything that `plots.draw` needs."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    caption: str = ""
    marks: Sequence[Mark] = ()
    levels: Sequence[Level] = ()
    regions: Sequence[Region] = ()
    legend: Sequence[tuple[str, bool]] = field(default=())
    """What solid and dashed lines mean, as (words, dashed)."""
