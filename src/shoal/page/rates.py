"""Measured rates by matplotlib: for each line success and control with their intervals, a baseline, and what is allowed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.page.plots import COLOURS, INK, QUIET, plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW = 7.2, 0.62
"""Inches of the picture, and of one line in it."""
NAMES = 0.34
"""The part of the width that names the lines."""
LETTERS = 34
"""Letters of a name in one line of text."""
_CAPTION = 100
SUCCESS, CONTROL = COLOURS[1], COLOURS[0]


@dataclass(frozen=True)
class RateLine:
    """One line: its name, success and control as (low, value, high), a baseline, and the success that refutes a claim."""

    name: str
    success: tuple[float, float, float]
    control: tuple[float, float, float]
    baseline: float | None = None
    allowed: float | None = None


@dataclass(frozen=True)
class RateDiagram:
    """Rates of several methods beside each other."""

    title: str
    lines: Sequence[RateLine]
    caption: str = ""


def draw_rates(picture: RateDiagram) -> Figure:
    """Draw the rates from 0 to 100 %, one line under the other, with a legend above them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with plot_style():
        words = textwrap.wrap(picture.caption, _CAPTION)
        tall, below, above = ROW * len(picture.lines), 0.55 + 0.17 * len(words), 0.70
        height = tall + below + above
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(figure)
        axes = figure.add_axes((NAMES, below / height, 0.97 - NAMES, tall / height))
        axes.set_xlim(-2, 102)
        axes.set_ylim(len(picture.lines) - 0.5, -0.5)
        axes.set_yticks(range(len(picture.lines)), [textwrap.fill(line.name, LETTERS) for line in picture.lines])
        axes.tick_params(axis="y", length=0, labelsize=9.5)
        axes.set_xticks(range(0, 101, 20), [f"{share} %" for share in range(0, 101, 20)])
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        for number, line in enumerate(picture.lines):
            _draw_line(axes, number, line)
        figure.text(0.012, 1 - 0.24 / height, picture.title, fontsize=11.5, fontweight="bold", va="center")
        _legend(figure, picture, 1 - 0.36 / height)
        if words:
            figure.text(0.012, 0.07 / height, "\n".join(words), fontsize=8.5, color=QUIET, va="bottom", linespacing=1.3)
        return figure


def _draw_line(axes: Axes, number: int, line: RateLine) -> None:
    for (low, value, high), colour, shift, mark in (
        (line.success, SUCCESS, -0.13, "o"),
        (line.control, CONTROL, 0.13, "s"),
    ):
        axes.plot(
            [100 * low, 100 * high],
            [number + shift] * 2,
            color=colour,
            linewidth=3.2,
            alpha=0.32,
            solid_capstyle="butt",
        )
        axes.plot([100 * value], [number + shift], marker=mark, markersize=6, color=colour, clip_on=False, zorder=4)
    if line.baseline is not None:
        axes.plot([100 * line.baseline], [number + 0.13], marker="|", markersize=11, color=INK, zorder=5)
    if line.allowed is not None:
        axes.plot(
            [100 * line.allowed] * 2, [number - 0.34, number + 0.08], color=INK, linewidth=1.2, linestyle=(0, (2, 1.5))
        )


def _legend(figure: Figure, picture: RateDiagram, top: float) -> None:
    from matplotlib.lines import Line2D

    def key(label: str, **style: Any) -> Line2D:
        return Line2D([], [], label=label, **style)

    keys = [
        key("success", color=SUCCESS, marker="o", linewidth=3.2, alpha=0.75),
        key("control", color=CONTROL, marker="s", linewidth=3.2, alpha=0.75),
    ]
    if any(line.baseline is not None for line in picture.lines):
        keys.append(key("baseline", color=INK, marker="|", markersize=10, linestyle="none"))
    if any(line.allowed is not None for line in picture.lines):
        keys.append(key("beyond it the claim is refuted", color=INK, linewidth=1.2, linestyle=(0, (2, 1.5))))
    figure.legend(
        handles=keys, loc="upper left", bbox_to_anchor=(0, top), ncols=len(keys), borderaxespad=0.2, handlelength=1.6,
        columnspacing=1.4,
    )  # fmt: skip
