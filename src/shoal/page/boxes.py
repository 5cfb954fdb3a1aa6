"""A picture of boxes over two columns: records as points, what is shown in colour, and what is dropped hatched."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.page.picture import Axis
from shoal.page.style import COLOURS, INK, QUIET, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 7.2, 5.0
"""Inches of one picture."""
_LETTER, _LINE = 0.0094, 0.018
"""Inches that a letter takes across, and a line of words up, for each point of its size."""
_INSIDE = (0.86, 0.78)
"""The part of a picture's inches that the boxes have; the rest names the axes."""
_SIZES = (8.0, 7.0, 6.0)
"""Type sizes of the words in a box, the largest that fits; none where even the smallest does not."""


@dataclass(frozen=True)
class Box:
    """One box: its ends along both columns, the words in it, and whether its records are shown."""

    left: float
    right: float
    bottom: float
    top: float
    words: str = ""
    shown: bool = True


@dataclass(frozen=True)
class Panel:
    """One table under one recoding: the boxes, and the records as points."""

    title: str
    boxes: Sequence[Box]
    points: Sequence[tuple[float, float]] = ()


def draw_boxes(
    panel: Panel, x: Axis, y: Axis, axes: Axes | None = None, size: tuple[float, float] = (WIDTH, HEIGHT)
) -> Axes:
    """Draw one panel of `size` inches, on its own figure or on the axes given; words are written where they fit."""
    with look():
        if axes is None:
            axes = _figure(1, size).subplots()
        axes.set_title(textwrap.fill(panel.title, 64), loc="left", fontsize=11.5, fontweight="bold", pad=12)
        axes.grid(visible=False)
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
        lefts, rights = [box.left for box in panel.boxes], [box.right for box in panel.boxes]
        lows, highs = [box.bottom for box in panel.boxes], [box.top for box in panel.boxes]
        axes.set_xlim(*_ends(x, lefts, rights))
        axes.set_ylim(*_ends(y, lows, highs))
        if panel.points:
            across, up = zip(*panel.points, strict=True)
            axes.plot(across, up, linestyle="none", marker=".", markersize=2.0, color=QUIET, alpha=0.45, zorder=2)
        for box in panel.boxes:
            _box(axes, box)
        _words(axes, panel.boxes, size)
        return axes


def boxes_side_by_side(panels: Sequence[Panel], x: Axis, y: Axis, size: tuple[float, float] = (4.4, 3.6)) -> Figure:
    """Several panels in one row, each of `size` inches, with the vertical axis named once."""
    with look():
        figure = _figure(len(panels), size)
        places = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for number, (panel, axes) in enumerate(zip(panels, places, strict=True)):
            draw_boxes(panel, x, y if number == 0 else Axis("", limits=y.limits), axes, size)
        return figure


def _figure(panels: int, size: tuple[float, float]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * panels, size[1]), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _ends(axis: Axis, lows: Sequence[float], highs: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis: those given, or as far as the boxes reach."""
    low, high = axis.limits
    return (min(lows, default=0.0) if low is None else low, max(highs, default=1.0) if high is None else high)


def _box(axes: Axes, box: Box) -> None:
    """A rectangle: tinted with a firm edge, or hatched with a quiet one."""
    from matplotlib.patches import Rectangle

    place, width, height = (box.left, box.bottom), box.right - box.left, box.top - box.bottom
    if box.shown:
        axes.add_patch(Rectangle(place, width, height, facecolor=COLOURS[0], alpha=0.20, linewidth=0, zorder=1))
    else:
        axes.add_patch(
            Rectangle(place, width, height, facecolor="white", edgecolor="#cfcfcf", hatch="////", linewidth=0, zorder=0)
        )
    axes.add_patch(Rectangle(place, width, height, fill=False, edgecolor=COLOURS[0], linewidth=0.9, zorder=3))


def _words(axes: Axes, boxes: Sequence[Box], size: tuple[float, float]) -> None:
    """The words of every box that has room for them, in the largest type that fits."""
    span, rise = axes.get_xlim(), axes.get_ylim()
    across = _INSIDE[0] * size[0] / abs(span[1] - span[0])
    up = _INSIDE[1] * size[1] / abs(rise[1] - rise[0])
    for box in boxes:
        room, tall = (box.right - box.left) * across, (box.top - box.bottom) * up
        letters = len(box.words) + 0.6
        points = next((s for s in _SIZES if letters * s * _LETTER <= room and s * _LINE <= tall), None)
        if points is not None and box.words:
            axes.text(
                (box.left + box.right) / 2, (box.bottom + box.top) / 2, box.words, ha="center", va="center_baseline",
                fontsize=points, color=INK, zorder=4, bbox={"facecolor": "white", "alpha": 0.65, "pad": 0.8, "linewidth": 0},
            )  # fmt: skip
