"""A column of numbers before and after, drawn by hand as SVG: two histograms over each other, and single records."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT = 360.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 16.0, 16.0, 12.0, 44.0
"""Space around the drawing; below it two lines of words."""
SIDE = 52.0
"""Space for the words of a vertical axis."""


def histograms(before: Sequence[float], after: Sequence[float], ends: tuple[str, str], name: str, words: str) -> str:
    """Counts in even bins: before as grey bars, after as a line of steps; `ends` name the first and last edge."""
    from markupsafe import Markup

    bins, most = max(1, len(before)), max([*before, *after, 1])
    bottom, tall = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP
    step = (WIDTH - LEFT - RIGHT) / bins
    bars = [
        f'<rect class="before" x="{_px(LEFT + i * step)}" y="{_px(bottom - tall * count / most)}" '
        f'width="{_px(max(step - 1, step / 2))}" height="{_px(tall * count / most)}"/>'
        for i, count in enumerate(before)
        if count
    ]
    places = [(LEFT, bottom)]
    for i, count in enumerate(after):
        y = bottom - tall * count / most
        places += [(LEFT + i * step, y), (LEFT + (i + 1) * step, y)]
    places.append((WIDTH - RIGHT, bottom))
    lines = [
        *bars,
        f'<polyline class="line" points="{" ".join(f"{_px(x)},{_px(y)}" for x, y in places)}"/>',
        f'<path class="grid" d="M{_px(LEFT)} {_px(bottom)}H{_px(WIDTH - RIGHT)}"/>',
        *_ends(LEFT, ends, name),
    ]
    return Markup("\n".join([_head(words), *lines, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


def records(places: Sequence[tuple[float, float]], ends: tuple[str, str], name: str, words: str) -> str:
    """Single records by what they had (across) and what they show (up), as shares of one range; and the line of no change."""
    from markupsafe import Markup

    bottom = HEIGHT - BOTTOM
    wide, tall = WIDTH - SIDE - RIGHT, bottom - TOP
    dots = [
        f'<circle class="dot thin" cx="{_px(SIDE + wide * x)}" cy="{_px(bottom - tall * y)}" r="2.2"/>'
        for x, y in places
    ]
    lines = [
        f'<path class="grid" d="M{_px(SIDE)} {_px(TOP)}V{_px(bottom)}H{_px(WIDTH - RIGHT)}"/>',
        f'<path class="same" d="M{_px(SIDE)} {_px(bottom)}L{_px(WIDTH - RIGHT)} {_px(TOP)}"/>',
        *dots,
        *_ends(SIDE, ends, f"{name}, before"),
        f'<text class="axis" text-anchor="middle" transform="translate(34 {_px((TOP + bottom) / 2)}) rotate(-90)">shown</text>',
    ]
    return Markup("\n".join([_head(words), *lines, "</svg>"]))  # noqa: S704 - our own drawing, every text escaped


def _head(words: str) -> str:
    from markupsafe import escape

    return f'<svg class="drawn half" role="img" aria-label="{escape(words)}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}">'


def _ends(left: float, ends: tuple[str, str], name: str) -> list[str]:
    """The ends of the horizontal axis, and its name below them."""
    from markupsafe import escape

    y = HEIGHT - BOTTOM + 16
    return [
        f'<text x="{_px(left)}" y="{_px(y)}">{escape(ends[0])}</text>',
        f'<text x="{_px(WIDTH - RIGHT)}" y="{_px(y)}" text-anchor="end">{escape(ends[1])}</text>',
        f'<text class="axis" x="{_px((left + WIDTH - RIGHT) / 2)}" y="{_px(y + 18)}" text-anchor="middle">{escape(name)}</text>',
    ]


def _px(value: float) -> str:
    return f"{value:.1f}"
