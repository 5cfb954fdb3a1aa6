"""Rounds of local recoding: every class of the final table, by the labels that its rows show, has what is required."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings

from shoal.anonymize.generalize.search.best_scheme import find_recoding
from shoal.data.hierarchy.level import MISSING
from shoal.errors import InfeasibleError
from tests.anonymize.generalize.search import twin
from tests.anonymize.generalize.search.tiny_problems import described, encoded, problems, truth


def shown_by(recoded, attributes, row, number):
    """The labels that a row of a round shows."""
    labels = []
    for one, value in zip(attributes, row, strict=False):
        label = twin.label(one, recoded.levels[number][one.name], value)
        labels.append(MISSING if label is None and recoded.levels_used[one.name] != (0,) else label)
    return tuple(labels)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["k", "l", "t", "alpha", "enhanced", "delta", "k_map", "several"])
def test_every_class_of_the_final_table_has_what_is_required(kind):
    @settings(max_examples=max(settings.default.max_examples // 3, 5))
    @given(problems(kind))
    def check(problem):
        rows, required, lattice, weights, limit, loss, population, confidential = problem
        records = encoded(rows, confidential, required.distance, population)
        try:
            found = find_recoding(lattice, records, required, loss, weights, limit, local=True)
        except InfeasibleError:
            assert truth(problem) is None
            return
        recoded = found.recoded
        classes: dict[tuple, list[int]] = {}
        rounds: dict[tuple, set[int]] = {}
        for at, number in enumerate(recoded.of_row.tolist()):
            if number >= 0:
                shown = shown_by(recoded, lattice.attributes, rows[at], number)
                classes.setdefault(shown, []).append(at)
                rounds.setdefault(shown, set()).add(number)
        assert len(rows) - sum(map(len, classes.values())) <= limit * len(rows)
        assert min(map(len, classes.values())) >= required.k
        if (best := truth(problem)) is not None and loss == "granularity":
            whole = sum(round(10**9 * Fraction(one)) for one in shares_of(lattice, weights))
            assert found.outcome.loss <= Fraction(best[0], len(rows) * whole)
        if required.k_map is not None:
            for shown, own in rounds.items():
                fit = max(
                    sum(shown_by(recoded, lattice.attributes, person, number) == shown for person in population)
                    for number in own
                )
                assert fit >= required.k_map
        for place, order, distance, heights in described(required.distance) if confidential else []:
            table = Counter(rows[at][place] for own in classes.values() for at in own)
            for own in classes.values():
                held = Counter(rows[at][place] for at in own)
                assert twin.holds_alone(required, held)
                assert twin.holds_beside(required, held, table, order, distance, heights)

    check()


def shares_of(lattice, weights):
    each = [weights.get(name, Fraction(1)) for name in lattice.names]
    return [one / sum(each) for one in each]
