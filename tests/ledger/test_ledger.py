"""The ledger: exact sums, refusals, the chain, races between processes, damaged and foreign files."""

import multiprocessing
import sqlite3
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import BudgetError, LedgerError, ParameterError, PreconditionError, UsageError, VerificationError
from shoal.guarantee.differential import ApproxDP, PureDP, SafeKSampling
from shoal.guarantee.syntactic import KAnonymity
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget, Cost, Event, canonical
from shoal.ledger.ledger import Ledger
from shoal.ledger.store import default_url
from tests.racing import outcomes_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def cost(epsilon="0.1", delta="1e-7"):
    return Cost.of(epsilon, delta, [(ApproxDP(epsilon, delta), 1)])


def spend(ledger, price=None, dataset="visits", table=b"t", budget=None, **more):
    budget = Budget.of("0.3", "1e-6") if budget is None else budget
    options = {"budget": budget, "neighbours": "add_remove", "plan": "p", "table": table, **more}
    return ledger.charge(dataset, price or cost(), **options)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(str(tmp_path / "ledger.sqlite"), clock=lambda: NOON) as opened:
        yield opened


def test_three_tenths_are_three_tenths(ledger):
    """0.1 three times fits a budget of 0.3 exactly, and a fourth does not."""
    for _ in range(3):
        spend(ledger)
    account = ledger.account("visits")
    assert account.spent.epsilon == Fraction(3, 10)
    assert account.left == Budget(Fraction(0), Fraction(7, 10**7))
    with pytest.raises(BudgetError, match=r"overrun.*0.3.*\(0.3, 0.000001\) in all.*nothing was charged") as refused:
        spend(ledger)
    assert refused.value.exit_code == 4
    assert ledger.account("visits") == account
    assert ledger.verify() == 4


def test_delta_is_a_budget_too(ledger):
    spend(ledger, cost("0.01", "9e-7"))
    with pytest.raises(BudgetError, match="overrun"):
        spend(ledger, cost("0.01", "2e-7"))


@pytest.mark.slow
@given(st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_never_more_than_the_budget(tmp_path_factory, prices):
    with Ledger(str(tmp_path_factory.mktemp("l") / "l.sqlite")) as ledger:
        accepted = Fraction(0)
        for price in prices:
            wanted = Fraction(price, 100)
            if accepted + wanted <= 1:
                spend(ledger, cost(wanted, 0), budget=Budget.of(1, "1e-6"))
                accepted += wanted
            else:
                with pytest.raises(BudgetError):
                    spend(ledger, cost(wanted, 0), budget=Budget.of(1, "1e-6"))
        assert ledger.account("visits").spent.epsilon == accepted


def test_the_budget_is_fixed_by_the_first_charge_and_changed_openly(ledger):
    spend(ledger)
    with pytest.raises(BudgetError, match="differs from the one fixed"):
        spend(ledger, budget=Budget.of(5, "1e-6"))
    ledger.set_budget("visits", Budget.of(5, "1e-6"), "the board agreed")
    spend(ledger, cost(3), budget=Budget.of(5, "1e-6"))
    assert [e.kind for e in ledger.events("visits")] == ["budget", "charge", "budget", "charge"]


def test_without_a_budget_everything_is_counted_and_nothing_refused(ledger):
    ledger.charge("free", cost(9), budget=None, neighbours="add_remove", plan="p", table=b"t")
    assert ledger.account("free").budget is None
    assert ledger.account("free").left is None
    assert ledger.account("free").forecast(cost()) is None


def test_the_same_table_under_a_new_name_is_refused(ledger):
    spend(ledger, table=b"same")
    with pytest.raises(BudgetError, match="charged under the name 'visits'"):
        spend(ledger, dataset="other", table=b"same")
    with pytest.raises(BudgetError, match="charged under the name 'visits'"):
        ledger.record_unbounded("other", "k-anonymity", "p", b"same")
    spend(ledger, dataset="other", table=b"different")
    assert b"same".hex() not in canonical([e.payload for e in ledger.events()])


def test_fingerprints_are_keyed_by_the_ledger(tmp_path):
    seen = []
    for name in ("a", "b"):
        with Ledger(str(tmp_path / name)) as ledger:
            spend(ledger)
            seen.append(ledger.events()[-1].payload["fingerprints"])
    assert seen[0] != seen[1]


def test_a_sample_is_used_once(ledger):
    spend(ledger, uses_sample=True)
    for again in (lambda: spend(ledger, uses_sample=True), lambda: spend(ledger)):
        with pytest.raises(PreconditionError, match="dps-does-not-compose"):
            again()
    with pytest.raises(PreconditionError, match="used once"):
        ledger.record_unbounded("visits", "k", "p", b"t")
    spend(ledger, dataset="whole", table=b"w")
    with pytest.raises(PreconditionError, match="used once"):
        spend(ledger, dataset="whole", table=b"w", uses_sample=True)


def test_one_unit(ledger):
    spend(ledger, unit=Unit.row("add_remove"))
    with pytest.raises(BudgetError, match="another unit"):
        spend(ledger, unit=Unit.person("id", 2, "add_remove"))
    spend(ledger, unit=Unit.row("add_remove"))


def test_the_same_file_with_fewer_columns_is_the_same_table(ledger):
    spend(ledger, table=b"all columns", file=b"bytes")
    with pytest.raises(BudgetError, match="charged under the name"):
        spend(ledger, dataset="other", table=b"some columns", file=b"bytes")


def test_the_account_as_of_a_receipt(ledger):
    first = spend(ledger)
    spend(ledger)
    assert len(ledger.account("visits", first).costs) == 1
    assert len(ledger.account("visits").costs) == 2


def test_one_neighbouring_relation(ledger):
    spend(ledger)
    with pytest.raises(BudgetError, match="another neighbouring relation"):
        spend(ledger, neighbours="replace_one")


@pytest.mark.slow
def test_what_informs_is_smaller_than_what_enforces(ledger):
    crowd = Cost.of("0.31", "1e-6", [(SafeKSampling(20, "0.15"), 1)])
    for _ in range(5):
        spend(ledger, crowd, budget=Budget.of(3, "1e-4"))
    account = ledger.account("visits")
    assert account.total() < 0.7 * float(account.spent.epsilon)
    assert account.forecast(crowd) == 4
    assert ledger.account("nobody").total() is None


def test_notes(ledger):
    receipt = spend(ledger)
    ledger.record_release("visits", receipt, "c" * 64)
    ledger.record_look("visits", "a histogram")
    ledger.record_unbounded("visits", "k-anonymity 5", "p", b"t")
    account = ledger.account("visits")
    assert (account.releases, account.looks, account.unbounded) == (1, 1, 1)
    assert ledger.datasets() == ["visits"]
    assert ledger.events()[0].time == "2026-01-01T12:00:00+00:00"


@pytest.mark.parametrize("column", ["time", "dataset", "kind", "payload", "previous", "hash"])
def test_a_changed_cell_is_found(tmp_path, column):
    path = tmp_path / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        for _ in range(3):
            spend(ledger)
    value = {"payload": '{"cost":{}}', "kind": "look"}.get(column, "f" * 64)
    with sqlite3.connect(path) as raw:
        raw.execute(f"UPDATE events SET {column} = ? WHERE number = 3", (value,))  # noqa: S608
    with Ledger(str(path)) as ledger, pytest.raises(VerificationError, match="event 3"):
        ledger.verify()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM events WHERE number = 2", "UPDATE events SET number = 9 WHERE number = 4"]
)
def test_a_missing_event_is_found(tmp_path, statement):
    path = tmp_path / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        for _ in range(3):
            spend(ledger)
    with sqlite3.connect(path) as raw:
        raw.execute(statement)
    with Ledger(str(path)) as ledger, pytest.raises(VerificationError):
        ledger.verify()


def test_a_tampered_ledger_is_not_charged(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        spend(ledger)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE events SET payload = replace(payload, '0.1', '0.0') WHERE kind = 'charge'")
    with Ledger(str(path)) as ledger:
        with pytest.raises(LedgerError, match="cannot be trusted"):
            spend(ledger)
        assert len(ledger.events()) == 2
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE events SET payload = '{}' WHERE kind = 'charge'")
    with Ledger(str(path)) as ledger, pytest.raises(LedgerError, match="cannot be read"):
        ledger.account("visits")


def test_foreign_damaged_newer_and_unreachable_ledgers(tmp_path):
    (tmp_path / "noise").write_bytes(b"this is no database, only some words " * 200)
    with pytest.raises(LedgerError, match="cannot be read or written"):
        Ledger(str(tmp_path / "noise"))
    with sqlite3.connect(tmp_path / "newer") as raw:
        raw.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)")
        raw.execute("INSERT INTO meta VALUES ('version', '3'), ('secret', '00')")
    with pytest.raises(LedgerError, match="newer version"):
        Ledger(str(tmp_path / "newer"))
    with sqlite3.connect(tmp_path / "foreign") as raw:
        raw.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)")
        raw.execute("INSERT INTO meta VALUES ('colour', 'blue')")
    with pytest.raises(LedgerError, match="not one of ours"):
        Ledger(str(tmp_path / "foreign"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(LedgerError, match="folder cannot be made"):
        Ledger(str(tmp_path / "file" / "deep" / "ledger"))
    with pytest.raises(LedgerError, match="no database understands"):
        Ledger("carrier-pigeon://loft")


def test_a_locked_ledger_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.ledger.database.PATIENCE", 0.05)
    path = tmp_path / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="locked by another process"):
            spend(ledger)
        holder.execute("ROLLBACK")
        holder.close()
        spend(ledger)


def _race(url, barrier, results):
    with Ledger(url) as ledger:
        barrier.wait()
        try:
            spend(ledger, cost("0.1"), budget=Budget.of("0.5", "1e-5"))
        except BudgetError:
            results.put("refused")
        else:
            results.put("charged")


@pytest.mark.slow
def test_exactly_as_many_processes_win_as_the_budget_allows(tmp_path):
    url = str(tmp_path / "ledger.sqlite")
    Ledger(url).close()
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(4), context.Queue()
    with Ledger(url) as ledger:
        for _ in range(4):
            spend(ledger, budget=Budget.of("0.5", "1e-5"))
    racers = [context.Process(target=_race, args=(url, barrier, results)) for _ in range(4)]
    outcomes = sorted(outcomes_of(racers, results))
    assert outcomes == ["charged", "refused", "refused", "refused"]
    with Ledger(url) as ledger:
        assert ledger.account("visits").spent.epsilon == Fraction(1, 2)
        assert ledger.verify() == 6


def test_the_environment_names_the_ledger(monkeypatch, tmp_path):
    monkeypatch.setenv("SHOAL_LEDGER", "sqlite:///somewhere")
    assert default_url() == "sqlite:///somewhere"
    monkeypatch.delenv("SHOAL_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_url().endswith("ledger.sqlite")


def test_bad_values():
    with pytest.raises(UsageError, match="unbounded"):
        Cost.of(1, 0, [(KAnonymity(5), 1)])
    with pytest.raises(UsageError):
        Cost.of(1, 0, [])
    with pytest.raises(ParameterError):
        Budget.of(1, 1)
    with pytest.raises(ParameterError):
        Budget.of(-1, 0)
    with pytest.raises(UsageError, match="unknown kind"):
        Event.after("0" * 64, "t", "d", "gossip", {})
    with pytest.raises(UsageError, match="not floats"):
        canonical({"a": [0.1]})
    assert Cost.from_saved(cost().to_saved()) == cost()
    assert Cost.of("0.5", 0, [(PureDP("0.5"), 1)]).words() == "(0.5, 0)"
