"""Values with their intervals by matplotlib: one line for each group, the names at the left."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shoal.page.plots import COLOURS, QUIET, plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, ROW = 7.2, 0.34
"""Inches of the picture, and of one line in it."""
LETTERS = 34
"""Letters of a name."""
MOST_LINES = 80
_CAPTION = 100


@dataclass(frozen=True)
class IntervalLine:
    """One value and the ends of its interval; None for what is not there."""

    name: str
    low: float | None
    value: float | None
    high: float | None


@dataclass(frozen=True)
class IntervalDiagram:
    """Values of several groups under each other; `dates` where they are days since 1970."""

    title: str
    lines: Sequence[IntervalLine]
    caption: str = ""
    dates: bool = False


def draw_intervals(picture: IntervalDiagram, axes: Axes | None = None) -> Axes:
    """Draw the values on a figure of its own (with the caption) or on the axes given (without); the first lines of many."""
    lines = picture.lines[:MOST_LINES]
    with plot_style():
        if axes is None:
            axes = _axes(picture, len(lines))
        axes.set_title(textwrap.fill(picture.title, 64), loc="left", fontsize=11.5, fontweight="bold", pad=10)
        ends = [end for line in lines for end in (line.low, line.value, line.high) if end is not None]
        low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
        room = 0.04 * (high - low) or 1.0
        axes.set_xlim(low - room, high + room)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_yticks(range(len(lines)), [textwrap.shorten(line.name, LETTERS, placeholder=" …") for line in lines])
        axes.tick_params(axis="y", length=0, labelsize=9.5)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(_write_date if picture.dates else _write_number)
        for place, line in enumerate(lines):
            if line.value is None:
                axes.text(low, place, "no value", color=QUIET, fontsize=9, va="center")
                continue
            start = low - room if line.low is None else line.low
            end = high + room if line.high is None else line.high
            axes.plot([start, end], [place] * 2, color=COLOURS[0], linewidth=4, alpha=0.32, solid_capstyle="butt")
            axes.plot([line.value], [place], marker="o", markersize=6, color=COLOURS[0], zorder=4)
        return axes


def _axes(picture: IntervalDiagram, lines: int) -> Axes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    words = textwrap.wrap(picture.caption, _CAPTION)
    if len(picture.lines) > lines:
        words.append(f"The first {lines:,} of {len(picture.lines):,} groups.")
    height = ROW * lines + 1.1 + 0.17 * len(words)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    if words:
        figure.supxlabel("\n".join(words), x=0.012, ha="left", fontsize=8.5, color=QUIET)
    return figure.subplots()


def _write_number(value: float, _: object) -> str:
    return f"{value:,.10g}"


def _write_date(value: float, _: object) -> str:
    return datetime.fromtimestamp(value * 86_400, UTC).date().isoformat()
