"""The best scheme: the same as looking at every scheme by itself, for every criterion, loss, weight, pin and limit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.search import best_scheme
from shoal.anonymize.generalize.search.best_scheme import find_recoding, find_scheme, pose
from shoal.anonymize.generalize.search.full_domain import climb, judge_scheme, search
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.errors import DataError, InfeasibleError
from tests.anonymize.generalize.search.tiny_problems import (
    CRITERIA,
    ILL,
    ORDINAL,
    QUASI,
    encoded,
    posed,
    problems,
    truth,
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CRITERIA)
def test_the_search_finds_what_looking_at_every_scheme_finds(kind):
    @settings(max_examples=settings.default.max_examples // 2)
    @given(problems(kind))
    def check(problem):
        asked, wanted = posed(problem), truth(problem)
        found = search(asked).best
        assert (found and found.rank) == wanted
        start, _ = climb(asked, swaps=True)
        again = search(asked, start=start).best
        assert (again and again.rank) == wanted
        if found is not None:
            assert judge_scheme(asked, found.places) == found

    check()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "budget"), [("k", 0), ("k", 7), ("t", 7), ("k_map", 7)])
def test_a_search_with_a_budget_bounds_the_optimum_from_below(kind, budget):
    @settings(max_examples=settings.default.max_examples // 4)
    @given(problems(kind))
    def check(problem):
        asked, wanted = posed(problem), truth(problem)
        result = search(asked, budget=budget)
        if wanted is not None:
            assert result.lower_bound is not None
            assert result.lower_bound <= wanted[0]
            assert result.best is None or result.best.total >= wanted[0]
        if result.is_exact:
            assert (result.best and result.best.rank) == wanted

    check()


ROWS = [("u", "p", "0", "low", "e")] * 6 + [("v", "q", "1", "high", "f")] * 3 + [("z", "s", "1", "top", "i")]


def recoded(required, suppression=Fraction(0), rows=ROWS, population=None, **ranges):
    confidential = (ORDINAL, ILL) if required.is_confidential else ()
    records = encoded(rows, confidential, required.distance, population)
    return find_recoding(Lattice.of(QUASI, **ranges), records, required, "granularity", {}, suppression)


def test_a_limit_that_cannot_be_kept_is_answered_with_the_least():
    with pytest.raises(InfeasibleError, match=r"at least 1 of 10 records .* suppression: 0.1 or more"):
        recoded(Requirement(3), coarsest={"a": 0})
    assert recoded(Requirement(3), Fraction(1, 10), coarsest={"a": 0}).recoded.kept.sum() == 9


def test_what_no_class_can_have_is_said():
    with pytest.raises(InfeasibleError, match=r"'grade' has fewer different values .* l = 3"):
        recoded(Requirement(2, l=4))
    with pytest.raises(InfeasibleError, match=r"largest class .* 6 records"):
        recoded(Requirement(7), Fraction(1, 2), coarsest={"a": 0})
    with pytest.raises(InfeasibleError, match=r"however many .* alpha = 0.2; .* alpha = 0.6 for 'grade'"):
        recoded(Requirement(2, alpha=Fraction(1, 5)), Fraction(9, 10))
    with pytest.raises(InfeasibleError, match=r"however many .* entropy_l = 2.454 for 'grade'"):
        recoded(Requirement(2, entropy_l=Fraction(29, 10)), Fraction(9, 10))


def test_a_population_that_lacks_people_of_the_table_is_refused():
    with pytest.raises(DataError, match=r"does not hold the table.*1 of 3 combinations"):
        recoded(Requirement(2, k_map=2), population=[row[:3] for row in ROWS[:-1]])


def test_a_lattice_beyond_the_limit_is_searched_by_steps(monkeypatch):
    asked = pose(Lattice.of(QUASI), encoded(ROWS, ()), Requirement(3), "granularity", {}, Fraction(1, 5))
    exact = find_scheme(asked)
    monkeypatch.setattr(best_scheme, "LIMIT", 3)
    assert find_scheme(asked).best == exact.best
