"""Interrupts that wait: delivered once, afterwards, to whoever handled them before."""

from __future__ import annotations

import signal
import threading

import pytest

from shoal.publish.run.interrupts import hold_interrupts, interrupt_behind


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_waits_for_the_end(monkeypatch, number):
    came = []
    before = signal.signal(number, lambda *_: came.append("handled"))
    try:
        with hold_interrupts():
            signal.raise_signal(number)
            signal.raise_signal(number)
            assert came == []
        assert came == ["handled"]
        assert signal.getsignal(number) is not signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_ctrl_c_is_raised_afterwards():
    done = []

    def work():
        with hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("everything")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["everything"]


def test_a_failure_inside_is_the_one_that_is_raised():
    def work():
        with hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        work()


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with hold_interrupts():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_is_not_interrupted_anyway():
    done = []

    def work():
        with hold_interrupts():
            done.append("there")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["there"]


def fail_behind(interrupt):
    """An error of a clean-up that takes the place of an interrupt, and is made another twice."""
    try:
        try:
            try:
                raise interrupt
            finally:
                raise ValueError("clean-up")
        except ValueError as error:
            raise RuntimeError from error
    except RuntimeError as error:
        return error


def test_the_interrupt_behind_an_error_is_found():
    interrupt = KeyboardInterrupt()
    assert interrupt_behind(interrupt, None) is interrupt
    assert interrupt_behind(fail_behind(interrupt), None) is interrupt
    assert interrupt_behind(ValueError("alone"), None) is None


def test_an_interrupt_that_was_being_handled_before_is_none_of_the_errors():
    with pytest.raises(KeyboardInterrupt) as raised:
        raise KeyboardInterrupt
    error = ValueError("later")
    error.__context__ = raised.value
    assert interrupt_behind(error, None) is raised.value
    assert interrupt_behind(error, raised.value) is None
