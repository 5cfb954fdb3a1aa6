"""What lies behind a mean or a variance, what is told of it, and small courtesies of a session."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from shoal.chance.source import Source
from shoal.errors import BudgetError, PreconditionError, UsageError
from shoal.guarantee.theorem import PremiseStatus, theorem
from shoal.query.answer import Answer
from shoal.query.batch import load
from shoal.query.price import NO_USABLE_ANSWER, Error
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.questions.workload import Workload, read_question
from tests.query.asking import SURE, opened, rich

MANY = rich()


def test_a_mean_comes_with_its_count_and_sum(tmp_path):
    with opened(tmp_path, MANY) as asking:
        found = asking.ask(Mean("age"), SURE)
        assert found.parts == {"count": 200, "sum": 9900}
        assert (found.value, found.note) == (49.5, None)
        assert [error.name for error in found.errors] == [
            "sum of distances to the lowest value",
            "sum of distances to the highest value",
            "mean",
        ]
        again = asking.ask(Mean("age"), SURE)
        assert again.free
        assert (again.parts, again.errors, again.note) == (found.parts, found.errors, None)
        assert asking.ask(Variance("age"), SURE).parts == {"count": 200, "sum": 9900}
        both = asking.ask(Workload([Count(), Mean("age", "sex = 'f'")]), SURE)
        assert both.parts == [None, {"count": 100, "sum": 4900}]
        assert (both.errors[-1].name, both.errors[-1].within) == ("mean", None)
        assert both.errors[-1].low <= 49 <= both.errors[-1].high


def test_hardly_any_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(Source, "secure", classmethod(lambda _: Source.seeded(5)))
    with opened(tmp_path, MANY) as asking:
        found = asking.ask(Mean("age", "age = 99"), "0.01")
        assert found.note == NO_USABLE_ANSWER
        assert (found.errors[-1].low, found.errors[-1].high) == (0, 99)  # nothing is known but the domain
        assert asking.ask(Mean("age", "age = 99"), "0.01").note == NO_USABLE_ANSWER
        assert asking.ask(Mean("age"), 10).note is None


def test_a_record_without_parts_can_be_read():
    saved = {
        "version": 1, "question": {"kind": "count"}, "value": 3, "mechanism": "laplace", "epsilon": "1", "delta": "0",
        "errors": [{"of": "count", "expected": 1.0, "within_95": 3.0}], "theorems": [],
    }  # fmt: skip
    found = Answer.from_content(json.dumps(saved).encode(), 1)
    assert (found.parts, found.note, found.errors) == (None, None, (Error("count", 1.0, 3.0),))


def test_the_price_of_a_recorded_question_is_that_of_the_record(tmp_path):
    with opened(tmp_path) as asking:
        given = asking.ask(Count("age >= 65"), "0.2", "optimal")
        for price in (asking.price(Count("age >= 65"), "0.1"), asking.batch_price([Count("age >= 65")], "0.1")):
            assert price.free
            assert (price.mechanism, price.errors) == ("optimal", given.errors)
            assert price.to_json()["questions"][0]["free"] is True


@pytest.mark.parametrize("kind", [Sum, Mean, Variance, Histogram])
def test_an_attribute_is_a_text(kind):
    with pytest.raises(UsageError, match=r"'attribute' is not a text|named by a text"):
        kind(None)


def test_a_session_says_what_it_is(tmp_path):
    with opened(tmp_path) as asking:
        assert repr(asking) == "Session('clinic', left=(1, 0.000001))"
    with opened(tmp_path, analyst="alice", budget=5) as asking:
        assert repr(asking) == "Session('clinic', analyst='alice', left=(1, 0))"
    with pytest.raises(BudgetError, match=r"with a budget.*shoal ledger budget clinic --analyst bob"):
        opened(tmp_path, analyst="bob")


def test_attributes_as_an_analyst_may_know_them(tmp_path):
    with opened(tmp_path) as asking:
        found = {each.name: each.to_json() for each in asking.dataset.attributes}
    assert "patient" not in found
    assert found["age"]["domain"] == {"low": "0", "high": "99"}
    assert found["age"]["levels"] == [
        {"level": 0, "labels": 100}, {"level": 1, "labels": 10}, {"level": 2, "labels": 2}, {"level": 3, "labels": 1},
    ]  # fmt: skip
    assert found["sex"]["domain"] == {"values": ["f", "m"]}
    assert found["note"]["domain"] is None


def test_short_forms_of_tables():
    levels = ({"attribute": "sex"}, {"attribute": "age", "level": 2})
    long = read_question({"contingency": {"attributes": list(levels)}})
    assert isinstance(long, Contingency)
    for short in ({"table": ["sex", "age@2"]}, {"table": "sex, age@2"}, {"contingency": {"attributes": "sex,age@2"}}):
        assert read_question(short) == long
    assert read_question({"histogram": "age@2", "where": "age > 3"}) == Histogram("age", level=2, where="age > 3")
    assert read_question({"together": [{"histogram": "age@2"}, {"mean": "age", "where": "age > 3"}]}) == Workload(
        [Histogram("age", level=2), Mean("age", "age > 3")]
    )
    saved = {"kind": "histogram", "attribute": "odd@2"}  # what is saved is meant as it stands
    assert read_question(saved) == Histogram("odd@2")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "the batch is empty"),
        ("# nothing\n", "the batch is empty"),
        ("{", "the batch: "),
        (
            "version: 1\nepsilon: 1\nquestions:\n  - {count: everything}\n  - {smu: age}\n",
            "question 2: unknown question",
        ),
        ("version: 1\nquestions:\n  - {count: everything}\n", "question 1: a question of a batch has no epsilon"),
    ],
)
def test_errors_of_a_batch_file(tmp_path, text, wrong):
    (tmp_path / "batch.yaml").write_text(text)
    with pytest.raises(UsageError) as refused:
        load(tmp_path / "batch.yaml")
    assert str(refused.value).startswith(wrong)
    assert "policy" not in str(refused.value)


def test_errors_of_a_batch_name_the_question(tmp_path):
    with opened(tmp_path) as asking:
        with pytest.raises(UsageError, match=r"^question 2: no attribute of that name"):
            asking.batch([Count(), Sum("salary")], "0.1")
        with pytest.raises(UsageError, match="question 1, and again as question 3"):
            asking.batch([Count(), Sum("age"), Count("everything")], "0.1")
        assert asking.spent.epsilon == Fraction(0)


# --- premises -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "more"),
    [
        (Count(), {"mechanism": "laplace"}),
        (Mean("age"), {"mechanism": "optimal"}),
        (Count(), {"mechanism": "gaussian", "delta": "1e-6"}),
        (Quantile("age", "0.5"), {}),
        (Count(), {"mechanism": "refinement", "prior": "uniform:0:100"}),
        (Count(), {"mechanism": "refinement", "prior": "uniform:0:100", "delta": "1e-6"}),
    ],
)
def test_every_premise_of_every_cited_theorem_is_answered(tmp_path, question, more):
    with opened(tmp_path) as asking:
        (priced,) = asking.price(question, "0.1", **more).to_json()["questions"]
    cited = [(name, premise.key) for name in priced["theorems"] for premise in theorem(name).premises]
    assert [(each["theorem"], each["id"]) for each in priced["premises"]] == cited
    assert cited
    premises = [premise for name in priced["theorems"] for premise in theorem(name).premises]
    checked = {premise.key for premise in premises if premise.enforced_by != "custodian"}
    for each in priced["premises"]:
        assert each["how"] != PremiseStatus.CHECKED.value or each["id"] in checked


def test_an_answer_says_how_premises_are_met_and_its_record_does_not(tmp_path):
    with opened(tmp_path) as asking:
        answer = asking.ask(Count(), "0.1", "laplace")
    assert {each["id"] for each in answer.to_json()["premises"]} == {
        "noise-scale", "multiples", "positive-epsilon", "sensitivity-declared",
    }  # fmt: skip
    assert b"premises" not in answer.content()
    with pytest.raises(PreconditionError, match="no answer says how"):
        _ = replace(answer, theorems=("safe-k-tight",)).premises
