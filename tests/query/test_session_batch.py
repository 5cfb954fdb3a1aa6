"""Batches: one entry at the composed total, disjoint groups at the largest, records that are free, and files."""

from __future__ import annotations

import multiprocessing
from fractions import Fraction

import pytest

from shoal.errors import BudgetError, ParameterError, ShoalError, UsageError
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.ledger.ledger import Ledger
from shoal.query.batch import are_disjoint, cost, load
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.questions.workload import Workload
from shoal.query.session import session
from shoal.query.spend import PricedQuestion
from tests.query.asking import POLICY, opened, policy, rich, spent, table
from tests.racing import outcomes_of

ROW, REPLACED = Unit.row("add_remove"), Unit.row("replace_one")
PERSON = Unit.person("patient", 2, "add_remove")


def priced(questions, epsilons, unit=ROW, delta=None):
    schema = policy().schema
    pairs = [(each.resolve(schema, unit), PureDP(epsilon)) for each, epsilon in zip(questions, epsilons, strict=True)]
    return cost(pairs, unit, delta)


def test_a_batch_is_one_entry(tmp_path):
    with opened(tmp_path) as asking:
        asks = [
            PricedQuestion(Count("age >= 65"), "0.1"),
            PricedQuestion(Mean("age"), "0.2", "laplace"),
            PricedQuestion(Quantile("age", ".5"), "0.1"),
        ]
        offered = asking.batch_price(asks)
        assert (offered.cost.epsilon, len(offered.offers), spent(asking)) == (Fraction(4, 10), 3, 0)
        answers = asking.batch(asks)
        account = asking.account
        assert (len(account.costs), account.questions) == (1, 3)
        assert len({answer.charge for answer in answers}) == 1
        assert [answer.mechanism for answer in answers] == ["laplace", "laplace", "exponential"]
        assert asking.ask(Mean("age"), "0.2").value == answers[1].value
        again = asking.batch([*asks, PricedQuestion(Count(), "0.1")])
        assert [answer.free for answer in again] == [True, True, True, False]
        assert spent(asking) == Fraction(5, 10)
        assert asking.batch_price(asks).free


@pytest.mark.slow
def test_a_delta_buys_the_composed_total(tmp_path):
    asks = [Count(f"age >= {bound}") for bound in range(30, 60)]
    with opened(tmp_path) as asking:
        assert asking.batch_price(asks, "0.04").cost.epsilon == Fraction(6, 5)
        with pytest.raises(BudgetError):
            asking.batch(asks, "0.04")
        asking.batch(asks, "0.04", delta="1e-6")
        (entry,) = asking.account.costs
        assert entry.delta == Fraction(1, 10**6)
        composed = compose([(PureDP("0.04"), 30)]).epsilon_at("1e-6")
        assert composed <= float(entry.epsilon) <= composed * (1 + 1e-5) < 1
        assert entry.parts == ((PureDP("0.04"), 30),)


def test_a_batch_that_would_overrun_is_refused_whole(tmp_path):
    with opened(tmp_path) as asking:
        with pytest.raises(BudgetError):
            asking.batch([Count("age >= 1"), Count("age >= 2")], "0.6")
        assert spent(asking) == 0


def test_groups_of_different_people_cost_the_largest():
    sexes = [Count("sex = 'f'"), Count("sex = 'm'")]
    assert priced(sexes, ["0.1", "0.2"]).epsilon == Fraction(2, 10)
    assert priced(sexes, ["0.1", "0.2"], REPLACED).epsilon == Fraction(3, 10)
    assert priced(sexes, ["0.1", "0.2"], PERSON).epsilon == Fraction(3, 10)
    ages = [Sum("age", where=f"age between {low} and {low + 9}") for low in range(10, 90, 10)]
    assert priced(ages, ["0.1"] * 8).epsilon == Fraction(1, 10)
    assert priced(ages, ["0.1"] * 8, REPLACED).epsilon == Fraction(2, 10)
    assert priced([*sexes, *ages], ["0.1"] * 10).epsilon == Fraction(2, 10)
    assert priced([Count("age >= 50"), Count("age >= 49")], ["0.1", "0.1"]).epsilon == Fraction(2, 10)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Count("age < 50"), Count("age >= 50"), True),
        (Count("age < 50 and sex = 'f'"), Quantile("age", ".5", where="sex = 'm'"), True),
        (Histogram("diag", where="sex = 'f'"), Contingency(["age"], where="sex = 'm'"), True),
        (Workload([Count("age < 50"), Sum("age", where="age < 20")]), Count("age >= 50"), True),
        (Workload([Count("age < 50"), Sum("age")]), Count("age >= 50"), False),
        (Count("diag = 'flu'"), Count("diag is missing"), True),
        (Count("age < 50 or sex = 'f'"), Count("age >= 50 and sex = 'm'"), True),
        (Count("age < 50 or sex = 'f'"), Count("age >= 50"), False),
        (Count("age < 50"), Count("sex = 'f'"), False),
        (Count(), Count("age < 50"), False),
    ],
)
def test_what_the_conditions_alone_prove(first, second, expected):
    schema = policy().schema
    one, other = first.resolve(schema, ROW), second.resolve(schema, ROW)
    assert are_disjoint(one, other) is are_disjoint(other, one) is expected


def test_a_batch_s_delta_covers_its_questions(tmp_path):
    with opened(tmp_path, rich()) as asking:
        gaussian = [PricedQuestion(Count(f"age >= {bound}"), "0.5", "gaussian", delta="1e-8") for bound in (10, 20)]
        assert asking.batch_price(gaussian).cost.delta == Fraction(2, 10**8)
        with pytest.raises(ParameterError, match="less than its questions need"):
            asking.batch_price(gaussian, delta="1e-8")


# --- files ------------------------------------------------------------------------------------------------------

FILE = """
version: 1
epsilon: 0.1
delta: 1e-6
questions:
  - {count: "age >= 65"}
  - {mean: age, where: "sex = 'f'", epsilon: 0.2, mechanism: laplace}
  - {histogram: age, level: 1}
  - {histogram: {attribute: age, edges: [0, 18, 65, 99]}}
  - {contingency: [sex, {attribute: age, level: 2}]}
  - {quantile: age, q: 0.5}
  - {together: [{count: "sex = 'f'"}, {sum: age}]}
  - {count: everything, prior: "uniform:0:1000"}
"""


@pytest.mark.slow
def test_a_batch_file(tmp_path):
    (tmp_path / "batch.yaml").write_text(FILE)
    file = load(tmp_path / "batch.yaml")
    assert file.delta == Fraction(1, 10**6)
    assert [ask.question.word for ask in file.questions] == [
        "count", "mean", "histogram", "histogram", "contingency", "quantile", "together", "count",
    ]  # fmt: skip
    assert (file.questions[1].epsilon, file.questions[1].mechanism, file.questions[7].prior) == (
        "0.2",
        "laplace",
        "uniform:0:1000",
    )
    with opened(tmp_path) as asking:
        answers = asking.batch(file.questions, delta=file.delta)
        assert len(answers) == 8
        assert asking.account.questions == 8


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version: 2\nquestions: []\n",
        "version: 1\n",
        "version: 1\nquestions: 3\n",
        "version: 1\nquestion: []\nquestions: []\n",
        "version: 1\nquestions: [count]\n",
        'version: 1\nquestions: [{count: "age >= 1"}]\n',
        "version: 1\nepsilon: 0.1\nquestions: [{epsilon: 0.2}]\n",
        "version: 1\nepsilon: 0.1\nquestions: [{gossip: age}]\n",
        "version: 1\nepsilon: 0.1\nquestions: [{mean: age, colour: blue}]\n",
        "version: 1\nepsilon: 0.1\nquestions: [{histogram: age, level: deep}]\n",
        "version: 1\nepsilon: 0.1\ndelta: nan\nquestions: [{count: everything}]\n",
        "version: 1\nquestions: [" + "[" * 200 + "\n",
    ],
)
def test_files_that_are_no_batch(tmp_path, text):
    (tmp_path / "batch.yaml").write_text(text)
    with pytest.raises(ShoalError) as refused:
        load(tmp_path / "batch.yaml")
    assert refused.value.exit_code == 2


def test_a_batch_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "nothing.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        load(tmp_path / "bytes.yaml")


# --- many processes -----------------------------------------------------------------------------------------------


def _asker(folder, barrier, results):
    given = refused = 0
    with session("clinic", ledger=f"{folder}/ledger.sqlite") as asking:
        barrier.wait()
        for number in range(50):
            try:
                asking.ask(Count(f"age >= {number + 1}"), "0.02", "laplace")
                given += 1
            except BudgetError:
                refused += 1
    results.put((given, refused))


@pytest.mark.slow
def test_processes_share_one_budget_to_the_last_question(tmp_path):
    """Two processes ask the same 50 questions at once; the budget has room for exactly 50 charges."""
    from shoal.query.session import register

    (tmp_path / "policy.yaml").write_text(POLICY)
    table().to_csv(tmp_path / "table.csv", index=False)
    register(tmp_path / "policy.yaml", tmp_path / "table.csv", ledger=str(tmp_path / "ledger.sqlite"), new_ledger=True)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    askers = [context.Process(target=_asker, args=(str(tmp_path), barrier, results)) for _ in range(2)]
    outcomes = outcomes_of(askers, results)
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        account = ledger.account("clinic")
        charges = [event for event in ledger.events() if event.kind == "charge"]
        answers = [event for event in ledger.events() if event.kind == "answer"]
        assert account.spent.epsilon == Fraction(len(charges), 50) <= 1
        assert len(answers) == len(charges)
        assert sum(given for given, _ in outcomes) >= len(charges)
        assert sum(given + refused for given, refused in outcomes) == 100
        ledger.verify()
