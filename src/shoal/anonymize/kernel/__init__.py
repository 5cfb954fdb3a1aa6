"""Loops over many rows or many clusters, compiled where there is much to do, each with a plain twin of the same results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loop in plain Python, compiled at its first call; the machine code is kept beside its file for the next process."""
    import numba

    made: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return made
