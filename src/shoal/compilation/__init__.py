"""Loops in plain Python, compiled where there is much to do, with a cache that nobody else can write to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Loop = TypeVar("Loop", bound=Callable[..., Any])

_TYPES: dict[Callable[..., Any], str] = {}
_FAILED: dict[Callable[..., Any], str] = {}


def takes(types: str) -> Callable[[Loop], Loop]:
    """Declare the types of a loop's arguments, in Numba's words, so that it can be compiled before its first call."""

    def declare(function: Loop) -> Loop:
        _TYPES[function] = f"({types})"
        return function

    return declare


@functools.cache
def compile_kernel(function: Callable[..., Any], twin: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A loop in plain Python, compiled for the types that it declares; where that fails, its twin (by default itself).

    The machine code is kept for the next process where there is a folder that nobody else can write to, see `cache`;
    without one it is compiled anew. Nothing here raises: a machine that cannot compile gets the same results, slower.
    """
    try:
        import numba

        made: Any = numba.njit(nogil=True)(function)
        compile_for = made.compile  # not there under NUMBA_DISABLE_JIT=1, which hands back the function itself
        _keep(made)
        compile_for(_TYPES[function])
    except Exception as error:  # noqa: BLE001 - a broken installation can raise anything, and the twin needs none of it
        _FAILED[function] = type(error).__name__
        return function if twin is None else twin
    _FAILED.pop(function, None)
    usable: Callable[..., Any] = made
    return usable


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether this loop can be compiled here; it is compiled to find out."""
    compile_kernel(function)
    return function not in _FAILED


def load_kernels(functions: Iterable[Callable[..., Any]]) -> tuple[str, ...]:
    """Compile loops, or load what an earlier process compiled, so that none is compiled later; a note where that fails."""
    failed = [_FAILED[function] for function in functions if not is_compiled(function)]
    if not failed:
        return ()
    return (
        f"loops cannot be compiled here ({failed[0]}), so plain ones are used, which take longer and give the same results",
    )


def _keep(dispatcher: Any) -> None:
    """Give a loop its cache; one of whose cache nothing can be made has none."""
    try:
        from shoal.compilation.cache import KernelCache

        dispatcher._cache = KernelCache(dispatcher.py_func)  # noqa: SLF001 - Numba's own caches unpickle what they find
    except Exception:  # noqa: BLE001 - a version of Numba that is made otherwise compiles without a cache
        return
