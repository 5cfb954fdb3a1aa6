"""An exact draw by cuts of the unit interval: 64 random bits nearly always decide, and more are drawn when not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.chance.enclosure import Bounds

WORD = 1 << 64
CHUNK = 1 << 17

Cut = Callable[[int, int], Bounds]
"""Of (index, bits): floor and ceiling of the cut times 2^bits."""


class Bits(Protocol):
    """Anything that gives independent uniform bits."""

    def words(self, count: int, /) -> NDArray[np.uint64]:
        """As 64-bit numbers."""
        ...

    def bytes(self, count: int, /) -> bytes:
        """As bytes."""
        ...


class Cuts:
    """Where a uniform real number U of [0, 1) falls among cuts 0 < x_0 < x_1 < … ≤ 1: how many are at most U.

    U is never rounded: its binary digits are drawn as far as they matter. After b digits, read as the number u, all
    that is known is u ≤ U · 2^b < u + 1. A cut is surely passed when ceiling(x · 2^b) ≤ u, surely not when
    floor(x · 2^b) > u; otherwise, which has probability 2^-b for each cut, more digits are drawn. So the answer has
    exactly the law that the cuts define, and no float takes part. `count` is None for an endless sequence.
    """

    __slots__ = ("_count", "_cut", "_last")

    def __init__(self, cut: Cut, count: int | None) -> None:
        self._cut, self._count = cut, count
        last = []
        index, ceiling = 0, 0
        # Cuts within 2^-64 of one are not listed: a word of ones ends at the first of them, and is decided slowly.
        while index != count and ceiling < WORD:
            ceiling = cut(index, 64)[1]
            last.append(ceiling - 1)
            index += 1
        self._last = np.array(last, dtype=np.uint64)

    def draw(self, source: Bits, size: int) -> NDArray[np.int64]:
        """`size` independent draws: for each, the number of cuts at or below a fresh U."""
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK):
            words = source.words(min(CHUNK, size - start))
            drawn[start : start + len(words)] = self.place(source, words)
        return drawn

    def place(self, source: Bits, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The draws of which these words are the first 64 digits."""
        # A word is past a cut when it is at least its ceiling, that is, above its `last`; and surely not past it when
        # below `last`. At `last` itself the cut may lie inside the word's step, and `decide` looks again.
        if not len(self._last):
            return np.zeros(len(words), dtype=np.int64)
        index = np.searchsorted(self._last, words)
        near = np.minimum(index, len(self._last) - 1)
        for place in np.flatnonzero(self._last[near] == words):
            index[place] = self.decide(source, int(words[place]), 64)
        return index.astype(np.int64, copy=False)

    def decide(self, source: Bits, known: int, bits: int) -> int:
        """The draw whose first `bits` digits are known, drawing eight more at a time until it is certain."""
        passed = 0
        while True:
            passed = self._passed(passed, known, bits)
            if passed == self._count or self._cut(passed, bits)[0] > known:
                return passed
            known, bits = known << 8 | source.bytes(1)[0], bits + 8

    def _passed(self, low: int, known: int, bits: int) -> int:
        """How many cuts are surely passed, given that the first `low` are: doubling steps, then halving."""
        step = 1
        while self._is_passed(low + step - 1, known, bits):
            low, step = low + step, step * 2
        high = low + step - 1
        while low < high:
            middle = (low + high) // 2
            if self._is_passed(middle, known, bits):
                low = middle + 1
            else:
                high = middle
        return low

    def _is_passed(self, index: int, known: int, bits: int) -> bool:
        if self._count is not None and index >= self._count:
            return False
        return self._cut(index, bits)[1] <= known
