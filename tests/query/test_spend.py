"""What to spend on a question: a share of the budget, or as little as an error allows; and how far a budget goes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.errors import BudgetError, ParameterError, UsageError
from shoal.guarantee.noise import NoisyTablesDP
from shoal.ledger.event import Budget
from shoal.ledger.filter import EventCost
from shoal.query.batch import load
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Histogram
from shoal.query.spend import PricedQuestion, read_share
from tests.query.asking import opened, policy

WIDE = {"budget": {"epsilon": "3", "delta": "1e-5", "accounting": "gaussian"}}
BASIC = {"budget": {"epsilon": "3", "delta": "1e-5"}}


@pytest.mark.slow
def test_a_hundred_counts_each_chosen_by_the_answer_before_are_within_28(tmp_path):
    """The target: with basic accounting they are within 100."""
    bounds = set(range(1, 99))
    with opened(tmp_path, policy(WIDE)) as asking:
        answers = [asking.ask(Count(), share="1%"), asking.ask(Count("sex = 'f'"), share="1%")]
        while bounds:  # the next question depends on the last answer
            bound = min(bounds) if answers[-1].value % 2 else max(bounds)
            bounds.remove(bound)
            answers.append(asking.ask(Count(f"age >= {bound}"), share="1%"))
        assert len(answers) == 100
        assert not any(answer.free for answer in answers)
        assert {answer.mechanism for answer in answers} == {"gaussian"}
        assert max(answer.errors[0].within for answer in answers) == 28
        with pytest.raises(BudgetError, match="would overrun"):
            asking.ask(Count("sex = 'm'"), share="1%")
        assert asking.ask(Count(), share="1%").free
        assert asking.account.questions == 100


def test_with_basic_accounting_a_share_is_a_share_of_epsilon(tmp_path):
    with opened(tmp_path, policy(BASIC)) as asking:
        price = asking.price(Count("age >= 65"), share="1%")
        assert (price.mechanism, price.cost.words()) == ("laplace", "(0.03, 0)")
        assert price.errors[0].within == 100
        assert price.words() == "uses 1 % of the budget; about 99 more like it"


@pytest.mark.slow
def test_a_share_is_worth_the_mechanism_of_the_smallest_error(tmp_path):
    with opened(tmp_path, policy(WIDE)) as asking:
        price = asking.price(Count("age >= 65"), share="1%")
        assert (price.mechanism, price.errors[0].within) == ("gaussian", 28)
        assert price.words() == "uses 1 % of the budget; about 99 more like it"
        laplace = asking.price(Count("age >= 65"), share="1%", mechanism="laplace")
        assert (laplace.mechanism, laplace.errors[0].within) == ("laplace", 53)
        assert asking.price(Count("age >= 65"), share="50%").share <= Fraction(1, 2)
        assert asking.price(Quantile("age", ".5"), share="1%").mechanism == "exponential"
        assert asking.price(Histogram("age", level=1), share="1%").mechanism == "gaussian"
        assert asking.price(Mean("age"), share="2%").mechanism == "gaussian"
        for question in (Count(), Histogram("age"), Sum("age"), Quantile("age", ".5")):
            assert asking.price(question, share="1%").share <= Fraction(1, 100)


@pytest.mark.slow
def test_an_answer_on_record_is_given_where_it_is_as_near_as_asked_and_nowhere_else(tmp_path):
    """Gaussian noise within 28 has epsilon .3257; Laplace noise of epsilon .3 is within 10."""
    with opened(tmp_path, policy(WIDE)) as asking:
        rough = asking.ask(Count("age >= 65"), share="1%")
        assert (rough.mechanism, rough.errors[0].within, rough.epsilon > Fraction("0.3")) == ("gaussian", 28, True)
        assert asking.ask(Count("age >= 65"), share="1%").free
        assert asking.price(Count("age >= 65"), within=28, mechanism="laplace").free
        for terms in ({"within": 12, "mechanism": "laplace"}, {"epsilon": "0.3"}):
            price = asking.price(Count("age >= 65"), **terms)
            assert not price.free
            assert price.errors[0].within <= 12
        assert not asking.price(Count("age >= 65"), "0.3", "gaussian", delta="1e-5").free
        near = asking.ask(Count("age >= 65"), "0.25")
        assert (near.free, near.mechanism, near.errors[0].within) == (False, "laplace", 12)
        # Now the nearer one is on record, and worse ones of a larger epsilon are not paid for any more.
        for terms in ({"share": "1%"}, {"within": 12}, {"within": 28}, {"epsilon": "0.2"}):
            again = asking.ask(Count("age >= 65"), **terms)
            assert (again.free, again.value) == (True, near.value)
        assert not asking.price(Count("age >= 65"), within=11).free


def test_a_better_mechanism_at_the_same_epsilon_is_charged_and_a_hardly_better_one_is_not(tmp_path):
    with opened(tmp_path) as asking:
        asking.ask(Sum("age"), "0.1", "laplace")
        assert asking.ask(Sum("age"), "0.1", "optimal").free
        first = asking.ask(Variance("age"), "0.1", "laplace")
        second = asking.ask(Variance("age"), "0.1")
        assert (second.free, second.mechanism, second.value != first.value) == (False, "optimal", True)
        assert asking.ask(Variance("age"), "0.1", "laplace").free


def test_within_takes_as_little_as_the_error_allows(tmp_path):
    with opened(tmp_path, policy(WIDE)) as asking:
        price = asking.price(Count("age >= 65"), within=28)
        assert price.errors[0].within <= 28
        assert price.share <= asking.price(Count("age >= 65"), share="1%").share
        near = asking.price(Count("age >= 65"), within=2)
        assert near.errors[0].within <= 2
        assert asking.price(Count("age >= 65"), within=100).share < price.share < near.share
        assert asking.price(Quantile("age", ".5"), within=40).errors[0].within <= 40
        answer = asking.ask(Count("age >= 65"), within=28)
        assert answer.errors[0].within <= 28
        assert asking.ask(Count("age >= 65"), within=28).free
        for question, words in ((Mean("age"), "depends on the rows"), (Histogram("age"), None)):
            if words is None:
                assert asking.price(question, within=20).errors[0].within <= 20
            else:
                with pytest.raises(UsageError, match=words):
                    asking.price(question, within=5)


def test_within_holds_with_basic_accounting_too(tmp_path):
    with opened(tmp_path, policy(BASIC)) as asking:
        price = asking.price(Count("age >= 65"), within=30)
        assert (price.mechanism, price.errors[0].within) == ("laplace", 30)
        assert price.cost.epsilon <= Fraction(1, 10)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({}, "one word on what it may cost; got none"),
        ({"epsilon": ".1", "share": "1%"}, "got epsilon and share"),
        ({"share": "1%", "delta": "1e-7"}, "a delta is said beside an epsilon"),
        ({"share": "0"}, "out of range"),
        ({"share": "101%"}, "out of range"),
        ({"share": "much"}, "not a number"),
        ({"within": 0}, "not above 0"),
        ({"within": "0.1", "mechanism": "gaussian"}, "that near"),
    ],
)
def test_terms_that_say_nothing_or_too_much_are_refused(tmp_path, terms, words):
    with opened(tmp_path, policy(WIDE)) as asking, pytest.raises((UsageError, ParameterError), match=words):
        asking.price(Count(), **terms)


def test_gaussian_noise_without_an_epsilon_needs_gaussian_accounting(tmp_path):
    with opened(tmp_path, policy(BASIC)) as asking:
        for terms in ({"share": "1%"}, {"within": 28}):
            with pytest.raises(UsageError, match="needs an epsilon with its delta"):
                asking.price(Count(), mechanism="gaussian", **terms)


@pytest.mark.parametrize(
    ("text", "share"), [("1%", "1/100"), ("2.5 %", "1/40"), ("1/8", "1/8"), (0.25, "1/4"), (1, "1")]
)
def test_a_share_is_read_as_it_is_written(text, share):
    assert read_share(text) == Fraction(share)


def test_an_analyst_spends_a_share_of_the_analysts_own_budget(tmp_path):
    with opened(tmp_path, policy(WIDE)) as asking:
        ledger = asking.ledger
    with opened(tmp_path, policy(WIDE), ledger=ledger, analyst="alice", budget=(1, "1e-6")) as asking:
        price = asking.price(Count("age >= 65"), share="1%")
        assert price.mechanism == "gaussian"
        assert [room.filter is not None for room in asking.rooms] == [True, True]
        assert price.share == pytest.approx(Fraction(1, 100), rel=1e-3)
        assert price.more == 99
        asking.ask(Count("age >= 65"), share="1%")
        assert asking.price(Count("age >= 66"), share="1%").more == 98
        assert asking.price(Count("age >= 66"), share="10%").mechanism == "laplace"  # so few add up to less


def test_a_budget_in_python_says_its_accounting(tmp_path):
    with opened(tmp_path, policy({"budget": None}), budget=(3, "1e-5", "gaussian")) as asking:
        assert asking.price(Count(), share="1%").mechanism == "gaussian"
        asking.ask(Count(), share="1%")
        assert asking.account.filter.gaussian == Fraction(7, 10**6)
    basic = {"budget": Budget.of(3, "1e-5"), "ledger": str(tmp_path / "b"), "new_ledger": True}
    with opened(tmp_path, policy({"budget": None}), **basic) as asking:
        assert asking.price(Count(), share="1%").mechanism == "laplace"


# --- batches by their curve ----------------------------------------------------------------------------------------------

TABLES = [PricedQuestion(Count(f"age >= {bound}"), "0.1814", "gaussian", delta="3.57e-8") for bound in range(1, 29)]


@pytest.mark.slow
def test_28_gaussian_tables_cost_one_and_not_five(tmp_path):
    assert float(28 * Fraction("0.1814")) == pytest.approx(5.08, abs=0.01)
    with opened(tmp_path, policy(WIDE)) as asking:
        price = asking.batch_price(TABLES)
        assert all(isinstance(part, NoisyTablesDP) for part, _ in price.cost.parts)
        assert 0.9 < price.cost.epsilon < 1
        assert price.cost.delta == 28 * Fraction("3.57e-8")
        asking.batch(TABLES)
        assert asking.account.spent.epsilon == price.cost.epsilon


@pytest.mark.slow
def test_28_gaussian_tables_fit_into_one_when_they_are_asked_one_by_one(tmp_path):
    asked = {"budget": {"epsilon": "1", "delta": "1.5e-6", "accounting": "gaussian"}}
    with opened(tmp_path, policy(asked)) as asking:
        for each in TABLES:
            asking.ask(each.question, each.epsilon, "gaussian", delta=each.delta)
        assert asking.account.spent.epsilon > 5
    basic = policy({"budget": {"epsilon": "1", "delta": "1.5e-6"}})
    with opened(tmp_path, basic, ledger=str(tmp_path / "b.sqlite")) as asking:
        for each in TABLES[:5]:
            asking.ask(each.question, each.epsilon, "gaussian", delta=each.delta)
        with pytest.raises(BudgetError):
            asking.ask(TABLES[5].question, "0.1814", "gaussian", delta="3.57e-8")


def test_disjoint_gaussian_questions_cost_as_much_as_one_in_the_filter(tmp_path):
    asks = [PricedQuestion(Count(f"age = {age}"), "0.5", "gaussian", delta="1e-8") for age in range(10)]
    with opened(tmp_path, policy(WIDE)) as asking:
        all_of_them, one = asking.batch_price(asks).cost, asking.batch_price(asks[:1]).cost
        assert all_of_them.event == one.event
        assert all_of_them.epsilon == one.epsilon
    with opened(tmp_path, policy({**WIDE, "neighbours": "replace_one"}), ledger=str(tmp_path / "r.sqlite")) as asking:
        both, one = asking.batch_price(asks).cost, asking.batch_price(asks[:1]).cost
        assert both.event.mu_squared == 2 * one.event.mu_squared


def test_a_person_with_several_rows_moves_a_count_by_several_steps(tmp_path):
    people = policy({**WIDE, "unit": {"column": "patient", "max_rows": 3}})
    with opened(tmp_path, policy(WIDE)) as rows, opened(tmp_path, people, ledger=str(tmp_path / "p.sqlite")) as persons:
        one, three = (each.price(Count("age >= 65"), share="1%").errors[0].within for each in (rows, persons))
        assert 3 * one - 3 <= three <= 3 * one + 1


def test_a_batch_file_may_say_shares_and_errors(tmp_path):
    text = "version: 1\nepsilon: 0.1\nquestions:\n"
    text += '  - {count: "age >= 65", share: 1%}\n  - {count: "age >= 30", within: 40}\n  - {count: "age >= 20"}\n'
    (tmp_path / "batch.yaml").write_text(text)
    found = load(tmp_path / "batch.yaml").questions
    assert [(each.epsilon, each.share, each.within) for each in found] == [
        (None, "1%", None),
        (None, None, "40"),
        ("0.1", None, None),
    ]
    with opened(tmp_path, policy(WIDE)) as asking:
        price = asking.batch_price(found)
        assert [offer.mechanism for offer in price.offers] == ["gaussian", "gaussian", "laplace"]
        assert price.cost.event.mu_squared == sum(offer.cost.event.mu_squared for offer in price.offers)
        assert price.cost.event.epsilon == price.cost.epsilon


def test_choices_of_a_quantile_count_with_half_of_their_epsilon(tmp_path):
    with opened(tmp_path, policy(WIDE)) as asking:
        cost = asking.price(Quantile("age", ".5"), epsilon="0.2").cost
        assert cost.event.mu_squared < EventCost.pair("0.2", 0).mu_squared / 4
        shared = asking.price(Quantile("age", ".5"), share="1%")
        assert shared.cost.epsilon > Fraction("0.1")
        assert shared.share == pytest.approx(Fraction(1, 100), rel=1e-3)
