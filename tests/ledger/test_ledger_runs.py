"""Runs that were charged and have not ended: noted in the transaction of the charge, ended in that of the release."""

import multiprocessing
import sqlite3

import pytest

from shoal.errors import BudgetError, LedgerError, VerificationError
from shoal.files.work_folder import WorkFolder
from shoal.guarantee.differential import PureDP
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger, Receipt, Run
from shoal.publish.run.recover import recover_runs
from tests.racing import outcomes_of

WORK = "/data/.visits.shoal-work"


def charge(ledger, epsilon="0.1", dataset="visits", work=WORK):
    price = Cost.of(epsilon, 0, [(PureDP(epsilon), 1)])
    options = {"budget": Budget.of(1, 0), "neighbours": "add_remove", "plan": "p", "table": dataset.encode()}
    return ledger.charge(dataset, price, **options, work=work)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    with Ledger(str(path)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_sweep(monkeypatch):
    monkeypatch.setattr("shoal.publish.run.recover.sweep_temporary", list)


def test_a_charge_notes_its_work_folder_and_the_release_ends_it(ledger, path):
    receipt = charge(ledger)
    with Ledger(str(path)) as other:
        assert other.runs() == [Run(receipt.number, "visits", WORK)]
    ledger.record_release("visits", receipt, "c" * 64, work=WORK)
    assert ledger.runs() == []
    assert ledger.account("visits").releases == 1
    assert ledger.verify() == 3


def test_a_refused_charge_notes_no_run(ledger):
    with pytest.raises(BudgetError, match="overrun"):
        charge(ledger, epsilon=2)
    assert ledger.runs() == []
    charge(ledger, work=None)
    assert ledger.runs() == []


def test_a_release_is_recorded_once_for_each_charge(ledger, path):
    first, second = charge(ledger), charge(ledger, work="/data/other")
    ledger.record_release("visits", first, "c" * 64)
    with Ledger(str(path)) as other:
        other.record_release("visits", first, "c" * 64, work=WORK)
        other.record_release("visits", first, "c" * 64, work=WORK)
    assert ledger.account("visits").releases == 1
    assert ledger.runs() == [Run(second.number, "visits", "/data/other")]
    ledger.record_release("visits", second, "d" * 64)
    assert ledger.account("visits").releases == 2


def test_a_release_without_its_charge_is_refused(ledger):
    receipt = charge(ledger)
    for dataset, number in (("visits", 1), ("visits", 99), ("other", receipt.number)):
        with pytest.raises(LedgerError, match="is no charge of dataset"):
            ledger.record_release(dataset, Receipt(number, "0" * 64), "c" * 64, work=WORK)
    assert [run.work for run in ledger.runs()] == [WORK]
    assert ledger.account("visits").releases == 0


def test_a_run_can_be_ended_without_a_release(ledger):
    charge(ledger)
    charge(ledger, dataset="others")
    ledger.end_run(WORK)
    ledger.end_run(WORK)
    assert ledger.runs() == []
    assert ledger.verify() == 4


def test_a_release_without_bound_is_a_run_from_its_note_on(ledger):
    receipt = ledger.record_unbounded("visits", "k = 5", "p", b"t", work=WORK)
    assert ledger.runs() == [Run(receipt.number, "visits", WORK)]
    assert ledger.events()[-1].hash == receipt.hash
    ledger.end_run(WORK)
    assert ledger.runs() == []


def test_a_ledger_from_before_gets_the_list(path):
    with Ledger(str(path)) as ledger:
        charge(ledger, work=None)
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TABLE runs")
        raw.execute("DELETE FROM meta WHERE name = 'head'")
        raw.execute("PRAGMA application_id = 0")
    with Ledger(str(path)) as ledger:
        assert ledger.runs() == []
        charge(ledger)
        assert len(ledger.runs()) == 1


@pytest.mark.parametrize(
    "work", ["/a\0b", "relative/.out.shoal-work", "", "/" + "x" * 4_096, b"/data", 7], ids=lambda work: repr(work)[:12]
)
def test_a_row_of_another_shape_is_refused_and_nothing_is_charged(ledger, path, work):
    charge(ledger)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE runs SET work = ?", (work,))
    with pytest.raises(LedgerError, match=r"list of runs is damaged; allowed: .*restore"):
        ledger.runs()
    with pytest.raises(VerificationError, match="list of runs is damaged"):
        ledger.verify()
    with pytest.raises(LedgerError, match="list of runs is damaged"):
        charge(ledger)
    (said,) = recover_runs(ledger)
    assert "cannot be looked for: the ledger's list of runs is damaged" in said
    assert len(ledger.account("visits").costs) == 1


def test_a_list_that_is_too_long_is_refused(ledger, path):
    fill(path, 10_000, "/nowhere/.out.shoal-work")
    assert len(ledger.runs()) == 10_000
    fill(path, 1, "/nowhere/.out.shoal-work")
    with pytest.raises(LedgerError, match="list of runs is damaged"):
        ledger.runs()


def fill(path, count, work):
    with sqlite3.connect(path) as raw:
        raw.executemany("INSERT INTO runs (dataset, work) VALUES ('d', ?)", [(work,)] * count)


def test_many_runs_that_left_nothing_end_in_one_step(ledger, path, tmp_path, monkeypatch):
    fill(path, 5_000, f"{tmp_path}//.out.shoal-work")
    steps = []
    exclusive = type(ledger._store).exclusive
    monkeypatch.setattr(type(ledger._store), "exclusive", lambda *a: steps.append(1) or exclusive(*a))
    assert recover_runs(ledger) == []
    assert (ledger.runs(), len(steps)) == ([], 1)


def test_of_many_that_cannot_be_finished_a_few_are_named(ledger, path, monkeypatch):
    fill(path, 50, "/" + "x" * 3_000 + "/.out.shoal-work")
    monkeypatch.setattr("shoal.publish.run.recover.is_abandoned", lambda _: (_ for _ in ()).throw(OSError("no")))
    said = recover_runs(ledger)
    assert len(said) == 11
    assert said[-1] == "what 40 more killed runs left could not be finished either"


# --- a repeat is refused where it is charged ------------------------------------------------------------------------------


def seen_before(event, state):
    return BudgetError(f"charged before as entry {event.number}", came=state)


def test_a_repeat_is_refused_in_the_transaction_of_the_charge(ledger):
    price = Cost.of("0.1", 0, [(PureDP("0.1"), 1)])
    options = {"budget": Budget.of(1, 0), "neighbours": "add_remove", "repeat": seen_before}
    first = ledger.charge("visits", price, plan="p", table=b"t", file=b"f", **options)
    for same in ({"table": b"t"}, {"table": b"columns", "file": b"f"}):
        with pytest.raises(BudgetError, match=r"charged before as entry 2; got ended"):
            ledger.charge("visits", price, plan="p", **same, **options)
    ledger.record_release("visits", first, "c" * 64)
    with pytest.raises(BudgetError, match="got appeared"):
        ledger.charge("visits", price, plan="p", table=b"t", **options)
    ledger.charge("visits", price, plan="p", table=b"t", **{**options, "repeat": None})
    ledger.charge("visits", price, plan="other", table=b"t", **options)
    ledger.charge("visits", price, plan="p", table=b"other", **options)
    assert len(ledger.account("visits").costs) == 4


def test_the_run_that_is_named_is_the_latest_that_appeared_else_one_that_is_alive(ledger, tmp_path):
    def again(work=None):
        price = Cost.of("0.1", 0, [(PureDP("0.1"), 1)])
        return ledger.charge(
            "visits", price, budget=Budget.of(1, 0), neighbours="add_remove", plan="p", table=b"t", work=work
        )

    def named():
        event, state = ledger.same_release("visits", "p", b"t")
        return event.number, state

    assert ledger.same_release("visits", "p", b"t") is None
    first = again()
    assert named() == (first.number, "ended")
    alive = WorkFolder.claim(tmp_path / "alive", {})
    second, third = again(str(alive.path)), again()
    assert named() == (second.number, "running")
    alive.close()
    assert named() == (third.number, "ended")
    fourth = again(str(tmp_path / "gone"))
    assert named() == (fourth.number, "unknown")
    ledger.record_release("visits", first, "c" * 64)
    assert named() == (first.number, "appeared")


def test_a_repeat_without_bound_is_refused_too(ledger):
    ledger.record_unbounded("visits", "k = 5", "p", b"t", repeat=seen_before)
    with pytest.raises(BudgetError, match="charged before as entry 1"):
        ledger.record_unbounded("visits", "k = 5", "p", b"t", repeat=seen_before)
    ledger.record_unbounded("visits", "k = 5", "p", b"t")


def _charge_once(url, barrier, results):
    price = Cost.of("0.1", 0, [(PureDP("0.1"), 1)])
    with Ledger(url) as ledger:
        barrier.wait()
        try:
            ledger.charge(
                "visits", price, budget=None, neighbours="add_remove", plan="p", table=b"t", repeat=seen_before
            )
        except BudgetError:
            results.put("refused")
        else:
            results.put("charged")


@pytest.mark.slow
def test_of_two_processes_that_publish_the_same_one_is_charged(path):
    Ledger(str(path)).close()
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(3), context.Queue()
    racers = [context.Process(target=_charge_once, args=(str(path), barrier, results)) for _ in range(3)]
    assert sorted(outcomes_of(racers, results)) == ["charged", "refused", "refused"]
