"""Signals that arrive inside a query: the query is stopped, and what their handlers raised is raised once it has ended.

A handler that raises (Ctrl-C raises KeyboardInterrupt) would raise in the middle of DuckDB, or of an Arrow stream that DuckDB
reads. Both take it for a fault of the table.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals by which people and systems end a program."""


class HeldSignals:
    """While it is entered, what a signal's handler raises is held; `deliver` raises it.

    Arguments  `stop` is called as soon as a handler has raised, so that the query ends early. A handler that does not raise
               is called as always, and nothing is stopped.
    """

    def __init__(self, stop: Callable[[], None] = lambda: None) -> None:
        self._stop = stop
        self._before: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._raised: BaseException | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # Python calls handlers in its main thread alone
        for number in [getattr(signal, name) for name in NAMES if hasattr(signal, name)]:
            handler = signal.getsignal(number)
            if callable(handler):
                self._before[number] = handler
                signal.signal(number, self._hold)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        try:
            self._before[number](number, frame)
        except BaseException as raised:  # noqa: BLE001 - it is raised again by `deliver`
            self._raised = self._raised or raised
            self._stop()

    def deliver(self) -> None:
        """Raise what a handler raised meanwhile."""
        if self._raised is not None:
            raise self._raised from None
