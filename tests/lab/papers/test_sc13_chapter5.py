"""SC13 chapter 5: every table and figure fails when its printed number is wrong, and its errata are errors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.lab.papers import sc13_chapter5
from shoal.lab.papers.catalogue import RESULTS
from shoal.lab.papers.comparison import Verdict
from shoal.lab.papers.sc13_chapter5 import ROWS, cells, excess, moved_too_far
from shoal.mechanism.refinement.factors import RefinementCurve
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement

ERRATA = {"sc13-table-5.5": 4, "sc13-figure-5.2": 1, "sc13-figure-5.3": 1, "sc13-figure-5.6": 3, "sc13-errata-5": 8}
MINE = [name for name in RESULTS if name.startswith(("sc13-table-5", "sc13-figure-5", "sc13-errata-5"))]


def test_all_of_the_chapter_is_there():
    assert [name for name in MINE if "table" in name] == [f"sc13-table-5.{i}" for i in (3, 4, 5)]
    assert [name for name in MINE if "figure" in name] == [f"sc13-figure-5.{i}" for i in range(1, 8)]


@pytest.mark.slow
@pytest.mark.parametrize("name", MINE)
def test_it_reproduces(name):
    verdicts = [finding.verdict for finding in RESULTS[name].run().findings]
    assert Verdict.FAILED not in verdicts
    assert verdicts.count(Verdict.ERRATUM) == ERRATA.get(name, 0)


@pytest.mark.parametrize(
    ("module", "name", "wrong", "source", "blamed"),
    [
        (sc13_chapter5, "ROWS", {"1": (1.0, ("2", "0.607", "0.035", "0.269", "0.731"))},
         "sc13-table-5.5", "refined variance, epsilon 1"),
        (sc13_chapter5, "ROWS", {"1": (1.0, ("2", "0.393", "0.034", "0.269", "0.731"))},
         "sc13-table-5.5", "Laplace Pr[in [0, 1]], epsilon 1"),
        (sc13_chapter5, "ROWS", {"1": (1.0, ("2", "0.607", "0.034", "0.731", "0.269"))},
         "sc13-table-5.5", "size of U_u, epsilon 1"),
        (sc13_chapter5, "REACHED", {"individual": 0.2, "statistical": 0.3},
         "sc13-errata-5", "delta when 0.2 is moved, individual, epsilon ln 2"),
        (sc13_chapter5, "BOOLEAN", ("0.003678", "0.02718", "0.003912"),
         "sc13-errata-5", "section 5.5.1: Pr[1 | 1] in the last sum"),
        (sc13_chapter5, "COIN", ("0.1840", "0.8161"), "sc13-figure-5.4", "Pr[1 | the value is 0]"),
        (sc13_chapter5, "ROUNDED", ("0.184", "0.816", "0.20"), "sc13-figure-5.5",
         "Pr[1] when 1 in 100 has the value 1"),
        (sc13_chapter5, "REFINED", {(1, 1): "0.027181"}, "sc13-figure-5.6", "Pr[1 | the value is 1]"),
        (sc13_chapter5, "SHOWN", "0.003859", "sc13-figure-5.6", "Pr[1] when 1 in 100 has the value 1"),
        (sc13_chapter5, "UP", "1.4", "sc13-figure-5.3", "U_u around 0.166 and 0.833"),
    ],
)  # fmt: skip
def test_a_wrong_number_is_noticed(monkeypatch, module, name, wrong, source, blamed):
    monkeypatch.setattr(module, name, wrong)
    assert blamed in [f.what for f in RESULTS[source].run().findings if f.verdict is Verdict.FAILED]


@pytest.mark.parametrize(
    ("kind", "moved", "reached"),
    [
        ("individual", Fraction(1, 5), 0.4),
        ("individual", Fraction(1, 10), 0.2),
        ("statistical", Fraction(1, 10), 0.3),
        ("statistical", Fraction(1, 15), 0.2),
        ("individual", Fraction(0), 0.0),
        ("statistical", Fraction(0), 0.0),
    ],
)
def test_what_moving_mass_costs(kind, moved, reached):
    assert moved_too_far(kind, moved) == pytest.approx(reached, abs=1e-9)


def test_excess_is_the_larger_direction():
    first, second = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    assert excess(first, second, 0) == pytest.approx(0.4)
    assert excess(first, second, math.log(2)) == pytest.approx(0.3)  # 0.5 - 2 * 0.1, not 0.9 - 2 * 0.5
    assert excess(first, second, math.log(5)) == pytest.approx(0)


def test_cells_are_the_law_of_the_mechanism():
    from shoal.mechanism.refinement.prior import UniformPrior

    mechanism = KnowledgeRefinement(UniformPrior(), math.log(2))
    law = cells(0.5, RefinementCurve(Fraction(2), Fraction(1, 2)))
    ours = [mechanism.distribution(0.5).cdf(end) for end in (0.1, 0.4, 0.6)]
    assert [law[: round(end * len(law))].sum() for end in (0.1, 0.4, 0.6)] == pytest.approx(ours, abs=1e-9)
    assert law.sum() == pytest.approx(1)


def test_the_laplace_column_by_counting():
    """Golden: 1 - e^(-epsilon/2) of Laplace noise of scale 1/epsilon lies within 1/2; 0.607 is what lies outside."""
    draws = np.random.default_rng(3).laplace(size=200_000)
    for epsilon, row in ROWS.values():
        inside = float((np.abs(draws / epsilon) <= 0.5).mean())
        assert inside == pytest.approx(1 - math.exp(-epsilon / 2), abs=0.005)
        assert abs(inside - float(row[1])) > 0.03


@pytest.mark.slow
def test_outlines_are_densities():
    for figure in (sc13_chapter5.figure_5_1, sc13_chapter5.figure_5_3, sc13_chapter5.figure_5_7):
        for series in figure().pictures[0].series:
            if not series.dashed:
                assert np.trapezoid(series.y, series.x) == pytest.approx(1, abs=0.01)


@pytest.mark.slow
def test_one_person():
    """Refined answers are nearer than Laplace's at their best, for every epsilon; and so is the best guess from them."""
    golden = {"uniform": 0.168937, "normal": 0.06106, "skewed": 0.05572}
    for case in sc13_chapter5.person_cases():
        refined, clamped = np.array(case.refined_errors()), np.array(case.clamped_errors())
        assert (refined < clamped).all()
        assert (clamped < np.array(sc13_chapter5.laplace_errors())).all()
        assert (np.diff(refined) < 0).all()
        assert refined[sc13_chapter5.EPSILONS.index("1")] == pytest.approx(golden[case.words], rel=2e-3)
        nothing, told, noised = case.guesses("1")
        assert told < noised < nothing
        assert told < refined[sc13_chapter5.EPSILONS.index("1")]


def test_cut_noise_by_counting():
    case = sc13_chapter5.person_cases()[0]
    chance = np.random.default_rng(5)
    truth = chance.random(200_000)
    answers = np.clip(truth + chance.laplace(scale=0.5, size=200_000), 0, 1)
    ours = case.clamped_errors()[sc13_chapter5.EPSILONS.index("1")]
    assert float(np.abs(answers - truth).mean()) == pytest.approx(ours, rel=0.01)
    assert float(np.abs(answers - truth).mean()) != pytest.approx(1.3 * ours, rel=0.01)


def test_the_pictures_of_two_answers_show_every_bar():
    for figure in (sc13_chapter5.figure_5_4, sc13_chapter5.figure_5_6):
        for series in figure().pictures[0].series:
            places = list(zip(series.x, series.y, strict=True))
            heights = [max(y for x, y in places if (x > 0.5) == one) for one in (False, True)]
            assert sum(heights) == pytest.approx(1)
