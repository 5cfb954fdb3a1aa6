"""Budgets with Gaussian accounting: what the ledger keeps of them, what it allows, and what ledgers from before go on doing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from shoal.errors import BudgetError, ParameterError, PreconditionError
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget, Cost
from shoal.ledger.filter import EventCost
from shoal.ledger.ledger import Ledger
from shoal.ledger.state import AccountState, Registration

UNIT = Unit.row("add_remove")
WIDE = Budget.of(3, "1e-5", "gaussian")


def pair(epsilon, delta=0):
    part = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    return Cost.of(epsilon, delta, [(part, 1)])


def noise(variance="200.3", epsilon="0.35", delta="1e-8"):
    """A count with Gaussian noise: a hundredth of the Gaussian way of (3, 1e-5)."""
    found = EventCost.discrete_gaussian(epsilon, delta, 1, variance, 1)
    return Cost.of(epsilon, delta, [(ApproxDP(epsilon, delta), 1)], found)


@pytest.fixture
def ledger():
    with Ledger("sqlite://") as book:
        yield book


def charge(ledger, cost, *, budget=None, questions=("q",), session=None, table=b"t"):
    return ledger.charge(
        "d", cost, budget=budget, neighbours="add_remove", plan="p", table=table, unit=UNIT,
        questions=list(questions), session=session,
    )  # fmt: skip


def test_a_hundred_gaussian_questions_fit_one_by_one_and_no_more(ledger):
    ledger.set_budget("d", WIDE, "agreed")
    for _ in range(100):
        charge(ledger, noise())
    with pytest.raises(BudgetError, match=r"\(35, 0.000001\) spent.*0\.0\d* % for Gaussian noise .*is left"):
        charge(ledger, noise())
    assert ledger.account("d").questions == 100


def test_the_event_of_a_budget_says_its_accounting_and_its_shares(ledger):
    ledger.set_budget("d", WIDE, "agreed")
    saved = ledger.events("d")[0].payload["accounting"]
    assert (saved["kind"], saved["pairs"], saved["gaussian"]) == ("gaussian", "0.000003", "0.000007")
    charge(ledger, noise())
    assert ledger.events("d")[1].payload["filter"]["mu_squared"] == "0.00499251123316"
    assert ledger.verify() == 2


def test_basic_accounting_stays_as_it_was_and_keeps_all_of_delta(ledger):
    ledger.set_budget("d", Budget.of(3, "1e-5"), "agreed")
    assert "accounting" not in ledger.events("d")[0].payload
    for _ in range(8):
        charge(ledger, noise())
    with pytest.raises(BudgetError, match=r"allowed: \(3, 0.00001\) in all; \(0.2, .*\) is left"):
        charge(ledger, noise())
    charge(ledger, pair("0.1", "9e-6"))


def test_a_budget_that_is_fixed_anew_counts_what_was_charged_before(ledger):
    ledger.set_budget("d", Budget.of(3, "1e-5"), "agreed")
    for _ in range(8):
        charge(ledger, noise())
    ledger.set_budget("d", WIDE, "Gaussian from now on")
    assert ledger.account("d").forecast_questions(noise()) == 92
    ledger.set_budget("d", Budget.of(3, "1e-5"), "more of it")
    assert ledger.account("d").filter is not None  # no word on the accounting keeps it
    ledger.set_budget("d", Budget.of(3, "1e-5", "basic"), "as before")
    assert ledger.account("d").filter is None
    assert ledger.account("d").forecast_questions(noise()) == 0


def test_a_budget_below_what_was_spent_allows_nothing(ledger):
    ledger.set_budget("d", WIDE, "agreed")
    for _ in range(60):
        charge(ledger, noise())
    ledger.set_budget("d", Budget.of(1, "1e-6"), "less")
    assert ledger.account("d").forecast_questions(pair("0.001")) == 0
    with pytest.raises(BudgetError, match="nothing is left"):
        charge(ledger, pair("0.001"))


def test_a_release_is_held_to_the_sum_of_epsilons(ledger):
    """Its certificate lists the charges, and a verifier adds them up."""
    ledger.set_budget("d", WIDE, "agreed")
    for _ in range(3):
        charge(ledger, noise())
    charge(ledger, pair("1.9", "1e-6"), questions=())
    assert ledger.account("d").spent.epsilon == Fraction("2.95")
    with pytest.raises(BudgetError, match="which a release is held to"):
        charge(ledger, pair("0.06"), questions=())


def test_three_releases_fit(ledger):
    ledger.set_budget("d", WIDE, "agreed")
    assert ledger.account("d").forecast(pair(1, "1e-6")) == 3
    for _ in range(3):
        charge(ledger, pair(1, "1e-6"), questions=())
    assert ledger.left("d") == Budget.of(0, 0)


def test_an_analysts_share_is_held_by_the_same_rule(ledger):
    ledger.set_budget("d", WIDE, "agreed")
    ledger.open_analyst_budget("d", "alice", Budget.of(1, "1e-6"))
    share = ledger.account("d").analysts[0]
    assert share.filter is not None
    fits = share.room.more(noise())
    assert 5 < fits < 20
    for _ in range(fits):
        charge(ledger, noise(), session="alice")
    with pytest.raises(BudgetError, match="'alice' in dataset 'd' would overrun"):
        charge(ledger, noise(), session="alice")
    charge(ledger, noise())  # of the dataset something is left
    again = ledger.account("d").analysts[0]
    ledger.set_analyst_budget("d", "alice", Budget.of(3, "1e-5"), "more")
    assert again.room.more(noise()) == 0
    assert ledger.account("d").analysts[0].room.more(noise()) == 100 - fits


def test_the_first_charge_fixes_the_accounting_that_the_policy_names(ledger):
    charge(ledger, noise(), budget=WIDE)
    assert ledger.account("d").filter is not None
    charge(ledger, noise(), budget=Budget.of(3, "1e-5"))  # a policy without a word on it
    with pytest.raises(BudgetError, match="with gaussian accounting") as refused:
        charge(ledger, noise(), budget=Budget.of(3, "1e-5", "basic"))
    assert "--accounting basic" in str(refused.value)


def test_charges_without_a_budget_count_once_there_is_one(ledger):
    charge(ledger, noise(), questions=())
    charge(ledger, noise(), budget=WIDE)
    assert ledger.account("d").forecast_questions(noise()) == 98


def test_questions_about_a_sample_are_held_to_its_ceiling_or_to_the_gaussian_way(ledger):
    tenth = Registration("d", None, "0" * 64, None, UNIT, Fraction(1, 10))
    ledger.register(tenth, budget=Budget.of(1, "1e-5", "gaussian"), table=b"t")
    room = ledger.rooms("d")[0]
    assert float(room.left.epsilon) == pytest.approx(2.9, abs=0.01)
    charge(ledger, pair("2.8"))
    assert ledger.rooms("d")[0].state.basic
    assert not ledger.rooms("d")[0].state.gaussian  # without the sample it would be too much
    with pytest.raises(BudgetError, match="overrun"):
        charge(ledger, pair("0.2"))
    with pytest.raises(BudgetError, match="overrun"):  # another table has no ceiling
        charge(ledger, pair("0.05"), table=b"u")


def test_a_pure_budget_has_basic_accounting_alone(ledger):
    with pytest.raises(ParameterError, match="needs a delta"):
        Budget.of(3, 0, "gaussian")
    with pytest.raises(ParameterError, match="no such accounting"):
        Budget.of(3, "1e-5", "renyi")
    ledger.set_budget("d", WIDE, "agreed")
    ledger.open_analyst_budget("d", "bob", Budget.of(1, 0))
    assert ledger.account("d").analysts[0].filter is None


@pytest.mark.parametrize("change", [{"mu_squared": "0.6"}, {"pairs": "0.5"}, {"kind": "renyi"}, {"epsilon": "4"}])
def test_shares_that_are_not_proved_are_not_believed(ledger, change):
    ledger.set_budget("d", WIDE, "agreed")
    event = ledger.events("d")[0]
    saved = {**event.payload["accounting"], **change}
    with pytest.raises((PreconditionError, ParameterError)):
        AccountState("d").apply(replace(event, payload={**event.payload, "accounting": saved}))


def test_a_release_is_charged_to_what_was_set_aside_and_the_gaussian_way_goes_on(ledger):
    ledger.set_budget("d", Budget.of(3, "1e-5", "gaussian", (1, "1e-6")), "agreed")
    saved = ledger.events("d")[0].payload["accounting"]
    assert (saved["aside"], saved["aside_delta"], saved["pairs"]) == ("1", "0.000001", "0.0000027")
    assert ledger.account("d").forecast(pair(1, "1e-6")) == 3
    ledger.charge("d", pair(1, "1e-6"), budget=None, neighbours="add_remove", plan="p", table=b"t", unit=UNIT)
    (room,) = ledger.rooms("d")
    assert room.words().endswith("; (0, 0) set aside for releases")
    assert room.to_json()["aside"] == "0"
    for _ in range(40):
        charge(ledger, noise())
    assert ledger.rooms("d")[0].state.gaussian
    with pytest.raises(BudgetError, match="which a release is held to"):  # its certificate adds all charges up
        ledger.charge("d", pair("0.1", "1e-7"), budget=None, neighbours="add_remove", plan="q", table=b"t", unit=UNIT)
    ledger.set_budget("d", Budget.of(4, "1e-5"), "more")  # neither the accounting nor what is aside is named: both stay
    assert ledger.events("d")[-1].payload["accounting"]["aside"] == "1"
    assert ledger.verify() == len(ledger.events("d"))


def test_basic_accounting_sets_nothing_aside():
    with pytest.raises(ParameterError, match="only Gaussian accounting"):
        Budget.of(3, "1e-5", None, (1, "1e-6"))
    with pytest.raises(ParameterError, match="only Gaussian accounting"):
        Budget.of(3, "1e-5", "basic", (1, "1e-6"))
