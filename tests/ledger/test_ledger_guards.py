"""What must not get past the ledger: costs that were not on the sample, endless shares, cut sums, broken chains, odd paths."""

import json
import math
import sqlite3
from fractions import Fraction

import pytest

from shoal.errors import BudgetError, LedgerError, ParameterError
from shoal.guarantee.differential import ApproxDP, PureDP, amplify
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger
from shoal.ledger.state import Registration, ceiling

ROW = Unit.row("add_remove")
ONE = Budget.of(1, 0)
RATE = Fraction(1, 100)


def cost(epsilon="0.1", delta=0):
    return Cost.of(epsilon, delta, [(ApproxDP(epsilon, delta) if delta else PureDP(epsilon), 1)])


def charge(ledger, price, *, questions=(), budget=ONE, table=b"sample", **more):
    kept = {"neighbours": "add_remove", "plan": "p", "unit": ROW}
    return ledger.charge("census", price, budget=budget, table=table, questions=questions, **kept, **more)


def sample(ledger, table=b"sample", rate=RATE, file=None):
    entry = Registration("census", None, "l" * 64, None, ROW, rate)
    return ledger.register(entry, budget=ONE, table=table, file=file)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        yield opened


# --- samples ----------------------------------------------------------------------------------------------------


def test_a_rate_that_is_told_after_a_charge_is_refused(ledger):
    charge(ledger, cost(1), table=b"population")
    with pytest.raises(BudgetError, match=r"another rate.*allowed: no sample"):
        sample(ledger)
    assert ledger.left("census").epsilon == 0


def test_a_release_of_the_population_ends_the_amplification(ledger):
    """Before, 4.15 was left after it: a true total of 1.49 under a budget of 1."""
    sample(ledger)
    charge(ledger, cost("0.2"), questions=["a"])
    assert ledger.left("census").epsilon > 4
    charge(ledger, cost("0.5"), table=b"population")
    assert ledger.left("census").epsilon == Fraction(3, 10)
    assert ledger.account("census").ceiling == ONE
    with pytest.raises(BudgetError, match="would overrun"):
        charge(ledger, cost("0.31"), questions=["b"])
    charge(ledger, cost("0.3"), questions=["b"])
    assert 0.5 + amplify("0.5", 0, RATE).epsilon <= 1


def test_a_release_of_the_population_has_to_fit_beside_all_that_was_asked(ledger):
    sample(ledger)
    charge(ledger, cost("0.9"), questions=["a"])
    with pytest.raises(BudgetError, match="would overrun"):
        charge(ledger, cost("0.2"), table=b"population")
    charge(ledger, cost("3"), questions=["b"])


def test_the_sample_is_known_by_its_table_or_its_file_and_by_every_version(ledger):
    sample(ledger, file=b"file")
    charge(ledger, cost("0.1"), table=b"columns of the sample", file=b"file")
    sample(ledger, table=b"next year's sample")
    charge(ledger, cost("3"), questions=["a"], table=b"next year's sample")
    charge(ledger, cost("1"), questions=["b"])
    left = ceiling(ONE, RATE).epsilon - Fraction(41, 10)
    assert ledger.left("census").epsilon == left > 1


def test_a_question_about_another_table_is_held_to_the_budget_itself(ledger):
    sample(ledger)
    with pytest.raises(BudgetError, match="would overrun"):
        charge(ledger, cost("1.1"), questions=["a"], table=b"population")


@pytest.mark.parametrize(
    ("rate", "both"), [("0.01", 0), ("0.01", "0.002"), ("0.01", "0.01"), ("0.5", 0), ("0.9", "0.8")]
)
@pytest.mark.parametrize(("first", "second"), [("1.5", "2"), ("0.01", "0.01"), ("0.001", "3")])
def test_two_samples_of_one_rate_are_covered_by_the_amplified_sum(rate, both, first, second):
    """However being in one depends on being in the other; `both` is the chance to be in both."""
    x, y, beta, p = float(first), float(second), float(rate), float(both)
    chances = [(1 - 2 * beta + p, 0), (beta - p, x), (beta - p, y), (p, x + y)]
    covered = math.exp(amplify(Fraction(first) + Fraction(second), 0, rate).epsilon) * (1 + 1e-12)
    assert sum(chance * math.exp(cost) for chance, cost in chances) <= covered
    assert 1 / sum(chance * math.exp(-cost) for chance, cost in chances) <= covered


# --- shares and sums ----------------------------------------------------------------------------------------------


def test_no_share_without_a_budget(ledger):
    with pytest.raises(BudgetError, match="no budget"):
        ledger.open_analyst_budget("census", "mallory", Budget.of(50, 0))
    ledger.set_analyst_budget("census", "mallory", Budget.of(50, 0), "a slip")
    with pytest.raises(BudgetError, match="no budget"):
        charge(ledger, cost(50), questions=["a"], budget=None, session="mallory")
    assert ledger.account("census").spent == Budget(Fraction(0), Fraction(0))


def test_deltas_are_added_up_without_a_cap(ledger):
    charge(ledger, cost(0, "0.9999"), budget=Budget.of(1, "0.9999999"))
    charge(ledger, cost(0, "0.0000999"), budget=None)
    with pytest.raises(BudgetError, match="would overrun"):
        charge(ledger, cost(0, "0.0000009"), budget=None)
    account = ledger.account("census")
    assert account.spent.delta == Fraction("0.9999999")
    assert account.total() is not None


def test_a_sum_stays_one_that_can_be_written(ledger):
    """Fractions of coprime denominators would make it longer with each charge; decimals are taken still."""
    for place in range(4):
        price = Fraction(1, 10**300 + 2 * place + 1)
        if place < 3:
            charge(ledger, cost(Fraction(1, 100) + price), questions=[f"q{place}"])
        else:
            with pytest.raises(ParameterError, match="too long to be written exactly"):
                charge(ledger, cost(Fraction(1, 100) + price), questions=[f"q{place}"])
    charge(ledger, cost("0.01"), questions=["decimal"])
    assert len(ledger.account("census").spent.words()) < 4300
    assert len(ledger.left("census").words()) < 4300


def test_numbers_that_cannot_be_written_are_refused():
    long = Fraction(10**5000 + 1, 10**5001)
    for make in (lambda: cost(long), lambda: Budget.of(long, 0), lambda: Budget.of(1, long)):
        with pytest.raises(ParameterError, match="too long to be written"):
            make()


# --- the chain and the file -----------------------------------------------------------------------------------------


def test_nothing_is_given_from_a_broken_chain(ledger, tmp_path):
    registered = sample(ledger)
    receipt = charge(ledger, cost(), questions=["a"])
    ledger.record_answers("census", receipt, [("a", cost(), b"1")], table=registered.table)
    ledger.record_answers("census", receipt, [("b", cost(), b"2")], table=registered.table)
    (found,) = ledger.recorded_answers("census", "a", registered.table)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        rows = raw.execute("SELECT number, payload FROM events WHERE kind = 'answer'").fetchall()
        (first, one), (_, two) = [(number, json.loads(payload)) for number, payload in rows]
        swapped = json.dumps({**one, "content": two["content"]}, sort_keys=True)
        raw.execute("UPDATE events SET payload = ? WHERE number = ?", (swapped, first))
    with Ledger(str(tmp_path / "ledger.sqlite")) as again:
        for look in (
            lambda: again.recorded_answers("census", "a", registered.table),
            lambda: again.content(found),
            lambda: again.left("census"),
            lambda: again.registration("census"),
        ):
            with pytest.raises(LedgerError, match=f"event {first} of the ledger does not fit the chain"):
                look()


@pytest.mark.parametrize("name", ["a?b", "c%20d", "e#f", "g&mode=memory", "sqlite?x=1.db"])
def test_a_path_is_taken_letter_by_letter_and_kept_for_its_owner(tmp_path, name):
    path = tmp_path / "new folder?" / name
    with Ledger(str(path)) as ledger:
        ledger.record_look("census", "once")
    assert [each.name for each in path.parent.iterdir()] == [name]
    assert [each.name for each in tmp_path.iterdir()] == ["new folder?"]
    assert path.stat().st_mode & 0o777 == 0o600
    with Ledger(ledger.url) as again:
        assert len(again.events()) == 1


@pytest.mark.parametrize("url", ["sqlite:///file:x?uri=true", "nul\0byte", "nosuch://x", "sqlite:///nul\0byte"])
def test_an_address_that_is_none(tmp_path, monkeypatch, url):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError):
        Ledger(url)
    assert list(tmp_path.iterdir()) == []


def test_a_release_without_bound_is_not_noted_under_another_key(tmp_path):
    """Under another key no table is known again: a sample that was used could be published once more."""
    path = tmp_path / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        ledger.record_unbounded("visits", "k-anonymity 5", "p", b"t")
        with pytest.raises(BudgetError, match="under the name 'visits'"):
            ledger.record_unbounded("other", "k-anonymity 5", "p", b"t")
    raw = sqlite3.connect(path)
    raw.execute("UPDATE meta SET value = ? WHERE name = 'secret'", ("00" * 32,))
    raw.commit()
    raw.close()
    with Ledger(str(path)) as ledger, pytest.raises(LedgerError, match="does not fit the chain"):
        ledger.record_unbounded("other", "k-anonymity 5", "p", b"t")
