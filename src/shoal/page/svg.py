"""Pictures written as SVG without a library: real text, the page's own colours, and the same bytes with every library version.

A certificate is verified by rendering its page again, so its picture may not depend on a plotting library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.page.number_text import share_text

if TYPE_CHECKING:
    from shoal.page.picture import Picture

WIDTH, HEIGHT = 480.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 14.0, 14.0, 52.0
"""Space around the drawing: the labels of the vertical axis, and two lines of words below."""
NAME_GAP = 16.0
"""Names of lines are at least so far apart."""
LOWEST = 1e-300
"""Smaller values are drawn here: smaller floats are not normal numbers."""
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def draw_curve(picture: Picture) -> str:
    """Draw a picture with a logarithmic vertical axis as SVG inside a page; title and caption are for screen readers."""
    from markupsafe import Markup, escape

    xs = [x for series in picture.series for x in series.x] + [mark.x for mark in picture.marks]
    ys = [y for series in picture.series for y in series.y] + [mark.y for mark in picture.marks]
    across, up = _across(max(xs)), _up(max(min(ys), LOWEST), max(*ys, LOWEST))
    lines = [
        *_grid(across, up),
        _text("axis", "middle", f'x="{_px((LEFT + WIDTH - RIGHT) / 2)}" y="{_px(HEIGHT - 10)}"', picture.x.label),
        _text(
            "axis",
            "middle",
            f'transform="translate(14 {_px((TOP + HEIGHT - BOTTOM) / 2)}) rotate(-90)"',
            picture.y.label,
        ),
    ]
    names: list[float] = []
    for series in picture.series:
        places = [(_x(x, across), _y(y, up)) for x, y in zip(series.x, series.y, strict=True)]
        dash = ' stroke-dasharray="6 4"' if series.dashed else ""
        lines.append(f'<polyline class="line"{dash} points="{" ".join(f"{_px(x)},{_px(y)}" for x, y in places)}"/>')
        if series.named and series.label:
            x, y = places[-1]
            height = max(y - 8, TOP + 10)
            while any(abs(height - other) < NAME_GAP for other in names):
                height += NAME_GAP
            names.append(height)
            lines.append(_text("name", "end", f'x="{_px(x)}" y="{_px(height)}"', series.label))
        if series.dots:
            lines += [f'<circle class="dot" cx="{_px(x)}" cy="{_px(y)}" r="3.2"/>' for x, y in places]
    for mark in picture.marks:
        x, y = _x(mark.x, across), _y(mark.y, up)
        after = x < WIDTH * 0.6
        lines.append(f'<circle class="mark" cx="{_px(x)}" cy="{_px(y)}" r="5.5"/>')
        place = f'x="{_px(x + (10 if after else -10))}" y="{_px(max(y - 8, TOP + 10))}"'
        lines.append(_text("name", "start" if after else "end", place, mark.text))
    words = escape(f"{picture.title}. {picture.caption}")
    head = f'<svg class="drawn" role="img" aria-label="{words}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}">'
    return Markup("\n".join([head, *lines, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


def _text(kind: str, anchor: str, place: str, words: str) -> str:
    from markupsafe import escape

    return f'<text class="{kind}" {place} text-anchor="{anchor}">{escape(words)}</text>'


def _px(value: float) -> str:
    return f"{value:.1f}"


def _digits(value: float) -> str:
    """The same without a needless decimal, where a page has many of them."""
    return f"{value:.1f}".removesuffix(".0")


def _across(largest: float) -> list[float]:
    """Choose round ticks from 0 to just past the largest value: four to eight of them."""
    power = 10.0 ** math.floor(math.log10(largest)) if largest > 0 else 1.0
    step = next(s * power for s in (0.2, 0.5, 1, 2) if largest / (s * power) <= 7.0)
    return [step * i for i in range(math.ceil(largest / step - 1e-9) + 1)]


def _up(smallest: float, largest: float) -> list[int]:
    """Choose powers of ten around the values, evenly spaced, at most eight."""
    low, high = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
    high = max(high, low + 1)
    step = next((s for s in _STEPS if (high - low) / s <= 7), _STEPS[-1])
    start = math.floor(low / step) * step
    return list(range(start, start + step * math.ceil((high - start) / step) + 1, step))


def _x(value: float, ticks: Sequence[float]) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / ticks[-1]


def _y(value: float, powers: Sequence[int]) -> float:
    share = (math.log10(max(value, LOWEST)) - powers[0]) / (powers[-1] - powers[0])
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share


def _grid(across: Sequence[float], up: Sequence[int]) -> list[str]:
    bottom, lines = HEIGHT - BOTTOM, []
    for power in up:
        y = bottom - (bottom - TOP) * (power - up[0]) / (up[-1] - up[0])
        lines.append(f'<path class="grid" d="M{_px(LEFT)} {_px(y)}H{_px(WIDTH - RIGHT)}"/>')
        named = "1" if power == 0 else f"1e{power}"
        lines.append(f'<text x="{_px(LEFT - 7)}" y="{_px(y + 4)}" text-anchor="end">{named}</text>')
    for tick in across:
        x = _x(tick, across)
        lines.append(f'<path class="grid" d="M{_px(x)} {_px(TOP)}V{_px(bottom)}"/>')
        lines.append(f'<text x="{_px(x)}" y="{_px(bottom + 17)}" text-anchor="middle">{tick:.10g}</text>')
    return lines


SMALL_WIDTH, SMALL_HEIGHT = 360.0, 230.0
SMALL_LEFT, SMALL_RIGHT, SMALL_TOP, SMALL_BOTTOM = 16.0, 16.0, 12.0, 44.0
"""Space around the drawing; below it two lines of words."""
SIDE = 52.0
"""Space for the words of a vertical axis."""


def draw_histograms(
    before: Sequence[float], after: Sequence[float], ends: tuple[str, str], name: str, words: str
) -> str:
    """Draw two histograms in even bins, `before` as grey bars, `after` as a line of steps; `ends` name the outer edges."""
    from markupsafe import Markup

    bins, most = max(1, len(before)), max([*before, *after, 1])
    bottom, tall = SMALL_HEIGHT - SMALL_BOTTOM, SMALL_HEIGHT - SMALL_BOTTOM - SMALL_TOP
    step = (SMALL_WIDTH - SMALL_LEFT - SMALL_RIGHT) / bins
    wide = max(step - 1, step / 2)
    bars = "".join(
        f"M{_px(SMALL_LEFT + i * step)} {_px(bottom)}v{_px(-tall * count / most)}h{_px(wide)}V{_px(bottom)}z"
        for i, count in enumerate(before)
        if count
    )
    steps = "".join(
        f"V{_digits(bottom - tall * count / most)}H{_digits(SMALL_LEFT + (i + 1) * step)}"
        for i, count in enumerate(after)
    )
    lines = [
        *([f'<path class="before" d="{bars}"/>'] if bars else []),
        f'<path class="line" d="M{_digits(SMALL_LEFT)} {_digits(bottom)}{steps}V{_digits(bottom)}"/>',
        f'<path class="grid" d="M{_px(SMALL_LEFT)} {_px(bottom)}H{_px(SMALL_WIDTH - SMALL_RIGHT)}"/>',
        *_ends(SMALL_LEFT, ends, name),
    ]
    return Markup("\n".join([_head(words), *lines, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


def draw_records(places: Sequence[tuple[float, float]], ends: tuple[str, str], name: str, words: str) -> str:
    """Draw records by original value (across) and published value (up), as shares of one range; and the line of no change.

    All records are one path of lines without length, which round ends make dots: a page may have a hundred such drawings.
    """
    from markupsafe import Markup

    bottom = SMALL_HEIGHT - SMALL_BOTTOM
    wide, tall = SMALL_WIDTH - SIDE - SMALL_RIGHT, bottom - SMALL_TOP
    dots = "".join(f"M{_px(SIDE + wide * x)} {_px(bottom - tall * y)}h0" for x, y in places)
    lines = [
        f'<path class="grid" d="M{_px(SIDE)} {_px(SMALL_TOP)}V{_px(bottom)}H{_px(SMALL_WIDTH - SMALL_RIGHT)}"/>',
        f'<path class="same" d="M{_px(SIDE)} {_px(bottom)}L{_px(SMALL_WIDTH - SMALL_RIGHT)} {_px(SMALL_TOP)}"/>',
        f'<path class="dots" d="{dots}"/>',
        *_ends(SIDE, ends, f"{name}, before"),
        _text("axis", "middle", f'transform="translate(34 {_px((SMALL_TOP + bottom) / 2)}) rotate(-90)"', "shown"),
    ]
    return Markup("\n".join([_head(words), *lines, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


RANGE_WIDTH, RANGE_STEP = 560.0, 26.0
"""How wide a drawing of ranges is, and how tall each of its lines."""
RANGE_NAMES = 150.0
"""Space for the names of its lines."""
LONGEST_NAME, LONGEST_AXIS = 24, 40
"""Letters of a name for which there is room: of a line, and of an axis."""


def draw_ranges(lines: Sequence[tuple[str, float, tuple[float, float], tuple[float, float] | None]], words: str) -> str:
    """Draw a line for each named share: a tick where it is, a bar over the range that it takes, and a frame of what is allowed.

    Each line is a name, the share in all, the least and the largest share that occur, and the two that are allowed, or None.
    """
    from markupsafe import Markup, escape

    most = max([high for _, _, (_, high), _ in lines] + [own[1] for *_, own in lines if own] + [1e-9])
    wide = RANGE_WIDTH - RANGE_NAMES - SMALL_RIGHT
    tall = RANGE_STEP * len(lines) + SMALL_TOP + 24

    def x(share: float) -> float:
        return RANGE_NAMES + wide * min(share / most, 1)

    found = []
    for number, (name, share, (low, high), allowed) in enumerate(lines):
        y = SMALL_TOP + RANGE_STEP * number
        shown = escape(_short(name, LONGEST_NAME))
        found.append(f'<text x="{_px(RANGE_NAMES - 8)}" y="{_px(y + 15)}" text-anchor="end">{shown}</text>')
        if allowed is not None:
            left, right = x(allowed[0]), x(allowed[1])
            found.append(
                f'<rect class="allowed" x="{_px(left)}" y="{_px(y + 3)}" width="{_px(right - left)}" height="16"/>'
            )
        found.append(
            f'<rect class="before" x="{_px(x(low))}" y="{_px(y + 7)}" width="{_px(max(x(high) - x(low), 1.5))}" height="8"/>'
        )
        found.append(f'<path class="line" d="M{_px(x(share))} {_px(y + 2)}v18"/>')
    bottom = SMALL_TOP + RANGE_STEP * len(lines) + 14
    found.append(f'<text x="{_px(RANGE_NAMES)}" y="{_px(bottom)}">0</text>')
    found.append(
        f'<text x="{_px(RANGE_WIDTH - SMALL_RIGHT)}" y="{_px(bottom)}" text-anchor="end">{share_text(most)}</text>'
    )
    head = f'<svg class="drawn" role="img" aria-label="{escape(words)}" viewBox="0 0 {RANGE_WIDTH:.0f} {tall:.0f}">'
    return Markup("\n".join([head, *found, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


MATRIX_CELL, MATRIX_NAMES, MATRIX_TOP, MATRIX_LEGEND = 30.0, 170.0, 20.0, 44.0
"""A cell of a matrix that has room for a number, and the space for names, for numbers of columns, and for the legend."""
MATRIX_NUMBERS = 12
"""Matrices of more columns have smaller cells, without numbers in them."""
TINTS = ((0.02, 0.06), (0.05, 0.15), (0.1, 0.28), (0.2, 0.45), (0.35, 0.65), (0.5, 0.82), (1.0, 1.0))
"""Up to which number a cell has which tint, as the opacity of one colour."""


def draw_matrix(names: Sequence[str], values: Sequence[Sequence[float]], words: str) -> str:
    """Draw a matrix of numbers from 0 to 1 between named columns: the larger, the darker; with a legend of the tints."""
    from markupsafe import Markup

    many = len(names)
    numbered = many <= MATRIX_NUMBERS
    side = MATRIX_CELL if numbered else max(11.0, 12 * MATRIX_CELL / many)
    wide, tall = MATRIX_NAMES + side * many + SMALL_RIGHT, MATRIX_TOP + side * many + MATRIX_LEGEND
    wide = max(wide, MATRIX_NAMES + 330)
    tinted: dict[float, list[str]] = {tint: [] for _, tint in TINTS}
    texts = []
    for row, name in enumerate(names):
        y = MATRIX_TOP + side * row
        label = f"{row + 1}  {_short(name, 20)}"
        texts.append(_text("axis", "end", f'x="{_px(MATRIX_NAMES - 6)}" y="{_px(y + side / 2 + 4)}"', label))
        middle = MATRIX_NAMES + side * (row + 0.5)
        if numbered or row % 5 == 4 or row == 0:
            texts.append(_text("axis", "middle", f'x="{_px(middle)}" y="{_px(MATRIX_TOP - 6)}"', f"{row + 1}"))
        for column in range(many):
            x, value = MATRIX_NAMES + side * column, values[row][column]
            tint = _tint(value)
            tinted[tint].append(f"M{_digits(x)} {_digits(y + side / 2)}h{_digits(side)}")
            if numbered:
                kind = "cell on" if tint > 0.6 else "cell"
                place = f'x="{_px(x + side / 2)}" y="{_px(y + side / 2 + 4)}"'
                texts.append(_text(kind, "middle", place, f"{value:.2f}".removeprefix("0") if value < 1 else "1"))
    lines = [
        f'<path class="heat" opacity="{tint:g}" stroke-width="{side:.1f}" d="{"".join(cells)}"/>'
        for tint, cells in tinted.items()
        if cells
    ]
    edge = side * many
    lines.append(
        f'<rect class="edge" x="{_px(MATRIX_NAMES)}" y="{_px(MATRIX_TOP)}" width="{_px(edge)}" height="{_px(edge)}"/>'
    )
    y = MATRIX_TOP + side * many + 12
    for number, (most, tint) in enumerate(TINTS):
        x = MATRIX_NAMES + 46 * number
        lines.append(f'<path class="heat" opacity="{tint:g}" stroke-width="10" d="M{_px(x)} {_px(y + 5)}h44"/>')
        texts.append(_text("axis", "end", f'x="{_px(x + 44)}" y="{_px(y + 24)}"', f"{most:g}"))
    texts.append(_text("axis", "end", f'x="{_px(MATRIX_NAMES - 6)}" y="{_px(y + 24)}"', "up to"))
    head = _drawing_head(words, wide, tall)
    return Markup("\n".join([head, *lines, *texts, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


def _tint(value: float) -> float:
    return next((tint for most, tint in TINTS if value <= most), 1.0)


def _drawing_head(words: str, wide: float, tall: float) -> str:
    from markupsafe import escape

    return f'<svg class="drawn" role="img" aria-label="{escape(words)}" viewBox="0 0 {wide:.0f} {tall:.0f}">'


def _head(words: str) -> str:
    from markupsafe import escape

    return f'<svg class="drawn half" role="img" aria-label="{escape(words)}" viewBox="0 0 {SMALL_WIDTH:.0f} {SMALL_HEIGHT:.0f}">'


def _ends(left: float, ends: tuple[str, str], name: str) -> list[str]:
    """Write the ends of the horizontal axis, and its name below them."""
    from markupsafe import escape

    y = SMALL_HEIGHT - SMALL_BOTTOM + 16
    return [
        f'<text x="{_px(left)}" y="{_px(y)}">{escape(ends[0])}</text>',
        f'<text x="{_px(SMALL_WIDTH - SMALL_RIGHT)}" y="{_px(y)}" text-anchor="end">{escape(ends[1])}</text>',
        _text(
            "axis",
            "middle",
            f'x="{_px((left + SMALL_WIDTH - SMALL_RIGHT) / 2)}" y="{_px(y + 18)}"',
            _short(name, LONGEST_AXIS),
        ),
    ]


def _short(name: str, most: int) -> str:
    """A name as far as there is room for it; a page has it in full in its heading or table."""
    return name if len(name) <= most else f"{name[: most - 1]}\u2026"
