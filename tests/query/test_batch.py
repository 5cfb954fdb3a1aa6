"""Disjoint questions of a batch: found by a look at single attributes, never where rows are shared, with bounded work."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.query import batch as disjoining
from shoal.query.batch import ConditionRanges, DisjointGroup, WorkLimit, are_disjoint, cost
from shoal.query.questions.count import Count
from shoal.query.questions.workload import Workload
from shoal.query.spend import PricedQuestion
from tests.language.condition.conditions import SCHEMA
from tests.query.asking import opened, policy

ROW = Unit.row("add_remove")
NEAR = ("0.1", "0.1000000000000000000000001")


def planned(text, schema=None):
    return Count(text).resolve(schema or policy().schema, ROW)


def priced(texts, epsilon="0.1"):
    return cost([(planned(text), PureDP(epsilon)) for text in texts], ROW).epsilon


@pytest.mark.slow
@pytest.mark.parametrize("order", [NEAR, NEAR[::-1]])
def test_the_price_is_the_dearest_in_exact_fractions(tmp_path, order):
    """Both are the same float."""
    asks = [
        PricedQuestion(Count(where), epsilon) for where, epsilon in zip(("age < 5", "age >= 5"), order, strict=True)
    ]
    with opened(tmp_path) as asking:
        assert asking.batch_price(asks).cost.epsilon == Fraction(NEAR[1])


small = st.one_of(
    st.integers(0, 5).map(lambda age: f"age = {age}"),
    st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda ends: f"age between {min(ends)} and {max(ends)}"),
    st.sampled_from(["age is missing", "age not in (1, 3)", "age > 4"]),
    st.sampled_from(["zip = '123'", "zip = '120'", "zip in ('120', '999')", "zip != '123'", "zip is missing"]),
    st.booleans().map(lambda smokes: f"smoker = {str(smokes).lower()}"),
)
joined = st.tuples(small, st.sampled_from(["and", "or"]), small).map(" ".join)


@pytest.mark.slow
@given(st.lists(small | joined, min_size=2, max_size=8, unique=True))
@settings(max_examples=150, deadline=None)
def test_a_crowd_is_disjoint_one_by_one(texts):
    """What one look tells about all members is what comparing them one by one tells."""
    crowd, members = DisjointGroup(), []
    for text in texts:
        try:
            each = planned(text, SCHEMA)
        except UsageError:  # a contradiction
            continue
        alone = all(are_disjoint(each, other) for other in members)
        assert crowd.admit(ConditionRanges.of(each), WorkLimit()) is alone
        members += [each] if alone else []


def test_a_look_at_single_attributes_is_enough_for_simple_conditions(monkeypatch):
    monkeypatch.setattr(disjoining, "are_disjoint", None)
    mixed = [
        "age = 3",
        "age between 10 and 20",
        "age in (1, 30, 50)",
        "age > 60 and sex = 'f'",
        "age < 1 and diag = 'flu'",
    ]
    assert priced(mixed) == Fraction("0.1")
    assert priced([f"age = {age}" for age in range(100)]) == Fraction("0.1")
    assert priced(["diag is missing", "diag = 'flu'", "diag in ('cold', 'rare')"]) == Fraction("0.1")


def test_work_has_an_end_and_what_is_not_compared_counts_as_shared():
    assert priced(["age < 10 or sex = 'f' and age < 20", "age > 30"]) == Fraction("0.1")
    one, other = (ConditionRanges.of(planned(text)) for text in ("age < 10 or sex = 'f' and age < 20", "age > 30"))
    crowd, none = DisjointGroup(), WorkLimit(1)
    assert crowd.admit(one, none)
    assert not crowd.admit(other, none)
    assert crowd.admit(other, WorkLimit())
    long = [" or ".join(f"(age = {i} and sex = '{sex}')" for i in range(100)) for sex in "fm"]
    sides = [ConditionRanges.of(planned(text)) for text in long]
    assert sides[0].size * sides[1].size == 200**2


def test_very_many_and_very_long_conditions_are_refused_comparison(monkeypatch):
    """Counted, not timed: 2,000 questions that share rows would be two million pairs."""
    compared = []
    plain = disjoining.are_disjoint
    monkeypatch.setattr(disjoining, "are_disjoint", lambda a, b: compared.append(1) or plain(a, b))
    monkeypatch.setattr(WorkLimit, "__init__", lambda self: setattr(self, "left", 5_000))
    everyone = planned("age >= 1")
    assert cost([(everyone, PureDP("0.1"))] * 2_000, ROW).epsilon == 200
    assert 1_000 < len(compared) <= 5_000


def test_vectors_are_compared_by_all_their_parts():
    both = Workload((Count("age < 5"), Count("age > 50"))).resolve(policy().schema, ROW)
    middle, low = planned("age between 10 and 20"), planned("age <= 5")
    assert cost([(both, PureDP(1)), (middle, PureDP(1))], ROW).epsilon == 1
    assert cost([(both, PureDP(1)), (low, PureDP(1))], ROW).epsilon == 2
