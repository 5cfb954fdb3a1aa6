"""Diagrams by matplotlib: hierarchies (levels over a domain), recodings (boxes over two columns) and clusters (points)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.page.picture import PlotAxis
from shoal.page.plots import COLOURS, INK, QUIET, plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIERARCHY_WIDTH, HIERARCHY_ROW = 7.2, 0.46
"""Inches of the picture, and of one level in it."""
_CELLS_SHARE = 0.70
"""The part of the width that the cells have; the rest names the levels."""
_LETTER = 0.0094
"""Inches that a letter takes for each point of its size; narrow ones take half."""
_NARROW = frozenset(" ,.;:|-[]()ijltfr1'*")


def draw_levels(
    title: str, bands: Sequence[tuple[str, float, Sequence[tuple[float, float, str]]]], axes: Axes | None = None
) -> Axes:
    """Draw a hierarchy, levels from finest (below) to coarsest (above): how many labels in words, the loss, and the cells.

    A label is written where it fits in its cell. A level without cells has too many labels to draw.
    """
    with plot_style():
        if axes is None:
            axes = _level_axes(len(bands))
        axes.set_title(textwrap.fill(title, 80), loc="left", fontsize=11.5, fontweight="bold", pad=10)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(-0.5, len(bands) - 0.5)
        for level, (words, loss, cells) in enumerate(bands):
            _draw_level(axes, level, cells)
            axes.text(-0.015, level, f"level {level}", ha="right", va="center", fontsize=9.5, color=INK)
            axes.text(1.015, level + 0.13, words, va="center", fontsize=9, color=INK)
            axes.text(1.015, level - 0.19, f"loss {_short(loss)}", va="center", fontsize=8, color=QUIET)
        return axes


def _short(loss: float) -> str:
    return "0" if loss == 0 else "1" if loss == 1 else f"{loss:.3f}" if loss >= 0.0005 else f"{loss:.0e}"


def _level_axes(levels: int) -> Axes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = HIERARCHY_ROW * levels + 0.5
    figure = Figure(figsize=(HIERARCHY_WIDTH, height))
    FigureCanvasAgg(figure)
    return figure.add_axes((0.095, 0.06 / height, _CELLS_SHARE, HIERARCHY_ROW * levels / height))


def _draw_level(axes: Axes, level: int, cells: Sequence[tuple[float, float, str]]) -> None:
    """Draw the cells of one level in two tints, so that neighbours can be told apart."""
    box: dict[str, Any] = {"bottom": level - 0.42, "height": 0.84, "align": "edge", "linewidth": 0}
    if not cells:
        stripes = 240
        axes.bar([i / stripes for i in range(stripes)], width=0.5 / stripes, color=_level_tint(0.30), **box)
        return
    starts = [start for start, _, _ in cells]
    widths = [end - start for start, end, _ in cells]
    gap = 0.0025 if min(widths) > 0.01 else 0.0
    shown = [max(width - gap, width / 2) for width in widths]
    axes.bar(starts, width=shown, color=[_level_tint(0.30 if i % 2 else 0.17) for i in range(len(cells))], **box)
    sizes = [_label_size(label, (end - start) * HIERARCHY_WIDTH * _CELLS_SHARE) for start, end, label in cells]
    smallest = min((size for size in sizes if size), default=0.0)
    for (start, end, label), size in zip(cells, sizes, strict=True):
        if size:
            middle = (start + end - gap) / 2
            axes.text(middle, level, label, ha="center", va="center_baseline", fontsize=smallest, color=INK)


def _label_size(label: str, room: float) -> float:
    """Give the largest of three type sizes at which a label fits, or 0."""
    letters = 0.4 + sum(0.6 if letter in _NARROW else 1.0 for letter in label)
    return next((size for size in (8.0, 7.0, 6.0) if letters * size * _LETTER <= room), 0.0)


def _level_tint(share: float) -> tuple[float, float, float]:
    """Mix the first colour with white."""
    first = COLOURS[0]
    red, green, blue = (int(first[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return (1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue))


BOX_WIDTH, BOX_HEIGHT = 7.2, 5.0
"""Inches of one picture."""
_LINE = 0.018
"""Inches that a line of words takes up, for each point of its size."""
_INSIDE = (0.86, 0.78)
"""The part of a picture's inches that the boxes have; the rest names the axes."""
_BOX_TYPE = (8.0, 7.0, 6.0)
"""Type sizes of the words in a box, the largest that fits; none where even the smallest does not."""


@dataclass(frozen=True)
class DiagramBox:
    """One box of a recoding: its ends along both columns, the words in it, and whether its records are published."""

    left: float
    right: float
    bottom: float
    top: float
    words: str = ""
    shown: bool = True


@dataclass(frozen=True)
class BoxDiagram:
    """One table under one recoding: the boxes, and the records as points."""

    title: str
    boxes: Sequence[DiagramBox]
    points: Sequence[tuple[float, float]] = ()


def draw_boxes(
    panel: BoxDiagram,
    x: PlotAxis,
    y: PlotAxis,
    axes: Axes | None = None,
    size: tuple[float, float] = (BOX_WIDTH, BOX_HEIGHT),
) -> Axes:
    """Draw one recoding in `size` inches, on its own figure or on the axes given; words are written where they fit."""
    with plot_style():
        if axes is None:
            axes = _box_figure(1, size).subplots()
        axes.set_title(textwrap.fill(panel.title, 64), loc="left", fontsize=11.5, fontweight="bold", pad=12)
        axes.grid(visible=False)
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
        lefts, rights = [box.left for box in panel.boxes], [box.right for box in panel.boxes]
        lows, highs = [box.bottom for box in panel.boxes], [box.top for box in panel.boxes]
        axes.set_xlim(*_axis_ends(x, lefts, rights))
        axes.set_ylim(*_axis_ends(y, lows, highs))
        if panel.points:
            across, up = zip(*panel.points, strict=True)
            axes.plot(across, up, linestyle="none", marker=".", markersize=2.0, color=QUIET, alpha=0.45, zorder=2)
        for box in panel.boxes:
            _draw_box(axes, box)
        _write_words(axes, panel.boxes, size)
        return axes


def boxes_side_by_side(
    panels: Sequence[BoxDiagram], x: PlotAxis, y: PlotAxis, size: tuple[float, float] = (4.4, 3.6)
) -> Figure:
    """Draw several recodings in one row, each of `size` inches, with the vertical axis named once."""
    with plot_style():
        figure = _box_figure(len(panels), size)
        places = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for number, (panel, axes) in enumerate(zip(panels, places, strict=True)):
            draw_boxes(panel, x, y if number == 0 else PlotAxis("", limits=y.limits), axes, size)
        return figure


def _box_figure(panels: int, size: tuple[float, float]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * panels, size[1]), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _axis_ends(axis: PlotAxis, lows: Sequence[float], highs: Sequence[float]) -> tuple[float, float]:
    """Give the ends of an axis: its limits, or as far as the boxes reach."""
    low, high = axis.limits
    return (min(lows, default=0.0) if low is None else low, max(highs, default=1.0) if high is None else high)


def _draw_box(axes: Axes, box: DiagramBox) -> None:
    """Draw a rectangle: tinted where records are published, hatched where they are suppressed."""
    from matplotlib.patches import Rectangle

    place, width, height = (box.left, box.bottom), box.right - box.left, box.top - box.bottom
    if box.shown:
        axes.add_patch(Rectangle(place, width, height, facecolor=COLOURS[0], alpha=0.20, linewidth=0, zorder=1))
    else:
        axes.add_patch(
            Rectangle(place, width, height, facecolor="white", edgecolor="#cfcfcf", hatch="////", linewidth=0, zorder=0)
        )
    axes.add_patch(Rectangle(place, width, height, fill=False, edgecolor=COLOURS[0], linewidth=0.9, zorder=3))


def _write_words(axes: Axes, boxes: Sequence[DiagramBox], size: tuple[float, float]) -> None:
    """Write the words of every box that has room for them, in the largest type that fits."""
    span, rise = axes.get_xlim(), axes.get_ylim()
    across = _INSIDE[0] * size[0] / abs(span[1] - span[0])
    up = _INSIDE[1] * size[1] / abs(rise[1] - rise[0])
    for box in boxes:
        room, tall = (box.right - box.left) * across, (box.top - box.bottom) * up
        letters = len(box.words) + 0.6
        points = next((s for s in _BOX_TYPE if letters * s * _LETTER <= room and s * _LINE <= tall), None)
        if points is not None and box.words:
            axes.text(
                (box.left + box.right) / 2, (box.bottom + box.top) / 2, box.words, ha="center", va="center_baseline",
                fontsize=points, color=INK, zorder=4, bbox={"facecolor": "white", "alpha": 0.65, "pad": 0.8, "linewidth": 0},
            )  # fmt: skip


Point = tuple[float, float]
CLUSTER_WIDTH = 7.0
"""Inches of a row of pictures; half of it for one alone."""
CLUSTER_HEIGHT = 0.92
"""The height of a picture over its width."""
_ROUND = 4.6
"""How far a patch reaches beyond its cluster, in points for each inch of the diagram's width."""
_PATCH = 0.16
"""How much of its colour a patch has; the rest is white."""


@dataclass(frozen=True)
class ClusterDiagram:
    """Points with the number of their cluster, and what is published instead of them.

    `shown` are centroids that stand for several points, `boxes` are labels that cover them (left, bottom, right, top), `moves`
    are pairs of points of which the first shows the value of the second, `cuts` are lines between clusters across and up. Points
    are hollow where something else is published.
    """

    title: str
    points: Sequence[Point]
    labels: Sequence[int]
    shown: Sequence[Point] = ()
    boxes: Sequence[tuple[float, float, float, float]] = ()
    moves: Sequence[tuple[Point, Point]] = ()
    cuts: tuple[Sequence[float], Sequence[float]] = ((), ())
    patches: bool = True


def draw_clusters(picture: ClusterDiagram, axes: Axes | None = None) -> Axes:
    """Draw one diagram of clusters, on its own figure or on the axes given."""
    with plot_style():
        if axes is None:
            axes = _cluster_figure(1, 2, 1).subplots()
        inches = axes.bbox.width / axes.figure.dpi
        axes.set_title(picture.title, loc="left", fontsize=10 if inches > 2.4 else 9, fontweight="bold", pad=7)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(True)
            spine.set_color(QUIET)
            spine.set_linewidth(0.6)
        if picture.patches:
            _patches(axes, picture, _ROUND * inches)
        for values, line in zip(picture.cuts, (axes.axvline, axes.axhline), strict=True):
            for value in values:
                line(value, color=QUIET, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
        _draw_published(axes, picture)
        axes.margins(0.09)
        return axes


def clusters_side_by_side(pictures: Sequence[ClusterDiagram], across: int = 3) -> Figure:
    """Draw several diagrams of clusters in rows of `across`."""
    rows, columns = -(-len(pictures) // across), min(across, len(pictures))
    with plot_style():
        figure = _cluster_figure(rows, across, columns)
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for picture, axes in zip(pictures, panels, strict=False):
            draw_clusters(picture, axes)
        for axes in panels[len(pictures) :]:
            axes.set_axis_off()
        return figure


def _cluster_figure(rows: int, across: int, columns: int) -> Figure:
    """Make a figure for so many rows and columns of diagrams, of which `across` fill a row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wide = CLUSTER_WIDTH / across
    figure = Figure(figsize=(wide * columns, CLUSTER_HEIGHT * wide * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _patches(axes: Axes, picture: ClusterDiagram, beyond: float) -> None:
    """Draw a rounded patch around the points of each cluster, the widest at the back."""
    from matplotlib.patches import Polygon

    members: dict[int, list[Point]] = {}
    for place, label in zip(picture.points, picture.labels, strict=True):
        members.setdefault(label, []).append(place)
    for label, places in sorted(members.items(), key=lambda item: -_extent(item[1])):
        tint = _tint(cluster_colour(label), _PATCH)
        outline: Any = hull(places)
        style: dict[str, Any] = {
            "closed": True,
            "joinstyle": "round",
            "capstyle": "round",
            "facecolor": tint,
            "zorder": 0.5,
        }
        axes.add_patch(Polygon(outline, linewidth=beyond + 1.6, edgecolor=_tint(cluster_colour(label), 0.4), **style))
        axes.add_patch(Polygon(outline, linewidth=beyond, edgecolor=tint, **style))


def _draw_published(axes: Axes, picture: ClusterDiagram) -> None:
    """Draw the points, and over them what is published."""
    from matplotlib.patches import Rectangle

    colours = [cluster_colour(label) for label in picture.labels]
    instead = bool(picture.shown or picture.boxes)
    x, y = zip(*picture.points, strict=True)
    faces: Any = "white" if instead else colours
    axes.scatter(x, y, s=20, facecolors=faces, edgecolors=colours, linewidths=1.1, zorder=3)
    for start, end in picture.moves:
        arrow: dict[str, Any] = {
            "arrowstyle": "-|>",
            "color": INK,
            "lw": 0.8,
            "shrinkA": 3,
            "shrinkB": 3,
            "mutation_scale": 7,
        }
        arrow["connectionstyle"] = "arc3,rad=0.18"
        axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=4)
    for left, bottom, right, top in picture.boxes:
        axes.add_patch(
            Rectangle((left, bottom), right - left, top - bottom, fill=False, edgecolor=INK, linewidth=1.4, zorder=4)
        )
    if picture.shown:
        x, y = zip(*picture.shown, strict=True)
        axes.scatter(x, y, s=46, marker="X", color=INK, linewidths=0, zorder=5)


def cluster_colour(label: int) -> str:
    """Give the colour of a cluster; after the last colour, the first again."""
    return COLOURS[label % len(COLOURS)]


def hull(points: Sequence[Point]) -> list[Point]:
    """Give the corners of the convex hull of some points, in order (Andrew's monotone chain).

    >>> hull([(0, 0), (2, 0), (1, 1), (0, 2), (2, 2)])
    [(0, 0), (2, 0), (2, 2), (0, 2)]
    """
    places = sorted(set(points))
    if len(places) < 3:
        return places
    corners: list[Point] = []
    for way in (places, places[::-1]):
        chain: list[Point] = []
        for place in way:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], place) <= 0:
                chain.pop()
            chain.append(place)
        corners += chain[:-1]
    return corners


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _extent(places: Sequence[Point]) -> float:
    across, up = zip(*places, strict=True)
    return float(max(across) - min(across) + max(up) - min(up))


def _tint(ink: str, share: float) -> tuple[float, float, float]:
    red, green, blue = (int(ink[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return (1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue))
