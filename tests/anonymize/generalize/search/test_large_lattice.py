"""Lattices beyond the limit: a scheme that is allowed, a bound that is below every scheme, and the same answer every time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from shoal.anonymize.generalize.search import large_lattice
from shoal.anonymize.generalize.search.full_domain import judge_scheme
from shoal.anonymize.generalize.search.large_lattice import search_large, suffix_bounds
from tests.anonymize.generalize.search.tiny_problems import posed, problems, truth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "block", "nodes"), [("k", 6, 2), ("k", 2, 1000), ("several", 6, 2), ("alpha", 6, 1000), ("k_map", 6, 2)]
)
def test_the_bound_lies_below_the_optimum_and_the_scheme_is_allowed(kind, block, nodes):
    @settings(max_examples=max(settings.default.max_examples // 6, 5))
    @given(problems(kind))
    def check(problem):
        asked, wanted = posed(problem), truth(problem)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(large_lattice, "BLOCK", block)
            patch.setattr(large_lattice, "NODES", nodes)
            result = search_large(asked)
            assert search_large(asked) == result
            if wanted is None:
                assert result.best is None
                return
            if asked.loss.weighs_labels:
                assert suffix_bounds(asked)[0] <= wanted[0]
        if result.lower_bound is not None:
            assert result.lower_bound <= wanted[0]
        if result.best is not None:
            assert judge_scheme(asked, result.best.places) == result.best
            assert result.best.total >= wanted[0]
        if result.is_exact:
            assert result.best is not None
            assert result.best.total == wanted[0]

    check()
