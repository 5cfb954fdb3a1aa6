"""Priors lie on the grid of the answer and within the declared domain; what does not is refused before any charge."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from shoal.chance.source import Source
from shoal.errors import ShoalError, UsageError
from shoal.mechanism.refinement.prior import DiscretePrior, UniformPrior
from shoal.query.prior import LISTED, AnswerGrid, resolve_prior
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Sum
from shoal.query.questions.person import ValueOf
from tests.query.asking import opened, rich, spent, table

PEOPLE = {
    "unit": {"column": "patient", "max_rows": "1"},
    "attributes.note": {"role": "other", "type": "date", "domain": ["2024-01-01", "2024-12-31"]},
}


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    rows = table()
    rows["note"] = [f"2024-{1 + i % 12:02}-15" for i in range(len(rows))]
    with opened(tmp_path_factory.mktemp("people"), rich(**PEOPLE), rows) as found:
        yield found


@pytest.mark.parametrize(
    ("attribute", "prior", "allowed"),
    [
        ("age", "uniform:200:300", "0..99"),
        ("age", "uniform:50:300", "0..99"),
        ("age", "uniform:-1:5", "0..99"),
        ("age", {"200": 1}, "0..99"),
        ("age", {"5": "1/2", "100": "1/2"}, "0..99"),
        ("age", {"5.5": 1}, "0..99"),
        ("age", {"edges": [0, 200], "probabilities": [1]}, "0..99"),
        ("age", UniformPrior(200, 300), "0..99"),
        ("sex", {"zz": 1}, "f, m"),
        ("sex", {"f": "1", "zz": "0"}, "f, m"),
        ("sex", DiscretePrior({"zz": 1}), "f, m"),
        ("note", {"2023-01-01": 1}, "2024-01-01..2024-12-31"),
        ("note", "uniform:2023-01-01:2024-02-01", "2024-01-01..2024-12-31"),
    ],
)
def test_a_prior_outside_the_declared_domain_is_refused_for_nothing(asking, attribute, prior, allowed):
    for way in (asking.price, asking.ask):
        with pytest.raises(UsageError, match="a value outside its declared domain") as refused:
            way(ValueOf("17", attribute), 1, prior=prior)
        assert refused.value.allowed == allowed
        assert refused.value.exit_code == 2
    assert spent(asking) == 0


@pytest.mark.parametrize(
    ("question", "prior"),
    [
        (ValueOf("17", "sex"), "uniform:0:1"),
        (ValueOf("17", "sex"), UniformPrior(0, 1)),
        (ValueOf("17", "age"), ({"1": 1}, {"2": 1})),
        (ValueOf("17", "age"), "uniform:5.2:5.4"),
        (ValueOf("17", "age"), {"edges": ["0.2", "0.4", "9"], "probabilities": ["0.5", "0.5"]}),
        (Count(), {"2.5": 1}),
        (Count(), "uniform:0.2:0.4"),
    ],
)
def test_a_prior_that_suits_no_answer_is_refused(asking, question, prior):
    with pytest.raises(ShoalError) as refused:
        asking.price(question, 1, prior=prior)
    assert refused.value.exit_code == 2


def test_whole_numbers_stay_whole():
    grid = AnswerGrid(Fraction(1), Fraction(0), Fraction(10**6))
    law, rest = grid.uniform(Fraction("2.5"), Fraction("7.9"))
    assert (law.listed, rest) == ((3, 4, 5, 6, 7), None)
    law, rest = grid.uniform(Fraction(0), Fraction(LISTED))
    assert law.listed is None
    with Source.seeded(1) as source:
        drawn = [rest.nearest(value) for value in law.values(law.propose(source, 5000)).tolist()]
    assert all(isinstance(value, int) and 0 <= value <= LISTED for value in drawn)
    ends = Counter(value * 4 // (LISTED + 1) for value in drawn)
    assert all(abs(ends[quarter] - 1250) < 6 * 31 for quarter in range(4))  # six deviations


def test_bins_are_spread_over_their_points(asking):
    planned = ValueOf("17", "age").resolve(asking.dataset.schema, asking.dataset.unit)
    found = resolve_prior({"edges": [0, 2, 5], "probabilities": ["0.4", "0.6"]}, planned).distribution
    assert dict(zip(found.listed, found.masses, strict=True)) == {
        0: Fraction(1, 5), 1: Fraction(1, 5), **dict.fromkeys((2, 3, 4, 5), Fraction(3, 20)),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "prior"),
    [
        (ValueOf("17", "age"), "uniform:20:60.5"),
        (ValueOf("17", "age"), {"edges": [0, 40, 99], "probabilities": ["0.4", "0.6"]}),
        (Count(), "uniform:0:300"),
        (Count("age >= 3"), "uniform:0:50000"),
        (Sum("age"), "uniform:0:50000"),
    ],
)
def test_answers_of_whole_numbers_are_whole(asking, question, prior):
    assert type(asking.ask(question, 1, "refinement", prior=prior).value) is int


def test_a_prior_over_days(asking):
    assert "2024-03-01" <= asking.ask(ValueOf("17", "note"), 1, prior="uniform:2024-03-01:2024-04-30").value < "2024-05"


@pytest.mark.slow
def test_a_law_without_ends_is_brought_into_the_domain(asking):
    from scipy.stats import norm

    found = resolve_prior(norm(50, 40), ValueOf("17", "age").resolve(asking.dataset.schema, asking.dataset.unit))
    assert [found.to_grid(value) for value in (-20.0, 12.4, 130.0)] == [0, 12, 99]
    with pytest.raises(UsageError, match="outside its declared domain"):
        asking.price(ValueOf("17", "age"), 1, prior=norm(500, 20))
