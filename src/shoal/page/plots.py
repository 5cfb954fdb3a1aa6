"""Plots by matplotlib, in one style: a `Picture` in, axes or the bytes of a file out; equal pictures give equal bytes."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.page.picture import Picture, PlotAxis, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B8860B", "#444444")
"""Blue, vermilion, green, purple, ochre, grey: Okabe and Ito's order, darkened where white paper needs it."""

INK, QUIET, FAINT = "#1a1a1a", "#5a5a5a", "#d9d9d9"
SIZE = (7.2, 4.6)
"""Inches of a figure on paper."""
PAGE_SIZE = (5.6, 4.1)
"""Inches of a figure inside a page, which a telephone shows at two thirds of its size."""

RULES: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "mathtext.fontset": "dejavusans",
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.9,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "shoal",
    "pdf.fonttype": 42,
    "path.simplify": True,
}


@contextmanager
def plot_style() -> Iterator[None]:
    """Draw and save in the style of Shoal; matplotlib's settings outside are not changed."""
    import matplotlib as mpl

    rules: Any = RULES
    with mpl.rc_context(rules):
        yield


# Nothing about the moment or the machine goes into a file.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

_CAPTION_WIDTH = 15
"""Characters of a caption in one inch."""


def draw(picture: Picture, axes: Axes | None = None) -> Axes:
    """Draw one picture, on a figure of its own (with its caption) or on the axes given (without)."""
    with plot_style():
        if axes is None:
            figure = _figure(1, picture.caption, SIZE)
            axes = figure.subplots()
        axes.set_title(textwrap.fill(picture.title, 64), loc="left", fontsize=11.5, fontweight="bold", pad=12)
        _scale(axes, picture)
        for series in picture.series:
            _plot(axes, series)
        _limits(axes, picture)
        _references(axes, picture)
        _name(axes, picture)
        return axes


def side_by_side(pictures: Sequence[Picture], size: tuple[float, float] = SIZE) -> Figure:
    """Draw several pictures in one figure, each on axes of `size` inches."""
    with plot_style():
        caption = " ".join(picture.caption for picture in pictures if picture.caption)
        figure = _figure(len(pictures), caption, size)
        panels = figure.subplots(1, len(pictures), squeeze=False)[0]
        for picture, axes in zip(pictures, panels, strict=True):
            draw(picture, axes)
        return figure


def render(figure: Figure, kind: str) -> bytes:
    """Give the bytes of a file: png, svg or pdf; equal for equal pictures."""
    if kind not in FORMATS:
        raise UsageError("unknown kind of picture", came=kind, allowed=", ".join(FORMATS))
    with plot_style():
        out = io.BytesIO()
        figure.savefig(out, format=kind, metadata=FORMATS[kind])
        return out.getvalue()


def _figure(panels: int, caption: str, size: tuple[float, float]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = textwrap.wrap(caption, round(_CAPTION_WIDTH * panels * size[0]))
    height = size[1] + 0.17 * len(lines)
    figure = Figure(figsize=(size[0] * panels, height), layout="constrained")
    FigureCanvasAgg(figure)
    if lines:
        share = (0.17 * len(lines) + 0.08) / height
        figure.get_layout_engine().set(rect=(0, share, 1, 1 - share - 0.01))  # type: ignore[union-attr, call-arg]
        figure.text(0.012, 0.018, "\n".join(lines), fontsize=8.5, color=QUIET, va="bottom", linespacing=1.35)
    return figure


def _scale(axes: Axes, picture: Picture) -> None:
    """Set labels and scales; a logarithmic axis that spans little gets plain numbers instead of powers of ten."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    for name, axis in (("x", picture.x), ("y", picture.y)):
        getattr(axes, f"set_{name}label")(axis.label)
        if not axis.log:
            continue
        getattr(axes, f"set_{name}scale")("log")
        ticks = getattr(axes, f"{name}axis")
        ticks.set_minor_locator(NullLocator())
        values = [value for series in picture.series for value in getattr(series, name)]
        plain = axis.ticks or _round_numbers(min(values, default=1), max(values, default=1))
        if plain:
            ticks.set_major_locator(FixedLocator(plain))
            ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            ticks.set_major_locator(LogLocator(base=10, numticks=9))


def _round_numbers(low: float, high: float) -> list[float]:
    """List 1, 2, 5, 10, ... around a span of less than three powers of ten; nothing for a longer one."""
    if low <= 0 or high / low > 1500:
        return []
    return [m * 10**e for e in range(-9, 9) for m in (1, 2, 5) if low / 2 <= m * 10**e <= high * 2]


def _plot(axes: Axes, series: Series) -> None:
    colour = COLOURS[series.colour % len(COLOURS)]
    style = (0, (4, 2)) if series.dashed else "-"
    axes.plot(
        series.x,
        series.y,
        color=colour,
        linestyle=style,
        linewidth=1.4 if series.dashed else None,
        marker="o" if series.dots else None,
        markersize=4,
        solid_capstyle="round",
    )


def _limits(axes: Axes, picture: Picture) -> None:
    def resolve(axis: PlotAxis, current: tuple[float, float]) -> tuple[float, float]:
        low, high = axis.limits
        return (current[0] if low is None else low, current[1] if high is None else high)

    axes.margins(x=0.02)
    axes.autoscale_view()
    axes.set_xlim(*resolve(picture.x, axes.get_xlim()))
    axes.set_ylim(*resolve(picture.y, axes.get_ylim()))


def _references(axes: Axes, picture: Picture) -> None:
    low, high = axes.get_xlim()
    for region in picture.regions:
        start, end = max(region.start, low), min(region.end, high)
        if start < end:
            axes.axvspan(start, end, color="#f0f0f0", zorder=0, linewidth=0)
            across = axes.get_xaxis_transform()
            middle = (start + end) / 2
            axes.text(middle, 0.17, region.text, transform=across, rotation=90, ha="center", va="bottom", **_SMALL)
    for level in picture.levels:
        axes.axhline(level.y, color=QUIET, linewidth=0.9, linestyle=(0, (1, 2)))
        along = axes.get_yaxis_transform()
        axes.annotate(level.text, (0.99, level.y), (0, -4), along, "offset points", ha="right", va="top", **_SMALL)
    for mark in picture.marks:
        axes.plot([mark.x], [mark.y], marker="o", markersize=7, color=INK, markerfacecolor="white", zorder=5)
        axes.annotate(
            mark.text,
            (mark.x, mark.y),
            (9 if mark.right else -9, 5 if mark.above else -5),
            textcoords="offset points",
            ha="left" if mark.right else "right",
            va="bottom" if mark.above else "top",
            fontsize=9,
            color=INK,
            zorder=6,
        )


_SMALL: dict[str, Any] = {"fontsize": 8.5, "color": QUIET}


def _name(axes: Axes, picture: Picture) -> None:
    """Write names at the right end of their lines, moved apart where they would touch, and a legend for line styles."""
    from matplotlib.lines import Line2D

    named = [series for series in picture.series if series.named and len(series.x)]
    ends = [axes.transData.transform((series.x[-1], series.y[-1])) for series in named]
    bottom, top = (float(axes.transAxes.transform((0, y))[1]) for y in (0, 1))
    heights = _apart([min(max(float(end[1]), bottom), top) for end in ends], gap=15.0, top=top)
    for series, height in zip(named, heights, strict=True):
        share = (height - bottom) / (top - bottom)
        colour = COLOURS[series.colour % len(COLOURS)]
        axes.text(1.012, share, series.label, transform=axes.transAxes, color=colour, va="center", fontsize=9.5)
    if picture.legend:
        lines = [
            Line2D([], [], color=INK, linestyle=(0, (4, 2)) if dashed else "-", linewidth=1.4 if dashed else 1.9)
            for _, dashed in picture.legend
        ]
        axes.legend(lines, [words for words, _ in picture.legend], loc="best")


def _apart(heights: list[float], gap: float, top: float) -> list[float]:
    """Move heights so that neighbours are at least `gap` apart, and none is above the top."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = list(heights)
    for before, here in pairwise(order):
        placed[here] = max(placed[here], placed[before] + gap)
    limit = top
    for here in reversed(order):
        placed[here] = min(placed[here], limit)
        limit = placed[here] - gap
    return placed
