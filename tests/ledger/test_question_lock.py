"""Locks on questions: exclusive among processes, freed by a kill, shared by those who share the ledger, few files."""

import multiprocessing
import os
import stat
import threading

import pytest

from shoal.errors import LedgerError
from shoal.ledger.question_lock import FILES, hold, lock_folder


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.touch(mode=0o600)
    return path


def _hold_and_wait(ledger, ready, never):
    with hold(ledger, ["question"]):
        ready.set()
        never.wait()


@pytest.mark.slow
def test_a_killed_holder_frees_the_lock(ledger):
    context = multiprocessing.get_context("spawn")
    ready, never = context.Event(), context.Event()
    holder = context.Process(target=_hold_and_wait, args=(ledger, ready, never))
    holder.start()
    ready.wait()
    got = threading.Event()

    def wait():
        with hold(ledger, ["question"]):
            got.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    with hold(ledger, ["another question"]):
        assert not got.is_set()
    holder.kill()
    waiting.join()
    assert got.is_set()
    holder.join()


def test_a_ledger_under_two_names_has_one_lock(ledger, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.sqlite"
    link.symlink_to(ledger)
    (tmp_path / "folder").symlink_to(tmp_path)
    for name in (link, tmp_path / "folder" / ledger.name):
        assert lock_folder(name) == lock_folder(ledger)
        with hold(name, ["question"]):
            pass
    assert not list((tmp_path / "elsewhere").glob("*.locks"))


def test_many_questions_in_any_order_do_not_wait_for_each_other_in_a_circle(ledger):
    names = [f"question {number}" for number in range(600)]
    done = []

    def take(order):
        for _ in range(5):
            with hold(ledger, order):
                done.append(threading.get_ident())

    threads = [threading.Thread(target=take, args=(order,)) for order in (names, names[::-1], names[1::2])]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(done) == 15
    assert len(list(lock_folder(ledger).iterdir())) <= FILES


@pytest.mark.parametrize(
    ("mode", "folder", "file"), [(0o600, 0o700, 0o600), (0o660, 0o770, 0o660), (0o644, 0o750, 0o640)]
)
def test_the_locks_are_for_those_who_may_use_the_ledger(ledger, mode, folder, file):
    ledger.chmod(mode)
    with hold(ledger, ["question"]):
        found = lock_folder(ledger)
        assert stat.S_IMODE(found.stat().st_mode) == folder
        assert [stat.S_IMODE(each.stat().st_mode) for each in found.iterdir()] == [file]


def test_what_is_no_lock_is_not_waited_for(ledger, tmp_path):
    with hold(ledger, ["question"]):
        pass
    (lock,) = lock_folder(ledger).iterdir()
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(LedgerError, match="cannot be locked"), hold(ledger, ["question"]):
        pass
    lock.unlink()
    (tmp_path / "elsewhere").write_text("mine")
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="cannot be locked"), hold(ledger, ["question"]):
        pass
    lock.unlink()
    lock_folder(ledger).rmdir()
    lock_folder(ledger).symlink_to(tmp_path)
    with pytest.raises(LedgerError, match="cannot be locked"), hold(ledger, ["question"]):
        pass
