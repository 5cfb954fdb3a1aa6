"""Signals that end a command: Ctrl-C, SIGTERM and SIGHUP all let it clean up, once and undisturbed."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = {"SIGINT": "interrupted", "SIGTERM": "ended by SIGTERM", "SIGHUP": "ended by SIGHUP"}
"""What is said of a command that a signal ended."""


class Interrupted(KeyboardInterrupt):
    """A signal asked the command to end; everything that cleans up after Ctrl-C does so after each of them."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """What a shell gives for a program that the signal ended."""
        return 128 + self.number

    @property
    def words(self) -> str:
        """How the command ended."""
        return NAMES[signal.Signals(self.number).name]


class SignalHandler:
    """Raises `Interrupted` at a signal; while a command cleans up after one, further signals are only counted."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self._ending = False

    def __call__(self, number: int, _: FrameType | None) -> None:
        self.received.append(number)
        if not self._ending and not _is_cleaning_up():
            raise Interrupted(number)

    def ignore(self) -> None:
        """From now on the command ends by itself: let no signal disturb it."""
        self._ending = True

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Install it for the signals that the caller of the program did not choose to ignore, as `nohup` does."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {}
        for number in [getattr(signal, name) for name in NAMES if hasattr(signal, name)]:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, self)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _is_cleaning_up() -> bool:
    """Whether code that runs because of an earlier signal is being interrupted."""
    error = sys.exception()
    while error is not None:
        if isinstance(error, Interrupted):
            return True
        error = error.__context__
    return False
