"""Sessions: charged before answered, exact sums, free repeats, restarts, prices, and answers that are the truth plus noise."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.errors import BudgetError, DataError, LedgerError, UsageError
from shoal.guarantee.claim import Status
from shoal.ledger.event import Budget
from shoal.ledger.ledger import Ledger
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.person import ValueOf
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.questions.workload import Workload
from shoal.query.session import session
from tests.query.asking import SURE, opened, policy, rich, spent, table

OLD = Count("age >= 65")
PEOPLE = {"unit": {"column": "patient", "max_rows": "1"}}


# --- answers ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "truth"),
    [
        (OLD, 70),
        (Count(), 200),
        (Sum("age"), 9900),
        (Sum("age", where="sex = 'm'"), 5000),
        (Mean("age"), 49.5),
        (Quantile("age", "1/3"), 33),
        (Histogram("sex"), {"attribute": "sex", "labels": ["f", "m"], "counts": [100, 100]}),
        (Contingency(["sex", "diag"]), [0, 80, 20, 0, 100, 0, 0, 0]),
        (Workload([OLD, Sum("age")]), [70, 9900]),
    ],
    ids=lambda each: getattr(each, "word", None),
)
def test_every_question_is_answered_by_the_truth_when_noise_is_next_to_nothing(tmp_path, question, truth):
    with opened(tmp_path, rich()) as asking:
        value = asking.ask(question, SURE).value
    if question.word == "contingency":
        labels = value["attributes"]["diag"]
        assert labels == ["cold", "flu", "rare", "(missing)"]
        assert sorted(value["counts"]) == sorted(truth)
    else:
        assert value == truth


def test_a_variance(tmp_path):
    with opened(tmp_path, rich()) as asking:
        found = asking.ask(Variance("age"), SURE).value
    assert found == pytest.approx(np.var([i % 100 for i in range(200)]), rel=1e-2)


@pytest.mark.parametrize("mechanism", ["laplace", "optimal", "gaussian"])
def test_an_answer_is_the_truth_plus_the_noise_that_was_offered(tmp_path, monkeypatch, mechanism):
    if mechanism != "gaussian":
        monkeypatch.setattr(Source, "secure", classmethod(lambda _: Source.seeded(5)))
    delta = "1e-7" if mechanism == "gaussian" else 0
    with opened(tmp_path) as asking:
        offered = asking.price(OLD, "0.1", mechanism, delta=delta)
        found = asking.ask(OLD, "0.1", mechanism, delta=delta)
        assert found.mechanism == offered.mechanism == mechanism
        assert found.errors == offered.errors
        assert (found.epsilon, found.delta) == (Fraction(1, 10), Fraction(delta))
        assert abs(found.value - 70) < 40 * offered.errors[0].expected
        if mechanism != "gaussian":
            noise = offered.offers[0].noise.noise(Source.seeded(5), 1)[0][0]
            assert found.value == 70 + noise


@pytest.mark.slow
def test_a_question_about_one_person_refines_the_prior(tmp_path):
    with opened(tmp_path, rich(**PEOPLE)) as asking:
        assert asking.ask(ValueOf("10", "diag"), 10, prior="uniform").value == "rare"
        assert asking.ask(ValueOf("17", "age"), 12, prior="uniform").value == pytest.approx(17, abs=1)
        impossible = {"flu": "0.5", "cold": "0.5", "rare": "0"}
        assert asking.ask(ValueOf("10", "diag"), 10, prior=impossible).value in {"flu", "cold"}
        absent = asking.ask(ValueOf("12345", "sex"), 10, prior={"f": "1/4", "m": "3/4"})
        assert absent.value in {"f", "m"}
        assert spent(asking) == 42


def test_replacing_a_person_has_half_of_epsilon_each_way(tmp_path):
    with opened(tmp_path, rich(**PEOPLE, neighbours="replace_one")) as asking:
        offered = asking.price(ValueOf("10", "diag"), 2, prior="uniform")
        assert offered.offers[0].refinement.epsilon == 1
        assert offered.cost.epsilon == 2


def test_at_most_so_many_rows_of_each_person(tmp_path):
    rows = table(100)
    rows["patient"] = [i // 50 for i in range(100)]
    asked = rich(unit={"column": "patient", "max_rows": "3"})
    with opened(tmp_path, asked, rows) as asking:
        assert asking.ask(Count(), SURE).value == 6
        first = asking.ask(Sum("age"), SURE).value
        again = sum(asking.ask(Sum("age", where=f"sex = '{sex}'"), SURE).value for sex in "fm")
        assert first == again  # one choice of rows for the whole session


# --- charges ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_charged_before_answered_and_refused_when_it_would_overrun(tmp_path):
    with opened(tmp_path) as asking:
        for number in range(10):
            asking.ask(Count(f"age >= {number + 1}"), "0.1")
        assert (asking.spent.epsilon, asking.left.epsilon) == (1, 0)
        with pytest.raises(BudgetError, match=r"would overrun.*nothing was charged") as refused:
            asking.ask(Count("age >= 50"), "1e-9")
        assert refused.value.exit_code == 4
        assert spent(asking) == 1


def test_the_same_question_is_free_however_it_is_spelled(tmp_path):
    with opened(tmp_path) as asking:
        first = asking.ask(Count("age >= 65 and sex = 'f'"), "0.1")
        again = asking.ask(Count("not (sex = 'm' or age < 65)"), "0.1", "optimal")
        less = asking.ask(Count("sex = 'f' and age > 64"), "0.05")
        assert (first.free, again.free, less.free) == (False, True, True)
        assert first.value == again.value == less.value
        assert again.charge == first.charge
        assert spent(asking) == Fraction(1, 10)
        more = asking.ask(Count("age >= 65 and sex = 'f'"), "0.2")
        assert not more.free
        assert asking.ask(Count("age >= 65 and sex = 'f'"), "0.1").value == more.value
        assert spent(asking) == Fraction(3, 10)


def test_the_prior_is_part_of_the_question(tmp_path):
    with opened(tmp_path, rich(**PEOPLE)) as asking:
        one = asking.ask(ValueOf("10", "diag"), 1, prior={"flu": "0.5", "rare": "0.5"})
        assert asking.ask(ValueOf("10", "diag"), 1, prior={"rare": "1/2", "flu": "1/2"}).charge == one.charge
        assert not asking.ask(ValueOf("10", "diag"), 1, prior={"flu": "0.4", "rare": "0.6"}).free
        assert spent(asking) == 2


@pytest.mark.slow
def test_budget_and_answers_survive_a_restart(tmp_path):
    with opened(tmp_path) as asking:
        first = asking.ask(OLD, "0.6")
    with opened(tmp_path) as asking:
        again = asking.ask(OLD, "0.6")
        assert (again.free, again.value, again.errors) == (True, first.value, first.errors)
        with pytest.raises(BudgetError):
            asking.ask(Count("age >= 66"), "0.5")


@pytest.mark.slow
def test_another_table_or_policy_is_another_question(tmp_path):
    with opened(tmp_path) as asking:
        asking.ask(OLD, "0.1")
    with opened(tmp_path, data=table(shift=1)) as asking:
        assert not asking.ask(OLD, "0.1").free
    with opened(tmp_path, policy({"attributes.age.domain": [0, 110]})) as asking:
        assert not asking.ask(OLD, "0.1").free
        assert spent(asking) == Fraction(3, 10)


def test_a_charge_stands_when_the_answer_fails(tmp_path, monkeypatch):
    def fails(*_):
        raise RuntimeError("row 17 is wrong")

    with opened(tmp_path) as asking:
        monkeypatch.setattr("shoal.query.price.NoiseOffer.draw", fails)
        with pytest.raises(DataError) as failed:
            asking.ask(OLD, "0.1")
        assert (
            str(failed.value) == "the question could not be answered; the charge stands: what failed may have been seen"
        )
        assert failed.value.__suppress_context__
        assert spent(asking) == Fraction(1, 10)
        monkeypatch.undo()
        assert not asking.ask(OLD, "0.1").free
        assert spent(asking) == Fraction(2, 10)


def test_a_lost_answer_is_refused_and_nothing_is_charged_for_it_again(tmp_path, monkeypatch):
    with opened(tmp_path) as asking:
        asking.ask(OLD, "0.1")
        monkeypatch.setattr(Ledger, "content", lambda *_: b"{}")
        with pytest.raises(LedgerError, match="recorded answer"):
            asking.ask(OLD, "0.1")
        monkeypatch.undo()
        with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
            raw.execute("DELETE FROM answers")
        for use in (asking.ask, asking.price, asking.recorded_epsilon):
            for epsilon in ("0.1", "0.05", "0.2"):
                with pytest.raises(
                    LedgerError, match=r"answer of event \d+ of the ledger is lost.*nothing was charged"
                ):
                    use(OLD, epsilon)
        with pytest.raises(LedgerError, match="is lost"):
            asking.batch([OLD, Count()], "0.1")
        assert spent(asking) == Fraction(1, 10)


# --- prices -----------------------------------------------------------------------------------------------------


def test_a_price_reads_no_row_and_charges_nothing(tmp_path, monkeypatch):
    with opened(tmp_path) as asking:
        monkeypatch.setattr("shoal.query.dataset.Dataset.open", lambda *_: pytest.fail("rows were read"))
        offered = asking.price(OLD, "0.1")
        assert (offered.cost.epsilon, offered.free, offered.fits) == (Fraction(1, 10), False, True)
        assert offered.errors[0].expected == pytest.approx(9.98335, abs=1e-4)  # 1 / sinh(.1)
        assert not asking.price(OLD, 2).fits
        assert [event.kind for event in asking._ledger.events()] == ["budget", "registered"]


@pytest.mark.slow
def test_auto_takes_the_smallest_expected_error(tmp_path):
    with opened(tmp_path) as asking:
        sums = Workload([Sum("age"), Count()])
        scores = {name: asking.price(sums, "0.5", name).offers[0].score for name in ("laplace", "optimal")}
        assert scores["optimal"] < 0.9 * scores["laplace"]
        assert asking.price(sums, "0.5").mechanism == "optimal"
        assert asking.price(Histogram("diag"), "0.5").mechanism == "laplace"
        assert asking.price(Quantile("age", "1/2"), "0.5").mechanism == "exponential"
        wide = asking.price(OLD, "0.001", prior="uniform:60:80")
        assert wide.mechanism == "refinement"
        assert wide.errors[0].expected < 8
        assert asking.price(OLD, 5, prior="uniform:0:100000").mechanism == "laplace"


def test_what_is_on_record_is_free_without_the_table(tmp_path, monkeypatch):
    with opened(tmp_path) as asking:
        asking.ask(OLD, "0.1")
    with opened(tmp_path) as asking:
        monkeypatch.setattr("shoal.query.dataset.Dataset.open", lambda *_: pytest.fail("rows were read"))
        assert asking.price(OLD, "0.1").free
        assert asking.ask(OLD, "0.1").free


def test_the_claim_of_an_answer(tmp_path):
    with opened(tmp_path) as asking:
        answer = asking.ask(OLD, "0.1")
        claim = asking.claim(answer)
        assert (claim.guarantee.epsilon, claim.unit, claim.status) == (
            Fraction(1, 10),
            asking.dataset.unit,
            Status.PROVED,
        )
        assert asking.claim(asking.ask(OLD, "0.1")).words() == claim.words()  # from the record


def test_nothing_is_claimed_for_an_answer_of_another_hand(tmp_path):
    with opened(tmp_path) as asking:
        answer = asking.ask(OLD, "0.1")
        for other in (
            replace(answer, epsilon=Fraction(1, 1000)),
            replace(answer, theorems=("safe-k-tight",)),
            replace(answer, value=0),
            replace(answer, charge=answer.charge + 1),
        ):
            with pytest.raises(UsageError, match="this session did not give"):
                asking.claim(other)


# --- shares -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_analysts_share_a_dataset(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    with opened(tmp_path, analyst="alice", budget="0.3") as alice, opened(tmp_path, analyst="bob", budget="0.9") as bob:
        first = alice.ask(OLD, "0.3")
        assert bob.ask(OLD, "0.3").value == first.value
        with pytest.raises(BudgetError, match="'alice'"):
            alice.ask(Count(), "0.1")
        bob.ask(Count(), "0.7")
        assert (alice.spent.epsilon, bob.spent.epsilon, bob.left.epsilon) == (Fraction(3, 10), Fraction(7, 10), 0)
        with pytest.raises(BudgetError, match="dataset 'clinic' would overrun"):
            bob.ask(Count("age >= 3"), "0.1")
    with Ledger(path) as ledger:
        assert ledger.account("clinic").spent.epsilon == 1


@pytest.mark.slow
def test_a_budget_is_the_dataset_s_unless_an_analyst_is_named(tmp_path):
    bare = policy({"budget": None})
    with pytest.raises(BudgetError, match="no budget"):
        opened(tmp_path, bare)
    with opened(tmp_path, bare, budget=("0.2", "1e-6")) as asking:
        assert asking.left == Budget.of("0.2", "1e-6")
        asking.ask(OLD, "0.2")
    with pytest.raises(BudgetError, match=r"differs|another budget"):
        opened(tmp_path, bare, budget="0.5")
    with pytest.raises(BudgetError, match="budget"):
        opened(tmp_path / "..", policy(), budget="0.5", ledger=str(tmp_path / "other.sqlite"))


def test_one_ledger_may_serve_many_sessions(tmp_path):
    with Ledger(str(tmp_path / "shared")) as ledger:
        with session(policy(), table(), ledger=ledger) as asking:
            asking.ask(OLD, "0.1")
        assert ledger.account("clinic").questions == 1
