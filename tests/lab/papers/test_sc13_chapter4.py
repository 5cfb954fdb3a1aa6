"""SC13 chapter 4: every table and figure fails when its printed number is wrong, and the curves are densities."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from shoal.lab.papers import sc13_chapter4
from shoal.lab.papers.catalogue import RESULTS
from shoal.lab.papers.comparison import Verdict, is_cut, rounded_or_cut
from shoal.lab.papers.sc13_chapter4 import coverage, example_5, mass_of_steps
from shoal.mechanism.staircase.distribution import BoxDistribution

ERRATA = {"sc13-table-4.2": 2, "sc13-table-4.4": 3, "sc13-figure-4.6": 1, "sc13-errata-4": 4}
MINE = [name for name in RESULTS if name.startswith(("sc13-table-4", "sc13-figure-4", "sc13-errata-4"))]


def area(x, y):
    """Under the steps or lines of a series."""
    return float(np.trapezoid(y, x))


def test_all_of_the_chapter_is_there():
    assert [name for name in MINE if "table" in name] == [f"sc13-table-4.{i}" for i in range(1, 5)]
    assert [name for name in MINE if "figure" in name] == [f"sc13-figure-4.{i}" for i in range(1, 8)]


@pytest.mark.parametrize("name", MINE)
def test_it_reproduces(name):
    verdicts = [finding.verdict for finding in RESULTS[name].run().findings]
    assert Verdict.FAILED not in verdicts
    assert verdicts.count(Verdict.ERRATUM) == ERRATA.get(name, 0)


@pytest.mark.parametrize(
    ("module", "name", "wrong", "source", "blamed"),
    [
        (sc13_chapter4, "VARIANCES", {"Laplace": ("200.00", "8.00", "2.00"), "optimal": ("199.92", "7.91", "1.92")},
         "sc13-table-4.1", "optimal, epsilon 0.5"),
        (sc13_chapter4, "LENGTHS", {"Laplace": ("59.91", "11.98", "5.98"), "optimal": ("59.91", "11.96", "5.98")},
         "sc13-table-4.2", "optimal, epsilon 0.5"),
        (sc13_chapter4, "LAPLACE_REGIONS", {"0.99": ("73.02", "10690")}, "sc13-table-4.3", "size at 0.99"),
        (sc13_chapter4, "LAPLACE_REGIONS", {"0.95": ("52.19", "5445")}, "sc13-table-4.3", "alpha at 0.95"),
        (sc13_chapter4, "REGIONS", {"0.95": ("4.79", "919.6")}, "sc13-table-4.4", "size at 0.95"),
        (sc13_chapter4, "REGIONS", {"0.95": ("4.69", "916.6")}, "sc13-table-4.4", "beta at 0.95"),
        (sc13_chapter4, "LEAST_VARIANCE", ("0.416738", "1.9181"), "sc13-figure-4.2", "d of the least variance"),
        (sc13_chapter4, "LEAST_VARIANCE", ("0.416737", "1.9180"), "sc13-figure-4.2", "the least variance"),
        (sc13_chapter4, "SHORTEST", "0.992", "sc13-figure-4.3", "d of the shortest interval"),
        (sc13_chapter4, "COMPONENTS", ("4.0338", "403.39"), "sc13-figure-4.7", "Var(Y_2), piecewise constant"),
        (sc13_chapter4, "LAPLACE_VARIANCE", "243", "sc13-figure-4.7", "Var(Y_1), Laplace"),
        (sc13_chapter4, "SCALE", 12.0, "sc13-figure-4.6", "scale of the Laplace noise"),
    ],
)  # fmt: skip
def test_a_wrong_number_is_noticed(monkeypatch, module, name, wrong, source, blamed):
    monkeypatch.setattr(module, name, wrong)
    assert blamed in [f.what for f in RESULTS[source].run().findings if f.verdict is Verdict.FAILED]


def test_cut_and_rounded():
    assert rounded_or_cut("a", "5.99", 5.9865).verdict is Verdict.REPRODUCED
    assert rounded_or_cut("a", "5.98", 5.9865).verdict is Verdict.ERRATUM
    assert rounded_or_cut("a", "5.97", 5.9865).verdict is Verdict.FAILED
    assert not is_cut("5.99", 5.9865)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.99])
def test_coverage_undoes_the_region(share):
    law = example_5()
    assert coverage(law, law.region_volume(share)) == pytest.approx(share, abs=1e-9)


def test_the_printed_steps_from_zero_have_too_much_mass():
    law = BoxDistribution(1.0, (1.0,), (0.4,))
    middles = np.arange(-60, 60, 0.01) + 0.005
    assert mass_of_steps(law, 1) == pytest.approx(1)
    assert mass_of_steps(law, 1) == pytest.approx(float(law.density(middles).sum()) * 0.01, abs=1e-3)
    assert mass_of_steps(law, 0) == pytest.approx(1 + 2 * float(law.density(0.0)))


def test_the_curves_of_figure_4_1_hold_the_mass_of_their_interval():
    (picture,) = sc13_chapter4.figure_4_1().pictures
    for series in picture.series:
        assert area(series.x, series.y) == pytest.approx(1 - math.exp(-4), abs=1e-4)


def test_figures_4_2_and_4_3_mark_the_lowest_point():
    for figure in (sc13_chapter4.figure_4_2, sc13_chapter4.figure_4_3):
        (picture,) = figure().pictures
        (mark,) = picture.marks
        assert mark.y <= min(picture.series[0].y)
        assert mark.y < picture.levels[0].y


def test_the_box_lies_inside_the_ball():
    for figure in (sc13_chapter4.figure_4_4, sc13_chapter4.figure_4_5):
        box, ball = figure().pictures[0].series
        radius = max(ball.y)
        assert {abs(x) + abs(y) for x, y in zip(box.x, box.y, strict=True)} == {radius}


def test_components_of_figure_4_7_are_densities():
    (picture,) = sc13_chapter4.figure_4_7().pictures
    law = example_5()
    for j, end in ((0, 12.0), (1, 40.0)):
        series = picture.series[j]
        assert area(series.x, series.y) == pytest.approx(law.cdf(end, j) - 0.5, abs=1e-9)
        assert all(a >= b for a, b in pairwise(series.y))


def test_several_sums():
    """Golden: 2 to 16 sums at epsilon 1; in many dimensions the error is half of that of evenly scaled Laplace noise."""
    rows = sc13_chapter4.compare_sums()
    assert [row.dimension for row in rows] == [2, 4, 8, 16]
    assert [row.expected_error for row in rows] == pytest.approx([1.48965, 2.50042, 4.5, 8.5], rel=1e-5)
    assert [row.expected_error_even for row in rows] == [2, 4, 8, 16]
    assert math.exp(rows[0].log_volume) == pytest.approx(8659.04, rel=1e-5)
    gains = [row.log_volume_even - row.log_volume for row in rows]
    assert gains == sorted(gains)
    for picture in sc13_chapter4.sum_pictures():
        optimal, even, one = (np.array(series.y) for series in picture.series)
        assert (optimal < even).all()
        assert (even < one).all()
