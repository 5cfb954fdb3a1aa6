"""The tracer itself: it counts calls, stops before the one that is asked for, and lets calls fail."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.tracer import WRITING, Blow, trace, why_not


@pytest.fixture(autouse=True)
def _is_possible() -> None:
    why = why_not()
    if why is not None:
        pytest.skip(f"cannot run here: {why}")


def ten_files(folder: Path) -> Callable[[], int]:
    """A process that writes ten files of one letter; its exit code is the first error."""

    def child() -> int:
        for number in range(10):
            handle = os.open(folder / str(number), os.O_WRONLY | os.O_CREAT)
            try:
                os.write(handle, b"x")
            except OSError as error:
                return error.errno or 99
            os.close(handle)
        return 0

    return child


def sizes(folder: Path) -> list[int]:
    return [(folder / str(number)).stat().st_size for number in range(10) if (folder / str(number)).exists()]


def test_an_undisturbed_run_is_counted(tmp_path):
    found = trace(ten_files(tmp_path), log=True)
    assert (found.status, found.acting, found.struck) == (0, 20, "")
    assert found.log[:2] == [f"openat {tmp_path / '0'}", f"write {tmp_path / '0'}"]
    assert found.log[-1] == f"write {tmp_path / '9'}"


@pytest.mark.parametrize(("at", "there"), [(1, []), (2, [0]), (3, [1]), (8, [1, 1, 1, 0]), (20, [1] * 9 + [0])])
def test_a_kill_falls_before_the_call(tmp_path, at, there):
    found = trace(ten_files(tmp_path), Blow(at, signal=signal.SIGKILL))
    assert found.status == -signal.SIGKILL
    assert found.struck
    assert sizes(tmp_path) == there


def test_all_calls_can_be_counted(tmp_path):
    whole = trace(ten_files(tmp_path), Blow(10**6, signal=signal.SIGKILL, every=True))
    assert whole.status == 0
    assert whole.calls == whole.counted > 30
    assert (
        trace(ten_files(tmp_path), Blow(whole.calls // 2, signal=signal.SIGKILL, every=True)).status == -signal.SIGKILL
    )


@pytest.mark.parametrize("lasting", [False, True])
def test_a_call_can_fail(tmp_path, lasting):
    blow = Blow(3, error=errno.ENOSPC, only=tuple(WRITING), below=str(tmp_path), lasting=lasting)
    found = trace(ten_files(tmp_path), blow)
    assert found.status == errno.ENOSPC
    assert found.struck.endswith(f"write {tmp_path / '2'}")
    assert sizes(tmp_path) == [1, 1, 0]


def test_calls_elsewhere_are_not_counted(tmp_path):
    (tmp_path / "here").mkdir()
    found = trace(ten_files(tmp_path), Blow(1, error=errno.EIO, below=str(tmp_path / "here")))
    assert (found.status, found.counted) == (0, 0)


def test_a_signal_can_be_caught(tmp_path):
    def child() -> int:
        caught: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _: caught.append(number))
        code = ten_files(tmp_path)()
        return 77 if caught and code == 0 else 1

    assert trace(child, Blow(5, signal=signal.SIGTERM)).status == 77


def test_calls_of_threads_count_and_all_threads_die(tmp_path):
    def child() -> int:
        workers = [threading.Thread(target=ten_files(tmp_path)) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return 0

    whole = trace(child)
    assert whole.status == 0
    assert whole.acting >= 63
    assert trace(child, Blow(40, signal=signal.SIGKILL)).status == -signal.SIGKILL
