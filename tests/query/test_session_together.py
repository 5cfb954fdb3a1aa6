"""The same question asked at the same moment, by threads and by processes: paid once, and one answer for all."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from shoal.errors import LedgerError
from shoal.ledger.ledger import Ledger
from shoal.query.questions.count import Count
from shoal.query.session import Session
from tests.query.asking import opened, rich
from tests.racing import outcomes_of


def charges(ledger):
    return [event for event in ledger.events() if event.kind == "charge"]


@pytest.fixture
def meeting(monkeypatch):
    """Every thread has looked at the record, and found nothing, before any of them goes on."""
    seen, barrier, plain = threading.local(), threading.Barrier(3), Session._on_record

    def look(self, prepared):
        found = plain(self, prepared)
        if not getattr(seen, "once", False):
            seen.once = True
            barrier.wait()
        return found

    monkeypatch.setattr(Session, "_on_record", look)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_threads_that_ask_together_pay_once(tmp_path, meeting, shared):
    """Each had its own charge and its own noise before."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as book:
        sessions = [opened(tmp_path, ledger=book if shared else str(tmp_path / "ledger.sqlite")) for _ in range(3)]
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda asking: asking.ask(Count("age < 50"), "0.3"), sessions))
        assert len({(answer.value, answer.charge) for answer in answers}) == 1
        assert sorted(answer.free for answer in answers) == [False, True, True]
        assert book.account("clinic").spent.epsilon == Fraction(3, 10)
        for each in sessions:
            each.close()


@pytest.mark.slow
def test_threads_share_a_ledger_in_memory(tmp_path, meeting):
    with Ledger("sqlite://") as book:
        sessions = [opened(tmp_path, ledger=book) for _ in range(3)]
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda asking: asking.ask(Count("age < 50"), "0.3"), sessions))
        assert len({(answer.value, answer.charge) for answer in answers}) == 1
        assert len(charges(book)) == 1


@pytest.mark.slow
def test_a_batch_and_a_question_that_it_holds_pay_once(tmp_path, meeting):
    with Ledger(str(tmp_path / "ledger.sqlite")) as book:
        one, two, three = (opened(tmp_path, ledger=book) for _ in range(3))
        asked = [Count("age < 50"), Count("age < 20")]
        with ThreadPoolExecutor(3) as pool:
            waiting = [
                pool.submit(one.batch, asked, "0.1"),
                pool.submit(two.batch, asked[::-1], "0.1"),
                pool.submit(three.ask, asked[0], "0.1"),
            ]
            first, second, third = (each.result() for each in waiting)
        assert first[0].value == second[1].value == third.value
        assert first[1].value == second[0].value
        assert book.account("clinic").spent.epsilon == Fraction(2, 10)


def _ask(folder, rounds, barrier, results):
    try:
        with opened(folder, rich()) as asking:
            values = []
            for age in range(rounds):
                barrier.wait()
                values.append(asking.ask(Count(f"age < {age + 1}"), 1).value)
        results.put(values)
    except BaseException:
        barrier.abort()
        raise


@pytest.mark.slow
def test_processes_that_ask_together_pay_once(tmp_path, effort):
    rounds = min(99, 10 * effort)
    with opened(tmp_path, rich()):
        pass
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    racers = [context.Process(target=_ask, args=(tmp_path, rounds, barrier, results)) for _ in range(2)]
    first, *others = outcomes_of(racers, results)
    assert others == [first]
    with Ledger(str(tmp_path / "ledger.sqlite")) as book:
        assert len(charges(book)) == rounds
        assert book.verify() == 2 + 2 * rounds


def test_a_lock_that_cannot_be_had_charges_nothing(tmp_path):
    with opened(tmp_path) as asking:
        (tmp_path / "ledger.sqlite.locks").write_text("in the way")
        with pytest.raises(LedgerError, match=r"cannot be locked.*nothing was charged"):
            asking.ask(Count(), "0.1")
        assert asking.account.spent.epsilon == 0


@pytest.mark.slow
def test_a_batch_says_what_was_charged_for_it(tmp_path):
    with opened(tmp_path, rich()) as asking, opened(tmp_path, rich()) as other:
        asked = [Count("age < 50"), Count("age < 20")]
        assert asking.batch_price(asked, 1).cost.epsilon == 2
        other.ask(asked[0], 1)
        answers = asking.batch(asked, 1)
        assert asking.charged(answers).epsilon == 1
        assert asking.charged(asking.batch(asked, 1)) is None
