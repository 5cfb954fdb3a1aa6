"""What a session refuses: for nothing, in the same words whatever the rows are; and attackers who never get past the budget."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from shoal.engine.base import open_engine
from shoal.errors import BudgetError, DataError, PolicyError, PreconditionError, ShoalError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.person import ValueOf
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Histogram
from shoal.query.session import register, session
from shoal.query.spend import PricedQuestion
from tests.query.asking import POLICY, opened, policy, spent, table

PERSON = {"unit": {"column": "patient", "max_rows": "1"}}
DEEP = "(" * 10_000 + "age >= 1" + ")" * 10_000

REFUSED = [
    (Sum("note"), {}),
    (Mean("note"), {}),
    (Variance("diag"), {}),
    (Sum("patient"), {}),
    (Sum("salary"), {}),
    (Histogram("note"), {}),
    (Count("salary >= 3"), {}),
    (Count("diag = 'plague'"), {}),
    (Count("age >= 200"), {}),
    (Count("age > 70 and age < 60"), {}),
    (Count("age between 60 and 50"), {}),
    (Count("age >= 1; DROP TABLE events"), {}),
    (Count("patient = 3"), {}),
    (Count(DEEP), {}),
    (Count("not " * 10_000 + "age >= 1"), {}),
    (Quantile("diag", "1/2"), {}),
    (ValueOf("3", "diag"), {"prior": "uniform"}),
    (Count(), {"epsilon": 0}),
    (Count(), {"epsilon": -1}),
    (Count(), {"epsilon": "1e-400"}),
    (Count(), {"epsilon": "nan"}),
    (Count(), {"epsilon": "inf"}),
    (Count(), {"epsilon": "1e400"}),
    (Count(), {"epsilon": float("nan")}),
    (Count(), {"epsilon": True}),
    (Count(), {"epsilon": "much"}),
    (Count(), {"epsilon": "1e-10"}),
    (Count(), {"delta": -1}),
    (Count(), {"delta": 1}),
    (Count(), {"mechanism": "gaussian"}),
    (Count(), {"mechanism": "magic"}),
    (Count(), {"mechanism": "refinement"}),
    (Count(), {"mechanism": "exponential"}),
    (Quantile("age", "1/2"), {"mechanism": "laplace"}),
    (Count(), {"prior": "gossip"}),
    (Count(), {"prior": "uniform"}),
    (Count(), {"prior": "uniform:5:5"}),
    (Count(), {"prior": "uniform:nan:5"}),
    (Count(), {"prior": {}}),
    (Count(), {"prior": {"1": "0.5", "2": "0.6"}}),
    (Count(), {"prior": {"1": 0, "2": 0}}),
    (Count(), {"prior": {"1": "1.5", "2": "-0.5"}}),
    (Count(), {"prior": {"one": "1"}}),
    (Count(), {"prior": {"1": "0.5", "1.0": "0.5"}}),
    (Count(), {"prior": {"edges": [0, 1], "probabilities": ["0.5", "0.5"]}}),
    (Count(), {"prior": {"edges": "01", "probabilities": [1]}}),
    (Histogram("sex"), {"prior": "uniform:0:10"}),
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The same dataset on two tables that share no row, each with a ledger of its own."""
    folders = [tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")]
    with opened(folders[0]) as one, opened(folders[1], data=table(7, shift=50)) as other:
        yield one, other


@pytest.mark.slow
@pytest.mark.parametrize(("question", "options"), REFUSED)
def test_a_refusal_costs_nothing_and_tells_what_the_question_tells(pair, question, options):
    told = []
    for asking in pair:
        for way in (asking.ask, asking.price):
            with pytest.raises(ShoalError) as refused:
                way(question, **{"epsilon": "0.1", **options})
            told.append((type(refused.value), str(refused.value)))
        assert spent(asking) == 0
    assert len(set(told)) == 1
    assert told[0][0] is not DataError
    assert len(told[0][1]) < 700


def test_an_overrun_is_told_by_the_ledger_alone(pair):
    told = []
    for asking in pair:
        with pytest.raises(BudgetError) as refused:
            asking.ask(Count(), "1.5")
        told.append(str(refused.value))
        assert spent(asking) == 0
    assert told[0] == told[1]


def test_what_is_no_question(pair):
    for bad in (None, 3, "count", {}, {"count": {}, "sum": "age"}, {"gossip": "age"}, {"count": {"were": "age > 1"}}):
        with pytest.raises(UsageError):
            pair[0].ask(bad, "0.1")
    for bad in ([], [Count()], [PricedQuestion(Count(), "0.1"), PricedQuestion(Count(), "0.2")]):
        with pytest.raises(UsageError):
            pair[0].batch(bad)


@pytest.mark.parametrize("budget", ["1e-400", "nan", "inf", "-1", "0", ("1", "1"), ("1", "nan"), "700.1", True])
def test_budgets_that_mean_nothing(tmp_path, budget):
    with pytest.raises(ShoalError) as refused:
        opened(tmp_path, policy({"budget": None}), budget=budget)
    assert refused.value.exit_code in (2, 4)


@pytest.mark.slow
def test_analysts_without_a_name(tmp_path):
    for name in ("", "a" * 101, "two\nlines"):
        with pytest.raises(UsageError):
            opened(tmp_path, analyst=name, budget="0.1")


# --- the dataset ------------------------------------------------------------------------------------------------


@pytest.fixture
def registered(tmp_path):
    """A policy and a table in files, registered in a ledger beside them."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    table().to_csv(tmp_path / "table.csv", index=False)
    ledger = str(tmp_path / "ledger.sqlite")
    register(tmp_path / "policy.yaml", tmp_path / "table.csv", ledger=ledger, new_ledger=True)
    return tmp_path, ledger


def test_a_policy_with_treatments_answers_no_questions(tmp_path):
    text = POLICY + "treatments:\n- {top: {age: 85}}\n"
    with pytest.raises(PolicyError, match=r"treatments: questions are answered about the table as it is.*got top"):
        register(text_policy(tmp_path, text), table(), ledger=str(tmp_path / "ledger.sqlite"), new_ledger=True)
    assert not (tmp_path / "ledger.sqlite").exists()


def text_policy(folder, text):
    (folder / "treated.yaml").write_text(text)
    return folder / "treated.yaml"


@pytest.mark.slow
def test_a_registered_dataset_is_found_by_its_name(registered):
    folder, ledger = registered
    with session("clinic", ledger=ledger) as asking:
        asking.ask(Count("age >= 65"), "0.1")
    with pytest.raises(UsageError, match="no dataset of this name"):
        session("other", ledger=ledger)
    with pytest.raises(UsageError, match="has its table already"):
        session("clinic", table(), ledger=ledger)
    with pytest.raises(UsageError, match="without its table"):
        session(policy(), ledger=ledger)
    with pytest.raises(BudgetError, match="under the name 'clinic'"):
        session(policy({"dataset": "again"}), folder / "table.csv", ledger=ledger)


@pytest.mark.slow
def test_a_table_that_changed_has_to_be_registered_again(registered):
    folder, ledger = registered
    table(shift=3).to_csv(folder / "table.csv", index=False)
    with session("clinic", ledger=ledger) as asking:
        with pytest.raises(DataError, match="not the one that was registered") as refused:
            asking.ask(Count(), "0.1")
        assert refused.value.exit_code == 5
        assert spent(asking) == 0
    (folder / "table.csv").write_text("patient,age,sex,diag,note\n1,200,f,flu,x\n")
    with session("clinic", ledger=ledger) as asking, pytest.raises(DataError) as refused:
        asking.ask(Count(), "0.1")
    assert "cannot be opened as it was registered" in str(refused.value)
    assert "200" not in str(refused.value)
    table(shift=3).to_csv(folder / "table.csv", index=False)
    register(folder / "policy.yaml", folder / "table.csv", ledger=ledger)
    with session("clinic", ledger=ledger) as asking:
        asking.ask(Count(), "0.1")
        assert spent(asking) == Fraction(1, 10)


def test_a_policy_that_changed_has_to_be_registered_again(registered):
    folder, ledger = registered
    (folder / "policy.yaml").write_text(POLICY.replace("[0, 99]", "[0, 110]"))
    with pytest.raises(PolicyError, match="has changed since"):
        session("clinic", ledger=ledger)
    register(folder / "policy.yaml", folder / "table.csv", ledger=ledger)
    session("clinic", ledger=ledger).close()
    (folder / "policy.yaml").write_text(POLICY.replace("epsilon: 1,", "epsilon: 2,"))
    with pytest.raises(PolicyError, match="has changed since"):  # the domain, not the budget
        session("clinic", ledger=ledger)


def test_what_was_registered_from_memory_has_no_file(tmp_path):
    opened(tmp_path).close()
    with pytest.raises(UsageError, match="registered from memory"):
        session("clinic", ledger=str(tmp_path / "ledger.sqlite"))


def test_a_row_without_a_person_is_refused_where_persons_are_hidden(tmp_path):
    rows = table()
    rows["patient"] = rows["patient"].astype("Int64")
    rows.loc[5, "patient"] = None
    with pytest.raises(DataError, match="patient"):
        opened(tmp_path, policy(PERSON), rows)


# --- samples ----------------------------------------------------------------------------------------------------


def test_a_sample_gets_the_amplified_budget(tmp_path):
    with opened(tmp_path, policy({"budget": {"epsilon": "0.1", "delta": "0"}}), sampled="0.01") as asking:
        assert float(asking.left.epsilon) == pytest.approx(2.44383, abs=1e-5)
        asking.ask(Count(), "2.4")
        with pytest.raises(BudgetError):
            asking.ask(Count("age >= 3"), "0.1")


def test_a_sample_says_its_rate_once(tmp_path):
    with pytest.raises(ShoalError, match="sampling rate"):
        opened(tmp_path, sampled="1.5")
    with pytest.raises(PreconditionError, match="dependent-samples"):
        opened(tmp_path, policy({"neighbours": "replace_one"}), sampled="0.1")
    with opened(tmp_path, sampled="0.5") as asking:
        asking.ask(Count(), "0.1")
    with pytest.raises(BudgetError, match="another rate"):
        opened(tmp_path)


def _released(asked, folder):
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        release(plan(asked), table(), folder / "out", ledger=ledger, engine=open_engine("duckdb"), report=False)


@pytest.mark.slow
def test_a_sample_is_released_or_asked_but_not_both(tmp_path):
    """LQS11 sections 2.2, 2.6: what is private only under sampling does not compose, in either order."""
    already = {
        "method": "safe-k", "epsilon": "1", "delta": "1e-6", "sampling": {"already": "0.1"},
        "recoding": {"levels": {"age": 2, "sex": 0, "diag": 0}},
    }  # fmt: skip
    drawn = policy({"attributes.note.role": "drop", "release": already})
    for first in ("released", "asked"):
        folder = tmp_path / first
        folder.mkdir()
        ledger = str(folder / "ledger.sqlite")
        if first == "released":
            _released(drawn, folder)
            with pytest.raises(PreconditionError, match="dps-does-not-compose"):
                session(drawn, table(), ledger=ledger)
        else:
            with session(drawn, table(), ledger=ledger, new_ledger=True) as asking:
                assert asking.account.rate == Fraction(1, 10)
                asking.ask(Count(), "0.1")
            with pytest.raises(PreconditionError, match="dps-does-not-compose"):
                _released(drawn, folder)


# --- attackers ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_thousands_of_chosen_questions_never_get_past_the_budget(tmp_path):
    """An attacker who adapts every next question, price, mechanism, prior, name and batch to all answers so far."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        asking, other = (
            session(policy(), table(50), ledger=ledger, analyst=name, budget=None if name is None else 1)
            for name in (None, "mallory")
        )
        paid, refused, low, high = Fraction(0), 0, 0, 99
        prices = itertools.cycle(["0.02", "1/64", "0.3", "1e-9", "1", "0.999999999999"])
        for asked, price in enumerate(itertools.islice(prices, 2_000)):
            middle = max(1, (low + high + 1) // 2)
            where = f"age >= {middle} and diag != '{('flu', 'cold', 'rare')[asked % 3]}'"
            try:
                if asked % 40 == 39:
                    pairs = [Count(where), Count(f"age < {middle}"), Count("sex = 'f'")]
                    found = asking.batch(pairs, epsilon=price, delta="1e-7" if asked == 39 else None)
                elif asked % 600 == 599:
                    found = [asking.ask(Count(where), price, prior="uniform:0:200")]
                else:
                    found = [(other if asked % 3 else asking).ask(Count(where), price, "laplace")]
            except BudgetError:
                refused += 1
                low, high = (middle, 99) if asked % 2 else (0, middle)
            else:
                paid += sum(answer.epsilon for answer in found if not answer.free)
                low, high = (middle, high) if found[0].value > 10 else (low, middle)
            low, high = (0, 99) if low >= high else (low, high)
            if asked % 100 == 99:
                account = ledger.account("clinic")
                assert account.spent.epsilon <= min(1, paid)
                assert account.spent.delta <= Fraction(1, 10**6)
        assert refused > 500
        left = asking.left.epsilon
        assert 0 <= left == 1 - ledger.account("clinic").spent.epsilon
        with pytest.raises(BudgetError):
            asking.ask(Count("age = 42"), left + Fraction(1, 10**9))
        ledger.verify()
