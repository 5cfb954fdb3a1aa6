"""What a command does with the interpreter where it has one for itself: fewer searches for cycles, and idle threads that sleep.

A command that is called from Python, as tests do, changes nothing there.
"""

from __future__ import annotations

import gc
import os
import sys

OBJECTS = 200_000
"""New objects between two searches for cycles: modules that are loaded make many, and searching them was a tenth of a command."""

_own = False


def take_process() -> None:
    """Say that this process runs one command and ends; it is called before anything heavy is loaded."""
    global _own  # noqa: PLW0603 - a process is one
    _own = True
    gc.set_threshold(OBJECTS, 20, 20)
    # A policy is validated by Shoal alone: pydantic would read the metadata of every package here to look for plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Idle threads of NumPy's linear algebra sleep after 2^16 ticks of the processor. By themselves they spin for a tenth of a
    # second first, also where NumPy is only loaded. How many they are, and what they compute, does not change.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")


def keep_loaded() -> None:
    """Keep what is loaded for as long as the process runs, so that its end does not search all of it for cycles.

    It is called before DuckDB is loaded, which says on standard error what of its own is left at the end; else it does nothing.
    """
    if _own and "_duckdb" not in sys.modules:
        gc.freeze()
