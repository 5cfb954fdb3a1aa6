"""A picture of a hierarchy: one row for each level, one cell for each label, as wide as its share of the domain."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.page.style import COLOURS, INK, QUIET, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, ROW = 7.2, 0.46
"""Inches of the picture, and of one level in it."""
_SHARE = 0.70
"""The part of the width that the cells have; the rest names the levels."""
_LETTER = 0.0094
"""Inches that a letter takes for each point of its size; narrow ones take half."""
_NARROW = frozenset(" ,.;:|-[]()ijltfr1'*")


def draw_levels(
    title: str, bands: Sequence[tuple[str, float, Sequence[tuple[float, float, str]]]], axes: Axes | None = None
) -> Axes:
    """Draw levels from finest (below) to coarsest (above): how many labels in words, the loss, and the labels' places.

    A label is written where it fits in its cell. A level without places has too many labels to draw.
    """
    with look():
        if axes is None:
            axes = _axes(len(bands))
        axes.set_title(textwrap.fill(title, 80), loc="left", fontsize=11.5, fontweight="bold", pad=10)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(-0.5, len(bands) - 0.5)
        for level, (words, loss, cells) in enumerate(bands):
            _row(axes, level, cells)
            axes.text(-0.015, level, f"level {level}", ha="right", va="center", fontsize=9.5, color=INK)
            axes.text(1.015, level + 0.13, words, va="center", fontsize=9, color=INK)
            axes.text(1.015, level - 0.19, f"loss {_short(loss)}", va="center", fontsize=8, color=QUIET)
        return axes


def _short(loss: float) -> str:
    return "0" if loss == 0 else "1" if loss == 1 else f"{loss:.3f}" if loss >= 0.0005 else f"{loss:.0e}"


def _axes(levels: int) -> Axes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = ROW * levels + 0.5
    figure = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(figure)
    return figure.add_axes((0.095, 0.06 / height, _SHARE, ROW * levels / height))


def _row(axes: Axes, level: int, cells: Sequence[tuple[float, float, str]]) -> None:
    """The cells of one level in two tints, so that neighbours can be told apart."""
    box: dict[str, Any] = {"bottom": level - 0.42, "height": 0.84, "align": "edge", "linewidth": 0}
    if not cells:
        stripes = 240
        axes.bar([i / stripes for i in range(stripes)], width=0.5 / stripes, color=_tint(0.30), **box)
        return
    starts = [start for start, _, _ in cells]
    widths = [end - start for start, end, _ in cells]
    gap = 0.0025 if min(widths) > 0.01 else 0.0
    shown = [max(width - gap, width / 2) for width in widths]
    axes.bar(starts, width=shown, color=[_tint(0.30 if i % 2 else 0.17) for i in range(len(cells))], **box)
    sizes = [_size(label, (end - start) * WIDTH * _SHARE) for start, end, label in cells]
    smallest = min((size for size in sizes if size), default=0.0)
    for (start, end, label), size in zip(cells, sizes, strict=True):
        if size:
            middle = (start + end - gap) / 2
            axes.text(middle, level, label, ha="center", va="center_baseline", fontsize=smallest, color=INK)


def _size(label: str, room: float) -> float:
    """The largest of three type sizes at which a label fits, or 0."""
    letters = 0.4 + sum(0.6 if letter in _NARROW else 1.0 for letter in label)
    return next((size for size in (8.0, 7.0, 6.0) if letters * size * _LETTER <= room), 0.0)


def _tint(share: float) -> tuple[float, float, float]:
    """The first colour, thinned with white."""
    first = COLOURS[0]
    red, green, blue = (int(first[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return (1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue))
