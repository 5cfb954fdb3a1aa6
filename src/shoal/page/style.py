"""One look for every plot: type sizes, colours that colour-blind readers can tell apart, quiet axes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
def look() -> Iterator[None]:
    """Draw and save with our rules, and leave everyone else's alone."""
    import matplotlib as mpl

    rules: Any = RULES
    with mpl.rc_context(rules):
        yield
