"""Signals that come while a folder gets its name wait until that is done, so nobody is told of no release where there is one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTS = (KeyboardInterrupt, SystemExit)
"""What a signal's handler raises to end a program."""
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Keep back Ctrl-C, SIGTERM and SIGHUP for a short while; the first that came is delivered afterwards.

    Only the main thread is ever interrupted, so elsewhere there is nothing to keep back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        for each in _SIGNALS:
            if callable(handler := signal.getsignal(each)) or handler is signal.SIG_DFL:
                before[each] = handler
                signal.signal(each, lambda number, _: came.append(number))
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if came:
        signal.raise_signal(came[0])


def interrupt_behind(error: BaseException, before: BaseException | None) -> BaseException | None:
    """The interrupt that an error took the place of, as one does that is raised while something is cleaned up; None if none.

    `before` is what was being handled before the work began: it is none of this error's.
    """
    seen: BaseException | None = error
    while seen is not None and seen is not before:
        if isinstance(seen, INTERRUPTS):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None
