"""A picture of groups: points in the colour of their group on a patch that holds them, and what each group shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.page.style import COLOURS, INK, QUIET, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Place = tuple[float, float]
WIDTH = 7.0
"""Inches of a row of pictures; half of it for one alone."""
TALL = 0.92
"""The height of a picture over its width."""
_ROUND = 4.6
"""Points of a patch beyond its group, for each inch of a picture's width."""
_PATCH = 0.16
"""How much of its colour a patch has; the rest is white."""


@dataclass(frozen=True)
class Groups:
    """Points with the number of their group, and what is published instead of them.

    `shown` are places that stand for several points, `boxes` labels that cover them (left, bottom, right, top), `moves` points
    that show what another one had (from, to), `cuts` lines between groups across and up. Points are hollow where
    something else is shown.
    """

    title: str
    points: Sequence[Place]
    labels: Sequence[int]
    shown: Sequence[Place] = ()
    boxes: Sequence[tuple[float, float, float, float]] = ()
    moves: Sequence[tuple[Place, Place]] = ()
    cuts: tuple[Sequence[float], Sequence[float]] = ((), ())
    patches: bool = True


def draw_groups(picture: Groups, axes: Axes | None = None) -> Axes:
    """Draw one picture, on its own figure or on the axes given."""
    with look():
        if axes is None:
            axes = _figure(1, 2, 1).subplots()
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
        _published(axes, picture)
        axes.margins(0.09)
        return axes


def side_by_side(pictures: Sequence[Groups], across: int = 3) -> Figure:
    """Several pictures in rows of `across`."""
    rows, columns = -(-len(pictures) // across), min(across, len(pictures))
    with look():
        figure = _figure(rows, across, columns)
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for picture, axes in zip(pictures, panels, strict=False):
            draw_groups(picture, axes)
        for axes in panels[len(pictures) :]:
            axes.set_axis_off()
        return figure


def _figure(rows: int, across: int, columns: int) -> Figure:
    """Room for so many rows and columns of pictures, of which `across` fill a row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wide = WIDTH / across
    figure = Figure(figsize=(wide * columns, TALL * wide * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _patches(axes: Axes, picture: Groups, beyond: float) -> None:
    """A rounded patch around the points of each group, the widest at the back."""
    from matplotlib.patches import Polygon

    members: dict[int, list[Place]] = {}
    for place, label in zip(picture.points, picture.labels, strict=True):
        members.setdefault(label, []).append(place)
    for label, places in sorted(members.items(), key=lambda item: -_extent(item[1])):
        tint = _tint(colour(label), _PATCH)
        outline: Any = hull(places)
        style: dict[str, Any] = {
            "closed": True,
            "joinstyle": "round",
            "capstyle": "round",
            "facecolor": tint,
            "zorder": 0.5,
        }
        axes.add_patch(Polygon(outline, linewidth=beyond + 1.6, edgecolor=_tint(colour(label), 0.4), **style))
        axes.add_patch(Polygon(outline, linewidth=beyond, edgecolor=tint, **style))


def _published(axes: Axes, picture: Groups) -> None:
    """The points, and over them what is shown."""
    from matplotlib.patches import Rectangle

    colours = [colour(label) for label in picture.labels]
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


def colour(label: int) -> str:
    """The colour of a group; after the last, the first again."""
    return COLOURS[label % len(COLOURS)]


def hull(points: Sequence[Place]) -> list[Place]:
    """The corners of the smallest convex patch around some points, in turn (Andrew's monotone chain)."""
    places = sorted(set(points))
    if len(places) < 3:
        return places
    corners: list[Place] = []
    for way in (places, places[::-1]):
        chain: list[Place] = []
        for place in way:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], place) <= 0:
                chain.pop()
            chain.append(place)
        corners += chain[:-1]
    return corners


def _turn(a: Place, b: Place, c: Place) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _extent(places: Sequence[Place]) -> float:
    across, up = zip(*places, strict=True)
    return float(max(across) - min(across) + max(up) - min(up))


def _tint(ink: str, share: float) -> tuple[float, float, float]:
    red, green, blue = (int(ink[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return (1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue))
