"""Plots: axes come back, files repeat byte for byte, and nobody's global settings change."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes

from shoal import page
from shoal.errors import UsageError
from shoal.page import plots
from shoal.page.picture import Mark, Picture, PlotAxis, ReferenceLine, Series, ShadedRegion


def picture(*, log=False, caption="Words about it."):
    return Picture(
        title="A picture",
        x=PlotAxis("x (unit)", log=log),
        y=PlotAxis("y (unit)", log=True),
        series=[
            Series("first", [1, 2, 3], [1e-2, 1e-4, 1e-6]),
            Series("second", [1, 2, 3], [1e-1, 1e-4, 1.1e-6], 1, dashed=True),
        ],
        marks=[Mark(2, 1e-4, "here")],
        levels=[ReferenceLine(1e-6, "floor")],
        regions=[ShadedRegion(1, 1.5, "silent")],
        legend=[("solid", False), ("dashed", True)],
        caption=caption,
    )


def test_draw_returns_axes_with_labels():
    axes = plots.draw(picture())
    assert isinstance(axes, Axes)
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("x (unit)", "y (unit)", "log")
    assert axes.get_title(loc="left") == "A picture"
    words = [text.get_text() for text in axes.texts]
    assert {"first", "second", "here", "floor", "silent"} <= set(words)
    assert axes.get_legend() is not None


@pytest.mark.slow
def test_pictures_can_share_a_figure():
    figure = plots.side_by_side([picture(), picture(log=True)])
    assert len(figure.axes) == 2
    assert figure.axes[1].get_xscale() == "log"


def test_names_of_lines_that_end_together_do_not_touch():
    axes = plots.draw(picture())
    heights = sorted(t.get_position()[1] for t in axes.texts if t.get_text() in {"first", "second"})
    assert heights[1] - heights[0] > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_bytes_repeat_and_carry_no_date(kind):
    first, second = (plots.render(plots.side_by_side([picture()]), kind) for _ in range(2))
    assert first == second
    assert len(first) > 5000
    assert b"dc:date" not in first
    assert b"CreationDate" not in first


@pytest.mark.slow
def test_other_pictures_have_other_bytes():
    first, second = (plots.render(plots.side_by_side([picture(caption=c)]), "svg") for c in ("one", "two"))
    assert first != second


def test_an_unknown_kind_is_refused():
    with pytest.raises(UsageError, match="allowed: png, svg, pdf"):
        plots.render(plots.side_by_side([picture()]), "gif")


@pytest.mark.slow
def test_no_global_state():
    before = dict(mpl.rcParams)
    plots.render(plots.side_by_side([picture()]), "png")
    assert dict(mpl.rcParams) == before


@pytest.mark.slow
def test_pyplot_is_never_loaded():
    code = (
        "import sys\nfrom shoal.page import plots\nfrom shoal.page.picture import *\n"
        "plots.render(plots.side_by_side([Picture('t', PlotAxis('x'), PlotAxis('y'), [Series('s', [0, 1], [0, 1])])]), 'png')\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_long_title_is_folded():
    long = Picture("word " * 30, PlotAxis("x"), PlotAxis("y"), [Series("", [0, 1], [0, 1], named=False)])
    assert "\n" in plots.draw(long).get_title(loc="left")


@pytest.mark.parametrize("missing", [True, False])
def test_a_home_that_is_missing_is_not_made_for_settings(monkeypatch, tmp_path, missing):
    """Matplotlib makes its folder at home with all folders above it."""
    for name in ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "set back afterwards")
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home if missing else tmp_path))
    importlib.reload(page)
    assert ("MPLCONFIGDIR" in os.environ) == missing
    assert not home.exists()
