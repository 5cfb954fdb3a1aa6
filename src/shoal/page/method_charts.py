"""Charts that set methods beside each other, as SVG without a library: one small bar chart for a measure, and a map of two.

Real text and the page's own colours; equal values give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.page.svg import _px, _short, _text

CHART_WIDTH, CHART_ROW, CHART_TOP = 360.0, 38.0, 40.0
"""Pixels of a small chart: its width, the height of one method in it, and what stands above the first."""
SIDE = 8.0
LONGEST = 34
"""Letters of a method's name for which there is room beside its value."""
MAP_WIDTH, MAP_HEIGHT = 480.0, 340.0
MAP_LEFT, MAP_RIGHT, MAP_TOP, MAP_BOTTOM = 62.0, 18.0, 16.0, 52.0
LETTER, LINE = 8.4, 16.0
"""Pixels that a letter of a name takes, at most on average, and a line of them."""


@dataclass(frozen=True)
class ChartBar:
    """One method in a chart: its value and the text of it, and the ends of its interval; no value where none was measured."""

    name: str
    value: float | None
    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class MapPoint:
    """One method on a map: where it lies, the ends of its interval upwards, and whether it is the original, for comparison."""

    name: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    is_original: bool = False


def draw_bars(title: str, bars: Sequence[ChartBar], most: float, words: str) -> str:
    """Draw a bar for each method from 0 to `most`, below 0 as 0, a thin line over its interval, and its number in text."""
    from markupsafe import Markup, escape

    most = most if most > 0 else 1.0
    wide = CHART_WIDTH - 2 * SIDE
    tall = CHART_TOP + CHART_ROW * len(bars) + 4

    def x(value: float) -> float:
        return SIDE + wide * min(max(value / most, 0.0), 1.0)

    lines = [_text("name", "start", f'x="{_px(SIDE)}" y="20"', title)]
    for number, bar in enumerate(bars):
        y = CHART_TOP + CHART_ROW * number
        name = escape(_short(bar.name, LONGEST))
        lines.append(f'<text x="{_px(SIDE)}" y="{_px(y + 12)}">{name}</text>')
        lines.append(
            f'<text x="{_px(CHART_WIDTH - SIDE)}" y="{_px(y + 12)}" text-anchor="end">{escape(bar.text)}</text>'
        )
        lines.append(f'<path class="grid" d="M{_px(SIDE)} {_px(y + 23)}H{_px(SIDE + wide)}"/>')
        if bar.value is None:
            continue
        if bar.value > 0:
            long = f'width="{_px(max(x(bar.value) - SIDE, 1.0))}" height="10"'
            lines.append(f'<rect class="dot" x="{_px(SIDE)}" y="{_px(y + 18)}" {long}/>')
        if bar.low is not None and bar.high is not None and bar.high > max(bar.low, 0.0):
            left, right = x(bar.low), x(bar.high)
            ends = "".join(f"M{_px(x(end))} {_px(y + 19)}v8" for end in (bar.low, bar.high) if end >= 0)
            lines.append(f'<path class="interval" d="M{_px(left)} {_px(y + 23)}H{_px(right)}{ends}"/>')
    head = f'<svg class="drawn" role="img" aria-label="{escape(words)}" viewBox="0 0 {CHART_WIDTH:.0f} {tall:.0f}">'
    return Markup("\n".join([head, *lines, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


def draw_map(points: Sequence[MapPoint], across: str, up: str, words: str) -> str:
    """Draw methods as points with their names, both axes from 0; `across` and `up` say what the axes are."""
    from markupsafe import Markup, escape

    columns = round_ticks(max([point.x for point in points] + [0.0]))
    lines_up = round_ticks(max([end for point in points for end in (point.y, point.high or 0.0)] + [0.0]))
    bottom, right = MAP_HEIGHT - MAP_BOTTOM, MAP_WIDTH - MAP_RIGHT

    def x(value: float) -> float:
        return MAP_LEFT + (right - MAP_LEFT) * max(value, 0.0) / columns[-1]

    def y(value: float) -> float:
        return bottom - (bottom - MAP_TOP) * max(value, 0.0) / lines_up[-1]

    found = []
    for tick in lines_up:
        found.append(f'<path class="grid" d="M{_px(MAP_LEFT)} {_px(y(tick))}H{_px(right)}"/>')
        found.append(f'<text x="{_px(MAP_LEFT - 7)}" y="{_px(y(tick) + 4)}" text-anchor="end">{tick:.10g}</text>')
    for tick in columns:
        found.append(f'<path class="grid" d="M{_px(x(tick))} {_px(MAP_TOP)}V{_px(bottom)}"/>')
        found.append(f'<text x="{_px(x(tick))}" y="{_px(bottom + 17)}" text-anchor="middle">{tick:.10g}</text>')
    middle = f'x="{_px((MAP_LEFT + right) / 2)}" y="{_px(MAP_HEIGHT - 10)}"'
    found.append(_text("axis", "middle", middle, across))
    turned = f'transform="translate(15 {_px((MAP_TOP + bottom) / 2)}) rotate(-90)"'
    found.append(_text("axis", "middle", turned, up))
    places = [(x(point.x), y(point.y)) for point in points]
    for point, (left, top) in zip(points, places, strict=True):
        if point.low is not None and point.high is not None and point.high > max(point.low, 0.0):
            found.append(f'<path class="interval" d="M{_px(left)} {_px(y(point.low))}V{_px(y(point.high))}"/>')
        kind = "mark" if point.is_original else "dot"
        found.append(f'<circle class="{kind}" cx="{_px(left)}" cy="{_px(top)}" r="5.5"/>')
    taken = [(left - 7, top - 7, left + 7, top + 7) for left, top in places]
    for point, place in zip(points, places, strict=True):
        name = _short(point.name, LONGEST)
        box = _place_name(place, len(name) * LETTER, taken)
        taken.append(box)
        found.append(_text("name", "start", f'x="{_px(box[0])}" y="{_px(box[3] - 4)}"', name))
    head = f'<svg class="drawn" role="img" aria-label="{escape(words)}" viewBox="0 0 {MAP_WIDTH:.0f} {MAP_HEIGHT:.0f}">'
    return Markup("\n".join([head, *found, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def _place_name(place: tuple[float, float], wide: float, taken: Sequence[Box]) -> Box:
    """Where a name goes: beside its point, above or below it, else farther away, where it touches nothing inside the frame."""
    left, top = place
    most_left, most_right = MAP_LEFT + 2, MAP_WIDTH - MAP_RIGHT - wide

    def at(x: float, y: float) -> Box:
        x = max(most_left, min(x, most_right))
        y = max(MAP_TOP, min(y, MAP_HEIGHT - MAP_BOTTOM - LINE))
        return (x, y, x + wide, y + LINE)

    beside = [(left + 10, top - LINE / 2), (left - 10 - wide, top - LINE / 2)]
    tried = [at(x, y) for x, y in beside]
    for step in range(1, 14):
        for sign in (-1, 1):
            y = top - LINE / 2 + sign * (4 + LINE) * step
            tried += [at(left + 4, y), at(left - wide / 2, y), at(left - wide - 4, y)]
    free = (box for box in tried if not any(_touch(box, other) for other in taken))
    return next(free, tried[0])


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def round_ticks(largest: float) -> list[float]:
    """Round ticks from 0 to the largest value or just past it: four to eight of them.

    >>> round_ticks(0.33)
    [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35]
    """
    if largest <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(largest))
    step = next(s * power for s in (0.2, 0.5, 1, 2) if largest / (s * power) <= 7.0)
    return [round(step * i, 12) for i in range(math.ceil(largest / step - 1e-9) + 1)]
