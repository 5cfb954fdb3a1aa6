"""Whole numbers below any bound, each as likely as the next, by drawing again what falls outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.chance import exact

if TYPE_CHECKING:
    from shoal.chance.source import Source


def integers(source: Source, bound: int, size: int) -> NDArray[Any]:
    """`size` independent uniform numbers from 0 to bound − 1; int64, or uint64, or object where they do not fit.

    With b the bits of bound − 1, a draw of b bits is uniform on 2^b values, of which the first `bound` are taken as
    they are and the others thrown away; so each is taken with probability 2^-b, the same for all. At least half of
    the draws are taken. Reducing modulo the bound would favour small numbers instead.
    """
    bound = exact.whole(bound, "the bound of a random integer", 1)
    size = exact.whole(size, "the number of draws", 0)
    bits = (bound - 1).bit_length()
    if bits > 64:
        return _large(source, bound, size)
    taken = np.zeros(size, dtype=np.int64 if bits < 64 else np.uint64)
    if bits:
        _fill(source, bound, bits, taken)
    return taken


def _fill(source: Source, bound: int, bits: int, taken: NDArray[Any]) -> None:
    """Draw words of 1, 2, 4 or 8 bytes, as short as will do, until enough are below the bound."""
    width = next(width for width in (1, 2, 4, 8) if bits <= 8 * width)
    mask, last = (1 << bits) - 1, bound - 1
    done = 0
    while done < len(taken):
        missing = len(taken) - done
        draws = min(missing * (mask + 1) // bound + missing // 64 + 8, 1 << 20)
        words = np.frombuffer(source.bytes(draws * width), dtype=f"<u{width}")
        words = words & words.dtype.type(mask)
        good = words[words <= last][:missing]
        taken[done : done + len(good)] = good
        done += len(good)


def _large(source: Source, bound: int, size: int) -> NDArray[Any]:
    """The same beyond 64 bits, one at a time, as Python's own integers."""
    bits = (bound - 1).bit_length()
    length, surplus = (bits + 7) // 8, -bits % 8
    taken = np.empty(size, dtype=object)
    for place in range(size):
        number = bound
        while number >= bound:
            number = int.from_bytes(source.bytes(length), "big") >> surplus
        taken[place] = number
    return taken
