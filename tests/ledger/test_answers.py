"""Questions in the ledger: recorded answers, shares of a budget, samples, registered datasets, and a chain read once."""

import multiprocessing
import sqlite3
from fractions import Fraction

import pytest

from shoal.errors import BudgetError, LedgerError, ParameterError, PreconditionError, VerificationError
from shoal.guarantee.differential import LaplaceDP, amplify
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger
from shoal.ledger.state import Registration, ceiling
from shoal.ledger.store import Store
from tests.racing import outcomes_of

ROW = Unit.row("add_remove")


def cost(epsilon="0.1"):
    return Cost.of(epsilon, 0, [(LaplaceDP(epsilon), 1)])


def ask(ledger, question="count", price=None, dataset="visits", **more):
    options = {"budget": Budget.of(1, 0), "neighbours": "add_remove", "plan": "p", "table": b"t", "unit": ROW, **more}
    return ledger.charge(dataset, price or cost(), questions=[question], **options)


def entry(dataset="visits", **more):
    return Registration(dataset, "policy.yaml", "l" * 64, "table.csv", more.pop("unit", ROW), **more)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        yield opened


# --- answers ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_answer_is_recorded_once_and_costs_nothing(ledger, tmp_path):
    receipt = ask(ledger)
    assert ledger.recorded_answers("visits", "count", "table") == []
    ledger.record_answers("visits", receipt, [("count", cost(), b"42")], table="table")
    with Ledger(str(tmp_path / "ledger.sqlite")) as other:
        (found,) = other.recorded_answers("visits", "count", "table")
        assert (found.charge, found.epsilon, other.content(found)) == (receipt.number, Fraction(1, 10), b"42")
        assert other.recorded_answers("visits", "count", "another table") == []
        assert other.recorded_answers("visits", "another count", "table") == []
        assert other.recorded_answers("other", "count", "table") == []
        account = other.account("visits")
        assert (account.spent.epsilon, account.questions, len(account.costs)) == (Fraction(1, 10), 1, 1)
        assert other.verify() == 3


def test_a_charge_without_an_answer_stands(ledger):
    ask(ledger)
    assert ledger.account("visits").spent.epsilon == Fraction(1, 10)
    assert ledger.recorded_answers("visits", "count", "table") == []


def test_a_changed_answer_is_found_and_not_given(ledger, tmp_path):
    receipt = ask(ledger)
    ledger.record_answers("visits", receipt, [("count", cost(), b"42")], table="table")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE answers SET content = ?", (b"43",))
    (found,) = ledger.recorded_answers("visits", "count", "table")
    assert ledger.content(found) is None
    with pytest.raises(VerificationError, match="answer of event 3"):
        ledger.verify()


def test_questions_need_a_budget(ledger):
    with pytest.raises(BudgetError, match="no budget"):
        ask(ledger, budget=None)
    assert ledger.events() == []


def test_a_budget_that_cannot_be_told_from_zero():
    for text in ("1e-400", "nan", "inf", "-1", "1e400"):
        with pytest.raises(ParameterError):
            Budget.of(text, 0)
        with pytest.raises(ParameterError):
            cost(text)


# --- shares -----------------------------------------------------------------------------------------------------


def test_an_analyst_has_a_share_within_the_budget(ledger):
    ledger.set_budget("visits", Budget.of(1, 0), "to begin with")
    assert ledger.open_analyst_budget("visits", "alice", Budget.of("0.2", 0)).left == Budget.of("0.2", 0)
    for number in range(2):
        ask(ledger, f"q{number}", session="alice")
    with pytest.raises(BudgetError, match=r"'alice' in dataset 'visits' would overrun.*nothing was charged"):
        ask(ledger, "q2", session="alice")
    ask(ledger, "q2", cost("0.7"))
    ledger.open_analyst_budget("visits", "bob", Budget.of("0.5", 0))
    with pytest.raises(BudgetError, match="dataset 'visits' would overrun"):
        ask(ledger, "q3", cost("0.2"), session="bob")
    assert ledger.left("visits", "bob") == Budget.of("0.1", 0)
    alice, bob = ledger.account("visits").analysts
    assert (alice.left.epsilon, bob.spent.epsilon) == (0, 0)
    assert ledger.account("visits").spent.epsilon == Fraction(9, 10)


def test_a_share_is_fixed_and_changed_openly(ledger):
    ledger.set_budget("visits", Budget.of(1, 0), "to begin with")
    with pytest.raises(BudgetError, match="no share"):
        ledger.open_analyst_budget("visits", "alice", None)
    with pytest.raises(BudgetError, match="no share"):
        ask(ledger, session="alice")
    ledger.open_analyst_budget("visits", "alice", Budget.of("0.2", 0))
    with pytest.raises(BudgetError, match=r"share of 'alice'.*is fixed"):
        ledger.open_analyst_budget("visits", "alice", Budget.of("0.3", 0))
    ledger.set_analyst_budget("visits", "alice", Budget.of("0.3", 0), "she asked nicely")
    assert ledger.open_analyst_budget("visits", "alice", None).budget == Budget.of("0.3", 0)
    assert [event.kind for event in ledger.events()] == ["budget", "session", "session"]


# --- samples ----------------------------------------------------------------------------------------------------


def test_a_sample_is_amplified_as_a_whole(ledger):
    """LQS11 section 2.7: a target of .1 on a 1 % sample allows 2.44 in all, however it is divided."""
    budget = Budget.of("0.1", 0)
    ledger.register(entry(sampled=Fraction(1, 100)), budget=budget, table=b"t")
    assert float(ledger.account("visits").ceiling.epsilon) == pytest.approx(2.44383, abs=1e-5)
    for number in range(24):
        ask(ledger, f"q{number}", budget=budget)
    with pytest.raises(BudgetError, match="would overrun"):
        ask(ledger, "q24", budget=budget)
    spent = ledger.account("visits").spent.epsilon
    assert amplify(spent, 0, "0.01").epsilon <= 0.1
    one_by_one = 24 * amplify("0.1", 0, "0.01").epsilon
    assert one_by_one < 0.3 * amplify(spent, 0, "0.01").epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate"), [("0.1", "1e-6", "0.01"), ("3", 0, "0.5"), ("0.001", "0.1", "0.9")]
)
def test_the_ceiling_keeps_the_budget(epsilon, delta, rate):
    most = ceiling(Budget.of(epsilon, delta), Fraction(rate))
    back = amplify(most.epsilon, most.delta, rate)
    assert float(epsilon) * (1 - 1e-9) <= back.epsilon <= float(epsilon)
    assert back.delta <= float(delta)


def test_a_release_is_held_to_the_budget_as_promised(ledger):
    budget = Budget.of("0.1", 0)
    ledger.register(entry(sampled=Fraction(1, 100)), budget=budget, table=b"t")
    ask(ledger, price=cost("0.2"), budget=budget)
    with pytest.raises(BudgetError, match="would overrun"):
        ledger.charge("visits", cost("0.01"), budget=budget, neighbours="add_remove", plan="p", table=b"t", unit=ROW)


def test_questions_and_a_release_of_the_sample_itself_exclude_each_other(ledger):
    ask(ledger)
    release = {"budget": Budget.of(1, 0), "neighbours": "add_remove", "plan": "p", "unit": ROW}
    with pytest.raises(PreconditionError, match="dps-does-not-compose"):
        ledger.charge("visits", cost(), table=b"t", uses_sample=True, **release)
    ledger.charge("other", cost(), table=b"o", uses_sample=True, **release)
    with pytest.raises(PreconditionError, match="dps-does-not-compose"):
        ask(ledger, dataset="other", table=b"o")
    with pytest.raises(PreconditionError, match="dps-does-not-compose"):
        ledger.register(entry("other"), budget=None, table=b"o")


def test_a_rate_is_for_adding_and_removing():
    with pytest.raises(PreconditionError, match="dependent-samples"):
        entry(unit=Unit.row("replace_one"), sampled=Fraction(1, 2))
    with pytest.raises(ParameterError):
        entry(sampled=Fraction(3, 2))


# --- registered datasets ------------------------------------------------------------------------------------------


def test_registering_twice_is_one_event(ledger):
    first = ledger.register(entry(), budget=Budget.of(1, 0), table=b"t", file=b"f")
    assert ledger.registration("visits") == first
    assert ledger.register(entry(), budget=Budget.of(1, 0), table=b"t", file=b"f") == first
    assert [event.kind for event in ledger.events()] == ["budget", "registered"]
    moved = ledger.register(entry(), budget=None, table=b"t2")
    assert moved.table != first.table
    assert ledger.registration("visits") == moved
    assert ledger.registration("other") is None


def test_one_table_has_one_name_and_one_meaning(ledger):
    ledger.register(entry(), budget=Budget.of(1, 0), table=b"t")
    with pytest.raises(BudgetError, match="under the name 'visits'"):
        ledger.register(entry("again"), budget=None, table=b"t")
    with pytest.raises(BudgetError, match="under the name 'visits'"):
        ask(ledger, dataset="again")
    ask(ledger)
    with pytest.raises(BudgetError, match="another unit"):
        ledger.register(entry(unit=Unit.person("id", 2, "add_remove")), budget=None, table=b"t")
    with pytest.raises(BudgetError, match="drawn at another rate"):
        ledger.register(entry(sampled=Fraction(1, 2)), budget=None, table=b"t")


# --- a chain that is read once ------------------------------------------------------------------------------------


def test_an_event_is_read_once_by_each_process(ledger, monkeypatch):
    seen = []
    plain = Store.events
    monkeypatch.setattr(Store, "events", lambda self, since=0: seen.append(since) or plain(self, since))
    for number in range(3):
        ask(ledger, f"q{number}")
        ledger.account("visits")
    assert seen == [0, 2, 3]


def test_a_last_event_that_changes_under_way_is_noticed(ledger, tmp_path):
    ask(ledger)
    ledger.account("visits")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("DELETE FROM events WHERE number = 2")
    for again in (lambda: ask(ledger), lambda: ledger.account("visits")):
        with pytest.raises(LedgerError, match="event 2 of the ledger is no longer what it was"):
            again()


def test_a_changed_prefix_is_found_by_verify_and_at_the_next_opening(ledger, tmp_path):
    for number in range(3):
        ask(ledger, f"q{number}")
    ledger.account("visits")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE events SET payload = replace(payload, '0.1', '0.0') WHERE number = 2")
    ask(ledger, "q3")
    assert ledger.account("visits").spent.epsilon == Fraction(4, 10)
    with pytest.raises(VerificationError, match="event 2"):
        ledger.verify()
    with (
        Ledger(str(tmp_path / "ledger.sqlite")) as other,
        pytest.raises(LedgerError, match=r"event 2.*cannot be trusted"),
    ):
        ask(other, "q4")


def test_two_ledgers_of_one_file_see_each_other(ledger, tmp_path):
    with Ledger(str(tmp_path / "ledger.sqlite")) as other:
        for number in range(5):
            ask(ledger, f"a{number}")
            ask(other, f"b{number}")
        with pytest.raises(BudgetError, match="overrun"):
            ask(ledger, "one more")
        assert ledger.account("visits") == other.account("visits")
        assert other.verify() == 11


def _askers(url, name, barrier, results):
    charged = 0
    with Ledger(url) as ledger:
        barrier.wait()
        for number in range(25):
            try:
                receipt = ask(ledger, f"{name}{number}", cost("0.01"))
            except BudgetError:
                continue
            ledger.record_answers("visits", receipt, [(f"{name}{number}", cost("0.01"), b"1")], table="t")
            charged += 1
    results.put(charged)


@pytest.mark.slow
def test_four_processes_never_overrun_and_lose_no_charge(tmp_path):
    url = str(tmp_path / "ledger.sqlite")
    with Ledger(url) as ledger:
        ask(ledger, "first", cost("0.2"))
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(4), context.Queue()
    askers = [context.Process(target=_askers, args=(url, name, barrier, results)) for name in "abcd"]
    charged = outcomes_of(askers, results)
    assert sum(charged) == 80
    with Ledger(url) as ledger:
        account = ledger.account("visits")
        assert (account.spent.epsilon, account.questions) == (1, 81)
        assert ledger.verify() == 2 + 2 * 80
