"""The verbs of a session ask the questions that they name, once for all groups, and give what a release gives."""

from __future__ import annotations

import pytest

import shoal
from shoal.datasets.visits import write_policy, write_visits
from shoal.errors import BudgetError, ParameterError, UsageError
from shoal.language.interface import QueryInterface
from shoal.language.result import Result
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Ratio, Sum
from shoal.query.questions.quantile import Quantile
from shoal.query.verbs import make_question

ROWS = 2_000
ASKED = [
    lambda one: one.count("age >= 65"),
    lambda one: one.count({"age": (65, None)}, by="sex"),
    lambda one: one.sum("stay", by="age@4"),
    lambda one: one.mean("income", bounds=(0, 200_000)),
    lambda one: one.mean("stay", by="age@4", level=0.8),
    lambda one: one.variance("age"),
    lambda one: one.quantile("age"),
    lambda one: one.quantile("visit", "0.25"),
    lambda one: one.ratio("sex = 'female'"),
    lambda one: one.ratio("stay", "age"),
    lambda one: one.share({"sex": "male"}, by={"attribute": "age", "edges": [30, 60]}),
    lambda one: one.histogram("age", edges=[30, 60]),
    lambda one: one.histogram("age@4"),
    lambda one: one.table("sex", "age@4", where="age >= 20"),
]
"""Questions that a release and a session are both asked."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    write_policy(folder)
    write_visits(folder / "visits.csv", ROWS, seed=3)
    return folder


@pytest.fixture
def asked(place, tmp_path):
    policy = shoal.Policy.load(place / "policy.yaml")
    opened = shoal.session(
        policy,
        place / "visits.csv",
        budget=(3, "1e-5"),
        ledger=str(tmp_path / "l.sqlite"),
        new_ledger=True,
        epsilon="0.1",
    )
    with opened as one:
        yield one


@pytest.fixture(scope="module")
def received(place):
    shown = {"show": "counts", "workload": [["age", "sex"], ["stay", "age"], ["income", "sex"], ["visit"]]}
    changes = {
        "release.recoding": None,
        "release.total": None,
        "release.sampling": None,
        "release.views": shown,
        "budget": None,
    }
    policy = shoal.Policy.load(place / "policy.yaml").with_changes(changes)
    ledger = place / "released.sqlite"
    shoal.release(policy, place / "visits.csv", place / "out", ledger=ledger, new_ledger=True, report=False)
    return shoal.load(place / "out", verify=False)


@pytest.mark.slow
@pytest.mark.parametrize("ask", ASKED, ids=range(len(ASKED)))
def test_a_release_and_a_session_give_one_kind_of_result(asked, received, ask):
    paid, free = ask(asked), ask(received)
    assert isinstance(paid, Result)
    assert isinstance(free, Result)
    assert paid.question == free.question
    assert (paid.by, [row.labels for row in paid]) == (free.by, [row.labels for row in free])
    assert paid.level == free.level
    assert (float(paid.epsilon), paid.free, free.epsilon, free.free) == (0.1, False, 0, True)
    assert all(row.low <= row.value <= row.high for row in paid if row.value is not None)
    assert paid.to_arrow().schema.names == free.to_arrow().schema.names


def test_both_are_the_interface():
    from shoal.assess.release.load import LoadedRelease

    assert issubclass(shoal.Session, QueryInterface)
    assert issubclass(LoadedRelease, QueryInterface)


@pytest.mark.slow
def test_groups_are_one_charge_and_a_repeat_is_free(asked):
    left = asked.left.epsilon
    first = asked.mean("income", by=["sex", "age@4"], bounds=(0, 200_000), epsilon="0.2")
    assert left - asked.left.epsilon == first.epsilon
    again = asked.mean("income", by=["sex", "age@4"], bounds=(0, 200_000), epsilon="0.2", level=0.5)
    assert (again.free, asked.left.epsilon) == (True, left - first.epsilon)
    for wide, narrow in zip(first, again, strict=True):
        assert wide.labels == narrow.labels
        assert wide.low <= narrow.low <= narrow.high <= wide.high


@pytest.mark.slow
def test_what_is_on_record_is_listed_with_price_and_interval_and_costs_nothing(asked):
    made = [ask(asked) for ask in (ASKED[0], ASKED[1], ASKED[4], ASKED[6], ASKED[8])]
    left = asked.left
    listed = asked.answers()
    assert asked.left == left
    assert [each.rows for each in listed[:2]] == [each.rows for each in made[:2]]
    assert listed[3].rows == made[3].rows
    assert {each.epsilon for each in listed} == {made[0].epsilon}
    assert all(each.free for each in listed)
    assert listed[2].level == 0.95


@pytest.mark.slow
def test_a_price_is_what_the_question_says_or_what_the_session_was_opened_with(asked):
    assert float(asked.count("age < 20").epsilon) == 0.1
    assert float(asked.count("age < 21", epsilon="0.25").epsilon) == 0.25
    assert float(asked.count("age < 22", within=60).high - asked.count("age < 22", within=60).value) <= 60
    with pytest.raises(BudgetError, match="would overrun its budget"):
        asked.count("age < 23", epsilon=5)


@pytest.mark.parametrize(
    ("kind", "options", "question"),
    [
        ("count", {"where": {"age": (65, None)}}, Count("age >= 65 and age <= 110")),
        ("mean", {"attribute": "income", "bounds": (0, 9)}, Mean("income", bounds=(0, 9))),
        ("ratio", {"numerator": "sex = 'female'"}, Ratio(Count("sex = 'female'"))),
        ("ratio", {"numerator": "stay", "denominator": "age"}, Ratio(Sum("stay"), Sum("age"))),
        ("ratio", {"numerator": "stay / 2"}, Ratio(Sum("stay / 2"))),
        ("quantile", {"attribute": "age", "q": "0.5"}, Quantile("age", "0.5")),
    ],
)
def test_a_verb_is_a_question(place, kind, options, question):
    schema = shoal.Policy.load(place / "policy.yaml").schema
    assert make_question(kind, options, schema).canonical(schema) == question.canonical(schema)


@pytest.mark.parametrize(
    ("ask", "error", "wrong"),
    [
        (lambda one: one.mean("incom"), UsageError, "did you mean 'income'"),
        (lambda one: one.count("height > 3"), UsageError, "no attribute of that name"),
        (lambda one: one.ratio("height > 3"), UsageError, "no attribute of that name"),
        (lambda one: one.count(by="income"), UsageError, "values cannot be listed"),
        (lambda one: one.count(level=2), ParameterError, "level of an interval"),
        (lambda one: one.table(), UsageError, "at least one attribute"),
    ],
)
def test_what_is_refused_costs_nothing(asked, ask, error, wrong):
    left = asked.left
    with pytest.raises(error, match=wrong):
        ask(asked)
    assert asked.left == left


@pytest.mark.slow
def test_an_answer_on_record_has_the_intervals_that_it_was_given_with_whatever_its_epsilon_was_rounded_to(
    place, tmp_path
):
    budget = {"epsilon": "3", "delta": "1e-5", "accounting": "gaussian"}
    policy = shoal.Policy.load(place / "policy.yaml").with_changes({"budget": budget})
    with shoal.session(policy, place / "visits.csv", ledger=str(tmp_path / "l.sqlite"), new_ledger=True) as one:
        first = one.mean("age", by="sex", share="2%")
        assert first.delta > 0  # Gaussian noise
        assert one.mean("age", by="sex", share="2%").rows == first.rows
        assert one.answers()[0].rows == first.rows
